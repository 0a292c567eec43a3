/* A stack of words with its own address space: it grows in place, by committing more of it, and never moves. While a
 * mutator runs, it keeps the top of its shadow stack itself.
 *
 *   [word_stack.1] base <= top <= limit <= end, and [base, limit) is committed. A stack without memory is all NULL: it
 *                  is empty and refuses every word.
 */
#ifndef CRADLE_GC_BASE_WORD_STACK_H
#define CRADLE_GC_BASE_WORD_STACK_H

#include "gc/base/check.h"

typedef struct crd_word_stack {
  cradle_word *base, *top, *limit, *end;
} crd_word_stack;

/* Reserves addresses for size bytes; where address space is limited or refused, for a share of what is left, down to a
 * page (gc/platform/limits.h). Commits nothing. false: no address space. */
bool crd_word_stack_init(crd_word_stack *stack, size_t size, size_t page_bytes, const char *name);
void crd_word_stack_fini(crd_word_stack *stack);
/* Puts another stack into the same reservation, which saves system calls: of `of` parts of the addresses it gets the
 * upper `part`. Nothing is committed yet. Before the lower stack ends, it gets the upper one's end back. */
void crd_word_stack_divide(crd_word_stack *stack, crd_word_stack *upper, size_t part, size_t of, size_t page_bytes);
/* Commits as much again as is committed. false: the end is reached or memory was refused; nothing changed. */
bool crd_word_stack_grow(crd_word_stack *stack);
/* Drops the pages above the top and keeps them committed: a stack that was full once would otherwise stay resident. */
void crd_word_stack_discard(crd_word_stack *stack, size_t page_bytes);

static inline bool word_stack_is_sound(const crd_word_stack *stack) {
  return stack->base <= stack->top && stack->top <= stack->limit && stack->limit <= stack->end;
}
static inline size_t word_stack_committed(const crd_word_stack *stack) {
  return (size_t)((char *)stack->limit - (char *)stack->base);
}

static inline size_t word_stack_count(const crd_word_stack *stack) {
  return (size_t)(stack->top - stack->base);
}
static inline bool word_stack_is_empty(const crd_word_stack *stack) {
  return stack->top == stack->base;
}

/* false: the stack is full, and nothing was pushed. */
static inline bool word_stack_push(crd_word_stack *stack, cradle_word word) {
  ASSERT(word_stack_is_sound(stack), "[word_stack.1] a push behind what is committed, or below the base");
  if (CRADLE_UNLIKELY(stack->top == stack->limit) && !crd_word_stack_grow(stack)) return false;
  *stack->top++ = word;
  return true;
}
/* The stack is not empty. */
static inline cradle_word word_stack_pop(crd_word_stack *stack) {
  ASSERT(!word_stack_is_empty(stack), "[word_stack.1] a pop below the base");
  return *--stack->top;
}

#endif
