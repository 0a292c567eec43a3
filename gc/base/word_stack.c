#include "gc/base/word_stack.h"

#include "gc/base/address.h"
#include "gc/base/bits.h"
#include "gc/platform/limits.h"
#include "gc/platform/pages.h"

#define FIRST_COMMIT_BYTES ((size_t)64 << 10)
/* Where address space is limited, a stack takes at most one part in so many of what is left. */
#define ADDRESS_PARTS 16

bool crd_word_stack_init(crd_word_stack *stack, size_t size, size_t page_bytes, const char *name) {
  size_t bytes = align_up(crd_limits_share(size, ADDRESS_PARTS, false), page_bytes);
  void *base = crd_pages_reserve(bytes, page_bytes, NULL);
  if (base == NULL) bytes = align_up(crd_limits_share(bytes, ADDRESS_PARTS, true), page_bytes);
  for (; base == NULL && bytes >= page_bytes; bytes = base == NULL ? align_down(bytes / 2, page_bytes) : bytes)
    base = crd_pages_reserve(bytes, page_bytes, NULL);
  if (base == NULL) return false;
  crd_pages_name(base, bytes, name);
  stack->base = stack->top = stack->limit = base;
  stack->end = stack->base + bytes / sizeof *stack->base;
  return true;
}

void crd_word_stack_fini(crd_word_stack *stack) {
  ASSERT(word_stack_is_sound(stack), "[word_stack.1] a stack goes that is out of its bounds");
  if (stack->base != NULL) crd_pages_unreserve(stack->base, (size_t)((char *)stack->end - (char *)stack->base));
  *stack = (crd_word_stack){NULL, NULL, NULL, NULL};
}

void crd_word_stack_divide(crd_word_stack *stack, crd_word_stack *upper, size_t part, size_t of, size_t page_bytes) {
  ASSERT(stack->limit == stack->base, "[word_stack.1] a stack is divided that has memory");
  size_t pages = (size_t)((char *)stack->end - (char *)stack->base) / page_bytes;
  cradle_word *from = stack->end - pages * part / of * page_bytes / sizeof *from;
  *upper = (crd_word_stack){from, from, from, stack->end};
  stack->end = from;
}

/* Doubling makes the number of system calls small. The last step takes what is left of the addresses. */
bool crd_word_stack_grow(crd_word_stack *stack) {
  ASSERT(stack->base <= stack->limit && stack->limit <= stack->end, "[word_stack.1] more is committed than reserved");
  size_t committed = word_stack_committed(stack);
  size_t room = (size_t)((char *)stack->end - (char *)stack->limit);
  size_t more = committed < FIRST_COMMIT_BYTES ? FIRST_COMMIT_BYTES : committed;
  if (more > room) more = room;
  if (more == 0 || !crd_pages_commit(stack->limit, more)) return false;
  stack->limit += more / sizeof *stack->limit;
  return true;
}

void crd_word_stack_discard(crd_word_stack *stack, size_t page_bytes) {
  ASSERT(word_stack_is_sound(stack), "[word_stack.1] pages below the top would be dropped, or others");
  uintptr_t from = align_up(address_of(stack->top), page_bytes), limit = address_of(stack->limit);
  if (from < limit) (void)crd_pages_discard(memory_at(from), limit - from);
}
