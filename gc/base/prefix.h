/* Structures that grow from one version to the next: the caller's may be shorter or longer than the library's. */
#ifndef CRADLE_GC_BASE_PREFIX_H
#define CRADLE_GC_BASE_PREFIX_H

#include <stddef.h>
#include <string.h>

/* Copies what both versions have, and zeroes the rest of the caller's structure. size: of the caller's structure;
 * known: of the library's. */
static inline void copy_prefix(void *to, size_t size, const void *from, size_t known) {
  memcpy(to, from, size < known ? size : known);
  if (size > known) memset((char *)to + known, 0, size - known);
}

#endif
