#include "gc/tables/prebuilt.h"

#include <stdlib.h>

#include "gc/base/grow.h"
#include "gc/heap.h"
#include "gc/misuse.h"
#include "gc/mutator.h"
#include "gc/object/visit.h"
#include "gc/young/remember.h"

static bool reserve(crd_prebuilts *prebuilts) {
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

void crd_prebuilt_written(cradle_heap *heap, cradle_word *object) {
  crd_prebuilts *prebuilts = &heap->prebuilts;
  uint32_t index = crd_address_map_get(&prebuilts->by_address, address_of(object));
  ASSERT(index != ADDRESS_MAP_NONE, "a barrier on what is neither in the heap nor prebuilt");
  ASSERT(!header_has_barrier(*object), "[prebuilt.2] a prebuilt object is remembered with its barrier flag set");
  ASSERT(bounds_hold(prebuilts), "[prebuilt.3] more are written than there are, or marked than written");
  prebuilts->of[index].remembered = word_stack_count(&heap->remembered);
  if (index < prebuilts->written) return;
  /* A cursor at the end passes the object, too: it is remembered, so the next minor collection marks what it refers
   * to. */
  if (prebuilts->marked_at == prebuilts->written) prebuilts->marked_at++;
  crd_prebuilt written = prebuilts->of[index];
  put_at(prebuilts, index, prebuilts->of[prebuilts->written]);
  put_at(prebuilts, prebuilts->written++, written);
}

/* --- slots that lead into the heap --- */

typedef struct slot_search {
  const cradle_heap *heap;
  bool clear; /* make them zero */
  bool found;
} slot_search;

static void search_slot(void *data, bool value, cradle_word *slot) {
  slot_search *search = data;
  uintptr_t address = heap_address_in(search->heap, value, *slot);
  if (!heap_is_young(search->heap, address) && !arenas_contain(&search->heap->old.arenas, address)) return;
  search->found = true;
  if (search->clear) *slot = 0;
}

static bool search_slots(slot_search search, cradle_word *object) {
  visit_object(&search.heap->types, object, search_slot, &search);
  return search.found;
}

/* --- registration --- */

/* What keeps the object from being registered, or NULL. */
static const char *fault_of(const cradle_heap *heap, const cradle_word *object) {
  uintptr_t address = address_of(object);
  if (object == NULL || address % CRADLE_OBJECT_ALIGNMENT != 0) return "the object is NULL or not aligned to 8 bytes";
  if (heap_is_young(heap, address) || arenas_contain(&heap->old.arenas, address)) return "the object lies in the heap";
  if (prebuilt_is(&heap->prebuilts, object)) return "the object is registered already";
  if (object[0] >= heap->types.count)
    return "the header is not just a type id of the heap (or the object is registered with another heap)";
  if (heap_type(heap, object[0])->registers != 0)
    return "the type has weak slots, ephemerons, a finalizer, a destructor or an external size, which only objects of "
           "the heap have";
  return NULL;
}

/* Registers an object. If it refers into the heap already, it counts as written. */
bool cradle_prebuilt_add(cradle_heap *heap, void *object) {
  static const char what[] = "cradle_prebuilt_add";
  crd_prebuilts *prebuilts = &heap->prebuilts;
  cradle_word *header = object;
  crd_heap_check_thread(heap, what);
  const char *fault = fault_of(heap, object);
  if (fault != NULL) crd_misuse(heap, "%s: %p: %s", what, object, fault);
  if (!reserve(prebuilts)) {
    crd_out_of_room(heap, what, "prebuilt object");
    return false;
  }
  crd_address_map_insert(&prebuilts->by_address, address_of(object), prebuilts->count);
  prebuilts->of[prebuilts->count++] = (crd_prebuilt){header, type_object_bytes(heap_type(heap, *header), header), 0};
  object_set_flags(header, HEADER_BARRIER_FLAG);
  if (search_slots((slot_search){.heap = heap}, object)) crd_remember(heap, object);
  return true;
}

/* Makes plain memory of an object: no reference into the heap and no flag is left in it. */
static void release(const cradle_heap *heap, cradle_word *object) {
  (void)search_slots((slot_search){.heap = heap, .clear = true}, object);
  *object = header_type(*object);
}

/* The last entry of the remembered set takes the place of a prebuilt object's. */
static void forget_remembered(cradle_heap *heap, const crd_prebuilt *prebuilt) {
  crd_word_stack *remembered = &heap->remembered;
  size_t place = prebuilt->remembered;
  if (header_has_barrier(*prebuilt->object)) return;
  bool is_there = place < word_stack_count(remembered) && object_at(remembered->base[place]) == prebuilt->object;
  ASSERT(is_there || heap->remember_all, "[prebuilt.4] a remembered prebuilt object is not where its entry says");
  if (!is_there) return; /* the set could not grow */
  uintptr_t last = remembered->base[place] = word_stack_pop(remembered);
  uint32_t index = crd_address_map_get(&heap->prebuilts.by_address, last);
  if (index != ADDRESS_MAP_NONE) heap->prebuilts.of[index].remembered = place;
}

/* Fills the place of a written object that is removed with the last of the written ones. If marking has passed that
 * place, that object is remembered, so that the next minor collection marks what it refers to. Returns the place that
 * has become free. */
static uint32_t replace_written(cradle_heap *heap, uint32_t index) {
  crd_prebuilts *prebuilts = &heap->prebuilts;
  crd_prebuilt last = prebuilts->of[--prebuilts->written];
  if (prebuilts->marked_at > prebuilts->written) prebuilts->marked_at = prebuilts->written;
  if (index != prebuilts->written) {
    put_at(prebuilts, index, last);
    bool passed = heap->major.phase == MAJOR_MARKING && index < prebuilts->marked_at;
    if (passed && header_has_barrier(*last.object)) crd_remember(heap, last.object);
  }
  return prebuilts->written;
}

/* No list of the heap may keep the object's address: afterwards it is plain memory of the program's. */
void cradle_prebuilt_remove(cradle_heap *heap, void *object) {
  crd_prebuilts *prebuilts = &heap->prebuilts;
  crd_heap_check_thread(heap, "cradle_prebuilt_remove");
  uint32_t index = crd_address_map_get(&prebuilts->by_address, address_of(object));
  if (index == ADDRESS_MAP_NONE) crd_misuse(heap, "cradle_prebuilt_remove: %p: it is not registered", object);
  if (header_is_pinned(*words_of(object)))
    crd_misuse(heap, "cradle_prebuilt_remove: %s at %p: it is pinned",
               crd_name_type(heap, cradle_type_of(object)).buffer, object);
  forget_remembered(heap, &prebuilts->of[index]);
  crd_ids_drop(heap, object);
  if (index < prebuilts->written) index = replace_written(heap, index);
  if (index != --prebuilts->count) put_at(prebuilts, index, prebuilts->of[prebuilts->count]);
  crd_address_map_remove(&prebuilts->by_address, address_of(object));
  ASSERT(bounds_hold(prebuilts), "[prebuilt.3] more are written than there are, or marked than written");
  release(heap, object);
}

void crd_prebuilts_fini(cradle_heap *heap) {
  crd_prebuilts *prebuilts = &heap->prebuilts;
  for (uint32_t i = 0; i < prebuilts->count; i++) release(heap, prebuilts->of[i].object);
  crd_address_map_fini(&prebuilts->by_address);
  free(prebuilts->of);
}

/* --- checks --- */

const char *crd_prebuilts_check(const cradle_heap *heap, uintptr_t *at) {
  const crd_prebuilts *prebuilts = &heap->prebuilts;
  *at = 0;
  if (!bounds_hold(prebuilts)) return "the prebuilt objects are counted wrong";
  for (uint32_t i = 0; i < prebuilts->count; i++) {
    *at = address_of(prebuilts->of[i].object);
    if (crd_address_map_get(&prebuilts->by_address, *at) != i) return "a prebuilt object is not found by its address";
  }
  *at = 0;
  return crd_address_map_check(&prebuilts->by_address);
}
