/* Visiting the roots: the one place that knows where they are. As in gc/object/visit.h, each phase gets its own loops.
 *
 * A root is a word outside of the heap that keeps an object alive. Some are looked at all at once, in each collection:
 * the mutator's shadow stack, scoped roots and root ranges, global roots, and what the root callback reports. Handles,
 * pins and finalizer queues can be many and change seldom, so each phase looks at them in its own
 * way. docs/design/roots.md says why the two stacks are built as they are. The functions return the words looked at.
 */
#ifndef CRADLE_GC_ROOTS_H
#define CRADLE_GC_ROOTS_H

#include "gc/object/visit.h"
#include "gc/space.h"

typedef struct crd_global_root {
  cradle_word *address;
  cradle_kind kind;
} crd_global_root;

/* The roots that no root stack has. */
struct crd_roots {
  crd_space *space; /* its mutators have the others */
  crd_global_root *globals;
  uint32_t global_count, global_capacity;
  crd_address_map global_of; /* the variable's address: its place in globals */
  cradle_root_function root_callback;
  void *root_callback_data;
};

/* The words of a range are [base, top). base and top are read from variables of the program's, which may have any
 * pointer type. */
static inline cradle_word *range_base(const cradle_root_range *range) {
  return object_at(*object_at(address_of(range->base)));
}
static inline cradle_word *range_top(const cradle_root_range *range) {
  return object_at(*object_at(address_of(range->top)));
}

/* Describes the first range whose variables hold something impossible, or that was overwritten. false: there is none.
 * all: also looks at the ranges of root stacks that did not run since the last minor collection. */
bool crd_ranges_fault(crd_mutator *mutator, bool all, crd_text *text);
/* Before a collection begins: misuse if there is such a range. */
void crd_ranges_check(crd_mutator *mutator);
/* Whether there may be ranges to check. */
static inline bool mutator_may_have_ranges(const crd_mutator *mutator) {
  bool only_own = mutator->rings[ROOT_STACKS_RAN].next == mutator->rings[ROOT_STACKS_RAN].previous;
  return mutator->ranges != NULL || mutator->own.ranges != NULL || !only_own;
}

CRD_ALWAYS_INLINE uint64_t visit_range(cradle_root_range *range, crd_slot_function visit, void *context) {
  cradle_word *base = range_base(range), *top = range_top(range);
  if (base >= top) return 0;
  visit_words(base, top, range->kind == CRADLE_KIND_VALUE, visit, context);
  return (uint64_t)(top - base);
}

typedef struct crd_scoped_root {
  cradle_word *variable;
  cradle_kind kind;
  const char *name; /* "list (reader.c:12)", or NULL: the program was not compiled with CRADLE_CHECKED */
  uintptr_t frame;  /* of the function that opened the scope; 0 without a name */
} crd_scoped_root;

/* Reads the scoped root whose last word lies below *at, and moves *at to the next root further out [mutator.7]. */
CRD_ALWAYS_INLINE crd_scoped_root scoped_root_next(const cradle_word **at) {
  cradle_word word = *--*at;
  crd_scoped_root root = {.variable = object_at(word & ~(CRADLE_SCOPED_VALUE | CRADLE_SCOPED_NAMED)),
                          .kind = word & CRADLE_SCOPED_VALUE ? CRADLE_KIND_VALUE : CRADLE_KIND_REFERENCE};
  if (CRADLE_UNLIKELY(word & CRADLE_SCOPED_NAMED)) {
    root.name = memory_at(*--*at);
    root.frame = *--*at;
  }
  return root;
}

/* The running root stack's tops are in the public part of the mutator; crd_root_stack_store was called. */
#define EACH_ROOT_STACK(stack, mutator, ring_number) \
  cradle_root_stack *stack = root_stack_of((mutator)->rings[ring_number].next); \
  &(stack)->ring != &(mutator)->rings[ring_number]; \
  (stack) = root_stack_of((stack)->ring.next)

CRD_ALWAYS_INLINE uint64_t visit_ranges(cradle_root_range *range, crd_slot_function visit, void *context) {
  uint64_t words = 0;
  for (; range != NULL; range = range->next) words += visit_range(range, visit, context);
  return words;
}

/* Scoped roots are prefetched so many words ahead: their variables lie in frames all over the C stack. */
#define SCOPED_AHEAD 16

/* Visits the roots of a root stack: the shadow stack, scoped roots from the innermost on, ranges. changed: leaves out
 * the words below the watermark. */
