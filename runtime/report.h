/* Reports: one line on standard error about something in the environment that cannot be used.
 *
 * [report.1] The same line appears once in a process, however many heaps start in it. So the process has a list of the
 *            lines that were written, behind a lock. There is no other state here.
 * [report.2] A report is one line, written with one write if there is room for it. If not, it waits for room, even if
 *            standard error is non-blocking. Its text is made safe by cradle_show_text.
 */
#ifndef CRADLE_RUNTIME_REPORT_H
#define CRADLE_RUNTIME_REPORT_H

#include <cradle/base.h>

/* Lets the compiler check the arguments as for printf. */
#define CRD_REPORT_FORMAT(format, first) __attribute__((__format__(CRADLE_PRINTF_KIND, format, first)))

/* Whether the process asks about this text for the first time. May be called on any thread. */
bool crd_first_time(const char *text);

/* Writes "cradle: " and the message, cut at 600 bytes, unless it was written before. Returns the number of lines
 * written, 1 or 0. */
int crd_report(const char *format, ...) CRD_REPORT_FORMAT(1, 2);

/* A lock for the data of one heap. The heap's thread takes it for each event; the end of the process, on any thread,
 * tries to take it. In a child of fork the holder may be a thread that does not exist there:
 * - The thread that ended the process. The heap's thread takes the lock over, so what the end of the process changes
 *   must be sound after each store.
 * - The heap's thread, in the middle of a change. The child cannot use these data, and its end leaves them alone. */
typedef struct crd_lock {
  int holder; /* a process; 0: free */
} crd_lock;
/* Only for the heap's thread. */
void crd_lock_take(crd_lock *lock);
/* false: it gave up after a while, or at once because a thread of the parent held the lock at the fork. */
bool crd_lock_try(crd_lock *lock);
void crd_lock_release(crd_lock *lock);

/* A lock for data of the whole process, whose holder may write files. A child of fork takes it over from a thread of
 * the parent that held it at the fork and does not exist in the child. So the guarded data must be sound after each
 * store. */
typedef struct crd_process_lock {
  int holder; /* a process; 0: free */
} crd_process_lock;
void crd_process_lock_take(crd_process_lock *lock);
/* false: it gave up after a while. */
bool crd_process_lock_try(crd_process_lock *lock);
void crd_process_lock_release(crd_process_lock *lock);

#endif
