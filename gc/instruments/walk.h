/* Walks over the heap as it is, without a collection: over every live object and every slot that refers into the heap,
 * for cradle/inspect.h.
 *
 * Old objects are found by the bitmaps. There is no bitmap of the nursery, and it cannot be walked from one object to
 * the next: a reservation that was not filled leaves a hole, which holds the headers of an earlier use of the nursery.
 * So young objects are found as a minor collection finds them, by following the roots and the slots of old objects. A
 * bit for each young object says that it was found, so that it is visited once. A large object that is still young is
 * found in the same way, and the state of its page says that it was.
 *
 * Weak slots are not followed. The values of ephemerons are, whatever their keys: only a collection finds out which of
 * them live. While the order of death goes on (gc/death/order.c), an object that marking did not reach counts as dead
 * until a finalizer has brought it back.
 *
 * Objects that were found and not yet visited wait on the mark stack, above what a major collection has there.
 *
 *   [walk.1] A walk leaves the heap as it was: the mark stack, which young objects wait on, is as high as before, and
 *            no page is LARGE_REACHED any more.
 */
#ifndef CRADLE_GC_INSTRUMENTS_WALK_H
#define CRADLE_GC_INSTRUMENTS_WALK_H

#include <cradle/inspect.h>

/* What a walk calls. Either function may be NULL. Setting stopped ends the walk. An object comes before its slots. */
typedef struct crd_walker {
  void (*object)(void *data, const cradle_object_info *info);
  /* holder: the object with the slot; NULL for a root. address: of the object that the slot refers to. */
  void (*slot)(void *data, const cradle_word *holder, const cradle_word *slot, cradle_kind kind, uintptr_t address);
  void *data;
  bool stopped;
  /* The sort of root that is being reported, if visit_roots does not visit it; else CRADLE_HOLDER_OBJECT. */
  cradle_holder root;
  uint64_t index;              /* which one of its sort */
  const cradle_word *prebuilt; /* the object, for CRADLE_HOLDER_PREBUILT */
} crd_walker;

/* Begins and ends the state in which the heap is walked. It is refused in callbacks and on other threads. what: the
 * public function, for the message. */
void crd_walk_begin(cradle_heap *heap, const char *what);
cradle_walk_result crd_walk(cradle_heap *heap, crd_walker *walker);
void crd_walk_end(cradle_heap *heap);

#endif
