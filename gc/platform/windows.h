/* windows.h with what the collector uses of it. */
#ifndef CRADLE_GC_PLATFORM_WINDOWS_H
#define CRADLE_GC_PLATFORM_WINDOWS_H

#ifndef WIN32_LEAN_AND_MEAN
#define WIN32_LEAN_AND_MEAN 1
#endif
#ifndef NOMINMAX
#define NOMINMAX 1
#endif
#include <windows.h>

/* KEEP_LAST_ERROR is the first line of each function that may change what GetLastError says and must not [pages.2]. */
static inline void restore_last_error(const DWORD *saved) {
  SetLastError(*saved);
}
#define KEEP_LAST_ERROR \
  const DWORD saved_error __attribute__((__cleanup__(restore_last_error), __unused__)) = GetLastError()

#endif
