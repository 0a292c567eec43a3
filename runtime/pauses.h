/* Pauses: how long they were, and what share of the time was left to the program.
 *
 * A pause is a time in which the program did not run: a minor collection and everything that follows it at once. Pauses
 * are kept in a histogram, so a quantile is at most 3 % too long and never too short.
 *
 * Minimum mutator utilisation (Cheng and Blelloch, 2001) is the share of time that the program had in the worst stretch
 * of a given length: 0.9 at 10 ms means that in every 10 ms the program ran for at least 9 ms. The figure is at most 1
 * % too low and never too high. Time before the heap was made counts as the program's.
 */
#ifndef CRADLE_RUNTIME_PAUSES_H
#define CRADLE_RUNTIME_PAUSES_H

#include <cradle/event.h>

#include "runtime/histogram.h"
#include "runtime/utilisation.h"

#define CRD_PAUSE_WINDOWS 3 /* of 1, 10 and 100 ms */

typedef struct crd_pauses {
  uint64_t latest_ns; /* of the latest event */
  uint64_t pause_end; /* of the last pause */
  crd_histogram histogram, stops;
  crd_utilisation utilisation[CRD_PAUSE_WINDOWS];
} crd_pauses;

typedef struct crd_pause_summary {
  uint64_t p50_ns, p90_ns, p99_ns, p999_ns, p9999_ns; /* half of the pauses are at most p50_ns long */
  double mmu_1ms, mmu_10ms, mmu_100ms;                /* minimum mutator utilisation, 0 to 1 */
  /* how long pauses waited for the collector's own thread to stop; 0: there is no such thread */
  uint64_t stop_p50_ns, stop_p99_ns, stop_p999_ns;
} crd_pause_summary;

/* pauses: zeroed memory. */
void crd_pauses_init(crd_pauses *pauses);
/* Is given every event of a heap. */
void crd_pauses_hear(crd_pauses *pauses, const cradle_event *event);
crd_pause_summary crd_pauses_read(const crd_pauses *pauses);

#endif
