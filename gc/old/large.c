#include "gc/old/large.h"

#include <string.h>

#include "gc/object/poison.h"
#include "gc/old/arena_memory.h"
#include "gc/old/closed.h"

#define RETURNED_PAGES (16 * ARENA_PAGES) /* the arenas of a larger object go back to the system when it is freed */

/* The bitmap words are the object's alone, so they may be written in a round; the mark first [marker.3]. */
static void set_bits(const crd_old *old, uintptr_t address) {
  crd_arena *arena = arenas_of(&old->arenas, address);
  size_t index = arena_bit_word(address);
  if (old->born_marked) __atomic_store_n(&arena->marks[index], arena_bit_mask(address), __ATOMIC_RELAXED);
  __atomic_store_n(&arena->allocated[index], arena_bit_mask(address), __ATOMIC_RELEASE);
}

static void list_young(crd_old *old, uint32_t page) {
  uintptr_t address = arenas_page_address(&old->arenas, page), end = old->young_large_start + old->young_large_bytes;
  arenas_page(&old->arenas, page)->next = old->young_large;
  if (old->is_shared) { /* the range is that of all arenas */
    old->young_large = page;
    return;
  }
  if (old->young_large == PAGE_NONE || address < old->young_large_start) old->young_large_start = address;
  if (end <= address) end = address + 1;
  old->young_large_bytes = end - old->young_large_start;
  old->young_large = page;
}

static void enter(crd_old *old, uint32_t page, uint32_t pages, bool young) {
  uintptr_t address = arenas_page_address(&old->arenas, page);
  ASSERT(!old_is_marked(old, address), "[span.4] a mark bit is set where nothing was");
  *arenas_page(&old->arenas, page) = (crd_page){.pages = pages,
                                                .head = page,
                                                .next = PAGE_NONE,
                                                .state = young ? PAGE_LARGE_YOUNG : PAGE_LARGE,
                                                .epoch = old->epoch};
  set_bits(old, address);
  old->used_bytes += (uint64_t)pages << PAGE_SHIFT;
  old->large_bytes += (uint64_t)pages << PAGE_SHIFT;
}

void crd_old_adopt_large(crd_old *old, uint32_t page, uint32_t pages) {
  enter(old, page, pages, false);
}

void *crd_old_take_large(crd_old *old, size_t bytes, bool young, bool zeroed, uint32_t keep) {
  size_t pages = (bytes + PAGE_BYTES - 1) >> PAGE_SHIFT;
  if (pages > old->arenas.bytes >> PAGE_SHIFT) return NULL;
  bool clean;
  uint32_t page = crd_arenas_take(&old->arenas, (uint32_t)pages, keep, &clean);
  if (page == PAGE_NONE) return NULL;
  uintptr_t address = arenas_page_address(&old->arenas, page);
  enter(old, page, (uint32_t)pages, young);
  if (young) list_young(old, page);
  if (zeroed && !clean) memset(memory_at(address), 0, bytes);
  return memory_at(address);
}

/* Ends the span of a large object. Its pages, whose number is returned, stay taken. */
static uint32_t take_out_large(crd_old *old, uint32_t page) {
  crd_page *entry = arenas_page(&old->arenas, page);
  uintptr_t address = arenas_page_address(&old->arenas, page);
  uint32_t pages = entry->pages;
  ASSERT(entry->state >= PAGE_LARGE && entry->head == page, "what is freed is no large object");
  ASSERT(!old_is_marked(old, address), "[span.4] a large object is freed that is marked");
  ASSERT(old->large_bytes >= (uint64_t)pages << PAGE_SHIFT && old->used_bytes >= old->large_bytes,
         "[large.2] more bytes of large objects are freed than were taken");
  arenas_of(&old->arenas, address)->allocated[arena_bit_word(address)] &= ~arena_bit_mask(address);
  *entry = (crd_page){.state = PAGE_FREE};
  old->used_bytes -= (uint64_t)pages << PAGE_SHIFT;
  old->large_bytes -= (uint64_t)pages << PAGE_SHIFT;
  return pages;
}

void crd_old_free_large(crd_old *old, uint32_t page) {
  uint32_t pages = take_out_large(old, page);
  crd_arenas_give_back(&old->arenas, page, pages);
  if (pages > RETURNED_PAGES)
    (void)crd_arenas_release_at(&old->arenas, page / ARENA_PAGES, (pages + ARENA_PAGES - 1) / ARENA_PAGES,
                                old->reserve);
}

/* Writes poison over the pages whose arenas still have memory. Those that were given back would fault. */
static void poison_pages(const crd_old *old, uint32_t page, uint32_t pages, cradle_word poison) {
  for (uint32_t end = page + pages; page < end; page++) {
    cradle_word *words = old_page_start(old, page);
    if (arenas_are_committed(&old->arenas, address_of(words))) poison_words(words, PAGE_BYTES / 8, poison);
  }
}

void crd_old_bury_large(crd_old *old, uint32_t page, crd_remains remains) {
  if (CRADLE_LIKELY(remains.poison == 0)) {
    crd_old_free_large(old, page);
    return;
  }
  uint32_t pages = arenas_page(&old->arenas, page)->pages, type = header_type(*old_page_start(old, page));
  /* Closed pages are poisoned before. A longer object may be sparse: its pages are if they have memory afterwards. */
  bool may_be_closed = pages <= CLOSED_PAGES;
  if (may_be_closed) poison_pages(old, page, pages, remains.poison);
  if (old->arenas.closed == NULL) {
    crd_old_free_large(old, page);
  } else {
    (void)take_out_large(old, page);
    crd_closed_bury(&old->arenas, (crd_closed_run){page, pages, type, remains.swept, remains.collection}, old->reserve);
  }
  if (!may_be_closed) poison_pages(old, page, pages, remains.poison);
}
