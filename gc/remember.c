/* The slow path of the write barrier: the remembered set, the recorded slots of large arrays, and what marking must see.
 *
 * Which slots of a large array are stored into is recorded in the order of the stores. A slot whose old value was young is
 * in the record already, for only a minor collection takes slots out of it, and after that no slot holds a young value. That
 * test is the only filter: no card, no lock, no set (DESIGN's rule for a million random stores).
 */
#include <cradle/barrier.h>

#include "gc/check.h"
#include "gc/heap.h"

static void remember(cradle_heap *heap, cradle_word *header) {
  *header &= ~HEADER_BARRIER_FLAG;
  if (!word_stack_push(&heap->remembered, (uintptr_t)header)) heap->remember_all = true;
}

void cradle_write_barrier_slow(cradle_mutator *mutator, void *object) {
  cradle_heap *heap = mutator->heap;
  ASSERT(*(cradle_word *)object & HEADER_BARRIER_FLAG, "the barrier's slow path needs the flag");
  ASSERT(heap->state == HEAP_MUTATING, "[heap.4] a store during a collection");
  remember(heap, object);
}

/* The address that a word of a slot leads to, 0 for none. */
static inline uintptr_t address_in(const cradle_heap *heap, bool value, cradle_word word) {
  if (CRADLE_LIKELY(!value)) return (uintptr_t)word;
  return value_is_reference(&heap->encoding, word) ? value_address(&heap->encoding, word) : 0;
}

static inline bool is_young(const cradle_heap *heap, uintptr_t address) {
  if (CRADLE_LIKELY(heap_is_young(heap, address))) return true;
  if (CRADLE_LIKELY(heap->old.young_large == PAGE_NONE) || !arenas_contain(&heap->old.arenas, address)) return false;
  return arenas_page(&heap->old.arenas, arenas_page_number(&heap->old.arenas, address))->state == PAGE_LARGE_YOUNG;
}

void cradle_store_slow(cradle_mutator *mutator, void *object, void *slot, cradle_word word) {
  cradle_heap *heap = mutator->heap;
  cradle_word header = *(cradle_word *)object, *place = slot, old_word = *place;
  ASSERT(header & HEADER_BARRIER_FLAG, "the barrier's slow path needs the flag");
  ASSERT(heap->state == HEAP_MUTATING, "[heap.4] a store during a collection");
  *place = word;
  if (CRADLE_UNLIKELY(!(header & HEADER_SLOTS_FLAG))) {
    remember(heap, object);
    return;
  }
  bool value = (header & HEADER_VALUES_FLAG) != 0;
  if (is_young(heap, address_in(heap, value, old_word))) return;
  if (!is_young(heap, address_in(heap, value, word)) && heap->major.phase != MAJOR_MARKING) return;
  if (!word_stack_push(&heap->recorded, (uintptr_t)place | (value ? SLOT_HOLDS_VALUE : 0))) remember(heap, object);
}
