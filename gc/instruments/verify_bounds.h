/* What the verifier looks at before the walk: whether stacks, nursery, mutator, allocators, sampling and quarantine are
 * within their bounds. The walk relies on them: with a wrong pointer it would read outside of the heap. */
#ifndef CRADLE_GC_INSTRUMENTS_VERIFY_BOUNDS_H
#define CRADLE_GC_INSTRUMENTS_VERIFY_BOUNDS_H

#include "gc/instruments/verification.h"

/* To be called before the heap's state changes, because the mutator's pointers are those of the running program. */
void crd_verify_bounds(crd_verification *verification);

#endif
