/* Tests a table of ephemerons that the program stores into during marking: the collection sees the stores, does not
 * watch the same keys repeatedly, and ends. And finalizer queues that the program uses during marking. */
#include "tests/support/services.h"
#include "tests/support/waiting.h"

#include "tests/inside.h"

/* More pairs than three of the smallest increments scan. */
enum { PAIRS = 60000 };

/* A table of pairs; the program also keeps the keys and values in two vectors. */
typedef struct scene {
  fixture f;
  ephemerons *table;
  vector *keys, *values;
} scene;

static void no_verifier(cradle_options *options) {
  fixture_unstress(options);
  options->verify = false; /* the tests say when */
  options->nursery_bytes = (size_t)1 << 20;
}

CRADLE_UNCHECKED_COLLECTION static void scene_open(scene *s) {
  *s = (scene){.table = NULL};
  services_open_with(&s->f, no_verifier);
  cradle_mutator *m = s->f.m;
  cradle_global_root_add(s->f.heap, &s->table, CRADLE_KIND_REFERENCE);
  cradle_global_root_add(s->f.heap, &s->keys, CRADLE_KIND_REFERENCE);
  cradle_global_root_add(s->f.heap, &s->values, CRADLE_KIND_REFERENCE);
  s->keys = cradle_new_array(m, T_VECTOR, PAIRS);
  s->values = cradle_new_array(m, T_VECTOR, PAIRS);
  s->table = cradle_new_array(m, T_EPHEMERONS, PAIRS);
  for (size_t i = 0; i < PAIRS; i++) {
    void *key = cradle_new(m, T_PAIR, sizeof(pair));
    cradle_store(m, s->keys, &s->keys->item[i], key);
    cradle_store(m, s->table, &s->table->item[i].key, key);
    void *value = cradle_new(m, T_PAIR, sizeof(pair));
    cradle_store(m, s->values, &s->values->item[i], value);
    cradle_store(m, s->table, &s->table->item[i].value, value);
  }
  cradle_collect(m, CRADLE_COLLECT_FULL);
}

static void scene_close(scene *s) {
  assert_heap_sound(s->f.heap);
  cradle_global_root_remove(s->f.heap, &s->table);
  cradle_global_root_remove(s->f.heap, &s->keys);
  cradle_global_root_remove(s->f.heap, &s->values);
  fixture_close(&s->f);
}

static const crd_services *services_of(const scene *s) {
  return inside_services(s->f.heap);
}

/* Steps until the keys of half the pairs are watched: then half of the table has been scanned, and only the table leads
 * to its keys. */
static void step_until_half_is_watched(scene *s) {
  s->keys = NULL;
  while (watch_count(&services_of(s)->major.watch) < PAIRS / 2) assert_false(cradle_collect_step(s->f.m, 0));
  assert_int_equal(inside_major(s->f.heap)->phase, MAJOR_MARKING);
}

/* Stores a value once more. whole: has the barrier remember the table, instead of the pair. */
static void store_again(scene *s, size_t i, bool whole) {
  cradle_store(s->f.m, s->table, &s->table->item[i].value, s->table->item[i].value);
  if (whole) cradle_write_barrier(s->f.m, s->table);
}

static void watched_once(bool whole) {
  scene s;
  scene_open(&s);
  step_until_half_is_watched(&s);
  size_t watched = watch_count(&services_of(&s)->major.watch);
  cradle_major_hold(s.f.m, true); /* so marking lasts as long as the test needs */
  for (size_t i = 0; i < 3000; i++) {
    store_again(&s, i, whole);
    cradle_collect(s.f.m, CRADLE_COLLECT_MINOR);
  }
  /* A minor collection that finds the table remembered scans all of it. */
  assert_int_equal(watch_count(&services_of(&s)->major.watch), whole ? PAIRS : watched);
  cradle_major_hold(s.f.m, false);
  size_t most = 0;
  for (bool complete = false; !complete;) {
    complete = cradle_collect_step(s.f.m, 0);
    watched = watch_count(&services_of(&s)->major.watch);
    if (watched > most) most = watched;
  }
  assert_int_equal(most, PAIRS);
  for (size_t i = 0; i < PAIRS; i++) assert_null(s.table->item[i].key);
  scene_close(&s);
}

