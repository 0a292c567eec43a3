/* Walks over the heap as it is, without a collection: every live object and every slot that refers into the heap, for
 * cradle/inspect.h.
 *
 * Old objects are found by the bitmaps. Young ones are not: a reservation that was not filled leaves a hole, and in it
 * lie the headers of an earlier use of the nursery. They are found as a minor collection finds them, by following the
 * roots and the slots of old objects, and each sets a bit so that it is visited once. The large objects that are still
 * young are found in the same way; meanwhile the state of their page says that they were.
 *
 * Weak slots are not followed. The values of ephemerons are, whatever their keys: which of them live only a collection
 * finds out. While the order of death goes on (gc/death/order.c), an object that marking did not reach is dead until a
 * finalizer brings it back.
 *
 * Objects found and not yet visited wait on the mark stack, above what a major collection has there.
 *
 *   [walk.1] A walk leaves the heap as it was: the mark stack, which young objects wait on, is as high as before, and
 *            no page is LARGE_REACHED any more.
 */
#ifndef CRADLE_GC_INSTRUMENTS_WALK_H
#define CRADLE_GC_INSTRUMENTS_WALK_H

#include <cradle/inspect.h>

/* What a walk tells. Either function may be NULL; setting stopped ends it. An object is told before its slots. */
typedef struct crd_walker {
  void (*object)(void *data, const cradle_object_info *info);
  /* holder: NULL for a root. address: of the object in the heap that the slot refers to. */
  void (*slot)(void *data, const cradle_word *holder, const cradle_word *slot, cradle_kind kind, uintptr_t address);
  void *data;
  bool stopped;
  /* While a root is told that visit_roots does not come to, which it is; else CRADLE_HOLDER_OBJECT. */
  cradle_holder root;
  uint64_t index;              /* of it */
  const cradle_word *prebuilt; /* the object, for CRADLE_HOLDER_PREBUILT */
} crd_walker;

/* The heap walks from begin to end: refused in callbacks and other threads. what: the public function. */
void crd_walk_begin(cradle_heap *heap, const char *what);
cradle_walk_result crd_walk(cradle_heap *heap, crd_walker *walker);
void crd_walk_end(cradle_heap *heap);

#endif
