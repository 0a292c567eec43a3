/* The write barrier: after every store of a reference or value into an object that is not provably just allocated (no call
 * that may collect since), call it. It tests one flag byte of the object and branches rarely. Nothing here collects.
 */
#ifndef CRADLE_BARRIER_H
#define CRADLE_BARRIER_H

#include <cradle/mutator.h>

CRADLE_BEGIN_DECLS

/* Remembers object for the next collection. Called by the inline part only when the flag is set. */
CRADLE_API CRADLE_COLD void cradle_write_barrier_slow(cradle_mutator *mutator, void *object);

CRADLE_INLINE void cradle_write_barrier(cradle_mutator *mutator, void *object) {
  if (CRADLE_UNLIKELY(((const unsigned char *)object)[CRADLE_BARRIER_OFFSET] & CRADLE_BARRIER_MASK))
    cradle_write_barrier_slow(mutator, object);
}

/* Stores a reference into a slot of object, with the barrier. slot is the address of a field or item of object. Allocate before
 * the call, not in its arguments: C may compute object and slot first, and the allocation may move the object then. */
CRADLE_INLINE void cradle_store(cradle_mutator *mutator, void *object, void *slot, const void *reference) {
  *(cradle_word *)slot = (cradle_word)(uintptr_t)reference;
  cradle_write_barrier(mutator, object);
}
/* The same with a value in the heap's encoding. */
CRADLE_INLINE void cradle_store_value(cradle_mutator *mutator, void *object, void *slot, uint64_t value) {
  *(cradle_word *)slot = value;
  cradle_write_barrier(mutator, object);
}

CRADLE_END_DECLS

#endif
