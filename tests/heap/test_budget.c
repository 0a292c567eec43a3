/* What the increment of a pause may do: line by line the table above crd_collect_budget. The test sets the figures that
 * the table asks for. Also what a pause leaves to the second core, and what stress counts. */
#include "tests/support/one_heap.h"

#include "tests/inside.h"

#define MIB ((uint64_t)1 << 20)
#define TARGET_NS UINT64_C(8000000)
#define BEGIN_NS (UINT64_MAX / 2) /* later than any clock, so that the deadline depends on nothing else */
#define DEADLINE_NS (BEGIN_NS + TARGET_NS / 8 * 7)

static void choose(cradle_options *options) {
  fixture_unstress(options);
  options->verify = false;
}

/* The figures of a heap. Its threshold is 40 MiB; with a thread the limit is 60 MiB. */
typedef struct figures {
  uint64_t used, used_at_start, marked, promoted;
  uint64_t external, done;   /* by the thread, since the last pause */
  uint64_t target, stress;   /* pause_ns, stress_period */
  uint64_t before_sweep;     /* used bytes then; 0: it marks */
  bool beside, nothing_left; /* the heap has a thread; the mark stack is empty */
  bool late;                 /* the pause began long ago */
  uint64_t large;            /* by which large objects have grown since marking began */
} figures;

static crd_budget budget_for(figures all) {
  cradle_heap *heap = f.heap;
  crd_old *old = inside_old(heap);
  const crd_pacing pacing = *inside_pacing(heap);
  const crd_major major = *inside_major(heap);
  uint64_t used = old->used_bytes, large = old->large_bytes;
  old->large_bytes += all.large;
  inside_major(heap)->large_at_start = large;
  inside_pacing(heap)->threshold = 40 * MIB;
  inside_pacing(heap)->min = 8 * MIB;
  inside_pacing(heap)->beside_room = 20 * MIB;
  inside_major(heap)->phase = all.before_sweep != 0 ? MAJOR_SWEEPING : MAJOR_MARKING;
  inside_major(heap)->used_before_sweep = all.before_sweep;
  inside_major(heap)->used_at_start = all.used_at_start;
  inside_major(heap)->collected_at_start = all.used_at_start + all.external;
  inside_major(heap)->bytes = all.marked;
  inside_marker(heap)->thread = all.beside ? (crd_thread *)heap : NULL;
  inside_marker(heap)->last.bytes = all.done;
  heap->options.pause_ns = all.target;
  heap->options.stress_period = all.stress;
  heap->marking.external_bytes = all.external;
  old->used_bytes = all.used;
  if (!all.nothing_left) assert_true(word_stack_push(inside_mark_stack(heap), 8));
  crd_budget budget = crd_collect_budget(heap, all.late ? 0 : BEGIN_NS, all.promoted);
  if (!all.nothing_left) (void)word_stack_pop(inside_mark_stack(heap));
  old->used_bytes = used;
  old->large_bytes = large;
  heap->marking.external_bytes = 0;
  heap->options.stress_period = 0;
  inside_marker(heap)->last.bytes = 0;
  inside_marker(heap)->thread = NULL;
  *inside_major(heap) = major;
  *inside_pacing(heap) = pacing;
  return budget;
}

static void assert_budget(crd_budget budget, uint64_t bytes, uint64_t deadline_ns, bool aside) {
  assert_int_equal(budget.bytes, bytes);
  assert_int_equal(budget.deadline_ns, deadline_ns);
  assert_int_equal(budget.aside, aside);
}

static bool is_whole(crd_budget budget) {
  return budget.bytes == UINT64_MAX && budget.deadline_ns == UINT64_MAX && !budget.aside;
}

