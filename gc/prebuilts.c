/* Prebuilt objects come and go, in the table of them and in the remembered sets. One that comes is remembered in that
 * of the heap's first local (gc/young/local.h), which a heap also has while it has no mutator. */
#include "gc/heap.h"
#include "gc/world.h"
#include "gc/young/remember.h"

/* Registers an object. If it refers into the heap already, it counts as written. */
static bool add(cradle_heap *heap, void *object, const char *what) {
  const char *fault = crd_prebuilt_fault(&heap->tables, object);
  if (fault != NULL) crd_misuse(heap, "%s: %p: %s", what, object, fault);
  if (!crd_prebuilts_reserve(&heap->tables.prebuilts)) {
    crd_out_of_room(&heap->space, what, "prebuilt object");
    return false;
  }
  if (crd_prebuilt_enter(&heap->tables, object)) crd_remember(&heap->young, &heap->space.locals, object);
  return true;
}

/* The barrier looks for prebuilt objects in the table, so all stand while it changes. */
static void enter(cradle_heap *heap, const char *what) {
  crd_heap_enter(heap, what);
  crd_world_stop(&heap->space, what);
}

bool cradle_prebuilt_add(cradle_heap *heap, void *object) {
  static const char what[] = "cradle_prebuilt_add";
  enter(heap, what);
  bool added = add(heap, object, what);
  crd_world_leave(&heap->space);
  return added;
}

/* The set, of whichever mutator, that has the object at the place where it was remembered; NULL: none, because the set
 * could not grow. */
static crd_word_stack *set_with(cradle_heap *heap, const crd_prebuilt *prebuilt) {
  size_t place = prebuilt->remembered;
  for (EACH_LOCAL(local, &heap->space))
    if (place < word_stack_count(&local->remembered) && local->remembered.base[place] == address_of(prebuilt->object))
      return &local->remembered;
  return NULL;
}

/* The last entry of the remembered set takes the place of a prebuilt object's. */
static void forget_remembered(cradle_heap *heap, const crd_prebuilt *prebuilt) {
  crd_prebuilts *prebuilts = &heap->tables.prebuilts;
  size_t place = prebuilt->remembered;
  if (header_has_barrier(*prebuilt->object)) return;
  crd_word_stack *remembered = set_with(heap, prebuilt);
  ASSERT(remembered != NULL || heap->young.remember_all,
         "[prebuilt.4] a remembered prebuilt object is not where its entry says");
  if (remembered == NULL) return;
  uintptr_t last = remembered->base[place] = word_stack_pop(remembered);
  uint32_t index = crd_address_map_get(&prebuilts->by_address, last);
  if (index != ADDRESS_MAP_NONE) prebuilts->of[index].remembered = place;
}

/* No list of the heap may keep the object's address: afterwards it is plain memory of the program's. */
void cradle_prebuilt_remove(cradle_heap *heap, void *object) {
  crd_prebuilts *prebuilts = &heap->tables.prebuilts;
  enter(heap, "cradle_prebuilt_remove");
  uint32_t index = crd_address_map_get(&prebuilts->by_address, address_of(object));
  if (index == ADDRESS_MAP_NONE) crd_misuse(heap, "cradle_prebuilt_remove: %p: it is not registered", object);
  if (header_is_pinned(*words_of(object)))
    crd_misuse(heap, "cradle_prebuilt_remove: %s at %p: it is pinned",
               crd_name_type(&heap->space, cradle_type_of(object)).buffer, object);
  forget_remembered(heap, &prebuilts->of[index]);
  cradle_word *passed = crd_prebuilt_leave(&heap->tables, index);
  if (passed != NULL) crd_remember(&heap->young, &heap->space.locals, passed);
  crd_world_leave(&heap->space);
}
