/* Delays that the machine itself causes and that a pause may contain.
 *
 * A hiccup loop is a thread that reads the clock and does nothing else: the longest time between two of its readings,
 * and how many were long. A stall loop makes the memory accesses of a minor collection without a collector: it
 * reads lines at random, copies a fixed number to new lines, and times each round.
 */
#ifndef BENCH_HICCUP_H
#define BENCH_HICCUP_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "bench/histogram.h"

typedef struct hiccup {
  pthread_t thread;
  atomic_bool stop;
  uint64_t max_ns, long_count; /* long: above HICCUP_LONG_NS */
  uint64_t cpu_ns;             /* the thread's own processor time */
} hiccup;
enum { HICCUP_LONG_NS = 1000000 };

/* Ends the program if no thread can be made. */
void hiccup_start(hiccup *h);
/* From now on the figures no longer change. */
void hiccup_stop(hiccup *h);

/* Repeats rounds of STALL_TOUCHES random lines of the memory until the time is over, and records each round's time in
 * nanoseconds. Ends the program if memory runs out. */
enum { STALL_TOUCHES = 4096 };
void stall_measure(uint64_t bytes, uint64_t nanoseconds, histogram *rounds);

#endif
