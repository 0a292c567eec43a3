#include "gc/outgrow.h"

#include "gc/maximum.h"
#include "gc/old/arena_memory.h"
#include "gc/platform/hardware.h"
#include "gc/young/adapt.h"

/* If base pages have this size, a huge page has 2 MiB (gc/old/backing.h), whatever sysfs says. */
#define PLAIN_PAGE_BYTES ((size_t)4 << 10)

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

static void learn(cradle_heap *heap, unsigned parts) {
  crd_hardware_learn(&heap->hardware, &heap->known_hardware, parts);
}

void crd_outgrow_init(cradle_heap *heap) {
  heap->small = true;
  if (heap->options.hardware != NULL) {
    heap->hardware = *heap->options.hardware;
    heap->known_hardware = HARDWARE_ALL;
    return;
  }
  crd_hardware_init(&heap->hardware);
  if (needs_all(heap)) {
    crd_hardware_detect(&heap->hardware);
    heap->known_hardware = HARDWARE_ALL;
  } else {
    learn(heap, HARDWARE_L2);
  }
}

void crd_outgrow(cradle_heap *heap) {
  ASSERT(heap->small, "[outgrow.1] a heap outgrows twice");
  heap->small = false;
  crd_arenas_enter_huge(&heap->space.old.arenas);
  crd_outgrow_memory(heap);
}

void crd_outgrow_memory(cradle_heap *heap) {
  if (heap->known_hardware & HARDWARE_MEMORY) return;
  learn(heap, HARDWARE_MEMORY);
  crd_outgrow_bound(heap);
}

void crd_outgrow_bound(cradle_heap *heap) {
  crd_maximum_respect_group(heap);
  crd_space_limit_arenas(&heap->space);
  crd_pacing_bound(&heap->marking.pacing, &heap->options, &heap->hardware);
  crd_adapt_bound(&heap->young);
}
