/* The major collection, in increments: idle, marking, clearing, sweeping, idle.
 *
 *   start    right after a minor collection: the roots are marked
 *   marking  each increment comes right after a minor collection; when nothing is left to trace, marking is over
 *   clearing the order of death (gc/death.c); left out on heaps without weak slots, finalizers and the like
 *   sweeping first the ids of dead objects are dropped, then it goes span after span; the last increment ends the cycle: the
 *            next threshold is set, empty arenas are given back
 *
 * The caller of a step has just emptied the nursery; nothing is allocated until it is over.
 */
#include "gc/heap.h"
#include "gc/platform/pages.h"
#include "gc/probes.h"
#include "gc/registry.h"

#define BEHIND_MOST 8

void crd_major_start(cradle_heap *heap, cradle_cause cause) {
  crd_major *major = &heap->major;
  ASSERT(major->phase == MAJOR_IDLE, "a major collection begins while one runs");
  *major = (crd_major){.phase = MAJOR_MARKING,
                       .cause = cause,
                       .used_at_start = heap->old.used_bytes,
                       .collected_at_start = heap->old.used_bytes + heap->external_bytes};
  PROBE2(major_begin, heap, cause);
  if (event_wanted(heap))
    crd_event_send(heap, &(cradle_event){.kind = CRADLE_EVENT_MAJOR_BEGIN,
                                         .u.begin = {cause, crd_used_bytes(heap), heap->pacing.threshold}});
  crd_mark_start(heap);
}

static void begin_sweeping(cradle_heap *heap) {
  crd_major *major = &heap->major;
  major->phase = MAJOR_SWEEPING;
  major->purge_id = 0;
  major->sweep_page = 0;
  major->used_before_sweep = heap->old.used_bytes;
  crd_sweep_begin(&heap->old);
}

static void end_marking(cradle_heap *heap) {
  ASSERT(heap->mark_stack.top == heap->mark_stack.base, "the mark stack is not empty after marking");
  if (heap->services == NULL) {
    begin_sweeping(heap);
    return;
  }
  heap->major.phase = MAJOR_CLEARING;
  crd_death_begin(heap);
}

static void end_cycle(cradle_heap *heap) {
  crd_major *major = &heap->major;
  uint64_t born = major->used_before_sweep > major->used_at_start ? major->used_before_sweep - major->used_at_start : 0;
  crd_pacing_update(&heap->pacing, heap->old.used_bytes + heap->external_bytes, born, crd_heap_threshold_max(heap));
  major->phase = MAJOR_IDLE;
  heap->stats.major_collections++;
}

static void send_end(cradle_heap *heap) {
  crd_major *major = &heap->major;
  PROBE3(major_end, heap, heap->old.used_bytes, major->work_ns);
  if (!event_wanted(heap)) return;
  crd_event_send(heap, &(cradle_event){.kind = CRADLE_EVENT_MAJOR_END,
                                       .u.major = {major->cause, heap->stats.major_collections, major->used_before_sweep,
                                                   crd_used_bytes(heap), heap->pacing.threshold, major->work_ns}});
}

static void advance(cradle_heap *heap, crd_budget budget) {
  crd_major *major = &heap->major;
  if (major->phase == MAJOR_MARKING) {
    if (crd_mark_some(heap, budget)) end_marking(heap);
  } else if (major->phase == MAJOR_CLEARING) {
    if (crd_death_clear(heap, &budget)) begin_sweeping(heap);
  } else if (crd_ids_purge(heap, &major->purge_id, budget.deadline_ns) &&
             crd_sweep_some(&heap->old, &major->sweep_page, heap_remains(heap, true), budget.deadline_ns, &major->swept)) {
    end_cycle(heap);
  }
}

void crd_major_step(cradle_heap *heap, crd_budget budget) {
  crd_major *major = &heap->major;
  ASSERT(major->phase != MAJOR_IDLE, "an increment of no major collection");
  uint64_t begin = crd_platform_now_ns(), bytes = major->bytes, objects = major->objects;
  crd_swept swept = major->swept;
  int phase = major->phase;
  crd_event_simple(heap, CRADLE_EVENT_STEP_BEGIN);
  PROBE2(step_begin, heap, phase);
  advance(heap, budget);
  uint64_t duration = crd_platform_now_ns() - begin;
  major->work_ns += duration;
  major->large_bytes = 0;
  heap->stats.major_ns += duration;
  heap->stats.major_steps++;
  if (duration > heap->stats.major_max_ns) heap->stats.major_max_ns = duration;
  PROBE4(step_end, heap, phase, major->phase, major->bytes - bytes);
  if (phase == MAJOR_MARKING) {
    bool reached = major->phase != MAJOR_MARKING || major->bytes - bytes >= budget.bytes;
    bool asked = budget.bytes != UINT64_MAX; /* else for all that a time allows */
    /* What has no deadline marks everything at once and says nothing of increments. */
    if (budget.deadline_ns != UINT64_MAX) crd_pacing_marked(&heap->pacing, major->bytes - bytes);
    if (reached && major->behind > 0) major->behind--;
    if (!reached && asked && major->behind < BEHIND_MOST) major->behind++;
  }
  if (event_wanted(heap))
    crd_event_send(heap, &(cradle_event){.kind = CRADLE_EVENT_STEP_END,
                                         .u.step = {(cradle_phase)phase, (cradle_phase)major->phase, major->objects - objects,
                                                    major->bytes - bytes, major->swept.freed_objects - swept.freed_objects,
                                                    major->swept.freed_bytes - swept.freed_bytes,
                                                    major->swept.freed_spans - swept.freed_spans, duration}});
  if (major->phase == MAJOR_IDLE) send_end(heap);
}
