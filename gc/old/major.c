#include "gc/old/major.h"

#include "gc/base/probes.h"
#include "gc/old/mark.h"
#include "gc/old/marking.h"
#include "gc/platform/pages.h"
#include "gc/tables/identity.h"

#define FROM(phase) (1u << MAJOR_##phase)

/* from: the phases that this one may follow. */
static void enter_phase(crd_marking *marking, unsigned from, crd_major_phase phase) {
  crd_major *major = &marking->major;
  ASSERT(from >> major->phase & 1, "[major.1] a phase of the major collection follows the wrong one");
  ASSERT(phase == MAJOR_MARKING || word_stack_is_empty(&marking->mark_stack),
         "[major.3] the mark stack outlives a phase");
  ASSERT(phase == MAJOR_MARKING || !major->overflowed, "[major.3] an object is grey when marking is over");
  ASSERT(phase != MAJOR_IDLE || !marking->old->born_marked, "[major.3] objects are born marked while nothing marks");
  major->phase = phase;
}

static void begin_census(const crd_marking *marking) {
  const crd_space *space = marking->space;
  if (CRADLE_UNLIKELY(space->options->report_types != 0) && event_wanted(space->report) &&
      !census_begin(&marking->old->census, space->types.count))
    crd_event_note(space->report, "no memory to count live objects by type", 0, 0);
}

static void begin_sweeping(crd_marking *marking) {
  enter_phase(marking, FROM(MARKING) | FROM(CLEARING), MAJOR_SWEEPING);
  marking->major.used_before_sweep = marking->old->used_bytes;
  crd_curve_end_marking(&marking->curve, marking->old, marking->space->nursery.bytes);
  crd_space_note_used(marking->space);
  begin_census(marking);
  crd_sweep_begin(marking->old);
}

static void end_marking(crd_marking *marking) {
  const crd_space *space = marking->space;
  if (space->death == NULL) {
    begin_sweeping(marking);
  } else {
    enter_phase(marking, FROM(MARKING), MAJOR_CLEARING);
    space->death->begin(space->services);
  }
}

uint64_t crd_major_counted_bytes(const crd_marking *marking) {
  return marking->old->used_bytes + marking->external_bytes;
}

uint64_t crd_major_threshold_max(const crd_marking *marking) {
  size_t max = marking->space->options->heap_max_bytes;
  if (max == 0) return 0;
  return (max < COUNTED_MAX_BYTES ? max : COUNTED_MAX_BYTES) + marking->external_bytes;
}

/* born: what was promoted and allocated old while marking went on. The dead may have had external memory, too. */
static void end_cycle(crd_marking *marking) {
  crd_major *major = &marking->major;
  cradle_statistics *stats = &marking->space->report->stats;
  ASSERT(major->swept.freed_bytes <= major->used_before_sweep, "more was freed than was in use");
  uint64_t born = major->used_before_sweep > major->used_at_start ? major->used_before_sweep - major->used_at_start : 0;
  uint64_t survived = crd_major_counted_bytes(marking), freed = major->swept.freed_bytes;
  if (major->collected_at_start + born > survived + freed) freed = major->collected_at_start + born - survived;
  bool was_due = major->cause == CRADLE_CAUSE_THRESHOLD || major->cause == CRADLE_CAUSE_LARGE;
  crd_pacing_update(&marking->pacing, survived, freed, born, was_due, crd_major_threshold_max(marking));
  enter_phase(marking, FROM(SWEEPING), MAJOR_IDLE);
  stats->major_collections++;
  stats->major_causes[major->cause]++;
  stats->live_bytes = space_used_bytes(marking->space);
  if (stats->live_bytes > stats->live_peak_bytes) stats->live_peak_bytes = stats->live_bytes;
}

static void advance(crd_marking *marking, crd_budget budget) {
  crd_major *major = &marking->major;
  switch (major->phase) {
  case MAJOR_IDLE: break;
  case MAJOR_MARKING:
    if (crd_mark_some(marking, budget)) end_marking(marking);
    break;
  case MAJOR_CLEARING:
    if (marking->space->death->clear(marking->space->services, &budget)) begin_sweeping(marking);
    break;
  case MAJOR_SWEEPING:
    if (!crd_ids_purge(marking->tables, &major->purge_id, budget.deadline_ns)) break;
    if (marking_may_lead(marking) && budget.deadline_ns == UINT64_MAX) crd_marker_sweep(marking);
    if (crd_sweep_some(marking->old, &major->sweep_page, space_remains(marking->space, true), budget.deadline_ns,
                       &major->swept))
      end_cycle(marking);
    break;
  }
}

/* --- what is told --- */

