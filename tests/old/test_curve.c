/* The survival curve by itself, and the samples of it that marking judges. The nursery's size is fixed, so the heap
 * takes no samples but those that a test notes. */
#include "tests/support/heap_fixture.h"

#include "tests/inside.h"

#define KIB ((uint64_t)1 << 10)
#define MIB ((uint64_t)1 << 20)
#define NURSERY_BYTES (256 * KIB) /* ages below it lie in bins 0 to 4 */
/* Fewer samples say nothing; and one in so many is kept. */
#define ENOUGH 12
#define KEPT_EVERY 8
#define PLACE 8 /* of a promoted object, where nobody looks there */

static crd_curve alone;
static fixture f;

static int clear(void **state) {
  (void)state;
  alone = (crd_curve){.allocated = 0};
  return 0;
}

static int open_heap(void **state) {
  (void)state;
  cradle_options options;
  fixture_options(&f, &options);
  fixture_unstress(&options);
  options.verify = true;
  options.nursery_bytes = NURSERY_BYTES;
  options.gc_threads = 0;
  options.major_min_bytes = (size_t)1 << 30; /* none but those asked for */
  fixture_open_with(&f, &options);
  return 0;
}

static int close_heap(void **state) {
  (void)state;
  fixture_close(&f);
  return 0;
}

/* So many samples of an age, of which so many were promoted. */
static void note(crd_curve *curve, uint64_t age, uint32_t seen, uint32_t kept) {
  for (uint32_t i = 0; i < seen; i++) crd_curve_note(curve, age, i < kept ? PLACE : 0);
}

static void marking_says(crd_curve *curve, uint32_t bin, double share) {
  curve->bins[bin] = (crd_curve_bin){.share = share, .source = CURVE_MARKING};
}

static void assert_near(double value, double expected) {
  if (value < expected - 1e-9 || value > expected + 1e-9) fail_msg("%f, not %f", value, expected);
}

static void assert_written(const crd_curve *curve, const char *expected) {
  crd_text text = {.length = 0};
  crd_curve_write(curve, &text);
  assert_string_equal(text.buffer, expected);
  assert_int_equal(text.length, strlen(expected));
}

/* --- by itself --- */

static void each_bin_has_twice_the_ages_of_the_one_before(void **state) {
  (void)state;
  static const struct {
    uint64_t age;
    uint32_t bin;
  } cases[] = {
      {0, 0},   {16 * KIB - 1, 0}, {16 * KIB, 1},       {32 * KIB - 1, 1}, {32 * KIB, 2},   {MIB - 1, 6},
      {MIB, 7}, {64 * MIB, 13},    {128 * MIB - 1, 13}, {128 * MIB, 14},   {256 * MIB, 14}, {UINT64_MAX / 2, 14}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    clear(NULL);
    crd_curve_note(&alone, cases[i].age, 0);
    for (uint32_t bin = 0; bin < CURVE_BINS; bin++) assert_int_equal(alone.bins[bin].seen, bin == cases[i].bin);
  }
}

static void few_samples_say_nothing(void **state) {
  (void)state;
  alone.promoted = 0.5;
  note(&alone, 0, ENOUGH - 1, 0);
  assert_near(crd_curve_promoted(&alone, 16 * KIB, true), 0.5);
  crd_curve_settle(&alone);
  assert_int_equal(alone.bins[0].source, CURVE_UNKNOWN);
  assert_int_equal(alone.bins[0].seen, ENOUGH - 1); /* which counts with the next ones */
  note(&alone, 0, 1, 1);
  assert_near(crd_curve_promoted(&alone, 16 * KIB, true), 1.0 / ENOUGH);
  crd_curve_settle(&alone);
  assert_int_equal(alone.bins[0].source, CURVE_MINOR);
  assert_int_equal(alone.bins[0].seen, 0);
  assert_int_equal(alone.bins[0].kept, 0);
  assert_near(crd_curve_promoted(&alone, 16 * KIB, true), 1.0 / ENOUGH);
}

static void the_latest_share_counts(void **state) {
  (void)state;
  note(&alone, 0, 100, 100);
  crd_curve_settle(&alone);
  note(&alone, 0, ENOUGH - 1, 0);
  crd_curve_settle(&alone);
  assert_near(crd_curve_promoted(&alone, 16 * KIB, false), 1);
  note(&alone, 0, 1, 0);
  assert_near(crd_curve_promoted(&alone, 16 * KIB, false), 0); /* before it is settled too */
  crd_curve_settle(&alone);
  assert_near(crd_curve_promoted(&alone, 16 * KIB, false), 0);
}

