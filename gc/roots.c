/* Roots: registration, and the cold parts of the shadow stack and of scopes. */
#include "gc/roots.h"

#include <stdlib.h>
#include <string.h>

#include "gc/base/grow.h"
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

/* The watermark is lowered by so many words more than are popped. So a program that pops many words one by one
 * seldom comes here, and the next collection looks at no more than these in vain. */
#define POPPED_AHEAD 32

void cradle_pop_slow(cradle_mutator *mutator, size_t count) {
  crd_mutator_check_thread(mutator, "cradle_pop");
  size_t depth = shadow_words(mutator);
  if (count > depth)
    crd_misuse(mutator->heap,
               "cradle_pop: the pop goes below the shadow stack's base (words popped: %zu, words held: %zu)", count,
               depth);
  size_t left = depth - count;
  mutator->shadow_watermark = mutator->shadow_base + (left > POPPED_AHEAD ? left - POPPED_AHEAD : 0);
}

void cradle_peek_slow(cradle_mutator *mutator, size_t index) {
  crd_mutator_check_thread(mutator, "cradle_peek");
  size_t depth = shadow_words(mutator);
  if (index >= depth)
    crd_misuse(mutator->heap, "cradle_peek: there is no word %zu below the shadow stack's top; it holds %zu", index,
               depth);
  mutator->shadow_watermark = mutator->shadow_top - 1 - index;
}

/* --- scopes --- */

static CRADLE_COLD _Noreturn void scoped_roots_are_full(cradle_mutator *mutator, const char *name) {
  if (mutator->heap == NULL)
    crd_misuse(NULL, "CRADLE_ROOT: the mutator was freed; root%s%s before cradle_mutator_free", *name ? " " : "", name);
  crd_misuse(mutator->heap,
             "CRADLE_ROOT%s%s: the stack of scoped roots is full at %zu bytes (options.shadow_stack_bytes, or memory "
             "refused)",
             *name ? ": " : "", name, word_stack_committed(&mutator_of(mutator)->scoped));
}

void cradle_scope_open_slow(cradle_mutator *mutator, cradle_word variable, const char *name) {
  bool named = variable & CRADLE_SCOPED_NAMED;
  crd_word_stack *scoped = &mutator_of(mutator)->scoped;
  if (mutator->heap != NULL) crd_mutator_check_thread(mutator, "CRADLE_ROOT");
  if (mutator->heap == NULL || !crd_word_stack_grow(scoped)) scoped_roots_are_full(mutator, named ? name : "");
  mutator->scoped_limit = scoped->limit;
  ASSERT(mutator->scoped_top + 1 < mutator->scoped_limit, "[mutator.7] the scoped roots grew and have no room");
  if (named) *mutator->scoped_top++ = address_of(name);
  *mutator->scoped_top++ = variable;
}

/* A freed mutator has no scoped roots, so each scope that ends comes here. */
static void close_after_the_mutator(crd_mutator *mutator) {
  ASSERT(mutator->open_scopes > 0, "[mutator.7] a freed mutator is kept for scopes that have ended");
  if (--mutator->open_scopes == 0) free(mutator);
}

void cradle_scope_close_slow(cradle_mutator *mutator, cradle_word variable) {
  if (mutator->heap == NULL) {
    close_after_the_mutator(mutator_of(mutator));
    return;
  }
  const cradle_word *at = mutator->scoped_top;
  crd_scoped_root innermost = {.name = NULL};
  if (at > mutator->scoped_base) innermost = scoped_root_next(&at);
  crd_misuse(mutator->heap,
             "CRADLE_ROOT: the scope that ends, of the variable at %p, is not the innermost, which is %s%s; scopes "
             "are unbalanced, or cradle_checkpoint_restore is missing after a longjmp",
             memory_at(variable & ~(CRADLE_SCOPED_VALUE | CRADLE_SCOPED_NAMED)),
             innermost.variable == NULL ? "none"
             : innermost.name == NULL   ? "another"
                                        : "",
             innermost.name == NULL ? "" : innermost.name);
}

static bool is_kind(cradle_kind kind) {
  return kind == CRADLE_KIND_REFERENCE || kind == CRADLE_KIND_VALUE;
}

static bool is_slot(const void *address) {
  return address != NULL && address_of(address) % 8 == 0;
}

/* --- root ranges --- */

/* No words of a program lie below: systems leave out the first pages. */
#define LOWEST_ADDRESS 4096

/* NULL if [base, top) may be words of the program's; otherwise what is wrong. The usual mistake is to give a range
 * the address of the words, where it wants the address of the variable that points to them. Its base is then the
 * first of the words: mostly zero, or a reference. */
