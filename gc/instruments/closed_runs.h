/* Closed runs: with a quarantine, the pages of a large object that died become inaccessible, so that the use of a
 * reference to it faults.
 *
 * The whole arenas among them are given back, until they are committed again. The pages of the last one stay taken, in
 * a ring, until others need the place in it, memory is short, or objects are moved. Pages of a pool cannot be closed
 * one by one, nor can those of systems whose base pages are larger than 4 KiB: what they hold is poison, and they are
 * used again at once.
 *
 * The arenas below know nothing of the ring but a table of functions, arenas->closing (gc/old/arena.h).
 *
 *   [closed.1] The ring holds the last runs, oldest first. The last closed pages of each are taken, inaccessible and no
 *              span's; none when they were opened again, and the run stays only so that its object can be reported.
 *   [closed.2] No page among the first unused ones of a run was taken since its object died. Pages behind one that was
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
  uint32_t unused; /* pages [closed.2]; <= object.pages */
  uint32_t closed; /* pages [closed.1]; < ARENA_PAGES, <= object.pages */
} crd_closed_run;

typedef struct crd_closed_runs {
  crd_closed_run runs[CLOSED_RUNS]; /* a ring */
  uint32_t first, count;            /* the oldest run, and runs in the ring; <= CLOSED_RUNS */
  uint32_t pages;                   /* closed ones of all runs together; at most CLOSED_PAGES, unless refused */
  bool can_close;                   /* the system's pages are small enough to be closed one by one */
} crd_closed_runs;

/* Before anything is taken from the arenas. false: memory was refused. */
bool crd_closed_runs_init(crd_arenas *arenas, size_t page_bytes);
/* Opens what is closed; does nothing where there is no quarantine. */
void crd_closed_runs_fini(crd_arenas *arenas);
/* The run that an address lies in where it is inaccessible, or NULL. Fit for signal handlers. */
const crd_closed_run *crd_closed_runs_at(const crd_arenas *arenas, uintptr_t address);

#endif
