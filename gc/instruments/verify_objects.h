/* The verifier's walk over roots and objects: every reference leads to the start of an object, every object has a
 * possible header and size, and a collection will look at every slot that it must look at. */
#ifndef CRADLE_GC_INSTRUMENTS_VERIFY_OBJECTS_H
#define CRADLE_GC_INSTRUMENTS_VERIFY_OBJECTS_H

#include "gc/instruments/verification.h"

/* To be called when stacks and spans were found sound. */
void crd_verify_objects(crd_verification *verification);

#endif
