/* Pages on any POSIX system: no huge pages, no pool, and nobody tells what backs a range. */
#include "gc/platform/pages.h"

#include "gc/platform/calls.h"

bool crd_pages_commit_pool(void *address, size_t size, size_t pool_page_bytes) {
  (void)address, (void)size, (void)pool_page_bytes;
  return false;
}

/* A fresh mapping reads as zero everywhere; POSIX's own advice may keep the contents. */
bool crd_pages_discard(void *address, size_t size) {
  KEEP_ERRNO;
  return mmap(address, size, PROT_READ | PROT_WRITE, RESERVED_FLAGS | MAP_FIXED, -1, 0) != MAP_FAILED;
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
