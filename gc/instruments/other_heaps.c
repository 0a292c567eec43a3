#include "gc/instruments/other_heaps.h"

#include "gc/heap.h"

/* Two for each of 64 heaps: its nursery and its arenas. */
enum { ROWS = 128 };

/* A heap takes a row by its owner word, and gives it its length last. A reader may come late, so each word is atomic.
 * */
static struct row {
  const cradle_heap *owner; /* NULL: free */
  uintptr_t start;
  size_t bytes; /* 0: not ready */
} rows[ROWS];

static void enter(const cradle_heap *heap, uintptr_t start, size_t bytes) {
  for (int i = 0; i < ROWS; i++) {
    const cradle_heap *nobody = NULL;
    if (!__atomic_compare_exchange_n(&rows[i].owner, &nobody, heap, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
      continue;
    __atomic_store_n(&rows[i].start, start, __ATOMIC_RELAXED);
    __atomic_store_n(&rows[i].bytes, bytes, __ATOMIC_RELEASE);
    return;
  }
}

/* With a quarantine, the whole ring counts as the nursery, because the nursery moves in it. */
void crd_other_heaps_enter(const cradle_heap *heap) {
  const crd_nursery *nursery = &heap->space.nursery;
  if (quarantine_is_on(&heap->quarantine))
    enter(heap, address_of(heap->quarantine.base), heap->quarantine.bytes);
  else
    enter(heap, address_of(nursery->start), nursery->reserved_bytes);
  enter(heap, heap->space.old.arenas.base, heap->space.old.arenas.bytes);
}

void crd_other_heaps_leave(const cradle_heap *heap) {
  for (int i = 0; i < ROWS; i++) {
    if (__atomic_load_n(&rows[i].owner, __ATOMIC_RELAXED) != heap) continue;
    __atomic_store_n(&rows[i].bytes, 0, __ATOMIC_RELAXED);
    __atomic_store_n(&rows[i].owner, NULL, __ATOMIC_RELEASE);
  }
}

/* What was read counts only if the owner is the same before and after: otherwise the heap has gone meanwhile, and the
 * words may be those of the row's next owner in part. All are read with acquire order, so that the owner is read last.
 * (A fence would do the same, but ThreadSanitizer does not support fences.) */
static bool row_holds(const struct row *row, const cradle_heap *heap, uintptr_t address) {
  const cradle_heap *owner = __atomic_load_n(&row->owner, __ATOMIC_ACQUIRE);
  size_t bytes = __atomic_load_n(&row->bytes, __ATOMIC_ACQUIRE);
  uintptr_t start = __atomic_load_n(&row->start, __ATOMIC_ACQUIRE);
  return owner != NULL && owner != heap && address - start < bytes &&
         __atomic_load_n(&row->owner, __ATOMIC_RELAXED) == owner;
}

bool crd_is_in_other_heap(const cradle_heap *heap, uintptr_t address) {
  for (int i = 0; i < ROWS; i++)
    if (row_holds(&rows[i], heap, address)) return true;
  return false;
}
