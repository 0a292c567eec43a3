/* What a heap with options.verify remembers for its messages: when it was last found right and from where that was
 * asked, and where checked code last stored into each old object. A store without the barrier leaves no trace of
 * itself; these say between which two collections, and after which store, it was made.
 *
 *   [history.1] An entry of the table of stores is of the object that is at the address now: entries are of one era, in
 *               which no old object dies and none moves. Marking's end and a major collection's end begin another.
 */
#ifndef CRADLE_GC_INSTRUMENTS_HISTORY_H
#define CRADLE_GC_INSTRUMENTS_HISTORY_H

#include "gc/base/text.h"

/* Without memory there is no history. */
void crd_history_open(cradle_heap *heap);
void crd_history_close(cradle_heap *heap);

/* Code that is compiled with CRADLE_CHECKED stores into the object. */
void crd_history_store(cradle_heap *heap, const void *object);
/* The heap was verified before the next collection, or after the last one, and is right. */
void crd_history_right(cradle_heap *heap, bool before);
/* The verifier finds that a store into the object had no barrier. */
void crd_history_suspect(cradle_heap *heap, const void *object);
/* The heap was verified, and is wrong: adds what is known. */
void crd_history_wrong(cradle_heap *heap, bool before, crd_text *text);
/* After the message about a heap that is wrong: writes where it was found right, to standard error. */
void crd_history_write(const cradle_heap *heap);

#endif
