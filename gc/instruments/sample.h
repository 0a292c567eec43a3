/* Sampling: every so many allocated bytes one object is shown to the embedder's sampler, and after the next minor
 * collection whether it survived. include/cradle/sample.h says what a sample means.
 *
 * The fast path does no work for it. Allocation is divided into stretches of interval bytes, and each stretch has one
 * point at a random word:
 *
 *     allocated bytes   |......x..........|...........x.....|.x...............|     x: a point
 *
 * The mutator's top is lowered to the next point. So the object that reaches over it takes the slow path, which takes
 * the sample and moves on to the next point. With points at equal distances, a program whose allocations repeat in step
 * would always show the same one of its objects.
 *
 * Each mutator has points of its own, from the seed and the number of its local. In a shared heap the sampler is called
 * while the world is held, but not stopped, so no two of its calls run at a time. The world is taken before the object
 * is allocated, because a collection may come first.
 *
 *   [sample.1] With a sampler, free <= point between allocations: point is the address that the next sampled word would
 *              have if the nursery went on for ever. Without a sampler it is the highest address.
 *   [sample.2] A mutator's top is never above point, so that the slow path sees each object that reaches over it.
 *              Objects of the slow path are all counted there, under stress and large ones included.
 *   [sample.3] open holds the samples taken since the last minor collection whose fate that collection decides.
 *              None is open when old objects are moved: compaction comes right after a minor collection.
 */
#ifndef CRADLE_GC_INSTRUMENTS_SAMPLE_H
#define CRADLE_GC_INSTRUMENTS_SAMPLE_H

#include <cradle/sample.h>

#include "gc/parts.h"

/* What belongs to a local (gc/young/local.h). */
typedef struct crd_sample_points {
  uintptr_t point;
  uint64_t stretch_end; /* bytes from point to the end of its stretch, at least 8 */
  uint64_t random;      /* the generator's state */
} crd_sample_points;

typedef struct crd_sampling {
  const crd_space *space;
  uint64_t interval; /* bytes, a multiple of 8; 0: no sampler */
  cradle_sample *open;
  uint32_t open_count, open_capacity;
} crd_sampling;

void crd_sampling_init(crd_sampling *sampling, const crd_space *space);
void crd_sampling_fini(crd_sampling *sampling);
/* A local begins; its nursery is there. */
void crd_sampling_add(const crd_sampling *sampling, crd_local *local);

/* For each object of the slow path, once its header is stored, and for each reservation (type CRADLE_TYPE_ID_END).
 * Calls the sampler if a point lies in it. */
void crd_sample_slow(cradle_mutator *mutator, void *object, uint32_t type, size_t bytes);
/* The local's free moves by so many bytes, and so does the point. */
static inline void sample_move(crd_sample_points *points, uintptr_t bytes) {
  if (points->point != UINTPTR_MAX) points->point += bytes;
}
/* When a minor collection has copied what lives and has not yet emptied the nursery: reports for each open sample
 * whether its object survived. */
void crd_sample_settle(crd_sampling *sampling);
/* For the verifier, outside of a collection: NULL, or what is wrong. */
const char *crd_sampling_check(const crd_sampling *sampling);

#endif
