#include "tests/fuzz_system.h"

#if defined(__linux__)
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

void system_reset(void) {
  clock_ns = 0;
}

#define clock_gettime ticking_gettime
#include "gc/platform/pages_linux.c"

#else
void system_reset(void) {}
#endif
