/* Small heaps: a heap asks little of the system until it has allocated 1 MiB.
 *
 * A program that makes a few thousand objects and exits should not pay for what only a larger one gains from. A huge
 * page costs 2 MiB and 0.1 ms when it is first touched, and reading the machine costs 0.3 ms. So a heap begins small:
 *
 *   nursery    Its first 256 KiB lie on base pages for good, the rest on huge pages (gc/young/nursery.h).
 *   arenas     Under the policy auto, arenas and their metadata are on base pages while the heap is small. The first
 *              arena, and one that is in use when the heap outgrows this, keep them; others come on huge pages.
 *   machine    Its parts are read when they are needed: memory and the cgroup's limit, which becomes the maximum heap,
 *              when the heap outgrows; the size of the L3, which bounds the nursery, when the nursery would grow.
 *
 * A heap outgrows being small when it has allocated 1 MiB, and a collection begins or an object is to be placed outside
 * of the nursery. What a listener is told, and what other policies, a quarantine, and collection that is off need, is
 * read when the heap is made.
 *
 *   [outgrow.1] Of a heap that is small the last collection began with less than SMALL_BYTES allocated, and so did the
 *               last placement outside of the nursery with its object counted in. A heap never becomes small again.
 *   [outgrow.2] Its arenas but for the first [arena_memory.4] are advised for huge pages exactly if it is not small or
 *               their policy is not auto, and the system's refusal changes nothing but what the report shows.
 */
#ifndef CRADLE_GC_OUTGROW_H
#define CRADLE_GC_OUTGROW_H

#include "gc/heap.h"

#define SMALL_BYTES ((uint64_t)1 << 20)

/* When the heap is made: reads what it needs to know of the machine from the beginning. */
void crd_outgrow_init(cradle_heap *heap);
/* The heap stops being small. */
void crd_outgrow(cradle_heap *heap);
/* The part of crd_outgrow for memory: reads its size if it is not known yet, and bounds anew what it bounds. If the
 * nursery is too large for the maximum heap then, it is cut when the next collection has emptied it. */
void crd_outgrow_memory(cradle_heap *heap);
void crd_outgrow_bound(cradle_heap *heap);
/* A heap without a maximum gets three quarters of its cgroup's memory: a process that exceeds it would be killed. */
void crd_outgrow_respect_group(cradle_heap *heap);

/* Called before a collection, with 0 bytes, and before bytes are placed outside of the nursery. Then other mutators may
 * run, and what they fill of the nursery cannot be read: it counts at the next collection. */
static inline void heap_grows(cradle_heap *heap, size_t bytes) {
  if (CRADLE_LIKELY(!heap->small)) return;
  uint64_t filled = bytes != 0 && space_is_shared(&heap->space) ? 0 : nursery_filled(&heap->space);
  if (heap->report.stats.allocated_bytes + filled + bytes >= SMALL_BYTES) crd_outgrow(heap);
}

#endif
