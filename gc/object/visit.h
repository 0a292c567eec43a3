/* Visiting slots: the one place that knows how a descriptor and a trace callback lead to an object's slots. (Where the
 * roots are is in gc/roots.h; weak slots and ephemerons are gc/death's.)
 *
 * The functions are always inlined with constant visit functions, so that each phase (copy, mark, verify) gets its own
 * loops from one source. A visit function gets the address of a slot and may rewrite it.
 */
#ifndef CRADLE_GC_OBJECT_VISIT_H
#define CRADLE_GC_OBJECT_VISIT_H

#include "gc/base/check.h"
#include "gc/object/type_table.h"

typedef void (*crd_slot_function)(void *context, cradle_word *slot);

/* What cradle_visit_* work on. */
struct cradle_visitor {
  crd_slot_function reference, value;
  void *context;
  uint64_t words;
};

CRD_ALWAYS_INLINE void visit_words(cradle_word *from, cradle_word *to, crd_slot_function visit, void *context) {
  ASSERT(from <= to, "slots that end before they begin");
  for (cradle_word *slot = from; slot < to; slot++) visit(context, slot);
}

CRD_ALWAYS_INLINE void visit_bitmap(cradle_word *object, uint64_t bitmap, crd_slot_function visit, void *context) {
  ASSERT(!(bitmap & 1), "[type.1] the header is taken for a slot");
  for (; bitmap != 0; bitmap &= bitmap - 1) visit(context, object + __builtin_ctzll(bitmap));
}

/* The items from index first to last, for objects with slots as items. */
CRD_ALWAYS_INLINE void visit_items(const crd_type *type, cradle_word *object, uint64_t first, uint64_t last,
                                   crd_slot_function reference, crd_slot_function value, void *context) {
  ASSERT(type->items >= CRADLE_ITEMS_REFERENCES, "items that are no slots are visited");
  ASSERT(first <= last && last <= type_length(type, object), "items beyond an array's end are visited");
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

#endif
