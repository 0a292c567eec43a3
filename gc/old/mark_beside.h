/* A round of the second core: what it does is in gc/old/marker.h, how in the source. */
#ifndef CRADLE_GC_OLD_MARK_BESIDE_H
#define CRADLE_GC_OLD_MARK_BESIDE_H

#include <cradle/base.h>

/* Traces what the marker's copy of the mark stack holds, on the thread that has taken the round, until nothing is left
 * or the round is to end. */
void crd_mark_beside(cradle_heap *heap);

#endif
