#include "gc/object/type_table.h"

#include <cradle/finalizer.h>

#include "gc/base/grow.h"

/* Of the fixed part of an object: its size fits the table's 32 bits. */
#define FIXED_MAX_BYTES ((size_t)1 << 30)

/* Every slot of the fixed part, or 0 when two kinds of slot share a word. */
static uint64_t all_slots(const cradle_type *type) {
  /* The bit of an ephemeron names its key; its value is the next word. */
  const uint64_t kinds[] = {type->references, type->values, type->weak, type->ephemerons, type->ephemerons << 1};
  uint64_t all = 0;
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
    if (all & kinds[i]) return 0;
    all |= kinds[i];
  }
  return all;
}

static const char *slots_fault(const cradle_type *type) {
  if (type->symbols & (all_slots(type) | 1)) return "symbols has a bit of a slot or of the header";
  if (type->symbols != 0 && (size_t)(64 - __builtin_clzll(type->symbols)) * 8 > type->size)
    return "symbols has a bit beyond size";
  uint64_t slots = all_slots(type), some = type->references | type->values | type->weak | type->ephemerons;
  if (some & 1) return "word 0 is the header and cannot be a slot";
  if (type->references & type->values)
    return "references and values have a bit in common: a word cannot be a reference and a value";
  if (type->ephemerons >> 63) return "an ephemeron's value lies beyond word 63";
  if (slots == 0 && some != 0)
    return "a word cannot be two of reference, value, weak slot, ephemeron key and ephemeron value";
  if (slots != 0 && (size_t)(64 - __builtin_clzll(slots)) * 8 > type->size) return "a slot lies beyond size";
  return NULL;
}

/* A bit for each word of an item, as far as a bitmap goes. */
static uint64_t item_words(const cradle_type *type) {
  return type->item_size >= 64 * 8 ? UINT64_MAX : (UINT64_C(1) << (type->item_size / 8)) - 1;
}

static const char *structures_fault(const cradle_type *type) {
  if (type->items != CRADLE_ITEMS_STRUCTURES)
    return type->item_references != 0 ? "item_references is for items that are CRADLE_ITEMS_STRUCTURES"
           : type->item_values != 0   ? "item_values is for items that are CRADLE_ITEMS_STRUCTURES"
                                      : NULL;
  if (type->item_size % 8 != 0) return "item_size of structures must be a multiple of 8";
  if (type->item_references & type->item_values)
    return "item_references and item_values have a bit in common: a word cannot be a reference and a value";
  if (type->item_references & ~item_words(type)) return "item_references has a bit beyond item_size";
  if (type->item_values & ~item_words(type)) return "item_values has a bit beyond item_size";
  if ((type->item_references | type->item_values) == 0)
    return "item_references and item_values are both 0: items without slots are CRADLE_ITEMS_BYTES";
  return NULL;
}

static const char *items_fault(const cradle_type *type) {
  if ((unsigned)type->items > CRADLE_ITEMS_EPHEMERONS) return "items is not a value of cradle_items";
  if (type->items != CRADLE_ITEMS_NONE && type->item_size == 0) return "item_size is 0";
  const char *fault = structures_fault(type);
  if (fault != NULL || type->items == CRADLE_ITEMS_NONE) return fault;
  if (type->items == CRADLE_ITEMS_EPHEMERONS && type->item_size != 16) return "item_size of ephemerons must be 16";
  bool words =
      type->items == CRADLE_ITEMS_REFERENCES || type->items == CRADLE_ITEMS_VALUES || type->items == CRADLE_ITEMS_WEAK;
  if (words && type->item_size != 8) return "item_size of references, values and weak slots must be 8";
  if (type->items != CRADLE_ITEMS_BYTES && type->size % 8 != 0) return "size must be a multiple of 8 before slots";
  if (type->length_offset < 8 || type->length_offset % 8 != 0 || type->length_offset + (size_t)8 > type->size)
    return "length_offset must be a multiple of 8, after the header and inside size";
  /* Only the first 64 words can be slots of the fixed part. */
  if (type->length_offset < 512 && (all_slots(type) >> (type->length_offset / 8)) & 1)
    return "the length cannot be a slot";
  return NULL;
}

