/* The slow path of the write barrier: the remembered set, the recorded slots of large arrays, and what marking must see.
 *
 * Which slots of a large array are stored into is recorded in the order of the stores, whatever was in them: to look would be a
 * cache miss for each. When half as many are recorded as the array has slots, all of it is remembered, and further
 * stores take the fast path until the next collection. So a store costs a record or a share of a scan of two slots,
 * and the cost has no cliff at any length.
 */
#include <cradle/barrier.h>

#include "gc/check.h"
#include "gc/heap.h"
#include "gc/probes.h"

/* The share of an array's slots that is recorded before all of it is remembered. */
#define RECORDED_SHARE 2

void crd_remember(cradle_heap *heap, cradle_word *header) {
  *header &= ~HEADER_BARRIER_FLAG;
  if (CRADLE_UNLIKELY(heap->prebuilts.count != 0) && !arenas_contain(&heap->old.arenas, (uintptr_t)header))
    crd_prebuilt_written(heap, header);
  if (!word_stack_push(&heap->remembered, (uintptr_t)header)) heap->remember_all = true;
}

void cradle_write_barrier_slow(cradle_mutator *mutator, void *object) {
  cradle_heap *heap = mutator->heap;
  PROBE2(barrier_slow, heap, object);
  ASSERT(*(cradle_word *)object & HEADER_BARRIER_FLAG, "the barrier's slow path needs the flag");
  ASSERT(heap->state == HEAP_MUTATING, "[heap.4] a store during a collection");
  crd_remember(heap, object);
}

/* The address that a word of a slot leads to, 0 for none. */
static inline uintptr_t address_in(const cradle_heap *heap, bool value, cradle_word word) {
  if (CRADLE_LIKELY(!value)) return (uintptr_t)word;
  return value_is_reference(&heap->encoding, word) ? value_address(&heap->encoding, word) : 0;
}

/* Whether another slot of the array may be recorded before the next minor collection. The array's page entry counts. */
static inline bool may_record(cradle_heap *heap, const void *array) {
  crd_page *page = arenas_page(&heap->old.arenas, arenas_page_number(&heap->old.arenas, (uintptr_t)array));
  uint32_t now = (uint32_t)heap->stats.minor_collections;
  if (page->recorded_at != now) {
    page->recorded_at = now;
    page->may_record = page->pages * (PAGE_BYTES / 8 / RECORDED_SHARE);
  }
  return page->may_record-- > 0;
}

void cradle_store_slow(cradle_mutator *mutator, void *object, void *slot, cradle_word word) {
  cradle_heap *heap = mutator->heap;
  cradle_word header = *(cradle_word *)object;
  PROBE2(barrier_slow, heap, object);
  ASSERT(header & HEADER_BARRIER_FLAG, "the barrier's slow path needs the flag");
  ASSERT(heap->state == HEAP_MUTATING, "[heap.4] a store during a collection");
  *(cradle_word *)slot = word;
  bool value = (header & HEADER_VALUES_FLAG) != 0;
  if (CRADLE_LIKELY(header & HEADER_SLOTS_FLAG)) {
    if (!heap_holds_young(heap, address_in(heap, value, word)) && heap->major.phase != MAJOR_MARKING) return;
    if (may_record(heap, object) &&
        word_stack_push(&heap->recorded, (uintptr_t)slot | (value ? SLOT_HOLDS_VALUE : 0)))
      return;
  }
  crd_remember(heap, object);
}
