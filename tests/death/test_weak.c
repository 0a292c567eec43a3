/* Tests weak slots, and the behaviour common to all objects with services (weak slots, ephemerons, finalizers). */
#include "tests/support/services.h"

static void a_weak_slot_follows_the_living_and_forgets_the_dead(void **state) {
  (void)state;
  for (int way = 0; way < WAYS; way++) {
    fixture f;
    services_open(&f);
    {
      pair *alive = new_pair(&f, NULL), *dead;
      CRADLE_ROOT(f.m, alive);
      weak *to_alive = new_weak(&f, alive);
      CRADLE_ROOT(f.m, to_alive);
      dead = new_pair(&f, NULL);
      CRADLE_ROOT(f.m, dead);
      weak *to_dead = new_weak(&f, dead);
      CRADLE_ROOT(f.m, to_dead);
      age_for(&f, way);
      assert_ptr_equal(cradle_weak_get(f.m, &to_dead->to), dead);
      dead = NULL;
      collect_by(&f, way);
      assert_ptr_equal(cradle_weak_get(f.m, &to_alive->to), alive);
      assert_ptr_equal(to_alive->to, alive);
      assert_null(to_dead->to);
      cradle_collect(f.m, CRADLE_COLLECT_COMPACTING);
      assert_ptr_equal(to_alive->to, alive);
    }
    fixture_close(&f);
  }
}

static void an_array_of_weak_slots_of_any_size(void **state) {
  (void)state;
  static const size_t lengths[] = {0, 1, 100, 5000, 20000}; /* small, a page run, large */
  for (int way = 0; way < WAYS; way++)
    for (size_t l = 0; l < 5; l++) {
      fixture f;
      services_open_with(&f, NULL);
      if (f.stressed && lengths[l] > 100) {
        fixture_close(&f);
        continue; /* only run without stress, which collects once for each element and takes minutes */
      }
      {
        size_t length = lengths[l];
        weaks *table = cradle_new_array(f.m, T_WEAKS, length);
        CRADLE_ROOT(f.m, table);
        vector *keep = cradle_new_array(f.m, T_VECTOR, length);
        CRADLE_ROOT(f.m, keep);
        for (size_t i = 0; i < length; i++) {
          pair *p = new_pair(&f, NULL);
          cradle_store(f.m, table, &table->item[i], p);
          cradle_store(f.m, keep, &keep->item[i], p);
        }
        age_for(&f, way);
        for (size_t i = 0; i < length; i += 2) cradle_store(f.m, keep, &keep->item[i], NULL);
        if (way == BY_MINOR) /* refill with young objects, so that an old table refers to them */
          for (size_t i = 0; i < length; i += 2) {
            pair *p = new_pair(&f, NULL);
            cradle_store(f.m, table, &table->item[i], p);
          }
        collect_by(&f, way);
        size_t wrong = 0;
        for (size_t i = 0; i < length; i++) wrong += cradle_weak_get(f.m, &table->item[i]) != keep->item[i];
        if (way != BY_MINOR) assert_int_equal(wrong, 0);
        cradle_collect(f.m, CRADLE_COLLECT_MAJOR);
        wrong = 0;
        for (size_t i = 0; i < length; i++) wrong += table->item[i] != keep->item[i];
        assert_int_equal(wrong, 0);
      }
      fixture_close(&f);
    }
}

/* An old holder gets a young referent: the barrier must record it, and the reference must stay weak. */
static void an_old_holder_of_a_young_object(void **state) {
  (void)state;
  for (int alive = 0; alive < 2; alive++) {
    fixture f;
    services_open(&f);
    {
      weak *w = new_weak(&f, NULL);
      CRADLE_ROOT(f.m, w);
      cradle_collect(f.m, CRADLE_COLLECT_MINOR);
      pair *p = new_pair(&f, NULL);
      CRADLE_ROOT(f.m, p);
      cradle_store(f.m, w, &w->to, p);
      if (!alive) p = NULL;
      cradle_collect(f.m, CRADLE_COLLECT_MINOR);
      assert_ptr_equal(w->to, p);
    }
    fixture_close(&f);
  }
}

