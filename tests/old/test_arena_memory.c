/* The arenas' memory on a simulated system: how it is reserved, advised and committed, and where a pool or a page of
 * 1 GiB backs it. */
#if defined(__linux__)

#include "tests/old/arena_system.h"

/* --- the reservation --- */

/* The arenas of the reservation, where the system refuses more than `most` at once; 0 if it is too little. */
static uint32_t reserved_of(uint32_t asked, uint32_t most) {
  uint32_t capacity = 0;
  refuse_above(RESERVE, most * ARENA_BYTES);
  if (init(CRADLE_HUGEPAGES_OFF, asked * ARENA_BYTES)) {
    capacity = arenas.capacity;
    assert_true(capacity > 0);
    assert_int_equal(arenas.limit, capacity);
    assert_int_equal(arenas.bytes, capacity * ARENA_BYTES);
    check();
    crd_arenas_fini(&arenas);
  }
  assert_true(is_nothing_reserved());
  return capacity;
}

/* What is left, of which a share would be asked for, is not simulated (test_limits.c). */
static void what_is_asked_for_is_reserved_or_nothing(void **state) {
  (void)state;
  assert_int_equal(reserved_of(64, 64), 64);
  assert_int_equal(reserved_of(1, 64), 8); /* the least */
  assert_int_equal(reserved_of(8, 8), 8);
  assert_int_equal(reserved_of(9, 9), 9);
  assert_int_equal(reserved_of(64, 63), 0);
}

/* A heap whose arenas could not be made ends them once more. */
static void what_was_reserved_before_a_refusal_goes_back(void **state) {
  (void)state;
  static const call calls[] = {RESERVE, COMMIT_OTHER};
  for (size_t c = 0; c < 2; c++)
    for (unsigned first = 1; first <= 3; first++)
      for (unsigned last = first; last <= 4; last++) {
        refuse_between(calls[c], first, last);
        bool made = init(CRADLE_HUGEPAGES_AUTO, 64 * ARENA_BYTES);
        if (made) {
          assert_true(arenas.capacity >= 8);
          check();
        } else {
          assert_true(is_nothing_reserved());
        }
        crd_arenas_fini(&arenas);
        assert_true(is_nothing_reserved());
        allow(calls[c]);
      }
  refuse(COMMIT_OTHER);
  assert_false(init(CRADLE_HUGEPAGES_AUTO, 64 * ARENA_BYTES));
  refuse_between(RESERVE, 3, 3); /* the states */
  assert_false(init(CRADLE_HUGEPAGES_AUTO, 64 * ARENA_BYTES));
  assert_true(is_nothing_reserved());
  crd_arenas_fini(&arenas);
}

/* --- advice --- */

static void huge_pages_are_advised_when_the_heap_is_large(void **state) {
  (void)state;
  open_arenas(CRADLE_HUGEPAGES_AUTO, 64 * ARENA_BYTES);
  assert_int_equal(the.arena[63].advice, HUGE_UNWANTED);
  assert_int_equal(the.meta_advice, HUGE_UNWANTED);
  fill(3);
  crd_arenas_enter_huge(&arenas);
  assert_int_equal(the.arena[63].advice, HUGE_WANTED);
  assert_int_equal(the.meta_advice, HUGE_WANTED);
  empty(1, 2);
  assert_int_equal(crd_arenas_release(&arenas, 0, UINT32_MAX), 2);
  assert_int_equal(the.arena[1].advice, HUGE_WANTED);
  close_arenas();
}

static void other_policies_advise_at_once(void **state) {
  (void)state;
  open_arenas(CRADLE_HUGEPAGES_OFF, 64 * ARENA_BYTES);
  assert_int_equal(the.meta_advice, HUGE_UNWANTED);
  unsigned before = the.count[ADVISE];
  crd_arenas_enter_huge(&arenas);
  assert_int_equal(the.count[ADVISE], before);
  close_arenas();
  open_arenas(CRADLE_HUGEPAGES_HUGETLB, 64 * ARENA_BYTES);
  assert_int_equal(the.arena[0].advice, HUGE_WANTED);
  assert_int_equal(the.meta_advice, HUGE_WANTED);
  before = the.count[ADVISE];
  crd_arenas_enter_huge(&arenas);
  assert_int_equal(the.count[ADVISE], before);
  close_arenas();
}

