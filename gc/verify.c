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
#include "gc/registry.h"
#include "gc/verify.h"
#include "gc/visit.h"

/* No object lies below: systems leave the first pages out, so that NULL and what is near it fault. */
#define LOWEST_ADDRESS 4096
/* None has these bits, but a number of floating point has. On 64-bit Arm the program may have tags of its own there. */
#ifdef __aarch64__
#define NO_ADDRESS_BITS UINT64_C(0)
#else
#define NO_ADDRESS_BITS (UINT64_C(0xff) << 56)
#endif

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
#define PREBUILT_FLAGS (HEADER_BARRIER_FLAG | HEADER_PINNED_FLAG | HEADER_IDENTITY)
/* Those of an old array whose slots are recorded. */
#define ARRAY_FLAGS (HEADER_SLOTS_FLAG | HEADER_VALUES_FLAG)

static bool is_possible_header(const cradle_heap *heap, cradle_word header, uint64_t flags) {
  if ((uint32_t)header >= heap->types.count || (header >> 32 << 32) & ~flags) return false;
  const crd_type *type = heap_type(heap, header);
  if ((header & HEADER_WEAK_FLAG) && !(type->registers & REGISTERED_WEAKLY)) return false;
  return !(header & ARRAY_FLAGS) || (header & ARRAY_FLAGS) == (heap_old_flags(type, SIZE_MAX) & ARRAY_FLAGS);
}

/* Whether an object of so many bytes can be in a place of so many. Arrays may have become shorter. */
static bool is_possible_size(const cradle_heap *heap, const cradle_word *object, size_t bytes, size_t room) {
  const crd_type *type = heap_type(heap, object[0]);
  if (bytes == 0 || bytes > room) return false;
  if (type->items != CRADLE_ITEMS_NONE || !arenas_contain(&heap->old.arenas, (uintptr_t)object)) return true;
  return type->class_bytes != 0 ? type->class_bytes == room : room - bytes < PAGE_BYTES;
}

/* What the header says of the object that is kept elsewhere and is not there, or NULL. */
static const char *missing_beside(const verify_context *context, const cradle_word *object, uint64_t flags) {
  const cradle_heap *heap = context->heap;
  const crd_type *type = heap_type(heap, object[0]);
  if ((object[0] & HEADER_ID_FLAG) && !crd_ids_know(heap, object)) return "an object has the flag of an id, but no id [identity.1]";
  if ((object[0] & HEADER_PINNED_FLAG) && crd_address_map_get(&heap->pins.by_address, (uintptr_t)object) == ADDRESS_MAP_NONE)
    return "an object has the pinned flag, but no pin [pin.1]";
  if (!(flags & HEADER_BARRIER_FLAG)) return NULL;
  if (!(object[0] & HEADER_BARRIER_FLAG) && !heap->remember_all && !sorted_contain(&context->remembered, (uintptr_t)object))
    return "an old object has not the barrier flag, but is not remembered (was its header overwritten?) [heap.3]";
  uint64_t array_flags = heap_old_flags(type, type_object_bytes(type, object)) & flags & ARRAY_FLAGS;
  return (object[0] & array_flags) == array_flags ? NULL : "a large array has not the flags of one [heap.3]";
}

static bool can_be_read(const cradle_heap *heap, const cradle_word *object, size_t room, uint64_t flags) {
  return is_possible_header(heap, object[0], flags) && heap_type(heap, object[0])->size <= room && /* so the length can be read */
         is_possible_size(heap, object, type_object_bytes(heap_type(heap, object[0]), object), room);
}

/* Whether the object can be looked into. slot: what led there, or NULL. */
static bool verify_header(verify_context *context, const cradle_word *object, size_t room, uint64_t flags,
                          const cradle_word *slot) {
  const cradle_heap *heap = context->heap;
  crd_text what = {.length = 0};
  if (can_be_read(heap, object, room, flags)) {
    const char *missing = missing_beside(context, object, flags);
    if (missing != NULL) crd_fault_of(context, missing, object, slot);
    return true;
  }
  if (!is_possible_header(heap, object[0], flags)) {
    const char *cause = crd_poison_cause(object[0]);
    crd_text_add(&what, "broken header ");
    crd_text_hex(&what, object[0]);
    if (cause != NULL) crd_text_add(&what, ", of "), crd_text_add(&what, cause);
    if (is_possible_header(heap, object[0], OLD_FLAGS)) crd_text_add(&what, ", as an old object has (copied with one?)");
  } else {
    crd_text_add(&what, "wrong length or size of ");
    crd_text_type(&what, heap, (uint32_t)object[0]);
  }
  if (slot == NULL) {
    crd_text_add(&what, " at ");
    crd_text_hex(&what, (uintptr_t)object);
  }
  crd_fault(context, what.buffer, slot);
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
    crd_fault(context, "stale reference into the nursery, where no object is", slot);
    return;
  }
  if (context->holder_is_old && !is_remembered(context, slot))
    crd_fault(context, "missing write barrier: an old object that is not remembered refers to a young one", slot);
  if (context->seen[offset / 512] >> (offset / 8 % 64) & 1) return;
  context->seen[offset / 512] |= UINT64_C(1) << (offset / 8 % 64);
  const cradle_word *object = (const cradle_word *)address;
  if (!verify_header(context, object, young_room(heap, object), YOUNG_FLAGS, slot)) return;
  if (!word_stack_push(context->pending, address)) context->incomplete = true;
}

