#include "gc/old/sweep.h"

#include "gc/base/bits.h"
#include "gc/object/poison.h"
#include "gc/old/mark_pool.h"
#include "gc/platform/pages.h"

/* Spans between two looks at the clock. */
#define CLOCK_SPANS LIMIT(32, 2)

static void poison_dead(const crd_old *old, uint32_t page, span_bits bits, uint32_t words, cradle_word poison) {
  for (uint32_t i = 0; i < bits.words; i++)
    for (uint64_t dead = bits.allocated[i] & ~bits.marks[i]; dead != 0; dead &= dead - 1)
      poison_words(old_page_start(old, page) + i * 64 + (uint32_t)__builtin_ctzll(dead), words, poison);
}

/* Sealed spans keep their epoch. */
static bool waits(const crd_old *old, uint32_t page) {
  return old_is_unswept(old, arenas_page(&old->arenas, page)) &&
         !old_is_sealed(old, arenas_page_address(&old->arenas, page));
}

static bool has_waiting(const crd_old *old) {
  for (uint32_t page = crd_old_next_span(old, 0); page != PAGE_NONE; page = old_span_after(old, page))
    if (waits(old, page)) return true;
  return false;
}

/* What sweeping has found in a small span. */
typedef struct found {
  uint32_t page, gone, live; /* the span's first page; objects */
} found;

/* Counts the objects that live. Those of a type often lie together, so the table gets a whole run of them at once. */
static uint32_t count_types(const crd_old *old, uint32_t page, span_bits bits, size_t bytes) {
  const cradle_word *start = old_page_start(old, page);
  uint32_t type = 0, run = 0, all = 0;
  for (uint32_t i = 0; i < bits.words; i++)
    for (uint64_t live = bits.marks[i]; live != 0; live &= live - 1, run++, all++) {
      uint32_t next = header_type(start[i * 64 + (uint32_t)__builtin_ctzll(live)]);
      if (next == type) continue;
      if (run != 0) census_add(&old->census, type, run, run * bytes);
      type = next;
      run = 0;
    }
  if (run != 0) census_add(&old->census, type, run, run * bytes);
  return all;
}

static found sweep_bits(const crd_old *old, uint32_t page, cradle_word poison) {
  crd_page *entry = arenas_page(&old->arenas, page);
  const crd_size_class *class = &old->classes.of[entry->size_class];
  span_bits bits = old_bits_of(old, page, entry->pages);
  uint32_t before = 0, live = 0;
  ASSERT(old->spans[entry->size_class].open != page, "[span.6] the open span of a class waits to be swept");
  ASSERT((uint8_t)(entry->epoch + 1) == old->epoch, "[span.6] a span missed a sweep");
  entry->epoch = old->epoch;
  if (poison != 0) poison_dead(old, page, bits, class->words, poison);
  uint32_t counted = census_is_taken(&old->census) ? count_types(old, page, bits, class->bytes) : 0;
  for (uint32_t i = 0; i < bits.words; i++) {
    ASSERT((bits.marks[i] & ~bits.allocated[i]) == 0, "[span.4] a mark bit is set where no object is");
    before += count_bits(bits.allocated[i]);
    live += count_bits(bits.marks[i]);
    bits.allocated[i] = bits.marks[i];
    bits.marks[i] = 0;
  }
  ASSERT(counted == live || !census_is_taken(&old->census),
         "[census.1] a sweep counts other objects than those that live");
  ASSERT(live <= before && before <= class->objects, "[span.2] a span has more objects than places");
  return (found){page, before - live, live};
}

static void settle(crd_old *old, found span, crd_swept *swept) {
  size_t bytes = old->classes.of[arenas_page(&old->arenas, span.page)->size_class].bytes;
  swept->freed_objects += span.gone;
  swept->freed_bytes += (uint64_t)span.gone * bytes;
  swept->freed_spans += crd_old_settle_span(old, span.page, span.gone, span.live);
}

