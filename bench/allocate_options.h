/* The command line of allocate-a-lot. */
#ifndef BENCH_ALLOCATE_OPTIONS_H
#define BENCH_ALLOCATE_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include <cradle/options.h>

#include "bench/allocate_loops.h"
#include "bench/peers.h"

/* What can be run: Cradle, the bare loop, and the peers in the order of peer_id. */
typedef enum variant {
  VARIANT_CRADLE,
  VARIANT_BARE,
  VARIANT_PEER,
  VARIANT_NONE = VARIANT_PEER + PEERS,
} variant;

extern const char *const variant_names[VARIANT_NONE];
extern const char *const api_names[LOOP_APIS];
extern const char *const hugepages_names[CRADLE_HUGEPAGES_HUGETLB_STRICT + 1];

typedef struct allocate_options {
  uint64_t loops; /* objects of the variant under test, over all its runs */
  unsigned runs;  /* pairs of runs, each at every code offset */
  bool init;      /* the field is written */
  loop_api api;
  size_t nursery_bytes; /* 0: the library's choice */
  cradle_hugepages hugepages;
  bool against[VARIANT_NONE];
  variant only; /* VARIANT_NONE: all variants run */
  bool counters, json, offsets;
} allocate_options;

/* Fills *options, or ends the program: status 0 after the help, 2 after a message. */
void allocate_options_read(allocate_options *options, int argc, char **argv);

#endif
