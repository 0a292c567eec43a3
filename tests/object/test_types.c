/* Tests the type table, and how the slots of an object are visited. */
#include "tests/support/granted.h"
#include "tests/support/heap_fixture.h"

#include <pthread.h>
#include <sched.h>
#include <unistd.h>

#include "tests/inside.h"

/* --- the type table --- */

#define TYPE(...) (&(cradle_type){__VA_ARGS__})
#define ITEMS(sort, bytes, ...) TYPE(.size = 16, .items = (sort), .item_size = (bytes), .length_offset = 8, __VA_ARGS__)
#define BIT(word) (UINT64_C(1) << (word))

/* A table of its own, and a type in it. */
static crd_type_table open_table(void) {
  crd_type_table table = {.types = NULL};
  size_t page = (size_t)sysconf(_SC_PAGESIZE);
  assert_true(crd_word_stack_init(&table.room, TYPES_MAX_BYTES, page, "types"));
  return table;
}

static crd_type *add(crd_type_table *table, const cradle_type *type, bool plain_encoding) {
  crd_type *entry = crd_type_table_add(table, type, plain_encoding);
  if (entry != NULL) type_table_publish(table);
  return entry;
}

static void assert_type(const cradle_type *type, const char *fault) {
  const char *told = crd_type_fault(type);
  if (fault == NULL && told != NULL) fail_msg("refused: %s", told);
  if (fault != NULL && (told == NULL || strstr(told, fault) == NULL)) fail_msg("not refused: %s", fault);
}

/* Beside each descriptor that is refused, the nearest one that is not. */
static void the_bounds_of_a_fixed_part_are_exact(void **state) {
  (void)state;
  static const char twice[] = "a word cannot be two of", beyond[] = "a slot lies beyond size";
  assert_type(TYPE(.size = 7), "size must be at least 8");
  assert_type(TYPE(.size = 8), NULL);
  assert_type(TYPE(.size = (size_t)1 << 30), NULL);
  assert_type(TYPE(.size = ((size_t)1 << 30) + 1), "size is above 1 GiB");
  assert_type(TYPE(.size = 16, .finalizer = CRADLE_FINALIZER_QUEUES), NULL);
  assert_type(TYPE(.size = 16, .finalizer = CRADLE_FINALIZER_QUEUES + 1), "finalizer is not a queue's number");
  assert_type(TYPE(.size = 32, .references = 1), "word 0 is the header");
  assert_type(TYPE(.size = 32, .values = 1), "word 0 is the header");
  assert_type(TYPE(.size = 32, .weak = 1), "word 0 is the header");
  assert_type(TYPE(.size = 32, .ephemerons = 1), "word 0 is the header");
  assert_type(TYPE(.size = 48, .references = 2, .values = 4, .weak = 8, .ephemerons = 16), NULL);
  assert_type(TYPE(.size = 48, .references = 2, .values = 2), "references and values have a bit in common");
  assert_type(TYPE(.size = 48, .references = 2, .weak = 2), twice);
  assert_type(TYPE(.size = 48, .values = 2, .weak = 2), twice);
  assert_type(TYPE(.size = 48, .weak = 2, .ephemerons = 2), twice);
  assert_type(TYPE(.size = 48, .references = 4, .ephemerons = 2), twice);
  assert_type(TYPE(.size = 48, .weak = 4, .ephemerons = 2), twice);
  assert_type(TYPE(.size = 48, .ephemerons = 2 | 4), twice);
  assert_type(TYPE(.size = 48, .ephemerons = 2 | 8), NULL);
  assert_type(TYPE(.size = 512, .ephemerons = BIT(62)), NULL);
  assert_type(TYPE(.size = 1024, .ephemerons = BIT(63)), "an ephemeron's value lies beyond word 63");
  for (unsigned word = 1; word < 64; word++) {
    size_t end = 8 * ((size_t)word + 1);
    assert_type(TYPE(.size = end, .references = BIT(word)), NULL);
    assert_type(TYPE(.size = end - 1, .references = BIT(word)), beyond);
    assert_type(TYPE(.size = end, .values = BIT(word)), NULL);
    assert_type(TYPE(.size = end - 1, .values = BIT(word)), beyond);
    assert_type(TYPE(.size = end - 1, .weak = BIT(word)), beyond);
    if (word == 63) continue;
    assert_type(TYPE(.size = end + 8, .ephemerons = BIT(word)), NULL);
    assert_type(TYPE(.size = end, .ephemerons = BIT(word)), beyond);
  }
}

