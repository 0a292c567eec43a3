#include "gc/outgrow.h"

#include "gc/old/arena_memory.h"
#include "gc/platform/hardware.h"
#include "gc/young/adapt.h"
#include "gc/young/nursery.h"

/* If base pages have this size, a huge page has 2 MiB (gc/old/backing.h), whatever sysfs says. */
#define PLAIN_PAGE_BYTES ((size_t)4 << 10)

/* If a cgroup's share is below this and two nurseries, it is no room for a heap, and does not become the maximum. */
#define GROUP_MIN_BYTES ((size_t)16 << 20)

static bool is_plain(cradle_hugepages policy) {
  return policy == CRADLE_HUGEPAGES_AUTO || policy == CRADLE_HUGEPAGES_OFF;
}

/* Whether the heap needs to know the whole machine from the beginning. */
static bool needs_all(const cradle_heap *heap) {
  const cradle_options *options = &heap->options;
  return event_wanted(&heap->report) || collection_is_off(&heap->options) || options->quarantine != 0 ||
         heap->hardware.page_bytes != PLAIN_PAGE_BYTES || !is_plain(options->hugepages_nursery) ||
         !is_plain(options->hugepages_arenas);
}

void crd_outgrow_init(cradle_heap *heap) {
  heap->small = true;
  if (heap->options.hardware != NULL) {
    heap->hardware = *heap->options.hardware;
    heap->known_hardware = HARDWARE_ALL;
    return;
  }
  crd_hardware_init(&heap->hardware);
  crd_hardware_learn(&heap->hardware, &heap->known_hardware, needs_all(heap) ? HARDWARE_ALL : HARDWARE_L2);
}

void crd_outgrow(cradle_heap *heap) {
  ASSERT(heap->small, "[outgrow.1] a heap outgrows twice");
  heap->small = false;
  crd_arenas_enter_huge(&heap->space.old.arenas);
  crd_outgrow_memory(heap);
}

void crd_outgrow_memory(cradle_heap *heap) {
  if (heap->known_hardware & HARDWARE_MEMORY) return;
  crd_hardware_learn(&heap->hardware, &heap->known_hardware, HARDWARE_MEMORY);
  crd_outgrow_bound(heap);
}

void crd_outgrow_respect_group(cradle_heap *heap) {
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

void crd_outgrow_bound(cradle_heap *heap) {
  crd_outgrow_respect_group(heap);
  crd_space_limit_arenas(&heap->space);
  crd_pacing_bound(&heap->marking.pacing, &heap->options, &heap->hardware);
  crd_adapt_bound(&heap->young);
}
