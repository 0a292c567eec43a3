#include "gc/collect.h"

#include <inttypes.h>

#include "gc/base/probes.h"
#include "gc/death/services.h"
#include "gc/heap.h"
#include "gc/instruments/history.h"
#include "gc/instruments/sample.h"
#include "gc/instruments/stress.h"
#include "gc/instruments/verify.h"
#include "gc/mutator.h"
#include "gc/old/arena_memory.h"
#include "gc/old/supply.h"
#include "gc/outgrow.h"
#include "gc/platform/pages.h"
#include "gc/report/misuse.h"
#include "gc/report/report.h"
#include "gc/roots.h"
#include "gc/statistics.h"
#include "gc/world.h"
#include "gc/young/adapt.h"
#include "gc/young/minor.h"
#include "gc/young/nursery.h"

/* If marking falls too far behind promotion, one pause does all the rest of the collection; without a pause target,
 * also if sweeping does. Too far: the bytes in use exceed M + (M + pacing.min) / OVERSHOOT_SHARE, where M is `most` of
 * crd_collect_budget. */
#define OVERSHOOT_SHARE 4
/* A pause gives back at most this many arenas, at 0.01 ms each, or 0.13 ms if they have base pages. */
#define GIVEN_BACK_MOST 16
/* If minor collections promote less than this, on average, it is not worth having an arena ready. */
#define PREPARE_MIN_BYTES ((uint64_t)64 << 10)

/* Whether a collection is verified. If stress_times bounds the time of a stress run, only stress collections are, and
 * not all of them (crd_stress_begin). */
static bool is_verified(const cradle_heap *heap) {
  return CRADLE_UNLIKELY(heap->options.verify) && (heap->options.stress_times == 0 || heap->stress.verifies);
}

/* before: a collection is about to begin; otherwise one has just ended. */
static void verify_if_asked(cradle_heap *heap, bool before) {
  if (!is_verified(heap)) return;
  crd_text text = {.length = 0};
  uint64_t begin = heap->stress.verifies ? crd_stress_now(&heap->stress) : 0;
  if (!crd_verify(heap, &text)) crd_misuse_found(heap, &text, before);
  crd_history_right(heap, before);
  if (heap->stress.verifies) heap->stress.verify_ns += crd_stress_now(&heap->stress) - begin;
}

/* --- what each collection begins and ends with --- */

/* Collection is off, and one is needed: the program ends here. */
static CRADLE_COLD void refuse(cradle_heap *heap, cradle_cause cause) {
  if (cause != CRADLE_CAUSE_NURSERY_FULL && cause != CRADLE_CAUSE_LARGE && cause != CRADLE_CAUSE_MEMORY)
    crd_misuse(heap,
               "a collection was asked for, but collection is off (CRADLE_GC=off, options.gc): the program must not "
               "ask until it reports its roots");
  crd_misuse(heap,
             "there is no room, but collection is off (CRADLE_GC=off, options.gc): the nursery holds %" PRIu64
             " of its %zu bytes, and large objects %" PRIu64 "; CRADLE_GC_NURSERY or CRADLE_GC_MAX gives more room",
             nursery_filled(&heap->space), heap->space.nursery.bytes, heap->space.old.used_bytes);
}

/* Whether the collector has a thread. */
static inline bool has_marker(const cradle_heap *heap) {
  return CRADLE_UNLIKELY(heap->marking.marker.thread != NULL);
}

/* Returns the pause's start: the first look at the clock. What comes before that does not count as pause. The clock
 * is read only a few times in a pause, because an empty minor collection is so short that each reading would show. */
static uint64_t begin_collecting(cradle_heap *heap, cradle_cause cause) {
  crd_world_stop(&heap->space, "a collection");
  if (collection_is_off(&heap->options)) refuse(heap, cause);
  for (EACH_MUTATOR(mutator, &heap->space)) {
    /* Before the verifier, which reads the words of the ranges. */
    if (CRADLE_UNLIKELY(mutator_may_have_ranges(mutator))) crd_ranges_check(mutator);
    /* This collection serves the requests so far. A later request causes another collection. */
    __atomic_store_n(&mutator->pending_request, 0, __ATOMIC_SEQ_CST);
  }
  verify_if_asked(heap, true);
  heap_grows(heap, 0);
  crd_event_pause_begins(&heap->report);
  uint64_t begin = crd_platform_now_ns();
  (void)crd_state_enter(&heap->report, HEAP_COLLECTING);
  return begin;
}

