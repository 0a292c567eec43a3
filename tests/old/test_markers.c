/* Several markers: the pool, and rounds of two to four threads, also led by the program's thread. Each object must be
 * traced exactly once, and what lives must stay. In the library with small limits, markers wait at random between two
 * steps. tests/old/test_marker.c says who gets a thread and when it goes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cradle/cradle.h>

#include "tests/support/forks.h"

#include "tests/inside.h"

static cradle_heap *heap;
static pthread_t program;
static uint32_t swept_by_others; /* steps of sweeps; atomic */
static bool lingers;             /* the program's thread naps between steps: others come on a busy machine, too */

/* --- delays --- */

#if CRADLE_SMALL_LIMITS
static uint32_t seed;

static void wait_at_random(void) {
  if (heap != NULL && __atomic_load_n(&inside_marker(heap)->sweep, __ATOMIC_RELAXED) != NULL &&
      !pthread_equal(pthread_self(), program))
    __atomic_fetch_add(&swept_by_others, 1, __ATOMIC_RELAXED);
  if (lingers && pthread_equal(pthread_self(), program)) (void)nanosleep(&(struct timespec){.tv_nsec = 10000}, NULL);
  uint32_t number = __atomic_add_fetch(&seed, 1, __ATOMIC_RELAXED) * UINT32_C(2654435761) >> 16;
  if (number % 16 == 0) sched_yield();
  for (uint32_t i = number % 8 == 0 ? number % 200 : 0; i > 0; i--) crd_thread_relax();
}

static void set_delays(bool on) {
  __atomic_store_n(&crd_pool_turn, on ? wait_at_random : NULL, __ATOMIC_RELEASE);
}
#else
static void set_delays(bool on) {
  (void)on;
}
#endif

/* --- the pool --- */

static crd_mark_pool pool;

static void open_pool(uint32_t markers) {
  assert_true(crd_pool_init(&pool));
  crd_pool_open(&pool, markers);
}

static void *be_hungry(void *stack) {
  return crd_pool_take(&pool, stack) ? stack : NULL;
}

static void await_hunger(void) {
  while (__atomic_load_n(&pool.hungry, __ATOMIC_RELAXED) == 0) sched_yield();
}

static crd_word_stack new_stack(void) {
  crd_word_stack stack;
  assert_true(crd_word_stack_init(&stack, 1 << 20, 4096, "test"));
  assert_true(crd_word_stack_grow(&stack));
  return stack;
}

static crd_word_stack full_stack(uint64_t *random, size_t entries) {
  crd_word_stack stack = new_stack();
  for (uint64_t number = 1; word_stack_count(&stack) < entries; number++) {
    bool piece = random_next(random) % 3 == 0;
    if (piece) assert_true(word_stack_push(&stack, number * 16));
    assert_true(word_stack_push(&stack, number * 16 + (piece ? 1 : 8)));
  }
  return stack;
}

/* Reads a stack from its top, as marking does: each piece must have its own index. */
static size_t count_found(const crd_word_stack *stack, uint8_t *found) {
  size_t count = 0;
  for (const cradle_word *at = stack->top; at > stack->base; count++) {
    cradle_word word = *--at;
    if (word % 2 != 0) assert_true(at > stack->base && *--at == word - 1);
    assert_int_equal(found[word / 16]++, 0);
  }
  return count;
}

static size_t numbers_of(const crd_word_stack *stack) {
  size_t pieces = 0;
  for (const cradle_word *at = stack->base; at < stack->top; at++) pieces += *at % 2;
  return word_stack_count(stack) - pieces;
}

/* What one marker has and what another has been given are what there was, and no piece is cut. */
static void nothing_is_lost_and_no_piece_is_cut(void **state) {
  (void)state;
  static uint8_t found[4096];
  uint64_t random = 7;
  size_t given = 0;
  for (int i = 0; i < 300; i++) {
    crd_word_stack stack = full_stack(&random, random_next(&random) % 1500), taken = new_stack();
    size_t numbers = numbers_of(&stack), before = word_stack_count(&stack);
    pthread_t thread;
    void *result;
    memset(found, 0, sizeof found);
    open_pool(2);
    assert_int_equal(pthread_create(&thread, NULL, be_hungry, &taken), 0);
    await_hunger();
    crd_pool_give(&pool, &stack);
    size_t left = word_stack_count(&stack);
    assert_true(before - left <= POOL_ENTRIES && left >= before / 2);
    if (left == before) crd_pool_close(&pool);
    assert_int_equal(pthread_join(thread, &result), 0);
    assert_true((result != NULL) == (left != before));
    assert_int_equal(count_found(&stack, found) + count_found(&taken, found), numbers);
    given += before - left;
    crd_pool_close(&pool);
    crd_word_stack_fini(&stack);
    crd_word_stack_fini(&taken);
  }
  assert_true(given > 0);
  crd_pool_fini(&pool);
}

