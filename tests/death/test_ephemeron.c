/* Ephemerons: a value lives with its key. test_watching.c stores into them while marking. */
#include "tests/support/services.h"
#include "tests/support/waiting.h"

#include "tests/inside.h"

static void a_value_lives_with_its_key(void **state) {
  (void)state;
  for (int way = 0; way < WAYS; way++)
    for (int alive = 0; alive < 2; alive++) {
      fixture f;
      services_open(&f);
      {
        pair *key = new_pair(&f, NULL);
        CRADLE_ROOT(f.m, key);
        pair *value = new_pair(&f, key); /* it leads to its key, which does not keep it */
        CRADLE_ROOT(f.m, value);
        weak *w = new_weak(&f, value);
        CRADLE_ROOT(f.m, w);
        ephemeron *e = new_ephemeron(&f, key, value);
        CRADLE_ROOT(f.m, e);
        age_for(&f, way);
        value = NULL;
        if (!alive) key = NULL;
        collect_by(&f, way);
        assert_ptr_equal(e->key, key);
        assert_ptr_equal(e->value, cradle_weak_get(f.m, &w->to));
        if (alive) assert_ptr_equal(((pair *)e->value)->first, key);
        if (!alive) assert_null(e->value);
      }
      fixture_close(&f);
    }
}

static void an_ephemeron_that_nobody_holds_keeps_nothing(void **state) {
  (void)state;
  for (int way = 0; way < WAYS; way++) {
    fixture f;
    services_open(&f);
    {
      pair *key = new_pair(&f, NULL);
      CRADLE_ROOT(f.m, key);
      pair *value = new_pair(&f, NULL);
      CRADLE_ROOT(f.m, value);
      weak *w = new_weak(&f, value);
      CRADLE_ROOT(f.m, w);
      ephemeron *e = new_ephemeron(&f, key, value);
      CRADLE_ROOT(f.m, e);
      age_for(&f, way);
      value = NULL, e = NULL;
      collect_by(&f, way);
      assert_null(cradle_weak_get(f.m, &w->to));
    }
    fixture_close(&f);
  }
}

/* Each value is the next key; the holders lie in either order. */
static void chain(fixture *f, int way, size_t length, bool backwards, bool alive) CRADLE_MAY_COLLECT {
  vector *keys = cradle_new_array(f->m, T_VECTOR, length + 1);
  CRADLE_ROOT(f->m, keys);
  ephemerons *table = cradle_new_array(f->m, T_EPHEMERONS, length / 2);
  CRADLE_ROOT(f->m, table);
  vector *holders = cradle_new_array(f->m, T_VECTOR, length);
  CRADLE_ROOT(f->m, holders);
  for (size_t i = 0; i <= length; i++) {
    pair *p = new_pair(f, NULL);
    cradle_store(f->m, keys, &keys->item[i], p);
  }
  for (size_t i = 0; i < length; i++) {
    size_t at = backwards ? length - 1 - i : i;
    if (at % 2 == 0) {
      cradle_store(f->m, table, &table->item[at / 2].key, keys->item[at]);
      cradle_store(f->m, table, &table->item[at / 2].value, keys->item[at + 1]);
    } else {
      ephemeron *e = new_ephemeron(f, keys->item[at], keys->item[at + 1]);
      cradle_store(f->m, holders, &holders->item[at], e);
    }
  }
  age_for(f, way);
  pair *first = alive ? keys->item[0] : NULL;
  CRADLE_ROOT(f->m, first);
  keys = NULL;
  collect_by(f, way);
  collect_by(f, BY_MAJOR);
  pair *key = first;
  size_t there = 0;
  for (size_t at = 0; at < length; at++) {
    void *found_key = at % 2 == 0 ? table->item[at / 2].key : ((ephemeron *)holders->item[at])->key;
    void *value = at % 2 == 0 ? table->item[at / 2].value : ((ephemeron *)holders->item[at])->value;
    there += value != NULL;
    assert_ptr_equal(found_key, key);
    key = value;
  }
  assert_int_equal(there, alive ? length : 0);
}

