#include "gc/instruments/verify_words.h"

#include <inttypes.h>

#include "gc/heap.h"
#include "gc/misuse.h"
#include "gc/roots.h"

static void describe(crd_verification *verification, const cradle_word *object) {
  crd_text_format(verification->text, "%s at %p", crd_name_type(verification->heap, header_type(object[0])).buffer,
                  (const void *)object);
}

/* --- where a slot is --- */

static bool describe_range_slot(crd_text *text, const cradle_root_range *range, const cradle_word *slot) {
  for (; range != NULL; range = range->next) {
    const cradle_word *base = range_base(range), *top = range_top(range);
    if (slot < base || slot >= top) continue;
    crd_text_format(text, "root range %s, index %zu", crd_show_name(range->name).buffer, (size_t)(slot - base));
    return true;
  }
  return false;
}

static bool describe_stack_slot(crd_text *text, const cradle_root_stack *stack, const cradle_word *slot) {
  if (slot >= stack->shadow.base && slot < stack->shadow.top) {
    crd_text_format(text, "shadow stack, word %zu", (size_t)(slot - stack->shadow.base));
    return true;
  }
  for (const cradle_word *at = stack->scoped.top; at > stack->scoped.base + 1;) {
    crd_scoped_root root = scoped_root_next(&at);
    if (root.variable != slot) continue;
    crd_text_format(text, "scoped root %s", crd_show_name(root.name).buffer);
    return true;
  }
  return describe_range_slot(text, stack->ranges, slot);
}

static bool describe_mutator_slot(crd_text *text, crd_mutator *mutator, const cradle_word *slot) {
  crd_root_stack_store(mutator);
  for (int ring = ROOT_STACKS_RAN; ring < ROOT_STACKS_RINGS; ring++)
    for (EACH_ROOT_STACK(stack, mutator, ring)) {
      if (!describe_stack_slot(text, stack, slot)) continue;
      if (stack != &mutator->own) crd_text_format(text, " of the root stack at %p", (const void *)stack);
      return true;
    }
  return describe_range_slot(text, mutator->ranges, slot);
}

static const char *name_root(const crd_verification *verification, const cradle_word *slot) {
  const cradle_heap *heap = verification->heap;
  for (size_t i = 0; i < heap->global_count; i++)
    if (heap->globals[i].address == slot) return "the global root";
  ASSERT(verification->holder.root != NULL, "a root that nothing names");
  return verification->holder.root;
}

static void describe_root(const crd_verification *verification, const cradle_word *slot) {
  crd_text *text = verification->text;
  crd_mutator *mutator = verification->heap->mutator;
  if (mutator == NULL || !describe_mutator_slot(text, mutator, slot))
    crd_text_format(text, "%s", name_root(verification, slot));
  crd_text_format(text, " at %p", (const void *)slot);
}

/* Adds " (item 2)", or for items that are structures " (word 1 of item 2)". */
static void describe_item(crd_verification *verification, const crd_type *type, size_t word) {
  size_t words = type->item_size / 8;
  if (type->items != CRADLE_ITEMS_STRUCTURES)
    crd_text_format(verification->text, " (item %zu)", word);
  else
    crd_text_format(verification->text, " (word %zu of item %zu)", word % words, word / words);
}

/* Adds "word 5 (item 2) of type 3 (vector) at 0x...", or which root the slot is. */
static void describe_slot(crd_verification *verification, const cradle_word *slot) {
  crd_text *text = verification->text;
  const cradle_word *holder = verification->holder.object;
  if (holder == NULL) {
    describe_root(verification, slot);
    return;
  }
  const crd_type *type = heap_type(verification->heap, holder[0]);
  size_t word = (size_t)(slot - holder), fixed = type->size / 8;
  if (slot < holder || word >= type_object_bytes(type, holder) / 8) {
    crd_text_format(text, "a slot that the trace callback visits at %p", (const void *)slot);
  } else {
    crd_text_format(text, "word %zu", word);
    if (type->items >= CRADLE_ITEMS_REFERENCES && word >= fixed) describe_item(verification, type, word - fixed);
  }
  crd_text_format(text, " of ");
  describe(verification, holder);
}

static void add_last_collection(crd_verification *verification) {
  const cradle_heap *heap = verification->heap;
  crd_text *text = verification->text;
  if (heap->stats.minor_collections == 0) {
    crd_text_format(text, "; last collection: none yet");
    return;
  }
  crd_text_format(text, "; last collection: %" PRIu64 " (%s", heap->stats.minor_collections,
                  cradle_cause_name(heap->last_cause));
  if (stress_is_on(heap)) crd_text_format(text, " %" PRIu64, heap->stress.number);
  crd_text_format(text, ")");
}

/* --- the faults --- */

void crd_fault(crd_verification *verification, const char *what, const cradle_word *slot) {
  if (verify_failed(verification)) return;
  crd_text_format(verification->text, "%s", what);
  if (slot != NULL) {
    crd_text_format(verification->text, ": %#" PRIx64 " in ", *slot);
    describe_slot(verification, slot);
  }
  add_last_collection(verification);
}

void crd_fault_at(crd_verification *verification, const char *what, uintptr_t address) {
  if (verify_failed(verification)) return;
  crd_text_format(verification->text, "%s", what);
  if (address != 0) crd_text_format(verification->text, ": %#" PRIxPTR, address);
  add_last_collection(verification);
}

void crd_fault_of(crd_verification *verification, const char *what, const cradle_word *object,
                  const cradle_word *slot) {
  if (verify_failed(verification)) return;
  crd_text_format(verification->text, "%s: ", what);
  describe(verification, object);
  if (slot != NULL) {
    crd_text_format(verification->text, " in ");
    describe_slot(verification, slot);
  }
  add_last_collection(verification);
}
