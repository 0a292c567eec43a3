/* What the verifier says of a fault: where the slot is, whose it is, and what the last collection was. */
#include "gc/check.h"
#include "gc/verify.h"

static void describe(verify_context *context, const cradle_word *object) {
  crd_text_type(context->text, context->heap, (uint32_t)object[0]);
  crd_text_add(context->text, " at ");
  crd_text_hex(context->text, (uintptr_t)object);
}

/* --- where a slot is --- */

static void text_index(crd_text *text, const char *words, ptrdiff_t index) {
  crd_text_add(text, words);
  crd_text_number(text, (uint64_t)index);
}

static void describe_range(crd_text *text, const cradle_root_range *range) {
  crd_text_add(text, "root range ");
  crd_text_add(text, range->name != NULL ? range->name : "without a name");
}

static bool describe_range_slot(crd_text *text, const crd_mutator *mutator, const cradle_word *slot) {
  for (const cradle_root_range *range = mutator->ranges; range != NULL; range = range->next) {
    const cradle_word *base = *range->base, *top = *range->top;
    if (slot < base || slot >= top) continue;
    describe_range(text, range);
    text_index(text, ", index ", slot - base);
    return true;
  }
  return false;
}

static bool describe_mutator_slot(crd_text *text, const crd_mutator *mutator, const cradle_word *slot) {
  const cradle_mutator *m = &mutator->public;
  if (slot >= m->shadow_base && slot < m->shadow_top) {
    text_index(text, "shadow stack, word ", slot - m->shadow_base);
    return true;
  }
  for (const cradle_scoped_root *root = m->scoped_roots; root != NULL; root = root->previous)
    if (root->address == slot) {
      crd_text_add(text, "a scoped root");
      return true;
    }
  return describe_range_slot(text, mutator, slot);
}

static void describe_root(const verify_context *context, const cradle_word *slot) {
  crd_text *text = context->text;
  const cradle_heap *heap = context->heap;
  if (heap->mutator != NULL && describe_mutator_slot(text, heap->mutator, slot)) return;
  for (size_t i = 0; i < heap->global_count; i++)
    if (heap->globals[i].address == slot) {
      crd_text_add(text, "the global root");
      return;
    }
  crd_text_add(text, context->other_root);
}

/* "word 5 (item 2) of type 3 (vector) at 0x..." */
static void describe_slot(verify_context *context, const cradle_word *slot) {
  crd_text *text = context->text;
  const cradle_heap *heap = context->heap;
  if (context->holder == NULL) {
    describe_root(context, slot);
    crd_text_add(text, " at ");
    crd_text_hex(text, (uintptr_t)slot);
    return;
  }
  const crd_type *type = heap_type(heap, context->holder[0]);
  ptrdiff_t word = slot - context->holder, fixed = type->size / 8;
  if (slot < context->holder || (size_t)word >= type_object_bytes(type, context->holder) / 8) {
    crd_text_add(text, "a slot that the trace callback visits at ");
    crd_text_hex(text, (uintptr_t)slot);
  } else {
    text_index(text, "word ", word);
    if (type->items >= CRADLE_ITEMS_REFERENCES && word >= fixed) {
      text_index(text, " (item ", word - fixed);
      crd_text_add(text, ")");
    }
  }
  crd_text_add(text, " of ");
  describe(context, context->holder);
}

static void add_last_collection(crd_text *text, const cradle_heap *heap) {
  crd_text_add(text, "; last collection: ");
  if (heap->stats.minor_collections == 0) {
    crd_text_add(text, "none yet");
    return;
  }
  crd_text_number(text, heap->stats.minor_collections);
  crd_text_add(text, " (");
  crd_text_add(text, cradle_cause_name(heap->last_cause));
  if (stress_is_on(heap)) crd_text_add(text, " "), crd_text_number(text, heap->stress.number);
  crd_text_add(text, ")");
}

void crd_fault(verify_context *context, const char *what, const cradle_word *slot) {
  if (verify_failed(context)) return;
  crd_text *text = context->text;
  crd_text_add(text, what);
  if (slot != NULL) {
    crd_text_add(text, ": ");
    crd_text_hex(text, *slot);
    crd_text_add(text, " in ");
    describe_slot(context, slot);
  }
  add_last_collection(text, context->heap);
}

void crd_fault_at(verify_context *context, const char *what, uintptr_t address) {
  if (verify_failed(context)) return;
  crd_text_add(context->text, what);
  if (address != 0) crd_text_add(context->text, ": "), crd_text_hex(context->text, address);
  add_last_collection(context->text, context->heap);
}

void crd_fault_of(verify_context *context, const char *what, const cradle_word *object, const cradle_word *slot) {
  if (verify_failed(context)) return;
  crd_text_add(context->text, what);
  crd_text_add(context->text, ": ");
  describe(context, object);
  if (slot != NULL) crd_text_add(context->text, " in "), describe_slot(context, slot);
  add_last_collection(context->text, context->heap);
}

void crd_fault_of_range(verify_context *context, const cradle_root_range *range) {
  if (verify_failed(context)) return;
  crd_text_add(context->text, "a root range ends before it begins: ");
  describe_range(context->text, range);
  add_last_collection(context->text, context->heap);
}
