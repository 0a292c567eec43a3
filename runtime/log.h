/* The log: the collector's events, written as text in the form of RPython's logs, as JSON lines, as a Chrome trace or
 * as a line a collection.
 *
 * [log.1] Sections are balanced: whatever events come, each one opened is closed, inner ones first.
 * [log.2] A log is its heap's alone, and its events come on one thread. The exception is the end of the process, when
 *         everything still in a buffer is written: therefore the log is locked while it handles an event.
 * [log.3] What the end of the process runs (runtime/exit_list.h), the count of heaps, which numbers them, and the time
 *         of the first head are the process's; nothing else is.
 */
#ifndef CRADLE_RUNTIME_LOG_H
#define CRADLE_RUNTIME_LOG_H

#include <cradle/event.h>

typedef struct crd_log crd_log;

/* Opens the log that text asks for (the value of CRADLE_LOG; docs/logging.md) and writes its head.
 * Every event is passed on to next after it was logged. NULL when text is NULL or empty, and when
 * the log cannot be opened, which was then reported; the program is to go on without it. */
crd_log *crd_log_open(const char *text, cradle_listener next);

/* What the heap must be given. */
cradle_listener crd_log_listener(crd_log *log);

/* The heap exists: from now on CRADLE_EVENT_HEAP_DESTROYED frees the log. Before, the log is its
 * opener's to close, since a heap that cannot be made may send that event or none at all. */
void crd_log_hand_over(crd_log *log);
void crd_log_close(crd_log *log);

#endif