static void chains_of_ephemerons(void **state) {
  (void)state;
  for (int way = 0; way < WAYS; way++)
    for (int which = 0; which < 4; which++) {
      fixture f;
      services_open(&f);
      chain(&f, way, f.stressed ? 20 : 400, which & 1, which & 2);
      fixture_close(&f);
    }
}

/* Each value is the next holder, to which nothing else leads; they are registered in either order. */
static void chain_of_holders(fixture *f, int way, size_t length, bool backwards) CRADLE_MAY_COLLECT {
  pair *key = new_pair(f, NULL);
  CRADLE_ROOT(f->m, key);
  vector *holders = cradle_new_array(f->m, T_VECTOR, length);
  CRADLE_ROOT(f->m, holders);
  for (size_t i = 0; i < length; i++) {
    ephemeron *e = new_ephemeron(f, key, NULL);
    cradle_store(f->m, holders, &holders->item[backwards ? length - 1 - i : i], e);
  }
  ephemeron *first = holders->item[0];
  CRADLE_ROOT(f->m, first);
  for (size_t i = 0; i + 1 < length; i++) {
    ephemeron *e = holders->item[i];
    cradle_store(f->m, e, &e->value, holders->item[i + 1]);
  }
  age_for(f, way);
  holders = NULL;
  collect_by(f, way);
  collect_by(f, BY_MAJOR);
  size_t there = 0;
  for (const ephemeron *e = first; e != NULL; e = e->value, there++) assert_ptr_equal(e->key, key);
  assert_int_equal(there, length);
}

static void chains_of_holders(void **state) {
  (void)state;
  for (int way = 0; way < WAYS; way++)
    for (int backwards = 0; backwards < 2; backwards++) {
      fixture f;
      services_open(&f);
      chain_of_holders(&f, way, f.stressed ? 20 : 400, backwards);
      fixture_close(&f);
    }
}

/* Linear work takes a moment here; quadratic work would take hours. */
static void large_nursery(cradle_options *options) {
  options->nursery_bytes = (size_t)64 << 20;
  options->verify = false;
  options->pause_ns = 0;
}
static void a_long_chain_in_the_worst_order(void **state) {
  (void)state;
  for (int way = 0; way < BY_STEPS; way++) {
    fixture f;
    services_open_with(&f, large_nursery);
    chain(&f, way, f.stressed ? 100 : 200000, true, true);
    fixture_close(&f);
  }
}

/* Between increments, pairs are moved about among holders that marking has looked at and others that it has not. */
static void pairs_that_change_while_marking(void **state) {
  (void)state;
  fixture f;
  services_open(&f);
  {
    enum { COUNT = 60 };
    ephemerons *table = cradle_new_array(f.m, T_EPHEMERONS, COUNT);
    CRADLE_ROOT(f.m, table);
    vector *keys = cradle_new_array(f.m, T_VECTOR, COUNT);
    CRADLE_ROOT(f.m, keys);
    ephemeron *spare = new_ephemeron(&f, NULL, NULL);
    CRADLE_ROOT(f.m, spare);
    for (size_t i = 0; i < COUNT; i++) {
      pair *key = new_pair(&f, NULL);
      cradle_store(f.m, keys, &keys->item[i], key);
      pair *value = new_pair(&f, new_pair(&f, NULL));
      cradle_store(f.m, table, &table->item[i].key, keys->item[i]);
      cradle_store(f.m, table, &table->item[i].value, value);
    }
    uint64_t random = 1;
    for (int round = 0; round < 30; round++) do {
        for (int n = 0; n < 3; n++) {
          random = random * 6364136223846793005u + 1442695040888963407u;
          size_t i = random >> 33 & 0xffff, j = random >> 49;
          i %= COUNT, j %= COUNT;
          void *key = table->item[i].key, *value = table->item[i].value;
          cradle_store(f.m, spare, &spare->value, value);
          cradle_store(f.m, spare, &spare->key, key);
          cradle_store(f.m, table, &table->item[i].key, table->item[j].key);
          cradle_store(f.m, table, &table->item[i].value, table->item[j].value);
          cradle_store(f.m, table, &table->item[j].key, spare->key);
          cradle_store(f.m, table, &table->item[j].value, spare->value);
          cradle_store(f.m, spare, &spare->key, NULL);
          cradle_store(f.m, spare, &spare->value, NULL);
        }
        assert_heap_sound(f.heap);
      } while (!cradle_collect_step(f.m, 0));
    cradle_collect(f.m, CRADLE_COLLECT_FULL);
    for (size_t i = 0; i < COUNT; i++) {
      assert_int_equal(cradle_type_of(table->item[i].key), T_PAIR);
      assert_int_equal(cradle_type_of(((pair *)table->item[i].value)->first), T_PAIR);
    }
  }
  fixture_close(&f);
}

