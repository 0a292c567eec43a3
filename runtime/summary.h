/* The summary that CRADLE_STATS=1 prints on standard error when a heap ends, or when the process does.
 *
 * [summary.1] Of a heap that is alive at exit, the summary is of what was recorded until then. A child of fork prints
 *             none: what it inherited is its parent's.
 */
#ifndef CRADLE_RUNTIME_SUMMARY_H
#define CRADLE_RUNTIME_SUMMARY_H

#include <cradle/event.h>

typedef struct crd_summary crd_summary;

/* NULL, reported, when memory runs out. Every event is passed on to next. */
crd_summary *crd_summary_new(cradle_listener next);
cradle_listener crd_summary_listener(crd_summary *summary);
/* The heap exists: from now on CRADLE_EVENT_HEAP_DESTROYED prints and frees the summary. Before, it is its maker's to
 * free. */
void crd_summary_hand_over(crd_summary *summary, const cradle_heap *heap);
void crd_summary_free(crd_summary *summary);

#endif
