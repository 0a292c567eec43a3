#include "gc/roots.h"

#include <stdlib.h>
#include <string.h>

#include "gc/base/grow.h"
#include "gc/heap.h"
#include "gc/mutator.h"
#include "gc/report/misuse.h"
#include "gc/world.h"

/* --- shadow stack --- */

void cradle_push_slow(cradle_mutator *mutator, cradle_word word) {
  crd_mutator_check_thread(mutator, "cradle_push");
  crd_word_stack *shadow = &mutator_of(mutator)->running->shadow;
  if (!crd_root_stack_grow(mutator_of(mutator), shadow)) {
    crd_misuse(mutator->heap,
               "cradle_push: the shadow stack is full at %zu bytes (options.shadow_stack_bytes, or memory refused)",
               word_stack_committed(shadow));
  }
  ASSERT(mutator->shadow_top < mutator->shadow_limit, "[mutator.3] the shadow stack grew and has no room");
  *mutator->shadow_top++ = word;
}

static size_t shadow_words(const cradle_mutator *mutator) {
  return (size_t)(mutator->shadow_top - mutator->shadow_base);
}

/* The watermark is lowered by so many words more than are popped: a program that pops one by one seldom comes here. */
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
             *name ? ": " : "", name, word_stack_committed(&mutator_of(mutator)->running->scoped));
}

void cradle_scope_open_slow(cradle_mutator *mutator, cradle_word variable, const char *name, const void *frame) {
  bool named = variable & CRADLE_SCOPED_NAMED;
  crd_mutator *m = mutator_of(mutator);
  if (mutator->heap != NULL) crd_mutator_check_thread(mutator, "CRADLE_ROOT");
  if (mutator->heap == NULL || !crd_root_stack_grow(m, &m->running->scoped))
    scoped_roots_are_full(mutator, named ? name : "");
  ASSERT(mutator->scoped_top + 2 < mutator->scoped_limit, "[mutator.7] the scoped roots grew and have no room");
  if (named) *mutator->scoped_top++ = address_of(frame);
  if (named) *mutator->scoped_top++ = address_of(name);
  *mutator->scoped_top++ = variable;
}

