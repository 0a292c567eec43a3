/* The verifier's walk over roots and objects: every reference leads to the start of an object, every object can be
 * read, and where a collection would not look, a barrier has said so. */
#ifndef CRADLE_GC_INSTRUMENTS_VERIFY_OBJECTS_H
#define CRADLE_GC_INSTRUMENTS_VERIFY_OBJECTS_H

#include "gc/instruments/verification.h"

/* Within their bounds, stacks and spans are sound. */
void crd_verify_objects(crd_verification *verification);

#endif