/* Where a bin is not known, the share of the bin before it counts. Where no bin is known, the share of what was
 * promoted does. */
static void a_nursery_promotes_the_mean_of_its_ages(void **state) {
  (void)state;
  alone.promoted = 0.75;
  assert_near(crd_curve_promoted(&alone, 1, true), 0.75);
  assert_near(crd_curve_promoted(&alone, 512 * MIB, true), 0.75);
  note(&alone, 16 * KIB, 100, 50); /* bin 1 */
  assert_near(crd_curve_promoted(&alone, 16 * KIB, true), 0.75);
  assert_near(crd_curve_promoted(&alone, 32 * KIB, true), (0.75 + 0.5) / 2);
  assert_near(crd_curve_promoted(&alone, 24 * KIB, true), (0.75 * 16 + 0.5 * 8) / 24);
  assert_near(crd_curve_promoted(&alone, 64 * KIB, true), (0.75 * 16 + 0.5 * 48) / 64);
  note(&alone, 64 * KIB, 100, 10); /* bin 3 */
  assert_near(crd_curve_promoted(&alone, 128 * KIB, true), (0.75 * 16 + 0.5 * 48 + 0.1 * 64) / 128);
  clear(NULL);
  note(&alone, 0, 100, 100);
  note(&alone, 128 * MIB, 100, 25); /* the last bin, which has no end */
  for (uint32_t bin = 1; bin < CURVE_BINS - 1; bin++) note(&alone, 16 * KIB << (bin - 1), 100, 50);
  assert_near(crd_curve_promoted(&alone, 512 * MIB, true) * 512 * 64, 1 + 0.5 * (128 * 64 - 1) + 0.25 * 384 * 64);
}

/* Marking sees a share of what was promoted, which is a share of what was allocated. */
static void minor_collections_are_asked_before_marking(void **state) {
  (void)state;
  alone.promoted = 0.5;
  marking_says(&alone, 0, 0.5);
  assert_near(crd_curve_promoted(&alone, 16 * KIB, true), 0.25);
  assert_near(crd_curve_promoted(&alone, 16 * KIB, false), 0.5); /* a hint does not count */
  note(&alone, 0, ENOUGH, ENOUGH);
  assert_near(crd_curve_promoted(&alone, 16 * KIB, true), 1);
  crd_curve_settle(&alone);
  assert_near(crd_curve_promoted(&alone, 16 * KIB, true), 1);
  assert_near(crd_curve_promoted(&alone, 16 * KIB, false), 1);
  marking_says(&alone, 1, 0);
  assert_near(crd_curve_promoted(&alone, 32 * KIB, true), 0.5);
  assert_near(crd_curve_promoted(&alone, 32 * KIB, false), 1);
}

/* What was seen earlier may be of another phase of the program. */
static void an_earlier_share_is_at_most_that_of_younger_ages(void **state) {
  (void)state;
  note(&alone, 16 * KIB, 100, 100);
  crd_curve_settle(&alone);
  note(&alone, 0, 100, 10);
  assert_near(crd_curve_promoted(&alone, 32 * KIB, true), 0.1);
  note(&alone, 16 * KIB, 100, 100); /* it is seen now */
  assert_near(crd_curve_promoted(&alone, 32 * KIB, true), (0.1 + 1) / 2);
}

static void one_promoted_sample_in_eight_is_kept(void **state) {
  (void)state;
  alone.allocated = 100 * MIB;
  note(&alone, MIB, 100, 0); /* the dead ones are not counted */
  for (uintptr_t i = 1; i < KEPT_EVERY; i++) crd_curve_note(&alone, MIB, i * 8);
  assert_int_equal(alone.next, 0);
  assert_int_equal(alone.samples[0].address, 0);
  crd_curve_note(&alone, MIB, 800);
  assert_int_equal(alone.samples[0].address, 800);
  assert_int_equal(alone.samples[0].born, 99 * MIB);
  assert_true(alone.samples[0].born_marked);
  for (uintptr_t i = 1; i <= CURVE_SAMPLES * KEPT_EVERY; i++) crd_curve_note(&alone, MIB, i * 8); /* goes round once */
  assert_int_equal(alone.samples[0].address, CURVE_SAMPLES * KEPT_EVERY * 8);
  assert_int_equal(alone.samples[1].address, KEPT_EVERY * 8);
  assert_int_equal(alone.next, 1);
}

