/* Tests the mutator's side of the second core (gc/old/marker.h) with a thread that the test plays: this file replaces
 * the functions of gc/platform/thread.h. So it is the test that says when the thread goes and how far it comes, and all
 * figures are exact. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <unistd.h>

#ifdef __linux__
#include <sys/resource.h>
#endif

#include <cradle/cradle.h>

#include "tests/inside.h"

/* --- the thread --- */

struct crd_thread {
  void (*run)(crd_thread *self, void *data);
  void *data;
};
static crd_thread thread;
static bool refused, elsewhere; /* the system makes none; the process came out of a fork */
static bool runs;               /* the thread does, and not the mutator */
static jmp_buf asleep;
static uint32_t made, joined, forgotten, others;   /* threads; other heaps have so many */
static uint32_t offers, calls, waits, asked_where; /* of the mutator */
static uint64_t waited_ns;
static bool is_quick;    /* the thread takes each round as soon as it is offered */
static bool is_diligent; /* before the thread ends a round, it marks everything that is on the stack */

static uint32_t refused_helpers; /* the test plays no other thread */

crd_thread *crd_thread_new(const char *name, void (*run)(crd_thread *self, void *data), void *data) {
  if (strcmp(name, "cradle-helper") == 0) return refused_helpers++, NULL;
  assert_string_equal(name, "cradle-marker");
  if (refused) return NULL;
  made++;
  thread = (crd_thread){run, data};
  return &thread;
}

bool crd_thread_is_here(const crd_thread *asked) {
  assert_ptr_equal(asked, &thread);
  asked_where++;
  return !elsewhere;
}

void crd_thread_forget(crd_thread *gone) {
  assert_ptr_equal(gone, &thread);
  assert_true(elsewhere);
  forgotten++;
}

void crd_thread_yield(void) {}

/* No thread of this test ends with a mutator. */
void *crd_thread_left(void) {
  return NULL;
}
void crd_thread_leave(void *left, void (*ended)(void *left)) {
  (void)left, (void)ended;
}

uint64_t crd_thread_id(void) {
  return 1;
}
bool crd_thread_activity(uint64_t id, char activity[THREAD_ACTIVITY_BYTES]) {
  (void)id;
  (void)activity;
  return false;
}
uint32_t crd_thread_count(void) {
  return made - joined - forgotten + others;
}

void crd_thread_set(crd_thread *set, uint32_t *word, uint32_t value) {
  assert_ptr_equal(set, &thread);
  if (!runs) offers += value == ROUND_OFFERED, calls += value == ROUND_CALLED;
  __atomic_store_n(word, !runs && is_quick && value == ROUND_OFFERED ? ROUND_TAKEN : value, __ATOMIC_RELEASE);
}

static crd_marker *marker_of_thread(void) {
  return &((crd_marking *)thread.data)->marker;
}

/* The thread does what there is to do, and sleeps; or returns. */
static bool thread_returns(void) {
  runs = true;
  if (setjmp(asleep) == 0) {
    thread.run(&thread, thread.data);
    runs = false;
    return true;
  }
  runs = false;
  return false;
}
static void thread_goes(void) {
  assert_false(thread_returns());
}

/* The thread takes the round that was offered, and has no time to do more. */
static void thread_takes(void) {
  assert_int_equal(rounds_take(&marker_of_thread()->word), ROUND_TAKEN);
}
static void thread_ends_round(void) {
  runs = true;
  if (is_diligent) marker_of_thread()->word = ROUND_TAKEN;
  crd_marker_work_as(thread.data, 0);
  crd_thread_set(&thread, &marker_of_thread()->word, ROUND_IDLE);
  runs = false;
}

void crd_thread_join(crd_thread *ended) {
  assert_ptr_equal(ended, &thread);
  assert_int_equal(marker_of_thread()->word, ROUND_END);
  assert_true(thread_returns());
  joined++;
}

/* Of the thread: it sleeps. Of the mutator: it sleeps until the thread has ended its round. */
void crd_thread_wait(crd_thread *waited, const uint32_t *word, uint32_t value) {
  assert_ptr_equal(waited, &thread);
  if (*word != value) return;
  if (runs) longjmp(asleep, 1);
  assert_int_equal(value, ROUND_ASKED);
  uint64_t begin = crd_platform_now_ns();
  waits++;
  thread_ends_round();
  while (crd_platform_now_ns() == begin) continue;
  waited_ns += crd_platform_now_ns() - begin;
  assert_int_not_equal(*word, value);
}

/* --- the heap --- */

#define CHAIN 3000
typedef struct cell {
  uint64_t header;
  struct cell *next, *other;
} cell;
static void trace_next(void *user, void *traced, cradle_visitor *visitor);
typedef struct array {
  uint64_t header, length;
  cell *item[];
} array;
enum { T_CELL, T_TRACED, T_ARRAY, T_COUNT };
static const cradle_type types[T_COUNT] = {
    {.name = "cell", .size = sizeof(cell), .references = CRADLE_SLOT(cell, next) | CRADLE_SLOT(cell, other)},
    {.name = "traced", .size = sizeof(cell), .trace = trace_next},
    {.name = "array",
     .size = sizeof(array),
     .items = CRADLE_ITEMS_REFERENCES,
     .item_size = 8,
     .length_offset = offsetof(array, length)}};

