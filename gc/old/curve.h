/* The survival curve: the share of the objects that live when the program has allocated so many bytes since.
 *
 *     share that lives
 *       1 |''--..__
 *         |        ''-.      a minor collection sees which samples it promotes
 *         |            :'.
 *         |            :  '-.__   marking sees which samples that were promoted before it has reached
 *       0 +------------:--------------------------> age of an object: bytes allocated since
 *                   nursery
 *
 * Samples are objects that were noted as they were allocated (gc/young/nursery.c). One promoted sample in KEPT_EVERY is
 * kept here until a marking finds it dead. The shares are counted in bins of ages, each twice as wide as the one
 * before, and the latest share of a bin that enough samples gave counts.
 *
 * A dead old object keeps what it refers to until a major collection, so a minor collection may find more alive than
 * marking. What minor collections say of a bin comes first; what marking says of ages that no minor collection sees is
 * a hint, worth a trial.
 *
 *   [curve.1] A kept sample is an old object that no marking has found dead, and that has not moved.
 */
#ifndef CRADLE_GC_OLD_CURVE_H
#define CRADLE_GC_OLD_CURVE_H

#include "gc/base/text.h"
#include "gc/old/span.h"

/* Bin 0 has the ages below CURVE_FIRST_BYTES, each other one those from where the last ends to twice that. The last
 * has all above 128 MiB. */
#define CURVE_BINS 15
#define CURVE_FIRST_BYTES ((uint64_t)16 << 10)
#define CURVE_SAMPLES 512

typedef enum crd_curve_source { CURVE_UNKNOWN, CURVE_MINOR, CURVE_MARKING } crd_curve_source;

typedef struct crd_curve_bin {
  uint32_t seen, kept;         /* samples that minor collections saw since share was set, and promoted */
  uint32_t old_seen, old_kept; /* the same of promoted samples, which marking saw and reached */
  double share;                /* that lives; if marking said so, of what was promoted */
  crd_curve_source source;     /* what said so */
} crd_curve_bin;

typedef struct crd_curve_sample {
  uintptr_t address; /* 0: none [curve.1] */
  uint64_t born;     /* allocated, when the sample was allocated */
  bool born_marked;  /* promoted since marking began, or before any has: this marking says nothing of it */
} crd_curve_sample;

typedef struct crd_curve {
  crd_curve_bin bins[CURVE_BINS];
  uint64_t allocated; /* bytes, by the program, when the last minor collection began */
  double promoted;    /* the share of them that recent minor collections promoted */
  uint32_t skipped;   /* promoted samples since one was kept */
  uint32_t next;      /* where the next is kept, in place of the oldest */
  crd_curve_sample samples[CURVE_SAMPLES];
} crd_curve;

/* A minor collection saw a sample of this age, which was promoted to an address, or died: 0. */
void crd_curve_note(crd_curve *curve, uint64_t age, uintptr_t promoted_to);
/* Sets the shares of the bins of which minor collections saw enough, and counts anew. */
void crd_curve_settle(crd_curve *curve);
void crd_curve_begin_marking(crd_curve *curve);
/* When marking has ended, before anything is swept. nursery_bytes: minor collections tell of younger objects. */
void crd_curve_end_marking(crd_curve *curve, const crd_old *old, uint64_t nursery_bytes);
/* Before objects move: no sample is kept. */
void crd_curve_forget(crd_curve *curve);
/* The share of the allocated bytes that a nursery of so many would promote. hints: what marking has said counts. */
double crd_curve_promoted(const crd_curve *curve, uint64_t nursery_bytes, bool hints);
/* Appends the bins that are known: the ages at which they end, and the percentages that live there. */
void crd_curve_write(const crd_curve *curve, crd_text *text);

#endif
