/* The snapshot of the statistics, and the table of size classes. */
#include "gc/heap.h"
#include "gc/platform/pages.h"
#include "gc/registry.h"

static size_t map_bytes(const crd_address_map *map) {
  return map->capacity * sizeof *map->entries;
}

/* What is kept beside the objects. */
static size_t table_bytes(const cradle_heap *heap) {
  const crd_handles *handles = &heap->handles;
  const crd_ids *ids = &heap->ids;
  const crd_pins *pins = &heap->pins;
  const crd_prebuilts *prebuilts = &heap->prebuilts;
  return handles->capacity * sizeof *handles->entries + ids->capacity * sizeof *ids->entries +
         pins->capacity * sizeof *pins->pins + prebuilts->capacity * (sizeof *prebuilts->objects + sizeof *prebuilts->bytes) +
         map_bytes(&ids->by_address) + map_bytes(&pins->by_address) + map_bytes(&prebuilts->by_address);
}

void cradle_heap_stats(cradle_heap *heap, cradle_stats *stats, size_t size, bool pages) {
  if (size != sizeof *stats) crd_misuse(heap, "cradle_heap_stats: size is not sizeof(cradle_stats) of this library");
  const crd_arenas *arenas = &heap->old.arenas;
  *stats = heap->stats;
  stats->allocated_bytes += nursery_filled(heap);
  stats->nursery_bytes = heap->nursery.lowered ? (size_t)(heap->nursery.slack_end - heap->nursery.start) : heap->nursery.bytes;
  stats->old_bytes = heap->old.used_bytes - crd_unfilled_bytes(heap);
  stats->large_bytes = heap->old.large_bytes;
  stats->pinned_objects = heap->pins.count;
  stats->handles = heap->handles.open_count;
  stats->ids = heap->ids.by_address.count;
  stats->prebuilt_objects = heap->prebuilts.count;
  stats->external_bytes = heap->external_bytes;
  stats->phase = (cradle_phase)heap->major.phase;
  stats->threshold_bytes = heap->pacing.threshold;
  stats->heap_max_bytes = heap->options.heap_max_bytes;
  stats->arena_bytes = ARENA_BYTES;
  stats->arenas_committed = arenas->committed_count;
  stats->arenas_in_use = arenas_in_use(arenas);
  stats->metadata_bytes = arenas->meta_committed;
  stats->committed_bytes = arenas->committed_count * ARENA_BYTES + arenas->meta_committed + heap->nursery.committed_bytes +
                           word_stack_committed(&heap->remembered) + word_stack_committed(&heap->recorded) +
                           word_stack_committed(&heap->mark_stack) + crd_registry_committed(heap) + table_bytes(heap) +
                           (quarantine_is_on(heap) ? heap->quarantine.bytes - heap->nursery.committed_bytes : 0) +
                           (heap->mutator != NULL ? word_stack_committed(&heap->mutator->shadow) : 0);
  stats->stress_number = heap->stress.number;
  stats->nursery_pages_asked = heap->options.hugepages_nursery;
  stats->arena_pages_asked = heap->options.hugepages_arenas;
  crd_pages_backing nursery = {0, 0}, old = {0, 0};
  stats->pages_known = pages && crd_pages_backing_of(heap->nursery.start, heap->nursery.committed_bytes, &nursery) &&
                       crd_pages_backing_of((void *)arenas->base, arenas->committed_end * ARENA_BYTES, &old);
  stats->nursery_resident_bytes = nursery.resident_bytes;
  stats->nursery_huge_bytes = nursery.huge_bytes;
  stats->arena_resident_bytes = old.resident_bytes;
  stats->arena_huge_bytes = old.huge_bytes;
}

size_t cradle_heap_spans(cradle_heap *heap, cradle_span_info *rows, size_t count) {
  const crd_old *old = &heap->old;
  for (uint32_t i = 0; i < old->classes.count && i < count; i++) {
    const crd_size_class *class = &old->classes.of[i];
    const crd_allocator *allocator = &old->allocators[i];
    uint64_t used = old->class_used[i] - (uint64_t)(allocator->end - allocator->free);
    rows[i] = (cradle_span_info){.object_bytes = class->bytes,
                                 .span_bytes = class->pages * PAGE_BYTES,
                                 .span_objects = class->objects,
                                 .spans = old->class_spans[i],
                                 .used_bytes = used,
                                 .memory_bytes = (uint64_t)old->class_spans[i] * class->pages * PAGE_BYTES};
  }
  return old->classes.count;
}
