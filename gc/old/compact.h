/* Compaction: moves the objects of sparse arenas into the holes of the others, so that whole arenas become empty and
 * can go back to the system. By themselves they practically never do: even if one object in a thousand lives, each
 * arena has some. Five phases:
 *
 *   choose     the sparsest arenas, as many as the holes of the others and the FREE arenas have room for
 *   withdraw   take them out of the lists of places and pages, so that nothing new is placed in them
 *   evacuate   copy each of their objects, and leave the new address in the old header
 *   redirect   visit every root and every slot of every live object, and replace old addresses by the new ones
 *   release    free the places that were left
 *
 * Pinned objects stay where they are. Their arenas are not chosen, because they would not become empty; only if every
 * object is to move do the others in them move, too. A compaction cannot fail: an object for which no place is found
 * stays, and so does its arena.
 *
 *   [compact.1] It runs right after a complete sweep: the allocation bits say exactly what lives, the nursery and the
 *               remembered set are empty, no mark bit is set and no span waits to be swept.
 *   [compact.2] Objects move only out of chosen arenas, and only into others.
 *   [compact.3] An object that has moved has left its new address in its header, until its place is released; a pinned
 *               one has not.
 *   [compact.4] Objects of a size class move in the order of their addresses, and fill the lowest holes first. So they
 *               stay in the order that promotion gave them (gc/young/promote.h).
 */
#ifndef CRADLE_GC_OLD_COMPACT_H
#define CRADLE_GC_OLD_COMPACT_H

#include "gc/parts.h"

/* After a compaction that achieved nothing, the next ones are skipped although they are due, one, two, four and so on:
 * in a heap in which each arena has a pinned object, all would be in vain. */
typedef struct crd_compaction_wait {
  uint32_t left;    /* how many more are skipped; <= backoff */
  uint32_t backoff; /* how many are skipped if the next one achieves nothing; 1 to WAIT_MOST of gc/old/compact.c */
} crd_compaction_wait;

/* Compacts the old generation [compact.1]. all: moves every old object, as far as there is memory, as stress does. */
void crd_compact(crd_marking *marking, bool all);
/* Whether the arenas in use hold more than the heap will use at its threshold: only then does a compaction pay, or the
 * heap would grow into that memory before the next major collection. */
bool crd_compact_is_due(const crd_marking *marking);
/* Whether the arenas in use hold so much more than what lives that a full collection, or one at rest, compacts. */
bool crd_compact_is_sparse(const crd_marking *marking);
/* After a major collection: compacts if that is due and not skipped. */
void crd_compact_if_due(crd_marking *marking);

#endif
