/* Pins that may collect. A young object is promoted before it is pinned, and an object that is allocated pinned
 * (gc/allocate.c) is old: nothing in the nursery is ever pinned, so the nursery stays one piece. */
#include "gc/collect.h"
#include "gc/heap.h"
#include "gc/mutator.h"
#include "gc/report/misuse.h"
#include "gc/tables/pin.h"
#include "gc/world.h"

static void *pin(cradle_mutator *mutator, void *object, const char *what) CRADLE_MAY_COLLECT {
  cradle_heap *heap = mutator->heap;
  if (collection_is_off(&heap->options) && space_holds_young(&heap->space, address_of(object))) return object;
  /* Room comes first: after the collection nothing may fail. */
  space_lock(&heap->space);
  bool ready = crd_pins_reserve(&heap->tables.pins);
  space_unlock(&heap->space);
  if (!ready) {
    crd_out_of_room(&heap->space, what, "pin");
    return NULL;
  }
  CRADLE_ROOT(mutator, object);
  if (space_holds_young(&heap->space, address_of(object))) crd_collect(heap, CRADLE_CAUSE_PIN);
  ASSERT(!space_holds_young(&heap->space, address_of(object)), "[pin.2] an object is pinned where it cannot stay");
  /* Looked up only now, because the collection may have moved the object. */
  space_lock(&heap->space);
  uint32_t index = crd_address_map_get(&heap->tables.pins.by_address, address_of(object));
  if (index == ADDRESS_MAP_NONE)
    crd_pin_add(&heap->tables, object);
  else
    heap->tables.pins.pins[index].count++;
  space_unlock(&heap->space);
  return object;
}

/* The world is held, so nobody else uses up the room that was made. In a shared heap the object is a root while the
 * mutator waits. */
void *cradle_pin(cradle_mutator *mutator, void *object) {
  static const char what[] = "cradle_pin";
  crd_space *space = &mutator->heap->space;
  crd_mutator_check(mutator, what);
  if (!space_has(space, address_of(object)))
    crd_misuse(mutator->heap, "%s: %s: it cannot be pinned", what, crd_name_object(space, object).buffer);
  if (CRADLE_LIKELY(!space_is_shared(space))) return pin(mutator, object, what);
  CRADLE_ROOT(mutator, object);
  crd_world_take(space, mutator_of(mutator));
  void *pinned = pin(mutator, object, what);
  crd_world_release(space);
  return pinned;
}
