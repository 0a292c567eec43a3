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

#include <signal.h>

/* True the first time that the process asks about text. Runs from any thread. */
bool crd_first_time(const char *text);

/* Writes "cradle: " and the message, cut at 600 bytes, unless it was written before. Returns how
 * many lines that made, 1 or 0. */
int crd_report(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Between begin and end a write of this thread raises neither SIGPIPE nor SIGXFSZ: a reader that goes
 * away and the limit on the size of files are errors of that write, not the end of the program. Keeps
 * errno. */
typedef struct crd_quiet {
  sigset_t before, pending; /* the thread's mask and its pending signals at the beginning */
} crd_quiet;
void crd_quiet_begin(crd_quiet *quiet);
void crd_quiet_end(const crd_quiet *quiet);

/* write(2) that raises none of these signals and does not stop at an interruption. Returns what write
 * does. */
ptrdiff_t crd_write_quietly(int fd, const void *bytes, size_t length);
/* All of it, quietly. false: errno says why. */
bool crd_write_all(int fd, const void *bytes, size_t length);

/* fd, what open returned: moved to a free number where it is one of standard input, output and error, which the program
 * has closed and whose text would get into the file. Negative: it could not be opened or moved, and errno says why. */
int crd_above_standard(int fd);

/* A lock for a heap's own. The heap's thread takes it for each event, and the end of the process tries it. In a child
 * of fork the holder may be a thread that does not exist there:
 * - the thread that ended the process. The heap's thread takes the lock over, so what the end of the process changes
 *   must be sound after each store.
 * - the heap's thread, in the middle of a change. The heap is lost to the child, whose end leaves it alone. */
typedef struct crd_lock {
  pid_t holder; /* a process; 0: free */
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
  pid_t holder; /* a process; 0: free */
} crd_process_lock;
void crd_process_lock_take(crd_process_lock *lock);
/* Gives up after a while; false then. */
bool crd_process_lock_try(crd_process_lock *lock);
void crd_process_lock_release(crd_process_lock *lock);

#endif
