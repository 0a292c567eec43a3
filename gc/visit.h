/* Visiting slots: the one place that knows how a descriptor, the roots and a trace callback lead to slots.
 *
 * The functions are always inlined with constant visit functions, so that each phase (copy, mark, verify) gets its own
 * loops from one source. A visit function gets the address of a slot and may rewrite it.
 */
#ifndef CRADLE_GC_VISIT_H
#define CRADLE_GC_VISIT_H

#include "gc/heap.h"

typedef void (*crd_slot_function)(void *context, cradle_word *slot);

/* What cradle_visit_* work on. */
struct cradle_visitor {
  crd_slot_function reference, value;
  void *context;
  uint64_t words;
};

#define CRD_ALWAYS_INLINE static inline __attribute__((always_inline))

CRD_ALWAYS_INLINE void visit_words(cradle_word *from, cradle_word *to, crd_slot_function visit, void *context) {
  for (cradle_word *slot = from; slot < to; slot++) visit(context, slot);
}

CRD_ALWAYS_INLINE void visit_bitmap(cradle_word *object, uint64_t bitmap, crd_slot_function visit, void *context) {
  for (; bitmap != 0; bitmap &= bitmap - 1) visit(context, object + __builtin_ctzll(bitmap));
}

/* The items from index first to last, for objects with slots as items. */
CRD_ALWAYS_INLINE void visit_items(const crd_type *type, cradle_word *object, uint64_t first, uint64_t last,
                                   crd_slot_function reference, crd_slot_function value, void *context) {
  cradle_word *items = object + type->size / 8;
  if (type->items == CRADLE_ITEMS_REFERENCES) visit_words(items + first, items + last, reference, context);
  if (type->items == CRADLE_ITEMS_VALUES) visit_words(items + first, items + last, value, context);
}

/* What is not items: the fixed slots and the trace callback. */
CRD_ALWAYS_INLINE void visit_fixed(const crd_type *type, cradle_word *object, crd_slot_function reference,
                                   crd_slot_function value, void *context) {
  visit_bitmap(object, type->references, reference, context);
  if (type->values != 0) visit_bitmap(object, type->values, value, context);
  if (CRADLE_UNLIKELY(type->trace != NULL)) {
    cradle_visitor visitor = {reference, value, context, 0};
    type->trace(object, &visitor);
  }
}

CRD_ALWAYS_INLINE void visit_object(const crd_type *type, cradle_word *object, crd_slot_function reference,
                                    crd_slot_function value, void *context) {
  visit_fixed(type, object, reference, value, context);
  if (type->items >= CRADLE_ITEMS_REFERENCES)
    visit_items(type, object, 0, type_length(type, object), reference, value, context);
}

/* Words that are all of one kind: a loop for each, so that the visit functions are inline in both. */
CRD_ALWAYS_INLINE void visit_kind(cradle_word *from, cradle_word *to, cradle_kind kind, crd_slot_function reference,
                                  crd_slot_function value, void *context) {
  if (kind == CRADLE_KIND_VALUE)
    visit_words(from, to, value, context);
  else
    visit_words(from, to, reference, context);
}

CRD_ALWAYS_INLINE uint64_t visit_range(cradle_root_range *range, crd_slot_function reference, crd_slot_function value,
                                       void *context) {
  cradle_word *base = (cradle_word *)*range->base, *top = (cradle_word *)*range->top;
  if (base >= top) return 0;
  visit_kind(base, top, range->kind, reference, value, context);
  return (uint64_t)(top - base);
}

/* The roots of a mutator: shadow stack, scoped roots, ranges. Returns the words looked at. */
CRD_ALWAYS_INLINE uint64_t visit_mutator_roots(cradle_heap *heap, crd_mutator *mutator, crd_slot_function reference,
                                               crd_slot_function value, void *context) {
  cradle_mutator *m = &mutator->public;
  uint64_t words = (uint64_t)(m->shadow_top - m->shadow_base);
  visit_kind(m->shadow_base, m->shadow_top, heap->options.shadow_stack, reference, value, context);
  for (cradle_scoped_root *root = m->scoped_roots; root != NULL; root = root->previous, words++)
    (root->kind == CRADLE_KIND_VALUE ? value : reference)(context, root->address);
  for (cradle_root_range *range = mutator->ranges; range != NULL; range = range->next)
    words += visit_range(range, reference, value, context);
  return words;
}

/* Handles, and the slots of prebuilt objects that were written to: roots that each phase looks at in its own way, the minor
 * collection as they change, marking a piece at a time. This is for the phases that stop for all. */
CRD_ALWAYS_INLINE void visit_handles(cradle_heap *heap, uint32_t first, uint32_t last, crd_slot_function reference,
                                     void *context) {
  for (uint32_t i = first; i < last; i++)
    if (handle_is_open(&heap->handles.entries[i])) reference(context, &heap->handles.entries[i].word);
}
CRD_ALWAYS_INLINE void visit_prebuilts(cradle_heap *heap, uint32_t first, uint32_t last, crd_slot_function reference,
                                       crd_slot_function value, void *context) {
  for (uint32_t i = first; i < last; i++) {
    cradle_word *object = heap->prebuilts.objects[i];
    visit_object(heap_type(heap, object[0]), object, reference, value, context);
  }
}

/* Every other root of the heap. Returns the words looked at. */
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
