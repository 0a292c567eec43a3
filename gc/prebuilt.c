#include "gc/prebuilt.h"

#include <stdlib.h>

#include "gc/check.h"
#include "gc/heap.h"
#include "gc/visit.h"

#define FIRST_CAPACITY 64

static bool reserve(crd_prebuilts *prebuilts) {
  if (!crd_address_map_reserve(&prebuilts->by_address)) return false;
  if (prebuilts->count < prebuilts->capacity) return true;
  if (prebuilts->capacity > UINT32_MAX / 2) return false;
  uint32_t capacity = prebuilts->capacity == 0 ? FIRST_CAPACITY : 2 * prebuilts->capacity;
  cradle_word **objects = realloc(prebuilts->objects, capacity * sizeof(cradle_word *));
  if (objects == NULL) return false;
  prebuilts->objects = objects;
  size_t *bytes = realloc(prebuilts->bytes, capacity * sizeof *bytes);
  if (bytes == NULL) return false;
  prebuilts->bytes = bytes;
  prebuilts->capacity = capacity;
  return true;
}

static void put_at(crd_prebuilts *prebuilts, uint32_t index, cradle_word *object, size_t bytes) {
  prebuilts->objects[index] = object;
  prebuilts->bytes[index] = bytes;
  crd_address_map_find(&prebuilts->by_address, (uintptr_t)object)->number = index;
}

void crd_prebuilt_written(cradle_heap *heap, cradle_word *object) {
  crd_prebuilts *prebuilts = &heap->prebuilts;
  uint32_t index = crd_address_map_get(&prebuilts->by_address, (uintptr_t)object);
  ASSERT(index != ADDRESS_MAP_NONE, "a barrier on what is neither in the heap nor prebuilt");
  if (index < prebuilts->written) return;
  if (prebuilts->marked_at == prebuilts->written) prebuilts->marked_at++; /* the next minor collection marks for it */
  size_t bytes = prebuilts->bytes[index];
  put_at(prebuilts, index, prebuilts->objects[prebuilts->written], prebuilts->bytes[prebuilts->written]);
  put_at(prebuilts, prebuilts->written++, object, bytes);
}

/* --- slots that lead into the heap --- */

typedef struct slot_search {
  const cradle_heap *heap;
  bool clear; /* make them zero */
  bool found;
} slot_search;

static void search_address(slot_search *search, uintptr_t address, cradle_word *slot) {
  if (!heap_is_young(search->heap, address) && !arenas_contain(&search->heap->old.arenas, address)) return;
  search->found = true;
  if (search->clear) *slot = 0;
}

static void search_reference(void *data, cradle_word *slot) {
  search_address(data, (uintptr_t)*slot, slot);
}

static void search_value(void *data, cradle_word *slot) {
  slot_search *search = data;
  const cradle_encoding *encoding = &search->heap->encoding;
  if (value_is_reference(encoding, *slot)) search_address(search, value_address(encoding, *slot), slot);
}

static bool search_slots(const cradle_heap *heap, cradle_word *object, bool clear) {
  slot_search search = {.heap = heap, .clear = clear};
  visit_object(heap_type(heap, object[0]), object, search_reference, search_value, &search);
  return search.found;
}

/* --- registration --- */

static const char *fault_of(const cradle_heap *heap, const cradle_word *object) {
  uintptr_t address = (uintptr_t)object;
  if (object == NULL || address % CRADLE_OBJECT_ALIGNMENT != 0) return "the object is NULL or not aligned to 8 bytes";
  if (heap_is_young(heap, address) || arenas_contain(&heap->old.arenas, address)) return "the object lies in the heap";
  if (prebuilt_is(&heap->prebuilts, object)) return "the object is registered already";
  if (object[0] >= heap->types.count)
    return "the header is not a type id of the heap alone (or the object is registered with another heap)";
  if (heap_type(heap, object[0])->registers != 0)
    return "the type has weak slots, ephemerons, a finalizer, a destructor or an external size, which only objects of the heap "
           "have";
  return NULL;
}

bool cradle_prebuilt_add(cradle_heap *heap, void *object) {
  crd_prebuilts *prebuilts = &heap->prebuilts;
  cradle_word *header = object;
  heap_check(heap, "cradle_prebuilt_add");
  const char *fault = fault_of(heap, object);
  if (fault != NULL) {
    crd_text text = {.length = 0};
    crd_text_add(&text, "cradle_prebuilt_add: ");
    crd_text_add(&text, fault);
    crd_misuse(heap, text.buffer);
  }
  if (!reserve(prebuilts)) return false;
  crd_address_map_insert(&prebuilts->by_address, (uintptr_t)object, prebuilts->count);
  prebuilts->bytes[prebuilts->count] = type_object_bytes(heap_type(heap, *header), header);
  prebuilts->objects[prebuilts->count++] = object;
  *header |= HEADER_BARRIER_FLAG;
  if (search_slots(heap, object, false)) crd_remember(heap, object);
  return true;
}

/* Makes plain memory of it: nothing of the heap's is left in it. */
static void release(const cradle_heap *heap, cradle_word *object) {
  (void)search_slots(heap, object, true);
  *object = (uint32_t)*object;
}

static void forget_remembered(crd_word_stack *remembered, const cradle_word *object) {
  cradle_word *entry = remembered->base;
  while (entry < remembered->top && *entry != (uintptr_t)object) entry++;
  if (entry < remembered->top) *entry = *--remembered->top;
}

/* The last of the written takes the place of the one that goes. Where marking has been already it is remembered, so that the
 * next minor collection marks what it refers to. Returns the place that became free. */
static uint32_t replace_written(cradle_heap *heap, uint32_t index) {
  crd_prebuilts *prebuilts = &heap->prebuilts;
  cradle_word *last = prebuilts->objects[--prebuilts->written];
  if (index != prebuilts->written) {
    put_at(prebuilts, index, last, prebuilts->bytes[prebuilts->written]);
    if (index < prebuilts->marked_at && (*last & HEADER_BARRIER_FLAG)) crd_remember(heap, last);
  }
  if (prebuilts->marked_at > prebuilts->written) prebuilts->marked_at = prebuilts->written;
  return prebuilts->written;
}

void cradle_prebuilt_remove(cradle_heap *heap, void *object) {
  crd_prebuilts *prebuilts = &heap->prebuilts;
  heap_check(heap, "cradle_prebuilt_remove");
  uint32_t index = crd_address_map_get(&prebuilts->by_address, (uintptr_t)object);
  if (index == ADDRESS_MAP_NONE) crd_misuse(heap, "cradle_prebuilt_remove: the object is not registered");
  if (*(cradle_word *)object & HEADER_PINNED_FLAG) crd_misuse(heap, "cradle_prebuilt_remove: the object is pinned");
  forget_remembered(&heap->remembered, object);
  crd_ids_drop(heap, object);
  if (index < prebuilts->written) index = replace_written(heap, index);
  if (index != --prebuilts->count) put_at(prebuilts, index, prebuilts->objects[prebuilts->count], prebuilts->bytes[prebuilts->count]);
  crd_address_map_remove(&prebuilts->by_address, (uintptr_t)object);
  release(heap, object);
}

void crd_prebuilts_fini(cradle_heap *heap) {
  crd_prebuilts *prebuilts = &heap->prebuilts;
  for (uint32_t i = 0; i < prebuilts->count; i++) release(heap, prebuilts->objects[i]);
  crd_address_map_fini(&prebuilts->by_address);
  free(prebuilts->objects);
  free(prebuilts->bytes);
}
