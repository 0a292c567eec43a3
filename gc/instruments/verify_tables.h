/* The verifier's look at what is kept beside the objects: spans and arenas, the remembered set, and the tables. */
#ifndef CRADLE_GC_INSTRUMENTS_VERIFY_TABLES_H
#define CRADLE_GC_INSTRUMENTS_VERIFY_TABLES_H

#include "gc/instruments/verification.h"

/* Before the walk: looks at arenas, spans and the bounds of root ranges. Retires the allocators. */
void crd_verify_spans(crd_verification *verification);
/* After the walk, which found every object in order: compares the remembered set, pins, handles, ids, prebuilt objects
 * and the lists of services with the objects. */
void crd_verify_tables(crd_verification *verification);

#endif
