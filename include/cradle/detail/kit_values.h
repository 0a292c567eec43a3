/* How the kit's inline functions look at values; cradle/kit.h includes this after cradle_kit. A program does not call
 * these. */
#ifndef CRADLE_DETAIL_KIT_VALUES_H
#define CRADLE_DETAIL_KIT_VALUES_H

/* false: the word is an immediate. A quick first test; cradle_value_object decides. */
CRADLE_INLINE bool cradle_kit_may_refer(const cradle_kit *kit, cradle_value value) {
  return (value & kit->reference_mask) == kit->reference_pattern;
}
/* As cradle_store_value, but quicker for immediates in old objects: the collector need not know of them. */
CRADLE_INLINE void cradle_kit_store(const cradle_kit *kit, void *object, cradle_word *slot, cradle_value value) {
  if (CRADLE_CHECKED) cradle_check_slot(kit->mutator, object, slot, value);
  if (CRADLE_UNLIKELY((((const unsigned char *)object)[CRADLE_BARRIER_OFFSET] & CRADLE_BARRIER_MASK) &&
                      cradle_kit_may_refer(kit, value)))
    cradle_store_slow(kit->mutator, object, slot, value);
  else
    *slot = value;
}

/* Every bit of the result depends on every bit of the word. A constant is mixed in first, because the product of a
 * small word would leave the high half empty. */
CRADLE_INLINE uint64_t cradle_kit_hash_word(uint64_t word) {
  return cradle_kit_hash_fold(word ^ CRADLE_KIT_HASH_ODD_2, CRADLE_KIT_HASH_ODD_1);
}

#endif
