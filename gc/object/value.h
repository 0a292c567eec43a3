/* Values and references: what the words of a slot mean. A reference is the address of an object, or 0. A value is a
 * word in the embedder's encoding: an immediate, or an address with tag bits around it. The encoding is data, not a
 * callback, so that loops over slots stay inline.
 *
 *   [value.1] An encoding was checked when its heap was made: its payload mask has all bits that an address can have.
 *   [value.2] A slot lies at a multiple of 8: bit 0 of its address is free.
 */
#ifndef CRADLE_GC_OBJECT_VALUE_H
#define CRADLE_GC_OBJECT_VALUE_H

#include "gc/object/header.h"

static inline bool value_is_reference(const cradle_encoding *encoding, uint64_t value) {
  if ((value & encoding->payload_mask) == 0 || !((encoding->tag_set >> (value & 7)) & 1)) return false;
  for (uint32_t i = 0; i < encoding->pair_count; i++)
    if ((value & encoding->pairs[i].mask) == encoding->pairs[i].pattern) return true;
  return false;
}

/* The bits of a value that are an address if it is a reference. Those of an immediate may be compared with bounds and
 * prefetched, but never looked up or followed. */
static inline uint64_t value_payload(const cradle_encoding *encoding, uint64_t value) {
  return value & encoding->payload_mask;
}
/* The address that a value refers to; 0: it is an immediate. */
static inline uintptr_t value_address(const cradle_encoding *encoding, uint64_t value) {
  return value_is_reference(encoding, value) ? value_payload(encoding, value) : 0;
}

/* The value after its object has moved to address: the tag bits stay. */
static inline uint64_t value_moved(const cradle_encoding *encoding, uint64_t value, uintptr_t address) {
  ASSERT(value_is_reference(encoding, value), "an immediate follows an object that moved");
  ASSERT((address & ~encoding->payload_mask) == 0, "[value.1] an address reaches into a value's tag");
  return (value & ~encoding->payload_mask) | address;
}

/* The default encoding: plain references with NULL, so that value slots and reference slots are the same. */
cradle_encoding crd_encoding_plain(void);
bool crd_encoding_is_plain(const cradle_encoding *encoding);
/* NULL if the encoding is sound; otherwise what is wrong with it. */
const char *crd_encoding_fault(const cradle_encoding *encoding);

/* What a phase does with a slot, which it may rewrite. value: the slot holds a value in the heap's encoding;
 * otherwise a plain reference. */
typedef void (*crd_slot_function)(void *context, bool value, cradle_word *slot);

#define SLOT_HOLDS_VALUE 1

static inline cradle_word slot_entry(const cradle_word *slot, bool value) {
  ASSERT(address_of(slot) % 8 == 0, "[value.2] the address of a slot has its lowest bits set");
  return address_of(slot) | (value ? SLOT_HOLDS_VALUE : 0);
}
static inline cradle_word *slot_of_entry(cradle_word entry) {
  return object_at(entry & ~(cradle_word)SLOT_HOLDS_VALUE);
}
static inline bool slot_entry_holds_value(cradle_word entry) {
  return entry & SLOT_HOLDS_VALUE;
}

#endif
