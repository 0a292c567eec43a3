/* Large objects: old ones above SMALL_MAX_BYTES, and young ones that are too large for the nursery. Each has a run of
 * pages to itself and moves only in a compaction.
 *
 * An object that is too large for the nursery is allocated here at once, but it is young all the same: it can die in
 * the next minor collection, and until then needs no barrier. It is not copied when it survives, so its age is told by
 * the state of its page, not by where it lies:
 *
 *                  a minor collection          traced
 *                  reaches it
 *     LARGE_YOUNG ---------------> LARGE_REACHED -----> LARGE: it is old now
 *          |
 *          `-- not reached when the minor collection ends: freed
 *
 *   [large.1] The list young_large has exactly the objects whose page's state is PAGE_LARGE_YOUNG, and during a minor
 *             collection PAGE_LARGE_REACHED. After a minor collection it is empty.
 *   [large.2] large_bytes counts the pages of all large objects, whole pages.
 */
#ifndef CRADLE_GC_OLD_LARGE_H
#define CRADLE_GC_OLD_LARGE_H

#include "gc/old/span.h"

/* A run of pages for one object of so many bytes, with its allocation bit set. young: the object is young. zeroed: its
 * memory reads as zero. `keep` arenas stay FREE. NULL: no memory. */
void *crd_old_take_large(crd_old *old, size_t bytes, bool young, bool zeroed, uint32_t keep);
/* Frees the large object that begins at a page. The arenas of one above 32 MiB go back to the system at once; glibc's
 * malloc draws the same line. */
void crd_old_free_large(crd_old *old, uint32_t page);
/* What becomes of the memory of dead objects. */
typedef struct crd_remains {
  cradle_word poison;  /* written over it; 0: nothing is written, and there is no quarantine */
  uint64_t collection; /* the minor collection that frees it, or the last one before the sweep that does */
  bool swept;          /* a sweep frees it */
} crd_remains;
/* As crd_old_free_large, for an object that died: poisons its memory, and closes its pages with a quarantine. */
void crd_old_bury_large(crd_old *old, uint32_t page, crd_remains remains);

/* Whether a large object allocated since the last minor collection begins at the address, which may lie anywhere. */
static inline bool old_is_young_large(const crd_old *old, uintptr_t address) {
  return arenas_know(&old->arenas, address) &&
         arenas_page(&old->arenas, arenas_page_number(&old->arenas, address))->state == PAGE_LARGE_YOUNG;
}

#endif
