/* The arenas by themselves: where runs are taken, when memory goes back to the system, and what a page policy becomes
 * with a machine's page sizes. The test sets the clock. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <cradle/new.h>

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/inside.h"

#define SECOND UINT64_C(1000000000)
#define MS UINT64_C(1000000)
/* Documented in docs/design/pages.md: unused memory goes back after this time, and never before half of it. */
#define DELAY (4 * SECOND)

static void open_arenas(crd_arenas *arenas, size_t reserve) {
  cradle_options options;
  cradle_hardware hardware;
  cradle_options_init(&options);
  options.reserve_bytes = reserve;
  inside_hardware(&hardware);
  assert_true(crd_arenas_init(arenas, &options, &hardware));
}

/* The bits say which lists are not empty, and what is not in use has no free pages. */
static void assert_listed(const crd_arenas *arenas) {
  for (uint32_t i = 0; i < arenas->committed_end; i++)
    if (arenas->states[i] != ARENA_USED) assert_true(arenas->meta[i].longest == 0 && arenas->meta[i].free_pages == 0);
  for (int room = 0; room < ARENA_BUCKETS; room++)
    for (int longest = 0; longest < ARENA_BUCKETS; longest++)
      assert_int_equal(arenas->listed[room] >> longest & 1, arenas->lists[room][longest] != ARENA_NONE);
}

static void close_arenas(crd_arenas *arenas) {
  assert_null(crd_arenas_check(arenas));
  assert_listed(arenas);
  crd_closed_fini(arenas);
  crd_arenas_fini(arenas);
}

static uint32_t take(crd_arenas *arenas, uint32_t count) {
  bool clean;
  uint32_t page = crd_arenas_take(arenas, count, 0, &clean);
  assert_true(page != PAGE_NONE);
  return page;
}

static uint32_t next_random(uint64_t *seed) {
  *seed = *seed * UINT64_C(6364136223846793005) + 1442695040888963407u;
  return (uint32_t)(*seed >> 33);
}

/* --- which arena --- */

static void the_fullest_arena_is_filled_first(void **state) {
  (void)state;
  static crd_arenas arenas;
  open_arenas(&arenas, 16 * ARENA_BYTES);
  for (int i = 0; i < 3; i++) (void)take(&arenas, ARENA_PAGES);
  crd_arenas_give_back(&arenas, 0 * ARENA_PAGES, 100);
  crd_arenas_give_back(&arenas, 1 * ARENA_PAGES, 12);
  crd_arenas_give_back(&arenas, 2 * ARENA_PAGES, 300);
  static const uint32_t order[] = {1, 1, 1, 0};
  for (size_t i = 0; i < 4; i++) assert_int_equal(take(&arenas, 4) / ARENA_PAGES, order[i]);
  for (int i = 0; i < 24; i++) assert_int_equal(take(&arenas, 4) / ARENA_PAGES, 0);
  assert_int_equal(take(&arenas, 4) / ARENA_PAGES, 2);
  close_arenas(&arenas);
}

static void a_full_arena_without_a_long_run_is_passed_over(void **state) {
  (void)state;
  static crd_arenas arenas;
  open_arenas(&arenas, 16 * ARENA_BYTES);
  for (int i = 0; i < 2; i++) (void)take(&arenas, ARENA_PAGES);
  for (uint32_t page = 0; page < 60; page += 2) crd_arenas_give_back(&arenas, page, 1);
  crd_arenas_give_back(&arenas, ARENA_PAGES, 400);
  assert_int_equal(take(&arenas, 2) / ARENA_PAGES, 1);
  for (int i = 0; i < 30; i++) assert_int_equal(take(&arenas, 1) / ARENA_PAGES, 0);
  assert_int_equal(take(&arenas, 1) / ARENA_PAGES, 1);
  close_arenas(&arenas);
}

/* The lowest hole that is long enough, wherever it lies and whatever holes there are besides. */
static void a_run_fits_its_hole(void **state) {
  (void)state;
  static crd_arenas arenas;
  open_arenas(&arenas, 16 * ARENA_BYTES);
  assert_int_equal(take(&arenas, 10), 0);
  crd_arenas_give_back(&arenas, 1, 9);
  assert_int_equal(take(&arenas, 5), 1);
  crd_arenas_give_back(&arenas, 0, 1);
  assert_int_equal(take(&arenas, ARENA_PAGES - 5),
                   ARENA_PAGES); /* the first has two holes, and one page less in the longer */
  assert_int_equal(take(&arenas, ARENA_PAGES - 6), 6);
  assert_int_equal(take(&arenas, 1), 0);
  crd_arenas_give_back(&arenas, 100, 5);
  crd_arenas_give_back(&arenas, 300, 10);
  crd_arenas_give_back(&arenas, 400, 7);
  assert_int_equal(arenas.meta[0].longest, 10);
  assert_int_equal(take(&arenas, 11), 2 * ARENA_PAGES);
  assert_int_equal(take(&arenas, 10), 300);
  assert_int_equal(take(&arenas, 6), 400);
  assert_int_equal(take(&arenas, 5), 100);
  assert_int_equal(take(&arenas, 1), 406);
  assert_int_equal(arenas.meta[0].longest, 0);
  close_arenas(&arenas);
}

