/* A round of the second core. gc/old/marker.h says what it does and why it may; the source says how. */
#ifndef CRADLE_GC_OLD_MARK_BESIDE_H
#define CRADLE_GC_OLD_MARK_BESIDE_H

#include "gc/parts.h"

/* Does a round, on the thread that has taken it: traces what the marker's copy of the mark stack holds, until nothing
 * is left or a pause asks for the end of the round. */
void crd_mark_beside(crd_marking *marking);

#endif
