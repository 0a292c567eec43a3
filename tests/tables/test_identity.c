/* Identity hashes and ids: stable over every kind of move, distinct, gone with the dead. */
#include "tests/support/moving.h"
#include "tests/support/one_heap.h"
#include "tests/support/waiting.h"

static void choose(cradle_options *options) {
  (void)options;
}

/* Makes a vector of this many pairs on top of the shadow stack. */
static void push_pairs(size_t count) CRADLE_MAY_COLLECT {
  cradle_push(f.m, cradle_new_array(f.m, T_VECTOR, count));
  for (size_t i = 0; i < count; i++) {
    pair *p = new_pair(&f);
    vector *v = (vector *)(uintptr_t)*cradle_peek(f.m, 0);
    cradle_store(f.m, v, &v->item[i], p);
  }
}

static vector *top_vector(void) {
  return (vector *)(uintptr_t)*cradle_peek(f.m, 0);
}

static void a_hash_survives_every_move(void **state) {
  (void)state;
  enum { COUNT = 1000 };
  static uint32_t hashes[COUNT];
  push_pairs(COUNT);
  for (size_t i = 0; i < COUNT; i++) hashes[i] = cradle_identity_hash(f.m, top_vector()->item[i]);
  uint64_t moved_before = fixture_stats(&f).moved_old_objects;
  for (int round = 0; round < 3; round++) {
    everything_moves(&f);
    for (size_t i = 0; i < COUNT; i++) {
      assert_int_equal(cradle_type_of(top_vector()->item[i]), T_PAIR);
      assert_int_equal(cradle_identity_hash(f.m, top_vector()->item[i]), hashes[i]);
    }
  }
  assert_true(fixture_stats(&f).moved_old_objects >= moved_before + COUNT);
  cradle_pop(f.m);
}

/* A young object with flags, one that is old, and large ones of both ages; stores into them, and their slots. */
static void a_hashed_object_is_like_any_other(void **state) {
  (void)state;
  vector *large = cradle_new_array(f.m, T_VECTOR, 10000);
  uint32_t large_hash = cradle_identity_hash(f.m, large);
  cradle_push(f.m, large);
  pair *p = new_pair(&f);
  uint32_t hash = cradle_identity_hash(f.m, p);
  cradle_push(f.m, p);
  for (int round = 0; round < 3; round++) {
    for (size_t i = 0; i < 10000; i += 1000) {
      pair *child = new_pair(&f);
      (void)cradle_identity_hash(f.m, child);
      large = (vector *)(uintptr_t)*cradle_peek(f.m, 1);
      cradle_store(f.m, large, &large->item[i], child);
    }
    pair *child = new_pair(&f);
    p = (pair *)(uintptr_t)*cradle_peek(f.m, 0);
    cradle_store(f.m, p, &p->first, child);
    everything_moves(&f);
    p = (pair *)(uintptr_t)*cradle_peek(f.m, 0);
    large = (vector *)(uintptr_t)*cradle_peek(f.m, 1);
    assert_int_equal(cradle_type_of(p->first), T_PAIR);
    for (size_t i = 0; i < 10000; i += 1000) assert_int_equal(cradle_type_of(large->item[i]), T_PAIR);
    assert_int_equal(cradle_identity_hash(f.m, p), hash);
    assert_int_equal(cradle_identity_hash(f.m, large), large_hash);
  }
  cradle_pop_many(f.m, 2);
}

