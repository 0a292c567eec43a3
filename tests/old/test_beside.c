/* A heap with a second core: what the program does while a round goes on, forks, ends, and who gets a thread. The
 * heap is verified in the middle of marking. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include <pthread.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cradle/cradle.h>

#include "tests/support/forks.h"

#include "tests/inside.h"

enum { T_CELL, T_ARRAY, T_TRACED, T_COUNT };
typedef struct cell {
  uint64_t header;
  struct cell *next;
  uint64_t number;
} cell;
typedef struct array {
  uint64_t header, length;
  void *item[];
} array;
typedef struct traced {
  uint64_t header;
  cell *inside;
} traced;

static pthread_t program;
static uint64_t traces;

static void trace_inside(void *user, void *object, cradle_visitor *visitor) {
  (void)user;
  if (!pthread_equal(pthread_self(), program)) fail_msg("a trace callback runs on the collector's thread [marker.6]");
  traces++;
  cradle_visit(visitor, &((traced *)object)->inside, CRADLE_KIND_REFERENCE);
}

static const cradle_type types[T_COUNT] = {
    [T_CELL] = {.name = "cell", .size = sizeof(cell), .references = CRADLE_SLOT(cell, next)},
    [T_ARRAY] = {.name = "array",
                 .size = sizeof(array),
                 .items = CRADLE_ITEMS_REFERENCES,
                 .item_size = 8,
                 .length_offset = offsetof(array, length)},
    [T_TRACED] = {.name = "traced", .size = sizeof(traced), .trace = trace_inside},
};

/* A chain takes the thread some milliseconds, whatever the machine. */
#define CHAIN 200000
/* On a busy machine, thread and program seldom run at the same time. Tests that need it try this often. */
#define TRIES 200
#define LARGE_ITEMS 3000

typedef struct world {
  cradle_heap *heap;
  cradle_mutator *m;
  cell *chain;
} world;

static cradle_hardware hardware(uint32_t processors) {
  return (cradle_hardware){.page_bytes = (size_t)sysconf(_SC_PAGESIZE),
                           .l2_bytes = (size_t)1 << 20,
                           .memory_bytes = (size_t)1 << 32,
                           .processors = processors};
}

static cradle_options options_of(cradle_gc_threads threads) {
  cradle_options options;
  cradle_options_init(&options);
  options.types = types;
  options.type_count = T_COUNT;
  options.nursery_bytes = (size_t)64 << 10;
  options.gc_threads = threads;
  return options;
}

CRADLE_UNCHECKED_COLLECTION static void open_with(world *w, const cradle_options *options) {
  cradle_error error;
  program = pthread_self();
  w->heap = cradle_heap_new(options, &error);
  if (w->heap == NULL) fail_msg("%s", error.message);
  w->m = cradle_mutator_new(w->heap);
  w->chain = NULL;
  cradle_global_root_add(w->heap, &w->chain, CRADLE_KIND_REFERENCE);
  for (uint64_t i = 0; i < CHAIN; i++) {
    cell *next = cradle_new(w->m, T_CELL, sizeof(cell));
    next->next = w->chain;
    next->number = i;
    w->chain = next;
  }
  cradle_collect(w->m, CRADLE_COLLECT_MINOR);
}

static void close_world(world *w) {
  uint64_t number = CHAIN;
  for (const cell *at = w->chain; at != NULL && number > 0; at = at->next) assert_int_equal(at->number, --number);
  assert_int_equal(number, 0);
  cradle_global_root_remove(w->heap, &w->chain);
  cradle_mutator_free(w->m);
  cradle_heap_free(w->heap);
}

static bool round_goes(const world *w) {
  const crd_marker *marker = inside_marker(w->heap);
  return marker->going && __atomic_load_n(&marker->word, __ATOMIC_RELAXED) == ROUND_TAKEN;
}

/* Begins a major collection, and returns once the collector's thread is marking for it. */
CRADLE_UNCHECKED_COLLECTION static void begin_round(world *w) {
  if (inside_major(w->heap)->phase != MAJOR_IDLE) cradle_collect(w->m, CRADLE_COLLECT_MAJOR);
  (void)cradle_collect_step(w->m, 0);
  assert_int_equal(inside_major(w->heap)->phase, MAJOR_MARKING);
  while (inside_marker(w->heap)->going && !rounds_is_idle(&inside_marker(w->heap)->word) && !round_goes(w)) continue;
}

