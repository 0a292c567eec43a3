/* Hardware of macOS and FreeBSD, whose kernels answer questions by name (sysctl). Of other systems nothing is known but
 * that they have no transparent huge pages. */
#include "gc/platform/hardware.h"

#if defined(__APPLE__) || defined(__FreeBSD__)
#include <stdint.h>
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
#endif

#if defined(__APPLE__)

static void take(size_t bytes, size_t *to, cradle_source *source) {
  if (bytes == 0 || *to != 0) return;
  *to = bytes;
  *source = CRADLE_SOURCE_SYSCTL;
}

/* Apple's processors have two kinds of cores ("performance levels"), each with caches of its own. The smaller one
 * counts [hardware.2]. Other Macs have one kind, under other names. */
static void read_caches(cradle_hardware *hardware) {
  size_t l2 = 0, l3 = 0;
  crd_hardware_lower(&l2, number_of("hw.perflevel0.l2cachesize"));
  crd_hardware_lower(&l2, number_of("hw.perflevel1.l2cachesize"));
  crd_hardware_lower(&l3, number_of("hw.perflevel0.l3cachesize"));
  crd_hardware_lower(&l3, number_of("hw.perflevel1.l3cachesize"));
  take(l2 != 0 ? l2 : number_of("hw.l2cachesize"), &hardware->l2_bytes, &hardware->l2_source);
  take(l3 != 0 ? l3 : number_of("hw.l3cachesize"), &hardware->l3_bytes, &hardware->l3_source);
}

void crd_hardware_read_sysctl(cradle_hardware *hardware, unsigned parts) {
  if (parts & (HARDWARE_L2 | HARDWARE_CACHES)) read_caches(hardware);
  if (parts & HARDWARE_THP) hardware->thp_mode = CRADLE_THP_ABSENT;
  if (parts & HARDWARE_MEMORY && number_of("hw.memsize") != 0) hardware->memory_bytes = number_of("hw.memsize");
}

#elif defined(__FreeBSD__)

#include <sys/mman.h>

/* The size of the superpages that one entry of the last level but one of the page table maps, if the system has them:
 * 2 MiB where base pages have 4 KiB. */
static size_t superpage_bytes(size_t page_bytes) {
  size_t sizes[8], wanted = page_bytes / 8 * page_bytes;
  int count = getpagesizes(sizes, 8);
  for (int i = 1; i < count; i++)
    if (sizes[i] == wanted) return wanted;
  return 0;
}

static void read_superpages(cradle_hardware *hardware) {
  hardware->thp_page_bytes = superpage_bytes(hardware->page_bytes);
  bool enabled = number_of("vm.pmap.superpages_enabled") != 0 || number_of("vm.pmap.pg_ps_enabled") != 0;
  if (hardware->thp_page_bytes == 0)
    hardware->thp_mode = CRADLE_THP_ABSENT;
  else
    hardware->thp_mode = enabled ? CRADLE_THP_ALWAYS : CRADLE_THP_NEVER;
}

/* The kernel has no names for cache sizes. */
void crd_hardware_read_sysctl(cradle_hardware *hardware, unsigned parts) {
  if (parts & HARDWARE_THP) read_superpages(hardware);
  if (parts & HARDWARE_MEMORY && number_of("hw.physmem") != 0) hardware->memory_bytes = number_of("hw.physmem");
}

#elif !defined(__linux__)

void crd_hardware_read_sysctl(cradle_hardware *hardware, unsigned parts) {
  if (parts & HARDWARE_THP) hardware->thp_mode = CRADLE_THP_ABSENT;
}

#endif
