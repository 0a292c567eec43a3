/* Parts of workloads that soak also runs. Each checks what it made, or ends the program. */
#ifndef BENCH_PARTS_H
#define BENCH_PARTS_H

#include "bench/workloads.h"

/* Builds a list of random numbers and sorts it; returns a checksum of the sorted list. */
uint64_t sort_round(cradle_mutator *m, uint64_t cells, randomizer *r) CRADLE_MAY_COLLECT;
/* Fills a hash table with count keys from first on, looks all up, and removes most of them. */
uint64_t hash_round(cradle_mutator *m, uint64_t count, uint64_t first) CRADLE_MAY_COLLECT;
/* Replaces a random slot of the array, which is rooted where all points, with an object of 281 bytes to 128 KiB. */
void medium_step(cradle_mutator *m, array **all, randomizer *r) CRADLE_MAY_COLLECT;

#endif
