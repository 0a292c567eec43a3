#include "gc/instruments/verify.h"

#include <string.h>

#include "gc/death/registry.h"
#include "gc/instruments/quarantine.h"
#include "gc/instruments/sample.h"

static void expect(crd_verification *verification, bool is_right, const char *fault) {
  if (!is_right) crd_fault_at(verification, fault, 0);
}

static void verify_stacks(crd_verification *verification) {
  const cradle_heap *heap = verification->heap;
  bool traces = heap->marking.major.phase == MAJOR_MARKING || heap->marking.major.phase == MAJOR_CLEARING;
  for (EACH_LOCAL(local, &heap->space)) {
    expect(verification, word_stack_is_sound(&local->remembered),
           "the remembered set's bounds are out of order [word_stack.1]");
    expect(verification, word_stack_is_sound(&local->recorded),
           "the bounds of the recorded slots are out of order [word_stack.1]");
  }
  expect(verification, word_stack_is_sound(&heap->marking.mark_stack),
         "the mark stack's bounds are out of order [word_stack.1]");
  expect(verification, traces || word_stack_is_empty(&heap->marking.mark_stack),
         "the mark stack holds objects while nothing marks");
}

/* The promotion reserve must have room for all that the nursery can hold, up to slack_end. */
static void verify_nursery(crd_verification *verification) {
  const cradle_heap *heap = verification->heap;
  const crd_nursery *nursery = &heap->space.nursery;
  const crd_old *old = &heap->space.old;
  size_t bytes = (size_t)(nursery->slack_end - nursery->start);
  expect(verification,
         nursery->end >= nursery->start && nursery->slack_end >= nursery->end && bytes <= nursery->committed_bytes,
         "the nursery's bounds are out of order [nursery.1]");
  expect(verification, old->arenas.free_count >= old->reserve, "arenas of the promotion reserve are not FREE [heap.2]");
  expect(verification,
         bytes == 0 || collection_is_off(&heap->options) || crd_old_arenas_for(old, bytes) <= old->reserve,
         "the promotion reserve is too small for the nursery [nursery.2]");
}

/* top is read once, atomically, because another thread may lower it to NULL at any moment. */
static void verify_mutator(crd_verification *verification, const crd_mutator *mutator) {
  const crd_nursery *nursery = &verification->heap->space.nursery;
  const crd_local *local = mutator->local;
  const cradle_mutator *m = &mutator->public;
  const char *top = __atomic_load_n(&m->top, __ATOMIC_RELAXED);
  expect(verification, local->free == &m->free && local->start >= nursery->start && local->end <= nursery->end,
         "a mutator's chunk is another's, or lies outside of the nursery [local.1]");
  expect(verification, local->registered == &m->registered && m->registered >= local->fresh.base,
         "what a mutator registered is another's, or lies outside of its list [local.3]");
  /* One that unparks in a shared heap says so before it waits. */
  expect(verification,
         space_is_shared(mutator->space) || (mutator->state == MUTATOR_PARKED) == (mutator->thread == NULL),
         "a mutator's state and its thread do not agree [mutator.5]");
  expect(verification, m->free >= local->start && m->free <= nursery->slack_end,
         "free lies outside of the nursery [nursery.1]");
  expect(verification, address_of(m->free) % 8 == 0, "free is not aligned");
  expect(verification, top <= local->end, "top is above the nursery's end");
  expect(verification, top <= local->look, "top is above the next look [nursery.4]");
  expect(verification, m->shadow_top >= m->shadow_base && m->shadow_top <= m->shadow_limit,
         "the shadow stack's top lies outside of it [mutator.3]");
  expect(verification, m->shadow_watermark >= m->shadow_base && m->shadow_watermark <= m->shadow_top,
         "the shadow stack's watermark lies outside of it [mutator.3]");
  expect(verification, m->scoped_top >= m->scoped_base && m->scoped_top <= m->scoped_limit && m->scoped_base[-1] == 0,
         "the top of the scoped roots lies outside of their stack [mutator.7]");
  expect(verification, m->registered <= m->registered_end && m->registered_end <= local->fresh.limit,
         "more objects are registered than there is room for");
}

/* NULL, or what is wrong; so are the next two. */
static const char *check_root_stacks(crd_mutator *mutator) {
  crd_root_stack_store(mutator);
  for (int ring = ROOT_STACKS_RAN; ring < ROOT_STACKS_RINGS; ring++)
    for (EACH_ROOT_STACK(stack, mutator, ring)) {
      bool first = stack == root_stack_of(mutator->rings[ROOT_STACKS_UNMARKED].next);
      if (stack->mutator != mutator || stack->ring.next->previous != &stack->ring)
        return "a root stack is in a ring that is not its own [root_stack.1]";
      if (ring != ROOT_STACKS_RAN && (stack == mutator->running || stack == &mutator->own))
        return "a root stack runs and is not in the ring of those that ran [root_stack.1]";
      if (stack->looked_at != 0 && !first) return "a root stack is half looked at and not the first [root_stack.4]";
      if (*stack->scoped.base != 0) return "the word below a root stack's scoped roots is not 0 [root_stack.5]";
      if (!word_stack_is_sound(&stack->shadow) || !word_stack_is_sound(&stack->scoped))
        return "a root stack's bounds are out of order [word_stack.1]";
    }
  return NULL;
}

