/* Tests what a program with several mutators may and may not do: parking, attaching, limits, a mutator that does not
 * come, forks and threads that end. tests/heap/test_world.c has the mutators at work.
 */
#include "tests/support/heap_fixture.h"

#include "tests/inside.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/time.h>
#include <time.h>

enum { REPORT_NS = 5000000, LIST_LENGTH = 1000, LARGE_BYTES = 100000 };

static void open_shared_with(fixture *f, cradle_options *options, uint64_t mutators) {
  fixture_unstress(options);
  options->mutators = mutators;
  options->reserve_bytes = (size_t)1 << 30;
  fixture_open_with(f, options);
}

static void open_shared(fixture *f, uint64_t mutators) {
  cradle_options options;
  fixture_options(f, &options);
  open_shared_with(f, &options, mutators);
}

static pair *new_pair(cradle_mutator *m, pair *first) CRADLE_MAY_COLLECT {
  CRADLE_ROOT(m, first);
  pair *fresh = cradle_new(m, T_PAIR, sizeof(pair));
  fresh->first = first;
  return fresh;
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

/* --- one thread --- */

static void allocation_while_parked_is_misuse(void **state) {
  (void)state;
  fixture f;
  open_shared(&f, 2);
  cradle_mutator_park(f.m);
  EXPECT_MISUSE(&f, (void)cradle_new(f.m, T_PAIR, sizeof(pair)), "the mutator is parked");
  EXPECT_MISUSE(&f, cradle_collect(f.m, CRADLE_COLLECT_MINOR), "the mutator is parked");
  EXPECT_MISUSE(&f, cradle_mutator_park(f.m), "the mutator is parked");
  cradle_mutator_unpark(f.m);
  assert_non_null(cradle_new(f.m, T_PAIR, sizeof(pair)));
  EXPECT_MISUSE(&f, cradle_mutator_unpark(f.m), "has not parked");
  fixture_close(&f);
}

static bool unpark_in_walk(void *data, const cradle_object_info *object) {
  fixture *f = data;
  (void)object;
  EXPECT_MISUSE(f, cradle_mutator_unpark(f->m), "callback of a heap walk");
  return false;
}

static void a_callback_does_not_unpark(void **state) {
  (void)state;
  fixture f;
  open_shared(&f, 2);
  cradle_push(f.m, cradle_new(f.m, T_PAIR, sizeof(pair)));
  cradle_mutator_park(f.m);
  assert_int_equal(cradle_heap_walk(f.heap, unpark_in_walk, &f), CRADLE_WALK_STOPPED);
  cradle_mutator_unpark(f.m);
  cradle_pop(f.m);
  fixture_close(&f);
}

static void a_heap_with_one_mutator_checks_parking_too(void **state) {
  (void)state;
  fixture f;
  fixture_open(&f);
  CRADLE_PARKED(f.m) EXPECT_MISUSE(&f, (void)cradle_new(f.m, T_PAIR, sizeof(pair)), "the mutator is parked");
  assert_non_null(cradle_new(f.m, T_PAIR, sizeof(pair)));
  EXPECT_MISUSE(&f, (void)cradle_mutator_new(f.heap), "its 1 mutator already (options.mutators)");
  fixture_close(&f);
}

static void leave_by_return(cradle_mutator *m) {
  CRADLE_PARKED(m) return;
}

static void a_parked_block_ends_however_it_is_left(void **state) {
  (void)state;
  fixture f;
  open_shared(&f, 2);
  leave_by_return(f.m);
  assert_non_null(cradle_new(f.m, T_PAIR, sizeof(pair)));
  for (int i = 0; i < 3; i++) CRADLE_PARKED(f.m) continue;
  assert_non_null(cradle_new(f.m, T_PAIR, sizeof(pair)));
  fixture_close(&f);
}

/* The collections that an unparking makes under stress. What is not rooted meanwhile is then stale in every run. */
static uint64_t collections_by_unparking(uint64_t mutators, cradle_stress stress_at) {
  fixture f;
  cradle_options options;
  fixture_options(&f, &options);
  fixture_unstress(&options);
  options.mutators = mutators;
  options.stress_period = 1;
  options.stress_at = stress_at;
  fixture_open_with(&f, &options);
  cradle_safepoint(f.m); /* nothing is young */
  pair *kept = new_pair(f.m, NULL), *copy = kept;
  CRADLE_ROOT(f.m, kept);
  uint64_t before = fixture_stats(&f).minor_collections;
  CRADLE_PARKED(f.m) assert_int_equal(fixture_stats(&f).minor_collections, before);
  uint64_t collections = fixture_stats(&f).minor_collections - before;
  assert_int_equal(kept != copy, collections != 0);
  fixture_close(&f);
  return collections;
}

static void unparking_collects_under_stress(void **state) {
  (void)state;
  assert_int_equal(collections_by_unparking(2, CRADLE_STRESS_ANYWHERE), 1);
  assert_int_equal(collections_by_unparking(2, CRADLE_STRESS_SAFEPOINTS), 1);
  assert_int_equal(collections_by_unparking(2, CRADLE_STRESS_ALLOCATIONS), 0);
  assert_int_equal(collections_by_unparking(1, CRADLE_STRESS_ANYWHERE), 0);
}

/* Two that run on one thread would wait for each other. */
static void a_thread_runs_one_mutator_of_a_heap(void **state) {
  (void)state;
  fixture f;
  open_shared(&f, 2);
  EXPECT_MISUSE(&f, (void)cradle_mutator_new(f.heap), "has a mutator of this heap already");
  cradle_mutator_park(f.m);
  cradle_mutator *second = cradle_mutator_new(f.heap);
  assert_non_null(cradle_new(second, T_PAIR, sizeof(pair)));
  EXPECT_MISUSE(&f, cradle_mutator_unpark(f.m), "has a mutator of this heap already");
  EXPECT_MISUSE(&f, (void)cradle_mutator_new(f.heap), "has a mutator of this heap already");
  cradle_mutator_park(second);
  EXPECT_MISUSE(&f, (void)cradle_mutator_new(f.heap), "its 2 mutators already (options.mutators)");
  cradle_mutator_unpark(second);
  cradle_mutator_free(second);
  cradle_mutator_unpark(f.m);
  fixture_close(&f);
}

/* The last of a hundred lists, one after the other. Returns its length. */
static size_t build_list(cradle_mutator *m) CRADLE_MAY_COLLECT {
  pair *list = NULL;
  CRADLE_ROOT(m, list);
  for (int i = 0; i < 100 * LIST_LENGTH; i++) list = new_pair(m, i % LIST_LENGTH == 0 ? NULL : list);
  size_t length = 0;
  for (const pair *p = list; p != NULL; p = p->first) length++;
  return length;
}

static void one_thread_uses_a_shared_heap(void **state) {
  (void)state;
  fixture f;
  open_shared(&f, 4);
  assert_int_equal(build_list(f.m), LIST_LENGTH);
  assert_true(fixture_stats(&f).minor_collections > 10);
  fixture_close(&f);
}

static void too_many_mutators_are_refused(void **state) {
  (void)state;
  fixture f;
  cradle_options options;
  cradle_error error;
  fixture_options(&f, &options);
  fixture_unstress(&options);
  options.mutators = 0;
  assert_null(cradle_heap_new(&options, &error));
  assert_string_equal(error.option, "mutators");
  options.mutators = CRADLE_MUTATORS_MAX + 1;
  assert_null(cradle_heap_new(&options, &error));
  assert_string_equal(error.option, "mutators");
}

/* --- two threads --- */

/* A second thread, which says how far it has come, and waits until it is told. */
typedef struct other {
  cradle_heap *heap;
  cradle_mutator *m, *leader;
  pthread_t thread;
  pair *kept;
  atomic_int at, goal;
} other;

static void reach(other *o, int at) {
  atomic_store(&o->at, at);
}
static void await(atomic_int *word, int least) {
  struct timespec moment = {.tv_nsec = 100000};
  while (atomic_load(word) < least) (void)nanosleep(&moment, NULL);
}

static void start(other *o, cradle_heap *heap, void *(*run)(void *)) {
  *o = (other){.heap = heap};
  assert_int_equal(pthread_create(&o->thread, NULL, run, o), 0);
}
static void join(other *o) {
  assert_int_equal(pthread_join(o->thread, NULL), 0);
}

/* Keeps a pair in a scoped root, and waits parked. */
static void *wait_parked(void *data) {
  other *o = data;
  o->m = cradle_mutator_new(o->heap);
  {
    pair *mine = new_pair(o->m, NULL);
    CRADLE_ROOT(o->m, mine);
    mine->first = mine;
    o->kept = mine;
    CRADLE_PARKED(o->m) {
      reach(o, 1);
      await(&o->goal, 1);
    }
    if (mine->first != mine || mine == o->kept) reach(o, -1); /* it has moved, and so has its slot */
  }
  cradle_mutator_free(o->m);
  return NULL;
}

static void a_collection_does_not_wait_for_the_parked(void **state) {
  (void)state;
  fixture f;
  other o;
  open_shared(&f, 2);
  start(&o, f.heap, wait_parked);
  await(&o.at, 1);
  cradle_collect(f.m, CRADLE_COLLECT_MINOR);
  assert_true(fixture_stats(&f).stops > 0);
  atomic_store(&o.goal, 1);
  CRADLE_PARKED(f.m) join(&o);
  assert_int_equal(atomic_load(&o.at), 1);
  fixture_close(&f);
}

/* Runs without a poll until it is told, and then polls. */
static void *run_deaf(void *data) {
  other *o = data;
  o->m = cradle_mutator_new(o->heap);
  cradle_mutator_name(o->m, "the deaf one, whose name has more bytes than are kept");
  cradle_mutator_name(o->m, "deaf");
  const char *outer = cradle_call_begin("a/path/deaf.c:7", NULL); /* as a call in code compiled with CRADLE_CHECKED */
  cradle_call_end(&outer);
  reach(o, 1);
  while (atomic_load(&o->goal) == 0) continue;
  while (atomic_load(&o->goal) == 1) cradle_safepoint(o->m);
  cradle_mutator_free(o->m);
  return NULL;
}

/* The note comes while the collection waits: it is what lets the other go on. Figures may be read then. */
static void hear_late(void *data, const cradle_event *event) {
  other *o = data;
  if (strstr(event->u.note.text, "a collection waits for the mutator at ") == NULL) return;
  if (strstr(event->u.note.text, " (deaf), of thread ") == NULL) fail_msg("%s: not the name", event->u.note.text);
  if (strstr(event->u.note.text, "; its last call was at a/path/deaf.c:7") == NULL)
    fail_msg("%s: not the place", event->u.note.text);
  o->kept = NULL;
  cradle_statistics stats;
  cradle_heap_statistics(o->heap, &stats, sizeof stats);
  atomic_store(&o->goal, 1);
}

static void a_mutator_that_does_not_come_is_named(void **state) {
  (void)state;
  fixture f = {.listens_to = 0};
  other o;
  cradle_options options;
  fixture_options(&f, &options);
  options.stop_report_ns = REPORT_NS;
  options.listener = (cradle_listener){.function = fixture_listen, .data = &f};
  f.listener = hear_late, f.listener_data = &o, f.listens_to = EVENT_BIT(CRADLE_EVENT_NOTE);
  open_shared_with(&f, &options, 2);
  start(&o, f.heap, run_deaf);
  await(&o.at, 1);
  cradle_collect(f.m, CRADLE_COLLECT_MINOR);
  assert_int_equal(atomic_load(&o.goal), 1);
  assert_true(fixture_stats(&f).stop_max_ns >= REPORT_NS);
  atomic_store(&o.goal, 2);
  CRADLE_PARKED(f.m) join(&o);
  fixture_close(&f);
}

/* Allocates what it says, and then polls. */
static void *allocate_some(void *data) {
  other *o = data;
  o->m = cradle_mutator_new(o->heap);
  for (int i = 0; i < LIST_LENGTH; i++) (void)cradle_new(o->m, T_PAIR, sizeof(pair));
  (void)cradle_new_array(o->m, T_STRING, LARGE_BYTES);
  reach(o, 1);
  while (atomic_load(&o->goal) == 0) cradle_safepoint(o->m);
  cradle_mutator_free(o->m);
  return NULL;
}

static cradle_mutator_figures figures_of(const cradle_mutator *m) {
  cradle_mutator_figures figures;
  cradle_mutator_statistics(m, &figures, sizeof figures);
  return figures;
}

/* Collections change nothing in what was allocated; the mutator that comes next has nothing of the one that went. */
static void each_mutator_has_figures(void **state) {
  (void)state;
  const uint64_t most = LIST_LENGTH * sizeof(pair) + LARGE_BYTES + 100;
  fixture f;
  other o;
  open_shared(&f, 2);
  for (uint64_t i = 0; i < 3; i++) {
    start(&o, f.heap, allocate_some);
    while (atomic_load(&o.at) == 0) cradle_safepoint(f.m);
    uint64_t stops = figures_of(f.m).stops, all = fixture_stats(&f).stops;
    for (int k = 0; k < 10; k++) cradle_collect(f.m, CRADLE_COLLECT_MINOR);
    while (figures_of(o.m).waited_ns == 0) CRADLE_PARKED(f.m)(void) sched_yield();
    cradle_mutator_figures mine = figures_of(f.m), others = figures_of(o.m);
    assert_in_range(others.allocated_bytes, most - 100, most);
    assert_int_equal(others.number, i + 2);
    assert_int_equal(mine.number, 1);
    assert_int_equal(mine.allocated_bytes, 0);
    assert_in_range(mine.stops, stops + 10, fixture_stats(&f).stops);
    assert_true(mine.stops > stops + 10 && fixture_stats(&f).stops - all > 10);
    assert_in_range(mine.stop_ns, 1, fixture_stats(&f).stop_ns);
    assert_in_range(fixture_stats(&f).allocated_bytes, (i + 1) * (most - 100), (i + 1) * most);
    atomic_store(&o.goal, 1);
    CRADLE_PARKED(f.m) join(&o);
  }
  assert_in_range(figures_of(f.m).waited_ns, 0, fixture_stats(&f).wall_ns);
  fixture_close(&f);
}

static void the_only_mutator_has_figures(void **state) {
  (void)state;
  fixture f;
  fixture_open(&f);
  for (uint64_t i = 1; i <= 3; i++) {
    for (int k = 0; k < LIST_LENGTH; k++) (void)cradle_new(f.m, T_PAIR, sizeof(pair));
    (void)cradle_new_array(f.m, T_STRING, LARGE_BYTES);
    assert_in_range(figures_of(f.m).allocated_bytes, LIST_LENGTH * sizeof(pair) + LARGE_BYTES,
                    LIST_LENGTH * sizeof(pair) + LARGE_BYTES + 100);
    assert_int_equal(figures_of(f.m).number, i);
    assert_int_equal(figures_of(f.m).stops + figures_of(f.m).waited_ns, 0);
    cradle_mutator_free(f.m);
    f.m = cradle_mutator_new(f.heap);
  }
  fixture_close(&f);
}

typedef struct begun {
  int minors, majors; /* that were begun by the one that has the name */
} begun;

static void hear_begin(void *data, const cradle_event *event) {
  begun *seen = data;
  if (event->u.begin.mutator == NULL) return;
  assert_string_equal(event->u.begin.mutator, "collector");
  seen->minors += event->kind == CRADLE_EVENT_MINOR_BEGIN;
  seen->majors += event->kind == CRADLE_EVENT_MAJOR_BEGIN;
}

static begun begun_by_collector(uint64_t mutators) {
  begun seen = {0};
  fixture f = {.listens_to = 0};
  cradle_options options;
  fixture_options(&f, &options);
  options.listener = (cradle_listener){.function = fixture_listen, .data = &f};
  f.listener = hear_begin, f.listener_data = &seen;
  f.listens_to = EVENT_BIT(CRADLE_EVENT_MINOR_BEGIN) | EVENT_BIT(CRADLE_EVENT_MAJOR_BEGIN);
  open_shared_with(&f, &options, mutators);
  cradle_mutator_name(f.m, "collector");
  cradle_collect(f.m, CRADLE_COLLECT_FULL);
  f.listens_to = 0;
  fixture_close(&f);
  return seen;
}

static void events_name_who_collects(void **state) {
  (void)state;
  begun of_two = begun_by_collector(2), of_one = begun_by_collector(1);
  assert_true(of_two.minors >= 1 && of_two.majors >= 1);
  assert_true(of_one.minors == 0 && of_one.majors == 0);
}

/* --- turns --- */

static pthread_mutex_t a_lock = PTHREAD_MUTEX_INITIALIZER;

/* Allocates with the lock, until its turn has ended some times. */
static void *allocate_with_lock(void *data) {
  other *o = data;
  o->m = cradle_mutator_new(o->heap);
  (void)pthread_mutex_lock(&a_lock);
  reach(o, 1);
  while (atomic_load(&o->goal) == 0) cradle_safepoint(o->m);
  cradle_mutator_free(o->m);
  return NULL;
}

static void hear_turn(void *data, const cradle_event *event) {
  other *o = data;
  if (strstr(event->u.note.text, "a mutator waits for the turn of the mutator at") == NULL) return;
  /* On a busy machine it may be said before, and of the other thread. It is told to the one that waits. */
  if (atomic_load(&o->at) == 0 || !pthread_equal(o->thread, pthread_self()) || atomic_load(&o->goal) != 0) return;
  atomic_store(&o->goal, 1);
  (void)pthread_mutex_unlock(&a_lock);
}

/* One that waits for the lock without parking has the turn, and the one that has the lock waits for that. */
static void who_keeps_its_turn_is_named(void **state) {
  (void)state;
  fixture f = {.listens_to = 0};
  other o;
  cradle_options options;
  fixture_options(&f, &options);
  fixture_unstress(&options);
  options.stop_report_ns = REPORT_NS;
  options.stress_turns = 3;
  options.listener = (cradle_listener){.function = fixture_listen, .data = &f};
  f.listener = hear_turn, f.listener_data = &o, f.listens_to = EVENT_BIT(CRADLE_EVENT_NOTE);
  open_shared_with(&f, &options, 2);
  start(&o, f.heap, allocate_with_lock);
  while (atomic_load(&o.at) == 0) cradle_safepoint(f.m);
  (void)pthread_mutex_lock(&a_lock);
  assert_int_equal(atomic_load(&o.goal), 1);
  (void)pthread_mutex_unlock(&a_lock);
  CRADLE_PARKED(f.m) join(&o);
  fixture_close(&f);
}

static void turns_are_for_several_mutators(void **state) {
  (void)state;
  fixture f;
  cradle_options options;
  cradle_error error;
  fixture_options(&f, &options);
  fixture_unstress(&options);
  options.stress_turns = 3;
  assert_null(cradle_heap_new(&options, &error));
  assert_string_equal(error.option, "stress_turns");
  options.mutators = 2;
  options.stress_period = 1, options.stress_times = 2;
  assert_null(cradle_heap_new(&options, &error));
  assert_string_equal(error.option, "stress_times");
}

/* A listener that is told of it must not collect: the other mutator runs. */
static void collect_late(void *data, const cradle_event *event) {
  other *o = data;
  if (atomic_load(&o->goal) == 0 && strstr(event->u.note.text, " (deaf), of thread ") != NULL)
    cradle_collect(o->leader, CRADLE_COLLECT_MINOR);
}

static void a_listener_that_is_told_of_it_does_not_collect(void **state) {
  (void)state;
  fixture f = {.listens_to = 0};
  other o;
  cradle_options options;
  fixture_options(&f, &options);
  options.stop_report_ns = REPORT_NS;
  options.listener = (cradle_listener){.function = fixture_listen, .data = &f};
  f.listener = collect_late, f.listener_data = &o, f.listens_to = EVENT_BIT(CRADLE_EVENT_NOTE);
  open_shared_with(&f, &options, 2);
  start(&o, f.heap, run_deaf);
  o.leader = f.m;
  await(&o.at, 1);
  EXPECT_MISUSE(&f, cradle_collect(f.m, CRADLE_COLLECT_MINOR), "called from a listener");
  atomic_store(&o.goal, 2);
  CRADLE_PARKED(f.m) join(&o);
  cradle_collect(f.m, CRADLE_COLLECT_FULL);
  fixture_close(&f);
}

static void *poll_until_told(void *data) {
  other *o = data;
  o->m = cradle_mutator_new(o->heap);
  reach(o, 1);
  while (atomic_load(&o->goal) == 0) cradle_safepoint(o->m);
  cradle_mutator_free(o->m);
  return NULL;
}

static void a_mutator_is_asked_by_another_thread(void **state) {
  (void)state;
  fixture f;
  other o;
  open_shared(&f, 2);
  start(&o, f.heap, poll_until_told);
  await(&o.at, 1);
  uint64_t before = fixture_stats(&f).minor_collections;
  cradle_safepoint_request(o.m);
  while (fixture_stats(&f).minor_collections == before) cradle_safepoint(f.m);
  EXPECT_MISUSE(&f, (void)cradle_new(o.m, T_PAIR, sizeof(pair)), "not attached to the calling thread");
  EXPECT_MISUSE(&f, cradle_mutator_attach(o.m), "attached to a thread already");
  atomic_store(&o.goal, 1);
  CRADLE_PARKED(f.m) join(&o);
  fixture_close(&f);
}

/* --- the program's own stops --- */

static void *count_polls(void *data) {
  other *o = data;
  o->m = cradle_mutator_new(o->heap);
  while (atomic_load(&o->goal) == 0) {
    (void)new_pair(o->m, NULL);
    atomic_fetch_add(&o->at, 1);
  }
  cradle_mutator_free(o->m);
  return NULL;
}

typedef struct stopped {
  fixture *f;
  other *o;
  pair *kept;
  uint64_t objects;
  int calls;
} stopped;

static bool count_walked(void *data, const cradle_object_info *object) {
  (void)object;
  ++*(uint64_t *)data;
  return true;
}

static void look_around(void *data) {
  stopped *s = data;
  struct timespec moment = {.tv_nsec = 2000000};
  int before = s->o == NULL ? 0 : atomic_load(&s->o->at);
  cradle_store(s->f->m, s->kept, &s->kept->rest, s->kept);
  (void)cradle_heap_walk(s->f->heap, count_walked, &s->objects);
  (void)fixture_stats(s->f);
  if (s->o != NULL) {
    (void)nanosleep(&moment, NULL);
    assert_int_equal(atomic_load(&s->o->at), before);
  }
  s->calls++;
}

static void a_program_stops_all_others(void **state) {
  (void)state;
  fixture f;
  other o;
  open_shared(&f, 2);
  start(&o, f.heap, count_polls);
  pair *kept = new_pair(f.m, NULL);
  CRADLE_ROOT(f.m, kept);
  stopped s = {.f = &f, .o = &o};
  for (int i = 1; i <= 10; i++) {
    CRADLE_PARKED(f.m) await(&o.at, i * 100);
    s.kept = kept;
    cradle_stopped_call(f.m, look_around, &s);
    kept = new_pair(f.m, kept);
  }
  assert_int_equal(s.calls, 10);
  assert_true(s.objects >= 10);
  atomic_store(&o.goal, 1);
  CRADLE_PARKED(f.m) join(&o);
  fixture_close(&f);
}

static void allocate_in_stop(void *data) {
  (void)new_pair(data, NULL);
}
static void stop_in_stop(void *data) {
  cradle_stopped_call(data, allocate_in_stop, data);
}

static void nothing_collects_in_a_stop(void **state) {
  (void)state;
  for (uint64_t mutators = 1; mutators <= 2; mutators++) {
    fixture f;
    open_shared(&f, mutators);
    pair *kept = new_pair(f.m, NULL);
    CRADLE_ROOT(f.m, kept);
    f.checkpoint = cradle_checkpoint_save(f.m);
    EXPECT_MISUSE(&f, cradle_stopped_call(f.m, allocate_in_stop, f.m), "no-collection region");
    cradle_checkpoint_restore(f.m, &f.checkpoint);
    EXPECT_MISUSE(&f, cradle_stopped_call(f.m, stop_in_stop, f.m), "cradle_stopped_call: may collect");
    cradle_checkpoint_restore(f.m, &f.checkpoint);
    stopped s = {.f = &f, .kept = kept};
    cradle_stopped_call(f.m, look_around, &s);
    assert_int_equal(s.calls, 1);
    cradle_collect(f.m, CRADLE_COLLECT_FULL);
    assert_ptr_equal(kept->rest, kept);
    fixture_close(&f);
  }
}

/* Leaves the mutator attached, with a word on its shadow stack and an open scope. */
static void *end_attached(void *data) {
  other *o = data;
  o->m = cradle_mutator_new(o->heap);
  cradle_push(o->m, new_pair(o->m, NULL));
  reach(o, 1);
  return NULL;
}

static void a_thread_may_end_without_a_word(void **state) {
  (void)state;
  fixture f;
  other o;
  open_shared(&f, 2);
  start(&o, f.heap, end_attached);
  CRADLE_PARKED(f.m) join(&o);
  cradle_collect(f.m, CRADLE_COLLECT_FULL);
  assert_heap_sound(f.heap);
  cradle_mutator_park(f.m);
  cradle_mutator_attach(o.m);
  assert_int_equal(cradle_type_of(*(pair **)(void *)cradle_peek(o.m, 0)), T_PAIR);
  cradle_pop(o.m);
  cradle_mutator_free(o.m);
  cradle_mutator_unpark(f.m);
  fixture_close(&f);
}

/* In the child the other thread's mutator is as if its thread had ended. */
static void use_in_child(fixture *f, other *o) {
  cradle_error error;
  for (int i = 0; i < 10000; i++) (void)cradle_new(f->m, T_PAIR, sizeof(pair));
  cradle_collect(f->m, CRADLE_COLLECT_FULL);
  if (!cradle_heap_verify(f->heap, &error)) _exit(2);
  cradle_mutator_park(f->m);
  cradle_mutator_free(o->m);
  cradle_mutator_unpark(f->m);
  cradle_mutator_free(f->m);
  cradle_heap_free(f->heap);
  _exit(0);
}

static void a_child_of_a_fork_has_one_mutator(void **state) {
  (void)state;
  fixture f;
  other o;
  cradle_error error;
  open_shared(&f, 2);
  start(&o, f.heap, poll_until_told);
  await(&o.at, 1);
  assert_true(cradle_fork_prepare(f.heap, &error));
  pid_t child = fork();
  cradle_fork_done(f.heap);
  if (child == 0) use_in_child(&f, &o);
  int status = -1;
  CRADLE_PARKED(f.m) assert_int_equal(waitpid(child, &status, 0), child);
  assert_int_equal(status, 0);
  cradle_collect(f.m, CRADLE_COLLECT_MINOR);
  atomic_store(&o.goal, 1);
  CRADLE_PARKED(f.m) join(&o);
  fixture_close(&f);
}

/* --- hostility --- */

static void *allocate_until_told(void *data) {
  other *o = data;
  o->m = cradle_mutator_new(o->heap);
  {
    pair *list = NULL;
    CRADLE_ROOT(o->m, list);
    for (int i = 0; atomic_load(&o->goal) == 0; i++) {
      list = i % LIST_LENGTH == 0 ? NULL : list;
      list = new_pair(o->m, list);
      reach(o, 1);
    }
  }
  cradle_mutator_free(o->m);
  return NULL;
}

/* The mutator stays parked, which the next call says. */
static void a_parked_block_left_by_longjmp_stays_parked(void **state) {
  (void)state;
  fixture f;
  jmp_buf out;
  open_shared(&f, 2);
  if (setjmp(out) == 0) {
    cradle_mutator_park(f.m);
    longjmp(out, 1);
  }
  EXPECT_MISUSE(&f, (void)cradle_new(f.m, T_PAIR, sizeof(pair)), "the mutator is parked");
  cradle_mutator_unpark(f.m);
  assert_non_null(cradle_new(f.m, T_PAIR, sizeof(pair)));
  fixture_close(&f);
}

static cradle_mutator *asked;
static atomic_int asked_count;

static void ask(int number) {
  (void)number;
  cradle_safepoint_request(asked);
  (void)atomic_fetch_add(&asked_count, 1);
}

/* Signals come while mutators stop, stand and go on; each handler asks for a collection. */
static void signals_come_during_stops(void **state) {
  (void)state;
  fixture f;
  other o;
  struct sigaction action = {.sa_handler = ask, .sa_flags = SA_RESTART}, before;
  struct itimerval often = {.it_interval = {.tv_usec = 200}, .it_value = {.tv_usec = 200}}, never = {.it_value = {0}};
  cradle_options options;
  fixture_options(&f, &options);
  options.verify = false; /* each signal asks for a collection */
  open_shared_with(&f, &options, 2);
  asked = f.m;
  assert_int_equal(sigaction(SIGALRM, &action, &before), 0);
  start(&o, f.heap, allocate_until_told);
  assert_int_equal(setitimer(ITIMER_REAL, &often, NULL), 0);
  while (atomic_load(&asked_count) < 50) cradle_collect(f.m, CRADLE_COLLECT_MINOR);
  assert_int_equal(setitimer(ITIMER_REAL, &never, NULL), 0);
  assert_int_equal(sigaction(SIGALRM, &before, NULL), 0);
  atomic_store(&o.goal, 1);
  CRADLE_PARKED(f.m) join(&o);
  fixture_close(&f);
}

static cradle_heap *ended;

/* In an exit handler figures may be read, although the other thread runs on. */
static void read_at_exit(void) {
  cradle_statistics stats;
  cradle_heap_statistics(ended, &stats, sizeof stats);
  if (stats.stops == 0) _exit(3);
}

static void the_program_exits_while_others_run(void **state) {
  (void)state;
  (void)fflush(NULL);
  pid_t child = fork();
  assert_true(child >= 0);
  if (child == 0) { /* a heap of its own */
    fixture f;
    other o;
    open_shared(&f, 2);
    ended = f.heap;
    start(&o, f.heap, allocate_until_told);
    while (atomic_load(&o.at) == 0) cradle_safepoint(f.m);
    cradle_collect(f.m, CRADLE_COLLECT_MINOR);
    if (atexit(read_at_exit) != 0) _exit(2);
    exit(0);
  }
  int status = 0;
  assert_true(waitpid(child, &status, 0) == child);
  assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

/* A plain fork: the child may end or become another program, whatever the other threads do. */
static void the_child_of_a_plain_fork_ends(void **state) {
  (void)state;
  fixture f;
  other o;
  open_shared(&f, 2);
  start(&o, f.heap, allocate_until_told);
  while (atomic_load(&o.at) == 0) cradle_safepoint(f.m);
  for (int i = 0; i < 4; i++) {
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
      if (i % 2 == 0) _exit(7);
      (void)execl("/bin/sh", "sh", "-c", "exit 7", (char *)NULL);
      _exit(1);
    }
    int status = 0;
    while (waitpid(child, &status, WNOHANG) == 0) cradle_safepoint(f.m);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 7);
  }
  atomic_store(&o.goal, 1);
  CRADLE_PARKED(f.m) join(&o);
  fixture_close(&f);
}

