/* Stress: collections at chosen points of the program, so that a reference that is not rooted does not survive by luck.
 *
 * A point is an allocation that the library sees or a safepoint poll (options.stress_at); every stress_period-th
 * collects, or, with a seed, one at a random distance of that mean. Each collection has a number, the same in every run
 * of a deterministic program with the same settings, whatever else collects. stress_first and stress_last let only
 * those between them happen; the others are still counted, so halving the range finds the one collection that a bug
 * needs.
 *
 * While stress is on a major collection always runs, and each collection does its smallest increment; of each
 * stress_major neighbours one, left to chance, is full and moves every old object. Freed and moved objects are poisoned
 * at once.
 *
 * With stress_times, what collections cost is kept within that many times what the program takes by itself: after the
 * first of them, the next lies so many allocated bytes ahead as the last one's time has to be paid for, and the
 * program allocates on the fast path until then. Such runs do not repeat exactly.
 *
 *   [stress.1] While stress is on, countdown is at least 1: so many points are left up to the next collection.
 *   [stress.2] majors <= collections <= number.
 *   [stress.3] A mutator's top is never above point: what the program allocates up to it is not looked at.
 */
#ifndef CRADLE_GC_INSTRUMENTS_STRESS_H
#define CRADLE_GC_INSTRUMENTS_STRESS_H

#include <cradle/options.h>

/* The stress mode, if it is on. */
typedef struct crd_stress {
  uint64_t countdown;   /* points until the next collection, which is at the last of them */
  uint64_t random;      /* state of the distances */
  uint64_t number;      /* of the last collection, those that were left out counted */
  uint64_t collections; /* that took place */
  uint64_t majors;      /* of these, full ones */
  uintptr_t point;      /* 0: each allocation is looked at; without stress the highest address */
  uint64_t spent_ns;    /* on collections and what they verify, others than of stress included */
  bool serving;         /* a stress collection runs */
  bool judged;
} crd_stress;

void crd_stress_init(cradle_heap *heap);
/* Whether this allocation or safepoint is one at which the stress mode, which is on, wants a collection. */
typedef enum crd_stress_demand { STRESS_NOTHING, STRESS_COLLECT, STRESS_COLLECT_FULL } crd_stress_demand;
crd_stress_demand crd_stress_point(cradle_heap *heap, cradle_stress place);
/* A collection, its verification included, that began at begin_ns is over. */
void crd_stress_spend(cradle_heap *heap, uint64_t begin_ns);
/* A stress collection is over, before which so much was spent: sets the point of the next one. The mutator's top
 * follows by crd_nursery_set_top. */
void crd_stress_served(cradle_heap *heap, uint64_t spent_before_ns);
/* The nursery's free goes back to its start, over so many bytes. */
void crd_stress_rewind(crd_stress *stress, size_t bytes);
/* Says if stress collections moved nothing: they could not have found anything. */
void crd_stress_judge(cradle_heap *heap);

#endif
