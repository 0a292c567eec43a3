/* Tests pacing, which is arithmetic on bytes: when a major collection is due, how much of it an increment does, and
 * until when. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <cradle/cradle.h>

#include "tests/inside.h"

static crd_pacing pacing_of_defaults(size_t memory, size_t nursery) {
  cradle_options options;
  cradle_hardware hardware = {.memory_bytes = memory};
  crd_pacing pacing;
  cradle_options_init(&options);
  crd_pacing_init(&pacing, &options, &hardware, nursery);
  return pacing;
}

static void pacing_follows_factor_growth_delta_minimum_and_maximum(void **state) {
  (void)state;
  crd_pacing pacing = pacing_of_defaults((size_t)8 << 30, 1 << 20);
  assert_int_equal(pacing.threshold, 8 << 20); /* 8 base nurseries */
  crd_pacing_update(&pacing, 1 << 20, 1 << 20, 0, false, 0);
  assert_int_equal(pacing.threshold, 8 << 20); /* never below it */
  crd_pacing_update(&pacing, 6000000, 6000000, 0, false, 0);
  assert_int_equal(pacing.threshold, 10920000); /* 1.82 x */
  assert_int_equal(pacing.survived, 6000000);
  crd_pacing_update(&pacing, 12000000, 12000000, 0, false, 0);
  assert_in_range(pacing.threshold, 15287999, 15288000); /* at most 1.4 x the last */
  crd_pacing_update(&pacing, 100000000, 100000000, 0, false, 0);
  assert_int_equal(pacing.threshold, 100000000 + (2 << 20)); /* but above what survived */
  pacing.threshold = (uint64_t)100 << 30;
  crd_pacing_update(&pacing, (uint64_t)10 << 30, 0, 0, false, 0);
  assert_int_equal(pacing.threshold, (uint64_t)11 << 30); /* at most an eighth of the memory above */
  crd_pacing_update(&pacing, (uint64_t)10 << 30, 0, 0, false, (uint64_t)5 << 30);
  assert_int_equal(pacing.threshold, (uint64_t)5 << 30); /* the maximum holds over all */
}

static void growth_bounds_nothing_where_nothing_was_freed(void **state) {
  (void)state;
  crd_pacing pacing = pacing_of_defaults((size_t)8 << 30, 1 << 20);
  crd_pacing_update(&pacing, 70000000, 10000000, 0, false, 0);
  assert_int_equal(pacing.threshold, 70000000 + (2 << 20)); /* an eighth was freed: growth holds */
  crd_pacing_update(&pacing, 70000000, 9999999, 0, false, 0);
  assert_int_equal(pacing.threshold, 127400000); /* less than an eighth: the factor alone */
  crd_pacing_update(&pacing, 700000000, 0, 0, false, 0);
  assert_int_equal(pacing.threshold, 1274000000);
}

/* A collection that came due and freed less than an eighth of what there was when it began: of 80 MB, 70 of which were
 * there, it freed less than 10. What was promoted meanwhile probably lives, too. */
static void after_a_collection_in_vain_the_next_comes_later(void **state) {
  (void)state;
  crd_pacing pacing = pacing_of_defaults((size_t)8 << 30, 1 << 20);
  crd_pacing_update(&pacing, 80000000, 9999999, 10000000, true, 0);
  assert_in_range(pacing.threshold, 171839999, 171840000); /* 80 MB, and 1.4 times 0.82 of that */
  pacing.threshold = (uint64_t)1 << 30;
  crd_pacing_update(&pacing, 80000000, 10000000, 10000000, true, 0);
  assert_int_equal(pacing.threshold, 136500000); /* 1.82 x 75 MB: it was worth while */
  crd_pacing_update(&pacing, 80000000, 9999999, 10000000, false, 0);
  assert_int_equal(pacing.threshold, 136500000); /* somebody asked for it */
  crd_pacing_update(&pacing, 80000000, 0, 0, true, 100000000);
  assert_int_equal(pacing.threshold, 100000000); /* the maximum holds over all */
  crd_pacing_update(&pacing, (uint64_t)10 << 30, 0, 0, true, 0);
  assert_int_equal(pacing.threshold, (uint64_t)11 << 30); /* so does the maximum delta */
}

