/* Tests weak sets: tables that do not keep their objects alive. */
#include <stdio.h>

#include "tests/support/allocated.h"
#include "tests/support/services.h"

typedef struct swept {
  size_t removed, calls;
} swept;
static void count_swept(void *data, size_t removed) {
  ((swept *)data)->removed += removed;
  ((swept *)data)->calls++;
}
static bool is_string(const void *object, const void *key) {
  const string *s = object;
  return s->length == strlen(key) && memcmp(s->byte, key, s->length) == 0;
}
static uint64_t hash_of(const char *text) {
  uint64_t hash = 5381;
  while (*text != '\0') hash = hash * 33 + (unsigned char)*text++;
  return hash ^ hash >> 7;
}

static string *intern(fixture *f, cradle_weak_set *set, const char *text) CRADLE_MAY_COLLECT {
  string *s = cradle_weak_set_find(set, hash_of(text), is_string, text);
  if (s != NULL) return s;
  s = cradle_new_array(f->m, T_STRING, strlen(text));
  memcpy(s->byte, text, s->length);
  cradle_weak_set_add(set, hash_of(text), s);
  return s;
}

static void an_intern_table(void **state) {
  (void)state;
  for (int way = 0; way < WAYS; way++) {
    fixture f;
    swept told = {0, 0};
    services_open(&f);
    cradle_weak_set *set = cradle_weak_set_new(f.m, count_swept, &told);
    {
      enum { COUNT = 500 };
      char text[20];
      vector *keep = cradle_new_array(f.m, T_VECTOR, COUNT);
      CRADLE_ROOT(f.m, keep);
      for (size_t i = 0; i < COUNT; i++) {
        snprintf(text, sizeof text, "symbol %zu", i);
        string *s = intern(&f, set, text);
        cradle_store(f.m, keep, &keep->item[i], s);
        assert_ptr_equal(intern(&f, set, text), s);
      }
      age_for(&f, way);
      assert_int_equal(set_count(set), COUNT);
      for (size_t i = 0; i < COUNT; i += 2) cradle_store(f.m, keep, &keep->item[i], NULL);
      collect_by(&f, way);
      if (way == BY_MINOR) cradle_collect(f.m, CRADLE_COLLECT_MAJOR); /* some were promoted when the nursery was full */
      assert_int_equal(set_count(set), COUNT / 2);
      assert_int_equal(told.removed, COUNT / 2);
      if (way == BY_MAJOR && !f.stressed) assert_int_equal(told.calls, 1);
      for (size_t i = 0; i < COUNT; i++) {
        snprintf(text, sizeof text, "symbol %zu", i);
        assert_ptr_equal(cradle_weak_set_find(set, hash_of(text), is_string, text), keep->item[i]);
      }
      size_t found = 0;
      cradle_weak_cursor cursor = {0, 0};
      while (cradle_weak_set_next(set, &cursor) != NULL) found++;
      assert_int_equal(found, COUNT / 2);
      cradle_collect(f.m, CRADLE_COLLECT_COMPACTING);
      assert_ptr_equal(intern(&f, set, "symbol 7"), keep->item[7]);
      assert_true(cradle_weak_set_remove(set, hash_of("symbol 7"), keep->item[7]));
      assert_false(cradle_weak_set_remove(set, hash_of("symbol 7"), keep->item[7]));
      assert_ptr_not_equal(intern(&f, set, "symbol 7"), keep->item[7]);
      assert_int_equal(told.removed, COUNT / 2);
    }
    cradle_weak_set_free(set);
    fixture_close(&f);
  }
}

/* The list of places with young objects does not grow with objects that were removed again. */
static void a_set_that_is_used_without_collections(void **state) {
  (void)state;
  fixture f;
  services_open(&f);
  {
    cradle_weak_set *set = cradle_weak_set_new(f.m, NULL, NULL);
    pair *p = new_pair(&f, NULL);
    CRADLE_ROOT(f.m, p);
    size_t before = allocated_bytes();
    for (int i = 0; i < 1000000; i++) {
      cradle_weak_set_add(set, 42, p);
      assert_true(cradle_weak_set_remove(set, 42, p));
    }
    assert_true(allocated_bytes() < before + ((size_t)1 << 20));
    cradle_weak_set_add(set, 42, p);
    cradle_collect(f.m, CRADLE_COLLECT_MINOR);
    assert_int_equal(set_count(set), 1);
    cradle_weak_set_free(set);
  }
  fixture_close(&f);
}

