/* Small heaps: a heap asks little of the system until it has allocated 1 MiB.
 *
 * A program that makes a few thousand objects and exits must not pay for what only a larger one gains from. A huge page
 * costs 2 MiB and 0.1 ms at its first touch, and a heap touches three kinds of them: for the nursery, the arenas and
 * their metadata. Reading the machine costs 0.3 ms. So a heap begins small:
 *
 *   nursery    its first 256 KiB lie on base pages for good, what lies behind them on huge pages (gc/young/nursery.h);
 *   arenas     and their metadata are on base pages while the heap is small, where the policy is auto: an arena that
 *              is in use by then keeps them, others come on huge pages;
 *   machine    the memory, the cgroup's limit, which becomes the maximum heap, and the size of the L3, which bounds the
 *              nursery's growth, are read when they are needed: the former as the heap outgrows, the latter when the
 *              nursery would grow.
 *
 * A heap outgrows that when a collection begins, or an object is to be placed outside of the nursery, and it has
 * allocated 1 MiB: before the first collection of a nursery of the usual size. What a listener is told, and what other
 * policies, a quarantine, and collection that is off need, is read when the heap is made.
 *
 *   [outgrow.1] Of a heap that is small the last collection began with less than SMALL_BYTES allocated, and so did the
 *               last placement outside of the nursery with its object counted in. A heap never becomes small again.
 *   [outgrow.2] Its arenas are advised for huge pages exactly if it is not small or their policy is not auto, and the
 *               system's refusal changes nothing but what the report shows.
 */
#ifndef CRADLE_GC_OUTGROW_H
#define CRADLE_GC_OUTGROW_H

#include "gc/heap.h"

#define SMALL_BYTES ((uint64_t)1 << 20)

/* As the heap is made: finds out what it needs of the machine from the beginning. */
void crd_outgrow_init(cradle_heap *heap);
/* The heap stops being small. */
void crd_outgrow(cradle_heap *heap);
/* Its part for the memory, if that is not known: reads it, and bounds anew what depends on it. A nursery that is too
 * large for the maximum heap then is cut when the next collection has emptied it. */
void crd_outgrow_memory(cradle_heap *heap);
void crd_outgrow_bound(cradle_heap *heap);

/* bytes are to be placed outside of the nursery now, or none. */
static inline void heap_grows(cradle_heap *heap, size_t bytes) {
  if (CRADLE_UNLIKELY(heap->small) && heap->stats.allocated_bytes + nursery_filled(heap) + bytes >= SMALL_BYTES)
    crd_outgrow(heap);
}

#endif
