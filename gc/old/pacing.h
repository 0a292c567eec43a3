/* Pacing: when a major collection is due, how much of it an increment must do, and until when.
 *
 * The threshold is RPython's rule: the bytes that survived times a factor, at most a stated distance above them, at
 * most a growth above the last threshold, at least a minimum, and never above the maximum heap. Where the growth would
 * leave the threshold below what survived, so that the next collection were due at once, it is a little above that. The
 * growth bounds nothing after a collection that freed next to nothing: the program is building what it keeps. Of
 * the bytes that survived, those that only seem to live are estimated and left out. A collection in increments must be
 * over when the threshold is reached, so it begins earlier by what is likely to be promoted and allocated large
 * meanwhile. This is arithmetic on bytes, so that the same run gives the same collections, and no clock is read here.
 *
 *   [pacing.1] The threshold is at least the minimum, or it is the maximum heap. It is never above the maximum heap.
 *   [pacing.2] A collection in increments begins at the threshold at the latest, and not before half of the way from
 *              what survived to the threshold.
 *   [pacing.3] No sum wraps around, because the options' bytes and each kind of external memory count as
 *              COUNTED_MAX_BYTES at most, and the three kinds and the old generation are below four times that.
 *              Products are made by scaled.
 */
#ifndef CRADLE_GC_OLD_PACING_H
#define CRADLE_GC_OLD_PACING_H

#include <cradle/options.h>

/* What options and callbacks say of bytes counts as at most so many, more than any machine has: no sum of a few of them
 * wraps around. */
#define COUNTED_MAX_BYTES ((uint64_t)1 << 60)

typedef struct crd_pacing {
  uint64_t threshold;        /* used bytes at which the next major collection ought to be over [pacing.1] */
  uint64_t survived;         /* used bytes after the last one; may be above the threshold, where the maximum is near */
  uint64_t min, max_delta;   /* bytes, both at most COUNTED_MAX_BYTES */
  double factor, growth;     /* both above 1, at most 1000 */
  uint64_t promoted_average; /* bytes a minor collection promotes, recently */
  /* bytes by which the old generation grows from one to the next, large objects included */
  uint64_t grown_average;
  uint64_t marked_average; /* bytes an increment marks, recently */
} crd_pacing;

void crd_pacing_init(crd_pacing *pacing, const cradle_options *options, const cradle_hardware *hardware,
                     size_t nursery_bytes);
/* The maximum heap or the memory is known only now, or has become another: bounds the threshold anew. */
void crd_pacing_bound(crd_pacing *pacing, const cradle_options *options, const cradle_hardware *hardware);
/* The threshold after a major collection that left and freed so many bytes, and during whose marking so many were
 * promoted. */
void crd_pacing_update(crd_pacing *pacing, uint64_t survived_bytes, uint64_t freed_bytes, uint64_t born_marked_bytes,
                       uint64_t heap_max_bytes);
/* Used bytes at which the next major collection must begin, to be over at the threshold. */
uint64_t crd_pacing_trigger(const crd_pacing *pacing, uint64_t used_bytes);
/* Bytes to mark in the increment after a minor collection that promoted so many. */
uint64_t crd_pacing_increment(const crd_pacing *pacing, uint64_t promoted_bytes, uint64_t used_bytes,
                              uint64_t unmarked_bytes);
/* The same where a second core marks: without a least, because it goes on when the increment is over. */
uint64_t crd_pacing_needed(const crd_pacing *pacing, uint64_t promoted_bytes, uint64_t used_bytes,
                           uint64_t unmarked_bytes);
/* When that increment ends at the latest: its pause began at begin_ns, its minor collection is over now. */
uint64_t crd_pacing_deadline(const crd_pacing *pacing, uint64_t used_bytes, uint64_t begin_ns, uint64_t now_ns,
                             uint64_t target_ns);
/* Tells it what a minor collection promoted, what large objects came and lived before it, and what an increment
 * marked. */
void crd_pacing_promoted(crd_pacing *pacing, uint64_t promoted_bytes, uint64_t large_bytes);
void crd_pacing_marked(crd_pacing *pacing, uint64_t bytes);

#endif
