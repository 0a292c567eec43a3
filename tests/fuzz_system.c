#include "tests/fuzz_system.h"

#if defined(__linux__)
#include <string.h>
#include <sys/mman.h>
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

static size_t mapped_bytes;

size_t system_mapped_bytes(void) {
  return mapped_bytes;
}

/* With MAP_FIXED the range was mapped before. */
static void *counting_mmap(void *address, size_t size, int protection, int flags, int file, off_t offset) {
  void *mapped = mmap(address, size, protection, flags, file, offset);
  if (mapped != MAP_FAILED && !(flags & MAP_FIXED)) mapped_bytes += size;
  return mapped;
}

static int counting_munmap(void *address, size_t size) {
  int status = munmap(address, size);
  if (status == 0) mapped_bytes -= size;
  return status;
}

/* Onto a range that was mapped before. */
static void *counting_mremap(void *from, size_t size, size_t new_size, int flags, void *to) {
  void *moved = mremap(from, size, new_size, flags, to);
  if (moved != MAP_FAILED) mapped_bytes -= size;
  return moved;
}

#define clock_gettime ticking_gettime
#define mmap counting_mmap
#define munmap counting_munmap
#define mremap counting_mremap
#define CRADLE_FAULT_INJECTION 1
#include "gc/platform/pages.c"
#include "gc/platform/pages_linux.c"

/* Not munmap: what was not given back would be lost to all inputs after this one. */
bool crd_fault_should_fail(const char *call, int *error) {
  if (refused == 0 || (strcmp(call, "mmap") != 0 && strcmp(call, "mprotect") != 0 && strcmp(call, "madvise") != 0))
    return false;
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
size_t system_mapped_bytes(void) {
  return 0;
}
#endif
