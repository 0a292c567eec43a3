/* Sweeping: what marking has not reached is freed.
 *
 * In each span mark bits become allocation bits. Spans without live objects are given back, the others with room are
 * listed for their allocators; no live object is touched. It goes span after span in increments, and what is allocated
 * between two of them goes into spans that were swept or are new: the epoch in a span's first page tells those that
 * still wait [span.6].
 *
 *   [sweep.1] It begins right after a minor collection: no large object is young, the allocators are retired and the
 *             partial lists are empty. A large object that becomes young later has the new epoch.
 *   [sweep.2] It visits each span that waits once, lowest address first, and leaves none behind: at its end no span
 *             waits.
 */
#ifndef CRADLE_GC_OLD_SWEEP_H
#define CRADLE_GC_OLD_SWEEP_H

#include "gc/old/large.h"

typedef struct crd_swept {
  uint64_t freed_objects, freed_bytes, freed_spans;
} crd_swept;

/* Marking is over: every span waits to be swept. */
void crd_sweep_begin(crd_old *old);
/* Sweeps from *page on until the deadline (UINT64_MAX: none); true when no span waits any more. */
bool crd_sweep_some(crd_old *old, uint32_t *page, crd_remains remains, uint64_t deadline_ns, crd_swept *swept);

#endif
