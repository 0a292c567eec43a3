/* Tests the collector's basic parts: texts, growing arrays, bits, address maps, word stacks, headers and types. */
#include "tests/heap_fixture.h"

#include <inttypes.h>
#include <limits.h>
#include <unistd.h>

#include "gc/base/address_map.h"
#include "gc/base/bits.h"
#include "gc/base/random.h"
#include "gc/base/text.h"
#include "gc/base/word_stack.h"
#include "gc/heap.h"
#include "gc/object/header.h"
#include "gc/object/type_table.h"
#include "gc/object/value.h"
#include "gc/platform/pages.h"

/* This program's own growing function, which can refuse memory after a given number of calls. */
static int granted = INT_MAX;
static size_t asked_bytes;
static void *may_realloc(void *memory, size_t bytes) {
  asked_bytes = bytes;
  return granted-- > 0 ? realloc(memory, bytes) : NULL;
}
#define realloc may_realloc
#include "gc/base/grow.c"
#undef realloc

/* --- texts --- */

static void texts_are_cut_where_they_are_full(void **state) {
  (void)state;
  crd_text text = {.length = 0};
  crd_text_format(&text, "%" PRIu64 "%#zx%u", UINT64_MAX, SIZE_MAX, 0u);
  assert_string_equal(text.buffer, "184467440737095516150xffffffffffffffff0");
  text.length = 0;
  crd_text_format(&text, "%zu %lx %u%% of %s at %p, %llu", (size_t)7, 255ul, 12u, "a vector", (void *)0x1000, 3ull);
  assert_string_equal(text.buffer, "7 ff 12% of a vector at 0x1000, 3");
  for (int i = 0; i < 100; i++) crd_text_format(&text, "%s.", "seven.");
  assert_int_equal(text.length, sizeof text.buffer - 1);
  assert_int_equal(strlen(text.buffer), text.length);
}

/* --- arrays that grow --- */

static void an_array_doubles_and_keeps_what_it_holds(void **state) {
  (void)state;
  struct item {
    uint64_t number;
    char more[3];
  } *items = NULL;
  uint32_t count = 0, capacity = 0;
  for (; count < 1000; count++) {
    assert_true(GROW(items, count, capacity));
    assert_true(count < capacity && is_power_of_two(capacity) && capacity >= GROW_FIRST); /* [grow.1] */
    assert_int_equal(asked_bytes, capacity * sizeof *items);
    items[count].number = count;
  }
  assert_int_equal(capacity, 1024);
  for (uint64_t i = 0; i < count; i++) assert_int_equal(items[i].number, i);
  free(items);
}

static void refused_memory_leaves_an_array_as_it_was(void **state) {
  (void)state;
  uint64_t *first = NULL, *second = NULL;
  uint32_t capacity = 0;
  granted = 0;
  assert_false(GROW(first, 0u, capacity));
  assert_null(first);
  assert_int_equal(capacity, 0);
  granted = INT_MAX;
  assert_true(GROW(first, 0u, capacity));
  for (uint32_t i = 0; i < capacity; i++) first[i] = i;
  uint64_t *before = first;
  granted = 0;
  assert_false(GROW(first, capacity, capacity));
  assert_ptr_equal(first, before);
  assert_int_equal(capacity, GROW_FIRST);
  assert_int_equal(first[GROW_FIRST - 1], GROW_FIRST - 1);
  /* two arrays of one capacity, of which only the first grows at first */
  free(first);
  first = NULL;
  capacity = 0;
  for (granted = 1; granted >= 0; granted = INT_MAX) {
    uint32_t copy = capacity;
    bool grown = GROW(first, 0u, copy) && GROW(second, 0u, capacity);
    assert_int_equal(capacity, grown ? GROW_FIRST : 0);
    if (grown) break;
    assert_null(second);
  }
  second[GROW_FIRST - 1] = first[GROW_FIRST - 1] = 1;
  free(first);
  free(second);
}

