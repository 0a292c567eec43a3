/* Minimum mutator utilisation: the worst stretch of a given length, found while the program runs, in fixed memory.
 *
 * Pause time is kept in slots of 1/128 of the window. The worst window ends at the end of a pause, because moving it
 * away from there can only lose pause time. So windows are computed only at the ends of pauses.
 *
 * [utilisation.1] sum is the total of the slots: the pause time since the beginning of the slot in which the window
 *                 begins. Therefore worst is at least the pause time of the worst window, and at most one slot more.
 */
#ifndef CRADLE_RUNTIME_UTILISATION_H
#define CRADLE_RUNTIME_UTILISATION_H

#include <cradle/base.h>

#define CRD_UTILISATION_PARTS 128
#define CRD_UTILISATION_SLOTS (CRD_UTILISATION_PARTS + 1)

typedef struct crd_utilisation {
  uint64_t slot_ns;                      /* the window is PARTS slots long */
  uint64_t latest;                       /* the slot of the latest time, counted from time 0 */
  uint64_t sum;                          /* ns */
  uint64_t worst;                        /* ns of pauses in the worst window, <= the window */
  uint64_t slots[CRD_UTILISATION_SLOTS]; /* ns of pauses; slot s is at s % SLOTS */
} crd_utilisation;

/* window_ns is rounded down to a multiple of CRD_UTILISATION_PARTS. */
void crd_utilisation_init(crd_utilisation *utilisation, uint64_t window_ns);
/* Adds a pause from begin to end, which must not begin before the end of the last pause. */
void crd_utilisation_add(crd_utilisation *utilisation, uint64_t begin, uint64_t end);
/* The program's share of the worst window, 0 to 1; 1 without any pause. */
double crd_utilisation_minimum(const crd_utilisation *utilisation);

#endif