static void the_known_bins_are_written(void **state) {
  (void)state;
  assert_written(&alone, "");
  note(&alone, 0, 100, 97);
  assert_written(&alone, "16 KiB 97");
  note(&alone, 512 * KIB - 1, 200, 101); /* is rounded up */
  note(&alone, 512 * KIB, 300, 100);
  alone.promoted = 0.5;
  marking_says(&alone, 9, 0.25);
  crd_curve_settle(&alone);
  assert_written(&alone, "16 KiB 97, 512 KiB 51, 1 MiB 33, 8 MiB 13");
  for (uint32_t bin = 0; bin < CURVE_BINS; bin++) alone.bins[bin] = (crd_curve_bin){.share = 1, .source = CURVE_MINOR};
  assert_written(&alone,
                 "16 KiB 100, 32 KiB 100, 64 KiB 100, 128 KiB 100, 256 KiB 100, 512 KiB 100, 1 MiB 100, 2 MiB 100, "
                 "4 MiB 100, 8 MiB 100, 16 MiB 100, 32 MiB 100, 64 MiB 100, 128 MiB 100, 256 MiB 100");
}

/* --- with marking --- */

static crd_curve *curve(void) {
  return &f.heap->marking.curve;
}

/* A sample of this age is kept. */
static void keep(uint64_t age, const void *object) {
  curve()->skipped = KEPT_EVERY - 1;
  crd_curve_note(curve(), age, (uintptr_t)object);
}

static bool is_kept(const void *object) {
  for (int i = 0; i < CURVE_SAMPLES; i++)
    if (curve()->samples[i].address == (uintptr_t)object) return true;
  return false;
}

static int samples_kept(void) {
  int count = 0;
  for (int i = 0; i < CURVE_SAMPLES; i++) count += curve()->samples[i].address != 0;
  return count;
}

/* Pushes so many old objects, which a pair each. */
static void push_old(int count) CRADLE_MAY_COLLECT {
  for (int i = 0; i < count; i++) cradle_push(f.m, cradle_new(f.m, T_PAIR, sizeof(pair)));
  cradle_collect(f.m, CRADLE_COLLECT_MINOR);
}

static void *pushed(int from_top) {
  return (void *)(uintptr_t)*cradle_peek(f.m, (size_t)from_top);
}

/* Bins of ages that minor collections see are left alone. */
CRADLE_UNCHECKED_COLLECTION static void marking_counts_what_it_reached(void **state) {
  (void)state;
  enum { COUNT = 16, DEAD = 4 };
  push_old(COUNT);
  for (int i = 0; i < COUNT; i++) {
    keep(NURSERY_BYTES - 1, pushed(i)); /* bin 4: not for marking */
    keep(NURSERY_BYTES, pushed(i));     /* bin 5 */
    if (i < ENOUGH - 1) keep(MIB, pushed(i));
  }
  crd_curve_settle(curve());
  cradle_pop_many(f.m, DEAD);
  cradle_collect(f.m, CRADLE_COLLECT_MAJOR);
  const crd_curve_bin *bins = curve()->bins;
  assert_int_equal(bins[4].source, CURVE_MINOR);
  assert_near(bins[4].share, 1);
  assert_int_equal(bins[5].source, CURVE_MARKING);
  assert_near(bins[5].share, (double)(COUNT - DEAD) / COUNT);
  assert_int_equal(bins[5].old_seen, 0);
  assert_int_equal(bins[7].source, CURVE_UNKNOWN); /* too few */
  assert_int_equal(bins[7].old_seen, ENOUGH - 1);
  cradle_pop_many(f.m, COUNT - DEAD);
}

/* The next marking judges the living again, at their age then. */
CRADLE_UNCHECKED_COLLECTION static void the_living_are_judged_again_at_a_greater_age(void **state) {
  (void)state;
  push_old(ENOUGH);
  for (int i = 0; i < ENOUGH; i++) keep(NURSERY_BYTES, pushed(i));
  cradle_collect(f.m, CRADLE_COLLECT_MAJOR);
  assert_near(curve()->bins[5].share, 1);
  assert_int_equal(samples_kept(), ENOUGH);
  for (uint64_t bytes = 0; bytes < MIB; bytes += 32 * KIB) (void)cradle_new_array(f.m, T_STRING, 16 * KIB);
  for (uint64_t bytes = 0; bytes < MIB; bytes += 32 * KIB) (void)cradle_new_array(f.m, T_STRING, 16 * KIB);
  cradle_pop_many(f.m, ENOUGH);
  cradle_collect(f.m, CRADLE_COLLECT_MAJOR);
  assert_near(curve()->bins[5].share, 1);
  assert_int_equal(curve()->bins[7].source, CURVE_MARKING); /* from one MiB to two */
  assert_near(curve()->bins[7].share, 0);
  assert_int_equal(samples_kept(), 0);
}

