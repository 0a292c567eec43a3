/* Ranges: a file that tells where the process's heaps lie, for tools that look at it from outside and find no names of
 * mappings there (the kernel has none unless it was built so).
 *
 * [ranges.1] The list of heaps, its lock and who writes are the process's; nothing else is. A heap is in the list from
 *            its making to its end. The lock is held while the file is written, and a child of fork takes it over.
 * [ranges.2] The file is replaced (runtime/platform/files.h) when the list changes: a reader sees one state.
 * [ranges.3] A child of fork writes a file of its own, at the next event, if its name has %d. Else the file stays its
 *            parent's, if that one had a heap at the fork, and the child writes none, not for heaps that it starts
 *            itself either.
 * [ranges.4] The program never fails because of it: an error is told on standard error, and the file is left alone from
 *            then on.
 */
#ifndef CRADLE_RUNTIME_RANGES_H
#define CRADLE_RUNTIME_RANGES_H

#include <cradle/heap.h>

typedef struct crd_ranges crd_ranges;

/* One heap's entry, for the file called name, in which each %d is the process's number. Events are passed on to next.
 * NULL when name is NULL or empty, or without memory, which was then reported. */
crd_ranges *crd_ranges_open(const char *name, cradle_listener next);
/* What the heap must be given. */
cradle_listener crd_ranges_listener(crd_ranges *ranges);
/* The heap exists: its ranges are published, and CRADLE_EVENT_HEAP_DESTROYED ends them and frees the entry. */
void crd_ranges_publish(crd_ranges *ranges, cradle_heap *heap);
/* The heap was not made. */
void crd_ranges_close(crd_ranges *ranges);

#endif
