/* Roots: how the collector learns which references the program itself holds.
 *
 * A reference in a C local, register or global that is not rooted is stale after the next call that may collect. There
 * are five ways to root one; all are updated when objects move. No function here collects. None is for callbacks, in
 * the middle of a collection: registrations are refused there with a message; the inline push, pop and scopes cannot
 * ask, and the collection may or may not see what they leave behind.
 *
 *   shadow stack    push before the call, reload after it: for generated code and careful VMs; cheapest
 *   scoped roots    CRADLE_ROOT(mutator, variable): for C written by hand; released at the end of the scope
 *   root ranges     a VM's own value stack
 *   global roots    variables with the lifetime of the program or a module
 *   root callback   anything else
 */
#ifndef CRADLE_ROOTS_H
#define CRADLE_ROOTS_H

#include <cradle/detail/roots.h>
#include <cradle/mutator.h>

CRADLE_BEGIN_DECLS

/* --- the shadow stack: words of the kind that options.shadow_stack names --- */

/* Pushes or pops a word, or a reference. Popping from an empty stack is misuse. */
CRADLE_INLINE void cradle_push_word(cradle_mutator *mutator, cradle_word word) {
  if (CRADLE_UNLIKELY(mutator->shadow_top == mutator->shadow_limit)) {
    cradle_push_slow(mutator, word);
    return;
  }
  *mutator->shadow_top++ = word;
}
CRADLE_INLINE void cradle_push(cradle_mutator *mutator, const void *reference) {
  cradle_push_word(mutator, (cradle_word)(uintptr_t)reference);
}
/* One comparison finds both an empty stack and a word that the last collection has seen [mutator.6]. */
CRADLE_INLINE cradle_word cradle_pop_word(cradle_mutator *mutator) {
  if (CRADLE_UNLIKELY(mutator->shadow_top == mutator->shadow_watermark)) cradle_pop_slow(mutator, 1);
  return *--mutator->shadow_top;
}
CRADLE_INLINE void *cradle_pop(cradle_mutator *mutator) {
  return (void *)(uintptr_t)cradle_pop_word(mutator);
}
/* Drops count words; below the base it is misuse. */
CRADLE_INLINE void cradle_pop_many(cradle_mutator *mutator, size_t count) {
  if (CRADLE_UNLIKELY((size_t)(mutator->shadow_top - mutator->shadow_watermark) < count))
    cradle_pop_slow(mutator, count);
  mutator->shadow_top -= count;
}
/* The word that lies index words below the top, to be read or written: 0 is the last one pushed. Below the base it is
 * misuse. Write through the address only until the next call that may collect: a collection takes the words that it
 * leaves for unchanged until they are popped or looked up anew. */
CRADLE_INLINE cradle_word *cradle_peek(cradle_mutator *mutator, size_t index) {
  if (CRADLE_UNLIKELY(index >= (size_t)(mutator->shadow_top - mutator->shadow_watermark)))
    cradle_peek_slow(mutator, index);
  return mutator->shadow_top - 1 - index;
}

/* --- longjmp --- */

/* What a setjmp must save and a longjmp restore: how deep the shadow stack, the scoped roots and the no-collection
 * regions are. A longjmp runs no cleanup, so restore right after it lands. That it is missing is found by the verifier
 * (CRADLE_VERIFY=1, CRADLE_STRESS=auto), and by the end of a scope that was open at the setjmp. Rooted locals of the
 * setjmp frame must be volatile. Neither function collects. Restoring what is deeper than the stacks are now is
 * misuse. */
typedef struct cradle_checkpoint {
  size_t shadow_depth, scoped_depth; /* words */
  uint64_t no_collect_depth;
} cradle_checkpoint;
CRADLE_API cradle_checkpoint cradle_checkpoint_save(const cradle_mutator *mutator);
CRADLE_API void cradle_checkpoint_restore(cradle_mutator *mutator, const cradle_checkpoint *checkpoint);

/* --- scoped roots --- */