static void nobody_is_given_what_nobody_wants(void **state) {
  (void)state;
  uint64_t random = 7;
  crd_word_stack stack = full_stack(&random, 100);
  size_t count = word_stack_count(&stack);
  open_pool(2);
  crd_pool_give(&pool, &stack);
  assert_int_equal(word_stack_count(&stack), count);
  assert_int_equal(pool.count, 0);
  crd_pool_fini(&pool);
  crd_word_stack_fini(&stack);
}

/* The last marker that has nothing ends the round; a close ends it before. */
static void all_are_hungry_at_the_end(void **state) {
  (void)state;
  crd_word_stack stack = new_stack(), other = new_stack();
  void *result;
  pthread_t thread;
  open_pool(1);
  assert_false(crd_pool_take(&pool, &stack));
  for (int closed = 0; closed < 2; closed++) {
    open_pool(closed ? 3 : 2);
    assert_int_equal(pthread_create(&thread, NULL, be_hungry, &other), 0);
    await_hunger();
    assert_false(pool_is_over(&pool));
    if (closed) crd_pool_close(&pool);
    assert_false(crd_pool_take(&pool, &stack));
    assert_int_equal(pthread_join(thread, &result), 0);
    assert_null(result);
    assert_true(pool_is_over(&pool));
  }
  crd_pool_fini(&pool);
  crd_word_stack_fini(&stack);
  crd_word_stack_fini(&other);
}

/* --- rounds --- */

enum { T_NODE, T_ARRAY, T_TRACED, T_COUNT };
typedef struct node {
  uint64_t header;
  struct node *slot[3];
  uint64_t number;
} node;
typedef struct array {
  uint64_t header, length;
  void *item[];
} array;

static void trace_node(void *user, void *object, cradle_visitor *visitor) {
  (void)user;
  if (!pthread_equal(pthread_self(), program)) fail_msg("a trace callback runs on the collector's thread [marker.6]");
  for (int i = 0; i < 3; i++) cradle_visit(visitor, &((node *)object)->slot[i], CRADLE_KIND_REFERENCE);
}

static const cradle_type types[T_COUNT] = {
    [T_NODE] = {.name = "node",
                .size = sizeof(node),
                .references = CRADLE_SLOT(node, slot[0]) | CRADLE_SLOT(node, slot[1]) | CRADLE_SLOT(node, slot[2])},
    [T_ARRAY] = {.name = "array",
                 .size = sizeof(array),
                 .items = CRADLE_ITEMS_REFERENCES,
                 .item_size = 8,
                 .length_offset = offsetof(array, length)},
    [T_TRACED] = {.name = "traced", .size = sizeof(node), .trace = trace_node},
};

#define OBJECTS ((uint64_t)LIMIT(30000, 6000))
#define ARRAYS 40
#define TRIES 400

static cradle_mutator *m;
static array *all; /* what lives: half of the objects */
static uint64_t threads, live, random_state, in_rounds, several;
static uint64_t counted, counted_in; /* live objects by the rows of types, and of which major collection */

static void on_event(void *user, const cradle_event *event) {
  (void)user;
  if (event->kind == CRADLE_EVENT_TYPES) {
    if (event->u.types.number != counted_in) counted = 0;
    counted_in = event->u.types.number;
    counted += event->u.types.live_objects;
  }
  if (event->kind != CRADLE_EVENT_BESIDE) return;
  in_rounds += event->u.beside.objects;
  several += event->u.beside.markers > 1;
}

static uint64_t below(uint64_t limit) {
  return random_next(&random_state) % limit;
}

static node *node_at(uint64_t i) {
  return ((array *)all->item[i % ARRAYS])->item[i / ARRAYS];
}

