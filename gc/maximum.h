/* The maximum heap: how much of it is left to the arenas. */
#ifndef CRADLE_GC_MAXIMUM_H
#define CRADLE_GC_MAXIMUM_H

#include <cradle/heap.h>

/* Whether a nursery of so many bytes leaves what the old generation has committed below the maximum. */
bool crd_heap_nursery_fits(const cradle_heap *heap, size_t nursery_bytes);
/* How many arenas a maximum heap (0: none) allows beside the nursery. */
size_t crd_heap_arenas_within(const cradle_heap *heap, size_t max);
/* The threshold's bound: the maximum, and external memory, which the threshold counts and the maximum does not. 0:
 * none. */
uint64_t crd_heap_threshold_max(const cradle_heap *heap);
/* Limits the arenas by the maximum less the nursery. */
void crd_heap_limit_arenas(cradle_heap *heap);

/* As the heap is made. A cgroup that runs out of memory is killed without a word, so a heap without a maximum gets one,
 * of three quarters of it. */
void crd_maximum_respect_group(cradle_heap *heap);
/* Limits the arenas; false: the maximum is too small for the nursery and two arenas. */
bool crd_maximum_check(cradle_heap *heap, cradle_error *error);
/* Sends a note where the maximum is not what the program asked for, or cannot be reached. */
void crd_maximum_note(cradle_heap *heap);

#endif
