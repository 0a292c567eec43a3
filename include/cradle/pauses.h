/* Pauses: how they are distributed, and what share of the time they left to the program. How many there were, their sum
 * and the longest are in cradle/statistics.h.
 *
 * A cradle_pauses listens to the heap's events:
 *
 *     cradle_pauses *pauses = cradle_pauses_new(options.listener);
 *     options.listener = cradle_pauses_listener(pauses);
 *     cradle_heap *heap = cradle_heap_new_from_environment(&options, &error);
 *     ...
 *     cradle_pause_summary summary;
 *     cradle_pauses_read(pauses, &summary, sizeof summary);
 *
 * A pause is a time in which the program did not run: a minor collection and all that follows it at once. Pauses are
 * kept in a histogram of fixed size whose buckets are 3 % wide (the idea of HdrHistogram, by Gil Tene), so that a
 * quantile is at most that much too long and never too short.
 *
 * Minimum mutator utilisation (Cheng and Blelloch, 2001) is the smallest share of any stretch of the given length that
 * the program had for itself: 0.9 at 10 ms says that in every 10 ms it ran for 9 at least. It is at most 1 % too low
 * and never too high. Time before the heap was made counts as the program's.
 */
#ifndef CRADLE_PAUSES_H
#define CRADLE_PAUSES_H

#include <cradle/event.h>

CRADLE_BEGIN_DECLS

typedef struct cradle_pause_summary {
  uint64_t p50_ns, p90_ns, p99_ns, p999_ns, p9999_ns; /* half of the pauses are not longer than p50_ns */
  double mmu_1ms, mmu_10ms, mmu_100ms;                /* minimum mutator utilisation, 0 to 1 */
  /* how long pauses waited for the collector's own thread to stop; 0 where there is none */
  uint64_t stop_p50_ns, stop_p99_ns, stop_p999_ns;
} cradle_pause_summary;

/* Listens to a heap and remembers its pauses, in 22 KiB. */
typedef struct cradle_pauses cradle_pauses;

/* For one heap; every event is passed on to next (whose function may be NULL). NULL when memory runs out. Free it after
 * its heap. None of the functions collects. */
CRADLE_API cradle_pauses *cradle_pauses_new(cradle_listener next);
CRADLE_API void cradle_pauses_free(cradle_pauses *pauses);
/* What the heap's options must be given. */
CRADLE_API cradle_listener cradle_pauses_listener(cradle_pauses *pauses);
/* Fills *summary, of which size is the sizeof, with the pauses until now. Call it on the heap's thread. */
CRADLE_API void cradle_pauses_read(const cradle_pauses *pauses, cradle_pause_summary *summary, size_t size);

CRADLE_END_DECLS

#endif
