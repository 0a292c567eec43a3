/* How the platform makes system calls: through CALL, so that a test can make any of them fail. Such a test defines
 * CRADLE_FAULT_INJECTION and crd_fault_should_fail, which says whether the call of that name fails now, and with which
 * error. In the library, CALL is the plain call. */
#ifndef CRADLE_GC_PLATFORM_CALLS_H
#define CRADLE_GC_PLATFORM_CALLS_H

#include <errno.h>
#include <sys/mman.h>

#ifdef CRADLE_FAULT_INJECTION
#include <stdbool.h>

bool crd_fault_should_fail(const char *call, int *error);
#define CALL(name, failure, ...) (crd_fault_should_fail(#name, &errno) ? (failure) : name(__VA_ARGS__))
#else
#define CALL(name, failure, ...) name(__VA_ARGS__)
#endif

/* The first line of each function that may change errno and must not [pages.2]. */
static inline void restore_errno(const int *saved) {
  errno = *saved;
}
#define KEEP_ERRNO const int saved_errno __attribute__((__cleanup__(restore_errno), __unused__)) = errno

/* Constants that older C library headers and other systems lack. Where the first is 0, an address that is given to mmap
 * is only a wish, and the caller must look at what it got. */
#if !defined(MAP_FIXED_NOREPLACE) && defined(MAP_EXCL)
#define MAP_FIXED_NOREPLACE (MAP_FIXED | MAP_EXCL)
#endif
#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0
#endif
#ifndef MAP_NORESERVE
#define MAP_NORESERVE 0
#endif

/* The flags that ask for an aligned mapping. Only FreeBSD has such flags. */
#ifdef MAP_ALIGNED
#define ALIGNED_FLAGS(alignment) MAP_ALIGNED(__builtin_ctzll(alignment))
#else
#define ALIGNED_FLAGS(alignment) ((void)(alignment), 0)
#endif

/* The flags of a mapping whose memory is not charged before it is used. */
#define RESERVED_FLAGS (MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE)

#endif