static void the_bounds_of_items_are_exact(void **state) {
  (void)state;
  static const char eight[] = "item_size of references, values and weak slots must be 8";
  static const char length[] = "length_offset must be a multiple of 8, after the header and inside size";
  assert_type(ITEMS(CRADLE_ITEMS_EPHEMERONS, 16, .name = ""), NULL);
  assert_type(ITEMS((cradle_items)(CRADLE_ITEMS_EPHEMERONS + 1), 16, .name = ""), "items is not a value");
  assert_type(ITEMS(CRADLE_ITEMS_EPHEMERONS, 17, .name = ""), "item_size of ephemerons must be 16");
  assert_type(ITEMS(CRADLE_ITEMS_EPHEMERONS, 8, .name = ""), "item_size of ephemerons must be 16");
  static const cradle_items words[] = {CRADLE_ITEMS_REFERENCES, CRADLE_ITEMS_VALUES, CRADLE_ITEMS_WEAK};
  for (size_t i = 0; i < 3; i++) {
    assert_type(ITEMS(words[i], 8, .name = ""), NULL);
    assert_type(ITEMS(words[i], 16, .name = ""), eight);
    assert_type(ITEMS(words[i], 8, .item_references = 1), "item_references is for items that are");
    assert_type(ITEMS(words[i], 8, .item_values = 1), "item_values is for items that are");
  }
  assert_type(ITEMS(CRADLE_ITEMS_BYTES, 1, .name = ""), NULL);
  assert_type(ITEMS(CRADLE_ITEMS_BYTES, 0, .name = ""), "item_size is 0");
  assert_type(TYPE(.size = 16, .item_references = 1), "item_references is for items that are");
  for (uint32_t offset = 0; offset <= 24; offset += 4) {
    cradle_type bytes = {.size = 24, .items = CRADLE_ITEMS_BYTES, .item_size = 1, .length_offset = offset};
    assert_type(&bytes, offset == 8 || offset == 16 ? NULL : length);
    bytes.size = 20; /* the items need not begin at a word */
    assert_type(&bytes, offset == 8 ? NULL : length);
    bytes.items = CRADLE_ITEMS_REFERENCES, bytes.item_size = 8;
    assert_type(&bytes, "size must be a multiple of 8 before slots");
  }
  for (uint32_t word = 1; word < 70; word++) {
    cradle_type type = {.size = 8 * 70, .items = CRADLE_ITEMS_REFERENCES, .item_size = 8, .length_offset = 8 * word};
    assert_type(&type, NULL);
    type.references = word < 64 ? BIT(word) : ~UINT64_C(1);
    assert_type(&type, word < 64 ? "the length cannot be a slot" : NULL);
  }
}

static void the_bounds_of_structures_are_exact(void **state) {
  (void)state;
  const cradle_items sort = CRADLE_ITEMS_STRUCTURES;
  assert_type(ITEMS(sort, 12, .item_references = 1), "item_size of structures must be a multiple of 8");
  assert_type(ITEMS(sort, 16, .item_references = 1, .item_values = 2), NULL);
  assert_type(ITEMS(sort, 16, .item_references = 3, .item_values = 2), "have a bit in common");
  assert_type(ITEMS(sort, 16, .name = ""), "item_references and item_values are both 0");
  for (uint32_t words = 1; words <= 66; words++) {
    uint32_t last = words < 64 ? words - 1 : 63;
    assert_type(ITEMS(sort, 8 * words, .item_references = BIT(last)), NULL);
    assert_type(ITEMS(sort, 8 * words, .item_values = BIT(last)), NULL);
    if (words >= 64) continue;
    assert_type(ITEMS(sort, 8 * words, .item_references = BIT(words)), "item_references has a bit beyond item_size");
    assert_type(ITEMS(sort, 8 * words, .item_values = BIT(words)), "item_values has a bit beyond item_size");
  }
}

