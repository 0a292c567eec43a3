#include "gc/report/event.h"

#include "gc/base/check.h"

void crd_event_send(crd_heap_report *report, cradle_event *event) {
  if (!event_wanted(report)) return;
  ASSERT(report->state != HEAP_TELLING, "an event is sent from a listener");
  event->size = sizeof *event;
  event->time_ns = crd_platform_now_ns();
  crd_state before = crd_state_enter(report, HEAP_TELLING);
  report->options->listener.function(report->options->listener.data, event);
  crd_state_leave(report, before);
}

void crd_event_simple(crd_heap_report *report, cradle_event_kind kind) {
  if (!event_wanted(report)) return;
  cradle_event event = {.kind = kind};
  crd_event_send(report, &event);
}

void crd_event_note(crd_heap_report *report, const char *text, uint64_t wanted, uint64_t got) {
  crd_event_note_about(report, CRADLE_NOTE_OTHER, text, wanted, got);
}

void crd_event_note_about(crd_heap_report *report, cradle_note about, const char *text, uint64_t wanted, uint64_t got) {
  cradle_event event = {.kind = CRADLE_EVENT_NOTE, .u.note = {text, wanted, got, about}};
  crd_event_send(report, &event);
}

/* If less than this is missing from a pause, it does not matter what the system ran meanwhile. So a shorter pause does
 * not ask: the clock of a thread is a system call. */
#define MISSING_MIN_NS UINT64_C(50000)

void crd_event_pause_begins(crd_heap_report *report) {
  crd_pause_begin *begin = &report->pause_begin;
  if (!event_wanted(report)) return;
  begin->processor_ns = crd_platform_thread_ns();
  begin->preemptions_known = crd_platform_preemptions(&begin->preemptions);
}

void crd_event_pause(crd_heap_report *report, cradle_cause cause, uint64_t duration_ns) {
  const crd_pause_begin *begin = &report->pause_begin;
  unsigned long long preemptions;
  if (!event_wanted(report)) return;
  cradle_event event = {.kind = CRADLE_EVENT_PAUSE, .u.pause = {.cause = cause, .duration_ns = duration_ns}};
  uint64_t processor_ns = duration_ns < MISSING_MIN_NS ? begin->processor_ns + duration_ns : crd_platform_thread_ns();
  if (begin->processor_ns != 0 && processor_ns > begin->processor_ns)
    event.u.pause.processor_ns = processor_ns - begin->processor_ns;
  bool missing = event.u.pause.processor_ns != 0 && event.u.pause.processor_ns + MISSING_MIN_NS <= duration_ns;
  if (missing && begin->preemptions_known && crd_platform_preemptions(&preemptions)) {
    event.u.pause.preemptions_known = 1;
    event.u.pause.preemptions = preemptions - begin->preemptions;
  }
  crd_event_send(report, &event);
}