static cradle_heap *heap;
static crd_marker *marker(void) {
  return inside_marker(heap);
}
static cradle_mutator *m;
static cell *chain, *hidden;
static array *large; /* its slots are recorded, as often as they are stored into */
static cradle_event beside;
static int besides, notes;
static cradle_event note; /* the last one about the thread */
static int in_walks;      /* calls of trace_next by a walk over all old objects */
static int in_rounds;     /* how many of these while a round went on */

static void trace_next(void *user, void *traced, cradle_visitor *visitor) {
  (void)user;
  cradle_visit(visitor, &((cell *)traced)->next, CRADLE_KIND_REFERENCE);
  if (heap->young.remember_all) in_walks++, in_rounds += marker()->going;
}

static void listen(void *data, const cradle_event *event) {
  (void)data;
  if (event->kind == CRADLE_EVENT_BESIDE) beside = *event, besides++;
  if (event->kind == CRADLE_EVENT_NOTE && strstr(event->u.note.text, "thread") != NULL) note = *event, notes++;
}

static int open_with(uint32_t threads) {
  cradle_options options;
  const cradle_hardware hardware = {.page_bytes = (size_t)sysconf(_SC_PAGESIZE),
                                    .l2_bytes = (size_t)1 << 20,
                                    .memory_bytes = (size_t)1 << 32,
                                    .processors = 4};
  cradle_options_init(&options);
  options.types = types;
  options.type_count = T_COUNT;
  options.nursery_bytes = (size_t)1 << 20;
  options.gc_threads = threads;
  options.hardware = &hardware;
  options.listener = (cradle_listener){listen, NULL};
  refused = elsewhere = runs = is_quick = is_diligent = false;
  waited_ns = 0;
  made = joined = forgotten = others = offers = calls = waits = refused_helpers = 0;
  besides = notes = 0;
  heap = cradle_heap_new(&options, NULL);
  m = heap == NULL ? NULL : cradle_mutator_new(heap);
  if (m == NULL) return 1;
  cradle_global_root_add(heap, &chain, CRADLE_KIND_REFERENCE);
  cradle_global_root_add(heap, &hidden, CRADLE_KIND_REFERENCE);
  cradle_global_root_add(heap, &large, CRADLE_KIND_REFERENCE);
  for (int i = 0; i < CHAIN; i++) {
    cell *next = cradle_new(m, T_CELL, sizeof(cell));
    next->next = chain;
    chain = next;
  }
  hidden = cradle_new(m, T_CELL, sizeof(cell));
  hidden->next = cradle_new(m, T_CELL, sizeof(cell));
  cradle_collect(m, CRADLE_COLLECT_FULL);
  return 0;
}
static int open_heap(void **state) {
  (void)state;
  return open_with(1);
}
static int open_without(void **state) {
  (void)state;
  return open_with(0);
}
static int open_three(void **state) {
  (void)state;
  return open_with(3);
}
static int open_auto(void **state) {
  (void)state;
  return open_with(CRADLE_GC_THREADS_AUTO);
}

static int close_heap(void **state) {
  (void)state;
  elsewhere = false;
  chain = hidden = NULL;
  large = NULL;
  cradle_mutator_free(m);
  cradle_heap_free(heap);
  return crd_thread_count() == others ? 0 : 1;
}

static bool is_marked(const void *object) {
  return old_is_marked(inside_old(heap), address_of(object));
}
static cradle_statistics figures(void) {
  cradle_statistics now;
  cradle_heap_statistics(heap, &now, sizeof now);
  return now;
}

/* Begins a major collection: one increment has marked a little, and a round is offered. What hidden referred to is
 * white. */
static cell *begin(void) {
  cell *white = hidden;
  hidden = NULL;
  if (inside_major(heap)->phase != MAJOR_IDLE) cradle_collect(m, CRADLE_COLLECT_MAJOR);
  offers = 0;
  assert_false(cradle_collect_step(m, 0));
  assert_int_equal(inside_major(heap)->phase, MAJOR_MARKING);
  assert_in_range(inside_major(heap)->objects, 1, CHAIN / 2);
  assert_true(marker()->going && inside_old(heap)->marked_beside);
  assert_int_equal(marker()->word, ROUND_OFFERED);
  assert_int_equal(offers, 1);
  assert_int_equal(marker()->arenas_bytes, inside_old(heap)->arenas.committed_end * ARENA_BYTES);
  assert_false(is_marked(white));
  return white;
}

static void end_collection(uint64_t freed) {
  cradle_error error;
  while (inside_major(heap)->phase != MAJOR_IDLE) (void)cradle_collect_step(m, UINT64_MAX);
  assert_int_equal(inside_major(heap)->swept.freed_objects, freed);
  if (!cradle_heap_verify(heap, &error)) fail_msg("%s", error.message);
}

