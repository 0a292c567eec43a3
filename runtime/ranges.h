/* Ranges: a file with the addresses of the process's heaps, for tools that look at the process from outside on kernels
 * that do not show names of mappings (only some are built to show them).
 *
 * [ranges.1] The process has one list of heaps, one lock and one record of who writes; nothing else is shared. A heap
 *            is in the list from its creation to its end. The lock is held while the file is written, and a child of
 *            fork takes it over.
 * [ranges.2] The file is replaced (runtime/platform/files.h) when the list changes: a reader sees one state.
 * [ranges.3] If the file's name has %d, a child of fork writes a file of its own, at the next event. Otherwise, if the
 *            parent had a heap at the fork, the file stays the parent's, and the child writes no file, also not for
 *            heaps that it makes itself.
 * [ranges.4] The program never fails because of the file: an error is reported on standard error, and from then on the
 *            file is not written.
 */
#ifndef CRADLE_RUNTIME_RANGES_H
#define CRADLE_RUNTIME_RANGES_H

#include <cradle/heap.h>

typedef struct crd_ranges crd_ranges;

/* Makes one heap's entry, for the file called name, in which each %d is replaced by the process's number. Events are
 * passed on to next. NULL if name is NULL or empty, or if memory ran out, which was then reported. */
crd_ranges *crd_ranges_open(const char *name, cradle_listener next);
/* The listener to set in the heap's options. */
cradle_listener crd_ranges_listener(crd_ranges *ranges);
/* Call it when the heap exists: publishes its ranges. CRADLE_EVENT_HEAP_DESTROYED takes them out of the file and frees
 * the entry. */
void crd_ranges_publish(crd_ranges *ranges, cradle_heap *heap);
/* Call it if the heap could not be made. */
void crd_ranges_close(crd_ranges *ranges);

#endif
