/* Weak slots and ephemerons: references that do not keep their object alive (docs/order-of-death.md).
 *
 * A weak slot is a word of an object that the type's descriptor declares (cradle_type.weak, or CRADLE_ITEMS_WEAK for
 * arrays). When nothing else leads to its object, the slot becomes the all-zero word. An ephemeron is a key and a value
 * in neighbouring words (cradle_type.ephemerons, or CRADLE_ITEMS_EPHEMERONS): the key is weak, and the value is alive
 * as long as the ephemeron and its key are, even if the value itself leads to the key. When the key dies, both words
 * become zero. A key that is no reference (an immediate, zero) never dies. Arrays of ephemerons serve as tables with
 * weak keys, arrays of weak slots as tables with weak values. With cradle_type.weak_values all of these words hold
 * values in the heap's encoding.
 *
 * Reading. While a major collection clears weak slots in increments, a slot may still hold a dead object, so read weak
 * slots and keys with the functions below. The value of a key that was found alive may be read directly, and a slot may
 * be compared with an object that is known to be alive.
 *
 * Writing. Write them like any slot, with the barrier. An ephemeron whose key reads as zero is empty: write both its
 * words, or a dead value would get a live key.
 *
 * Order. For the program, all weak slots to dead objects become zero at once, before any finalizer runs. An object that
 * a finalizer brings back is no longer in any weak slot, but still in ephemerons of which it is the key.
 *
 * Cost. A weak slot or a pair costs a few nanoseconds at its first minor collection and in each major collection. After
 * a store into an old object, the next minor collection looks at all of these words in it; of a large array, only at
 * those that were stored into. A chain of ephemerons takes linear time in any order. For tables that only intern, use
 * weak sets (cradle/weak_set.h).
 *
 * When the heap is freed nothing happens to weak slots and ephemerons. No function here collects.
 */
#ifndef CRADLE_WEAK_H
#define CRADLE_WEAK_H

#include <cradle/detail/partners.h>
#include <cradle/mutator.h>

CRADLE_BEGIN_DECLS

/* Reads a weak slot or a key: a reference to a live object, or NULL. */
CRADLE_INLINE void *cradle_weak_get(cradle_mutator *mutator, const void *slot) {
  cradle_word word = *(const cradle_word *)slot;
  if (CRADLE_UNLIKELY(mutator->weak_guard != 0) && cradle_weak_is_dead(mutator, word, false)) return NULL;
  return (void *)(uintptr_t)word;
}
/* Reads a weak slot or a key of a type with weak_values: a value in the heap's encoding, or 0. */
CRADLE_INLINE cradle_value cradle_weak_get_value(cradle_mutator *mutator, const void *slot) {
  cradle_word word = *(const cradle_word *)slot;
  if (CRADLE_UNLIKELY(mutator->weak_guard != 0) && cradle_weak_is_dead(mutator, word, true)) return 0;
  return word;
}

CRADLE_END_DECLS

#endif
