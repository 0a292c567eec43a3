#include "gc/old/major.h"

#include "gc/base/probes.h"
#include "gc/event.h"
#include "gc/heap.h"
#include "gc/maximum.h"
#include "gc/old/mark.h"
#include "gc/platform/pages.h"
#include "gc/statistics.h"
#include "gc/tables/identity.h"

/* --- phases --- */

#define TO(phase) (1u << MAJOR_##phase)

/* For each phase, those that may follow it [major.1]. */
static const unsigned may_follow[] = {
    [MAJOR_IDLE] = TO(MARKING),
    [MAJOR_MARKING] = TO(CLEARING) | TO(SWEEPING),
    [MAJOR_CLEARING] = TO(SWEEPING),
    [MAJOR_SWEEPING] = TO(IDLE),
};

static void enter_phase(cradle_heap *heap, crd_major_phase phase) {
  crd_major *major = &heap->major;
  ASSERT(may_follow[major->phase] >> phase & 1, "[major.1] a phase of the major collection follows the wrong one");
  ASSERT(phase == MAJOR_MARKING || word_stack_is_empty(&heap->mark_stack), "[major.3] the mark stack outlives a phase");
  ASSERT(phase == MAJOR_MARKING || !major->overflowed, "[major.3] an object is grey when marking is over");
  ASSERT(phase != MAJOR_IDLE || !heap->old.born_marked, "[major.3] objects are born marked while nothing marks");
  major->phase = phase;
}

static void begin_sweeping(cradle_heap *heap) {
  crd_major *major = &heap->major;
  enter_phase(heap, MAJOR_SWEEPING);
  major->used_before_sweep = heap->old.used_bytes;
  crd_statistics_used(heap);
  crd_sweep_begin(&heap->old);
}

static void end_marking(cradle_heap *heap) {
  if (heap->death == NULL) {
    begin_sweeping(heap);
    return;
  }
  enter_phase(heap, MAJOR_CLEARING);
  heap->death->begin(heap);
}

/* Drops ids of dead objects, then sweeps. false: there is more to do. */
static bool sweep_some(cradle_heap *heap, crd_budget budget) {
  crd_major *major = &heap->major;
  return crd_ids_purge(heap, &major->purge_id, budget.deadline_ns) &&
         crd_sweep_some(&heap->old, &major->sweep_page, heap_remains(heap, true), budget.deadline_ns, &major->swept);
}

uint64_t crd_major_counted_bytes(const cradle_heap *heap) {
  return heap->old.used_bytes + heap->external_bytes;
}

/* born: what was promoted and allocated old while marking went on. */
static void end_cycle(cradle_heap *heap) {
  crd_major *major = &heap->major;
  ASSERT(major->swept.freed_bytes <= major->used_before_sweep, "more was freed than was in use");
  uint64_t born = major->used_before_sweep > major->used_at_start ? major->used_before_sweep - major->used_at_start : 0;
  crd_pacing_update(&heap->pacing, crd_major_counted_bytes(heap), major->swept.freed_bytes, born,
                    crd_heap_threshold_max(heap));
  enter_phase(heap, MAJOR_IDLE);
  crd_statistics_major(heap);
}

static void advance(cradle_heap *heap, crd_budget budget) {
  switch (heap->major.phase) {
  case MAJOR_IDLE: break;
  case MAJOR_MARKING:
    if (crd_mark_some(heap, budget)) end_marking(heap);
    break;
  case MAJOR_CLEARING:
    if (heap->death->clear(heap, &budget)) begin_sweeping(heap);
    break;
  case MAJOR_SWEEPING:
    if (sweep_some(heap, budget)) end_cycle(heap);
    break;
  }
}

/* --- what is told --- */

static void send_begin(cradle_heap *heap) {
  cradle_cause cause = heap->major.cause;
  PROBE2(major_begin, heap, cause);
  if (event_wanted(heap))
    crd_event_send(heap, &(cradle_event){.kind = CRADLE_EVENT_MAJOR_BEGIN,
                                         .u.begin = {cause, heap_used_bytes(heap), heap->pacing.threshold}});
}

static void send_step_begin(cradle_heap *heap) {
  crd_event_simple(heap, CRADLE_EVENT_STEP_BEGIN);
  PROBE2(step_begin, heap, heap->major.phase);
}

