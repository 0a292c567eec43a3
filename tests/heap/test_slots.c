/* Tests slots that threads share without a lock: acquire, release, exchange, compare-exchange, find_or_add, and what
 * CRADLE_RACY makes of cradle_store and cradle_copy_slots. tests/model/threads_slots.c has lock-free structures.
 *
 * Built with ThreadSanitizer, it also shows that each of these stores publishes what was written before it.
 */
#define CRADLE_RACY 1

#include "tests/support/heap_fixture.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <time.h>

enum { SMALL = 4, LARGE_SLOTS = 6000, THREADS = 4, MARK = 77 };

static void open_for(fixture *f, uint64_t mutators) {
  cradle_options options;
  fixture_options(f, &options);
  options.mutators = mutators;
  options.reserve_bytes = (size_t)1 << 30;
  fixture_open_with(f, &options);
}

static string *new_string(cradle_mutator *m, char byte) CRADLE_MAY_COLLECT {
  string *fresh = CRADLE_NEW_ARRAY(m, string, T_STRING, byte, length, 8);
  fresh->byte[0] = byte;
  return fresh;
}

/* --- the barrier --- */

/* How a fresh object gets into a slot. Each way leaves it there. */
enum { RELEASE, EXCHANGE, COMPARE, STORE, COPY, WAYS };

/* The ways for references and for values must be the same: with plain references the words are. */
static void put(cradle_mutator *m, void *object, void *slot, void *fresh, int way, bool value) {
  void *before = cradle_load_acquire(slot);
  cradle_value word = (uintptr_t)fresh, old = cradle_load_acquire_value(slot);
  assert_ptr_equal(before, (void *)(uintptr_t)old);
  switch (way) {
  case RELEASE:
    if (value)
      cradle_store_release_value(m, object, slot, word);
    else
      cradle_store_release(m, object, slot, fresh);
    break;
  case EXCHANGE:
    assert_ptr_equal(before, value ? (void *)(uintptr_t)cradle_exchange_value(m, object, slot, word)
                                   : cradle_exchange(m, object, slot, fresh));
    break;
  case COMPARE:
    assert_false(value ? cradle_compare_exchange_value(m, object, slot, old + 8, word)
                       : cradle_compare_exchange(m, object, slot, (char *)before + 8, fresh));
    assert_ptr_equal(cradle_load_acquire(slot), before);
    assert_true(value ? cradle_compare_exchange_value(m, object, slot, old, word)
                      : cradle_compare_exchange(m, object, slot, before, fresh));
    break;
  case STORE: cradle_store(m, object, slot, fresh); break;
  default: cradle_copy_slots(m, object, slot, &fresh, 1); break;
  }
  assert_ptr_equal(cradle_load_acquire(slot), fresh);
}

/* An object that holds an old string in one slot; then a young string takes its place. */
static void replace(fixture *f, uint32_t type, uint64_t length, int way) {
  cradle_mutator *m = f->m;
  vector *holder = type == T_PAIR ? cradle_new(m, T_PAIR, sizeof(pair)) : cradle_new_array(m, type, length);
  CRADLE_ROOT(m, holder);
  string *old = new_string(m, 1);
  size_t at = type == T_PAIR ? 1 : 2 + (length - 1);
  cradle_store(m, holder, (uint64_t *)holder + at, old);
  cradle_collect(m, CRADLE_COLLECT_FULL);
  for (char i = 2; i < 5; i++) { /* the first time, the second, and after a collection that found nothing young */
    string *fresh = new_string(m, i);
    put(m, holder, (uint64_t *)holder + at, fresh, way, type == T_VALUES);
    cradle_collect(m, CRADLE_COLLECT_MINOR);
    const string *found = cradle_load_acquire((uint64_t *)holder + at);
    assert_true(found != fresh && found->length == 8 && found->byte[0] == i);
    if (i == 3) cradle_collect(m, CRADLE_COLLECT_MINOR);
  }
  assert_heap_sound(f->heap);
}

static void what_is_stored_is_found(void **state) {
  (void)state;
  for (uint64_t mutators = 1; mutators <= 2; mutators++) {
    fixture f;
    open_for(&f, mutators);
    for (int way = 0; way < WAYS; way++) {
      replace(&f, T_PAIR, 0, way);
      for (uint32_t type = T_VECTOR; type <= T_VALUES; type++) {
        replace(&f, type, SMALL, way);
        replace(&f, type, 200, way);
        replace(&f, type, LARGE_SLOTS, way);
      }
    }
    fixture_close(&f);
  }
}

