#include "gc/death/stored.h"

#include "gc/death/services.h"
#include "gc/heap.h"

/* In an entry, beside the slot and whether it holds a value: it is the key of a pair. */
#define ENTRY_OF_PAIR 2

const cradle_word *crd_stored_item(const cradle_heap *heap, const cradle_word *holder, const cradle_word *word) {
  cradle_items kind = (cradle_items)heap_services_of(heap, holder[0])->items;
  size_t first = heap_type(heap, holder[0])->size / 8, at = (size_t)(word - holder);
  if (kind == CRADLE_ITEMS_NONE || at < first) return NULL;
  return kind == CRADLE_ITEMS_EPHEMERONS ? word - (at - first) % 2 : word;
}

/* While marking watches, it must see the pairs that change, too: a pair of a holder that was scanned already is scanned
 * again when the minor collection has ended. */
bool crd_stored_record(cradle_heap *heap, const cradle_word *holder, const cradle_word *words, size_t count,
                       uint32_t *left) {
  crd_word_stack *items = &heap->services->items;
  const crd_type_services *services = heap_services_of(heap, holder[0]);
  bool pairs = services->items == CRADLE_ITEMS_EPHEMERONS, watches = pairs && heap->major.watching;
  if (crd_stored_item(heap, holder, words) == NULL) return false;
  for (size_t i = 0; i < count; i++) {
    uintptr_t address = heap_address_in(heap, services->values, words[i]);
    if (!watches && (address == 0 || !heap_holds_young(heap, address))) continue;
    cradle_word entry =
        slot_entry(crd_stored_item(heap, holder, &words[i]), services->values) | (pairs ? ENTRY_OF_PAIR : 0);
    if (!word_stack_is_empty(items) && items->top[-1] == entry) continue; /* the other word of the pair */
    if (*left == 0 || !crd_services_room(heap, items, 1) || !word_stack_push(items, entry)) return false;
    --*left;
  }
  return true;
}

crd_word_stack crd_stored_items(const cradle_heap *heap) {
  return heap->services == NULL ? (crd_word_stack){.base = NULL} : heap->services->items;
}

static void each_item(crd_death *death, bool pairs, crd_slot_function visit) {
  const crd_word_stack *items = &death->heap->services->items;
  for (const cradle_word *entry = items->base; entry < items->top; entry++) {
    cradle_word slot = *entry & ~(cradle_word)ENTRY_OF_PAIR;
    if ((slot != *entry) == pairs) visit(death, slot_entry_holds_value(slot), slot_of_entry(slot));
  }
}

void crd_stored_each(crd_death *death, int kind, void (*visit)(crd_death *death, cradle_word *holder),
                     crd_slot_function visit_item) {
  const crd_list *list = &death->heap->services->lists[kind];
  each_item(death, kind == REGISTERED_EPHEMERON, visit_item);
  if (death->stored.all) {
    for (const cradle_word *entry = list->words.base; entry < list->young; entry++)
      if (list_has(list, entry)) visit(death, object_at(*entry));
    return;
  }
  for (const cradle_word *entry = death->stored.from; entry < death->stored.end; entry++) {
    cradle_word *object = object_at(*entry);
    if (header_is_weak(object[0])) visit(death, object);
  }
}
