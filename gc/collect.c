/* The order of collections. */
#include "gc/heap.h"
#include "gc/platform/pages.h"
#include "gc/probes.h"

/* Empty arenas kept after a major collection besides the promotion reserve: a minimum, and as many as bring those in use up
 * to the recent demand, which is the most that were in use when a major collection began and fades by a share with each. */
#define CACHED_ARENAS_MIN 10
#define DEMAND_FADE_SHARE 8

static uint64_t unfilled_bytes(const cradle_heap *heap) {
  uint64_t bytes = 0;
  for (uint32_t i = 0; i < heap->old.classes.count; i++)
    bytes += (uint64_t)(heap->old.allocators[i].end - heap->old.allocators[i].free);
  return bytes;
}

static uint64_t nursery_filled(const cradle_heap *heap) {
  return heap->mutator == NULL ? 0 : (uint64_t)(heap->mutator->public.free - heap->nursery.start);
}

static uint64_t used_bytes(const cradle_heap *heap) {
  return heap->old.used_bytes - unfilled_bytes(heap) + nursery_filled(heap);
}

static void verify_if_asked(cradle_heap *heap) {
  if (!heap->options.verify) return;
  crd_text text = {.length = 0};
  if (!crd_verify(heap, &text)) crd_misuse(heap, text.buffer);
}

static void send_begin(cradle_heap *heap, cradle_event_kind kind, cradle_cause cause) {
  if (!event_wanted(heap)) return;
  cradle_event event = {.kind = kind, .u.begin = {cause, used_bytes(heap), heap->pacing.threshold}};
  crd_event_send(heap, &event);
}

static void count_minor(cradle_heap *heap, const cradle_event *event) {
  cradle_stats *stats = &heap->stats;
  uint64_t duration = event->u.minor.duration_ns;
  stats->minor_collections = event->u.minor.number;
  stats->minor_ns += duration;
  if (duration > stats->minor_max_ns) stats->minor_max_ns = duration;
  stats->allocated_bytes += event->u.minor.nursery_bytes;
  stats->promoted_objects += event->u.minor.promoted_objects;
  stats->moved_objects += event->u.minor.promoted_objects;
  stats->promoted_bytes += event->u.minor.promoted_bytes;
  stats->remembered_objects += event->u.minor.remembered;
}

static void send_arenas(cradle_heap *heap, uint64_t taken_before, uint64_t given_back_before) {
  const crd_arenas *arenas = &heap->old.arenas;
  if (arenas->taken_total == taken_before && arenas->given_back_total == given_back_before) return;
  cradle_event event = {.kind = CRADLE_EVENT_ARENAS,
                        .u.arenas = {arenas->taken_total - taken_before, arenas->given_back_total - given_back_before,
                                     arenas->committed_count, arenas->committed_count - arenas->free_count}};
  crd_event_send(heap, &event);
}

void crd_collect_minor(cradle_heap *heap, cradle_cause cause) {
  verify_if_asked(heap);
  uint64_t begin = crd_platform_now_ns(), taken = heap->old.arenas.taken_total;
  heap->state = HEAP_COLLECTING;
  heap->last_cause = cause;
  __atomic_store_n(&heap->pending_request, 0, __ATOMIC_SEQ_CST);
  crd_nursery_set_top(heap);
  cradle_event event = {.kind = CRADLE_EVENT_MINOR_END};
  event.u.minor.cause = cause;
  event.u.minor.number = heap->stats.minor_collections + 1;
  event.u.minor.nursery_bytes = nursery_filled(heap);
  if (event_wanted(heap)) event.u.minor.used_before = used_bytes(heap);
  send_begin(heap, CRADLE_EVENT_MINOR_BEGIN, cause);
  PROBE2(minor_begin, heap, cause);
  crd_minor_run(heap, &event);
  crd_sample_settle(heap);
  heap->state = HEAP_MUTATING;
  crd_nursery_reset(heap);
  if (event_wanted(heap)) event.u.minor.used_after = used_bytes(heap);
  event.u.minor.duration_ns = crd_platform_now_ns() - begin;
  count_minor(heap, &event);
  PROBE3(minor_end, heap, event.u.minor.promoted_bytes, event.u.minor.duration_ns);
  crd_event_send(heap, &event);
  if (event_wanted(heap)) send_arenas(heap, taken, heap->old.arenas.given_back_total);
  verify_if_asked(heap);
}

static void mark(cradle_heap *heap) {
  cradle_event event = {.kind = CRADLE_EVENT_MARK_END};
  crd_event_simple(heap, CRADLE_EVENT_MARK_BEGIN);
  PROBE1(mark_begin, heap);
  crd_mark_run(heap, &event.u.mark.objects, &event.u.mark.bytes);
  PROBE3(mark_end, heap, event.u.mark.objects, event.u.mark.bytes);
  crd_event_send(heap, &event);
}

static void sweep(cradle_heap *heap) {
  crd_swept swept;
  cradle_word poison = heap->options.stress_period != 0 || heap->options.verify ? POISON_SWEPT : 0;
  crd_event_simple(heap, CRADLE_EVENT_SWEEP_BEGIN);
  PROBE1(sweep_begin, heap);
  crd_old_sweep(&heap->old, poison, &swept);
  PROBE3(sweep_end, heap, swept.freed_objects, swept.freed_bytes);
  cradle_event event = {.kind = CRADLE_EVENT_SWEEP_END,
                        .u.sweep = {swept.freed_objects, swept.freed_bytes, swept.freed_spans}};
  crd_event_send(heap, &event);
}