static void sweep_large(crd_old *old, uint32_t page, crd_remains remains, crd_swept *swept) {
  uintptr_t address = arenas_page_address(&old->arenas, page);
  crd_page *entry = arenas_page(&old->arenas, page);
  ASSERT(entry->state == PAGE_LARGE, "[sweep.1] a young large object is swept");
  ASSERT((uint8_t)(entry->epoch + 1) == old->epoch, "[span.6] a span missed a sweep");
  entry->epoch = old->epoch;
  if (old_is_marked(old, address)) {
    old_unmark(old, address);
    if (census_is_taken(&old->census))
      census_add(&old->census, header_type(*object_at(address)), 1, (uint64_t)entry->pages << PAGE_SHIFT);
    return;
  }
  swept->freed_objects++;
  swept->freed_spans++;
  swept->freed_bytes += (uint64_t)entry->pages << PAGE_SHIFT;
  crd_old_bury_large(old, page, remains);
}

void crd_sweep_begin(crd_old *old) {
  ASSERT(old->young_large == PAGE_NONE, "[sweep.1] a sweep begins while large objects are young");
  ASSERT(!has_waiting(old), "[sweep.2] a sweep begins before the last one is over");
  crd_old_retire(old);
  for (uint32_t i = 0; i < old->classes.count; i++) old->spans[i].partial = PAGE_NONE;
  old->born_marked = false;
  old->epoch++;
}

/* Sweeping may free the span and clear its page entry. A deadline of 0 asks for the smallest increment: one span. */
bool crd_sweep_some(crd_old *old, uint32_t *page, crd_remains remains, uint64_t deadline_ns, crd_swept *swept) {
  int countdown = deadline_ns == 0 ? 1 : CLOCK_SPANS;
  for (;;) {
    *page = crd_old_next_span(old, *page);
    if (*page == PAGE_NONE) {
      ASSERT(!has_waiting(old), "[sweep.2] a sweep leaves a span behind");
      return true;
    }
    if (old_is_sealed(old, arenas_page_address(&old->arenas, *page))) {
      *page = (*page / ARENA_PAGES + 1) * ARENA_PAGES;
      continue;
    }
    crd_page *entry = arenas_page(&old->arenas, *page);
    uint32_t pages = entry->pages;
    if (old_is_unswept(old, entry)) {
      if (entry->state == PAGE_SMALL)
        settle(old, sweep_bits(old, *page, remains.poison), swept);
      else
        sweep_large(old, *page, remains, swept);
    }
    *page += pages;
    if (--countdown > 0) continue;
    countdown = CLOCK_SPANS;
    if (deadline_ns != UINT64_MAX && crd_platform_now_ns() >= deadline_ns) return false;
  }
}

/* --- several threads --- */

/* The pages of a large object have no entries but the first: in the arenas after its first they are passed one by
 * one. */
static uint32_t sweep_arena(const crd_old *old, uint32_t arena, found spans[ARENA_PAGES]) {
  uint32_t count = 0, end = (arena + 1) * ARENA_PAGES;
  for (uint32_t page = arena * ARENA_PAGES; page < end;) {
    const crd_page *entry = arenas_page(&old->arenas, page);
    uint32_t pages = entry->pages;
    if (entry->state == PAGE_SMALL && old_is_unswept(old, entry)) spans[count++] = sweep_bits(old, page, 0);
    page = entry->state == PAGE_FREE ? crd_arenas_skip_free(&old->arenas, page) : page + pages;
  }
  return count;
}

static bool claim(crd_sweep *sweep, uint32_t *arena) {
  POOL_TURN();
  *arena = __atomic_fetch_add(&sweep->next, 1, __ATOMIC_RELAXED);
  return *arena < sweep->end;
}

void crd_sweep_together(crd_sweep *sweep) {
  found spans[ARENA_PAGES];
  for (uint32_t arena; claim(sweep, &arena);) {
    const crd_arenas *arenas = &sweep->old->arenas;
    if (arenas->states[arena] != ARENA_USED) continue;
    if (old_is_sealed(sweep->old, arenas_page_address(arenas, arena * ARENA_PAGES))) continue;
    uint32_t count = sweep_arena(sweep->old, arena, spans);
    spinlock_take(&sweep->lock);
    for (uint32_t i = 0; i < count; i++) settle(sweep->old, spans[i], &sweep->swept);
    spinlock_release(&sweep->lock);
  }
}
