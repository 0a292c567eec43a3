/* Services when the collector's own memory is refused: what lives and dies is the same, and only the order of finalizers is lost.
 * The stacks and the table are taken from the collector through its inside. */
#include "tests/services.h"

#include "gc/services.h"

enum { STACKS = 5 };
typedef struct starved {
  crd_word_stack saved[2 * STACKS];
} starved;

static void stacks_of(fixture *f, crd_word_stack **stacks) {
  crd_death *deaths[] = {&f->heap->services->minor, &f->heap->services->major};
  for (size_t i = 0; i < 2; i++) {
    crd_word_stack *of[STACKS] = {&deaths[i]->watch.buckets, &deaths[i]->slots, &deaths[i]->open, &deaths[i]->path,
                                  &deaths[i]->members};
    memcpy(stacks + i * STACKS, of, sizeof of);
  }
}

/* which: bit i takes stack i away. */
static void starve(fixture *f, unsigned which, starved *s) {
  crd_word_stack *stacks[2 * STACKS];
  stacks_of(f, stacks);
  for (size_t i = 0; i < 2 * STACKS; i++) {
    s->saved[i] = *stacks[i];
    if (which >> (i % STACKS) & 1) stacks[i]->limit = stacks[i]->end = stacks[i]->base;
  }
}

static void feed(fixture *f, const starved *s) {
  crd_word_stack *stacks[2 * STACKS];
  stacks_of(f, stacks);
  for (size_t i = 0; i < 2 * STACKS; i++) {
    stacks[i]->limit = s->saved[i].limit;
    stacks[i]->end = s->saved[i].end;
  }
}

/* Each value is the next key, backwards in memory; a weak slot for each tells which live. */
static void chains_by_passes(void **state) {
  (void)state;
  enum { LENGTH = 40 };
  for (unsigned which = 0; which < 1u << STACKS; which++)
    for (int way = 0; way < WAYS; way++)
      for (int alive = 0; alive < 2; alive++) {
        fixture f;
        starved s;
        services_open(&f);
        {
          vector *keys = cradle_new_array(f.m, T_VECTOR, LENGTH + 1);
          CRADLE_ROOT(f.m, keys);
          vector *holders = cradle_new_array(f.m, T_VECTOR, LENGTH);
          CRADLE_ROOT(f.m, holders);
          for (size_t i = 0; i <= LENGTH; i++) {
            pair *p = new_pair(&f, NULL);
            cradle_store(f.m, keys, &keys->item[i], p);
          }
          for (size_t i = LENGTH; i-- > 0;) {
            ephemeron *e = new_ephemeron(&f, keys->item[i], keys->item[i + 1]);
            cradle_store(f.m, holders, &holders->item[i], e);
          }
          age_for(&f, way);
          pair *first = alive ? keys->item[0] : NULL;
          CRADLE_ROOT(f.m, first);
          keys = NULL;
          starve(&f, which, &s);
          collect_by(&f, way);
          feed(&f, &s);
          void *key = first;
          for (size_t i = 0; i < LENGTH; i++) {
            const ephemeron *e = holders->item[i];
            assert_ptr_equal(e->key, key);
            assert_int_equal(e->value != NULL, alive);
            key = e->value;
          }
        }
        fixture_close(&f);
      }
}

/* A chain of finalizers, the last registered first, with an ephemeron from one to a value. */
static void finalizers_without_an_order(void **state) {
  (void)state;
  enum { COUNT = 20 };
  for (unsigned which = 0; which < 1u << STACKS; which++)
    for (int way = 0; way < WAYS; way++) {
      fixture f;
      starved s;
      services_open(&f);
      {
        final *last = NULL;
        CRADLE_ROOT(f.m, last);
        ephemeron *e = NULL;
        CRADLE_ROOT(f.m, e);
        for (size_t i = 0; i < COUNT; i++) {
          last = new_final(&f, i, last);
          if (i != COUNT / 2) continue;
          pair *value = new_pair(&f, NULL);
          e = new_ephemeron(&f, last, value);
        }
        age_for(&f, way);
        last = NULL;
        starve(&f, which, &s);
        collect_by(&f, way);
        feed(&f, &s);
        assert_int_equal(cradle_finalizer_waiting(f.m, QUEUE), COUNT);
        bool seen[COUNT] = {false};
        for (size_t i = 0; i < COUNT; i++) {
          final *object = cradle_finalizer_next(f.m, QUEUE);
          if (object->number == COUNT / 2) assert_ptr_equal(e->key, object);
          if (object->number != 0) assert_int_equal(((final *)object->to)->number, object->number - 1);
          if (which == 0) assert_int_equal(object->number, COUNT - 1 - i);
          seen[object->number] = true;
        }
        for (size_t i = 0; i < COUNT; i++) assert_true(seen[i]);
        assert_int_equal(cradle_type_of(e->value), T_PAIR);
      }
      fixture_close(&f);
    }
}

