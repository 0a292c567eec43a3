/* Pins that may collect. A young object is promoted before it is pinned, and an object that is allocated pinned
 * (gc/allocate.c) is old: nothing in the nursery is ever pinned, so the nursery stays one piece. */
#include "gc/collect.h"
#include "gc/heap.h"
#include "gc/mutator.h"
#include "gc/report/misuse.h"
#include "gc/tables/pin.h"

void *cradle_pin(cradle_mutator *mutator, void *object) {
  static const char what[] = "cradle_pin";
  cradle_heap *heap = mutator->heap;
  crd_mutator_check(mutator, what);
  if (object == NULL) crd_misuse(heap, "%s: the object is NULL", what);
  if (collection_is_off(&heap->options) && space_holds_young(&heap->space, address_of(object))) return object;
  /* Room comes first: after the collection nothing may fail. */
  if (!crd_pins_reserve(&heap->tables.pins)) {
    crd_out_of_room(&heap->space, what, "pin");
    return NULL;
  }
  CRADLE_ROOT(mutator, object);
  if (space_holds_young(&heap->space, address_of(object))) crd_collect(heap, CRADLE_CAUSE_PIN);
  ASSERT(!space_holds_young(&heap->space, address_of(object)), "[pin.2] an object is pinned where it cannot stay");
  /* Looked up only now, because the collection may have moved the object. */
  uint32_t index = crd_address_map_get(&heap->tables.pins.by_address, address_of(object));
  if (index == ADDRESS_MAP_NONE)
    crd_pin_add(&heap->tables, object);
  else
    heap->tables.pins.pins[index].count++;
  return object;
}
