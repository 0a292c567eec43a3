/* A set of young objects, for the walk and the verifier: a bit for each word of the filled nursery, 1/64 of its
 * size. */
#ifndef CRADLE_GC_INSTRUMENTS_YOUNG_SET_H
#define CRADLE_GC_INSTRUMENTS_YOUNG_SET_H

#include <stdlib.h>

#include "gc/heap.h"

typedef struct young_set {
  uintptr_t start;
  uint64_t bytes; /* of the filled nursery */
  uint64_t *bits; /* bit 0 of the first: the word at start */
} young_set;

static inline size_t young_set_length(const young_set *set) {
  return set->bytes / 512 + 1;
}

/* false: memory was refused. */
static inline bool young_set_init(young_set *set, const cradle_heap *heap) {
  *set = (young_set){.start = address_of(heap->space.nursery.start), .bytes = nursery_filled(&heap->space)};
  set->bits = calloc(young_set_length(set), sizeof *set->bits);
  return set->bits != NULL;
}

static inline void young_set_fini(young_set *set) {
  free(set->bits);
}

/* Adds an object. false: it was in the set already. */
static inline bool young_set_add(young_set *set, uintptr_t object) {
  ASSERT(object - set->start < set->bytes, "an object is not in the filled nursery");
  size_t word = (object - set->start) / 8;
  if (bitmap_has(set->bits, word)) return false;
  bitmap_set(set->bits, word);
  return true;
}

#endif
