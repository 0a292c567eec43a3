/* Other allocators, asked for the same objects with two kept alive.
 *
 * mimalloc and Boehm's collector are looked for when the program runs (dlopen, their symbols kept
 * local): mimalloc's library takes over malloc in a program that links it, which would leave
 * nothing to compare malloc with.
 */
#ifndef BENCH_PEERS_H
#define BENCH_PEERS_H

#include "bench/allocate_loops.h"

typedef struct peer {
  void *(*allocate)(size_t bytes); /* cradle-rootcheck: never-collects it is another allocator's */
  /* NULL: the peer has a collector */
  void (*release)(void *object); /* cradle-rootcheck: never-collects it is another allocator's */
} peer;

typedef enum peer_id { PEER_MALLOC, PEER_MIMALLOC, PEER_BOEHM } peer_id;
#define PEERS 3

extern const char *const peer_names[PEERS];

/* NULL, or a text that says why the peer is not available. */
const char *peer_open(peer *allocator, peer_id id);
/* Allocates the objects first .. end - 1, as the loops of allocate_loops.h do. */
void peer_loop(const peer *allocator, uint64_t first, uint64_t end, two_alive *alive, bool init);

#endif
