/* Where the heaps of the process lie, so that a message can say that a reference leads into another heap. Such a
 * reference is a mistake: the other heap does not know of it, and moves and frees the object.
 *
 * Heaps share nothing else but a count of threads (gc/platform/thread_pthread.c). There is no lock. Only messages
 * depend on the table: if a heap found no free row, a reference into it counts as one to memory of the program's own.
 *
 *   [other_heaps.1] A row has an owner while that heap exists, and never changes in that time.
 */
#ifndef CRADLE_GC_INSTRUMENTS_OTHER_HEAPS_H
#define CRADLE_GC_INSTRUMENTS_OTHER_HEAPS_H

#include <cradle/base.h>

/* Enters a heap, when it has its nursery and its old generation, and takes it out again, before they are given back. */
void crd_other_heaps_enter(const cradle_heap *heap);
void crd_other_heaps_leave(const cradle_heap *heap);
/* Whether the address lies in the nursery or the old generation of a heap that is not this one. */
bool crd_is_in_other_heap(const cradle_heap *heap, uintptr_t address);

#endif
