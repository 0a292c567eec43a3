#include "gc/old/backing.h"

#include "gc/old/arena.h"

static bool fits_arena(size_t page_bytes) {
  return page_bytes != 0 && ARENA_BYTES % page_bytes == 0;
}

crd_backing crd_backing_choose(cradle_hugepages policy, const cradle_hardware *hardware) {
  crd_backing backing = {.asked = policy};
  /* If the system does not tell it: what a page table maps that is one base page of 8-byte entries [backing.2]. */
  size_t transparent_bytes = hardware->page_bytes / 8 * hardware->page_bytes;
  if (hardware->thp_page_bytes != 0) transparent_bytes = hardware->thp_page_bytes;
  backing.strict = policy == CRADLE_HUGEPAGES_HUGETLB_STRICT;
  backing.pool = backing.strict || policy == CRADLE_HUGEPAGES_HUGETLB;
  backing.transparent =
      policy != CRADLE_HUGEPAGES_OFF && hardware->thp_mode != CRADLE_THP_ABSENT && fits_arena(transparent_bytes);
  if (backing.pool && fits_arena(hardware->pool_page_bytes)) backing.pool_page_bytes = hardware->pool_page_bytes;
  ASSERT(backing.pool_page_bytes <= ARENA_BYTES, "[backing.1] a pool's page is larger than an arena");
  return backing;
}

const char *crd_backing_doubt(const crd_backing *backing, const cradle_hardware *hardware) {
  if (backing->asked == CRADLE_HUGEPAGES_OFF) return NULL;
  bool no_pool = backing->pool && hardware->pool_page_bytes == 0;
  if (hardware->thp_mode == CRADLE_THP_ABSENT && no_pool)
    return "the system has neither a pool of huge pages nor transparent ones: base pages";
  if (hardware->thp_mode == CRADLE_THP_ABSENT) return "the system has no transparent huge pages: base pages";
  if (no_pool) return "the system has no pool of huge pages: transparent ones, else base pages";
  if (!backing->transparent) return "the system's transparent huge pages are larger than an arena: base pages";
  if (hardware->thp_mode == CRADLE_THP_NEVER) return "transparent huge pages are disabled (mode never): base pages";
  return NULL;
}
