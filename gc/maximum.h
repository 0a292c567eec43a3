/* The maximum heap, and how much of it is left to the arenas beside the nursery. */
#ifndef CRADLE_GC_MAXIMUM_H
#define CRADLE_GC_MAXIMUM_H

#include <cradle/heap.h>

/* When the heap is made: a heap without a maximum gets three quarters of its cgroup's memory. A process that exceeds
 * a cgroup's memory is killed without an error that anything could handle. */
void crd_maximum_respect_group(cradle_heap *heap);
/* Sends a note if the maximum is not what the program asked for, or cannot be reached. */
void crd_maximum_note(cradle_heap *heap);

#endif
