/* Stress: collections at chosen points of the program, so that a reference that is not rooted does not survive by luck.
 *
 * A point is an allocation that the library sees or a safepoint poll (options.stress_at); every stress_period-th
 * collects, or, with a seed, one at a random distance of that mean. Each collection has a number, the same in every run
 * of a deterministic program with the same settings, whatever else collects. stress_first and stress_last let only
 * those between them happen; the others are still counted, so halving the range finds the one collection that a bug
 * needs.
 *
 * While stress is on a major collection always runs, and each collection does its smallest increment; every
 * stress_major-th is full and moves every old object. Freed and moved objects are poisoned at once.
 *
 *   [stress.1] While stress is on, countdown is at least 1: so many points are left up to the next collection.
 *   [stress.2] majors <= collections <= number.
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
  bool judged;
} crd_stress;

void crd_stress_init(cradle_heap *heap);
/* Whether this allocation or safepoint is one at which the stress mode, which is on, wants a collection. */
typedef enum crd_stress_demand { STRESS_NOTHING, STRESS_COLLECT, STRESS_COLLECT_FULL } crd_stress_demand;
crd_stress_demand crd_stress_point(cradle_heap *heap, cradle_stress place);
/* Misuse if stress collections moved nothing: they could not have found anything. */
void crd_stress_judge(cradle_heap *heap);

#endif
