#include "gc/instruments/verification.h"

#include <inttypes.h>

#include "gc/heap.h"
#include "gc/instruments/referrers.h"
#include "gc/report/misuse.h"
#include "gc/roots.h"

static void describe(crd_verification *verification, const cradle_word *object) {
  crd_text_format(verification->text, "%s at %p",
                  crd_name_type(&verification->heap->space, header_type(object[0])).buffer, (const void *)object);
}

/* --- where a slot is --- */

/* A root that no table has is one of the root callback or a handle; the holder says which. */
static void describe_root(const crd_verification *verification, const cradle_word *slot) {
  const cradle_heap *heap = verification->heap;
  crd_text *text = verification->text;
  const crd_walker nobody = {.root = CRADLE_HOLDER_OBJECT};
  crd_root_names names = crd_root_names_begin(heap, &nobody);
  cradle_referrer root = {.slot = slot};
  uint32_t range;
  crd_root_name(&names, &root, &range);
  const char *kind = crd_holder_name(root.holder);
  const crd_type_words name = crd_show_name(root.name == kind ? NULL : root.name);
  ASSERT(root.holder != CRADLE_HOLDER_OTHER_ROOT || verification->holder.root != NULL, "a root that nothing names");
  switch (root.holder) {
  case CRADLE_HOLDER_SHADOW_STACK: crd_text_format(text, "%s, word %" PRIu64, kind, root.index); break;
  case CRADLE_HOLDER_SCOPED_ROOT: crd_text_format(text, "%s %s", kind, name.buffer); break;
  case CRADLE_HOLDER_ROOT_RANGE: crd_text_format(text, "%s %s, index %" PRIu64, kind, name.buffer, root.index); break;
  case CRADLE_HOLDER_GLOBAL_ROOT: crd_text_format(text, "the global root"); break;
  default: crd_text_format(text, "%s", verification->holder.root);
  }
  if (names.stack != NULL && names.stack != &heap->space.mutator->own)
    crd_text_format(text, " of the root stack at %p", (const void *)names.stack);
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
  const crd_type *type = space_type(&verification->heap->space, holder[0]);
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
  if (heap->report.stats.minor_collections == 0) {
    crd_text_format(text, "; last collection: none yet");
    return;
  }
  crd_text_format(text, "; last collection: %" PRIu64 " (%s", heap->report.stats.minor_collections,
                  crd_cause_name(heap->last_cause));
  if (stress_is_on(&heap->options)) crd_text_format(text, " %" PRIu64, heap->stress.number);
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