/* As above with a bulk copy: small holders are scanned whole, and no slot of a large holder is treated as strong. */
static void a_bulk_copy_into_weak_slots_and_pairs(void **state) {
  (void)state;
  static const size_t lengths[] = {10, 6000};
  for (size_t k = 0; k < sizeof lengths / sizeof *lengths; k++)
    for (int way = 0; way < 3; way++) {
      fixture f;
      services_open(&f);
      {
        size_t length = lengths[k];
        weaks *table = cradle_new_array(f.m, T_WEAKS, length);
        CRADLE_ROOT(f.m, table);
        ephemerons *pairs = cradle_new_array(f.m, T_EPHEMERONS, length / 2);
        CRADLE_ROOT(f.m, pairs);
        if (way != 0) cradle_collect(f.m, CRADLE_COLLECT_FULL);
        vector *from = cradle_new_array(f.m, T_VECTOR, length), *keep = NULL;
        CRADLE_ROOT(f.m, from);
        CRADLE_ROOT(f.m, keep);
        for (size_t i = 0; i < length; i++) {
          pair *p = new_pair(&f, NULL);
          cradle_store(f.m, from, &from->item[i], p);
        }
        keep = cradle_new_array(f.m, T_VECTOR, length);
        for (size_t i = 0; i < length; i += 4) cradle_store(f.m, keep, &keep->item[i], from->item[i]);
        if (way == 2) (void)cradle_collect_step(f.m, 0); /* a major collection is marking */
        cradle_copy_slots(f.m, table, table->item, from->item, length);
        cradle_copy_slots(f.m, pairs, pairs->item, from->item, length / 2 * 2);
        from = NULL;
        cradle_collect(f.m, CRADLE_COLLECT_MINOR);
        cradle_collect(f.m, CRADLE_COLLECT_FULL);
        for (size_t i = 0; i < length; i++) {
          bool held = i % 4 == 0; /* also the values of live keys, through the pairs */
          assert_ptr_equal(table->item[i], i % 4 == 1 && i < length / 2 * 2 ? pairs->item[i / 2].value : keep->item[i]);
          if (i % 2 == 0) assert_ptr_equal(pairs->item[i / 2].key, keep->item[i]);
          if (i % 2 == 1) assert_true((pairs->item[i / 2].value != NULL) == (i % 4 == 1));
          assert_true((keep->item[i] != NULL) == held);
        }
      }
      fixture_close(&f);
    }
}

static void a_store_without_the_barrier_is_found(void **state) {
  (void)state;
  fixture f;
  services_open(&f);
  {
    weak *w = new_weak(&f, NULL);
    CRADLE_ROOT(f.m, w);
    cradle_collect(f.m, CRADLE_COLLECT_MINOR);
    pair *p = new_pair(&f, NULL);
    w->to = p;
    cradle_error error;
    assert_false(cradle_heap_verify(f.heap, &error));
    assert_non_null(strstr(error.message, "missing write barrier"));
    w->to = NULL;
  }
  fixture_close(&f);
}

static void a_large_object_dies_in_a_weak_slot(void **state) {
  (void)state;
  for (int way = 0; way < WAYS; way++) {
    fixture f;
    services_open(&f);
    {
      vector *large = cradle_new_array(f.m, T_VECTOR, 10000);
      CRADLE_ROOT(f.m, large);
      weak *w = new_weak(&f, large);
      CRADLE_ROOT(f.m, w);
      age_for(&f, way);
      assert_ptr_equal(cradle_weak_get(f.m, &w->to), large);
      large = NULL;
      collect_by(&f, way);
      assert_null(cradle_weak_get(f.m, &w->to));
    }
    fixture_close(&f);
  }
}

