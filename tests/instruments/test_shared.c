/* Tests the instruments on a heap with several mutators: collection that is off, quarantine, stress that is bounded in
 * time, and samples, while threads with lists of their own allocate as fast as they can.
 */
#include "tests/support/heap_fixture.h"

#include <pthread.h>
#include <stdatomic.h>

#include "tests/inside.h"

enum { THREADS = 4, LENGTH = 50, ROUNDS = 400, STALE = 8, SAMPLES_MOST = 20000 };

/* What a thread has allocated, and what its samples stand for. */
typedef struct worker {
  cradle_heap *heap;
  cradle_mutator *m;
  pthread_t thread;
  uint64_t allocated, weight, first_bytes[4];
  size_t samples;
  bool wrong;
  void *stale[STALE]; /* where its objects were before the last collection that it saw */
} worker;

static _Thread_local worker *here;

static void open_shared(fixture *f, cradle_options *options) {
  options->mutators = THREADS + 1;
  options->reserve_bytes = (size_t)1 << 30;
  options->nursery_bytes = options->gc == CRADLE_GC_OFF ? (size_t)64 << 20 : (size_t)512 << 10;
  fixture_open_with(f, options);
}

static void options_of(fixture *f, cradle_options *options) {
  fixture_options(f, options);
  fixture_unstress(options);
}

/* --- threads that allocate --- */

static pair *build(cradle_mutator *m) CRADLE_MAY_COLLECT {
  pair *list = NULL;
  CRADLE_ROOT(m, list);
  for (int i = 0; i < LENGTH; i++) {
    pair *fresh = CRADLE_NEW(m, pair, T_PAIR);
    fresh->rest = list;
    list = fresh;
    here->allocated += sizeof(pair);
  }
  return list;
}

static bool is_whole(const pair *list) {
  int length = 0;
  for (; list != NULL; list = list->rest) length++;
  return length == LENGTH;
}

/* Two lists live; one in ten rounds has a large object, and one room for several small ones. */
static void allocate(worker *w) CRADLE_MAY_COLLECT {
  pair *last = NULL, *list = NULL;
  CRADLE_ROOT(w->m, last);
  CRADLE_ROOT(w->m, list);
  for (int round = 0; round < ROUNDS; round++) {
    last = list;
    list = build(w->m);
    if (round % 10 == 0) {
      w->allocated += 40 << 10;
      w->wrong |= cradle_new_array(w->m, T_STRING, (40 << 10) - 16) == NULL;
    } else if (round % 10 == 1) {
      w->allocated += 512;
      w->wrong |= cradle_reserve(w->m, 512).free == NULL;
    }
    w->wrong |= !is_whole(list) || (round > 0 && !is_whole(last));
  }
}

/* All mutators are there before the first allocates, so each has a local of its own. */
static atomic_int born;

static void *work(void *data) {
  worker *w = here = data;
  w->m = cradle_mutator_new(w->heap);
  (void)atomic_fetch_add(&born, 1);
  while (atomic_load(&born) < THREADS) cradle_safepoint(w->m);
  allocate(w);
  cradle_mutator_free(w->m);
  return NULL;
}

static void run_with(fixture *f, worker *workers, void *(*run)(void *)) {
  atomic_store(&born, 0);
  for (int i = 0; i < THREADS; i++) {
    workers[i] = (worker){.heap = f->heap};
    assert_int_equal(pthread_create(&workers[i].thread, NULL, run, &workers[i]), 0);
  }
  CRADLE_PARKED(f->m) for (int i = 0; i < THREADS; i++) assert_int_equal(pthread_join(workers[i].thread, NULL), 0);
  for (int i = 0; i < THREADS; i++) assert_false(workers[i].wrong);
  assert_heap_sound(f->heap);
}

