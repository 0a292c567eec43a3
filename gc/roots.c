/* Roots: registration, and the cold parts of the shadow stack and of scopes. */
#include <stdlib.h>
#include <string.h>

#include "gc/check.h"
#include "gc/heap.h"
#include "gc/visit.h"

/* --- shadow stack --- */

void cradle_push_slow(cradle_mutator *mutator, cradle_word word) {
  crd_mutator_check_thread(mutator, "cradle_push");
  crd_word_stack *shadow = &mutator_of(mutator)->shadow;
  if (!crd_word_stack_grow(shadow)) {
    crd_text text = {.length = 0};
    crd_text_add(&text, "cradle_push: the shadow stack is full at ");
    crd_text_number(&text, word_stack_committed(shadow));
    crd_text_add(&text, " bytes (options.shadow_stack_bytes, or memory refused)");
    crd_misuse(mutator->heap, text.buffer);
  }
  mutator->shadow_limit = shadow->limit;
  *mutator->shadow_top++ = word;
}

void cradle_pop_misuse(cradle_mutator *mutator, size_t count) {
  crd_text text = {.length = 0};
  crd_text_add(&text, "shadow stack: a pop of ");
  crd_text_number(&text, count);
  crd_text_add(&text, " words goes below its base; it holds ");
  crd_text_number(&text, (uint64_t)(mutator->shadow_top - mutator->shadow_base));
  crd_misuse(mutator->heap, text.buffer);
}

void cradle_peek_misuse(cradle_mutator *mutator, size_t index) {
  crd_text text = {.length = 0};
  crd_text_add(&text, "cradle_peek: there is no word ");
  crd_text_number(&text, index);
  crd_text_add(&text, " below the shadow stack's top; it holds ");
  crd_text_number(&text, (uint64_t)(mutator->shadow_top - mutator->shadow_base));
  crd_misuse(mutator->heap, text.buffer);
}

/* --- scopes --- */

void cradle_scope_misuse(cradle_scoped_root *root) {
  crd_misuse(root->mutator->heap,
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

void cradle_root_range_clear(void *from, void *to) {
  memset(from, 0, (size_t)((char *)to - (char *)from));
}

/* --- global roots --- */

static size_t find_global(const cradle_heap *heap, const void *address) {
  size_t at = heap->global_count;
  while (at > 0 && (const void *)heap->globals[at - 1].address != address) at--;
  return at;
}

static bool grow_globals(cradle_heap *heap) {
  size_t capacity = heap->global_capacity == 0 ? 16 : heap->global_capacity * 2;
  crd_global_root *globals = realloc(heap->globals, capacity * sizeof *globals);
  if (globals == NULL) return false;
  heap->globals = globals;
  heap->global_capacity = capacity;
  return true;
}

bool cradle_global_root_add(cradle_heap *heap, void *address, cradle_kind kind) {
  heap_check(heap, "cradle_global_root_add");
  if (address == NULL || (uintptr_t)address % 8 != 0 || !is_kind(kind))
    crd_misuse(heap, "cradle_global_root_add: wants a variable's address, which is a multiple of 8, and a cradle_kind");
  if (find_global(heap, address) != 0) crd_misuse(heap, "cradle_global_root_add: the address is registered already");
  if (heap->global_count == heap->global_capacity && !grow_globals(heap)) return false;
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

void cradle_visit_reference(cradle_visitor *visitor, void *slot) {
  visitor->words++;
  visitor->reference(visitor->context, slot);
}

void cradle_visit_value(cradle_visitor *visitor, void *slot) {
  visitor->words++;
  visitor->value(visitor->context, slot);
}

void cradle_visit_references(cradle_visitor *visitor, void *slots, size_t count) {
  visitor->words += count;
  for (size_t i = 0; i < count; i++) visitor->reference(visitor->context, (cradle_word *)slots + i);
}

void cradle_visit_values(cradle_visitor *visitor, void *slots, size_t count) {
  visitor->words += count;
  for (size_t i = 0; i < count; i++) visitor->value(visitor->context, (cradle_word *)slots + i);
}
