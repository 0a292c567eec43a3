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

#include <cradle/mutator.h>

CRADLE_BEGIN_DECLS

/* --- the shadow stack: words of the kind that options.shadow_stack names --- */

/* Commits more of the stack; beyond options.shadow_stack_bytes it is misuse with a message, never silent. */
CRADLE_API CRADLE_COLD void cradle_push_slow(cradle_mutator *mutator, cradle_word word);
CRADLE_API CRADLE_COLD void cradle_pop_misuse(cradle_mutator *mutator, size_t count);
CRADLE_API CRADLE_COLD void cradle_peek_misuse(cradle_mutator *mutator, size_t index); /* with CRADLE_CHECKED */

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
CRADLE_INLINE cradle_word cradle_pop_word(cradle_mutator *mutator) {
  if (CRADLE_UNLIKELY(mutator->shadow_top == mutator->shadow_base)) cradle_pop_misuse(mutator, 1);
  return *--mutator->shadow_top;
}
CRADLE_INLINE void *cradle_pop(cradle_mutator *mutator) {
  return (void *)(uintptr_t)cradle_pop_word(mutator);
}
/* Drops count words; below the base it is misuse. */
CRADLE_INLINE void cradle_pop_many(cradle_mutator *mutator, size_t count) {
  if (CRADLE_UNLIKELY((size_t)(mutator->shadow_top - mutator->shadow_base) < count)) cradle_pop_misuse(mutator, count);
  mutator->shadow_top -= count;
}
/* The word that lies index words below the top: 0 is the last one pushed. Below the base it is misuse, which only
 * CRADLE_CHECKED finds. */
CRADLE_INLINE cradle_word *cradle_peek(cradle_mutator *mutator, size_t index) {
  if (CRADLE_CHECKED && index >= (size_t)(mutator->shadow_top - mutator->shadow_base))
    cradle_peek_misuse(mutator, index);
  return mutator->shadow_top - 1 - index;
}

/* --- unwinding --- */

/* What a setjmp must save and a longjmp restore: the shadow stack's top, the chain of scoped roots and the depth of
 * no-collection regions. A longjmp runs no cleanup, so call cradle_unwind right after it lands; the collector's checks
 * find it missing in builds with assertions. Rooted locals of the setjmp frame must be volatile. */
typedef struct cradle_checkpoint {
  size_t shadow_depth;
  cradle_scoped_root *scoped_roots;
  uint64_t no_collect_depth;
} cradle_checkpoint;
CRADLE_API cradle_checkpoint cradle_save(const cradle_mutator *mutator);
CRADLE_API void cradle_unwind(cradle_mutator *mutator, const cradle_checkpoint *checkpoint);

/* --- scoped roots --- */

/* Closing a scope that is not the innermost is misuse. */
CRADLE_API CRADLE_COLD void cradle_scope_misuse(cradle_scoped_root *root);
CRADLE_INLINE cradle_scoped_root cradle_scope_describe(cradle_mutator *mutator, void *address, cradle_kind kind) {
  cradle_scoped_root root = {mutator->scoped_roots, address, mutator, (uint64_t)kind};
  return root;
}
CRADLE_INLINE void cradle_scope_open(cradle_scoped_root *root) {
  root->mutator->scoped_roots = root;
}
CRADLE_INLINE void cradle_scope_close(cradle_scoped_root *root) {
  if (CRADLE_UNLIKELY(root->mutator->scoped_roots != root)) cradle_scope_misuse(root);
  root->mutator->scoped_roots = root->previous;
}

/* A name of its own for each root. */
#define CRADLE_JOIN_(a, b) a##b
#define CRADLE_JOIN(a, b) CRADLE_JOIN_(a, b)
#define CRADLE_SCOPED_(mutator, variable, kind, name) \
  cradle_scoped_root name __attribute__((__cleanup__(cradle_scope_close))) = \
      cradle_scope_describe((mutator), (void *)(uintptr_t)&(variable), (kind)); \
  cradle_scope_open(&name)
/* Roots a local pointer variable, which holds a valid reference or NULL now and from here on, until the end of the
 * scope. One root a source line: the line is in its name, and a second one there does not compile. In a switch a case
 * that roots has braces of its own: a jump over the root into its scope would end one that was never begun, and gcc
 * does not say so. */
#define CRADLE_ROOT(mutator, variable) \
  CRADLE_SCOPED_(mutator, variable, CRADLE_KIND_REFERENCE, CRADLE_JOIN(cradle_root_, __LINE__))
/* The same for a local 8-byte variable with a value in the heap's encoding. */
#define CRADLE_ROOT_VALUE(mutator, variable) \
  CRADLE_SCOPED_(mutator, variable, CRADLE_KIND_VALUE, CRADLE_JOIN(cradle_root_, __LINE__))

/* --- root ranges --- */

/* A VM's value stack: the words from *base up to, not including, *top, both variables of the embedder's that the
 * collector reads at every collection, so that the stack may grow and be reallocated. The words hold current values or
 * zero. The structure is the embedder's and stays in place while it is registered; several ranges may be (one a
 * coroutine). Adding one looks through those that are there, and removing one through those that were added later. */
typedef struct cradle_root_range {
  struct cradle_root_range *next; /* the collector's */
  void *const *base;
  void *const *top;
  cradle_kind kind;
  const char *name; /* for messages; NULL: "root range" */
} cradle_root_range;
CRADLE_API void cradle_root_range_add(cradle_mutator *mutator,
                                      cradle_root_range *range); /* misuse: twice, or incomplete */
CRADLE_API void cradle_root_range_remove(cradle_mutator *mutator, cradle_root_range *range);

/* --- global roots --- */

/* Registers an 8-byte variable by address until it is removed or the heap is freed. The same address twice, one that is
 * NULL or no multiple of 8, a kind that is none, and removing what is not registered, are misuse. false when memory for
 * the registration runs out. */
CRADLE_API CRADLE_RESULT_MATTERS bool cradle_global_root_add(cradle_heap *heap, void *address, cradle_kind kind);
CRADLE_API void cradle_global_root_remove(cradle_heap *heap, void *address);

/* --- root callback --- */

/* Called at every collection to report further roots with the cradle_visit functions; same rules as a trace callback.
 * One a heap; NULL takes it away. */
typedef void (*cradle_root_function)(void *data, cradle_visitor *visitor);
CRADLE_API void cradle_root_callback_set(cradle_heap *heap, cradle_root_function function, void *data);

CRADLE_END_DECLS

#endif