static void no_destructor(void *user, void *object) {
  (void)user, (void)object;
}
static void no_trace(void *user, void *object, cradle_visitor *visitor) {
  (void)user;
  (void)object, (void)visitor;
}

static void a_row_is_unused_if_all_of_it_is_zero(void **state) {
  (void)state;
  assert_true(crd_type_is_unused(TYPE(.size = 0)));
  assert_false(crd_type_is_unused(TYPE(.size = 8)));
  assert_false(crd_type_is_unused(TYPE(.name = "")));
  assert_false(crd_type_is_unused(TYPE(.references = 2)));
  assert_false(crd_type_is_unused(TYPE(.values = 2)));
  assert_false(crd_type_is_unused(TYPE(.items = CRADLE_ITEMS_BYTES)));
  assert_false(crd_type_is_unused(TYPE(.trace = no_trace)));
  assert_false(crd_type_is_unused(TYPE(.weak = 2)));
  assert_false(crd_type_is_unused(TYPE(.ephemerons = 2)));
  assert_false(crd_type_is_unused(TYPE(.finalizer = 1)));
  assert_false(crd_type_is_unused(TYPE(.destructor = no_destructor)));
  assert_false(crd_type_is_unused(TYPE(.external_size = (cradle_external_size_function)(uintptr_t)8)));
}

static void services_put_objects_on_lists(void **state) {
  (void)state;
  enum { WEAK = 1 << REGISTERED_WEAK, EPHEMERON = 1 << REGISTERED_EPHEMERON };
  enum { FINALIZER = 1 << REGISTERED_FINALIZER, DESTRUCTOR = 1 << REGISTERED_DESTRUCTOR };
  const struct {
    const cradle_type *type;
    unsigned registers;
    cradle_items items, service_items;
  } rows[] = {
      {TYPE(.size = 16, .references = 2), 0, 0, 0},
      {TYPE(.size = 16, .weak = 2), WEAK, 0, 0},
      {TYPE(.size = 24, .ephemerons = 2), EPHEMERON, 0, 0},
      {ITEMS(CRADLE_ITEMS_WEAK, 8, .name = ""), WEAK, CRADLE_ITEMS_BYTES, CRADLE_ITEMS_WEAK},
      {ITEMS(CRADLE_ITEMS_EPHEMERONS, 16, .name = ""), EPHEMERON, CRADLE_ITEMS_BYTES, CRADLE_ITEMS_EPHEMERONS},
      {TYPE(.size = 16, .finalizer = 1), FINALIZER, 0, 0},
      {TYPE(.size = 16, .destructor = no_destructor), DESTRUCTOR, 0, 0},
      {TYPE(.size = 16, .external_size = (cradle_external_size_function)(uintptr_t)8), DESTRUCTOR, 0, 0},
      {TYPE(.size = 40, .weak = 2, .ephemerons = 4, .finalizer = 3, .destructor = no_destructor),
       WEAK | EPHEMERON | FINALIZER | DESTRUCTOR, 0, 0},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    crd_type_table table = open_table();
    const crd_type *entry = add(&table, rows[i].type, true);
    assert_int_equal(entry->registers, rows[i].registers);
    assert_int_equal(table.registers, rows[i].registers);
    assert_int_equal(entry->items, rows[i].items);
    assert_int_equal(entry->queue, rows[i].type->finalizer);
    assert_int_equal(entry->weak_items, rows[i].service_items);
    assert_non_null(add(&table, TYPE(.size = 16, .weak = 2), true));
    assert_int_equal(table.registers, rows[i].registers | WEAK);
    crd_word_stack_fini(&table.room);
  }
}

/* Weak slots hold values if the type says so and the encoding has any. */
static void weak_values_need_an_encoding(void **state) {
  (void)state;
  for (int way = 0; way < 4; way++) {
    crd_type_table table = open_table();
    const crd_type *entry = add(&table, TYPE(.size = 16, .weak = 2, .weak_values = way % 2 == 1), way / 2 == 1);
    assert_int_equal(entry->weak_values, way == 1);
    crd_word_stack_fini(&table.room);
  }
}

