/* Roots: how the collector learns which references the program itself holds.
 *
 * A reference in a C local, register or global that is not rooted is stale after the next call that may collect. There
 * are five ways to root a reference. When its object moves, the collector updates the root. No function here collects.
 * Use none of them in a callback, which runs in the middle of a collection: registrations are refused there with a
 * message. The inline push, pop and scopes are not refused, but it is undefined whether the collection sees their
 * roots.
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

/* Push or pop a word or a reference. Popping from an empty stack is misuse. */
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
/* One comparison finds both an empty stack and a word below the watermark [mutator.6]. */
CRADLE_INLINE cradle_word cradle_pop_word(cradle_mutator *mutator) {
  if (CRADLE_UNLIKELY(mutator->shadow_top == mutator->shadow_watermark)) cradle_pop_slow(mutator, 1);
  return *--mutator->shadow_top;
}
CRADLE_INLINE void *cradle_pop(cradle_mutator *mutator) {
  return (void *)(uintptr_t)cradle_pop_word(mutator);
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

/* What a setjmp must save and a longjmp restore: how deep the shadow stack, the scoped roots and the no-collection
 * regions are. A longjmp runs no cleanup, so restore right after it lands. The verifier (CRADLE_VERIFY=1,
 * CRADLE_STRESS=auto) finds a missing restore, and so does the end of a scope that was open at the setjmp. Rooted
 * locals of the function with the setjmp must be volatile. Neither function collects. Restoring a checkpoint that is
 * deeper than the stacks are now is misuse. */
typedef struct cradle_checkpoint {
  size_t shadow_depth, scoped_depth; /* words */
  uint64_t no_collect_depth;
} cradle_checkpoint;
CRADLE_API cradle_checkpoint cradle_checkpoint_save(const cradle_mutator *mutator);
CRADLE_API void cradle_checkpoint_restore(cradle_mutator *mutator, const cradle_checkpoint *checkpoint);

/* --- scoped roots --- */

/* Roots a local pointer variable until the end of its scope. Until then the variable must always hold a valid reference
 * or NULL. A variable that is no pointer does not compile. The stack of scoped roots grows up to
 * options.shadow_stack_bytes; more is misuse with a message. In a switch, give each case that roots a variable its own
 * braces: otherwise a jump to a later case skips CRADLE_ROOT and still ends its scope, and gcc does not warn. */
#define CRADLE_ROOT(mutator, variable) \
  CRADLE_STATIC_ASSERT_(CRADLE_IS_POINTER_(variable), "CRADLE_ROOT: " #variable " is not a pointer variable"); \
  CRADLE_SCOPED_(mutator, variable, CRADLE_KIND_REFERENCE, #variable, CRADLE_JOIN(cradle_root_, __COUNTER__))
/* As CRADLE_ROOT, for a local 8-byte variable with a value in the heap's encoding. */
#define CRADLE_ROOT_VALUE(mutator, variable) \
  CRADLE_STATIC_ASSERT_(CRADLE_IS_WORD_(variable), \
                        "CRADLE_ROOT_VALUE: " #variable " is not an 8-byte variable at a multiple of 8"); \
  CRADLE_SCOPED_(mutator, variable, CRADLE_KIND_VALUE, #variable, CRADLE_JOIN(cradle_root_, __COUNTER__))

/* --- root ranges --- */

/* A root range: a VM's value stack. One pointer variable of the embedder's points to its first word, another behind its
 * last word; both may have any pointer type. The collector reads the two variables at every collection, so the stack
 * may grow and be reallocated. A base above the top, or other impossible addresses, are misuse, found when the range is
 * added and when a collection begins. Each word holds a current value or zero. Make the structure with
 * CRADLE_ROOT_RANGE; it belongs to the embedder and must stay in place while it is registered. Several ranges may be
 * registered, for instance one for each coroutine. The time to add a range grows with the number of registered ranges;
 * the time to remove it, with the number of ranges that were added later. */
typedef struct cradle_root_range {
  struct cradle_root_range *next; /* used by the collector */
  const void *base;               /* the address of the variable that points to the first word */
  const void *top;                /* the address of the variable that points behind the last */
  cradle_kind kind;
  const char *name; /* for messages; NULL: "root range" */
} cradle_root_range;
/* Makes a range from the two pointer variables, whose addresses it takes: CRADLE_ROOT_RANGE(vm->base, vm->top,
 * CRADLE_KIND_REFERENCE, "stack"). Anything else than a pointer variable, such as the array of the words, does not
 * compile. */
#define CRADLE_ROOT_RANGE(base_variable, top_variable, kind_of_words, name_or_null) \
  CRADLE_RANGE_(base_variable, top_variable, kind_of_words, name_or_null)
/* Register a range, and remove it. It is misuse to add a range twice, to add an incomplete one, or to remove one that
 * is not registered. */
CRADLE_API void cradle_root_range_add(cradle_mutator *mutator, cradle_root_range *range);
CRADLE_API void cradle_root_range_remove(cradle_mutator *mutator, cradle_root_range *range);

/* --- global roots --- */

/* Register the address of an 8-byte variable until it is removed or the heap is freed. It is misuse to add an address
 * twice, an address that is NULL or not a multiple of 8, or an unknown kind, and to remove an address that is not
 * registered. When memory for the registration runs out the out-of-memory handler is called, or the try variant returns
 * false. */
CRADLE_API void cradle_global_root_add(cradle_heap *heap, void *address, cradle_kind kind);
CRADLE_API CRADLE_RESULT_MATTERS bool cradle_try_global_root_add(cradle_heap *heap, void *address, cradle_kind kind);
CRADLE_API void cradle_global_root_remove(cradle_heap *heap, void *address);

/* --- root callback --- */

/* A root callback is called at every collection and reports further roots with the cradle_visit functions. It follows
 * the rules of a trace callback (cradle/object.h). A heap has one; NULL removes it. */
typedef void (*cradle_root_function)(void *data, cradle_visitor *visitor);
CRADLE_API void cradle_root_callback_set(cradle_heap *heap, cradle_root_function function, void *data);

CRADLE_END_DECLS

#endif
