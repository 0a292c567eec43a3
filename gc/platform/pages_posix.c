/* Pages on any POSIX system but Linux. Huge pages are not asked for, and there is no pool.
 *
 * FreeBSD makes superpages by itself, and says with mincore where they are. macOS has none: its kernels ignore
 * VM_FLAGS_SUPERPAGE_SIZE_2MB on 64-bit Arm, and new ones everywhere. Other systems do not say what backs a range. */
#include "gc/platform/pages.h"

#include <stdint.h>

#include "gc/platform/calls.h"

bool crd_pages_commit_pool(void *address, size_t size, size_t pool_page_bytes) {
  (void)address, (void)size, (void)pool_page_bytes;
  return false;
}

/* Maps the range anew, because a new mapping reads as zero on every system. POSIX's own advice keeps the contents, and
 * so does MADV_DONTNEED of macOS and FreeBSD; after their MADV_FREE pages keep theirs for a while. */
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

#if defined(MINCORE_INCORE)
#include <unistd.h>

#ifndef MINCORE_SUPER
#define MINCORE_SUPER 0
#endif
#define PAGES_AT_ONCE 512

static void add_pages(const unsigned char *states, size_t count, size_t page_bytes, crd_pages_backing *backing) {
  for (size_t i = 0; i < count; i++) {
    if (!(states[i] & MINCORE_INCORE)) continue;
    backing->resident_bytes += page_bytes;
    if (states[i] & MINCORE_SUPER) backing->huge_bytes += page_bytes;
  }
}

/* mincore answers with a byte for each page, so it is asked about a few hundred at a time: the answer lies on the
 * stack. */
bool crd_pages_backing_of(const void *address, size_t size, crd_pages_backing *backing) {
  KEEP_ERRNO;
  unsigned char states[PAGES_AT_ONCE];
  size_t page_bytes = (size_t)sysconf(_SC_PAGESIZE), most = PAGES_AT_ONCE * page_bytes;
  *backing = (crd_pages_backing){0, 0};
  for (size_t at = 0; at < size; at += most) {
    size_t bytes = size - at < most ? size - at : most;
    if (CALL(mincore, -1, (char *)(uintptr_t)address + at, bytes, (void *)states) != 0) return false;
    add_pages(states, bytes / page_bytes, page_bytes, backing);
  }
  return true;
}

#else

bool crd_pages_backing_of(const void *address, size_t size, crd_pages_backing *backing) {
  (void)address, (void)size;
  *backing = (crd_pages_backing){0, 0};
  return false;
}

#endif
