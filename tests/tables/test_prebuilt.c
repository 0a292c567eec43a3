/* Tests prebuilt objects: the collector keeps their referents alive and may move them, but never moves or frees the
 * prebuilt objects, and leaves no traces in them. */
#include "tests/support/moving.h"

static fixture f;

static pair first_pair, second_pair;
static struct {
  uint64_t header, length;
  void *item[8000]; /* longer than an array in the heap whose slots are recorded */
} table;
static struct {
  uint64_t header, length;
  uint64_t item[4];
} encoded;

static int open_fixture(void **state) {
  (void)state;
  first_pair = (pair){.header = T_PAIR};
  /* one prebuilt object refers to another */
  second_pair = (pair){.header = T_PAIR, .first = &first_pair, .rest = &second_pair};
  memset(&table, 0, sizeof table);
  table.header = T_VECTOR;
  table.length = 8000;
  memset(&encoded, 0, sizeof encoded);
  encoded.header = T_VALUES;
  encoded.length = 4;
  cradle_options options;
  fixture_options(&f, &options);
  options.encoding = cradle_encoding_of(0, 0, 0x02); /* references have the tag 1 */
  fixture_open_with(&f, &options);
  cradle_prebuilt_add(f.heap, &first_pair);
  cradle_prebuilt_add(f.heap, &second_pair);
  cradle_prebuilt_add(f.heap, &table);
  cradle_prebuilt_add(f.heap, &encoded);
  return 0;
}

static int close_fixture(void **state) {
  (void)state;
  fixture_close(&f);
  return 0;
}

static void what_it_refers_to_lives_and_moves(void **state) {
  (void)state;
  pair *p = new_pair(&f);
  cradle_store(f.m, &first_pair, &first_pair.first, p);
  for (size_t i = 0; i < 8000; i += 7) {
    p = new_pair(&f);
    cradle_store(f.m, &table, &table.item[i], p);
  }
  p = new_pair(&f);
  cradle_store_value(f.m, &encoded, &encoded.item[2], (uintptr_t)p | 1);
  cradle_store_value(f.m, &encoded, &encoded.item[3], 4242 << 1);
  for (int round = 0; round < 3; round++) {
    everything_moves(&f);
    assert_int_equal(cradle_type_of(first_pair.first), T_PAIR);
    for (size_t i = 0; i < 8000; i++) {
      assert_int_equal(table.item[i] != NULL, i % 7 == 0);
      if (table.item[i] != NULL) assert_int_equal(cradle_type_of(table.item[i]), T_PAIR);
    }
    assert_int_equal(encoded.item[2] & 7, 1);
    assert_int_equal(cradle_type_of((void *)(uintptr_t)(encoded.item[2] - 1)), T_PAIR);
    assert_int_equal(encoded.item[3], 4242 << 1);
  }
  assert_true(fixture_stats(&f).moved_old_objects > 3000);
  memset(table.item, 0, sizeof table.item);
  uint64_t before = fixture_stats(&f).old_bytes;
  cradle_collect(f.m, CRADLE_COLLECT_FULL);
  assert_true(fixture_stats(&f).old_bytes + 1100 * sizeof(pair) < before);
}

static void an_old_object_lives_by_it(void **state) {
  (void)state;
  pair *p = new_pair(&f);
  {
    CRADLE_ROOT(f.m, p);
    everything_moves(&f);
  }
  cradle_store(f.m, &first_pair, &first_pair.first, p);
  everything_moves(&f);
  assert_int_equal(cradle_type_of(first_pair.first), T_PAIR);
  assert_heap_sound(f.heap);
}

/* An object in the heap may hold the address of a prebuilt object; the collector does not trace through it. */
static void the_heap_refers_to_it(void **state) {
  (void)state;
  pair *p = new_pair(&f);
  CRADLE_ROOT(f.m, p);
  p->first = &second_pair;
  everything_moves(&f);
  assert_ptr_equal(p->first, &second_pair);
  assert_ptr_equal(p->first->first, &first_pair);
  assert_int_equal(cradle_type_of(p->first), T_PAIR);
  p = new_pair(&f);
  cradle_store(f.m, &second_pair, &second_pair.rest, p);
  cradle_store(f.m, p, &p->rest, &second_pair); /* a cycle */
  everything_moves(&f);
  assert_ptr_equal(second_pair.rest, p);
  assert_ptr_equal(p->rest, &second_pair);
}