/* The request is refused without asking for memory, which would be granted. */
static void an_array_ends_where_its_indices_do(void **state) {
  (void)state;
  static char none;
  char *array = &none;
  uint32_t capacity = GROW_MAX;
  asked_bytes = 0;
  assert_false(GROW(array, GROW_MAX, capacity));
  uint32_t count = GROW_MAX / 2;
  capacity = count;
  assert_false(crd_grow(&array, count, &capacity, SIZE_MAX / GROW_MAX + 1));
  assert_int_equal(asked_bytes, 0);
  assert_ptr_equal(array, &none);
  assert_int_equal(capacity, count);
}

/* --- bits --- */

static void sizes_are_rounded_to_powers_of_two(void **state) {
  (void)state;
  assert_int_equal(align_up(0, 8), 0);
  assert_int_equal(align_up(1, 8), 8);
  assert_int_equal(align_up(4096, 4096), 4096);
  assert_int_equal(align_up(4097, 4096), 8192);
  assert_int_equal(align_down(4095, 4096), 0);
  assert_int_equal(align_down(SIZE_MAX, 4096), SIZE_MAX - 4095);
  for (size_t power = 1; power != 0; power *= 2) assert_true(is_power_of_two(power));
  assert_false(is_power_of_two(0));
  assert_false(is_power_of_two(SIZE_MAX));
}

static void bits_of_a_map_are_apart(void **state) {
  (void)state;
  enum { BITS = 200 };
  uint64_t map[BITS / 64 + 1] = {0};
  for (size_t bit = 0; bit < BITS; bit += 3) bitmap_set(map, bit);
  for (size_t bit = 0; bit < BITS; bit += 6) bitmap_clear(map, bit);
  for (size_t bit = 0; bit < BITS; bit++) assert_int_equal(bitmap_has(map, bit), bit % 6 == 3);
}

/* --- maps of addresses --- */

/* The objects' addresses are close together, so that probing runs into other entries; the entry that is removed last
 * lies between others. */
static void a_map_of_addresses_finds_what_is_in_it(void **state) {
  (void)state;
  enum { ADDRESSES = 3000, STEPS = 20000 };
  static bool in[ADDRESSES];
  uint64_t seed = 7;
  crd_address_map map = {NULL, 0, 0};
  assert_null(crd_address_map_find(&map, 8));
  for (int step = 0; step < STEPS; step++) {
    uint32_t i = (uint32_t)(random_next(&seed) % ADDRESSES);
    uintptr_t address = 0x10000 + 16 * (uintptr_t)i;
    assert_int_equal(crd_address_map_get(&map, address), in[i] ? i : ADDRESS_MAP_NONE);
    if (in[i]) {
      crd_address_map_remove(&map, address);
    } else {
      assert_true(crd_address_map_reserve(&map));
      crd_address_map_insert(&map, address, i);
    }
    in[i] = !in[i];
    if (step % 100 == 0) assert_null(crd_address_map_check(&map));
  }
  crd_address_map_clear(&map);
  assert_int_equal(map.count, 0);
  assert_null(crd_address_map_check(&map));
  crd_address_map_fini(&map);
}

static void the_check_of_a_map_sees_what_is_broken(void **state) {
  (void)state;
  crd_address_map map = {NULL, 0, 0};
  for (uint32_t i = 1; i <= 40; i++) {
    assert_true(crd_address_map_reserve(&map));
    crd_address_map_insert(&map, 8 * (uintptr_t)i, i);
  }
  assert_null(crd_address_map_check(&map));
  map.count++;
  assert_string_equal(crd_address_map_check(&map), "the entries of a map are counted wrong");
  map.count--;
  /* moved away from home, behind an empty entry; or beside its other entry */
  crd_address_entry *entry = crd_address_map_find(&map, 8), *end = map.entries + map.capacity, saved = *entry;
  crd_address_entry *free_entry = map.entries;
  while (free_entry < end && (free_entry->address != 0 || free_entry == entry + 1)) free_entry++;
  *free_entry = saved;
  entry->address = 0;
  assert_non_null(strstr(crd_address_map_check(&map), "[address_map.2]"));
  *free_entry = (crd_address_entry){0, 0};
  *entry = saved;
  crd_address_entry *next = entry + 1 < end ? entry + 1 : map.entries, kept = *next;
  *next = saved;
  map.count += kept.address == 0;
  assert_non_null(strstr(crd_address_map_check(&map), "[address_map.3]"));
  map.count -= kept.address == 0;
  *next = kept;
  assert_null(crd_address_map_check(&map));
  crd_address_map_fini(&map);
}

