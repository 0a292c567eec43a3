/* Minimum mutator utilisation: the worst stretch of a given length, found while the program runs, in fixed memory.
 *
 * Pause time is kept in slots of 1/128 of the window. The worst window ends at the end of a pause (move it, and it can
 * only lose pause time), so the window is looked at there alone.
 *
 * [utilisation.1] sum is the total of the slots: the pause time since the beginning of the slot that held the window's
 *                 beginning. Therefore worst is at least the pause time of the worst window, and more by at most one
 *                 slot.
 */
#ifndef CRADLE_RUNTIME_UTILISATION_H
#define CRADLE_RUNTIME_UTILISATION_H

#include <cradle/base.h>

#define CRD_UTILISATION_PARTS 128
#define CRD_UTILISATION_SLOTS (CRD_UTILISATION_PARTS + 1)

typedef struct crd_utilisation {
  uint64_t slot_ns;                      /* of the window: PARTS slots */
  uint64_t latest;                       /* slot that time has come to, counted from time 0 */
  uint64_t sum;                          /* ns */
  uint64_t worst;                        /* ns of pauses in the worst window, <= the window */
  uint64_t slots[CRD_UTILISATION_SLOTS]; /* ns of pauses; slot s is at s % SLOTS */
} crd_utilisation;

/* window_ns: a multiple of CRD_UTILISATION_PARTS is exact. */
void crd_utilisation_init(crd_utilisation *utilisation, uint64_t window_ns);
/* A pause from begin to end; it does not begin before the last one's end. */
void crd_utilisation_add(crd_utilisation *utilisation, uint64_t begin, uint64_t end);
/* The program's share of the worst window, 0 to 1; 1 without any pause. */
double crd_utilisation_minimum(const crd_utilisation *utilisation);

#endif
