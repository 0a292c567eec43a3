/* The verifier: walks the whole heap and says what is the first thing wrong with it.
 *
 * Every root and every slot of every old object is looked at, and from them every young object that can be reached: a
 * reference must lead to the start of an object; an old object that refers to a young one must be remembered, or the slot
 * recorded; while a major collection marks, what a traced object refers to must be marked; headers, sizes, bitmaps and counts
 * must agree. What it finds is more often a mistake of the embedder's (a missing barrier, a root
 * that was not registered, a wrong descriptor) than of the collector's, so the message names holder, slot and type.
 */
#include <stdlib.h>

#include "gc/check.h"
#include "gc/heap.h"
#include "gc/registry.h"
#include "gc/visit.h"

/* No object lies below: systems leave the first pages out, so that NULL and what is near it fault. */
#define LOWEST_ADDRESS 4096

/* Words in ascending order. */
typedef struct sorted_words {
  cradle_word *words;
  size_t count;
} sorted_words;

typedef struct verify_context {
  cradle_heap *heap;
  crd_text *text;          /* empty while all is well */
  uint64_t *seen;          /* a bit a word of the nursery: a young object that was found */
  crd_word_stack *pending; /* young objects found and not looked into: the mark stack, above what is on it */
  cradle_word *pending_base;
  sorted_words recorded;   /* slots */
  sorted_words grey;       /* marked objects on the mark stack */
  sorted_words registered; /* since the last minor collection */
  const cradle_word *holder; /* NULL: a root */
  bool holder_is_old, holder_is_traced;
  bool holder_is_unwritten;  /* a prebuilt object that no collection looks at */
  uint64_t unflagged;      /* old and prebuilt objects without the barrier flag */
  uint64_t pinned;         /* the same with the pinned flag */
  bool incomplete;         /* memory for the walk ran out */
} verify_context;

static bool failed(const verify_context *context) {
  return context->text->length != 0;
}

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

static void describe_root(crd_text *text, const cradle_heap *heap, const cradle_word *slot) {
  if (heap->mutator != NULL && describe_mutator_slot(text, heap->mutator, slot)) return;
  for (size_t i = 0; i < heap->global_count; i++)
    if (heap->globals[i].address == slot) {
      crd_text_add(text, "the global root");
      return;
    }
  crd_text_add(text, "a root of the root callback");
}

