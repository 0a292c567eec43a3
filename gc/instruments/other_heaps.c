#include "gc/instruments/other_heaps.h"

#include "gc/heap.h"

enum { ROWS = 64 };

typedef struct extent {
  uintptr_t start;
  size_t bytes;
} extent;

/* A heap takes a row by its owner word, fills the extents in, and then says that they are ready. */
static struct row {
  const cradle_heap *owner; /* atomic; NULL: free */
  bool is_ready;            /* atomic: the extents can be read */
  extent nursery, arenas;   /* each word atomic: a reader may come late */
} rows[ROWS];

static void set(extent *extent, uintptr_t start, size_t bytes) {
  __atomic_store_n(&extent->start, start, __ATOMIC_RELAXED);
  __atomic_store_n(&extent->bytes, bytes, __ATOMIC_RELAXED);
}

/* Reads with acquire order, so that row_holds reads the owner again after these reads. (A fence would do the same, but
 * ThreadSanitizer does not support fences.) */
static bool holds(const extent *extent, uintptr_t address) {
  uintptr_t start = __atomic_load_n(&extent->start, __ATOMIC_ACQUIRE);
  return address - start < __atomic_load_n(&extent->bytes, __ATOMIC_ACQUIRE);
}

/* With a quarantine, the whole ring counts as the nursery, because the nursery moves in it. */
void crd_other_heaps_enter(const cradle_heap *heap) {
  for (int i = 0; i < ROWS; i++) {
    const cradle_heap *nobody = NULL;
    if (!__atomic_compare_exchange_n(&rows[i].owner, &nobody, heap, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
      continue;
    if (quarantine_is_on(&heap->quarantine))
      set(&rows[i].nursery, address_of(heap->quarantine.base), heap->quarantine.bytes);
    else
      set(&rows[i].nursery, address_of(heap->space.nursery.start), heap->space.nursery.reserved_bytes);
    set(&rows[i].arenas, heap->space.old.arenas.base, heap->space.old.arenas.bytes);
    __atomic_store_n(&rows[i].is_ready, true, __ATOMIC_RELEASE);
    return;
  }
}

void crd_other_heaps_leave(const cradle_heap *heap) {
  for (int i = 0; i < ROWS; i++) {
    if (__atomic_load_n(&rows[i].owner, __ATOMIC_RELAXED) != heap) continue;
    __atomic_store_n(&rows[i].is_ready, false, __ATOMIC_RELAXED);
    __atomic_store_n(&rows[i].owner, NULL, __ATOMIC_RELEASE);
    return;
  }
}

/* What was read counts only if the owner is the same before and after: otherwise the heap has gone meanwhile, and the
 * extents may be those of the row's next owner in part. */
static bool row_holds(const struct row *row, const cradle_heap *heap, uintptr_t address) {
  if (!__atomic_load_n(&row->is_ready, __ATOMIC_ACQUIRE)) return false;
  const cradle_heap *owner = __atomic_load_n(&row->owner, __ATOMIC_RELAXED);
  if (owner == NULL || owner == heap || !(holds(&row->nursery, address) || holds(&row->arenas, address))) return false;
  return __atomic_load_n(&row->owner, __ATOMIC_RELAXED) == owner;
}

bool crd_is_in_other_heap(const cradle_heap *heap, uintptr_t address) {
  for (int i = 0; i < ROWS; i++)
    if (row_holds(&rows[i], heap, address)) return true;
  return false;
}