static void send_begin(const crd_marking *marking) {
  crd_heap_report *report = marking->space->report;
  cradle_cause cause = marking->major.cause;
  uint64_t used = space_used_bytes(marking->space), threshold = marking->pacing.threshold;
  PROBE2(major_begin, report, cause);
  crd_event_send(
      report, &(cradle_event){.kind = CRADLE_EVENT_MAJOR_BEGIN, .u.begin = {cause, used, threshold, report->stop_by}});
}

/* before: the figures from before the increment; the event reports the differences. */
static void send_step_end(const crd_marking *marking, const crd_major *before, uint64_t duration) {
  const crd_major *major = &marking->major;
  const crd_swept *swept = &major->swept, *swept_before = &before->swept;
  PROBE4(step_end, marking->space->report, before->phase, major->phase, major->bytes - before->bytes);
  crd_event_send(marking->space->report,
                 &(cradle_event){.kind = CRADLE_EVENT_STEP_END,
                                 .u.step = {(cradle_phase)before->phase, (cradle_phase)major->phase,
                                            major->objects - before->objects, major->bytes - before->bytes,
                                            swept->freed_objects - swept_before->freed_objects,
                                            swept->freed_bytes - swept_before->freed_bytes,
                                            swept->freed_spans - swept_before->freed_spans, duration}});
}

static void send_end(const crd_marking *marking) {
  crd_heap_report *report = marking->space->report;
  const crd_major *major = &marking->major;
  PROBE3(major_end, report, marking->old->used_bytes, major->work_ns);
  crd_event_send(report, &(cradle_event){.kind = CRADLE_EVENT_MAJOR_END,
                                         .u.major = {major->cause, report->stats.major_collections,
                                                     major->used_before_sweep, space_used_bytes(marking->space),
                                                     marking->pacing.threshold, major->work_ns}});
}

static void count_step(crd_marking *marking, uint64_t duration) {
  cradle_statistics *stats = &marking->space->report->stats;
  marking->major.work_ns += duration;
  marking->major.large_bytes = 0;
  stats->major_ns += duration;
  stats->major_steps++;
  if (duration > stats->major_max_ns) stats->major_max_ns = duration;
}

/* Pacing learns what increments mark. Where they fall behind, gc/young/adapt.c makes them come more often. Nobody knows
 * how much clearing has left to do: it is behind when the heap is above the threshold. */
static void judge(crd_marking *marking, crd_major_phase before, crd_budget budget, uint64_t marked) {
  crd_major *major = &marking->major;
  bool behind = before == MAJOR_CLEARING && major->phase == MAJOR_CLEARING &&
                crd_major_counted_bytes(marking) > marking->pacing.threshold;
  if (before == MAJOR_MARKING) {
    bool reached = major->phase != MAJOR_MARKING || marked >= budget.bytes;
    /* What has no deadline marks everything at once and says nothing of increments. */
    if (budget.deadline_ns != UINT64_MAX && marking->marker.thread == NULL) crd_pacing_marked(&marking->pacing, marked);
    if (reached && major->behind > 0) major->behind--;
    behind = !reached && budget.bytes != UINT64_MAX; /* else it was asked for all that a time allows */
  }
  if (behind && major->behind < BEHIND_MOST) major->behind++;
}

/* --- the increments --- */

void crd_major_start(crd_marking *marking, cradle_cause cause) {
  ASSERT(marking->major.phase == MAJOR_IDLE, "[major.1] a major collection begins while one runs");
  marking->major = (crd_major){.cause = cause,
                               .used_at_start = marking->old->used_bytes,
                               .large_at_start = marking->old->large_bytes,
                               .collected_at_start = crd_major_counted_bytes(marking)};
  enter_phase(marking, FROM(IDLE), MAJOR_MARKING);
  send_begin(marking);
  crd_curve_begin_marking(&marking->curve);
  crd_mark_start(marking);
}

void crd_major_step(crd_marking *marking, crd_budget budget) {
  const crd_major before = marking->major;
  ASSERT(before.phase != MAJOR_IDLE, "[major.1] an increment of no major collection");
  ASSERT(nursery_filled(marking->space) == 0 && marking->old->young_large == PAGE_NONE,
         "[major.2] an increment before a minor collection");
  uint64_t begin = crd_platform_now_ns();
  crd_event_send(marking->space->report, &(cradle_event){.kind = CRADLE_EVENT_STEP_BEGIN});
  PROBE2(step_begin, marking->space->report, before.phase);
  advance(marking, budget);
  uint64_t duration = crd_platform_now_ns() - begin;
  count_step(marking, duration);
  judge(marking, before.phase, budget, marking->major.bytes - before.bytes);
  send_step_end(marking, &before, duration);
  if (marking->major.phase == MAJOR_IDLE) send_end(marking);
}