/* --- rounds and their figures --- */

static void a_round_that_was_not_begun_is_taken_back(void **state) {
  (void)state;
  (void)begin();
  for (int i = 0; i < 3; i++) {
    uint64_t objects = inside_major(heap)->objects, bytes = inside_major(heap)->bytes;
    assert_true(crd_marker_stop(&heap->marking));
    assert_false(marker()->going || inside_old(heap)->marked_beside);
    assert_int_equal(marker()->word, ROUND_IDLE);
    assert_int_equal(inside_major(heap)->objects, objects);
    assert_int_equal(inside_major(heap)->bytes, bytes);
    assert_false(crd_marker_stop(&heap->marking));
    crd_marker_go_on(&heap->marking);
    assert_int_equal(marker()->word, ROUND_OFFERED);
  }
  assert_int_equal(waits, 0);
  end_collection(2);
  cradle_statistics now = figures();
  assert_int_equal(now.beside_objects, 0);
  assert_int_equal(now.beside_stops, 0);
  assert_int_equal(now.beside_stop_max_ns, 0);
  assert_int_equal(besides, 0);
}

static void what_the_thread_did_is_counted_at_the_next_pause(void **state) {
  (void)state;
  (void)begin();
  uint64_t before = crd_platform_now_ns(), objects = inside_major(heap)->objects, bytes = inside_major(heap)->bytes;
  thread_goes();
  assert_int_equal(marker()->word, ROUND_IDLE);
  assert_true(marker()->going);
  uint64_t did = marker()->first.work.objects, did_bytes = marker()->first.work.bytes;
  assert_int_equal(did, CHAIN - objects);
  assert_int_equal(did_bytes, did * sizeof(cell));
  assert_int_equal(figures().beside_objects, 0);
  crd_collect_minor(heap, CRADLE_CAUSE_REQUEST);
  assert_int_equal(inside_major(heap)->objects, CHAIN);
  assert_int_equal(inside_major(heap)->bytes, bytes + did_bytes);
  cradle_statistics now = figures();
  assert_int_equal(now.beside_objects, did);
  assert_int_equal(now.beside_bytes, did_bytes);
  assert_in_range(now.beside_ns, 1, crd_platform_now_ns() - before);
  assert_int_equal(now.beside_stops, 0);
  assert_int_equal(besides, 1);
  assert_int_equal(beside.u.beside.objects, did);
  assert_int_equal(beside.u.beside.bytes, did_bytes);
  assert_int_equal(beside.u.beside.put_aside, 0);
  assert_int_equal(beside.u.beside.run_ns, now.beside_ns);
  assert_int_equal(beside.u.beside.stop_ns, 0);
  assert_int_equal(marker()->last.objects, did);
  assert_int_equal(marker()->last.run_ns, now.beside_ns);
  assert_int_equal(marker()->since.objects, 0);
  assert_false(marker()->going); /* nothing is left to mark */
  crd_collect_minor(heap, CRADLE_CAUSE_REQUEST);
  assert_int_equal(figures().beside_objects, did);
  assert_int_equal(besides, 1);
  assert_int_equal(marker()->last.objects, 0);
  end_collection(2);
}

/* Several rounds between two pauses add up. */
static void rounds_between_pauses_add_up(void **state) {
  (void)state;
  (void)begin();
  heap->options.stress_period = 1000000; /* rounds end before their work is done */
  uint64_t objects = inside_major(heap)->objects;
  for (int i = 0; i < 5; i++) {
    thread_goes();
    assert_true(crd_marker_stop(&heap->marking));
    crd_marker_go_on(&heap->marking);
  }
  heap->options.stress_period = 0;
  assert_true(crd_marker_stop(&heap->marking)); /* of a round that was not begun */
  crd_marker_go_on(&heap->marking);
  uint64_t did = inside_major(heap)->objects - objects;
  assert_true(did > 0 && did < CHAIN - objects);
  assert_int_equal(marker()->since.objects, did);
  assert_int_equal(marker()->since.bytes, did * sizeof(cell));
  uint64_t run_ns = marker()->since.run_ns;
  thread_goes();
  uint64_t last_ns = marker()->first.work.run_ns;
  crd_collect_minor(heap, CRADLE_CAUSE_REQUEST);
  assert_int_equal(figures().beside_objects, CHAIN - objects);
  assert_int_equal(figures().beside_ns, run_ns + last_ns);
  assert_int_equal(besides, 1);
  end_collection(2);
}

