#include "gc/root_stack.h"

#include <stdlib.h>
#include <string.h>

#include "gc/heap.h"
#include "gc/mutator.h"
#include "gc/report/misuse.h"
#include "gc/young/nursery.h"

/* So many words a coroutine's root stack holds at first: scoped roots, behind the structure, and shadow stack. */
#define SCOPED_FIRST_WORDS 8
#define SHADOW_FIRST_WORDS 16

static size_t bytes_of(size_t words) {
  return words * sizeof(cradle_word);
}

/* --- the running one --- */

void crd_root_stack_store(crd_mutator *mutator) {
  cradle_root_stack *stack = mutator->running;
  const cradle_mutator *m = &mutator->public;
  stack->shadow.top = m->shadow_top;
  stack->scoped.top = m->scoped_top;
  stack->watermark = m->shadow_watermark;
  stack->no_collect_depth = m->no_collect_depth;
}

void crd_root_stack_load(crd_mutator *mutator, cradle_root_stack *stack) {
  cradle_mutator *m = &mutator->public;
  m->shadow_base = stack->shadow.base;
  m->shadow_top = stack->shadow.top;
  m->shadow_limit = stack->shadow.limit;
  m->shadow_watermark = stack->watermark;
  m->scoped_base = stack->scoped.base + 1;
  m->scoped_top = stack->scoped.top;
  m->scoped_limit = stack->scoped.limit;
  m->no_collect_depth = stack->no_collect_depth;
  mutator->running = stack;
}

/* --- growing --- */

static void free_part(cradle_root_stack *stack, crd_word_stack *part) {
  if (part->base != (void *)(stack + 1)) free(part->base);
}

static bool move_to_larger(cradle_root_stack *stack, crd_word_stack *part, size_t most_bytes) {
  size_t words = (size_t)(part->limit - part->base),
         wider = words < SHADOW_FIRST_WORDS ? SHADOW_FIRST_WORDS : 2 * words;
  size_t depth = word_stack_count(part), unchanged = (size_t)(stack->watermark - stack->shadow.base);
  if (bytes_of(wider) > most_bytes) wider = most_bytes / sizeof(cradle_word);
  if (wider <= words) return false;
  cradle_word *base = malloc(bytes_of(wider));
  if (base == NULL) return false;
  memcpy(base, part->base, bytes_of(depth));
  free_part(stack, part);
  *part = (crd_word_stack){base, base + depth, base + wider, base + wider};
  stack->watermark = stack->shadow.base + unchanged;
  return true;
}

bool crd_root_stack_grow(crd_mutator *mutator, crd_word_stack *part) {
  cradle_root_stack *stack = mutator->running;
  crd_root_stack_store(mutator);
  bool grew = stack == &mutator->own ? crd_word_stack_grow(part)
                                     : move_to_larger(stack, part, mutator->public.heap->options.shadow_stack_bytes);
  crd_root_stack_load(mutator, stack);
  return grew;
}

/* --- rings --- */

static void move_to_ran(cradle_root_stack *stack) {
  ring_remove(&stack->ring);
  ring_insert(&stack->mutator->rings[ROOT_STACKS_RAN], &stack->ring);
}

void crd_root_stacks_rest(crd_mutator *mutator) {
  crd_ring *ran = &mutator->rings[ROOT_STACKS_RAN];
  for (EACH_ROOT_STACK(stack, mutator, ROOT_STACKS_RAN)) stack->watermark = stack->shadow.top;
  mutator->public.shadow_watermark = mutator->public.shadow_top;
  if (CRADLE_LIKELY(ran->next == ran->previous)) return; /* only the mutator's own */
  ring_empty_into(ran, &mutator->rings[ROOT_STACKS_RESTED]);
  move_to_ran(&mutator->own);
  if (mutator->running != &mutator->own) move_to_ran(mutator->running);
}

/* A cycle that a fork has dropped may have left a first one half looked at. */
void crd_root_stacks_unmark(crd_mutator *mutator) {
  crd_ring *unmarked = &mutator->rings[ROOT_STACKS_UNMARKED];
  if (unmarked->next != unmarked) root_stack_of(unmarked->next)->looked_at = 0;
  ring_empty_into(&mutator->rings[ROOT_STACKS_RESTED], unmarked);
}

/* While the heap marks, it may hold what nobody has marked, below its watermark, too [root_stack.3]. */
void crd_root_stack_changed(cradle_root_stack *stack) {
  move_to_ran(stack);
  stack->looked_at = 0;
  if (marking_goes_on(stack->mutator->marking)) stack->watermark = stack->shadow.base;
}

/* --- a mutator's own --- */

