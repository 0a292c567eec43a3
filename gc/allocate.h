/* The slow paths of allocation. */
#ifndef CRADLE_GC_ALLOCATE_H
#define CRADLE_GC_ALLOCATE_H

#include <cradle/new.h>

/* Allocates a zeroed object that is old from the start, with its header. The size was checked. NULL: no memory. May
 * collect. */
void *crd_allocate_old(cradle_mutator *mutator, uint32_t type, size_t bytes) CRADLE_MAY_COLLECT;

#endif