static void a_table_that_is_stored_into_is_watched_once(void **state) {
  (void)state;
  watched_once(false);
  watched_once(true);
}

/* A store follows each increment. */
static void marking_ends_beside_stores(bool whole) {
  scene s;
  scene_open(&s);
  step_until_half_is_watched(&s);
  size_t increments = 0;
  while (inside_major(s.f.heap)->phase == MAJOR_MARKING) {
    store_again(&s, increments, whole);
    (void)cradle_collect_step(s.f.m, 0);
    assert_true(++increments < 100);
  }
  assert_true(watch_count(&services_of(&s)->major.watch) <= PAIRS);
  cradle_collect(s.f.m, CRADLE_COLLECT_FULL); /* without any store meanwhile */
  scene_close(&s);
}

static void marking_ends_though_each_increment_is_followed_by_a_store(void **state) {
  (void)state;
  marking_ends_beside_stores(false);
  marking_ends_beside_stores(true);
}

/* Pair 0 was scanned already. It gets a marked, live key and the value of pair 1, to which nothing else refers any
 * more. */
static void give_value_to(scene *s, pair *living, bool whole) {
  void *value = s->table->item[1].value;
  cradle_store(s->f.m, s->table, &s->table->item[0].key, living);
  cradle_store(s->f.m, s->table, &s->table->item[0].value, value);
  cradle_store(s->f.m, s->table, &s->table->item[1].value, NULL);
  if (whole) cradle_write_barrier(s->f.m, s->table);
}

/* Only another scan can find this store, at whatever moment it happens. */
static void stored_is_seen(bool whole) {
  size_t tried = 0;
  for (size_t at = 0; at < 8; at++) {
    scene s;
    scene_open(&s);
    {
      pair *living = cradle_new(s.f.m, T_PAIR, sizeof(pair));
      CRADLE_ROOT(s.f.m, living);
      cradle_collect(s.f.m, CRADLE_COLLECT_MINOR);
      /* Now only pair 1 leads to the value, and its key is dead. */
      cradle_store(s.f.m, s.values, &s.values->item[1], NULL);
      step_until_half_is_watched(&s);
      for (size_t i = 0; i < at && inside_major(s.f.heap)->phase == MAJOR_MARKING; i++)
        (void)cradle_collect_step(s.f.m, 0);
      if (inside_major(s.f.heap)->phase == MAJOR_MARKING) {
        tried++;
        give_value_to(&s, living, whole);
        while (!cradle_collect_step(s.f.m, 0)) continue;
        assert_ptr_equal(s.table->item[0].key, living);
        assert_int_equal(cradle_type_of(s.table->item[0].value), T_PAIR);
      }
    }
    scene_close(&s);
  }
  assert_true(tried >= 2);
}

static void what_was_stored_is_seen(void **state) {
  (void)state;
  stored_is_seen(false);
  stored_is_seen(true);
}

