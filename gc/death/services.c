#include "gc/death/services.h"

#include "gc/death/ephemeron.h"
#include "gc/mutator.h"
#include "gc/report/report.h"

/* --- destructors and external sizes --- */

/* Calls the destructors of entries. As for size_of, every call of the library from the callback is misuse: the memory
 * of dead objects is still whole, but what they refer to may be gone. */
static void destroy(crd_services *services, const cradle_word *from, const cradle_word *end) {
  crd_state before = crd_state_enter(services->space->report, HEAP_DESTROYING);
  for (; from < end; from++) {
    cradle_destructor_function destructor = space_type(services->space, *object_at(*from))->destructor;
    if (destructor != NULL) destructor(services->space->options->user, object_at(*from));
  }
  crd_state_leave(services->space->report, before);
}

static uint64_t size_of(crd_services *services, cradle_word *object) {
  cradle_external_size_function external_size = space_type(services->space, object[0])->external_size;
  if (external_size == NULL) return 0;
  crd_state before = crd_state_enter(services->space->report, HEAP_DESTROYING);
  uint64_t bytes = external_size(services->space->options->user, object);
  crd_state_leave(services->space->report, before);
  return bytes;
}

/* The sum, at most COUNTED_MAX_BYTES: a callback may return anything. */
static uint64_t counted(uint64_t sum, uint64_t bytes) {
  return bytes < COUNTED_MAX_BYTES - sum ? sum + bytes : COUNTED_MAX_BYTES;
}

/* part: of the sum external_bytes. */
static void recount(crd_services *services, uint64_t *part, uint64_t bytes) {
  ASSERT(services->marking->external_bytes >= crd_destructors_owned_bytes(services), "external sizes wrap around");
  services->marking->external_bytes += bytes - *part;
  *part = bytes;
}

/* A major collection sums up the sizes anew: they may have changed since the last one, and nobody reported that. */
static crd_verdict destructor_entry(crd_death *death, cradle_word *entry) {
  crd_services *services = death->services;
  uintptr_t place = death_find(death, *entry);
  if (place == 0) {
    destroy(services, entry, entry + 1);
    return ENTRY_DROP;
  }
  uint64_t *sum = death->is_minor ? &services->owned.bytes : &services->owned.recounted_bytes;
  uint64_t bytes = counted(*sum, size_of(services, object_at(place)));
  if (death->is_minor)
    recount(services, sum, bytes);
  else
    *sum = bytes;
  *entry = place;
  return ENTRY_KEEP;
}

bool crd_destructors_adopt(crd_services *services, cradle_word *object) {
  if (!crd_registry_adopt(services, REGISTERED_DESTRUCTOR, address_of(object))) return false;
  recount(services, &services->owned.bytes, counted(services->owned.bytes, size_of(services, object)));
  return true;
}

static void destructors_minor(crd_death *death) {
  crd_services *services = death->services;
  list_pass_young(death, &services->lists[REGISTERED_DESTRUCTOR], destructor_entry);
  /* Most objects that die young were never moved to a list, but stayed in fresh. */
  for (EACH_LOCAL(local, death->space)) {
    if (death->unlisted >> REGISTERED_DESTRUCTOR & 1) destroy(services, local->fresh.base, local->fresh.top);
    local->fresh.top = local->fresh.base;
  }
  /* The pressure stood for young objects. Those that live are counted by their sizes now. */
  recount(services, &services->owned.pressure_bytes, 0);
}

static void destructors_end(crd_services *services) {
  recount(services, &services->owned.bytes, services->owned.recounted_bytes);
  services->owned.recounted_bytes = 0;
}

void crd_destructors_fini(crd_services *services) {
  const crd_list *list = &services->lists[REGISTERED_DESTRUCTOR];
  destroy(services, list->words.base, list->kept);
  destroy(services, list->next, list->words.top);
}

uint64_t crd_destructors_owned_bytes(const crd_services *services) {
  return services == NULL ? 0 : services->owned.bytes + services->owned.pressure_bytes;
}

