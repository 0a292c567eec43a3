/* Sampling: where the next sample point lies, and the sampled objects whose fate is open. include/cradle/sample.h says
 * what is sampled.
 *
 *   [sample.1] With a sampler, free <= point between allocations: point is the address that the next sampled word would
 *              have if the nursery went on for ever. Without one it is the highest address.
 *   [sample.2] A mutator's top is never above point, so that the slow path sees each object that reaches over it.
 *              Objects of the slow path are all counted there, under stress and large ones included.
 *   [sample.3] open holds the samples taken since the last minor collection whose fate that collection decides.
 *              None is open when old objects are moved: compaction comes right after a minor collection.
 */
#ifndef CRADLE_GC_INSTRUMENTS_SAMPLE_H
#define CRADLE_GC_INSTRUMENTS_SAMPLE_H

#include <cradle/sample.h>

typedef struct crd_sampling {
  uintptr_t point;
  uint64_t interval;    /* bytes, a multiple of 8; 0: no sampler */
  uint64_t stretch_end; /* bytes from point to the end of its stretch, at least 8 */
  uint64_t random;      /* the generator's state */
  cradle_sample *open;
  uint32_t open_count, open_capacity;
} crd_sampling;

void crd_sampling_init(cradle_heap *heap);
void crd_sampling_fini(cradle_heap *heap);

/* An object or (type CRADLE_TYPE_ID_END) a reservation of so many bytes came from the slow path; its header is stored.
 * Calls sampled when a point lies in it. */
void crd_sample_slow(cradle_mutator *mutator, void *object, uint32_t type, size_t bytes);
/* The nursery's free goes back to its start, over so many bytes. */
void crd_sample_rewind(crd_sampling *sampling, size_t bytes);
/* A minor collection has copied what lives, and the nursery is as it left it: tells the fates. */
void crd_sample_settle(cradle_heap *heap);
/* For the verifier, outside of a collection: NULL, or what is wrong. */
const char *crd_sampling_check(const cradle_heap *heap);

#endif
