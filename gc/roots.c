/* Roots: registration, and the cold parts of the shadow stack and of scopes. */
#include "gc/roots.h"

#include <string.h>

#include <cradle/object.h>
#include <cradle/roots.h>

#include "gc/base/address.h"
#include "gc/base/check.h"
#include "gc/base/grow.h"
#include "gc/base/word_stack.h"
#include "gc/heap.h"
#include "gc/misuse.h"
#include "gc/mutator.h"

/* --- shadow stack --- */

void cradle_push_slow(cradle_mutator *mutator, cradle_word word) {
  crd_mutator_check_thread(mutator, "cradle_push");
  crd_word_stack *shadow = &mutator_of(mutator)->shadow;
  if (!crd_word_stack_grow(shadow)) {
    crd_misuse(mutator->heap,
               "cradle_push: the shadow stack is full at %zu bytes (options.shadow_stack_bytes, or memory refused)",
               word_stack_committed(shadow));
  }
  mutator->shadow_limit = shadow->limit;
  ASSERT(mutator->shadow_top < mutator->shadow_limit, "[mutator.3] the shadow stack grew and has no room");
  *mutator->shadow_top++ = word;
}

static size_t shadow_words(const cradle_mutator *mutator) {
  return (size_t)(mutator->shadow_top - mutator->shadow_base);
}

void cradle_pop_misuse(cradle_mutator *mutator, size_t count) {
  crd_misuse(mutator->heap, "shadow stack: a pop of %zu words goes below its base; it holds %zu", count,
             shadow_words(mutator));
}

void cradle_peek_misuse(cradle_mutator *mutator, size_t index) {
  crd_misuse(mutator->heap, "cradle_peek: there is no word %zu below the shadow stack's top; it holds %zu", index,
             shadow_words(mutator));
}

/* --- scopes --- */

void cradle_scope_misuse(cradle_scoped_root *root) {
  crd_misuse(
      root->mutator->heap,
      "scoped roots: the scope that ends is not the innermost; scopes are unbalanced, or cradle_unwind is missing "
      "after a longjmp");
}

static bool is_kind(cradle_kind kind) {
  return kind == CRADLE_KIND_REFERENCE || kind == CRADLE_KIND_VALUE;
}

/* --- root ranges --- */

void cradle_root_range_add(cradle_mutator *mutator, cradle_root_range *range) {
  crd_mutator_check_thread(mutator, "cradle_root_range_add");
  if (range->base == NULL || range->top == NULL || !is_kind(range->kind))
    crd_misuse(mutator->heap, "cradle_root_range_add: wants the addresses of base and top, and a cradle_kind");
  cradle_root_range **head = &mutator_of(mutator)->ranges;
  for (cradle_root_range *other = *head; other != NULL; other = other->next)
    if (other == range) crd_misuse(mutator->heap, "cradle_root_range_add: the range is registered already");
  range->next = *head;
  *head = range;
}

void cradle_root_range_remove(cradle_mutator *mutator, cradle_root_range *range) {
  crd_mutator_check_thread(mutator, "cradle_root_range_remove");
  cradle_root_range **link = &mutator_of(mutator)->ranges;
  while (*link != NULL && *link != range) link = &(*link)->next;
  if (*link == NULL) crd_misuse(mutator->heap, "cradle_root_range_remove: the range is not registered");
  *link = range->next;
}

/* --- global roots --- */

static size_t find_global(const cradle_heap *heap, const void *address) {
  size_t at = heap->global_count;
  while (at > 0 && (const void *)heap->globals[at - 1].address != address) at--;
  return at;
}

bool cradle_global_root_add(cradle_heap *heap, void *address, cradle_kind kind) {
  heap_check(heap, "cradle_global_root_add");
  if (address == NULL || address_of(address) % 8 != 0 || !is_kind(kind))
    crd_misuse(heap, "cradle_global_root_add: wants a variable's address, which is a multiple of 8, and a cradle_kind");
  if (find_global(heap, address) != 0) crd_misuse(heap, "cradle_global_root_add: the address is registered already");
  if (!GROW(heap->globals, heap->global_count, heap->global_capacity)) return false;
  heap->globals[heap->global_count++] = (crd_global_root){address, kind};
  return true;
}

void cradle_global_root_remove(cradle_heap *heap, void *address) {
  heap_check(heap, "cradle_global_root_remove");
  size_t at = find_global(heap, address);
  if (at == 0) crd_misuse(heap, "cradle_global_root_remove: the address is not registered");
  heap->globals[at - 1] = heap->globals[--heap->global_count];
}

/* --- callbacks --- */

void cradle_root_callback_set(cradle_heap *heap, cradle_root_function function, void *data) {
  heap_check(heap, "cradle_root_callback_set");
  heap->root_callback = function;
  heap->root_callback_data = data;
}

/* A visitor knows no heap, so that the default handler reports this misuse. */
static inline void check_reported(const void *slot, const char *what) {
  if (CRADLE_UNLIKELY(slot == NULL || address_of(slot) % 8 != 0))
    crd_misuse(NULL, "%s: wants the address of a slot, which is a multiple of 8, not %p", what, slot);
}

void cradle_visit_reference(cradle_visitor *visitor, void *slot) {
  check_reported(slot, "cradle_visit_reference");
  visitor->words++;
  visitor->reference(visitor->context, slot);
}

void cradle_visit_value(cradle_visitor *visitor, void *slot) {
  check_reported(slot, "cradle_visit_value");
  visitor->words++;
  visitor->value(visitor->context, slot);
}
