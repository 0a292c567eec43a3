/* What lies at an address, from the page table and the bitmaps alone: nothing is changed, so it works at any moment. */
#include "gc/registry.h"
#include "gc/walk.h"

const char *cradle_address_name(cradle_address_kind kind) {
  switch (kind) {
  case CRADLE_ADDRESS_OUTSIDE: return "outside the heap";
  case CRADLE_ADDRESS_OBJECT: return "an object";
  case CRADLE_ADDRESS_INTERIOR: return "inside an object";
  case CRADLE_ADDRESS_DEAD: return "a dead object, not swept yet";
  case CRADLE_ADDRESS_FREE: return "free memory of the old generation";
  case CRADLE_ADDRESS_NURSERY: return "the filled part of the nursery";
  case CRADLE_ADDRESS_NURSERY_FREE: return "the free part of the nursery";
  }
  return "unknown";
}

/* The start of the place that holds the address, in the span whose first page is given. */
static uintptr_t place_of(const crd_old *old, const crd_page *span, uint32_t page, uintptr_t address) {
  uintptr_t start = arenas_page_address(&old->arenas, page);
  if (span->state != PAGE_SMALL) return start;
  return start + (address - start) / old->classes.of[span->size_class].bytes * old->classes.of[span->size_class].bytes;
}

/* The first page of the span that the address is in, or PAGE_NONE. Of a large object only the first page has an entry: a page
 * that is taken and has none belongs to the next one below. */
static uint32_t span_of(const crd_old *old, uintptr_t address) {
  const crd_arenas *arenas = &old->arenas;
  uint32_t page = arenas_page_number(arenas, address), in_arena = page % ARENA_PAGES;
  if (arenas->states[page / ARENA_PAGES] != ARENA_USED) return PAGE_NONE;
  if (arenas_of(arenas, address)->free_map[in_arena / 64] >> in_arena % 64 & 1) return PAGE_NONE;
  while (page > 0 && arenas_page(arenas, page)->state == PAGE_FREE) page--;
  const crd_page *entry = arenas_page(arenas, page);
  if (entry->state == PAGE_FREE) return PAGE_NONE;
  return entry->state == PAGE_INSIDE ? entry->head : page;
}

static void describe_old(const cradle_heap *heap, uintptr_t address, cradle_address_info *info) {
  const crd_old *old = &heap->old;
  info->kind = CRADLE_ADDRESS_FREE;
  uint32_t page = span_of(old, address);
  if (page == PAGE_NONE) return;
  const crd_page *span = arenas_page(&old->arenas, page);
  uintptr_t place = place_of(old, span, page, address);
  const crd_arena *arena = arenas_of(&old->arenas, place);
  const cradle_word *object = (const cradle_word *)place;
  if (!(arena->allocated[arena_bit_word(place)] & arena_bit_mask(place)) || old_is_unfilled(old, span, place)) return;
  if ((uint32_t)object[0] >= heap->types.count) return;
  if ((object[0] & HEADER_FORWARDED) && !crd_registry_is_open(heap, object)) return;
  cradle_object_info found = crd_object_info(heap, object);
  if (address - place >= found.bytes) return;
  info->object = found;
  info->offset = address - place;
  info->kind = info->offset == 0 ? CRADLE_ADDRESS_OBJECT : CRADLE_ADDRESS_INTERIOR;
  if (heap_is_known_dead(heap, place) || crd_registry_is_open(heap, object)) info->kind = CRADLE_ADDRESS_DEAD;
}

void cradle_describe_address(const cradle_heap *heap, const void *address, cradle_address_info *info) {
  uintptr_t where = (uintptr_t)address;
  *info = (cradle_address_info){.kind = CRADLE_ADDRESS_OUTSIDE};
  if (heap_is_young(heap, where))
    info->kind = where - (uintptr_t)heap->nursery.start < nursery_filled(heap) ? CRADLE_ADDRESS_NURSERY
                                                                               : CRADLE_ADDRESS_NURSERY_FREE;
  else if (arenas_contain(&heap->old.arenas, where))
    describe_old(heap, where, info);
}
