#include "gc/word_stack.h"

#include "gc/platform/pages.h"

#define FIRST_COMMIT_BYTES ((size_t)64 << 10)

bool crd_word_stack_init(crd_word_stack *stack, size_t size, size_t page_bytes, const char *name) {
  size_t bytes = (size + page_bytes - 1) & ~(page_bytes - 1);
  void *base = NULL;
  while (base == NULL && bytes >= page_bytes) {
    base = crd_pages_reserve(bytes, page_bytes, NULL);
    if (base == NULL) bytes = (bytes / 2) & ~(page_bytes - 1);
  }
  if (base == NULL) return false;
  crd_pages_name(base, bytes, name);
  stack->base = stack->top = stack->limit = base;
  stack->end = (cradle_word *)((char *)base + bytes);
  return true;
}

void crd_word_stack_fini(crd_word_stack *stack) {
  if (stack->base != NULL) crd_pages_unreserve(stack->base, (size_t)((char *)stack->end - (char *)stack->base));
  *stack = (crd_word_stack){NULL, NULL, NULL, NULL};
}

bool crd_word_stack_grow(crd_word_stack *stack) {
  size_t committed = word_stack_committed(stack);
  size_t room = (size_t)((char *)stack->end - (char *)stack->limit);
  size_t more = committed < FIRST_COMMIT_BYTES ? FIRST_COMMIT_BYTES : committed;
  if (more > room) more = room;
  if (more == 0 || !crd_pages_commit(stack->limit, more)) return false;
  stack->limit = (cradle_word *)((char *)stack->limit + more);
  return true;
}

void crd_word_stack_discard(crd_word_stack *stack, size_t page_bytes) {
  uintptr_t from = ((uintptr_t)stack->top + page_bytes - 1) & ~(uintptr_t)(page_bytes - 1);
  if (from < (uintptr_t)stack->limit) (void)crd_pages_discard((void *)from, (uintptr_t)stack->limit - from);
}