/* Values move from holders that marking has not looked at yet to others that it has. */
static void values_that_change_their_holder_while_marking(void **state) {
  (void)state;
  fixture f;
  services_open(&f);
  {
    enum { COUNT = 600 };
    size_t count = f.stressed ? 60 : COUNT;
    vector *keys = cradle_new_array(f.m, T_VECTOR, count), *holders = NULL;
    CRADLE_ROOT(f.m, keys);
    CRADLE_ROOT(f.m, holders);
    holders = cradle_new_array(f.m, T_VECTOR, count);
    for (size_t i = 0; i < count; i++) {
      pair *key = new_pair(&f, NULL);
      cradle_store(f.m, keys, &keys->item[i], key);
      pair *value = new_pair(&f, new_pair(&f, NULL));
      ephemeron *e = new_ephemeron(&f, keys->item[i], value);
      cradle_store(f.m, holders, &holders->item[i], e);
    }
    for (int round = 0; round < 4; round++) {
      cradle_collect(f.m, CRADLE_COLLECT_MAJOR);
      size_t shift = 0;
      do {
        for (size_t i = 0; i < count / 2; i += 7) {
          ephemeron *one = holders->item[(i + shift) % count], *two = holders->item[(i + shift + count / 2) % count];
          void *value = one->value;
          cradle_store(f.m, one, &one->value, two->value);
          cradle_store(f.m, two, &two->value, value);
        }
        shift++;
      } while (!cradle_collect_step(f.m, 0));
      assert_heap_sound(f.heap);
    }
    for (size_t i = 0; i < count; i++) {
      ephemeron *e = holders->item[i];
      assert_ptr_equal(e->key, keys->item[i]);
      assert_int_equal(cradle_type_of(((pair *)e->value)->first), T_PAIR);
    }
  }
  fixture_close(&f);
}

