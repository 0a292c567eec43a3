/* Roots: how the collector learns which references the program itself holds.
 *
 * A reference in a C local, register or global that is not rooted is stale after the next call that may collect. When
 * its object moves, the collector updates the root. No function here collects. Use none of them in a callback
 * (cradle/base.h): it is undefined whether the collection sees what is pushed there. There are five ways to root:
 *
 *   shadow stack    push before the call, reload after it: for generated code and careful VMs; cheapest
 *   scoped roots    CRADLE_ROOT(mutator, variable): for C written by hand; released at the end of the scope
 *   root ranges     a VM's own value stack
 *   global roots    variables with the lifetime of the program or a module
 *   root callback   anything else
 *
 * Coroutines: the shadow stack, the scoped roots and ranges of each coroutine belong to a root stack of its own.
 */
#ifndef CRADLE_ROOTS_H
#define CRADLE_ROOTS_H

#include <cradle/detail/roots.h>
#include <cradle/mutator.h>

CRADLE_BEGIN_DECLS

/* --- the shadow stack: words of the kind that options.shadow_stack names --- */

/* Push a word or a reference, or pop either as a pointer. Popping from an empty stack is misuse. */
CRADLE_INLINE void cradle_push_word(cradle_mutator *mutator, cradle_word word) {
  cradle_word *top = mutator->shadow_top;
  if (CRADLE_UNLIKELY(top == mutator->shadow_limit)) {
    cradle_push_slow(mutator, word);
    return;
  }
  *top = word;
  mutator->shadow_top = top + 1; /* last, so that the next push need not read it again */
}
CRADLE_INLINE void cradle_push(cradle_mutator *mutator, const void *reference) {
  cradle_push_word(mutator, (cradle_word)(uintptr_t)reference);
}
/* One comparison finds both an empty stack and a word below the watermark [mutator.6]. */
CRADLE_INLINE void *cradle_pop(cradle_mutator *mutator) {
  if (CRADLE_UNLIKELY(mutator->shadow_top == mutator->shadow_watermark)) cradle_pop_slow(mutator, 1);
  return (void *)(uintptr_t)*--mutator->shadow_top;
}
/* Drops count words. It is misuse if the stack holds fewer. */
CRADLE_INLINE void cradle_pop_many(cradle_mutator *mutator, size_t count) {
  if (CRADLE_UNLIKELY((size_t)(mutator->shadow_top - mutator->shadow_watermark) < count))
    cradle_pop_slow(mutator, count);
  mutator->shadow_top -= count;
}
/* Returns the address of a word for reading or writing: index 0 is the word that was pushed last, 1 the word below it.
 * An index beyond the base is misuse. Write through the address only until the next call that may collect: after it,
 * minor collections skip the word until it is popped or looked up with this function again. */
CRADLE_INLINE cradle_word *cradle_peek(cradle_mutator *mutator, size_t index) {
  if (CRADLE_UNLIKELY(index >= (size_t)(mutator->shadow_top - mutator->shadow_watermark)))
    cradle_peek_slow(mutator, index);
  return mutator->shadow_top - 1 - index;
}

/* --- longjmp --- */

/* A longjmp runs no cleanup. So save a checkpoint at the setjmp, and restore it right after the longjmp lands: the root
 * stack (below), and how deep the shadow stack, the scoped roots and the no-collection regions are. CRADLE_CHECKED
 * code, the verifier and the end of a scope that was open at the setjmp find a missing restore. Rooted locals of the
 * function with the setjmp must be volatile. If the longjmp left a coroutine, restoring switches back to the root stack
 * of the setjmp. Restoring a checkpoint that is deeper than the stacks are now is misuse. Neither function collects.
 *
 * A C++ exception runs the cleanups of the C functions that it passes only if these were compiled with -fexceptions.
 * Else use a checkpoint; CRADLE_CHECKED code finds the roots that were left open, by name and line. */
typedef struct cradle_checkpoint {
  size_t shadow_depth, scoped_depth; /* words */
  uint64_t no_collect_depth;
  struct cradle_root_stack *stack; /* NULL: the mutator's own */
} cradle_checkpoint;
CRADLE_API cradle_checkpoint cradle_checkpoint_save(const cradle_mutator *mutator);
CRADLE_API void cradle_checkpoint_restore(cradle_mutator *mutator, const cradle_checkpoint *checkpoint);

/* --- scoped roots --- */

/* Roots a local pointer variable until the end of its scope. Until then the variable must always hold a valid reference
 * or NULL. A variable that is no pointer does not compile. More than options.shadow_stack_bytes of scoped roots are
 * misuse. In a switch, give each case that roots a variable its own braces: otherwise a jump to a later case skips
 * CRADLE_ROOT and still ends its scope, and gcc does not warn. A binding in another language opens and closes scopes,
 * in the reverse order, with cradle_scope_open and cradle_scope_close (cradle/detail/roots.h). */
