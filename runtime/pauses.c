/* Pauses: turns events into a histogram and utilisations. */
#include <cradle/pauses.h>

#include "runtime/chain.h"
#include "runtime/histogram.h"
#include "runtime/utilisation.h"

#include <stdlib.h>
#include <string.h>

enum { WINDOW_1MS, WINDOW_10MS, WINDOW_100MS, WINDOW_COUNT };
static const uint64_t windows_ns[WINDOW_COUNT] = {1000000, 10000000, 100000000};

struct cradle_pauses {
  crd_link link;
  uint64_t latest_ns; /* of the latest event */
  uint64_t pause_end; /* of the last pause */
  crd_histogram histogram, stops;
  crd_utilisation utilisation[WINDOW_COUNT];
};

/* A pause ends when its event is sent. The two clock readings are a little apart, so the computed beginning could lie
 * before the end of the last pause; this prevents it. */
static void add_pause(cradle_pauses *pauses, uint64_t length) {
  uint64_t end = pauses->latest_ns, most = end - pauses->pause_end;
  crd_histogram_add(&pauses->histogram, length);
  for (int i = 0; i < WINDOW_COUNT; i++)
    crd_utilisation_add(&pauses->utilisation[i], end - (length < most ? length : most), end);
  pauses->pause_end = end;
}

static void listen(void *data, const cradle_event *event) {
  cradle_pauses *pauses = data;
  if (event->time_ns > pauses->latest_ns) pauses->latest_ns = event->time_ns;
  if (event->kind == CRADLE_EVENT_PAUSE) add_pause(pauses, event->u.pause.duration_ns);
  if (event->kind == CRADLE_EVENT_BESIDE) crd_histogram_add(&pauses->stops, event->u.beside.stop_ns);
}

cradle_pauses *cradle_pauses_new(cradle_listener next) {
  cradle_pauses *pauses = calloc(1, sizeof *pauses);
  if (pauses == NULL) return NULL;
  pauses->link = (crd_link){.hear = listen, .part = pauses, .next = next};
  for (int i = 0; i < WINDOW_COUNT; i++) crd_utilisation_init(&pauses->utilisation[i], windows_ns[i]);
  return pauses;
}

void cradle_pauses_free(cradle_pauses *pauses) {
  free(pauses);
}

cradle_listener cradle_pauses_listener(cradle_pauses *pauses) {
  return (cradle_listener){crd_link_hear, &pauses->link};
}

void cradle_pauses_read(const cradle_pauses *pauses, cradle_pause_summary *summary, size_t size) {
  const crd_histogram *histogram = &pauses->histogram, *stops = &pauses->stops;
  const cradle_pause_summary now = {
      .p50_ns = crd_histogram_quantile(histogram, 5000),
      .p90_ns = crd_histogram_quantile(histogram, 9000),
      .p99_ns = crd_histogram_quantile(histogram, 9900),
      .p999_ns = crd_histogram_quantile(histogram, 9990),
      .p9999_ns = crd_histogram_quantile(histogram, 9999),
      .mmu_1ms = crd_utilisation_minimum(&pauses->utilisation[WINDOW_1MS]),
      .mmu_10ms = crd_utilisation_minimum(&pauses->utilisation[WINDOW_10MS]),
      .mmu_100ms = crd_utilisation_minimum(&pauses->utilisation[WINDOW_100MS]),
      .stop_p50_ns = crd_histogram_quantile(stops, 5000),
      .stop_p99_ns = crd_histogram_quantile(stops, 9900),
      .stop_p999_ns = crd_histogram_quantile(stops, 9990),
  };
  memcpy(summary, &now, size < sizeof now ? size : sizeof now);
  if (size > sizeof now) memset((char *)summary + sizeof now, 0, size - sizeof now);
}