static void end_collecting(cradle_heap *heap) {
  ASSERT(heap->report.state == HEAP_COLLECTING, "[heap.4] a collection ends that did not begin");
  ASSERT(space_has_no_records(&heap->space) && !heap->young.remember_all,
         "[minor.2] an old object is still remembered");
  ASSERT(heap->space.old.young_large == PAGE_NONE, "a large object is still young after a minor collection");
  ASSERT(heap->marking.major.phase == MAJOR_MARKING || word_stack_is_empty(&heap->marking.mark_stack),
         "the mark stack outlives marking");
  ASSERT(heap->marking.major.phase == MAJOR_MARKING || crd_marker_aside(&heap->marking.marker) == NULL,
         "[marker.6] what was put aside outlives marking");
  /* The nursery is empty, so its size may change. It is handed out here, at the end, so that this is done only once. */
  if (CRADLE_UNLIKELY(heap->young.adapt.cut_to != 0)) crd_adapt_cut(&heap->young);
  crd_nursery_hand_out(&heap->young, crd_adapt_hand_out(&heap->young));
  crd_state_leave(&heap->report, HEAP_MUTATING);
  verify_if_asked(heap, false);
}

/* --- minor collections --- */

static void count_minor(cradle_heap *heap, const cradle_event *event) {
  cradle_statistics *stats = &heap->report.stats;
  uint64_t duration = event->u.minor.duration_ns;
  stats->minor_collections = event->u.minor.number;
  stats->minor_causes[event->u.minor.cause]++;
  stats->minor_ns += duration;
  if (duration > stats->minor_max_ns) stats->minor_max_ns = duration;
  stats->allocated_bytes += event->u.minor.nursery_bytes;
  stats->collected_bytes += event->u.minor.nursery_bytes;
  stats->promoted_objects += event->u.minor.promoted_objects;
  stats->moved_objects += event->u.minor.promoted_objects;
  stats->promoted_bytes += event->u.minor.promoted_bytes;
  stats->remembered_objects += event->u.minor.remembered;
  stats->recorded_slots += event->u.minor.recorded;
}

/* What helpers did in a minor collection. */
static void count_help(cradle_heap *heap, const cradle_event *event) {
  cradle_statistics *stats = &heap->report.stats;
  stats->helped_collections += event->u.minor.helpers != 0;
  stats->helped_objects += event->u.minor.helped_objects;
  stats->helped_bytes += event->u.minor.helped_bytes;
  stats->helped_ns += event->u.minor.helped_ns;
  PROBE4(minor_help, heap, event->u.minor.helpers, event->u.minor.helped_bytes, event->u.minor.alone);
}

static bool is_short_of_reserve(const cradle_heap *heap) {
  return heap->space.old.arenas.free_count < heap->space.old.reserve;
}

