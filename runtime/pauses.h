/* Pauses: how long they were. A pause is a time in which the program did not run: a minor collection and everything
 * that follows it at once. (tools/cradle-report also says which share of the time was left to the program.)
 *
 * Pauses are kept in a histogram of fixed size, whose buckets are linear within each power of two (the idea of
 * HdrHistogram, by Gil Tene). So a quantile is at most 3 % too long and never too short.
 *
 * [pauses.1] A histogram's bucket is at most 1/32 as wide as its lowest value; each value below 32 has its own.
 * [pauses.2] Its total is the sum of the counts; maximum is the largest value added, exactly.
 */
#ifndef CRADLE_RUNTIME_PAUSES_H
#define CRADLE_RUNTIME_PAUSES_H

#include <cradle/event.h>

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

/* The pauses of a heap, and how long they waited for the collector's own thread to stop; zero at first. */
typedef struct crd_pauses {
  crd_histogram lengths, stops;
} crd_pauses;

typedef struct crd_pause_summary {
  uint64_t p50_ns, p90_ns, p99_ns, p999_ns, p9999_ns; /* half of the pauses are at most p50_ns long */
  uint64_t stop_p50_ns, stop_p99_ns, stop_p999_ns;    /* 0: there is no such thread */
} crd_pause_summary;

/* Is given every event of a heap. */
void crd_pauses_hear(crd_pauses *pauses, const cradle_event *event);
crd_pause_summary crd_pauses_read(const crd_pauses *pauses);

#endif
