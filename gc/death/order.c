#include "gc/death/order.h"

#include "gc/death/ephemeron.h"
#include "gc/death/services.h"
#include "gc/death/stored.h"
#include "gc/death/weak.h"
#include "gc/death_calls.h"

/* --- minor collections --- */

/* Whether nothing is left on the stacks of a collection that is over [services.4]. */
static bool is_done(const crd_death *death) {
  const crd_reach *reach = &death->reach;
  return word_stack_is_empty(&reach->slots) && word_stack_is_empty(&reach->open) && word_stack_is_empty(&reach->path) &&
         reach->holder == NULL && reach->closing.step == CLOSING_NONE && candidates_count(&death->candidates) == 0 &&
         death->item == 0;
}

/* The numbers are the steps of gc/death/order.h. Finalizers are found before weak slots are cleared, because only if
 * there will be any the slots of dead holders are cleared too: such a holder may come back. */
static void run_minor(crd_services *services, crd_minor *minor, crd_stored stored) {
  crd_death *death = &services->minor;
  ASSERT(is_done(death), "[services.4] a minor collection begins with what another one left");
  death->minor = minor;
  death->stored = stored;
  crd_registry_distribute(death);
  bool keeps = crd_ephemerons_reach(death);  /* 2 */
  bool revives = crd_finalizers_find(death); /* 4: finds them, so that 3 knows */
  if (keeps || revives) crd_registry_distribute_rest(death);
  crd_weak_clear(death);      /* 3 */
  crd_weak_sets_clear(death); /* 3 */
  if (revives) {
    (void)crd_finalizers_reach(death, NULL); /* 4 */
    crd_ephemerons_complete(death);          /* 5 */
    (void)crd_finalizers_queue(death, NULL); /* 4 */
  }
  crd_ephemerons_clear(death);  /* 6 */
  crd_destructors_minor(death); /* 7 */
  if (revives) crd_weak_settle(death);
  for (int kind = 0; kind < REGISTERED_KINDS; kind++) services->lists[kind].young = services->lists[kind].words.top;
  crd_weak_sets_tell(services); /* 8 */
  crd_watch_clear(&death->watch);
  crd_registry_allow(services);
  ASSERT(is_done(death), "[services.4] a minor collection leaves something to do");
}

/* What this minor collection found remembered may be holders that marking has scanned already. */
static void minor_ended(crd_services *services) {
  crd_word_stack *items = &services->items;
  if (services->marking->major.phase == MAJOR_MARKING && services->marking->major.watching)
    crd_ephemerons_stored(services);
  items->top = items->base;
}

/* --- major collections --- */

static void mark_starts(crd_services *services) {
  services->marking->major.watching = false;
  reach_begin(&services->major.reach);
  crd_finalizers_mark_begin(services);
}

static bool mark_more(crd_services *services, uint64_t *bytes) {
  return crd_finalizers_mark_some(services) || crd_ephemerons_mark_more(services, bytes);
}

/* The mutator has a copy of the guard, so that cradle_weak_get can test it inline. */
static void set_guard(crd_services *services) {
  if (services->space->mutator != NULL) services->space->mutator->public.weak_guard = crd_death_guards(services);
}

static void begin_clearing(crd_services *services) {
  ASSERT(services->stage == STAGE_NONE, "[order.1] clearing begins while it is under way");
  ASSERT(is_done(&services->major), "[services.4] marking left something to do");
  services->marking->major.watching = false;
  services->stage = STAGE_WEAK;
  crd_weak_sets_begin(&services->sets);
  set_guard(services);
}

/* Goes on with a pass over the old objects of a list. true: the pass is over, and the list has no gap any more. */
static bool pass(crd_death *death, int kind, crd_entry_function judge, crd_pace *pace) {
  crd_list *list = &death->services->lists[kind];
  if (list->words.base == NULL) return true;
  ASSERT(list->young == list->words.top, "[services.1] a pass while objects are young");
  /* Kept entries are moved down as the pass goes, so that dropping one costs nothing and the pass can stop anywhere. */
  while (list->next < list->young) {
    crd_verdict verdict = judge(death, list->next);
    if (verdict == ENTRY_KEEP) *list->kept++ = *list->next;
    if (verdict != ENTRY_AGAIN) list->next++;
    if (pace_is_over(pace)) return false;
  }
  list->words.top = list->young = list->kept;
  list->kept = list->next = list->words.base;
  return true;
}

/* Does an increment of the stage under way. true: the stage is over. */
static bool advance(crd_services *services, crd_pace *pace) {
  crd_death *death = &services->major;
  switch (services->stage) {
  case STAGE_WEAK: return pass(death, REGISTERED_WEAK, crd_weak_clear_entry, pace);
  case STAGE_SETS: return crd_weak_sets_pass(death, pace);
  case STAGE_FIND: return pass(death, REGISTERED_FINALIZER, crd_finalizers_find_entry, pace);
  case STAGE_REACH: return crd_finalizers_reach(death, pace);
  case STAGE_QUEUE: return crd_finalizers_queue(death, pace);
  case STAGE_EPHEMERONS: return pass(death, REGISTERED_EPHEMERON, crd_ephemerons_clear_entry, pace);
  case STAGE_HOLDERS: return pass(death, REGISTERED_WEAK, crd_weak_settle_entry, pace);
  case STAGE_DESTRUCTORS: return pass(death, REGISTERED_DESTRUCTOR, crd_destructors_entry, pace);
  case STAGE_TRIM: return crd_services_trim(death, pace);
  case STAGE_NONE: return true;
  }
  return true;
}

/* Does what comes once, before the stage. */
static void enter(crd_services *services, crd_stage stage) {
  services->stage = stage;
  if (stage == STAGE_QUEUE) crd_ephemerons_complete(&services->major); /* 5 */
  if (stage == STAGE_HOLDERS) set_guard(services);
  /* External sizes and callbacks come when all destructors have run. */
  if (stage != STAGE_TRIM) return;
  crd_destructors_end(services);
  crd_weak_sets_tell(services); /* 8 */
}

static bool clear_some(crd_services *services, const crd_budget *budget) {
  crd_pace pace = {*budget, budget->bytes == 0 ? STEP_ENTRIES : PACE_ENTRIES};
  ASSERT(services->marking->major.phase == MAJOR_CLEARING, "[order.1] clearing outside of its phase");
  ASSERT(services->space->mutator == NULL ||
             !services->space->mutator->public.weak_guard == !crd_death_guards(services),
         "[order.2] the guard is not where the stage wants it");
  /* A stage that is over leaves the rest of the pace to the next one. */
  while (services->stage != STAGE_NONE) {
    if (!advance(services, &pace)) return false;
    enter(services, (crd_stage)(services->stage + 1));
  }
  ASSERT(is_done(&services->major), "[services.4] a major collection leaves something to do");
  ASSERT(services->space->open_flags == 0, "[reach.3] headers are open, and no order is looked for");
  return true;
}

bool crd_death_guards(const crd_services *services) {
  return services != NULL && services->stage < STAGE_HOLDERS;
}

const crd_death_calls *crd_order_calls(void) {
  static const crd_death_calls calls = {.minor_deaths = run_minor,
                                        .minor_ended = minor_ended,
                                        .record = crd_stored_record,
                                        .mark_starts = mark_starts,
                                        .mark_more = mark_more,
                                        .traced = crd_ephemerons_traced,
                                        .begin = begin_clearing,
                                        .clear = clear_some,
                                        .each_slot = crd_registry_each_slot,
                                        .each_word = crd_registry_each_word};
  return &calls;
}
