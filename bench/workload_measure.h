/* Measuring a workload: its variants one after the other, each run in a process of its own. */
#ifndef BENCH_WORKLOAD_MEASURE_H
#define BENCH_WORKLOAD_MEASURE_H

#include "bench/workloads.h"

#define WORKLOAD_RUNS_MAX 99

typedef enum variant_id {
  VARIANT_CRADLE,
  VARIANT_ARENA,
  VARIANT_ARENA_FRESH, /* never reuses dropped memory */
  VARIANT_MALLOC,
  VARIANT_MIMALLOC,
  VARIANTS
} variant_id;
extern const char *const variant_names[VARIANTS];

typedef struct variant_result {
  bool wanted;
  double seconds[WORKLOAD_RUNS_MAX];        /* of each run */
  double cpu_seconds[WORKLOAD_RUNS_MAX];    /* of all its threads */
  double beside_seconds[WORKLOAD_RUNS_MAX]; /* the part of it that threads other than the program's took */
  double gc_shares[WORKLOAD_RUNS_MAX];
  double ratios[WORKLOAD_RUNS_MAX]; /* Cradle's time in the same round, divided by this variant's */
  double cpu_ratios[WORKLOAD_RUNS_MAX];
  double figures[WORKLOAD_FIGURES_MAX][WORKLOAD_RUNS_MAX];
  uint64_t peak_resident_bytes; /* the largest of all runs */
  histogram pauses;             /* of all runs */
  workload_run last;
} variant_result;

/* Fills the results of the variants that are wanted. Ends the program with a message when a run fails or two
 * disagree. */
void workload_measure(const workload *work, const workload_run *run, variant_result results[VARIANTS]);

#endif
