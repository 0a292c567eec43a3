/* Backtraces: which calls are under way on a thread, written as addr2line commands that print their source lines. The
 * last words of the default handlers and the reports of faults end with one. */
#ifndef CRD_PLATFORM_BACKTRACE_H
#define CRD_PLATFORM_BACKTRACE_H

#include <stddef.h>
#include <stdint.h>

/* The most calls that one backtrace holds. */
#define BACKTRACE_MOST 24

/* The calls under way on one thread, the innermost first. Each address lies within the calling instruction. The depth
 * is 0 if the C library has no backtrace(), as on musl, or if backtrace() found nothing. */
typedef struct crd_backtrace {
  size_t depth;
  uintptr_t calls[BACKTRACE_MOST];
} crd_backtrace;

/* Stores the calls under way on this thread, beginning with the caller's own call of this function. The first time, the
 * C library loads its unwinder, which allocates. */
void crd_backtrace_take(crd_backtrace *trace);
/* Writes the calls to standard error, one line for each run of neighbouring calls that are in the same file:
 *
 *     addr2line -f -p -i -e /home/ada/vm 0x1234 0x15e0
 *
 * A shell runs such a line as it is. An empty backtrace gives one line that says so. Allocates nothing. A refused write
 * may raise a signal, such as SIGPIPE. */
void crd_backtrace_write(const crd_backtrace *trace);
/* Calls visit for each run of neighbouring calls that are in the same file, with what addr2line wants: the path and the
 * addresses in the file. path NULL: in no file. Allocates nothing. On Windows and without backtrace() it visits
 * none. */
typedef void crd_backtrace_visit(void *data, const char *path, const uintptr_t *addresses, size_t count);
void crd_backtrace_each_file(const crd_backtrace *trace, crd_backtrace_visit *visit, void *data);
/* Prepares these functions for signal handlers, for stacks of a few kilobytes and for a sandbox: does now what their
 * first calls would do, and reads now what crd_backtrace_write says of the program's file. From then on they open no
 * file. */
void crd_backtrace_prepare(void);

#endif
