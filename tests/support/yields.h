/* Lets a process's exit status say whether a thread waited for a lock, because a thread that waits calls sched_yield.
 * Include it in one source of a program only. */
#ifndef TESTS_YIELDS_H
#define TESTS_YIELDS_H

#include <sched.h>
#include <stdbool.h>
#include <unistd.h>

/* Replaces the C library's function and counts the calls. */
static int yields;
int sched_yield(void) {
  __atomic_add_fetch(&yields, 1, __ATOMIC_RELAXED);
  return 0;
}

/* For atexit: if ends_with_its_yields is set, the process exits with 1 if there were any yields, otherwise with 0. */
static bool ends_with_its_yields;
static void end_with_yields(void) {
  if (ends_with_its_yields) _exit(yields != 0);
}

#endif
