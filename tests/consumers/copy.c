/* A vendored copy of the library at work, as a shared object, as a part of a program, or under another prefix
 * (run.py copies). */
#include "cradle.h"

#include <stddef.h>

typedef struct pair {
  uint64_t header, number;
  struct pair *next;
} pair;

static const cradle_type pair_types[] = {{.name = "pair", .size = sizeof(pair), .references = CRADLE_SLOT(pair, next)}};

static pair *list_of_numbers(cradle_mutator *m, uint64_t count) CRADLE_MAY_COLLECT {
  pair *list = NULL;
  CRADLE_ROOT(m, list);
  for (uint64_t i = 1; i <= count; i++) {
    pair *fresh = cradle_new(m, 0, sizeof(pair));
    fresh->number = i;
    fresh->next = list;
    list = fresh;
    if (i % 1000 == 0) cradle_collect(m, CRADLE_COLLECT_FULL);
  }
  return list;
}

/* Returns the version of the copy that serves this file, which heap creation compares, if a heap of it works, and 0 if
 * it does not. */
__attribute__((__visibility__("default"))) uint64_t copy_works(void);
uint64_t copy_works(void) {
  cradle_options options;
  cradle_error error;
  uint64_t sum = 0;
  cradle_options_init(&options);
  options.types = pair_types;
  options.type_count = 1;
  options.nursery_bytes = 16384;
  options.reserve_bytes = (size_t)64 << 20;
  cradle_heap *heap = cradle_heap_new_from_environment(&options, &error);
  if (heap == NULL) return 0;
  cradle_mutator *m = cradle_mutator_new(heap);
  for (const pair *at = list_of_numbers(m, 3000); at != NULL; at = at->next) sum += at->number;
  cradle_mutator_free(m);
  cradle_heap_free(heap);
  return sum == 3000 * 3001 / 2 ? CRADLE_VERSION : 0;
}
