/* Walks over the heap as it is, without a collection: over every live object and every slot that refers into the heap,
 * for cradle/inspect.h. And what the verifier looks at in the same way: the roots, each with its name, and the young
 * objects.
 *
 * Old objects are found by the bitmaps. No bitmap says where young ones are, and the nursery cannot be walked from one
 * object to the next: a reservation that was not filled leaves a hole, which holds the headers of an earlier use of the
 * nursery. So they are found as a minor collection finds them, by following roots and the slots of old objects. A bit
 * for each word of the filled nursery says which were found; of a large young object, the state of its page. Those that
 * were not looked into yet wait on the mark stack, above what marking has there.
 *
 * Weak slots are not followed. The values of ephemerons are, whatever their keys: only a collection finds out which of
 * them live. While the order of death goes on (gc/death/services.c), an object that marking did not reach counts as
 * dead until a finalizer has brought it back.
 *
 *   [walk.1] A walk leaves the heap as it was: the mark stack is as high as before, and no page is LARGE_REACHED.
 */
#ifndef CRADLE_GC_INSTRUMENTS_WALK_H
#define CRADLE_GC_INSTRUMENTS_WALK_H

#include <cradle/inspect.h>

#include <stdlib.h>

#include "gc/heap.h"

/* The search for young objects. */
typedef struct young_search {
  uintptr_t start;
  uint64_t bytes; /* of the nursery, as far as it is filled */
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
                           .bytes = nursery_extent(&heap->space),
                           .waiting = stack,
                           .waiting_base = stack->top};
  search->bits = calloc(young_search_length(search), sizeof *search->bits);
  return search->bits != NULL;
}

/* A search that was stopped leaves objects on the stack. */
static inline void young_search_fini(young_search *search) {
  ASSERT(search->waiting->top >= search->waiting_base, "[walk.1] a search takes from marking");
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

/* Which root is being visited. */
typedef struct crd_root_at {
  cradle_holder holder;           /* CRADLE_HOLDER_OBJECT: none */
  const char *name;               /* of a root range or a scoped root, if it has one */
  const cradle_word *base;        /* the index is counted from here; NULL: it is the next field */
  uint64_t index;                 /* which one of its sort */
  const crd_mutator *mutator;     /* that has it; NULL: it is the heap's */
  uint32_t range;                 /* how many root ranges were visited before */
  int ring;                       /* of the root stack */
  const cradle_root_stack *stack; /* NULL: no root stack has it */
} crd_root_at;

/* What a walk calls. Either function may be NULL. Setting stopped ends the walk, and so does an object's function that
 * returns false. An object comes before its slots. */
typedef struct crd_walker {
  cradle_walk_function object;
  /* holder: the object with the slot; NULL for a root. address: of the object that the slot refers to. */
  void (*slot)(void *data, const cradle_word *holder, const cradle_word *slot, cradle_kind kind, uintptr_t address);
  void *data;
  bool stopped;
  crd_root_at at;
  /* the walk's own */
  cradle_heap *heap;
  young_search young;
  const cradle_word *holder; /* NULL: a root; roots come before any object */
  bool wants_slots;          /* false: nobody asked for slots, and no young object is to be found by them */
} crd_walker;

/* Walks a heap that is in the state HEAP_WALKING. */
cradle_walk_result crd_walk(cradle_heap *heap, crd_walker *walker);
/* Visits the roots of visit_roots, then the handles, and says in *at which root it is at. Of a root stack come the
 * shadow stack, the scoped roots from the innermost, and the ranges. */
void crd_walk_roots(cradle_heap *heap, crd_root_at *at, crd_slot_function visit, void *context);
/* The name of roots that have no name of their own. */
const char *crd_holder_name(cradle_holder holder);
/* Names the root at which a walk is, whose slot is in the referrer already: fills in holder, name and index. To be
 * called once for each root that is reported. */
void crd_root_name(crd_root_at *at, cradle_referrer *referrer);

#endif
