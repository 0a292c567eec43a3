/* Where the heaps of the process lie, so that messages can say that a reference leads into another heap: its objects
 * move and die unknown to the one that holds the reference.
 *
 * This table is all that heaps share. It is read and written without a lock, and only messages depend on it: a heap
 * that found no free row is an address like any other outside of the heap.
 *
 *   [other_heaps.1] A row has an owner while that heap exists, and never changes in that time.
 */
#ifndef CRADLE_GC_INSTRUMENTS_OTHER_HEAPS_H
#define CRADLE_GC_INSTRUMENTS_OTHER_HEAPS_H

#include <cradle/base.h>

/* The heap has its nursery and its old generation. */
void crd_other_heaps_enter(const cradle_heap *heap);
/* They are given back next. A heap that did not enter may leave. */
void crd_other_heaps_leave(const cradle_heap *heap);
/* Whether the address lies in the nursery or the old generation of a heap that is not this one. */
bool crd_is_in_other_heap(const cradle_heap *heap, uintptr_t address);

#endif