#define EXPECT_MISUSE(f, call, words) \
  do { \
    (f)->armed = true; \
    (f)->message[0] = '\0'; \
    if (setjmp((f)->landing) == 0) { \
      call; \
      fail_msg("not refused: %s", #call); \
    } \
    if (strstr((f)->message, words) == NULL) fail_msg("another message: %s", (f)->message); \
  } while (0)

/* --- collection off --- */

/* Each of many finds a chunk, although all the others have more room in theirs. */
static void many_mutators_allocate_without_collections(void **state) {
  (void)state;
  enum { MANY = 200 };
  fixture f;
  cradle_options options;
  options_of(&f, &options);
  options.gc = CRADLE_GC_OFF;
  options.nursery_bytes = (size_t)128 << 20;
  options.mutators = MANY;
  options.shadow_stack_bytes = 64 << 10;
  fixture_open_with(&f, &options);
  cradle_mutator *all[MANY] = {f.m};
  for (int i = 0; i < MANY; i++) {
    if (i > 0) all[i] = cradle_mutator_new(f.heap);
    assert_non_null(CRADLE_NEW(all[i], pair, T_PAIR));
    cradle_mutator_detach(all[i]);
  }
  for (int i = 0; i < MANY; i++) cradle_mutator_free(all[i]);
  cradle_heap_free(f.heap);
}

static void threads_allocate_without_collections(void **state) {
  (void)state;
  fixture f;
  worker workers[THREADS];
  cradle_options options;
  cradle_error error;
  options_of(&f, &options);
  options.gc = CRADLE_GC_OFF;
  open_shared(&f, &options);
  for (int i = 0; i < 3; i++) run_with(&f, workers, work); /* mutators take over what others have left */
  assert_int_equal(fixture_stats(&f).minor_collections, 0);
  assert_int_equal(fixture_stats(&f).moved_objects, 0);
  EXPECT_MISUSE(&f, cradle_collect(f.m, CRADLE_COLLECT_MINOR), "collection is off");
  cradle_mutator_free(f.m);
  cradle_heap_free(f.heap);
  options.mutators = 1025;
  assert_null(cradle_heap_new(&options, &error));
  assert_string_equal(error.option, "mutators");
  assert_int_equal(error.accepted, 1024);
}

/* --- quarantine --- */

/* Its objects move in a collection of its own; nobody else's may come in between, so it waits for its turn. */
static pthread_mutex_t one_at_a_time = PTHREAD_MUTEX_INITIALIZER;

static void *leave_stale(void *data) {
  worker *w = here = data;
  w->m = cradle_mutator_new(w->heap);
  {
    pair *list = build(w->m);
    CRADLE_ROOT(w->m, list);
    CRADLE_PARKED(w->m)(void) pthread_mutex_lock(&one_at_a_time);
    list = build(w->m);
    const pair *at = list;
    for (int i = 0; i < STALE; i++, at = at->rest) w->stale[i] = (void *)(uintptr_t)at;
    cradle_collect(w->m, CRADLE_COLLECT_MINOR);
    at = list;
    for (int i = 0; i < STALE; i++, at = at->rest) {
      crd_quarantined found;
      w->wrong |= at == w->stale[i] || !crd_quarantine_find(&w->heap->quarantine, (uintptr_t)w->stale[i], &found) ||
                  found.moved_to != (uintptr_t)at || found.type != T_PAIR;
    }
    (void)pthread_mutex_unlock(&one_at_a_time);
  }
  cradle_mutator_free(w->m);
  return NULL;
}

static void what_any_mutator_has_allocated_is_closed(void **state) {
  (void)state;
  fixture f;
  worker workers[THREADS];
  cradle_options options;
  options_of(&f, &options);
  options.quarantine = 4;
  open_shared(&f, &options);
  run_with(&f, workers, leave_stale);
  run_with(&f, workers, work);
  assert_true(fixture_stats(&f).minor_collections > 4);
  assert_null(crd_quarantine_check(&f.heap->quarantine, &f.heap->space));
  fixture_close(&f);
}

/* --- samples --- */

static pthread_mutex_t calls = PTHREAD_MUTEX_INITIALIZER; /* held in a call: no two come at a time */
static size_t sampled_count, settled_count;
static struct {
  worker *of;
  const void *object;
} shown[SAMPLES_MOST];

static uint64_t on_sampled(void *data, cradle_mutator *mutator, const cradle_sample *sample) {
  (void)data;
  bool alone = pthread_mutex_trylock(&calls) == 0;
  if (!alone || sampled_count == SAMPLES_MOST || here == NULL || here->m != mutator) abort();
  if (here->samples < 4) here->first_bytes[here->samples] = here->allocated;
  here->samples++;
  here->weight += sample->weight_bytes;
  shown[sampled_count].of = here;
  shown[sampled_count].object = sample->object;
  sampled_count++;
  (void)pthread_mutex_unlock(&calls);
  return sampled_count - 1;
}

static void on_settled(void *data, const cradle_sample *sample, cradle_fate fate) {
  (void)data, (void)fate;
  if (pthread_mutex_trylock(&calls) != 0 || shown[sample->tag].object != sample->object) abort();
  settled_count++;
  (void)pthread_mutex_unlock(&calls);
}

enum { INTERVAL = 4 << 10 };

static void sample_with(cradle_options *options) {
  sampled_count = settled_count = 0;
  options->sampler =
      (cradle_sampler){.interval_bytes = INTERVAL, .seed = 3, .sampled = on_sampled, .settled = on_settled};
}

/* The weights of each mutator are its own bytes, but for a stretch at the end. A mutator that comes later goes on in
 * the stretch where the last one with its points has ended. */
static void each_mutator_has_its_samples(void **state) {
  (void)state;
  fixture f;
  worker workers[THREADS];
  cradle_options options;
  options_of(&f, &options);
  options.verify = false;
  sample_with(&options);
  open_shared(&f, &options);
  run_with(&f, workers, work);
  for (int i = 0; i < THREADS; i++) {
    assert_in_range(workers[i].weight, workers[i].allocated - 2 * INTERVAL, workers[i].allocated + 2 * INTERVAL);
    for (int other = 0; other < i; other++) /* another seed */
      assert_memory_not_equal(workers[i].first_bytes, workers[other].first_bytes, sizeof workers[i].first_bytes);
  }
  here = &(worker){.m = f.m};
  fixture_close(&f);
  assert_int_equal(settled_count, sampled_count);
}

static fixture in_call;

static uint64_t use_heap(void *data, cradle_mutator *mutator, const cradle_sample *sample) {
  (void)data, (void)sample;
  cradle_statistics stats;
  cradle_heap_statistics(mutator->heap, &stats, sizeof stats);
  assert_true(stats.allocated_bytes > 0);
  static const char words[] = "called from a sampler's callback";
  EXPECT_MISUSE(&in_call, (void)CRADLE_NEW(mutator, pair, T_PAIR), words);
  return 0;
}

static uint64_t use_whole_heap(void *data, cradle_mutator *mutator, const cradle_sample *sample) {
  (void)data, (void)sample;
  EXPECT_MISUSE(&in_call, (void)cradle_release_memory(mutator->heap), "called from a sampler's callback");
  return 0;
}

static void run_refused(uint64_t (*sampled)(void *, cradle_mutator *, const cradle_sample *)) {
  cradle_options options;
  options_of(&in_call, &options);
  options.verify = false;
  options.sampler = (cradle_sampler){.interval_bytes = 64 << 10, .sampled = sampled};
  open_shared(&in_call, &options);
  for (int i = 0; i < 10000; i++) (void)CRADLE_NEW(in_call.m, pair, T_PAIR);
  assert_true(in_call.message[0] != '\0');
  fixture_close(&in_call);
}

static void a_sampler_does_not_use_the_heap(void **state) {
  (void)state;
  run_refused(use_heap);
  run_refused(use_whole_heap);
}

/* --- stress --- */

static void bounded_stress_has_gaps_for_all(void **state) {
  (void)state;
  fixture f;
  worker workers[THREADS];
  cradle_options options;
  options_of(&f, &options);
  options.stress_period = 3;
  options.stress_seed = 5;
  options.stress_times = 2;
  options.stress_major = 10;
  open_shared(&f, &options);
  cradle_mutator_detach(f.m);
  cradle_mutator *second = cradle_mutator_new(f.heap);
  assert_int_not_equal(f.heap->space.locals.stress.random, f.heap->space.locals.next->stress.random);
  cradle_mutator_free(second);
  cradle_mutator_attach(f.m);
  const crd_stress *stress = &f.heap->stress;
  int runs = 0;
  for (; runs < 50 && (stress->majors == 0 || stress->gaps == 0); runs++) run_with(&f, workers, work);
  assert_true(stress->majors > 0 && stress->gaps > 0);
  assert_true(stress->number <
              (uint64_t)runs * THREADS * ROUNDS * LENGTH); /* so many points, a third of them counted */
  fixture_close(&f);
}

static void all_at_once(void **state) {
  (void)state;
  fixture f;
  worker workers[THREADS];
  cradle_options options;
  options_of(&f, &options);
  options.stress_period = 7;
  options.stress_times = 2;
  options.stress_major = 5;
  options.quarantine = 8;
  sample_with(&options);
  open_shared(&f, &options);
  run_with(&f, workers, work);
  for (int i = 0; i < THREADS; i++)
    assert_in_range(workers[i].weight, workers[i].allocated - 2 * INTERVAL, workers[i].allocated + 2 * INTERVAL);
  here = &(worker){.m = f.m};
  fixture_close(&f);
  assert_int_equal(settled_count, sampled_count);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(many_mutators_allocate_without_collections),
      cmocka_unit_test(threads_allocate_without_collections),
      cmocka_unit_test(what_any_mutator_has_allocated_is_closed),
      cmocka_unit_test(each_mutator_has_its_samples),
      cmocka_unit_test(a_sampler_does_not_use_the_heap),
      cmocka_unit_test(bounded_stress_has_gaps_for_all),
      cmocka_unit_test(all_at_once),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
