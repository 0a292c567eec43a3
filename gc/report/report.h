/* What every room may tell of a heap: what it is doing now, its statistics, and to whom events and misuse go. The
 * report is the first member of a heap, so whoever has a heap's address can report. Every change of state goes through
 * here; report.c has the table of those that exist.
 *
 *   [state.1] While the state is not HEAP_MUTATING the mutator's top is NULL, so that an allocation where none may be
 *             takes the slow path and is refused there.
 */
#ifndef CRADLE_GC_REPORT_REPORT_H
#define CRADLE_GC_REPORT_REPORT_H

#include <cradle/statistics.h>

#include "gc/platform/pages.h"

/* What runs now. */
typedef enum crd_state {
  HEAP_MUTATING = 0,
  HEAP_COLLECTING,
  HEAP_VERIFYING,
  HEAP_FORKING,
  HEAP_SAMPLING,   /* a callback of the sampler */
  HEAP_DESTROYING, /* a destructor, an external-size callback or a weak set's function */
  HEAP_TELLING,    /* a listener or a hook */
  HEAP_WALKING,
  HEAP_STATES
} crd_state;

typedef struct crd_heap_report {
  crd_state state;
  const cradle_options *options; /* the listener and the handlers are among them */
  /* Goes to a state from HEAP_MUTATING, or back: stops and starts what works beside the program, and sets top. */
  void (*go_to)(cradle_heap *heap, crd_state state);
  void (*let_go)(cradle_heap *heap); /* has others go on, before a handler runs that may longjmp */
  uint64_t created_ns;               /* when the heap was made */
  cradle_statistics stats;           /* except what is computed when it is asked for */
  crd_pause_begin pause_begin;       /* of the last pause that somebody listened to */
  uint64_t stop_ns;                  /* of the last stop: until all mutators stood; 0: an event has had it */
  const char *stop_by, *stop_last;   /* of the stop: who made it, and who was waited for last; NULL: nobody */
} crd_heap_report;

static inline crd_heap_report *heap_report(cradle_heap *heap) {
  return (crd_heap_report *)heap;
}
/* The heap, for what is reported to the embedder. */
static inline cradle_heap *heap_of(crd_heap_report *report) {
  return (cradle_heap *)report;
}
static inline bool event_wanted(const crd_heap_report *report) {
  return report->options->listener.function != NULL;
}
/* Begins a state. Returns what ran before, for crd_state_leave. */
crd_state crd_state_enter(crd_heap_report *report, crd_state state);
void crd_state_leave(crd_heap_report *report, crd_state before);

/* Events: the one way in which the collector reports what it does, as it does it. A listener in runtime/ makes logs of
 * them. */
void crd_event_send(crd_heap_report *report, cradle_event *event);
void crd_event_note_about(crd_heap_report *report, cradle_note about, const char *text, uint64_t wanted, uint64_t got);
/* Tells the listener, or standard error if nobody listens, whatever the state: for what cannot wait until the listener
 * may be called as ever. */
CRADLE_COLD void crd_event_tell(crd_heap_report *report, cradle_event *event);
static inline void crd_event_note(crd_heap_report *report, const char *text, uint64_t wanted, uint64_t got) {
  crd_event_note_about(report, CRADLE_NOTE_OTHER, text, wanted, got);
}
/* A pause begins: if somebody listens, asks the system for the thread's processor time. Two system calls; the end of
 * the pause makes one, or two if time is missing. */
void crd_event_pause_begins(crd_heap_report *report);
void crd_event_pause(crd_heap_report *report, cradle_cause cause, uint64_t duration_ns);

static inline bool collection_is_off(const cradle_options *options) {
  return CRADLE_UNLIKELY(options->gc == CRADLE_GC_OFF);
}
static inline bool stress_is_on(const cradle_options *options) {
  return CRADLE_UNLIKELY(options->stress_period != 0);
}

#endif
