/* The summary that CRADLE_STATS=1 prints on standard error when a heap ends, or when the process does.
 *
 * [summary.1] For a heap that is alive at exit, the summary shows what was recorded until then. A child of fork prints
 *             no summary of a heap that it inherited: the parent prints it.
 */
#ifndef CRADLE_RUNTIME_SUMMARY_H
#define CRADLE_RUNTIME_SUMMARY_H

#include <cradle/event.h>

typedef struct crd_summary crd_summary;

/* Makes a summary. Every event is passed on to next. NULL: memory ran out, which was reported. */
crd_summary *crd_summary_new(cradle_listener next);
cradle_listener crd_summary_listener(crd_summary *summary);
/* Call it when the heap exists: from now on CRADLE_EVENT_HEAP_DESTROYED prints and frees the summary. Before, its maker
 * must free it. */
void crd_summary_hand_over(crd_summary *summary, const cradle_heap *heap);
void crd_summary_free(crd_summary *summary);

#endif
