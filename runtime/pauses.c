/* Pauses: turns events into a histogram and utilisations. */
#include "runtime/pauses.h"

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