/* Random slots among what lives, so that the graph is a wide one with many ways to each object. */
CRADLE_UNCHECKED_COLLECTION static void fill(bool callbacks) {
  cradle_global_root_add(heap, &all, CRADLE_KIND_REFERENCE);
  all = cradle_new_array(m, T_ARRAY, ARRAYS);
  for (int i = 0; i < ARRAYS; i++) {
    array *part = cradle_new_array(m, T_ARRAY, OBJECTS / ARRAYS);
    cradle_store(m, all, &all->item[i], part);
  }
  for (uint64_t i = 0; i < OBJECTS; i++) {
    node *next = cradle_new(m, callbacks && i % 50 == 0 ? T_TRACED : T_NODE, sizeof(node));
    next->number = i;
    array *part = all->item[i % ARRAYS];
    cradle_store(m, part, &part->item[i / ARRAYS], next);
    for (int k = 0; k < 3 && i > 0; k++) cradle_store(m, next, &next->slot[k], node_at(below(i)));
    if (i % 2 == 0) (void)cradle_new(m, T_NODE, sizeof(node));
  }
  live = 1 + ARRAYS + OBJECTS;
  cradle_collect(m, CRADLE_COLLECT_MINOR);
}

/* Guests: other mutators, which do nothing but stand. */
enum { GUESTS_MOST = 3 };
static uint64_t guests;
static pthread_t guest_threads[GUESTS_MOST];
static uint32_t guests_here; /* atomic */
static bool guests_go;       /* atomic */
static const cradle_hardware machine = {
    .page_bytes = 4096, .l2_bytes = 1 << 20, .memory_bytes = 1 << 30, .processors = 8};

CRADLE_UNCHECKED_COLLECTION static void *be_guest(void *unused) {
  cradle_mutator *guest = cradle_mutator_new(heap);
  assert_non_null(guest);
  __atomic_fetch_add(&guests_here, 1, __ATOMIC_RELAXED);
  while (!__atomic_load_n(&guests_go, __ATOMIC_RELAXED)) {
    cradle_safepoint(guest);
    crd_thread_relax();
  }
  cradle_mutator_free(guest);
  return unused;
}

static void make_guests(void) {
  __atomic_store_n(&guests_go, false, __ATOMIC_RELAXED);
  __atomic_store_n(&guests_here, 0, __ATOMIC_RELAXED);
  for (uint64_t i = 0; i < guests; i++) assert_int_equal(pthread_create(&guest_threads[i], NULL, be_guest, NULL), 0);
  while (__atomic_load_n(&guests_here, __ATOMIC_RELAXED) != guests) CRADLE_PARKED(m)(void) sched_yield();
}

static void end_guests(void) {
  __atomic_store_n(&guests_go, true, __ATOMIC_RELAXED);
  CRADLE_PARKED(m)
  for (uint64_t i = 0; i < guests; i++) assert_int_equal(pthread_join(guest_threads[i], NULL), 0);
}

static void check_all(void) {
  cradle_error error;
  for (uint64_t i = 0; i < OBJECTS; i++) assert_int_equal(node_at(i)->number, i);
  if (!cradle_heap_verify(heap, &error)) fail_msg("%s", error.message);
}

CRADLE_UNCHECKED_COLLECTION static void open_world(uint64_t stress, bool callbacks) {
  cradle_error error;
  cradle_options options;
  cradle_options_init(&options);
  options.types = types, options.type_count = T_COUNT;
  options.nursery_bytes = (size_t)64 << 10;
  options.gc_threads = (uint32_t)threads;
  options.mutators = guests + 1;
  options.hardware = &machine;
  options.stress_period = stress;
  options.listener = (cradle_listener){on_event, NULL};
  options.report_types = 2;
  options.major_min_bytes = (size_t)1 << 30; /* collections begin when the test says so */
  program = pthread_self();
  random_state = 11, in_rounds = several = 0, lingers = false;
  heap = cradle_heap_new(&options, &error);
  if (heap == NULL) fail_msg("%s", error.message);
  m = cradle_mutator_new(heap);
  set_delays(true);
  make_guests();
  fill(callbacks);
}

static void close_world(void) {
  check_all();
  end_guests();
  set_delays(false);
  cradle_global_root_remove(heap, &all);
  cradle_mutator_free(m);
  cradle_heap_free(heap);
  heap = NULL;
}

/* Makes the thread, and has the helpers hired. */
static void begin_marking(void) {
  if (inside_major(heap)->phase != MAJOR_IDLE) cradle_collect(m, CRADLE_COLLECT_MAJOR);
  (void)cradle_collect_step(m, 0);
  assert_int_equal(inside_major(heap)->phase, MAJOR_MARKING);
  cradle_collect(m, CRADLE_COLLECT_MINOR);
  if (threads != 0) assert_int_equal(inside_marker(heap)->others->count, threads - 1);
}

static void wait_a_bit(uint64_t most) {
  for (uint64_t i = below(most); i > 0; i--) sched_yield();
}