/* An array is recorded slot by slot if its items are slots, and fixed slots are of the same kind. */
static void an_entry_knows_how_stores_are_recorded(void **state) {
  (void)state;
  const struct {
    const cradle_type *type;
    uint8_t recording;
  } rows[] = {
      {TYPE(.size = 16), RECORDING_OBJECT},
      {TYPE(.size = 16, .references = 2), RECORDING_OBJECT},
      {ITEMS(CRADLE_ITEMS_BYTES, 1, .name = ""), RECORDING_OBJECT},
      {ITEMS(CRADLE_ITEMS_WEAK, 8, .name = ""), RECORDING_OBJECT},
      {ITEMS(CRADLE_ITEMS_REFERENCES, 8, .name = ""), RECORDING_REFERENCES},
      {ITEMS(CRADLE_ITEMS_VALUES, 8, .name = ""), RECORDING_VALUES},
      {ITEMS(CRADLE_ITEMS_STRUCTURES, 16, .item_references = 1), RECORDING_STRUCTURES},
      {ITEMS(CRADLE_ITEMS_STRUCTURES, 16, .item_references = 3), RECORDING_REFERENCES},
      {ITEMS(CRADLE_ITEMS_STRUCTURES, 16, .item_values = 3), RECORDING_VALUES},
      {ITEMS(CRADLE_ITEMS_STRUCTURES, 16, .item_references = 1, .item_values = 2), RECORDING_STRUCTURES},
      {ITEMS(CRADLE_ITEMS_REFERENCES, 8, .finalizer = 1, .destructor = no_destructor), RECORDING_REFERENCES},
      {ITEMS(CRADLE_ITEMS_REFERENCES, 8, .trace = no_trace), RECORDING_OBJECT},
      {TYPE(.size = 24, .items = CRADLE_ITEMS_REFERENCES, .item_size = 8, .length_offset = 8, .references = 4),
       RECORDING_REFERENCES},
      {TYPE(.size = 24, .items = CRADLE_ITEMS_VALUES, .item_size = 8, .length_offset = 8, .values = 4),
       RECORDING_VALUES},
      {TYPE(.size = 24, .items = CRADLE_ITEMS_VALUES, .item_size = 8, .length_offset = 8, .references = 4),
       RECORDING_OBJECT},
      {TYPE(.size = 24, .items = CRADLE_ITEMS_STRUCTURES, .item_size = 16, .length_offset = 8, .item_references = 1,
            .references = 4),
       RECORDING_OBJECT},
      {TYPE(.size = 24, .items = CRADLE_ITEMS_REFERENCES, .item_size = 8, .length_offset = 8, .values = 4),
       RECORDING_OBJECT},
      {TYPE(.size = 24, .items = CRADLE_ITEMS_REFERENCES, .item_size = 8, .length_offset = 8, .weak = 4),
       RECORDING_OBJECT},
      {TYPE(.size = 32, .items = CRADLE_ITEMS_REFERENCES, .item_size = 8, .length_offset = 8, .ephemerons = 4),
       RECORDING_OBJECT},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    crd_type_table table = open_table();
    assert_null(crd_type_fault(rows[i].type));
    assert_int_equal(add(&table, rows[i].type, false)->recording, rows[i].recording);
    /* with references alone, nothing is folded, and nothing of it is known to hold tagged words */
    const crd_type *plain = add(&table, rows[i].type, true);
    assert_int_equal(plain->folded, rows[i].type->values != 0 || rows[i].type->item_values != 0 ||
                                        rows[i].type->items == CRADLE_ITEMS_VALUES);
    crd_word_stack_fini(&table.room);
  }
}