static const char *fault_of_words(const cradle_heap *heap, uintptr_t base, uintptr_t top) {
  if (base == top) return NULL;
  if (base > top) return "the base is above the top";
  if (base % 8 != 0 || top % 8 != 0) return "one of them is no multiple of 8";
  if (base < LOWEST_ADDRESS) return "the base is no address";
  const crd_arenas *arenas = &heap->old.arenas;
  /* Both ends may lie in the old generation, in an object that does not move. One end alone cannot be right. */
  bool torn = arenas_contain(arenas, base) != arenas_contain(arenas, top - 1);
  return torn || heap_is_young(heap, base) || heap_is_young(heap, top - 1) ? "one of them is an object's" : NULL;
}

static const char *fault_of_range(const cradle_heap *heap, const cradle_root_range *range) {
  return fault_of_words(heap, address_of(range_base(range)), address_of(range_top(range)));
}

void crd_range_describe_fault(const cradle_heap *heap, const cradle_root_range *range, crd_text *text) {
  crd_text_format(text,
                  "root range %s: its base variable holds %p, its top variable %p: %s; CRADLE_ROOT_RANGE takes the "
                  "variables",
                  crd_show_name(range->name).buffer, (const void *)range_base(range), (const void *)range_top(range),
                  fault_of_range(heap, range));
}

const cradle_root_range *crd_range_impossible(const cradle_heap *heap) {
  const cradle_root_range *range = heap->mutator == NULL ? NULL : heap->mutator->ranges;
  while (range != NULL && fault_of_range(heap, range) == NULL) range = range->next;
  return range;
}

/* what: the public function with ": " behind it, or empty. */
static CRADLE_COLD void refuse_range(cradle_heap *heap, const cradle_root_range *range, const char *what) {
  crd_text text = {.length = 0};
  crd_text_format(&text, "%s", what);
  crd_range_describe_fault(heap, range, &text);
  crd_misuse(heap, "%s", text.buffer);
}

void crd_ranges_check(cradle_heap *heap) {
  const cradle_root_range *range = crd_range_impossible(heap);
  if (CRADLE_UNLIKELY(range != NULL)) refuse_range(heap, range, "");
}

void cradle_root_range_add(cradle_mutator *mutator, cradle_root_range *range) {
  crd_mutator_check_thread(mutator, "cradle_root_range_add");
  if (!is_slot(range->base) || !is_slot(range->top) || !is_kind(range->kind))
    crd_misuse(mutator->heap, "cradle_root_range_add: wants the addresses of base and top, and a cradle_kind");
  if (fault_of_range(mutator->heap, range) != NULL) refuse_range(mutator->heap, range, "cradle_root_range_add: ");
  cradle_root_range **head = &mutator_of(mutator)->ranges;
  /* A range that was entered twice would link the list to itself. */
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

/* false: no memory. what: the public function. */
static bool add_global(cradle_heap *heap, void *address, cradle_kind kind, const char *what) {
  crd_heap_check_thread(heap, what);
  if (!is_slot(address) || !is_kind(kind))
    crd_misuse(heap, "%s: wants a variable's address, which is a multiple of 8, and a cradle_kind", what);
  if (find_global(heap, address) != 0) crd_misuse(heap, "%s: the address is registered already", what);
  if (!GROW(heap->globals, heap->global_count, heap->global_capacity)) return false;
  heap->globals[heap->global_count++] = (crd_global_root){address, kind};
  return true;
}

bool cradle_try_global_root_add(cradle_heap *heap, void *address, cradle_kind kind) {
  return add_global(heap, address, kind, "cradle_try_global_root_add");
}

void cradle_global_root_add(cradle_heap *heap, void *address, cradle_kind kind) {
  if (!add_global(heap, address, kind, "cradle_global_root_add"))
    crd_out_of_room(heap, "cradle_global_root_add", "global root");
}

void cradle_global_root_remove(cradle_heap *heap, void *address) {
  crd_heap_check_thread(heap, "cradle_global_root_remove");
  size_t at = find_global(heap, address);
  if (at == 0) crd_misuse(heap, "cradle_global_root_remove: the address is not registered");
  /* The last takes the place: the order of global roots means nothing. */
  heap->globals[at - 1] = heap->globals[--heap->global_count];
}

/* --- callbacks --- */

void cradle_root_callback_set(cradle_heap *heap, cradle_root_function function, void *data) {
  crd_heap_check_thread(heap, "cradle_root_callback_set");
  heap->root_callback = function;
  heap->root_callback_data = data;
}

/* A visitor knows no heap, so the default handler reports this misuse. */
static inline void check_reported(const void *slot, const char *what) {
  if (CRADLE_UNLIKELY(!is_slot(slot)))
    crd_misuse(NULL, "%s: wants the address of a slot, which is a multiple of 8, not %p", what, slot);
}

void cradle_visit_reference(cradle_visitor *visitor, void *slot) {
  check_reported(slot, "cradle_visit_reference");
  visitor->words++;
  visitor->visit(visitor->context, false, slot);
}

void cradle_visit_value(cradle_visitor *visitor, void *slot) {
  check_reported(slot, "cradle_visit_value");
  visitor->words++;
  visitor->visit(visitor->context, true, slot);
}