static void the_last_page_is_a_page(void **state) {
  (void)state;
  static crd_arenas arenas;
  bool clean;
  open_arenas(&arenas, 16 * ARENA_BYTES);
  assert_int_equal(take(&arenas, ARENA_PAGES - 1), 0);
  assert_int_equal(arenas.meta[0].longest, 1);
  assert_int_equal(crd_arenas_take(&arenas, 1, 0, &clean), ARENA_PAGES - 1);
  assert_true(clean);
  crd_arenas_give_back(&arenas, ARENA_PAGES - 1, 1);
  assert_int_equal(arenas.meta[0].longest, 1);
  assert_int_equal(crd_arenas_take(&arenas, 1, 0, &clean), ARENA_PAGES - 1);
  assert_false(clean);
  crd_arenas_give_back(&arenas, 0, ARENA_PAGES);
  assert_int_equal(arenas.used_end, 0);
  assert_false(arenas_contain(&arenas, arenas.base + arenas.bytes));
  assert_true(arenas_contain(&arenas, arenas.base + arenas.bytes - 1));
  assert_false(arenas_contain(&arenas, arenas.base - 1));
  close_arenas(&arenas);
}

/* All arenas of the reservation can be one run, and no run is longer. */
static void a_run_may_take_the_whole_reservation(void **state) {
  (void)state;
  static crd_arenas arenas;
  bool clean;
  for (int quarantine = 0; quarantine < 2; quarantine++) {
    open_arenas(&arenas, 8 * ARENA_BYTES);
    if (quarantine) assert_true(crd_closed_init(&arenas, 4096));
    assert_int_equal(crd_arenas_take(&arenas, 8 * ARENA_PAGES + 1, 0, &clean), PAGE_NONE);
    assert_int_equal(crd_arenas_take(&arenas, 8 * ARENA_PAGES, 1, &clean), PAGE_NONE); /* one is to be kept */
    assert_int_equal(crd_arenas_take(&arenas, 1, arenas.capacity, &clean), PAGE_NONE);
    assert_null(crd_arenas_check(&arenas)); /* a run that is refused changes nothing */
    assert_int_equal(take(&arenas, 8 * ARENA_PAGES), 0);
    assert_int_equal(crd_arenas_take(&arenas, 1, 0, &clean), PAGE_NONE);
    close_arenas(&arenas);
  }
}

/* Free arenas serve together with one that is committed for the run. */
static void a_long_run_begins_in_free_arenas(void **state) {
  (void)state;
  static crd_arenas arenas;
  open_arenas(&arenas, 16 * ARENA_BYTES);
  for (int i = 0; i < 5; i++) (void)take(&arenas, ARENA_PAGES);
  for (uint32_t i = 3; i < 5; i++) crd_arenas_give_back(&arenas, i * ARENA_PAGES, ARENA_PAGES);
  assert_int_equal(take(&arenas, 3 * ARENA_PAGES), 3 * ARENA_PAGES);
  assert_int_equal(arenas.committed_count, 6);
  close_arenas(&arenas);
}

/* Taken and given back at random: each run is clean or holds what was written, and no page is in two. */
static void runs_never_overlap_and_the_counts_hold(void **state) {
  (void)state;
  enum { RUNS = 400 };
  static crd_arenas arenas;
  static struct {
    uint32_t page, count;
  } runs[RUNS];
  uint64_t seed = 42;
  open_arenas(&arenas, (size_t)256 << 20);
  for (int step = 0; step < 20000; step++) {
    uint32_t i = next_random(&seed) % RUNS;
    bool clean;
    if (runs[i].count != 0) {
      for (uint32_t page = 0; page < runs[i].count; page++)
        assert_int_equal(*(uint32_t *)arenas_page_address(&arenas, runs[i].page + page), i);
      crd_arenas_give_back(&arenas, runs[i].page, runs[i].count);
      runs[i].count = 0;
      if (step % 64 == 0) crd_arenas_release(&arenas, 2, 5);
    } else {
      uint32_t count = next_random(&seed) % 40 == 0 ? 1 + next_random(&seed) % 1500 : 1 + next_random(&seed) % 20;
      uint32_t page = crd_arenas_take(&arenas, count, 1, &clean);
      if (page == PAGE_NONE) continue;
      runs[i].page = page;
      runs[i].count = count;
      assert_true(arenas.free_count >= 1);
      for (uint32_t at = 0; at < count; at++) {
        uint32_t *word = (uint32_t *)arenas_page_address(&arenas, page + at);
        if (clean) assert_int_equal(*word, 0);
        *word = i;
      }
    }
    if (step % 100 == 0) assert_null(crd_arenas_check(&arenas));
  }
  for (uint32_t i = 0; i < RUNS; i++)
    if (runs[i].count != 0) crd_arenas_give_back(&arenas, runs[i].page, runs[i].count);
  assert_null(crd_arenas_check(&arenas));
  assert_int_equal(arenas.free_count, arenas.committed_count);
  crd_arenas_release(&arenas, 0, UINT32_MAX);
  assert_int_equal(arenas.committed_count, 0);
  close_arenas(&arenas);
}

