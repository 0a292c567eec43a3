/* The heap's types: a descriptor is checked, entered in the table, and given its size class. */
#ifndef CRADLE_GC_TYPES_H
#define CRADLE_GC_TYPES_H

#include <cradle/heap.h>

/* Adds the descriptors of the options, which are sound. false: memory was refused. */
bool crd_types_init(cradle_heap *heap);

#endif
