/* Reports: one line on standard error about something in the environment that cannot be used.
 *
 * [report.1] The same line appears once in a process, however many heaps start in it. So the process has a list of the
 *            lines that were written, behind a lock. There is no other state here.
 * [report.2] A report is one line, written with one write if there is room for it. If not, it waits for room, even if
 *            standard error is non-blocking. Its text is made safe by crd_show_text.
 */
#ifndef CRADLE_RUNTIME_REPORT_H
#define CRADLE_RUNTIME_REPORT_H

#include <cradle/base.h>

/* Whether the process asks about this text for the first time. May be called on any thread. */
bool crd_first_time(const char *text);

/* Writes "cradle: " and the message, cut at 600 bytes, unless it was written before. Returns the number of lines
 * written, 1 or 0. */
int crd_report(const char *format, ...) __attribute__((__format__(CRADLE_PRINTF_KIND, 1, 2)));

/* A lock, whose holder may write files. In a child of fork the holder may be a thread of the parent that does not exist
 * there. There are two kinds of data:
 * - Of the whole process: a child takes the lock over, so these data must be sound after each store.
 * - Of one heap, whose thread takes the lock for each event; the end of the process, on any thread, tries to take it
 *   with crd_lock_try. If the heap's thread was in the middle of a change at the fork, the child cannot use the
 *   data, and its end leaves them alone. */
typedef struct crd_lock {
  int holder; /* a process; 0: free */
} crd_lock;
void crd_lock_take(crd_lock *lock);
void crd_lock_release(crd_lock *lock);
/* false: it gave up after a while. over: takes the lock over from a thread of another process, which does not exist
 * here; else it gives up at once if such a thread holds the lock. */
bool crd_lock_try(crd_lock *lock, bool over);

#endif