/* The thread is at work when the mutator wants it to end. */
static void the_mutator_waits_for_a_round_that_was_begun(void **state) {
  (void)state;
  uint64_t begin_ns = crd_platform_now_ns();
  (void)begin();
  for (uint32_t i = 1; i <= 3; i++) {
    thread_takes();
    assert_false(rounds_is_idle(&marker()->word));
    assert_true(crd_marker_stop(&heap->marking));
    assert_int_equal(marker()->word, ROUND_IDLE);
    assert_int_equal(waits, i);
    crd_marker_go_on(&heap->marking);
  }
  uint64_t stop_ns = marker()->since.stop_ns;
  assert_in_range(stop_ns, waited_ns, crd_platform_now_ns() - begin_ns);
  crd_collect_minor(heap, CRADLE_CAUSE_REQUEST);
  assert_int_equal(figures().beside_stops, 1); /* of pauses */
  assert_int_equal(figures().beside_stop_ns, stop_ns);
  assert_int_equal(figures().beside_stop_max_ns, stop_ns);
  marker()->since.stop_ns = stop_ns + 5;
  crd_marker_tell(&heap->marking);
  marker()->since.stop_ns = 3;
  crd_marker_tell(&heap->marking);
  assert_int_equal(figures().beside_stops, 3);
  assert_int_equal(figures().beside_stop_ns, 2 * stop_ns + 8);
  assert_int_equal(figures().beside_stop_max_ns, stop_ns + 5);
  end_collection(2);
}

/* What the thread does until it notices that the mutator waits is taken over, too. */
static void a_round_ends_before_it_is_taken_over(void **state) {
  (void)state;
  (void)begin();
  is_diligent = true;
  thread_takes();
  assert_true(crd_marker_stop(&heap->marking));
  assert_int_equal(waits, 1);
  assert_int_equal(inside_major(heap)->objects, CHAIN);
  assert_true(word_stack_is_empty(inside_mark_stack(heap)));
  end_collection(2);
}

/* The thread found no room for an object. The mutator hears of it once. */
static void an_overflow_is_taken_over(void **state) {
  (void)state;
  (void)begin();
  assert_true(crd_marker_stop(&heap->marking));
  crd_marker_go_on(&heap->marking);
  assert_false(inside_major(heap)->overflowed);
  marker()->first.overflowed = true;
  assert_true(crd_marker_stop(&heap->marking));
  assert_true(inside_major(heap)->overflowed);
  inside_major(heap)->overflowed = false;
  crd_marker_go_on(&heap->marking);
  assert_true(crd_marker_stop(&heap->marking));
  assert_false(inside_major(heap)->overflowed);
  end_collection(2);
}

/* What is promoted beside a round has its bits when the round is over. The collector comes to some of it twice. */
static void what_is_promoted_beside_a_round_is_old_afterwards(void **state) {
  (void)state;
  cradle_error error;
  large = cradle_new_array(m, T_ARRAY, 20000);
  cradle_collect(m, CRADLE_COLLECT_FULL);
  (void)begin();
  inside_pacing(heap)->promoted_average = (uint64_t)1 << 20;
  is_quick = true;
  for (int i = 0; i < 20; i++) {
    for (int k = 0; k < i * 7; k++) {
      cell *fresh = cradle_new(m, T_CELL, sizeof(cell));
      fresh->next = hidden;
      hidden = fresh;
    }
    cell *twice = cradle_new(m, T_CELL, sizeof(cell));
    for (int k = 0; k < 2; k++) cradle_store(m, large, &large->item[i], twice);
    uint32_t before = waits;
    crd_collect_minor(heap, CRADLE_CAUSE_REQUEST);
    assert_true(waits > before && word_stack_is_empty(&inside_old(heap)->late_runs));
    for (const cell *cells = hidden; cells != NULL; cells = cells->next) assert_true(is_marked(cells));
    if (!cradle_heap_verify(heap, &error)) fail_msg("%s", error.message);
  }
  is_quick = false;
  end_collection(2);
}

/* The remembered set could not grow. The round beside the minor collection ends before the walk over all old objects.
 * */
static void a_walk_over_all_old_objects_stops_the_round(void **state) {
  (void)state;
  hidden->next = cradle_new(m, T_TRACED, sizeof(cell));
  cradle_write_barrier(m, hidden);
  cradle_collect(m, CRADLE_COLLECT_FULL);
  cell *root = hidden;
  (void)begin();
  hidden = root; /* so its cells live, but nobody has marked them */
  inside_pacing(heap)->promoted_average = (uint64_t)1 << 20;
  heap->young.remember_all = true;
  is_quick = true;
  in_walks = in_rounds = 0;
  cell *fresh = cradle_new(m, T_CELL, sizeof(cell)); /* it takes a run of places beside the round */
  fresh->next = hidden;
  hidden = fresh;
  crd_collect_minor(heap, CRADLE_CAUSE_REQUEST);
  assert_int_equal(in_walks, 1);
  assert_int_equal(in_rounds, 0); /* or the allocation bits that the walk reads would not be exact [span.8] */
  is_quick = false;
  end_collection(0);
}

/* --- types --- */

/* The thread reads the table, which does not move as it grows [type.3]. */
static void a_round_goes_on_while_types_are_added(void **state) {
  (void)state;
  crd_type_table *table = &heap->space.types, before = *table;
  (void)begin();
  thread_takes();
  for (int i = 0; i < 2000; i++) assert_int_not_equal(cradle_type_add(heap, &types[T_CELL]), CRADLE_TYPE_ID_END);
  assert_true(table->room.limit > before.room.limit);
  assert_ptr_equal(table->types, before.types);
  assert_true(marker()->going);
  assert_int_equal(waits, 0);
  thread_ends_round();
  assert_true(crd_marker_stop(&heap->marking));
  end_collection(2);
}

