/* Stress: collects at many more points of the program than usual, so that a missing root shows.
 *
 * A reference that is not rooted does harm only if a collection comes just then. Under stress, a point is an allocation
 * that the library sees or a safepoint poll (options.stress_at; unparking in a shared heap is one, too), and every
 * stress_period-th point collects; with a seed, the distances are random with that mean.
 *
 * Each collection has a number, the same at the same point in every run of a deterministic program, whatever else
 * collects. With stress_first and stress_last only the collections between them take place, but all are counted. So
 * halving the range again and again leads to the one collection that a bug needs.
 *
 * While stress is on, a major collection always runs, and each stress collection does its smallest increment. Of each
 * stress_major collections one, chosen at random, is full and moves every old object. Freed and moved objects are
 * poisoned at once.
 *
 * With stress_times, the program takes at most about that many times its own processor time, and 5 ms. (The clock's
 * time passes without the program on a busy machine.) So long as half of what is allowed is left, every point collects.
 * Then the points are chosen by their place: how much deeper the C stack, the shadow stack and the scoped roots are
 * than at the point before, which is alike in every level of a recursion. A point collects if its place was met at most
 * twice, or 4, 8, 16, ... times: a missing root does harm at its place, so places that were not tried are worth more.
 * If no such point comes, or nothing is left of what is allowed, a gap follows: up to so many allocated bytes ahead
 * that the program's own work makes up for the last collection, it allocates on the fast path. After a gap, the last of
 * so many points collects in any case. These runs do not repeat exactly, and say when they end how many collections
 * took place.
 *
 * Each mutator has points of its own, from the seed and the number of its local; the numbers of collections are the
 * heap's. A gap is for all mutators: each begins its own when it comes to its next point.
 *
 *   [stress.1] While stress is on, countdown is at least 1: so many points are left up to the next collection.
 *   [stress.2] majors <= collections <= number.
 *   [stress.3] A mutator's top is never above point: what the program allocates up to it is not looked at.
 */
#ifndef CRADLE_GC_INSTRUMENTS_STRESS_H
#define CRADLE_GC_INSTRUMENTS_STRESS_H

#include <cradle/options.h>

#include "gc/parts.h"

#define STRESS_PLACES 2048
#define STRESS_DEPTHS 3

/* What belongs to a local (gc/young/local.h). */
typedef struct crd_stress_points {
  uintptr_t point; /* 0: each allocation is looked at; the end of a gap; without stress and turns the highest address */
  uint64_t countdown;              /* points until the next collection, which is at the last of them */
  uint64_t random;                 /* state of the random distances */
  uint64_t gap_bytes;              /* from the beginning of the gap to point */
  uint64_t gaps;                   /* of the heap's gaps, those that it knows */
  uintptr_t depths[STRESS_DEPTHS]; /* of the C stack, the shadow stack and the scoped roots at the last point */
} crd_stress_points;

/* The stress mode, if it is on. */
typedef struct crd_stress {
  crd_space *space;
  const cradle_options *options;
  uint64_t number;      /* of the last collection; those that were left out are counted, too */
  uint64_t collections; /* that took place */
  uint64_t majors;      /* full ones among them */
  uint64_t verified;    /* collections around which the heap was verified */
  uint32_t looks;       /* with stress_times: points that may pass before one collects at a place that is not rare */
  uint64_t look_ns;     /* crd_stress_now when the last collection ended; 0: not known */
  uint64_t own_ns;      /* time of the program itself */
  uint64_t spent_ns;    /* on all collections, stress or not, and on verifying the heap around them */
  uint64_t verify_ns;   /* on verifying, within spent_ns */
  uint64_t gaps;        /* that have begun */
  uint64_t gap_mean;    /* bytes of the last one, on average, for each mutator */
  uint64_t gap_bytes;   /* allocated in all gaps */
  uint8_t met[STRESS_PLACES]; /* how often each place was met, up to 255; places that share a number count as one */
  bool verifies;              /* a stress collection runs, and the heap is verified around it */
  bool judged;
} crd_stress;

void crd_stress_init(crd_stress *stress, crd_space *space);
/* A local begins. */
void crd_stress_add(const crd_stress *stress, crd_local *local);
/* With stress on: counts the point, an allocation or a safepoint, and says whether to collect at it.
 * held: major collections are held off, so none is full. */
typedef enum crd_stress_demand { STRESS_NOTHING, STRESS_COLLECT, STRESS_COLLECT_FULL } crd_stress_demand;
crd_stress_demand crd_stress_point(crd_stress *stress, cradle_stress place, bool held);
/* Processor time of the thread; the clock's where the system does not tell it, or where collections are made by several
 * threads. */
uint64_t crd_stress_now(const crd_stress *stress);
/* Before and after a collection and its verification: adds up the program's time, and theirs. begin_ns: what
 * crd_stress_enter said. */
uint64_t crd_stress_enter(crd_stress *stress);
void crd_stress_spend(crd_stress *stress, uint64_t begin_ns);
/* A stress collection begins: decides whether the heap is verified around it. */
void crd_stress_begin(crd_stress *stress);
/* It is over: with stress_times, decides which point is the next to collect. spent_before_ns: spent_ns as it was
 * before. The caller then lowers the mutator's top by crd_nursery_set_top. */
void crd_stress_served(crd_stress *stress, uint64_t spent_before_ns);
/* The local's free moves by so many bytes, and so does the point. */
static inline void stress_move(crd_stress_points *points, uintptr_t bytes) {
  if (points->point != 0 && points->point != UINTPTR_MAX) points->point += bytes;
}
/* Says how many collections took place, and if none moved an object, that the run proves nothing. */
void crd_stress_judge(crd_stress *stress);

#endif
