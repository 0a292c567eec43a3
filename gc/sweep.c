/* Sweeping: mark bits become allocation bits, spans without live objects are given back, the others with room are listed for
 * their allocators. No live object is touched. It goes span after span in increments; a span that waits is told by its epoch. */
#include "gc/check.h"
#include "gc/platform/pages.h"
#include "gc/span.h"

/* Spans between two looks at the clock. */
#define CLOCK_SPANS LIMIT(32, 2)

static void poison_dead(const crd_old *old, uint32_t page, span_bits bits, uint32_t words, cradle_word poison) {
  for (uint32_t i = 0; i < bits.words; i++)
    for (uint64_t dead = bits.allocated[i] & ~bits.marks[i]; dead != 0; dead &= dead - 1) {
      cradle_word *object = old_page_start(old, page) + i * 64 + (uint32_t)__builtin_ctzll(dead);
      for (uint32_t word = 0; word < words; word++) object[word] = poison;
    }
}

static void sweep_small(crd_old *old, uint32_t page, cradle_word poison, crd_swept *swept) {
  crd_page *entry = arenas_page(&old->arenas, page);
  const crd_size_class *class = &old->classes.of[entry->size_class];
  span_bits bits = old_bits_of(old, page, entry->pages);
  uint32_t before = 0, live = 0;
  if (poison != 0) poison_dead(old, page, bits, class->words, poison);
  for (uint32_t i = 0; i < bits.words; i++) {
    before += (uint32_t)__builtin_popcountll(bits.allocated[i]);
    live += (uint32_t)__builtin_popcountll(bits.marks[i]);
    bits.allocated[i] = bits.marks[i];
    bits.marks[i] = 0;
  }
  uint64_t freed = (uint64_t)(before - live) * class->bytes;
  swept->freed_objects += before - live;
  swept->freed_bytes += freed;
  old->used_bytes -= freed;
  old->class_used[entry->size_class] -= freed;
  entry->epoch = old->epoch;
  if (live == 0) {
    swept->freed_spans++;
    crd_old_free_span(old, page);
  } else if (live < class->objects) {
    entry->next = old->allocators[entry->size_class].partial;
    old->allocators[entry->size_class].partial = page;
  }
}

static void sweep_large(crd_old *old, uint32_t page, crd_remains remains, crd_swept *swept) {
  uintptr_t address = arenas_page_address(&old->arenas, page);
  uint64_t *marks = &arenas_of(&old->arenas, address)->marks[arena_bit_word(address)];
  crd_page *entry = arenas_page(&old->arenas, page);
  entry->epoch = old->epoch;
  if (*marks & arena_bit_mask(address)) {
    *marks &= ~arena_bit_mask(address);
    return;
  }
  swept->freed_objects++;
  swept->freed_spans++;
  swept->freed_bytes += (uint64_t)entry->pages << PAGE_SHIFT;
  crd_old_bury_large(old, page, remains);
}

void crd_sweep_begin(crd_old *old) {
  crd_old_retire(old);
  for (uint32_t i = 0; i < old->classes.count; i++) old->allocators[i].partial = PAGE_NONE;
  old->born_marked = false;
  old->epoch++;
}

bool crd_sweep_some(crd_old *old, uint32_t *page, crd_remains remains, uint64_t deadline_ns, crd_swept *swept) {
  int countdown = deadline_ns == 0 ? 1 : CLOCK_SPANS;
  for (;;) {
    *page = crd_old_next_span(old, *page);
    if (*page == PAGE_NONE) return true;
    crd_page *entry = arenas_page(&old->arenas, *page);
    uint32_t pages = entry->pages;
    if (old_is_unswept(old, entry)) {
      if (entry->state == PAGE_SMALL)
        sweep_small(old, *page, remains.poison, swept);
      else
        sweep_large(old, *page, remains, swept);
    }
    *page += pages;
    if (--countdown > 0) continue;
    countdown = CLOCK_SPANS;
    if (deadline_ns != UINT64_MAX && crd_platform_now_ns() >= deadline_ns) return false;
  }
}
