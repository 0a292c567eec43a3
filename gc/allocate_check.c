#include "gc/allocate_check.h"

#include <cradle/detail/new.h>

#include "gc/heap.h"
#include "gc/misuse.h"
#include "gc/mutator.h"
#include "gc/object/type_table.h"

static CRADLE_COLD void unknown_type(cradle_heap *heap, uint32_t type) {
  if (heap->types.count == 0) crd_misuse(heap, "allocation on a heap without types");
  if (type < heap->types.count)
    crd_misuse(heap, "allocation of type %u, whose row in the table of types is empty", type);
  crd_misuse(heap, "allocation of type %u, but the heap's types are 0 to %u", type, heap->types.count - 1);
}

static CRADLE_COLD void wrong_size(cradle_heap *heap, uint32_t type, size_t size) {
  const crd_type *descriptor = &heap->types.types[type];
  const char *least = descriptor->items != CRADLE_ITEMS_NONE ? "at least " : "";
  crd_misuse(heap, "allocation of %zu bytes for %s, whose descriptor says %s%u", size, crd_name_type(heap, type).buffer,
             least, descriptor->size);
}

static CRADLE_COLD void must_register(cradle_heap *heap, uint32_t type) {
  crd_misuse(heap,
             "allocation of %s, which has weak slots, ephemerons, a finalizer, a destructor or an external size: only "
             "cradle_new_registered and its kin allocate such types",
             crd_name_type(heap, type).buffer);
}

static const crd_type *check_type(cradle_heap *heap, uint32_t type) {
  if (CRADLE_UNLIKELY(type >= heap->types.count || heap->types.types[type].size == 0)) unknown_type(heap, type);
  return &heap->types.types[type];
}

void crd_check_size(cradle_heap *heap, uint32_t type, size_t size) {
  const crd_type *descriptor = check_type(heap, type);
  if (CRADLE_UNLIKELY(descriptor->registers != 0)) must_register(heap, type);
  bool fixed = descriptor->items == CRADLE_ITEMS_NONE;
  if (CRADLE_UNLIKELY(fixed ? cradle_object_bytes(size) != descriptor->size : size < descriptor->size))
    wrong_size(heap, type, size);
}

size_t crd_check_registered_size(cradle_heap *heap, uint32_t type, size_t size) {
  const crd_type *descriptor = check_type(heap, type);
  bool fixed = descriptor->items == CRADLE_ITEMS_NONE;
  size_t bytes = size > SIZE_MAX / 2 ? size : cradle_object_bytes(size);
  if (CRADLE_UNLIKELY(fixed ? bytes != descriptor->size : size < descriptor->size)) wrong_size(heap, type, size);
  return bytes;
}

size_t crd_check_registered_array(cradle_heap *heap, uint32_t type, size_t length, const char *what) {
  const crd_type *descriptor = check_type(heap, type);
  if (descriptor->items == CRADLE_ITEMS_NONE) crd_misuse(heap, "%s: the type's descriptor has no items", what);
  return type_array_bytes(descriptor, length);
}

static CRADLE_COLD void wrong_layout(cradle_heap *heap, uint32_t type, cradle_array_layout layout, const char *what) {
  const crd_type *descriptor = &heap->types.types[type];
  crd_misuse(
      heap,
      "%s: a structure of %u bytes with items of %u and its length at %u, for %s, whose descriptor says size %u, "
      "item_size %u, length_offset %u",
      what, layout.size, layout.item_size, layout.length_offset, crd_name_type(heap, type).buffer, descriptor->size,
      descriptor->item_size, descriptor->length_offset);
}

void crd_check_layout(cradle_heap *heap, uint32_t type, cradle_array_layout layout, const char *what) {
  const crd_type *descriptor = check_type(heap, type);
  if (CRADLE_UNLIKELY(layout.size != descriptor->size || layout.item_size != descriptor->item_size ||
                      layout.length_offset != descriptor->length_offset))
    wrong_layout(heap, type, layout, what);
}

size_t crd_check_array(cradle_heap *heap, uint32_t type, size_t length, const char *what) {
  size_t bytes = crd_check_registered_array(heap, type, length, what);
  if (CRADLE_UNLIKELY(heap->types.types[type].registers != 0)) must_register(heap, type);
  return bytes;
}

/* --- what callers that were compiled with CRADLE_CHECKED ask --- */

void cradle_check_new(cradle_mutator *mutator, uint32_t type, size_t size) {
  crd_mutator_check(mutator, "cradle_new");
  mutator->reserved_end = NULL;
  crd_check_size(mutator->heap, type, size);
}

void cradle_check_new_fast(cradle_mutator *mutator, uint32_t type, size_t size) {
  if (cradle_top(mutator) == NULL) return; /* there is no room: in a callback, say */
  crd_mutator_check_thread(mutator, "cradle_new_fast");
  crd_check_size(mutator->heap, type, size);
}

void cradle_check_layout(cradle_mutator *mutator, uint32_t type, cradle_array_layout layout) {
  crd_mutator_check_thread(mutator, "CRADLE_NEW_ARRAY");
  crd_check_layout(mutator->heap, type, layout, "CRADLE_NEW_ARRAY");
}

void cradle_check_reserved(const cradle_reservation *reservation, uint32_t type, size_t size) {
  cradle_mutator *mutator = reservation->mutator;
  crd_mutator_check_thread(mutator, "cradle_new_reserved");
  crd_check_size(mutator->heap, type, size);
  if (mutator->reserved_end != reservation->end)
    crd_misuse(mutator->heap, "cradle_new_reserved: the reservation is over (a call that may collect ended it)");
  if (cradle_object_bytes(size) > (size_t)(reservation->end - reservation->free))
    crd_misuse(mutator->heap, "cradle_new_reserved: the object goes beyond the reservation");
}