static void *collect_once(void *data) {
  other *o = data;
  o->m = cradle_mutator_new(o->heap);
  reach(o, 1);
  cradle_collect(o->m, CRADLE_COLLECT_MINOR);
  cradle_mutator_free(o->m);
  return NULL;
}

/* How the child uses the heap. */
static void allocate_much(fixture *f) {
  for (int i = 0; i < 1000000; i++) (void)cradle_new(f->m, T_PAIR, sizeof(pair));
}
static void poll_much(fixture *f) {
  for (int i = 0; i < 100; i++) cradle_safepoint(f->m);
}
static void allocate_large(fixture *f) {
  (void)cradle_new_array(f->m, T_STRING, 100000);
}
static void collect_now(fixture *f) {
  cradle_collect(f->m, CRADLE_COLLECT_MINOR);
}
static void make_mutator(fixture *f) {
  cradle_mutator_detach(f->m);
  (void)cradle_mutator_new(f->heap);
}
static void unpark_twice(fixture *f) {
  CRADLE_PARKED(f->m)(void) f;
  collect_now(f);
}
static void say_done(fixture *f) {
  cradle_fork_done(f->heap);
}

/* The other thread has parked, sleeps until this one stands, or looks whether it does. */
typedef enum moment { PARKED, SLEEPS, LOOKS, MOMENTS } moment;

