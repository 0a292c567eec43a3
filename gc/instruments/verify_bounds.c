#include "gc/instruments/verification.h"

#include "gc/heap.h"
#include "gc/instruments/quarantine.h"
#include "gc/instruments/sample.h"
#include "gc/roots.h"
#include "gc/young/nursery.h"

/* Each check returns NULL, or what is wrong. */

static const char *check_stacks(const cradle_heap *heap) {
  if (!word_stack_is_sound(&heap->young.remembered))
    return "the remembered set's bounds are out of order [word_stack.1]";
  if (!word_stack_is_sound(&heap->young.recorded))
    return "the bounds of the recorded slots are out of order [word_stack.1]";
  if (!word_stack_is_sound(&heap->marking.mark_stack)) return "the mark stack's bounds are out of order [word_stack.1]";
  bool traces = heap->marking.major.phase == MAJOR_MARKING || heap->marking.major.phase == MAJOR_CLEARING;
  if (!traces && !word_stack_is_empty(&heap->marking.mark_stack))
    return "the mark stack holds objects while nothing marks";
  return NULL;
}

static const char *check_nursery(const cradle_heap *heap) {
  const crd_nursery *nursery = &heap->space.nursery;
  if (nursery->end < nursery->start || nursery->slack_end < nursery->end ||
      (size_t)(nursery->slack_end - nursery->start) > nursery->committed_bytes)
    return "the nursery's bounds are out of order [nursery.1]";
  if (heap->space.mutator == NULL) return NULL;
  const char *free = heap->space.mutator->public.free;
  if (free < nursery->start || free > nursery->slack_end) return "free lies outside of the nursery [nursery.1]";
  return address_of(free) % 8 == 0 ? NULL : "free is not aligned";
}

/* Whether all that the nursery can hold, up to slack_end, can be promoted into the reserve. */
static const char *check_reserve(const cradle_heap *heap) {
  size_t bytes = (size_t)(heap->space.nursery.slack_end - heap->space.nursery.start);
  if (heap->space.old.arenas.free_count < heap->space.old.reserve)
    return "arenas of the promotion reserve are not FREE [heap.2]";
  if (bytes != 0 && !collection_is_off(&heap->options) &&
      crd_old_arenas_for(&heap->space.old, bytes) > heap->space.old.reserve)
    return "the promotion reserve is too small for the nursery [nursery.2]";
  return NULL;
}

/* top is read atomically, because another thread may lower it to NULL at any moment. */
static const char *check_mutator(const cradle_heap *heap) {
  if (heap->space.mutator == NULL) return NULL;
  const cradle_mutator *m = &heap->space.mutator->public;
  if (__atomic_load_n(&m->top, __ATOMIC_RELAXED) > heap->space.nursery.end) return "top is above the nursery's end";
  if (__atomic_load_n(&m->top, __ATOMIC_RELAXED) > heap->space.nursery.look)
    return "top is above the next look [nursery.4]";
  if (m->shadow_top < m->shadow_base || m->shadow_top > m->shadow_limit)
    return "the shadow stack's top lies outside of it [mutator.3]";
  if (m->shadow_watermark < m->shadow_base || m->shadow_watermark > m->shadow_top)
    return "the shadow stack's watermark lies outside of it [mutator.3]";
  if (m->scoped_top < m->scoped_base || m->scoped_top > m->scoped_limit || m->scoped_base[-1] != 0)
    return "the top of the scoped roots lies outside of their stack [mutator.7]";
  if (m->registered > m->registered_end) return "more objects are registered than there is room for";
  return NULL;
}

/* Sound before the roots of root stacks are looked at. */
static const char *check_root_stacks(const cradle_heap *heap) {
  crd_mutator *mutator = heap->space.mutator;
  if (mutator == NULL) return NULL;
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

static const char *check_allocator(const crd_old *old, const crd_allocator *allocator, const crd_size_class *class) {
  if (allocator->span == PAGE_NONE)
    return allocator->free == NULL && allocator->end == NULL ? NULL : "an allocator has a run, but no span [span.1]";
  uintptr_t start = arenas_page_address(&old->arenas, allocator->span), free = address_of(allocator->free);
  uintptr_t end = address_of(allocator->end), span_end = start + (size_t)class->objects * class->bytes;
  if (start > free || free > end || end > span_end) return "an allocator's run lies outside of its span [span.1]";
  if ((free - start) % class->bytes != 0 || (end - start) % class->bytes != 0)
    return "an allocator's run begins or ends inside a place [span.1]";
  return NULL;
}

static const char *check_allocators(const cradle_heap *heap) {
  const crd_old *old = &heap->space.old;
  bool marks = heap->marking.major.phase == MAJOR_MARKING || heap->marking.major.phase == MAJOR_CLEARING;
  if (old->born_marked != marks) return "new old objects are marked while nothing marks, or the reverse [span.7]";
  for (uint32_t i = 0; i < old->classes.count; i++) {
    const char *fault = check_allocator(old, &old->allocators[i], &old->classes.of[i]);
    if (fault != NULL) return fault;
  }
  return NULL;
}

static const char *check_sampling(const cradle_heap *heap) {
  return crd_sampling_check(&heap->sampling);
}
static const char *check_quarantine(const cradle_heap *heap) {
  return crd_quarantine_check(&heap->quarantine, &heap->space);
}

void crd_verify_bounds(crd_verification *verification) {
  const cradle_heap *heap = verification->heap;
  static const char *(*const checks[])(const cradle_heap *) = {check_stacks,   check_nursery,     check_reserve,
                                                               check_mutator,  check_root_stacks, check_allocators,
                                                               check_sampling, check_quarantine};
  for (size_t i = 0; i < sizeof checks / sizeof *checks; i++) {
    const char *fault = checks[i](heap);
    if (fault != NULL) crd_fault_at(verification, fault, 0);
  }
}