/* Stores repeatedly into many small holders, and into objects that have only weak slots and so need no scan. */
static void each_holder_is_watched_once(void **state) {
  (void)state;
  enum { HOLDERS = 20000 };
  fixture f;
  services_open_with(&f, no_verifier);
  {
    vector *holders = cradle_new_array(f.m, T_VECTOR, HOLDERS);
    CRADLE_ROOT(f.m, holders);
    vector *keys = cradle_new_array(f.m, T_VECTOR, HOLDERS); /* keeps the keys alive until they are old */
    CRADLE_ROOT(f.m, keys);
    vector *others = cradle_new_array(f.m, T_VECTOR, HOLDERS);
    CRADLE_ROOT(f.m, others);
    pair *living = cradle_new(f.m, T_PAIR, sizeof(pair));
    CRADLE_ROOT(f.m, living);
    for (size_t i = 0; i < HOLDERS; i++) {
      ephemeron *made = cradle_new_registered(f.m, T_EPHEMERON, sizeof *made);
      cradle_store(f.m, holders, &holders->item[i], made);
      void *key = cradle_new(f.m, T_PAIR, sizeof(pair));
      made = holders->item[i];
      cradle_store(f.m, keys, &keys->item[i], key);
      cradle_store(f.m, made, &made->key, key);
      void *value = cradle_new(f.m, T_PAIR, sizeof(pair));
      made = holders->item[i];
      cradle_store(f.m, made, &made->value, value);
      void *other = cradle_new_registered(f.m, T_WEAK, sizeof(weak));
      cradle_store(f.m, others, &others->item[i], other);
    }
    cradle_collect(f.m, CRADLE_COLLECT_FULL);
    keys = NULL;
    const crd_services *services = inside_services(f.heap);
    while (watch_count(&services->major.watch) < HOLDERS / 2) assert_false(cradle_collect_step(f.m, 0));
    for (size_t round = 0; round <= 100; round++) {
      for (size_t i = 0; i < HOLDERS; i++) {
        ephemeron *e = holders->item[i];
        cradle_store(f.m, e, &e->key, round == 100 ? living : e->key);
        cradle_store(f.m, others->item[i], &((weak *)others->item[i])->to, living);
      }
      cradle_collect(f.m, CRADLE_COLLECT_MINOR);
      assert_in_range(watch_count(&services->major.watch), HOLDERS / 2, HOLDERS);
    }
    while (inside_major(f.heap)->phase != MAJOR_IDLE) (void)cradle_collect_step(f.m, 0);
    for (size_t i = 0; i < HOLDERS; i++) {
      const ephemeron *e = holders->item[i];
      assert_ptr_equal(e->key, living);
      assert_int_equal(cradle_type_of(e->value), T_PAIR);
    }
    assert_heap_sound(f.heap);
  }
  fixture_close(&f);
}

/* One key has more pairs than crd_watch_knows checks. */
static void many_of_one_key(bool whole) {
  enum { OF_ONE = 500 };
  scene s;
  scene_open(&s);
  for (size_t i = 1; i < OF_ONE; i++) cradle_store(s.f.m, s.table, &s.table->item[i].key, s.table->item[0].key);
  step_until_half_is_watched(&s);
  size_t watched = watch_count(&services_of(&s)->major.watch);
  cradle_major_hold(s.f.m, true);
  for (size_t i = 0; i < 100; i++) {
    store_again(&s, 0, whole);
    cradle_collect(s.f.m, CRADLE_COLLECT_MINOR);
  }
  /* A pair may be entered once more, if it is none of the last ones of its key. */
  size_t again = whole ? 101 * OF_ONE : 1;
  assert_in_range(watch_count(&services_of(&s)->major.watch), watched, (whole ? PAIRS : watched) + again);
  cradle_major_hold(s.f.m, false);
  while (!cradle_collect_step(s.f.m, 0))
    assert_true(watch_count(&services_of(&s)->major.watch) <= PAIRS + again + OF_ONE);
  for (size_t i = 0; i < PAIRS; i++) assert_null(s.table->item[i].key);
  scene_close(&s);
}

static void many_pairs_of_one_key(void **state) {
  (void)state;
  many_of_one_key(false);
  many_of_one_key(true);
}

/* A holder that marking has not reached is not scanned when the program stores into it. It dies, and so does
 * everything to which only it leads. */
CRADLE_UNCHECKED_COLLECTION static void a_dead_holder_that_is_stored_into_keeps_nothing(void **state) {
  (void)state;
  scene s;
  scene_open(&s);
  {
    pair *key = new_pair(&s.f, NULL);
    CRADLE_ROOT(s.f.m, key);
    ephemeron *holder = new_ephemeron(&s.f, key, NULL);
    CRADLE_ROOT(s.f.m, holder);
    pair *value = new_pair(&s.f, NULL);
    cradle_store(s.f.m, holder, &holder->value, value);
    weak *to_value = new_weak(&s.f, holder->value);
    CRADLE_ROOT(s.f.m, to_value);
    weak *to_holder = new_weak(&s.f, holder);
    CRADLE_ROOT(s.f.m, to_holder);
    cradle_collect(s.f.m, CRADLE_COLLECT_MINOR);
    holder = NULL;
    step_until_half_is_watched(&s);
    ephemeron *dead = cradle_weak_get(s.f.m, &to_holder->to);
    cradle_store(s.f.m, dead, &dead->value, dead->value);
    cradle_collect(s.f.m, CRADLE_COLLECT_MINOR);
    while (!cradle_collect_step(s.f.m, 0)) continue;
    assert_null(cradle_weak_get(s.f.m, &to_holder->to));
    assert_null(cradle_weak_get(s.f.m, &to_value->to));
  }
  scene_close(&s);
}