static void the_first_hashes_differ_and_repeat_in_the_next_run(void **state) {
  (void)state;
  enum { COUNT = 100000, BUCKETS = 256 };
  unsigned char *seen = calloc(CRADLE_HASH_MASK + 1, 1);
  size_t low[BUCKETS] = {0}, high[BUCKETS] = {0};
  fixture other = {.stressed = false};
  cradle_options options;
  fixture_options(&f, &options);
  options.verify = false;
  fixture_unstress(&options);
  fixture_open_with(&other, &options);
  fixture first = {.stressed = false};
  fixture_open_with(&first, &options);
  for (size_t i = 0; i < COUNT; i++) {
    pair *p = cradle_new(other.m, T_PAIR, sizeof(pair)), *q = cradle_new(first.m, T_PAIR, sizeof(pair));
    uint32_t hash = cradle_identity_hash(other.m, p);
    assert_int_equal(hash, cradle_identity_hash(first.m, q));
    assert_in_range(hash, 1, CRADLE_HASH_MASK);
    assert_int_equal(seen[hash], 0);
    seen[hash] = 1;
    low[hash % BUCKETS]++;
    high[hash >> 16]++;
  }
  for (size_t i = 0; i < BUCKETS; i++) { /* 390 each, give or take five times the deviation of chance */
    assert_in_range(low[i], 290, 490);
    assert_in_range(high[i], 290, 490);
  }
  free(seen);
  fixture_close(&first);
  fixture_close(&other);
}

/* The counter goes round: no object gets the hash that means none. */
static void a_hash_is_never_zero(void **state) {
  (void)state;
  f.heap->tables.ids.hashes = CRADLE_HASH_MASK - 1;
  for (int i = 0; i < 4; i++) assert_int_not_equal(cradle_identity_hash(f.m, new_pair(&f)), 0);
}

static void an_id_belongs_to_one_object_for_life(void **state) {
  (void)state;
  enum { COUNT = 500 };
  static uint64_t ids[COUNT];
  push_pairs(COUNT);
  for (size_t i = 0; i < COUNT; i++) ids[i] = cradle_id(f.m, top_vector()->item[i]);
  for (int round = 0; round < 3; round++) {
    for (size_t i = 0; i < COUNT; i++) {
      assert_int_not_equal(ids[i], 0);
      assert_int_equal(cradle_id(f.m, top_vector()->item[i]), ids[i]);
      assert_ptr_equal(cradle_object_of_id(f.m, ids[i]), top_vector()->item[i]);
      if (i > 0) assert_int_not_equal(ids[i], ids[i - 1]);
    }
    everything_moves(&f);
  }
  assert_int_equal(fixture_stats(&f).ids, COUNT);
  cradle_pop(f.m);
  cradle_collect(f.m, CRADLE_COLLECT_FULL);
  assert_int_equal(fixture_stats(&f).ids, 0);
  for (size_t i = 0; i < COUNT; i++) assert_null(cradle_object_of_id(f.m, ids[i]));
  uint64_t next = cradle_id(f.m, new_pair(&f));
  for (size_t i = 0; i < COUNT; i++) assert_int_not_equal(ids[i], next);
}

/* Each stage of a life and each way to die. Sweeping may come much later, but a dead object's id is gone at once. */
static void the_dead_have_no_id(void **state) {
  (void)state;
  uint64_t young = cradle_id(f.m, new_pair(&f));
  vector *large = cradle_new_array(f.m, T_VECTOR, 10000);
  uint64_t large_young = cradle_id(f.m, large);
  pair *kept = new_pair(&f);
  uint64_t old = cradle_id(f.m, kept);
  cradle_push(f.m, kept);
  cradle_push(f.m, cradle_new_array(f.m, T_VECTOR, 10000));
  uint64_t large_old = cradle_id(f.m, (void *)(uintptr_t)*cradle_peek(f.m, 0));
  cradle_collect(f.m, CRADLE_COLLECT_MINOR);
  assert_null(cradle_object_of_id(f.m, young));
  assert_null(cradle_object_of_id(f.m, large_young));
  assert_ptr_equal(cradle_object_of_id(f.m, old), (void *)(uintptr_t)*cradle_peek(f.m, 1));
  assert_ptr_equal(cradle_object_of_id(f.m, large_old), (void *)(uintptr_t)*cradle_peek(f.m, 0));
  cradle_pop_many(f.m, 2);
  cradle_collect(f.m, CRADLE_COLLECT_FULL);
  assert_null(cradle_object_of_id(f.m, old));
  assert_null(cradle_object_of_id(f.m, large_old));
  assert_int_equal(fixture_stats(&f).ids, 0);
}