static void verify(const world *w) {
  cradle_error error;
  if (!cradle_heap_verify(w->heap, &error)) fail_msg("%s", error.message);
}

CRADLE_UNCHECKED_COLLECTION static void finish_marking(const world *w) {
  verify(w);
  (void)cradle_collect_step(w->m, 0);
  verify(w);
  cradle_collect(w->m, CRADLE_COLLECT_MAJOR);
  verify(w);
}

static cradle_statistics figures(const world *w) {
  cradle_statistics now;
  cradle_heap_statistics(w->heap, &now, sizeof now);
  return now;
}

/* --- what the program does in a round --- */

static void test_marks_beside(void **state) {
  (void)state;
  world w;
  cradle_options options = options_of(CRADLE_GC_THREADS_ONE);
  open_with(&w, &options);
  begin_round(&w);
  usleep(100000);
  finish_marking(&w);
  assert_true(figures(&w).beside_objects > CHAIN / 10);
  close_world(&w);
}

/* The heap is at its threshold while the thread has most of the marking before it: the pause leaves that to the thread,
 * because the heap may grow further while the thread marks. */
CRADLE_UNCHECKED_COLLECTION static void test_grows_beyond_the_threshold(void **state) {
  (void)state;
  world w;
  cradle_options options = options_of(CRADLE_GC_THREADS_ONE);
  options.pause_ns = 1000000000; /* more than enough to mark everything in the pause */
  open_with(&w, &options);
  for (int i = 0; i < 5; i++) {
    begin_round(&w);
    inside_pacing(w.heap)->threshold = inside_old(w.heap)->used_bytes;
    uint64_t beside = figures(&w).beside_bytes;
    crd_collect(w.heap, CRADLE_CAUSE_NURSERY_FULL);
    beside = figures(&w).beside_bytes - beside;
    assert_true(inside_major(w.heap)->bytes - beside < CHAIN * sizeof(cell) / 4);
    finish_marking(&w);
  }
  close_world(&w);
}

/* Rounds on the test's own thread until nothing is left to mark. Returns how many there were. */
CRADLE_UNCHECKED_COLLECTION static uint64_t rounds_by_hand(world *w) {
  crd_marker *marker = inside_marker(w->heap);
  uint64_t rounds = 0;
  if (inside_major(w->heap)->phase != MAJOR_IDLE) cradle_collect(w->m, CRADLE_COLLECT_MAJOR);
  (void)cradle_collect_step(w->m, 0);
  assert_false(word_stack_is_empty(inside_mark_stack(w->heap)));
  marker->stack = *inside_mark_stack(w->heap);
  marker->arenas_bytes = inside_old(w->heap)->arenas.committed_end * ARENA_BYTES;
  marker->word = ROUND_TAKEN;
  for (; !word_stack_is_empty(&marker->stack); rounds++) crd_mark_beside(&w->heap->marking);
  marker->word = ROUND_IDLE;
  *inside_mark_stack(w->heap) = marker->stack; /* which is empty */
  finish_marking(w);
  return rounds;
}

/* Nobody asks for the stop: only stress ends a round before its work is done. */
static void test_stress_ends_rounds(void **state) {
  (void)state;
  world w;
  cradle_options options = options_of(CRADLE_GC_THREADS_NONE);
  open_with(&w, &options);
  assert_int_equal(rounds_by_hand(&w), 1);
  w.heap->options.stress_period = 1000000;
  assert_true(rounds_by_hand(&w) > CHAIN / 1000);
  w.heap->options.stress_period = 0;
  close_world(&w);
}

/* Stored into an old object, which the thread may be tracing: the young ones that are reached live, the others go. */
CRADLE_UNCHECKED_COLLECTION static void test_large_objects(void **state) {
  (void)state;
  world w;
  cradle_options options = options_of(CRADLE_GC_THREADS_ONE);
  open_with(&w, &options);
  array *holder = cradle_new_array(w.m, T_ARRAY, 1000);
  CRADLE_ROOT(w.m, holder);
  for (int round = 0; round < 10; round++) {
    begin_round(&w);
    for (int i = 0; i < 40; i++) {
      array *large = cradle_new_array(w.m, T_ARRAY, LARGE_ITEMS);
      cradle_store(w.m, large, &large->item[LARGE_ITEMS - 1], w.chain);
      int at = (i * 37 + round) % 1000;
      cradle_store(w.m, holder, &holder->item[at], i % 2 ? large : NULL);
    }
    finish_marking(&w);
    for (int i = 0; i < 1000; i++) {
      array *large = holder->item[i];
      if (large != NULL) assert_ptr_equal(large->item[LARGE_ITEMS - 1], w.chain);
    }
  }
  close_world(&w);
}

