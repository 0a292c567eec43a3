/* Statistics of a heap's collections: counts, rates, and how long the program stood still. (How much memory a heap has now is
 * in cradle_stats, cradle/heap.h.)
 *
 * A recorder listens to the heap's events:
 *
 *     cradle_recorder *recorder = cradle_recorder_new(options.listener);
 *     options.listener = cradle_recorder_listener(recorder);
 *     cradle_heap *heap = cradle_start(&options, &error);
 *     ...
 *     cradle_statistics now;
 *     cradle_recorder_read(recorder, heap, &now, sizeof now);
 *
 * CRADLE_STATS=1 in the environment of a program that uses cradle_start prints the same when the heap ends, with no line of
 * code.
 *
 * A pause is a time in which the program did not run: a minor collection and all that follows it at once. Pauses are
 * kept in a histogram of fixed size whose buckets are 3 % wide (the idea of HdrHistogram, by Gil Tene), so that a quantile is
 * at most that much too long and never too short; the longest is exact.
 *
 * Minimum mutator utilisation (Cheng and Blelloch, 2001) is the smallest share of any stretch of the given length that the
 * program had for itself: 0.9 at 10 ms says that in every 10 ms it ran for 9 at least. It is at most 1 % too low and
 * never too high. Time before the heap was made counts as the program's.
 */
#ifndef CRADLE_STATISTICS_H
#define CRADLE_STATISTICS_H

#include <cradle/heap.h>

CRADLE_BEGIN_DECLS

/* Room for causes to come: the arrays by cause are indexed by cradle_cause. */
#define CRADLE_CAUSE_LIMIT 16

typedef struct cradle_statistics {
  uint64_t wall_ns; /* from when the heap was made to its latest event */

  uint64_t minor_collections, major_collections;
  uint64_t major_steps, compactions;       /* increments of major collections */
  uint64_t minor_ns, major_ns, compact_ns; /* the minor collection before an increment is not counted in major_ns */
  uint64_t minor_max_ns, major_max_ns;     /* the longest minor collection, the longest increment */
  uint64_t minor_causes[CRADLE_CAUSE_LIMIT]; /* collections by cause */
  uint64_t major_causes[CRADLE_CAUSE_LIMIT];

  uint64_t pauses, pause_ns; /* how many, and their sum */
  uint64_t pause_p50_ns, pause_p90_ns, pause_p99_ns, pause_p999_ns, pause_p9999_ns, pause_max_ns;
  double gc_share;                         /* pause_ns of wall_ns, 0 to 1 */
  double mmu_1ms, mmu_10ms, mmu_100ms;     /* minimum mutator utilisation, 0 to 1 */

  uint64_t allocated_bytes;                /* until the last collection */
  uint64_t collected_bytes;                /* of nurseries: what minor collections found in them */
  uint64_t promoted_objects, promoted_bytes;
  double survival;                         /* promoted_bytes of collected_bytes, 0 to 1 */

  uint64_t nursery_bytes;                  /* size now */
  uint64_t used_bytes, used_peak_bytes;    /* as collections saw it: old generation and nursery's filled part */
  uint64_t live_bytes, live_peak_bytes;    /* what major collections left; 0 before the first */
  uint64_t arenas, arenas_peak;            /* committed, of 2 MiB each */

  /* In memory, and the part of it on huge pages: of nursery and arenas now where the heap is given; else of the arenas after the
   * last major collection or, once the heap is freed, just before. */
  uint64_t resident_bytes, huge_bytes;
  bool pages_known;                        /* false: the system does not tell the two above, or was not asked yet */
} cradle_statistics;

/* Listens to a heap and counts. */
typedef struct cradle_recorder cradle_recorder;

/* A recorder for one heap; every event is passed on to next (whose function may be NULL). NULL when memory runs out. Free
 * it after its heap. */
CRADLE_API cradle_recorder *cradle_recorder_new(cradle_listener next);
CRADLE_API void cradle_recorder_free(cradle_recorder *recorder);
/* What the heap's options must be given. */
CRADLE_API cradle_listener cradle_recorder_listener(cradle_recorder *recorder);
/* Fills *statistics with what was recorded until now; size is sizeof(cradle_statistics), and false is returned when the library
 * was built with another one. With a heap, asks the kernel which pages are behind it, about 0.1 ms a GiB; heap may be NULL.
 * Call it on the heap's thread. Does not collect. */
CRADLE_API bool cradle_recorder_read(const cradle_recorder *recorder, cradle_heap *heap, cradle_statistics *statistics,
                                     size_t size);

CRADLE_END_DECLS

#endif
