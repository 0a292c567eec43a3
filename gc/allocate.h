/* The slow paths of allocation. */
#ifndef CRADLE_GC_ALLOCATE_H
#define CRADLE_GC_ALLOCATE_H

#include <cradle/new.h>

/* A zeroed object of a size that was checked, old from the start, with its header; NULL: no memory. May collect. */
void *crd_allocate_old(cradle_mutator *mutator, uint32_t type, size_t bytes) CRADLE_MAY_COLLECT;
/* Calls the out-of-memory handler with size, in bytes, and aborts if it returns. For allocations that must not fail. */
CRADLE_COLD _Noreturn void crd_out_of_memory(cradle_mutator *mutator, size_t size);

#endif