/* What an entry says of its slots, with an encoding that has values. */
static void an_entry_knows_its_slots(void **state) {
  (void)state;
  const struct {
    const cradle_type *type;
    uint64_t sole;
    bool sole_values, has_slots;
    uint32_t size;
  } rows[] = {
      {TYPE(.size = 0), 0, false, false, 0},
      {TYPE(.size = 8), 0, false, false, CRADLE_OBJECT_MIN_BYTES},
      {TYPE(.size = 33), 0, false, false, 40},
      {TYPE(.size = 24, .references = 6), 6, false, true, 24},
      {TYPE(.size = 24, .values = 6), 6, true, true, 24},
      {TYPE(.size = 24, .references = 2, .values = 4), 0, true, true, 24},
      {TYPE(.size = 24, .references = 2, .trace = no_trace), 0, false, true, 24},
      {TYPE(.size = 24, .trace = no_trace), 0, false, true, 24},
      {TYPE(.size = 20, .items = CRADLE_ITEMS_BYTES, .item_size = 1, .length_offset = 8), 0, false, false, 20},
      {ITEMS(CRADLE_ITEMS_REFERENCES, 8, .name = ""), 0, false, true, 16},
      {ITEMS(CRADLE_ITEMS_WEAK, 8, .name = ""), 0, false, false, 16},
      {TYPE(.size = 24, .references = 4, .items = CRADLE_ITEMS_BYTES, .item_size = 1, .length_offset = 8), 4, false,
       true, 24},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    crd_type_table table = open_table();
    const crd_type *entry = add(&table, rows[i].type, false);
    assert_int_equal(entry->sole, rows[i].sole);
    assert_int_equal(entry->sole_values, rows[i].sole_values);
    assert_int_equal(entry->has_slots, rows[i].has_slots);
    assert_int_equal(entry->size, rows[i].size);
    assert_false(entry->folded);
    crd_word_stack_fini(&table.room);
  }
}

/* [type.5] Slots are among the first 64 words of an item only. */
static void a_word_of_a_structure_has_its_kind(void **state) {
  (void)state;
  for (uint32_t words = 62; words <= 67; words++) {
    crd_type_table table = open_table();
    cradle_word object[2 + 2 * 67] = {0, 2};
    uint64_t references = words < 64 ? BIT(words) - 1 : UINT64_MAX;
    const cradle_type *type = ITEMS(CRADLE_ITEMS_STRUCTURES, 8 * words, .item_references = references);
    const crd_type *entry = add(&table, type, false);
    assert_int_equal(entry->item_alike, words <= 64 ? CRADLE_ITEMS_REFERENCES : CRADLE_ITEMS_NONE);
    for (uint32_t i = 0; i < 2 * words; i++)
      assert_int_equal(crd_type_item_word(entry, object, object + 2 + i),
                       i % words < 64 ? CRADLE_ITEMS_REFERENCES : CRADLE_ITEMS_BYTES);
    assert_int_equal(crd_type_item_slot_count(entry, object), 2 * (words < 64 ? words : 64));
    /* of values and of both kinds */
    type = ITEMS(CRADLE_ITEMS_STRUCTURES, 8 * words, .item_values = references);
    assert_int_equal(add(&table, type, false)->item_alike, words <= 64 ? CRADLE_ITEMS_VALUES : CRADLE_ITEMS_NONE);
    type = ITEMS(CRADLE_ITEMS_STRUCTURES, 8 * words, .item_values = references & ~UINT64_C(9), .item_references = 8);
    entry = add(&table, type, false);
    assert_int_equal(entry->item_alike, CRADLE_ITEMS_NONE);
    object[0] = 2;
    assert_int_equal(crd_type_item_word(entry, object, object + 2), CRADLE_ITEMS_BYTES);
    assert_int_equal(crd_type_item_word(entry, object, object + 3), CRADLE_ITEMS_VALUES);
    assert_int_equal(crd_type_item_word(entry, object, object + 5), CRADLE_ITEMS_REFERENCES);
    crd_word_stack_fini(&table.room);
  }
}

static void the_bytes_of_an_array_are_rounded_and_bounded(void **state) {
  (void)state;
  crd_type_table table = open_table();
  const crd_type *bytes = add(&table, ITEMS(CRADLE_ITEMS_BYTES, 1, .name = ""), false);
  assert_int_equal(type_array_bytes(bytes, 0), 16);
  assert_int_equal(type_array_bytes(bytes, 1), 24);
  assert_int_equal(type_array_bytes(bytes, 8), 24);
  assert_int_equal(type_array_bytes(bytes, 9), 32);
  assert_int_equal(type_array_bytes(bytes, (SIZE_MAX >> 1) - 23), (SIZE_MAX >> 1) - 7);
  assert_int_equal(type_array_bytes(bytes, (SIZE_MAX >> 1) - 22), 0);
  assert_int_equal(type_array_bytes(bytes, SIZE_MAX), 0);
  const crd_type *words = add(&table, ITEMS(CRADLE_ITEMS_REFERENCES, 8, .name = ""), false);
  assert_int_equal(type_array_bytes(words, SIZE_MAX / 16), 0);
  assert_int_equal(type_array_bytes(words, (SIZE_MAX >> 4) - 2), SIZE_MAX / 2 - 7);
  assert_int_equal(type_array_bytes(words, SIZE_MAX / 8 + 1), 0); /* which wraps */
  crd_word_stack_fini(&table.room);
}

