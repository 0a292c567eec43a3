/* Structures that grow from one version to the next, handed to a caller whose own may be shorter or longer. */
#ifndef CRADLE_GC_BASE_PREFIX_H
#define CRADLE_GC_BASE_PREFIX_H

#include <stddef.h>
#include <string.h>

/* Copies the prefix that both know, and zeroes what the caller's structure has behind it. size is the caller's, known
 * the library's. */
static inline void copy_prefix(void *to, size_t size, const void *from, size_t known) {
  memcpy(to, from, size < known ? size : known);
  if (size > known) memset((char *)to + known, 0, size - known);
}

#endif