bool crd_type_is_unused(const cradle_type *type) {
  return type->size == 0 && type->name == NULL && type->references == 0 && type->values == 0 &&
         type->items == CRADLE_ITEMS_NONE && type->trace == NULL && type->weak == 0 && type->ephemerons == 0 &&
         type->finalizer == 0 && type->destructor == NULL && type->external_size == NULL && type->symbols == 0 &&
         type->mend == NULL;
}

const char *crd_type_fault(const cradle_type *type) {
  if (type->size < 8) return "size must be at least 8, the header included";
  if (type->size > FIXED_MAX_BYTES) return "size is above 1 GiB";
  if (type->finalizer > CRADLE_FINALIZER_QUEUES) return "finalizer is not a queue's number: 1 to 7, or 0 for none";
  const char *fault = slots_fault(type);
  return fault != NULL ? fault : items_fault(type);
}

/* The next entry, or NULL. */
static crd_type *next_entry(crd_type_table *table) {
  const cradle_word *end = table->room.base + (table->count + 1) * (sizeof(crd_type) / sizeof *end);
  if (table->count >= CRADLE_TYPE_ID_END || (end > table->room.limit && !crd_word_stack_grow(&table->room)))
    return NULL;
  if (table->types == NULL) table->types = (crd_type *)table->room.base;
  return &table->types[table->count];
}

static void set_services(crd_type *entry, const cradle_type *type) {
  /* Tracing must not keep the objects of weak items and pairs alive: for it these items are bytes. */
  if (type->items >= CRADLE_ITEMS_WEAK) {
    entry->weak_items = (uint8_t)type->items;
    entry->items = CRADLE_ITEMS_BYTES;
  }
  if (type->weak != 0 || entry->weak_items == CRADLE_ITEMS_WEAK) entry->registers |= 1 << REGISTERED_WEAK;
  if (type->ephemerons != 0 || entry->weak_items == CRADLE_ITEMS_EPHEMERONS)
    entry->registers |= 1 << REGISTERED_EPHEMERON;
  if (type->finalizer != 0) entry->registers |= 1 << REGISTERED_FINALIZER;
  if (type->destructor != NULL || type->external_size != NULL) entry->registers |= 1 << REGISTERED_DESTRUCTOR;
}

/* What tracing needs of items [type.2], [type.5]. */
static void set_item_slots(crd_type *entry, const cradle_type *type, bool plain_encoding) {
  entry->item_words = 1;
  entry->item_alike = entry->items;
  if (type->items != CRADLE_ITEMS_STRUCTURES) return;
  uint64_t folded = plain_encoding ? type->item_values : 0;
  entry->item_references = type->item_references | folded;
  entry->item_values = type->item_values & ~folded;
  entry->item_words = type->item_size / 8;
  entry->item_alike = CRADLE_ITEMS_NONE;
  /* A bitmap says nothing of words beyond 64, which are bytes. */
  if (entry->item_words > 64) return;
  if (entry->item_references == item_words(type)) entry->item_alike = CRADLE_ITEMS_REFERENCES;
  if (entry->item_values == item_words(type)) entry->item_alike = CRADLE_ITEMS_VALUES;
}

/* How stores into large old arrays of the type are remembered: slot by slot if their items are slots, and fixed slots
 * are of the same kind. Weak slots and those of a trace callback have no record of their own. */
static uint8_t recording_of(const crd_type *entry) {
  if (entry->trace != NULL || (entry->registers & REGISTERED_WEAKLY)) return RECORDING_OBJECT;
  if (entry->item_alike == CRADLE_ITEMS_REFERENCES && entry->values == 0) return RECORDING_REFERENCES;
  if (entry->item_alike == CRADLE_ITEMS_VALUES && entry->references == 0) return RECORDING_VALUES;
  bool only_items = entry->references == 0 && entry->values == 0 && entry->items == CRADLE_ITEMS_STRUCTURES;
  return entry->item_alike == CRADLE_ITEMS_NONE && only_items ? RECORDING_STRUCTURES : RECORDING_OBJECT;
}

