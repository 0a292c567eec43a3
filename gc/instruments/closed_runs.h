/* Closed runs: with a quarantine, the pages of a large object that died become inaccessible, so that using a stale
 * reference to it faults.
 *
 * Poison alone is not enough for large objects: in a large array of bytes, poison is data like any other.
 *
 *     a dead object of 5 MiB:   [ arena      ][ arena      ][ half an arena ]
 *                                given back to the system,    "closed": stays taken, access is taken away
 *                                so inaccessible
 *
 * Whole arenas of the object are given back to the system, and stay inaccessible until they are committed again. The
 * pages in its last arena are closed: they stay taken and become inaccessible. A ring holds the runs that died last,
 * and opens the oldest when it needs their place, when memory is short, or before a compaction.
 *
 * Pages of a pool cannot be closed one by one, and neither can those of systems whose base pages are larger than 4 KiB.
 * They are poisoned and used again at once.
 *
 * The arenas know of the ring only a table of functions, arenas->closing, because gc/old may not include the
 * instruments (gc/old/arena.h).
 *
 *   [closed.1] The ring holds the last runs, oldest first. In each, the last `closed` pages are taken, inaccessible and
 *              no span's. After they were opened again, closed is 0, and the run stays only so that its object can be
 *              reported.
 *   [closed.2] None of the first `unused` pages of a run was taken since its object died. Pages behind one that was
 *              taken are not reported any more, even where they are inaccessible.
 */
#ifndef CRADLE_GC_INSTRUMENTS_CLOSED_RUNS_H
#define CRADLE_GC_INSTRUMENTS_CLOSED_RUNS_H

#include "gc/base/check.h"
#include "gc/old/arena.h"

#define CLOSED_RUNS LIMIT(64, 4)
#define CLOSED_PAGES (8 * ARENA_PAGES)

typedef struct crd_closed_run {
  crd_dead_large object;
  uint32_t unused; /* so many pages at its beginning [closed.2]; <= object.pages */
  uint32_t closed; /* so many pages at its end [closed.1]; < ARENA_PAGES, <= object.pages */
} crd_closed_run;

typedef struct crd_closed_runs {
  crd_closed_run runs[CLOSED_RUNS]; /* a ring */
  uint32_t first, count;            /* the oldest run, and runs in the ring; <= CLOSED_RUNS */
  uint32_t pages;                   /* closed ones of all runs together; at most CLOSED_PAGES, unless refused */
  bool can_close;                   /* the system's pages are small enough to be closed one by one */
} crd_closed_runs;

/* Begins the quarantine of the arenas, before anything is taken from them. false: memory was refused. */
bool crd_closed_runs_init(crd_arenas *arenas, size_t page_bytes);
/* Opens what is closed and ends the quarantine, if there is one. */
void crd_closed_runs_fini(crd_arenas *arenas);
/* The run that the address lies in, if the address is inaccessible; else NULL. May be called in a signal handler. */
const crd_closed_run *crd_closed_runs_at(const crd_arenas *arenas, uintptr_t address);

#endif
