/* Chunks: how several mutators share the nursery. What is handed out is cut into chunks of equal size. A mutator
 * allocates in its own by moving its own pointer, and takes another when that is full:
 *
 *     |  A  |  A  |  B  |     |     |     |  C  |     |        taken: 1 1 1 0 0 0 1 0
 *      A's local: start.........end
 *
 * The nursery is full when no chunk is free. Each mutator begins at its own part of the block and goes upward, so from
 * one collection to the next it has the same cache lines; who allocates fast uses what others leave. A chunk behind
 * the present one only makes that longer. Otherwise what was filled becomes a piece, and stays where it is.
 *
 * Where collection is off the block is cut once, for as many mutators as there may be. With a quarantine all begin at
 * the start of the block, because a collection closes it up to the last object.
 *
 *   [chunk.1] Chunks that are taken are in one local, or in the pieces. A local lies in chunks that are taken, and is
 *             empty, or begins where a chunk begins.
 *   [chunk.2] A local's earlier is what its mutators filled in pieces since the nursery was emptied.
 *
 * The lock is a leaf, and guards the bits and the pieces while mutators run.
 */
#ifndef CRADLE_GC_YOUNG_CHUNKS_H
#define CRADLE_GC_YOUNG_CHUNKS_H

#include "gc/space.h"

#define CHUNKS_MOST 1024

typedef struct crd_piece {
  char *start, *end; /* what is filled */
} crd_piece;

struct crd_chunks {
  crd_spinlock lock;
  uint32_t count;       /* that are handed out */
  uint32_t piece_count; /* at most one for each chunk */
  uint32_t parts;       /* of the block, one for each mutator to begin in; 0: all begin at its start */
  uint32_t users;       /* locals in which something was allocated before the last collection */
  size_t bytes;         /* of each; the last has the rest, too */
  uint64_t taken[CHUNKS_MOST / 64];
  crd_piece pieces[CHUNKS_MOST];
};

/* Cuts what the nursery has handed out, and leaves every local without a chunk. All mutators stand. */
void crd_chunks_cut(crd_space *space);
/* Gives the mutator chunks until so many bytes fit into its local. false: no chunk is free. Its top is not set. */
bool crd_chunks_take(crd_mutator *mutator, size_t bytes);

#endif
