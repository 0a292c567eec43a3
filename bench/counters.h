/* Hardware counters of the calling thread, user mode only: cycles, instructions, and loads and stores whose page the
 * data TLB did not have.
 *
 * A counter has either a value, or a reason in words why there is none; a missing counter is never printed as zero.
 * libpfm4 turns the names into events (built with HAVE_PFM), perf_event_open counts.
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

/* Opens all counters, stopped and at zero. A counter that cannot be opened gets its reason; the function itself never
 * fails. */
void counters_open(counters *set);
/* Closes all counters and gives each this reason. */
void counters_none(counters *set, const char *reason);
void counters_close(counters *set);
/* Counting goes on from where it was stopped. */
void counters_start(counters *set);
void counters_stop(counters *set);
/* true: *value is the count so far, extrapolated when the kernel shared the counter out between
 * several. */
bool counter_read(counter *one, double *value);

#endif
