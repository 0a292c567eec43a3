/* Limits of POSIX systems: resource limits, and what mmap and mprotect refuse. */
#include "gc/platform/limits.h"

#include <stdint.h>
#include <sys/resource.h>
#include <unistd.h>

#include "gc/platform/calls.h"

/* Ranges are looked for down to this. */
#define ROOM_STEP_BYTES ((size_t)64 << 10)
/* Memory is tried with at most so many bytes: where all memory is locked, trying makes them resident. */
#define TRY_MOST_BYTES ((size_t)1 << 30)
/* Each attempt to find who refuses asks for so many times as much as the last. */
#define TRY_FACTOR 4

#define NO_LIMIT (~0ull)

static unsigned long long limit_of(int resource) {
  struct rlimit limit;
  bool limited = getrlimit(resource, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
  return limited ? (unsigned long long)limit.rlim_cur : NO_LIMIT;
}

/* 0, or the error with which the system refuses such a mapping. */
static int try_map(size_t bytes, int protection) {
  void *mapped = mmap(NULL, bytes, protection, RESERVED_FLAGS, -1, 0);
  if (mapped == MAP_FAILED) return errno;
  (void)munmap(mapped, bytes);
  return 0;
}

/* The longest range that can be reserved, a little less than `most` at most. */
static size_t find_room(size_t most) {
  size_t least = 0;
  while (most - least > ROOM_STEP_BYTES) {
    size_t middle = (least + (most - least) / 2) & ~(ROOM_STEP_BYTES - 1);
    if (middle == least) break;
    if (try_map(middle, PROT_NONE) == 0)
      least = middle;
    else
      most = middle;
  }
  return least;
}

/* A limit on locked memory counts addresses only after mlockall(MCL_FUTURE), and then it refuses at once what exceeds
 * it. So only a limit on addresses is asked about in advance. */
size_t crd_limits_share(size_t wanted, unsigned parts, bool refused) {
  KEEP_ERRNO;
#if defined(RLIMIT_AS)
  refused |= limit_of(RLIMIT_AS) != NO_LIMIT;
#endif
  if (!refused) return wanted;
  size_t most = wanted > SIZE_MAX / 2 / parts ? SIZE_MAX / 2 : wanted * parts;
  size_t share = find_room(most + 2 * ROOM_STEP_BYTES) / parts;
  return share < wanted ? share : wanted;
}

/* Whether a mapping can be split into three, which takes two more of them. */
static bool can_split(size_t page) {
  char *mapped = mmap(NULL, 3 * page, PROT_NONE, RESERVED_FLAGS, -1, 0);
  if (mapped == MAP_FAILED) return false;
  bool split = mprotect(mapped + page, page, PROT_READ) == 0;
  (void)munmap(mapped, 3 * page);
  return split;
}

static const crd_limit nothing, map_count = {"the number of mappings", "vm.max_map_count", 0};

static size_t page_bytes(void) {
  return (size_t)sysconf(_SC_PAGESIZE);
}

crd_limit crd_limits_blame_addresses(size_t bytes) {
  KEEP_ERRNO;
  int error = try_map(bytes, PROT_NONE);
  if (error == 0) return nothing;
#if defined(RLIMIT_MEMLOCK)
  if (error == EAGAIN)
    return (crd_limit){"RLIMIT_MEMLOCK", "ulimit -l; mlockall locked all memory", limit_of(RLIMIT_MEMLOCK)};
#endif
#if defined(RLIMIT_AS)
  if (limit_of(RLIMIT_AS) != NO_LIMIT) return (crd_limit){"RLIMIT_AS", "ulimit -v", limit_of(RLIMIT_AS)};
#endif
  if (try_map(page_bytes(), PROT_NONE) != 0) return map_count;
  return (crd_limit){"no free range of addresses is long enough", "CRADLE_GC_RESERVE", 0};
}

static crd_limit blame_memory(size_t bytes) {
  if (try_map(bytes < TRY_MOST_BYTES ? bytes : TRY_MOST_BYTES, PROT_READ | PROT_WRITE) == 0) return nothing;
  if (limit_of(RLIMIT_DATA) != NO_LIMIT) return (crd_limit){"RLIMIT_DATA", "ulimit -d", limit_of(RLIMIT_DATA)};
  return (crd_limit){"the system's commit limit", "vm.overcommit_memory, vm.overcommit_ratio", 0};
}

/* Where all memory is locked, trying makes it resident. So more memory than the caller knows of is tried only under a
 * limit that keeps it small. */
static crd_limit blame_more(size_t bytes) {
  crd_limit limit = nothing;
  while (limit.name == NULL && bytes <= TRY_MOST_BYTES / TRY_FACTOR) {
    bytes *= TRY_FACTOR;
    limit = crd_limits_blame_addresses(bytes);
    if (limit.name == NULL && limit_of(RLIMIT_DATA) != NO_LIMIT) limit = blame_memory(bytes);
  }
  return limit;
}

crd_limit crd_limits_blame(size_t bytes) {
  KEEP_ERRNO;
  crd_limit limit = crd_limits_blame_addresses(bytes);
  if (limit.name == NULL) limit = blame_memory(bytes);
  if (limit.name == NULL && !can_split(page_bytes())) limit = map_count;
  return limit.name != NULL ? limit : blame_more(bytes);
}