/* --- word stacks --- */

static void a_word_stack_without_memory_refuses_all(void **state) {
  (void)state;
  crd_word_stack stack = {NULL, NULL, NULL, NULL};
  assert_true(word_stack_is_sound(&stack) && word_stack_is_empty(&stack)); /* [word_stack.1] */
  assert_int_equal(word_stack_committed(&stack), 0);
  assert_false(word_stack_push(&stack, 1));
  assert_true(word_stack_is_empty(&stack));
  crd_word_stack_fini(&stack);
}

static void a_word_stack_gives_back_what_came_last(void **state) {
  (void)state;
  crd_word_stack stack;
  assert_true(crd_word_stack_init(&stack, 4096, 4096, "test"));
  for (cradle_word i = 0; i < 10; i++) assert_true(word_stack_push(&stack, i));
  assert_int_equal(word_stack_count(&stack), 10);
  for (cradle_word i = 10; i-- > 0;) assert_int_equal(word_stack_pop(&stack), i);
  assert_true(word_stack_is_empty(&stack) && word_stack_is_sound(&stack));
  crd_word_stack_fini(&stack);
}

static void a_word_stack_grows_to_its_end_and_says_so(void **state) {
  (void)state;
  crd_word_stack stack;
  assert_true(crd_word_stack_init(&stack, 200000, 4096, "test"));
  size_t count = 0;
  while (word_stack_push(&stack, count)) count++;
  assert_int_equal(count, 200704 / 8);
  for (size_t i = 0; i < count; i++) assert_int_equal(stack.base[i], i);
  assert_false(word_stack_push(&stack, 1));
  crd_word_stack_fini(&stack);
}

static void what_a_word_stack_held_is_dropped(void **state) {
  (void)state;
  enum { WORDS = 100000, KEPT = 1000 };
  size_t page = (size_t)sysconf(_SC_PAGESIZE);
  crd_word_stack stack;
  crd_pages_backing backing;
  assert_true(crd_word_stack_init(&stack, WORDS * 8, page, "test"));
  for (size_t i = 0; i < WORDS; i++) assert_true(word_stack_push(&stack, i));
  stack.top = stack.base + KEPT;
  size_t committed = word_stack_committed(&stack);
  crd_word_stack_discard(&stack, page);
  if (crd_pages_backing_of(stack.base, committed, &backing))
    assert_in_range(backing.resident_bytes, KEPT * 8, (KEPT * 8 + page - 1) / page * page); /* or a share of a page */
  assert_int_equal(word_stack_committed(&stack), committed);
  for (size_t i = 0; i < KEPT; i++) assert_int_equal(stack.base[i], i);
  for (size_t i = KEPT; i < WORDS; i++) assert_true(word_stack_push(&stack, i));
  assert_int_equal(stack.base[WORDS - 1], WORDS - 1);
  crd_word_stack_fini(&stack);
}

/* A reservation that does not fit the address space is halved, in whole pages, until it fits. */
static void a_word_stack_takes_what_the_address_space_has(void **state) {
  (void)state;
#ifdef _WIN32
  skip(); /* Wine has a byte for each page that is reserved, 16 GiB of them */
#endif
  const size_t page = 4096, pages = ((size_t)1 << 50) - 1;
  crd_word_stack stack;
  assert_true(crd_word_stack_init(&stack, pages * page, page, "test"));
  size_t bytes = (size_t)((char *)stack.end - (char *)stack.base);
  assert_int_equal(bytes % page, 0);
  size_t halved = pages * page;
  while (halved > bytes) halved = halved / 2 & ~(page - 1);
  assert_int_equal(bytes, halved);
  assert_true(word_stack_push(&stack, 7));
  crd_word_stack_fini(&stack);
  assert_null(stack.base);
}

/* --- headers --- */

