/* Tests the kit with several threads: each has a kit of its own, all intern in one table, and lists and maps are
 * behind the program's lock. Built with ThreadSanitizer, it shows what needs no lock. */
#include "tests/kit/kit_fixture.h"

#include <pthread.h>
#include <stdatomic.h>

enum { THREADS = 4, NAMES = 200, ROUNDS = 20 };

typedef struct shared {
  kit_fixture k; /* main's */
  cradle_weak_set *symbols;
  cradle_kit_array *met; /* global roots: the first symbol of each name, */
  cradle_kit_list *list;
  cradle_kit_map *map;
  cradle_kit_string *text;
  pthread_mutex_t lock; /* of the list and the map */
  atomic_uint ready;
  atomic_int failures;
} shared;

static void take_lock(cradle_mutator *m, pthread_mutex_t *lock) CRADLE_MAY_COLLECT {
  if (pthread_mutex_trylock(lock) == 0) return;
  CRADLE_PARKED(m)(void) pthread_mutex_lock(lock);
}

static cradle_value word(const shared *s, const void *object) {
  return reference(&s->k, object);
}

/* A name lies in a slot once it is known, and is the same for all as long as it is there. */
static void meet(shared *s, const cradle_kit *kit, uint64_t number) CRADLE_MAY_COLLECT {
  char name[16];
  int length = snprintf(name, sizeof name, "name %d", (int)number);
  const cradle_kit_symbol *symbol;
  if (number % 2 == 0)
    symbol = cradle_kit_intern(kit, s->symbols, name, (size_t)length);
  else
    symbol = cradle_kit_intern_string(kit, s->symbols, cradle_kit_string_new(kit, name, (size_t)length));
  cradle_word *slot = &s->met->items[number];
  if (!cradle_compare_exchange_value(kit->mutator, s->met, slot, 0, word(s, symbol)) &&
      cradle_load_acquire_value(slot) != word(s, symbol))
    atomic_fetch_add(&s->failures, 1);
}

static void add_to_both(shared *s, const cradle_kit *kit, uint64_t number) CRADLE_MAY_COLLECT {
  take_lock(kit->mutator, &s->lock);
  bool done = cradle_kit_list_append(kit, s->list, cradle_load_acquire_value(&s->met->items[number]));
  cradle_value key = cradle_load_acquire_value(&s->met->items[number]), count = cradle_kit_map_get(kit, s->map, key, 1);
  done = done && cradle_kit_map_set(kit, s->map, key, count + 8);
  if (!done) atomic_fetch_add(&s->failures, 1);
  (void)pthread_mutex_unlock(&s->lock);
}

static void *live(void *data) {
  shared *s = data;
  cradle_kit kit;
  cradle_kit_init(&kit, cradle_mutator_new(s->k.f.heap), s->k.kit.first_type);
  atomic_fetch_add(&s->ready, 1);
  while (atomic_load(&s->ready) < THREADS) cradle_safepoint(kit.mutator);
  for (int round = 0; round < times(&s->k, ROUNDS); round++)
    for (uint64_t number = 0; number < NAMES; number++) {
      if (cradle_kit_string_hash(s->text) != cradle_kit_hash_identity(&kit, word(s, s->text)))
        atomic_fetch_add(&s->failures, 1);
      meet(s, &kit, number);
      add_to_both(s, &kit, number);
    }
  cradle_mutator_free(kit.mutator);
  return NULL;
}

static void open_shared(shared *s, int which) {
  cradle_options options;
  fixture_options(&s->k.f, &options);
  options.encoding = encoding_of(which);
  options.shadow_stack = CRADLE_KIND_VALUE;
  options.mutators = THREADS + 1;
  options.verify = false;
  options.reserve_bytes = (size_t)1 << 30;
  fixture_open_with(&s->k.f, &options);
  const cradle_kit *kit = &s->k.kit;
  cradle_kit_init(&s->k.kit, s->k.f.m, cradle_kit_add_types(s->k.f.heap));
  s->symbols = new_symbols(&s->k, NULL);
  void *variables[] = {&s->met, &s->list, &s->map, &s->text};
  for (size_t i = 0; i < sizeof variables / sizeof *variables; i++)
    assert_true(cradle_global_root_add(s->k.f.heap, variables[i], CRADLE_KIND_REFERENCE));
  s->met = cradle_kit_array_new(kit, NAMES);
  s->list = cradle_kit_list_new(kit, 0);
  s->map = cradle_kit_map_new(kit, NULL);
  s->text = cradle_kit_string_new(kit, "a text", 6);
  (void)pthread_mutex_init(&s->lock, NULL);
}

static void compare(const shared *s) {
  uint64_t each = (uint64_t)(THREADS * times(&s->k, ROUNDS));
  assert_int_equal(atomic_load(&s->failures), 0);
  assert_int_equal(set_count(s->symbols), NAMES);
  assert_int_equal(s->list->length, each * NAMES);
  assert_int_equal(s->map->count, NAMES);
  for (uint64_t i = 0; i < NAMES; i++)
    assert_int_equal(cradle_kit_map_get(&s->k.kit, s->map, s->met->items[i], 0), each * 8 + 1);
}

static void threads_share_what_they_make(void **state) {
  (void)state;
  for (int which = 0; which < ENCODINGS; which += 2) { /* the map holds numbers, so it needs immediates */
    shared s = {.symbols = NULL};
    pthread_t threads[THREADS];
    open_shared(&s, which);
    for (int i = 0; i < THREADS; i++) assert_int_equal(pthread_create(&threads[i], NULL, live, &s), 0);
    CRADLE_PARKED(s.k.f.m) for (int i = 0; i < THREADS; i++) assert_int_equal(pthread_join(threads[i], NULL), 0);
    compare(&s);
    assert_heap_sound(s.k.f.heap);
    cradle_weak_set_free(s.symbols);
    fixture_close(&s.k.f);
    (void)pthread_mutex_destroy(&s.lock);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(threads_share_what_they_make)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
