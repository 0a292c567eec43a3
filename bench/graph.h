/* A graph that lives and changes: an array of elements with a payload of up to 200 bytes and two references to others.
 * Each element's payload is filled with its index in the array, so that damage is noticed.
 */
#ifndef BENCH_GRAPH_H
#define BENCH_GRAPH_H

#include "bench/workloads.h"

#define GRAPH_PAYLOAD_MOST 200
#define GRAPH_ELEMENT_BYTES (sizeof(void *) + sizeof(element) + sizeof(bytes) + GRAPH_PAYLOAD_MOST / 2)

/* Fills the array, which is rooted where all points. */
void graph_fill(cradle_mutator *m, array **all, randomizer *r) CRADLE_MAY_COLLECT;
/* One step: a random element is replaced, a random reference changes, and a few objects are made that die at once. */
void graph_mutate(cradle_mutator *m, array **all, randomizer *r) CRADLE_MAY_COLLECT;
/* Checks every element, or ends the program; returns a checksum. */
uint64_t graph_check(const array *all);

#endif
