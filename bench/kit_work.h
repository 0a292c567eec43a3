/* What the variants of the kit benchmark do. */
#ifndef BENCH_KIT_WORK_H
#define BENCH_KIT_WORK_H

#include <stddef.h>
#include <stdint.h>

enum { KIT_NAME_BYTES = 24, KIT_OPERATIONS = 7 };

/* Gives each key once, not in the order of the numbers. Keys are small integers of a low-bit tagging. */
typedef struct kit_work {
  size_t size;
  uint64_t *keys, *absent;
  char (*names)[KIT_NAME_BYTES];
} kit_work;

/* The operations are run in this order, each several times: lookups find what insertions left. An insertion drops the
 * container that it made before. Lookups return how many keys were found, the others 0. */
typedef size_t kit_operation(const kit_work *work);
typedef struct kit_variant {
  const char *name;
  /* append, append to a local one, insert, find, miss, insert and find names; NULL: not available */
  kit_operation *operations[KIT_OPERATIONS];
} kit_variant;

extern const kit_variant kit_khash, kit_uthash;

#endif
