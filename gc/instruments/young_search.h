/* Finding the young objects, for the walk and the verifier. No bitmap says where they are, and the nursery cannot be
 * walked from one object to the next: a reservation that was not filled leaves a hole, which holds the headers of an
 * earlier use of the nursery. So they are found as a minor collection finds them, by following roots and the slots of
 * old objects. A bit for each word of the filled nursery says which were found. Those that were not looked into yet
 * wait on the mark stack, above what marking has there.
 *
 *   [young_search.1] When the search is over, the mark stack is as high as before.
 */
#ifndef CRADLE_GC_INSTRUMENTS_YOUNG_SEARCH_H
#define CRADLE_GC_INSTRUMENTS_YOUNG_SEARCH_H

#include <stdlib.h>

#include "gc/heap.h"

typedef struct young_search {
  uintptr_t start;
  uint64_t bytes; /* of the filled nursery */
  uint64_t *bits; /* bit 0 of the first: the word at start */
  crd_word_stack *waiting;
  cradle_word *waiting_base;
  bool incomplete; /* memory for those that wait ran out */
} young_search;

static inline size_t young_search_length(const young_search *search) {
  return search->bytes / 512 + 1;
}

/* false: memory was refused. */
static inline bool young_search_init(young_search *search, cradle_heap *heap) {
  crd_word_stack *stack = &heap->marking.mark_stack;
  *search = (young_search){.start = address_of(heap->space.nursery.start),
                           .bytes = nursery_filled(&heap->space),
                           .waiting = stack,
                           .waiting_base = stack->top};
  search->bits = calloc(young_search_length(search), sizeof *search->bits);
  return search->bits != NULL;
}

/* A search that was stopped leaves objects on the stack. */
static inline void young_search_fini(young_search *search) {
  ASSERT(search->waiting->top >= search->waiting_base, "[young_search.1] a search takes from marking");
  search->waiting->top = search->waiting_base;
  free(search->bits);
}

/* Notes a young object that is not large. false: it was found before. */
static inline bool young_search_found(young_search *search, uintptr_t object) {
  ASSERT(object - search->start < search->bytes, "an object is not in the filled nursery");
  size_t word = (object - search->start) / 8;
  if (bitmap_has(search->bits, word)) return false;
  bitmap_set(search->bits, word);
  return true;
}

static inline void young_search_put_aside(young_search *search, uintptr_t object) {
  if (!word_stack_push(search->waiting, object)) search->incomplete = true;
}

/* Takes an object that waits; NULL: there is none. */
static inline cradle_word *young_search_next(young_search *search) {
  return search->waiting->top > search->waiting_base ? object_at(word_stack_pop(search->waiting)) : NULL;
}

#endif
