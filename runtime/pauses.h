/* Pauses: how long they were, and what share of the time was left to the program.
 *
 * A pause is a time in which the program did not run: a minor collection and everything that follows it at once. Pauses
 * are kept in a histogram of fixed size, whose buckets are linear within each power of two (the idea of HdrHistogram,
 * by Gil Tene). So a quantile is at most 3 % too long and never too short.
 *
 * Minimum mutator utilisation (Cheng and Blelloch, 2001) is the share of time that the program had in the worst stretch
 * of a given length: 0.9 at 10 ms means that in every 10 ms the program ran for at least 9 ms. The figure is at most 1
 * % too low and never too high. Time before the heap was made counts as the program's. Pause time is kept in slots of
 * 1/128 of the stretch. The worst stretch ends at the end of a pause, because moving it away from there can only lose
 * pause time, so stretches are computed only there.
 *
 * [pauses.1] A histogram's bucket is at most 1/32 as wide as its lowest value; each value below 32 has its own.
 * [pauses.2] Its total is the sum of the counts; maximum is the largest value added, exactly.
 * [pauses.3] A utilisation's sum is the total of the slots: the pause time since the beginning of the slot in which the
 *            stretch begins. Therefore worst is at least the pause time of the worst one, and at most one slot more.
 */
#ifndef CRADLE_RUNTIME_PAUSES_H
#define CRADLE_RUNTIME_PAUSES_H

#include <cradle/event.h>

/* --- a histogram of times over twelve orders of magnitude --- */

#define CRD_HISTOGRAM_LINEAR_BITS 5
/* Values from 2 to this power on, 18 minutes in nanoseconds, share the last bucket. */
#define CRD_HISTOGRAM_VALUE_BITS 40
#define CRD_HISTOGRAM_BUCKETS ((CRD_HISTOGRAM_VALUE_BITS - CRD_HISTOGRAM_LINEAR_BITS + 1) << CRD_HISTOGRAM_LINEAR_BITS)

typedef struct crd_histogram {
  uint64_t total, maximum;
  uint64_t counts[CRD_HISTOGRAM_BUCKETS];
} crd_histogram;

void crd_histogram_add(crd_histogram *histogram, uint64_t value);
/* A quantile: the smallest value such that at least parts / 10,000 of the values are not above it, rounded up to the
 * end of its bucket but not above the maximum. 0 if the histogram is empty. */
uint64_t crd_histogram_quantile(const crd_histogram *histogram, uint64_t parts);

/* --- minimum utilisation in one length of time --- */

#define CRD_UTILISATION_PARTS 128
#define CRD_UTILISATION_SLOTS (CRD_UTILISATION_PARTS + 1)

typedef struct crd_utilisation {
  uint64_t slot_ns;                      /* the window is PARTS slots long */
  uint64_t latest;                       /* the slot of the latest time, counted from time 0 */
  uint64_t sum;                          /* ns */
  uint64_t worst;                        /* ns of pauses in the worst window, <= the window */
  uint64_t slots[CRD_UTILISATION_SLOTS]; /* ns of pauses; slot s is at s % SLOTS */
} crd_utilisation;

/* window_ns is rounded down to a multiple of CRD_UTILISATION_PARTS. */
void crd_utilisation_init(crd_utilisation *utilisation, uint64_t window_ns);
/* Adds a pause from begin to end, which must not begin before the end of the last pause. */
void crd_utilisation_add(crd_utilisation *utilisation, uint64_t begin, uint64_t end);
/* The program's share of the worst window, 0 to 1; 1 without any pause. */
double crd_utilisation_minimum(const crd_utilisation *utilisation);

/* --- the pauses of a heap --- */

#define CRD_PAUSE_WINDOWS 3 /* of 1, 10 and 100 ms */

typedef struct crd_pauses {
  uint64_t latest_ns; /* of the latest event */
  uint64_t pause_end; /* of the last pause */
  crd_histogram histogram, stops;
  crd_utilisation utilisation[CRD_PAUSE_WINDOWS];
} crd_pauses;

typedef struct crd_pause_summary {
  uint64_t p50_ns, p90_ns, p99_ns, p999_ns, p9999_ns; /* half of the pauses are at most p50_ns long */
  double mmu_1ms, mmu_10ms, mmu_100ms;                /* minimum mutator utilisation, 0 to 1 */
  /* how long pauses waited for the collector's own thread to stop; 0: there is no such thread */
  uint64_t stop_p50_ns, stop_p99_ns, stop_p999_ns;
} crd_pause_summary;

/* pauses: zeroed memory. */
void crd_pauses_init(crd_pauses *pauses);
/* Is given every event of a heap. */
void crd_pauses_hear(crd_pauses *pauses, const cradle_event *event);
crd_pause_summary crd_pauses_read(const crd_pauses *pauses);

#endif
