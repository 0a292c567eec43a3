/* The histogram of bench/histogram.h: what is read back is at most one part in 32 above what was recorded. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "bench/histogram.h"

static histogram h;

static int empty(void **state) {
  (void)state;
  h = (histogram){.count = 0};
  return 0;
}

static void test_nothing_recorded(void **state) {
  (void)state;
  assert_int_equal(histogram_quantile(&h, 0.5), 0);
  assert_int_equal(histogram_quantile(&h, 1), 0);
}

/* Around every power of two, where bucket widths change. */
static void test_bucket_bounds(void **state) {
  (void)state;
  for (int shift = 0; shift < 64; shift++) {
    for (int offset = -1; offset <= 1; offset++) {
      uint64_t value = (UINT64_C(1) << shift) + (uint64_t)offset;
      unsigned bucket = histogram_bucket(value);
      assert_true(bucket < HISTOGRAM_BUCKETS);
      assert_true(histogram_bucket_end(bucket) >= value);
      assert_true(histogram_bucket_end(bucket) - value <= value / HISTOGRAM_SUBS);
      if (bucket > 0) assert_true(histogram_bucket_end(bucket - 1) < value);
    }
  }
  assert_true(histogram_bucket(UINT64_MAX) < HISTOGRAM_BUCKETS);
  assert_true(histogram_bucket_end(histogram_bucket(UINT64_MAX)) == UINT64_MAX);
}

static void test_quantiles(void **state) {
  (void)state;
  for (uint64_t value = 1; value <= 10000; value++) histogram_record(&h, value);
  assert_int_equal(h.count, 10000);
  assert_int_equal(h.sum, 50005000);
  assert_in_range(histogram_quantile(&h, 0.5), 5000, 5000 + 5000 / HISTOGRAM_SUBS);
  assert_in_range(histogram_quantile(&h, 0.999), 9990, 10000);
  assert_int_equal(histogram_quantile(&h, 1), 10000);
}

/* One long pause among many short ones is the maximum, and no more than that. */
static void test_one_outlier(void **state) {
  (void)state;
  for (int i = 0; i < 9999; i++) histogram_record(&h, 7);
  histogram_record(&h, 1000000000);
  assert_int_equal(histogram_quantile(&h, 0.999), 7);
  assert_int_equal(histogram_quantile(&h, 1), 1000000000);
  assert_int_equal(h.max, 1000000000);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup(test_nothing_recorded, empty),
      cmocka_unit_test_setup(test_bucket_bounds, empty),
      cmocka_unit_test_setup(test_quantiles, empty),
      cmocka_unit_test_setup(test_one_outlier, empty),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
