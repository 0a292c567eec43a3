#include "gc/old/span_walk.h"

uint32_t crd_old_next_span(const crd_old *old, uint32_t page) {
  uint32_t end = old->arenas.used_end * ARENA_PAGES;
  while (page < end) {
    if (old->arenas.states[page / ARENA_PAGES] != ARENA_USED) {
      page = (page / ARENA_PAGES + 1) * ARENA_PAGES;
      continue;
    }
    const crd_page *entry = arenas_page(&old->arenas, page);
    if (entry->state == PAGE_INSIDE) /* of a span that was opened across page since a walk stopped here */
      page = entry->head + arenas_page(&old->arenas, entry->head)->pages;
    else if (entry->state != PAGE_FREE)
      return page;
    else
      page++;
  }
  return PAGE_NONE;
}

void crd_old_each_in(const crd_old *old, uint32_t page, bool marked_only, crd_object_function visit, void *context) {
  const crd_page *entry = arenas_page(&old->arenas, page);
  ASSERT(entry->head == page && entry->pages > 0, "a walk visits what is no span");
  span_bits bits = old_bits_of(old, page, entry->pages);
  const uint64_t *map = marked_only || old_is_unswept(old, entry) ? bits.marks : bits.allocated;
  for (uint32_t i = 0; i < bits.words; i++)
    for (uint64_t word = map[i]; word != 0; word &= word - 1)
      visit(context, old_page_start(old, page) + i * 64 + (uint32_t)__builtin_ctzll(word));
}

void crd_old_each(const crd_old *old, bool marked_only, crd_object_function visit, void *context) {
  for (uint32_t page = crd_old_next_span(old, 0), pages; page != PAGE_NONE;
       page = crd_old_next_span(old, page + pages)) {
    pages = arenas_page(&old->arenas, page)->pages;
    crd_old_each_in(old, page, marked_only, visit, context);
  }
}