void cradle_external_pressure(cradle_mutator *mutator, size_t bytes) {
  crd_mutator_check_thread(mutator, "cradle_external_pressure");
  crd_space *space = mutator_of(mutator)->space;
  space_lock(space);
  crd_services *services = crd_registry_open(space, mutator_of(mutator)->marking);
  uint64_t pressure = services == NULL ? 0 : counted(services->owned.pressure_bytes, bytes);
  if (services != NULL) recount(services, &services->owned.pressure_bytes, pressure);
  space_unlock(space);
  if (services == NULL) return; /* without memory for services no object of such a type exists either */
  /* Pressure of a nursery's size asks for a minor collection, as if it had filled the nursery. */
  if (pressure >= services->space->nursery.bytes && !collection_is_off(services->space->options))
    cradle_safepoint_request(mutator);
}

/* --- minor collections --- */

/* Whether nothing is left on the stacks of a collection that is over [services.4]. */
static bool is_done(const crd_death *death) {
  const crd_reach *reach = &death->reach;
  return word_stack_is_empty(&reach->slots) && word_stack_is_empty(&reach->open) && word_stack_is_empty(&reach->path) &&
         reach->holder == NULL && reach->closing.step == CLOSING_NONE && candidates_count(&death->candidates) == 0 &&
         death->item == 0;
}

/* The numbers are the steps of gc/death/services.h. Finalizers are found before weak slots are cleared: only if there
 * will be any may dead holders come back, and their slots are cleared, too. */
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
  crd_ephemerons_clear(death); /* 6 */
  destructors_minor(death);    /* 7 */
  if (revives) list_pass_young(death, &services->lists[REGISTERED_WEAK], crd_weak_settle_entry);
  for (int kind = 0; kind < REGISTERED_KINDS; kind++) services->lists[kind].young = services->lists[kind].words.top;
  crd_weak_sets_tell(services); /* 8 */
  crd_watch_clear(&death->watch);
  ASSERT(is_done(death), "[services.4] a minor collection leaves something to do");
}

/* What this minor collection found remembered may be holders that marking has scanned already. */
static void minor_ended(crd_services *services) {
  if (services->marking->major.phase == MAJOR_MARKING && services->marking->major.watching)
    crd_ephemerons_stored(services);
  services->items.top = services->items.base;
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

/* Each mutator has a copy of the guard, so that cradle_weak_get can test it inline. */
static void set_guard(crd_services *services) {
  for (EACH_MUTATOR(mutator, services->space)) mutator->public.weak_guard = crd_death_guards(services);
}

static void begin_clearing(crd_services *services) {
  ASSERT(services->stage == STAGE_NONE, "[order.1] clearing begins while it is under way");
  ASSERT(is_done(&services->major), "[services.4] marking left something to do");
  services->marking->major.watching = false;
  services->stage = STAGE_WEAK;
  services->sets.clearing = services->sets.all.next;
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

/* true: the stage is over. */
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
  case STAGE_DESTRUCTORS: return pass(death, REGISTERED_DESTRUCTOR, destructor_entry, pace);
  case STAGE_TRIM: return crd_services_trim(death, pace);
  case STAGE_NONE: return true;
  }
  return true;
}

static void enter(crd_services *services, crd_stage stage) {
  services->stage = stage;
  if (stage == STAGE_QUEUE) crd_ephemerons_complete(&services->major); /* 5 */
  if (stage == STAGE_HOLDERS) set_guard(services);
  if (stage != STAGE_TRIM) return; /* the rest comes when all destructors have run */
  destructors_end(services);
  crd_weak_sets_tell(services); /* 8 */
}

static bool guards_are(const crd_space *space, uint64_t guard) {
  for (EACH_MUTATOR(mutator, space))
    if (!mutator->public.weak_guard != !guard) return false;
  return true;
}

static bool clear_some(crd_services *services, const crd_budget *budget) {
  crd_pace pace = {*budget, budget->bytes == 0 ? STEP_ENTRIES : PACE_ENTRIES};
  ASSERT(services->marking->major.phase == MAJOR_CLEARING, "[order.1] clearing outside of its phase");
  ASSERT(guards_are(services->space, crd_death_guards(services)),
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
