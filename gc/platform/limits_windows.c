/* Limits on Windows: a process has no limit on address space. What refuses memory is the commit limit of the system or
 * of its job. */
#include "gc/platform/limits.h"

#include <stdint.h>

#include "gc/platform/windows.h"

static bool can_have(size_t bytes, DWORD kind) {
  void *memory = VirtualAlloc(NULL, bytes, kind, PAGE_NOACCESS);
  return memory != NULL && VirtualFree(memory, 0, MEM_RELEASE) != 0;
}

size_t crd_limits_share(size_t wanted, unsigned parts, bool refused) {
  KEEP_LAST_ERROR;
  if (!refused) return wanted;
  size_t bytes = wanted;
  while (bytes > 0 && (bytes > SIZE_MAX / parts || !can_have(bytes * parts, MEM_RESERVE))) bytes /= 2;
  return bytes;
}

crd_limit crd_limits_blame_addresses(size_t bytes) {
  KEEP_LAST_ERROR;
  if (can_have(bytes, MEM_RESERVE)) return (crd_limit){NULL, NULL, 0};
  return (crd_limit){"no free range of addresses is long enough", "CRADLE_GC_RESERVE", 0};
}

/* Asks for exactly so much: the commit limit is shared, so trying more could make other processes' requests fail. */
crd_limit crd_limits_blame(size_t bytes) {
  KEEP_LAST_ERROR;
  crd_limit limit = crd_limits_blame_addresses(bytes);
  if (limit.name != NULL || can_have(bytes, MEM_RESERVE | MEM_COMMIT)) return limit;
  return (crd_limit){"the commit limit of the system or the job", "the size of the page file", 0};
}