/* Collects and leaves the nursery empty. begin: when the pause began. */
static void collect_minor(cradle_heap *heap, cradle_cause cause, uint64_t begin, cradle_event *event)
    CRADLE_MAY_COLLECT {
  heap->last_cause = cause;
  /* An event that nobody gets is not cleared: what is not set here and by crd_minor_run is of use to a listener only.
   * The sum over all allocators takes time, too. */
  if (CRADLE_UNLIKELY(event_wanted(&heap->report))) {
    uint64_t used = space_used_bytes(&heap->space), threshold = heap->marking.pacing.threshold;
    *event = (cradle_event){.kind = CRADLE_EVENT_MINOR_END, .u.minor.used_before = used};
    cradle_event begins = {.kind = CRADLE_EVENT_MINOR_BEGIN, .u.begin = {cause, used, threshold, heap->report.stop_by}};
    crd_event_send(&heap->report, &begins);
  }
  event->u.minor.cause = cause;
  event->u.minor.number = heap->report.stats.minor_collections + 1;
  event->u.minor.nursery_bytes = nursery_filled(&heap->space);
  crd_space_note_used(&heap->space); /* before the collection, when the most is in use */
  PROBE2(minor_begin, heap, cause);
  crd_minor_run(&heap->young, event);
  /* Before the nursery is emptied: the forwarded headers say which samples survived. */
  crd_sample_settle(&heap->sampling);
  ASSERT(event->u.minor.promoted_bytes <= event->u.minor.nursery_bytes, "more was promoted than the nursery held");
  crd_nursery_empty(&heap->young);
  /* Promotion has taken arenas from its reserve. They are replaced before the increment and before a compaction, which
   * counts on them. If they are refused, hand_out lowers the nursery's end. */
  if (is_short_of_reserve(heap)) (void)crd_arenas_ensure_free(&heap->space.old.arenas, heap->space.old.reserve);
  if (event_wanted(&heap->report)) {
    event->u.minor.used_after = space_used_bytes(&heap->space);
    event->u.minor.pinned_objects = heap->tables.pins.count;
  }
  event->u.minor.duration_ns = crd_platform_now_ns() - begin;
  count_minor(heap, event);
  if (has_marker(heap) || space_is_shared(&heap->space)) count_help(heap, event);
  PROBE3(minor_end, heap, event->u.minor.promoted_bytes, event->u.minor.duration_ns);
  crd_event_send(&heap->report, event);
}

/* The beginning of every pause. Returns its start. */
static uint64_t begin_pause(cradle_heap *heap, cradle_cause cause, cradle_event *minor) CRADLE_MAY_COLLECT {
  uint64_t begin = begin_collecting(heap, cause);
  if (has_marker(heap)) crd_marker_go_on_in_minor(&heap->marking);
  collect_minor(heap, cause, begin, minor);
  /* After the minor collection, because the thread marked beside it, and that is counted too. */
  if (has_marker(heap) || CRADLE_UNLIKELY(space_is_shared(&heap->space))) crd_marker_tell(&heap->marking);
  return begin;
}

/* Verifies between a minor collection and the increment of the same pause, so that a fault is reported where it was
 * made. */
static void verify_between(cradle_heap *heap) {
  if (!is_verified(heap)) return;
  end_collecting(heap);
  (void)crd_state_enter(&heap->report, HEAP_COLLECTING);
}

static void end_pause(cradle_heap *heap, cradle_cause cause, uint64_t begin) {
  cradle_statistics *stats = &heap->report.stats;
  end_collecting(heap);
  ASSERT(heap->space.old.reserve <= heap->space.old.arenas.free_count,
         "[heap.2] the promotion reserve is not there after a pause");
  /* Counted as part of the pause, because the program waits for it. */
  crd_arenas_settle(&heap->space.old.arenas, heap->space.old.reserve + heap->space.old.arenas.supply.ahead, begin,
                    GIVEN_BACK_MOST);
  crd_rest_pause_ended(&heap->marking, begin);
  uint64_t duration = crd_platform_now_ns() - begin;
  stats->pauses++;
  stats->pause_ns += duration;
  if (duration > stats->pause_max_ns) stats->pause_max_ns = duration;
  PROBE3(pause_end, heap, cause, duration);
  crd_event_pause(&heap->report, cause, duration);
  /* Only after a major collection is the kernel asked which pages back the arenas, because it takes long to answer. */
  bool major = stats->major_collections != heap->majors_measured;
  crd_statistics_arenas(heap, major);
  if (major) {
    crd_statistics_spans(heap);
    crd_statistics_types(heap);
  }
  heap->majors_measured = stats->major_collections;
  if (has_marker(heap)) crd_marker_go_on(&heap->marking);
}

void crd_collect_minor(cradle_heap *heap, cradle_cause cause) {
  cradle_event minor;
  uint64_t begin = begin_pause(heap, cause, &minor);
  end_pause(heap, cause, begin);
}

/* --- increments --- */

static const crd_budget WHOLE = {UINT64_MAX, UINT64_MAX, false};

