/* A histogram of times over twelve orders of magnitude in fixed memory: buckets are linear within each power of two
 * (the idea of HdrHistogram, by Gil Tene).
 *
 * [histogram.1] A bucket is at most 1/32 as wide as its lowest value; each value below 32 has a bucket of its own.
 * [histogram.2] total is the sum of the counts; maximum is the largest value added, exactly.
 */
#ifndef CRADLE_RUNTIME_HISTOGRAM_H
#define CRADLE_RUNTIME_HISTOGRAM_H

#include <cradle/base.h>

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

#endif
