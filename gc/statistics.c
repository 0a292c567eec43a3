#include "gc/statistics.h"

#include "gc/base/prefix.h"
#include "gc/death/services.h"
#include "gc/heap.h"
#include "gc/old/arena_memory.h"
#include "gc/platform/pages.h"
#include "gc/tables/handle.h"
#include "gc/tables/identity.h"
#include "gc/tables/pin.h"
#include "gc/world.h"
#include "gc/young/nursery.h"

/* --- the snapshot --- */

/* The memory of what is kept beside the objects. */
static size_t table_bytes(const crd_tables *tables) {
  const crd_ids *ids = &tables->ids;
  const crd_pins *pins = &tables->pins;
  size_t places = ids->by_address.capacity + pins->by_address.capacity;
  return tables->handles.capacity * sizeof(crd_handle_entry) + ids->capacity * sizeof *ids->entries +
         pins->capacity * sizeof *pins->pins + places * sizeof *ids->by_address.entries;
}

static size_t committed_bytes(const cradle_heap *heap) {
  const crd_arenas *arenas = &heap->space.old.arenas;
  size_t of_mutators = 0;
  for (EACH_LOCAL(local, &heap->space))
    of_mutators += word_stack_committed(&local->remembered) + word_stack_committed(&local->recorded) +
                   word_stack_committed(&local->fresh);
  for (EACH_MUTATOR(mutator, &heap->space)) of_mutators += word_stack_committed(&mutator->own.shadow);
  return arenas->committed_count * ARENA_BYTES + arenas->meta_committed + heap->space.nursery.committed_bytes +
         word_stack_committed(&heap->marking.mark_stack) + crd_services_committed(heap->space.services) +
         table_bytes(&heap->tables) +
         (quarantine_is_on(&heap->quarantine) ? heap->quarantine.bytes - heap->space.nursery.committed_bytes : 0) +
         of_mutators;
}

static double share(uint64_t part, uint64_t whole) {
  return whole == 0 ? 0 : (double)part / (double)whole;
}

static void fill(const cradle_heap *heap, cradle_statistics *statistics, size_t size) {
  const crd_arenas *arenas = &heap->space.old.arenas;
  cradle_statistics now = heap->report.stats;
  now.wall_ns = crd_platform_now_ns() - heap->report.created_ns;
  now.gc_share = share(now.pause_ns, now.wall_ns);
  now.survival = share(now.promoted_bytes, now.collected_bytes);
  /* Counted when the nursery is emptied; until then the filled part is added here. */
  now.allocated_bytes += nursery_filled(&heap->space);
  now.stress_number = heap->stress.number;
  now.phase = (cradle_phase)heap->marking.major.phase;
  now.pinned_objects = heap->tables.pins.count;
  now.handles = heap->tables.handles.open_count;
  now.ids = heap->tables.ids.by_address.count;
  now.nursery_bytes = heap->space.nursery.lowered ? (size_t)(heap->space.nursery.slack_end - heap->space.nursery.start)
                                                  : heap->space.nursery.bytes;
  now.used_bytes = space_used_bytes(&heap->space);
  if (now.used_bytes > now.used_peak_bytes) now.used_peak_bytes = now.used_bytes;
  now.old_bytes = heap->space.old.used_bytes - crd_old_unfilled_bytes(&heap->space.old);
  now.large_bytes = heap->space.old.large_bytes;
  now.external_bytes = heap->marking.external_bytes;
  now.threshold_bytes = heap->marking.pacing.threshold;
  now.heap_max_bytes = heap->options.heap_max_bytes;
  now.arena_bytes = ARENA_BYTES;
  now.arenas_committed = arenas->committed_count;
  now.arenas_in_use = arenas_in_use(arenas);
  for (uint32_t queue = 1; queue <= CRADLE_FINALIZER_QUEUES; queue++)
    now.finalizers_waiting[queue] = crd_finalizer_waiting(heap->space.services, queue);
  now.beside_arenas = arenas->supplied_total;
  now.thousand_alone_ns = (uint64_t)(1000 * heap->young.team.object_ns[0]);
  now.thousand_helped_ns = (uint64_t)(1000 * heap->young.team.object_ns[1]);
  now.metadata_bytes = arenas->meta_committed;
  now.committed_bytes = committed_bytes(heap);
  copy_prefix(statistics, size, &now, sizeof now);
}

