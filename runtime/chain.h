/* The chain of a heap's listeners. A heap has one listener; the parts of the runtime that listen, and the program, pass
 * each event on.
 *
 * [chain.1] Each event reaches every link once, the last one added first.
 * [chain.2] A part that is opened adds its link to the options, and is freed by its link's end: right after the heap's
 *           last event or, because a heap that cannot be made may or may not send that event, by crd_chain_settle.
 */
#ifndef CRADLE_RUNTIME_CHAIN_H
#define CRADLE_RUNTIME_CHAIN_H

#include <cradle/options.h>

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
  if (next.function != NULL) next.function(next.data, event);
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

#endif
