#include "gc/report/report.h"

#include "gc/base/check.h"

#define TO(state) (1u << HEAP_##state)

/* Which states may begin while the state of the index runs. */
static const unsigned may_begin[HEAP_STATES] = {
    [HEAP_MUTATING] =
        TO(COLLECTING) | TO(VERIFYING) | TO(FORKING) | TO(SAMPLING) | TO(DESTROYING) | TO(TELLING) | TO(WALKING),
    [HEAP_COLLECTING] = TO(DESTROYING) | TO(TELLING),
};

static void go_to(crd_heap_report *report, crd_state state) {
  if (report->state == HEAP_MUTATING || state == HEAP_MUTATING)
    report->go_to(heap_of(report), state);
  else
    report->state = state;
}

crd_state crd_state_enter(crd_heap_report *report, crd_state state) {
  crd_state before = report->state;
  ASSERT(may_begin[before] >> state & 1, "[heap.4] a state begins where it cannot");
  go_to(report, state);
  return before;
}

void crd_state_leave(crd_heap_report *report, crd_state before) {
  ASSERT(may_begin[before] >> report->state & 1, "[heap.4] a state ends that did not begin");
  go_to(report, before);
}

void crd_event_send(crd_heap_report *report, cradle_event *event) {
  if (!event_wanted(report)) return;
  ASSERT(report->state != HEAP_TELLING, "an event is sent from a listener");
  event->size = sizeof *event;
  event->time_ns = crd_platform_now_ns();
  crd_state before = crd_state_enter(report, HEAP_TELLING);
  report->options->listener.function(report->options->listener.data, event);
  crd_state_leave(report, before);
}

void crd_event_tell(crd_heap_report *report, cradle_event *event) {
  event->size = sizeof *event;
  event->time_ns = crd_platform_now_ns();
  if (event_wanted(report))
    report->options->listener.function(report->options->listener.data, event);
  else
    crd_say("cradle: ", event->u.note.text);
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
  cradle_event event = {.kind = CRADLE_EVENT_PAUSE,
                        .u.pause = {.cause = cause,
                                    .duration_ns = duration_ns,
                                    .stop_ns = report->stop_ns,
                                    .mutator = report->stop_by,
                                    .last = report->stop_last}};
  report->stop_ns = 0;
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
