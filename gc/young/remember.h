/* Remembered sets: how a minor collection finds the references from old objects to young ones.
 *
 * To look at all old objects would cost as much as a major collection. So each store into an old object is noticed when
 * it happens. The inline part of the barrier (cradle/barrier.h) tests one flag in the header of the object that is
 * stored into. A young object lacks the flag. An old object has it as long as it is not remembered:
 *
 *    flag set,          -- a store of a young reference -->       flag clear,
 *    not remembered    <-- the next minor collection ---          in the remembered set
 *
 *   object     The object is pushed on the remembered set and loses its flag, so further stores into it take the fast
 *              path. The next minor collection looks at all its slots and sets the flag again.
 *   slot       Of a large array only the address of the slot is recorded, and the array keeps its flag. Otherwise one
 *              store would make the next minor collection look at a million items.
 *   nothing    When an old reference is stored and nothing marks, a minor collection has nothing to find there. Only
 *              cradle_store knows what is stored, so only it can choose this way. The eighth store into one object
 *              remembers it all the same, so that a loop of stores takes the fast path.
 *
 * The sets are the mutator's (gc/young/local.h). Slots are recorded in the order of the stores, and a slot that is
 * stored into twice is recorded twice: to look at what it held before would cost a cache miss for each store. When half
 * as many slots are recorded as the array has, the array as a whole is remembered. So a store costs one record, and at
 * most its share of one scan of the array.
 *
 * While a major collection marks, all stores are remembered or recorded, whatever their value, and the minor collection
 * marks what these slots hold (gc/old/mark.h, [heap.6]). When a sixteenth of a large array's slots is recorded, it is
 * listed instead, only young references are recorded from then on, and marking traces the array again [mark.5].
 *
 * No store fails. If memory for a slot's record is refused, the array is remembered; if memory for the set is refused,
 * remember_all makes the next minor collection look at every old object.
 *
 *   [remember.1] An old object is in the set at most once: remembering it clears its barrier flag, and
 *                without the flag no store takes the slow path.
 *   [remember.2] Recorded slots are those of arrays with array flags, which lie in arenas.
 *
 * What must be in the set is said by [heap.1], [heap.3], [heap.5] and [heap.6].
 */
#ifndef CRADLE_GC_YOUNG_REMEMBER_H
#define CRADLE_GC_YOUNG_REMEMBER_H

#include "gc/parts.h"

/* Has stores into a young large array recorded from its birth on [large.3]. */
void crd_record_from_birth(const crd_space *space, cradle_word *array, size_t bytes);

#endif
