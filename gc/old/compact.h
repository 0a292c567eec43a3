/* Compaction: the objects of sparse arenas are moved into the holes of the others, and the arenas given back.
 *
 *   choose     the sparsest arenas, as many as the holes of the rest and the empty arenas can take in
 *   withdraw   take them out of the lists from which places are taken
 *   evacuate   copy each of their objects and leave the new address in its header
 *   redirect   visit every root and every slot of every live object, and follow those addresses
 *   release    free the places that were left
 *
 * Pinned objects stay, and the others around them move only when every object is to move.
 *
 * Nothing here can fail half-way: an object for which there is no place stays where it is, and with it its arena.
 *
 *   [compact.1] It runs right after a complete sweep: the allocation bits say exactly what lives, the nursery and the
 *               remembered set are empty, no mark bit is set and no span waits to be swept.
 *   [compact.2] Objects move only out of chosen arenas, and only into others.
 *   [compact.3] An object that has moved has left its new address in its header, until its place is released; a pinned
 *               one has not.
 */
#ifndef CRADLE_GC_OLD_COMPACT_H
#define CRADLE_GC_OLD_COMPACT_H

#include <cradle/base.h>

/* How many compactions that were due are passed over, after one that was in vain. */
typedef struct crd_compaction_wait {
  uint32_t left;    /* passed over from now on; <= backoff */
  uint32_t backoff; /* what the next one in vain sets; 1 to WAIT_MOST of gc/old/compact.c */
} crd_compaction_wait;

/* Moves the objects of sparse arenas together and so empties them; no major collection runs, the nursery is empty. all:
 * of every arena, so that every old object moves, if memory allows. */
void crd_compact(cradle_heap *heap, bool all);
/* Whether compaction would give back enough to be worth its time. */
bool crd_compact_is_due(const cradle_heap *heap);
/* After a major collection: compacts when that is due. Where it was in vain (each arena has a pinned object, say), the
 * next waits until it was due once more, then twice, and so on. */
void crd_compact_if_due(cradle_heap *heap);

#endif
