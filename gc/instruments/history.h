/* What a heap with options.verify remembers to say more when it is found wrong.
 *
 * A store without the write barrier leaves no trace of itself: the verifier only finds its result, at the next
 * collection. So the heap remembers when it was last found right, from where that collection was called, and where
 * checked code last stored into each old object.
 *
 *   [history.1] An entry of the table of stores is of the object that is at the address now: entries are of one era, in
 *               which no old object dies and none moves. Marking's end and a major collection's end begin another.
 */
#ifndef CRADLE_GC_INSTRUMENTS_HISTORY_H
#define CRADLE_GC_INSTRUMENTS_HISTORY_H

#include "gc/base/text.h"

/* Begins the history, if options.verify is set. If memory is refused, the heap works without one. */
void crd_history_open(cradle_heap *heap);
void crd_history_close(cradle_heap *heap);

/* Code compiled with CRADLE_CHECKED stores into the object. */
void crd_history_store(cradle_heap *heap, const void *object);
/* The heap was verified and is right. before: before a collection; otherwise after one. */
void crd_history_right(cradle_heap *heap, bool before);
/* The verifier found a store into the object that had no barrier. NULL: none yet. */
void crd_history_suspect(cradle_heap *heap, const void *object);
/* Misuse: the verifier found a fault. */
CRADLE_COLD _Noreturn void crd_misuse_found(cradle_heap *heap, const crd_text *fault, bool before);

#endif