/* --- what the mutator wants marked --- */

static void what_is_shaded_in_a_round_is_marked_when_it_ends(void **state) {
  (void)state;
  cell *white = begin();
  thread_takes();
  crd_marker_shade(&heap->marking, address_of(white));
  assert_false(is_marked(white)); /* the words of mark bits are the thread's */
  assert_int_equal(word_stack_count(&marker()->shaded), 1);
  assert_true(marker()->going);
  crd_marker_shade(&heap->marking, address_of(chain)); /* which is marked already */
  assert_int_equal(word_stack_count(&marker()->shaded), 1);
  crd_marker_shade(&heap->marking, address_of(&types)); /* nor is this an object of the heap */
  assert_true(crd_marker_stop(&heap->marking));
  assert_true(is_marked(white));
  assert_true(word_stack_is_empty(&marker()->shaded));
  end_collection(0);
}

static void what_is_shaded_without_a_round_is_marked_at_once(void **state) {
  (void)state;
  cell *white = begin();
  assert_true(crd_marker_stop(&heap->marking));
  uint32_t before = asked_where;
  crd_marker_shade(&heap->marking, address_of(white));
  assert_true(is_marked(white));
  assert_int_equal(asked_where, before); /* a system call, which a minor collection would make for each old object */
  end_collection(0);
}

static void what_finds_no_room_to_be_listed_ends_the_round(void **state) {
  (void)state;
  cell *white = begin();
  thread_takes();
  crd_word_stack_fini(&marker()->shaded);
  crd_marker_shade(&heap->marking, address_of(white));
  assert_false(marker()->going);
  assert_true(is_marked(white));
  end_collection(0);
}

/* --- when rounds are offered --- */

static void a_round_needs_something_to_mark(void **state) {
  (void)state;
  (void)begin();
  thread_goes();
  assert_true(crd_marker_stop(&heap->marking));
  assert_true(word_stack_is_empty(inside_mark_stack(heap)));
  crd_marker_go_on(&heap->marking);
  assert_false(marker()->going);
  end_collection(2);
  crd_marker_go_on(&heap->marking);
  assert_false(marker()->going); /* nothing marks */
  assert_int_equal(offers, 1);
}

static void a_round_is_offered_once(void **state) {
  (void)state;
  (void)begin();
  thread_takes();
  crd_marker_go_on(&heap->marking);
  assert_int_equal(marker()->word, ROUND_TAKEN);
  assert_int_equal(offers, 1);
  assert_true(crd_marker_stop(&heap->marking));
  crd_state before = crd_state_enter(&heap->report, HEAP_WALKING);
  crd_marker_go_on(&heap->marking);
  assert_false(marker()->going); /* something else runs */
  crd_state_leave(&heap->report, before);
  end_collection(2);
}

/* Beside minor collections only if they promote enough, but always under stress. */
static void a_round_beside_a_minor_collection_must_be_worth_it(void **state) {
  (void)state;
  (void)begin();
  inside_pacing(heap)->promoted_average = ((uint64_t)128 << 10) - 1;
  crd_collect_minor(heap, CRADLE_CAUSE_REQUEST);
  assert_int_equal(offers, 2);
  inside_pacing(heap)->promoted_average++;
  crd_collect_minor(heap, CRADLE_CAUSE_REQUEST);
  assert_int_equal(offers, 4);
  inside_pacing(heap)->promoted_average = 0;
  heap->options.stress_period = 1000000;
  crd_collect_minor(heap, CRADLE_CAUSE_REQUEST);
  assert_int_equal(offers, 6);
  heap->options.stress_period = 0;
  end_collection(2);
}

/* With one processor, the thread would only take time from a minor collection: it gets no round beside one. */
static void with_one_processor_the_two_take_turns(void **state) {
  (void)state;
  heap->hardware.processors = 1;
  (void)begin();
  assert_true(marker()->takes_turns);
  inside_pacing(heap)->promoted_average = (uint64_t)1 << 30;
  crd_collect_minor(heap, CRADLE_CAUSE_REQUEST);
  assert_int_equal(offers, 2);
  heap->options.stress_period = 1000000;
  crd_collect_minor(heap, CRADLE_CAUSE_REQUEST);
  assert_int_equal(offers, 4); /* under stress it does */
  heap->options.stress_period = 0;
  end_collection(2);
}

/* A verification ends the round, and offers another one only if one went on. */
static void a_verification_goes_on_with_a_round_that_went_on(void **state) {
  (void)state;
  cradle_error error;
  (void)begin();
  assert_true(cradle_heap_verify(heap, &error));
  assert_true(marker()->going);
  assert_int_equal(offers, 2);
  assert_true(crd_marker_stop(&heap->marking));
  assert_true(cradle_heap_verify(heap, &error));
  assert_false(marker()->going);
  assert_int_equal(offers, 2);
  end_collection(2);
}