/* Between the end of marking and the sweep of its span, a dead object's memory is still there. */
static void the_dead_have_no_id_before_they_are_swept(void **state) {
  (void)state;
  enum { COUNT = 2000 };
  static uint64_t ids[COUNT];
  push_pairs(COUNT);
  for (size_t i = 0; i < COUNT; i++) ids[i] = cradle_id(f.m, top_vector()->item[i]);
  cradle_collect(f.m, CRADLE_COLLECT_FULL);
  for (size_t i = 0; i < COUNT; i += 2) cradle_store(f.m, top_vector(), &top_vector()->item[i], NULL);
  while (fixture_stats(&f).phase != CRADLE_PHASE_SWEEPING) (void)cradle_collect_step(f.m, 0);
  assert_true(fixture_stats(&f).ids > COUNT / 2);
  int steps = 0;
  do {
    for (size_t i = 0; i < COUNT; i++) assert_ptr_equal(cradle_object_of_id(f.m, ids[i]), top_vector()->item[i]);
    (void)cradle_id(f.m, new_pair(&f)); /* takes entries that were just dropped */
    steps++;
  } while (!cradle_collect_step(f.m, 0));
  assert_true(steps > 3);
  cradle_pop(f.m);
}

/* Between marking and sweeping what marking did not reach is dead; what a finalizer leads to is so until it is brought
 * back. */
static void the_dead_have_no_id_while_some_come_back(void **state) {
  (void)state;
  enum { COUNT = 1000, GIVEN_UP = 100 };
  static uint64_t ids[COUNT];
  static uint32_t hashes[COUNT];
  uint32_t type = cradle_type_add(
      f.heap, &(cradle_type){.name = "final", .size = 16, .references = UINT64_C(1) << 1, .finalizer = 1});
  void **final = cradle_new_registered(f.m, type, 16);
  CRADLE_ROOT(f.m, final);
  for (size_t i = 0; i < COUNT; i++) { /* a chain: it comes back an object at a time */
    pair *next = new_pair(&f);
    ids[i] = cradle_id(f.m, next);
    hashes[i] = cradle_identity_hash(f.m, next);
    cradle_store(f.m, next, &next->first, final[1]);
    cradle_store(f.m, final, &final[1], next);
  }
  push_pairs(GIVEN_UP);
  uint64_t given_up = cradle_id(f.m, top_vector()->item[0]);
  cradle_collect(f.m, CRADLE_COLLECT_FULL);
  cradle_pop(f.m);
  final = NULL;
  size_t partly = 0;
  while (finalizers_waiting(f.m, 1) == 0) {
    (void)cradle_collect_step(f.m, 0);
    if (fixture_stats(&f).phase != CRADLE_PHASE_CLEARING) continue;
    assert_null(cradle_object_of_id(f.m, given_up));
    size_t back = 0;
    for (size_t i = 0; i < COUNT; i++) {
      void *found = cradle_object_of_id(f.m, ids[i]);
      if (found == NULL) continue;
      assert_int_equal(cradle_id(f.m, found), ids[i]); /* back with all that its header says */
      assert_int_equal(cradle_identity_hash(f.m, found), hashes[i]);
      back++;
    }
    partly += back > 0 && back < COUNT;
    if (partly != 5) continue;
    uint64_t large =
        cradle_id(f.m, cradle_new_array(f.m, T_VECTOR, 10000)); /* younger than the marking; it may end it all */
    assert_non_null(cradle_object_of_id(f.m, large));
  }
  if (!f.stressed) assert_true(partly >= 5);
  final = cradle_finalizer_next(f.m, 1);
  assert_non_null(final);
  const pair *p = final[1];
  for (size_t i = COUNT; i-- > 0; p = p->first) assert_ptr_equal(cradle_object_of_id(f.m, ids[i]), p);
}