/* The header bits that generated code knows are where the public headers say; the private bits are between them. */
static void each_flag_has_its_bit(void **state) {
  (void)state;
  static const struct {
    uint64_t flag;
    int bit;
    bool (*has)(uint64_t header);
  } flags[] = {{HEADER_BARRIER_FLAG, 8 * CRADLE_BARRIER_OFFSET, header_has_barrier},
               {HEADER_SLOTS_FLAG, 33, header_records_one_kind},
               {HEADER_VALUES_FLAG, 34, header_holds_values},
               {HEADER_WATCHED_FLAG, 35, header_is_watched},
               {HEADER_WEAK_FLAG, 36, header_is_weak},
               {HEADER_PINNED_FLAG, CRADLE_PINNED_BIT, header_is_pinned},
               {HEADER_ID_FLAG, 38, header_has_id},
               {HEADER_HASH & -HEADER_HASH, CRADLE_HASH_SHIFT, header_has_hash},
               {HEADER_FORWARDED, 63, header_is_forwarded}};
  enum { FLAGS = sizeof flags / sizeof *flags };
  for (size_t i = 0; i < FLAGS; i++) {
    uint64_t header = UINT32_MAX | flags[i].flag;
    assert_int_equal(flags[i].flag, UINT64_C(1) << flags[i].bit);
    assert_int_equal(header_type(header), UINT32_MAX);
    assert_int_equal(header_flags(header), flags[i].flag);
    for (size_t k = 0; k < FLAGS; k++) assert_int_equal(flags[k].has(header), i == k);
  }
  for (uint8_t recording = RECORDING_OBJECT; recording <= RECORDING_VALUES; recording++) {
    uint64_t header = header_recording(recording);
    assert_int_equal(header_array_flags(header), header);
    assert_int_equal(header_records_slots(header), recording != RECORDING_OBJECT);
    assert_int_equal(header_records_structures(header), recording == RECORDING_STRUCTURES);
  }
  uint8_t bytes[8];
  uint64_t barrier = HEADER_BARRIER_FLAG;
  memcpy(bytes, &barrier, sizeof bytes);
  assert_int_equal(bytes[CRADLE_BARRIER_OFFSET], CRADLE_BARRIER_MASK);
  assert_int_equal(HEADER_OLD_FLAGS | HEADER_FORWARDED | UINT32_MAX, UINT64_MAX); /* every bit is somebody's */
  assert_int_equal(HEADER_OLD_FLAGS & HEADER_FORWARDED, 0);
}

static void a_change_of_a_header_leaves_the_rest(void **state) {
  (void)state;
  static const uint64_t flags[] = {HEADER_BARRIER_FLAG, HEADER_WATCHED_FLAG, HEADER_WEAK_FLAG, HEADER_PINNED_FLAG,
                                   HEADER_ID_FLAG};
  for (size_t i = 0; i < sizeof flags / sizeof *flags; i++) {
    cradle_word header = 77;
    object_set_flags(&header, flags[i]);
    assert_int_equal(header, 77 | flags[i]);
    header = 77 | HEADER_OLD_FLAGS;
    object_clear_flags(&header, flags[i]);
    assert_int_equal(header, (77 | HEADER_OLD_FLAGS) & ~flags[i]);
  }
  cradle_word header = 77 | HEADER_OLD_FLAGS;
  object_clear_flags(&header, HEADER_HASH);
  object_set_hash(&header, 0xabcdef);
  assert_int_equal(header >> CRADLE_HASH_SHIFT & CRADLE_HASH_MASK, 0xabcdef);
  assert_int_equal(header & ~HEADER_HASH, 77 | (HEADER_OLD_FLAGS & ~HEADER_HASH));
}

static void a_header_tells_where_its_object_is(void **state) {
  (void)state;
  cradle_word place[2] = {0}, object[2] = {5 | HEADER_BARRIER_FLAG | HEADER_ID_FLAG};
  object_forward(object, place);
  assert_true(header_is_forwarded(object[0]));
  assert_ptr_equal(object_at(header_forwarded_to(object[0])), place);
  /* an open header keeps what is below the place */
  cradle_word open = 5 | HEADER_OLD_FLAGS;
  object_open(&open, HEADER_OPEN_PLACES - 1);
  assert_true(header_is_open(open));
  assert_int_equal(header_open_place(open), HEADER_OPEN_PLACES - 1);
  assert_int_equal(header_type(open), 5);
  assert_true(header_has_barrier(open) && header_is_watched(open));
  open = 5 | HEADER_OLD_FLAGS;
  object_open(&open, 0);
  assert_int_equal(header_open_place(open), 0);
}

