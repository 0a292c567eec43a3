/* Sampling: the collector reports about one allocation in each interval of bytes, with its type, its size and whether
 * it survived. The profiler (docs/profiler.md) uses it, and so may a program. The idea is from the allocation sampling
 * of VMProf and RPython: a sample point lowers the nursery's top, so an allocation between two samples costs no more
 * than without a sampler.
 *
 * The bytes that a heap allocates, in their order, are cut into stretches of interval_bytes, and one random word in
 * each is a sample point. So each byte has the same chance whatever the size of its object, a large object may hold
 * several points, and a loop does not fall in step with the interval.
 */
#ifndef CRADLE_SAMPLE_H
#define CRADLE_SAMPLE_H

#include <cradle/base.h>

CRADLE_BEGIN_DECLS

/* The intervals that a sampler may have. */
#define CRADLE_SAMPLE_MIN_BYTES ((size_t)64)
#define CRADLE_SAMPLE_MAX_BYTES ((size_t)1 << 40)
#define CRADLE_SAMPLE_DEFAULT_BYTES ((size_t)512 << 10)

typedef struct cradle_sample {
  const void *object;    /* where it was allocated; only its header may be read */
  const char *type_name; /* of its descriptor, or NULL */
  size_t bytes;          /* of the object, or of the reservation */
  uint64_t weight_bytes; /* allocated bytes that the sample stands for: the interval times the points in the object */
  uint64_t tag;          /* what the sampled function returned */
  uint32_t type;         /* CRADLE_TYPE_ID_END: a reservation, whose objects are not known one by one */
  bool is_large;         /* allocated outside of the nursery */
  const char *mutator;   /* in `sampled`, if there may be several mutators: the name of the one that allocates */
} cradle_sample;

typedef enum cradle_fate {
  CRADLE_FATE_DIED = 0, /* it did not survive its first minor collection */
  CRADLE_FATE_SURVIVED,
  CRADLE_FATE_UNKNOWN, /* a reservation, or there was no memory to remember the sample */
} cradle_fate;

/* Both functions are callbacks (cradle/base.h). sampled runs within the allocation, while no collection runs, so it may
 * look at the program's stack; its result becomes the sample's tag. settled runs at the end of the minor collection
 * that decides the fate. (An unknown fate may be reported earlier.) With several mutators, sampled is called on the
 * thread that allocates, while others run; each mutator has points of its own. No two calls come at a time. */
typedef struct cradle_sampler {
  size_t interval_bytes; /* CRADLE_SAMPLE_MIN_BYTES to CRADLE_SAMPLE_MAX_BYTES, rounded up to a multiple of 8 */
  uint64_t seed;         /* of the points; equal seeds and equal allocations give equal samples */
  uint64_t (*sampled)(void *data, cradle_mutator *mutator, const cradle_sample *sample); /* NULL: no sampling */
  void (*settled)(void *data, const cradle_sample *sample, cradle_fate fate);            /* NULL: not wanted */
  void *data;
} cradle_sampler;

/* --- the program's stack, for the profiler of heaps made by cradle_heap_new_from_environment --- */

/* The most frames that the profiler asks for. */
#define CRADLE_FRAMES_MAX 128

/* One frame of the program's stack. Strings are UTF-8, and are copied. */
typedef struct cradle_frame {
  const char *name; /* of the function; NULL: the profiler prints the id in its place */
  const char *file; /* where the function is; NULL: unknown */
  uint32_t line;    /* the line that runs, or the line of the definition, from 1; 0: unknown */
  /* not 0: frames with the same id are of the same function, which is faster than comparing names. A function keeps its
   * id as long as the heap lives, so the address of an object that may move is no id. 0: names and files count */
  uint64_t id;
} cradle_frame;

typedef struct cradle_stack {
  /* Fills in up to capacity frames, the innermost first, and returns how many the stack has, which may be more. It is a
   * callback (cradle/base.h) that runs in the middle of an allocation, and may read the heap's objects. */
  size_t (*frames)(void *data, cradle_mutator *mutator, cradle_frame *frames, size_t capacity);
  void *data;
} cradle_stack;

CRADLE_END_DECLS

#endif
