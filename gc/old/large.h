/* Large objects: those above SMALL_MAX_BYTES, and young ones that the nursery is too small for. Each has a run of pages
 * to itself and moves only in a compaction.
 *
 * A young large object lies in the old generation and is told by its page's state. The minor collection that reaches it
 * makes the state REACHED while it is to be traced, and LARGE in the end; those that it does not reach are freed.
 *
 *   [large.1] The list young_large has exactly the objects whose page's state is PAGE_LARGE_YOUNG, and during a minor
 *             collection PAGE_LARGE_REACHED. After a minor collection it is empty.
 *   [large.2] large_bytes counts the pages of all large objects, whole pages.
 */
#ifndef CRADLE_GC_OLD_LARGE_H
#define CRADLE_GC_OLD_LARGE_H

#include "gc/old/span.h"

/* A run of pages for one object of so many bytes, zeroed when zeroed is asked for. NULL: no memory. The object has its
 * allocation bit; its page says young when young is set. */
void *crd_old_take_large(crd_old *old, size_t bytes, bool young, bool zeroed, uint32_t keep);
/* Of more than 32 MiB, the arenas go back to the system with it: malloc, too, keeps nothing above that for the next. */
void crd_old_free_large(crd_old *old, uint32_t page);
/* What is left of the dead. */
typedef struct crd_remains {
  cradle_word poison;  /* is written over them; 0: nothing is, and there is no quarantine */
  uint64_t collection; /* the minor collection that frees them, or the last one before the sweep that does */
  bool swept;
} crd_remains;
/* The same of an object that died: with a quarantine its pages are closed. */
void crd_old_bury_large(crd_old *old, uint32_t page, crd_remains remains);

/* Whether a large object allocated since the last minor collection begins at the address, which may lie anywhere. */
static inline bool old_is_young_large(const crd_old *old, uintptr_t address) {
  return arenas_contain(&old->arenas, address) &&
         arenas_page(&old->arenas, arenas_page_number(&old->arenas, address))->state == PAGE_LARGE_YOUNG;
}

#endif
