/* The heap: its life, its types, collections on request, its verifier, and forks.
 *
 * Heaps are independent of each other; nothing is global. A heap is used by one thread at a time.
 */
#ifndef CRADLE_HEAP_H
#define CRADLE_HEAP_H

#include <cradle/mutator.h>
#include <cradle/object.h>
#include <cradle/options.h>

CRADLE_BEGIN_DECLS

/* Makes a heap. options must have gone through cradle_options_init. NULL when an option is wrong or memory or address
 * space runs out; error, unless NULL, then says which. Nothing is read from the environment
 * (cradle_heap_new_from_environment in cradle/runtime.h does that). No page of the heap is touched before the first
 * allocation, but for those of a huge-page pool and of a quarantine. */
CRADLE_API cradle_heap *cradle_heap_new(const cradle_options *options, cradle_error *error);
/* Frees the heap and all its objects, pinned ones and those of open handles too (the log says so), and removes its
 * prebuilt objects. Its mutator must have been freed. NULL is ignored. */
CRADLE_API void cradle_heap_free(cradle_heap *heap);

/* Adds a type and returns its id: the number of types before it. A contradictory descriptor is misuse, and so is a
 * call from a callback. When memory or ids run out the out-of-memory handler is called, or CRADLE_TYPE_ID_END returned
 * by the try variant. They do not collect. */
CRADLE_API uint32_t cradle_type_add(cradle_heap *heap, const cradle_type *type);
CRADLE_API CRADLE_RESULT_MATTERS uint32_t cradle_try_type_add(cradle_heap *heap, const cradle_type *type);

/* How the heap's values are encoded; valid as long as the heap. Does not collect. */
CRADLE_API const cradle_encoding *cradle_heap_encoding(const cradle_heap *heap);

/* What a collection on request does. Each kind does what those before it do, and more. */
typedef enum cradle_collection_kind {
  CRADLE_COLLECT_MINOR = 0, /* the nursery alone */
  /* One complete major collection: what was unreachable at the call is gone. One that runs in increments is finished
   * first. */
  CRADLE_COLLECT_MAJOR,
  CRADLE_COLLECT_FULL, /* and empty arenas are given back to the system at once */
  /* And the objects of sparse arenas are moved together: memory goes back that scattered survivors hold, and all that
   * is empty but stays committed is dropped, the nursery too (not the old generation's with a quarantine, which keeps
   * poison there); what is used next costs its page faults again. It takes time for every live object, like the
   * marking, and is not done in increments. */
  CRADLE_COLLECT_COMPACTING,
} cradle_collection_kind;
/* Collects now. A kind that is none of the above is misuse. */
CRADLE_API void cradle_collect(cradle_mutator *mutator, cradle_collection_kind kind) CRADLE_MAY_COLLECT;
/* For idle time: empties the nursery and does one increment of the major collection, of about most_ns nanoseconds (a
 * minor collection and the smallest increment can take longer); begins a major collection if none runs. true: it is
 * complete. */
CRADLE_API bool cradle_collect_step(cradle_mutator *mutator, uint64_t most_ns) CRADLE_MAY_COLLECT;

/* Reports memory outside the heap that objects own, such as malloc'ed buffers. bytes is added to what the pacing of
 * major collections counts, or subtracted when negative. Removing more than was added, or exceeding 1 EiB, is misuse
 * and leaves the total unchanged. Does not collect. */
CRADLE_API void cradle_external_memory(cradle_mutator *mutator, int64_t bytes);

/* Checks the whole heap: structure, headers, every slot, completeness of the remembered set. false when something is
 * wrong: error names the first broken object, its holder, the slot and the last collection. true when nothing was
 * found; where memory for the check is refused, a note says that it was left out, or done in part. From a callback it
 * is misuse. Does not collect. */
CRADLE_API bool cradle_heap_verify(cradle_heap *heap, cradle_error *error);

/* Reports misuse as the functions of this library do, for libraries that are written on it: calls options.on_misuse, or
 * prints the message and aborts, as it does where heap is NULL because it is not known. The message begins with the
 * name of the function that was misused; the place of the call is added to it (CRADLE_CHECKED). Does not collect. */
CRADLE_API CRADLE_COLD __attribute__((__noreturn__)) void cradle_misuse(cradle_heap *heap, const char *message);

/* Fills *explanation, of which size is the sizeof: what the heap knows of an address that a program used by mistake: of
 * an object that a minor collection moved or that died in it, while its page is in quarantine (options.quarantine), of
 * an address of the old generation where no memory is (any more, mostly), and of poison that was read and taken for a
 * reference. false when it knows nothing; the text is then empty. May be called in a signal handler, for a heap of any
 * thread. */
typedef struct cradle_explanation {
  char text[256];
  uint64_t collection; /* the minor collection that the text is about; 0: none */
} cradle_explanation;
CRADLE_API bool cradle_explain_address(const cradle_heap *heap, const void *address, cradle_explanation *explanation,
                                       size_t size);

/* fork(), for programs whose child goes on to use the heap: prepare, fork, then parent or child in either process
 * (parent also when fork failed). Between, the heap must not be used. The process has no other threads that use the
 * heap.
 *
 * Prepare collects the nursery and drops the contents of what is empty, as a compacting collection does, so that
 * neither process copies it. It fails, and the heap stays as it was, while memory of a reserved pool is in use: after a
 * fork the kernel may kill either process when the pool is empty. docs/design/pages.md says what a fork costs. A child
 * that only calls exec or _exit needs none of this. */
CRADLE_API CRADLE_RESULT_MATTERS bool cradle_fork_prepare(cradle_heap *heap, cradle_error *error) CRADLE_MAY_COLLECT;
CRADLE_API void cradle_fork_parent(cradle_heap *heap);
CRADLE_API void cradle_fork_child(cradle_heap *heap);

CRADLE_END_DECLS

#endif