/* During the whole clearing phase, readers never see a dead object. */
static void the_dead_are_dead_at_once(void **state) {
  (void)state;
  fixture f;
  services_open(&f);
  {
    size_t count = f.stressed ? 60 : 2000;
    weaks *table = cradle_new_array(f.m, T_WEAKS, count);
    CRADLE_ROOT(f.m, table);
    vector *holders = cradle_new_array(f.m, T_VECTOR, count);
    CRADLE_ROOT(f.m, holders);
    vector *keep = cradle_new_array(f.m, T_VECTOR, count);
    CRADLE_ROOT(f.m, keep);
    for (size_t i = 0; i < count; i++) {
      pair *p = new_pair(&f, NULL);
      CRADLE_ROOT(f.m, p);
      cradle_store(f.m, keep, &keep->item[i], p);
      cradle_store(f.m, table, &table->item[i], p);
      weak *w = new_weak(&f, p);
      cradle_store(f.m, holders, &holders->item[i], w);
    }
    for (int i = 0; i < 3; i++) cradle_collect(f.m, CRADLE_COLLECT_MAJOR);
    for (size_t i = 0; i < count; i += 2) cradle_store(f.m, keep, &keep->item[i], NULL);
    size_t partly = 0, changes = 0, seen = count;
    while (!cradle_collect_step(f.m, 0)) {
      size_t alive = 0, held = 0, again = 0;
      for (size_t i = 1; i < count; i += 2) alive += cradle_weak_get(f.m, &table->item[i]) == keep->item[i];
      assert_int_equal(alive, count / 2);
      /* Only counts: during marking, storing a reference that was read would keep its object alive. */
      if (fixture_stats(&f).phase != CRADLE_PHASE_CLEARING) continue;
      for (size_t i = 0; i < count; i += 2) {
        again += cradle_weak_get(f.m, &((weak *)holders->item[i])->to) != NULL;
        again += cradle_weak_get(f.m, &table->item[i]) != NULL;
        held += ((weak *)holders->item[i])->to != NULL;
      }
      assert_int_equal(again, 0);
      weak *fresh = new_weak(&f, NULL); /* objects allocated after marking began live, small or large */
      CRADLE_ROOT(f.m, fresh);
      vector *large = cradle_new_array(f.m, T_VECTOR, 10000);
      cradle_store(f.m, fresh, &fresh->to, large);
      assert_non_null(cradle_weak_get(f.m, &fresh->to));
      if (held != 0 && held != count / 2) partly++;
      if (held != seen) seen = held, changes++;
    }
    if (!f.stressed) {
      assert_true(partly > 3); /* clearing took several increments */
      assert_true(changes > 3);
    }
  }
  fixture_close(&f);
}

/* Two holders refer to the same object, and a finalizer brings one holder back: its slot is cleared all the same. */
static void slots_of_what_a_finalizer_brings_back_are_cleared_too(void **state) {
  (void)state;
  for (int way = 0; way < WAYS; way++) {
    fixture f;
    services_open(&f);
    {
      pair *p = new_pair(&f, NULL);
      CRADLE_ROOT(f.m, p);
      weak *outside = new_weak(&f, p);
      CRADLE_ROOT(f.m, outside);
      weak *inside = new_weak(&f, p);
      CRADLE_ROOT(f.m, inside);
      final *object = new_final(&f, 1, inside);
      CRADLE_ROOT(f.m, object);
      cradle_store(f.m, object, &object->other, p);
      age_for(&f, way);
      p = NULL, inside = NULL, object = NULL;
      collect_by(&f, way);
      assert_null(outside->to);
      object = cradle_finalizer_next(f.m, QUEUE);
      assert_non_null(object);
      assert_non_null(object->other);
      assert_null(((weak *)object->to)->to); /* although its referent is alive again */
      p = new_pair(&f, NULL);
      inside = object->to;
      cradle_store(f.m, inside, &inside->to, p); /* the slot still works */
      p = NULL;
      cradle_collect(f.m, CRADLE_COLLECT_MAJOR);
      assert_null(inside->to);
    }
    fixture_close(&f);
  }
}