/* Full collections, of which the program's thread leads the marking: all objects are traced, and each once. */
CRADLE_UNCHECKED_COLLECTION static void each_object_is_traced_once_in_a_pause(void **state) {
  (void)state;
  open_world(0, false);
  begin_marking();
  for (int i = 0; i < TRIES && (i < 10 || several == 0); i++) {
    lingers = i >= 10;
    cradle_collect(m, CRADLE_COLLECT_MAJOR);
    assert_int_equal(inside_major(heap)->objects, live);
  }
  assert_true(several > 0 && in_rounds > 0);
  close_world();
}

/* Rounds beside the program, which ends each after a while. Nothing is stored meanwhile. */
CRADLE_UNCHECKED_COLLECTION static void each_object_is_traced_once_beside(void **state) {
  (void)state;
  open_world(0, false);
  for (int i = 0; i < TRIES && (i < 10 || (threads > 1 && several == 0)); i++) {
    begin_marking();
    while (inside_major(heap)->phase == MAJOR_MARKING) {
      wait_a_bit(30);
      if (below(2) == 0)
        cradle_collect(m, CRADLE_COLLECT_MINOR);
      else
        (void)cradle_collect_step(m, 1000);
    }
    assert_int_equal(inside_major(heap)->objects, live);
    check_all();
  }
  assert_true(threads == 1 || several > 0);
  close_world();
}

/* The program stores, allocates and is verified while rounds go on; under stress markers leave them at random. */
static void churn(uint64_t stress, bool callbacks) CRADLE_MAY_COLLECT {
  open_world(stress, callbacks);
  for (uint64_t i = 0; i < (uint64_t)LIMIT(20000, 5000); i++) {
    node *next = cradle_new(m, callbacks && i % 20 == 0 ? T_TRACED : T_NODE, sizeof(node));
    uint64_t at = below(OBJECTS);
    next->number = at;
    for (int k = 0; k < 3; k++) cradle_store(m, next, &next->slot[k], node_at(below(OBJECTS)));
    array *part = all->item[at % ARRAYS];
    cradle_store(m, part, &part->item[at / ARRAYS], next);
    if (i % 1000 == 0) (void)cradle_collect_step(m, 0);
    if (i % 5000 == 0) check_all();
    if (i % 20000 == 0) cradle_collect(m, CRADLE_COLLECT_MAJOR);
  }
  assert_non_null(inside_marker(heap)->thread);
  close_world();
}

CRADLE_UNCHECKED_COLLECTION static void beside_a_program_that_stores(void **state) {
  (void)state;
  churn(0, false);
}
CRADLE_UNCHECKED_COLLECTION static void callbacks_stay_with_the_program(void **state) {
  (void)state;
  churn(0, true);
}
CRADLE_UNCHECKED_COLLECTION static void under_stress(void **state) {
  (void)state;
  churn(101, true);
}

/* A stack without room for more than the pool gives: what does not fit is found by a rescan. */
CRADLE_UNCHECKED_COLLECTION static void stacks_overflow(void **state) {
  (void)state;
  open_world(0, false);
  begin_marking();
  cradle_collect(m, CRADLE_COLLECT_MAJOR);
  crd_markers *others = inside_marker(heap)->others;
  cradle_word *ends[CRADLE_GC_THREADS_MAX], *limits[CRADLE_GC_THREADS_MAX];
  for (uint32_t i = 0; i < others->equipped; i++) {
    crd_word_stack *stack = &others->tracers[i].stack;
    ends[i] = stack->end;
    limits[i] = stack->limit;
    stack->end = stack->limit = stack->base + POOL_ENTRIES;
  }
  for (int i = 0; i < 10; i++) {
    cradle_collect(m, CRADLE_COLLECT_MAJOR);
    assert_true(inside_major(heap)->objects >= live);
    check_all();
  }
  for (uint32_t i = 0; i < others->equipped; i++) {
    others->tracers[i].stack.end = ends[i];
    others->tracers[i].stack.limit = limits[i];
  }
  close_world();
}