/* Before each increment, values that only dead keys kept come under living keys, in holders that were scanned. */
static void values_that_come_late_while_marking(void **state) {
  (void)state;
  enum { LIVING = 100, DEAD = 200, AT_ONCE = 2 };
  fixture f;
  services_open(&f);
  fixture_skip_stressed(&f, "it counts what is moved between increments");
  {
    vector *keys = cradle_new_array(f.m, T_VECTOR, LIVING + DEAD), *holders = NULL;
    CRADLE_ROOT(f.m, keys);
    CRADLE_ROOT(f.m, holders);
    holders = cradle_new_array(f.m, T_VECTOR, LIVING + DEAD);
    for (size_t i = 0; i < LIVING + DEAD; i++) {
      pair *key = new_pair(&f, NULL);
      cradle_store(f.m, keys, &keys->item[i], key);
      pair *value = new_pair(&f, new_pair(&f, NULL));
      ephemeron *e = new_ephemeron(&f, keys->item[i], value);
      cradle_store(f.m, holders, &holders->item[i], e);
    }
    cradle_collect(f.m, CRADLE_COLLECT_MAJOR);
    for (size_t i = LIVING; i < LIVING + DEAD; i++) cradle_store(f.m, keys, &keys->item[i], NULL);
    do (void)cradle_collect_step(f.m, 0);
    while (inside_major(f.heap)->phase == MAJOR_MARKING && !inside_major(f.heap)->watching);
    size_t moved = 0;
    for (; inside_major(f.heap)->phase == MAJOR_MARKING; (void)cradle_collect_step(f.m, 0))
      for (int n = 0; n < AT_ONCE && moved < DEAD; n++, moved++) {
        ephemeron *from = holders->item[LIVING + moved], *to = holders->item[moved % LIVING];
        cradle_store(f.m, to, &to->value, from->value);
        cradle_store(f.m, from, &from->value, NULL);
      }
    assert_true(moved > 3 * AT_ONCE);
    while (!cradle_collect_step(f.m, 0)) continue;
    for (size_t i = 0; i < LIVING; i++) {
      const ephemeron *e = holders->item[i];
      assert_ptr_equal(e->key, keys->item[i]);
      assert_int_equal(cradle_type_of(((pair *)e->value)->first), T_PAIR);
    }
  }
  fixture_close(&f);
}

/* A finalizer brings the key back: the pair stays, and so does its value. */
static void a_key_that_a_finalizer_brings_back_keeps_its_value(void **state) {
  (void)state;
  for (int way = 0; way < WAYS; way++) {
    fixture f;
    services_open(&f);
    {
      final *key = new_final(&f, 1, NULL);
      CRADLE_ROOT(f.m, key);
      pair *value = new_pair(&f, new_pair(&f, NULL));
      CRADLE_ROOT(f.m, value);
      ephemeron *e = new_ephemeron(&f, key, value);
      CRADLE_ROOT(f.m, e);
      age_for(&f, way);
      key = NULL, value = NULL;
      collect_by(&f, way);
      key = cradle_finalizer_next(f.m, QUEUE);
      assert_non_null(key);
      assert_ptr_equal(e->key, key);
      assert_int_equal(cradle_type_of(((pair *)e->value)->first), T_PAIR);
      key = NULL;
      cradle_collect(f.m, CRADLE_COLLECT_MAJOR);
      assert_null(e->key);
      assert_null(e->value);
    }
    fixture_close(&f);
  }
}

/* Puts a large young object, which nothing else holds, behind the new end of an array of four pairs. */
static void cut_off(fixture *f, ephemerons *pairs) CRADLE_MAY_COLLECT {
  CRADLE_ROOT(f->m, pairs);
  cradle_major_hold(f->m, true);
  vector *large = cradle_new_array(f->m, T_VECTOR, (size_t)33 << 17); /* 33 MiB: its arenas go back when it dies */
  cradle_major_hold(f->m, false);
  cradle_store(f->m, pairs, &pairs->item[3].value, large);
  pairs->length = 1;
}

