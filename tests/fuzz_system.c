#include "tests/fuzz_system.h"

#if defined(__linux__)
#include <string.h>
#include <time.h>

/* Between two readings while it works a collection takes some tens of microseconds. */
#define TICK_NS 20000

static long long clock_ns;

static int ticking_gettime(clockid_t clock, struct timespec *now) {
  (void)clock;
  clock_ns += TICK_NS;
  *now = (struct timespec){(time_t)(clock_ns / 1000000000), (long)(clock_ns % 1000000000)};
  return 0;
}

static unsigned granted, refused; /* calls to come */

void system_refuse(unsigned after, unsigned count) {
  granted = after;
  refused = count;
}

void system_heal(void) {
  refused = 0;
}

void system_reset(void) {
  clock_ns = 0;
  system_heal();
}

#define clock_gettime ticking_gettime
#define CRADLE_FAULT_INJECTION 1
#include "gc/platform/pages_linux.c"

/* Not munmap: what was not given back would be lost to all inputs after this one. */
bool crd_fault_should_fail(const char *call, int *error) {
  if (refused == 0 || (strcmp(call, "mmap") != 0 && strcmp(call, "mprotect") != 0 && strcmp(call, "madvise") != 0)) return false;
  if (granted > 0) {
    granted--;
    return false;
  }
  refused--;
  *error = ENOMEM;
  return true;
}

#else
void system_refuse(unsigned after, unsigned count) {
  (void)after, (void)count;
}
void system_heal(void) {}
void system_reset(void) {}
#endif
