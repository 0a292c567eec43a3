/* Tests weak slots, ephemerons and finalizers when the collector's own memory is refused: the same objects live and
 * die, and only the order of finalizers is lost. The test takes the stacks and the table away through the collector's
 * internal structures. */
#include "tests/support/granted.h"
#include "tests/support/services.h"
#include "tests/support/waiting.h"

#include "tests/inside.h"

enum { STACKS = 5 };
typedef struct starved {
  crd_word_stack saved[2 * STACKS];
} starved;

static void stacks_of(fixture *f, crd_word_stack **stacks) {
  crd_death *deaths[] = {&inside_services(f->heap)->minor, &inside_services(f->heap)->major};
  for (size_t i = 0; i < 2; i++) {
    crd_word_stack *of[STACKS] = {&deaths[i]->watch.buckets, &deaths[i]->reach.slots, &deaths[i]->reach.open,
                                  &deaths[i]->reach.path, &deaths[i]->candidates.headers};
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

/* Each value is the next pair's key, backwards in memory; a weak slot for each value shows which ones live. */
static void chains_by_passes(void **state) {
  (void)state;
  enum { LENGTH = 40 };
  /* The last stack is for finalizers only. */
  for (unsigned which = 0; which < 1u << (STACKS - 1); which++)
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
        assert_int_equal(finalizers_waiting(f.m, QUEUE), COUNT);
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

/* Objects that lead to others registered before them, and no memory for one of the order's stacks, or for the watch
 * table (the first of the stacks), which only ephemerons need. */
static void without_an_order_finalizers_come_as_registered(void **state) {
  (void)state;
  enum { COUNT = 20 };
  for (unsigned which = 0; which <= STACKS; which++)
    for (int way = 0; way < WAYS; way++) {
      fixture f;
      starved s;
      services_open(&f);
      fixture_skip_stressed(&f, "the dead need not die in one collection");
      {
        final *last = NULL;
        CRADLE_ROOT(f.m, last);
        for (size_t i = 0; i < COUNT; i++) last = new_final(&f, i, last);
        age_for(&f, way);
        last = NULL;
        starve(&f, which == 0 ? 0 : 1u << (which - 1), &s);
        collect_by(&f, way);
        feed(&f, &s);
        assert_int_equal(finalizers_waiting(f.m, QUEUE), COUNT);
        for (size_t i = 0; i < COUNT; i++) {
          const final *object = cradle_finalizer_next(f.m, QUEUE);
          assert_int_equal(object->number, which <= 1 ? COUNT - 1 - i : i);
        }
      }
      fixture_close(&f);
    }
}

/* --- what the program sees while the collector finds finalizers --- */

enum { LINKS = 3000 };

/* Verifying around every increment would take too long; the tests verify at their ends. */
static void not_verified(cradle_options *options) {
  options->verify = false;
}

static pair *new_chain(fixture *f, void *end) CRADLE_MAY_COLLECT {
  CRADLE_ROOT(f->m, end);
  pair *chain = new_pair(f, NULL);
  CRADLE_ROOT(f->m, chain);
  chain->rest = end;
  for (int i = 1; i < LINKS; i++) chain = new_pair(f, chain);
  return chain;
}

/* Takes the referent out of a key as soon as the program sees the key. */
static bool take(fixture *f, ephemeron *e, pair **taken) CRADLE_MAY_COLLECT {
  final *key = cradle_weak_get(f->m, &e->key);
  if (key == NULL || *taken != NULL) return false;
  *taken = key->to;
  cradle_store(f->m, key, &key->to, NULL);
  return true;
}

/* Two dead objects with finalizers lead to each other through chains that take many increments, and are keys of live
 * ephemerons. The program may see a key while it is being brought back. Then everything that the key leads to stays,
 * whatever the program does with it. */
static void a_key_is_seen_with_all_that_it_leads_to(void **state) {
  (void)state;
  for (unsigned which = 0; which < 1u << STACKS; which++) {
    fixture f;
    starved s;
    services_open_with(&f, not_verified);
    fixture_skip_stressed(&f, "it looks between increments of its own");
    {
      pair *one = NULL, *other = NULL;
      ephemeron *e = new_ephemeron(&f, NULL, NULL), *also = NULL;
      CRADLE_ROOT(f.m, e);
      CRADLE_ROOT(f.m, also);
      CRADLE_ROOT(f.m, one);
      CRADLE_ROOT(f.m, other);
      also = new_ephemeron(&f, NULL, NULL);
      /* Makes clearing dead keys take several increments, too. */
      vector *more = cradle_new_array(f.m, T_VECTOR, LINKS);
      CRADLE_ROOT(f.m, more);
      for (size_t i = 0; i < LINKS; i++) {
        ephemeron *pairs = new_ephemeron(&f, NULL, NULL);
        cradle_store(f.m, more, &more->item[i], pairs);
      }
      {
        final *first = NULL, *second = NULL;
        CRADLE_ROOT(f.m, first);
        CRADLE_ROOT(f.m, second);
        first = new_final(&f, 1, new_pair(&f, new_pair(&f, NULL)));
        second = new_final(&f, 2, new_pair(&f, new_pair(&f, NULL)));
        pair *chain = new_chain(&f, second);
        cradle_store(f.m, first, &first->other, chain);
        chain = new_chain(&f, first);
        cradle_store(f.m, second, &second->other, chain);
        cradle_store(f.m, e, &e->key, first);
        cradle_store(f.m, also, &also->key, second);
        cradle_collect(f.m, CRADLE_COLLECT_MINOR);
      }
      starve(&f, which, &s);
      bool complete = false;
      int seen = 0;
      while (!complete) {
        complete = cradle_collect_step(f.m, 0);
        if (inside_major(f.heap)->phase != MAJOR_CLEARING) continue;
        seen += take(&f, e, &one);
        seen += take(&f, also, &other);
      }
      feed(&f, &s);
      if (which == 0) assert_int_equal(seen, 2);
      cradle_error error;
      if (!cradle_heap_verify(f.heap, &error)) fail_msg("stacks 0x%x: %s", which, error.message);
      if (one != NULL) assert_int_equal(cradle_type_of(one->first), T_PAIR);
      if (other != NULL) assert_int_equal(cradle_type_of(other->first), T_PAIR);
      assert_int_equal(finalizers_waiting(f.m, QUEUE), 2);
      cradle_collect(f.m, CRADLE_COLLECT_FULL);
    }
    fixture_close(&f);
  }
}

static void count_notes(void *data, const cradle_event *event) {
  size_t *notes = data;
  if (event->kind == CRADLE_EVENT_NOTE && strstr(event->u.note.text, "registration order") != NULL) ++*notes;
}

/* A dead object with a finalizer leads to a pair that could not be watched, so its value is reached only at the end.
 * Until then the program sees nothing of it. The order of finalizers is unknown, which a note reports. Objects come
 * back in the reverse order of registration: the pair's holder, its key, and one that takes long. */
static void a_value_is_seen_when_it_is_reached(void **state) {
  (void)state;
  fixture f;
  starved s;
  size_t notes = 0;
  services_open_with(&f, not_verified);
  fixture_skip_stressed(&f, "it looks between increments of its own");
  {
    ephemeron *e = NULL, *holder = NULL;
    pair *value = NULL;
    CRADLE_ROOT(f.m, e);
    CRADLE_ROOT(f.m, holder);
    CRADLE_ROOT(f.m, value);
    {
      final *third = NULL, *second = NULL, *first = NULL;
      CRADLE_ROOT(f.m, third);
      CRADLE_ROOT(f.m, second);
      CRADLE_ROOT(f.m, first);
      third = new_final(&f, 3, new_chain(&f, NULL));
      second = new_final(&f, 2, new_chain(&f, NULL));
      value = new_pair(&f, new_pair(&f, NULL));
      holder = new_ephemeron(&f, second, value);
      first = new_final(&f, 1, holder);
      pair *chain = new_chain(&f, NULL);
      cradle_store(f.m, first, &first->other, chain);
      e = new_ephemeron(&f, first, NULL);
      holder = NULL, value = NULL;
      cradle_collect(f.m, CRADLE_COLLECT_MINOR);
    }
    const crd_services *services = inside_services(f.heap);
    bool complete = false;
    while (!complete && !(inside_major(f.heap)->phase == MAJOR_CLEARING && services->stage == STAGE_REACH &&
                          word_stack_count(&services->major.candidates.headers) == 3))
      complete = cradle_collect_step(f.m, 0);
    assert_false(complete);
    f.heap->options.listener = (cradle_listener){count_notes, &notes};
    starve(&f, 1, &s);
    while (!complete) {
      complete = cradle_collect_step(f.m, 0);
      if (inside_major(f.heap)->phase != MAJOR_CLEARING || value != NULL) continue;
      final *first = cradle_weak_get(f.m, &e->key);
      if (first != NULL) holder = first->to;
      if (holder == NULL || cradle_weak_get(f.m, &holder->key) == NULL) continue;
      value = holder->value;
      cradle_store(f.m, holder, &holder->value, NULL);
    }
    feed(&f, &s);
    f.heap->options.listener.function = NULL;
    assert_int_equal(notes, 1);
    assert_heap_sound(f.heap);
    if (value != NULL) assert_int_equal(cradle_type_of(value->first), T_PAIR);
  }
  fixture_close(&f);
}

/* A key is rooted during marking, after its pair was scanned and could not be watched. Another pass finds the value. */
static void a_key_that_is_rooted_late_keeps_its_value(void **state) {
  (void)state;
  enum { MORE = 100 };
  for (int kept_at = 0; kept_at < 30; kept_at++) {
    fixture f;
    starved s;
    services_open_with(&f, not_verified);
    fixture_skip_stressed(&f, "it looks between increments of its own");
    {
      vector *more = cradle_new_array(f.m, T_VECTOR, MORE);
      CRADLE_ROOT(f.m, more);
      pair *key = NULL;
      CRADLE_ROOT(f.m, key);
      ephemeron *e = new_ephemeron(&f, NULL, NULL);
      CRADLE_ROOT(f.m, e);
      key = new_pair(&f, NULL);
      final *value = new_final(&f, 1, NULL);
      cradle_store(f.m, e, &e->key, key);
      cradle_store(f.m, e, &e->value, value);
      for (size_t i = 0; i < MORE; i++) {
        ephemeron *others = new_ephemeron(&f, NULL, NULL);
        cradle_store(f.m, more, &more->item[i], others);
      }
      cradle_collect(f.m, CRADLE_COLLECT_MINOR);
      key = NULL;
      starve(&f, 1, &s);
      bool complete = false;
      for (int step = 0; !complete; step++) {
        complete = cradle_collect_step(f.m, 0);
        if (step == kept_at && inside_major(f.heap)->phase == MAJOR_MARKING) key = cradle_weak_get(f.m, &e->key);
      }
      feed(&f, &s);
      if (key != NULL) {
        assert_int_equal(finalizers_waiting(f.m, QUEUE), 0);
        assert_int_equal(cradle_type_of(e->value), T_FINAL);
      }
      assert_heap_sound(f.heap);
    }
    fixture_close(&f);
  }
}

/* The slots stack is too small for a while. An object that was traced meanwhile still gets its finalizer. */
static void a_stack_that_is_full_for_a_while_loses_no_finalizer(void **state) {
  (void)state;
  enum { WIDE = 2000 };
  fixture f;
  services_open_with(&f, not_verified);
  fixture_skip_stressed(&f, "it looks between increments of its own");
  {
    final *last = new_final(&f, 1, NULL), *first = NULL;
    CRADLE_ROOT(f.m, last);
    CRADLE_ROOT(f.m, first);
    first = new_final(&f, 2, NULL);
    vector *wide = cradle_new_array(f.m, T_VECTOR, WIDE);
    CRADLE_ROOT(f.m, wide);
    pair *dead = new_pair(&f, NULL);
    for (size_t i = 0; i < WIDE; i++) cradle_store(f.m, wide, &wide->item[i], dead);
    cradle_store(f.m, wide, &wide->item[WIDE - 1], last);
    cradle_store(f.m, first, &first->to, wide);
    cradle_collect(f.m, CRADLE_COLLECT_MINOR);
    crd_word_stack *slots = &inside_services(f.heap)->major.reach.slots;
    cradle_word *limit = slots->limit, *end = slots->end;
    assert_true(slots->base + WIDE / 2 < limit);
    slots->limit = slots->base + WIDE / 2;
    if (slots->end > slots->limit) slots->end = slots->limit;
    last = first = NULL, wide = NULL;
    cradle_collect(f.m, CRADLE_COLLECT_MAJOR);
    slots->limit = limit;
    if (end > slots->end) slots->end = end;
    assert_int_equal(finalizers_waiting(f.m, QUEUE), 2);
  }
  fixture_close(&f);
}

/* --- all old holders --- */

/* The remembered set could not grow, so every old holder may have young objects in its slots. */
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
    cradle_collect(f.m, CRADLE_COLLECT_MINOR);
    pair *p = new_pair(&f, NULL);
    CRADLE_ROOT(f.m, p);
    pair *value = new_pair(&f, NULL);
    if (!f.stressed) {
      cradle_store(f.m, w, &w->to, p);
      cradle_store(f.m, dead, &dead->to, value);
      cradle_store(f.m, e, &e->key, p);
      pair *kept = new_pair(&f, NULL);
      cradle_store(f.m, e, &e->value, kept);
      inside_local(f.heap)->remembered.top = inside_local(f.heap)->remembered.base;
      f.heap->young.remember_all = true;
      cradle_collect(f.m, CRADLE_COLLECT_MINOR);
      assert_ptr_equal(w->to, p);
      assert_null(dead->to);
      assert_ptr_equal(e->key, p);
      assert_int_equal(cradle_type_of(e->value), T_PAIR);
    }
  }
  fixture_close(&f);
}

#define HOLDERS 200

/* Stores young objects into every living holder, then makes a minor collection scan all holders. */
static void store_and_look(fixture *f, vector *holders, bool ephemerons) CRADLE_MAY_COLLECT {
  CRADLE_ROOT(f->m, holders);
  pair *keys = NULL; /* a list; each holder's key is the list's first pair at that time */
  CRADLE_ROOT(f->m, keys);
  for (size_t i = 0; i < HOLDERS; i++) {
    keys = new_pair(f, keys);
    pair *value = ephemerons ? new_pair(f, keys) : NULL;
    ephemeron *e = holders->item[i];
    weak *w = holders->item[i];
    cradle_store(f->m, e, ephemerons ? &e->key : &w->to, keys);
    if (ephemerons) cradle_store(f->m, e, &e->value, value);
  }
  inside_local(f->heap)->remembered.top = inside_local(f->heap)->remembered.base;
  f->heap->young.remember_all = true;
  cradle_collect(f->m, CRADLE_COLLECT_MINOR);
  pair *key = keys;
  for (size_t i = HOLDERS; i-- > 0; key = key->first) {
    ephemeron *e = holders->item[i];
    weak *w = holders->item[i];
    assert_ptr_equal(ephemerons ? e->key : w->to, key);
    if (ephemerons) assert_ptr_equal(((pair *)e->value)->first, key);
  }
}

/* As above, while a pass over the holders' list is under way and has dropped some. */
static void all_old_holders_are_looked_at_in_the_middle_of_a_pass(void **state) {
  (void)state;
  for (int ephemerons = 0; ephemerons < 2; ephemerons++) {
    fixture f;
    services_open(&f);
    fixture_skip_stressed(&f, "it stops in the middle of a pass");
    {
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
      cradle_collect(f.m, CRADLE_COLLECT_MINOR);
      dying = NULL;
      const crd_list *list = &inside_services(f.heap)->lists[ephemerons ? REGISTERED_EPHEMERON : REGISTERED_WEAK];
      bool complete = false;
      while (!complete && !(list->kept > list->words.base && list->next < list->young && list->kept < list->next))
        complete = cradle_collect_step(f.m, 0);
      assert_false(complete);
      const cradle_word *kept = list->kept;
      store_and_look(&f, holders, ephemerons);
      assert_ptr_equal(list->kept, kept); /* the pass was still under way */
      cradle_collect(f.m, CRADLE_COLLECT_FULL);
      store_and_look(&f, holders, ephemerons);
    }
    fixture_close(&f);
  }
}

/* --- weak sets --- */

enum { SET_OLD = 64, SET_COUNT = 192 };

static void add_numbered(fixture *f, cradle_weak_set *set, uint64_t number) CRADLE_MAY_COLLECT {
  string *s = cradle_new_array(f->m, T_STRING, sizeof number);
  memcpy(s->byte, &number, sizeof number);
  cradle_push(f->m, s);
  cradle_weak_set_add(set, number * UINT64_C(0x9e3779b97f4a7c15) >> 20, s);
}

static uint64_t number_in(const string *s) {
  uint64_t number;
  memcpy(&number, s->byte, sizeof number);
  return number;
}

/* All objects are kept on the shadow stack. The set's places are full, and it cannot be rebuilt. An iteration does not
 * notice the refused addition. */
static void an_addition_that_is_refused_changes_nothing(void **state) {
  (void)state;
  fixture f;
  services_open(&f);
  cradle_weak_set *set = cradle_weak_set_new(f.m, NULL, NULL);
  for (uint64_t i = 0; i < SET_COUNT; i++) {
    add_numbered(&f, set, i);
    if (i + 1 == SET_OLD) cradle_collect(f.m, CRADLE_COLLECT_MINOR);
  }
  assert_int_equal(set->used, set->capacity / 4 * 3);
  int seen[SET_COUNT] = {0};
  cradle_weak_cursor cursor = {0, 0};
  for (int i = 0; i < SET_COUNT / 2; i++) seen[number_in(cradle_weak_set_next(set, &cursor))]++;
  string *s = cradle_new_array(f.m, T_STRING, 8);
  granted_callocs = 0;
  assert_false(cradle_weak_set_add(set, 77, s));
  granted_callocs = INT_MAX;
  for (const string *next; (next = cradle_weak_set_next(set, &cursor)) != NULL;) seen[number_in(next)]++;
  for (size_t i = 0; i < SET_COUNT; i++) assert_int_equal(seen[i], 1);
  cradle_pop_many(f.m, SET_COUNT);
  cradle_weak_set_free(set);
  fixture_close(&f);
}

/* The first addition for which memory is granted shrinks the set. */
static void a_set_that_emptied_becomes_smaller(void **state) {
  (void)state;
  fixture f;
  services_open(&f);
  cradle_weak_set *set = cradle_weak_set_new(f.m, NULL, NULL);
  for (uint64_t i = 0; i < 20; i++) add_numbered(&f, set, i);
  const size_t smallest = set->capacity;
  for (uint64_t i = 20; i < 10000; i++) {
    add_numbered(&f, set, i);
    if (set->capacity > smallest) assert_in_range(set->count, set->capacity / 8 * 3, set->capacity / 4 * 3);
  }
  size_t large = set->capacity;
  assert_true(large > 10000);
  cradle_pop_many(f.m, 10000 - 20);
  cradle_collect(f.m, CRADLE_COLLECT_MAJOR);
  assert_int_equal(set->count, 20);
  granted_callocs = 0;
  add_numbered(&f, set, 20);
  assert_int_equal(set->capacity, large);
  granted_callocs = INT_MAX;
  add_numbered(&f, set, 21);
  assert_in_range(set->capacity, 64, 128);
  bool seen[22] = {false};
  cradle_weak_cursor cursor = {0, 0};
  for (const string *next; (next = cradle_weak_set_next(set, &cursor)) != NULL;) seen[number_in(next)] = true;
  for (size_t i = 0; i < 22; i++) assert_true(seen[i]);
  cradle_pop_many(f.m, 22);
  cradle_weak_set_free(set);
  fixture_close(&f);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(chains_by_passes),
      cmocka_unit_test(finalizers_without_an_order),
      cmocka_unit_test(without_an_order_finalizers_come_as_registered),
      cmocka_unit_test(a_key_is_seen_with_all_that_it_leads_to),
      cmocka_unit_test(a_value_is_seen_when_it_is_reached),
      cmocka_unit_test(a_key_that_is_rooted_late_keeps_its_value),
      cmocka_unit_test(a_stack_that_is_full_for_a_while_loses_no_finalizer),
      cmocka_unit_test(all_old_holders_are_looked_at),
      cmocka_unit_test(all_old_holders_are_looked_at_in_the_middle_of_a_pass),
      cmocka_unit_test(an_addition_that_is_refused_changes_nothing),
      cmocka_unit_test(a_set_that_emptied_becomes_smaller),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