static void use_after_plain_fork(fixture *f, moment moment, void (*use)(fixture *f)) {
  alarm(60);
  if (moment == LOOKS) f->heap->space.world->is_awaited = 0;
  EXPECT_MISUSE(f, use(f), use == say_done ? "without cradle_fork_prepare" : "or only exec or _exit in the child");
  _exit(7);
}

/* The process forks with the gate's lock, which nobody lets go in the child. */
static void expect_misuse_in_child(fixture *f, moment moment, void (*use)(fixture *f)) {
  crd_gate *gate = f->heap->space.world->gate;
  int status = 0;
  crd_gate_lock(gate);
  pid_t child = fork();
  if (child == 0) use_after_plain_fork(f, moment, use);
  crd_gate_unlock(gate);
  while (waitpid(child, &status, WNOHANG) == 0) continue; /* without a safepoint: the other thread still waits */
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 7) fail_msg("the child ended with %d", status);
}

/* The child uses the heap, whatever another thread does as the process forks. */
static void the_child_of_a_plain_fork_is_refused(void **state) {
  void (*const uses[])(fixture *) = {allocate_much, allocate_large, collect_now, make_mutator, unpark_twice, say_done};
  (void)state;
  for (size_t i = 0; i < MOMENTS * sizeof uses / sizeof *uses; i++) {
    fixture f;
    other o;
    moment moment = (enum moment)(i % MOMENTS);
    open_shared(&f, 3);
    start(&o, f.heap, moment == PARKED ? wait_parked : collect_once);
    await(&o.at, 1);
    while (moment != PARKED && __atomic_load_n(&f.heap->space.world->is_awaited, __ATOMIC_SEQ_CST) == 0) continue;
    expect_misuse_in_child(&f, moment, uses[i / MOMENTS]);
    atomic_store(&o.goal, 1);
    CRADLE_PARKED(f.m) join(&o);
    fixture_close(&f);
  }
}