static void what_floats_lengthens_no_threshold(void **state) {
  (void)state;
  crd_pacing pacing = pacing_of_defaults((size_t)64 << 30, 1 << 20);
  pacing.threshold = (uint64_t)10 << 30;
  crd_pacing_update(&pacing, 1200000000, 0, 400000000, false, 0);
  assert_int_equal(pacing.threshold, 1820000000); /* half of the objects born marked are assumed dead: 1 GB lives */
  pacing.threshold = (uint64_t)10 << 30;
  crd_pacing_update(&pacing, 1000000000, 0, 3000000000, false, 0);
  assert_in_range(pacing.threshold, 1409999990, 1410000000); /* half of the room above the live bytes */
}

static void increments_are_over_at_the_threshold(void **state) {
  (void)state;
  crd_pacing pacing = pacing_of_defaults((size_t)8 << 30, 4 << 20);
  pacing.threshold = (uint64_t)400 << 20;
  pacing.survived = (uint64_t)200 << 20;
  assert_int_equal(crd_pacing_trigger(&pacing, (uint64_t)300 << 20), (uint64_t)400 << 20); /* nothing is promoted */
  uint64_t promoted = (uint64_t)1 << 20;
  for (int i = 0; i < 200; i++) crd_pacing_promoted(&pacing, promoted / 2, promoted / 2);
  for (int i = 0; i < 200; i++) crd_pacing_marked(&pacing, (uint64_t)4 << 20);
  assert_in_range(pacing.grown_average, promoted - 64, promoted);
  assert_in_range(pacing.promoted_average, promoted / 2 - 64, promoted / 2);
  uint64_t trigger = crd_pacing_trigger(&pacing, (uint64_t)300 << 20);
  assert_in_range(trigger, (uint64_t)320 << 20, (uint64_t)328 << 20); /* 77 increments, 1 MiB promoted before each */
  for (int i = 0; i < 200; i++) crd_pacing_promoted(&pacing, 0, (uint64_t)64 << 20);
  /* at most half the way earlier */
  assert_int_equal(crd_pacing_trigger(&pacing, (uint64_t)300 << 20), (uint64_t)300 << 20);
  /* A collection that starts at the trigger, with increments of the requested size, ends before the threshold. */
  uint64_t used = trigger, unmarked = trigger;
  while (unmarked > 0) {
    used += promoted;
    uint64_t marked = crd_pacing_increment(&pacing, promoted, used, unmarked);
    assert_true(marked >= 2 * promoted);
    unmarked = marked < unmarked ? unmarked - marked : 0;
  }
  assert_true(used <= pacing.threshold);
  /* late: all of it */
  assert_true(crd_pacing_increment(&pacing, promoted, pacing.threshold + 1, 777777777) >= 777777777);
}

static void pacing_takes_what_the_options_say(void **state) {
  (void)state;
  cradle_options options;
  cradle_hardware hardware = {.memory_bytes = 0};
  crd_pacing pacing;
  cradle_options_init(&options);
  crd_pacing_init(&pacing, &options, &hardware, 1 << 20);
  assert_int_equal(pacing.max_delta, 1 << 30); /* the machine's memory is not known */
  options.major_max_delta = 12345678;
  options.major_min_bytes = 3000000;
  options.heap_max_bytes = 3000000;
  crd_pacing_init(&pacing, &options, &hardware, 1 << 20);
  assert_int_equal(pacing.max_delta, 12345678);
  assert_int_equal(pacing.min, 3000000);
  assert_int_equal(pacing.threshold, 3000000);
  options.heap_max_bytes = 2000000;
  crd_pacing_init(&pacing, &options, &hardware, 1 << 20);
  assert_int_equal(pacing.min, 3000000);
  assert_int_equal(pacing.threshold, 2000000); /* the maximum applies from the start */
  options.heap_max_bytes = 4000000;
  crd_pacing_init(&pacing, &options, &hardware, 1 << 20);
  assert_int_equal(pacing.threshold, 3000000);
}