void cradle_scope_close_slow(cradle_mutator *mutator, cradle_word variable) {
  if (mutator->heap == NULL) { /* a freed mutator has no scoped roots, so each scope that ends comes here */
    ASSERT(mutator_of(mutator)->open_scopes > 0, "[mutator.7] a freed mutator is kept for scopes that have ended");
    if (--mutator_of(mutator)->open_scopes == 0) free(mutator);
    return;
  }
  const cradle_word *at = mutator->scoped_top;
  crd_scoped_root innermost = {.name = NULL};
  if (at > mutator->scoped_base) innermost = scoped_root_next(&at);
  crd_misuse(mutator->heap,
             "CRADLE_ROOT: the scope that ends, of the variable at %p, is not the innermost, which is %s%s; scopes "
             "are unbalanced; coroutines need a root stack each (docs/coroutines.md), a longjmp needs "
             "cradle_checkpoint_restore",
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

#define LOWEST_ADDRESS 4096 /* systems leave out the first pages */

/* NULL, or what is wrong. The usual mistake is to give a range the address of the words, where it wants the address of
 * the variable that points to them. Its base is then the first of the words: mostly zero, or a reference. */
static const char *fault_of_range(const crd_space *space, const cradle_root_range *range) {
  uintptr_t base = address_of(range_base(range)), top = address_of(range_top(range));
  if (base == top) return NULL;
  if (base > top) return "the base is above the top";
  if (base % 8 != 0 || top % 8 != 0) return "one of them is not a multiple of 8";
  if (base < LOWEST_ADDRESS) return "the base is not an address of the program";
  const crd_arenas *arenas = &space->old.arenas;
  /* Both ends may lie in the old generation, in an object that does not move. One end alone cannot be right. */
  bool torn = arenas_contain(arenas, base) != arenas_contain(arenas, top - 1);
  return torn || space_is_young(space, base) || space_is_young(space, top - 1) ? "one of them lies in an object" : NULL;
}

static void describe_fault(const cradle_root_range *range, const char *fault, crd_text *text) {
  crd_text_format(text,
                  "root range %s: its base variable holds %p, its top variable %p: %s; CRADLE_ROOT_RANGE takes the "
                  "variables",
                  crd_show_name(range->name).buffer, (const void *)range_base(range), (const void *)range_top(range),
                  fault);
}

/* The same for the ranges of a list. link: of the list's head. A range that was made anew while it was registered has
 * lost its link, and the list its rest. */
static bool has_fault(const crd_space *space, cradle_root_range *const *link, crd_text *text) {
  for (cradle_root_range *range; (range = *link) != NULL; link = &range->next) {
    const char *fault = NULL;
    if (CRADLE_UNLIKELY(range->link != link))
      crd_text_format(text, "the root range at %p was overwritten while it was registered", (const void *)range);
    else if (CRADLE_UNLIKELY((fault = fault_of_range(space, range)) != NULL))
      describe_fault(range, fault, text);
    else
      continue;
    return true;
  }
  return false;
}

bool crd_ranges_fault(crd_mutator *mutator, bool all, crd_text *text) {
  if (has_fault(mutator->space, &mutator->ranges, text)) return true;
  for (int ring = ROOT_STACKS_RAN; ring < (all ? ROOT_STACKS_RINGS : ROOT_STACKS_RAN + 1); ring++)
    for (EACH_ROOT_STACK(stack, mutator, ring))
      if (has_fault(mutator->space, &stack->ranges, text)) return true;
  return false;
}

void crd_ranges_check(crd_mutator *mutator) {
  crd_text text = {.length = 0};
  if (CRADLE_UNLIKELY(crd_ranges_fault(mutator, false, &text))) crd_misuse(mutator->public.heap, "%s", text.buffer);
}

void cradle_root_range_add(cradle_mutator *mutator, cradle_root_range *range) {
  crd_mutator *m = mutator_of(mutator);
  crd_text text = {.length = 0};
  crd_mutator_check_thread(mutator, "cradle_root_range_add");
  if (!is_slot(range->base) || !is_slot(range->top) || !is_kind(range->kind))
    crd_misuse(mutator->heap, "cradle_root_range_add: wants the addresses of base and top, and a cradle_kind");
  const char *fault = fault_of_range(m->space, range);
  if (fault != NULL) {
    describe_fault(range, fault, &text);
    crd_misuse(mutator->heap, "cradle_root_range_add: %s", text.buffer);
  }
  if (range->mutator != NULL)
    crd_misuse(mutator->heap, "cradle_root_range_add: the range is registered already, or was not made with "
                              "CRADLE_ROOT_RANGE");
  if (range->stack != NULL && range->stack->mutator != m)
    crd_misuse(mutator->heap, "cradle_root_range_add: the range names a root stack of another mutator");
  range->mutator = mutator;
  range->link = range->stack == NULL ? &m->ranges : &range->stack->ranges;
  range->next = *range->link;
  if (range->next != NULL) range->next->link = &range->next;
  *range->link = range;
  if (range->stack != NULL) crd_root_stack_changed(range->stack);
}

void cradle_root_range_remove(cradle_mutator *mutator, cradle_root_range *range) {
  crd_mutator_check_thread(mutator, "cradle_root_range_remove");
  if (range->mutator != mutator || *range->link != range)
    crd_misuse(mutator->heap, "cradle_root_range_remove: the range is not registered");
  *range->link = range->next;
  if (range->next != NULL) range->next->link = range->link;
  range->mutator = NULL;
}

/* --- global roots --- */

static bool add_global(cradle_heap *heap, void *address, cradle_kind kind, const char *what) {
  if (!is_slot(address) || !is_kind(kind))
    crd_misuse(heap, "%s: wants a variable's address, which is a multiple of 8, and a cradle_kind", what);
  if (crd_address_map_find(&heap->roots.global_of, address_of(address)) != NULL)
    crd_misuse(heap, "%s: the address is registered already", what);
  if (!crd_address_map_reserve(&heap->roots.global_of) ||
      !GROW(heap->roots.globals, heap->roots.global_count, heap->roots.global_capacity)) {
    crd_out_of_room(&heap->space, what, "global root");
    return false;
  }
  crd_address_map_insert(&heap->roots.global_of, address_of(address), heap->roots.global_count);
  heap->roots.globals[heap->roots.global_count++] = (crd_global_root){address, kind};
  return true;
}

bool cradle_global_root_add(cradle_heap *heap, void *address, cradle_kind kind) {
  static const char what[] = "cradle_global_root_add";
  crd_heap_enter(heap, what);
  bool added = add_global(heap, address, kind, what);
  crd_world_leave(&heap->space);
  return added;
}

/* The last takes the place: the order of global roots means nothing. */
void cradle_global_root_remove(cradle_heap *heap, void *address) {
  crd_heap_enter(heap, "cradle_global_root_remove");
  uint32_t at = crd_address_map_get(&heap->roots.global_of, address_of(address));
  if (at == ADDRESS_MAP_NONE) crd_misuse(heap, "cradle_global_root_remove: the address is not registered");
  ASSERT((void *)heap->roots.globals[at].address == address, "a global root lies elsewhere than the map says");
  heap->roots.globals[at] = heap->roots.globals[--heap->roots.global_count];
  crd_address_map_find(&heap->roots.global_of, address_of(heap->roots.globals[at].address))->number = at;
  crd_address_map_remove(&heap->roots.global_of, address_of(address));
  crd_world_leave(&heap->space);
}

/* --- callbacks --- */

void cradle_root_callback_set(cradle_heap *heap, cradle_root_function function, void *data) {
  crd_heap_enter(heap, "cradle_root_callback_set");
  heap->roots.root_callback = function;
  heap->roots.root_callback_data = data;
  crd_world_leave(&heap->space);
}

/* A visitor knows no heap, so the default handler reports this misuse. */
void cradle_visit(cradle_visitor *visitor, void *slot, cradle_kind kind) {
  if (CRADLE_UNLIKELY(!is_slot(slot)))
    crd_misuse(NULL, "cradle_visit: wants the address of a slot, which is a multiple of 8, not %p", slot);
  visitor->words++;
  visitor->visit(visitor->context, kind == CRADLE_KIND_VALUE, slot);
}
