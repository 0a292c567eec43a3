/* The kit's types, and the hash that goes with identity. */
#include <cradle/kit.h>

#include "runtime/kit_hash.h"

void cradle_kit_init(cradle_kit *kit, cradle_mutator *mutator, uint32_t first_type) {
  *kit = (cradle_kit){.mutator = mutator, .first_type = first_type, .encoding = *cradle_heap_encoding(mutator->heap)};
}

uint32_t cradle_kit_add_types(cradle_heap *heap) {
  static const cradle_type rows[CRADLE_KIT_TYPES] = {CRADLE_KIT_ROWS(0)};
  uint32_t first = cradle_type_add(heap, &rows[0]);
  for (int i = 1; i < CRADLE_KIT_TYPES && first != CRADLE_TYPE_ID_END; i++)
    if (cradle_type_add(heap, &rows[i]) == CRADLE_TYPE_ID_END) return CRADLE_TYPE_ID_END;
  return first;
}

uint64_t cradle_hash_identity(const cradle_kit *kit, uint64_t value) {
  void *object = cradle_value_object(&kit->encoding, value);
  if (object == NULL) return hash_word(value);
  uint32_t type = cradle_type_of(object);
  if (type == kit->first_type + CRADLE_KIT_STRING) return cradle_string_hash(object);
  if (type == kit->first_type + CRADLE_KIT_SYMBOL) return ((const cradle_symbol *)object)->hash;
  return hash_word(kit->hash_object != NULL ? kit->hash_object(kit, object) : type);
}
