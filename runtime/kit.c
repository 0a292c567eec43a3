/* The kit's types, what the kit derives from the encoding, and the hash for identity. */
#include <stdio.h>

#include <cradle/kit.h>

/* Finds the bits that are equal in all words that hold references: the bits on which every pattern and every tag
 * agree. */
static void find_reference_bits(cradle_kit *kit) {
  const cradle_encoding *encoding = &kit->encoding;
  bool is_first = true;
  for (uint32_t i = 0; i < encoding->pair_count; i++) {
    for (uint64_t tag = 0; tag < 8; tag++) {
      uint64_t mask = encoding->pairs[i].mask, pattern = encoding->pairs[i].pattern;
      if (!(encoding->tag_set >> tag & 1) || ((tag ^ pattern) & mask & 7) != 0) continue;
      mask |= 7;
      pattern |= tag;
      kit->reference_mask = is_first ? mask : kit->reference_mask & mask & ~(pattern ^ kit->reference_pattern);
      kit->reference_pattern = pattern & kit->reference_mask;
      is_first = false;
    }
  }
}

void cradle_kit_init(cradle_kit *kit, cradle_mutator *mutator, uint32_t first_type) {
  *kit = (cradle_kit){.mutator = mutator, .first_type = first_type, .encoding = *cradle_heap_encoding(mutator->heap)};
  find_reference_bits(kit);
}

uint32_t cradle_kit_add_types(cradle_heap *heap) {
  static const cradle_type rows[CRADLE_KIT_TYPES] = {CRADLE_KIT_ROWS(0)};
  uint32_t first = cradle_type_add(heap, &rows[0]);
  bool added = first != CRADLE_TYPE_ID_END;
  for (int i = 1; added && i < CRADLE_KIT_TYPES; i++) added = cradle_type_add(heap, &rows[i]) != CRADLE_TYPE_ID_END;
  return added ? first : CRADLE_TYPE_ID_END;
}

void cradle_kit_no_item(const cradle_kit *kit, const char *function, size_t index, size_t count) {
  char message[128];
  snprintf(message, sizeof message, "%s: index %zu is out of range (items: %zu)", function, index, count);
  cradle_misuse(kit == NULL ? NULL : kit->mutator->heap, message);
}

uint64_t cradle_kit_hash_identity(const cradle_kit *kit, cradle_value value) {
  void *object = cradle_value_object(&kit->encoding, value);
  if (object == NULL) return cradle_kit_hash_word(value);
  uint32_t type = cradle_type_of(object);
  if (type == kit->first_type + CRADLE_KIT_STRING) {
    uint64_t known = __atomic_load_n(&((const cradle_kit_string *)object)->hash, __ATOMIC_RELAXED);
    return CRADLE_LIKELY(known != 0) ? known : cradle_kit_string_hash(object);
  }
  if (type == kit->first_type + CRADLE_KIT_SYMBOL) return ((const cradle_kit_symbol *)object)->hash;
  return cradle_kit_hash_word(cradle_identity_hash(kit->mutator, object));
}