/* A pair whose key is watched is cut off: when the key is reached, nobody knows what its value was. */
static void a_pair_that_is_cut_off_while_marking(void **state) {
  (void)state;
  enum { ARRAYS = 64 };
  int cut = 0;
  for (int steps = 1; steps < 4; steps++) {
    fixture f;
    services_open(&f);
    fixture_skip_stressed(&f, "it stops in the middle of marking");
    {
      vector *arrays = cradle_new_array(f.m, T_VECTOR, ARRAYS);
      CRADLE_ROOT(f.m, arrays);
      for (size_t i = 0; i < ARRAYS; i++) {
        ephemerons *made = cradle_new_array(f.m, T_EPHEMERONS, 4);
        cradle_store(f.m, arrays, &arrays->item[i], made);
        pair *key = new_pair(&f, NULL);
        made = arrays->item[i];
        cradle_store(f.m, made, &made->item[3].key, key);
      }
      pair *keys = NULL; /* all of them, until they are old */
      CRADLE_ROOT(f.m, keys);
      for (size_t i = 0; i < ARRAYS; i++) {
        pair *more = new_pair(&f, keys);
        more->rest = ((ephemerons *)arrays->item[i])->item[3].key;
        keys = more;
      }
      cradle_collect(f.m, CRADLE_COLLECT_MINOR);
      keys = NULL;
      for (int i = 0; i < steps; i++) (void)cradle_collect_step(f.m, 0);
      ephemerons *first = arrays->item[0];
      void *key = cradle_weak_get(f.m, &first->item[3].key);
      CRADLE_ROOT(f.m, key);
      if (key != NULL && inside_major(f.heap)->phase == MAJOR_MARKING) {
        cut_off(&f, first);
        cut++;
      }
      while (!cradle_collect_step(f.m, 0)) continue;
    }
    fixture_close(&f);
  }
  assert_true(cut > 0);
}

static void smallest_increments(cradle_options *options) {
  options->stress_period = UINT64_C(1) << 40; /* none comes, but increments are the smallest */
  options->verify = false;
}

static void poll(fixture *f, int times) CRADLE_MAY_COLLECT {
  for (int i = 0; i < times; i++) {
    cradle_safepoint_request(f->m);
    cradle_safepoint(f->m);
  }
}

/* The same while a finalizer brings the key back, and the value waits to be looked at. */
static void a_pair_that_is_cut_off_while_its_key_comes_back(void **state) {
  (void)state;
  int cut = 0;
  for (int increments = 4; increments <= 28; increments += 8) {
    fixture f;
    services_open_with(&f, smallest_increments);
    {
      ephemerons *pairs = cradle_new_array(f.m, T_EPHEMERONS, 4);
      CRADLE_ROOT(f.m, pairs);
      pair *other = new_pair(&f, NULL), *chain = NULL;
      CRADLE_ROOT(f.m, other);
      CRADLE_ROOT(f.m, chain);
      for (int i = 0; i < 200; i++) chain = new_pair(&f, chain);
      final *key = new_final(&f, 1, chain);
      CRADLE_ROOT(f.m, key);
      chain = NULL;
      cradle_store(f.m, pairs, &pairs->item[3].key, key);
      pair *value = new_pair(&f, NULL);
      cradle_store(f.m, pairs, &pairs->item[3].value, value);
      cradle_collect(f.m, CRADLE_COLLECT_MAJOR);
      key = NULL;
      cradle_collect(f.m, CRADLE_COLLECT_MINOR);
      poll(&f, increments);
      if (inside_major(f.heap)->phase == MAJOR_CLEARING && cradle_weak_get(f.m, &pairs->item[3].key) == NULL) {
        cradle_store(f.m, pairs, &pairs->item[3].key, other);
        cut_off(&f, pairs);
        cut++;
      }
      poll(&f, 400);
      assert_heap_sound(f.heap);
      assert_int_equal(finalizers_waiting(f.m, QUEUE), 1);
    }
    fixture_close(&f);
  }
  assert_true(cut > 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_value_lives_with_its_key),
      cmocka_unit_test(an_ephemeron_that_nobody_holds_keeps_nothing),
      cmocka_unit_test(chains_of_ephemerons),
      cmocka_unit_test(chains_of_holders),
      cmocka_unit_test(a_long_chain_in_the_worst_order),
      cmocka_unit_test(pairs_that_change_while_marking),
      cmocka_unit_test(values_that_change_their_holder_while_marking),
      cmocka_unit_test(values_that_come_late_while_marking),
      cmocka_unit_test(a_key_that_a_finalizer_brings_back_keeps_its_value),
      cmocka_unit_test(a_pair_that_is_cut_off_while_marking),
      cmocka_unit_test(a_pair_that_is_cut_off_while_its_key_comes_back),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