static const char *fault_of(const crd_arenas *arenas) {
  const char *fault = crd_arenas_check(arenas);
  return fault != NULL ? fault : "none";
}

#define ASSERT_BROKEN_BY(change, undo, words) \
  do { \
    change; \
    if (strstr(fault_of(&arenas), words) == NULL) \
      fail_msg("%s: \"%s\", without \"%s\"", #change, fault_of(&arenas), words); \
    undo; \
    assert_null(crd_arenas_check(&arenas)); \
  } while (0)

/* Arenas 0, 1 and 3 are in use, 2 and 4 are free, and the last is reserved. */
static void the_check_names_what_is_broken(void **state) {
  (void)state;
  static crd_arenas arenas;
  open_arenas(&arenas, 8 * ARENA_BYTES);
  for (int i = 0; i < 5; i++) (void)take(&arenas, ARENA_PAGES);
  crd_arenas_give_back(&arenas, 0, ARENA_PAGES - 1);
  crd_arenas_give_back(&arenas, ARENA_PAGES, 1);
  crd_arenas_give_back(&arenas, 3 * ARENA_PAGES, 1);
  crd_arenas_give_back(&arenas, 2 * ARENA_PAGES, ARENA_PAGES);
  crd_arenas_give_back(&arenas, 4 * ARENA_PAGES, ARENA_PAGES);
  crd_arena *first = &arenas.meta[0];
  uint32_t *list = &arenas.lists[8][8], *short_list = &arenas.lists[0][0];
  assert_true(*list == 0 && *short_list == 3);
  ASSERT_BROKEN_BY(first->free_pages--, first->free_pages++, "do not match its map [arena.4]");
  ASSERT_BROKEN_BY(first->longest--, first->longest++, "do not match its map [arena.4]");
  ASSERT_BROKEN_BY(*list = ARENA_NONE, *list = 0, "lost or doubled");
  ASSERT_BROKEN_BY(*short_list = 1, *short_list = 3, "lost or doubled");
  ASSERT_BROKEN_BY(arenas.lists[9][9] = 0, arenas.lists[9][9] = ARENA_NONE, "lost or doubled");
  ASSERT_BROKEN_BY(first->next = 0, first->next = ARENA_NONE, "lost or doubled");
  ASSERT_BROKEN_BY(arenas.free_count--, arenas.free_count++, "[arena.2]");
  ASSERT_BROKEN_BY(arenas.committed_count++, arenas.committed_count--, "[arena.2]");
  ASSERT_BROKEN_BY(arenas.pool_count++, arenas.pool_count--, "from the pool");
  ASSERT_BROKEN_BY(arenas.used_end = 3, arenas.used_end = 4, "in use at the end [arena.3]");
  assert_int_equal(crd_arenas_release_at(&arenas, 2, 1, 0), 1);
  assert_null(crd_arenas_check(&arenas));
  ASSERT_BROKEN_BY(arenas.origins[2] = ARENA_TOUCHED, arenas.origins[2] = 0, "a reserved arena has an origin");
  ASSERT_BROKEN_BY(arenas.used_end = 0, arenas.used_end = 4, "in use at the end [arena.3]");
  close_arenas(&arenas);
}

/* While there is a free arena, only a few of the arenas with about as much room are searched; before memory runs out,
 * all are. */
static void before_memory_is_out_every_hole_is_looked_at(void **state) {
  (void)state;
  static crd_arenas arenas;
  bool clean;
  open_arenas(&arenas, 32 * ARENA_BYTES);
  for (int i = 0; i < 20; i++) (void)take(&arenas, ARENA_PAGES);
  crd_arenas_give_back(&arenas, 0, 412);
  for (uint32_t i = 1; i < 20; i++) crd_arenas_give_back(&arenas, i * ARENA_PAGES, 312);
  arenas.limit = arenas.committed_count;
  assert_int_equal(arenas.free_count, 0);
  assert_int_equal(take(&arenas, 412), 0);
  assert_int_equal(crd_arenas_take(&arenas, 412, 0, &clean), PAGE_NONE);
  close_arenas(&arenas);
}

/* Committed memory is used before new memory is committed, even if it lies at a higher address. */
static void a_long_run_is_taken_where_no_commit_is_needed(void **state) {
  (void)state;
  static crd_arenas arenas;
  open_arenas(&arenas, 16 * ARENA_BYTES);
  uint32_t low = take(&arenas, 2 * ARENA_PAGES);
  (void)take(&arenas, ARENA_PAGES);
  uint32_t high = take(&arenas, 2 * ARENA_PAGES);
  (void)take(&arenas, ARENA_PAGES);
  crd_arenas_give_back(&arenas, low, 2 * ARENA_PAGES);
  assert_int_equal(crd_arenas_release(&arenas, 0, UINT32_MAX), 2);
  crd_arenas_give_back(&arenas, high, 2 * ARENA_PAGES);
  uint64_t taken = arenas.taken_total;
  assert_int_equal(take(&arenas, ARENA_PAGES + 1), high);
  assert_int_equal(arenas.taken_total, taken);
  assert_int_equal(take(&arenas, 2 * ARENA_PAGES), low);
  assert_int_equal(arenas.taken_total, taken + 2);
  close_arenas(&arenas);
}

/* Part of the runs survives; new ones go where the survivors are dense, and whole arenas come free. */
static void sparse_arenas_empty_out(void **state) {
  (void)state;
  static crd_arenas arenas;
  static uint32_t runs[100 * 32];
  uint64_t seed = 7;
  open_arenas(&arenas, 256 * ARENA_BYTES);
  for (int i = 0; i < 100 * 32; i++) runs[i] = take(&arenas, 16);
  /* Each arena keeps between 1 and 31 of its 32 runs. */
  for (int i = 0; i < 100 * 32; i++)
    if (i % 32 != 0 && next_random(&seed) % 32 >= (uint32_t)(i / 32 % 31)) {
      crd_arenas_give_back(&arenas, runs[i], 16);
      runs[i] = PAGE_NONE;
    }
  uint32_t before = arenas_in_use(&arenas), opened = 0;
  for (int i = 0; i < 600; i++) opened += take(&arenas, 16) / ARENA_PAGES >= before;
  assert_int_equal(opened, 0);
  /* The emptiest ten arenas, four runs each at most, got nothing new: what they held can still leave. */
  uint32_t still = arenas_in_use(&arenas);
  for (int i = 0; i < 100 * 32; i++)
    if (i / 32 % 31 < 4 && runs[i] != PAGE_NONE) crd_arenas_give_back(&arenas, runs[i], 16);
  assert_in_range(still - arenas_in_use(&arenas), 10, 16);
  close_arenas(&arenas);
}

/* --- giving back --- */

/* Makes this many arenas be in use, by filling arenas from the lowest address up. */
static void use(crd_arenas *arenas, uint32_t count) {
  while (arenas_in_use(arenas) < count) (void)take(arenas, ARENA_PAGES);
  while (arenas_in_use(arenas) > count) crd_arenas_give_back(arenas, (arenas->used_end - 1) * ARENA_PAGES, ARENA_PAGES);
}

static void what_nobody_wants_goes_back_after_the_delay(void **state) {
  (void)state;
  static crd_arenas arenas;
  uint64_t now = 1000 * SECOND;
  open_arenas(&arenas, (size_t)4 << 30);
  for (int i = 0; i < 10; i++, now += 100 * MS) {
    use(&arenas, 2048);
    crd_arenas_settle(&arenas, 2, now, UINT32_MAX);
  }
  use(&arenas, 50); /* 4 GiB to 100 MiB */
  uint64_t dropped = now;
  for (; now < dropped + DELAY / 2 - SECOND; now += 100 * MS) {
    crd_arenas_settle(&arenas, 2, now, 64);
    assert_int_equal(arenas.committed_count, 2048);
  }
  for (; now <= dropped + DELAY; now += 100 * MS) crd_arenas_settle(&arenas, 2, now, UINT32_MAX);
  assert_int_equal(arenas.committed_count, 52);
  assert_int_equal(arenas.given_back_total, 2048 - 52);
  close_arenas(&arenas);
}

static void a_bound_spreads_what_goes_back(void **state) {
  (void)state;
  static crd_arenas arenas;
  open_arenas(&arenas, 256 * ARENA_BYTES);
  use(&arenas, 100);
  crd_arenas_settle(&arenas, 0, SECOND, 8);
  use(&arenas, 0);
  for (int i = 0; i < 2; i++) assert_int_equal(crd_arenas_settle(&arenas, 0, SECOND + (uint64_t)i * DELAY, 8), 0);
  for (uint32_t left = 92; left > 4; left -= 8) {
    assert_int_equal(crd_arenas_settle(&arenas, 0, 2 * DELAY + SECOND, 8), 8);
    assert_int_equal(arenas.committed_count, left);
  }
  close_arenas(&arenas);
}

/* Loads that rise and fall with any period: no arena goes back twice within a second, and short periods give nothing
 * back. */
static void a_sawtooth_does_not_give_and_take_within_a_second(void **state) {
  (void)state;
  static const uint64_t periods[] = {100, 300, 700, 1000, 1500, 1900, 2500, 3000, 3900, 4100, 7000, 12000};
  static crd_arenas arenas;
  static uint64_t gone_at[50];
  for (size_t p = 0; p < sizeof periods / sizeof *periods; p++) {
    uint64_t period = periods[p] * MS;
    open_arenas(&arenas, 50 * ARENA_BYTES);
    memset(gone_at, 0, sizeof gone_at);
    for (uint64_t at = 0; at < 30 * SECOND; at += 20 * MS) {
      static uint8_t before[50];
      use(&arenas, 5 + (uint32_t)(30 * (at % period) / period));
      memcpy(before, arenas.states, arenas.capacity);
      crd_arenas_settle(&arenas, 4, SECOND + at, UINT32_MAX);
      for (uint32_t i = 0; i < arenas.capacity; i++) {
        if (before[i] == arenas.states[i]) continue;
        if (gone_at[i] != 0 && SECOND + at - gone_at[i] < SECOND)
          fail_msg("period %d ms: arena %u went back twice within a second", (int)periods[p], i);
        gone_at[i] = SECOND + at;
      }
    }
    if (period < DELAY / 2) assert_int_equal(arenas.given_back_total, 0);
    close_arenas(&arenas);
  }
}

/* Arenas that are free in between others go, too, and their places are the first to be used again. */
static void released_places_are_used_again(void **state) {
  (void)state;
  static crd_arenas arenas;
  open_arenas(&arenas, 64 * ARENA_BYTES);
  use(&arenas, 32);
  for (uint32_t i = 0; i < 32; i += 2) crd_arenas_give_back(&arenas, i * ARENA_PAGES, ARENA_PAGES);
  assert_int_equal(crd_arenas_release(&arenas, 0, UINT32_MAX), 16);
  assert_null(crd_arenas_check(&arenas));
  for (uint32_t i = 0; i < 32; i += 2) assert_int_equal(take(&arenas, ARENA_PAGES), i * ARENA_PAGES);
  assert_int_equal(take(&arenas, ARENA_PAGES), 32 * ARENA_PAGES);
  close_arenas(&arenas);
}

/* With a quarantine, arenas that went back are not used again before commits have gone through the whole reservation.
 * No address space is lost by that. */
static void commits_go_round(void **state) {
  (void)state;
  enum { LEAST = 200 };
  static crd_arenas arenas;
  open_arenas(&arenas, 1024 * ARENA_BYTES);
  assert_true(crd_closed_init(&arenas, 4096));
  uint32_t given_back[1500];
  use(&arenas, 3);
  for (uint32_t i = 0; i < 1500; i++) {
    uint32_t page = take(&arenas, ARENA_PAGES);
    crd_arenas_give_back(&arenas, page, ARENA_PAGES);
    given_back[i] = page / ARENA_PAGES;
    crd_arenas_quarantine(&arenas, given_back[i], 1, 1);
    assert_int_equal(arenas.states[given_back[i]], ARENA_RESERVED);
    assert_false(arenas_are_committed(&arenas, arenas_page_address(&arenas, page)));
    for (uint32_t before = i > LEAST ? i - LEAST : 0; before < i; before++)
      assert_int_not_equal(given_back[before], given_back[i]);
  }
  assert_int_equal(arenas.committed_count, 4);
  assert_null(crd_arenas_check(&arenas));
  arenas.limit = arenas.committed_count; /* none can be had in its place: it stays */
  uint32_t page = take(&arenas, ARENA_PAGES);
  crd_arenas_give_back(&arenas, page, ARENA_PAGES);
  crd_arenas_quarantine(&arenas, page / ARENA_PAGES, 1, 1);
  assert_int_equal(arenas.states[page / ARENA_PAGES], ARENA_FREE);
  close_arenas(&arenas);
}

/* The commits go round a small reservation too, to its last arena. */
static void rounds_end_with_the_reservation(void **state) {
  (void)state;
  static crd_arenas arenas;
  open_arenas(&arenas, 8 * ARENA_BYTES);
  assert_true(crd_closed_init(&arenas, 4096));
  for (uint32_t i = 0; i < 20; i++) {
    uint32_t page = take(&arenas, ARENA_PAGES);
    assert_int_equal(page / ARENA_PAGES, i % 8);
    crd_arenas_give_back(&arenas, page, ARENA_PAGES);
    crd_arenas_quarantine(&arenas, page / ARENA_PAGES, 1, 0);
    assert_int_equal(arenas.free_count, 0);
  }
  use(&arenas, 8);
  bool clean;
  assert_int_equal(crd_arenas_take(&arenas, ARENA_PAGES, 0, &clean), PAGE_NONE);
  close_arenas(&arenas);
}

static size_t resident(const crd_arenas *arenas) {
  crd_pages_backing backing;
  if (!crd_pages_backing_of((void *)arenas->base, arenas->committed_end * ARENA_BYTES, &backing)) return SIZE_MAX;
  return backing.resident_bytes;
}

/* The metadata of arenas that went goes in whole pieces; of a piece in which an arena is left, nothing. */
static void metadata_goes_with_the_arenas(void **state) {
  (void)state;
  static crd_arenas arenas;
  open_arenas(&arenas, 128 * ARENA_BYTES);
  use(&arenas, 100);
  crd_pages_backing before, after;
  if (!crd_pages_backing_of(arenas.meta, arenas.meta_committed, &before)) {
    print_message("not looked at: the system does not tell what is resident\n");
    close_arenas(&arenas);
    return;
  }
  assert_true(before.resident_bytes >= 100 * 4096);
  for (uint32_t i = 0; i < 100; i++)
    if (i != 3) crd_arenas_give_back(&arenas, i * ARENA_PAGES, ARENA_PAGES);
  assert_int_equal(crd_arenas_release(&arenas, 0, UINT32_MAX), 99);
  assert_true(crd_pages_backing_of(arenas.meta, ARENA_BYTES, &after));
  assert_true(after.resident_bytes > 0);
  char *second = (char *)arenas.meta + ARENA_BYTES;
  assert_true(crd_pages_backing_of(second, arenas.meta_committed - ARENA_BYTES, &after));
  assert_int_equal(after.resident_bytes, 0);
  assert_true(arenas.meta[3].free_pages == 0 && arenas.states[3] == ARENA_USED);
  assert_int_equal(take(&arenas, ARENA_PAGES), 0); /* and all of it serves again */
  for (uint32_t i = 1; i < 100; i++)
    if (i != 3) assert_int_equal(take(&arenas, ARENA_PAGES), i * ARENA_PAGES);
  close_arenas(&arenas);
}

static void prepared_arenas_are_resident_and_clean(void **state) {
  (void)state;
  static crd_arenas arenas;
  bool clean;
  open_arenas(&arenas, 64 * ARENA_BYTES);
  uint32_t ready = crd_arenas_prepare(&arenas, 3);
  assert_int_equal(arenas.free_count, 3);
  if (ready == 0) {
    print_message("the system cannot populate: nothing is prepared\n");
  } else {
    assert_int_equal(ready, 3);
    assert_int_equal(resident(&arenas), 3 * ARENA_BYTES);
    crd_pages_backing meta;
    assert_true(crd_pages_backing_of(arenas.meta, arenas.meta_committed, &meta));
    assert_true(meta.resident_bytes >= 3 * sizeof(crd_arena));
    assert_int_equal(crd_arenas_prepare(&arenas, 2), 2);
    assert_int_equal(arenas.committed_count, 3);
  }
  uint32_t page = crd_arenas_take(&arenas, 4, 0, &clean);
  assert_true(clean);
  assert_int_equal(*(char *)arenas_page_address(&arenas, page), 0);
  arenas.limit = 3; /* as many as there are: not an error */
  assert_int_equal(crd_arenas_prepare(&arenas, 5), ready == 0 ? 0 : 2);
  close_arenas(&arenas);
}

static void discarded_arenas_are_clean_again(void **state) {
  (void)state;
  static crd_arenas arenas;
  bool clean;
  open_arenas(&arenas, 64 * ARENA_BYTES);
  use(&arenas, 6);
  for (uint32_t i = 0; i < 6; i++) memset((void *)arenas_page_address(&arenas, i * ARENA_PAGES), 1, ARENA_BYTES);
  for (uint32_t i = 0; i < 6; i++)
    if (i != 2) crd_arenas_give_back(&arenas, i * ARENA_PAGES, ARENA_PAGES);
  crd_arenas_discard_free(&arenas);
  if (resident(&arenas) != SIZE_MAX) assert_int_equal(resident(&arenas), ARENA_BYTES);
  assert_int_equal(arenas.committed_count, 6);
  assert_int_equal(*(char *)arenas_page_address(&arenas, 2 * ARENA_PAGES), 1);
  uint32_t ready = crd_arenas_prepare(&arenas, 3); /* they are to be populated again */
  if (ready != 0) assert_int_equal(resident(&arenas), 4 * ARENA_BYTES);
  uint32_t page = crd_arenas_take(&arenas, ARENA_PAGES, 0, &clean);
  assert_true(clean);
  assert_int_equal(*(char *)arenas_page_address(&arenas, page), 0);
  close_arenas(&arenas);
}

/* --- mappings --- */

/* The number of the process's mappings inside the arenas' reservation; 0 if the system does not report it. */
static uint32_t mappings(const crd_arenas *arenas) {
  FILE *file = fopen("/proc/self/maps", "r");
  uint32_t count = 0;
  char line[4096];
  if (file == NULL) return 0;
  while (fgets(line, sizeof line, file) != NULL) {
    unsigned long from, to;
    if (sscanf(line, "%lx-%lx ", &from, &to) == 2 && to > arenas->base && from < arenas->base + arenas->bytes) count++;
  }
  fclose(file);
  return count;
}

static uint32_t changes_of_state(const crd_arenas *arenas) {
  uint32_t changes = 1;
  for (uint32_t i = 1; i < arenas->capacity; i++)
    changes += (arenas->states[i] == ARENA_RESERVED) != (arenas->states[i - 1] == ARENA_RESERVED);
  return changes;
}

/* There is one mapping for each run of committed or reserved arenas, however they came and went. */
static void mappings_stay_merged(void **state) {
  (void)state;
  static crd_arenas arenas;
  uint64_t seed = 3;
  open_arenas(&arenas, 128 * ARENA_BYTES);
  if (mappings(&arenas) == 0) {
    print_message("skipped: /proc/self/maps cannot be read\n");
    skip();
  }
  for (int cycle = 0; cycle < 250; cycle++) {
    use(&arenas, next_random(&seed) % 100);
    for (uint32_t i = 0; i < arenas.used_end; i += 1 + next_random(&seed) % 40)
      if (arenas.states[i] == ARENA_USED && arenas.meta[i].free_pages == 0) {
        *(char *)arenas_page_address(&arenas, i * ARENA_PAGES) = 1;
        crd_arenas_give_back(&arenas, i * ARENA_PAGES, ARENA_PAGES);
      }
    crd_arenas_release(&arenas, next_random(&seed) % 8, 1 + next_random(&seed) % 50);
    assert_in_range(mappings(&arenas), 1, changes_of_state(&arenas) + 2);
  }
  use(&arenas, 0);
  crd_arenas_release(&arenas, 0, UINT32_MAX);
  assert_int_equal(mappings(&arenas), 1);
  close_arenas(&arenas);
}

/* --- page sizes of other machines --- */

static crd_backing backing_on(cradle_hugepages policy, size_t page, size_t thp, size_t pool) {
  cradle_hardware hardware = {
      .page_bytes = page, .thp_page_bytes = thp, .pool_page_bytes = pool, .thp_mode = CRADLE_THP_MADVISE};
  return crd_backing_choose(policy, &hardware);
}

/* [backing.1], and [backing.2] where the size of transparent huge pages is not known. */
static void huge_pages_larger_than_an_arena_are_not_asked_for(void **state) {
  (void)state;
  const size_t k = 1024, m = k * k;
  assert_true(backing_on(CRADLE_HUGEPAGES_AUTO, 4 * k, 2 * m, 0).transparent);
  assert_true(backing_on(CRADLE_HUGEPAGES_AUTO, 4 * k, 0, 0).transparent);   /* unreadable: follows from 4 KiB */
  assert_false(backing_on(CRADLE_HUGEPAGES_AUTO, 16 * k, 0, 0).transparent); /* 32 MiB */
  assert_false(backing_on(CRADLE_HUGEPAGES_AUTO, 64 * k, 0, 0).transparent); /* 512 MiB */
  assert_false(backing_on(CRADLE_HUGEPAGES_AUTO, 16 * k, 32 * m, 2 * m).transparent);
  assert_false(backing_on(CRADLE_HUGEPAGES_OFF, 4 * k, 2 * m, 2 * m).transparent);
  assert_int_equal(backing_on(CRADLE_HUGEPAGES_AUTO, 4 * k, 2 * m, 2 * m).pool_page_bytes, 0);
  assert_int_equal(backing_on(CRADLE_HUGEPAGES_HUGETLB, 4 * k, 2 * m, 2 * m).pool_page_bytes, 2 * m);
  assert_int_equal(backing_on(CRADLE_HUGEPAGES_HUGETLB, 64 * k, 512 * m, 2 * m).pool_page_bytes, 2 * m);
  assert_int_equal(backing_on(CRADLE_HUGEPAGES_HUGETLB, 4 * k, 2 * m, 1024 * m).pool_page_bytes, 0);
  assert_int_equal(backing_on(CRADLE_HUGEPAGES_HUGETLB_STRICT, 4 * k, 2 * m, 64 * k).pool_page_bytes, 64 * k);
  crd_backing strict = backing_on(CRADLE_HUGEPAGES_HUGETLB_STRICT, 4 * k, 2 * m, 2 * m);
  assert_true(strict.strict && strict.pool && strict.transparent);
  assert_false(backing_on(CRADLE_HUGEPAGES_HUGETLB, 4 * k, 2 * m, 2 * m).strict);
}

static void what_speaks_against_huge_pages(void **state) {
  (void)state;
  cradle_hardware hardware = {.page_bytes = 4096, .thp_page_bytes = (size_t)2 << 20};
  crd_backing backing = crd_backing_choose(CRADLE_HUGEPAGES_AUTO, &hardware),
              off = crd_backing_choose(CRADLE_HUGEPAGES_OFF, &hardware);
  for (int mode = CRADLE_THP_UNKNOWN; mode <= CRADLE_THP_ALWAYS; mode++) {
    hardware.thp_mode = (cradle_thp_mode)mode;
    const char *doubt = crd_backing_doubt(&backing, &hardware);
    assert_true((doubt != NULL) == (mode == CRADLE_THP_NEVER || mode == CRADLE_THP_ABSENT));
    assert_null(crd_backing_doubt(&off, &hardware));
  }
  hardware.thp_page_bytes = (size_t)32 << 20;
  backing = crd_backing_choose(CRADLE_HUGEPAGES_AUTO, &hardware);
  assert_string_equal(crd_backing_doubt(&backing, &hardware),
                      "the system's transparent huge pages are larger than an arena: base pages");
}

/* A missing system feature is reported for each policy that asks for it, and for no other policy. */
static void what_the_system_lacks_is_said(void **state) {
  (void)state;
  static const size_t huge_bytes = (size_t)2 << 20;
  static const cradle_hugepages policies[] = {CRADLE_HUGEPAGES_AUTO, CRADLE_HUGEPAGES_HUGETLB,
                                              CRADLE_HUGEPAGES_HUGETLB_STRICT, CRADLE_HUGEPAGES_OFF};
  static const char without_pool[] = "the system has no pool of huge pages: transparent ones, else base pages",
                    without_thp[] = "the system has no transparent huge pages: base pages",
                    without_both[] = "the system has neither a pool of huge pages nor transparent ones: base pages";
  static const char *const said[4][4] = {
      /* with both, without a pool, without transparent ones, without both */
      {NULL, NULL, without_thp, without_thp},
      {NULL, without_pool, without_thp, without_both},
      {NULL, without_pool, without_thp, without_both},
      {NULL, NULL, NULL, NULL},
  };
  for (size_t policy = 0; policy < 4; policy++)
    for (size_t lacks = 0; lacks < 4; lacks++) {
      cradle_hardware hardware = {.page_bytes = 4096,
                                  .thp_page_bytes = huge_bytes,
                                  .thp_mode = lacks >= 2 ? CRADLE_THP_ABSENT : CRADLE_THP_MADVISE,
                                  .pool_page_bytes = lacks % 2 != 0 ? 0 : huge_bytes};
      crd_backing backing = crd_backing_choose(policies[policy], &hardware);
      const char *doubt = crd_backing_doubt(&backing, &hardware);
      if (said[policy][lacks] == NULL)
        assert_null(doubt);
      else
        assert_string_equal(doubt, said[policy][lacks]);
    }
}

/* --- little address space --- */

static int arenas_under_a_limit(size_t bytes) {
  static crd_arenas arenas;
  cradle_options options;
  cradle_hardware hardware;
  struct rlimit limit = {bytes, bytes};
  cradle_options_init(&options);
  inside_hardware(&hardware);
  if (setrlimit(RLIMIT_AS, &limit) != 0) return 2;
  if (!crd_arenas_init(&arenas, &options, &hardware)) return 3;
  size_t left = bytes - arenas.bytes;
  /* The same amount is left for the rest of the process. */
  void *rest = crd_pages_reserve(arenas.bytes / 2, ARENA_BYTES, NULL);
  if (rest == NULL || left < arenas.bytes / 2) return 4;
  bool clean;
  return crd_arenas_take(&arenas, 4 * ARENA_PAGES, 1, &clean) == PAGE_NONE ? 5 : 0;
}

static void a_limit_of_address_space_makes_a_smaller_reservation(void **state) {
  (void)state;
#ifdef CRADLE_ASAN
  print_message("skipped: AddressSanitizer's own reservation is above any limit\n");
  skip();
#endif
  for (size_t bytes = (size_t)256 << 20; bytes <= (size_t)16 << 30; bytes += bytes / 3) {
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) _exit(arenas_under_a_limit(bytes));
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_fullest_arena_is_filled_first),
      cmocka_unit_test(a_full_arena_without_a_long_run_is_passed_over),
      cmocka_unit_test(a_run_fits_its_hole),
      cmocka_unit_test(the_last_page_is_a_page),
      cmocka_unit_test(a_run_may_take_the_whole_reservation),
      cmocka_unit_test(a_long_run_begins_in_free_arenas),
      cmocka_unit_test(runs_never_overlap_and_the_counts_hold),
      cmocka_unit_test(the_check_names_what_is_broken),
      cmocka_unit_test(a_long_run_is_taken_where_no_commit_is_needed),
      cmocka_unit_test(before_memory_is_out_every_hole_is_looked_at),
      cmocka_unit_test(sparse_arenas_empty_out),
      cmocka_unit_test(what_nobody_wants_goes_back_after_the_delay),
      cmocka_unit_test(a_bound_spreads_what_goes_back),
      cmocka_unit_test(a_sawtooth_does_not_give_and_take_within_a_second),
      cmocka_unit_test(released_places_are_used_again),
      cmocka_unit_test(commits_go_round),
      cmocka_unit_test(rounds_end_with_the_reservation),
      cmocka_unit_test(metadata_goes_with_the_arenas),
      cmocka_unit_test(prepared_arenas_are_resident_and_clean),
      cmocka_unit_test(discarded_arenas_are_clean_again),
      cmocka_unit_test(mappings_stay_merged),
      cmocka_unit_test(huge_pages_larger_than_an_arena_are_not_asked_for),
      cmocka_unit_test(what_speaks_against_huge_pages),
      cmocka_unit_test(what_the_system_lacks_is_said),
      cmocka_unit_test(a_limit_of_address_space_makes_a_smaller_reservation),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
