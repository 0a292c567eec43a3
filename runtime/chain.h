/* The chain of a heap's listeners. A heap has one listener; the parts of the runtime that listen, and the program, pass
 * each event on.
 *
 * [chain.1] Each event reaches every link once, the last one added first.
 *           A note of a thread that does not come also reaches the user where the program has no listener of its own.
 * [chain.2] A part that is opened adds its link to the options, and is freed by its link's end: right after the heap's
 *           last event or, because a heap that cannot be made may or may not send that event, by crd_chain_settle.
 */
#ifndef CRADLE_RUNTIME_CHAIN_H
#define CRADLE_RUNTIME_CHAIN_H

#include <cradle/options.h>

#include "runtime/report.h"

/* A member of each part that listens. */
typedef struct crd_link {
  void (*hear)(void *part, const cradle_event *event); /* NULL: only the end matters */
  void (*end)(void *part);   /* frees the part; what it has recorded counts only if there is a heap */
  void (*begin)(void *part); /* the heap exists; NULL: the part does nothing then */
  void *part;
  cradle_listener next; /* may have no function */
  cradle_heap *heap;    /* NULL: not made yet */
} crd_link;

/* The listener of a link; its data is the link. */
static inline void crd_link_hear(void *data, const cradle_event *event) {
  const crd_link *link = (const crd_link *)data;
  cradle_listener next = link->next; /* before the link may be freed */
  bool ends = event->kind == CRADLE_EVENT_HEAP_DESTROYED && link->heap != NULL;
  if (link->hear != NULL) link->hear(link->part, event);
  if (ends) link->end(link->part);
  if (next.function != NULL)
    next.function(next.data, event);
  else if (event->kind == CRADLE_EVENT_NOTE && event->u.note.about == CRADLE_NOTE_LATE)
    crd_report("%s", event->u.note.text);
}

/* Makes the link the listener of the options; theirs is the next one. */
static inline crd_link *crd_link_add(crd_link *link, cradle_options *options) {
  link->next = options->listener;
  options->listener = (cradle_listener){crd_link_hear, link};
  return link;
}

/* Tells all links from first up to the program's own listener that the heap exists; or ends them, if it could not be
 * made (NULL). */
static inline void crd_chain_settle(cradle_listener first, cradle_listener programs, cradle_heap *heap) {
  while (first.function != programs.function || first.data != programs.data) {
    crd_link *link = (crd_link *)first.data;
    first = link->next;
    link->heap = heap;
    if (heap == NULL)
      link->end(link->part);
    else if (link->begin != NULL)
      link->begin(link->part);
  }
}

/* --- the parts: each returns NULL and leaves the options as they are where there is nothing to do, and if it cannot be
 * opened, which it then reports --- */

/* If options ask for reports of faults: the heap's faults are reported from its beginning to its end. */
crd_link *crd_faults_open(cradle_options *options);
/* The profile called name (the value of CRADLE_PROFILE; docs/profiler.md), which becomes the sampler of the options.
 * Nothing to do if name is NULL. */
crd_link *crd_profile_open(const char *name, cradle_options *options);
/* What the user of stress, quarantine and the verifier sees on standard error: how many collections took place if they
 * were not all (is_wanted: also if they were), that a run proved nothing, and that pages could not be protected or the
 * heap not be verified whole. */
crd_link *crd_stress_report_open(cradle_options *options, bool is_wanted);

#endif
