#include "gc/tables/pin.h"

#include <stdlib.h>

#include "gc/base/grow.h"
#include "gc/old/marking.h"
#include "gc/tables/tables.h"

void crd_pins_fini(crd_pins *pins) {
  crd_address_map_fini(&pins->by_address);
  free(pins->pins);
}

bool crd_pins_reserve(crd_pins *pins) {
  return crd_address_map_reserve(&pins->by_address) && GROW(pins->pins, pins->count, pins->capacity);
}

/* A cursor at the end passes the new pin, or a program that keeps pinning could keep marking from finishing. */
void crd_pin_add(crd_tables *tables, cradle_word *object) {
  crd_pins *pins = &tables->pins;
  ASSERT(!space_holds_young(tables->space, address_of(object)), "[pin.2] a young object is pinned");
  ASSERT(!header_is_pinned(CRADLE_HEADER_(cradle_word, object)), "[pin.1] an object gets a second entry");
  ASSERT(pins->count < pins->capacity, "no room was made for a pin");
  ASSERT(pins->marked_at <= pins->count, "[pin.3] marking is beyond the last pin");
  crd_address_map_insert(&pins->by_address, address_of(object), pins->count);
  if (pins->marked_at == pins->count) pins->marked_at++;
  pins->pins[pins->count++] = (crd_pin){address_of(object), 1};
  space_give_flags(tables->space, object, HEADER_PINNED_FLAG);
  marking_shade(tables->marking, address_of(object));
}

/* Removes a pin. The last one takes its place, so that the array has no holes. If marking has passed that place but not
 * the last one, it would miss the object, so the object is marked here [pin.3]. */
static void take_out(crd_tables *tables, uint32_t index) {
  crd_pins *pins = &tables->pins;
  ASSERT(index < pins->count && pins->pins[index].count == 0, "[pin.1] a pin goes that somebody holds");
  crd_pin last = pins->pins[--pins->count];
  crd_address_map_remove(&pins->by_address, pins->pins[index].address);
  if (index != pins->count) {
    pins->pins[index] = last;
    crd_address_map_find(&pins->by_address, last.address)->number = index;
  }
  if (index < pins->marked_at) marking_shade(tables->marking, last.address);
  if (pins->marked_at > pins->count) pins->marked_at = pins->count;
}

void cradle_unpin(cradle_mutator *mutator, void *object) {
  crd_tables *tables = mutator_of(mutator)->tables;
  crd_mutator_check_thread(mutator, "cradle_unpin");
  if (collection_is_off(tables->space->options) && space_holds_young(tables->space, address_of(object)))
    return; /* nothing moves: never pinned */
  space_lock(tables->space);
  uint32_t index = crd_address_map_get(&tables->pins.by_address, address_of(object));
  if (index == ADDRESS_MAP_NONE)
    crd_misuse(mutator->heap, "cradle_unpin: %s: it is not pinned (any more)",
               crd_name_object(tables->space, object).buffer);
  if (--tables->pins.pins[index].count == 0) {
    take_out(tables, index);
    (void)space_take_flags(tables->space, words_of(object), HEADER_PINNED_FLAG);
  }
  space_unlock(tables->space);
}

/* --- checks --- */

const char *crd_pins_check(const crd_tables *tables, uintptr_t *at) {
  const crd_pins *pins = &tables->pins;
  *at = 0;
  if (pins->by_address.count != pins->count) return "the pins and their map disagree";
  for (uint32_t i = 0; i < pins->count; i++) {
    uintptr_t address = *at = pins->pins[i].address;
    if (crd_address_map_get(&pins->by_address, address) != i) return "a pin is not found by its object's address";
    if (pins->pins[i].count == 0) return "a pin that nobody holds [pin.1]";
    if (space_holds_young(tables->space, address)) return "a young object is pinned [pin.2]";
    if (!crd_old_is_object(&tables->space->old, address)) return "a pinned object is gone [pin.2]";
    if (!header_is_pinned(*object_at(address))) return "a pinned object has not the flag [pin.1]";
    if (i < pins->marked_at && marking_lacks(tables->marking, address))
      return "a pinned object that marking has passed is not marked [pin.3]";
  }
  *at = 0;
  return crd_address_map_check(&pins->by_address);
}
