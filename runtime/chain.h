/* The chain of a heap's listeners. A heap has one listener; the parts of the runtime that listen, and the program, pass
 * each event on.
 *
 * [chain.1] Each event reaches every link once, the last one added first. A link may free itself while it hears an
 *           event.
 */
#ifndef CRADLE_RUNTIME_CHAIN_H
#define CRADLE_RUNTIME_CHAIN_H

#include <cradle/event.h>

/* A member of each part that listens. next may have no function. */
typedef struct crd_link {
  void (*hear)(void *part, const cradle_event *event);
  void *part;
  cradle_listener next;
} crd_link;

/* The listener of a link; its data is the link. */
static inline void crd_link_hear(void *data, const cradle_event *event) {
  const crd_link *link = (const crd_link *)data;
  cradle_listener next = link->next; /* before the link may be freed [chain.1] */
  link->hear(link->part, event);
  if (next.function != NULL) next.function(next.data, event);
}

static inline cradle_listener crd_link_listener(crd_link *link) {
  return (cradle_listener){crd_link_hear, link};
}

#endif
