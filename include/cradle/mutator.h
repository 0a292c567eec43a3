/* The mutator: one thread's view of a heap, with its nursery and its shadow stack.
 *
 * The structure is public so that allocation, roots and generated code can be inline. Code outside the library may
 * write only free, top, shadow_top, shadow_watermark, scoped_top, registered and reserved_end, and only as these
 * headers do.
 *
 * Allocation moves free up to top, which the collector lowers to be called at the next allocation. The shadow stack and
 * the stack of scoped roots are arrays of words; the watermark says how much of the shadow stack has not changed since
 * the last collection. Exactly:
 *   [mutator.1] free <= end of the nursery. The last object may lie in the slack behind the nursery; then free <= end
 *               of the slack. Both are 8-byte aligned; [free, end) is unused.
 *   [mutator.2] top <= end, the next sample point, and the point where the collector next compares an allocation's size
 *               with its descriptor. It is lower, down to 0, while the next allocation must take the slow path: because
 *               of a request from another thread, a stress mode, a no-collection region, or a callback. Only calls into
 *               the library by the mutator's own thread raise it.
 *   [mutator.3] shadow_base <= shadow_watermark <= shadow_top <= shadow_limit; [shadow_base, shadow_top) are roots.
 *   [mutator.4] registered <= registered_end. Up to registered_end, objects can be registered without overflowing any
 *               list of the collector when the next minor collection looks at them.
 *   [mutator.5] A mutator is used by the thread it is attached to, while it is not parked. When that thread ends, it is
 *               attached to none.
 *   [mutator.6] No word below shadow_watermark refers to a young object, because none was written since a minor
 *               collection looked at them. So minor collections skip these words, and deep recursion costs only what
 *               changed. A collection raises the watermark to the top; code that pops or may write a word below it
 *               lowers it first. Scoped roots have no watermark: any function that has their address may write them.
 *   [mutator.7] scoped_base <= scoped_top <= scoped_limit. [scoped_base, scoped_top) are the open scoped roots, the
 *               innermost last. Each is a word with the address of its variable and flags in the low bits
 *               (CRADLE_SCOPED_VALUE and CRADLE_SCOPED_NAMED). With CRADLE_SCOPED_NAMED the words below it are the
 *               address of the root's name and the frame of the function that opened it. The word below scoped_base is
 *               0, which is no root.
 *   [mutator.8] The pointers to the two stacks are those of the running root stack (cradle/roots.h). A switch changes
 *               them all; their offsets stay.
 */
#ifndef CRADLE_MUTATOR_H
#define CRADLE_MUTATOR_H

#include <cradle/detail/partners.h>
#include <cradle/object.h>
#include <cradle/options.h>

CRADLE_BEGIN_DECLS

struct cradle_mutator {
  char *free;                    /* next free byte of the nursery */
  char *top;                     /* allocation beyond it takes the slow path */
  cradle_word *shadow_top;       /* next free word of the shadow stack */
  cradle_word *shadow_limit;     /* end of its committed part */
  cradle_word *shadow_watermark; /* words below it are as the last collection left them */
  cradle_word *scoped_top;       /* next free word of the stack of scoped roots */
  cradle_word *scoped_limit;     /* end of its committed part */
  char *reserved_end;            /* end of the open reservation, for code with CRADLE_CHECKED, or NULL */
  uint64_t no_collect_depth;     /* open no-collection regions */
  cradle_heap *heap;
  uint64_t weak_guard;         /* not 0: weak slots may still hold references to the dead; see cradle/weak.h */
  cradle_word *registered;     /* where CRADLE_NEW_WITH enters the next object */
  cradle_word *registered_end; /* where CRADLE_NEW_WITH must ask for more room */
  cradle_word *shadow_base;    /* the shadow stack's first word */
  cradle_word *scoped_base;    /* first word of the stack of scoped roots */
};

/* Nursery memory that was taken and not filled so far: [free, end). */
typedef struct cradle_reservation {
  char *free, *end;
  cradle_mutator *mutator;
} cradle_reservation;

/* For generated code. */
#define CRADLE_MUTATOR_FREE_OFFSET 0
#define CRADLE_MUTATOR_TOP_OFFSET 8
#define CRADLE_MUTATOR_SHADOW_TOP_OFFSET 16
#define CRADLE_MUTATOR_SHADOW_LIMIT_OFFSET 24
#define CRADLE_MUTATOR_SHADOW_WATERMARK_OFFSET 32

/* Makes a mutator, attached to the calling thread. A heap may have at most options.mutators at a time, and a thread at
 * most one mutator of a heap that is not parked; more is misuse. NULL: memory ran out; a note (cradle/event.h) names
 * the limit. Does not collect, but waits for the end of a collection in a heap with several mutators. */
