/* The checks of each store in code that was compiled with CRADLE_CHECKED: the thread may store, the object can be one
 * of the mutator's heap, the slots are the object's, and what is stored can be a reference.
 *
 * They look up what takes constant time, so a stale reference to a place where another object is by now passes. */
#include "gc/heap.h"
#include "gc/instruments/describe.h"
#include "gc/instruments/history.h"
#include "gc/mutator.h"
#include "gc/report/misuse.h"

/* what: the public function; fault: what is wrong with the object. */
static CRADLE_COLD void slots_misuse(cradle_heap *heap, const char *what, const char *fault, const void *object) {
  crd_misuse(heap, "%s%s%s at %p", what, fault, crd_name_type(&heap->space, cradle_type_of(object)).buffer, object);
}

/* What a word of the object is, by its type: CRADLE_ITEMS_REFERENCES or _VALUES for such a slot, else _BYTES. Weak
 * slots are _BYTES here, too. */
static cradle_items kind_of(const crd_type_table *table, const cradle_word *object, const cradle_word *slot) {
  const crd_type *type = &table->types[header_type(object[0])];
  size_t word = (size_t)(slot - object);
  if (word * 8 < type->size) {
    if (word < 64 && (type->references >> word & 1)) return CRADLE_ITEMS_REFERENCES;
    return word < 64 && (type->values >> word & 1) ? CRADLE_ITEMS_VALUES : CRADLE_ITEMS_BYTES;
  }
  if (type->items == CRADLE_ITEMS_STRUCTURES) return crd_type_item_word(type, object, slot);
  bool is_slot = type->items == CRADLE_ITEMS_REFERENCES || type->items == CRADLE_ITEMS_VALUES;
  return is_slot ? (cradle_items)type->items : CRADLE_ITEMS_BYTES;
}

/* The object may be memory of the program's own that refers to no object of the heap. */
static void check_object(cradle_heap *heap, const char *what, const void *object) {
  if (object == NULL) crd_misuse(heap, "%s: the object is NULL", what);
  const char *fault = crd_reference_fault(heap, address_of(object), false);
  if (CRADLE_UNLIKELY(fault != NULL)) crd_misuse(heap, "%s: the object %p: %s", what, object, fault);
  if (!type_table_has(&heap->space.types, cradle_type_of(object)))
    slots_misuse(heap, what, ": no object, but ", object);
}

/* Whether no collection would ever find the reference: it leads into the heap, and it is stored into memory that is
 * not in the heap. */
static bool is_lost(const cradle_heap *heap, const void *object, uintptr_t address) {
  const crd_arenas *arenas = &heap->space.old.arenas;
  if (!space_is_young(&heap->space, address) && !arenas_contain(arenas, address)) return false;
  uintptr_t holder = address_of(object);
  return !space_is_young(&heap->space, holder) && !arenas_contain(arenas, holder);
}

/* Looks at a word that will be stored into the object. Only a word for a slot that is traced need be a reference. */
static void check_stored(cradle_heap *heap, const char *what, const cradle_word *object, const cradle_word *slot,
                         cradle_word word) {
  cradle_items kind = kind_of(&heap->space.types, object, slot);
  if (kind == CRADLE_ITEMS_BYTES) return;
  uintptr_t address = space_address_in(&heap->space, kind == CRADLE_ITEMS_VALUES, word);
  bool has_tag = space_type(&heap->space, object[0])->folded && address % 8 != 0;
  const char *fault = has_tag ? NULL : crd_reference_fault(heap, address, false);
  if (CRADLE_UNLIKELY(fault == NULL && is_lost(heap, object, address)))
    fault = "reference into the heap in an object that is not of the heap";
  if (CRADLE_UNLIKELY(fault != NULL))
    crd_misuse(heap, "%s: %s: %p is stored into word %zu of %s at %p", what, fault, memory_at(word),
               (size_t)(slot - object), crd_name_type(&heap->space, header_type(object[0])).buffer,
               (const void *)object);
}

void cradle_check_store(cradle_mutator *mutator, const void *object) {
  cradle_heap *heap = mutator->heap;
  crd_mutator_check_thread(mutator, "cradle_write_barrier");
  space_lock(&heap->space); /* other mutators come, go, and store */
  check_object(heap, "cradle_write_barrier", object);
  crd_history_store(heap, object);
  space_unlock(&heap->space);
}

/* words: what will be stored into the slots. */
static void check_slots(cradle_heap *heap, const char *what, const void *object, const void *slots,
                        const cradle_word *words, size_t count) {
  check_object(heap, what, object);
  const crd_type *type = space_type(&heap->space, cradle_type_of(object));
  crd_history_store(heap, object);
  if (type->trace != NULL) return; /* its slots may be anywhere */
  size_t bytes = type_object_bytes(type, object);
  size_t offset = address_of(slots) - address_of(object);
  if (count != 0 && (offset % 8 != 0 || offset < 8 || offset > bytes || count > (bytes - offset) / 8))
    slots_misuse(heap, what, ": the slots go beyond the object: ", object);
  const cradle_word *first = slots;
  for (size_t i = 0; i < count; i++) check_stored(heap, what, object, first + i, words[i]);
}

static void check_locked(cradle_mutator *mutator, const char *what, const void *object, const void *slots,
                         const cradle_word *words, size_t count) {
  crd_space *space = &mutator->heap->space;
  crd_mutator_check_thread(mutator, what);
  space_lock(space);
  check_slots(mutator->heap, what, object, slots, words, count);
  space_unlock(space);
}

void cradle_check_slot(cradle_mutator *mutator, const void *object, const void *slot, cradle_value value) {
  check_locked(mutator, "cradle_store", object, slot, &value, 1);
}

void cradle_check_slots(cradle_mutator *mutator, const void *object, const void *to, const void *from, size_t count) {
  check_locked(mutator, "cradle_copy_slots", object, to, from, count);
}
