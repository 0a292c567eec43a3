/* The major collection: finds the dead objects of the old generation and frees them, in increments.
 *
 *            due        nothing left          the dead are          the last span
 *                       to trace              known for good        is swept
 *     IDLE -----> MARKING -----------> CLEARING -----------> SWEEPING -----------> IDLE
 *                        `---------------------------------->
 *                        a heap without weak slots, finalizers and the like
 *
 *   marking  gc/old/mark.h
 *   clearing the order of death (gc/death/services.c): weak references, finalizers, and what they bring back
 *   sweeping gc/old/sweep.h. The ids of dead objects go first, because after the sweep nothing tells any more who is
 *            dead. The last increment also sets the next threshold (gc/old/pacing.h).
 *
 *   [major.1] The phases follow each other as above: idle, marking, clearing or at once sweeping, sweeping, idle.
 *   [major.2] The caller of a step has just emptied the nursery, and nothing is allocated until the step is over.
 *   [major.3] Objects are born marked from the beginning of marking to that of sweeping [span.7]; the mark stack holds
 *             something in marking and clearing only; overflowed and rescan_page are set in these two only.
 */
#ifndef CRADLE_GC_OLD_MAJOR_H
#define CRADLE_GC_OLD_MAJOR_H

#include "gc/old/sweep.h"
#include "gc/parts.h"

typedef enum crd_major_phase { MAJOR_IDLE = 0, MAJOR_MARKING, MAJOR_SWEEPING, MAJOR_CLEARING } crd_major_phase;

/* The figures are of the collection that runs; if none runs, of the last one. */
typedef struct crd_major {
  crd_major_phase phase;
  cradle_cause cause;
  bool overflowed;         /* the mark stack was full: some marked object is not traced and not on the stack */
  bool watching;           /* traced objects with the weak or the watched flag are shown to the order of death */
  uint32_t rescan_page;    /* where the rescan for such objects goes on; PAGE_NONE: no rescan is under way [mark.4] */
  uint32_t again;          /* the list of [mark.5]: 1 + its first page, or 0: it is empty */
  uint32_t purge_id;       /* sweeping: the first id that has not been looked at */
  uint32_t sweep_page;     /* sweeping: the page at which it goes on, once all ids have been looked at */
  uint32_t behind;         /* increments that marked too little, or cleared too late, minus others; 0 to BEHIND_MOST */
  uint64_t objects, bytes; /* marked by tracing; they grow in marking and clearing */
  uint64_t used_at_start;  /* bytes that were in use when it began */
  uint64_t again_bytes;    /* of large arrays that were to be traced once more [mark.5] */
  uint64_t large_at_start; /* those of them in large objects */
  uint64_t collected_at_start; /* used_at_start with external memory; >= used_at_start */
  uint64_t used_before_sweep;  /* bytes in use when sweeping began; 0 before; >= swept.freed_bytes */
  crd_swept swept;             /* all 0 until sweeping begins */
  uint64_t work_ns;            /* time spent on it */
  uint64_t large_bytes;        /* allocated large since the last pause that might have had an increment */
} crd_major;

/* The most that crd_major.behind counts. */
#define BEHIND_MOST 8

/* An increment stops when it has marked so many bytes, or at the deadline, whichever is first. With both zero it is the
 * smallest increment: a few objects, or one span. */
typedef struct crd_budget {
  uint64_t bytes;       /* to mark */
  uint64_t deadline_ns; /* UINT64_MAX: none */
  bool aside;           /* of marking, only what the second core put aside [marker.6] */
} crd_budget;

/* Begins a major collection, and does the next increment of the one that runs. Each call must come right after a minor
 * collection [major.2]. */
void crd_major_start(crd_marking *marking, cradle_cause cause);
void crd_major_step(crd_marking *marking, crd_budget budget);
/* The bytes that decide when the next one is due: those of the old generation, and those outside of the heap. */
uint64_t crd_major_counted_bytes(const crd_marking *marking);
/* The bound of the threshold: the maximum heap plus external memory, which only the threshold counts. 0: none. */
uint64_t crd_major_threshold_max(const crd_marking *marking);

#endif
