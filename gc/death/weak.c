#include "gc/death/weak.h"

#include "gc/death/services.h"
#include "gc/death/stored.h"
#include "gc/mutator.h"

static crd_list *list_of(const crd_death *death) {
  return &death->services->lists[REGISTERED_WEAK];
}

static void judge_slot(void *death, bool values, cradle_word *slot) {
  (void)death_judge(death, values, slot);
}

/* Judges the weak slots of a holder; in a major collection, one piece of a large array. false: there is more. */
static bool judge_holder(crd_death *death, cradle_word *holder) {
  return death_visit(death, holder, CRADLE_ITEMS_WEAK, !death->is_minor, judge_slot);
}

/* For assertions: after clearing, a slot is as it was left [weak.1]. */
static void check_slot(void *death, bool values, cradle_word *slot) {
  ASSERT(death_is_judged(death, values, *slot), "[weak.1] a weak slot leads to an object that was found dead");
}

static void check_holder(crd_death *death, cradle_word *holder) {
  if (CRADLE_ASSERTIONS) service_visit_all(death->space, holder, CRADLE_ITEMS_WEAK, 0, check_slot, death);
}

/* A minor collection knows by now whether there are finalizers to come back; a major one finds them later. */
static bool may_come_back(const crd_death *death) {
  return death->is_minor ? candidates_count(&death->candidates) != 0
                         : !list_is_empty(&death->services->lists[REGISTERED_FINALIZER]);
}

/* The slots of a dead holder are judged where it lies. */
crd_verdict crd_weak_clear_entry(crd_death *death, cradle_word *entry) {
  uintptr_t place = death_find(death, *entry);
  bool comes_back = may_come_back(death);
  if (place == 0 && !comes_back) {
    death->item = 0;
    return ENTRY_DROP;
  }
  if (!death_is_recorded(death, place, *entry) && !judge_holder(death, object_at(place != 0 ? place : *entry)))
    return ENTRY_AGAIN;
  /* What is dead for now keeps its old address: crd_weak_settle_entry looks for it again. */
  if (!comes_back) *entry = death_settle(death, place);
  return ENTRY_KEEP;
}

crd_verdict crd_weak_settle_entry(crd_death *death, cradle_word *entry) {
  uintptr_t place = death_find(death, *entry);
  if (place == 0) return ENTRY_DROP;
  check_holder(death, object_at(place));
  *entry = death_settle(death, place);
  return ENTRY_KEEP;
}

void crd_weak_clear(crd_death *death) {
  crd_stored_each(death, REGISTERED_WEAK, judge_holder, judge_slot);
  list_pass_young(death, list_of(death), crd_weak_clear_entry);
}

void crd_weak_settle(crd_death *death) {
  list_pass_young(death, list_of(death), crd_weak_settle_entry);
}

/* --- readers --- */

/* An object that a finalizer brings back counts as alive when everything that it leads to was reached. Until then
 * its header is open. */
bool crd_weak_is_dead(const crd_space *space, uintptr_t address) {
  if (!arenas_know(&space->old.arenas, address)) return false;
  if (old_is_marked(&space->old, address)) return space_has_open(space, object_at(address));
  return !old_is_young_large(&space->old, address);
}

bool cradle_weak_is_dead(cradle_mutator *mutator, cradle_word word, bool value) {
  crd_mutator_check_thread(mutator, "cradle_weak_get");
  const crd_space *space = mutator_of(mutator)->space;
  /* With the plain encoding value slots are folded into reference slots [type.2]. */
  uintptr_t address = space_address_in(space, value && !space->plain_encoding, word);
  return address != 0 && crd_weak_is_dead(space, address);
}
