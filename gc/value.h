/* Values and references: the one-word types of the collector's inside, and the encoding's arithmetic. */
#ifndef CRADLE_GC_VALUE_H
#define CRADLE_GC_VALUE_H

#include <cradle/object.h>

static inline bool value_is_reference(const cradle_encoding *encoding, uint64_t value) {
  if ((value & encoding->payload_mask) == 0 || !((encoding->tag_set >> (value & 7)) & 1)) return false;
  for (uint32_t i = 0; i < encoding->pair_count; i++)
    if ((value & encoding->pairs[i].mask) == encoding->pairs[i].pattern) return true;
  return false;
}

static inline uintptr_t value_address(const cradle_encoding *encoding, uint64_t value) {
  return (uintptr_t)(value & encoding->payload_mask);
}

static inline uint64_t value_moved(const cradle_encoding *encoding, uint64_t value, uintptr_t address) {
  return (value & ~encoding->payload_mask) | address;
}

/* Whether values are plain references, so that both kinds of slots are one. */
bool crd_encoding_is_plain(const cradle_encoding *encoding);
/* NULL when the encoding is sound, else what is wrong with it. */
const char *crd_encoding_fault(const cradle_encoding *encoding);

#endif
