/* The heap: its life, its types, collections on request, its verifier, and forks.
 *
 * Heaps are independent of each other; nothing is global. A heap is used by one thread at a time, or with
 * options.mutators above 1 by as many threads (docs/threads.md). In such a heap every function here, and every other
 * that takes a heap and no mutator, waits for other threads' collections: it is a safepoint of the calling thread's
 * mutator, even if it says that it does not collect.
 */
#ifndef CRADLE_HEAP_H
#define CRADLE_HEAP_H

#include <cradle/mutator.h>
#include <cradle/object.h>
#include <cradle/options.h>

CRADLE_BEGIN_DECLS

/* Makes a heap from options that were set up by cradle_options_init. NULL: an option is wrong, or memory or address
 * space ran out; error, unless NULL, says which. No page of the heap is touched before the first allocation, except for
 * a huge-page pool or a quarantine. (cradle_heap_new_from_environment in cradle/runtime.h obeys the environment.) */
CRADLE_API cradle_heap *cradle_heap_new(const cradle_options *options, cradle_error *error);
/* Frees the heap and all its objects. Objects that are still pinned or have open handles are freed too, and the log
 * says so. Free the heap's mutators first. NULL is ignored. */
CRADLE_API void cradle_heap_free(cradle_heap *heap);

/* Adds a type and returns its id, which is the number of types before it. A contradictory descriptor is misuse, and so
 * is a call from a callback. CRADLE_TYPE_ID_END: memory or ids ran out. Does not collect. */
CRADLE_API uint32_t cradle_type_add(cradle_heap *heap, const cradle_type *type);

/* What a collection on request does. Each kind does what those before it do, and more. */
typedef enum cradle_collection_kind {
  CRADLE_COLLECT_MINOR = 0, /* the nursery alone */
  /* One complete major collection: every object that was unreachable at the call is gone. A major collection that is
   * under way in increments is finished first. */
  CRADLE_COLLECT_MAJOR,
  CRADLE_COLLECT_FULL, /* and empty arenas are given back to the system at once */
  /* And the objects of sparse arenas are moved together, so that the memory between scattered survivors goes back. The
   * pages of empty memory that stays committed, the nursery included, are dropped as well (with a quarantine only the
   * nursery's). This takes time for every live object, as marking does, but all in one pause. */
  CRADLE_COLLECT_COMPACTING,
} cradle_collection_kind;
/* Collects now. Any other kind is misuse. */
CRADLE_API void cradle_collect(cradle_mutator *mutator, cradle_collection_kind kind) CRADLE_MAY_COLLECT;
/* For idle time: empties the nursery and does one increment of the major collection, of about most_ns nanoseconds (a
 * minor collection and the smallest increment can take longer); begins a major collection if none runs. true: the major
 * collection is complete. */
CRADLE_API bool cradle_collect_step(cradle_mutator *mutator, uint64_t most_ns) CRADLE_MAY_COLLECT;

/* Reports memory outside the heap that objects own, such as malloc'ed buffers. bytes is added to what the pacing of
 * major collections counts, or subtracted when negative. Removing more than was added, or exceeding 1 EiB, is misuse
 * and leaves the total unchanged. Does not collect. */
CRADLE_API void cradle_external_memory(cradle_mutator *mutator, int64_t bytes);

/* Checks the whole heap: structure, headers, every slot, completeness of the remembered set. false when something is
 * wrong: error names the first broken object, its holder, the slot and the last collection. true when nothing was
 * found; if memory for the check is refused, a note says that the check was left out, or done in part. A call from a
 * callback is misuse. Does not collect. */
CRADLE_API bool cradle_heap_verify(cradle_heap *heap, cradle_error *error);

/* Reports misuse as the functions of this library do, for libraries that are built on it. heap NULL: the heap is not
 * known, so no handler is called. Begin the message with the name of the function that was misused; the place of the
 * call is added (CRADLE_CHECKED). Does not collect. */
CRADLE_API CRADLE_COLD __attribute__((__noreturn__)) void cradle_misuse(cradle_heap *heap, const char *message);

/* For programs whose child process goes on to use the heap: call prepare, then fork(), then done in both processes, and
 * also if fork() failed. Do not use the heap between these calls; with several mutators, the other threads stand
 * meanwhile.
 *
 * Prepare collects the nursery and drops the pages of empty memory, as a compacting collection does, so that neither
 * process copies them. It fails and leaves the heap as it was if memory of a reserved pool of huge pages is in use:
 * after a fork the kernel may kill either process when the pool is empty. docs/design/pages.md says what a fork costs.
 * A child that only calls exec or _exit needs none of this. */
CRADLE_API CRADLE_RESULT_MATTERS bool cradle_fork_prepare(cradle_heap *heap, cradle_error *error) CRADLE_MAY_COLLECT;
CRADLE_API void cradle_fork_done(cradle_heap *heap);

CRADLE_END_DECLS

#endif
