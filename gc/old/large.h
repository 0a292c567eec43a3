/* Large objects: old ones above SMALL_MAX_BYTES, and young ones that are too large for the nursery. Each has a run of
 * pages to itself and moves only in a compaction. The state of its page tells its age:
 *
 *                  a minor collection          traced
 *                  reaches it
 *     LARGE_YOUNG ---------------> LARGE_REACHED -----> LARGE: it is old now
 *          |
 *          `-- not reached when the minor collection ends: freed
 *
 * A minor collection that reaches a young large object scans it whole, because plain stores into it left no record: at
 * most SCANNED_MAX_BYTES together. An allocation that would exceed the limit collects first, and a larger array of
 * slots is *recorded from birth*: it is allocated while no other object is young, has the flags of a large old array at
 * once, and is never scanned (docs/design/old-generation.md).
 *
 *   [large.1] The list young_large has exactly the objects whose page's state is PAGE_LARGE_YOUNG, and during a minor
 *             collection PAGE_LARGE_REACHED. Their addresses lie in [young_large_start, young_large_start +
 *             young_large_bytes). After a minor collection the list and this range are empty.
 *   [large.2] large_bytes counts the pages of all large objects, whole pages.
 *   [large.3] A young large object has the array flags, or the weak flag where its items are weak slots or ephemerons,
 *             exactly if it is recorded from birth. Then it obeys [heap.3], and [heap.5] or [stored.1], as an old array
 *             does. The other young large objects with slots have at most SCANNED_MAX_BYTES together, which
 *             young_scanned_bytes counts, or are one object.
 */
#ifndef CRADLE_GC_OLD_LARGE_H
#define CRADLE_GC_OLD_LARGE_H

#include "gc/old/span.h"

/* How many bytes of young large objects with slots a minor collection scans: about a millisecond's work. */
#define SCANNED_MAX_BYTES LIMIT((size_t)4 << 20, (size_t)48 << 10)

/* A run of pages for one object of so many bytes, with its allocation bit set. young: the object is young. zeroed: its
 * memory reads as zero. `keep` arenas stay FREE. NULL: no memory. */
void *crd_old_take_large(crd_old *old, size_t bytes, bool young, bool zeroed, uint32_t keep);
/* The pages of a large object of an image, which were taken already. */
void crd_old_adopt_large(crd_old *old, uint32_t page, uint32_t pages);
/* Frees the large object that begins at a page. The arenas of one above 32 MiB go back at once, as in glibc. */
void crd_old_free_large(crd_old *old, uint32_t page);
/* What becomes of the memory of dead objects. */
typedef struct crd_remains {
  cradle_word poison;  /* written over it; 0: nothing is written, and there is no quarantine */
  uint64_t collection; /* the minor collection that frees it, or the last one before the sweep that does */
  bool swept;          /* a sweep frees it */
} crd_remains;
/* As crd_old_free_large, for an object that died: poisons its memory, and closes its pages with a quarantine. */
void crd_old_bury_large(crd_old *old, uint32_t page, crd_remains remains);

/* After a minor collection, which has emptied the list: no large object is young. */
static inline void old_end_young_large(crd_old *old) {
  old->young_large = PAGE_NONE;
  old->young_scanned_bytes = 0;
  if (!old->is_shared) old->young_large_start = old->young_large_bytes = 0;
}
/* Whether the address, which may lie anywhere, may be one of a large object in the list young_large. */
static inline bool old_may_be_young_large(const crd_old *old, uintptr_t address) {
  return address - old->young_large_start < old->young_large_bytes;
}
/* Whether a large object allocated since the last minor collection begins at the address, which may lie anywhere. */
static inline bool old_is_young_large(const crd_old *old, uintptr_t address) {
  return CRADLE_UNLIKELY(old_may_be_young_large(old, address)) && arenas_know(&old->arenas, address) &&
         arenas_page(&old->arenas, arenas_page_number(&old->arenas, address))->state == PAGE_LARGE_YOUNG;
}
/* Whether the object of the old generation at an address is a large one in the list of [mark.5]. */
static inline bool old_is_listed(const crd_old *old, uintptr_t address) {
  return arenas_page(&old->arenas, arenas_page_number(&old->arenas, address))->again != 0;
}

#endif
