#include "gc/allocate_check.h"

#include "gc/heap.h"
#include "gc/report/misuse.h"
#include "gc/mutator.h"

static CRADLE_COLD void unknown_type(cradle_heap *heap, uint32_t type, const char *what) {
  if (heap->space.types.count == 0) crd_misuse(heap, "%s: allocation on a heap without types", what);
  /* The id is in the table, so its row is an empty one. */
  if (type < heap->space.types.count)
    crd_misuse(heap, "%s: allocation of type %u, whose row in the table of types is empty", what, type);
  crd_misuse(heap, "%s: allocation of type %u, but the heap's types are 0 to %u", what, type,
             heap->space.types.count - 1);
}

static CRADLE_COLD void wrong_size(cradle_heap *heap, uint32_t type, size_t size, const char *what) {
  const crd_type *descriptor = &heap->space.types.types[type];
  if (descriptor->items != CRADLE_ITEMS_NONE)
    crd_misuse(heap,
               "%s: allocation of %zu bytes for %s, which has items: CRADLE_NEW_ARRAY, cradle_new_with and their kin "
               "allocate such types",
               what, size, crd_name_type(&heap->space, type).buffer);
  crd_misuse(heap, "%s: allocation of %zu bytes for %s, whose descriptor says %u", what, size,
             crd_name_type(&heap->space, type).buffer, descriptor->size);
}

static CRADLE_COLD void must_register(cradle_heap *heap, uint32_t type, const char *what) {
  crd_misuse(
      heap,
      "%s: allocation of %s, which has weak slots, ephemerons, a finalizer, a destructor or an external size: only "
      "CRADLE_NEW_WITH, CRADLE_NEW_ARRAY_WITH and cradle_new_with, without flags, allocate such types",
      what, crd_name_type(&heap->space, type).buffer);
}

static const crd_type *check_type(cradle_heap *heap, uint32_t type, const char *what) {
  if (CRADLE_UNLIKELY(type >= heap->space.types.count || heap->space.types.types[type].size == 0))
    unknown_type(heap, type, what);
  return &heap->space.types.types[type];
}

/* Misuse unless the type has no items and the size is the type's. Returns the size, rounded up. */
static size_t check_fixed_size(cradle_heap *heap, uint32_t type, size_t size, const char *what) {
  const crd_type *descriptor = &heap->space.types.types[type];
  bool possible = size <= SIZE_MAX / 2 && cradle_object_bytes(size) == descriptor->size;
  if (CRADLE_UNLIKELY(descriptor->items != CRADLE_ITEMS_NONE || !possible)) wrong_size(heap, type, size, what);
  return descriptor->size;
}

void crd_check_unregistered(cradle_heap *heap, uint32_t type, const char *what) {
  if (CRADLE_UNLIKELY(check_type(heap, type, what)->registers != 0)) must_register(heap, type, what);
}

void crd_check_size(cradle_heap *heap, uint32_t type, size_t size, const char *what) {
  crd_check_unregistered(heap, type, what);
  check_fixed_size(heap, type, size, what);
}

static const crd_type *check_items(cradle_heap *heap, uint32_t type, const char *what) {
  const crd_type *descriptor = check_type(heap, type, what);
  if (CRADLE_UNLIKELY(descriptor->items == CRADLE_ITEMS_NONE))
    crd_misuse(heap, "%s: the descriptor of %s has no items", what, crd_name_type(&heap->space, type).buffer);
  return descriptor;
}

size_t crd_check_array(cradle_heap *heap, uint32_t type, size_t length, const char *what) {
  return type_array_bytes(check_items(heap, type, what), length);
}

static CRADLE_COLD void wrong_layout(cradle_heap *heap, uint32_t type, cradle_array_layout layout, const char *what) {
  const crd_type *descriptor = &heap->space.types.types[type];
  crd_misuse(
      heap,
      "%s: a structure of %u bytes with items of %u and its length at %u, for %s, whose descriptor says size %u, "
      "item_size %u, length_offset %u",
      what, layout.size, layout.item_size, layout.length_offset, crd_name_type(&heap->space, type).buffer,
      descriptor->size, descriptor->item_size, descriptor->length_offset);
}

void crd_check_layout(cradle_heap *heap, uint32_t type, cradle_array_layout layout, const char *what) {
  const crd_type *descriptor = check_type(heap, type, what);
  if (CRADLE_UNLIKELY(layout.size != descriptor->size || layout.item_size != descriptor->item_size ||
                      layout.length_offset != descriptor->length_offset))
    wrong_layout(heap, type, layout, what);
}

size_t crd_check_with(cradle_heap *heap, uint32_t type, cradle_array_layout layout, size_t count, const char *what) {
  const crd_type *descriptor = check_type(heap, type, what);
  bool is_given = layout.size != 0 || layout.item_size != 0 || layout.length_offset != 0;
  if (is_given && layout.item_size == 0 && layout.length_offset == 0)
    check_fixed_size(heap, type, layout.size, what);
  else if (is_given)
    crd_check_layout(heap, type, layout, what);
  if (count == 0 && descriptor->items == CRADLE_ITEMS_NONE) return descriptor->size;
  return crd_check_array(heap, type, count, what);
}

/* --- for callers that were compiled with CRADLE_CHECKED --- */

void cradle_check_new(cradle_mutator *mutator, uint32_t type, size_t size) {
  crd_mutator_check(mutator, "cradle_new");
  mutator->reserved_end = NULL;
  crd_check_size(mutator->heap, type, size, "cradle_new");
}

void cradle_check_new_fast(cradle_mutator *mutator, uint32_t type, size_t size) {
  if (cradle_top(mutator) == NULL) return; /* there is no room: a callback runs, for example */
  crd_mutator_check_thread(mutator, "CRADLE_NEW_FAST");
  crd_check_size(mutator->heap, type, size, "CRADLE_NEW_FAST");
}

void cradle_check_items(cradle_mutator *mutator, uint32_t type, cradle_array_layout layout, bool may_collect) {
  const char *what = "CRADLE_NEW_ARRAY";
  if (may_collect) {
    crd_mutator_check(mutator, what);
    mutator->reserved_end = NULL;
  } else {
    crd_mutator_check_thread(mutator, what);
  }
  crd_check_layout(mutator->heap, type, layout, what);
  crd_check_unregistered(mutator->heap, type, what);
}

void cradle_check_room(const cradle_reservation *reservation, size_t bytes) {
  cradle_mutator *mutator = reservation->mutator;
  crd_mutator_check_thread(mutator, "CRADLE_NEW_RESERVED");
  /* A call that may collect has ended every reservation: it sets reserved_end to NULL. */
  if (mutator->reserved_end != reservation->end)
    crd_misuse(mutator->heap, "CRADLE_NEW_RESERVED: the reservation is over (a call that may collect ended it)");
  if (bytes > (size_t)(reservation->end - reservation->free))
    crd_misuse(mutator->heap, "CRADLE_NEW_RESERVED: the object goes beyond the reservation");
}

void cradle_check_reserved(const cradle_reservation *reservation, uint32_t type, size_t size) {
  crd_mutator_check_thread(reservation->mutator, "CRADLE_NEW_RESERVED");
  crd_check_size(reservation->mutator->heap, type, size, "CRADLE_NEW_RESERVED");
  cradle_check_room(reservation, cradle_object_bytes(size));
}