#define CRADLE_ROOT(mutator, variable) \
  CRADLE_STATIC_ASSERT_(CRADLE_IS_POINTER_(variable), "CRADLE_ROOT: " #variable " is not a pointer variable"); \
  CRADLE_SCOPED_(mutator, variable, CRADLE_KIND_REFERENCE, #variable, CRADLE_JOIN(cradle_root_, __COUNTER__))
/* As CRADLE_ROOT, for a local 8-byte variable with a value in the heap's encoding. */
#define CRADLE_ROOT_VALUE(mutator, variable) \
  CRADLE_STATIC_ASSERT_(CRADLE_IS_WORD_(variable), \
                        "CRADLE_ROOT_VALUE: " #variable " is not an 8-byte variable at a multiple of 8"); \
  CRADLE_SCOPED_(mutator, variable, CRADLE_KIND_VALUE, #variable, CRADLE_JOIN(cradle_root_, __COUNTER__))

/* --- root ranges --- */

/* A root range: a VM's value stack, in which each word holds a current value or zero. One pointer variable of the
 * embedder's points to its first word, another behind its last word; both may have any pointer type. The collector
 * reads the two variables at every collection, so the stack may grow and be reallocated. A base above the top, or other
 * impossible addresses, are misuse, found when the range is added and when a collection begins. Make the structure with
 * CRADLE_ROOT_RANGE; it belongs to the embedder and must stay in place, unchanged, while it is registered. Set `stack`
 * before the range is added to make the range belong to a root stack (below). Adding and removing one take constant
 * time. */
typedef struct cradle_root_range {
  struct cradle_root_range *next;  /* used by the collector */
  struct cradle_root_range **link; /* used by the collector */
  cradle_mutator *mutator;         /* used by the collector; NULL: not registered */
  const void *base;                /* the address of the variable that points to the first word */
  const void *top;                 /* the address of the variable that points behind the last */
  cradle_kind kind;
  const char *name;                /* for messages; NULL: "root range" */
  struct cradle_root_stack *stack; /* the root stack that it belongs to; NULL: none */
} cradle_root_range;
/* Makes a range from the two pointer variables, whose addresses it takes: CRADLE_ROOT_RANGE(vm->base, vm->top,
 * CRADLE_KIND_REFERENCE, "stack"). What is no pointer variable, such as an array, does not compile. */
#define CRADLE_ROOT_RANGE(base_variable, top_variable, kind_of_words, name_or_null) \
  CRADLE_RANGE_(base_variable, top_variable, kind_of_words, name_or_null)
/* Register a range, and remove it. It is misuse to add a range twice, to add an incomplete one or one of another
 * mutator's root stack, or to remove one that is not registered. A range that was overwritten while it was registered
 * is misuse, found by the next collection. */
CRADLE_API void cradle_root_range_add(cradle_mutator *mutator, cradle_root_range *range);
CRADLE_API void cradle_root_range_remove(cradle_mutator *mutator, cradle_root_range *range);

/* --- root stacks: one for each coroutine --- */

/* A root stack holds the roots of one coroutine with a C stack of its own: its scoped roots, its shadow stack, the
 * ranges that name it, and its open no-collection regions (docs/coroutines.md). A mutator has one of its own and runs
 * on that until it switches.
 *
 * A root stack that does not run is suspended. Its roots keep objects alive and are updated when objects move, but a
 * minor collection looks only at root stacks that ran since the last one. So nothing may write a rooted variable or a
 * word of a suspended root stack, unless it is switched to before the next call that may collect. (The scoped roots of
 * the mutator's own root stack may be written, so that a coroutine can give a result to the main program.) The verifier
 * finds a suspended root that was written to, and names it. */
typedef struct cradle_root_stack cradle_root_stack;
/* Makes a root stack that is suspended and empty: about 250 bytes, in constant time. Its parts grow as they are used,
 * up to options.shadow_stack_bytes each. When its shadow stack grows, the words move: an address from cradle_peek holds
 * only until the next push. NULL: memory was refused. Does not collect. */
CRADLE_API cradle_root_stack *cradle_root_stack_new(cradle_mutator *mutator);
/* Frees a suspended root stack, in constant time for each of its ranges, which are removed. Its scopes may be open and
 * its words may be pushed: they are no roots any more, and the coroutine must not go on. It may be called after the
 * mutator and the heap are gone, and in a destructor, so that an object can own the root stack of its coroutine. It is
 * misuse to free one that runs. NULL is ignored. Does not collect. */
CRADLE_API void cradle_root_stack_free(cradle_root_stack *stack);
/* Suspends the running root stack and goes on with another, in constant time: call it right before the machine's stack
 * is switched. NULL is the mutator's own root stack. Returns the one that ran, in the same way. An open reservation
 * ends. Does not collect. */
CRADLE_API cradle_root_stack *cradle_root_stack_switch(cradle_mutator *mutator, cradle_root_stack *stack);

/* --- global roots --- */

/* Register the address of an 8-byte variable until it is removed or the heap is freed; both take constant time. It is
 * misuse to add an address twice, an address that is NULL or not a multiple of 8, or an unknown kind, and to remove an
 * address that is not registered. false: memory ran out. */
CRADLE_API bool cradle_global_root_add(cradle_heap *heap, void *address, cradle_kind kind);
CRADLE_API void cradle_global_root_remove(cradle_heap *heap, void *address);

/* --- root callback --- */

/* A root callback is called at every collection and reports further roots with cradle_visit (cradle/object.h). A heap
 * has one; NULL removes it. */
typedef void (*cradle_root_function)(void *data, cradle_visitor *visitor);
CRADLE_API void cradle_root_callback_set(cradle_heap *heap, cradle_root_function function, void *data);

CRADLE_END_DECLS

#endif
