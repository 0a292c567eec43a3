/* A histogram of durations in the manner of HdrHistogram: 32 buckets to each power of two, so that a value read back is
 * at most one part in 32 above the one recorded. Fixed size, and recording never allocates. The maximum and the sum are
 * exact.
 */
#ifndef BENCH_HISTOGRAM_H
#define BENCH_HISTOGRAM_H

#include <stdint.h>

#define HISTOGRAM_SUB_BITS 5
#define HISTOGRAM_SUBS (1 << HISTOGRAM_SUB_BITS)
#define HISTOGRAM_BUCKETS ((65 - HISTOGRAM_SUB_BITS) * HISTOGRAM_SUBS)

typedef struct histogram {
  uint64_t count, sum, max;
  uint64_t buckets[HISTOGRAM_BUCKETS];
} histogram;

static inline unsigned histogram_bucket(uint64_t value) {
  if (value < HISTOGRAM_SUBS) return (unsigned)value;
  unsigned shift = 63 - (unsigned)__builtin_clzll(value) - HISTOGRAM_SUB_BITS;
  return (shift + 1) * HISTOGRAM_SUBS + (unsigned)(value >> shift) - HISTOGRAM_SUBS;
}

/* The largest value that falls into the bucket. */
static inline uint64_t histogram_bucket_end(unsigned bucket) {
  if (bucket < HISTOGRAM_SUBS) return bucket;
  unsigned shift = bucket / HISTOGRAM_SUBS - 1;
  return ((bucket % HISTOGRAM_SUBS + HISTOGRAM_SUBS + UINT64_C(1)) << shift) - 1;
}

static inline void histogram_record(histogram *h, uint64_t value) {
  h->count++;
  h->sum += value;
  if (value > h->max) h->max = value;
  h->buckets[histogram_bucket(value)]++;
}

/* The value that this share (0 to 1) of the recorded values does not exceed; 0 if nothing was recorded. */
static inline uint64_t histogram_quantile(const histogram *h, double share) {
  double wanted = share * (double)h->count;
  uint64_t seen = 0;
  for (unsigned i = 0; i < HISTOGRAM_BUCKETS; i++) {
    seen += h->buckets[i];
    if (seen == 0 || (double)seen < wanted) continue;
    uint64_t end = histogram_bucket_end(i);
    return end < h->max ? end : h->max;
  }
  return h->max;
}

#endif