/* In a shared heap the mutators stand meanwhile, so that the figures belong together. A listener has the world. */
void cradle_heap_statistics(const cradle_heap *heap, cradle_statistics *statistics, size_t size) {
  if (space_is_shared(&heap->space)) {
    cradle_heap *shared = crd_heap_hold(heap, "cradle_heap_statistics");
    fill(heap, statistics, size);
    crd_world_leave(&shared->space);
  } else {
    fill(heap, statistics, size);
  }
}

void cradle_mutator_statistics(const cradle_mutator *mutator, cradle_mutator_figures *figures, size_t size) {
  const crd_mutator *m = (const crd_mutator *)mutator;
  bool shared = space_is_shared(m->space);
  if (shared) (void)crd_heap_hold(mutator->heap, "cradle_mutator_statistics");
  cradle_mutator_figures now = {.number = m->number,
                                .allocated_bytes = crd_space_allocated(m->space, m->local) - m->began,
                                .stops = m->stops,
                                .stop_ns = m->stop_ns,
                                .waited_ns = m->waited_ns};
  copy_prefix(figures, size, &now, sizeof now);
  if (shared) crd_world_leave(m->space);
}

size_t crd_heap_spans(const cradle_heap *heap, crd_span_info *rows, size_t count) {
  const crd_old *old = &heap->space.old;
  for (uint32_t i = 0; i < old->classes.count && i < count; i++) {
    const crd_size_class *class = &old->classes.of[i];
    uint64_t used = old->spans[i].used_bytes - crd_old_unfilled_of(old, i);
    rows[i] = (crd_span_info){.object_bytes = class->bytes,
                              .span_bytes = class->pages * PAGE_BYTES,
                              .span_objects = class->objects,
                              .spans = old->spans[i].count,
                              .used_bytes = used,
                              .memory_bytes = (uint64_t)old->spans[i].count * class->pages * PAGE_BYTES};
  }
  return old->classes.count;
}

/* --- memory --- */

static cradle_backing judge(bool known, const crd_pages_backing *backing) {
  if (!known) return CRADLE_BACKING_UNKNOWN;
  if (backing->resident_bytes == 0) return CRADLE_BACKING_NOTHING;
  if (backing->huge_bytes == 0) return CRADLE_BACKING_BASE;
  return backing->huge_bytes < backing->resident_bytes ? CRADLE_BACKING_PARTLY_HUGE : CRADLE_BACKING_HUGE;
}

/* extent: nothing at or above it is committed. bytes: what is committed below it. */
static cradle_region region_of(const char *name, const void *start, size_t reserved, size_t extent, size_t bytes,
                               cradle_hugepages asked) {
  crd_pages_backing backing = {0, 0};
  bool known = extent == 0 || crd_pages_backing_of(start, extent, &backing);
  return (cradle_region){.name = name,
                         .start = address_of(start),
                         .reserved_bytes = reserved,
                         .committed_bytes = bytes,
                         .asked = asked,
                         .obtained = judge(known, &backing),
                         .resident_bytes = known ? backing.resident_bytes : 0,
                         .huge_bytes = known ? backing.huge_bytes : 0};
}

static void fill_memory(const cradle_heap *heap, cradle_memory *memory, size_t size) {
  const crd_nursery *nursery = &heap->space.nursery;
  const crd_arenas *arenas = &heap->space.old.arenas;
  cradle_memory now;
  now.nursery = region_of(NURSERY_NAME, nursery->start, nursery->reserved_bytes, nursery->committed_bytes,
                          nursery->committed_bytes, nursery->backing.asked);
  if (quarantine_is_on(&heap->quarantine))
    now.nursery = region_of(NURSERY_NAME, heap->quarantine.base, heap->quarantine.bytes, heap->quarantine.bytes,
                            heap->quarantine.bytes, CRADLE_HUGEPAGES_OFF);
  now.nursery.pool_bytes = nursery->pool_bytes;
  now.arenas = region_of(ARENAS_NAME, memory_at(arenas->base), arenas->bytes, arenas->committed_end * ARENA_BYTES,
                         arenas->committed_count * ARENA_BYTES, arenas->backing.asked);
  now.arenas.pool_bytes = arenas->pool_count * ARENA_BYTES;
  now.metadata = region_of(METADATA_NAME, arenas->meta, arenas->meta_bytes, arenas->meta_committed,
                           arenas->meta_committed, arenas->meta_backing.asked);
  now.arenas_taken = arenas->taken_total;
  now.arenas_given_back = arenas->given_back_total;
  now.pool_refusals = arenas->pool_refusals;
  copy_prefix(memory, size, &now, sizeof now);
}

