#include "gc/event.h"

#include "gc/heap.h"
#include "gc/platform/pages.h"
#include "gc/state.h"
#include "gc/statistics.h"

void crd_event_send(cradle_heap *heap, cradle_event *event) {
  if (!event_wanted(heap)) return;
  ASSERT(heap->state != HEAP_TELLING, "an event is sent from a listener");
  event->size = sizeof *event;
  event->time_ns = crd_platform_now_ns();
  crd_state before = crd_state_enter(heap, HEAP_TELLING);
  heap->options.listener.function(heap->options.listener.data, event);
  crd_state_leave(heap, before);
}

void crd_event_simple(cradle_heap *heap, cradle_event_kind kind) {
  if (!event_wanted(heap)) return;
  cradle_event event = {.kind = kind};
  crd_event_send(heap, &event);
}

void crd_event_note(cradle_heap *heap, const char *text, uint64_t wanted, uint64_t got) {
  crd_event_note_about(heap, CRADLE_NOTE_OTHER, text, wanted, got);
}

void crd_event_note_about(cradle_heap *heap, cradle_note about, const char *text, uint64_t wanted, uint64_t got) {
  cradle_event event = {.kind = CRADLE_EVENT_NOTE, .u.note = {text, wanted, got, about}};
  crd_event_send(heap, &event);
}

void crd_event_arenas(cradle_heap *heap, bool measured) {
  const crd_arenas *arenas = &heap->old.arenas;
  /* Statistics need the peak even if nobody listens. */
  if (arenas->committed_count > heap->stats.arenas_peak) heap->stats.arenas_peak = arenas->committed_count;
  uint64_t taken = arenas->taken_total - heap->arenas_told[0],
           given_back = arenas->given_back_total - heap->arenas_told[1];
  ASSERT(arenas->taken_total >= heap->arenas_told[0] && arenas->given_back_total >= heap->arenas_told[1],
         "the totals of arenas went back");
  /* What is not reported now stays in the difference and is reported later. */
  if (!event_wanted(heap) || (taken == 0 && given_back == 0 && !measured)) return;
  heap->arenas_told[0] = arenas->taken_total;
  heap->arenas_told[1] = arenas->given_back_total;
  crd_pages_backing backing = {0, 0};
  bool known = measured && !heap->prepared &&
               crd_pages_backing_of(memory_at(arenas->base), arenas->committed_end * ARENA_BYTES, &backing);
  if (known) {
    heap->stats.pages_known = true;
    heap->stats.resident_bytes = backing.resident_bytes;
    heap->stats.huge_bytes = backing.huge_bytes;
  }
  cradle_event event = {.kind = CRADLE_EVENT_ARENAS,
                        .u.arenas = {.taken = taken,
                                     .given_back = given_back,
                                     .committed = arenas->committed_count,
                                     .in_use = arenas_in_use(arenas),
                                     .asked = heap->options.hugepages_arenas,
                                     .measured = known,
                                     .resident_bytes = known ? backing.resident_bytes : 0,
                                     .huge_bytes = known ? backing.huge_bytes : 0,
                                     .pool_bytes = arenas->pool_count * ARENA_BYTES}};
  crd_event_send(heap, &event);
}

void crd_event_spans(cradle_heap *heap) {
  if (!event_wanted(heap)) return;
  crd_span_info rows[SIZE_CLASS_MAX];
  size_t count = crd_heap_spans(heap, rows, SIZE_CLASS_MAX);
  for (size_t i = 0; i < count; i++) {
    const crd_span_info *row = &rows[i];
    if (row->spans == 0) continue;
    uint64_t waste = row->memory_bytes - row->used_bytes;
    crd_event_send(heap, &(cradle_event){.kind = CRADLE_EVENT_SPANS,
                                         .u.spans = {row->object_bytes, row->span_bytes, row->span_objects, row->spans,
                                                     row->used_bytes, row->memory_bytes,
                                                     (waste * 100 + row->memory_bytes / 2) / row->memory_bytes}});
  }
}

/* If less than this is missing from a pause, it does not matter what the system ran meanwhile. So a shorter pause does
 * not ask: the clock of a thread is a system call. */
#define MISSING_MIN_NS UINT64_C(50000)

void crd_event_pause_begins(cradle_heap *heap) {
  crd_pause_begin *begin = &heap->pause_begin;
  if (!event_wanted(heap)) return;
  begin->processor_ns = crd_platform_thread_ns();
  begin->preemptions_known = crd_platform_preemptions(&begin->preemptions);
}

void crd_event_pause(cradle_heap *heap, cradle_cause cause, uint64_t duration_ns) {
  const crd_pause_begin *begin = &heap->pause_begin;
  unsigned long long preemptions;
  if (!event_wanted(heap)) return;
  cradle_event event = {.kind = CRADLE_EVENT_PAUSE, .u.pause = {.cause = cause, .duration_ns = duration_ns}};
  uint64_t processor_ns = duration_ns < MISSING_MIN_NS ? begin->processor_ns + duration_ns : crd_platform_thread_ns();
  if (begin->processor_ns != 0 && processor_ns > begin->processor_ns)
    event.u.pause.processor_ns = processor_ns - begin->processor_ns;
  bool missing = event.u.pause.processor_ns != 0 && event.u.pause.processor_ns + MISSING_MIN_NS <= duration_ns;
  if (missing && begin->preemptions_known && crd_platform_preemptions(&preemptions)) {
    event.u.pause.preemptions_known = 1;
    event.u.pause.preemptions = preemptions - begin->preemptions;
  }
  crd_event_send(heap, &event);
}
