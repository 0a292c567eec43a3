/* A heap with a second core, of one thread, two and four: what the program does while a round goes on, and forks. The
 * heap is verified in the middle of marking. tests/old/test_marker.c says who gets a thread and when it goes,
 * tests/old/test_second_core.c has what is harder on it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include <pthread.h>
#include <stdio.h>
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

static uint32_t threads; /* of the collector */

static cradle_options options_of_heap(void) {
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
  cradle_options options = options_of_heap();
  open_with(&w, &options);
  begin_round(&w);
  usleep(100000);
  finish_marking(&w);
  assert_true(figures(&w).beside_objects > CHAIN / 10);
  begin_round(&w);
  close_world(&w); /* with the thread at work */
  assert_int_equal(crd_thread_count(), 0);
}

/* The heap is at its threshold while the thread has most of the marking before it: the pause leaves that to the thread,
 * because the heap may grow further while the thread marks. */
CRADLE_UNCHECKED_COLLECTION static void test_grows_beyond_the_threshold(void **state) {
  (void)state;
  world w;
  cradle_options options = options_of_heap();
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

/* Stored into an old object, which the thread may be tracing: the young ones that are reached live, the others go. */
CRADLE_UNCHECKED_COLLECTION static void test_large_objects(void **state) {
  (void)state;
  world w;
  cradle_options options = options_of_heap();
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
  cradle_options options = options_of_heap();
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
  cradle_options options = options_of_heap();
  open_with(&w, &options);
  begin_round(&w);
  for (int i = 0; i < 3000; i++) (void)cradle_type_add(w.heap, &types[T_CELL]);
  finish_marking(&w);
  close_world(&w);
}

/* The last cell moves from the end of the chain, which the thread has not reached, to a place that it has passed. */
CRADLE_UNCHECKED_COLLECTION static void test_moves_under_the_thread(void **state) {
  (void)state;
  world w;
  cradle_options options = options_of_heap();
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
  cradle_options options = options_of_heap();
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

/* --- forks --- */

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

/* The child has no thread, and makes one of its own for its next collection [thread.3]. */
static void test_forks(void **state) {
  (void)state;
  if (!FORKS_ARE_TRIED) skip();
  world w;
  cradle_options options = options_of_heap();
  open_with(&w, &options);
  for (int round = 0; round < 10; round++) {
    bool prepared = round % 5 == 4;
    cradle_error error;
    begin_round(&w);
    usleep((useconds_t)(100 * round));
    if (prepared) assert_true(cradle_fork_prepare(w.heap, &error));
    if (prepared) assert_false(inside_marker(w.heap)->going);
    pid_t child = fork();
    if (child == 0) {
      alarm(60);
      if (prepared) cradle_fork_done(w.heap);
      _exit(child_goes_on(&w));
    }
    if (prepared) cradle_fork_done(w.heap);
    assert_non_null(inside_marker(w.heap)->thread);
    finish_marking(&w);
    assert_child_ends_well(child);
  }
  close_world(&w);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_marks_beside),    cmocka_unit_test(test_grows_beyond_the_threshold),
      cmocka_unit_test(test_large_objects),   cmocka_unit_test(test_pins_and_handles),
      cmocka_unit_test(test_types_are_added), cmocka_unit_test(test_moves_under_the_thread),
      cmocka_unit_test(test_callbacks_stay),  cmocka_unit_test(test_forks),
  };
  int failed = 0;
  for (threads = 1; threads <= 4; threads *= 2) {
    printf("threads: %u\n", (unsigned)threads);
    failed += cmocka_run_group_tests(tests, NULL, NULL);
  }
  return failed;
}
