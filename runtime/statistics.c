/* The recorder: events into statistics. */
#include <cradle/statistics.h>

#include "runtime/histogram.h"
#include "runtime/utilisation.h"

#include <stdlib.h>

enum { WINDOW_1MS, WINDOW_10MS, WINDOW_100MS, WINDOW_COUNT };
static const uint64_t windows_ns[WINDOW_COUNT] = {1000000, 10000000, 100000000};

struct cradle_recorder {
  cradle_listener next;
  cradle_statistics now;        /* without what is computed when it is read */
  uint64_t created_ns, last_ns; /* of the first and the latest event */
  uint64_t last_used_bytes;     /* after the last collection */
  uint64_t pause_end;           /* of the last pause */
  crd_histogram pauses;
  crd_utilisation utilisation[WINDOW_COUNT];
};

static uint64_t larger(uint64_t a, uint64_t b) {
  return a > b ? a : b;
}

/* A pause ends when its event is sent. Times are taken a little apart, so one may not begin before the last has ended. */
static void on_pause(cradle_recorder *recorder, const cradle_event *event) {
  uint64_t end = recorder->last_ns, length = event->u.pause.duration_ns, most = end - recorder->pause_end;
  recorder->now.pause_ns += length;
  crd_histogram_add(&recorder->pauses, length);
  for (int i = 0; i < WINDOW_COUNT; i++)
    crd_utilisation_add(&recorder->utilisation[i], end - (length < most ? length : most), end);
  recorder->pause_end = end;
}

static void note_used(cradle_recorder *recorder, uint64_t before, uint64_t after) {
  cradle_statistics *now = &recorder->now;
  now->used_peak_bytes = larger(now->used_peak_bytes, larger(before, after));
  now->used_bytes = recorder->last_used_bytes = after;
}

/* Large objects do not pass through the nursery: they show in the memory used. */
static void note_allocated(cradle_recorder *recorder, uint64_t nursery, uint64_t used_before) {
  uint64_t grown = used_before > recorder->last_used_bytes ? used_before - recorder->last_used_bytes : 0;
  recorder->now.allocated_bytes += larger(nursery, grown);
  recorder->now.collected_bytes += nursery;
}

static void on_minor_end(cradle_recorder *recorder, const cradle_event *event) {
  cradle_statistics *now = &recorder->now;
  now->minor_collections++;
  if (event->u.minor.cause < CRADLE_CAUSE_LIMIT) now->minor_causes[event->u.minor.cause]++;
  now->minor_ns += event->u.minor.duration_ns;
  now->minor_max_ns = larger(now->minor_max_ns, event->u.minor.duration_ns);
  now->promoted_objects += event->u.minor.promoted_objects;
  now->promoted_bytes += event->u.minor.promoted_bytes;
  note_allocated(recorder, event->u.minor.nursery_bytes, event->u.minor.used_before);
  note_used(recorder, event->u.minor.used_before, event->u.minor.used_after);
}

static void on_step_end(cradle_recorder *recorder, const cradle_event *event) {
  cradle_statistics *now = &recorder->now;
  uint64_t freed = event->u.step.freed_bytes;
  now->major_steps++;
  now->major_ns += event->u.step.duration_ns;
  now->major_max_ns = larger(now->major_max_ns, event->u.step.duration_ns);
  recorder->last_used_bytes -= freed < recorder->last_used_bytes ? freed : recorder->last_used_bytes;
}

static void on_major_end(cradle_recorder *recorder, const cradle_event *event) {
  cradle_statistics *now = &recorder->now;
  now->major_collections++;
  if (event->u.major.cause < CRADLE_CAUSE_LIMIT) now->major_causes[event->u.major.cause]++;
  now->live_bytes = event->u.major.used_after;
  now->live_peak_bytes = larger(now->live_peak_bytes, now->live_bytes);
  note_used(recorder, event->u.major.used_before, event->u.major.used_after);
}

static void on_compact_end(cradle_statistics *now, const cradle_event *event) {
  now->compactions++;
  now->compact_ns += event->u.compact.duration_ns;
}