/* Looking an id up during marking brings back its object, which marking has not reached. */
static void an_object_found_by_its_id_while_marking_lives(void **state) {
  (void)state;
  push_pairs(3000);
  uint64_t id = cradle_id(f.m, top_vector()->item[2999]);
  cradle_collect(f.m, CRADLE_COLLECT_FULL);
  cradle_store(f.m, top_vector(), &top_vector()->item[2999], NULL);
  (void)cradle_collect_step(f.m, 0);
  pair *found = cradle_object_of_id(f.m, id);
  if (found == NULL) { /* under stress the collection may be over */
    assert_true(f.stressed);
  } else {
    cradle_push(f.m, found);
    while (!cradle_collect_step(f.m, 0)) continue;
    assert_int_equal(cradle_type_of((void *)(uintptr_t)*cradle_peek(f.m, 0)), T_PAIR);
    assert_ptr_equal(cradle_object_of_id(f.m, id), (void *)(uintptr_t)*cradle_peek(f.m, 0));
    cradle_pop(f.m);
  }
  cradle_pop(f.m);
}

static void ids_that_never_were(void **state) {
  (void)state;
  uint64_t id = cradle_id(f.m, new_pair(&f));
  assert_null(cradle_object_of_id(f.m, 0));
  assert_null(cradle_object_of_id(f.m, id + 1));
  assert_null(cradle_object_of_id(f.m, id + (UINT64_C(1) << 32)));
  assert_null(cradle_object_of_id(f.m, UINT64_MAX));
}

static void only_an_object_of_the_heap_has_an_id(void **state) {
  (void)state;
  pair outside = {.header = T_PAIR};
  ASSERT_MISUSE(&f, "cradle_id: NULL: it cannot have an id", assert_int_equal(cradle_id(f.m, NULL), 0));
  ASSERT_MISUSE(&f, ", which is no object of this heap: it cannot have an id",
                assert_int_equal(cradle_id(f.m, &outside), 0));
}

/* An entry that has used all its generations is never taken again: ids never repeat. */
static void an_id_never_comes_back(void **state) {
  (void)state;
  uint64_t id = cradle_id(f.m, new_pair(&f));
  f.heap->tables.ids.entries[(uint32_t)id - 1].generation = UINT32_MAX;
  cradle_collect(f.m, CRADLE_COLLECT_MINOR);
  uint64_t next = cradle_id(f.m, new_pair(&f));
  assert_int_not_equal((uint32_t)next, (uint32_t)id);
}

/* Simulates refused memory: the table believes that it is full and cannot grow. */
static void without_room_there_is_no_id(void **state) {
  (void)state;
  pair *p = new_pair(&f);
  crd_ids *ids = &f.heap->tables.ids, before = *ids;
  ids->used = ids->capacity = UINT32_MAX;
  uint64_t id = cradle_id(f.m, p);
  ids->used = before.used;
  ids->capacity = before.capacity;
  assert_int_equal(id, 0);
  assert_int_not_equal(cradle_id(f.m, p), 0);
}

