/* The arenas' memory on a simulated system: how it is reserved, advised and committed, where a pool or a page of
 * 1 GiB backs it, and how it is populated ahead of its use, kept for demand, given back, and closed in turn by the
 * quarantine. */
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

/* [arena_memory.4] */
static void the_first_arena_keeps_base_pages(void **state) {
  (void)state;
  open_arenas(CRADLE_HUGEPAGES_AUTO, 64 * ARENA_BYTES);
  fill(3);
  crd_arenas_enter_huge(&arenas);
  assert_int_equal(the.arena[0].advice, HUGE_UNWANTED);
  assert_int_equal(the.arena[1].advice, HUGE_WANTED);
  assert_int_equal(the.meta_lead_advice, HUGE_UNWANTED);
  empty(0, 3);
  assert_int_equal(crd_arenas_release(&arenas, 0, UINT32_MAX), 3); /* in one call */
  assert_int_equal(the.arena[0].advice, HUGE_UNWANTED);
  assert_int_equal(the.arena[2].advice, HUGE_WANTED);
  fill(1);
  empty(0, 1);
  assert_int_equal(crd_arenas_release(&arenas, 0, UINT32_MAX), 1);
  assert_int_equal(the.arena[0].advice, HUGE_UNWANTED);
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

/* --- populating --- */

static void what_is_free_is_populated_once(void **state) {
  (void)state;
  open_arenas(CRADLE_HUGEPAGES_OFF, 64 * ARENA_BYTES);
  fill(6);
  empty(1, 1); /* it was in use, so it has its pages */
  empty(3, 1);
  assert_int_equal(crd_arenas_release_at(&arenas, 3, 1, 0), 1);
  assert_int_equal(crd_arenas_prepare(&arenas, 3), 3);
  for (uint32_t i = 0; i < 8; i++) assert_int_equal(the.arena[i].populated, i == 3 || i == 6);
  assert_int_equal(the.count[POPULATE], 4); /* two arenas, and the metadata of each */
  assert_int_equal(crd_arenas_prepare(&arenas, 3), 3);
  assert_int_equal(crd_arenas_prepare(&arenas, 2), 2);
  assert_int_equal(crd_arenas_prepare(&arenas, 0), 0);
  assert_int_equal(the.count[POPULATE], 4);
  assert_int_equal(arenas.committed_count, 7);
  close_arenas();
}

static void what_cannot_be_populated_is_not_ready(void **state) {
  (void)state;
  for (unsigned refused = 1; refused <= 5; refused++) {
    open_arenas(CRADLE_HUGEPAGES_OFF, 64 * ARENA_BYTES);
    refuse_between(POPULATE, refused, UINT32_MAX);
    assert_int_equal(crd_arenas_prepare(&arenas, 2), (refused - 1) / 2);
    for (uint32_t i = 0; i < 2; i++) assert_int_equal((arenas.origins[i] & ARENA_TOUCHED) != 0, i < (refused - 1) / 2);
    close_arenas();
  }
}

/* The metadata of each arena, up to the last of the reservation. */
static void metadata_is_populated_too(void **state) {
  (void)state;
  open_arenas(CRADLE_HUGEPAGES_OFF, 128 * ARENA_BYTES);
  assert_true(crd_arenas_ensure_free(&arenas, 128));
  for (uint32_t i = 0; i < 128; i++) {
    assert_true(crd_arenas_populate(&arenas, i));
    assert_true(the.populated_from <= (uintptr_t)&arenas.meta[i]);
    assert_true(the.populated_from + BASE_PAGE_MOST > (uintptr_t)&arenas.meta[i]);
    assert_true(the.populated_to >= (uintptr_t)&arenas.meta[i + 1]);
    assert_true(the.populated_to < (uintptr_t)&arenas.meta[i + 1] + BASE_PAGE_MOST);
  }
  close_arenas();
}

/* --- giving back --- */

static void what_is_kept_is_the_lowest(void **state) {
  (void)state;
  open_arenas(CRADLE_HUGEPAGES_OFF, 64 * ARENA_BYTES);
  fill(10);
  empty(0, 10);
  assert_int_equal(crd_arenas_release(&arenas, 10, UINT32_MAX), 0);
  assert_int_equal(crd_arenas_release(&arenas, 9, UINT32_MAX), 1);
  assert_int_equal(crd_arenas_release(&arenas, 0, 2), 2);
  assert_int_equal(arenas.committed_end, 7);
  assert_int_equal(the.count[RELEASE], 2); /* neighbours in one call */
  check();
  assert_int_equal(crd_arenas_release_at(&arenas, 2, 2, 6), 1);
  assert_int_equal(arenas.states[3], ARENA_RESERVED);
  check();
  assert_int_equal(crd_arenas_release(&arenas, 2, UINT32_MAX), 4);
  for (uint32_t i = 0; i < 64; i++) assert_int_equal(arenas.states[i] == ARENA_FREE, i < 2);
  close_arenas();
}

/* Arenas below the first are left, even if fewer went than might have. */
static void only_the_arenas_asked_for_go(void **state) {
  (void)state;
  open_arenas(CRADLE_HUGEPAGES_OFF, 64 * ARENA_BYTES);
  fill(8);
  empty(0, 4);
  empty(5, 3);
  assert_int_equal(crd_arenas_release_at(&arenas, 3, 2, 0), 1);
  for (uint32_t i = 0; i < 8; i++)
    assert_int_equal(arenas.states[i], i == 3 ? ARENA_RESERVED : i == 4 ? ARENA_USED : ARENA_FREE);
  check();
  assert_int_equal(crd_arenas_release_at(&arenas, 5, 2, 0), 2);
  assert_int_equal(arenas.states[7], ARENA_FREE);
  close_arenas();
}

/* [supply.1] */
static void what_is_being_populated_stays(void **state) {
  (void)state;
  open_arenas(CRADLE_HUGEPAGES_OFF, 64 * ARENA_BYTES);
  fill(8);
  empty(0, 8);
  arenas.supply.first = 3;
  arenas.supply.count = 2;
  crd_arenas_discard_free(&arenas);
  for (uint32_t i = 0; i < 8; i++) assert_int_equal((arenas.origins[i] & ARENA_TOUCHED) != 0, i == 3 || i == 4);
  assert_int_equal(crd_arenas_release(&arenas, 0, UINT32_MAX), 6);
  for (uint32_t i = 0; i < 8; i++) assert_int_equal(arenas.states[i] == ARENA_FREE, i == 3 || i == 4);
  close_arenas();
}

/* As when the process has as many mappings as it may. */
static void what_cannot_go_back_stays(void **state) {
  (void)state;
  open_arenas(CRADLE_HUGEPAGES_OFF, 64 * ARENA_BYTES);
  fill(10);
  for (uint32_t i = 0; i < 10; i += 2) empty(i, 1);
  refuse_between(RELEASE, 1, 1);
  assert_int_equal(crd_arenas_release(&arenas, 0, 2), 1); /* no more attempts than were asked for */
  assert_int_equal(the.count[RELEASE], 2);
  assert_int_equal(arenas.states[8], ARENA_FREE);
  assert_int_equal(arenas.states[6], ARENA_RESERVED);
  assert_int_equal(arenas.given_back_total, 1);
  check();
  refuse(RELEASE);
  assert_int_equal(crd_arenas_release(&arenas, 0, UINT32_MAX), 0);
  assert_int_equal(arenas.free_count, 4);
  close_arenas();
}

/* [arena_memory.1] A piece of the metadata is dropped when the last arena with metadata in it has gone. */
static void metadata_is_dropped_piece_by_piece(void **state) {
  (void)state;
  enum { ON_BOTH = 25 }; /* its metadata lies in the first piece and in the second, which the 26 above it fill */
  open_arenas(CRADLE_HUGEPAGES_OFF, 60 * ARENA_BYTES);
  fill(60);
  empty(ON_BOTH + 1, 26);
  assert_int_equal(crd_arenas_release(&arenas, 0, UINT32_MAX), 26);
  assert_int_equal(the.count[DISCARD_META], 0);
  empty(1, ON_BOTH);
  assert_int_equal(crd_arenas_release(&arenas, 0, UINT32_MAX), ON_BOTH);
  assert_int_equal(the.count[DISCARD_META], 1); /* the second; an arena is left in the first */
  check();
  empty(ON_BOTH + 27, 60 - ON_BOTH - 27);
  assert_int_equal(crd_arenas_release(&arenas, 0, UINT32_MAX), 60 - ON_BOTH - 27);
  assert_int_equal(the.count[DISCARD_META], 2); /* the third, behind whose arenas the reservation ends */
  empty(0, 1);
  assert_int_equal(crd_arenas_release(&arenas, 0, UINT32_MAX), 1);
  assert_int_equal(the.count[DISCARD_META], 3);
  assert_int_equal(arenas.committed_end, 0);
  fill(60);
  refuse(DISCARD_META);
  empty(0, 60);
  assert_int_equal(crd_arenas_release(&arenas, 0, UINT32_MAX), 60);
  fill(60);
  close_arenas();
}

/* The metadata of 128 arenas ends where the fifth piece does. */
static void a_piece_may_end_with_an_arena(void **state) {
  (void)state;
  open_arenas(CRADLE_HUGEPAGES_OFF, 130 * ARENA_BYTES);
  fill(130);
  empty(102, 26);
  assert_int_equal(crd_arenas_release(&arenas, 0, UINT32_MAX), 26);
  assert_int_equal(the.count[DISCARD_META], 1);
  close_arenas();
}

static bool is_clean(uint32_t page) {
  bool clean;
  uint32_t got = crd_arenas_take(&arenas, 1, 0, &clean);
  assert_int_equal(got, page);
  crd_arenas_give_back(&arenas, got, 1);
  return clean;
}

static void contents_are_dropped_where_they_can_be(void **state) {
  (void)state;
  open_arenas(CRADLE_HUGEPAGES_HUGETLB, 64 * ARENA_BYTES);
  refuse(COMMIT_POOL);
  fill(7);
  allow(COMMIT_POOL);
  fill(2);
  empty(0, 1);
  empty(3, 6);
  crd_arenas_discard_free(&arenas);
  assert_int_equal(the.count[DISCARD], 5); /* 0, and 3 to 6; 7 and 8 are of the pool */
  for (uint32_t i = 0; i < 9; i++)
    assert_int_equal((arenas.origins[i] & ARENA_TOUCHED) != 0, i == 1 || i == 2 || i >= 7);
  assert_true(is_clean(0));
  assert_false(is_clean(0));
  refuse(DISCARD);
  crd_arenas_discard_free(&arenas);
  assert_false(is_clean(0));
  allow(DISCARD);
  crd_arenas_discard_free(&arenas);
  assert_true(is_clean(0));
  fill(5);
  bool clean;
  assert_int_equal(crd_arenas_take(&arenas, 1, 0, &clean) / ARENA_PAGES, 7);
  assert_false(clean);
  close_arenas();
  open_arenas(CRADLE_HUGEPAGES_OFF, 64 * ARENA_BYTES);
  assert_true(crd_closed_init(&arenas, 4096));
  fill(2);
  empty(0, 1);
  allow(DISCARD);
  crd_arenas_discard_free(&arenas); /* with a quarantine they hold poison */
  assert_int_equal(the.count[DISCARD], 0);
  close_arenas();
}

/* What was released reads as zero and is known to. */
static void released_arenas_are_clean(void **state) {
  (void)state;
  open_arenas(CRADLE_HUGEPAGES_OFF, 64 * ARENA_BYTES);
  fill(2);
  *(char *)arenas_page_address(&arenas, ARENA_PAGES) = 1;
  empty(1, 1);
  assert_int_equal(crd_arenas_release(&arenas, 0, UINT32_MAX), 1);
  assert_true(is_clean(ARENA_PAGES));
  assert_int_equal(*(char *)arenas_page_address(&arenas, ARENA_PAGES), 0);
  close_arenas();
}

/* --- demand --- */

/* What recent use explains is kept, and what was committed beyond that goes at once. An epoch lasts two seconds. */
static void the_most_of_two_epochs_is_kept(void **state) {
  (void)state;
  const uint64_t begin = 100 * SECOND, epoch = 2 * SECOND;
  open_arenas(CRADLE_HUGEPAGES_OFF, 64 * ARENA_BYTES);
  fill(10);
  empty(4, 6);
  assert_true(crd_arenas_ensure_free(&arenas, 20));
  assert_int_equal(crd_arenas_settle(&arenas, 3, begin, 5), 5); /* no more at a time */
  assert_int_equal(crd_arenas_settle(&arenas, 3, begin, UINT32_MAX), 6);
  assert_int_equal(arenas.committed_count, 4 + 6 + 3);
  assert_int_equal(crd_arenas_settle(&arenas, 0, begin + epoch, UINT32_MAX), 3);
  assert_int_equal(crd_arenas_settle(&arenas, 0, begin + 2 * epoch - 1, UINT32_MAX), 0);
  assert_int_equal(arenas.committed_count, 10);
  fill(2); /* six in use, for the rest of this epoch and for the next */
  empty(4, 2);
  assert_int_equal(crd_arenas_settle(&arenas, 0, begin + 2 * epoch, UINT32_MAX), 4);
  assert_int_equal(crd_arenas_settle(&arenas, 0, begin + 3 * epoch - 1, UINT32_MAX), 0);
  assert_int_equal(crd_arenas_settle(&arenas, 0, begin + 3 * epoch, UINT32_MAX), 2);
  assert_int_equal(arenas.committed_count, 4);
  close_arenas();
}

static void a_clock_that_goes_back_ends_the_epoch(void **state) {
  (void)state;
  open_arenas(CRADLE_HUGEPAGES_OFF, 64 * ARENA_BYTES);
  fill(6);
  empty(2, 4);
  assert_int_equal(crd_arenas_settle(&arenas, 0, 100 * SECOND, UINT32_MAX), 0);
  assert_int_equal(crd_arenas_settle(&arenas, 0, 50 * SECOND, UINT32_MAX), 0);
  assert_int_equal(crd_arenas_settle(&arenas, 0, 52 * SECOND - 1, UINT32_MAX), 0);
  assert_int_equal(crd_arenas_settle(&arenas, 0, 52 * SECOND, UINT32_MAX), 4);
  close_arenas();
}

/* --- quarantine --- */

static void what_came_empty_goes_if_others_come(void **state) {
  (void)state;
  for (uint32_t more = 0; more <= 2; more++)
    for (uint32_t exact = 0; exact < 2; exact++) {
      open_arenas(CRADLE_HUGEPAGES_OFF, 64 * ARENA_BYTES);
      assert_true(crd_closed_init(&arenas, 4096));
      fill(6);
      empty(1, 2);
      empty(5, 1);
      arenas.limit = 6 + more;
      crd_arenas_quarantine(&arenas, exact, exact ? 2 : 5, 2); /* 1 to 2, or 0 to 4 */
      uint32_t gone = more == 0 ? 1 : 2;                       /* with one more, three are free and two are kept */
      assert_int_equal(arenas.given_back_total, gone);
      assert_int_equal(arenas.states[2], ARENA_RESERVED); /* the highest first */
      assert_int_equal(arenas.states[1], gone == 2 ? ARENA_RESERVED : ARENA_FREE);
      assert_int_equal(arenas.states[5], ARENA_FREE);
      assert_int_equal(arenas.free_count, 2);
      check();
      uint32_t committed = arenas.committed_count;
      crd_arenas_quarantine(&arenas, 3, 2, 4); /* none of them is empty, so nothing takes their place */
      assert_int_equal(arenas.given_back_total, gone);
      assert_int_equal(arenas.committed_count, committed);
      crd_arenas_quarantine(&arenas, 4, 2, 1); /* one is */
      assert_int_equal(arenas.given_back_total, gone + 1);
      close_arenas();
    }
}

/* Commits go round in a small part of the reservation, because each arena that was ever committed has metadata. */
static void rounds_leave_most_of_the_reservation_alone(void **state) {
  (void)state;
  uint32_t end = 0;
  open_arenas(CRADLE_HUGEPAGES_OFF, 1024 * ARENA_BYTES);
  assert_true(crd_closed_init(&arenas, 4096));
  fill(3);
  for (uint32_t i = 0; i < 400; i++) {
    uint32_t first = take(ARENA_PAGES) / ARENA_PAGES;
    empty(first, 1);
    crd_arenas_quarantine(&arenas, first, 1, 1);
    if (first >= end) end = first + 1;
  }
  assert_in_range(end, 200, 300);
  close_arenas();
}

/* Neighbours that are committed together go round, too: the first three times they lie behind one another. */
static void long_runs_go_round(void **state) {
  (void)state;
  enum { LONG = 100 };
  open_arenas(CRADLE_HUGEPAGES_OFF, 1024 * ARENA_BYTES);
  assert_true(crd_closed_init(&arenas, 4096));
  fill(1);
  arenas.limit = 1 + LONG;
  for (uint32_t i = 0; i < 3; i++) {
    uint32_t first = take(LONG * ARENA_PAGES) / ARENA_PAGES;
    assert_int_equal(first, 1 + i * LONG);
    empty(first, LONG);
    crd_arenas_quarantine(&arenas, first, LONG, 0);
  }
  assert_int_equal(take(LONG * ARENA_PAGES) / ARENA_PAGES, 1);
  close_arenas();
}

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(what_is_asked_for_is_reserved_or_nothing),
      TEST(what_was_reserved_before_a_refusal_goes_back),
      TEST(huge_pages_are_advised_when_the_heap_is_large),
      TEST(the_first_arena_keeps_base_pages),
      TEST(other_policies_advise_at_once),
      TEST(metadata_comes_before_its_arenas),
      TEST(neighbours_are_committed_together_or_one_by_one),
      TEST(a_long_run_commits_what_is_missing),
      TEST(no_more_is_committed_than_asked_for),
      TEST(the_lowest_reserved_arenas_come_first),
      TEST(what_is_committed_again_is_found),
      TEST(each_arena_that_a_pool_refuses_has_other_pages),
      TEST(without_a_pool_nothing_is_asked_of_it),
      TEST(what_is_free_is_populated_once),
      TEST(what_cannot_be_populated_is_not_ready),
      TEST(metadata_is_populated_too),
      TEST(what_is_kept_is_the_lowest),
      TEST(only_the_arenas_asked_for_go),
      TEST(what_is_being_populated_stays),
      TEST(what_cannot_go_back_stays),
      TEST(metadata_is_dropped_piece_by_piece),
      TEST(a_piece_may_end_with_an_arena),
      TEST(contents_are_dropped_where_they_can_be),
      TEST(released_arenas_are_clean),
      TEST(the_most_of_two_epochs_is_kept),
      TEST(a_clock_that_goes_back_ends_the_epoch),
      TEST(what_came_empty_goes_if_others_come),
      TEST(rounds_leave_most_of_the_reservation_alone),
      TEST(long_runs_go_round),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

#else

/* The exit status by which a test says that it was skipped. */
int main(void) {
  return 77;
}

#endif
