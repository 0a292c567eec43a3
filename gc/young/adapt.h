/* The adaptive nursery: its size follows what survives. docs/design/nursery.md has the reasons for the figures.
 *
 * If more dies in a larger nursery, the collector promotes less. That is worth more than the cache misses of a larger
 * nursery, up to half the L3. The ages of what dies tell whether more will die; where they do not, a trial does:
 *
 *   ages     When a notable share survives, some objects are noted as they are allocated, and a collection counts how
 *            many of the oldest it promoted. A nursery of twice the size would hold objects that are older still. So if
 *            a clearly smaller share of the oldest lives than of all, the size is doubled at once. If the shares are
 *            alike, more than half survives and the size is above base, it is halved.
 *   grow     Where the ages do not tell, the size is doubled for a few collections. If a clearly smaller share survives
 *            then, the size stays and the next doubling is tried; if not, it goes back, and the next trial waits, each
 *            time longer. Many roots double the size without a trial: each collection looks at all of them.
 *   shrink   A size above base is halved when hardly anything survives. The size is also halved, on trial, when a minor
 *            collection takes nearly the whole pause target, or twice the target where the oldest die. The time that
 *            roots take counts for neither.
 *
 * To hand out less of the nursery costs little and takes three collections to change: as much is handed out as can be
 * promoted in time at the rate of the last collections in the same phase, beside an increment that marks or sweeps if a
 * major collection runs. Without the second core, where the oldest die, the rate is that of the average.
 *
 * Without a pause target the clock is not used: counts alone decide, so every run takes the same decisions.
 *
 *   [adapt.1] min <= base <= max, and the nursery's size lies between min and max unless it is fixed.
 *   [adapt.2] At most one trial runs.
 */
#ifndef CRADLE_GC_YOUNG_ADAPT_H
#define CRADLE_GC_YOUNG_ADAPT_H

#include <cradle/event.h>

#include "gc/parts.h"

/* Samples, objects that were noted as they were allocated: how many a minor collection saw and promoted, and of these,
 * how many were in the oldest quarter of the nursery. */
typedef struct crd_ages {
  uint32_t seen, kept, old_seen, old_kept;
} crd_ages;

/* How long the last collections took for each promoted byte, in ns, in a circle. */
enum { RATE_SAMPLES = 4 };
typedef struct crd_rates {
  double last[RATE_SAMPLES];
  uint32_t next;
} crd_rates;

/* A trial of another size, and when the next may begin. */
typedef struct crd_trial {
  size_t before;          /* the size before the trial; 0: none runs */
  double rate_before;     /* what was measured at that size */
  uint32_t wait, backoff; /* collections until the next trial; what the next failure sets wait to */
} crd_trial;

typedef struct crd_adapt {
  bool fixed;
  bool knows_l3;         /* max takes the L3 into account; false: the nursery has not grown beyond base yet */
  size_t base, min, max; /* sizes in bytes */
  size_t cut_to;         /* its share of the maximum heap, if the nursery is to be cut to that when empty; else 0 */
  double ns_per_promoted_byte;  /* of recent minor collections */
  uint32_t slow;                /* how many collections in a row were far above ns_per_promoted_byte */
  double slow_least;            /* ns for each promoted byte in the quickest of these */
  crd_rates marking, sweeping;  /* of collections beside which the second core could mark, and of those that follow */
  crd_rates alone;              /* of all others */
  double survival;              /* share of the allocated bytes that recent minor collections promoted */
  uint64_t promoted, allocated; /* bytes, in the running trial or since the last decision */
  uint32_t collections;         /* since the last decision */
  uint64_t root_words;          /* words of roots that the last collection looked at */
  crd_ages ages;                /* of the collections since the last decision */
  bool old_die;                 /* whether clearly fewer of the oldest lived when that was last known */
  double least_rate;            /* ns a promoted byte in the quickest since the last decision, without second core */
  crd_trial growth;             /* of twice the size; measured: promoted / allocated */
  crd_trial shrinking;          /* of half the size, for the pauses; measured: least_rate */
} crd_adapt;

void crd_adapt_init(crd_young *young);
/* The maximum heap has become smaller: unless it is fixed, the nursery will be cut to its share when it is empty. */
void crd_adapt_bound(crd_young *young);
/* Cuts the empty nursery to that share. */
void crd_adapt_cut(crd_young *young);
/* After a minor collection: decides about the size. */
void crd_adapt_after_minor(crd_young *young, const cradle_event *minor);
/* What the roots of the last minor collection took at least, by their number. */
double crd_adapt_roots_least_ns(const crd_adapt *adapt);
/* How much of the nursery to hand out. It may be a part, so that the minor collection fits the pause target, together
 * with an increment while a major collection runs; then increments that fell behind also come more often. */
size_t crd_adapt_hand_out(crd_young *young);

#endif
