#include "runtime/pauses.h"

#define LINEAR ((uint64_t)1 << CRD_HISTOGRAM_LINEAR_BITS)

/* The index grows by LINEAR with each power of two; within a power of two, the bits after the highest one choose the
 * bucket. */
static size_t bucket_of(uint64_t value) {
  if (value < LINEAR) return (size_t)value;
  if (value >> CRD_HISTOGRAM_VALUE_BITS != 0) return CRD_HISTOGRAM_BUCKETS - 1;
  int shift = 63 - CRD_HISTOGRAM_LINEAR_BITS - __builtin_clzll(value);
  return (size_t)(((uint64_t)shift << CRD_HISTOGRAM_LINEAR_BITS) + (value >> shift));
}

static uint64_t last_value_of(size_t bucket) {
  if (bucket < LINEAR) return bucket;
  uint64_t shift = (bucket >> CRD_HISTOGRAM_LINEAR_BITS) - 1;
  return (((bucket & (LINEAR - 1)) + LINEAR + 1) << shift) - 1;
}

void crd_histogram_add(crd_histogram *histogram, uint64_t value) {
  histogram->counts[bucket_of(value)]++;
  histogram->total++;
  if (value > histogram->maximum) histogram->maximum = value;
}

uint64_t crd_histogram_quantile(const crd_histogram *histogram, uint64_t parts) {
  uint64_t wanted = (histogram->total * parts + 9999) / 10000, seen = 0;
  for (size_t i = 0; i + 1 < CRD_HISTOGRAM_BUCKETS; i++) {
    seen += histogram->counts[i];
    if (seen < wanted || seen == 0) continue;
    uint64_t value = last_value_of(i);
    return value < histogram->maximum ? value : histogram->maximum;
  }
  return histogram->maximum;
}

void crd_pauses_hear(crd_pauses *pauses, const cradle_event *event) {
  if (event->kind == CRADLE_EVENT_PAUSE) crd_histogram_add(&pauses->lengths, event->u.pause.duration_ns);
  if (event->kind == CRADLE_EVENT_BESIDE) crd_histogram_add(&pauses->stops, event->u.beside.stop_ns);
}

crd_pause_summary crd_pauses_read(const crd_pauses *pauses) {
  const crd_histogram *lengths = &pauses->lengths, *stops = &pauses->stops;
  return (crd_pause_summary){
      .p50_ns = crd_histogram_quantile(lengths, 5000),
      .p90_ns = crd_histogram_quantile(lengths, 9000),
      .p99_ns = crd_histogram_quantile(lengths, 9900),
      .p999_ns = crd_histogram_quantile(lengths, 9990),
      .p9999_ns = crd_histogram_quantile(lengths, 9999),
      .stop_p50_ns = crd_histogram_quantile(stops, 5000),
      .stop_p99_ns = crd_histogram_quantile(stops, 9900),
      .stop_p999_ns = crd_histogram_quantile(stops, 9990),
  };
}