/* --- committing --- */

static void metadata_comes_before_its_arenas(void **state) {
  (void)state;
  enum { FIRST_PIECE = 25 }; /* arenas whose metadata is in the first 2 MiB */
  open_arenas(CRADLE_HUGEPAGES_OFF, 64 * ARENA_BYTES);
  refuse(COMMIT_META);
  assert_false(crd_arenas_ensure_free(&arenas, 1));
  assert_int_equal(arenas.committed_count, 0);
  allow(COMMIT_META);
  fill(FIRST_PIECE);
  assert_int_equal(the.meta_bytes, PIECE);
  assert_int_equal(the.count[COMMIT_META], 1);
  refuse(COMMIT_META);
  assert_int_equal(take(1), PAGE_NONE);
  assert_int_equal(arenas.committed_count, FIRST_PIECE);
  check();
  allow(COMMIT_META);
  fill(64 - FIRST_PIECE);
  assert_int_equal(the.meta_bytes, arenas.meta_bytes);
  assert_int_equal(take(1), PAGE_NONE);
  close_arenas();
}

static void neighbours_are_committed_together_or_one_by_one(void **state) {
  (void)state;
  open_arenas(CRADLE_HUGEPAGES_OFF, 64 * ARENA_BYTES);
  assert_true(crd_arenas_ensure_free(&arenas, 5));
  assert_int_equal(the.count[COMMIT], 1);
  refuse_above(COMMIT, ARENA_BYTES);
  assert_true(crd_arenas_ensure_free(&arenas, 8));
  assert_int_equal(the.count[COMMIT], 5); /* three, one, two, one, one */
  assert_int_equal(arenas.free_count, 8);
  check();
  refuse(COMMIT);
  assert_false(crd_arenas_ensure_free(&arenas, 9));
  assert_int_equal(the.count[COMMIT], 1);
  assert_false(crd_arenas_ensure_free(&arenas, 10));
  assert_int_equal(the.count[COMMIT], 3);
  assert_int_equal(arenas.free_count, 8);
  allow(COMMIT);
  arenas.limit = 9;
  assert_false(crd_arenas_ensure_free(&arenas, 10));
  assert_int_equal(arenas.free_count, 9);
  close_arenas();
}

/* Four arenas for a long run, of which the second and the fourth must be committed; a lower one need not. */
static void a_long_run_commits_what_is_missing(void **state) {
  (void)state;
  for (uint32_t room = 1; room <= 3; room++) {
    open_arenas(CRADLE_HUGEPAGES_OFF, 10 * ARENA_BYTES);
    fill(9);
    empty(0, 1);
    empty(2, 4);
    assert_int_equal(crd_arenas_release_at(&arenas, 0, 1, 0), 1);
    assert_int_equal(crd_arenas_release_at(&arenas, 3, 1, 0), 1);
    assert_int_equal(crd_arenas_release_at(&arenas, 5, 1, 0), 1);
    assert_int_equal(arenas.committed_count, 6);
    check();
    arenas.limit = 6 + room;
    refuse_between(COMMIT, 1, 1);
    assert_int_equal(take(4 * ARENA_PAGES), PAGE_NONE);
    assert_int_equal(arenas.committed_count, 6);
    check();
    assert_int_equal(take(4 * ARENA_PAGES), room == 1 ? PAGE_NONE : 2 * ARENA_PAGES);
    assert_int_equal(arenas.committed_count, 6 + (room == 1 ? 1 : 2));
    close_arenas();
  }
}

static void no_more_is_committed_than_asked_for(void **state) {
  (void)state;
  open_arenas(CRADLE_HUGEPAGES_OFF, 16 * ARENA_BYTES);
  assert_true(crd_arenas_commit_at(&arenas, 3, 2));
  assert_int_equal(the.count[COMMIT], 1);
  for (uint32_t i = 0; i < 16; i++) assert_int_equal(arenas.states[i] == ARENA_FREE, i == 3 || i == 4);
  check();
  assert_true(crd_arenas_commit_at(&arenas, 3, 2));
  assert_int_equal(the.count[COMMIT], 1);
  close_arenas();
}

