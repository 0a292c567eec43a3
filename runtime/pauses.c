#include "runtime/pauses.h"

/* --- the histogram --- */

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

/* --- utilisation --- */

static uint64_t window_of(const crd_utilisation *utilisation) {
  return utilisation->slot_ns * CRD_UTILISATION_PARTS;
}

void crd_utilisation_init(crd_utilisation *utilisation, uint64_t window_ns) {
  *utilisation = (crd_utilisation){.slot_ns = window_ns / CRD_UTILISATION_PARTS};
}

static void advance(crd_utilisation *utilisation, uint64_t slot) {
  uint64_t steps = slot - utilisation->latest;
  if (steps > CRD_UTILISATION_SLOTS) steps = CRD_UTILISATION_SLOTS;
  for (uint64_t i = 0; i < steps; i++) {
    uint64_t *oldest = &utilisation->slots[(slot - i) % CRD_UTILISATION_SLOTS];
    utilisation->sum -= *oldest;
    *oldest = 0;
  }
  utilisation->latest = slot;
}

void crd_utilisation_add(crd_utilisation *utilisation, uint64_t begin, uint64_t end) {
  uint64_t window = window_of(utilisation);
  /* Slots before the window no longer count. */
  if (end - begin > window) begin = end - window;
  while (begin < end) {
    uint64_t slot = begin / utilisation->slot_ns, room = utilisation->slot_ns - begin % utilisation->slot_ns;
    uint64_t part = end - begin < room ? end - begin : room;
    if (slot > utilisation->latest) advance(utilisation, slot);
    utilisation->slots[slot % CRD_UTILISATION_SLOTS] += part;
    utilisation->sum += part;
    begin += part;
  }
  uint64_t busy = utilisation->sum < window ? utilisation->sum : window;
  if (busy > utilisation->worst) utilisation->worst = busy;
}

double crd_utilisation_minimum(const crd_utilisation *utilisation) {
  return 1 - (double)utilisation->worst / (double)window_of(utilisation);
}

/* --- both --- */

static const uint64_t windows_ns[CRD_PAUSE_WINDOWS] = {1000000, 10000000, 100000000};

/* A pause ends when its event is sent. The two clock readings are a little apart, so the computed beginning could lie
 * before the end of the last pause; this prevents it. */
static void add_pause(crd_pauses *pauses, uint64_t length) {
  uint64_t end = pauses->latest_ns, most = end - pauses->pause_end;
  crd_histogram_add(&pauses->histogram, length);
  for (int i = 0; i < CRD_PAUSE_WINDOWS; i++)
    crd_utilisation_add(&pauses->utilisation[i], end - (length < most ? length : most), end);
  pauses->pause_end = end;
}

void crd_pauses_hear(crd_pauses *pauses, const cradle_event *event) {
  if (event->time_ns > pauses->latest_ns) pauses->latest_ns = event->time_ns;
  if (event->kind == CRADLE_EVENT_PAUSE) add_pause(pauses, event->u.pause.duration_ns);
  if (event->kind == CRADLE_EVENT_BESIDE) crd_histogram_add(&pauses->stops, event->u.beside.stop_ns);
}

void crd_pauses_init(crd_pauses *pauses) {
  for (int i = 0; i < CRD_PAUSE_WINDOWS; i++) crd_utilisation_init(&pauses->utilisation[i], windows_ns[i]);
}

crd_pause_summary crd_pauses_read(const crd_pauses *pauses) {
  const crd_histogram *histogram = &pauses->histogram, *stops = &pauses->stops;
  return (crd_pause_summary){
      .p50_ns = crd_histogram_quantile(histogram, 5000),
      .p90_ns = crd_histogram_quantile(histogram, 9000),
      .p99_ns = crd_histogram_quantile(histogram, 9900),
      .p999_ns = crd_histogram_quantile(histogram, 9990),
      .p9999_ns = crd_histogram_quantile(histogram, 9999),
      .mmu_1ms = crd_utilisation_minimum(&pauses->utilisation[0]),
      .mmu_10ms = crd_utilisation_minimum(&pauses->utilisation[1]),
      .mmu_100ms = crd_utilisation_minimum(&pauses->utilisation[2]),
      .stop_p50_ns = crd_histogram_quantile(stops, 5000),
      .stop_p99_ns = crd_histogram_quantile(stops, 9900),
      .stop_p999_ns = crd_histogram_quantile(stops, 9990),
  };
}