CRD_ALWAYS_INLINE uint64_t visit_root_stack(cradle_kind shadow_stack, const cradle_root_stack *stack, bool changed,
                                            crd_slot_function visit, void *context) {
  cradle_word *top = stack->shadow.top, *from = changed ? stack->watermark : stack->shadow.base;
  ASSERT(stack->shadow.base <= stack->watermark && stack->watermark <= top && top <= stack->shadow.limit,
         "[mutator.3] the shadow stack's watermark and top");
  ASSERT(stack->scoped.base < stack->scoped.top && stack->scoped.top <= stack->scoped.limit,
         "[mutator.7] the top of the scoped roots");
  uint64_t words = (uint64_t)(top - from);
  visit_words(from, top, shadow_stack == CRADLE_KIND_VALUE, visit, context);
  const cradle_word *base = stack->scoped.base + 1;
  for (const cradle_word *at = stack->scoped.top; at > base; words++) {
    if (at - base > SCOPED_AHEAD) __builtin_prefetch(memory_at(at[-SCOPED_AHEAD - 1]));
    crd_scoped_root root = scoped_root_next(&at);
    visit(context, root.kind == CRADLE_KIND_VALUE, root.variable);
  }
  return words + visit_ranges(stack->ranges, visit, context);
}

/* Which roots a phase looks at. CHANGED: without what refers to nothing young, which is shadow-stack words below
 * the watermark [mutator.6] and root stacks that did not run [root_stack.2]. RAN: without the latter. */
typedef enum crd_roots_which { ROOTS_ALL, ROOTS_RAN, ROOTS_CHANGED } crd_roots_which;

/* The roots that a phase looks at all at once: the mutators' and the global ones. */
CRD_ALWAYS_INLINE uint64_t visit_roots_if(const crd_roots *roots, crd_roots_which which, crd_slot_function visit,
                                          void *context) {
  uint64_t words = roots->global_count;
  for (EACH_MUTATOR(mutator, roots->space)) {
    crd_root_stack_store(mutator);
    for (int ring = ROOT_STACKS_RAN; ring < (which == ROOTS_ALL ? ROOT_STACKS_RINGS : ROOT_STACKS_RAN + 1); ring++)
      for (EACH_ROOT_STACK(stack, mutator, ring))
        words += visit_root_stack(roots->space->options->shadow_stack, stack, which == ROOTS_CHANGED, visit, context);
    words += visit_ranges(mutator->ranges, visit, context);
    if (which == ROOTS_CHANGED) crd_root_stacks_rest(mutator);
  }
  for (size_t i = 0; i < roots->global_count; i++)
    visit(context, roots->globals[i].kind == CRADLE_KIND_VALUE, roots->globals[i].address);
  return words;
}
/* The roots that the root callback reports. They are apart from the others, because minor collections give them
 * another visit function (gc/young/promote.h). */
static inline uint64_t visit_callback_roots(const crd_roots *roots, crd_slot_function visit, void *context) {
  if (CRADLE_LIKELY(roots->root_callback == NULL)) return 0;
  cradle_visitor visitor = {visit, context, 0};
  roots->root_callback(roots->root_callback_data, &visitor);
  return visitor.words;
}
CRD_ALWAYS_INLINE uint64_t visit_roots(const crd_roots *roots, crd_slot_function visit, void *context) {
  uint64_t words = visit_roots_if(roots, ROOTS_ALL, visit, context);
  return words + visit_callback_roots(roots, visit, context);
}
/* For minor collections, without the callback's roots. Afterwards the words that are on the shadow stacks now count
 * as unchanged, and so do the root stacks that are suspended. */
CRD_ALWAYS_INLINE uint64_t visit_changed_roots(const crd_roots *roots, crd_slot_function visit, void *context) {
  return visit_roots_if(roots, ROOTS_CHANGED, visit, context);
}
/* The words that visit_changed_roots leaves out, but for those of root stacks that did not run. */
CRD_ALWAYS_INLINE void visit_unchanged_roots(const crd_roots *roots, crd_slot_function visit, void *context) {
  for (EACH_MUTATOR(mutator, roots->space)) {
    crd_root_stack_store(mutator);
    for (EACH_ROOT_STACK(stack, mutator, ROOT_STACKS_RAN))
      visit_words(stack->shadow.base, stack->watermark, roots->space->options->shadow_stack == CRADLE_KIND_VALUE, visit,
                  context);
  }
}

#endif
