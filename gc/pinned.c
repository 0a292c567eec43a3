/* Pins that may collect. A young object is promoted before it is pinned, and an object that is allocated pinned is
 * old: nothing in the nursery is ever pinned, so the nursery stays one piece. */

#include "gc/allocate.h"
#include "gc/allocate_check.h"
#include "gc/collect.h"
#include "gc/heap.h"
#include "gc/misuse.h"
#include "gc/mutator.h"
#include "gc/tables/pin.h"

void *cradle_pin(cradle_mutator *mutator, void *object) {
  static const char what[] = "cradle_pin";
  cradle_heap *heap = mutator->heap;
  crd_mutator_check(mutator, what);
  if (object == NULL) crd_misuse(heap, "%s: the object is NULL", what);
  if (collection_is_off(heap) && heap_holds_young(heap, address_of(object))) return object;
  /* Room comes first: after the collection nothing may fail. */
  if (!crd_pins_reserve(&heap->pins)) {
    crd_out_of_room(heap, what, "pin");
    return NULL;
  }
  CRADLE_ROOT(mutator, object);
  if (heap_holds_young(heap, address_of(object))) crd_collect(heap, CRADLE_CAUSE_PIN);
  ASSERT(!heap_holds_young(heap, address_of(object)), "[pin.2] an object is pinned where it cannot stay");
  /* Looked up only now, because the collection may have moved the object. */
  uint32_t index = crd_address_map_get(&heap->pins.by_address, address_of(object));
  if (index == ADDRESS_MAP_NONE)
    crd_pin_add(heap, object);
  else
    heap->pins.pins[index].count++;
  return object;
}

/* --- allocated pinned --- */

/* NULL: no memory, for the object or for the pin. */
static void *allocate_pinned(cradle_mutator *mutator, uint32_t type, size_t size) CRADLE_MAY_COLLECT {
  ASSERT(size <= SIZE_MAX / 2, "a size that was not checked");
  if (!crd_pins_reserve(&mutator->heap->pins)) return NULL;
  void *object = crd_allocate_old(mutator, type, cradle_object_bytes(size));
  if (object == NULL) return NULL;
  ASSERT(!heap_is_young(mutator->heap, address_of(object)), "[pin.2] what was allocated pinned is not old");
  crd_pin_add(mutator->heap, object);
  return object;
}

static void *new_pinned(cradle_mutator *mutator, uint32_t type, size_t size, const char *what) CRADLE_MAY_COLLECT {
  crd_mutator_check(mutator, what);
  crd_check_size(mutator->heap, type, size, what);
  void *object = allocate_pinned(mutator, type, size);
  if (CRADLE_UNLIKELY(object == NULL)) crd_out_of_memory(mutator->heap, what, size);
  return object;
}

void *cradle_new_pinned(cradle_mutator *mutator, uint32_t type, size_t size) {
  return new_pinned(mutator, type, size, "cradle_new_pinned");
}

static void *new_pinned_array(cradle_mutator *mutator, uint32_t type, size_t length, const char *what)
    CRADLE_MAY_COLLECT {
  crd_mutator_check(mutator, what);
  size_t bytes = crd_check_array(mutator->heap, type, length, what);
  cradle_word *object = bytes == 0 ? NULL : allocate_pinned(mutator, type, bytes);
  if (CRADLE_UNLIKELY(object == NULL)) {
    crd_out_of_memory(mutator->heap, what, bytes != 0 ? bytes : SIZE_MAX);
    return NULL;
  }
  object[mutator->heap->types.types[type].length_offset / 8] = length;
  return object;
}

void *cradle_new_pinned_array(cradle_mutator *mutator, uint32_t type, size_t length) {
  return new_pinned_array(mutator, type, length, "cradle_new_pinned_array");
}

void *cradle_new_pinned_items(cradle_mutator *mutator, uint32_t type, cradle_array_layout layout, size_t count) {
  const char *what = "CRADLE_NEW_PINNED_ARRAY";
  crd_mutator_check(mutator, what);
  crd_check_layout(mutator->heap, type, layout, what);
  return new_pinned_array(mutator, type, count, what);
}