static void found_old(verify_context *context, uintptr_t address, const cradle_word *slot) {
  if (!crd_old_is_object(&context->heap->old, address)) {
    crd_fault(context, "stale reference into the old generation, where no object is", slot);
    return;
  }
  if (crd_registry_is_open(context->heap, (const cradle_word *)address)) return; /* one dead object refers to another */
  bool young;
  size_t room = old_room(context->heap, (const cradle_word *)address, &young);
  if (!verify_header(context, (const cradle_word *)address, room, young ? YOUNG_FLAGS : OLD_FLAGS, slot)) return;
  if (young && context->holder_is_old && !is_remembered(context, slot))
    crd_fault(context, "missing write barrier: an old object that is not remembered refers to a young large one", slot);
  if (!young && context->holder_is_traced && !old_is_marked(&context->heap->old, address) && !is_remembered(context, slot))
    crd_fault(context, "missing write barrier while marking: a traced object refers to one that is not marked [heap.6]", slot);
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
    crd_fault(context, what.buffer, slot);
  } else if (crd_quarantine_find(context->heap, address, &quarantined)) {
    crd_fault(context, "stale reference to what an earlier collection moved or freed", slot);
  } else if (address % 8 != 0 ? !may_hold_tags(context) : address < LOWEST_ADDRESS || (address & NO_ADDRESS_BITS)) {
    crd_fault(context, "no reference", slot);
  }
}

static void verify_address(verify_context *context, uintptr_t address, const cradle_word *slot) {
  bool young = heap_is_young(context->heap, address), old = arenas_contain(&context->heap->old.arenas, address);
  if (verify_failed(context)) return;
  if (context->holder_is_unwritten && (young || old))
    crd_fault(context, "missing write barrier: a prebuilt object that was never remembered refers into the heap", slot);
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
      crd_fault(context, "an object of a type with services was not allocated by cradle_new_registered", object);
    crd_registry_each_slot(context->heap, object, verify_service, context);
  }
  visit_object(heap_type(context->heap, object[0]), object, verify_reference, verify_value, context);
}

static void verify_old_object(void *data, cradle_word *object) {
  verify_context *context = data;
  if (verify_failed(context)) return;
  bool young;
  size_t room = old_room(context->heap, object, &young);
  uint64_t flags = young ? YOUNG_FLAGS : OLD_FLAGS;
  if (crd_registry_is_open(context->heap, object)) return;
  if (!can_be_read(context->heap, object, room, flags) || missing_beside(context, object, flags) != NULL) {
    if (context->broken == NULL) context->broken = object; /* its holder may come yet */
    return;
  }
  context->holder_is_old = !young;
  context->holder_is_traced = context->heap->major.phase == MAJOR_MARKING && !context->heap->major.overflowed &&
                              context->heap->major.rescan_page == PAGE_NONE && !young &&
                              old_is_marked(&context->heap->old, (uintptr_t)object) &&
                              !sorted_contain(&context->grey, (uintptr_t)object);
  if (heap_is_known_dead(context->heap, (uintptr_t)object)) return;
  verify_slots(context, object);
}

static void verify_young(verify_context *context) {
  context->holder_is_old = context->holder_is_traced = false;
  while (context->pending->top > context->pending_base && !verify_failed(context)) {
    cradle_word *object = (cradle_word *)(uintptr_t)*--context->pending->top;
    verify_slots(context, object);
  }
}

/* That each object without the flag is in the set was looked at with its header. */
static void verify_remembered(verify_context *context) {
  const cradle_heap *heap = context->heap;
  const sorted_words *set = &context->remembered;
  if (heap->remember_all) return;
  for (const cradle_word *entry = heap->remembered.base; entry < heap->remembered.top && !verify_failed(context); entry++) {
    const cradle_word *object = (const cradle_word *)(uintptr_t)*entry;
    if (!crd_old_is_object(&heap->old, (uintptr_t)object) && !prebuilt_is(&heap->prebuilts, object))
      crd_fault_at(context, "the remembered set holds what is no object", (uintptr_t)object);
    else if ((object[0] & HEADER_BARRIER_FLAG) && !crd_registry_is_open(heap, object))
      crd_fault_of(context, "an object is remembered, but has the barrier flag [heap.3]", object, NULL);
  }
  for (size_t i = 1; i < set->count; i++)
    if (set->words[i - 1] == set->words[i])
      crd_fault_of(context, "an object is remembered twice [heap.3]", (const cradle_word *)(uintptr_t)set->words[i], NULL);
}

