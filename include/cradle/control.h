/* Control of a running heap (docs/control.md): hold major collections off, change the maximum heap, give memory back.
 * cradle_collect and cradle_collect_step are in cradle/heap.h. */
#ifndef CRADLE_CONTROL_H
#define CRADLE_CONTROL_H

#include <cradle/heap.h>

CRADLE_BEGIN_DECLS

/* held true: until the matching call with false, the threshold neither begins a major collection nor gives a running
 * one its next increment. Use it for a phase that makes little garbage or needs the shortest pauses. The calls nest.
 * Minor collections go on, and so do collections on request, and for want of memory: an allocation fails only if a full
 * collection does not help.
 * held false: ends the innermost of these calls; without one it is misuse. A major collection that came due meanwhile
 * begins with the next minor collection that the program did not ask for. Does not collect. */
CRADLE_API void cradle_major_hold(cradle_mutator *mutator, bool held);

/* Sets the maximum heap (options.heap_max_bytes) to bytes from now on; 0: no maximum. If the heap holds more than
 * bytes, it collects (in the end a full and a compacting collection) and gives back what that frees. If the live
 * objects, the nursery and two arenas still do not fit, or if the system does not take the free memory back, it returns
 * false and the old maximum stays; error says why, and error->accepted is the smallest maximum that would do. If they
 * fit, but not the room to promote the nursery, the nursery is made smaller. May collect, but not if it raises the
 * maximum by 4 MiB or more: an out-of-memory handler may do that. */
CRADLE_API CRADLE_RESULT_MATTERS bool cradle_heap_set_max(cradle_mutator *mutator, size_t bytes, cradle_error *error)
    CRADLE_MAY_COLLECT;

/* Asks the system for everything that the heap may want to know of the machine later, and opens the last file for it.
 * Call it before the program locks itself up, with a seccomp filter or the like. From then on the heap makes only the
 * system calls that docs/failures.md lists, the verifier and messages about misuse included, and events no longer say
 * how much memory lies on huge pages. Without this call, the heap reads the control group's limits, the processors and
 * the caches when it has grown to about 1 MiB or begins to mark. Takes about 0.5 ms, and the process's first call about
 * 1 ms. Does not collect. */
CRADLE_API void cradle_heap_prepare(cradle_heap *heap);

/* Gives all empty arenas beyond the promotion reserve back to the system now, not only after they were unused for some
 * seconds. Returns how many bytes. Does not collect, so the memory of objects that died since the last major collection
 * is not given back. */
CRADLE_API uint64_t cradle_release_memory(cradle_heap *heap);

CRADLE_END_DECLS

#endif