/* They are alive because marking has not looked. */
CRADLE_UNCHECKED_COLLECTION static void what_is_promoted_while_marking_goes_on_is_not_judged(void **state) {
  (void)state;
  push_old(ENOUGH);
  crd_curve_begin_marking(curve());
  for (int i = 0; i < ENOUGH; i++) keep(NURSERY_BYTES, pushed(i));
  crd_curve_end_marking(curve(), inside_old(f.heap), NURSERY_BYTES);
  assert_int_equal(curve()->bins[5].source, CURVE_UNKNOWN);
  assert_int_equal(curve()->bins[5].old_seen, 0);
  assert_int_equal(samples_kept(), ENOUGH); /* and stays for the next marking */
  cradle_pop_many(f.m, ENOUGH);
  cradle_collect(f.m, CRADLE_COLLECT_MAJOR);
  assert_near(curve()->bins[5].share, 0);
  assert_int_equal(curve()->bins[5].source, CURVE_MARKING);
}

/* [curve.1] Another object has the place, which says nothing of the one that died. */
CRADLE_UNCHECKED_COLLECTION static void a_dead_sample_is_dropped(void **state) {
  (void)state;
  push_old(ENOUGH);
  void *places[ENOUGH];
  for (int i = 0; i < ENOUGH; i++) {
    keep(NURSERY_BYTES, places[i] = pushed(i));
    assert_true(is_kept(places[i]));
  }
  cradle_pop_many(f.m, ENOUGH);
  cradle_collect(f.m, CRADLE_COLLECT_FULL);
  for (int i = 0; i < ENOUGH; i++) assert_false(is_kept(places[i]));
  assert_near(curve()->bins[5].share, 0);
  cradle_collect(f.m, CRADLE_COLLECT_FULL); /* the places are swept and empty */
  push_old(1000);
  bool reused = false;
  for (int i = 0; i < 1000; i++) reused = reused || pushed(i) == places[0];
  assert_true(reused);
  cradle_collect(f.m, CRADLE_COLLECT_FULL);
  assert_near(curve()->bins[5].share, 0);
  for (uint32_t bin = 0; bin < CURVE_BINS; bin++) assert_int_equal(curve()->bins[bin].old_seen, 0);
  cradle_pop_many(f.m, 1000);
}

/* [curve.1] What lay at an address may be elsewhere. */
CRADLE_UNCHECKED_COLLECTION static void a_compaction_forgets_the_samples(void **state) {
  (void)state;
  push_old(ENOUGH);
  for (int i = 0; i < ENOUGH; i++) keep(NURSERY_BYTES, pushed(i));
  cradle_collect(f.m, CRADLE_COLLECT_COMPACTING);
  assert_int_equal(samples_kept(), 0);
  cradle_pop_many(f.m, ENOUGH);
  cradle_collect(f.m, CRADLE_COLLECT_FULL);
}

#define ALONE(name) cmocka_unit_test_setup(name, clear)
#define TEST(name) cmocka_unit_test_setup_teardown(name, open_heap, close_heap)

int main(void) {
  const struct CMUnitTest tests[] = {
      ALONE(each_bin_has_twice_the_ages_of_the_one_before),
      ALONE(few_samples_say_nothing),
      ALONE(the_latest_share_counts),
      ALONE(a_nursery_promotes_the_mean_of_its_ages),
      ALONE(minor_collections_are_asked_before_marking),
      ALONE(an_earlier_share_is_at_most_that_of_younger_ages),
      ALONE(one_promoted_sample_in_eight_is_kept),
      ALONE(the_known_bins_are_written),
      TEST(marking_counts_what_it_reached),
      TEST(the_living_are_judged_again_at_a_greater_age),
      TEST(what_is_promoted_while_marking_goes_on_is_not_judged),
      TEST(a_dead_sample_is_dropped),
      TEST(a_compaction_forgets_the_samples),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