/* By how much `bytes` is more than `others`; 0: it is not. */
static uint64_t beyond(uint64_t bytes, uint64_t others) {
  return bytes > others ? bytes - others : 0;
}

/* Whether the collector's thread marks between pauses. Increments then only help out. */
static bool marks_beside(const cradle_heap *heap) {
  return has_marker(heap) && heap->marking.major.phase == MAJOR_MARKING;
}

/* Whether the heap has grown since sweeping began, because more was promoted than was swept. */
static bool outruns_sweeping(const crd_marking *marking) {
  return marking->major.phase == MAJOR_SWEEPING &&
         marking->old->used_bytes > marking->major.used_before_sweep + marking->pacing.min / OVERSHOOT_SHARE;
}

/* Whether one pause may do all that is left. With a pause target that holds for marking only: to clear a chain of a
 * million dead finalizers takes half a second, and the heap grows little meanwhile, because less and less of the
 * nursery is handed out (gc/young/adapt.c). */
static bool may_do_all(const cradle_heap *heap) {
  return heap->options.pause_ns == 0 || heap->options.stress_period != 0 || heap->marking.major.phase == MAJOR_MARKING;
}

/* How much an increment may do. begin: when its pause began. promoted: the bytes since the last increment, with large
 * objects. The first condition that holds decides:
 *
 *   the heap is far above its limit          all that is left, if one pause may do it
 *   stress, and the heap outruns sweeping    all that is left: rare stress collections sweep less than is promoted
 *   stress                                   the smallest increment
 *   no pause target and no second core       all that is left
 *   the heap is at rest (gc/old/rest.h)      what fits into the pause target
 *   no second core marks                     what pacing asks for, until the deadline
 *   the second core has nothing to mark      what is not marked yet: the tables, and objects that were put aside
 *   otherwise                                what is needed beyond the second core's work; if that was enough, only
 *                                            the objects that were put aside
 */
crd_budget crd_collect_budget(cradle_heap *heap, uint64_t begin, uint64_t promoted) {
  const crd_pacing *pacing = &heap->marking.pacing;
  const crd_major *major = &heap->marking.major;
  uint64_t used = crd_major_counted_bytes(&heap->marking), target = heap->options.pause_ns;
  bool grows = has_marker(heap) && !heap->marking.marker.takes_turns && heap->options.stress_period == 0;
  uint64_t limit = grows ? crd_pacing_limit_beside(pacing, crd_major_threshold_max(&heap->marking)) : pacing->threshold;
  uint64_t start = major->collected_at_start; /* may be above the limit: one large array is enough */
  /* An array that doubles makes a heap large at once. That is not the sign of marking that falls behind, which one long
   * pause would have to end. */
  uint64_t most = (start > limit ? start : limit) + beyond(heap->space.old.large_bytes, major->large_at_start);
  if (may_do_all(heap) && used > most + (most + pacing->min) / OVERSHOOT_SHARE) return WHOLE;
  if (heap->options.stress_period != 0) return outruns_sweeping(&heap->marking) ? WHOLE : (crd_budget){0, 0, false};
  if (target == 0 && !marks_beside(heap)) return WHOLE;
  bool rests = heap->marking.rest.active;
  /* What the roots took does not count: where they take longer than the target, increments would do nothing. */
  uint64_t now = crd_platform_now_ns(), roots_ns = (uint64_t)crd_adapt_roots_least_ns(&heap->young.adapt);
  if (!rests) begin += roots_ns < now - begin ? roots_ns : now - begin;
  uint64_t deadline = target == 0 ? NO_TARGET_DEADLINE : crd_pacing_deadline(begin, now, target);
  if (rests) return (crd_budget){UINT64_MAX, deadline, false};
  uint64_t unmarked = beyond(major->used_at_start + major->again_bytes, major->bytes);
  uint64_t done = heap->marking.marker.last.bytes, needed = crd_pacing_needed(limit, promoted, used, unmarked + done);
  if (!marks_beside(heap)) return (crd_budget){crd_pacing_increment(pacing, promoted, used, unmarked), deadline, false};
  if (word_stack_is_empty(&heap->marking.mark_stack))
    return (crd_budget){unmarked > BESIDE_MIN_BYTES ? unmarked : BESIDE_MIN_BYTES, deadline, false};
  return (crd_budget){beyond(needed, done), deadline, needed <= done};
}

