/* The nursery: one block that is handed out by bumping free, emptied as a whole, and never unmapped in between.
 *
 * Its size follows the L2 cache: four times the L2, between 256 KiB and 32 MiB, and at most an eighth of the maximum
 * heap; gc/young/adapt.c changes it from there. docs/design/nursery.md holds the measurements behind the rule.
 *
 *   [nursery.1] start <= free of the mutator <= slack_end, and start <= end <= slack_end <= start + committed_bytes.
 *   [nursery.2] What lies below slack_end can be promoted whatever it holds: old.reserve arenas are enough for it, and
 *               they are FREE [heap.2]. Nothing is promoted where collection is off.
 *   [nursery.3] Its size changes, and it is handed out, only while it is empty.
 *   [nursery.4] free <= look, and the mutator's top is not above look: the allocation that reaches over it takes the
 *               slow path, which compares its size with the type's descriptor, whether the nursery is full or not.
 *   [nursery.5] start + lead_bytes is where a huge page may begin, and below it none may: the lead is the end of a huge
 *               page's place of which the rest is not accessible. It is 0 unless the policy is auto.
 */
#ifndef CRADLE_GC_YOUNG_NURSERY_H
#define CRADLE_GC_YOUNG_NURSERY_H

#include "gc/old/backing.h"
#include "gc/young/adapt.h"

#define NURSERY_NAME "cradle nursery"
#define NURSERY_SAMPLES 128

typedef struct crd_nursery {
  /* [start, end) is handed out: less of it while a major collection marks, or when the promotion reserve is refused */
  char *start, *end;
  char *slack_end;      /* one object or reservation of the largest size may reach over end, up to here */
  char *look;           /* where the next allocation is looked at; may lie above slack_end */
  uint32_t first_looks; /* so many allocations are looked at one by one before that */
  /* Objects whose ages tell what a larger nursery would let die: one in so many bytes, or none where that is 0. */
  size_t sample_bytes;
  uint32_t sample_count;
  uintptr_t samples[NURSERY_SAMPLES]; /* their addresses, ascending */
  crd_ages ages;                      /* of the last minor collection */
  size_t bytes;                       /* the size chosen; end - start is at most that */
  size_t lead_bytes;                  /* the first so many lie on base pages [nursery.5] */
  size_t reserved_bytes;              /* of address space: room for the largest size; addresses in it are young */
  size_t committed_bytes;             /* of it: as much as the largest size so far */
  size_t kept_bytes;                  /* between two mutators, of a heap that collects nothing: filled */
  bool lowered;                       /* the promotion reserve was refused in part */
  crd_backing backing;                /* which pages were asked for */
  size_t pool_bytes;                  /* of the committed, the first so many are from the reserved pool */
} crd_nursery;

/* The largest that is chosen where the options give no size. */
size_t crd_nursery_most(const cradle_options *options);
size_t crd_nursery_choose(const cradle_options *options, const cradle_hardware *hardware, const char **reason);
/* Reserves room for a nursery of up to max bytes and commits one of so many. */
bool crd_nursery_init(cradle_heap *heap, size_t bytes, size_t max);
void crd_nursery_fini(cradle_heap *heap);
/* Changes the size of an empty nursery, from the next hand_out on. false: memory was refused, nothing changed. What a
 * smaller one does not use stays, for the next trial, until discard_rest drops its contents; with a maximum heap it
 * does so at once. */
bool crd_nursery_resize(cradle_heap *heap, size_t bytes, const char *reason);
void crd_nursery_discard_rest(cradle_heap *heap);
/* Drops the contents of an empty nursery, so that its next use finds fresh pages; it stays committed. */
void crd_nursery_discard(cradle_heap *heap);
/* Empties it after a minor collection: nothing is handed out before hand_out. */
void crd_nursery_empty(cradle_heap *heap);
/* Secures the promotion reserve of the empty nursery, and hands out most bytes, or as much as that allows.
 * The mutator's top follows when the state is left, or by set_top. */
void crd_nursery_hand_out(cradle_heap *heap, size_t most);
/* An allocation or a reservation came from the slow path, where it was looked at: sets the place of the next look.
 * object: NULL where it failed. */
void crd_nursery_looked(cradle_heap *heap, const void *object);
/* A minor collection has promoted what lives, and the nursery still holds what was in it: counts the ages. */
void crd_nursery_count_ages(cradle_heap *heap);
/* Sets top from what is asked of the mutator: its end, the next look or the next sample point, or NULL for the slow
 * path at the next allocation. */
void crd_nursery_set_top(cradle_heap *heap);

#endif
