/* What the process has from malloc, for tests that look for memory that was left behind. */
#ifndef TESTS_ALLOCATED_H
#define TESTS_ALLOCATED_H

#include <stdlib.h> /* says which C library it is */
#ifdef __GLIBC__
#include <malloc.h>
#endif

/* Bytes that malloc has in use; 0 where malloc does not report them. */
static inline size_t allocated_bytes(void) {
#if defined(__GLIBC__) /* since 2.33, which is older than Debian 12 */
  struct mallinfo2 info = mallinfo2();
  return info.uordblks + info.hblkhd;
#else
  return 0;
#endif
}

#endif
