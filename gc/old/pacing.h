/* Pacing: when a major collection is due, how much of it an increment must do, and until when.
 *
 * The heap may grow by a factor over what survived the last major collection, to the threshold:
 *
 *     used bytes
 *      threshold |  -  -  -  -  -  -  -  -  -  -  -  -  -  _.'\      the collection is over, and the dead are freed
 *                |                                     _.-'   |
 *        trigger |  -  -  -  -  -  -  -  -  -  -  _.o-'       |      it begins early enough to be over in time
 *                |                            _.-'  :         |
 *                |                       _.-'       :         |
 *       survived |  -  -  -  -  -  - o-'            : marking |_.-'  what survived this time
 *                +----------------------------------------------> the program runs
 *
 * The threshold. This is RPython's rule, with three changes:
 *
 *     what survived * factor
 *     at most     what survived + max_delta
 *     at most     the last threshold * growth
 *     at most     the soft maximum, three quarters of a cgroup's memory.high; but a quarter above what survived
 *     at least    the minimum
 *     at most     the maximum heap
 *
 *   - Of what survived, bytes that only seem to live are estimated and left out: see floating in the source.
 *   - The bound by growth is never less than a quarter of the minimum above what survived, or a large array that comes
 *     at once could make the next collection due immediately.
 *   - After a collection in vain, which freed less than an eighth of what there was when it began, the bound by growth
 *     does not hold: the program is building what it keeps. If the heap's growth brought that collection on, the room
 *     that the factor gives above what survived is growth times as large, and nothing floats, because nothing dies.
 *
 * A collection in increments ought to be over when the threshold is reached. So it begins earlier, by what will
 * probably be promoted and allocated large in the increments that it takes to mark what is used. If the promotions
 * since the last increment have used up a tenth of the room that is left below the threshold, the increment marks a
 * tenth of what is unmarked, and a quarter more to be safe. With a pause target, it also ends in time.
 *
 * While a second core marks on a processor of its own, the heap may exceed the threshold by half before increments must
 * mark what the thread has not (docs/design/second-core.md): by half of the factor times what survived the last
 * collection and was there before it marked.
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

/* What options and callbacks say of bytes counts as at most so many, more than any machine has [pacing.3]. */
#define COUNTED_MAX_BYTES ((uint64_t)1 << 60)

typedef struct crd_pacing {
  uint64_t threshold;        /* used bytes at which the next major collection ought to be over [pacing.1] */
  uint64_t survived;         /* used bytes after the last one; may be above the threshold, where the maximum is near */
  uint64_t beside_room;      /* bytes by which the heap may exceed the threshold beside the second core */
  uint64_t min, max_delta;   /* bytes, both at most COUNTED_MAX_BYTES */
  uint64_t soft_max;         /* bytes; 0: none. The heap may exceed it by what survives, and a quarter of that */
  double factor, growth;     /* both above 1, at most 1000 */
  uint64_t promoted_average; /* bytes a minor collection promotes, recently */
  uint64_t grown_average;    /* bytes by which the old generation grows from one to the next, with large objects */
  uint64_t marked_average;   /* bytes an increment marks, recently */
} crd_pacing;

void crd_pacing_init(crd_pacing *pacing, const cradle_options *options, const cradle_hardware *hardware,
                     size_t nursery_bytes);
/* Bounds the threshold anew, when the maximum heap changes or the machine's memory becomes known. */
void crd_pacing_bound(crd_pacing *pacing, const cradle_options *options, const cradle_hardware *hardware);
/* Sets the threshold after a major collection. born_marked_bytes: what was promoted while it marked. was_due: the
 * heap's growth brought it on, nobody asked for it. */
void crd_pacing_update(crd_pacing *pacing, uint64_t survived_bytes, uint64_t freed_bytes, uint64_t born_marked_bytes,
                       bool was_due, uint64_t heap_max_bytes);
/* The used bytes at which the next major collection must begin, to be over at the threshold. */
uint64_t crd_pacing_trigger(const crd_pacing *pacing, uint64_t used_bytes);
/* How many bytes the increment after a minor collection marks that promoted so many. At least twice what was promoted,
 * so that marking gets ahead of promotion even if the threshold is far. */
uint64_t crd_pacing_increment(const crd_pacing *pacing, uint64_t promoted_bytes, uint64_t used_bytes,
                              uint64_t unmarked_bytes);
/* The used bytes up to which a heap may grow while its second core marks and until it is swept: never above the maximum
 * heap, and never below the threshold. heap_max_bytes: 0 if the heap has no maximum. */
uint64_t crd_pacing_limit_beside(const crd_pacing *pacing, uint64_t heap_max_bytes);
/* How many bytes must be marked between a minor collection that promoted so many and the next, so that marking is over
 * when `limit_bytes` are used. */
uint64_t crd_pacing_needed(uint64_t limit_bytes, uint64_t promoted_bytes, uint64_t used_bytes, uint64_t unmarked_bytes);
/* When that increment ends at the latest: in time for the target, or an eighth of the target from now if the pause
 * has taken too long already. An increment that falls behind for that shortens the next minor collections
 * (gc/young/adapt.h), and so has most of a pause; what takes longer than the target at once is done only where the heap
 * is far above its limit. */
uint64_t crd_pacing_deadline(uint64_t begin_ns, uint64_t now_ns, uint64_t target_ns);
/* What a minor collection promoted, and what large objects live that were allocated since the last one; and how many
 * bytes an increment marked. */
void crd_pacing_promoted(crd_pacing *pacing, uint64_t promoted_bytes, uint64_t large_bytes);
void crd_pacing_marked(crd_pacing *pacing, uint64_t bytes);

#endif