/* Stores between all increments of marking. Some of the stored objects are old and have no other reference. */
static void stores_while_marking(void **state) {
  (void)state;
  enum { COUNT = 3000 };
  for (size_t i = 0; i < COUNT; i++) {
    pair *p = new_pair(&f);
    cradle_store(f.m, &table, &table.item[i], p);
  }
  cradle_collect(f.m, CRADLE_COLLECT_FULL);
  for (int cycle = 0; cycle < 3; cycle++) {
    size_t at = 0;
    do {
      pair *old = table.item[at % COUNT]; /* moves into an object that was not stored into before */
      cradle_store(f.m, &table, &table.item[at % COUNT], NULL);
      cradle_store(f.m, &first_pair, &first_pair.first, old);
      pair *p = new_pair(&f);
      cradle_store(f.m, &second_pair, &second_pair.first, p);
      (void)cradle_collect_step(f.m, 0);
      assert_int_equal(cradle_type_of(first_pair.first), T_PAIR);
      assert_int_equal(cradle_type_of(second_pair.first), T_PAIR);
      cradle_store(f.m, &table, &table.item[at % COUNT], first_pair.first);
      cradle_store(f.m, &first_pair, &first_pair.first, NULL);
      at += 13;
    } while (!cradle_collect_step(f.m, 0));
    for (size_t i = 0; i < COUNT; i++) assert_int_equal(cradle_type_of(table.item[i]), T_PAIR);
  }
}

/* The remembered set could not grow, so the next collection scans everything. */
static void without_a_remembered_set(void **state) {
  (void)state;
  pair *p = new_pair(&f);
  cradle_store(f.m, &first_pair, &first_pair.first, p);
  inside_local(f.heap)->remembered.top = inside_local(f.heap)->remembered.base;
  f.heap->young.remember_all = true;
  cradle_collect(f.m, CRADLE_COLLECT_MINOR);
  assert_int_equal(cradle_type_of(first_pair.first), T_PAIR);
  assert_heap_sound(f.heap);
}

static void it_may_refer_into_the_heap_when_it_is_registered(void **state) {
  (void)state;
  static pair late, late_old;
  late = (pair){.header = T_PAIR, .first = new_pair(&f)};
  cradle_prebuilt_add(f.heap, &late);
  cradle_collect(f.m, CRADLE_COLLECT_MINOR);
  assert_int_equal(cradle_type_of(late.first), T_PAIR);
  assert_false(space_is_young(&f.heap->space, (uintptr_t)late.first));
  late_old = (pair){.header = T_PAIR, .first = late.first};
  cradle_prebuilt_add(f.heap, &late_old);
  cradle_prebuilt_remove(f.heap, &late);
  everything_moves(&f);
  assert_int_equal(cradle_type_of(late_old.first), T_PAIR);
}

static void the_other_services_know_it(void **state) {
  (void)state;
  uint32_t hash = cradle_identity_hash(f.m, &first_pair);
  uint64_t id = cradle_id(f.m, &first_pair);
  assert_ptr_equal(cradle_pin(f.m, &first_pair), &first_pair);
  cradle_handle handle = cradle_handle_new(f.m, &first_pair);
  everything_moves(&f);
  assert_int_equal(cradle_identity_hash(f.m, &first_pair), hash);
  assert_int_equal(cradle_id(f.m, &first_pair), id);
  assert_ptr_equal(cradle_object_of_id(f.m, id), &first_pair);
  assert_ptr_equal(cradle_handle_get(f.m, handle), &first_pair);
  ASSERT_MISUSE(&f, ": it is pinned", cradle_prebuilt_remove(f.heap, &first_pair));
  cradle_unpin(f.m, &first_pair);
  cradle_handle_free(f.m, handle);
  cradle_prebuilt_remove(f.heap, &first_pair);
  assert_null(cradle_object_of_id(f.m, id));
}

/* Removes objects in any state: remembered, stored into, while marking. */
static void removed_it_is_plain_memory(void **state) {
  (void)state;
  pair *p = new_pair(&f);
  cradle_store(f.m, &first_pair, &first_pair.first, p);
  cradle_store(f.m, &second_pair, &second_pair.rest, p);
  cradle_prebuilt_remove(f.heap, &first_pair);
  assert_int_equal(first_pair.header, T_PAIR);
  assert_null(first_pair.first);
  first_pair = (pair){.header = 77, .first = (pair *)8}; /* no longer registered, so this is not checked */
  everything_moves(&f);
  assert_int_equal(cradle_type_of(second_pair.rest), T_PAIR);
  assert_int_equal(fixture_stats(&f).prebuilt_objects, 3);
  (void)cradle_collect_step(f.m, 0);
  cradle_prebuilt_remove(f.heap, &second_pair);
  cradle_prebuilt_remove(f.heap, &table);
  assert_ptr_equal(second_pair.first, &first_pair); /* references to other memory stay as they are */
  everything_moves(&f);
  assert_int_equal(fixture_stats(&f).prebuilt_objects, 1);
}