crd_type *crd_type_table_add(crd_type_table *table, const cradle_type *type, bool plain_encoding) {
  ASSERT(crd_type_is_unused(type) || crd_type_fault(type) == NULL,
         "[type.1] a type is added whose descriptor is not sound");
  bool mended = type->symbols != 0 || type->mend != NULL;
  if (mended && !GROW(table->mended, table->mended_count, table->mended_capacity)) return NULL;
  crd_type *entry = next_entry(table);
  if (entry == NULL) return NULL;
  if (mended) table->mended[table->mended_count++] = (crd_mended){table->count, type->symbols, type->mend};
  *entry = (crd_type){.references = type->references,
                      .values = type->values,
                      .size = (uint32_t)type->size,
                      .item_size = type->item_size,
                      .length_offset = type->length_offset,
                      .items = (uint8_t)type->items,
                      .queue = (uint8_t)type->finalizer,
                      .trace = type->trace,
                      .weak_values = type->weak_values && !plain_encoding,
                      .weak = type->weak,
                      .ephemerons = type->ephemerons,
                      .destructor = type->destructor,
                      .external_size = type->external_size,
                      .name = type->name};
  if (plain_encoding) {
    /* The verifier must still know that such a slot may hold a tagged word. */
    entry->folded = entry->values != 0 || entry->items == CRADLE_ITEMS_VALUES || type->item_values != 0;
    entry->references |= entry->values;
    entry->values = 0;
    if (entry->items == CRADLE_ITEMS_VALUES) entry->items = CRADLE_ITEMS_REFERENCES;
  }
  set_services(entry, type);
  set_item_slots(entry, type, plain_encoding);
  /* Rounded once, so that an allocation need not. With items, size is where they begin. */
  if (entry->items == CRADLE_ITEMS_NONE && type->size != 0)
    entry->size = type->size > CRADLE_OBJECT_MIN_BYTES ? (uint32_t)align_up(type->size, 8) : CRADLE_OBJECT_MIN_BYTES;
  table->registers |= entry->registers;
  /* Promotion takes a shorter way for objects whose slots are fixed ones of one sort [promote.2]. */
  bool fixed = entry->items < CRADLE_ITEMS_REFERENCES && entry->trace == NULL;
  bool sole = fixed && (entry->references == 0 || entry->values == 0);
  entry->sole = sole ? entry->references | entry->values : 0;
  entry->sole_values = entry->values != 0;
  entry->has_slots = !fixed || (entry->references | entry->values) != 0;
  entry->recording = recording_of(entry);
  return entry;
}

const crd_mended *crd_type_mended(const crd_type_table *table, uint32_t type) {
  uint32_t from = 0, to = table->mended_count;
  while (from < to) {
    uint32_t middle = from + (to - from) / 2;
    if (table->mended[middle].type < type)
      from = middle + 1;
    else
      to = middle;
  }
  return from < table->mended_count && table->mended[from].type == type ? &table->mended[from] : NULL;
}

cradle_items crd_type_item_word(const crd_type *type, const cradle_word *object, const cradle_word *word) {
  const cradle_word *items = type_items(type, object);
  ASSERT(word >= items, "a word before the items is taken for one of them");
  uint64_t at = (uint64_t)(word - items) % type->item_words;
  if (at >= 64) return CRADLE_ITEMS_BYTES;
  if (type->item_references >> at & 1) return CRADLE_ITEMS_REFERENCES;
  return type->item_values >> at & 1 ? CRADLE_ITEMS_VALUES : CRADLE_ITEMS_BYTES;
}

uint64_t crd_type_item_slot_count(const crd_type *type, const cradle_word *object) {
  return type_length(type, object) * count_bits(type->item_references | type->item_values);
}
