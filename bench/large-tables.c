/* large-tables KIND N: the longest pauses beside a large table that is old, in processor time, because machines are
 * shared. The pause target is 2 ms; nothing else is set.
 *
 *   store   a table of N ephemerons; a key and a value are stored into it between minor collections
 *   birth   a table of N ephemerons is allocated and filled with old references: the next minor collection
 *   copy    two arrays of N references; one is copied into the other between collections, also while marking
 *
 * docs/design/services.md has figures. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cradle/cradle.h>

#define PAUSES_MOST 65536

enum { T_PAIR, T_VECTOR, T_TABLE, T_COUNT };

typedef struct pair {
  uint64_t header;
  void *first, *rest;
} pair;
typedef struct vector {
  uint64_t header, length;
  void *item[];
} vector;
typedef struct table {
  uint64_t header, length;
  struct {
    void *key, *value;
  } item[];
} table;

static const cradle_type types[T_COUNT] = {
    [T_PAIR] = {.name = "pair", .size = sizeof(pair), .references = CRADLE_SLOT(pair, first) | CRADLE_SLOT(pair, rest)},
    [T_VECTOR] = {.name = "vector",
                  .size = sizeof(vector),
                  .items = CRADLE_ITEMS_REFERENCES,
                  .item_size = 8,
                  .length_offset = offsetof(vector, length)},
    [T_TABLE] = {.name = "table",
                 .size = sizeof(table),
                 .items = CRADLE_ITEMS_EPHEMERONS,
                 .item_size = 16,
                 .length_offset = offsetof(table, length)},
};

static uint64_t pauses[PAUSES_MOST];
static size_t pause_count;

static void listen(void *data, const cradle_event *event) {
  (void)data;
  if (event->kind != CRADLE_EVENT_PAUSE || pause_count == PAUSES_MOST) return;
  pauses[pause_count++] = event->u.pause.processor_ns;
}

static int by_size(const void *a, const void *b) {
  const uint64_t *x = a, *y = b;
  return (*x > *y) - (*x < *y);
}

static void print_pauses(const char *kind, size_t n) {
  qsort(pauses, pause_count, sizeof *pauses, by_size);
  if (pause_count == 0) return;
  printf("%s %zu: %zu pauses, median %.2f ms, worst %.2f ms of processor time\n", kind, n, pause_count,
         (double)pauses[pause_count / 2] / 1e6, (double)pauses[pause_count - 1] / 1e6);
}

/* Allocates many pairs, a quarter of which form a list that dies. Returns its head. */
static pair *churn(cradle_mutator *m, size_t count) CRADLE_MAY_COLLECT {
  pair *list = NULL;
  CRADLE_ROOT(m, list);
  for (size_t i = 0; i < count; i++) {
    pair *fresh = CRADLE_NEW(m, pair, T_PAIR);
    if (i % 4 != 0) continue;
    fresh->rest = list;
    list = fresh;
  }
  return list;
}

static size_t below(size_t n) {
  static uint64_t state = 1;
  state = state * UINT64_C(6364136223846793005) + 1;
  return (size_t)(state >> 33) % n;
}

static void store(cradle_mutator *m, size_t n) CRADLE_MAY_COLLECT {
  vector *keys = CRADLE_NEW_ARRAY(m, vector, T_VECTOR, item, length, n);
  CRADLE_ROOT(m, keys);
  table *pairs = cradle_new_with(m, T_TABLE, (cradle_array_layout){0, 0, 0}, n, 0);
  CRADLE_ROOT(m, pairs);
  for (size_t i = 0; i < n; i++) {
    pair *key = CRADLE_NEW(m, pair, T_PAIR);
    cradle_store(m, keys, &keys->item[i], key);
    cradle_store(m, pairs, &pairs->item[i].key, key);
    pair *value = CRADLE_NEW(m, pair, T_PAIR);
    cradle_store(m, pairs, &pairs->item[i].value, value);
  }
  cradle_collect(m, CRADLE_COLLECT_FULL);
  pause_count = 0;
  for (int i = 0; i < 30000; i++) {
    pair *value = churn(m, 1000);
    size_t at = below(n);
    cradle_store(m, pairs, &pairs->item[at].key, keys->item[at]);
    cradle_store(m, pairs, &pairs->item[at].value, value);
  }
}

static void birth(cradle_mutator *m, size_t n) CRADLE_MAY_COLLECT {
  pair *old = CRADLE_NEW(m, pair, T_PAIR);
  CRADLE_ROOT(m, old);
  for (int i = 0; i < 5; i++) {
    cradle_collect(m, CRADLE_COLLECT_FULL);
    table *pairs = cradle_new_with(m, T_TABLE, (cradle_array_layout){0, 0, 0}, n, 0);
    CRADLE_ROOT(m, pairs);
    for (size_t k = 0; k < n; k++) {
      cradle_store(m, pairs, &pairs->item[k].key, old);
      cradle_store(m, pairs, &pairs->item[k].value, old);
    }
    pause_count = (size_t)i; /* only the pauses of these collections count */
    cradle_collect(m, CRADLE_COLLECT_MINOR);
    pause_count = (size_t)i + 1;
  }
}

static void copy(cradle_mutator *m, size_t n) CRADLE_MAY_COLLECT {
  vector *from = CRADLE_NEW_ARRAY(m, vector, T_VECTOR, item, length, n);
  CRADLE_ROOT(m, from);
  vector *to = CRADLE_NEW_ARRAY(m, vector, T_VECTOR, item, length, n);
  CRADLE_ROOT(m, to);
  for (size_t i = 0; i < n; i++) {
    pair *fresh = CRADLE_NEW(m, pair, T_PAIR);
    cradle_store(m, from, &from->item[i], fresh);
  }
  cradle_collect(m, CRADLE_COLLECT_FULL);
  pause_count = 0;
  for (int i = 0; i < 120; i++) {
    cradle_copy_slots(m, to, to->item, from->item, n);
    (void)churn(m, n / 5);
  }
}

int main(int argc, char **argv) {
  static const struct {
    const char *name;
    void (*run)(cradle_mutator *m, size_t n);
  } kinds[] = {{"store", store}, {"birth", birth}, {"copy", copy}};
  char *end = NULL;
  size_t n = argc == 3 ? strtoul(argv[2], &end, 10) : 0;
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds && n > 0 && *end == '\0'; i++) {
    if (strcmp(argv[1], kinds[i].name) != 0) continue;
    cradle_options options;
    cradle_error error;
    cradle_options_init(&options);
    options.types = types;
    options.type_count = T_COUNT;
    options.pause_ns = 2000000;
    options.listener = (cradle_listener){listen, NULL};
    cradle_heap *heap = cradle_heap_new(&options, &error);
    if (heap == NULL) return fprintf(stderr, "large-tables: %s\n", error.message), 1;
    cradle_mutator *m = cradle_mutator_new(heap);
    if (m == NULL) return fprintf(stderr, "large-tables: no memory for a mutator\n"), 1;
    kinds[i].run(m, n);
    print_pauses(kinds[i].name, n);
    cradle_mutator_free(m);
    cradle_heap_free(heap);
    return 0;
  }
  fprintf(stderr, "large-tables: give store, birth or copy, and the number of items (a decimal number above 0)\n");
  return 2;
}
