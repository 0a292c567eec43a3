/* Visiting the roots: the one place that knows where they are. As in gc/object/visit.h, each phase gets its own
 * loops. */
#ifndef CRADLE_GC_ROOTS_H
#define CRADLE_GC_ROOTS_H

#include "gc/heap.h"
#include "gc/object/visit.h"

CRD_ALWAYS_INLINE uint64_t visit_range(cradle_root_range *range, crd_slot_function reference, crd_slot_function value,
                                       void *context) {
  cradle_word *base = words_of((void *)*range->base), *top = words_of((void *)*range->top);
  if (base >= top) return 0;
  visit_kind(base, top, range->kind, reference, value, context);
  return (uint64_t)(top - base);
}

/* The roots of a mutator: shadow stack, scoped roots, ranges. Returns the words looked at. */
CRD_ALWAYS_INLINE uint64_t visit_mutator_roots(cradle_heap *heap, crd_mutator *mutator, crd_slot_function reference,
                                               crd_slot_function value, void *context) {
  cradle_mutator *m = &mutator->public;
  ASSERT(m->shadow_base <= m->shadow_top && m->shadow_top <= m->shadow_limit, "[mutator.3] the shadow stack's top");
  uint64_t words = (uint64_t)(m->shadow_top - m->shadow_base);
  visit_kind(m->shadow_base, m->shadow_top, heap->options.shadow_stack, reference, value, context);
  for (cradle_scoped_root *root = m->scoped_roots; root != NULL; root = root->previous, words++)
    (root->kind == CRADLE_KIND_VALUE ? value : reference)(context, root->address);
  for (cradle_root_range *range = mutator->ranges; range != NULL; range = range->next)
    words += visit_range(range, reference, value, context);
  return words;
}

/* Handles, and the slots of prebuilt objects that were written to: roots that each phase looks at in its own way, the
 * minor collection as they change, marking a piece at a time. This is for the phases that stop for all. */
CRD_ALWAYS_INLINE void visit_handles(cradle_heap *heap, uint32_t first, uint32_t last, crd_slot_function reference,
                                     void *context) {
  for (uint32_t i = first; i < last; i++)
    if (handle_is_open(&heap->handles.entries[i])) reference(context, &heap->handles.entries[i].word);
}
CRD_ALWAYS_INLINE void visit_prebuilts(cradle_heap *heap, uint32_t first, uint32_t last, crd_slot_function reference,
                                       crd_slot_function value, void *context) {
  for (uint32_t i = first; i < last; i++) {
    cradle_word *object = heap->prebuilts.objects[i];
    ASSERT(header_type(object[0]) < heap->types.count, "a prebuilt object's header was overwritten");
    visit_object(&heap->types, object, reference, value, context);
  }
}

/* The roots that every phase looks at at once: the mutator's, the global ones, and those of the root callback. Handles,
 * pins, prebuilt objects and finalizer queues come besides. Returns the words looked at. */
CRD_ALWAYS_INLINE uint64_t visit_roots(cradle_heap *heap, crd_slot_function reference, crd_slot_function value,
                                       void *context) {
  uint64_t words = heap->global_count;
  if (heap->mutator != NULL) words += visit_mutator_roots(heap, heap->mutator, reference, value, context);
  for (size_t i = 0; i < heap->global_count; i++)
    (heap->globals[i].kind == CRADLE_KIND_VALUE ? value : reference)(context, heap->globals[i].address);
  if (heap->root_callback != NULL) {
    cradle_visitor visitor = {reference, value, context, 0};
    heap->root_callback(heap->root_callback_data, &visitor);
    words += visitor.words;
  }
  return words;
}

#endif