CRADLE_API cradle_mutator *cradle_mutator_new(cradle_heap *heap) CRADLE_GRANTS_COLLECTION;
/* Ends the mutator, after a minor collection that drops what only its roots held. Its shadow stack must be empty
 * (unless its thread ended), and its own root stack must run. Scoped roots may be open, as the ones in main are. They
 * are no longer roots, and their scopes may end later, even after the heap is freed; until then about 500 bytes stay.
 * Root stacks of coroutines are emptied; free them before or after. A mutator that is attached to no thread is attached
 * to the calling thread first. NULL is ignored. */
CRADLE_API void cradle_mutator_free(cradle_mutator *mutator) CRADLE_REVOKES_COLLECTION;
/* Hands a mutator to another thread: detach on the old thread, then attach on the new thread. The program must order
 * the two calls with a lock, a join or the like. Does not collect.
 *
 * When a thread ends, by return, pthread_exit or cancellation, its mutators are detached by themselves, and another
 * thread may attach or free them. The scoped roots of the mutator's own root stack, which lay on the thread's C stack,
 * are no roots any more, and its no-collection regions are over; the words of its shadow stack stay roots. Root stacks
 * of coroutines keep their roots. A thread that ends inside of a callback of the collector leaves a heap that refuses
 * every call. A thread must not end parked while scoped roots of its mutator are open: other threads may collect, and
 * read its variables, after its C stack is gone. (On Windows the end of a fiber counts, too: attach in a fiber that
 * lives as long as its thread.) */
CRADLE_API void cradle_mutator_detach(cradle_mutator *mutator) CRADLE_REVOKES_COLLECTION;
CRADLE_API void cradle_mutator_attach(cradle_mutator *mutator) CRADLE_GRANTS_COLLECTION;

/* The calling thread promises not to use the heap until it unparks: no call with the mutator, no word of the heap, no
 * variable that is a root. Collections then do not wait for the thread, and may move what its roots refer to. Park
 * before whatever may wait: a lock, a condition, another thread, a descriptor, a sleep. A parked thread may read and
 * write memory of its own, and bytes of pinned objects. unpark waits for the end of a collection; afterwards every
 * reference that was not in a root is stale. With several mutators, unpark may collect under stress. Together they take
 * 12 to 50 ns while nobody collects. In a heap with one mutator they only check the program. Parking what is parked is
 * misuse. */
CRADLE_API void cradle_mutator_park(cradle_mutator *mutator) CRADLE_REVOKES_COLLECTION;
CRADLE_API void cradle_mutator_unpark(cradle_mutator *mutator) CRADLE_GRANTS_COLLECTION;
/* CRADLE_PARKED(mutator) { read(...); } parks until the block is left, in any way but longjmp. clang's -Wthread-safety
 * refuses a call that may collect in the block; before clang 18 it also warns if the block is not left at its end. */
#define CRADLE_PARKED(mutator) \
  for (cradle_mutator * crd_parked __attribute__((__cleanup__(cradle_parked_end))) = cradle_parked_begin(mutator), \
                                   *crd_once = crd_parked; \
       cradle_parked_goes_on(&crd_once);)

/* Stops all other mutators of the heap, calls function with data on this thread, and has them go on: for a VM that
 * patches code that all run, or looks at their stacks. The function runs as in a no-collection region: it may read and
 * store, and must not leave by longjmp. Waits for the others as a collection does; may collect before the call. */
typedef void (*cradle_stopped_function)(void *data);
CRADLE_API void cradle_stopped_call(cradle_mutator *mutator, cradle_stopped_function function, void *data)
    CRADLE_MAY_COLLECT;
/* Names the mutator in logs, reports, notes and the debugger; at most 31 bytes are kept. By default, and after NULL or
 * "", it is "mutator 3", by its number among the heap's. Any thread may call it; the mutator must not be freed
 * meanwhile. Does not collect. */
CRADLE_API void cradle_mutator_name(cradle_mutator *mutator, const char *name);

/* A poll for loops that do not allocate: if another thread asked for a safepoint, it is served here. May collect. */
CRADLE_INLINE void cradle_safepoint(cradle_mutator *mutator) CRADLE_MAY_COLLECT {
  if (CRADLE_UNLIKELY(__atomic_load_n(&mutator->top, __ATOMIC_RELAXED) == NULL)) cradle_safepoint_slow(mutator);
}
/* Asks for a minor collection at the mutator's next safepoint (allocation slow path or poll). Any thread may call it;
 * the mutator must not be freed meanwhile. One collection may serve several requests; none is lost. Does not
 * collect. */
CRADLE_API void cradle_safepoint_request(cradle_mutator *mutator);

/* A region in which nothing may collect: allocation, polls and explicit collections are misuse until the matching end.
 * Regions nest. In the outermost region of a function, clang's -Wthread-safety finds early returns and calls that may
 * collect. Neither function collects. */
CRADLE_API void cradle_no_collect_begin(cradle_mutator *mutator) CRADLE_REVOKES_COLLECTION;
CRADLE_API void cradle_no_collect_end(cradle_mutator *mutator) CRADLE_GRANTS_COLLECTION;

CRADLE_END_DECLS

#endif