static const char *check_allocator(const crd_old *old, const crd_allocator *allocator, uint32_t size_class) {
  const crd_size_class *class = &old->classes.of[size_class];
  uintptr_t free = address_of(allocator->free), end = address_of(allocator->end);
  if (free == end) return NULL;
  static const char outside[] = "an allocator's run lies outside of its span [span.1]";
  if (!arenas_contain(&old->arenas, free)) return outside;
  const crd_page *span = old_span_of(old, free);
  uintptr_t start = arenas_page_address(&old->arenas, span->head);
  if (span->state != PAGE_SMALL || span->size_class != size_class || free > end ||
      end > start + (size_t)class->objects * class->bytes)
    return outside;
  if ((free - start) % class->bytes != 0 || (end - start) % class->bytes != 0)
    return "an allocator's run begins or ends inside a place [span.1]";
  return NULL;
}

static const char *check_allocators(const cradle_heap *heap) {
  const crd_old *old = &heap->space.old;
  bool marks = heap->marking.major.phase == MAJOR_MARKING || heap->marking.major.phase == MAJOR_CLEARING;
  if (old->born_marked != marks) return "new old objects are marked while nothing marks, or the reverse [span.7]";
  for (const crd_worker *worker = &old->leader; worker != NULL; worker = worker->next)
    for (uint32_t i = 0; i < old->classes.count; i++) {
      const char *fault = check_allocator(old, &worker->allocators[i], i);
      if (fault != NULL) return fault;
    }
  return NULL;
}

void crd_verify_bounds(crd_verification *verification) {
  const cradle_heap *heap = verification->heap;
  verify_stacks(verification);
  verify_nursery(verification);
  for (EACH_MUTATOR(mutator, &heap->space)) {
    verify_mutator(verification, mutator);
    const char *fault = check_root_stacks(mutator);
    if (fault != NULL) crd_fault_at(verification, fault, 0);
  }
  const char *const faults[] = {check_allocators(heap), crd_sampling_check(&heap->sampling),
                                crd_quarantine_check(&heap->quarantine, &heap->space)};
  for (size_t i = 0; i < sizeof faults / sizeof *faults; i++)
    if (faults[i] != NULL) crd_fault_at(verification, faults[i], 0);
}

/* Looks at the pages that are not taken; crd_old_check has looked at the others. */
static const char *check_free_pages(const crd_arena *arena) {
  enum { PAGE_WORDS = PAGE_BYTES / 8 / 64 };
  static const crd_page nothing;
  for (uint32_t page = 0; page < ARENA_PAGES; page++) {
    if (!bitmap_has(arena->free_map, page)) continue;
    if (memcmp(&arena->pages[page], &nothing, sizeof nothing) != 0) return "a free page has an entry [arena.5]";
    for (size_t word = page * PAGE_WORDS; word < (page + 1) * PAGE_WORDS; word++)
      if ((arena->marks[word] | arena->allocated[word]) != 0) return "a bit is set in a free page [arena.5]";
  }
  return NULL;
}

void crd_verify_spans(crd_verification *verification) {
  crd_old *old = &verification->heap->space.old;
  crd_text text = {.length = 0};
  crd_old_retire(old);
  ASSERT(crd_old_unfilled_bytes(old) == 0, "[span.2] an allocator that was retired has a run");
  const char *fault = crd_old_check(old);
  for (uint32_t i = 0; i < old->arenas.used_end && fault == NULL; i++)
    if (old->arenas.states[i] == ARENA_USED) fault = check_free_pages(&old->arenas.meta[i]);
  if (fault != NULL) crd_fault_at(verification, fault, 0);
  for (EACH_MUTATOR(mutator, &verification->heap->space))
    if (crd_ranges_fault(mutator, true, &text)) crd_fault_at(verification, text.buffer, 0);
}

static void verify_entries(crd_verification *verification, const crd_word_stack *remembered) {
  const cradle_heap *heap = verification->heap;
  for (const cradle_word *entry = remembered->base; entry < remembered->top && !verify_failed(verification); entry++) {
    const cradle_word *object = object_at(*entry);
    if (!crd_old_is_object(&heap->space.old, *entry))
      crd_fault_at(verification, "the remembered set holds what is no object", *entry);
    else if (header_has_barrier(object[0]) && !space_has_open(&heap->space, object))
      crd_fault_of(verification, "an object is remembered, but has the barrier flag [heap.3]", object, NULL);
  }
}

/* Each object in the sets must lack the barrier flag. That each object without the flag is in a set was asked when the
 * walk looked at its header. */
static void verify_remembered(crd_verification *verification) {
  const sorted_words *set = &verification->sets[VERIFY_REMEMBERED];
  for (EACH_LOCAL(local, &verification->heap->space)) verify_entries(verification, &local->remembered);
  for (size_t i = 1; i < set->count; i++)
    if (set->words[i - 1] == set->words[i])
      crd_fault_of(verification, "an object is remembered twice [heap.3]", object_at(set->words[i]), NULL);
}

/* A table may have entries for young objects that nothing refers to. The walk has not looked at those, so the checks do
 * not look into them either. */
void crd_verify_tables(crd_verification *verification) {
  const cradle_heap *heap = verification->heap;
  ASSERT(!verify_failed(verification), "[verification.1] tables are compared with objects that are broken");
  verify_remembered(verification);
  if (verify_failed(verification)) return;
  uintptr_t at = 0;
  const char *fault = heap->space.services == NULL ? NULL : crd_registry_check(heap->space.services, &at);
  if (fault == NULL) fault = crd_pins_check(&heap->tables, &at);
  if (fault == NULL) fault = crd_handles_check(&heap->tables, &at);
  if (fault == NULL) fault = crd_ids_check(&heap->tables, &at);
  if (fault != NULL) crd_fault_at(verification, fault, at);
}
