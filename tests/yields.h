/* A process whose exit status says whether somebody waited for a lock: who waits yields. For one source of a
 * program. */
#ifndef TESTS_YIELDS_H
#define TESTS_YIELDS_H

#include <sched.h>
#include <stdbool.h>
#include <unistd.h>

/* Takes the C library's place, and counts. */
static int yields;
int sched_yield(void) {
  __atomic_add_fetch(&yields, 1, __ATOMIC_RELAXED);
  return 0;
}

/* For atexit: the process ends with 1 when there were any, if that is set. */
static bool ends_with_its_yields;
static void end_with_yields(void) {
  if (ends_with_its_yields) _exit(yields != 0);
}

#endif
