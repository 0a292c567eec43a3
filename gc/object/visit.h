/* Visiting slots: the one place that knows how a descriptor and a trace callback lead to an object's slots. The
 * functions are always inlined, and called with a constant visit function, which gets as a constant whether a slot holds
 * a value. So each phase (copy, mark, verify) gets its own loops from one source.
 */
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

CRD_ALWAYS_INLINE void visit_words(cradle_word *from, cradle_word *to, bool value, crd_slot_function visit,
                                   void *context) {
  ASSERT(from <= to, "slots that end before they begin");
  for (cradle_word *slot = from; slot < to; slot++) visit(context, value, slot);
}

CRD_ALWAYS_INLINE void visit_bits(cradle_word *words, uint64_t bitmap, bool value, crd_slot_function visit,
                                  void *context) {
  for (; bitmap != 0; bitmap &= bitmap - 1) visit(context, value, words + __builtin_ctzll(bitmap));
}

CRD_ALWAYS_INLINE void visit_bitmap(cradle_word *object, uint64_t bitmap, bool value, crd_slot_function visit,
                                    void *context) {
  ASSERT(!(bitmap & 1), "[type.1] the header is taken for a slot");
  visit_bits(object, bitmap, value, visit, context);
}

/* The items from index first to last, for objects whose items are references or values. */
CRD_ALWAYS_INLINE void visit_items(const crd_type *type, cradle_word *object, uint64_t first, uint64_t last,
                                   crd_slot_function visit, void *context) {
  ASSERT(type->items == CRADLE_ITEMS_REFERENCES || type->items == CRADLE_ITEMS_VALUES,
         "items that are no slots are visited as such");
  ASSERT(first <= last && last <= type_length(type, object), "items beyond an array's end are visited");
  cradle_word *items = type_items(type, object);
  if (type->items == CRADLE_ITEMS_REFERENCES) visit_words(items + first, items + last, false, visit, context);
  if (type->items == CRADLE_ITEMS_VALUES) visit_words(items + first, items + last, true, visit, context);
}

/* The same for structures. If all words of one are of one kind, the items are one run of slots. */
CRD_ALWAYS_INLINE void visit_structures(const crd_type *type, const crd_item_slots *slots, cradle_word *object,
                                        uint64_t first, uint64_t last, crd_slot_function visit, void *context) {
  ASSERT(first <= last && last <= type_length(type, object), "items beyond an array's end are visited");
  ASSERT(slots->words != 0 && (slots->references | slots->values) != 0, "[type.5] structures without a slot");
  cradle_word *items = type_items(type, object);
  cradle_word *item = items + first * slots->words, *end = items + last * slots->words;
  if (slots->alike == CRADLE_ITEMS_REFERENCES) {
    visit_words(item, end, false, visit, context);
  } else if (slots->alike == CRADLE_ITEMS_VALUES) {
    visit_words(item, end, true, visit, context);
  } else {
    for (; item < end; item += slots->words) {
      visit_bits(item, slots->references, false, visit, context);
      visit_bits(item, slots->values, true, visit, context);
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
  visit_bitmap(object, type->references, false, visit, context);
  if (type->values != 0) visit_bitmap(object, type->values, true, visit, context);
  if (CRADLE_UNLIKELY(type->trace != NULL)) visit_by_callback(type, object, visit, context);
}

CRD_ALWAYS_INLINE void visit_object(const crd_type_table *types, cradle_word *object, crd_slot_function visit,
                                    void *context) {
  const crd_type *type = &types->types[header_type(object[0])];
  visit_fixed(type, object, visit, context);
  if (type->items < CRADLE_ITEMS_REFERENCES) return;
  uint64_t length = type_length(type, object);
  if (CRADLE_UNLIKELY(type->items == CRADLE_ITEMS_STRUCTURES))
    visit_structures(type, type_item_slots(types, object), object, 0, length, visit, context);
  else
    visit_items(type, object, 0, length, visit, context);
}

/* Words that are all of one kind. Each kind has a loop, so that the visit function is inline in both. */
CRD_ALWAYS_INLINE void visit_kind(cradle_word *from, cradle_word *to, cradle_kind kind, crd_slot_function visit,
                                  void *context) {
  if (kind == CRADLE_KIND_VALUE)
    visit_words(from, to, true, visit, context);
  else
    visit_words(from, to, false, visit, context);
}

#endif
