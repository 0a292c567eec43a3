#include "gc/maximum.h"

#include "gc/event.h"
#include "gc/heap.h"
#include "gc/young/nursery.h"

/* If a cgroup's share is below this and two nurseries, it is no room for a heap, and does not become the maximum. */
#define GROUP_MIN_BYTES ((size_t)16 << 20)

/* How many arenas a maximum heap allows beside a nursery of so many bytes. */
static size_t arenas_within(const cradle_heap *heap, size_t max, size_t nursery_bytes) {
  if (max == 0) return heap->old.arenas.capacity;
  size_t arenas = max > nursery_bytes ? (max - nursery_bytes) >> ARENA_SHIFT : 0;
  return arenas < heap->old.arenas.capacity ? arenas : heap->old.arenas.capacity;
}

static size_t most_arenas(const cradle_heap *heap, size_t nursery_bytes) {
  return arenas_within(heap, heap->options.heap_max_bytes, nursery_bytes);
}

size_t crd_heap_arenas_within(const cradle_heap *heap, size_t max) {
  return arenas_within(heap, max, heap->nursery.bytes);
}

bool crd_heap_nursery_fits(const cradle_heap *heap, size_t nursery_bytes) {
  return heap->old.arenas.committed_count + crd_old_arenas_for(&heap->old, nursery_bytes) <=
         most_arenas(heap, nursery_bytes);
}

uint64_t crd_heap_threshold_max(const cradle_heap *heap) {
  size_t max = heap->options.heap_max_bytes;
  if (max == 0) return 0;
  return (max < COUNTED_MAX_BYTES ? max : COUNTED_MAX_BYTES) + heap->external_bytes;
}

void crd_heap_limit_arenas(cradle_heap *heap) {
  heap->old.arenas.limit = (uint32_t)most_arenas(heap, heap->nursery.bytes);
  ASSERT(heap->old.arenas.limit <= heap->old.arenas.capacity,
         "[arena.2] more arenas may come than there are addresses for");
}

/* --- as the heap is made --- */

void crd_maximum_respect_group(cradle_heap *heap) {
  const char *reason;
  size_t bytes = heap->hardware.group_bytes / 4 * 3;
  /* A nursery that is never collected takes its share of this maximum, so it is not counted here. */
  size_t nursery = collection_is_off(heap) ? 0 : crd_nursery_choose(&heap->options, &heap->hardware, &reason);
  if (heap->options.heap_max_bytes != 0 || bytes < 2 * nursery + GROUP_MIN_BYTES) return;
  heap->options.heap_max_bytes = bytes;
  ASSERT(bytes < heap->hardware.group_bytes, "a maximum heap beyond the cgroup's memory");
  /* The program chose its minimum without knowing of this maximum. */
  if (heap->options.major_min_bytes > bytes) heap->options.major_min_bytes = bytes;
}

void crd_maximum_note(cradle_heap *heap) {
  size_t max = heap->options.heap_max_bytes;
  if (max != 0 && max == heap->hardware.group_bytes / 4 * 3)
    crd_event_note(heap, "the maximum heap is three quarters of the cgroup's memory", heap->hardware.group_bytes, max);
  if (max > heap->nursery.bytes && max - heap->nursery.bytes > heap->old.arenas.bytes)
    crd_event_note(heap, "the maximum heap cannot be reached: the address space for the old generation is smaller", max,
                   heap->old.arenas.bytes);
}