static void assert_refused(cradle_heap *heap, void *object, uint64_t flag) {
  cradle_error error;
  cradle_word *header = object;
  assert_true(cradle_heap_verify(heap, &error));
  *header ^= flag;
  assert_false(cradle_heap_verify(heap, &error));
  assert_non_null(strstr(error.message, "broken header"));
  *header ^= flag;
}

/* [header.1], [header.2] */
static void the_verifier_knows_which_flags_an_object_can_have(void **state) {
  (void)state;
  fixture f;
  fixture_open(&f);
  if (!f.stressed) {
    pair *old = cradle_new(f.m, T_PAIR, sizeof(pair));
    CRADLE_ROOT(f.m, old);
    cradle_collect(f.m, CRADLE_COLLECT_MINOR);
    pair *young = cradle_new(f.m, T_PAIR, sizeof(pair));
    CRADLE_ROOT(f.m, young);
    for (int bit = 32; bit < CRADLE_HASH_SHIFT; bit++) {
      uint64_t flag = UINT64_C(1) << bit;
      if (flag != HEADER_ID_FLAG) assert_refused(f.heap, young, flag);
    }
    assert_refused(f.heap, young, HEADER_FORWARDED);
    assert_refused(f.heap, old, HEADER_FORWARDED);
    assert_refused(f.heap, old, HEADER_WEAK_FLAG); /* of a type without weak slots */
    assert_refused(f.heap, old, HEADER_SLOTS_FLAG);
    (void)cradle_identity_hash(f.m, young);
    (void)cradle_id(f.m, young);
    assert_true(cradle_heap_verify(f.heap, NULL));
  }
  fixture_close(&f);
}

/* --- slot entries --- */

static void an_entry_of_a_slot_tells_the_slot_and_its_kind(void **state) {
  (void)state;
  cradle_word slot = 0; /* [value.2] */
  assert_false(slot_entry_holds_value(slot_entry(&slot, false)));
  assert_true(slot_entry_holds_value(slot_entry(&slot, true)));
  assert_ptr_equal(slot_of_entry(slot_entry(&slot, false)), &slot);
  assert_ptr_equal(slot_of_entry(slot_entry(&slot, true)), &slot);
}

/* [value.1] */
static void an_encoding_that_cannot_hold_an_address_is_refused(void **state) {
  (void)state;
  cradle_encoding encoding = cradle_encoding_low_tags(0x02);
  assert_null(crd_encoding_fault(&encoding));
  assert_int_equal(value_moved(&encoding, 0x1001, 0x2000), 0x2001);
  encoding.payload_mask &= ~(UINT64_C(1) << 46);
  assert_non_null(strstr(crd_encoding_fault(&encoding), "payload_mask must have bits 3 to 46"));
}

/* --- the type table --- */

/* [type.3] */
static void types_stay_as_they_were_added(void **state) {
  (void)state;
  enum { TYPES = 1000 };
  crd_type_table table = {NULL, NULL, NULL, 0, 0, 0};
  static crd_type added[TYPES];
  for (uint32_t i = 0; i < TYPES; i++) {
    cradle_type type = {.name = "some", .size = 16 + 8 * (i % 8), .references = UINT64_C(2) << i % 2};
    if (i % 3 == 0) type.destructor = (cradle_destructor_function)(uintptr_t)8;
    crd_type *entry = crd_type_table_add(&table, &type, false);
    assert_non_null(entry);
    assert_ptr_equal(entry, &table.types[i]);
    added[i] = *entry;
  }
  assert_memory_equal(table.types, added, sizeof added);
  for (uint32_t i = 0; i < TYPES; i++) assert_int_equal(table.services[i].destructor != NULL, i % 3 == 0);
  crd_type_table_fini(&table);
}

