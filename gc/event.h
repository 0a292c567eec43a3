/* Events: the one way in which the collector tells what it does. */
#ifndef CRADLE_GC_EVENT_H
#define CRADLE_GC_EVENT_H

#include "gc/heap.h"

void crd_event_send(cradle_heap *heap, cradle_event *event);
void crd_event_simple(cradle_heap *heap, cradle_event_kind kind);
void crd_event_note(cradle_heap *heap, const char *text, uint64_t wanted, uint64_t got);
/* Tells how many arenas were taken and given back since it last did, if any; measured: even if none, and with what the
 * kernel gave, about 0.1 ms a GiB to ask. */
void crd_event_arenas(cradle_heap *heap, bool measured);
void crd_event_spans(cradle_heap *heap);

#endif
