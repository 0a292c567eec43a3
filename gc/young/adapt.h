/* The adaptive nursery: its size follows what survives.
 *
 * What a program allocates can die before the nursery is full or outlive it. Where a larger nursery lets more of it
 * die, the collector has less to promote, and that is worth more than the cache misses it costs, up to half the L3;
 * where all survives anyhow, or all dies, the size from the L2 is as good as any. Which of them it is, the ages of what
 * dies tell, or a trial:
 *
 *   ages     when a notable share survives, some objects are noted where they are allocated, and a collection counts
 *            how many of the oldest it promoted. A larger nursery adds such as are older still: where clearly fewer of
 *            the oldest live than of all, the size is doubled at once; where as many do, a larger size goes back
 *   grow     where the ages do not tell, the size is doubled for a few collections; if then a clearly smaller share
 *            survives, it stays and the next doubling is tried; if not, it goes back, and the next trial waits, each
 *            time longer
 *            also while many roots are looked at in every collection, whatever the nursery's size: doubling it halves
 *            their cost for sure, and needs no trial
 *   shrink   when hardly anything survives, and when a minor collection takes too much of the pause target, or twice
 *            the target where the oldest die: a smaller nursery would promote what a larger one lets die, in more
 *            collections that are hardly shorter; it is a trial as well: what takes the time may be roots and
 *            remembered objects, which a smaller nursery meets more often
 *
 * Growth is decided by counts of bytes alone, so that runs repeat; only the pause target looks at the clock.
 *
 *   [adapt.1] min <= base <= max, and the nursery's size lies between min and max unless it is fixed.
 *   [adapt.2] At most one trial runs: size_before or shrunk_from is 0.
 */
#ifndef CRADLE_GC_YOUNG_ADAPT_H
#define CRADLE_GC_YOUNG_ADAPT_H

#include <cradle/event.h>

/* Objects that were noted where they were allocated: how many a minor collection saw, and how many of them it
 * promoted; and of these, those in the oldest quarter of the nursery. They are compared with each other alone: a
 * program that allocates in a pattern may have them fall on the same place of it again and again. */
typedef struct crd_ages {
  uint32_t seen, kept, old_seen, old_kept;
} crd_ages;

/* What the adaptive nursery knows. */
typedef struct crd_adapt {
  bool fixed;
  bool knows_l3;                /* max takes it into account; before it does, the nursery has not grown */
  size_t base, min, max;        /* sizes in bytes */
  size_t cut_to;                /* of an empty nursery, the size that its share of the maximum heap allows; or 0 */
  double ns_per_promoted_byte;  /* of recent minor collections */
  double survival;              /* share of what was allocated that they promoted */
  uint64_t promoted, allocated; /* bytes, in the running trial or since the last decision */
  uint32_t collections;         /* since then */
  uint64_t root_words;          /* that the last collection looked at */
  crd_ages ages;                /* of the collections since then */
  double rate_before;           /* promoted / allocated at the size before the trial */
  size_t size_before;           /* 0: no trial runs */
  uint32_t wait, backoff;       /* collections until it may grow, and how many the next failure sets */
  double least_rate;            /* ns a promoted byte, of the quickest collection since the last decision */
  size_t shrunk_from;           /* the size before it was halved for the pauses, which is on trial; 0: it is not */
  double least_before;          /* least_rate at that size */
  uint32_t shrink_wait, shrink_backoff; /* collections until it may be halved for the pauses again, and as above */
} crd_adapt;

void crd_adapt_init(cradle_heap *heap);
/* The maximum heap has become smaller: the nursery is to be cut to its share, unless it is fixed. */
void crd_adapt_bound(cradle_heap *heap);
/* Cuts it, when it is empty. */
void crd_adapt_cut(cradle_heap *heap);
/* After a minor collection: decides about the size. */
void crd_adapt_after_minor(cradle_heap *heap, const cradle_event *minor);
/* How much of the nursery to hand out, so that a minor collection and an increment of marking fit the pause target, and
 * that increments come more often when they fall behind. */
size_t crd_adapt_hand_out(const cradle_heap *heap);

#endif