/* While marking goes through the prebuilt objects, marked ones are removed and others take their entries. */
static void removed_while_marking(void **state) {
  (void)state;
  enum { COUNT = 3000 };
  static pair pairs[COUNT];
  for (size_t i = 0; i < COUNT; i++) {
    pairs[i] = (pair){.header = T_PAIR};
    cradle_prebuilt_add(f.heap, &pairs[i]);
    pair *p = new_pair(&f);
    cradle_store(f.m, &pairs[i], &pairs[i].first, p);
  }
  cradle_collect(f.m, CRADLE_COLLECT_FULL);
  for (size_t i = 0; i < 5; i++) {
    for (int steps = 0; steps < 4; steps++) (void)cradle_collect_step(f.m, 0);
    for (size_t k = 0; k < 100; k++) cradle_prebuilt_remove(f.heap, &pairs[i * 100 + k]);
  }
  while (!cradle_collect_step(f.m, 0)) continue;
  for (size_t i = 500; i < COUNT; i++) assert_int_equal(cradle_type_of(pairs[i].first), T_PAIR);
}

/* [prebuilt.4]: whether each of the pairs is remembered exactly if it is registered and was stored into, and is where
 * its entry says. */
static void check_remembered(const pair *pairs, size_t count) {
  const crd_word_stack *remembered = &inside_local(f.heap)->remembered;
  size_t found = 0, expected = 0;
  for (size_t i = 0; i < word_stack_count(remembered); i++) {
    uint32_t at = crd_address_map_get(&f.heap->tables.prebuilts.by_address, remembered->base[i]);
    if (at != ADDRESS_MAP_NONE) assert_int_equal(f.heap->tables.prebuilts.of[at].remembered, i);
    found += remembered->base[i] - (uintptr_t)pairs < count * sizeof *pairs;
  }
  for (size_t i = 0; i < count; i++)
    expected += prebuilt_is(&f.heap->tables.prebuilts, &pairs[i]) && !header_has_barrier(pairs[i].header);
  assert_int_equal(found, expected);
}

/* Objects are removed in any order, stored into or not; the remaining ones must still be found by their addresses. */
static void removed_in_any_order(void **state) {
  (void)state;
  enum { COUNT = 7 };
  static pair pairs[COUNT];
  for (unsigned written = 0; written < 1u << COUNT; written++) {
    for (size_t i = 0; i < COUNT; i++) {
      pairs[i] = (pair){.header = T_PAIR};
      cradle_prebuilt_add(f.heap, &pairs[i]);
    }
    pair *p = new_pair(&f);
    for (size_t i = 0; i < COUNT; i++)
      if (written >> i & 1) cradle_store(f.m, &pairs[i], &pairs[i].first, p);
    for (size_t i = 0; i < COUNT; i++) {
      cradle_prebuilt_remove(f.heap, &pairs[(i * 3 + written) % COUNT]);
      check_remembered(pairs, COUNT);
      for (size_t k = i + 1; k < COUNT; k++) {
        uint32_t at =
            crd_address_map_get(&f.heap->tables.prebuilts.by_address, (uintptr_t)&pairs[(k * 3 + written) % COUNT]);
        assert_ptr_equal(f.heap->tables.prebuilts.of[at].object, &pairs[(k * 3 + written) % COUNT]);
      }
    }
  }
}

static void the_next_heap_takes_them_clean(void **state) {
  (void)state;
  pair *p = new_pair(&f);
  cradle_store(f.m, &first_pair, &first_pair.first, p);
  cradle_store_value(f.m, &encoded, &encoded.item[0], (uintptr_t)p | 1);
  (void)cradle_identity_hash(f.m, &first_pair);
  fixture_close(&f);
  assert_int_equal(first_pair.header, T_PAIR);
  assert_null(first_pair.first);
  assert_int_equal(encoded.item[0], 0);
  fixture_open(&f);
  cradle_prebuilt_add(f.heap, &first_pair);
  p = new_pair(&f);
  cradle_store(f.m, &first_pair, &first_pair.first, p);
  everything_moves(&f);
  assert_int_equal(cradle_type_of(first_pair.first), T_PAIR);
}