static void the_lowest_reserved_arenas_come_first(void **state) {
  (void)state;
  open_arenas(CRADLE_HUGEPAGES_OFF, 16 * ARENA_BYTES);
  fill(10);
  empty(2, 3);
  empty(7, 1);
  assert_int_equal(crd_arenas_release(&arenas, 0, UINT32_MAX), 4);
  allow(COMMIT);
  assert_true(crd_arenas_ensure_free(&arenas, 6));
  assert_int_equal(the.count[COMMIT], 3); /* 2 to 4, 7, and 10 to 11 */
  assert_int_equal(arenas.committed_end, 12);
  assert_false(crd_arenas_ensure_free(&arenas, 11));
  assert_int_equal(arenas.committed_count, 16);
  close_arenas();
}

/* Also where it lies below all others that are free. */
static void what_is_committed_again_is_found(void **state) {
  (void)state;
  open_arenas(CRADLE_HUGEPAGES_OFF, 16 * ARENA_BYTES);
  fill(8);
  empty(2, 1);
  assert_int_equal(crd_arenas_release(&arenas, 0, UINT32_MAX), 1);
  empty(5, 2);
  assert_int_equal(take(ARENA_PAGES), 5 * ARENA_PAGES);
  assert_true(crd_arenas_ensure_free(&arenas, 2));
  assert_int_equal(arenas.states[2], ARENA_FREE);
  check();
  assert_int_equal(take(ARENA_PAGES), 2 * ARENA_PAGES);
  close_arenas();
}

/* --- the pool --- */

static void each_arena_that_a_pool_refuses_has_other_pages(void **state) {
  (void)state;
  open_arenas(CRADLE_HUGEPAGES_HUGETLB, 64 * ARENA_BYTES);
  refuse_between(COMMIT_POOL, 1, 1);
  fill(1);
  assert_int_equal(the.count[COMMIT_POOL], 1);
  assert_int_equal(arenas.pool_refusals, 1);
  check();
  fill(1);
  assert_int_equal(the.count[COMMIT_POOL], 2);
  assert_int_equal(arenas.pool_count, 1);
  assert_true(crd_arenas_ensure_free(&arenas, 3)); /* each could be refused by itself */
  assert_int_equal(the.count[COMMIT_POOL], 5);
  assert_int_equal(arenas.pool_count, 4);
  assert_int_equal(arenas.pool_refusals, 1);
  check();
  assert_int_equal(crd_arenas_prepare(&arenas, 3), 3); /* they have their pages */
  assert_int_equal(the.count[POPULATE], 0);
  assert_int_equal(crd_arenas_release(&arenas, 1, UINT32_MAX), 2);
  assert_int_equal(arenas.pool_count, 2);
  close_arenas();
}

static void without_a_pool_nothing_is_asked_of_it(void **state) {
  (void)state;
  hardware.pool_page_bytes = 0;
  open_arenas(CRADLE_HUGEPAGES_HUGETLB, 64 * ARENA_BYTES);
  fill(20);
  assert_int_equal(arenas.pool_refusals, 20);
  assert_int_equal(the.count[COMMIT_POOL], 0);
  close_arenas();
  open_arenas(CRADLE_HUGEPAGES_AUTO, 64 * ARENA_BYTES);
  fill(3);
  assert_int_equal(arenas.pool_refusals, 0);
  close_arenas();
}

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(what_is_asked_for_is_reserved_or_nothing),
      TEST(what_was_reserved_before_a_refusal_goes_back),
      TEST(huge_pages_are_advised_when_the_heap_is_large),
      TEST(other_policies_advise_at_once),
      TEST(metadata_comes_before_its_arenas),
      TEST(neighbours_are_committed_together_or_one_by_one),
      TEST(a_long_run_commits_what_is_missing),
      TEST(no_more_is_committed_than_asked_for),
      TEST(the_lowest_reserved_arenas_come_first),
      TEST(what_is_committed_again_is_found),
      TEST(each_arena_that_a_pool_refuses_has_other_pages),
      TEST(without_a_pool_nothing_is_asked_of_it),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

#else

/* The exit status by which a test says that it was skipped. */
int main(void) {
  return 77;
}

#endif