/* Fresh pages are zero, so the first word of the scoped roots is, too [root_stack.5]. */
bool crd_root_stack_open(crd_mutator *mutator, size_t bytes, size_t page_bytes) {
  cradle_root_stack *own = &mutator->own;
  for (int i = 0; i < ROOT_STACKS_RINGS; i++) ring_init(&mutator->rings[i]);
  ring_insert(&mutator->rings[ROOT_STACKS_RAN], &own->ring);
  own->mutator = mutator;
  if (!crd_word_stack_init(&own->shadow, bytes, page_bytes, "cradle shadow stack") ||
      !crd_word_stack_init(&own->scoped, bytes, page_bytes, "cradle scoped roots") ||
      !crd_word_stack_grow(&own->shadow) || !crd_word_stack_grow(&own->scoped))
    return false;
  own->scoped.top++;
  own->watermark = own->shadow.base;
  crd_root_stack_load(mutator, own);
  return true;
}

static void drop_ranges(cradle_root_stack *stack) {
  for (cradle_root_range *range = stack->ranges, *next; range != NULL; range = next) {
    next = range->next;
    range->mutator = NULL;
  }
  stack->ranges = NULL;
}

void crd_root_stacks_close(crd_mutator *mutator) {
  ring_remove(&mutator->own.ring);
  for (int i = 0; i < ROOT_STACKS_RINGS; i++)
    for (crd_ring *link = mutator->rings[i].next, *next; link != &mutator->rings[i]; link = next) {
      next = link->next;
      root_stack_of(link)->mutator = NULL;
      drop_ranges(root_stack_of(link));
    }
  drop_ranges(&mutator->own);
  crd_word_stack_fini(&mutator->own.shadow);
  crd_word_stack_fini(&mutator->own.scoped);
}

void crd_root_stack_drop_scopes(crd_mutator *mutator) {
  crd_root_stack_store(mutator);
  mutator->own.scoped.top = mutator->own.scoped.base + 1;
  mutator->own.no_collect_depth = 0;
  crd_root_stack_load(mutator, &mutator->own);
}

/* --- public --- */

cradle_root_stack *cradle_root_stack_new(cradle_mutator *mutator) {
  crd_mutator_check_thread(mutator, "cradle_root_stack_new");
  cradle_root_stack *stack = malloc(sizeof *stack + bytes_of(SCOPED_FIRST_WORDS));
  if (stack == NULL) return NULL;
  cradle_word *first = memory_at(address_of(stack + 1)), *end = first + SCOPED_FIRST_WORDS;
  *first = 0;
  *stack = (cradle_root_stack){.mutator = mutator_of(mutator),
                               .shadow = {first, first, first, first},
                               .scoped = {first, first + 1, end, end},
                               .watermark = first};
  ring_insert(&mutator_of(mutator)->rings[ROOT_STACKS_RESTED], &stack->ring);
  return stack;
}

cradle_root_stack *cradle_root_stack_switch(cradle_mutator *mutator, cradle_root_stack *stack) {
  static const char what[] = "cradle_root_stack_switch";
  crd_mutator_check_thread(mutator, what);
  crd_mutator *m = mutator_of(mutator);
  cradle_root_stack *to = stack == NULL ? &m->own : stack, *from = m->running;
  if (to->mutator != m)
    crd_misuse(mutator->heap, "%s: the root stack belongs to another mutator, or to one that was freed", what);
  bool regions = (mutator->no_collect_depth | to->no_collect_depth) != 0;
  crd_root_stack_store(m);
  crd_root_stack_changed(to);
  crd_root_stack_load(m, to);
  mutator->reserved_end = NULL;
  crd_running_call.frame = NULL;
  if (CRADLE_UNLIKELY(regions)) crd_nursery_set_top(m);
  return from == &m->own ? NULL : from;
}

/* A destructor may call this. It runs when no roots are being looked at, and after the mutator went, when the heap is
 * freed. */
void cradle_root_stack_free(cradle_root_stack *stack) {
  if (stack == NULL) return;
  crd_mutator *mutator = stack->mutator;
  if (mutator != NULL) {
    cradle_heap *heap = mutator->public.heap;
    if (heap->report.state != HEAP_DESTROYING) crd_mutator_check_thread(&mutator->public, "cradle_root_stack_free");
    if (stack == mutator->running || stack == &mutator->own)
      crd_misuse(heap, "cradle_root_stack_free: the root stack runs: switch to another one first");
    ring_remove(&stack->ring);
    drop_ranges(stack);
  }
  free_part(stack, &stack->shadow);
  free_part(stack, &stack->scoped);
  free(stack);
}
