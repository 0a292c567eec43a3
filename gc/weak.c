/* Weak slots: they are followed when their object is reached, and cleared when it is not.
 *
 * A minor collection looks at the registered young holders and at the old ones that were stored into, since no others can hold a
 * young object. A major collection looks at all, in increments; meanwhile the guard is up, and who reads a slot asks the mark
 * bit. Nothing that is unmarked gets marked before the last weak slot is cleared, so the answer does not change.
 */
#include <cradle/weak.h>

#include "gc/services.h"

/* Looks at the weak slots of a holder; of a large array at one piece, from death->item on. false: there is more. */
static bool judge_holder(crd_death *death, cradle_word *holder) {
  const crd_type_services *services = heap_services_of(death->heap, holder[0]);
  for (uint64_t bitmap = services->weak; bitmap != 0; bitmap &= bitmap - 1)
    death_judge(death, services->values, holder + __builtin_ctzll(bitmap));
  if (services->items != CRADLE_ITEMS_WEAK) return true;
  const crd_type *type = heap_type(death->heap, holder[0]);
  uint64_t length = type_length(type, holder), last = length;
  if (death->item > length) death->item = length;
  if (!death->is_minor && length - death->item > SERVICE_PIECE_ITEMS) last = death->item + SERVICE_PIECE_ITEMS;
  cradle_word *items = holder + type->size / 8;
  for (uint64_t i = death->item; i < last; i++) death_judge(death, services->values, items + i);
  death->item = last < length ? last : 0;
  return last == length;
}

/* --- minor collections --- */

static void judge_stored(crd_death *death) {
  const crd_list *list = &death->heap->services->lists[REGISTERED_WEAK];
  if (death->all_old) {
    for (cradle_word *entry = list->words.base; entry < list->young; entry++)
      if (entry < list->kept || entry >= list->next) judge_holder(death, (cradle_word *)(uintptr_t)*entry);
    return;
  }
  for (const cradle_word *entry = death->stored; entry < death->stored_end; entry++) {
    cradle_word *object = (cradle_word *)(uintptr_t)*entry;
    if (object[0] & HEADER_WEAK_FLAG) judge_holder(death, object);
  }
}

/* A dead holder may be brought back by a finalizer when dead_too is set: then its slots are judged where it lies, and who is
 * to be kept is decided later. */
void crd_weak_minor(crd_death *death, bool dead_too) {
  crd_list *list = &death->heap->services->lists[REGISTERED_WEAK];
  if (list->words.base == list->words.top) return;
  judge_stored(death);
  cradle_word *to = list->young;
  for (const cradle_word *entry = list->young; entry < list->words.top; entry++) {
    uintptr_t place = death_find(death, (uintptr_t)*entry);
    if (place == 0 && !dead_too) continue;
    judge_holder(death, (cradle_word *)(place != 0 ? place : (uintptr_t)*entry));
    *to++ = dead_too ? *entry : services_settled(place);
  }
  list->words.top = to;
  if (!dead_too) list->young = to;
}

void crd_weak_settle(crd_death *death) {
  crd_list *list = &death->heap->services->lists[REGISTERED_WEAK];
  cradle_word *to = list->young;
  for (const cradle_word *entry = list->young; entry < list->words.top; entry++) {
    uintptr_t place = death_find(death, (uintptr_t)*entry);
    if (place != 0) *to++ = services_settled(place);
  }
  list->words.top = list->young = to;
}

/* --- major collections --- */

/* A dead holder stays in the list while finalizers may bring it back. */
crd_verdict crd_weak_entry(crd_death *death, cradle_word *entry) {
  const crd_list *finalizers = &death->heap->services->lists[REGISTERED_FINALIZER];
  cradle_word *holder = (cradle_word *)(uintptr_t)*entry;
  if (finalizers->words.base == finalizers->words.top && !old_is_marked(&death->heap->old, (uintptr_t)holder))
    return death->item = 0, ENTRY_DROP;
  return judge_holder(death, holder) ? ENTRY_KEEP : ENTRY_AGAIN;
}

crd_verdict crd_weak_holder_entry(crd_death *death, cradle_word *entry) {
  return old_is_marked(&death->heap->old, (uintptr_t)*entry) ? ENTRY_KEEP : ENTRY_DROP;
}

/* --- readers --- */

/* What a finalizer brings back is alive when all that it leads to is, too: until then its header is open. */
bool crd_weak_is_dead(const cradle_heap *heap, uintptr_t address) {
  const crd_arenas *arenas = &heap->old.arenas;
  if (!arenas_contain(arenas, address)) return false;
  if (old_is_marked(&heap->old, address)) return crd_registry_is_open(heap, (const cradle_word *)address);
  return arenas_page(arenas, arenas_page_number(arenas, address))->state != PAGE_LARGE_YOUNG;
}

bool cradle_weak_is_dead(cradle_mutator *mutator, uint64_t word, bool value) {
  const cradle_heap *heap = mutator->heap;
  uintptr_t address = service_address(heap, value && !heap->plain_encoding, word);
  return address != 0 && crd_weak_is_dead(heap, address);
}
