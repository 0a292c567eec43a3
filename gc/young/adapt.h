/* The adaptive nursery: its size follows what survives. docs/design/nursery.md has the reasons for the figures.
 *
 * If more dies in a larger nursery, the collector promotes less. That is worth more than the cache misses of a larger
 * nursery, up to half the L3, or up to 128 MiB without a pause target. The survival curve (gc/old/curve.h) says what
 * nurseries of other sizes would promote, and gc/young/cost.h what that would cost.
 *
 *   grow     After a minor collection the nursery gets the size that costs least, at once if minor collections have
 *            seen that more will die. If only marking has seen it, a larger size is tried for two collections: if as
 *            much survives, the size goes back, and the next trial waits, each time longer.
 *   shrink   The size is halved if a smaller one would have been better for sixteen collections: it costs less, or
 *            minor collections take nearly the whole pause target and shorter ones would not cost much more. The latter
 *            is a trial, because collections of a smaller nursery may take as long. The time of roots does not count.
 *
 * To hand out less of the nursery costs little and takes three collections to change: as much is handed out as can be
 * promoted in time at the rate of the last collections in the same phase, beside an increment that marks or sweeps if a
 * major collection runs; but not less if that promotes nearly as much.
 *
 * Without a pause target the clock is not used: counts alone decide, so every run takes the same decisions.
 *
 *   [adapt.1] min <= base <= early_max <= max, and the nursery's size lies between min and max unless it is fixed.
 *   [adapt.2] At most one trial runs.
 */
#ifndef CRADLE_GC_YOUNG_ADAPT_H
#define CRADLE_GC_YOUNG_ADAPT_H

#include <cradle/event.h>

#include "gc/parts.h"

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
  uint32_t shares;       /* base is that of so many mutators */
  bool knows_bounds;     /* early_max and max follow from the machine; false: not grown beyond base yet */
  size_t base, min, max; /* sizes in bytes */
  size_t early_max;      /* bytes; beyond this, as much must have been promoted as the nursery is to have */
  size_t cut_to;         /* its share of the maximum heap, if the nursery is to be cut to that when empty; else 0 */
  double ns_per_promoted_byte; /* of recent minor collections */
  uint32_t slow;               /* how many collections in a row were far above ns_per_promoted_byte */
  double slow_least;           /* ns for each promoted byte in the quickest of these */
  crd_rates marking, sweeping; /* of collections beside which the second core could mark, and of those that follow */
  crd_rates alone;             /* of all others */
  uint64_t root_words;         /* words of roots that the last collection looked at */
  double scale;                /* what recent collections promoted, divided by what the curve says */
  /* Of the collections since the last decision: */
  uint32_t collections;
  uint64_t promoted, objects, allocated; /* bytes, objects and bytes */
  double least_rate;                     /* ns a promoted byte in the quickest, without second core */
  double price;                          /* of a promoted byte (gc/young/cost.h) */
  uint32_t smaller;                      /* collections after which a smaller size was enough, in a row */
  crd_trial growth;                      /* of a larger size; measured: promoted / allocated */
  crd_trial shrinking;                   /* of half the size, for the pauses; measured: least_rate */
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
