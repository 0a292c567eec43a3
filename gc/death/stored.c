#include "gc/death/stored.h"

#include "gc/death/services.h"

/* In an entry, beside the slot and whether it holds a value: it is the key of a pair. */
#define ENTRY_OF_PAIR 2

const cradle_word *crd_stored_item(const crd_space *space, const cradle_word *holder, const cradle_word *word) {
  cradle_items kind = (cradle_items)space_services_of(space, holder[0])->items;
  if (kind == CRADLE_ITEMS_NONE) return NULL;
  const crd_type *type = space_type(space, holder[0]);
  size_t words = kind == CRADLE_ITEMS_EPHEMERONS ? 2 : 1;
  /* Of a word before the items, or outside of the object, where a trace callback may visit slots: a large number. */
  size_t at = (address_of(word) - address_of(holder) - type->size) / 8;
  return at / words < type_length(type, holder) ? word - at % words : NULL;
}

/* While marking watches, it must see the pairs that change, too: a pair of a holder that was scanned already is scanned
 * again when the minor collection has ended. */
bool crd_stored_record(crd_services *services, const cradle_word *holder, const cradle_word *words, size_t count,
                       uint32_t *left) {
  crd_word_stack *items = &services->items;
  const crd_space *space = services->space;
  const crd_type_services *of_type = space_services_of(space, holder[0]);
  bool pairs = of_type->items == CRADLE_ITEMS_EPHEMERONS, watches = pairs && services->marking->major.watching;
  if (crd_stored_item(space, holder, words) == NULL) return false;
  for (size_t i = 0; i < count; i++) {
    uintptr_t address = space_address_in(space, of_type->values, words[i]);
    if (!watches && (address == 0 || !space_holds_young(space, address))) continue;
    cradle_word entry =
        slot_entry(crd_stored_item(space, holder, &words[i]), of_type->values) | (pairs ? ENTRY_OF_PAIR : 0);
    if (!word_stack_is_empty(items) && items->top[-1] == entry) continue; /* the other word of the pair */
    if (*left == 0 || !crd_services_room(services, items, 1) || !word_stack_push(items, entry)) return false;
    --*left;
  }
  return true;
}

crd_word_stack crd_stored_items(const crd_services *services) {
  return services == NULL ? (crd_word_stack){.base = NULL} : services->items;
}

static void each_item(crd_death *death, bool pairs, crd_slot_function visit) {
  const crd_word_stack *items = &death->services->items;
  for (const cradle_word *entry = items->base; entry < items->top; entry++) {
    cradle_word slot = *entry & ~(cradle_word)ENTRY_OF_PAIR;
    if ((slot != *entry) == pairs) visit(death, slot_entry_holds_value(slot), slot_of_entry(slot));
  }
}

void crd_stored_each(crd_death *death, int kind, bool (*visit)(crd_death *death, cradle_word *holder),
                     crd_slot_function visit_item) {
  const crd_list *list = &death->services->lists[kind];
  if (list_is_empty(list)) return;
  each_item(death, kind == REGISTERED_EPHEMERON, visit_item);
  if (death->stored.all) {
    for (const cradle_word *entry = list->words.base; entry < list->young; entry++)
      if (list_has(list, entry)) (void)visit(death, object_at(*entry));
    return;
  }
  for (const cradle_word *entry = death->stored.from; entry < death->stored.end; entry++) {
    cradle_word *object = object_at(*entry);
    if (header_is_weak(object[0])) (void)visit(death, object);
  }
}
