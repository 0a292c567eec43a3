#include "gc/tables/prebuilt.h"

#include <stdlib.h>

#include "gc/base/grow.h"
#include "gc/old/marking.h"
#include "gc/tables/tables.h"

bool crd_prebuilts_reserve(crd_prebuilts *prebuilts) {
  return crd_address_map_reserve(&prebuilts->by_address) && GROW(prebuilts->of, prebuilts->count, prebuilts->capacity);
}

static bool bounds_hold(const crd_prebuilts *prebuilts) {
  return prebuilts->marked_at <= prebuilts->written && prebuilts->written <= prebuilts->count &&
         prebuilts->count == prebuilts->by_address.count;
}

static void put_at(crd_prebuilts *prebuilts, uint32_t index, crd_prebuilt prebuilt) {
  prebuilts->of[index] = prebuilt;
  crd_address_map_find(&prebuilts->by_address, address_of(prebuilt.object))->number = index;
}

void crd_prebuilt_written(crd_tables *tables, const cradle_word *object, size_t place) {
  crd_prebuilts *prebuilts = &tables->prebuilts;
  uint32_t index = crd_address_map_get(&prebuilts->by_address, address_of(object));
  ASSERT(index != ADDRESS_MAP_NONE, "a barrier on what is neither in the heap nor prebuilt");
  ASSERT(!header_has_barrier(*object), "[prebuilt.2] a prebuilt object is remembered with its barrier flag set");
  ASSERT(bounds_hold(prebuilts), "[prebuilt.3] more are written than there are, or marked than written");
  prebuilts->of[index].remembered = place;
  if (index < prebuilts->written) return;
  /* A cursor at the end passes the object: the next minor collection marks what it refers to. */
  if (prebuilts->marked_at == prebuilts->written) prebuilts->marked_at++;
  crd_prebuilt written = prebuilts->of[index];
  put_at(prebuilts, index, prebuilts->of[prebuilts->written]);
  put_at(prebuilts, prebuilts->written++, written);
}

/* --- slots that lead into the heap --- */

typedef struct slot_search {
  const crd_space *space;
  bool clear; /* make them zero */
  bool found;
} slot_search;

static void search_slot(void *data, bool value, cradle_word *slot) {
  slot_search *search = data;
  uintptr_t address = space_address_in(search->space, value, *slot);
  if (!space_is_young(search->space, address) && !arenas_contain(&search->space->old.arenas, address)) return;
  search->found = true;
  if (search->clear) *slot = 0;
}

static bool search_slots(slot_search search, cradle_word *object) {
  visit_object(&search.space->types, object, search_slot, &search);
  return search.found;
}

/* --- registration --- */

const char *crd_prebuilt_fault(const crd_tables *tables, const cradle_word *object) {
  uintptr_t address = address_of(object);
  if (object == NULL || address % CRADLE_OBJECT_ALIGNMENT != 0) return "the object is NULL or not aligned to 8 bytes";
  if (space_is_young(tables->space, address) || arenas_contain(&tables->space->old.arenas, address))
    return "the object lies in the heap";
  if (prebuilt_is(&tables->prebuilts, object)) return "the object is registered already";
  if (!type_table_has(&tables->space->types, object[0]))
    return "the header is not just a type id of the heap (or the object is registered with another heap)";
  if (space_type(tables->space, object[0])->registers != 0)
    return "the type has weak slots, ephemerons, a finalizer, a destructor or an external size, which only objects of "
           "the heap have";
  return NULL;
}

bool crd_prebuilt_enter(crd_tables *tables, cradle_word *object) {
  crd_prebuilts *prebuilts = &tables->prebuilts;
  crd_address_map_insert(&prebuilts->by_address, address_of(object), prebuilts->count);
  prebuilts->of[prebuilts->count++] =
      (crd_prebuilt){object, type_object_bytes(space_type(tables->space, *object), object), 0};
  object_set_flags(object, HEADER_BARRIER_FLAG);
  return search_slots((slot_search){.space = tables->space}, object);
}

static void release(crd_space *space, cradle_word *object) {
  (void)search_slots((slot_search){.space = space, .clear = true}, object);
  *object = header_type(*object);
}

/* Fills the place of a written object that is removed with the last of the written ones. Returns the place that has
 * become free. If marking has passed that place, *passed is that object. */
static uint32_t replace_written(crd_tables *tables, uint32_t index, cradle_word **passed) {
  crd_prebuilts *prebuilts = &tables->prebuilts;
  crd_prebuilt last = prebuilts->of[--prebuilts->written];
  if (prebuilts->marked_at > prebuilts->written) prebuilts->marked_at = prebuilts->written;
  if (index == prebuilts->written) return index;
  put_at(prebuilts, index, last);
  if (marking_goes_on(tables->marking) && index < prebuilts->marked_at && header_has_barrier(*last.object))
    *passed = last.object;
  return prebuilts->written;
}

cradle_word *crd_prebuilt_leave(crd_tables *tables, uint32_t index) {
  crd_prebuilts *prebuilts = &tables->prebuilts;
  cradle_word *object = prebuilts->of[index].object, *passed = NULL;
  crd_ids_drop(&tables->ids, object);
  if (index < prebuilts->written) index = replace_written(tables, index, &passed);
  if (index != --prebuilts->count) put_at(prebuilts, index, prebuilts->of[prebuilts->count]);
  crd_address_map_remove(&prebuilts->by_address, address_of(object));
  ASSERT(bounds_hold(prebuilts), "[prebuilt.3] more are written than there are, or marked than written");
  release(tables->space, object);
  return passed;
}

void crd_prebuilts_fini(crd_tables *tables) {
  crd_prebuilts *prebuilts = &tables->prebuilts;
  for (uint32_t i = 0; i < prebuilts->count; i++) release(tables->space, prebuilts->of[i].object);
  crd_address_map_fini(&prebuilts->by_address);
  free(prebuilts->of);
}

/* --- checks --- */

const char *crd_prebuilts_check(const crd_tables *tables, uintptr_t *at) {
  const crd_prebuilts *prebuilts = &tables->prebuilts;
  *at = 0;
  if (!bounds_hold(prebuilts)) return "the prebuilt objects are counted wrong";
  for (uint32_t i = 0; i < prebuilts->count; i++) {
    *at = address_of(prebuilts->of[i].object);
    if (crd_address_map_get(&prebuilts->by_address, *at) != i) return "a prebuilt object is not found by its address";
  }
  *at = 0;
  return crd_address_map_check(&prebuilts->by_address);
}
