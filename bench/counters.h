/* Hardware counters of the calling thread, user mode only: cycles, instructions, and loads and
 * stores whose page the data TLB did not have.
 *
 * A counter has a value, or it has none and a reason in words; it is never zero for want of
 * hardware. libpfm4 turns the names into events (built with HAVE_PFM), perf_event_open counts.
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

/* Opens all of them, stopped and at zero; one that cannot be opened has its reason. Never fails as
 * a whole. */
void counters_open(counters *set);
/* Leaves all of them without a value, for the reason given. */
void counters_none(counters *set, const char *reason);
void counters_close(counters *set);
/* Counting goes on from where it was stopped. */
void counters_start(counters *set);
void counters_stop(counters *set);
/* true: *value is the count so far, extrapolated when the kernel shared the counter out between
 * several. */
bool counter_read(counter *one, double *value);

#endif