/* While marking, a reference moves from one slot to another: without a barrier, marking would miss it. */
static void marking_sees_what_moves(void **state) {
  (void)state;
  for (uint64_t mutators = 1; mutators <= 2; mutators++) {
    fixture f;
    open_for(&f, mutators);
    vector *all = cradle_new_array(f.m, T_VECTOR, LARGE_SLOTS);
    CRADLE_ROOT(f.m, all);
    vector *few = cradle_new_array(f.m, T_VECTOR, 60);
    CRADLE_ROOT(f.m, few);
    for (uint64_t i = 0; i < LARGE_SLOTS; i++) {
      string *fresh = new_string(f.m, (char)(i % 100));
      cradle_store(f.m, all, &all->item[i], fresh);
    }
    cradle_collect(f.m, CRADLE_COLLECT_FULL);
    uint64_t at = 0;
    do
      for (int i = 0; i < 300; i++, at = (at * 31 + 17) % LARGE_SLOTS) {
        void *out = cradle_exchange(f.m, all, &all->item[at], NULL);
        void *before = cradle_exchange(f.m, few, &few->item[at % 60], out);
        if (before != NULL) assert_true(cradle_compare_exchange(f.m, all, &all->item[at], NULL, before));
      }
    while (!cradle_collect_step(f.m, 1));
    uint64_t found = 0;
    for (uint64_t i = 0; i < LARGE_SLOTS + 60; i++) {
      const string *s = i < LARGE_SLOTS ? all->item[i] : few->item[i - LARGE_SLOTS];
      if (s == NULL) continue;
      assert_true(cradle_type_of(s) == T_STRING && s->length == 8);
      found++;
    }
    assert_int_equal(found, LARGE_SLOTS);
    assert_heap_sound(f.heap);
    fixture_close(&f);
  }
}

static void a_copy_of_words_may_overlap(void **state) {
  (void)state;
  fixture f;
  open_for(&f, 2);
  vector *v = cradle_new_array(f.m, T_VECTOR, 100);
  CRADLE_ROOT(f.m, v);
  for (int turn = 0; turn < 2; turn++) {
    for (uint64_t i = 0; i < 100; i++) {
      string *fresh = new_string(f.m, (char)i);
      cradle_store(f.m, v, &v->item[i], fresh);
    }
    cradle_copy_slots(f.m, v, &v->item[turn == 0 ? 10 : 0], &v->item[turn == 0 ? 0 : 10], 90);
    cradle_copy_slots(f.m, v, &v->item[5], &v->item[5], 3);
    cradle_collect(f.m, CRADLE_COLLECT_MINOR);
    for (uint64_t i = 0; i < 90; i++) {
      const string *moved = v->item[turn == 0 ? i + 10 : i];
      assert_int_equal(moved->byte[0], turn == 0 ? i : i + 10);
    }
  }
  fixture_close(&f);
}

/* --- publication --- */

typedef struct publication {
  fixture f;
  vector *box; /* a global root, old */
  int way;
  atomic_bool over;
  atomic_uint seen;
} publication;

static void *read_boxes(void *data) {
  publication *p = data;
  cradle_mutator *m = cradle_mutator_new(p->f.heap);
  const string *last = NULL;
  for (uint64_t i = 0; !atomic_load(&p->over); i++) {
    const string *found = cradle_load_acquire(&p->box->item[0]);
    if (found != NULL && found != last) {
      if (cradle_type_of(found) != T_STRING || found->length != 8 || found->byte[0] != MARK) {
        fprintf(stderr, "an object was seen before it was written\n");
        abort();
      }
      atomic_fetch_add(&p->seen, 1);
    }
    last = found;
    if (i % 64 == 0) cradle_safepoint(m), last = NULL;
  }
  cradle_mutator_free(m);
  return NULL;
}

static void publish(publication *p, uint64_t slots) {
  cradle_mutator *m = p->f.m;
  pthread_t reader;
  p->box = cradle_new_array(m, T_VECTOR, slots);
  assert_true(cradle_global_root_add(p->f.heap, &p->box, CRADLE_KIND_REFERENCE));
  cradle_collect(m, CRADLE_COLLECT_FULL);
  atomic_store(&p->over, false);
  assert_int_equal(pthread_create(&reader, NULL, read_boxes, p), 0);
  unsigned before = atomic_load(&p->seen);
  for (int i = 0; i < 3000 || (atomic_load(&p->seen) < before + 10 && i < 10000000); i++) {
    string *fresh = new_string(m, MARK);
    put(m, p->box, &p->box->item[0], fresh, p->way, false);
    if (i % 64 == 0) CRADLE_PARKED(m) sched_yield();
  }
  atomic_store(&p->over, true);
  CRADLE_PARKED(m) assert_int_equal(pthread_join(reader, NULL), 0);
  assert_true(atomic_load(&p->seen) >= before + 10);
  cradle_global_root_remove(p->f.heap, &p->box);
}