/* [type.3] The addresses of entries are kept while the table grows five times. */
static void types_stay_as_and_where_they_were_added(void **state) {
  (void)state;
  enum { TYPES = 10000 };
  crd_type_table table = open_table();
  static crd_type added[TYPES];
  static const crd_type *at[TYPES];
  for (uint32_t i = 0; i < TYPES; i++) {
    cradle_type type = {.name = "some", .size = 16 + 8 * (i % 8), .references = UINT64_C(2) << i % 2};
    if (i % 3 == 0) type.destructor = (cradle_destructor_function)(uintptr_t)8;
    crd_type *entry = add(&table, &type, false);
    assert_non_null(entry);
    assert_int_equal(table.count, i + 1);
    added[i] = *(at[i] = entry);
  }
  assert_memory_equal(table.types, added, sizeof added);
  for (uint32_t i = 0; i < TYPES; i++) assert_ptr_equal(&table.types[i], at[i]);
  for (uint32_t i = 0; i < TYPES; i++) assert_int_equal(table.types[i].destructor != NULL, i % 3 == 0);
  crd_word_stack_fini(&table.room);
}

/* Memory is refused each time that the table must grow, and granted the second time. */
static void a_type_is_not_added_without_memory(void **state) {
  (void)state;
  crd_type_table table = open_table();
  cradle_type type = {.name = "some", .size = 16, .references = 2};
  uint32_t refusals = 0;
  while (table.count < 10000) {
    granted_commits = 0;
    if (add(&table, &type, false) != NULL) continue;
    refusals++;
    uint32_t count = table.count;
    assert_null(add(&table, &type, false));
    assert_int_equal(table.count, count);
    granted_commits = 1;
    assert_non_null(add(&table, &type, false));
    assert_int_equal(table.count, count + 1);
  }
  granted_commits = INT_MAX;
  assert_int_equal(refusals, 6); /* 64 KiB, which hold 512 types, and five times as much again */
  table.count = CRADLE_TYPE_ID_END;
  assert_null(add(&table, &type, false)); /* ids ran out */
  crd_word_stack_fini(&table.room);
}

/* Address space was scarce: there are as many types as it holds. */
static void a_short_reservation_holds_fewer_types(void **state) {
  (void)state;
  crd_type_table table = {.types = NULL};
  size_t page = (size_t)sysconf(_SC_PAGESIZE);
  assert_true(crd_word_stack_init(&table.room, 3 * page, page, "types"));
  for (size_t i = 0; i < 3 * page / sizeof(crd_type); i++) assert_non_null(add(&table, TYPE(.size = 16), false));
  assert_null(add(&table, TYPE(.size = 16), false));
  assert_int_equal(table.count, 3 * page / sizeof(crd_type));
  crd_word_stack_fini(&table.room);
}

/* [type.3] Entries are read, by another thread, as soon as the count says that they are there. */
enum { READ_TYPES = 10000 };

/* Returns how many entries were complete. */
static void *read_types(void *data) {
  const crd_type_table *table = data;
  size_t right = 0;
  for (uint32_t i = T_COUNT; i < READ_TYPES; i++) {
    while (!type_table_has(table, i)) (void)sched_yield();
    right += table->types[i].size == 16 + 8 * (i % 8) && table->types[i].class_bytes >= table->types[i].size;
  }
  return (void *)right;
}

static void types_are_read_while_others_are_added(void **state) {
  (void)state;
  fixture f;
  pthread_t reader;
  void *right;
  fixture_open(&f);
  assert_int_equal(pthread_create(&reader, NULL, read_types, &f.heap->space.types), 0);
  for (uint32_t i = T_COUNT; i < READ_TYPES; i++)
    assert_int_equal(cradle_type_add(f.heap, TYPE(.size = 16 + 8 * (i % 8))), i);
  assert_int_equal(pthread_join(reader, &right), 0);
  assert_int_equal((size_t)right, READ_TYPES - T_COUNT);
  fixture_close(&f);
}