/* No sum overflows: figures beyond any machine are capped, and then act like no bound. */
static void pacing_of_the_largest_numbers(void **state) {
  (void)state;
  cradle_options options;
  cradle_hardware hardware = {.memory_bytes = SIZE_MAX};
  crd_pacing pacing;
  cradle_options_init(&options);
  static const size_t deltas[] = {SIZE_MAX, SIZE_MAX - 1, SIZE_MAX / 2 + 1, (size_t)1 << 60, 0};
  for (size_t i = 0; i < sizeof deltas / sizeof *deltas; i++) {
    options.major_max_delta = deltas[i];
    crd_pacing_init(&pacing, &options, &hardware, 1 << 20);
    pacing.threshold = (uint64_t)100 << 30;
    crd_pacing_update(&pacing, (uint64_t)10 << 30, 0, 0, false, 0);
    assert_in_range(pacing.threshold, (uint64_t)18 << 30, (uint64_t)19 << 30); /* 1.82 x */
  }
  /* Three counts of external memory at their maximum, and the bytes in the heap. */
  const uint64_t most = 3 * COUNTED_MAX_BYTES;
  for (uint64_t used = most, i = 0; i < 10; used += (uint64_t)1 << 40, i++) {
    crd_pacing_update(&pacing, used, used, used, false, 0);
    assert_true(pacing.threshold >= pacing.min && pacing.threshold < UINT64_MAX / 2);
  }
  for (int i = 0; i < 1000; i++) crd_pacing_promoted(&pacing, (uint64_t)1 << 43, (uint64_t)1 << 43);
  for (int i = 0; i < 1000; i++) crd_pacing_marked(&pacing, 0);
  pacing.threshold = (uint64_t)4 << 60;
  pacing.survived = (uint64_t)2 << 60;
  /* half the way earlier, as with any large promotion */
  assert_int_equal(crd_pacing_trigger(&pacing, most), (uint64_t)3 << 60);
  options.major_min_bytes = SIZE_MAX;
  crd_pacing_init(&pacing, &options, &hardware, 1 << 20);
  assert_int_equal(pacing.threshold, COUNTED_MAX_BYTES);
  crd_pacing_update(&pacing, (uint64_t)10 << 30, 0, 0, false, 0);
  assert_int_equal(pacing.threshold, COUNTED_MAX_BYTES);
}

/* An increment marks a quarter more than the remaining way requires. */
static void an_increment_marks_its_share_of_the_way(void **state) {
  (void)state;
  const uint64_t mib = (uint64_t)1 << 20;
  crd_pacing pacing = {.threshold = 400 * mib};
  assert_int_equal(crd_pacing_increment(&pacing, 10 * mib, 300 * mib, 800 * mib), 100 * mib);
  /* twice what was promoted */
  assert_int_equal(crd_pacing_increment(&pacing, 10 * mib, 300 * mib, 80 * mib), 20 * mib);
  assert_int_equal(crd_pacing_increment(&pacing, 0, 300 * mib, 80 * mib), mib);
  /* no room is left: mark the rest */
  assert_int_equal(crd_pacing_increment(&pacing, 10 * mib, 390 * mib, 80 * mib), 80 * mib);
  assert_int_equal(crd_pacing_increment(&pacing, 10 * mib, 400 * mib, 80 * mib), 80 * mib);
}

/* While the second core marks, the heap may grow by its room, half of the threshold at most, but not beyond the
 * maximum. */