/* before: a copy of the figures from before the increment; the event reports the differences. */
static void send_step_end(cradle_heap *heap, const crd_major *before, uint64_t duration) {
  const crd_major *major = &heap->major;
  const crd_swept *swept = &major->swept, *swept_before = &before->swept;
  if (!event_wanted(heap)) return;
  crd_event_send(heap, &(cradle_event){.kind = CRADLE_EVENT_STEP_END,
                                       .u.step = {(cradle_phase)before->phase, (cradle_phase)major->phase,
                                                  major->objects - before->objects, major->bytes - before->bytes,
                                                  swept->freed_objects - swept_before->freed_objects,
                                                  swept->freed_bytes - swept_before->freed_bytes,
                                                  swept->freed_spans - swept_before->freed_spans, duration}});
}

static void send_end(cradle_heap *heap) {
  crd_major *major = &heap->major;
  PROBE3(major_end, heap, heap->old.used_bytes, major->work_ns);
  if (!event_wanted(heap)) return;
  crd_event_send(heap,
                 &(cradle_event){.kind = CRADLE_EVENT_MAJOR_END,
                                 .u.major = {major->cause, heap->stats.major_collections, major->used_before_sweep,
                                             heap_used_bytes(heap), heap->pacing.threshold, major->work_ns}});
}

/* --- figures --- */

static void count_step(cradle_heap *heap, uint64_t duration) {
  cradle_statistics *stats = &heap->stats;
  heap->major.work_ns += duration;
  heap->major.large_bytes = 0;
  stats->major_ns += duration;
  stats->major_steps++;
  if (duration > stats->major_max_ns) stats->major_max_ns = duration;
}

/* Notes whether an increment marked as much as it was asked to. Pacing learns what increments mark, and `behind` counts
 * those that fell short: gc/young/adapt.c hands out less of the nursery then, so that increments come more often. */
static void judge_marking(cradle_heap *heap, crd_budget budget, uint64_t marked) {
  crd_major *major = &heap->major;
  bool reached = major->phase != MAJOR_MARKING || marked >= budget.bytes;
  bool asked = budget.bytes != UINT64_MAX; /* else for all that a time allows */
  /* What has no deadline marks everything at once and says nothing of increments. */
  if (budget.deadline_ns != UINT64_MAX && heap->marker.thread == NULL) crd_pacing_marked(&heap->pacing, marked);
  if (reached && major->behind > 0) major->behind--;
  if (!reached && asked && major->behind < BEHIND_MOST) major->behind++;
}

/* Nobody knows how much clearing has left to do, so it is behind when the heap is above the threshold. */
static void judge_clearing(cradle_heap *heap) {
  crd_major *major = &heap->major;
  if (major->phase != MAJOR_CLEARING || crd_major_counted_bytes(heap) <= heap->pacing.threshold) return;
  if (major->behind < BEHIND_MOST) major->behind++;
}

/* --- the increments --- */

void crd_major_start(cradle_heap *heap, cradle_cause cause) {
  ASSERT(heap->major.phase == MAJOR_IDLE, "[major.1] a major collection begins while one runs");
  heap->major = (crd_major){.cause = cause,
                            .used_at_start = heap->old.used_bytes,
                            .large_at_start = heap->old.large_bytes,
                            .collected_at_start = crd_major_counted_bytes(heap)};
  enter_phase(heap, MAJOR_MARKING);
  send_begin(heap);
  crd_mark_start(heap);
}

void crd_major_step(cradle_heap *heap, crd_budget budget) {
  const crd_major before = heap->major;
  ASSERT(before.phase != MAJOR_IDLE, "[major.1] an increment of no major collection");
  ASSERT(nursery_filled(heap) == 0 && heap->old.young_large == PAGE_NONE,
         "[major.2] an increment before a minor collection");
  uint64_t begin = crd_platform_now_ns();
  send_step_begin(heap);
  advance(heap, budget);
  uint64_t duration = crd_platform_now_ns() - begin, marked = heap->major.bytes - before.bytes;
  count_step(heap, duration);
  PROBE4(step_end, heap, before.phase, heap->major.phase, marked);
  if (before.phase == MAJOR_MARKING) judge_marking(heap, budget, marked);
  if (before.phase == MAJOR_CLEARING) judge_clearing(heap);
  send_step_end(heap, &before, duration);
  if (heap->major.phase == MAJOR_IDLE) send_end(heap);
}