static void far_above_the_limit_all_is_done(void **state) {
  (void)state;
  figures all = {.used = 52 * MIB, .used_at_start = 30 * MIB, .target = TARGET_NS};
  assert_false(is_whole(budget_for(all))); /* 40 MiB, and a quarter of 48 MiB */
  all.used++;
  assert_true(is_whole(budget_for(all)));
  all.external = 10 * MIB, all.used -= 10 * MIB + 1;
  assert_false(is_whole(budget_for(all)));
  all.used++;
  assert_true(is_whole(budget_for(all)));
  all.external = 0;
  all.stress = 1, all.used = 52 * MIB + 1; /* under stress, too */
  assert_true(is_whole(budget_for(all)));
  all.beside = true; /* under stress the thread changes nothing */
  assert_true(is_whole(budget_for(all)));
  all.stress = 0;
  for (int sweeps = 0; sweeps < 2; sweeps++) {
    all.before_sweep = sweeps ? 70 * MIB : 0; /* what it grew by while it was marked is still there */
    all.used = 77 * MIB;
    assert_false(is_whole(budget_for(all))); /* 60 MiB, and a quarter of 68 MiB */
    all.used++;
    assert_int_equal(is_whole(budget_for(all)), sweeps == 0); /* with a pause target sweeping goes on in increments */
  }
  all.before_sweep = 0;
  inside_marker(f.heap)->takes_turns = true; /* the thread has no processor of its own: 40 MiB again */
  all.used = 52 * MIB;
  assert_false(is_whole(budget_for(all)));
  all.used++;
  assert_true(is_whole(budget_for(all)));
  inside_marker(f.heap)->takes_turns = false;
  all.used = 77 * MIB + 1;
  all.used_at_start = 100 * MIB; /* more than the limit */
  assert_false(is_whole(budget_for(all)));
  all.used = 127 * MIB + 1;
  assert_true(is_whole(budget_for(all)));
}

/* An array that doubles is no sign of marking that falls behind. */
static void large_objects_raise_the_limit(void **state) {
  (void)state;
  figures all = {.used = 84 * MIB, .used_at_start = 30 * MIB, .target = TARGET_NS, .large = 32 * MIB};
  assert_false(is_whole(budget_for(all)));
  all.large = 0;
  assert_true(is_whole(budget_for(all)));
  all.large = 32 * MIB;
  all.used = 92 * MIB; /* 72 MiB, and a quarter of 80 MiB */
  assert_false(is_whole(budget_for(all)));
  all.used++;
  assert_true(is_whole(budget_for(all)));
}

static void under_stress_increments_are_the_smallest(void **state) {
  (void)state;
  figures all = {.used = 30 * MIB, .used_at_start = 20 * MIB, .stress = 1000};
  assert_budget(budget_for(all), 0, 0, false);
  all.beside = true, all.target = TARGET_NS;
  assert_budget(budget_for(all), 0, 0, false);
}

/* The rest is swept at once where the heap has grown by a quarter of its minimum since sweeping began. */
static void under_stress_no_heap_outruns_sweeping(void **state) {
  (void)state;
  figures all = {.used = 22 * MIB, .used_at_start = 20 * MIB, .before_sweep = 20 * MIB, .stress = 1000};
  assert_budget(budget_for(all), 0, 0, false);
  all.used++;
  assert_true(is_whole(budget_for(all)));
  all.stress = 0, all.target = TARGET_NS;
  assert_false(is_whole(budget_for(all)));
}

static void without_target_and_thread_all_is_done(void **state) {
  (void)state;
  figures all = {.used = 30 * MIB, .used_at_start = 20 * MIB};
  assert_true(is_whole(budget_for(all)));
  all.target = TARGET_NS;
  assert_false(is_whole(budget_for(all)));
  all.target = 0, all.beside = true;
  assert_false(is_whole(budget_for(all)));
}

/* The promotions have used up a tenth of the room below the threshold: a tenth of what is unmarked, a quarter more. */
static void without_a_thread_pacing_says_how_much(void **state) {
  (void)state;
  figures all = {.used = 30 * MIB,
                 .used_at_start = 24 * MIB,
                 .marked = 8 * MIB,
                 .promoted = MIB,
                 .target = TARGET_NS,
                 .done = MIB};
  assert_budget(budget_for(all), 2 * MIB, DEADLINE_NS, false);
  all.marked = 30 * MIB; /* more than there was: the least */
  assert_budget(budget_for(all), 2 * MIB, DEADLINE_NS, false);
  all.marked = 0, all.promoted = 2 * MIB;
  assert_budget(budget_for(all), 6 * MIB, DEADLINE_NS, false);
}