/* Roots a local pointer variable, which holds a valid reference or NULL now and from here on, until the end of the
 * scope. What is no pointer does not compile. The stack of these roots grows as far as options.shadow_stack_bytes;
 * beyond, it is misuse with a message. In a switch a case that roots has braces of its own: a jump over the root into
 * its scope would end one that was never begun, and gcc does not say so. */
#define CRADLE_ROOT(mutator, variable) \
  CRADLE_STATIC_ASSERT_(CRADLE_IS_POINTER_(variable), "CRADLE_ROOT: " #variable " is not a pointer variable"); \
  CRADLE_SCOPED_(mutator, variable, CRADLE_KIND_REFERENCE, #variable, CRADLE_JOIN(cradle_root_, __COUNTER__))
/* The same for a local 8-byte variable with a value in the heap's encoding. */
#define CRADLE_ROOT_VALUE(mutator, variable) \
  CRADLE_STATIC_ASSERT_(CRADLE_IS_WORD_(variable), \
                        "CRADLE_ROOT_VALUE: " #variable " is not an 8-byte variable at a multiple of 8"); \
  CRADLE_SCOPED_(mutator, variable, CRADLE_KIND_VALUE, #variable, CRADLE_JOIN(cradle_root_, __COUNTER__))

/* --- root ranges --- */

/* A VM's value stack: the words from where one pointer variable of the embedder's points up to where another points,
 * both of any pointer type. The collector reads the variables at every collection, so that the stack may grow and be
 * reallocated. What they say must be possible (a base above the top is not), or it is misuse: when the range is added,
 * and when a collection begins. The words hold current values or zero. The structure is the embedder's, made by
 * CRADLE_ROOT_RANGE, and stays in place while it is registered; several ranges may be (one a coroutine). Adding one
 * looks through those that are there, and removing one through those that were added later. */
typedef struct cradle_root_range {
  struct cradle_root_range *next; /* the collector's */
  const void *base;               /* the address of the variable that points to the first word */
  const void *top;                /* the address of the variable that points behind the last */
  cradle_kind kind;
  const char *name; /* for messages; NULL: "root range" */
} cradle_root_range;
/* Makes one of the two pointer variables, of which it takes the addresses: CRADLE_ROOT_RANGE(vm->base, vm->top,
 * CRADLE_KIND_REFERENCE, "stack"). What is no pointer variable, such as the array of the words, does not compile. */
#define CRADLE_ROOT_RANGE(base_variable, top_variable, kind_of_words, name_or_null) \
  CRADLE_RANGE_(base_variable, top_variable, kind_of_words, name_or_null)
/* Registers a range until it is removed, or ends that. Adding one twice, or an incomplete one, is misuse. */
CRADLE_API void cradle_root_range_add(cradle_mutator *mutator, cradle_root_range *range);
CRADLE_API void cradle_root_range_remove(cradle_mutator *mutator, cradle_root_range *range);

/* --- global roots --- */

/* Registers an 8-byte variable by address until it is removed or the heap is freed. The same address twice, one that is
 * NULL or no multiple of 8, a kind that is none, and removing what is not registered, are misuse. When memory for the
 * registration runs out the out-of-memory handler is called, or false returned by the try variant. */
CRADLE_API void cradle_global_root_add(cradle_heap *heap, void *address, cradle_kind kind);
CRADLE_API CRADLE_RESULT_MATTERS bool cradle_try_global_root_add(cradle_heap *heap, void *address, cradle_kind kind);
CRADLE_API void cradle_global_root_remove(cradle_heap *heap, void *address);

/* --- root callback --- */

/* Called at every collection to report further roots with the cradle_visit functions; same rules as a trace callback.
 * One a heap; NULL takes it away. */
typedef void (*cradle_root_function)(void *data, cradle_visitor *visitor);
CRADLE_API void cradle_root_callback_set(cradle_heap *heap, cradle_root_function function, void *data);

CRADLE_END_DECLS

#endif
