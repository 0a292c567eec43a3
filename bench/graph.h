/* A graph that lives and changes: an array of elements with a payload of up to 200 bytes and two references to others.
 * Each element's number is its place in the array and also fills its payload, so that damage shows.
 */
#ifndef BENCH_GRAPH_H
#define BENCH_GRAPH_H

#include "bench/workloads.h"

#define GRAPH_PAYLOAD_MOST 200
#define GRAPH_ELEMENT_BYTES (sizeof(void *) + sizeof(element) + sizeof(bytes) + GRAPH_PAYLOAD_MOST / 2)

/* Fills the array. *all must be rooted. */
void graph_fill(cradle_mutator *m, array **all, randomizer *r) CRADLE_MAY_COLLECT;
/* One step: a random element is replaced, a random reference changes, and a few short-lived objects are allocated. */
void graph_mutate(cradle_mutator *m, array **all, randomizer *r) CRADLE_MAY_COLLECT;
/* Checks every element, or ends the program; returns a checksum. */
uint64_t graph_check(const array *all);

#endif