static void the_verifier_finds_ids_that_are_wrong(void **state) {
  (void)state;
  cradle_error error;
  pair *p = new_pair(&f);
  cradle_push(f.m, p);
  *(cradle_word *)p |= HEADER_ID_FLAG;
  assert_false(cradle_heap_verify(f.heap, &error));
  assert_non_null(strstr(error.message, "[identity.1]"));
  *(cradle_word *)p &= ~HEADER_ID_FLAG;
  (void)cradle_id(f.m, p);
  f.heap->tables.ids.entries[0].link = ID_UNLISTED;
  assert_false(cradle_heap_verify(f.heap, &error));
  assert_non_null(strstr(error.message, "[identity.2]"));
  f.heap->tables.ids.entries[0].link = 0;
  *(cradle_word *)p &= ~HEADER_ID_FLAG;
  assert_false(cradle_heap_verify(f.heap, &error));
  assert_non_null(strstr(error.message, "[identity.1]"));
  *(cradle_word *)p |= HEADER_ID_FLAG;
  crd_address_map_find(&f.heap->tables.ids.by_address, (uintptr_t)p)->number = 1;
  assert_false(cradle_heap_verify(f.heap, &error));
  assert_non_null(strstr(error.message, "an id is not found by its object's address"));
  crd_address_map_find(&f.heap->tables.ids.by_address, (uintptr_t)p)->number = 0;
  f.heap->tables.ids.by_address.count++;
  assert_false(cradle_heap_verify(f.heap, &error));
  assert_non_null(strstr(error.message, "the ids and their map disagree"));
  f.heap->tables.ids.by_address.count--;
  assert_true(cradle_heap_verify(f.heap, &error));
  cradle_pop(f.m);
}

/* --- the map beneath --- */

/* Against an array: addresses that collide, removed in another order than they came. */
static void an_address_map_is_a_map(void **state) {
  (void)state;
  enum { COUNT = 20000, RANGE = 3000 };
  static uint32_t model[RANGE];
  crd_address_map map = {NULL, 0, 0};
  size_t count = 0;
  uint64_t random = 12345;
  memset(model, 0xff, sizeof model);
  for (int i = 0; i < COUNT; i++) {
    random = random * 6364136223846793005u + 1442695040888963407u;
    size_t at = (random >> 33) % RANGE;
    uintptr_t address = 0x10000 + at * (at % 2 ? 8 : (size_t)1 << 24);
    assert_int_equal(crd_address_map_get(&map, address), model[at]);
    if (model[at] != ADDRESS_MAP_NONE) {
      crd_address_map_remove(&map, address);
      model[at] = ADDRESS_MAP_NONE;
      count--;
    } else {
      assert_true(crd_address_map_reserve(&map));
      crd_address_map_insert(&map, address, model[at] = (uint32_t)i);
      count++;
    }
    assert_int_equal(map.count, count);
    assert_true(map.count <= map.capacity / 4 * 3);
  }
  for (size_t at = 0; at < RANGE; at++)
    assert_int_equal(crd_address_map_get(&map, 0x10000 + at * (at % 2 ? 8 : (size_t)1 << 24)), model[at]);
  crd_address_map_clear(&map);
  for (size_t at = 0; at < RANGE; at++)
    assert_int_equal(crd_address_map_get(&map, 0x10000 + at * (at % 2 ? 8 : (size_t)1 << 24)), ADDRESS_MAP_NONE);
  crd_address_map_fini(&map);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      WITH_FIXTURE(a_hash_survives_every_move),
      WITH_FIXTURE(a_hashed_object_is_like_any_other),
      WITH_FIXTURE(the_first_hashes_differ_and_repeat_in_the_next_run),
      WITH_FIXTURE(a_hash_is_never_zero),
      WITH_FIXTURE(an_id_belongs_to_one_object_for_life),
      WITH_FIXTURE(the_dead_have_no_id),
      WITH_FIXTURE(the_dead_have_no_id_before_they_are_swept),
      WITH_FIXTURE(the_dead_have_no_id_while_some_come_back),
      WITH_FIXTURE(an_object_found_by_its_id_while_marking_lives),
      WITH_FIXTURE(ids_that_never_were),
      WITH_FIXTURE(only_an_object_of_the_heap_has_an_id),
      WITH_FIXTURE(an_id_never_comes_back),
      WITH_FIXTURE(without_room_there_is_no_id),
      WITH_FIXTURE(the_verifier_finds_ids_that_are_wrong),
      cmocka_unit_test(an_address_map_is_a_map),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