static void weak_slots_in_the_encoding(void **state) {
  (void)state;
  fixture f;
  cradle_options options;
  fixture_options(&f, &options);
  options.encoding = cradle_encoding_of(0, 0, 1u << 1 | 1u << 3);
  fixture_open_with(&f, &options);
  uint32_t type = cradle_type_add(
      f.heap, &(cradle_type){.name = "weak value", .size = 32, .weak = 2, .ephemerons = 4, .weak_values = true});
  {
    uint64_t *holder = cradle_new_registered(f.m, type, 32);
    CRADLE_ROOT(f.m, holder);
    pair *alive = new_pair(&f, NULL);
    CRADLE_ROOT(f.m, alive);
    pair *dead = new_pair(&f, NULL);
    cradle_store_value(f.m, holder, &holder[1], (uintptr_t)dead | 3);
    cradle_store_value(f.m, holder, &holder[2], 40); /* an immediate key never dies */
    cradle_store_value(f.m, holder, &holder[3], (uintptr_t)alive | 1);
    alive = NULL;
    cradle_collect(f.m, CRADLE_COLLECT_MAJOR);
    assert_int_equal(cradle_weak_get_value(f.m, &holder[1]), 0);
    assert_int_equal(holder[2], 40);
    assert_int_equal(holder[3] & 7, 1);
    alive = (pair *)(uintptr_t)(holder[3] - 1);
    assert_int_equal(cradle_type_of(alive), T_PAIR);
    cradle_store_value(f.m, holder, &holder[1], (uintptr_t)alive | 3);
    cradle_collect(f.m, CRADLE_COLLECT_COMPACTING);
    assert_ptr_equal(alive, (pair *)(uintptr_t)(holder[3] - 1));
    assert_int_equal(cradle_weak_get_value(f.m, &holder[1]), (uintptr_t)alive | 3);
    alive = NULL;
    cradle_store_value(f.m, holder, &holder[2], holder[3]); /* key and value are one: both die */
    cradle_collect(f.m, CRADLE_COLLECT_MAJOR);
    assert_int_equal(holder[1] | holder[2] | holder[3], 0);
  }
  fixture_close(&f);
}

/* --- arrays --- */

typedef struct table {
  uint64_t header, length;
  uint64_t cache, value; /* a weak slot, or a pair */
  uint64_t item[];
} table;

/* Weak slots and pairs in the fixed part of a large old array with items of another kind: after a store the array is
 * scanned whole; the slot must not be treated as an item. */
static void arrays_with_fixed_slots_of_another_kind(void **state) {
  (void)state;
  static const uint64_t pattern = UINT64_C(0xfffc) << 48;
  for (int values = 0; values < 2; values++)
    for (int pairs = 0; pairs < 2; pairs++) {
      fixture f;
      cradle_options options;
      fixture_options(&f, &options);
      options.encoding = cradle_encoding_of(UINT64_C(0xffff) << 48, pattern, 1 << 0);
      fixture_open_with(&f, &options);
      uint64_t slot = CRADLE_SLOT(table, cache);
      cradle_type type = {.name = "table",
                          .size = sizeof(table),
                          .item_size = 8,
                          .length_offset = offsetof(table, length),
                          .items = values ? CRADLE_ITEMS_VALUES : CRADLE_ITEMS_REFERENCES,
                          .weak = pairs ? 0 : slot,
                          .ephemerons = pairs ? slot : 0,
                          .weak_values = !values};
      uint32_t number = cradle_type_add(f.heap, &type);
      {
        pair *kept = NULL;
        CRADLE_ROOT(f.m, kept);
        table *t = cradle_new_array(f.m, number, 500);
        CRADLE_ROOT(f.m, t);
        cradle_collect(f.m, CRADLE_COLLECT_MINOR);
        kept = new_pair(&f, NULL);
        uint64_t boxed = (uint64_t)(uintptr_t)kept | (values ? 0 : pattern);
        if (values) {
          cradle_store(f.m, t, &t->cache, kept);
          if (pairs) cradle_store(f.m, t, &t->value, kept);
        } else {
          cradle_store_value(f.m, t, &t->cache, boxed);
          if (pairs) cradle_store_value(f.m, t, &t->value, boxed);
        }
        cradle_collect(f.m, CRADLE_COLLECT_MINOR);
        boxed = (uint64_t)(uintptr_t)kept | (values ? 0 : pattern);
        assert_true(t->cache == boxed && t->value == (pairs ? boxed : 0));
        kept = NULL;
        cradle_collect(f.m, CRADLE_COLLECT_FULL);
        assert_true(t->cache == 0 && t->value == 0);
      }
      fixture_close(&f);
    }
}