static void on_arenas(cradle_statistics *now, const cradle_event *event) {
  now->arenas = event->u.arenas.committed;
  now->arenas_peak = larger(now->arenas_peak, now->arenas);
  if (!event->u.arenas.measured) return;
  now->pages_known = true;
  now->resident_bytes = event->u.arenas.resident_bytes;
  now->huge_bytes = event->u.arenas.huge_bytes;
}

static void record(cradle_recorder *recorder, const cradle_event *event) {
  if (recorder->created_ns == 0) recorder->created_ns = event->time_ns;
  recorder->last_ns = larger(recorder->last_ns, event->time_ns);
  switch (event->kind) {
  case CRADLE_EVENT_NURSERY_SIZED: recorder->now.nursery_bytes = event->u.nursery.bytes; break;
  case CRADLE_EVENT_MINOR_END: on_minor_end(recorder, event); break;
  case CRADLE_EVENT_STEP_END: on_step_end(recorder, event); break;
  case CRADLE_EVENT_MAJOR_END: on_major_end(recorder, event); break;
  case CRADLE_EVENT_COMPACT_END: on_compact_end(&recorder->now, event); break;
  case CRADLE_EVENT_PAUSE: on_pause(recorder, event); break;
  case CRADLE_EVENT_ARENAS: on_arenas(&recorder->now, event); break;
  default: break;
  }
}

static void listen(void *data, const cradle_event *event) {
  cradle_recorder *recorder = data;
  record(recorder, event);
  if (recorder->next.function != NULL) recorder->next.function(recorder->next.data, event);
}

/* --- the interface --- */

cradle_recorder *cradle_recorder_new(cradle_listener next) {
  cradle_recorder *recorder = calloc(1, sizeof *recorder);
  if (recorder == NULL) return NULL;
  recorder->next = next;
  for (int i = 0; i < WINDOW_COUNT; i++) crd_utilisation_init(&recorder->utilisation[i], windows_ns[i]);
  return recorder;
}

void cradle_recorder_free(cradle_recorder *recorder) {
  free(recorder);
}

cradle_listener cradle_recorder_listener(cradle_recorder *recorder) {
  return (cradle_listener){listen, recorder};
}

static double share(uint64_t part, uint64_t whole) {
  return whole == 0 ? 0 : (double)part / (double)whole;
}

static void read_pauses(const cradle_recorder *recorder, cradle_statistics *now) {
  const crd_histogram *pauses = &recorder->pauses;
  now->pauses = pauses->total;
  now->pause_p50_ns = crd_histogram_quantile(pauses, 5000);
  now->pause_p90_ns = crd_histogram_quantile(pauses, 9000);
  now->pause_p99_ns = crd_histogram_quantile(pauses, 9900);
  now->pause_p999_ns = crd_histogram_quantile(pauses, 9990);
  now->pause_p9999_ns = crd_histogram_quantile(pauses, 9999);
  now->pause_max_ns = pauses->maximum;
  now->mmu_1ms = crd_utilisation_minimum(&recorder->utilisation[WINDOW_1MS]);
  now->mmu_10ms = crd_utilisation_minimum(&recorder->utilisation[WINDOW_10MS]);
  now->mmu_100ms = crd_utilisation_minimum(&recorder->utilisation[WINDOW_100MS]);
}

static void read_pages(cradle_heap *heap, cradle_statistics *now) {
  cradle_stats stats;
  cradle_heap_stats(heap, &stats, sizeof stats, true);
  now->pages_known = stats.pages_known;
  now->resident_bytes = stats.nursery_resident_bytes + stats.arena_resident_bytes;
  now->huge_bytes = stats.nursery_huge_bytes + stats.arena_huge_bytes;
}

bool cradle_recorder_read(const cradle_recorder *recorder, cradle_heap *heap, cradle_statistics *statistics, size_t size) {
  if (size != sizeof *statistics) return false;
  *statistics = recorder->now;
  statistics->wall_ns = recorder->last_ns - recorder->created_ns;
  statistics->gc_share = share(statistics->pause_ns, statistics->wall_ns);
  statistics->survival = share(statistics->promoted_bytes, statistics->collected_bytes);
  read_pauses(recorder, statistics);
  if (heap != NULL) read_pages(heap, statistics);
  return true;
}
