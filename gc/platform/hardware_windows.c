/* Hardware, as Windows describes it. There are no transparent huge pages. */
#include "gc/platform/hardware.h"

#include <stdint.h>
#include <stdlib.h>

#include "gc/platform/windows.h"

#define L2_DEFAULT_BYTES ((size_t)1 << 20)

/* Whether the process may run on some of these processors. A machine with more than 64 processors has several groups of
 * them. The process begins in one group and may run in the others, too, so their caches count as well. */
static bool may_run_there(const GROUP_AFFINITY *there) {
  DWORD_PTR process, system;
  GROUP_AFFINITY here;
  if (!GetThreadGroupAffinity(GetCurrentThread(), &here) || here.Group != there->Group) return true;
  if (!GetProcessAffinityMask(GetCurrentProcess(), &process, &system) || process == 0) return true;
  return (there->Mask & process) != 0;
}

static void add_cache(const CACHE_RELATIONSHIP *cache, crd_caches *seen) {
  bool holds_data = cache->Type == CacheUnified || cache->Type == CacheData;
  if (!holds_data || !may_run_there(&cache->GroupMask)) return;
  if (cache->Level == 2) crd_hardware_lower(&seen->l2_bytes, cache->CacheSize);
  if (cache->Level == 3) crd_hardware_lower(&seen->l3_bytes, cache->CacheSize);
}

/* The entries have different lengths. One that is impossible ends the list. */
static crd_caches read_list(char *list, DWORD length) {
  crd_caches seen = {0, 0};
  while (length != 0) {
    SYSTEM_LOGICAL_PROCESSOR_INFORMATION_EX *one = (SYSTEM_LOGICAL_PROCESSOR_INFORMATION_EX *)(void *)list;
    if (one->Size == 0 || one->Size > length) break;
    add_cache(&one->Cache, &seen);
    list += one->Size;
    length -= one->Size;
  }
  return seen;
}

/* The list has an entry for each cache of each core. The first call only asks how long it is. */
static void read_caches(cradle_hardware *hardware) {
  crd_caches seen = {0, 0};
  DWORD length = 0;
  (void)GetLogicalProcessorInformationEx(RelationCache, NULL, &length);
  char *list = malloc(length);
  if (list != NULL && length != 0 &&
      GetLogicalProcessorInformationEx(RelationCache, (SYSTEM_LOGICAL_PROCESSOR_INFORMATION_EX *)(void *)list, &length))
    seen = read_list(list, length);
  free(list);
  hardware->l2_bytes = seen.l2_bytes != 0 ? seen.l2_bytes : L2_DEFAULT_BYTES;
  hardware->l3_bytes = seen.l3_bytes;
  if (seen.l2_bytes != 0) hardware->l2_source = CRADLE_SOURCE_WINDOWS;
  if (seen.l3_bytes != 0) hardware->l3_source = CRADLE_SOURCE_WINDOWS;
}

/* A job is Windows' container. It may limit the memory of each process in it, and of all together: the lower counts. */
static size_t job_limit(void) {
  JOBOBJECT_EXTENDED_LIMIT_INFORMATION limits;
  size_t least = 0;
  if (!QueryInformationJobObject(NULL, JobObjectExtendedLimitInformation, &limits, sizeof limits, NULL)) return 0;
  if (limits.BasicLimitInformation.LimitFlags & JOB_OBJECT_LIMIT_PROCESS_MEMORY)
    crd_hardware_lower(&least, limits.ProcessMemoryLimit);
  if (limits.BasicLimitInformation.LimitFlags & JOB_OBJECT_LIMIT_JOB_MEMORY)
    crd_hardware_lower(&least, limits.JobMemoryLimit);
  return least;
}

static size_t physical_memory(void) {
  MEMORYSTATUSEX status = {.dwLength = sizeof status};
  return GlobalMemoryStatusEx(&status) ? (size_t)status.ullTotalPhys : 0;
}

size_t crd_hardware_memory(const cradle_hardware *hardware) {
  KEEP_LAST_ERROR;
  return hardware->memory_bytes != 0 ? hardware->memory_bytes : physical_memory();
}

static void read_memory(cradle_hardware *hardware) {
  hardware->memory_bytes = physical_memory();
  size_t limit = job_limit();
  if (limit == 0 || (hardware->memory_bytes != 0 && limit >= hardware->memory_bytes)) return;
  hardware->memory_bytes = hardware->group_bytes = limit;
}

/* Those that the process may run on. A process of several groups has no mask: then all of the machine's. */
static uint32_t processors(void) {
  DWORD_PTR process, system;
  if (GetProcessAffinityMask(GetCurrentProcess(), &process, &system) && process != 0)
    return (uint32_t)__builtin_popcountll(process);
  return GetActiveProcessorCount(ALL_PROCESSOR_GROUPS);
}

void crd_hardware_init(cradle_hardware *hardware) {
  SYSTEM_INFO system;
  KEEP_LAST_ERROR;
  GetSystemInfo(&system);
  *hardware = (cradle_hardware){.page_bytes = system.dwPageSize};
}

void crd_hardware_learn(cradle_hardware *hardware, unsigned *known, unsigned parts) {
  parts &= ~*known;
  if (parts == 0) return;
  KEEP_LAST_ERROR;
  if (parts & (HARDWARE_L2 | HARDWARE_CACHES)) read_caches(hardware);
  if (parts & HARDWARE_THP) hardware->thp_mode = CRADLE_THP_ABSENT;
  if (parts & HARDWARE_POOL) hardware->pool_page_bytes = GetLargePageMinimum();
  if (parts & HARDWARE_MEMORY) read_memory(hardware);
  if (parts & HARDWARE_PROCESSORS) hardware->processors = processors();
  *known |= parts;
}