/* --- what was put aside --- */

static void what_was_put_aside_is_gathered(void **state) {
  (void)state;
  cell *traced = cradle_new(m, T_TRACED, sizeof(cell));
  traced->next = hidden;
  hidden = traced;
  cradle_collect(m, CRADLE_COLLECT_FULL);
  traced = hidden;
  cell *only = traced->next;
  cell *last = chain;
  while (last->next != NULL) last = last->next;
  cradle_store(m, last, &last->next, traced);
  (void)begin();
  thread_goes();
  assert_int_equal(marker()->first.work.put_aside, 1);
  assert_true(crd_marker_stop(&heap->marking));
  assert_int_equal(marker()->since.put_aside, 1);
  assert_int_equal(word_stack_count(&marker()->first.aside), 1);
  crd_marker_gather(&heap->marking);
  assert_true(word_stack_is_empty(&marker()->first.aside));
  assert_int_equal(word_stack_count(inside_mark_stack(heap)), 1);
  assert_false(inside_major(heap)->overflowed);
  /* Where the stack has no room, the object is not forgotten. */
  crd_word_stack usual = *inside_mark_stack(heap);
  usual.top = usual.base;
  *inside_mark_stack(heap) = (crd_word_stack){NULL, NULL, NULL, NULL};
  assert_true(word_stack_push(&marker()->first.aside, address_of(traced)));
  crd_marker_gather(&heap->marking);
  assert_true(word_stack_is_empty(&marker()->first.aside));
  assert_true(inside_major(heap)->overflowed);
  *inside_mark_stack(heap) = usual;
  assert_false(is_marked(only));
  end_collection(0);
  assert_int_equal(cradle_type_of(only), T_CELL);
}

/* --- forks --- */

static void a_thread_that_is_lost_is_forgotten(void **state) {
  (void)state;
  (void)begin();
  thread_takes();
  inside_old(heap)->arenas.supply.count = 1;
  assert_true(word_stack_push(&marker()->first.aside, address_of(chain)));
  elsewhere = true;
  crd_marker_go_on(&heap->marking);
  assert_true(crd_marker_stop(&heap->marking));
  assert_int_equal(forgotten, 1);
  assert_null(marker()->thread);
  assert_false(marker()->going || inside_old(heap)->marked_beside);
  assert_int_equal(marker()->word, ROUND_IDLE);
  assert_true(word_stack_is_empty(inside_mark_stack(heap)) && word_stack_is_empty(&marker()->first.aside));
  assert_true(inside_major(heap)->overflowed); /* all that is marked is traced once more */
  assert_int_equal(inside_old(heap)->arenas.supply.count, 0);
  end_collection(2);
  elsewhere = false;
  (void)cradle_collect_step(m, 0); /* the next collection makes another */
  assert_int_equal(made, 2);
  end_collection(0);
}

/* What it did last is not counted again when another thread begins to mark. */
static void a_lost_thread_leaves_no_figures(void **state) {
  (void)state;
  (void)begin();
  thread_goes();
  crd_collect_minor(heap, CRADLE_CAUSE_REQUEST);
  assert_true(marker()->last.bytes > 0);
  elsewhere = true;
  assert_false(crd_marker_stop(&heap->marking));
  end_collection(2);
  elsewhere = false;
  crd_pacing expected = *inside_pacing(heap);
  heap->options.stress_period = 1000000; /* the pause that begins marking also marks, and counts what was marked */
  crd_collect(heap, CRADLE_CAUSE_REQUEST);
  heap->options.stress_period = 0;
  assert_int_equal(made, 2);
  assert_int_equal(inside_major(heap)->phase, MAJOR_MARKING);
  crd_pacing_marked(&expected, inside_major(heap)->bytes);
  assert_int_equal(inside_pacing(heap)->marked_average, expected.marked_average);
  end_collection(0);
}

/* Without a round nothing was lost but the thread. */
static void a_thread_that_is_lost_between_rounds_took_nothing_along(void **state) {
  (void)state;
  (void)begin();
  assert_true(crd_marker_stop(&heap->marking));
  size_t grey = word_stack_count(inside_mark_stack(heap));
  assert_true(grey > 0);
  elsewhere = true;
  crd_marker_go_on(&heap->marking);
  assert_false(marker()->going);
  assert_false(crd_marker_stop(&heap->marking));
  assert_int_equal(forgotten, 1);
  assert_int_equal(word_stack_count(inside_mark_stack(heap)), grey);
  assert_false(inside_major(heap)->overflowed);
  end_collection(2);
}

static void a_thread_that_is_lost_is_asked_for_nothing(void **state) {
  (void)state;
  (void)begin();
  assert_true(crd_marker_stop(&heap->marking));
  elsewhere = true;
  crd_marker_supply(&heap->marking, heap->space.old.reserve, 1);
  assert_int_equal(calls, 0);
  assert_int_equal(inside_old(heap)->arenas.supply.count, 0);
  end_collection(2);
}

/* --- arenas --- */

