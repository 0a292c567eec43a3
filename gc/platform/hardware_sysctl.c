/* Hardware of macOS and FreeBSD, whose kernels answer questions by name (sysctl). What a kernel has no name for is not
 * known. Of other systems nothing is known but that they have no transparent huge pages. */
#include "gc/platform/hardware.h"

#ifndef __linux__

#include <stdint.h>

#if defined(__APPLE__) || defined(__FreeBSD__)
#include <sys/types.h>

#include <sys/sysctl.h>

/* The number that the kernel has under a name, in 4 or in 8 bytes; 0: it has none. */
static size_t number_of(const char *name) {
  union {
    uint32_t narrow;
    uint64_t wide;
  } value = {.wide = 0};
  size_t bytes = sizeof value;
  if (sysctlbyname(name, &value, &bytes, NULL, 0) != 0) return 0;
  return bytes == sizeof value.narrow ? value.narrow : (size_t)value.wide;
}
#else
static size_t number_of(const char *name) {
  (void)name;
  return 0;
}
#endif

/* The size of the superpages that one entry of the last level but one of the page table maps, if the system has them:
 * 2 MiB where base pages have 4 KiB. */
#if defined(__FreeBSD__)
#include <sys/mman.h>

static size_t superpage_bytes(size_t page_bytes) {
  size_t sizes[8], wanted = page_bytes / 8 * page_bytes;
  int count = getpagesizes(sizes, 8);
  for (int i = 1; i < count; i++)
    if (sizes[i] == wanted) return wanted;
  return 0;
}
#else
#define superpage_bytes(page_bytes) ((void)(page_bytes), (size_t)0)
#endif

/* Apple's processors have two kinds of cores ("performance levels"), each with caches of its own. The smaller one
 * counts [hardware.2]. Other Macs have one kind, under other names. */
static void read_cache(const char *const names[3], size_t *bytes, cradle_source *source) {
  size_t seen = 0;
  crd_hardware_lower(&seen, number_of(names[0]));
  crd_hardware_lower(&seen, number_of(names[1]));
  if (seen == 0) seen = number_of(names[2]);
  if (seen == 0 || *bytes != 0) return;
  *bytes = seen;
  *source = CRADLE_SOURCE_SYSCTL;
}

static void read_superpages(cradle_hardware *hardware) {
  bool enabled = number_of("vm.pmap.superpages_enabled") != 0 || number_of("vm.pmap.pg_ps_enabled") != 0;
  hardware->thp_page_bytes = superpage_bytes(hardware->page_bytes);
  hardware->thp_mode = hardware->thp_page_bytes == 0 ? CRADLE_THP_ABSENT
                       : enabled                     ? CRADLE_THP_ALWAYS
                                                     : CRADLE_THP_NEVER;
}

void crd_hardware_read_sysctl(cradle_hardware *hardware, unsigned parts) {
  static const char *const l2[] = {"hw.perflevel0.l2cachesize", "hw.perflevel1.l2cachesize", "hw.l2cachesize"};
  static const char *const l3[] = {"hw.perflevel0.l3cachesize", "hw.perflevel1.l3cachesize", "hw.l3cachesize"};
  size_t memory = number_of("hw.memsize"); /* macOS; FreeBSD has the other name */
  if (memory == 0) memory = number_of("hw.physmem");
  if (parts & (HARDWARE_L2 | HARDWARE_CACHES)) read_cache(l2, &hardware->l2_bytes, &hardware->l2_source);
  if (parts & (HARDWARE_L2 | HARDWARE_CACHES)) read_cache(l3, &hardware->l3_bytes, &hardware->l3_source);
  if (parts & HARDWARE_THP) read_superpages(hardware);
  if (parts & HARDWARE_MEMORY && memory != 0) hardware->memory_bytes = memory;
}

#endif
