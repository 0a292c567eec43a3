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

CRD_ALWAYS_INLINE void visit_bits(cradle_word *words, uint64_t bitmap, crd_slot_function visit, void *context) {
  for (; bitmap != 0; bitmap &= bitmap - 1) visit(context, words + __builtin_ctzll(bitmap));
}

/* From the last to the first, for a stack, which gives them back the other way round. */
CRD_ALWAYS_INLINE void visit_words_backward(cradle_word *from, cradle_word *to, crd_slot_function visit,
                                            void *context) {
  ASSERT(from <= to, "slots that end before they begin");
  while (to > from) visit(context, --to);
}
CRD_ALWAYS_INLINE void visit_bits_backward(cradle_word *words, uint64_t bitmap, crd_slot_function visit,
                                           void *context) {
  while (bitmap != 0) {
    unsigned word = 63 - (unsigned)__builtin_clzll(bitmap);
    visit(context, words + word);
    bitmap ^= UINT64_C(1) << word;
  }
}

CRD_ALWAYS_INLINE void visit_bitmap(cradle_word *object, uint64_t bitmap, crd_slot_function visit, void *context) {
  ASSERT(!(bitmap & 1), "[type.1] the header is taken for a slot");
  visit_bits(object, bitmap, visit, context);
}

/* The items from index first to last, for objects whose items are references or values. */
CRD_ALWAYS_INLINE void visit_items(const crd_type *type, cradle_word *object, uint64_t first, uint64_t last,
                                   crd_slot_function reference, crd_slot_function value, void *context) {
  ASSERT(type->items == CRADLE_ITEMS_REFERENCES || type->items == CRADLE_ITEMS_VALUES,
         "items that are no slots are visited as such");
  ASSERT(first <= last && last <= type_length(type, object), "items beyond an array's end are visited");
  cradle_word *items = type_items(type, object);
  if (type->items == CRADLE_ITEMS_REFERENCES) visit_words(items + first, items + last, reference, context);
  if (type->items == CRADLE_ITEMS_VALUES) visit_words(items + first, items + last, value, context);
}

/* The same for items that are structures. */
CRD_ALWAYS_INLINE void visit_structures(const crd_type *type, const crd_item_slots *slots, cradle_word *object,
                                        uint64_t first, uint64_t last, crd_slot_function reference,
                                        crd_slot_function value, void *context) {
  ASSERT(first <= last && last <= type_length(type, object), "items beyond an array's end are visited");
  ASSERT(slots->words != 0 && (slots->references | slots->values) != 0, "[type.5] structures without a slot");
  cradle_word *items = type_items(type, object);
  cradle_word *item = items + first * slots->words, *end = items + last * slots->words;
  if (slots->alike == CRADLE_ITEMS_REFERENCES) {
    visit_words(item, end, reference, context);
  } else if (slots->alike == CRADLE_ITEMS_VALUES) {
    visit_words(item, end, value, context);
  } else {
    for (; item < end; item += slots->words) {
      visit_bits(item, slots->references, reference, context);
      visit_bits(item, slots->values, value, context);
    }
  }
}

static inline void visit_by_callback(const crd_type *type, cradle_word *object, crd_slot_function reference,
                                     crd_slot_function value, void *context) {
  cradle_visitor visitor = {reference, value, context, 0};
  type->trace(object, &visitor);
}

/* What is not items: the fixed slots and the trace callback. */
CRD_ALWAYS_INLINE void visit_fixed(const crd_type *type, cradle_word *object, crd_slot_function reference,
                                   crd_slot_function value, void *context) {
  visit_bitmap(object, type->references, reference, context);
  if (type->values != 0) visit_bitmap(object, type->values, value, context);
  if (CRADLE_UNLIKELY(type->trace != NULL)) visit_by_callback(type, object, reference, value, context);
}

CRD_ALWAYS_INLINE void visit_object(const crd_type_table *types, cradle_word *object, crd_slot_function reference,
                                    crd_slot_function value, void *context) {
  const crd_type *type = &types->types[header_type(object[0])];
  visit_fixed(type, object, reference, value, context);
  if (type->items < CRADLE_ITEMS_REFERENCES) return;
  uint64_t length = type_length(type, object);
  if (CRADLE_UNLIKELY(type->items == CRADLE_ITEMS_STRUCTURES))
    visit_structures(type, type_item_slots(types, object), object, 0, length, reference, value, context);
  else
    visit_items(type, object, 0, length, reference, value, context);
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
