/* Events: the one way in which the collector reports what it does, as it does it. A listener in runtime/ makes logs
 * of them. */
#ifndef CRADLE_GC_EVENT_H
#define CRADLE_GC_EVENT_H

#include "gc/heap.h"

void crd_event_send(cradle_heap *heap, cradle_event *event);
void crd_event_simple(cradle_heap *heap, cradle_event_kind kind);
void crd_event_note(cradle_heap *heap, const char *text, uint64_t wanted, uint64_t got);
void crd_event_note_about(cradle_heap *heap, cradle_note about, const char *text, uint64_t wanted, uint64_t got);
/* Reports how many arenas were taken and given back since the last such event, if any were. measured: reports even
 * if none were, and also what the kernel gave, which takes about 0.1 ms a GiB to ask. */
void crd_event_arenas(cradle_heap *heap, bool measured);
void crd_event_spans(cradle_heap *heap);
/* A pause begins: if somebody listens, asks the system for the thread's processor time. Two system calls; the end of
 * the pause makes one, or two if time is missing. */
void crd_event_pause_begins(cradle_heap *heap);
void crd_event_pause(cradle_heap *heap, cradle_cause cause, uint64_t duration_ns);

#endif
