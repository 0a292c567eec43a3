#include "gc/pin.h"

#include <stdlib.h>

#include <cradle/new.h>
#include <cradle/roots.h>

#include "gc/check.h"
#include "gc/heap.h"

#define FIRST_CAPACITY 64

void crd_pins_fini(crd_pins *pins) {
  crd_address_map_fini(&pins->by_address);
  free(pins->pins);
}

/* Makes room for one pin more. */
static bool reserve(crd_pins *pins) {
  if (!crd_address_map_reserve(&pins->by_address)) return false;
  if (pins->count < pins->capacity) return true;
  if (pins->capacity > UINT32_MAX / 2) return false;
  uint32_t capacity = pins->capacity == 0 ? FIRST_CAPACITY : 2 * pins->capacity;
  crd_pin *wider = realloc(pins->pins, capacity * sizeof *wider);
  if (wider == NULL) return false;
  pins->pins = wider;
  pins->capacity = capacity;
  return true;
}

/* The first pin of an object that is old or prebuilt. While marking it is marked here; if marking is through with the others,
 * it stays so, or a program that pins all the time would keep it from ever being over. */
static void add(cradle_heap *heap, cradle_word *object) {
  crd_pins *pins = &heap->pins;
  crd_address_map_insert(&pins->by_address, (uintptr_t)object, pins->count);
  if (pins->marked_at == pins->count) pins->marked_at++;
  pins->pins[pins->count++] = (crd_pin){(uintptr_t)object, 1};
  *object |= HEADER_PINNED_FLAG;
  if (heap->major.phase == MAJOR_MARKING) crd_mark_address(heap, (uintptr_t)object);
}

/* The last pin takes the place of the one that goes; marking must not miss it for that [pin.3]. */
static void take_out(cradle_heap *heap, uint32_t index) {
  crd_pins *pins = &heap->pins;
  crd_pin last = pins->pins[--pins->count];
  crd_address_map_remove(&pins->by_address, pins->pins[index].address);
  if (index != pins->count) {
    pins->pins[index] = last;
    crd_address_map_find(&pins->by_address, last.address)->number = index;
  }
  if (heap->major.phase == MAJOR_MARKING && index < pins->marked_at) crd_mark_address(heap, last.address);
  if (pins->marked_at > pins->count) pins->marked_at = pins->count;
}

void *cradle_pin(cradle_mutator *mutator, void *object) {
  cradle_heap *heap = mutator->heap;
  crd_mutator_check(mutator, "cradle_pin");
  if (object == NULL) crd_misuse(heap, "cradle_pin: the object is NULL");
  if (!reserve(&heap->pins)) return NULL;
  CRADLE_ROOT(mutator, object);
  if (heap_holds_young(heap, (uintptr_t)object)) crd_collect(heap, CRADLE_CAUSE_PIN);
  uint32_t index = crd_address_map_get(&heap->pins.by_address, (uintptr_t)object);
  if (index == ADDRESS_MAP_NONE)
    add(heap, object);
  else
    heap->pins.pins[index].count++;
  return object;
}

void cradle_unpin(cradle_mutator *mutator, void *object) {
  cradle_heap *heap = mutator->heap;
  crd_mutator_check_thread(mutator, "cradle_unpin");
  uint32_t index = crd_address_map_get(&heap->pins.by_address, (uintptr_t)object);
  if (index == ADDRESS_MAP_NONE) {
    crd_text text = {.length = 0};
    crd_text_add(&text, "cradle_unpin: the object at ");
    crd_text_hex(&text, (uintptr_t)object);
    crd_text_add(&text, " is not pinned (any more)");
    crd_misuse(heap, text.buffer);
  }
  if (--heap->pins.pins[index].count != 0) return;
  take_out(heap, index);
  *(cradle_word *)object &= ~HEADER_PINNED_FLAG;
}

/* --- allocation --- */

/* NULL: no memory, for the object or for the pin. */
static void *new_pinned(cradle_mutator *mutator, uint32_t type, size_t size) CRADLE_MAY_COLLECT {
  if (size > SIZE_MAX / 2 || !reserve(&mutator->heap->pins)) return NULL;
  void *object = crd_allocate_old(mutator, type, cradle_object_bytes(size));
  if (object != NULL) add(mutator->heap, object);
  return object;
}

void *cradle_new_pinned(cradle_mutator *mutator, uint32_t type, size_t size) {
  crd_mutator_check(mutator, "cradle_new_pinned");
  crd_check_size(mutator->heap, type, size);
  void *object = new_pinned(mutator, type, size);
  if (CRADLE_UNLIKELY(object == NULL)) crd_out_of_memory(mutator, size);
  return object;
}

void *cradle_new_pinned_array(cradle_mutator *mutator, uint32_t type, size_t length) {
  crd_mutator_check(mutator, "cradle_new_pinned_array");
  size_t bytes = crd_check_array(mutator->heap, type, length, "cradle_new_pinned_array");
  cradle_word *object = bytes == 0 ? NULL : new_pinned(mutator, type, bytes);
  if (CRADLE_UNLIKELY(object == NULL)) crd_out_of_memory(mutator, bytes != 0 ? bytes : SIZE_MAX);
  object[mutator->heap->types.types[type].length_offset / 8] = length;
  return object;
}

/* --- checks --- */

const char *crd_pins_check(const cradle_heap *heap, uintptr_t *at) {
  const crd_pins *pins = &heap->pins;
  *at = 0;
  if (pins->by_address.count != pins->count) return "the pins and their map disagree";
  for (uint32_t i = 0; i < pins->count; i++) {
    uintptr_t address = *at = pins->pins[i].address;
    if (crd_address_map_get(&pins->by_address, address) != i) return "a pin is not found by its object's address";
    if (pins->pins[i].count == 0) return "a pin that nobody holds [pin.1]";
    if (heap_holds_young(heap, address)) return "a young object is pinned [pin.2]";
    if (!crd_old_is_object(&heap->old, address) && !prebuilt_is(&heap->prebuilts, (const void *)address))
      return "a pinned object is gone [pin.2]";
    if (!(*(const cradle_word *)address & HEADER_PINNED_FLAG)) return "a pinned object has not the flag [pin.1]";
  }
  return NULL;
}