/* --- finalizer queues --- */

static size_t unmarked(const fixture *f) {
  size_t count = 0;
  for (size_t i = 0; i < CRADLE_FINALIZER_QUEUES; i++) count += inside_services(f->heap)->queues[i].unmarked;
  return count;
}

static void new_final_that_dies(fixture *f, uint64_t number) CRADLE_MAY_COLLECT {
  final *object = CRADLE_NEW_WITH(f->m, final, T_FINAL, 0);
  object->number = number;
  CRADLE_ROOT(f->m, object);
  pair *to = new_pair(f, NULL);
  cradle_store(f->m, object, &object->to, to);
}

/* [finalizer.5]: what waits in a queue is marked in pieces. Between them the program takes objects out, keeps some and
 * registers others again, and more objects die. None that waits or is kept is lost, nor what it leads to. */
static void what_waits_is_marked_in_pieces(void **state) {
  (void)state;
  enum { WAIT = 8000, KEPT = 100 };
  fixture f;
  services_open_with(&f, no_verifier);
  for (uint64_t i = 0; i < WAIT; i++) new_final_that_dies(&f, i);
  cradle_collect(f.m, CRADLE_COLLECT_MAJOR);
  assert_int_equal(finalizers_waiting(f.m, QUEUE), WAIT);
  assert_int_equal(unmarked(&f), 0);
  {
    uint64_t next = 0, registered = WAIT;
    vector *kept = cradle_new_array(f.m, T_VECTOR, KEPT);
    CRADLE_ROOT(f.m, kept);
    cradle_collect(f.m, CRADLE_COLLECT_MINOR);
    (void)cradle_collect_step(f.m, 0);
    assert_true(unmarked(&f) > WAIT / 2);
    for (size_t before = unmarked(&f); before > 0; before = unmarked(&f)) {
      for (int i = 0; i < 10; i++) {
        final *taken = cradle_finalizer_next(f.m, QUEUE);
        assert_int_equal(taken->number, next++);
        cradle_store(f.m, kept, &kept->item[next % KEPT], taken);
        new_final_that_dies(&f, registered++);
      }
      assert_false(cradle_collect_step(f.m, 0));
      assert_in_range(before - unmarked(&f), 0, 600);
      assert_heap_sound(f.heap);
    }
    while (!cradle_collect_step(f.m, 0)) continue;
    cradle_collect(f.m, CRADLE_COLLECT_MINOR);
    for (size_t i = 0; i < KEPT; i++)
      if (kept->item[i] != NULL) assert_int_equal(cradle_type_of(((final *)kept->item[i])->to), T_PAIR);
    (void)cradle_collect_step(f.m, 0);
    assert_true(unmarked(&f) > 0);
    for (final *taken; (taken = cradle_finalizer_next(f.m, QUEUE)) != NULL; next++) {
      assert_int_equal(taken->number, next);
      assert_int_equal(cradle_type_of(taken->to), T_PAIR);
    }
    assert_int_equal(next, registered);
    assert_int_equal(unmarked(&f), 0);
    while (!cradle_collect_step(f.m, 0)) continue;
  }
  assert_heap_sound(f.heap);
  fixture_close(&f);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_table_that_is_stored_into_is_watched_once),
      cmocka_unit_test(marking_ends_though_each_increment_is_followed_by_a_store),
      cmocka_unit_test(what_was_stored_is_seen),
      cmocka_unit_test(each_holder_is_watched_once),
      cmocka_unit_test(many_pairs_of_one_key),
      cmocka_unit_test(a_dead_holder_that_is_stored_into_keeps_nothing),
      cmocka_unit_test(what_waits_is_marked_in_pieces),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
