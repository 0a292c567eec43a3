/* Pins: addresses that stay valid over a system call or a foreign call.
 *
 * A pinned object does not move and does not die until it has been unpinned as often as it was pinned. Only old objects
 * are pinned, so that the nursery stays one piece: to pin a young object, a minor collection promotes it first.
 * Allocate a buffer that you will pin anyway with cradle_new_pinned. It is old from the start, and needs no collection.
 *
 * Up to 2^31 objects can be pinned. A pin costs about 50 bytes beside the heap and nothing in minor collections;
 * marking visits pinned objects in increments; compaction leaves them where they are, and their arenas in use.
 *
 * Objects that are still pinned when the heap is freed are freed like all others. A note says so, and tells listeners
 * how many they were.
 */
#ifndef CRADLE_PIN_H
#define CRADLE_PIN_H

#include <cradle/mutator.h>

CRADLE_BEGIN_DECLS

/* For generated code: the header's bit that says that an object is pinned. */
#define CRADLE_PINNED_BIT 37

/* Pins the object and returns its address, which holds until as many calls of cradle_unpin. May collect when the object
 * is young: object itself is taken care of, other references must be rooted as ever. When memory for the pin runs out
 * the out-of-memory handler is called, or NULL returned by the try variant; then nothing was done, nor collected. A
 * NULL object is misuse. */
CRADLE_API CRADLE_RESULT_MATTERS void *cradle_pin(cradle_mutator *mutator, void *object) CRADLE_MAY_COLLECT;
CRADLE_API CRADLE_RESULT_MATTERS void *cradle_try_pin(cradle_mutator *mutator, void *object) CRADLE_MAY_COLLECT;
/* Takes one pin back. An object that is not pinned is misuse. Does not collect. */
CRADLE_API void cradle_unpin(cradle_mutator *mutator, void *object);

/* A zeroed object that is old and pinned from the start; and a variable-size one of length items. size as in
 * cradle_new. When memory runs out the handler is called, or NULL returned by the try variants, as there. References
 * are stored with the barrier from the start: store with cradle_store. They may collect. CRADLE_NEW_PINNED and its kin
 * (cradle/typed.h) name the structure, too. */
CRADLE_API void *cradle_new_pinned(cradle_mutator *mutator, uint32_t type, size_t size) CRADLE_MAY_COLLECT;
CRADLE_API void *cradle_try_new_pinned(cradle_mutator *mutator, uint32_t type, size_t size) CRADLE_MAY_COLLECT;
CRADLE_API void *cradle_new_pinned_array(cradle_mutator *mutator, uint32_t type, size_t length) CRADLE_MAY_COLLECT;
CRADLE_API void *cradle_try_new_pinned_array(cradle_mutator *mutator, uint32_t type, size_t length) CRADLE_MAY_COLLECT;

CRADLE_END_DECLS

#endif
