/* The write barrier: call it after every store of a reference or value into an object, unless the object is certainly
 * fresh (no call that may collect has run since its allocation). It tests one flag byte of the object and branches
 * rarely. Nothing here collects. Objects that are pinned from the start need it from the start.
 *
 * Callbacks must not store: the collection that called them may have looked at the object already. Once the collection
 * has visited an old object, its flag is set and a store into it is refused. (cradle_copy_slots refuses after copying.)
 * Two stores get past the inline test: one into an object that the collection has not visited yet, which does no harm,
 * and one into an object that has moved, which is lost or overwrites what the collector keeps there. With
 * CRADLE_CHECKED every store from a callback is refused.
 */
#ifndef CRADLE_BARRIER_H
#define CRADLE_BARRIER_H

#include <cradle/detail/partners.h>

#include <string.h>

/* Set to 1 in an embedder's translation unit whose threads may read slots while others store into them, without a lock:
 * cradle_store and cradle_copy_slots then publish what they store (docs/memory-model.md). */
#ifndef CRADLE_RACY
#define CRADLE_RACY 0
#endif

CRADLE_BEGIN_DECLS

/* Tells the collector that something was stored into object. Call it after the store and before the next call that may
 * collect. */
CRADLE_INLINE void cradle_write_barrier(cradle_mutator *mutator, void *object) {
  if (CRADLE_CHECKED) cradle_check_store(mutator, object);
  if (CRADLE_UNLIKELY(CRADLE_HAS_BARRIER_(object))) cradle_write_barrier_slow(mutator, object);
}

/* Stores a value in the heap's encoding into a slot of object, with the barrier. slot is the address of a field or item
 * of object. Prefer it to a plain store and cradle_write_barrier: of an old array above 1 KiB, the next minor
 * collection then looks only at the slots that were stored into, not at the whole array. Allocate before the call, not
 * in its arguments: C may compute object and slot first, and the allocation may then move the object. */
CRADLE_INLINE void cradle_store_value(cradle_mutator *mutator, void *object, void *slot, cradle_value value) {
  if (CRADLE_CHECKED) cradle_check_slot(mutator, object, slot, value);
  if (CRADLE_UNLIKELY(CRADLE_HAS_BARRIER_(object)))
    cradle_store_slow(mutator, object, slot, value);
  else if (CRADLE_RACY)
    __atomic_store_n((cradle_word *)slot, value, __ATOMIC_RELEASE);
  else
    *(cradle_word *)slot = value;
}
/* cradle_store_value for a plain reference. */
CRADLE_INLINE void cradle_store(cradle_mutator *mutator, void *object, void *slot, const void *reference) {
  cradle_store_value(mutator, object, slot, (cradle_word)(uintptr_t)reference);
}

/* --- many slots at once --- */

/* Copies count neighbouring words to neighbouring slots of object, with one barrier for all. `to` is the address of the
 * first slot, `from` that of the first word, which may lie in any object, in object itself (the ranges may overlap), or
 * in memory of the program. Both sides hold references, or both hold values. If items are structures, their raw words
 * are copied and counted too, and both sides must be items of the same structure. Weak slots and ephemerons may be
 * written but not read here: a weak slot may hold a dead object, which only cradle_weak_get finds out. Costs the
 * memmove and one test of the object's flag; if that is set, and object is an array above 1 KiB, also a look at each
 * copied word. */
CRADLE_INLINE void cradle_copy_slots(cradle_mutator *mutator, void *object, void *to, const void *from, size_t count) {
  if (CRADLE_CHECKED) cradle_check_slots(mutator, object, to, from, count);
  if (count == 0) return;
  if (CRADLE_RACY)
    cradle_publish_words((cradle_word *)to, (const cradle_word *)from, count);
  else
    memmove(to, from, count * 8);
  if (CRADLE_UNLIKELY(CRADLE_HAS_BARRIER_(object))) cradle_copy_slots_slow(mutator, object, to, count);
}