static void verify_services(verify_context *context) {
  uintptr_t at;
  const char *lists = crd_registry_check(context->heap, &at);
  if (lists != NULL) crd_fault_at(context, lists, at);
  context->holder = NULL;
  context->other_root = "a weak set";
  context->holder_is_old = context->holder_is_traced = false;
  crd_registry_each_set(context->heap, verify_service, context);
}

static void verify_prebuilts(verify_context *context) {
  crd_prebuilts *prebuilts = &context->heap->prebuilts;
  for (uint32_t i = 0; i < prebuilts->count && !verify_failed(context); i++) {
    cradle_word *object = prebuilts->objects[i];
    if (!verify_header(context, object, prebuilts->bytes[i], PREBUILT_FLAGS, NULL)) return;
    context->holder_is_old = true;
    context->holder_is_traced = false;
    context->holder_is_unwritten = i >= prebuilts->written;
    verify_slots(context, object);
  }
  context->holder_is_unwritten = false;
}

/* What is kept beside the objects: addresses in it were found to be those of objects. Young objects that nothing refers to were
 * not looked at, so what belongs to them is not. */
static void verify_beside(verify_context *context) {
  uintptr_t at;
  const char *what = crd_pins_check(context->heap, &at);
  if (what == NULL) what = crd_handles_check(context->heap, &at);
  if (what == NULL) what = crd_ids_check(context->heap, &at);
  if (what != NULL) crd_fault_at(context, what, at);
}

/* Nobody holds it. */
static void verify_broken(verify_context *context) {
  bool young;
  if (verify_failed(context) || context->broken == NULL) return;
  size_t room = old_room(context->heap, context->broken, &young);
  (void)verify_header(context, context->broken, room, young ? YOUNG_FLAGS : OLD_FLAGS, NULL);
}

/* Young objects lie one after another: where two overlap, one is too long, or a reference leads into it. */
static void verify_neighbours(verify_context *context) {
  const cradle_heap *heap = context->heap;
  const cradle_word *start = (const cradle_word *)heap->nursery.start, *last = NULL;
  for (size_t i = 0; i < nursery_filled(heap) / 512 + 1 && !verify_failed(context); i++)
    for (uint64_t word = context->seen[i]; word != 0; word &= word - 1) {
      const cradle_word *object = start + i * 64 + (uint32_t)__builtin_ctzll(word);
      if (last != NULL && object < last + type_object_bytes(heap_type(heap, last[0]), last) / 8) {
        crd_text what = {.length = 0};
        crd_text_add(&what, "the young object at ");
        crd_text_hex(&what, (uintptr_t)object);
        crd_text_add(&what, " lies inside another");
        crd_fault_of(context, what.buffer, last, NULL);
      }
      last = object;
    }
}

static void verify_ranges(verify_context *context) {
  if (context->heap->mutator == NULL) return;
  for (const cradle_root_range *range = context->heap->mutator->ranges; range != NULL; range = range->next)
    if ((uintptr_t)*range->top < (uintptr_t)*range->base) crd_fault_of_range(context, range);
}

static void verify_all(verify_context *context) {
  cradle_heap *heap = context->heap;
  crd_old_retire(&heap->old);
  const char *structure = crd_old_check(&heap->old);
  if (structure != NULL) crd_fault_at(context, structure, 0);
  verify_ranges(context);
  if (verify_failed(context)) return;
  context->other_root = "a root of the root callback";
  visit_roots(heap, verify_reference, verify_value, context);
  context->other_root = "a handle";
  visit_handles(heap, 0, heap->handles.used, verify_reference, context);
  if (!verify_failed(context)) crd_old_each(&heap->old, false, verify_old_object, context);
  verify_prebuilts(context);
  verify_young(context);
  verify_broken(context);
  if (!verify_failed(context) && heap->services != NULL) verify_services(context);
  verify_young(context);
  verify_neighbours(context);
  verify_remembered(context);
  if (!verify_failed(context)) verify_beside(context);
}

static bool prepare(verify_context *context) {
  cradle_heap *heap = context->heap;
  context->pending = &heap->mark_stack;
  context->pending_base = heap->mark_stack.top;
  context->seen = calloc(nursery_filled(heap) / 512 + 1, sizeof *context->seen);
  bool recorded = sorted_from(&context->recorded, &heap->recorded, false);
  bool remembered = sorted_from(&context->remembered, &heap->remembered, false);
  bool grey = sorted_from(&context->grey, &heap->mark_stack, true);
  crd_word_stack fresh = crd_registry_fresh(heap);
  bool registered = sorted_from(&context->registered, &fresh, false);
  return context->seen != NULL && recorded && remembered && grey && registered;
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
  free(context.remembered.words);
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
