/* Running the loops of allocate-a-lot and what is measured of them.
 *
 * Cradle's LOOPS objects are allocated in runs x LOOP_OFFSETS portions, one heap and one nursery
 * through all of them, and a bare portion follows each of Cradle's. A run's figure is the median
 * over its code offsets; the result is the median over the runs, and ratio_to_bare the median of
 * the runs' ratios. One more minor collection ends the last portion and is timed with it, so that
 * the time of every filled nursery counts.
 */
#ifndef BENCH_ALLOCATE_MEASURE_H
#define BENCH_ALLOCATE_MEASURE_H

#include "bench/allocate_options.h"
#include "bench/counters.h"

#include <cradle/statistics.h>

typedef struct figure {
  const char *missing;            /* NULL if it was measured; else the reason why not */
  uint64_t objects;               /* allocated in all */
  double seconds;                 /* in all */
  double ns;                      /* an allocation, the median */
  double offset_ns[LOOP_OFFSETS]; /* the same by code offset; peers have only the first */
  double counts[COUNTERS];        /* an allocation; valid if the counter's reason is empty */
  char counter_reasons[COUNTERS][128];
  uint64_t last[2]; /* the fields of the two that live at the end, or their types with --init=0 */
} figure;

typedef struct measurement {
  figure figures[VARIANT_NONE];
  double ratio_to_bare;    /* 0: bare was not run */
  cradle_statistics stats; /* of Cradle's heap, after all its portions */
  cradle_memory memory;    /* likewise */
  double empty_minor_ns;   /* a minor collection of an empty nursery, in a heap of its own */
} measurement;

/* Runs the variants that options select. Returns false if a heap could not be made; error says why. */
bool allocate_measure(const allocate_options *options, measurement *result, cradle_error *error);

#endif