static void a_reader_without_a_lock_sees_whole_objects(void **state) {
  (void)state;
  publication p = {.way = 0};
  cradle_options options;
  fixture_options(&p.f, &options);
  fixture_unstress(&options);
  options.verify = false;
  options.mutators = 2;
  options.reserve_bytes = (size_t)1 << 30;
  fixture_open_with(&p.f, &options);
  for (p.way = 0; p.way < WAYS; p.way++) {
    publish(&p, 1);
    publish(&p, 600);
  }
  fixture_close(&p.f);
}

/* --- a weak set as an intern table --- */

typedef struct table {
  cradle_heap *heap;
  cradle_weak_set *set;
  vector *found; /* a global root: what the threads have got for each key */
  atomic_uint ready;
  atomic_bool failed;
} table;

enum { KEYS = 60 };

/* Takes its time, and is called by one thread at a time, as it runs under the set's lock. */
static bool has_byte(const void *object, const void *key) {
  static atomic_uint callers;
  struct timespec moment = {.tv_nsec = 1000};
  assert_int_equal(atomic_fetch_add(&callers, 1), 0);
  (void)nanosleep(&moment, NULL);
  atomic_fetch_sub(&callers, 1);
  return ((const string *)object)->byte[0] == *(const char *)key;
}

static vector *new_strings(cradle_mutator *m) CRADLE_MAY_COLLECT {
  vector *strings = cradle_new_array(m, T_VECTOR, KEYS);
  CRADLE_ROOT(m, strings);
  for (char key = 1; key <= KEYS; key++) {
    string *fresh = new_string(m, key);
    cradle_store(m, strings, &strings->item[key - 1], fresh);
  }
  return strings;
}

static void *intern_all(void *data) {
  table *t = data;
  cradle_mutator *m = cradle_mutator_new(t->heap);
  vector *mine = new_strings(m);
  cradle_push(m, mine);
  atomic_fetch_add(&t->ready, 1);
  while (atomic_load(&t->ready) < THREADS) cradle_safepoint(m);
  mine = cradle_pop(m);
  for (char key = 1; key <= KEYS; key++) { /* with one hash, so that all collide; nothing here collects */
    const string *got = cradle_weak_set_find_or_add(t->set, 5, has_byte, &key, mine->item[key - 1]);
    void **slot = &t->found->item[key - 1];
    if (!cradle_compare_exchange(m, t->found, slot, NULL, got) && cradle_load_acquire(slot) != got)
      atomic_store(&t->failed, true);
  }
  cradle_mutator_free(m);
  return NULL;
}

static void all_threads_find_one_object(void **state) {
  (void)state;
  fixture f;
  pthread_t threads[THREADS];
  open_for(&f, THREADS + 1);
  table t = {.heap = f.heap, .set = cradle_weak_set_new(f.m, NULL, NULL)};
  t.found = cradle_new_array(f.m, T_VECTOR, KEYS);
  assert_true(cradle_global_root_add(f.heap, &t.found, CRADLE_KIND_REFERENCE));
  for (int i = 0; i < THREADS; i++) assert_int_equal(pthread_create(&threads[i], NULL, intern_all, &t), 0);
  CRADLE_PARKED(f.m) for (int i = 0; i < THREADS; i++) assert_int_equal(pthread_join(threads[i], NULL), 0);
  assert_false(atomic_load(&t.failed));
  assert_int_equal(set_count(t.set), KEYS);
  cradle_global_root_remove(f.heap, &t.found);
  cradle_collect(f.m, CRADLE_COLLECT_FULL);
  assert_int_equal(set_count(t.set), 0);
  cradle_weak_set_free(t.set);
  fixture_close(&f);
}

static void one_mutator_finds_or_adds(void **state) {
  (void)state;
  fixture f;
  open_for(&f, 1);
  cradle_weak_set *set = cradle_weak_set_new(f.m, NULL, NULL);
  string *first = new_string(f.m, 1);
  CRADLE_ROOT(f.m, first);
  string *second = new_string(f.m, 1);
  char key = 1;
  assert_ptr_equal(cradle_weak_set_find_or_add(set, 9, has_byte, &key, first), first);
  assert_ptr_equal(cradle_weak_set_find_or_add(set, 9, has_byte, &key, second), first);
  key = 2;
  assert_null(cradle_weak_set_find(set, 9, has_byte, &key));
  f.armed = true;
  if (setjmp(f.landing) == 0) {
    (void)cradle_weak_set_find_or_add(set, 9, has_byte, &key, NULL);
    fail_msg("not refused");
  }
  assert_non_null(strstr(f.message, "cradle_weak_set_find_or_add: the object is NULL"));
  cradle_weak_set_free(set);
  fixture_close(&f);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(what_is_stored_is_found),     cmocka_unit_test(marking_sees_what_moves),
      cmocka_unit_test(a_copy_of_words_may_overlap), cmocka_unit_test(a_reader_without_a_lock_sees_whole_objects),
      cmocka_unit_test(all_threads_find_one_object), cmocka_unit_test(one_mutator_finds_or_adds),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
