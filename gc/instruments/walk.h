/* Walks over the heap as it is, without a collection: over every live object and every slot that refers into the heap,
 * for cradle/inspect.h. Old objects are found by the bitmaps, young ones by a search (young_search.h). The state of its
 * page says that a large young object was found.
 *
 * Weak slots are not followed. The values of ephemerons are, whatever their keys: only a collection finds out which of
 * them live. While the order of death goes on (gc/death/order.c), an object that marking did not reach counts as dead
 * until a finalizer has brought it back.
 *
 *   [walk.1] A walk leaves the heap as it was: no page is LARGE_REACHED any more.
 */
#ifndef CRADLE_GC_INSTRUMENTS_WALK_H
#define CRADLE_GC_INSTRUMENTS_WALK_H

#include <cradle/inspect.h>

#include "gc/root_stack.h"
#include "gc/object/visit.h"

/* Which root is being visited. */
typedef struct crd_root_at {
  cradle_holder holder;           /* CRADLE_HOLDER_OBJECT: none */
  const char *name;               /* of a root range or a scoped root, if it has one */
  const cradle_word *base;        /* the index is counted from here; NULL: it is the next field */
  uint64_t index;                 /* which one of its sort */
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
} crd_walker;

/* what: the public function, for the message if the walk is refused, as in callbacks and on other threads. */
cradle_walk_result crd_walk(cradle_heap *heap, crd_walker *walker, const char *what);
/* The same where the heap is in the state HEAP_WALKING. */
cradle_walk_result crd_walk_within(cradle_heap *heap, crd_walker *walker);
/* Visits the roots of visit_roots, then the handles, and says in *at which root it is at. Of a root stack come the
 * shadow stack, the scoped roots from the innermost, and the ranges. */
void crd_walk_roots(cradle_heap *heap, crd_root_at *at, crd_slot_function visit, void *context);

#endif
