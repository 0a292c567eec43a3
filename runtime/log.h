/* The log: the collector's events, written as text in the form of RPython's logs, as JSON lines, or as a line a
 * collection.
 *
 * [log.1] A log belongs to one heap, and its events come on one thread. But at the end of the process any thread may
 *         write what is still in the buffer, so the log is locked while it handles an event.
 * [log.2] The process's logs share the list of what its normal end writes, the count that numbers heaps, and the time
 *         of the first head; they share nothing else.
 */
#ifndef CRADLE_RUNTIME_LOG_H
#define CRADLE_RUNTIME_LOG_H

#include "runtime/chain.h"
#include "runtime/log_sink.h"

typedef struct crd_log crd_log;

/* Opens the log that text asks for (the value of CRADLE_LOG; docs/logging.md), writes its head, and adds it to the
 * listeners of the options. NULL if text is NULL, and if the log cannot be opened, which was then reported;
 * the program goes on without a log. */
crd_link *crd_log_open(const char *text, cradle_options *options);

/* Opens the file of a profile in the same way: a log as JSON lines that has a head, and no event's lines. name is the
 * value of CRADLE_PROFILE. */
crd_log *crd_log_open_profile(const char *name, cradle_options *options);
/* Opens a log that prints a heap's totals on standard error: when the heap is freed, or when the process ends, what was
 * recorded until then. A child of fork prints none of a heap that it inherited: the parent prints them. */
crd_log *crd_log_open_totals(cradle_options *options);
/* Begins and ends a line of the profile's own, on any thread; between the two the log is locked. After a fork, the
 * writer's process is the child. */
crd_log_writer *crd_log_line_begin(crd_log *log);
void crd_log_line_end(crd_log *log);

#endif