/* However long the minor collection took, and also past the threshold: an eighth of the target. */
static void after_a_long_minor_collection_a_little_time_is_left(void **state) {
  (void)state;
  const figures cases[] = {{.used = 40 * MIB}, {.used = 45 * MIB}, {.used = 45 * MIB, .before_sweep = 45 * MIB}};
  for (int i = 0; i < 6; i++) {
    figures all = cases[i / 2];
    all.used_at_start = 24 * MIB, all.target = TARGET_NS, all.late = true, all.beside = i % 2;
    uint64_t before = crd_platform_now_ns(), deadline = budget_for(all).deadline_ns;
    assert_in_range(deadline, before + TARGET_NS / 8, crd_platform_now_ns() + TARGET_NS / 8);
    all.late = false;
    assert_int_equal(budget_for(all).deadline_ns, DEADLINE_NS);
  }
}

static void what_the_thread_left_is_marked(void **state) {
  (void)state;
  figures all = {.used = 30 * MIB,
                 .used_at_start = 24 * MIB,
                 .marked = 8 * MIB,
                 .promoted = MIB,
                 .target = TARGET_NS,
                 .beside = true,
                 .nothing_left = true};
  assert_budget(budget_for(all), 16 * MIB, DEADLINE_NS, false);
  all.marked = 24 * MIB - BESIDE_MIN_BYTES - 1;
  assert_budget(budget_for(all), BESIDE_MIN_BYTES + 1, DEADLINE_NS, false);
  all.marked = 24 * MIB;
  assert_budget(budget_for(all), BESIDE_MIN_BYTES, DEADLINE_NS, false);
  all.target = 0;
  assert_budget(budget_for(all), BESIDE_MIN_BYTES, NO_TARGET_DEADLINE, false);
}

/* The promotions have used up a tenth of the room below 60 MiB, so an eighth of what was unmarked before the thread
 * marked is needed. */
static void what_the_thread_did_counts(void **state) {
  (void)state;
  figures all = {.used = 20 * MIB, .used_at_start = 40 * MIB, .promoted = 4 * MIB, .target = TARGET_NS, .beside = true};
  all.marked = 10 * MIB, all.done = 2 * MIB;
  assert_budget(budget_for(all), 2 * MIB, DEADLINE_NS, false); /* an eighth of 32 MiB, less 2 */
  all.marked = 12 * MIB, all.done = 4 * MIB;
  assert_budget(budget_for(all), 0, DEADLINE_NS, true); /* an eighth of 32 MiB: just enough */
  all.done = 20 * MIB;
  assert_budget(budget_for(all), 0, DEADLINE_NS, true);
  all.marked = 10 * MIB, all.done = 2 * MIB, all.target = 0;
  assert_budget(budget_for(all), 2 * MIB, NO_TARGET_DEADLINE, false);
}

/* The time that stress took is that of its collections, minor and full ones, and so less than the heap's age. */
CRADLE_UNCHECKED_COLLECTION static void stress_counts_the_time_of_its_collections(void **state) {
  (void)state;
  for (uint64_t major = 0; major < 2; major++) {
    fixture stressed;
    cradle_options options;
    fixture_options(&stressed, &options);
    fixture_unstress(&options);
    options.stress_period = 1;
    options.stress_major = major;
    fixture_open_with(&stressed, &options);
    for (int i = 0; i < 10; i++) {
      uint64_t before = stressed.heap->stress.spent_ns;
      (void)cradle_new(stressed.m, T_PAIR, sizeof(pair));
      assert_true(stressed.heap->stress.spent_ns >= before);
    }
    assert_int_equal(stressed.heap->stress.majors, major == 0 ? 0 : 10);
    (void)cradle_new_array(stressed.m, T_STRING, 40000); /* a large object counts, too */
    assert_int_equal(stressed.heap->stress.number, 11);
    assert_true(stressed.heap->stress.spent_ns <= fixture_stats(&stressed).wall_ns);
    fixture_close(&stressed);
  }
}

