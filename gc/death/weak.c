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

/* --- minor collections --- */

static void judge_stored(crd_death *death, cradle_word *holder) {
  (void)judge_holder(death, holder);
}

/* The slots of a dead holder are judged where it lies. crd_weak_settle decides later which holders stay listed. */
void crd_weak_clear(crd_death *death, bool dead_too) {
  crd_list *list = list_of(death);
  if (list_is_empty(list)) return;
  crd_stored_each(death, REGISTERED_WEAK, judge_stored, judge_slot);
  cradle_word *to = list->young;
  for (const cradle_word *entry = list->young; entry < list->words.top; entry++) {
    uintptr_t place = death_find(death, *entry);
    if (place == 0 && !dead_too) continue;
    if (place == 0 || !death_is_recorded(place, *entry)) judge_holder(death, object_at(place != 0 ? place : *entry));
    *to++ = dead_too ? *entry : death_settle(place);
  }
  list->words.top = to;
  if (!dead_too) list->young = to;
}

void crd_weak_settle(crd_death *death) {
  crd_list *list = list_of(death);
  cradle_word *to = list->young;
  for (const cradle_word *entry = list->young; entry < list->words.top; entry++) {
    uintptr_t place = death_find(death, *entry);
    if (place == 0) continue;
    check_holder(death, object_at(place));
    *to++ = death_settle(place);
  }
  list_keep(list, to);
}

/* --- major collections --- */

/* A dead holder stays in the list while finalizers may bring it back. */
crd_verdict crd_weak_clear_entry(crd_death *death, cradle_word *entry) {
  ASSERT(!space_holds_young(death->space, *entry), "[services.1] an entry of a list is young");
  if (list_is_empty(&death->services->lists[REGISTERED_FINALIZER]) && !old_is_marked(&death->space->old, *entry)) {
    death->item = 0;
    return ENTRY_DROP;
  }
  return judge_holder(death, object_at(*entry)) ? ENTRY_KEEP : ENTRY_AGAIN;
}

crd_verdict crd_weak_settle_entry(crd_death *death, cradle_word *entry) {
  if (!old_is_marked(&death->space->old, *entry)) return ENTRY_DROP;
  check_holder(death, object_at(*entry));
  return ENTRY_KEEP;
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