/* [type.2] */
static void the_plain_encoding_has_one_kind_of_slot(void **state) {
  (void)state;
  crd_type_table table = open_table();
  cradle_type fixed = {.name = "fixed", .size = 32, .references = 2, .values = 4};
  cradle_type array = {.name = "array", .size = 16, .items = CRADLE_ITEMS_VALUES, .item_size = 8, .length_offset = 8};
  const crd_type *entry = add(&table, &fixed, true);
  assert_int_equal(entry->references, 6);
  assert_int_equal(entry->values, 0);
  assert_true(entry->folded);
  entry = add(&table, &array, true);
  assert_int_equal(entry->items, CRADLE_ITEMS_REFERENCES);
  assert_true(entry->folded);
  entry = add(&table, &fixed, false);
  assert_int_equal(entry->values, 4);
  assert_false(entry->folded);
  cradle_type entries = {.name = "entries",
                         .size = 16,
                         .items = CRADLE_ITEMS_STRUCTURES,
                         .item_size = 16,
                         .length_offset = 8,
                         .item_references = 1,
                         .item_values = 2};
  entry = add(&table, &entries, true);
  assert_int_equal(entry->item_references, 3);
  assert_int_equal(entry->item_values, 0);
  assert_int_equal(entry->item_alike, CRADLE_ITEMS_REFERENCES);
  assert_int_equal(entry->recording, RECORDING_REFERENCES);
  assert_true(entry->folded);
  entry = add(&table, &entries, false);
  assert_int_equal(entry->item_values, 2);
  assert_int_equal(entry->item_alike, CRADLE_ITEMS_NONE);
  assert_int_equal(entry->recording, RECORDING_STRUCTURES);
  crd_word_stack_fini(&table.room);
}

/* --- visiting --- */

/* The slots that were visited, as words of the object, in their order; values have 100 more. */
static struct {
  const cradle_word *object;
  int word[64], count;
} visited;

static void note_slot(void *context, bool value, cradle_word *slot) {
  assert_ptr_equal(context, &visited);
  assert_true(visited.count < 64);
  visited.word[visited.count++] = (int)(slot - visited.object) + (value ? 100 : 0);
}

static void assert_visited(int count, ...) {
  va_list words;
  va_start(words, count);
  assert_int_equal(visited.count, count);
  for (int i = 0; i < count; i++) assert_int_equal(visited.word[i], va_arg(words, int));
  va_end(words);
  visited.count = 0;
}

static void report_two(void *user, void *object, cradle_visitor *visitor) {
  (void)user;
  cradle_word *words = object;
  visitor->visit(visitor->context, false, words + 5);
  visitor->visit(visitor->context, true, words + 4);
}