/* --- slots that threads share without a lock (docs/memory-model.md) ---
 *
 * slot is the address of a field or item of object. The functions without _value are for plain references, the others
 * for values in the heap's encoding. All stores here have the barrier. Nothing collects, so no object moves between a
 * load and a compare-exchange, unless the program calls something that may collect in between. A weak slot may be
 * written, but what cradle_load_acquire or cradle_exchange returns for it may be dead: read it with cradle_weak_get.
 * The callers of cradle_store and the readers of plain slots need a lock, or must not race (but see CRADLE_RACY). */

/* Reads a slot. What the thread that stored the word with one of these functions did before is visible now. */
CRADLE_INLINE cradle_value cradle_load_acquire_value(const void *slot) {
  return __atomic_load_n((const cradle_word *)slot, __ATOMIC_ACQUIRE);
}
CRADLE_INLINE void *cradle_load_acquire(const void *slot) {
  return (void *)(uintptr_t)cradle_load_acquire_value(slot);
}

/* Stores into a slot, and publishes: whoever reads the word with cradle_load_acquire sees what this thread did before.
 */
CRADLE_INLINE void cradle_store_release_value(cradle_mutator *mutator, void *object, void *slot, cradle_value value) {
  if (CRADLE_CHECKED) cradle_check_slot(mutator, object, slot, value);
  if (CRADLE_UNLIKELY(CRADLE_HAS_BARRIER_(object)))
    cradle_store_slow(mutator, object, slot, value);
  else
    __atomic_store_n((cradle_word *)slot, value, __ATOMIC_RELEASE);
}
CRADLE_INLINE void cradle_store_release(cradle_mutator *mutator, void *object, void *slot, const void *reference) {
  cradle_store_release_value(mutator, object, slot, (cradle_word)(uintptr_t)reference);
}

/* Stores into a slot and returns what was there. Acquires and releases; all exchanges and compare-exchanges of the
 * program have one order (seq_cst). */
CRADLE_INLINE cradle_value cradle_exchange_value(cradle_mutator *mutator, void *object, void *slot,
                                                 cradle_value value) {
  if (CRADLE_CHECKED) cradle_check_slot(mutator, object, slot, value);
  cradle_word before = __atomic_exchange_n((cradle_word *)slot, value, __ATOMIC_SEQ_CST);
  if (CRADLE_UNLIKELY(CRADLE_HAS_BARRIER_(object))) cradle_copy_slots_slow(mutator, object, slot, 1);
  return before;
}
CRADLE_INLINE void *cradle_exchange(cradle_mutator *mutator, void *object, void *slot, const void *reference) {
  return (void *)(uintptr_t)cradle_exchange_value(mutator, object, slot, (cradle_word)(uintptr_t)reference);
}

/* Stores into the slot if it holds exactly the expected word. false: it holds another word, and nothing was stored; a
 * load with acquire gets it. Orders as cradle_exchange does; on failure it only acquires. The barrier reads the slot
 * again: another thread may have stored into it meanwhile. */
CRADLE_INLINE CRADLE_RESULT_MATTERS bool cradle_compare_exchange_value(cradle_mutator *mutator, void *object,
                                                                       void *slot, cradle_value expected,
                                                                       cradle_value value) {
  if (CRADLE_CHECKED) cradle_check_slot(mutator, object, slot, value);
  if (!__atomic_compare_exchange_n((cradle_word *)slot, &expected, value, false, __ATOMIC_SEQ_CST, __ATOMIC_ACQUIRE))
    return false;
  if (CRADLE_UNLIKELY(CRADLE_HAS_BARRIER_(object))) cradle_copy_slots_slow(mutator, object, slot, 1);
  return true;
}
CRADLE_INLINE CRADLE_RESULT_MATTERS bool cradle_compare_exchange(cradle_mutator *mutator, void *object, void *slot,
                                                                 const void *expected, const void *reference) {
  return cradle_compare_exchange_value(mutator, object, slot, (cradle_word)(uintptr_t)expected,
                                       (cradle_word)(uintptr_t)reference);
}

CRADLE_END_DECLS

#endif