static void a_type_is_not_added_without_memory(void **state) {
  (void)state;
  crd_type_table table = {NULL, NULL, NULL, 0, 0, 0};
  cradle_type type = {.name = "some", .size = 16, .references = 2};
  for (int grants = 0; grants < 3; grants++) {
    granted = grants;
    assert_null(crd_type_table_add(&table, &type, false));
    assert_int_equal(table.count | table.capacity, 0);
  }
  granted = INT_MAX;
  assert_non_null(crd_type_table_add(&table, &type, false));
  table.count = CRADLE_TYPE_ID_END;
  assert_null(crd_type_table_add(&table, &type, false)); /* ids ran out */
  crd_type_table_fini(&table);
}

/* [type.2] */
static void the_plain_encoding_has_one_kind_of_slot(void **state) {
  (void)state;
  crd_type_table table = {NULL, NULL, NULL, 0, 0, 0};
  cradle_type fixed = {.name = "fixed", .size = 32, .references = 2, .values = 4};
  cradle_type array = {.name = "array", .size = 16, .items = CRADLE_ITEMS_VALUES, .item_size = 8, .length_offset = 8};
  const crd_type *entry = crd_type_table_add(&table, &fixed, true);
  assert_int_equal(entry->references, 6);
  assert_int_equal(entry->values, 0);
  assert_true(entry->folded);
  entry = crd_type_table_add(&table, &array, true);
  assert_int_equal(entry->items, CRADLE_ITEMS_REFERENCES);
  assert_true(entry->folded);
  entry = crd_type_table_add(&table, &fixed, false);
  assert_int_equal(entry->values, 4);
  assert_false(entry->folded);
  cradle_type entries = {.name = "entries",
                         .size = 16,
                         .items = CRADLE_ITEMS_STRUCTURES,
                         .item_size = 16,
                         .length_offset = 8,
                         .item_references = 1,
                         .item_values = 2};
  entry = crd_type_table_add(&table, &entries, true);
  const crd_item_slots *slots = &table.item_slots[entry - table.types];
  assert_int_equal(slots->references, 3);
  assert_int_equal(slots->values, 0);
  assert_int_equal(slots->alike, CRADLE_ITEMS_REFERENCES);
  assert_int_equal(entry->recording, RECORDING_REFERENCES);
  assert_true(entry->folded);
  entry = crd_type_table_add(&table, &entries, false);
  slots = &table.item_slots[entry - table.types];
  assert_int_equal(slots->values, 2);
  assert_int_equal(slots->alike, CRADLE_ITEMS_NONE);
  assert_int_equal(entry->recording, RECORDING_STRUCTURES);
  crd_type_table_fini(&table);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(texts_are_cut_where_they_are_full),
      cmocka_unit_test(an_array_doubles_and_keeps_what_it_holds),
      cmocka_unit_test(refused_memory_leaves_an_array_as_it_was),
      cmocka_unit_test(an_array_ends_where_its_indices_do),
      cmocka_unit_test(sizes_are_rounded_to_powers_of_two),
      cmocka_unit_test(bits_of_a_map_are_apart),
      cmocka_unit_test(a_map_of_addresses_finds_what_is_in_it),
      cmocka_unit_test(the_check_of_a_map_sees_what_is_broken),
      cmocka_unit_test(a_word_stack_without_memory_refuses_all),
      cmocka_unit_test(a_word_stack_gives_back_what_came_last),
      cmocka_unit_test(a_word_stack_grows_to_its_end_and_says_so),
      cmocka_unit_test(what_a_word_stack_held_is_dropped),
      cmocka_unit_test(a_word_stack_takes_what_the_address_space_has),
      cmocka_unit_test(each_flag_has_its_bit),
      cmocka_unit_test(a_change_of_a_header_leaves_the_rest),
      cmocka_unit_test(a_header_tells_where_its_object_is),
      cmocka_unit_test(the_verifier_knows_which_flags_an_object_can_have),
      cmocka_unit_test(an_entry_of_a_slot_tells_the_slot_and_its_kind),
      cmocka_unit_test(an_encoding_that_cannot_hold_an_address_is_refused),
      cmocka_unit_test(types_stay_as_they_were_added),
      cmocka_unit_test(a_type_is_not_added_without_memory),
      cmocka_unit_test(the_plain_encoding_has_one_kind_of_slot),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
