#include "second_model.h"

#define BIT(word) (UINT64_C(1) << (word))

/* Each kind of slot, item and service that a descriptor can tell of. Word 1 has the serial number, word 2 the length,
 * but in VALUES, where it is the other way round. */
const shape shapes[SHAPES] = {
    [LEAF] = {{.name = "leaf", .size = 16}, 1},
    [PAIR] = {{.name = "pair", .size = 32, .references = BIT(2) | BIT(3)}, 1},
    [CLOSURE] = {{.name = "closure", .size = 48, .references = BIT(4), .values = BIT(2) | BIT(5)}, 1},
    [WIDE] = {{.name = "wide", .size = 70 * 8, .references = BIT(3) | BIT(62), .values = BIT(63)}, 1},
    [BYTES] = {{.name = "bytes", .size = 24, .items = CRADLE_ITEMS_BYTES, .item_size = 1, .length_offset = 16}, 1},
    [ODD_BYTES] = {{.name = "odd bytes", .size = 24, .items = CRADLE_ITEMS_BYTES, .item_size = 5, .length_offset = 16},
                   1},
    [REFERENCES] =
        {{.name = "references", .size = 24, .items = CRADLE_ITEMS_REFERENCES, .item_size = 8, .length_offset = 16}, 1},
    [VALUES] = {{.name = "values",
                 .size = 32,
                 .references = BIT(3),
                 .items = CRADLE_ITEMS_VALUES,
                 .item_size = 8,
                 .length_offset = 8},
                2},
    [RECORDS] = {{.name = "records",
                  .size = 24,
                  .items = CRADLE_ITEMS_STRUCTURES,
                  .item_size = 24,
                  .length_offset = 16,
                  .item_references = BIT(0),
                  .item_values = BIT(2)},
                 1},
    [WIDE_RECORDS] = {{.name = "wide records",
                       .size = 32,
                       .values = BIT(3),
                       .items = CRADLE_ITEMS_STRUCTURES,
                       .item_size = 66 * 8,
                       .length_offset = 16,
                       .item_references = BIT(1) | BIT(63),
                       .item_values = BIT(32)},
                      1},
    [TRACED] =
        {{.name = "traced", .size = 40, .references = BIT(4), .trace = trace_buffer, .destructor = destroy_object}, 1},
    [WEAK_PAIR] = {{.name = "weak pair", .size = 40, .references = BIT(3), .weak = BIT(2) | BIT(4)}, 1},
    [WEAK_ARRAY] = {{.name = "weak array", .size = 24, .items = CRADLE_ITEMS_WEAK, .item_size = 8, .length_offset = 16},
                    1},
    [EPHEMERONS] = {{.name = "ephemerons", .size = 48, .ephemerons = BIT(2) | BIT(4)}, 1},
    [EPHEMERON_ARRAY] = {{.name = "ephemeron array",
                          .size = 24,
                          .items = CRADLE_ITEMS_EPHEMERONS,
                          .item_size = 16,
                          .length_offset = 16},
                         1},
    [WEAK_VALUES] =
        {{.name = "weak values", .size = 40, .references = BIT(3), .weak = BIT(2) | BIT(4), .weak_values = true}, 1},
    [VALUE_EPHEMERONS] = {{.name = "value ephemerons",
                           .size = 40,
                           .ephemerons = BIT(3),
                           .weak_values = true,
                           .items = CRADLE_ITEMS_EPHEMERONS,
                           .item_size = 16,
                           .length_offset = 16},
                          1},
    [FINALIZED] = {{.name = "finalized", .size = 32, .references = BIT(2) | BIT(3), .finalizer = 2}, 1},
    [OWNER] = {{.name = "owner",
                .size = 40,
                .references = BIT(3) | BIT(4),
                .finalizer = CRADLE_FINALIZER_QUEUES,
                .destructor = destroy_object,
                .external_size = external_size},
               1},
    [BALLAST] = {{.name = "ballast", .size = 16, .items = CRADLE_ITEMS_BYTES, .item_size = 1, .length_offset = 8}, 1},
    [LATE] = {{.name = "late", .size = 40, .values = BIT(2) | BIT(3) | BIT(4)}, 1},
};

static bool has_word(uint64_t bits, size_t word) {
  return word < 64 && (bits >> word & 1) != 0;
}

static role fixed_role(const shape *of, size_t word) {
  const cradle_type *type = &of->type;
  bool has_length = type->items != CRADLE_ITEMS_NONE;
  if (word == of->serial_word || (has_length && word == type->length_offset / 8)) return ROLE_OWN;
  if (of == &shapes[TRACED] && word < 4) return ROLE_OWN;
  if (has_word(type->references, word)) return ROLE_REFERENCE;
  if (has_word(type->values, word)) return ROLE_VALUE;
  if (has_word(type->weak, word)) return ROLE_WEAK;
  if (has_word(type->ephemerons, word)) return ROLE_KEY;
  return word > 0 && has_word(type->ephemerons, word - 1) ? ROLE_HELD : ROLE_RAW;
}

static role item_role(const cradle_type *type, size_t word) {
  size_t in_item = type->item_size < 8 ? 0 : word % (type->item_size / 8);
  switch (type->items) {
  case CRADLE_ITEMS_REFERENCES: return ROLE_REFERENCE;
  case CRADLE_ITEMS_VALUES: return ROLE_VALUE;
  case CRADLE_ITEMS_WEAK: return ROLE_WEAK;
  case CRADLE_ITEMS_EPHEMERONS: return in_item == 0 ? ROLE_KEY : ROLE_HELD;
  case CRADLE_ITEMS_STRUCTURES:
    if (has_word(type->item_references, in_item)) return ROLE_REFERENCE;
    return has_word(type->item_values, in_item) ? ROLE_VALUE : ROLE_RAW;
  default: return ROLE_RAW;
  }
}

role shape_role(const shape *of, size_t word) {
  size_t fixed = of->type.size / 8;
  return word < fixed ? fixed_role(of, word) : item_role(&of->type, word - fixed);
}

/* Whether a slot holds a value in the heap's encoding. */
bool shape_is_value(const shape *of, size_t word) {
  role is = shape_role(of, word);
  return is == ROLE_VALUE || (of->type.weak_values && (is == ROLE_WEAK || is == ROLE_KEY || is == ROLE_HELD));
}

bool shape_is_registered(const shape *of) {
  const cradle_type *type = &of->type;
  return type->weak != 0 || type->ephemerons != 0 || type->finalizer != 0 || type->destructor != NULL ||
         type->external_size != NULL || type->items == CRADLE_ITEMS_WEAK || type->items == CRADLE_ITEMS_EPHEMERONS;
}

size_t shape_words(const shape *of, size_t length) {
  return cradle_object_bytes(of->type.size + length * of->type.item_size) / 8;
}
