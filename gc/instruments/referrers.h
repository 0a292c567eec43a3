/* Who refers to an object, and what the roots among them are called: "shadow stack, word 3", "global root 0". */
#ifndef CRADLE_GC_INSTRUMENTS_REFERRERS_H
#define CRADLE_GC_INSTRUMENTS_REFERRERS_H

#include "gc/instruments/walk.h"

/* The name of roots that have no name of their own. */
const char *crd_holder_name(cradle_holder holder);
/* Names the root at which a walk is, of which the referrer has the slot: fills in holder, name, index and, for a
 * prebuilt object, object. To be called once for each root that is reported. */
void crd_root_name(const cradle_heap *heap, crd_root_at *at, cradle_referrer *referrer);

#endif
