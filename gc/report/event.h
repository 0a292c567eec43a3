/* Events: the one way in which the collector reports what it does, as it does it. A listener in runtime/ makes logs
 * of them. */
#ifndef CRADLE_GC_REPORT_EVENT_H
#define CRADLE_GC_REPORT_EVENT_H

#include "gc/report/report.h"

void crd_event_send(crd_heap_report *report, cradle_event *event);
void crd_event_simple(crd_heap_report *report, cradle_event_kind kind);
void crd_event_note(crd_heap_report *report, const char *text, uint64_t wanted, uint64_t got);
void crd_event_note_about(crd_heap_report *report, cradle_note about, const char *text, uint64_t wanted, uint64_t got);
/* A pause begins: if somebody listens, asks the system for the thread's processor time. Two system calls; the end of
 * the pause makes one, or two if time is missing. */
void crd_event_pause_begins(crd_heap_report *report);
void crd_event_pause(crd_heap_report *report, cradle_cause cause, uint64_t duration_ns);

#endif
