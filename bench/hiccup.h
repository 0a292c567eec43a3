/* A hiccup loop: a thread that reads the clock and does nothing else. The longest time between two of its readings is what
 * the machine itself takes away from a program, which a pause measured beside it may contain.
 */
#ifndef BENCH_HICCUP_H
#define BENCH_HICCUP_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct hiccup {
  pthread_t thread;
  atomic_bool stop;
  uint64_t max_ns;
} hiccup;

/* Ends the program when there is no thread to be had. */
void hiccup_start(hiccup *h);
/* Returns the longest hiccup in nanoseconds. */
uint64_t hiccup_stop(hiccup *h);

#endif