/* The remembered set could not grow: every old holder may have young objects in its slots. */
static void all_old_holders_are_looked_at(void **state) {
  (void)state;
  fixture f;
  services_open(&f);
  {
    weak *w = new_weak(&f, NULL), *dead = NULL;
    CRADLE_ROOT(f.m, w);
    CRADLE_ROOT(f.m, dead);
    dead = new_weak(&f, NULL);
    ephemeron *e = new_ephemeron(&f, NULL, NULL);
    CRADLE_ROOT(f.m, e);
    cradle_collect_minor(f.m);
    pair *p = new_pair(&f, NULL);
    CRADLE_ROOT(f.m, p);
    pair *value = new_pair(&f, NULL);
    if (!f.stressed) {
      cradle_store(f.m, w, &w->to, p);
      cradle_store(f.m, dead, &dead->to, value);
      cradle_store(f.m, e, &e->key, p);
      pair *kept = new_pair(&f, NULL);
      cradle_store(f.m, e, &e->value, kept);
      f.heap->remembered.top = f.heap->remembered.base;
      f.heap->remember_all = true;
      cradle_collect_minor(f.m);
      assert_ptr_equal(w->to, p);
      assert_null(dead->to);
      assert_ptr_equal(e->key, p);
      assert_int_equal(cradle_type_of(e->value), T_PAIR);
    }
  }
  fixture_close(&f);
}

#define HOLDERS 200

/* Stores young objects into every living holder, and has a minor collection look at all of them. */
static void store_and_look(fixture *f, vector *holders, bool ephemerons) CRADLE_MAY_COLLECT {
  CRADLE_ROOT(f->m, holders);
  pair *keys = NULL; /* a list; a holder's key is the first of it from then on */
  CRADLE_ROOT(f->m, keys);
  for (size_t i = 0; i < HOLDERS; i++) {
    keys = new_pair(f, keys);
    pair *value = ephemerons ? new_pair(f, keys) : NULL;
    ephemeron *e = holders->item[i];
    weak *w = holders->item[i];
    cradle_store(f->m, e, ephemerons ? &e->key : &w->to, keys);
    if (ephemerons) cradle_store(f->m, e, &e->value, value);
  }
  f->heap->remembered.top = f->heap->remembered.base;
  f->heap->remember_all = true;
  cradle_collect_minor(f->m);
  pair *key = keys;
  for (size_t i = HOLDERS; i-- > 0; key = key->first) {
    ephemeron *e = holders->item[i];
    weak *w = holders->item[i];
    assert_ptr_equal(ephemerons ? e->key : w->to, key);
    if (ephemerons) assert_ptr_equal(((pair *)e->value)->first, key);
  }
}

/* The same while a pass over their list is under way, which has dropped some. */
static void all_old_holders_are_looked_at_in_the_middle_of_a_pass(void **state) {
  (void)state;
  for (int ephemerons = 0; ephemerons < 2; ephemerons++) {
    fixture f;
    services_open(&f);
    if (!f.stressed) {
      vector *holders = NULL, *dying = NULL;
      CRADLE_ROOT(f.m, holders);
      CRADLE_ROOT(f.m, dying);
      holders = cradle_new_array(f.m, T_VECTOR, HOLDERS);
      dying = cradle_new_array(f.m, T_VECTOR, HOLDERS);
      for (size_t i = 0; i < 2 * HOLDERS; i++) {
        void *made = ephemerons ? (void *)new_ephemeron(&f, NULL, NULL) : (void *)new_weak(&f, NULL);
        vector *into = i % 2 == 0 ? holders : dying;
        cradle_store(f.m, into, &into->item[i / 2], made);
      }
      cradle_collect_minor(f.m);
      dying = NULL;
      const crd_list *list = &f.heap->services->lists[ephemerons ? REGISTERED_EPHEMERON : REGISTERED_WEAK];
      bool complete = false;
      while (!complete && !(list->kept > list->words.base && list->next < list->young && list->kept < list->next))
        complete = cradle_collect_step(f.m, 0);
      assert_false(complete);
      const cradle_word *kept = list->kept;
      store_and_look(&f, holders, ephemerons);
      assert_ptr_equal(list->kept, kept); /* it was still under way */
      cradle_collect_full(f.m);
      store_and_look(&f, holders, ephemerons);
    }
    fixture_close(&f);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(chains_by_passes),
      cmocka_unit_test(finalizers_without_an_order),
      cmocka_unit_test(all_old_holders_are_looked_at),
      cmocka_unit_test(all_old_holders_are_looked_at_in_the_middle_of_a_pass),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
