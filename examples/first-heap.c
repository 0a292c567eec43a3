/* The smallest complete embedding: a heap with one type, a list that survives collections, and what to free.
 *
 * Run it with CRADLE_LOG=gc:- to see every collection, with CRADLE_STRESS=1 to collect at every allocation. */
#include <stdio.h>

#include <cradle/cradle.h>

/* 1. An object starts with the header word, which is the collector's. */
typedef struct pair {
  uint64_t header;
  struct pair *next; /* a slot: a reference that the collector follows and updates */
  int64_t number;
} pair;

/* 2. Types are an enum of yours and a table of descriptors with the same order. */
enum { T_PAIR, TYPE_COUNT };
static const cradle_type types[TYPE_COUNT] = {
    [T_PAIR] = {.name = "pair", .size = sizeof(pair), .references = CRADLE_SLOT(pair, next)},
};

/* 3. A function that may collect says so, and roots every reference that it uses after a call that may collect. */
static pair *push(cradle_mutator *m, pair *list, int64_t number) CRADLE_MAY_COLLECT {
  CRADLE_ROOT(m, list);
  pair *cell = CRADLE_NEW(m, pair, T_PAIR); /* may collect: list may have moved, and was updated */
  cell->number = number;
  cell->next = list; /* a fresh object needs no write barrier */
  return cell;
}

static int64_t sum(const pair *list) {
  int64_t total = 0;
  for (; list != NULL; list = list->next) total += list->number;
  return total;
}

int main(void) {
  cradle_options options;
  cradle_options_init(&options);
  options.types = types;
  options.type_count = TYPE_COUNT;
  cradle_error error;
  /* like cradle_heap_new, with the CRADLE_ variables and the log */
  cradle_heap *heap = cradle_heap_new_from_environment(&options, &error);
  if (heap == NULL) {
    fprintf(stderr, "first-heap: %s\n", error.message);
    return 1;
  }
  cradle_mutator *m = cradle_mutator_new(heap);
  pair *kept = NULL;
  {
    CRADLE_ROOT(m, kept);
    for (int64_t i = 1; i <= 100000; i++) {
      push(m, NULL, -i); /* dies at once */
      kept = push(m, kept, i);
    }
    /* 4. A store into an object that may be old goes through the barrier. */
    pair *last = push(m, NULL, 42);
    cradle_store(m, kept, &kept->next, last);
    printf("sum: %lld\n", (long long)sum(kept));
  }
  cradle_statistics stats;
  cradle_heap_statistics(heap, &stats, sizeof stats);
  printf("%s\n", stats.minor_collections > 0 ? "the collector ran" : "the nursery was never full");
  cradle_mutator_free(m);
  cradle_heap_free(heap);
  return 0;
}