/* The end of the chain is the last object that the thread reaches. These calls ask about it in a round. */
CRADLE_UNCHECKED_COLLECTION static void test_pins_and_handles(void **state) {
  (void)state;
  world w;
  cradle_options options = options_of(CRADLE_GC_THREADS_ONE);
  open_with(&w, &options);
  for (int round = 0; round < 10; round++) {
    cell *last = w.chain;
    for (int i = 0; i < CHAIN - 2; i++) last = last->next;
    begin_round(&w);
    cradle_handle handle = cradle_handle_new(w.m, last);
    assert_non_null(cradle_pin(w.m, last->next));
    cell *pinned = cradle_new_with(w.m, T_CELL, cradle_array_layout_of(sizeof(cell), 0, 0), 0, CRADLE_PINNED);
    cradle_store(w.m, pinned, &pinned->next, last);
    array *large = cradle_new_with(w.m, T_ARRAY, cradle_array_layout_of(0, 0, 0), LARGE_ITEMS, CRADLE_PINNED);
    cradle_store(w.m, large, &large->item[7], last->next);
    finish_marking(&w);
    last = cradle_handle_get(w.m, handle);
    assert_int_equal(last->number, 1);
    assert_int_equal(last->next->number, 0);
    assert_ptr_equal(large->item[7], last->next);
    cradle_handle_free(w.m, handle);
    cradle_unpin(w.m, last->next);
    cradle_unpin(w.m, pinned);
    cradle_unpin(w.m, large);
  }
  close_world(&w);
}

static void test_types_are_added(void **state) {
  (void)state;
  world w;
  cradle_options options = options_of(CRADLE_GC_THREADS_ONE);
  open_with(&w, &options);
  begin_round(&w);
  for (int i = 0; i < 3000; i++) (void)cradle_type_add(w.heap, &types[T_CELL]);
  finish_marking(&w);
  close_world(&w);
}

/* The last cell of the chain, which the collector's thread reaches last. */
static cell *last_cell(const world *w) {
  cell *last = w->chain;
  while (last->next != NULL && last->number != 0) last = last->next;
  return last;
}

/* The thread passes over a slot that for a moment holds no reference. The array is behind the chain, so that the thread
 * reaches it when all is written. */
CRADLE_UNCHECKED_COLLECTION static void test_a_word_is_a_hint(void **state) {
  (void)state;
  world w;
  cradle_options options = options_of(CRADLE_GC_THREADS_ONE);
  open_with(&w, &options);
  cell *last = last_cell(&w);
  cradle_store(w.m, last, &last->next, cradle_new_array(w.m, T_ARRAY, 5000));
  cradle_collect(w.m, CRADLE_COLLECT_MINOR);
  array *holder = (array *)(void *)last->next;
  uintptr_t base = inside_old(w.heap)->arenas.base;
  int under_it = 0;
  for (int round = 0; round < 10 || (under_it == 0 && round < TRIES); round++) {
    begin_round(&w);
    uint64_t length = holder->length;
    for (uint64_t i = 0; i < length; i++)
      *(volatile cradle_word *)&holder->item[i] = base + (i * 2654435761u) % ((uint64_t)64 << 20);
    *(volatile uint64_t *)&holder->length = UINT64_MAX / 16;
    under_it += round_goes(&w);
    while (round_goes(&w)) continue;
    *(volatile uint64_t *)&holder->length = length;
    for (uint64_t i = 0; i < length; i++) *(volatile cradle_word *)&holder->item[i] = 0;
    finish_marking(&w);
  }
  if (under_it == 0) print_message("nothing was written before the thread came there\n");
  last->next = NULL;
  close_world(&w);
}

