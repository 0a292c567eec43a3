/* The mutator: one thread's view of a heap, with its nursery and its shadow stack.
 *
 * The structure is public so that allocation, roots and generated code can be inline. Only free, top, shadow_top,
 * shadow_watermark, scoped_top, registered and reserved_end may be written from outside, and only as the headers do it.
 *
 * Invariants
 *   [mutator.1] free <= end of the nursery, or of the slack behind it, in which the last object may lie; both are
 *               8-byte aligned; [free, end) is unused.
 *   [mutator.2] top <= end. It is lower, down to 0, when the collector wants the next allocation to take the slow path:
 *               a request from another thread, a stress mode, a no-collection region, or a callback that must not
 *               allocate; and it is not above the next sample point, nor above the next allocation whose size is to be
 *               compared with its descriptor. Only calls into the library by the mutator's own thread raise it.
 *   [mutator.3] shadow_base <= shadow_watermark <= shadow_top <= shadow_limit; [shadow_base, shadow_top) are roots.
 *   [mutator.4] registered <= registered_end: so many objects can be registered, and none of the collector's lists will
 *               overflow when they are looked at.
 *   [mutator.5] A mutator is used by the thread it is attached to.
 *   [mutator.6] No word below shadow_watermark refers to a young object. A minor collection has looked at each of them,
 *               which promoted what they refer to, and none was written since. So minor collections leave them out, and
 *               deep recursion costs only what changed. A collection raises the watermark to the top; whoever pops or
 *               may write a word below it lowers it first. It tells nothing of scoped roots, which any function that
 *               has their address may write.
 *   [mutator.7] scoped_base <= scoped_top <= scoped_limit. [scoped_base, scoped_top) are the open scoped roots, the
 *               innermost last: of each the address of its variable, with flags in the low bits (CRADLE_SCOPED_VALUE
 *               and CRADLE_SCOPED_NAMED), and below that word, if it says so, the address of its name. The word below
 *               scoped_base is 0, which is no root.
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
  cradle_word *shadow_limit;     /* end of what is committed of it */
  cradle_word *shadow_watermark; /* words below it are as the last collection left them */
  cradle_word *scoped_top;       /* next free word of the stack of scoped roots */
  cradle_word *scoped_limit;     /* end of what is committed of it */
  char *reserved_end;            /* end of the open reservation, as far as checked code knows, or NULL */
  uint64_t no_collect_depth;     /* open no-collection regions */
  cradle_heap *heap;
  uint64_t weak_guard;         /* not 0: weak slots may still hold references to the dead; see cradle/weak.h */
  cradle_word *registered;     /* where cradle_new_registered enters the next object */
  cradle_word *registered_end; /* how far it goes before it asks for room */
  cradle_word *shadow_base;    /* the shadow stack's first word */
  cradle_word *scoped_base;    /* that of the scoped roots */
};

/* Nursery memory that was taken and is to be filled: [free, end). */
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

/* Makes the heap's mutator, attached to the calling thread. A heap has one mutator at a time in this version; asking
 * for a second one is misuse. NULL when memory runs out, that is, when the system refuses the first pages of the shadow
 * stack or of the scoped roots. Does not collect. */
CRADLE_API cradle_mutator *cradle_mutator_new(cradle_heap *heap) CRADLE_GRANTS_COLLECTION;
/* Empties the nursery with a minor collection (objects that only this mutator's roots held are dropped with them) and
 * ends the mutator. Its shadow stack must be empty. Scoped roots may be open, as those of main are: they are roots no
 * longer, and the end of their scopes, which may come after that of the heap, is harmless. (Of such a mutator some 200
 * bytes stay allocated until the last of these scopes ends.) NULL is ignored. */
CRADLE_API void cradle_mutator_free(cradle_mutator *mutator) CRADLE_REVOKES_COLLECTION;
/* Hands a mutator to another thread: detach on the old one, attach on the new one, with a happens-before edge of the
 * embedder's between them (a lock, a join). Does not collect. */
CRADLE_API void cradle_mutator_detach(cradle_mutator *mutator) CRADLE_REVOKES_COLLECTION;
CRADLE_API void cradle_mutator_attach(cradle_mutator *mutator) CRADLE_GRANTS_COLLECTION;

/* A poll for loops that do not allocate: when another thread asked for a safepoint, it is served here. May collect. */
CRADLE_INLINE void cradle_safepoint(cradle_mutator *mutator) CRADLE_MAY_COLLECT {
  if (CRADLE_UNLIKELY(__atomic_load_n(&mutator->top, __ATOMIC_RELAXED) == NULL)) cradle_safepoint_slow(mutator);
}
/* Asks for a minor collection at the mutator's next safepoint (allocation slow path or poll). The one function here
 * that any thread may call; the mutator must not be freed meanwhile. Requests are merged, none is lost. Does not
 * collect itself. */
CRADLE_API void cradle_safepoint_request(cradle_mutator *mutator);

/* A region in which nothing may collect: allocation, polls and explicit collections are misuse until the matching end.
 * Regions nest. clang's -Wthread-safety finds calls that may collect and early returns in the outermost region of a
 * function. They do not collect. */
CRADLE_API void cradle_no_collect_begin(cradle_mutator *mutator) CRADLE_REVOKES_COLLECTION;
CRADLE_API void cradle_no_collect_end(cradle_mutator *mutator) CRADLE_GRANTS_COLLECTION;

CRADLE_END_DECLS

#endif