static uint32_t arenas_in_use(const cradle_heap *heap) {
  return heap->old.arenas.committed_count - heap->old.arenas.free_count;
}

static void note_demand(cradle_heap *heap) {
  uint32_t in_use = arenas_in_use(heap);
  heap->arena_demand -= heap->arena_demand / DEMAND_FADE_SHARE;
  if (heap->arena_demand < in_use) heap->arena_demand = in_use;
}

/* Gives empty arenas back: all but the reserve after a full collection, else all that are not likely to be wanted soon. */
static void trim(cradle_heap *heap, bool full) {
  uint32_t in_use = arenas_in_use(heap), cached = 0;
  if (full)
    heap->arena_demand = in_use;
  else
    cached = heap->arena_demand - in_use > CACHED_ARENAS_MIN ? heap->arena_demand - in_use : CACHED_ARENAS_MIN;
  crd_arenas_trim(&heap->old.arenas, crd_old_arenas_for(&heap->old, heap->nursery.full_bytes) + cached);
}

void crd_collect_major(cradle_heap *heap, cradle_cause cause, bool full) {
  crd_collect_minor(heap, CRADLE_CAUSE_MAJOR);
  uint64_t begin = crd_platform_now_ns(), before = used_bytes(heap);
  uint64_t taken = heap->old.arenas.taken_total, given_back = heap->old.arenas.given_back_total;
  send_begin(heap, CRADLE_EVENT_MAJOR_BEGIN, cause);
  PROBE2(major_begin, heap, cause);
  heap->state = HEAP_COLLECTING;
  heap->last_cause = cause;
  note_demand(heap);
  mark(heap);
  sweep(heap);
  trim(heap, full);
  crd_pacing_update(&heap->pacing, heap->old.used_bytes, heap->options.heap_max_bytes);
  heap->state = HEAP_MUTATING;
  crd_nursery_reset(heap);
  uint64_t duration = crd_platform_now_ns() - begin;
  heap->stats.major_collections++;
  heap->stats.major_ns += duration;
  PROBE3(major_end, heap, heap->old.used_bytes, duration);
  if (duration > heap->stats.major_max_ns) heap->stats.major_max_ns = duration;
  cradle_event event = {.kind = CRADLE_EVENT_MAJOR_END,
                        .u.major = {cause, heap->stats.major_collections, before, used_bytes(heap),
                                    heap->pacing.threshold, duration}};
  crd_event_send(heap, &event);
  send_arenas(heap, taken, given_back);
  verify_if_asked(heap);
}

void crd_collect(cradle_heap *heap, cradle_cause cause) {
  crd_collect_minor(heap, cause);
  if (heap->old.used_bytes >= heap->pacing.threshold) crd_collect_major(heap, CRADLE_CAUSE_THRESHOLD, false);
}

void cradle_collect_minor(cradle_mutator *mutator) {
  crd_mutator_check(mutator, "cradle_collect_minor");
  crd_collect_minor(mutator->heap, CRADLE_CAUSE_REQUEST);
}

void cradle_collect_major(cradle_mutator *mutator) {
  crd_mutator_check(mutator, "cradle_collect_major");
  crd_collect_major(mutator->heap, CRADLE_CAUSE_REQUEST, false);
}

void cradle_collect_full(cradle_mutator *mutator) {
  crd_mutator_check(mutator, "cradle_collect_full");
  crd_collect_major(mutator->heap, CRADLE_CAUSE_REQUEST, true);
}

void cradle_heap_stats(cradle_heap *heap, cradle_stats *stats, size_t size, bool pages) {
  if (size != sizeof *stats) crd_misuse(heap, "cradle_heap_stats: size is not sizeof(cradle_stats) of this library");
  const crd_arenas *arenas = &heap->old.arenas;
  *stats = heap->stats;
  stats->allocated_bytes += nursery_filled(heap);
  stats->nursery_bytes = heap->nursery.bytes;
  stats->old_bytes = heap->old.used_bytes - unfilled_bytes(heap);
  stats->large_bytes = heap->old.large_bytes;
  stats->threshold_bytes = heap->pacing.threshold;
  stats->arena_bytes = ARENA_BYTES;
  stats->arenas_committed = arenas->committed_count;
  stats->arenas_in_use = arenas_in_use(heap);
  stats->metadata_bytes = arenas->meta_committed;
  stats->committed_bytes = arenas->committed_count * ARENA_BYTES + arenas->meta_committed + heap->nursery.mapped_bytes +
                           word_stack_committed(&heap->remembered) + word_stack_committed(&heap->mark_stack) +
                           (heap->mutator != NULL ? word_stack_committed(&heap->mutator->shadow) : 0);
  stats->nursery_pages_asked = heap->options.hugepages_nursery;
  stats->arena_pages_asked = heap->options.hugepages_arenas;
  crd_pages_backing nursery = {0, 0}, old = {0, 0};
  stats->pages_known = pages && crd_pages_backing_of(heap->nursery.start, heap->nursery.mapped_bytes, &nursery) &&
                       crd_pages_backing_of((void *)arenas->base, arenas->used_end * ARENA_BYTES, &old);
  stats->nursery_resident_bytes = nursery.resident_bytes;
  stats->nursery_huge_bytes = nursery.huge_bytes;
  stats->arena_resident_bytes = old.resident_bytes;
  stats->arena_huge_bytes = old.huge_bytes;
}
