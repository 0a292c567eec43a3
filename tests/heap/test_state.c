/* Tests the heap's states: which state may begin during which other, and how each changes the mutator's fast path. */
#include "tests/support/heap_fixture.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/inside.h"

static fixture f;

static int open_heap(void **state) {
  (void)state;
  fixture_open(&f);
  return 0;
}

static int close_heap(void **state) {
  (void)state;
  fixture_close(&f);
  return 0;
}

static void a_state_is_left_for_the_one_before(void **state) {
  (void)state;
  crd_state mutating = crd_state_enter(&f.heap->report, HEAP_COLLECTING);
  assert_int_equal(mutating, HEAP_MUTATING);
  crd_state collecting = crd_state_enter(&f.heap->report, HEAP_TELLING);
  assert_int_equal(collecting, HEAP_COLLECTING);
  assert_int_equal(f.heap->report.state, HEAP_TELLING);
  crd_state_leave(&f.heap->report, collecting);
  assert_int_equal(f.heap->report.state, HEAP_COLLECTING);
  crd_state_leave(&f.heap->report, mutating);
  assert_int_equal(f.heap->report.state, HEAP_MUTATING);
}

/* [state.1] */
static void only_the_mutators_turn_has_a_fast_path(void **state) {
  (void)state;
  static const crd_state states[] = {HEAP_COLLECTING, HEAP_VERIFYING, HEAP_FORKING, HEAP_SAMPLING,
                                     HEAP_DESTROYING, HEAP_TELLING,   HEAP_WALKING};
  char *top = f.m->top;
  assert_non_null(top);
  for (size_t i = 0; i < sizeof states / sizeof *states; i++) {
    crd_state before = crd_state_enter(&f.heap->report, states[i]);
    assert_null(f.m->top);
    crd_state_leave(&f.heap->report, before);
    assert_ptr_equal(f.m->top, top);
  }
}

/* Returns how a child ends that begins the state second during the state first. */
static int end_of(crd_state first, crd_state second) {
  int status;
  pid_t child = fork();
  assert_true(child >= 0);
  if (child == 0) {
    close(STDERR_FILENO);
    signal(SIGABRT, SIG_DFL);
    if (first != HEAP_MUTATING) (void)crd_state_enter(&f.heap->report, first);
    (void)crd_state_enter(&f.heap->report, second);
    _exit(0);
  }
  assert_int_equal(waitpid(child, &status, 0), child);
  return status;
}

static void no_state_begins_where_it_cannot(void **state) {
  (void)state;
  if (!CRADLE_ASSERTIONS) skip(); /* this tests the assertions */
  static const crd_state wrong[][2] = {
      {HEAP_MUTATING, HEAP_MUTATING},     {HEAP_COLLECTING, HEAP_COLLECTING}, {HEAP_TELLING, HEAP_COLLECTING},
      {HEAP_TELLING, HEAP_TELLING},       {HEAP_WALKING, HEAP_COLLECTING},    {HEAP_FORKING, HEAP_COLLECTING},
      {HEAP_DESTROYING, HEAP_COLLECTING}, {HEAP_SAMPLING, HEAP_COLLECTING},   {HEAP_VERIFYING, HEAP_WALKING},
      {HEAP_COLLECTING, HEAP_VERIFYING},  {HEAP_WALKING, HEAP_TELLING}};
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    int status = end_of(wrong[i][0], wrong[i][1]);
    if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGABRT)
      fail_msg("state %d began while %d ran", wrong[i][1], wrong[i][0]);
  }
  assert_int_equal(end_of(HEAP_COLLECTING, HEAP_TELLING), 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(a_state_is_left_for_the_one_before, open_heap, close_heap),
      cmocka_unit_test_setup_teardown(only_the_mutators_turn_has_a_fast_path, open_heap, close_heap),
      cmocka_unit_test_setup_teardown(no_state_begins_where_it_cannot, open_heap, close_heap),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