static void the_thread_populates_what_it_is_called_for(void **state) {
  (void)state;
  crd_supply *supply = &inside_old(heap)->arenas.supply;
  (void)begin();
  thread_goes();
  end_collection(2);
  for (uint32_t i = 0; i < inside_old(heap)->arenas.capacity; i++)
    inside_old(heap)->arenas.origins[i] &= (uint8_t)~ARENA_TOUCHED;
  crd_marker_supply(&heap->marking, heap->space.old.reserve, 1);
  if (supply->count == 0) skip(); /* pages of a pool, or such */
  assert_int_equal(calls, 1);
  assert_int_equal(marker()->word, ROUND_CALLED);
  assert_int_not_equal(supply->done, supply->asked);
  thread_goes();
  assert_int_equal(marker()->word, ROUND_IDLE);
  assert_int_equal(supply->done, supply->asked);
  crd_marker_supply(&heap->marking, heap->space.old.reserve, 1);
  assert_int_equal(supply->count, 0);
}

/* A round comes before arenas, and a call in a round is none. */
static void rounds_come_first(void **state) {
  (void)state;
  crd_supply *supply = &inside_old(heap)->arenas.supply;
  (void)begin();
  for (uint32_t i = 0; i < inside_old(heap)->arenas.capacity; i++)
    inside_old(heap)->arenas.origins[i] &= (uint8_t)~ARENA_TOUCHED;
  crd_marker_supply(&heap->marking, heap->space.old.reserve, 1);
  if (supply->count == 0) skip();
  assert_int_equal(calls, 0);
  assert_int_equal(marker()->word, ROUND_OFFERED);
  thread_goes();
  assert_true(marker()->first.work.objects > 0);
  assert_int_equal(supply->done, supply->asked);
  end_collection(2);
}

/* --- beginning and end --- */

static void the_end_frees_what_only_the_thread_needed(void **state) {
  (void)state;
  (void)begin();
  thread_takes();
  assert_non_null(marker()->first.aside.base);
  assert_non_null(marker()->shaded.base);
  assert_non_null(inside_old(heap)->late_runs.base);
  inside_old(heap)->arenas.supply.count = 1;
  crd_marker_end(&heap->marking);
  assert_int_equal(waits, 1);
  assert_int_equal(joined, 1);
  assert_null(marker()->thread);
  assert_null(marker()->first.aside.base);
  assert_null(marker()->shaded.base);
  assert_null(inside_old(heap)->late_runs.base);
  assert_int_equal(inside_old(heap)->arenas.supply.count, 0);
  crd_marker_end(&heap->marking);
  assert_int_equal(joined, 1);
}

static void there_is_one_thread(void **state) {
  (void)state;
  (void)begin();
  const cradle_word *aside = marker()->first.aside.base, *shaded = marker()->shaded.base,
                    *late = inside_old(heap)->late_runs.base;
  end_collection(2);
  for (int i = 0; i < 2; i++) {
    (void)cradle_collect_step(m, 0);
    end_collection(0);
  }
  assert_int_equal(made, 1);
  /* After a thread that was lost, the stacks that are there already are taken. */
  elsewhere = true;
  (void)crd_marker_stop(&heap->marking);
  elsewhere = false;
  (void)cradle_collect_step(m, 0);
  assert_int_equal(made, 2);
  assert_ptr_equal(marker()->first.aside.base, aside);
  assert_ptr_equal(marker()->shaded.base, shaded);
  assert_ptr_equal(inside_old(heap)->late_runs.base, late);
  end_collection(0);
}

static void a_thread_that_is_refused_is_not_asked_for_again(void **state) {
  (void)state;
  refused = true;
  assert_true(crd_marker_helps(&heap->marking));
  (void)cradle_collect_step(m, 0);
  assert_int_equal(notes, 1);
  assert_int_equal(note.u.note.wanted, 1);
  assert_int_equal(note.u.note.got, 0);
  assert_null(marker()->thread);
  assert_false(crd_marker_helps(&heap->marking));
  refused = false;
  end_collection(0);
  (void)cradle_collect_step(m, 0);
  assert_int_equal(made, 0);
  assert_int_equal(notes, 1);
  end_collection(0);
}

/* The second thread is refused: the first helps alone, and the third is not asked for. */
static void helpers_that_are_refused_are_not_asked_for_again(void **state) {
  (void)state;
  crd_team *team = &heap->young.team;
  team->always = true;
  (void)cradle_collect_step(m, 0);
  assert_int_equal(made, 1);
  end_collection(0);
  for (int i = 0; i < 3; i++) {
    calls = 0;
    for (int k = 0; k < 100; k++) hidden = cradle_new(m, T_CELL, sizeof(cell));
    cradle_collect(m, CRADLE_COLLECT_MINOR);
    assert_int_equal(refused_helpers, 1);
    assert_int_equal(team->count, 1);
    assert_int_equal(notes, 1);
    assert_int_equal(note.u.note.wanted, 3);
    assert_int_equal(note.u.note.got, 1);
    assert_true(calls != 0 || marker()->word == ROUND_CALLED);
  }
  assert_int_equal(figures().helped_objects, 0);
}

