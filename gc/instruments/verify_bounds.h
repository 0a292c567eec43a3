/* What the verifier can see without a walk: that stacks, nursery, mutator, allocators and the lower instruments are
 * within their bounds. The walk relies on it. */
#ifndef CRADLE_GC_INSTRUMENTS_VERIFY_BOUNDS_H
#define CRADLE_GC_INSTRUMENTS_VERIFY_BOUNDS_H

#include "gc/instruments/verification.h"

/* The mutator runs. */
void crd_verify_bounds(crd_verification *verification);

#endif
