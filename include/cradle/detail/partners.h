/* The functions that inline functions call in rare cases. A program does not call these; generated code calls the ones
 * that docs/jit.md names. */
#ifndef CRADLE_DETAIL_PARTNERS_H
#define CRADLE_DETAIL_PARTNERS_H

#include <cradle/object.h>

CRADLE_BEGIN_DECLS

/* The bytes that an object of the given size takes: rounded up, and at least the minimum. Does not collect. */
CRADLE_INLINE size_t cradle_object_bytes(size_t size) {
  size_t rounded = (size + (CRADLE_OBJECT_ALIGNMENT - 1)) & ~(size_t)(CRADLE_OBJECT_ALIGNMENT - 1);
  return rounded < CRADLE_OBJECT_MIN_BYTES ? CRADLE_OBJECT_MIN_BYTES : rounded;
}

/* Does the work of cradle_safepoint if a safepoint was asked for. */
CRADLE_API void cradle_safepoint_slow(cradle_mutator *mutator) CRADLE_MAY_COLLECT;
/* Does the work of cradle_identity_hash for an object without a hash: gives it one. */
CRADLE_API CRADLE_NOINLINE uint32_t cradle_identity_hash_slow(cradle_mutator *mutator, void *object);
/* For cradle_weak_get while weak slots may refer to dead objects: whether the word of a slot does. */
CRADLE_API bool cradle_weak_is_dead(cradle_mutator *mutator, cradle_word word, bool value);

/* --- how code that serves any encoding of values, such as the kit, reads them; a VM reads its values itself --- */

/* Returns how the heap's values are encoded; valid as long as the heap. Does not collect. */
CRADLE_API const cradle_encoding *cradle_heap_encoding(const cradle_heap *heap);

/* The object that a value refers to, or NULL when it is an immediate. */
CRADLE_INLINE void *cradle_value_object(const cradle_encoding *encoding, cradle_value value) {
  if (!(encoding->tag_set >> (value & 7) & 1)) return NULL;
  uint64_t address = value & encoding->payload_mask;
  if (address == 0) return NULL;
  for (uint32_t i = 0; i < encoding->pair_count; i++)
    if ((value & encoding->pairs[i].mask) == encoding->pairs[i].pattern) return (void *)(uintptr_t)address;
  return NULL;
}

CRADLE_END_DECLS

#endif
