#include "gc/object/type_table.h"

#include <stdlib.h>

#include <cradle/finalizer.h>

#include "gc/base/bits.h"
#include "gc/base/check.h"
#include "gc/base/grow.h"

#define FIXED_MAX_BYTES ((size_t)1 << 30)

/* Every slot of the fixed part, or 0 when two kinds of slot share a word. */
static uint64_t all_slots(const cradle_type *type) {
  const uint64_t kinds[] = {type->references, type->values, type->weak, type->ephemerons, type->ephemerons << 1};
  uint64_t all = 0;
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
    if (all & kinds[i]) return 0;
    all |= kinds[i];
  }
  return all;
}

static const char *slots_fault(const cradle_type *type) {
  uint64_t slots = all_slots(type), some = type->references | type->values | type->weak | type->ephemerons;
  if (some & 1) return "type: word 0 is the header and cannot be a slot";
  if (type->references & type->values) return "type: a word cannot be a reference and a value";
  if (type->ephemerons >> 63) return "type: an ephemeron's value lies beyond word 63";
  if (slots == 0 && some != 0)
    return "type: a word cannot be two of reference, value, weak slot, ephemeron key and ephemeron value";
  if (slots != 0 && (size_t)(64 - __builtin_clzll(slots)) * 8 > type->size) return "type: a slot lies beyond size";
  return NULL;
}

static const char *items_fault(const cradle_type *type) {
  if ((unsigned)type->items > CRADLE_ITEMS_EPHEMERONS) return "type: items is no cradle_items";
  if (type->items == CRADLE_ITEMS_NONE) return NULL;
  if (type->item_size == 0) return "type: item_size is 0";
  if (type->items == CRADLE_ITEMS_EPHEMERONS && type->item_size != 16)
    return "type: item_size of ephemerons must be 16";
  if (type->items != CRADLE_ITEMS_BYTES && type->items != CRADLE_ITEMS_EPHEMERONS && type->item_size != 8)
    return "type: item_size of references, values and weak slots must be 8";
  if (type->items != CRADLE_ITEMS_BYTES && type->size % 8 != 0)
    return "type: size must be a multiple of 8 before slots";
  if (type->length_offset < 8 || type->length_offset % 8 != 0 || type->length_offset + (size_t)8 > type->size)
    return "type: length_offset must be a multiple of 8, after the header and inside size";
  if (type->length_offset < 512 && (all_slots(type) >> (type->length_offset / 8)) & 1)
    return "type: the length cannot be a slot";
  return NULL;
}

const char *crd_type_fault(const cradle_type *type) {
  if (type->size < 8) return "type: size must be at least 8, the header included";
  if (type->size > FIXED_MAX_BYTES) return "type: size is above 1 GiB";
  if (type->finalizer > CRADLE_FINALIZER_QUEUES) return "type: finalizer is no queue: 1 to 7, or 0 for none";
  const char *fault = slots_fault(type);
  return fault != NULL ? fault : items_fault(type);
}

static bool reserve(crd_type_table *table) {
  if (table->count >= CRADLE_TYPE_ID_END) return false;
  uint32_t capacity = table->capacity;
  return GROW(table->types, table->count, capacity) && GROW(table->services, table->count, table->capacity);
}

/* Sizes of fixed-size objects are rounded once, here. */
static uint32_t fixed_bytes(size_t size) {
  size_t bytes = align_up(size, 8);
  return (uint32_t)(bytes < CRADLE_OBJECT_MIN_BYTES ? CRADLE_OBJECT_MIN_BYTES : bytes);
}

static void set_services(crd_type *entry, crd_type_services *services, const cradle_type *type, bool plain_encoding) {
  *services = (crd_type_services){.weak = type->weak,
                                  .ephemerons = type->ephemerons,
                                  .values = type->weak_values && !plain_encoding,
                                  .destructor = type->destructor,
                                  .external_size = type->external_size};
  if (type->items >= CRADLE_ITEMS_WEAK) {
    services->items = (uint8_t)type->items;
    entry->items = CRADLE_ITEMS_BYTES;
  }
  if (type->weak != 0 || services->items == CRADLE_ITEMS_WEAK) entry->registers |= 1 << REGISTERED_WEAK;
  if (type->ephemerons != 0 || services->items == CRADLE_ITEMS_EPHEMERONS)
    entry->registers |= 1 << REGISTERED_EPHEMERON;
  if (type->finalizer != 0) entry->registers |= 1 << REGISTERED_FINALIZER;
  if (type->destructor != NULL || type->external_size != NULL) entry->registers |= 1 << REGISTERED_DESTRUCTOR;
}

crd_type *crd_type_table_add(crd_type_table *table, const cradle_type *type, bool plain_encoding) {
  ASSERT(crd_type_fault(type) == NULL, "[type.1] a type is added whose descriptor is not sound");
  if (!reserve(table)) return NULL;
  crd_type_services *services = &table->services[table->count];
  crd_type *entry = &table->types[table->count++];
  *entry = (crd_type){.references = type->references,
                      .values = type->values,
                      .size = (uint32_t)type->size,
                      .item_size = type->item_size,
                      .length_offset = type->length_offset,
                      .items = (uint8_t)type->items,
                      .queue = (uint8_t)type->finalizer,
                      .trace = type->trace,
                      .name = type->name};
  if (plain_encoding) {
    entry->folded = entry->values != 0 || entry->items == CRADLE_ITEMS_VALUES;
    entry->references |= entry->values;
    entry->values = 0;
    if (entry->items == CRADLE_ITEMS_VALUES) entry->items = CRADLE_ITEMS_REFERENCES;
  }
  set_services(entry, services, type, plain_encoding);
  if (entry->items == CRADLE_ITEMS_NONE) entry->size = fixed_bytes(type->size);
  table->registers |= entry->registers;
  bool fixed = entry->items < CRADLE_ITEMS_REFERENCES && entry->trace == NULL;
  bool sole = fixed && (entry->references == 0 || entry->values == 0);
  entry->sole = sole ? entry->references | entry->values : 0;
  entry->sole_values = entry->values != 0;
  entry->has_slots = !fixed || (entry->references | entry->values) != 0;
  return entry;
}

void crd_type_table_fini(crd_type_table *table) {
  free(table->types);
  free(table->services);
  *table = (crd_type_table){NULL, NULL, 0, 0, 0};
}