/* Without a pause target and without a second core, the whole collection is one increment, at the threshold.
 * Otherwise it begins earlier, so that marking is over at the threshold. */
uint64_t crd_collect_due_at(cradle_heap *heap) {
  return heap->options.pause_ns == 0 && !crd_marker_helps(&heap->marking)
             ? heap->marking.pacing.threshold
             : crd_pacing_trigger(&heap->marking.pacing, crd_major_counted_bytes(&heap->marking));
}

static void begin_major(crd_marking *marking, cradle_cause cause) {
  crd_major_start(marking, cause);
  marking->marker.last = (crd_marker_work){0}; /* what it did in an earlier collection does not count for this one */
  crd_marker_begin(marking); /* after the roots were marked, so that the thread has something to trace */
}

/* rare: the next pause may be far, because the program allocates little but large objects. Then the next phase follows
 * while there is time, or all that is allocated until the next pause would be born marked. */
static void increment(cradle_heap *heap, crd_budget budget, bool rare) {
  const crd_major *major = &heap->marking.major;
  bool goes_on = true;
  while (goes_on && major->phase != MAJOR_IDLE) {
    crd_major_phase phase = major->phase;
    crd_major_step(&heap->marking, budget);
    goes_on = budget.deadline_ns == UINT64_MAX
                  ? may_do_all(heap)
                  : rare && major->phase != phase && crd_platform_now_ns() < budget.deadline_ns;
  }
}

/* After the minor collection of the same pause: begins a major collection if one is due, and does its next
 * increment. If the program has disabled major collections, this happens only when memory for promotion is short
 * and an allocation would soon be refused. */
static void step_if_due(cradle_heap *heap, cradle_cause cause, uint64_t begin, uint64_t promoted) {
  crd_marking *marking = &heap->marking;
  crd_major *major = &marking->major;
  if (heap->majors_disabled != 0 && !heap->space.nursery.lowered && !is_short_of_reserve(heap)) return;
  ASSERT(nursery_filled(&heap->space) == 0, "[heap.6] an increment comes right after a minor collection");
  /* Under stress a major collection always runs. */
  bool begins = major->phase == MAJOR_IDLE, stress = heap->options.stress_period != 0;
  bool aged = crd_rest_is_due(marking, begin);
  if (begins && !stress && !aged && crd_major_counted_bytes(marking) < crd_collect_due_at(heap)) return;
  if (aged) crd_rest_begin(marking);
  if (aged)
    cause = CRADLE_CAUSE_AGE;
  else if (cause == CRADLE_CAUSE_NURSERY_FULL)
    cause = CRADLE_CAUSE_THRESHOLD;
  if (begins) begin_major(marking, cause);
  bool beside = marks_beside(heap), rare = cause == CRADLE_CAUSE_LARGE;
  if (begins && beside && !rare && !stress) return; /* the roots are marked; the thread does the rest */
  crd_budget budget = crd_collect_budget(heap, begin, promoted);
  uint64_t marked = major->bytes;
  /* If the thread did enough, and nothing waits for the mutator, this pause marks nothing. */
  bool enough = beside && budget.aside && crd_marker_aside(&marking->marker) == NULL;
  if (!enough) increment(heap, budget, rare);
  if (beside) crd_pacing_marked(&marking->pacing, marking->marker.last.bytes + major->bytes - marked);
  /* A compaction is one long pause. With a pause target, it waits until it is asked for, memory runs out, or a small
   * heap is at rest. */
  if (major->phase != MAJOR_IDLE) return;
  if (crd_rest_may_compact(marking))
    crd_compact(marking, false);
  else if (heap->options.pause_ns == 0)
    crd_compact_if_due(marking);
}

/* Prepares the arenas that the next minor collections are likely to fill, so that promotion meets no page fault: one
 * collection, or two if nobody does it beside the program. The mutator waits for this, but after the pause. It is left
 * out for programs that promote little. promoted: the bytes of the last minor collection. The rest of the promotion
 * reserve stays untouched, because it is three quarters of a nursery larger than what a program promotes as a rule. */
