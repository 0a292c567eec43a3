/* Sweeping: frees what marking has not reached.
 *
 * Two bitmaps make that cheap. Each place of a span has an allocation bit, set if an object is there, and a mark bit,
 * set if marking has reached that object. When marking is over, an object lives exactly if both are set:
 *
 *                        before the sweep       after it
 *     allocation bits    1 1 0 1 1 0 1 1        1 0 0 1 0 0 0 1     are now what the mark bits were:
 *     mark bits          1 0 0 1 0 0 0 1        0 0 0 0 0 0 0 0     three places have become free
 *
 * So to sweep a span is to copy its mark bits over its allocation bits and to clear them, a few hundred bytes; no
 * object is read or written, unless the dead are to be poisoned. One bitmap would not do: while marking goes on, a
 * place without a mark may still hold an object that marking will reach.
 *
 * Sweeping goes span after span, in increments between which the program runs, and allocates in spans that have been
 * swept or are new. It begins by adding one to the generation's epoch: a span that still has the old one waits
 * [span.6].
 *
 * If everything is to be swept at once, and the heap has threads (gc/old/marker.h), they help with the small spans:
 * each claims one arena after the other. What it finds goes into lists and counts under a lock, an arena's spans at a
 * time.
 *
 *   [sweep.1] It begins right after a minor collection: no large object is young, the allocators are retired and the
 *             partial lists are empty. A large object that becomes young later has the new epoch.
 *   [sweep.2] It visits each span that waits once, lowest address first, and leaves none behind: at its end no span
 *             waits.
 */
#ifndef CRADLE_GC_OLD_SWEEP_H
#define CRADLE_GC_OLD_SWEEP_H

#include "gc/base/spinlock.h"
#include "gc/old/large.h"

typedef struct crd_swept {
  uint64_t freed_objects, freed_bytes, freed_spans;
} crd_swept;

/* What several threads sweep together. */
typedef struct crd_sweep {
  crd_old *old;
  uint32_t next, end; /* arenas: the first that nobody has claimed, atomic; and how many there are */
  crd_spinlock lock;
  crd_swept swept;
} crd_sweep;

/* Marking is over, and every span now waits to be swept. */
void crd_sweep_begin(crd_old *old);
/* Sweeps from *page on until the deadline (UINT64_MAX: none); true when no span waits any more. */
bool crd_sweep_some(crd_old *old, uint32_t *page, crd_remains remains, uint64_t deadline_ns, crd_swept *swept);
/* Sweeps small spans, beside other threads that do the same, until no arena is left to claim. Nothing is poisoned. */
void crd_sweep_together(crd_sweep *sweep);

#endif
