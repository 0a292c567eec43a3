/* Pins keep an object's address valid during a system call or a foreign call (docs/pins.md).
 *
 * A pinned object does not move and does not die until it has been unpinned as often as it was pinned. Only old objects
 * are pinned, so that the nursery stays one piece: to pin a young object, a minor collection promotes it first.
 * Allocate a buffer that you will pin anyway with CRADLE_PINNED (CRADLE_NEW_WITH).
 *
 * Up to 2^31 objects can be pinned. A pin costs about 50 bytes beside the heap and nothing in minor collections;
 * marking visits pinned objects in increments; compaction leaves them where they are, and their arenas in use.
 */
#ifndef CRADLE_PIN_H
#define CRADLE_PIN_H

#include <cradle/mutator.h>

CRADLE_BEGIN_DECLS

/* For generated code: the header's bit that says that an object is pinned. */
#define CRADLE_PINNED_BIT 37

/* Pins the object and returns its address, which stays valid until the object was unpinned as often as it was pinned.
 * May collect if the object is young: object itself need not be rooted, all other references must be. NULL: memory for
 * the pin ran out, and nothing was collected. It is misuse if the object is not one of the heap. */
CRADLE_API CRADLE_RESULT_MATTERS void *cradle_pin(cradle_mutator *mutator, void *object) CRADLE_MAY_COLLECT;
/* Takes one pin back. It is misuse if the object is not pinned. Does not collect. */
CRADLE_API void cradle_unpin(cradle_mutator *mutator, void *object);

CRADLE_END_DECLS

#endif
