/* Makes the mistake that its argument names; test_where.py reads the messages. Each line that a message must lead to
 * has a comment with the name of the mistake. */
#include <cradle/cradle.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NOINLINE __attribute__((__noinline__))

typedef struct pair {
  uint64_t header;
  struct pair *first, *rest;
} pair;
enum { PAIR };
static const cradle_type types[] = {
    [PAIR] = {.name = "pair", .size = sizeof(pair), .references = CRADLE_SLOT(pair, first) | CRADLE_SLOT(pair, rest)}};

static cradle_heap *heap;
static cradle_mutator *m;

static NOINLINE void pop_nothing(void) {
  (void)cradle_pop(m); /* pop */
}

/* Returns an old pair. */
CRADLE_UNCHECKED_COLLECTION static NOINLINE pair *promoted(void) {
  cradle_push(m, CRADLE_NEW(m, pair, PAIR));
  cradle_collect(m, CRADLE_COLLECT_MINOR); /* the last right one */
  return *(pair **)(void *)cradle_peek(m, 0);
}
CRADLE_UNCHECKED_COLLECTION static NOINLINE void store_plainly(void) {
  pair *old = promoted();
  old->first = CRADLE_NEW(m, pair, PAIR);
  cradle_collect(m, CRADLE_COLLECT_MINOR); /* barrier */
}
CRADLE_UNCHECKED_COLLECTION static NOINLINE void store_with_and_without(void) {
  pair *old = promoted();
  cradle_store(m, old, &old->rest, NULL);  /* stored */
  cradle_collect(m, CRADLE_COLLECT_MINOR); /* until here the object is remembered */
  old->first = CRADLE_NEW(m, pair, PAIR);
  cradle_collect(m, CRADLE_COLLECT_MINOR); /* barrier-stored */
}

static NOINLINE uint64_t use(const pair *object) {
  return (uintptr_t)*(pair *const volatile *)&object->rest; /* stale */
}
CRADLE_UNCHECKED_COLLECTION static NOINLINE void use_stale(void) {
  pair *old = promoted();
  cradle_push(m, CRADLE_NEW(m, pair, PAIR));
  pair *young = *(pair **)(void *)cradle_peek(m, 0);
  cradle_collect(m, CRADLE_COLLECT_MINOR);
  printf("%p %llu\n", (void *)old, (unsigned long long)use(young));
}

CRADLE_UNCHECKED_COLLECTION static NOINLINE void use_all_memory(void) {
  for (;;) cradle_push(m, CRADLE_NEW(m, pair, PAIR)); /* memory */
}

/* Strict stress without any moving object. */
CRADLE_UNCHECKED_COLLECTION static NOINLINE void prove_nothing(void) {
  for (int i = 0; i < 10; i++) (void)CRADLE_NEW(m, pair, PAIR);
  cradle_mutator_free(m);
  cradle_heap_free(heap); /* stress */
}

static const struct {
  const char *name;
  void (*run)(void);
} ends[] = {{"pop", pop_nothing}, {"barrier", store_plainly}, {"barrier-stored", store_with_and_without},
            {"stale", use_stale}, {"memory", use_all_memory}, {"stress", prove_nothing}};

CRADLE_UNCHECKED_COLLECTION int main(int argc, char **argv) {
  cradle_options options;
  cradle_options_init(&options);
  options.types = types;
  options.type_count = 1;
  options.nursery_bytes = (size_t)64 << 10;
  options.shadow_stack_bytes = (size_t)1 << 30;
  heap = cradle_heap_new_from_environment(&options, NULL);
  m = heap == NULL ? NULL : cradle_mutator_new(heap);
  if (m == NULL) return 2;
  for (size_t i = 0; argc == 2 && i < sizeof ends / sizeof *ends; i++)
    if (strcmp(ends[i].name, argv[1]) == 0) ends[i].run();
  return 3; /* unknown argument, or the mistake was not noticed */
}
