#include "gc/object/value.h"

/* Bits 3 to 46: those of the address of an 8-byte aligned object in a 47-bit address space. */
#define ADDRESS_BITS UINT64_C(0x00007ffffffffff8)
#define TAG_BITS UINT64_C(7)

/* The payload is the whole word: a word with a tag is a mistake, so nothing looks for one. */
cradle_encoding crd_encoding_plain(void) {
  return (cradle_encoding){.pairs = {{0, 0}}, .pair_count = 1, .tag_set = 0x01, .payload_mask = ~UINT64_C(0)};
}

cradle_encoding cradle_encoding_of(uint64_t mask, uint64_t pattern, uint8_t tag_set) {
  return (cradle_encoding){
      .pairs = {{mask, pattern}}, .pair_count = 1, .tag_set = tag_set, .payload_mask = ~(mask | TAG_BITS)};
}

bool crd_encoding_is_plain(const cradle_encoding *encoding) {
  return encoding->pair_count == 1 && encoding->pairs[0].mask == 0 && encoding->tag_set == 0x01 &&
         encoding->payload_mask == ~UINT64_C(0);
}

static const char *pair_fault(const cradle_encoding *encoding, uint32_t i) {
  uint64_t mask = encoding->pairs[i].mask;
  if (encoding->pairs[i].pattern & ~mask) return "a pattern has bits outside its mask";
  if (mask & ADDRESS_BITS) return "a mask covers address bits (3 to 46)";
  if (mask & encoding->payload_mask) return "payload_mask and a mask overlap";
  /* A pattern may fix tag bits. At least one tag of the set must agree with it, or no word is a reference. */
  for (unsigned tag = 0; tag < 8; tag++)
    if ((encoding->tag_set >> tag & 1) && (tag & mask & TAG_BITS) == (encoding->pairs[i].pattern & TAG_BITS))
      return NULL;
  return "tag_set and a pattern exclude each other";
}

const char *crd_encoding_fault(const cradle_encoding *encoding) {
  if (encoding->pair_count == 0 || encoding->pair_count > CRADLE_ENCODING_PAIRS_MAX) return "pair_count must be 1 to 4";
  if (encoding->tag_set == 0) return "tag_set is empty";
  if ((encoding->payload_mask & ADDRESS_BITS) != ADDRESS_BITS) return "payload_mask must have bits 3 to 46 set";
  /* Tag bits in the payload would be taken for address bits. */
  if ((encoding->payload_mask & TAG_BITS) && encoding->tag_set != 0x01)
    return "payload_mask must leave out the tag bits when tag_set has a tag other than 0";
  for (uint32_t i = 0; i < encoding->pair_count; i++) {
    const char *fault = pair_fault(encoding, i);
    if (fault != NULL) return fault;
  }
  return NULL;
}