/* The collector's thread goes on when the pause is over. */
CRADLE_UNCHECKED_COLLECTION static void marking_goes_on_after_a_pause(void **state) {
  (void)state;
  fixture beside;
  cradle_options options;
  fixture_options(&beside, &options);
  fixture_unstress(&options);
  options.verify = false;
  options.gc_threads = 1;
  fixture_open_with(&beside, &options);
  cradle_push(beside.m, NULL);
  for (int i = 0; i < 20000; i++) {
    pair *next = cradle_new(beside.m, T_PAIR, sizeof(pair));
    next->rest = (pair *)*cradle_peek(beside.m, 0);
    *cradle_peek(beside.m, 0) = (uintptr_t)next;
  }
  cradle_collect(beside.m, CRADLE_COLLECT_FULL);
  assert_false(cradle_collect_step(beside.m, 0));
  if (inside_marker(beside.heap)->thread == NULL) print_message("the system refuses the thread\n");
  assert_int_equal(inside_marker(beside.heap)->going, inside_marker(beside.heap)->thread != NULL);
  cradle_pop(beside.m);
  fixture_close(&beside);
}

/* Allocates one array after the other, each twice as long as the last, which then dies, as a map of numbers does. */
CRADLE_UNCHECKED_COLLECTION static cradle_statistics double_an_array(uint64_t pause_ns, uint32_t threads) {
  fixture growing;
  cradle_options options;
  fixture_options(&growing, &options);
  fixture_unstress(&options);
  options.verify = false;
  options.pause_ns = pause_ns;
  options.gc_threads = threads;
  options.nursery_bytes = (size_t)64 << 10;
  fixture_open_with(&growing, &options);
  cradle_push(growing.m, NULL);
  for (uint64_t bytes = 40000; bytes <= 16 * MIB; bytes *= 2)
    *cradle_peek(growing.m, 0) = (uintptr_t)cradle_new_array(growing.m, T_STRING, bytes);
  cradle_pop(growing.m);
  cradle_statistics stats = fixture_stats(&growing);
  fixture_close(&growing);
  return stats;
}

/* At most the last two arrays are in use, although pauses come only with them: a pause that begins a major collection
 * does as much of it as its time allows. Arenas of the dead ones go back before the next array is written. */
CRADLE_UNCHECKED_COLLECTION static void an_array_that_doubles_leaves_nothing_behind(void **state) {
  (void)state;
  const uint64_t targets[] = {UINT64_C(1000000000), 0}, last = 40000 << 8, two = last + last / 2;
  for (uint32_t i = 0; i < 4; i++) {
    cradle_statistics stats = double_an_array(targets[i / 2], i % 2);
    assert_in_range(stats.used_peak_bytes, two, two + MIB);
    assert_in_range(stats.arenas_committed * ARENA_BYTES, two, two + 3 * ARENA_BYTES);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      WITH_FIXTURE(far_above_the_limit_all_is_done),
      WITH_FIXTURE(large_objects_raise_the_limit),
      WITH_FIXTURE(under_stress_increments_are_the_smallest),
      WITH_FIXTURE(under_stress_no_heap_outruns_sweeping),
      WITH_FIXTURE(without_target_and_thread_all_is_done),
      WITH_FIXTURE(without_a_thread_pacing_says_how_much),
      WITH_FIXTURE(after_a_long_minor_collection_a_little_time_is_left),
      WITH_FIXTURE(what_the_thread_left_is_marked),
      WITH_FIXTURE(what_the_thread_did_counts),
      cmocka_unit_test(marking_goes_on_after_a_pause),
      cmocka_unit_test(an_array_that_doubles_leaves_nothing_behind),
      cmocka_unit_test(stress_counts_the_time_of_its_collections),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