static void an_array_that_is_too_long_is_none(void **state) {
  (void)state;
  fixture f;
  services_open(&f);
  {
    weaks *table = cradle_new_array(f.m, T_WEAKS, 3);
    CRADLE_ROOT(f.m, table);
    assert_int_equal(table->length, 3);
    assert_null(cradle_new_array(f.m, T_WEAKS, SIZE_MAX / 8 - 1)); /* overflows */
    assert_null(cradle_new_array(f.m, T_EPHEMERONS, (size_t)1 << 50));
    assert_int_equal(((weaks *)cradle_new_array(f.m, T_WEAKS, 0))->length, 0);
  }
  fixture_close(&f);
}

/* --- misuse --- */

static void misuse_of_weak_things(void **state) {
  (void)state;
  fixture f;
  services_open(&f);
  cradle_weak_set *set = cradle_weak_set_new(f.m, NULL, NULL);
  {
    ASSERT_MISUSE(&f, "CRADLE_NEW_WITH", cradle_new_slow(f.m, T_WEAK, sizeof(weak)));
    ASSERT_MISUSE(&f, "weak", cradle_check_new(f.m, T_WEAK, sizeof(weak)));
    ASSERT_MISUSE(&f, "descriptor says", cradle_new_registered(f.m, T_WEAK, 64));
    ASSERT_MISUSE(&f, "no items", cradle_new_array(f.m, T_WEAK, 3));
    cradle_no_collect_begin(f.m);
    ASSERT_MISUSE(&f, "no-collection region", cradle_new_registered(f.m, T_WEAK, sizeof(weak)));
    ASSERT_MISUSE(
        &f, "item_size of ephemerons must be 16",
        cradle_type_add(
            f.heap, &(cradle_type){.size = 16, .items = CRADLE_ITEMS_EPHEMERONS, .item_size = 8, .length_offset = 8}));
    ASSERT_MISUSE(&f, "a word cannot be two",
                  cradle_type_add(f.heap, &(cradle_type){.size = 32, .weak = 4, .ephemerons = 2}));
    ASSERT_MISUSE(&f, "beyond size", cradle_type_add(f.heap, &(cradle_type){.size = 16, .ephemerons = 2}));
    ASSERT_MISUSE(&f, "lies beyond word 63",
                  cradle_type_add(f.heap, &(cradle_type){.size = 512, .ephemerons = UINT64_C(1) << 63}));
    ASSERT_MISUSE(&f, "finalizer is not a queue's number",
                  cradle_type_add(f.heap, &(cradle_type){.size = 16, .finalizer = 8}));
    ASSERT_MISUSE(&f, "cradle_weak_set_add: the object is NULL", cradle_weak_set_add(set, 1, NULL));
    pair *p = new_pair(&f, NULL);
    CRADLE_ROOT(f.m, p);
    cradle_weak_set_add(set, 1, p);
    cradle_weak_cursor cursor = {0, 0};
    assert_ptr_equal(cradle_weak_set_next(set, &cursor), p);
    cradle_collect(f.m, CRADLE_COLLECT_MINOR); /* allowed */
    assert_true(cradle_weak_set_remove(set, 1, p));
    cradle_checkpoint before = cradle_checkpoint_save(f.m);
    if (FIXTURE_LANDS(&f)) {
      cradle_weak_set_next(set, &cursor);
      fail_msg("an iteration went on after a removal");
    }
    cradle_checkpoint_restore(f.m, &before);
    assert_non_null(strstr(f.message, "changed by the program since the iteration began"));
  }
  cradle_mutator_free(f.m);
  f.message[0] = '\0';
  if (FIXTURE_LANDS(&f)) cradle_weak_set_add(set, 1, &f);
  assert_non_null(strstr(f.message, "the heap has no mutator"));
  if (FIXTURE_LANDS(&f)) cradle_heap_free(f.heap);
  assert_non_null(strstr(f.message, "a weak set has not been freed"));
  cradle_weak_set_free(set);
  cradle_heap_free(f.heap);
}