static void prepare_arenas(cradle_heap *heap, uint64_t promoted) {
  uint64_t average = heap->marking.pacing.promoted_average;
  if (average < PREPARE_MIN_BYTES || heap->options.stress_period != 0 || heap->small) return;
  uint32_t next = (uint32_t)(average / ARENA_BYTES) + 1;
  uint32_t twice = (uint32_t)(2 * (promoted > average ? promoted : average) / ARENA_BYTES) + 1;
  uint32_t reserve = heap->space.old.reserve, wanted = has_marker(heap) ? next : twice;
  if (wanted > reserve) wanted = reserve;
  uint64_t begin = crd_platform_now_ns();
  ASSERT(heap->report.state == HEAP_MUTATING, "arenas are populated in a pause");
  if (has_marker(heap)) (void)crd_supply_settle(&heap->space.old.arenas);
  bool ready = crd_arenas_prepare(&heap->space.old.arenas, wanted) == wanted;
  /* If they are not ready, memory is short, or the system cannot populate arenas. */
  if (has_marker(heap) && ready) crd_marker_supply(&heap->marking, twice < reserve ? twice : reserve, next);
  heap->report.stats.prepare_ns += crd_platform_now_ns() - begin;
}

/* How many bytes of large objects were allocated since the last pause and are still live. While no major collection
 * runs, large objects cause no pauses. Pacing would expect as many at every pause: at most a nursery's bytes then. */
static uint64_t grown_large(const cradle_heap *heap, uint64_t freed) {
  uint64_t large = beyond(heap->marking.major.large_bytes, freed), nursery = heap->space.nursery.bytes;
  return heap->marking.major.phase == MAJOR_IDLE && large > nursery ? nursery : large;
}

/* The pause of gc/collect.h, line by line. */
void crd_collect(cradle_heap *heap, cradle_cause cause) {
  cradle_event minor;
  uint64_t entered = crd_stress_enter(&heap->stress), begin = begin_pause(heap, cause, &minor);
  verify_between(heap);
  crd_adapt_after_minor(&heap->young, &minor);
  uint64_t promoted = minor.u.minor.promoted_bytes, large = grown_large(heap, minor.u.minor.large_freed_bytes);
  crd_pacing_promoted(&heap->marking.pacing, promoted, large);
  crd_rest_pause(&heap->marking, begin, minor.u.minor.nursery_bytes);
  step_if_due(heap, cause, begin, promoted + large);
  heap->marking.major.large_bytes = 0;
  end_pause(heap, cause, begin);
  crd_world_go_on(&heap->space);
  prepare_arenas(heap, promoted);
  crd_stress_spend(&heap->stress, entered);
}

/* --- complete major collections --- */

/* Several steps, because each step ends with its phase. */
static void finish(crd_marking *marking) {
  while (marking->major.phase != MAJOR_IDLE) crd_major_step(marking, WHOLE);
}

/* Gives memory back to the system: a full collection whole arenas, a compacting one also the contents of pages that
 * stay committed, which cost page faults when they are used again. */
static void release_memory(cradle_heap *heap, cradle_collection_kind kind) {
  if (kind == CRADLE_COLLECT_MAJOR) return;
  crd_arenas_release(&heap->space.old.arenas, heap->space.old.reserve, UINT32_MAX);
  crd_nursery_discard(&heap->young, false);
  if (kind != CRADLE_COLLECT_COMPACTING) return;
  for (EACH_LOCAL(local, &heap->space)) {
    crd_word_stack_discard(&local->remembered, heap->hardware.page_bytes);
    crd_word_stack_discard(&local->recorded, heap->hardware.page_bytes);
  }
  crd_word_stack_discard(&heap->marking.mark_stack, heap->hardware.page_bytes);
  crd_marker_discard(&heap->marking);
  crd_services_discard(heap->space.services);
  crd_arenas_discard_free(&heap->space.old.arenas);
  crd_nursery_discard(&heap->young, true);
}

