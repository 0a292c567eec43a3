/* The heap's types: a descriptor is checked, entered in the table, and given its size class. */
#include "gc/death/registry.h"
#include "gc/heap.h"
#include "gc/report/misuse.h"
#include "gc/mutator.h"

/* Adds a sound descriptor. false: memory was refused. */
static bool add(cradle_heap *heap, const cradle_type *type) {
  ASSERT(heap->space.types.count < heap->space.types.capacity || !heap->space.old.marked_beside,
         "[marker.7] the type table grows in a round");
  crd_type *entry = crd_type_table_add(&heap->space.types, type, heap->space.plain_encoding);
  if (entry == NULL) return false;
  entry->user = heap->options.user;
  if (entry->size == 0 || entry->items != CRADLE_ITEMS_NONE || entry->size > SMALL_MAX_BYTES) return true;
  entry->size_class = (uint8_t)old_class_of(&heap->space.old, entry->size);
  entry->class_bytes = heap->space.old.classes.of[entry->size_class].bytes;
  ASSERT(entry->class_bytes >= entry->size, "[type.4] objects of a type do not fit their size class");
  return true;
}

bool crd_types_init(cradle_heap *heap) {
  for (size_t i = 0; i < heap->options.type_count; i++)
    if (!add(heap, &heap->options.types[i])) return false;
  return true;
}

uint32_t cradle_type_add(cradle_heap *heap, const cradle_type *type) {
  static const char what[] = "cradle_type_add";
  crd_heap_check_thread(heap, what);
  const char *fault = crd_type_fault(type);
  uint32_t id = heap->space.types.count;
  if (fault != NULL) crd_misuse(heap, "%s: type %u (%s): %s", what, id, crd_show_name(type->name).buffer, fault);
  /* The new type may need lists of registered objects that do not exist yet. */
  crd_registry_close(&heap->space);
  if (heap->space.types.count == heap->space.types.capacity) (void)crd_marker_stop(&heap->marking); /* [marker.7] */
  if (add(heap, type)) return id;
  ASSERT(heap->space.types.count == id, "[type.3] a type that was not added has an id");
  crd_out_of_room(&heap->space, what, "type");
  return CRADLE_TYPE_ID_END;
}
