/* A mutator's own part of the young generation: its chunk of the nursery, what its barrier recorded, and the objects
 * with services that it registered (gc/death/registry.h).
 *
 * It outlives its mutator, because what it holds may: in a shared heap, and where collection is off, a mutator that
 * goes leaves young objects. So the heap has the locals, in a list, and cradle_mutator_new takes one that no mutator
 * has. The first is a part of the space.
 *
 *   [local.1] start <= *free. If the heap is not shared, the chunk is all that the nursery hands out, with the bounds
 *             of the nursery [nursery.1]. Otherwise it is one or more chunks in a row (gc/young/chunks.h).
 *   [local.2] In a heap that is not shared, a local that no mutator has is empty where collection is on. A shared
 *             heap keeps what a mutator has left for the next collection.
 *   [local.3] fresh.base <= *registered <= registered_end of its mutator <= fresh.limit. All are NULL without memory.
 */
#ifndef CRADLE_GC_YOUNG_LOCAL_H
#define CRADLE_GC_YOUNG_LOCAL_H

#include "gc/base/address.h"
#include "gc/base/word_stack.h"
#include "gc/instruments/sample.h"
#include "gc/instruments/stress.h"

#define NURSERY_SAMPLES 128

/* Counters of recorded slots for arrays that have no page to themselves: part of an array's address chooses its own. */
#define RECORD_BUDGETS 1024

/* Objects whose last stores were not remembered. Part of an object's address chooses its place, which holds the
 * address, and in its lowest three bits how many stores were spared: at most SPARED_TIMES. */
#define SPARED_OBJECTS 64
#define SPARED_TIMES 7

/* How many slots of an array may still be recorded before the next minor collection. */
typedef struct crd_record_budget {
  uint32_t recorded_at; /* number of the minor collection after which left was set */
  uint32_t left;
} crd_record_budget;

struct crd_local {
  crd_local *next;   /* of the heap's */
  char *start, *end; /* the chunk; one object may reach over end, up to the nursery's slack_end */
  char **free;       /* to where it is filled: free of its mutator, or left if no mutator has it */
  char *left;
  size_t earlier;         /* bytes filled in chunks that it has left [chunk.2]; 0 if the heap is not shared */
  uint64_t emptied_bytes; /* what its mutators allocated in nurseries that were emptied, and outside; if it is shared */
  uint32_t number;        /* of the heap's locals, from 0 */
  char *look; /* where the next allocation is compared with its descriptor [nursery.4]; may lie above slack_end */
  uint32_t first_looks; /* how many more of the first allocations are looked at one by one */
  uint32_t sample_count;
  uintptr_t samples[NURSERY_SAMPLES]; /* addresses of samples (gc/young/adapt.h), ascending */
  size_t sampled_at[NURSERY_SAMPLES]; /* bytes of the local that were filled before each */
  crd_word_stack remembered;
  crd_word_stack recorded;  /* slots of large arrays that were stored into, as slot entries (gc/object/value.h) */
  crd_word_stack fresh;     /* entries of objects registered since the last minor collection, up to *registered */
  cradle_word **registered; /* registered of its mutator, or fresh.top if no mutator has it */
  size_t claimed_remembered, claimed_recorded; /* in a minor collection: the entries before these; atomic */
  size_t stored; /* entries of `remembered` that the last minor collection with any has found (gc/death_calls.h) */
  uintptr_t spared[SPARED_OBJECTS];          /* see SPARED_TIMES */
  crd_record_budget budgets[RECORD_BUDGETS]; /* slots that arrays without their own page may record; some share one */
  crd_stress_points stress;
  crd_sample_points sample;
};

/* free goes to another place of the nursery. The points of stress and sampling are distances in allocated bytes, so
 * they stay as far ahead. */
static inline void local_move(crd_local *local, char *to) {
  uintptr_t bytes = address_of(to) - address_of(*local->free);
  stress_move(&local->stress, bytes);
  sample_move(&local->sample, bytes);
  *local->free = to;
}

/* What it has registered, as a stack. Its end is in the mutator, because registration is inline. */
static inline crd_word_stack local_fresh(const crd_local *local) {
  return (crd_word_stack){local->fresh.base, *local->registered, local->fresh.limit, local->fresh.end};
}

static inline bool local_is_free(const crd_local *local) {
  return local->free == &local->left;
}
/* Another one, which no mutator has. NULL: memory was refused. */
crd_local *crd_local_new(const crd_young *young, uint32_t number);
void crd_local_free(crd_local *local);

#endif
