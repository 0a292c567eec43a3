/* Stress: collects at many more points of the program than usual, so that a missing root shows.
 *
 * A reference that is not rooted does harm only if a collection comes just then. In a normal run that is luck. Under
 * stress, a point is an allocation that the library sees or a safepoint poll (options.stress_at), and every
 * stress_period-th point collects; with a seed, the distances are random with that mean.
 *
 * Each collection has a number. A deterministic program with the same settings gets the same numbers at the same points
 * in every run, whatever else collects. With stress_first and stress_last only the collections between them take place,
 * but all are counted. So halving the range again and again leads to the one collection that a bug needs.
 *
 * While stress is on, a major collection always runs, and each stress collection does its smallest increment. So with a
 * period of 1 there is an increment at every allocation. Of each stress_major collections one, chosen at random, is
 * full and moves every old object. Freed and moved objects are poisoned at once.
 *
 * With stress_times, the program takes at most about that many times its own time. After each collection, the next is
 * put so many allocated bytes ahead that the program's own work makes up for the last one's time, and up to there it
 * allocates on the fast path. These runs depend on the clock and do not repeat exactly.
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
  uint64_t random;      /* state of the random distances */
  uint64_t number;      /* of the last collection; those that were left out are counted, too */
  uint64_t collections; /* that took place */
  uint64_t majors;      /* full ones among them */
  uintptr_t point;      /* 0: each allocation is looked at; without stress the highest address */
  uint64_t spent_ns;    /* on all collections, stress or not, and on verifying the heap around them */
  bool serving;         /* a stress collection runs */
  bool judged;
} crd_stress;

void crd_stress_init(cradle_heap *heap);
/* With stress on: counts the point, an allocation or a safepoint, and says whether to collect at it. */
typedef enum crd_stress_demand { STRESS_NOTHING, STRESS_COLLECT, STRESS_COLLECT_FULL } crd_stress_demand;
crd_stress_demand crd_stress_point(cradle_heap *heap, cradle_stress place);
/* Adds the time of a collection that is over and began at begin_ns, with its verification. */
void crd_stress_spend(cradle_heap *heap, uint64_t begin_ns);
/* A stress collection is over: with stress_times, sets the point of the next one. spent_before_ns: spent_ns as it was
 * before. The caller then lowers the mutator's top by crd_nursery_set_top. */
void crd_stress_served(cradle_heap *heap, uint64_t spent_before_ns);
/* To be called when the nursery's free goes back to its start: the point goes back by as many bytes. */
void crd_stress_rewind(crd_stress *stress, size_t bytes);
/* Judges a run: if no stress collection moved an object, none could have found a missing root, and the run says so. */
void crd_stress_judge(cradle_heap *heap);

#endif
