/* Quarantine: what a minor collection emptied becomes inaccessible, so that the use of a reference that was not updated
 * faults where it happens. (Of the old generation, large objects that died are closed, gc/instruments/closed_runs.c,
 * and arenas that a compaction emptied given back.)
 *
 * The nursery is then a window that moves through a ring of pages. After a minor collection the pages that were filled
 * are closed and the window goes on behind them; at the end of the ring it begins again, opening the oldest pages. So
 * the fewer bytes lie between two collections the longer a page stays closed: with a collection at every allocation,
 * one page each.
 *
 * Closed pages keep the forwarded headers. What an address in them was is asked in a signal handler, long after the
 * copies may have moved again or died; so each object's start is noted when its page is closed, and a moved object's
 * second word becomes its type.
 *
 * The ring has room for two windows more than the option says, so for three and more: the first one at its base never
 * overlaps the last one at its end.
 *
 *   [quarantine.1] The window [nursery.start, nursery.start + nursery.reserved_bytes) lies in the ring and is
 *                  accessible, and no page of it is closed.
 *   [quarantine.2] Of the window, what was not handed out since it was opened holds POISON_UNUSED.
 *   [quarantine.3] starts has the bits of objects on closed pages only.
 */
#ifndef CRADLE_GC_INSTRUMENTS_QUARANTINE_H
#define CRADLE_GC_INSTRUMENTS_QUARANTINE_H

#include <cradle/options.h>

/* The ring of pages that the nursery moves through under quarantine. base NULL: no quarantine. */
typedef struct crd_quarantine {
  char *base;
  size_t bytes; /* of the ring */
  size_t page_bytes;
  uint64_t *starts;    /* a bit a word: an object began there */
  uint64_t *closed_by; /* a page: the minor collection that closed it, or 0 */
  bool refused;        /* the log was told that pages cannot be protected */
} crd_quarantine;

/* Makes the ring for a nursery of so many bytes, and returns its base; NULL: memory was refused. */
char *crd_quarantine_init(cradle_heap *heap, size_t window);
void crd_quarantine_fini(cradle_heap *heap);
/* Closes the nursery's pages up to filled, and moves its start behind them. false: the system refuses, nothing
 * changed. */
bool crd_quarantine_advance(cradle_heap *heap, char *filled);
/* Whether the address lies on a closed page, and what was there. Fit for signal handlers. */
typedef struct crd_quarantined {
  const cradle_word *object; /* NULL: no object is known there */
  uintptr_t moved_to;        /* 0: it died */
  uint64_t collection;
  uint32_t type;
} crd_quarantined;
bool crd_quarantine_find(const cradle_heap *heap, uintptr_t address, crd_quarantined *found);
/* For the verifier, outside of a collection: NULL, or what is wrong. */
const char *crd_quarantine_check(const cradle_heap *heap);

#endif