/* Sets that the program frees leave nothing behind, whether they held objects or not. */
static void sets_that_come_and_go(void **state) {
  (void)state;
  fixture f;
  services_open(&f);
  {
    pair *p = new_pair(&f, NULL);
    CRADLE_ROOT(f.m, p);
    cradle_weak_set_free(cradle_weak_set_new(f.m, NULL, NULL));
    size_t before = allocated_bytes();
    for (int i = 0; i < 5000; i++) {
      cradle_weak_set *set = cradle_weak_set_new(f.m, NULL, NULL);
      if (i % 2 == 0) cradle_weak_set_add(set, 42, p);
      cradle_weak_set_free(set);
    }
    assert_true(allocated_bytes() < before + ((size_t)32 << 10));
  }
  fixture_close(&f);
}

/* A place may go to another object when the program adds or removes, so the iteration must not go on. */
static void a_change_ends_an_iteration(void **state) {
  (void)state;
  fixture f;
  services_open(&f);
  cradle_weak_set *set = cradle_weak_set_new(f.m, NULL, NULL);
  {
    pair *p = new_pair(&f, NULL);
    CRADLE_ROOT(f.m, p);
    f.checkpoint = cradle_checkpoint_save(f.m);
    for (int removes = 0; removes < 2; removes++) {
      cradle_weak_cursor cursor = {0, 0};
      (void)cradle_weak_set_next(set, &cursor);
      if (removes)
        assert_true(cradle_weak_set_remove(set, 1, p));
      else
        cradle_weak_set_add(set, 1, p);
      ASSERT_MISUSE(&f, "changed by the program since the iteration began", (void)cradle_weak_set_next(set, &cursor));
    }
  }
  cradle_weak_set_free(set);
  fixture_close(&f);
}

/* The program adds to a set that is full while the collection that found objects dead has not come to the set yet. The
 * set grows without the dead, and the program hears how many they were. */
static void the_dead_that_growing_leaves_out_are_counted(void **state) {
  (void)state;
  enum { FULL = 48, DEAD = 20, HOLDERS = 100 };
  fixture f;
  swept told = {0, 0};
  services_open(&f);
  fixture_skip_stressed(&f, "it stops between increments of its own");
  cradle_weak_set *set = cradle_weak_set_new(f.m, count_swept, &told);
  {
    vector *keep = cradle_new_array(f.m, T_VECTOR, FULL + HOLDERS);
    CRADLE_ROOT(f.m, keep);
    for (size_t i = 0; i < FULL + HOLDERS; i++) {
      void *object = i < FULL ? (void *)new_pair(&f, NULL) : new_weak(&f, NULL); /* holders are looked at first */
      cradle_store(f.m, keep, &keep->item[i], object);
      if (i < FULL) cradle_weak_set_add(set, i, object);
    }
    cradle_collect(f.m, CRADLE_COLLECT_MAJOR);
    for (size_t i = 0; i < DEAD; i++) cradle_store(f.m, keep, &keep->item[i], NULL);
    while (fixture_stats(&f).phase != CRADLE_PHASE_CLEARING) assert_false(cradle_collect_step(f.m, 0));
    cradle_weak_set_add(set, FULL, keep->item[FULL]);
    assert_int_equal(set_count(set), FULL - DEAD + 1);
    assert_int_equal(told.removed, 0);
    while (!cradle_collect_step(f.m, 0)) continue;
    assert_int_equal(set_count(set), FULL - DEAD + 1);
    assert_int_equal(told.removed, DEAD);
    assert_int_equal(told.calls, 1);
  }
  cradle_weak_set_free(set);
  fixture_close(&f);
}

static void smallest_increments(cradle_options *options) {
  fixture_unstress(options);
  options->stress_period = UINT64_C(1) << 40; /* none comes, but increments are the smallest */
}

/* Sets with more places than an increment looks at: no dead object stays in them. */
static void large_sets_are_cleared_over_several_increments(void **state) {
  (void)state;
  enum { COUNT = 1000 };
  fixture f;
  swept told = {0, 0};
  services_open_with(&f, smallest_increments);
  cradle_weak_set *set = cradle_weak_set_new(f.m, count_swept, &told), *last = cradle_weak_set_new(f.m, NULL, NULL);
  {
    vector *keep = cradle_new_array(f.m, T_VECTOR, COUNT);
    CRADLE_ROOT(f.m, keep);
    for (size_t i = 0; i < COUNT; i++) {
      pair *p = new_pair(&f, NULL);
      cradle_store(f.m, keep, &keep->item[i], p);
      cradle_weak_set_add(set, i, p);
      cradle_weak_set_add(last, i, p);
    }
    cradle_collect(f.m, CRADLE_COLLECT_MAJOR);
    for (size_t i = 0; i < COUNT / 2; i++) cradle_store(f.m, keep, &keep->item[i], NULL);
    int increments = 0; /* of clearing */
    while (set_count(set) != COUNT / 2 || fixture_stats(&f).phase == CRADLE_PHASE_CLEARING) {
      cradle_safepoint_request(f.m);
      cradle_safepoint(f.m);
      increments += fixture_stats(&f).phase == CRADLE_PHASE_CLEARING;
    }
    assert_true(increments > 3);
    assert_heap_sound(f.heap);
    assert_int_equal(set_count(last), COUNT / 2);
    assert_int_equal(told.removed, COUNT / 2);
    assert_int_equal(told.calls, 1);
  }
  cradle_weak_set_free(set);
  cradle_weak_set_free(last);
  fixture_close(&f);
}

