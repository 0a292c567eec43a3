/* The maximum heap, and how much of it is left to the arenas beside the nursery. */
#ifndef CRADLE_GC_MAXIMUM_H
#define CRADLE_GC_MAXIMUM_H

#include <cradle/heap.h>

/* Whether a nursery of so many bytes leaves enough of the maximum for what the old generation has committed, and for
 * its promotion. */
bool crd_heap_nursery_fits(const cradle_heap *heap, size_t nursery_bytes);
/* How many arenas a maximum heap allows beside the nursery; max 0: there is no maximum. */
size_t crd_heap_arenas_within(const cradle_heap *heap, size_t max);
/* The bound of the threshold: the maximum plus external memory, because the threshold counts external memory and the
 * maximum does not. 0: none. */
uint64_t crd_heap_threshold_max(const cradle_heap *heap);
/* Limits the arenas to the maximum minus the nursery. */
void crd_heap_limit_arenas(cradle_heap *heap);

/* When the heap is made: a heap without a maximum gets three quarters of its cgroup's memory. A process that exceeds
 * a cgroup's memory is killed without an error that anything could handle. */
void crd_maximum_respect_group(cradle_heap *heap);
/* Sends a note if the maximum is not what the program asked for, or cannot be reached. */
void crd_maximum_note(cradle_heap *heap);

#endif
