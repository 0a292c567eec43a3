/* Weak slots and ephemerons: references that do not keep their object alive.
 *
 * A weak slot is a word of an object that the type's descriptor declares (cradle_type.weak, or CRADLE_ITEMS_WEAK for
 * arrays). When nothing else leads to its object, the slot becomes the all-zero word. An ephemeron is a key and a value
 * in neighbouring words (cradle_type.ephemerons, or CRADLE_ITEMS_EPHEMERONS): the key is weak, and the value is alive
 * as long as the ephemeron and its key are, even if the value itself leads to the key. When the key dies, both words
 * become zero. A key that is no reference (an immediate, zero) never dies. Arrays of ephemerons serve as tables with
 * weak keys, arrays of weak slots as tables with weak values; for weak keys and weak values, use weak slots for both.
 * With cradle_type.weak_values all of these words are values in the heap's encoding.
 *
 * Reading. While a major collection clears, in increments, a slot may still hold an object that is dead. So read weak
 * slots and keys with the functions below, never directly, before you use what they hold; they give zero for the dead.
 * The value of an ephemeron may be read directly once its key was found alive. A slot may be compared directly with an
 * object that is known to be alive.
 *
 * Writing. As any slot: cradle_store, cradle_store_value, or the write barrier after a plain store. An ephemeron whose
 * key reads as zero is empty: write both its words, or a dead value would get a live key. One that is left alone while
 * a major collection clears may have its key and value again when that is over, if a finalizer brought the key back.
 *
 * Order. All weak slots to dead objects are cleared, as the program sees it, at once, before any finalizer runs; one
 * that a finalizer brings back is no longer in any weak slot, but still in ephemerons of which it is the key.
 * docs/order-of-death.md has the whole.
 *
 * Cost. Nothing for heaps without them. A weak slot or a pair costs a few nanoseconds at its first minor collection and
 * in each major collection; an old object with weak slots or ephemerons that was stored into is looked at as a whole by
 * the next minor collection, like any other. A chain of ephemerons takes linear time in any order. Tables with some
 * thousand entries that only intern are better weak sets (cradle/weak_set.h).
 *
 * When the heap is freed nothing happens to them. No function here collects.
 */
#ifndef CRADLE_WEAK_H
#define CRADLE_WEAK_H

#include <cradle/detail/partners.h>
#include <cradle/mutator.h>

CRADLE_BEGIN_DECLS

/* What a weak slot or a key holds: a reference to a live object, or NULL. */
CRADLE_INLINE void *cradle_weak_get(cradle_mutator *mutator, const void *slot) {
  cradle_word word = *(const cradle_word *)slot;
  if (CRADLE_UNLIKELY(mutator->weak_guard != 0) && cradle_weak_is_dead(mutator, word, false)) return NULL;
  return (void *)(uintptr_t)word;
}
/* The same for a type with weak_values: a value in the heap's encoding, or 0. */
CRADLE_INLINE cradle_value cradle_weak_get_value(cradle_mutator *mutator, const void *slot) {
  cradle_word word = *(const cradle_word *)slot;
  if (CRADLE_UNLIKELY(mutator->weak_guard != 0) && cradle_weak_is_dead(mutator, word, true)) return 0;
  return word;
}

CRADLE_END_DECLS

#endif
