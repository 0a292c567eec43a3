#include "gc/death/list.h"

#include "gc/death/services.h"
#include "gc/platform/pages.h"

bool crd_pace_is_over_slow(crd_pace *pace) {
  pace->countdown = PACE_ENTRIES;
  return pace->budget.bytes == 0 ||
         (pace->budget.deadline_ns != UINT64_MAX && crd_platform_now_ns() >= pace->budget.deadline_ns);
}

bool crd_list_pass(crd_death *death, int kind, crd_entry_function judge, crd_pace *pace) {
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

void crd_list_pass_young(crd_death *death, int kind, crd_entry_function judge) {
  crd_list *list = &death->services->lists[kind];
  cradle_word *to = list->young;
  for (cradle_word *entry = to; entry < list->words.top; entry++)
    if (judge(death, entry) == ENTRY_KEEP) *to++ = *entry;
  list->words.top = to;
}

/* --- visiting and checks --- */

void crd_list_each_word(cradle_word *from, const cradle_word *to, crd_slot_function visit, void *context) {
  for (cradle_word *word = from; word < to; word++) {
    cradle_word bits = *word & ENTRY_BITS;
    *word = entry_address(*word);
    visit(context, false, word);
    *word |= bits;
  }
}

bool crd_list_is_object(const crd_services *services, uintptr_t address) {
  if (!space_is_young(services->space, address)) return crd_old_is_object(&services->space->old, address);
  return services->space->mutator != NULL && address < address_of(services->space->mutator->public.free);
}

const char *crd_list_check(const crd_services *services, int kind, uintptr_t *at) {
  const crd_list *list = &services->lists[kind];
  for (const cradle_word *entry = list->words.base; entry < list->words.top; entry++) {
    if (!list_has(list, entry)) continue;
    uintptr_t address = *at = entry_address(*entry);
    if (!crd_list_is_object(services, address))
      return "a list of registered objects holds what is no object [services.1]";
    if (!collection_is_off(services->space->options) && space_is_young(services->space, address))
      return "an entry of a list is young [services.1]";
    cradle_word header = *object_at(address);
    if (kind != REGISTERED_FINALIZER && !(space_type(services->space, header)->registers >> kind & 1))
      return "an object is registered in a list that its type does not have [services.1]";
    if (kind <= REGISTERED_EPHEMERON && !header_is_weak(header) && !space_has_open(services->space, object_at(address)))
      return "a registered object lacks the weak flag [services.2]";
  }
  return NULL;
}
