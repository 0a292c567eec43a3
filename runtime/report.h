/* Reports: one line on standard error for something in the environment that cannot be used.
 *
 * [report.1] The same line appears once in a process, however many heaps start in it. That needs a
 *            list of what was said, which is the process's and not a heap's: it is the only state
 *            here, and a lock guards it.
 * [report.2] A report is one line and one write; control characters in it are shown as '?'.
 */
#ifndef CRADLE_RUNTIME_REPORT_H
#define CRADLE_RUNTIME_REPORT_H

#include <cradle/base.h>

/* True the first time that the process asks about text. Runs from any thread. */
bool crd_first_time(const char *text);

/* Writes "cradle: " and the message, cut at 600 bytes, unless it was written before. Returns how
 * many lines that made, 1 or 0. */
int crd_report(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* write(2) that neither raises SIGPIPE nor stops at an interruption: a reader that goes away is an
 * error of this write, not the end of the program. Returns what write does. */
ptrdiff_t crd_write_quietly(int fd, const char *text, size_t length);

/* A lock for a few instructions; it works in a child of fork, too, unless another thread held it
 * at the fork. */
typedef struct crd_lock {
  bool taken;
} crd_lock;
void crd_lock_take(crd_lock *lock);
/* Gives up after a while; false then. */
bool crd_lock_try(crd_lock *lock);
void crd_lock_release(crd_lock *lock);

#endif
