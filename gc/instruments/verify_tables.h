/* What is kept beside the objects, compared with them: spans and arenas, the remembered set, and the tables. */
#ifndef CRADLE_GC_INSTRUMENTS_VERIFY_TABLES_H
#define CRADLE_GC_INSTRUMENTS_VERIFY_TABLES_H

#include "gc/instruments/verification.h"

/* Arenas and spans, and the order of root ranges: before the walk. Retires the allocators. */
void crd_verify_spans(crd_verification *verification);
/* The remembered set, pins, handles, ids, and lists of services: after the walk, which found every object in order. */
void crd_verify_tables(crd_verification *verification);

#endif
