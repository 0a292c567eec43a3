/* Clock and medians for benchmarks. Times are nanoseconds. */
#ifndef BENCH_TIMING_H
#define BENCH_TIMING_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static inline uint64_t now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* This thread's processor time: steadier than the clock if other programs need the processor. */
static inline uint64_t cpu_now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* Processor time of all threads of the process, including the collector's second thread. */
static inline uint64_t process_cpu_now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static inline int timing_compare(const void *left, const void *right) {
  double a = *(const double *)left, b = *(const double *)right;
  return (a > b) - (a < b);
}

/* A duration for people: three digits and the unit that suits them. */
static inline const char *duration_text(double ns, char text[32]) {
  static const char *const units[] = {"ns", "us", "ms", "s"};
  int unit = 0;
  for (; ns >= 999.5 && unit < 3; unit++) ns /= 1000;
  snprintf(text, 32, ns < 999.5 ? "%.3g %s" : "%.0f %s", ns, units[unit]);
  return text;
}

/* The median of count > 0 values, which are sorted in place; of an even count the mean of the two
 * in the middle. */
static inline double median_of(double *values, size_t count) {
  qsort(values, count, sizeof(*values), timing_compare);
  return (values[(count - 1) / 2] + values[count / 2]) / 2;
}

#endif
