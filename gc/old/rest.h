/* Rest: memory goes back although the program allocates little.
 *
 * A major collection is due when the old generation has grown, so in an idle program what a spike left would stay for
 * hours. So one also begins by age: when the last one is options.major_age_ns old. Until it is over, and its empty
 * arenas have gone back, a program that allocates slowly gets the nursery in pieces that last about 50 ms each, because
 * the clock is read at pauses only; one that allocates nothing calls cradle_collect_step and cradle_release_memory.
 *
 *   [rest.1] A collection by age that freed less than an eighth doubles the time until the next, up to 16 times
 *            major_age_ns; one that freed more sets it back. The time is also at least 32 times what the last major
 *            collection took.
 *   [rest.2] No collection begins by age under stress, with major_age_ns 0, while major collections are disabled, or in
 *            a heap with less than REST_MIN_ARENAS arenas in use.
 */
#ifndef CRADLE_GC_OLD_REST_H
#define CRADLE_GC_OLD_REST_H

#include "gc/parts.h"

typedef struct crd_rest {
  uint64_t majors;      /* stats.major_collections when since_ns was set */
  uint64_t since_ns;    /* when the last major collection was over; 0: none was yet */
  uint64_t wait_ns;     /* how old it becomes; 0: major_age_ns */
  uint64_t major_ns;    /* stats.major_ns when since_ns was set */
  uint64_t cost_ns;     /* of the last major collection, without what a second core did */
  uint64_t used_before; /* old bytes when the collection by age began; UINT64_MAX: one was running */
  uint64_t window_ns;   /* since when window_bytes were allocated */
  uint64_t window_bytes;
  size_t piece_bytes; /* of the nursery, to be handed out while the heap is at rest */
  bool again;         /* the collection that is over began before the heap was at rest: another begins at once */
  bool active;        /* from the beginning of a collection by age until its empty arenas have gone back */
} crd_rest;

/* Whether a major collection is due by age at a pause that began at now_ns, or one that runs makes so little progress,
 * because the program allocates slowly, that it is to be ended as one by age. */
bool crd_rest_is_due(const crd_marking *marking, uint64_t now_ns);
void crd_rest_begin(crd_marking *marking);
/* In each pause, before its increment. begin_ns: when it began. allocated: nursery bytes since the last one. */
void crd_rest_pause(crd_marking *marking, uint64_t begin_ns, uint64_t allocated);
/* At the end of each pause that began at begin_ns. */
void crd_rest_pause_ended(crd_marking *marking, uint64_t begin_ns);
/* After a collection by age: whether the heap is so sparse, and so small, that a compaction is worth its one pause. */
bool crd_rest_may_compact(const crd_marking *marking);

#endif
