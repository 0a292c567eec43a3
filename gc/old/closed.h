/* Closed runs: with a quarantine, the pages of a large object that died become inaccessible, so that a stale reference
 * to the object faults at the line that uses it. Poison is not enough there: in a large array of bytes it is data.
 *
 * A ring holds the runs that died last. Their pages stay taken. The oldest run is opened, and its pages are given back,
 * when the ring needs its place, when memory is short, and before a compaction. Arenas that become empty then go back
 * to the system, as do, at once, those of an object that is longer than the ring may be (16 MiB). The pages of a pool,
 * and base pages of more than 4 KiB, cannot be closed one by one: they are poisoned and used again at once.
 *
 *   [closed.1] The ring holds the last runs, oldest first. All their pages are taken, inaccessible and no span's.
 */
#ifndef CRADLE_GC_OLD_CLOSED_H
#define CRADLE_GC_OLD_CLOSED_H

#include "gc/old/arena.h"

#define CLOSED_RUNS LIMIT(64, 4)
#define CLOSED_PAGES (8 * ARENA_PAGES)

/* A large object that died. */
typedef struct crd_closed_run {
  uint32_t page, pages; /* pages <= CLOSED_PAGES */
  uint32_t type;
  bool swept;          /* true: a major collection found it dead; false: a minor one */
  uint64_t collection; /* the number of that minor collection, or of the last one before the sweep */
} crd_closed_run;

typedef struct crd_closed {
  crd_closed_run runs[CLOSED_RUNS]; /* a ring */
  uint32_t first, count;            /* the oldest run, and runs in the ring; count <= CLOSED_RUNS */
  uint32_t pages;                   /* of all runs together; <= CLOSED_PAGES */
  bool can_close;                   /* the system's pages are small enough to be closed one by one */
} crd_closed;

/* Begins the quarantine of the arenas, before anything is taken from them. false: memory was refused. */
bool crd_closed_init(crd_arenas *arenas, size_t page_bytes);
/* Opens what is closed and ends the quarantine, if there is one. */
void crd_closed_fini(crd_arenas *arenas);
/* Closes the pages of an object, which are taken and no span's any more, or gives them back. keep arenas stay FREE. */
void crd_closed_bury(crd_arenas *arenas, crd_closed_run dead, uint32_t keep);
/* Memory is short: opens the oldest run. false: there is none (no quarantine, perhaps), or the system refuses. */
bool crd_closed_open_oldest(crd_arenas *arenas);
/* Opens all runs, as far as the system allows it. Arenas that become empty go back; keep others stay FREE. */
void crd_closed_open_all(crd_arenas *arenas, uint32_t keep);
/* The run in which the address lies; NULL: none. May be called in a signal handler. */
const crd_closed_run *crd_closed_at(const crd_arenas *arenas, uintptr_t address);
/* For the verifier: *pages counts the closed pages. NULL, or what is wrong. */
const char *crd_closed_check(const crd_arenas *arenas, uint32_t *pages);

#endif
