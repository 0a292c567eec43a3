/* What the heap's memory is: what was asked for, and what the kernel says it gave. */
#include <string.h>

#include "gc/heap.h"
#include "gc/platform/pages.h"

const char *cradle_backing_name(cradle_backing backing) {
  switch (backing) {
  case CRADLE_BACKING_UNKNOWN: return "unknown";
  case CRADLE_BACKING_NOTHING: return "nothing";
  case CRADLE_BACKING_BASE: return "base pages";
  case CRADLE_BACKING_PARTLY_HUGE: return "partly huge pages";
  case CRADLE_BACKING_HUGE: return "huge pages";
  }
  return "unknown";
}

static cradle_backing judge(bool known, const crd_pages_backing *backing) {
  if (!known) return CRADLE_BACKING_UNKNOWN;
  if (backing->resident_bytes == 0) return CRADLE_BACKING_NOTHING;
  if (backing->huge_bytes == 0) return CRADLE_BACKING_BASE;
  return backing->huge_bytes < backing->resident_bytes ? CRADLE_BACKING_PARTLY_HUGE : CRADLE_BACKING_HUGE;
}

/* Nothing at or above extent is committed; bytes is how much below it is. */
static cradle_region region_of(const char *name, const void *start, size_t reserved, size_t extent, size_t bytes,
                               cradle_hugepages asked) {
  crd_pages_backing backing = {0, 0};
  bool known = extent == 0 || crd_pages_backing_of(start, extent, &backing);
  return (cradle_region){.name = name,
                         .start = (uintptr_t)start,
                         .reserved_bytes = reserved,
                         .committed_bytes = bytes,
                         .asked = asked,
                         .obtained = judge(known, &backing),
                         .resident_bytes = known ? backing.resident_bytes : 0,
                         .huge_bytes = known ? backing.huge_bytes : 0};
}

void cradle_memory_report(cradle_heap *heap, cradle_memory *memory, size_t size) {
  if (size != sizeof *memory) crd_misuse(heap, "cradle_memory_report: size is not sizeof(cradle_memory) of this library");
  const crd_nursery *nursery = &heap->nursery;
  const crd_arenas *arenas = &heap->old.arenas;
  memset(memory, 0, sizeof *memory);
  memory->nursery = region_of(NURSERY_NAME, nursery->start, nursery->reserved_bytes, nursery->committed_bytes,
                              nursery->committed_bytes, nursery->backing.asked);
  if (quarantine_is_on(heap))
    memory->nursery = region_of(NURSERY_NAME, heap->quarantine.base, heap->quarantine.bytes, heap->quarantine.bytes,
                                heap->quarantine.bytes, CRADLE_HUGEPAGES_OFF);
  memory->nursery.pool_bytes = nursery->pool_bytes;
  memory->arenas = region_of(ARENAS_NAME, (void *)arenas->base, arenas->bytes, arenas->committed_end * ARENA_BYTES,
                             arenas->committed_count * ARENA_BYTES, arenas->backing.asked);
  memory->arenas.pool_bytes = arenas->pool_count * ARENA_BYTES;
  memory->metadata = region_of(METADATA_NAME, arenas->meta, arenas->meta_bytes, arenas->meta_committed,
                               arenas->meta_committed, arenas->meta_backing.asked);
  memory->arenas_taken = arenas->taken_total;
  memory->arenas_given_back = arenas->given_back_total;
  memory->pool_refusals = arenas->pool_refusals;
}

uint64_t cradle_release_memory(cradle_heap *heap) {
  crd_heap_check_thread(heap, "cradle_release_memory");
  uint32_t gone = crd_arenas_release(&heap->old.arenas, heap->old.reserve, UINT32_MAX);
  crd_event_arenas(heap, false);
  return gone * (uint64_t)ARENA_BYTES;
}