void crd_collect_major(cradle_heap *heap, cradle_cause cause, cradle_collection_kind kind) {
  cradle_event minor;
  if (collection_is_off(&heap->options)) refuse(heap, cause);
  uint64_t entered = crd_stress_enter(&heap->stress), begin = begin_pause(heap, CRADLE_CAUSE_MAJOR, &minor);
  verify_between(heap);
  heap->last_cause = cause;
  finish(&heap->marking); /* a collection that runs may have marked objects that are dead by now */
  crd_major_start(&heap->marking, cause);
  finish(&heap->marking);
  /* Compaction lets the pages go back, too. */
  if (kind == CRADLE_COLLECT_FULL && crd_compact_is_sparse(&heap->marking)) kind = CRADLE_COLLECT_COMPACTING;
  if (kind == CRADLE_COLLECT_COMPACTING) crd_compact(&heap->marking, cause == CRADLE_CAUSE_STRESS);
  /* Under stress nothing is given back, because the poison in it would be lost. */
  if (cause != CRADLE_CAUSE_STRESS) release_memory(heap, kind);
  end_pause(heap, cause, begin);
  crd_stress_spend(&heap->stress, entered);
}

static CRADLE_NOINLINE void collect_in_world(cradle_mutator *mutator, cradle_collection_kind kind) CRADLE_MAY_COLLECT {
  crd_space *space = &mutator->heap->space;
  crd_world_enter(space, mutator_of(mutator));
  if (kind == CRADLE_COLLECT_MINOR)
    crd_collect_minor(mutator->heap, CRADLE_CAUSE_REQUEST);
  else
    crd_collect_major(mutator->heap, CRADLE_CAUSE_REQUEST, kind);
  crd_world_leave(space);
}

void cradle_collect(cradle_mutator *mutator, cradle_collection_kind kind) {
  crd_mutator_check(mutator, "cradle_collect");
  if ((unsigned)kind > CRADLE_COLLECT_COMPACTING)
    crd_misuse(mutator->heap,
               "cradle_collect: %u is no kind of collection: give CRADLE_COLLECT_MINOR, _MAJOR, _FULL or _COMPACTING",
               (unsigned)kind);
  if (kind == CRADLE_COLLECT_MINOR && !space_is_shared(&mutator->heap->space))
    crd_collect_minor(mutator->heap, CRADLE_CAUSE_REQUEST);
  else
    collect_in_world(mutator, kind);
}

bool cradle_collect_step(cradle_mutator *mutator, uint64_t most_ns) {
  crd_mutator_check(mutator, "cradle_collect_step");
  cradle_heap *heap = mutator->heap;
  cradle_event minor;
  crd_world_enter(&heap->space, mutator_of(mutator));
  uint64_t begin = begin_pause(heap, CRADLE_CAUSE_REQUEST, &minor);
  verify_between(heap);
  if (heap->marking.major.phase == MAJOR_IDLE) begin_major(&heap->marking, CRADLE_CAUSE_REQUEST);
  uint64_t deadline = most_ns > UINT64_MAX - 1 - begin ? UINT64_MAX : begin + most_ns;
  bool by_clock = heap->options.stress_turns == 0; /* otherwise the least that a step does */
  crd_major_step(&heap->marking, (crd_budget){by_clock ? UINT64_MAX : 0, by_clock ? deadline : 0, false});
  end_pause(heap, CRADLE_CAUSE_REQUEST, begin);
  bool is_over = heap->marking.major.phase == MAJOR_IDLE;
  crd_world_leave(&heap->space);
  return is_over;
}

void cradle_finalizer_queue_all(cradle_mutator *mutator) {
  crd_mutator_check(mutator, "cradle_finalizer_queue_all");
  crd_space *space = &mutator->heap->space;
  if (space->services == NULL) return;
  crd_world_enter(space, mutator_of(mutator));
  /* After this no major collection runs, and all objects that are still listed are alive. */
  crd_collect_major(mutator->heap, CRADLE_CAUSE_REQUEST, CRADLE_COLLECT_MAJOR);
  crd_world_stop(space, "cradle_finalizer_queue_all");
  crd_finalizers_queue_all(space->services);
  crd_world_leave(space);
}
