#include "gc/instruments/describe.h"

#include <string.h>

#include "gc/base/prefix.h"
#include "gc/heap.h"

/* Objects in the nursery and prebuilt ones have no page entry: their place is as large as they are. */
cradle_object_info crd_object_info(const cradle_heap *heap, const cradle_word *object) {
  ASSERT(header_type(object[0]) < heap->space.types.count, "what is described is no object");
  const crd_type *type = space_type(&heap->space, object[0]);
  uintptr_t address = address_of(object);
  cradle_object_info info = {.object = memory_at(address),
                             .type_name = heap->space.types.services[header_type(object[0])].name,
                             .bytes = type_object_bytes(type, object),
                             .type = header_type(object[0]),
                             .is_young = space_is_young(&heap->space, address)};
  info.place_bytes = info.bytes;
  if (info.is_young || !arenas_contain(&heap->space.old.arenas, address)) return info;
  const crd_page *page = old_span_of(&heap->space.old, address);
  info.is_large = page->state != PAGE_SMALL;
  info.is_young = page->state == PAGE_LARGE_YOUNG || page->state == PAGE_LARGE_REACHED;
  info.place_bytes =
      info.is_large ? (uint64_t)page->pages << PAGE_SHIFT : heap->space.old.classes.of[page->size_class].bytes;
  return info;
}

/* --- what lies at an address --- */

/* The start of the place that holds the address, in the span whose first page is given. */
static uintptr_t place_of(const crd_old *old, const crd_page *span, uint32_t page, uintptr_t address) {
  uintptr_t start = arenas_page_address(&old->arenas, page);
  if (span->state != PAGE_SMALL) return start;
  return start + (address - start) / old->classes.of[span->size_class].bytes * old->classes.of[span->size_class].bytes;
}

/* The first page of the span that the address is in, or PAGE_NONE. Only the first page of a large object has an entry.
 * So a page that is taken and has no entry belongs to the nearest page below that has one, if all arenas between are in
 * use. */
static uint32_t span_of(const crd_old *old, uintptr_t address) {
  const crd_arenas *arenas = &old->arenas;
  uint32_t page = arenas_page_number(arenas, address), in_arena = page % ARENA_PAGES;
  if (arenas->states[page / ARENA_PAGES] != ARENA_USED) return PAGE_NONE;
  if (bitmap_has(arenas_of(arenas, address)->free_map, in_arena)) return PAGE_NONE;
  for (; arenas_page(arenas, page)->state == PAGE_FREE; page--)
    if (page == 0 || arenas->states[(page - 1) / ARENA_PAGES] != ARENA_USED) return PAGE_NONE;
  const crd_page *entry = arenas_page(arenas, page);
  ASSERT(entry->head <= page, "a page's span begins behind it");
  return entry->state == PAGE_INSIDE ? entry->head : page;
}

/* An address in the old generation. An allocation bit alone proves no object: the place may lie in an allocator's
 * unfilled run, what begins there may be no header or a forwarded one, and the object may be shorter than its place.
 * Then the address counts as free. */
static void describe_old(const cradle_heap *heap, uintptr_t address, cradle_address_info *info) {
  const crd_old *old = &heap->space.old;
  info->kind = CRADLE_ADDRESS_FREE;
  uint32_t page = span_of(old, address);
  if (page == PAGE_NONE) return;
  const crd_page *span = arenas_page(&old->arenas, page);
  uintptr_t place = place_of(old, span, page, address);
  const crd_arena *arena = arenas_of(&old->arenas, place);
  const cradle_word *object = object_at(place);
  if (!(arena->allocated[arena_bit_word(place)] & arena_bit_mask(place)) || old_is_unfilled(old, span, place)) return;
  if (header_type(object[0]) >= heap->space.types.count) return;
  if (header_is_forwarded(object[0]) && !space_has_open(&heap->space, object)) return;
  cradle_object_info found = crd_object_info(heap, object);
  if (address - place >= found.bytes) return;
  info->object = found;
  info->offset = address - place;
  info->kind = info->offset == 0 ? CRADLE_ADDRESS_OBJECT : CRADLE_ADDRESS_INTERIOR;
  if (marking_knows_dead(&heap->marking, place) || space_has_open(&heap->space, object))
    info->kind = CRADLE_ADDRESS_DEAD;
}

void cradle_describe_address(const cradle_heap *heap, const void *address, cradle_address_info *info, size_t size) {
  uintptr_t where = address_of(address);
  cradle_address_info found = {.kind = CRADLE_ADDRESS_OUTSIDE};
  if (space_is_young(&heap->space, where))
    found.kind = where - address_of(heap->space.nursery.start) < nursery_filled(&heap->space)
                     ? CRADLE_ADDRESS_NURSERY
                     : CRADLE_ADDRESS_NURSERY_FREE;
  else if (arenas_contain(&heap->space.old.arenas, where))
    describe_old(heap, where, &found);
  cradle_explanation why;
  (void)cradle_explain_address(heap, address, &why, sizeof why);
  memcpy(found.text, why.text, sizeof found.text);
  found.collection = why.collection;
  copy_prefix(info, size, &found, sizeof found);
}