/* With turns, the other thread waits for its turn. */
static void the_child_takes_no_turns(void **state) {
  void (*const uses[])(fixture *) = {poll_much, unpark_twice, make_mutator};
  (void)state;
  for (size_t i = 0; i < sizeof uses / sizeof *uses; i++) {
    fixture f;
    other o;
    cradle_options options;
    fixture_options(&f, &options);
    fixture_unstress(&options);
    options.stress_turns = 3;
    options.stop_report_ns = 0; /* or whoever waits for a second would be told */
    open_shared_with(&f, &options, 3);
    start(&o, f.heap, poll_until_told);
    while (atomic_load(&o.at) == 0) cradle_safepoint(f.m);
    expect_misuse_in_child(&f, PARKED, uses[i]);
    atomic_store(&o.goal, 1);
    CRADLE_PARKED(f.m) join(&o);
    fixture_close(&f);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_child_takes_no_turns),
      cmocka_unit_test(the_child_of_a_plain_fork_is_refused),
      cmocka_unit_test(allocation_while_parked_is_misuse),
      cmocka_unit_test(a_callback_does_not_unpark),
      cmocka_unit_test(a_heap_with_one_mutator_checks_parking_too),
      cmocka_unit_test(a_parked_block_ends_however_it_is_left),
      cmocka_unit_test(unparking_collects_under_stress),
      cmocka_unit_test(a_thread_runs_one_mutator_of_a_heap),
      cmocka_unit_test(one_thread_uses_a_shared_heap),
      cmocka_unit_test(too_many_mutators_are_refused),
      cmocka_unit_test(a_collection_does_not_wait_for_the_parked),
      cmocka_unit_test(a_mutator_that_does_not_come_is_named),
      cmocka_unit_test(each_mutator_has_figures),
      cmocka_unit_test(the_only_mutator_has_figures),
      cmocka_unit_test(events_name_who_collects),
      cmocka_unit_test(who_keeps_its_turn_is_named),
      cmocka_unit_test(a_parked_block_left_by_longjmp_stays_parked),
      cmocka_unit_test(signals_come_during_stops),
      cmocka_unit_test(the_program_exits_while_others_run),
      cmocka_unit_test(the_child_of_a_plain_fork_ends),
      cmocka_unit_test(turns_are_for_several_mutators),
      cmocka_unit_test(a_listener_that_is_told_of_it_does_not_collect),
      cmocka_unit_test(a_mutator_is_asked_by_another_thread),
      cmocka_unit_test(a_program_stops_all_others),
      cmocka_unit_test(nothing_collects_in_a_stop),
      cmocka_unit_test(a_thread_may_end_without_a_word),
      cmocka_unit_test(a_child_of_a_fork_has_one_mutator),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