/* The fast path cannot check that a type needs registering, so the verifier must find such an object made by a plain
 * allocation. */
static void an_unregistered_holder_is_found(void **state) {
  (void)state;
  fixture f;
  services_open(&f);
  fixture_skip_stressed(&f, "its collections would meet the mistake first");
  {
    fixture_pass_first_looks(&f);
    weak *w = cradle_new(f.m, T_WEAK, sizeof *w);
    CRADLE_ROOT(f.m, w);
    cradle_error error;
    assert_false(cradle_heap_verify(f.heap, &error));
    assert_non_null(strstr(error.message, "was not registered"));
    w = NULL;
  }
  fixture_close(&f);
}

/* Registers the first object with a new kind of service between two collections, while objects with other kinds
 * exist. */
static void a_kind_of_service_can_come_later(void **state) {
  (void)state;
  fixture f;
  cradle_options options;
  fixture_options(&f, &options);
  fixture_open_with(&f, &options);
  assert_int_equal(cradle_type_add(f.heap, &service_types[T_WEAK - T_COUNT]), T_WEAK);
  {
    pair *key = new_pair(&f, NULL), *value = NULL;
    CRADLE_ROOT(f.m, key);
    CRADLE_ROOT(f.m, value);
    weak *w = new_weak(&f, key);
    CRADLE_ROOT(f.m, w);
    for (uint32_t type = T_WEAKS; type <= T_FINAL; type++)
      assert_int_equal(cradle_type_add(f.heap, &service_types[type - T_COUNT]), type);
    ephemeron *e = new_ephemeron(&f, key, NULL);
    CRADLE_ROOT(f.m, e);
    value = new_pair(&f, NULL);
    cradle_store(f.m, e, &e->value, value);
    (void)new_final(&f, 1, NULL);
    value = NULL;
    cradle_collect(f.m, CRADLE_COLLECT_FULL);
    assert_non_null(cradle_finalizer_next(f.m, QUEUE));
    assert_ptr_equal(cradle_weak_get(f.m, &w->to), key);
    assert_non_null(e->value);
    key = NULL;
    cradle_collect(f.m, CRADLE_COLLECT_FULL);
    assert_null(cradle_weak_get(f.m, &w->to));
    assert_null(e->value);
  }
  fixture_close(&f);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_weak_slot_follows_the_living_and_forgets_the_dead),
      cmocka_unit_test(an_array_of_weak_slots_of_any_size),
      cmocka_unit_test(an_old_holder_of_a_young_object),
      cmocka_unit_test(a_bulk_copy_into_weak_slots_and_pairs),
      cmocka_unit_test(a_store_without_the_barrier_is_found),
      cmocka_unit_test(a_large_object_dies_in_a_weak_slot),
      cmocka_unit_test(the_dead_are_dead_at_once),
      cmocka_unit_test(slots_of_what_a_finalizer_brings_back_are_cleared_too),
      cmocka_unit_test(weak_slots_in_the_encoding),
      cmocka_unit_test(arrays_with_fixed_slots_of_another_kind),
      cmocka_unit_test(an_array_that_is_too_long_is_none),
      cmocka_unit_test(misuse_of_weak_things),
      cmocka_unit_test(an_unregistered_holder_is_found),
      cmocka_unit_test(a_kind_of_service_can_come_later),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
