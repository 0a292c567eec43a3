/* How code that serves any encoding of values, such as the kit, reads them. A VM knows its own encoding, and reads its
 * values itself. */
#ifndef CRADLE_DETAIL_VALUE_H
#define CRADLE_DETAIL_VALUE_H

#include <cradle/object.h>

CRADLE_BEGIN_DECLS

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
