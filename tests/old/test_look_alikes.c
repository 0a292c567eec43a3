/* Immediates whose bits look like addresses [arena.7]: every entry of the barrier takes them, every kind of slot and
 * root keeps them to the bit, whatever they seem to lead to, while large objects are young and while a major collection
 * marks. And addresses without an object are answered, not looked up. */
#include "tests/support/heap_fixture.h"
#include "tests/support/look_alikes.h"

#define BIT(word) (UINT64_C(1) << (word))

typedef struct holder {
  uint64_t header;
  cradle_word word[4];
} holder;
typedef struct items {
  uint64_t header, length;
  cradle_word word[];
} items;

static void trace_values(void *user, void *object, cradle_visitor *visitor) {
  (void)user;
  for (int i = 0; i < 4; i++) cradle_visit(visitor, &((holder *)object)->word[i], CRADLE_KIND_VALUE);
}

/* After the fixture's types. */
enum { T_CELL = T_COUNT, T_TRACED, T_RECORDS, T_WEAK, T_EPHEMERON, T_ALL };
static const cradle_type more_types[T_ALL] = {
    [T_CELL] = {.name = "cell", .size = sizeof(holder), .values = BIT(1) | BIT(2) | BIT(3), .references = BIT(4)},
    [T_TRACED] = {.name = "traced", .size = sizeof(holder), .trace = trace_values},
    [T_RECORDS] = {.name = "records",
                   .size = sizeof(items),
                   .items = CRADLE_ITEMS_STRUCTURES,
                   .item_size = 16,
                   .length_offset = offsetof(items, length),
                   .item_values = BIT(0)},
    [T_WEAK] = {.name = "weak", .size = sizeof(holder), .weak = BIT(1) | BIT(2), .weak_values = true},
    [T_EPHEMERON] = {.name = "ephemeron", .size = sizeof(holder), .ephemerons = BIT(1) | BIT(3), .weak_values = true},
};

static cradle_encoding encoding_at(int which) {
  switch (which) {
  case 0: return cradle_encoding_of(UINT64_C(0xfffc) << 48, UINT64_C(0xfffc) << 48, 1 << 0);
  case 1: return cradle_encoding_of(UINT64_C(0xffff) << 48, UINT64_C(0xfffa) << 48, 1 << 0);
  case 2: return cradle_encoding_of(UINT64_C(0xfffe000000000002), 0, 1 << 0); /* as JavaScriptCore */
  case 3: return cradle_encoding_of(0, 0, 0x01);
  case 4: return cradle_encoding_of(0, 0, 0x02); /* an immediate may have just the bits of an address */
  default: return cradle_encoding_of(0, 0, 0xa4);
  }
}
enum { ENCODINGS = 6 };

/* The holders, each with the words of its slots for values. */
enum { CELL, TRACED, FEW_VALUES, MANY_VALUES, FEW_RECORDS, MANY_RECORDS, WEAK, EPHEMERON, HOLDERS };
static void *holders[HOLDERS];

typedef struct slots {
  cradle_word *first;
  size_t step, count; /* words */
} slots;
static slots slots_of(int which) {
  holder *fixed = holders[which];
  items *array = holders[which];
  switch (which) {
  case CELL: return (slots){fixed->word, 1, 3};
  case TRACED:
  case EPHEMERON: return (slots){fixed->word, 1, 4};
  case WEAK: return (slots){fixed->word, 1, 2};
  case FEW_VALUES:
  case MANY_VALUES: return (slots){array->word, 1, array->length};
  default: return (slots){array->word, 2, array->length};
  }
}

static fixture f;
static look_regions regions;
static uint64_t random_state;
static cradle_word stack_word, global_word, range_words[2];
static cradle_word *range_base = range_words, *range_top = range_words + 2;
static cradle_root_range range;

static uint64_t draw(void) {
  random_state ^= random_state << 13;
  random_state ^= random_state >> 7;
  return random_state ^= random_state << 17;
}

