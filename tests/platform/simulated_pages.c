/* Makes a program believe in base pages of TEST_PAGE_BYTES: preloaded (LD_PRELOAD), it answers for sysconf and takes
 * the place of the calls that work on whole pages, which are then refused or rounded as a kernel with such pages would.
 * What the processor does stays as it is: a first touch still brings 4 KiB, and a file of /proc tells the kernel's own
 * pages. */
#undef _FILE_OFFSET_BITS /* which would give mmap the name of mmap64 */
#include <dlfcn.h>
#include <errno.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define EXPORTED __attribute__((visibility("default")))

static size_t page_bytes;
static long (*real_sysconf)(int);
static void *(*real_mmap)(void *, size_t, int, int, int, off_t);
static int (*real_munmap)(void *, size_t);
static int (*real_mprotect)(void *, size_t, int);
static int (*real_madvise)(void *, size_t, int);
static int (*real_mincore)(void *, size_t, unsigned char *);
static size_t real_page_bytes;

static void *next(const char *name) {
  return dlsym(RTLD_NEXT, name);
}

/* Set up on the first call, because a call may come before our constructor runs. */
static void prepare(void) {
  if (page_bytes != 0) return;
  const char *text = getenv("TEST_PAGE_BYTES");
  *(void **)&real_sysconf = next("sysconf");
  *(void **)&real_mmap = next("mmap");
  *(void **)&real_munmap = next("munmap");
  *(void **)&real_mprotect = next("mprotect");
  *(void **)&real_madvise = next("madvise");
  *(void **)&real_mincore = next("mincore");
  real_page_bytes = (size_t)real_sysconf(_SC_PAGESIZE);
  page_bytes = text != NULL ? (size_t)strtoul(text, NULL, 10) : 0;
  if (page_bytes == 0) page_bytes = real_page_bytes;
}

static size_t whole(size_t size) {
  return (size + page_bytes - 1) & ~(page_bytes - 1);
}

static int refused(int error) {
  errno = error;
  return -1;
}

EXPORTED long sysconf(int name) {
  prepare();
  if (name == _SC_PAGESIZE) return (long)page_bytes;
  long value = real_sysconf(name);
  /* memory is counted in pages */
  if (value > 0 && (name == _SC_PHYS_PAGES || name == _SC_AVPHYS_PAGES))
    return (long)((size_t)value / (page_bytes / real_page_bytes));
  return value;
}

/* Where the system may choose the address, this maps a little more and gives the ends back. */
static void *map_aligned(size_t size, int protection, int flags) {
  char *mapped = real_mmap(NULL, size + page_bytes, protection, flags, -1, 0);
  if (mapped == MAP_FAILED) return MAP_FAILED;
  char *aligned = (char *)(((uintptr_t)mapped + page_bytes - 1) & ~(uintptr_t)(page_bytes - 1));
  if (aligned != mapped) real_munmap(mapped, (size_t)(aligned - mapped));
  real_munmap(aligned + size, (size_t)(mapped + page_bytes - aligned));
  return aligned;
}

EXPORTED void *mmap(void *address, size_t size, int protection, int flags, int file, off_t offset) {
  prepare();
  if (!(flags & MAP_ANONYMOUS) || (flags & MAP_HUGETLB))
    return real_mmap(address, size, protection, flags, file, offset);
  if ((uintptr_t)address % page_bytes != 0) return errno = EINVAL, MAP_FAILED;
  if (whole(size) < size) return errno = ENOMEM, MAP_FAILED;
  void *mapped = real_mmap(address, whole(size), protection, flags, -1, 0);
  if (mapped == MAP_FAILED || (uintptr_t)mapped % page_bytes == 0) return mapped;
  real_munmap(mapped, whole(size));
  return map_aligned(whole(size), protection, flags);
}

#ifdef __GLIBC__
/* The names that a program compiled for large files calls. */
EXPORTED void *mmap64(void *address, size_t size, int protection, int flags, int file, off_t offset) {
  return mmap(address, size, protection, flags, file, offset);
}
#endif

EXPORTED int munmap(void *address, size_t size) {
  prepare();
  if ((uintptr_t)address % page_bytes != 0) return real_munmap(address, size); /* of a file, mapped as it is */
  return real_munmap(address, whole(size));
}

EXPORTED int mprotect(void *address, size_t size, int protection) {
  prepare();
  if ((uintptr_t)address % page_bytes != 0) return refused(EINVAL);
  return real_mprotect(address, whole(size), protection);
}

EXPORTED int madvise(void *address, size_t size, int advice) {
  prepare();
  if ((uintptr_t)address % page_bytes != 0) return refused(EINVAL);
  return real_madvise(address, whole(size), advice);
}

/* A page is resident if a part of it was touched. */
EXPORTED int mincore(void *address, size_t size, unsigned char *states) {
  prepare();
  if ((uintptr_t)address % page_bytes != 0) return refused(EINVAL);
  size_t parts = page_bytes / real_page_bytes;
  for (size_t page = 0; page < whole(size) / page_bytes; page++) {
    states[page] = 0;
    for (size_t part = 0; part < parts; part++) {
      unsigned char state;
      if (real_mincore((char *)address + page * page_bytes + part * real_page_bytes, real_page_bytes, &state) != 0)
        return -1;
      states[page] |= state;
    }
  }
  return 0;
}