/* The last cell moves from the end of the chain, which the thread has not reached, to a place that it has passed. */
CRADLE_UNCHECKED_COLLECTION static void test_moves_under_the_thread(void **state) {
  (void)state;
  world w;
  cradle_options options = options_of(CRADLE_GC_THREADS_ONE);
  open_with(&w, &options);
  array *large = cradle_new_array(w.m, T_ARRAY, LARGE_ITEMS), *small = NULL;
  CRADLE_ROOT(w.m, large);
  CRADLE_ROOT(w.m, small);
  small = cradle_new_array(w.m, T_ARRAY, 4);
  cradle_collect(w.m, CRADLE_COLLECT_MINOR);
  int under_it = 0;
  for (int round = 0; round < 20 || (under_it == 0 && round < TRIES); round++) {
    cell *before = w.chain;
    for (int i = 0; i < CHAIN - 2; i++) before = before->next;
    cell *last = before->next;
    array *to = round % 2 ? large : small;
    begin_round(&w);
    while (!rounds_is_idle(&inside_marker(w.heap)->word) && !old_is_marked(inside_old(w.heap), (uintptr_t)to)) continue;
    under_it += round_goes(&w) && !old_is_marked(inside_old(w.heap), (uintptr_t)last);
    cradle_store(w.m, to, &to->item[2], last);
    cradle_store(w.m, before, &before->next, NULL);
    finish_marking(&w);
    last = to->item[2];
    assert_int_equal(last->number, 0);
    cradle_store(w.m, before, &before->next, last);
    cradle_store(w.m, to, &to->item[2], NULL);
  }
  if (under_it == 0) print_message("no store was made while the thread was between its two ends\n");
  close_world(&w);
}

CRADLE_UNCHECKED_COLLECTION static void test_callbacks_stay(void **state) {
  (void)state;
  world w;
  cradle_options options = options_of(CRADLE_GC_THREADS_ONE);
  open_with(&w, &options);
  array *holder = cradle_new_array(w.m, T_ARRAY, 2000);
  CRADLE_ROOT(w.m, holder);
  for (int i = 0; i < 2000; i++) {
    traced *one = cradle_new(w.m, T_TRACED, sizeof(traced));
    one->inside = NULL;
    cradle_store(w.m, holder, &holder->item[i], one);
    one = holder->item[i];
    cell *inside = cradle_new(w.m, T_CELL, sizeof(cell));
    inside->next = NULL;
    inside->number = (uint64_t)i;
    one = holder->item[i];
    cradle_store(w.m, one, &one->inside, inside);
  }
  for (int round = 0; round < 5; round++) {
    begin_round(&w);
    usleep(20000);
    finish_marking(&w);
    for (int i = 0; i < 2000; i++) assert_int_equal(((traced *)holder->item[i])->inside->number, i);
  }
  assert_true(traces > 0);
  close_world(&w);
}

/* --- ends --- */

static int child_goes_on(world *w) {
  finish_marking(w);
  begin_round(w);
  finish_marking(w);
  uint64_t length = 0;
  for (const cell *at = w->chain; at != NULL; at = at->next) length++;
  cradle_global_root_remove(w->heap, &w->chain);
  cradle_mutator_free(w->m);
  cradle_heap_free(w->heap);
  return length == CHAIN ? 0 : 2;
}

static void assert_child_ends_well(pid_t child) {
  int status = -1;
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_int_equal(status, 0);
}

/* [thread.3] */
static void test_plain_fork(void **state) {
  (void)state;
  if (!FORKS_ARE_TRIED) skip();
  world w;
  cradle_options options = options_of(CRADLE_GC_THREADS_ONE);
  open_with(&w, &options);
  for (int round = 0; round < 10; round++) {
    begin_round(&w);
    usleep((useconds_t)(100 * round));
    pid_t child = fork();
    if (child == 0) {
      alarm(60);
      _exit(child_goes_on(&w));
    }
    assert_child_ends_well(child);
    finish_marking(&w);
  }
  close_world(&w);
}

static void test_prepared_fork(void **state) {
  (void)state;
  if (!FORKS_ARE_TRIED) skip();
  world w;
  cradle_options options = options_of(CRADLE_GC_THREADS_ONE);
  open_with(&w, &options);
  begin_round(&w);
  cradle_error error;
  assert_true(cradle_fork_prepare(w.heap, &error));
  assert_false(inside_marker(w.heap)->going);
  pid_t child = fork();
  if (child == 0) {
    alarm(60);
    cradle_fork_done(w.heap);
    _exit(child_goes_on(&w));
  }
  cradle_fork_done(w.heap);
  assert_true(inside_marker(w.heap)->thread != NULL);
  finish_marking(&w);
  assert_child_ends_well(child);
  close_world(&w);
}