static void a_second_core_has_half_the_threshold_more(void **state) {
  (void)state;
  const uint64_t mib = (uint64_t)1 << 20;
  crd_pacing pacing = {.threshold = 400 * mib, .beside_room = 100 * mib};
  assert_int_equal(crd_pacing_limit_beside(&pacing, 0), 500 * mib);
  pacing.beside_room = 201 * mib;
  uint64_t limit = crd_pacing_limit_beside(&pacing, 0);
  assert_int_equal(limit, 600 * mib);
  assert_int_equal(crd_pacing_limit_beside(&pacing, 601 * mib), 600 * mib);
  assert_int_equal(crd_pacing_limit_beside(&pacing, 500 * mib), 500 * mib);
  assert_int_equal(crd_pacing_limit_beside(&pacing, 300 * mib), 400 * mib);
  assert_int_equal(crd_pacing_needed(limit, 10 * mib, 400 * mib, 80 * mib), 5 * mib);
  assert_int_equal(crd_pacing_needed(limit, 10 * mib, 590 * mib, 80 * mib), 80 * mib);
  assert_int_equal(crd_pacing_needed(limit, 0, 599 * mib, 80 * mib), 0);
  assert_int_equal(crd_pacing_needed(limit, 0, 600 * mib, 80 * mib), 80 * mib); /* there is no room, whatever comes */
}

/* The worst that can be: as much lives as ever, all else is dead, and marking begins early and takes until the limit.
 * Then each collection leaves what was promoted while it marked. */
static void a_second_core_without_time_lets_the_heap_grow_to_an_end(void **state) {
  (void)state;
  const uint64_t live = (uint64_t)100 << 20;
  crd_pacing pacing = pacing_of_defaults((size_t)64 << 30, 1 << 20);
  pacing.grown_average = live;
  uint64_t born = 0, limit = live;
  for (int cycles = 0; cycles < 100; cycles++) {
    uint64_t survived = live + born;
    crd_pacing_update(&pacing, survived, limit > survived ? limit - survived : 0, born, false, 0);
    limit = crd_pacing_limit_beside(&pacing, 0);
    born = limit - crd_pacing_trigger(&pacing, survived);
  }
  assert_in_range(limit, 3 * live, 5 * live);
  assert_int_equal(pacing.beside_room, (uint64_t)((double)live * pacing.factor) / 2);
}

/* The deadline is the rest of the pause, less an eighth for later work, and at least an eighth of the target from
 * now. */
static void an_increment_ends_with_the_pause_or_a_little_later(void **state) {
  (void)state;
  assert_int_equal(crd_pacing_deadline(50000, 50400, 2000), 51750);
  assert_int_equal(crd_pacing_deadline(50000, 51500, 2000), 51750);
  assert_int_equal(crd_pacing_deadline(50000, 51600, 2000), 51850); /* a long minor collection */
  /* The minor collection alone exceeded the target. */
  assert_int_equal(crd_pacing_deadline(50000, 59000, 2000), 59250);
}

/* Whatever was in memory before. */
static void pacing_begins_at_the_minimum_and_knows_nothing(void **state) {
  (void)state;
  cradle_options options;
  cradle_hardware hardware = {.memory_bytes = (size_t)8 << 30};
  crd_pacing pacing;
  cradle_options_init(&options);
  memset(&pacing, 0x5a, sizeof pacing);
  crd_pacing_init(&pacing, &options, &hardware, 1 << 20);
  assert_int_equal(pacing.threshold, 8 << 20);
  assert_int_equal(pacing.survived, 0);
  assert_int_equal(pacing.promoted_average, 0);
  assert_int_equal(pacing.grown_average, 0);
  assert_int_equal(pacing.marked_average, 4 << 20);
}

/* The maximum heap, and with it the minimum, may become known later. */
static void bounds_may_be_lowered_later(void **state) {
  (void)state;
  cradle_options options;
  cradle_hardware hardware = {.memory_bytes = (size_t)8 << 30};
  cradle_options_init(&options);
  options.major_min_bytes = 5000000;
  crd_pacing pacing;
  crd_pacing_init(&pacing, &options, &hardware, 1 << 20);
  assert_int_equal(pacing.threshold, 5000000);
  options.major_min_bytes = 3000000;
  options.heap_max_bytes = 4000000;
  hardware.memory_bytes = (size_t)4 << 30;
  crd_pacing_bound(&pacing, &options, &hardware);
  assert_int_equal(pacing.min, 3000000);
  assert_int_equal(pacing.threshold, 4000000);
  assert_int_equal(pacing.max_delta, (uint64_t)512 << 20);
}

