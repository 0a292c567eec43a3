/* What every POSIX system does alike: reservations, access, last words and the clock. The rest of gc/platform/pages.h
 * is in pages_linux.c for Linux, and in pages_posix.c for all others. */
#include "gc/platform/pages.h"

#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "gc/platform/calls.h"

static void *map_reserved(void *address, size_t size, int flags) {
  void *mapped = CALL(mmap, MAP_FAILED, address, size, PROT_NONE, RESERVED_FLAGS | flags, -1, 0);
  return mapped == MAP_FAILED ? NULL : mapped;
}

static bool unmap(void *address, size_t size) {
  return size == 0 || CALL(munmap, -1, address, size) == 0;
}

/* Reserves at the address or nowhere. What is mapped there already stays. */
static void *reserve_at(void *hint, size_t size) {
  void *mapped = map_reserved(hint, size, MAP_FIXED_NOREPLACE);
  if (mapped == NULL || mapped == hint) return mapped;
  unmap(mapped, size); /* the system took the address for a wish */
  return NULL;
}

static bool is_aligned(const void *address, size_t alignment) {
  return (uintptr_t)address % alignment == 0;
}

/* Reserves at a multiple of the alignment. A plain attempt comes first: systems place base pages well in any case, and
 * Linux since 6.7 also lengths of whole huge pages, and then one call is enough. Otherwise a range that is longer by
 * the alignment is reserved, and both its ends are given back. */
static void *reserve_aligned(size_t size, size_t alignment) {
  char *mapped = map_reserved(NULL, size, ALIGNED_FLAGS(alignment));
  if (mapped == NULL || is_aligned(mapped, alignment)) return mapped;
  unmap(mapped, size);
  if (size > SIZE_MAX - alignment) return NULL;
  mapped = map_reserved(NULL, size + alignment, 0);
  if (mapped == NULL) return NULL;
  char *aligned = (char *)(((uintptr_t)mapped + alignment - 1) & ~(uintptr_t)(alignment - 1));
  /* Trimming that fails leaves a little address space behind, which costs only itself. */
  unmap(mapped, (size_t)(aligned - mapped));
  unmap(aligned + size, (size_t)(mapped + alignment - aligned));
  return aligned;
}

void *crd_pages_reserve(size_t size, size_t alignment, void *hint) {
  if (!is_aligned(hint, alignment)) return NULL;
  KEEP_ERRNO;
  return hint != NULL ? reserve_at(hint, size) : reserve_aligned(size, alignment);
}

bool crd_pages_unreserve(void *address, size_t size) {
  KEEP_ERRNO;
  return unmap(address, size);
}

/* Maps new address space over the range: no other call gives back contents, commit charge and pool pages together. */
bool crd_pages_release(void *address, size_t size) {
  KEEP_ERRNO;
  return map_reserved(address, size, MAP_FIXED) != NULL;
}

bool crd_pages_protect(void *address, size_t size, bool accessible) {
  KEEP_ERRNO;
  return CALL(mprotect, -1, address, size, accessible ? PROT_READ | PROT_WRITE : PROT_NONE) == 0;
}

/* If it is refused, access is taken away again: mprotect goes from mapping to mapping and stops at the first that is
 * refused, which can leave the first part of the range accessible [pages.3]. */
bool crd_pages_commit(void *address, size_t size) {
  if (crd_pages_protect(address, size, true)) return true;
  crd_pages_protect(address, size, false);
  return false;
}

/* Parts of a reservation come from the pool, and any process can have them if there are some: how many there are is in
 * the hardware description. */
void *crd_pages_reserve_pool(size_t size, size_t pool_page_bytes) {
  (void)size, (void)pool_page_bytes;
  return NULL;
}

const char *crd_pages_pool_doubt(bool in_parts) {
  (void)in_parts;
  return NULL;
}

void crd_platform_last_words(const char *text, size_t length) {
  KEEP_ERRNO;
  sigset_t refusals;
  sigemptyset(&refusals);
  sigaddset(&refusals, SIGPIPE);
  sigaddset(&refusals, SIGXFSZ);
  (void)pthread_sigmask(SIG_BLOCK, &refusals, NULL);
  while (length > 0) {
    ssize_t written = CALL(write, -1, STDERR_FILENO, text, length);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) break;
    text += written;
    length -= (size_t)written;
  }
}

static unsigned long long read_clock(clockid_t clock) {
  struct timespec now = {0, 0};
  KEEP_ERRNO;
  (void)CALL(clock_gettime, -1, clock, &now);
  return (unsigned long long)now.tv_sec * 1000000000u + (unsigned long long)now.tv_nsec;
}

unsigned long long crd_platform_now_ns(void) {
  return read_clock(CLOCK_MONOTONIC);
}

unsigned long long crd_platform_thread_ns(void) {
  return read_clock(CLOCK_THREAD_CPUTIME_ID);
}

bool crd_platform_preemptions(unsigned long long *count) {
#ifdef RUSAGE_THREAD
  struct rusage usage;
  KEEP_ERRNO;
  if (CALL(getrusage, -1, RUSAGE_THREAD, &usage) != 0) return false;
  *count = (unsigned long long)usage.ru_nivcsw;
  return true;
#else
  (void)count;
  return false;
#endif
}