CRADLE_UNCHECKED_COLLECTION static void open_heap(int encoding, bool quarantine) {
  cradle_options options;
  fixture_options(&f, &options);
  cradle_type types[T_ALL];
  memcpy(types, more_types, sizeof types);
  memcpy(types, fixture_types, sizeof fixture_types);
  options.types = types;
  options.type_count = T_ALL;
  options.encoding = encoding_at(encoding);
  options.shadow_stack = CRADLE_KIND_VALUE;
  options.verify = false; /* where it is wanted, the tests ask for it */
  options.pause_ns = 1;
  if (quarantine) options.quarantine = 2;
  fixture_open_with(&f, &options);
  random_state = 88172645463325252;
  regions = look_regions_of(f.heap, f.m);
  for (int i = 0; i < HOLDERS; i++) {
    holders[i] = NULL;
    cradle_global_root_add(f.heap, &holders[i], CRADLE_KIND_REFERENCE);
  }
  stack_word = global_word = range_words[0] = range_words[1] = 0;
  cradle_global_root_add(f.heap, &global_word, CRADLE_KIND_VALUE);
  range = CRADLE_ROOT_RANGE(range_base, range_top, CRADLE_KIND_VALUE, "range");
  cradle_root_range_add(f.m, &range);
  cradle_push_word(f.m, 0);
  holders[CELL] = cradle_new(f.m, T_CELL, sizeof(holder));
  holders[TRACED] = cradle_new(f.m, T_TRACED, sizeof(holder));
  holders[FEW_VALUES] = cradle_new_array(f.m, T_VALUES, 5);
  holders[MANY_VALUES] = cradle_new_array(f.m, T_VALUES, 400);
  holders[FEW_RECORDS] = cradle_new_array(f.m, T_RECORDS, 5);
  holders[MANY_RECORDS] = cradle_new_array(f.m, T_RECORDS, 300);
  holders[WEAK] = cradle_new_registered(f.m, T_WEAK, sizeof(holder));
  holders[EPHEMERON] = cradle_new_registered(f.m, T_EPHEMERON, sizeof(holder));
  cradle_collect(f.m, CRADLE_COLLECT_MINOR);
}

CRADLE_UNCHECKED_COLLECTION static void close_heap(void) {
  (void)cradle_pop(f.m);
  cradle_root_range_remove(f.m, &range);
  fixture_close(&f);
}

/* Stores a word by one of the barrier's entries. */
enum { ENTRIES = 4 };
static void store(void *object, cradle_word *slot, cradle_word word, int entry) {
  switch (entry) {
  case 0: cradle_store_value(f.m, object, slot, word); return;
  case 1: cradle_store(f.m, object, slot, (const void *)(uintptr_t)word); return;
  case 2: cradle_copy_slots(f.m, object, slot, &word, 1); return;
  default: *slot = word; cradle_write_barrier(f.m, object);
  }
}

/* Fills all slots of a holder by one entry, those of roots too, and looks whether all are there after a collection. */
static void store_and_compare(int which, int entry, int region, unsigned edge, cradle_collection_kind kind)
    CRADLE_MAY_COLLECT {
  const cradle_encoding *encoding = cradle_heap_encoding(f.heap);
  cradle_word words[400];
  slots to = slots_of(which);
  for (size_t i = 0; i < to.count; i++) {
    uintptr_t address = look_address_in(&regions.of[region], edge, draw());
    words[i] = look_immediate(encoding, address, draw());
    store(holders[which], &to.first[i * to.step], words[i], entry);
  }
  *cradle_peek(f.m, 0) = global_word = range_words[0] = range_words[1] = words[0];
  cradle_collect(f.m, kind);
  to = slots_of(which);
  for (size_t i = 0; i < to.count; i++) assert_int_equal(to.first[i * to.step], words[i]);
  assert_int_equal(*cradle_peek(f.m, 0), words[0]);
  assert_true(global_word == words[0] && range_words[0] == words[0] && range_words[1] == words[0]);
}

enum { EDGES = 7 }; /* of look_address_in, the last for an address inside */

/* Plain references have no immediates, wherever the address lies. */
static void plain_references_have_no_look_alikes(void **state) {
  (void)state;
  cradle_options plain;
  cradle_options_init(&plain);
  open_heap(0, false);
  for (int region = 0; region < LOOK_REGIONS; region++)
    for (unsigned edge = 0; edge < EDGES; edge++)
      assert_int_equal(look_immediate(&plain.encoding, look_address_in(&regions.of[region], edge, draw()), draw()), 0);
  close_heap();
}

/* While large objects are young. */
static void every_store_beside_a_young_large_object(void **state) CRADLE_MAY_COLLECT {
  (void)state;
  for (int encoding = 0; encoding < ENCODINGS; encoding++) {
    open_heap(encoding, encoding == 1);
    for (int region = 0; region < LOOK_REGIONS; region++)
      for (unsigned edge = 0; edge < EDGES; edge++)
        for (int which = 0; which < HOLDERS; which++)
          for (int entry = 0; entry < ENTRIES; entry++) {
            if (f.stressed && draw() % 16 != 0) continue; /* a collection at each allocation takes long */
            (void)cradle_new_array(f.m, T_STRING, 100000);
            store_and_compare(which, entry, region, edge, CRADLE_COLLECT_MINOR);
          }
    assert_heap_sound(f.heap);
    cradle_collect(f.m, CRADLE_COLLECT_COMPACTING);
    close_heap();
  }
}

