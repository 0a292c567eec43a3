/* Backtraces: which calls are under way, written as commands that name their lines.
 *
 * The messages of the default handlers and the reports of faults end with one. A misuse handler of the program's own
 * ends its message in the same way with these functions. No function here collects, and none uses a heap.
 */
#ifndef CRADLE_BACKTRACE_H
#define CRADLE_BACKTRACE_H

#include <cradle/base.h>

CRADLE_BEGIN_DECLS

/* Calls that one holds. */
#define CRADLE_BACKTRACE_MOST 24

/* Calls of one thread, the innermost first. Each address lies within the instruction that calls. The depth is 0 where
 * the C library has no backtrace(), as musl has none, or where it found nothing. */
typedef struct cradle_backtrace {
  size_t depth;
  uintptr_t calls[CRADLE_BACKTRACE_MOST];
} cradle_backtrace;

/* The calls that are under way on this thread, from the one that is in the caller itself. The C library's first
 * backtrace() loads the unwinder, which allocates; what comes later allocates nothing. */
CRADLE_API void cradle_backtrace_take(cradle_backtrace *trace);
/* Writes them to standard error, a line for each file that neighbouring calls are in:
 *
 *     addr2line -f -p -i -e /home/ada/vm 0x1234 0x15e0
 *
 * which a shell runs as it is; or a line that says that nothing is known. Allocates nothing. A write that is refused
 * may raise its signal. */
CRADLE_API void cradle_backtrace_write(const cradle_backtrace *trace);
/* Makes the two fit for signal handlers, and calls of few kilobytes of stack: does once what their first calls do. */
CRADLE_API void cradle_backtrace_prepare(void);

CRADLE_END_DECLS

#endif