/* Objects are registered and stored into in any order; objects that were not stored into cost nothing. */
static void many_of_them(void **state) {
  (void)state;
  enum { COUNT = 10000 };
  static pair pairs[COUNT];
  for (size_t i = 0; i < COUNT; i++) {
    pairs[i] = (pair){.header = T_PAIR, .rest = &pairs[i * 7 % COUNT]};
    cradle_prebuilt_add(f.heap, &pairs[i]);
  }
  for (size_t k = 0; k < COUNT / 10; k++) {
    size_t i = k * 7919 % COUNT;
    pair *p = new_pair(&f);
    cradle_store(f.m, &pairs[i], &pairs[i].first, p);
  }
  assert_int_equal(f.heap->tables.prebuilts.written, COUNT / 10);
  everything_moves(&f);
  for (size_t k = 0; k < COUNT / 10; k++) assert_int_equal(cradle_type_of(pairs[k * 7919 % COUNT].first), T_PAIR);
  for (size_t i = 0; i < COUNT; i += 3) cradle_prebuilt_remove(f.heap, &pairs[i]);
  everything_moves(&f);
  for (size_t i = 0; i < COUNT; i++)
    if (i % 3 == 0)
      assert_null(pairs[i].first);
    else if (pairs[i].first != NULL)
      assert_int_equal(cradle_type_of(pairs[i].first), T_PAIR);
}

static void close_nothing(void *user, void *object) {
  (void)user;
  (void)object;
}
static size_t no_bytes(void *user, const void *object) {
  (void)user;
  (void)object;
  return 0;
}

static void misuse_is_named(void **state) {
  (void)state;
  static pair other = {.header = T_PAIR}, unknown = {.header = 77}, flagged = {.header = T_PAIR | UINT64_C(1) << 40};
  ASSERT_MISUSE(&f, "registered already", cradle_prebuilt_add(f.heap, &first_pair));
  ASSERT_MISUSE(&f, "not just a type id of the heap", cradle_prebuilt_add(f.heap, &unknown));
  unknown.header = f.heap->space.types.count; /* the first number that is not a type */
  ASSERT_MISUSE(&f, "not just a type id of the heap", cradle_prebuilt_add(f.heap, &unknown));
  ASSERT_MISUSE(&f, "not just a type id of the heap", cradle_prebuilt_add(f.heap, &flagged));
  ASSERT_MISUSE(&f, "not aligned to 8 bytes", cradle_prebuilt_add(f.heap, (char *)&other + 4));
  ASSERT_MISUSE(&f, "NULL", cradle_prebuilt_add(f.heap, NULL));
  ASSERT_MISUSE(&f, "lies in the heap", cradle_prebuilt_add(f.heap, new_pair(&f)));
  ASSERT_MISUSE(&f, "is not registered", cradle_prebuilt_remove(f.heap, &other));
  const cradle_type registered[] = {{.name = "weak", .size = 16, .weak = UINT64_C(1) << 1},
                                    {.name = "ephemeron", .size = 24, .ephemerons = UINT64_C(1) << 1},
                                    {.name = "final", .size = 16, .finalizer = 1},
                                    {.name = "file", .size = 16, .destructor = close_nothing},
                                    {.name = "buffer", .size = 16, .external_size = no_bytes}};
  for (size_t i = 0; i < sizeof registered / sizeof *registered; i++) {
    other.header = cradle_type_add(f.heap, &registered[i]);
    ASSERT_MISUSE(&f, "which only objects of the heap have", cradle_prebuilt_add(f.heap, &other));
  }
  fixture second;
  cradle_options options;
  fixture_options(&second, &options);
  fixture_open_with(&second, &options);
  ASSERT_MISUSE(&second, "registered with another heap", cradle_prebuilt_add(second.heap, &first_pair));
  fixture_close(&second);
}

/* [prebuilt.1] */
static void the_verifier_finds_a_store_without_the_barrier(void **state) {
  (void)state;
  cradle_error error;
  pair *p = new_pair(&f);
  first_pair.first = p;
  assert_false(cradle_heap_verify(f.heap, &error));
  assert_non_null(strstr(error.message, "missing write barrier: a prebuilt object"));
  assert_non_null(strstr(error.message, "word 1 of type 0 (pair)"));
  first_pair.first = NULL;
  cradle_store(f.m, &first_pair, &first_pair.first, p);
  cradle_collect(f.m, CRADLE_COLLECT_MINOR);
  p = new_pair(&f);
  first_pair.rest = p;
  assert_false(cradle_heap_verify(f.heap, &error));
  assert_non_null(strstr(error.message, "missing write barrier"));
  first_pair.rest = NULL;
  assert_true(cradle_heap_verify(f.heap, &error));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, open_fixture, close_fixture)

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(what_it_refers_to_lives_and_moves),
      TEST(the_heap_refers_to_it),
      TEST(stores_while_marking),
      TEST(an_old_object_lives_by_it),
      TEST(without_a_remembered_set),
      TEST(it_may_refer_into_the_heap_when_it_is_registered),
      TEST(the_other_services_know_it),
      TEST(removed_it_is_plain_memory),
      TEST(removed_while_marking),
      TEST(removed_in_any_order),
      TEST(the_next_heap_takes_them_clean),
      TEST(many_of_them),
      TEST(misuse_is_named),
      TEST(the_verifier_finds_a_store_without_the_barrier),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