/* Averages move by an eighth of the distance. */
static void averages_forget(void **state) {
  (void)state;
  crd_pacing pacing = {.promoted_average = 800, .grown_average = 1600, .marked_average = 8000};
  crd_pacing_promoted(&pacing, 1600, 2400);
  assert_int_equal(pacing.promoted_average, 900);
  assert_int_equal(pacing.grown_average, 1900);
  assert_int_equal(pacing.marked_average, 8000);
  crd_pacing_marked(&pacing, 800);
  assert_int_equal(pacing.marked_average, 7100);
}

/* The way is as many increments as used bytes need at the average, and two more. */
static void a_collection_begins_as_many_increments_before_the_threshold(void **state) {
  (void)state;
  crd_pacing pacing = {.threshold = 4000, .survived = 2000, .grown_average = 10, .marked_average = 100};
  assert_int_equal(crd_pacing_trigger(&pacing, 3000), 4000 - 10 * (3000 / 100 + 2));
  pacing.marked_average = 1;
  assert_int_equal(crd_pacing_trigger(&pacing, 30), 4000 - 10 * (30 + 2));
  pacing.marked_average = 0; /* as little as can be */
  assert_int_equal(crd_pacing_trigger(&pacing, 30), 4000 - 10 * (30 + 2));
  pacing.survived = 4000;
  assert_int_equal(crd_pacing_trigger(&pacing, 3000), 4000);
  pacing.survived = 5000; /* the maximum is near */
  assert_int_equal(crd_pacing_trigger(&pacing, 3000), 4000);
}

/* memory.high is a soft maximum: three quarters of it bound the threshold, but what survives gets a quarter more. */
static void a_soft_maximum_bounds_the_threshold(void **state) {
  (void)state;
  crd_pacing pacing = pacing_of_defaults((size_t)8 << 30, 1 << 20), free_pacing = pacing;
  pacing.soft_max = (uint64_t)75 << 20;
  pacing.threshold = free_pacing.threshold = (uint64_t)90 << 20;
  crd_pacing_update(&free_pacing, (uint64_t)50 << 20, (uint64_t)50 << 20, 0, false, 0);
  crd_pacing_update(&pacing, (uint64_t)50 << 20, (uint64_t)50 << 20, 0, false, 0);
  assert_true(free_pacing.threshold > (uint64_t)75 << 20);
  assert_int_equal(pacing.threshold, (uint64_t)75 << 20);
  pacing.threshold = (uint64_t)400 << 20;
  crd_pacing_update(&pacing, (uint64_t)200 << 20, (uint64_t)200 << 20, 0, false, 0);
  assert_int_equal(pacing.threshold, (uint64_t)250 << 20);
  cradle_hardware hardware = {.memory_bytes = (size_t)8 << 30, .group_high_bytes = 100 << 20};
  cradle_options options;
  cradle_options_init(&options);
  crd_pacing_bound(&pacing, &options, &hardware);
  assert_int_equal(pacing.soft_max, 75 << 20);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(pacing_follows_factor_growth_delta_minimum_and_maximum),
      cmocka_unit_test(growth_bounds_nothing_where_nothing_was_freed),
      cmocka_unit_test(after_a_collection_in_vain_the_next_comes_later),
      cmocka_unit_test(what_floats_lengthens_no_threshold),
      cmocka_unit_test(increments_are_over_at_the_threshold),
      cmocka_unit_test(pacing_takes_what_the_options_say),
      cmocka_unit_test(pacing_of_the_largest_numbers),
      cmocka_unit_test(an_increment_marks_its_share_of_the_way),
      cmocka_unit_test(a_second_core_has_half_the_threshold_more),
      cmocka_unit_test(a_second_core_without_time_lets_the_heap_grow_to_an_end),
      cmocka_unit_test(an_increment_ends_with_the_pause_or_a_little_later),
      cmocka_unit_test(pacing_begins_at_the_minimum_and_knows_nothing),
      cmocka_unit_test(bounds_may_be_lowered_later),
      cmocka_unit_test(a_soft_maximum_bounds_the_threshold),
      cmocka_unit_test(averages_forget),
      cmocka_unit_test(a_collection_begins_as_many_increments_before_the_threshold),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