/* Begins a major collection and leaves it in the middle of marking. Objects of its own take several increments. */
static void begin_marking(void) CRADLE_MAY_COLLECT {
  static pair *list;
  if (fixture_stats(&f).phase == CRADLE_PHASE_MARKING) return;
  list = NULL;
  cradle_collect(f.m, CRADLE_COLLECT_MAJOR);
  cradle_global_root_add(f.heap, &list, CRADLE_KIND_REFERENCE);
  for (int i = 0; i < 2000; i++) {
    pair *next = cradle_new(f.m, T_PAIR, sizeof *next);
    next->rest = list;
    list = next;
  }
  (void)cradle_collect_step(f.m, 1);
  cradle_global_root_remove(f.heap, &list);
}

/* While a major collection marks, with and without young large objects. */
static void every_store_while_marking(void **state) CRADLE_MAY_COLLECT {
  (void)state;
  for (int encoding = 0; encoding < ENCODINGS; encoding++) {
    open_heap(encoding, encoding == 1);
    uint64_t marking = 0;
    for (int region = 0; region < LOOK_REGIONS; region++)
      for (unsigned edge = 0; edge < EDGES; edge++)
        for (int which = 0; which < HOLDERS; which++)
          for (int entry = 0; entry < ENTRIES; entry++) {
            if (f.stressed && draw() % 16 != 0) continue; /* a collection at each allocation takes long */
            begin_marking();
            marking += fixture_stats(&f).phase == CRADLE_PHASE_MARKING;
            if (entry % 2 == 0) (void)cradle_new_array(f.m, T_STRING, 100000);
            store_and_compare(which, entry, region, edge, CRADLE_COLLECT_MINOR);
          }
    assert_true(marking > (f.stressed ? 10 : 100));
    cradle_collect(f.m, CRADLE_COLLECT_FULL);
    assert_heap_sound(f.heap);
    close_heap();
  }
}

/* Every address is answered. What lies where no memory is, is no object. */
static void every_address_is_answered(void **state) CRADLE_MAY_COLLECT {
  (void)state;
  for (int quarantine = 0; quarantine < 2; quarantine++) {
    open_heap(3, quarantine);
    for (int region = 0; region < LOOK_REGIONS; region++)
      for (unsigned edge = 0; edge < EDGES + 20; edge++) {
        if (edge % 2 == 0) (void)cradle_new_array(f.m, T_STRING, 100000);
        const void *address = (const void *)look_address_in(&regions.of[region], edge, draw());
        cradle_address_info info;
        cradle_explanation explanation;
        cradle_describe_address(f.heap, address, &info, sizeof info);
        (void)cradle_explain_address(f.heap, address, &explanation, sizeof explanation);
        (void)cradle_object_of_id(f.m, (uint64_t)(uintptr_t)address);
        if (edge < EDGES - 1) continue; /* regions may be neighbours */
        if (region == LOOK_METADATA || region == LOOK_SHADOW_STACK || region == LOOK_DATA)
          assert_int_equal(info.kind, CRADLE_ADDRESS_OUTSIDE);
      }
    close_heap();
  }
}

/* A root that refers to memory that was never committed is the program's mistake: the verifier reports it, also where
 * it asks first whether marking knows the object. */
static void a_stale_reference_to_no_memory_is_reported(void **state) CRADLE_MAY_COLLECT {
  (void)state;
  for (int large = 0; large < 2; large++) {
    cradle_error error;
    open_heap(3, false);
    look_region arenas = regions.of[LOOK_UNCOMMITTED];
    *cradle_peek(f.m, 0) = arenas.start + (arenas.end - arenas.start) / 2;
    begin_marking();
    assert_int_equal(fixture_stats(&f).phase, CRADLE_PHASE_MARKING);
    if (large) (void)cradle_new_array(f.m, T_STRING, 100000);
    assert_false(cradle_heap_verify(f.heap, &error));
    if (strstr(error.message, "stale reference into the old generation") == NULL) fail_msg("%s", error.message);
    cradle_collect(f.m, CRADLE_COLLECT_MINOR);
    *cradle_peek(f.m, 0) = 0;
    close_heap();
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(plain_references_have_no_look_alikes),
      cmocka_unit_test(every_store_beside_a_young_large_object),
      cmocka_unit_test(every_store_while_marking),
      cmocka_unit_test(every_address_is_answered),
      cmocka_unit_test(a_stale_reference_to_no_memory_is_reported),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