static void test_ends_in_a_round(void **state) {
  (void)state;
  world w;
  cradle_options options = options_of(CRADLE_GC_THREADS_ONE);
  for (int i = 0; i < 5; i++) {
    open_with(&w, &options);
    begin_round(&w);
    close_world(&w);
    assert_int_equal(crd_thread_count(), 0);
  }
  if (!CHILDREN_MAKE_THREADS) return;
  pid_t child = fork();
  if (child == 0) {
    open_with(&w, &options);
    begin_round(&w);
    exit(0); /* with the thread at work */
  }
  assert_child_ends_well(child);
}

/* --- who gets a thread --- */

static bool gets_a_thread(cradle_options options) {
  world w;
  open_with(&w, &options);
  begin_round(&w);
  bool has = inside_marker(w.heap)->thread != NULL;
  finish_marking(&w);
  close_world(&w);
  return has;
}

static void test_who_gets_one(void **state) {
  (void)state;
  cradle_options options = options_of(CRADLE_GC_THREADS_NONE);
  cradle_hardware machine = hardware(4);
  options.hardware = &machine;
  assert_false(gets_a_thread(options));
  options.gc_threads = CRADLE_GC_THREADS_AUTO;
  assert_false(gets_a_thread(options)); /* the heap is below 8 MiB */
  options.gc_threads = CRADLE_GC_THREADS_ONE;
  assert_true(gets_a_thread(options));
  machine.processors = 1;
  assert_true(gets_a_thread(options));
}

/* With one processor, the thread would only take time from a minor collection: it gets no round beside one. */
CRADLE_UNCHECKED_COLLECTION static void test_takes_turns(void **state) {
  (void)state;
  for (uint32_t processors = 1; processors <= 2; processors++) {
    world w;
    cradle_options options = options_of(CRADLE_GC_THREADS_ONE);
    cradle_hardware machine = hardware(processors);
    options.hardware = &machine;
    open_with(&w, &options);
    begin_round(&w);
    crd_marker *marker = inside_marker(w.heap);
    assert_int_equal(marker->takes_turns, processors == 1);
    inside_pacing(w.heap)->promoted_average = (uint64_t)1 << 30;
    (void)crd_state_enter(&w.heap->report, HEAP_COLLECTING);
    bool grey = !word_stack_is_empty(inside_mark_stack(w.heap));
    crd_marker_go_on_in_minor(&w.heap->marking);
    assert_int_equal(marker->going, grey && processors > 1);
    (void)crd_marker_stop(&w.heap->marking);
    crd_state_leave(&w.heap->report, HEAP_MUTATING);
    finish_marking(&w);
    close_world(&w);
  }
}

/* 12 MiB that live. */
CRADLE_UNCHECKED_COLLECTION static bool gets_one_when_large(uint32_t processors, uint64_t stress) {
  cradle_options options = options_of(CRADLE_GC_THREADS_AUTO);
  cradle_hardware machine = hardware(processors);
  options.hardware = &machine;
  options.stress_period = stress;
  world w;
  open_with(&w, &options);
  array *holder = cradle_new_array(w.m, T_ARRAY, 1000000);
  CRADLE_ROOT(w.m, holder);
  begin_round(&w);
  bool has = inside_marker(w.heap)->thread != NULL;
  close_world(&w);
  return has;
}

static void test_auto(void **state) {
  (void)state;
  assert_true(gets_one_when_large(2, 0));
  assert_false(gets_one_when_large(1, 0));
  assert_false(gets_one_when_large(0, 0));
  assert_false(gets_one_when_large(2, 100000));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_marks_beside),
      cmocka_unit_test(test_grows_beyond_the_threshold),
      cmocka_unit_test(test_stress_ends_rounds),
      cmocka_unit_test(test_large_objects),
      cmocka_unit_test(test_pins_and_handles),
      cmocka_unit_test(test_types_are_added),
      cmocka_unit_test(test_a_word_is_a_hint),
      cmocka_unit_test(test_moves_under_the_thread),
      cmocka_unit_test(test_callbacks_stay),
      cmocka_unit_test(test_plain_fork),
      cmocka_unit_test(test_prepared_fork),
      cmocka_unit_test(test_ends_in_a_round),
      cmocka_unit_test(test_who_gets_one),
      cmocka_unit_test(test_takes_turns),
      cmocka_unit_test(test_auto),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
