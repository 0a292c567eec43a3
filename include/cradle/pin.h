/* Pins: they keep an object's address valid during a system call or a foreign call.
 *
 * A pinned object does not move and does not die until it has been unpinned as often as it was pinned. Only old objects
 * are pinned, so that the nursery stays one piece: to pin a young object, a minor collection promotes it first.
 * Allocate a buffer that you will pin anyway with cradle_new_pinned. It is old from the start, and needs no collection.
 *
 * Up to 2^31 objects can be pinned. A pin costs about 50 bytes beside the heap and nothing in minor collections;
 * marking visits pinned objects in increments; compaction leaves them where they are, and their arenas in use.
 *
 * Objects that are still pinned when the heap is freed are freed like all others. A note (cradle/event.h) says so and
 * gives their number.
 */
#ifndef CRADLE_PIN_H
#define CRADLE_PIN_H

#include <cradle/mutator.h>

CRADLE_BEGIN_DECLS

/* For generated code: the header's bit that says that an object is pinned. */
#define CRADLE_PINNED_BIT 37

/* Pins the object and returns its address, which stays valid until the object was unpinned as often as it was pinned.
 * May collect if the object is young: object itself need not be rooted, all other references must be. When memory for
 * the pin runs out, nothing is done and nothing collected: the out-of-memory handler is called, and NULL is returned if
 * that returns. A NULL object is misuse. */
CRADLE_API CRADLE_RESULT_MATTERS void *cradle_pin(cradle_mutator *mutator, void *object) CRADLE_MAY_COLLECT;
/* Takes one pin back. It is misuse if the object is not pinned. Does not collect. */
CRADLE_API void cradle_unpin(cradle_mutator *mutator, void *object);

/* Allocate a zeroed object that is old and pinned from the start: one of a fixed size, with size as in cradle_new, or
 * one with length items. When memory runs out they do what cradle_new does. Even the first store of a reference needs
 * the barrier: use cradle_store. They may collect. CRADLE_NEW_PINNED and its kin (cradle/typed.h) return a pointer to
 * the structure. */
CRADLE_API void *cradle_new_pinned(cradle_mutator *mutator, uint32_t type, size_t size) CRADLE_MAY_COLLECT;
CRADLE_API void *cradle_new_pinned_array(cradle_mutator *mutator, uint32_t type, size_t length) CRADLE_MAY_COLLECT;

CRADLE_END_DECLS

#endif