/* "word 5 (item 2) of type 3 (vector) at 0x..." */
static void describe_slot(verify_context *context, const cradle_word *slot) {
  crd_text *text = context->text;
  const cradle_heap *heap = context->heap;
  if (context->holder == NULL) {
    describe_root(text, heap, slot);
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
  crd_text_number(text, heap->stats.minor_collections);
  crd_text_add(text, " (");
  crd_text_add(text, cradle_cause_name(heap->last_cause));
  if (stress_is_on(heap)) crd_text_add(text, " "), crd_text_number(text, heap->stress.number);
  crd_text_add(text, ")");
}

static CRADLE_COLD void fault(verify_context *context, const char *what, const cradle_word *slot) {
  if (failed(context)) return;
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

/* --- sets --- */

static int compare_words(const void *a, const void *b) {
  cradle_word x = *(const cradle_word *)a, y = *(const cradle_word *)b;
  return x < y ? -1 : x > y;
}

static bool sorted_contain(const sorted_words *set, cradle_word word) {
  return set->count != 0 && bsearch(&word, set->words, set->count, sizeof word, compare_words) != NULL;
}

/* Fills a set from a stack. With indices, an entry with bit 0 set is followed below by a word that is no entry. */
static bool sorted_from(sorted_words *set, const crd_word_stack *stack, bool indices) {
  set->count = 0;
  set->words = malloc(((size_t)(stack->top - stack->base) + 1) * sizeof *set->words);
  if (set->words == NULL) return false;
  for (const cradle_word *entry = stack->top; entry > stack->base;) {
    cradle_word word = *--entry;
    if (indices && (word & 1)) entry--;
    set->words[set->count++] = word & ~(cradle_word)1;
  }
  qsort(set->words, set->count, sizeof *set->words, compare_words);
  return true;
}

/* Whether the next minor collection will look at the slot of the old holder. */
static bool is_remembered(const verify_context *context, const cradle_word *slot) {
  if (!(context->holder[0] & HEADER_BARRIER_FLAG)) return true;
  return (context->holder[0] & HEADER_SLOTS_FLAG) && sorted_contain(&context->recorded, (uintptr_t)slot);
}

/* --- references --- */

/* The flags that objects may have. */
#define YOUNG_FLAGS (HEADER_WEAK_FLAG | HEADER_IDENTITY)
#define OLD_FLAGS (HEADER_OLD_FLAGS | HEADER_PINNED_FLAG | HEADER_IDENTITY)

/* Whether the object can be looked into. slot: what led there, or NULL. */
static bool verify_header(verify_context *context, const cradle_word *object, size_t room, uint64_t flags,
                          const cradle_word *slot) {
  crd_text what = {.length = 0};
  if ((uint32_t)object[0] >= context->heap->types.count || (object[0] >> 32 << 32) & ~flags) {
    const char *cause = crd_poison_cause(object[0]);
    crd_text_add(&what, "broken header ");
    crd_text_hex(&what, object[0]);
    if (cause != NULL) crd_text_add(&what, ", of "), crd_text_add(&what, cause);
  } else {
    if ((object[0] & HEADER_ID_FLAG) && !crd_ids_know(context->heap, object))
      fault(context, "an object has the flag of an id, but no id [identity.1]", NULL);
    size_t bytes = type_object_bytes(heap_type(context->heap, object[0]), object);
    if (bytes != 0 && bytes <= room) return true;
    crd_text_add(&what, "wrong length or size of ");
    crd_text_type(&what, context->heap, (uint32_t)object[0]);
  }
  if (slot == NULL) {
    crd_text_add(&what, " at ");
    crd_text_hex(&what, (uintptr_t)object);
  }
  fault(context, what.buffer, slot);
  return false;
}

static size_t young_room(const cradle_heap *heap, const cradle_word *object) {
  return (size_t)(heap->mutator->public.free - (const char *)object);
}

static size_t old_room(const cradle_heap *heap, const cradle_word *object, bool *young) {
  const crd_page *page = old_span_of(&heap->old, (uintptr_t)object);
  *young = page->state == PAGE_LARGE_YOUNG;
  return page->state == PAGE_SMALL ? heap->old.classes.of[page->size_class].bytes : (size_t)page->pages << PAGE_SHIFT;
}

static void found_young(verify_context *context, uintptr_t address, const cradle_word *slot) {
  cradle_heap *heap = context->heap;
  size_t offset = address - (uintptr_t)heap->nursery.start;
  if (heap->mutator == NULL || address >= (uintptr_t)heap->mutator->public.free || offset % 8 != 0) {
    fault(context, "stale reference into the nursery, where no object is", slot);
    return;
  }
  if (context->holder_is_old && !is_remembered(context, slot))
    fault(context, "missing write barrier: an old object that is not remembered refers to a young one", slot);
  if (context->seen[offset / 512] >> (offset / 8 % 64) & 1) return;
  context->seen[offset / 512] |= UINT64_C(1) << (offset / 8 % 64);
  const cradle_word *object = (const cradle_word *)address;
  if (!verify_header(context, object, young_room(heap, object), YOUNG_FLAGS, slot)) return;
  if (!word_stack_push(context->pending, address)) context->incomplete = true;
}

static void found_old(verify_context *context, uintptr_t address, const cradle_word *slot) {
  if (!crd_old_is_object(&context->heap->old, address)) {
    fault(context, "stale reference into the old generation, where no object is", slot);
    return;
  }
  if (crd_registry_is_open(context->heap, (const cradle_word *)address)) return; /* one dead object refers to another */
  bool young;
  size_t room = old_room(context->heap, (const cradle_word *)address, &young);
  if (!verify_header(context, (const cradle_word *)address, room, young ? YOUNG_FLAGS : OLD_FLAGS, slot)) return;
  if (young && context->holder_is_old && !is_remembered(context, slot))
    fault(context, "missing write barrier: an old object that is not remembered refers to a young large one", slot);
  if (!young && context->holder_is_traced && !old_is_marked(&context->heap->old, address) && !is_remembered(context, slot))
    fault(context, "missing write barrier while marking: a traced object refers to one that is not marked [heap.6]", slot);
}

static bool may_hold_tags(const verify_context *context) {
  return context->holder != NULL && heap_type(context->heap, context->holder[0])->folded;
}

/* An address outside of the heap is an object that the program made itself, or of another heap; but some can be neither. */
static void found_outside(verify_context *context, uintptr_t address, const cradle_word *slot) {
  crd_quarantined quarantined;
  const char *cause = crd_poison_cause(address);
  if (address == 0) return;
  if (cause != NULL) {
    crd_text what = {.length = 0};
    crd_text_add(&what, "poison, of ");
    crd_text_add(&what, cause);
    fault(context, what.buffer, slot);
  } else if (crd_quarantine_find(context->heap, address, &quarantined)) {
    fault(context, "stale reference to what an earlier collection moved or freed", slot);
  } else if (address % 8 != 0 ? !may_hold_tags(context) : address < LOWEST_ADDRESS) {
    fault(context, "no reference", slot);
  }
}

static void verify_address(verify_context *context, uintptr_t address, const cradle_word *slot) {
  bool young = heap_is_young(context->heap, address), old = arenas_contain(&context->heap->old.arenas, address);
  if (failed(context)) return;
  if (context->holder_is_unwritten && (young || old))
    fault(context, "missing write barrier: a prebuilt object that was never remembered refers into the heap", slot);
  else if (young)
    found_young(context, address, slot);
  else if (old)
    found_old(context, address, slot);
  else
    found_outside(context, address, slot);
}

static void verify_reference(void *data, cradle_word *slot) {
  verify_address(data, (uintptr_t)*slot, slot);
}

static void verify_value(void *data, cradle_word *slot) {
  verify_context *context = data;
  const cradle_encoding *encoding = &context->heap->encoding;
  if (value_is_reference(encoding, *slot)) verify_address(context, value_address(encoding, *slot), slot);
}

/* Weak slots and ephemerons hold no stale references, whether what they refer to is reached or not. */
static void verify_service(void *data, bool value, cradle_word *slot) {
  verify_context *context = data;
  bool traced = context->holder_is_traced;
  context->holder_is_traced = false;
  if (value)
    verify_value(context, slot);
  else
    verify_reference(context, slot);
  context->holder_is_traced = traced;
}

/* Of the old, those with weak slots or ephemerons can be told: they have the weak flag. */
static bool is_registered(const verify_context *context, const cradle_word *object, unsigned registers) {
  if (heap_holds_young(context->heap, (uintptr_t)object)) return sorted_contain(&context->registered, (uintptr_t)object);
  return !(registers & REGISTERED_WEAKLY) || (object[0] & HEADER_WEAK_FLAG) != 0;
}

static void verify_slots(verify_context *context, cradle_word *object) {
  context->holder = object;
  unsigned registers = heap_type(context->heap, object[0])->registers;
  if (CRADLE_UNLIKELY(registers != 0)) {
    if (!is_registered(context, object, registers))
      fault(context, "an object of a type with services was not allocated by cradle_new_registered", object);
    crd_registry_each_slot(context->heap, object, verify_service, context);
  }
  visit_object(heap_type(context->heap, object[0]), object, verify_reference, verify_value, context);
}

static void verify_old_object(void *data, cradle_word *object) {
  verify_context *context = data;
  if (failed(context)) return;
  bool young;
  size_t room = old_room(context->heap, object, &young);
  if (crd_registry_is_open(context->heap, object)) return;
  if (!verify_header(context, object, room, young ? YOUNG_FLAGS : OLD_FLAGS, NULL)) return;
  if (!young && !(object[0] & HEADER_BARRIER_FLAG)) context->unflagged++;
  if (object[0] & HEADER_PINNED_FLAG) context->pinned++;
  context->holder_is_old = !young;
  context->holder_is_traced = context->heap->major.phase == MAJOR_MARKING && !context->heap->major.overflowed &&
                              context->heap->major.rescan_page == PAGE_NONE && !young &&
                              old_is_marked(&context->heap->old, (uintptr_t)object) &&
                              !sorted_contain(&context->grey, (uintptr_t)object);
  verify_slots(context, object);
}

static void verify_young(verify_context *context) {
  context->holder_is_old = context->holder_is_traced = false;
  while (context->pending->top > context->pending_base && !failed(context)) {
    cradle_word *object = (cradle_word *)(uintptr_t)*--context->pending->top;
    verify_slots(context, object);
  }
}

static void verify_remembered(verify_context *context) {
  cradle_heap *heap = context->heap;
  uint64_t entries = (uint64_t)(heap->remembered.top - heap->remembered.base);
  if (failed(context) || heap->remember_all) return;
  for (cradle_word *entry = heap->remembered.base; entry < heap->remembered.top; entry++)
    if (!crd_old_is_object(&heap->old, (uintptr_t)*entry) && !prebuilt_is(&heap->prebuilts, (const void *)(uintptr_t)*entry))
      fault(context, "the remembered set holds what is no object", NULL);
  if (entries != context->unflagged) fault(context, "the remembered set and the barrier flags disagree [heap.3]", NULL);
}

static void verify_services(verify_context *context) {
  const char *lists = crd_registry_check(context->heap);
  if (lists != NULL) fault(context, lists, NULL);
  context->holder = NULL;
  context->holder_is_old = context->holder_is_traced = false;
  crd_registry_each_set(context->heap, verify_service, context);
}

static void verify_prebuilts(verify_context *context) {
  crd_prebuilts *prebuilts = &context->heap->prebuilts;
  for (uint32_t i = 0; i < prebuilts->count && !failed(context); i++) {
    cradle_word *object = prebuilts->objects[i];
    if (!verify_header(context, object, SIZE_MAX, HEADER_BARRIER_FLAG | HEADER_PINNED_FLAG | HEADER_IDENTITY, NULL)) return;
    if (!(object[0] & HEADER_BARRIER_FLAG)) context->unflagged++;
    if (object[0] & HEADER_PINNED_FLAG) context->pinned++;
    context->holder_is_old = true;
    context->holder_is_traced = false;
    context->holder_is_unwritten = i >= prebuilts->written;
    verify_slots(context, object);
  }
  context->holder_is_unwritten = false;
}

/* What is kept beside the objects. Young objects that nothing refers to were not looked at, so what belongs to them is not. */
static void verify_beside(verify_context *context) {
  const char *what = crd_pins_check(context->heap);
  if (what == NULL && context->pinned != context->heap->pins.count) what = "an object has the pinned flag, but no pin [pin.1]";
  if (what == NULL) what = crd_handles_check(context->heap);
  if (what == NULL) what = crd_ids_check(context->heap);
  if (what != NULL) fault(context, what, NULL);
}

/* Such a range is taken for an empty one by the collections, and what it holds dies. */
static void verify_ranges(verify_context *context) {
  if (context->heap->mutator == NULL) return;
  for (const cradle_root_range *range = context->heap->mutator->ranges; range != NULL && !failed(context); range = range->next) {
    if ((uintptr_t)*range->top >= (uintptr_t)*range->base) continue;
    crd_text_add(context->text, "a root range ends before it begins: ");
    describe_range(context->text, range);
    add_last_collection(context->text, context->heap);
  }
}

static void verify_all(verify_context *context) {
  cradle_heap *heap = context->heap;
  crd_old_retire(&heap->old);
  const char *structure = crd_old_check(&heap->old);
  if (structure != NULL) fault(context, structure, NULL);
  verify_ranges(context);
  if (failed(context)) return;
  visit_roots(heap, verify_reference, verify_value, context);
  visit_handles(heap, 0, heap->handles.used, verify_reference, context);
  if (!failed(context)) crd_old_each(&heap->old, false, verify_old_object, context);
  if (!failed(context) && heap->services != NULL) verify_services(context);
  verify_prebuilts(context);
  if (!failed(context)) verify_young(context);
  verify_remembered(context);
  verify_beside(context);
}

static bool prepare(verify_context *context) {
  cradle_heap *heap = context->heap;
  context->pending = &heap->mark_stack;
  context->pending_base = heap->mark_stack.top;
  context->seen = calloc(nursery_filled(heap) / 512 + 1, sizeof *context->seen);
  bool recorded = sorted_from(&context->recorded, &heap->recorded, false);
  bool grey = sorted_from(&context->grey, &heap->mark_stack, true);
  crd_word_stack fresh = crd_registry_fresh(heap);
  bool registered = sorted_from(&context->registered, &fresh, false);
  return context->seen != NULL && recorded && grey && registered;
}

bool crd_verify(cradle_heap *heap, crd_text *text) {
  verify_context context = {.heap = heap, .text = text};
  int state = heap->state;
  bool prepared = prepare(&context);
  if (prepared) {
    heap->state = HEAP_VERIFYING;
    crd_nursery_set_top(heap);
    verify_all(&context);
    context.pending->top = context.pending_base; /* a fault leaves some */
    heap->state = state;
    crd_nursery_set_top(heap);
  }
  free(context.seen);
  free(context.recorded.words);
  free(context.grey.words);
  free(context.registered.words);
  if (!prepared) {
    crd_event_note(heap, "the heap was not verified: no memory for it", nursery_filled(heap) / 64, 0);
    return true;
  }
  if (context.incomplete) crd_event_note(heap, "the heap was verified in part: no memory for all of it", 0, 0);
  return text->length == 0;
}

bool cradle_heap_verify(cradle_heap *heap, cradle_error *error) {
  crd_text text = {.length = 0};
  heap_check(heap, "cradle_heap_verify");
  if (crd_verify(heap, &text)) {
    if (error != NULL) error->message[0] = '\0';
    return true;
  }
  return crd_fail(error, text.buffer);
}
