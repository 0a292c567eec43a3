/* Pins that may collect: a young object is promoted before it is pinned, and what is allocated pinned is old. */
#include <cradle/object.h>
#include <cradle/pin.h>

#include "gc/allocate.h"
#include "gc/allocate_check.h"
#include "gc/base/address.h"
#include "gc/base/address_map.h"
#include "gc/base/check.h"
#include "gc/collect.h"
#include "gc/heap.h"
#include "gc/misuse.h"
#include "gc/mutator.h"
#include "gc/tables/pin.h"

void *cradle_pin(cradle_mutator *mutator, void *object) {
  cradle_heap *heap = mutator->heap;
  crd_mutator_check(mutator, "cradle_pin");
  if (object == NULL) crd_misuse(heap, "cradle_pin: the object is NULL");
  if (collection_is_off(heap) && heap_holds_young(heap, address_of(object))) return object;
  if (!crd_pins_reserve(&heap->pins)) return NULL;
  CRADLE_ROOT(mutator, object);
  if (heap_holds_young(heap, address_of(object))) crd_collect(heap, CRADLE_CAUSE_PIN);
  ASSERT(!heap_holds_young(heap, address_of(object)), "[pin.2] an object is pinned where it cannot stay");
  uint32_t index = crd_address_map_get(&heap->pins.by_address, address_of(object));
  if (index == ADDRESS_MAP_NONE)
    crd_pin_add(heap, object);
  else
    heap->pins.pins[index].count++;
  return object;
}

/* NULL: no memory, for the object or for the pin. */
static void *new_pinned(cradle_mutator *mutator, uint32_t type, size_t size) CRADLE_MAY_COLLECT {
  if (size > SIZE_MAX / 2 || !crd_pins_reserve(&mutator->heap->pins)) return NULL;
  void *object = crd_allocate_old(mutator, type, cradle_object_bytes(size));
  if (object == NULL) return NULL;
  ASSERT(heap_is_old(mutator->heap, address_of(object)), "[pin.2] what was allocated pinned is not old");
  crd_pin_add(mutator->heap, object);
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
