/* The order of death, in both collections; docs/order-of-death.md says what it means for programs. */
#include "gc/services.h"

/* --- minor collections --- */

void crd_death_minor(cradle_heap *heap, void *context, const cradle_word *stored, const cradle_word *end, bool all_old) {
  crd_death *death = &heap->services->minor;
  death->context = context;
  death->stored = stored;
  death->stored_end = end;
  death->all_old = all_old;
  crd_registry_distribute(death);
  crd_ephemerons_minor(death);
  bool revives = crd_finalizers_find_minor(death);
  if (revives || death->progress) crd_registry_distribute_rest(death);
  crd_weak_minor(death, revives);
  crd_weak_sets_minor(death);
  if (revives) {
    (void)crd_finalizers_reach(death, NULL);
    (void)crd_finalizers_queue(death, NULL);
  }
  crd_ephemerons_clear_minor(death);
  crd_destructors_minor(death);
  crd_weak_settle(death);
  crd_weak_sets_tell(heap);
  crd_watch_clear(&death->watch);
  if (heap->mutator != NULL && heap->mutator->public.registered != NULL) crd_registry_allow(heap);
}

void crd_death_minor_ended(cradle_heap *heap) {
  crd_services *services = heap->services;
  if (heap->major.phase != MAJOR_MARKING || !services->watching) return;
  crd_ephemerons_stored(&services->major, &services->minor);
  if (heap->mark_stack.top != heap->mark_stack.base || heap->major.overflowed) services->major.progress = true; /* keys, perhaps */
}

/* --- major collections --- */

static void raise_guard(cradle_heap *heap, bool up) {
  if (heap->mutator != NULL) heap->mutator->public.weak_guard = up;
}

void crd_death_begin(cradle_heap *heap) {
  crd_services *services = heap->services;
  services->watching = false;
  services->stage = STAGE_WEAK;
  crd_weak_sets_begin(services);
  services->major.item = 0;
  raise_guard(heap, true);
}

/* One increment of a stage; true: it is over. */
static bool advance(crd_services *services, crd_pace *pace) {
  crd_death *death = &services->major;
  switch (services->stage) {
    case STAGE_WEAK: return crd_list_pass(death, REGISTERED_WEAK, crd_weak_entry, pace);
    case STAGE_SETS: return crd_weak_sets_pass(death, pace);
    case STAGE_FIND: return crd_list_pass(death, REGISTERED_FINALIZER, crd_finalizers_find_entry, pace);
    case STAGE_REACH: return crd_finalizers_reach(death, pace);
    case STAGE_QUEUE: return crd_finalizers_queue(death, pace);
    case STAGE_EPHEMERONS: return crd_list_pass(death, REGISTERED_EPHEMERON, crd_ephemerons_clear_entry, pace);
    case STAGE_HOLDERS: return crd_list_pass(death, REGISTERED_WEAK, crd_weak_holder_entry, pace);
    case STAGE_DESTRUCTORS: return crd_list_pass(death, REGISTERED_DESTRUCTOR, crd_destructors_entry, pace);
    case STAGE_TRIM: return crd_registry_trim(death, pace);
    case STAGE_NONE: return true;
  }
  return true;
}

/* What is done once between two stages. */
static void enter(cradle_heap *heap, crd_stage stage) {
  crd_services *services = heap->services;
  services->stage = stage;
  if (stage == STAGE_HOLDERS) raise_guard(heap, false);
  if (stage == STAGE_DESTRUCTORS) crd_destructors_begin(services);
  if (stage != STAGE_TRIM) return;
  crd_destructors_end(heap);
  crd_weak_sets_tell(heap);
}

bool crd_death_guards(const cradle_heap *heap) {
  return heap->services != NULL && heap->services->stage < STAGE_HOLDERS;
}

bool crd_death_clear(cradle_heap *heap, const crd_budget *budget) {
  crd_services *services = heap->services;
  crd_pace pace = {*budget, budget->bytes == 0 ? STEP_ENTRIES : PACE_ENTRIES};
  while (services->stage != STAGE_NONE) {
    if (!advance(services, &pace)) return false;
    enter(heap, (crd_stage)(services->stage + 1));
  }
  return true;
}