void cradle_memory_report(const cradle_heap *heap, cradle_memory *memory, size_t size) {
  if (!space_is_shared(&heap->space)) {
    fill_memory(heap, memory, size);
    return;
  }
  cradle_heap *shared = crd_heap_hold(heap, "cradle_memory_report");
  fill_memory(heap, memory, size);
  crd_world_leave(&shared->space);
}

/* --- events --- */

void crd_statistics_arenas(cradle_heap *heap, bool measured) {
  const crd_arenas *arenas = &heap->space.old.arenas;
  cradle_statistics *stats = &heap->report.stats;
  /* Statistics need the peak even if nobody listens. */
  if (arenas->committed_count > stats->arenas_peak) stats->arenas_peak = arenas->committed_count;
  uint64_t taken = arenas->taken_total - heap->arenas_told[0],
           given_back = arenas->given_back_total - heap->arenas_told[1];
  ASSERT(arenas->taken_total >= heap->arenas_told[0] && arenas->given_back_total >= heap->arenas_told[1],
         "the totals of arenas went back");
  /* What is not reported now stays in the difference and is reported later. */
  if (!event_wanted(&heap->report) || (taken == 0 && given_back == 0 && !measured)) return;
  heap->arenas_told[0] = arenas->taken_total;
  heap->arenas_told[1] = arenas->given_back_total;
  crd_pages_backing backing = {0, 0};
  bool known = measured && !heap->prepared &&
               crd_pages_backing_of(memory_at(arenas->base), arenas->committed_end * ARENA_BYTES, &backing);
  if (known) {
    stats->pages_known = true;
    stats->resident_bytes = backing.resident_bytes;
    stats->huge_bytes = backing.huge_bytes;
  }
  cradle_event event = {.kind = CRADLE_EVENT_ARENAS,
                        .u.arenas = {.taken = taken,
                                     .given_back = given_back,
                                     .committed = arenas->committed_count,
                                     .in_use = arenas_in_use(arenas),
                                     .asked = heap->options.hugepages_arenas,
                                     .measured = known,
                                     .resident_bytes = known ? backing.resident_bytes : 0,
                                     .huge_bytes = known ? backing.huge_bytes : 0,
                                     .pool_bytes = arenas->pool_count * ARENA_BYTES}};
  crd_event_send(&heap->report, &event);
}

void crd_statistics_spans(cradle_heap *heap) {
  if (!event_wanted(&heap->report)) return;
  crd_span_info rows[SIZE_CLASS_MAX];
  size_t count = crd_heap_spans(heap, rows, SIZE_CLASS_MAX);
  for (const crd_span_info *row = rows; row < rows + count; row++) {
    if (row->spans == 0) continue;
    uint64_t memory = row->memory_bytes, waste = memory - row->used_bytes;
    cradle_event event = {.kind = CRADLE_EVENT_SPANS,
                          .u.spans = {row->object_bytes, row->span_bytes, row->span_objects, row->spans,
                                      row->used_bytes, memory, (waste * 100 + memory / 2) / memory}};
    crd_event_send(&heap->report, &event);
  }
}

static uint32_t largest_type(const crd_census *census) {
  uint32_t largest = 0;
  for (uint32_t type = 1; type < census->types; type++)
    if (census->of[type].bytes > census->of[largest].bytes) largest = type;
  return largest;
}

/* A row of one type, or with name the sum of several. */
static void send_types(cradle_heap *heap, uint64_t types, uint32_t type, const char *name, crd_type_count count) {
  cradle_event event = {
      .kind = CRADLE_EVENT_TYPES,
      .u.types = {heap->report.stats.major_collections, types, type, count.objects, count.bytes, name}};
  if (count.objects != 0) crd_event_send(&heap->report, &event);
}

/* The types that have been sent are empty, so that the rest is what is left. */
void crd_statistics_types(cradle_heap *heap) {
  crd_census *census = &heap->space.old.census;
  crd_type_count rest = {0, 0};
  uint64_t types = 0;
  if (!census_is_taken(census)) return;
  for (uint64_t row = 0; row < heap->options.report_types; row++) {
    uint32_t type = largest_type(census);
    if (census->of[type].objects == 0) break;
    send_types(heap, 1, type, type_table_name(&heap->space.types, type), census->of[type]);
    census->of[type] = (crd_type_count){0, 0};
  }
  for (uint32_t type = 0; type < census->types; type++) {
    rest.objects += census->of[type].objects;
    rest.bytes += census->of[type].bytes;
    types += census->of[type].objects != 0;
  }
  send_types(heap, types, 0, "(rest)", rest);
  census_end(census);
}
