/* Reports: one line on standard error for something in the environment that cannot be used.
 *
 * [report.1] The same line appears once in a process, however many heaps start in it. That needs a
 *            list of what was said, which is the process's and not a heap's: it is the only state
 *            here, and a lock guards it.
 * [report.2] A report is one line, and one write where there is room for it; else it waits for room, on a standard
 *            error that does not block too. It is shown as cradle_show_text
 *            does.
 */
#ifndef CRADLE_RUNTIME_REPORT_H
#define CRADLE_RUNTIME_REPORT_H

#include <cradle/base.h>

/* The compiler checks the arguments as it does printf's. */
#define CRD_REPORT_FORMAT(format, first) __attribute__((__format__(CRADLE_PRINTF_KIND, format, first)))

/* True the first time that the process asks about text. Runs from any thread. */
bool crd_first_time(const char *text);

/* Writes "cradle: " and the message, cut at 600 bytes, unless it was written before. Returns how
 * many lines that made, 1 or 0. */
int crd_report(const char *format, ...) CRD_REPORT_FORMAT(1, 2);

/* A lock for a heap's own. The heap's thread takes it for each event, and the end of the process tries it. In a child
 * of fork the holder may be a thread that does not exist there:
 * - the thread that ended the process. The heap's thread takes the lock over, so what the end of the process changes
 *   must be sound after each store.
 * - the heap's thread, in the middle of a change. The heap is lost to the child, whose end leaves it alone. */
typedef struct crd_lock {
  int holder; /* a process; 0: free */
} crd_lock;
/* For the heap's thread alone. */
void crd_lock_take(crd_lock *lock);
/* Gives up after a while, and at once where a thread of the parent held it at the fork; false then. */
bool crd_lock_try(crd_lock *lock);
void crd_lock_release(crd_lock *lock);

/* A lock for what is the process's, whose holder may write files. In a child of fork it is taken over
 * from a thread of the parent that held it at the fork and does not exist here; what it guards must
 * therefore be sound after each store. */
typedef struct crd_process_lock {
  int holder; /* a process; 0: free */
} crd_process_lock;
void crd_process_lock_take(crd_process_lock *lock);
/* Gives up after a while; false then. */
bool crd_process_lock_try(crd_process_lock *lock);
void crd_process_lock_release(crd_process_lock *lock);

#endif
