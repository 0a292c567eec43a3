/* Pages on any POSIX system: no huge pages, no pool, and nobody tells what backs a range. */
#include "gc/platform/pages.h"

#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#ifndef MAP_ANONYMOUS
#define MAP_ANONYMOUS MAP_ANON
#endif
#ifndef MAP_NORESERVE
#define MAP_NORESERVE 0
#endif

#define RESERVED_FLAGS (MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE)

static bool unmap(void *address, size_t size) {
  return size == 0 || munmap(address, size) == 0;
}

static void *map(void *address, size_t size, int protection, int flags) {
  void *mapped = mmap(address, size, protection, flags, -1, 0);
  return mapped == MAP_FAILED ? NULL : mapped;
}

/* Without MAP_FIXED the address is a wish, and what lies there already stays. */
static void *reserve_at(void *hint, size_t size) {
  void *mapped = map(hint, size, PROT_NONE, RESERVED_FLAGS);
  if (mapped == NULL || mapped == hint) return mapped;
  unmap(mapped, size);
  return NULL;
}

static void *reserve_aligned(size_t size, size_t alignment) {
  if (size > SIZE_MAX - alignment) return NULL;
  char *mapped = map(NULL, size + alignment, PROT_NONE, RESERVED_FLAGS);
  if (mapped == NULL) return NULL;
  char *aligned = (char *)(((uintptr_t)mapped + alignment - 1) & ~(uintptr_t)(alignment - 1));
  /* Trimming that fails leaves a little address space behind, which costs only itself. */
  unmap(mapped, (size_t)(aligned - mapped));
  unmap(aligned + size, (size_t)(mapped + alignment - aligned));
  return aligned;
}

void *crd_pages_reserve(size_t size, size_t alignment, void *hint) {
  if ((uintptr_t)hint % alignment != 0) return NULL;
  int saved = errno;
  void *address = hint != NULL ? reserve_at(hint, size) : reserve_aligned(size, alignment);
  errno = saved;
  return address;
}

bool crd_pages_unreserve(void *address, size_t size) {
  int saved = errno;
  bool done = unmap(address, size);
  errno = saved;
  return done;
}

static bool protect(void *address, size_t size, int protection) {
  int saved = errno;
  bool done = mprotect(address, size, protection) == 0;
  errno = saved;
  return done;
}

/* mprotect may have changed a first part before it was refused. */
bool crd_pages_commit(void *address, size_t size) {
  if (protect(address, size, PROT_READ | PROT_WRITE)) return true;
  protect(address, size, PROT_NONE);
  return false;
}

bool crd_pages_protect(void *address, size_t size, bool accessible) {
  return protect(address, size, accessible ? PROT_READ | PROT_WRITE : PROT_NONE);
}

bool crd_pages_commit_pool(void *address, size_t size, size_t pool_page_bytes) {
  (void)address, (void)size, (void)pool_page_bytes;
  return false;
}

static bool map_over(void *address, size_t size, int protection) {
  int saved = errno;
  bool done = map(address, size, protection, RESERVED_FLAGS | MAP_FIXED) != NULL;
  errno = saved;
  return done;
}

bool crd_pages_release(void *address, size_t size) {
  return map_over(address, size, PROT_NONE);
}

/* A fresh mapping reads as zero everywhere; POSIX's own advice may keep the contents. */
bool crd_pages_discard(void *address, size_t size) {
  return map_over(address, size, PROT_READ | PROT_WRITE);
}

void crd_pages_advise_huge(void *address, size_t size, bool wanted) {
  (void)address, (void)size, (void)wanted;
}

bool crd_pages_populate(void *address, size_t size) {
  (void)address, (void)size;
  return false;
}

void crd_pages_name(void *address, size_t size, const char *name) {
  (void)address, (void)size, (void)name;
}

bool crd_pages_backing_of(const void *address, size_t size, crd_pages_backing *backing) {
  (void)address, (void)size;
  *backing = (crd_pages_backing){0, 0};
  return false;
}

void crd_platform_last_words(const char *text, size_t length) {
  int saved = errno;
  sigset_t refusals;
  sigemptyset(&refusals);
  sigaddset(&refusals, SIGPIPE);
  sigaddset(&refusals, SIGXFSZ);
  (void)pthread_sigmask(SIG_BLOCK, &refusals, NULL);
  while (length > 0) {
    ssize_t written = write(STDERR_FILENO, text, length);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) break;
    text += written;
    length -= (size_t)written;
  }
  errno = saved;
}

unsigned long long crd_platform_now_ns(void) {
  struct timespec now = {0, 0};
  int saved = errno;
  (void)clock_gettime(CLOCK_MONOTONIC, &now);
  errno = saved;
  return (unsigned long long)now.tv_sec * 1000000000u + (unsigned long long)now.tv_nsec;
}