#ifdef __linux__
static void without_addresses_for_its_stacks_there_is_no_thread(void **state) {
  (void)state;
  struct rlimit usual, none;
  assert_int_equal(getrlimit(RLIMIT_AS, &usual), 0);
  none = (struct rlimit){.rlim_cur = 1, .rlim_max = usual.rlim_max};
  assert_int_equal(setrlimit(RLIMIT_AS, &none), 0);
  crd_marker_begin(&heap->marking);
  assert_int_equal(setrlimit(RLIMIT_AS, &usual), 0);
  assert_int_equal(notes, 1);
  assert_true(marker()->refused);
  assert_int_equal(made, 0);
}
#endif

static void without_the_option_there_is_none(void **state) {
  (void)state;
  assert_false(crd_marker_helps(&heap->marking));
  (void)cradle_collect_step(m, 0);
  assert_null(marker()->thread);
  assert_false(crd_marker_stop(&heap->marking));
  crd_marker_go_on(&heap->marking);
  crd_marker_tell(&heap->marking);
  assert_false(marker()->going);
  end_collection(0);
}

/* The heap must have 8 MiB, the process more processors than threads, and nothing may be off. */
static void auto_counts_bytes_and_processors(void **state) {
  (void)state;
  uint64_t used = inside_old(heap)->used_bytes;
  assert_false(crd_marker_helps(&heap->marking));
  inside_old(heap)->used_bytes = ((uint64_t)8 << 20) - 1;
  assert_false(crd_marker_helps(&heap->marking));
  inside_old(heap)->used_bytes++;
  assert_true(crd_marker_helps(&heap->marking));
  heap->options.stress_period = 1;
  assert_false(crd_marker_helps(&heap->marking));
  heap->options.stress_period = 0;
  heap->options.gc = CRADLE_GC_OFF;
  assert_false(crd_marker_helps(&heap->marking));
  heap->options.gc = CRADLE_GC_ON;
  others = 3;
  assert_true(crd_marker_helps(&heap->marking));
  others = 4;
  assert_false(crd_marker_helps(&heap->marking));
  others = 0;
  heap->hardware.processors = 2;
  assert_true(crd_marker_helps(&heap->marking));
  for (uint32_t few = 0; few < 2; few++) { /* 0: the host said so */
    heap->hardware.processors = few;
    assert_false(crd_marker_helps(&heap->marking));
  }
  heap->options.gc_threads = 1;
  assert_true(crd_marker_helps(&heap->marking)); /* who asks for one gets it */
  heap->options.gc_threads = CRADLE_GC_THREADS_AUTO;
  heap->known_hardware &= ~(unsigned)HARDWARE_PROCESSORS; /* they are counted when they are asked for */
  heap->hardware.processors = 0;
  (void)crd_marker_helps(&heap->marking);
  assert_true(heap->hardware.processors > 0);
  inside_old(heap)->used_bytes = used;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, open_heap, close_heap)

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(a_round_that_was_not_begun_is_taken_back),
      TEST(what_the_thread_did_is_counted_at_the_next_pause),
      TEST(rounds_between_pauses_add_up),
      TEST(the_mutator_waits_for_a_round_that_was_begun),
      TEST(a_round_ends_before_it_is_taken_over),
      TEST(an_overflow_is_taken_over),
      TEST(what_is_promoted_beside_a_round_is_old_afterwards),
      TEST(a_walk_over_all_old_objects_stops_the_round),
      TEST(a_round_goes_on_while_types_are_added),
      TEST(what_is_shaded_in_a_round_is_marked_when_it_ends),
      TEST(what_is_shaded_without_a_round_is_marked_at_once),
      TEST(what_finds_no_room_to_be_listed_ends_the_round),
      TEST(a_round_needs_something_to_mark),
      TEST(a_round_is_offered_once),
      TEST(a_round_beside_a_minor_collection_must_be_worth_it),
      TEST(with_one_processor_the_two_take_turns),
      TEST(a_verification_goes_on_with_a_round_that_went_on),
      TEST(what_was_put_aside_is_gathered),
      TEST(a_thread_that_is_lost_is_forgotten),
      TEST(a_lost_thread_leaves_no_figures),
      TEST(a_thread_that_is_lost_between_rounds_took_nothing_along),
      TEST(a_thread_that_is_lost_is_asked_for_nothing),
      TEST(the_thread_populates_what_it_is_called_for),
      TEST(rounds_come_first),
      TEST(the_end_frees_what_only_the_thread_needed),
      TEST(there_is_one_thread),
      TEST(a_thread_that_is_refused_is_not_asked_for_again),
      cmocka_unit_test_setup_teardown(helpers_that_are_refused_are_not_asked_for_again, open_three, close_heap),
#ifdef __linux__
      TEST(without_addresses_for_its_stacks_there_is_no_thread),
#endif
      cmocka_unit_test_setup_teardown(without_the_option_there_is_none, open_without, close_heap),
      cmocka_unit_test_setup_teardown(auto_counts_bytes_and_processors, open_auto, close_heap),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
