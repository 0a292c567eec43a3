/* Pages on any POSIX system: no huge pages, no pool, and nobody tells what backs a range. */
#include "gc/platform/pages.h"

#include <errno.h>
#include <stdint.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#ifndef MAP_NORESERVE
#define MAP_NORESERVE 0
#endif

#define RESERVED_FLAGS (MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE)

static bool unmap(void *address, size_t size) {
  return size == 0 || munmap(address, size) == 0;
}

static void *reserve(size_t size, size_t alignment, void *hint) {
  size_t extra = hint == NULL ? alignment : 0;
  char *mapped = mmap(hint, size + extra, PROT_NONE, RESERVED_FLAGS, -1, 0);
  if (mapped == MAP_FAILED) return NULL;
  if (hint != NULL) {
    if (mapped == hint) return mapped;
    unmap(mapped, size);
    return NULL;
  }
  char *aligned = (char *)(((uintptr_t)mapped + alignment - 1) & ~(uintptr_t)(alignment - 1));
  unmap(mapped, (size_t)(aligned - mapped));
  unmap(aligned + size, (size_t)(mapped + alignment - aligned));
  return aligned;
}

void *crd_pages_reserve(size_t size, size_t alignment, void *hint) {
  int saved = errno;
  void *address = reserve(size, alignment, hint);
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

bool crd_pages_commit(void *address, size_t size) {
  return protect(address, size, PROT_READ | PROT_WRITE);
}

bool crd_pages_protect(void *address, size_t size, bool accessible) {
  return protect(address, size, accessible ? PROT_READ | PROT_WRITE : PROT_NONE);
}

bool crd_pages_commit_pool(void *address, size_t size, size_t pool_page_bytes) {
  (void)address, (void)size, (void)pool_page_bytes;
  return false;
}

bool crd_pages_release(void *address, size_t size) {
  int saved = errno;
  bool done = mmap(address, size, PROT_NONE, RESERVED_FLAGS | MAP_FIXED, -1, 0) != MAP_FAILED;
  errno = saved;
  return done;
}

/* A fresh mapping over the range reads as zero everywhere; POSIX's own advice may keep the contents. */
bool crd_pages_discard(void *address, size_t size) {
  return crd_pages_release(address, size) && crd_pages_commit(address, size);
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
  while (length > 0) {
    ssize_t written = write(STDERR_FILENO, text, length);
    if (written <= 0) return;
    text += written;
    length -= (size_t)written;
  }
}

unsigned long long crd_platform_now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (unsigned long long)now.tv_sec * 1000000000u + (unsigned long long)now.tv_nsec;
}
