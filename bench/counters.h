/* Hardware counters of the calling thread, user mode only: cycles, instructions, and loads and
 * stores that miss the data TLB.
 *
 * A counter has either a value or a reason why there is no value. Missing hardware never gives
 * zero. libpfm4 turns the names into events (built with HAVE_PFM), perf_event_open counts.
 *
 * Invariants
 *   [counters.1] reason is empty exactly when the counter is open; a counter that was never
 *                scheduled gets a reason when it is read.
 */
#ifndef BENCH_COUNTERS_H
#define BENCH_COUNTERS_H

#include <stdbool.h>

typedef enum counter_id {
  COUNTER_CYCLES,
  COUNTER_INSTRUCTIONS,
  COUNTER_DTLB_LOADS,
  COUNTER_DTLB_STORES,
} counter_id;
#define COUNTERS 4

typedef struct counter {
  int fd;           /* -1: not open */
  char reason[128]; /* why there is no value */
} counter;

typedef struct counters {
  counter counter[COUNTERS];
} counters;

extern const char *const counter_names[COUNTERS];

/* Opens all counters, stopped and at zero. A counter that cannot be opened gets its reason; the
 * function itself never fails. */
void counters_open(counters *set);
/* Gives all counters this reason instead of a value. */
void counters_none(counters *set, const char *reason);
void counters_close(counters *set);
/* Continues counting from the last value. */
void counters_start(counters *set);
void counters_stop(counters *set);
/* true: *value is the count so far, extrapolated if the kernel took turns between several
 * counters. */
bool counter_read(counter *one, double *value);

#endif