static void each_slot_is_visited_once(void **state) {
  (void)state;
  crd_type_table table = open_table();
  cradle_word object[70] = {0};
  visited.object = object;
  visited.count = 0;
  const cradle_type *types[] = {
      TYPE(.size = 48, .references = 2 | 8, .values = 4 | 32),
      TYPE(.size = 48, .values = 2),
      TYPE(.size = 48),
      TYPE(.size = 48, .references = 2, .trace = report_two),
      TYPE(.size = 24, .items = CRADLE_ITEMS_REFERENCES, .item_size = 8, .length_offset = 8, .values = 4),
      ITEMS(CRADLE_ITEMS_VALUES, 8, .name = ""),
      ITEMS(CRADLE_ITEMS_BYTES, 8, .name = ""),
      ITEMS(CRADLE_ITEMS_STRUCTURES, 24, .item_references = 1, .item_values = 4),
      ITEMS(CRADLE_ITEMS_STRUCTURES, 16, .item_references = 3),
      ITEMS(CRADLE_ITEMS_STRUCTURES, 16, .item_values = 3),
  };
  enum { TYPES = sizeof types / sizeof *types };
  for (size_t i = 0; i < TYPES; i++) assert_non_null(add(&table, types[i], false));
#define VISIT(type, length) \
  (object[0] = (type), object[1] = (length), visit_object(&table, object, note_slot, &visited))
  VISIT(0, 0), assert_visited(4, 1, 3, 102, 105);
  VISIT(1, 0), assert_visited(1, 101);
  VISIT(2, 0), assert_visited(0);
  VISIT(3, 0), assert_visited(3, 1, 5, 104);
  VISIT(4, 3), assert_visited(4, 102, 3, 4, 5);
  VISIT(5, 3), assert_visited(3, 102, 103, 104);
  VISIT(5, 0), assert_visited(0);
  VISIT(6, 3), assert_visited(0);
  VISIT(7, 2), assert_visited(4, 2, 104, 5, 107);
  VISIT(8, 2), assert_visited(4, 2, 3, 4, 5);
  VISIT(9, 2), assert_visited(4, 102, 103, 104, 105);
#undef VISIT
  /* parts of arrays */
  object[0] = 4, object[1] = 9;
  visit_items(&table, object, 2, 4, note_slot, &visited), assert_visited(2, 5, 6);
  object[0] = 5;
  visit_items(&table, object, 2, 4, note_slot, &visited), assert_visited(2, 104, 105);
  for (uint32_t type = 7; type < 10; type++) {
    object[0] = type;
    visit_items(&table, object, 1, 3, note_slot, &visited);
    if (type == 7) assert_visited(4, 5, 107, 8, 110);
    if (type == 8) assert_visited(4, 4, 5, 6, 7);
    if (type == 9) assert_visited(4, 104, 105, 106, 107);
  }
  crd_word_stack_fini(&table.room);
}

static void words_and_bits_are_visited(void **state) {
  (void)state;
  cradle_word object[70] = {0};
  visited.object = object;
  visited.count = 0;
  visit_words(object + 2, object + 5, true, note_slot, &visited), assert_visited(3, 102, 103, 104);
  visit_words(object + 2, object + 2, true, note_slot, &visited), assert_visited(0);
  visit_bits(object, 1 | 2 | BIT(40) | BIT(63), false, note_slot, &visited), assert_visited(4, 0, 1, 40, 63);
  visit_bits(object, 0, false, note_slot, &visited), assert_visited(0);
  visit_bits(object, UINT64_MAX, true, note_slot, &visited), assert_int_equal(visited.count, 64), visited.count = 0;
  visit_words(object + 1, object + 3, false, note_slot, &visited), assert_visited(2, 1, 2);
}

static void poison_fills_its_words(void **state) {
  (void)state;
  cradle_word words[6] = {1, 1, 1, 1, 1, 1};
  poison_words(words + 1, 0, POISON_SWEPT);
  assert_int_equal(words[1], 1);
  poison_words(words + 1, 4, POISON_SWEPT);
  for (int i = 0; i < 6; i++) assert_true(words[i] == (i == 0 || i == 5 ? 1 : POISON_SWEPT));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_bounds_of_a_fixed_part_are_exact),
      cmocka_unit_test(the_bounds_of_items_are_exact),
      cmocka_unit_test(the_bounds_of_structures_are_exact),
      cmocka_unit_test(a_row_is_unused_if_all_of_it_is_zero),
      cmocka_unit_test(services_put_objects_on_lists),
      cmocka_unit_test(weak_values_need_an_encoding),
      cmocka_unit_test(an_entry_knows_how_stores_are_recorded),
      cmocka_unit_test(an_entry_knows_its_slots),
      cmocka_unit_test(a_word_of_a_structure_has_its_kind),
      cmocka_unit_test(the_bytes_of_an_array_are_rounded_and_bounded),
      cmocka_unit_test(each_slot_is_visited_once),
      cmocka_unit_test(words_and_bits_are_visited),
      cmocka_unit_test(poison_fills_its_words),
      cmocka_unit_test(types_stay_as_and_where_they_were_added),
      cmocka_unit_test(a_type_is_not_added_without_memory),
      cmocka_unit_test(a_short_reservation_holds_fewer_types),
      cmocka_unit_test(types_are_read_while_others_are_added),
      cmocka_unit_test(the_plain_encoding_has_one_kind_of_slot),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