/* Sweeping: what was dropped is freed, each object once, and what was not stays. */
CRADLE_UNCHECKED_COLLECTION static void the_dead_are_freed_once(void **state) {
  enum { PARTS = 400, OF_ONE = 200, LONGEST = 30 };
  (void)state;
  open_world(0, false);
  array *parts = cradle_new_array(m, T_ARRAY, PARTS);
  CRADLE_ROOT(m, parts);
  begin_marking();
  cradle_collect(m, CRADLE_COLLECT_MAJOR);
  for (int round = 0; round < 4; round++) {
    uint64_t dead = 0;
    for (int i = 0; i < PARTS; i++) {
      if (parts->item[i] == NULL) cradle_store(m, parts, &parts->item[i], cradle_new_array(m, T_ARRAY, OF_ONE));
      for (int k = 0; k < OF_ONE; k++) {
        array *small = cradle_new_array(m, T_ARRAY, below(LONGEST)), *part = parts->item[i];
        dead += part->item[k] != NULL;
        cradle_store(m, part, &part->item[k], small);
      }
    }
    cradle_collect(m, CRADLE_COLLECT_MINOR);
    for (int i = 0; i < PARTS; i++) {
      if (below(2) == 0) continue;
      cradle_store(m, parts, &parts->item[i], NULL);
      dead += 1 + OF_ONE;
    }
    cradle_collect(m, CRADLE_COLLECT_MAJOR);
    assert_int_equal(inside_major(heap)->swept.freed_objects, dead);
    check_all();
  }
  close_world();
}

CRADLE_UNCHECKED_COLLECTION static void callbacks_stay_in_pauses(void **state) {
  (void)state;
  open_world(0, true);
  for (int i = 0; i < 10; i++) {
    cradle_collect(m, CRADLE_COLLECT_MAJOR);
    assert_int_equal(inside_major(heap)->objects, live);
    assert_int_equal(counted, live);
  }
  close_world();
}

CRADLE_UNCHECKED_COLLECTION static void others_sweep(void **state) {
  (void)state;
  if (!CRADLE_SMALL_LIMITS) skip(); /* which alone call between two steps */
  open_world(0, false);
  __atomic_store_n(&swept_by_others, 0, __ATOMIC_RELAXED);
  for (int i = 0; i < TRIES && __atomic_load_n(&swept_by_others, __ATOMIC_RELAXED) < 20; i++) {
    lingers = i >= 10;
    cradle_collect(m, CRADLE_COLLECT_MAJOR);
    assert_int_equal(counted, live);
  }
  assert_int_not_equal(__atomic_load_n(&swept_by_others, __ATOMIC_RELAXED), 0);
  close_world();
}

/* After a plain fork in a round of several, the child marks alone until it has threads of its own. */
CRADLE_UNCHECKED_COLLECTION static void a_child_goes_on(void **state) {
  (void)state;
  if (!FORKS_ARE_TRIED || !CHILDREN_MAKE_THREADS) skip();
  open_world(0, false);
  for (int i = 0; i < 10; i++) {
    begin_marking();
    wait_a_bit(20);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
      cradle_collect(m, CRADLE_COLLECT_MAJOR);
      begin_marking();
      cradle_collect(m, CRADLE_COLLECT_MAJOR);
      check_all();
      _exit(0);
    }
    cradle_collect(m, CRADLE_COLLECT_MAJOR);
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  }
  close_world();
}

int main(void) {
  const struct CMUnitTest of_the_pool[] = {
      cmocka_unit_test(nothing_is_lost_and_no_piece_is_cut),
      cmocka_unit_test(nobody_is_given_what_nobody_wants),
      cmocka_unit_test(all_are_hungry_at_the_end),
  };
  const struct CMUnitTest of_rounds[] = {
      cmocka_unit_test(each_object_is_traced_once_in_a_pause),
      cmocka_unit_test(each_object_is_traced_once_beside),
      cmocka_unit_test(beside_a_program_that_stores),
      cmocka_unit_test(callbacks_stay_with_the_program),
      cmocka_unit_test(under_stress),
      cmocka_unit_test(stacks_overflow),
      cmocka_unit_test(the_dead_are_freed_once),
      cmocka_unit_test(a_child_goes_on),
  };
  const struct CMUnitTest of_guests[] = {
      cmocka_unit_test(each_object_is_traced_once_in_a_pause),
      cmocka_unit_test(callbacks_stay_in_pauses),
      cmocka_unit_test(stacks_overflow),
      cmocka_unit_test(the_dead_are_freed_once),
      cmocka_unit_test(others_sweep),
  };
  const struct {
    uint64_t threads, guests;
  } parties[] = {{0, 1}, {0, 3}, {1, 1}, {2, 2}};
  int failed = cmocka_run_group_tests(of_the_pool, NULL, NULL);
  for (threads = 1; threads <= 4; threads++) {
    printf("threads: %u\n", (unsigned)threads);
    failed += cmocka_run_group_tests(of_rounds, NULL, NULL);
  }
  for (size_t i = 0; i < sizeof parties / sizeof *parties; i++) {
    threads = parties[i].threads, guests = parties[i].guests;
    printf("threads: %u, guests: %u\n", (unsigned)threads, (unsigned)guests);
    failed += cmocka_run_group_tests(of_guests, NULL, NULL);
  }
  return failed;
}