/* The program frees the set that is being cleared: clearing goes on with the next one. */
static void a_set_is_freed_while_it_is_cleared(void **state) {
  (void)state;
  enum { COUNT = 1000 };
  fixture f;
  services_open_with(&f, smallest_increments);
  cradle_weak_set *last = cradle_weak_set_new(f.m, NULL, NULL), *first = cradle_weak_set_new(f.m, NULL, NULL);
  {
    vector *keep = cradle_new_array(f.m, T_VECTOR, COUNT);
    CRADLE_ROOT(f.m, keep);
    for (size_t i = 0; i < COUNT; i++) {
      pair *p = new_pair(&f, NULL);
      cradle_store(f.m, keep, &keep->item[i], p);
      cradle_weak_set_add(last, i, p);
      cradle_weak_set_add(first, i, p);
    }
    cradle_collect(f.m, CRADLE_COLLECT_MAJOR);
    for (size_t i = 0; i < COUNT / 2; i++) cradle_store(f.m, keep, &keep->item[i], NULL);
    for (int increments = 0; increments < 2; increments += fixture_stats(&f).phase == CRADLE_PHASE_CLEARING) {
      cradle_safepoint_request(f.m);
      cradle_safepoint(f.m);
    }
    cradle_weak_set_free(first); /* some of its places were looked at */
    first = cradle_weak_set_new(f.m, NULL, NULL);
    while (!cradle_collect_step(f.m, 0)) continue;
    assert_heap_sound(f.heap);
    assert_int_equal(set_count(last), COUNT / 2);
  }
  cradle_weak_set_free(first);
  cradle_weak_set_free(last);
  fixture_close(&f);
}

/* A set grows and is searched between the increments of clearing. */
static void a_set_in_use_while_it_is_cleared(void **state) {
  (void)state;
  fixture f;
  services_open(&f);
  cradle_weak_set *set = cradle_weak_set_new(f.m, NULL, NULL), *other = cradle_weak_set_new(f.m, NULL, NULL);
  {
    enum { KEPT = 50 };
    char text[20];
    size_t next = 0;
    vector *keep = cradle_new_array(f.m, T_VECTOR, KEPT);
    CRADLE_ROOT(f.m, keep);
    for (int round = 0; round < 8; round++) do {
        for (int n = 0; n < 20; n++, next++) {
          snprintf(text, sizeof text, "%zu", next);
          string *s = intern(&f, set, text);
          if (next % 10 == 0) cradle_store(f.m, keep, &keep->item[next / 10 % KEPT], s);
        }
        for (size_t i = 0; i < KEPT; i++) {
          const string *s = keep->item[i];
          if (s == NULL) continue;
          memcpy(text, s->byte, s->length);
          text[s->length] = '\0';
          assert_ptr_equal(cradle_weak_set_find(set, hash_of(text), is_string, text), s);
        }
        cradle_weak_cursor cursor = {0, 0};
        for (const string *s; (s = cradle_weak_set_next(set, &cursor)) != NULL;)
          assert_int_equal(cradle_type_of(s), T_STRING);
      } while (!cradle_collect_step(f.m, 0));
    cradle_weak_set_free(other);
    cradle_collect(f.m, CRADLE_COLLECT_MAJOR);
    assert_true(set_count(set) <= KEPT);
  }
  cradle_weak_set_free(set);
  fixture_close(&f);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(an_intern_table),
      cmocka_unit_test(a_set_that_is_used_without_collections),
      cmocka_unit_test(sets_that_come_and_go),
      cmocka_unit_test(a_change_ends_an_iteration),
      cmocka_unit_test(the_dead_that_growing_leaves_out_are_counted),
      cmocka_unit_test(large_sets_are_cleared_over_several_increments),
      cmocka_unit_test(a_set_is_freed_while_it_is_cleared),
      cmocka_unit_test(a_set_in_use_while_it_is_cleared),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
