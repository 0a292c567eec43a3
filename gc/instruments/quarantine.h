/* Quarantine: the memory that a minor collection has emptied becomes inaccessible, so that a reference that was not
 * updated faults at the line that uses it.
 *
 * Without a quarantine, such a stale reference finds whatever is allocated there next, and the program goes wrong much
 * later. With one, the nursery does not begin again at its start. It is a window that moves through a ring of pages:
 *
 *     before a collection   | closed     | window: filled   |  free | closed, longest ago     |
 *     after it              | closed     | closed now       | window                  | closed|
 *
 * After a minor collection the pages that were filled are closed, and the window goes on behind them, where the pages
 * that were closed longest ago are opened. Where the ring ends, it begins again. It is two windows longer than the
 * option says, so that the first window does not overlap the last one. Under stress, with a collection at every
 * allocation, each collection closes one page.
 *
 * Closed pages keep the headers of the objects that moved, with their new addresses. When a program uses a stale
 * reference, a signal handler asks what was at its address. The copies may long have moved again or died. So when a
 * page is closed, the start of each object on it is noted, and the second word of each becomes its type and its size.
 *
 * (In the old generation, large objects that died are closed, gc/old/closed.h, and arenas that a compaction has emptied
 * are given back.)
 *
 *   [quarantine.1] The window [nursery.start, nursery.start + nursery.reserved_bytes) lies in the ring and is
 *                  accessible, and no page of it is closed.
 *   [quarantine.2] Of the window, what was not handed out since it was opened holds POISON_UNUSED.
 *   [quarantine.3] starts has the bits of objects on closed pages only.
 */
#ifndef CRADLE_GC_INSTRUMENTS_QUARANTINE_H
#define CRADLE_GC_INSTRUMENTS_QUARANTINE_H

#include "gc/parts.h"

/* The ring of pages that the nursery moves through under quarantine. base NULL: no quarantine. */
typedef struct crd_quarantine {
  char *base;
  size_t bytes; /* of the ring */
  size_t page_bytes;
  uint64_t *starts;    /* a bit for each word: an object began there */
  uint64_t *closed_by; /* for each page the minor collection that closed it; 0: it is open */
  bool refused;        /* the system refused to protect pages, and the log says so */
} crd_quarantine;

static inline bool quarantine_is_on(const crd_quarantine *quarantine) {
  return CRADLE_UNLIKELY(quarantine->base != NULL);
}
/* Makes the ring for a nursery of so many bytes, and returns its base; NULL: memory was refused. */
char *crd_quarantine_init(crd_quarantine *quarantine, crd_space *space, size_t window);
void crd_quarantine_fini(crd_quarantine *quarantine);
/* After a minor collection: closes the nursery's pages up to filled, and moves its start behind them. false: the system
 * refuses, and nothing has changed. */
bool crd_quarantine_advance(crd_quarantine *quarantine, crd_space *space, char *filled);
/* Whether the address lies on a closed page, and what was there. May be called in a signal handler. */
typedef struct crd_quarantined {
  const cradle_word *object; /* NULL: no object is known there */
  uintptr_t moved_to;        /* 0: it died */
  uint64_t collection;
  uint32_t type, bytes; /* bytes 0: not known */
} crd_quarantined;
bool crd_quarantine_find(const crd_quarantine *quarantine, uintptr_t address, crd_quarantined *found);
/* For the verifier, outside of a collection: NULL, or what is wrong. */
const char *crd_quarantine_check(const crd_quarantine *quarantine, const crd_space *space);

#endif
