/* Visiting slots: the one place that knows how a descriptor and a trace callback lead to an object's slots. The
 * functions are always inlined, and called with a constant visit function, which gets as a constant whether a slot
 * holds a value. So each phase (copy, mark, verify) gets its own loops from one source. */
#ifndef CRADLE_GC_OBJECT_VISIT_H
#define CRADLE_GC_OBJECT_VISIT_H

#include "gc/object/type_table.h"
#include "gc/object/value.h"

/* What cradle_visit works on. */
struct cradle_visitor {
  crd_slot_function visit;
  void *context;
  uint64_t words;
};

/* Words that are all of one kind, each of which has a loop. */
CRD_ALWAYS_INLINE void visit_words(cradle_word *from, cradle_word *to, bool value, crd_slot_function visit,
                                   void *context) {
  ASSERT(from <= to, "slots that end before they begin");
  if (value)
    for (cradle_word *slot = from; slot < to; slot++) visit(context, true, slot);
  else
    for (cradle_word *slot = from; slot < to; slot++) visit(context, false, slot);
}

CRD_ALWAYS_INLINE void visit_bits(cradle_word *words, uint64_t bitmap, bool value, crd_slot_function visit,
                                  void *context) {
  for (; bitmap != 0; bitmap &= bitmap - 1) visit(context, value, words + __builtin_ctzll(bitmap));
}

/* The items from index first to last of an object whose items are slots or structures. */
CRD_ALWAYS_INLINE void visit_items(const crd_type_table *types, cradle_word *object, uint64_t first, uint64_t last,
                                   crd_slot_function visit, void *context) {
  const crd_type *type = &types->types[header_type(object[0])];
  ASSERT(first <= last && last <= type_length(type, object), "items beyond an array's end are visited");
  cradle_word *item = type_items(type, object) + first * type->item_words;
  cradle_word *end = item + (last - first) * type->item_words;
  if (type->item_alike == CRADLE_ITEMS_REFERENCES || type->item_alike == CRADLE_ITEMS_VALUES) {
    visit_words(item, end, type->item_alike == CRADLE_ITEMS_VALUES, visit, context);
  } else {
    ASSERT((type->item_references | type->item_values) != 0, "[type.5] structures without a slot");
    for (; item < end; item += type->item_words) {
      visit_bits(item, type->item_references, false, visit, context);
      visit_bits(item, type->item_values, true, visit, context);
    }
  }
}

static inline void visit_by_callback(const crd_type *type, cradle_word *object, crd_slot_function visit,
                                     void *context) {
  cradle_visitor visitor = {visit, context, 0};
  type->trace(type->user, object, &visitor);
}

/* Everything except items: the fixed slots and what the trace callback reports. */
CRD_ALWAYS_INLINE void visit_fixed(const crd_type *type, cradle_word *object, crd_slot_function visit, void *context) {
  visit_bits(object, type->references, false, visit, context);
  if (type->values != 0) visit_bits(object, type->values, true, visit, context);
  if (CRADLE_UNLIKELY(type->trace != NULL)) visit_by_callback(type, object, visit, context);
}

CRD_ALWAYS_INLINE void visit_object(const crd_type_table *types, cradle_word *object, crd_slot_function visit,
                                    void *context) {
  const crd_type *type = &types->types[header_type(object[0])];
  visit_fixed(type, object, visit, context);
  if (type->items >= CRADLE_ITEMS_REFERENCES) visit_items(types, object, 0, type_length(type, object), visit, context);
}

#endif
