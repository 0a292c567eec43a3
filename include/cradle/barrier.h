/* The write barrier: after every store of a reference or value into an object that is not provably just allocated (no call
 * that may collect since), call it. It tests one flag byte of the object and branches rarely. Nothing here collects.
 */
#ifndef CRADLE_BARRIER_H
#define CRADLE_BARRIER_H

#include <cradle/mutator.h>

CRADLE_BEGIN_DECLS

/* Remembers object for the next collection. Called by the inline part only when the flag is set. */
CRADLE_API CRADLE_COLD void cradle_write_barrier_slow(cradle_mutator *mutator, void *object);
/* Stores word into the slot and tells the collector; of a large array, only the slot is recorded, not the whole object.
 * Called by the inline part only when the flag is set. */
CRADLE_API void cradle_store_slow(cradle_mutator *mutator, void *object, void *slot, cradle_word word);

/* Tells the collector that something was stored into object. After the store, and before the next call that may collect. */
CRADLE_INLINE void cradle_write_barrier(cradle_mutator *mutator, void *object) {
  if (CRADLE_UNLIKELY(((const unsigned char *)object)[CRADLE_BARRIER_OFFSET] & CRADLE_BARRIER_MASK))
    cradle_write_barrier_slow(mutator, object);
}

/* Stores a value in the heap's encoding into a slot of object, with the barrier. slot is the address of a field or item of
 * object. Prefer it to a plain store and cradle_write_barrier: an old array of 32 KiB and more is then not looked at as a
 * whole by the next minor collection, only where it was stored into. Allocate before the call, not in its arguments: C may
 * compute object and slot first, and the allocation may move the object then. */
CRADLE_INLINE void cradle_store_value(cradle_mutator *mutator, void *object, void *slot, uint64_t value) {
  if (CRADLE_UNLIKELY(((const unsigned char *)object)[CRADLE_BARRIER_OFFSET] & CRADLE_BARRIER_MASK))
    cradle_store_slow(mutator, object, slot, value);
  else
    *(cradle_word *)slot = value;
}
/* The same with a reference. */
CRADLE_INLINE void cradle_store(cradle_mutator *mutator, void *object, void *slot, const void *reference) {
  cradle_store_value(mutator, object, slot, (cradle_word)(uintptr_t)reference);
}

CRADLE_END_DECLS

#endif
