#include "gc/maximum.h"

#include "gc/report/event.h"
#include "gc/heap.h"
#include "gc/young/nursery.h"

/* If a cgroup's share is below this and two nurseries, it is no room for a heap, and does not become the maximum. */
#define GROUP_MIN_BYTES ((size_t)16 << 20)

void crd_maximum_respect_group(cradle_heap *heap) {
  const char *reason;
  size_t bytes = heap->hardware.group_bytes / 4 * 3;
  /* A nursery that is never collected takes its share of this maximum, so it is not counted here. */
  size_t nursery = collection_is_off(&heap->options) ? 0 : crd_nursery_choose(&heap->options, &heap->hardware, &reason);
  if (heap->options.heap_max_bytes != 0 || bytes < 2 * nursery + GROUP_MIN_BYTES) return;
  heap->options.heap_max_bytes = bytes;
  ASSERT(bytes < heap->hardware.group_bytes, "a maximum heap beyond the cgroup's memory");
  /* The program chose its minimum without knowing of this maximum. */
  if (heap->options.major_min_bytes > bytes) heap->options.major_min_bytes = bytes;
}

void crd_maximum_note(cradle_heap *heap) {
  size_t max = heap->options.heap_max_bytes;
  if (max != 0 && max == heap->hardware.group_bytes / 4 * 3)
    crd_event_note(&heap->report, "the maximum heap is three quarters of the cgroup's memory",
                   heap->hardware.group_bytes, max);
  if (max > heap->space.nursery.bytes && max - heap->space.nursery.bytes > heap->space.old.arenas.bytes)
    crd_event_note(&heap->report,
                   "the maximum heap cannot be reached: the address space for the old generation is smaller", max,
                   heap->space.old.arenas.bytes);
}
