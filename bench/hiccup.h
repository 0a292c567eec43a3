/* What the machine itself takes away from a program, and a pause may contain.
 *
 * A hiccup loop is a thread that reads the clock and does nothing else: the longest time between two of its readings,
 * and how many were long. A stall loop does without a collector what a minor collection asks of memory: it touches
 * lines at random and copies to new ones, always as many, and takes the time of each round.
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
} hiccup;
enum { HICCUP_LONG_NS = 1000000 };

/* Ends the program when there is no thread to be had. */
void hiccup_start(hiccup *h);
/* From now on max_ns and long_count stand. */
void hiccup_stop(hiccup *h);

/* Rounds of STALL_TOUCHES random lines of so much memory, for so many nanoseconds; adds each round's time in
 * nanoseconds. Ends the program when there is no memory. */
enum { STALL_TOUCHES = 4096 };
void stall_measure(uint64_t bytes, uint64_t nanoseconds, histogram *rounds);

#endif
