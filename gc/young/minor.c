#include "gc/young/minor.h"

#include <string.h>

#include "gc/death_calls.h"
#include "gc/event.h"
#include "gc/heap.h"
#include "gc/old/mark.h"
#include "gc/roots.h"
#include "gc/tables/handle.h"
#include "gc/tables/identity.h"

#define COPY_INLINE_WORDS 16
#define RECORDED_PIECE LIMIT(64, 4)
/* Remembered objects and recorded slots are prefetched so many entries ahead, what they refer to half as many. */
#define AHEAD 16

struct crd_minor {
  crd_minor *self; /* see borrow */
  uintptr_t nursery_start, nursery_bytes;
  uintptr_t near_start, near_bytes; /* where the address of a value that matters lies */
  crd_allocator *allocators;
  const crd_type *types;
  cradle_word *pending;   /* dead bodies of objects whose copies are to be traced */
  uint32_t pending_large; /* [minor.2] */
  bool has_young_large, marking;
  bool looked_at_all; /* old objects, not only the remembered ones */
  bool looks_at_old;  /* has_young_large or marking: references that do not lead into the nursery matter */
  uint64_t objects, bytes;
  cradle_heap *heap;
  cradle_encoding encoding; /* of the heap */
};

static CRADLE_COLD void *promote_large(crd_minor *context, size_t bytes) {
  void *place = crd_old_take_large(&context->heap->old, bytes, false, false, 0);
  ASSERT(place != NULL, "[heap.2] the promotion reserve did not hold a page run");
  return place;
}

/* Most objects are a few words: a call of memcpy would cost more than the copy. */
static inline void copy_words(cradle_word *restrict to, const cradle_word *restrict from, size_t words) {
  if (CRADLE_UNLIKELY(words > COPY_INLINE_WORDS)) {
    memcpy(to, from, words * 8);
    return;
  }
  for (size_t i = 0; i < words; i++) {
    to[i] = from[i];
    __asm__("" : "+r"(i)); /* keeps the compiler from making it that call */
  }
}

/* A place for an object that the fast path cannot serve: the run is used up, or the size is not in the type. */
static CRADLE_NOINLINE cradle_word *slow_place(crd_minor *context, size_t bytes) {
  if (CRADLE_UNLIKELY(bytes > SMALL_MAX_BYTES)) return promote_large(context, bytes);
  crd_old *old = &context->heap->old;
  char *place = old_take_small(old, old_class_of(old, bytes), 0);
  ASSERT(place != NULL, "[heap.2] the promotion reserve did not hold a span");
  return words_of(place);
}

/* --- the pending list [minor.1] --- */

CRD_ALWAYS_INLINE void pending_push(crd_minor *context, cradle_word *body) {
  body[1] = address_of(context->pending);
  context->pending = body;
}

/* Takes a body off; returns its copy. */
CRD_ALWAYS_INLINE cradle_word *pending_pop(crd_minor *context) {
  cradle_word *body = context->pending;
  ASSERT(header_is_forwarded(body[0]), "[minor.1] a body on the pending list has no copy");
  context->pending = object_at(body[1]);
  return object_at(header_forwarded_to(body[0]));
}

/* Copies an object to the old generation and leaves its new address behind. */
CRD_ALWAYS_INLINE uintptr_t copy(crd_minor *context, cradle_word *object, uint64_t header) {
  const crd_type *type = &context->types[header_type(header)];
  crd_allocator *allocator = &context->allocators[type->size_class];
  cradle_word *place = words_of(allocator->free);
  size_t bytes = type->size;
  ASSERT(!header_has(header, HEADER_OLD_ONLY_FLAGS), "[header.2] a young object has flags of an old one");
  if (CRADLE_LIKELY(type->class_bytes != 0 && allocator->free != allocator->end)) {
    allocator->free += type->class_bytes;
  } else {
    bytes = type_object_bytes(type, object);
    place = slow_place(context->self, bytes);
    header |= type_old_flags(type, bytes);
  }
  place[0] = header_with_barrier(header);
  place[1] = object[1];
  copy_words(place + 2, object + 2, bytes / 8 - 2);
  object_forward(object, place);
  if (type->has_slots) pending_push(context, object);
  context->objects++;
  context->bytes += bytes;
  return address_of(place);
}

/* The new address of a young object, which is copied unless it has been. */
CRD_ALWAYS_INLINE uintptr_t promote(crd_minor *context, uintptr_t address) {
  cradle_word *object = object_at(address);
  uint64_t header = object[0];
  if (header_is_forwarded(header)) return header_forwarded_to(header);
  return copy(context, object, header);
}

/* A reference that does not lead into the nursery: to an object that marking must see, or to a large one that may be
 * young. */
static CRADLE_COLD void reach_old(crd_minor *context, uintptr_t address) {
  crd_arenas *arenas = &context->heap->old.arenas;
  if (!arenas_contain(arenas, address)) return;
  if (context->has_young_large) {
    crd_page *page = arenas_page(arenas, arenas_page_number(arenas, address));
    if (page->state == PAGE_LARGE_YOUNG) {
      page->state = PAGE_LARGE_REACHED;
      page->pending = context->pending_large;
      context->pending_large = page->head;
    }
    if (page->state == PAGE_LARGE_REACHED) return;
  }
  if (context->marking) crd_mark_address(context->heap, address);
}

CRD_ALWAYS_INLINE void minor_reference(crd_minor *context, cradle_word *slot) {
  uintptr_t address = *slot;
  if (address - context->nursery_start < context->nursery_bytes)
    *slot = promote(context, address);
  else if (CRADLE_UNLIKELY(context->looks_at_old))
    reach_old(context->self, address);
}

CRD_ALWAYS_INLINE void minor_value_with(crd_minor *context, cradle_word *slot,
                                        void (*promote_it)(crd_minor *, cradle_word *)) {
  if (!value_is_reference(&context->encoding, *slot)) return;
  uintptr_t address = value_address(&context->encoding, *slot);
  if (address - context->nursery_start < context->nursery_bytes)
    promote_it(context, slot);
  else if (CRADLE_UNLIKELY(context->looks_at_old))
    reach_old(context->self, address);
}

CRD_ALWAYS_INLINE void promote_value(crd_minor *context, cradle_word *slot) {
  *slot = value_moved(&context->encoding, *slot, promote(context, value_address(&context->encoding, *slot)));
}

static CRADLE_NOINLINE void promote_value_called(crd_minor *context, cradle_word *slot) {
  promote_value(context, slot);
}

/* Most values are zero, immediates or old: taken for an address, whatever the encoding, they lie elsewhere, and the
 * loops over arrays and stacks pass them with one comparison. */
CRD_ALWAYS_INLINE void minor_value(crd_minor *context, cradle_word *slot) {
  if (CRADLE_LIKELY(value_address(&context->encoding, *slot) - context->near_start >= context->near_bytes)) return;
  minor_value_with(context, slot, promote_value_called);
}

CRD_ALWAYS_INLINE void minor_slot(void *context, bool value, cradle_word *slot) {
  if (value)
    minor_value(context, slot);
  else
    minor_reference(context, slot);
}

/* With all of it inline. */
CRD_ALWAYS_INLINE void minor_slot_inline(void *context, bool value, cradle_word *slot) {
  if (value)
    minor_value_with(context, slot, promote_value);
  else
    minor_reference(context, slot);
}

static inline bool is_near(uintptr_t address, uintptr_t start, uintptr_t bytes) {
  return address - start < bytes;
}

/* The values of an array, four at a time while they lie elsewhere. */
CRD_ALWAYS_INLINE void trace_values(crd_minor *context, cradle_word *slot, cradle_word *end) {
  uint64_t payload = context->encoding.payload_mask;
  uintptr_t start = context->near_start, bytes = context->near_bytes;
  while (slot < end) {
    while (end - slot >= 4 && !is_near(slot[0] & payload, start, bytes) && !is_near(slot[1] & payload, start, bytes) &&
           !is_near(slot[2] & payload, start, bytes) && !is_near(slot[3] & payload, start, bytes))
      slot += 4;
    for (cradle_word *to = end - slot < 4 ? end : slot + 4; slot < to; slot++) minor_value(context, slot);
  }
}

static CRADLE_NOINLINE void trace_structures(crd_minor *context, const crd_type *type, cradle_word *object) {
  const crd_item_slots *slots = type_item_slots(&context->heap->types, object);
  uint64_t length = type_length(type, object);
  cradle_word *items = type_items(type, object);
  if (slots->alike == CRADLE_ITEMS_VALUES)
    trace_values(context, items, items + length * slots->words);
  else
    visit_structures(type, slots, object, 0, length, minor_slot, context);
}

static inline void trace(crd_minor *context, cradle_word *object) {
  const crd_type *type = &context->types[header_type(object[0])];
  visit_fixed(type, object, minor_slot, context);
  if (type->items >= CRADLE_ITEMS_VALUES) {
    if (CRADLE_LIKELY(type->items == CRADLE_ITEMS_VALUES))
      trace_values(context, type_items(type, object), type_items(type, object) + type_length(type, object));
    else
      trace_structures(context, type, object);
  } else if (type->items == CRADLE_ITEMS_REFERENCES) {
    visit_items(type, object, 0, type_length(type, object), minor_slot, context);
  }
}

static void trace_large(crd_minor *context) {
  crd_arenas *arenas = &context->heap->old.arenas;
  uint32_t page = context->pending_large;
  ASSERT(arenas_page(arenas, page)->state == PAGE_LARGE_REACHED, "[minor.2] a large object waits that was not reached");
  context->pending_large = arenas_page(arenas, page)->pending;
  trace(context, object_at(arenas_page_address(arenas, page)));
}

static CRADLE_NOINLINE void trace_other(crd_minor *context, cradle_word *object) {
  trace(context, object);
}

/* The hot loops work on a copy of the context whose address goes nowhere, so that the compiler keeps it in registers:
 * it would have to take every store into an object for one into the context itself. */
CRD_ALWAYS_INLINE crd_minor borrow(const crd_minor *context) {
  crd_minor local = *context;
  local.objects = local.bytes = 0;
  return local;
}
CRD_ALWAYS_INLINE void give_back(const crd_minor *local) {
  local->self->pending = local->pending;
  local->self->objects += local->objects;
  local->self->bytes += local->bytes;
}

/* Neighbours in the list tend to be of one type. Asking whether the type is the last one again, rather than looking its
 * slots up, lets the processor predict where the slots are and go on to the next object while the lookup would still
 * wait.
 */
static void trace_list(crd_minor *context) {
  crd_minor local = borrow(context);
  uint32_t last_type = CRADLE_TYPE_ID_END;
  uint64_t slots = 0;
  bool values = false;
  while (local.pending != NULL) {
    cradle_word *object = pending_pop(&local);
    if (header_type(object[0]) != last_type) {
      last_type = header_type(object[0]);
      slots = local.types[last_type].sole;
      values = local.types[last_type].sole_values;
    }
    if (slots == 0) {
      context->pending = local.pending;
      trace_other(context, object);
      local.pending = context->pending;
    } else if (values) {
      visit_bitmap(object, slots, true, minor_slot_inline, &local);
    } else {
      visit_bitmap(object, slots, false, minor_slot_inline, &local);
    }
  }
  give_back(&local);
}

static inline void trace_pending(crd_minor *context) {
  for (;;) {
    if (context->pending != NULL) trace_list(context);
    if (CRADLE_LIKELY(context->pending_large == PAGE_NONE)) return;
    trace_large(context);
  }
}

/* What a dead object refers to need not be marked; whether it may be dead is known only by its mark. If it lives after
 * all, marking reaches it later and traces it then. Prebuilt objects, which lie elsewhere, live. */
static inline bool may_be_live(const cradle_heap *heap, const cradle_word *object) {
  uintptr_t address = address_of(object);
  return !arenas_contain(&heap->old.arenas, address) || old_is_marked(&heap->old, address);
}

static void trace_remembered(crd_minor *context) {
  crd_word_stack *remembered = &context->heap->remembered;
  bool marking = context->marking;
  for (cradle_word *entry = remembered->base; entry < remembered->top; entry++) {
    if (entry + AHEAD < remembered->top) __builtin_prefetch(object_at(entry[AHEAD]), 1);
    cradle_word *object = object_at(*entry);
    ASSERT(context->looked_at_all || !header_has_barrier(object[0]),
           "[heap.3] a remembered object has the barrier flag");
    object_set_flags(object, HEADER_BARRIER_FLAG);
    context->marking = marking && may_be_live(context->heap, object);
    trace(context, object);
    context->marking = marking;
    trace_pending(context);
  }
  remembered->top = remembered->base;
}

CRD_ALWAYS_INLINE void prefetch_target(const crd_minor *context, cradle_word entry) {
  uintptr_t address = value_address(&context->encoding, *slot_of_entry(entry));
  if (address - context->nursery_start < context->nursery_bytes) __builtin_prefetch(object_at(address), 1);
}

/* The slots lie anywhere in large arrays, and what they refer to anywhere in the nursery: both are prefetched. */
static void copy_recorded(crd_minor *context, const cradle_word *entry, const cradle_word *to, const cradle_word *top) {
  crd_minor local = borrow(context);
  for (; entry < to; entry++) {
    if (entry + AHEAD < top) __builtin_prefetch(slot_of_entry(entry[AHEAD]), 1);
    if (entry + AHEAD / 2 < top) prefetch_target(&local, entry[AHEAD / 2]);
    minor_slot_inline(&local, slot_entry_holds_value(*entry), slot_of_entry(*entry));
  }
  give_back(&local);
}

/* A piece is copied, then traced while it is still in the cache. */
static void trace_recorded(crd_minor *context) {
  crd_word_stack *recorded = &context->heap->recorded;
  const cradle_word *top = recorded->top;
  for (const cradle_word *from = recorded->base, *to; from < top; from = to) {
    to = top - from > RECORDED_PIECE ? from + RECORDED_PIECE : top;
    copy_recorded(context, from, to, top);
    trace_pending(context);
  }
  recorded->top = recorded->base;
}

static CRADLE_NOINLINE uint64_t trace_young_handles(crd_minor *context) {
  uint64_t words = 0;
  cradle_word *slot;
  for (; (slot = crd_handles_next_young(&context->heap->handles)) != NULL; words++) minor_reference(context, slot);
  return words;
}

static void trace_old_object(void *data, cradle_word *object) {
  crd_minor *context = data;
  const crd_old *old = &context->heap->old;
  uintptr_t address = address_of(object);
  if (old_is_unfilled(old, old_span_of(old, address), address)) return;
  if (heap_is_known_dead(context->heap, address)) return;
  if (heap_has_open(context->heap, object)) return; /* nobody can reach it, so nothing was stored into it */
  object_set_flags(object, HEADER_BARRIER_FLAG);
  trace(context, object);
}

/* When the remembered set could not grow, every old object may refer to a young one. Copies made meanwhile are pending,
 * and the walk may meet them too: tracing twice is harmless. */
static void trace_all_old(crd_minor *context) {
  crd_old_retire(&context->heap->old);
  crd_old_each(&context->heap->old, trace_old_object, context);
  for (uint32_t i = 0; i < context->heap->prebuilts.written; i++) {
    cradle_word *object = context->heap->prebuilts.of[i].object;
    object_set_flags(object, HEADER_BARRIER_FLAG);
    trace(context, object);
  }
  trace_pending(context); /* there may be nothing else to trace: what could not grow may be empty */
  context->heap->remember_all = false;
  context->looked_at_all = true;
}

/* Large young objects: the reached become old, the others go. Returns the bytes freed. */
static uint64_t settle_large(cradle_heap *heap) {
  crd_arenas *arenas = &heap->old.arenas;
  uint64_t before = heap->old.used_bytes;
  for (uint32_t page = heap->old.young_large, next; page != PAGE_NONE; page = next) {
    crd_page *entry = arenas_page(arenas, page);
    next = entry->next;
    ASSERT(entry->state == PAGE_LARGE_YOUNG || entry->state == PAGE_LARGE_REACHED,
           "[minor.2] the list of young large objects holds another");
    if (entry->state == PAGE_LARGE_YOUNG) {
      crd_old_bury_large(&heap->old, page, heap_remains(heap, false));
      continue;
    }
    entry->state = PAGE_LARGE;
    entry->next = PAGE_NONE;
    if (heap->old.born_marked) old_mark(&heap->old, arenas_page_address(arenas, page));
    cradle_word *object = object_at(arenas_page_address(arenas, page));
    const crd_type *type = heap_type(heap, *object);
    object_set_flags(object, type_old_flags(type, type_object_bytes(type, object)));
  }
  heap->old.young_large = PAGE_NONE;
  return before - heap->old.used_bytes;
}

/* --- for the order of death --- */

cradle_word *crd_minor_reach(crd_minor *context, uintptr_t address) {
  if (address - context->nursery_start < context->nursery_bytes) {
    cradle_word *pending = context->pending, *object = object_at(address);
    ASSERT(!header_is_forwarded(object[0]), "an object is reached that was promoted already");
    uintptr_t place = copy(context, object, object[0]);
    context->pending = pending;
    return object_at(place);
  }
  crd_arenas *arenas = &context->heap->old.arenas;
  arenas_page(arenas, arenas_page_number(arenas, address))->state = PAGE_LARGE_REACHED;
  return object_at(address);
}

void crd_minor_visit(crd_minor *context, bool value, cradle_word *slot) {
  minor_slot(context, value, slot);
}

void crd_minor_trace(crd_minor *context) {
  trace_pending(context);
}

/* What dies in this collection, in the order of death, and the large objects at the end. Returns their bytes. */
static CRADLE_NOINLINE uint64_t settle_services(crd_minor *context, uint64_t remembered) {
  cradle_heap *heap = context->heap;
  cradle_word *stored = heap->remembered.base;
  heap->death->minor(heap, context, (crd_stored){stored, stored + remembered, context->looked_at_all});
  if (heap->ids.young != ID_LIST_END) crd_ids_after_minor(heap);
  uint64_t freed = settle_large(heap);
  heap->death->minor_ended(heap);
  return freed;
}

static inline uint64_t settle_plain(const crd_minor *context) {
  if (CRADLE_UNLIKELY(context->heap->ids.young != ID_LIST_END)) crd_ids_after_minor(context->heap);
  return context->has_young_large ? settle_large(context->heap) : 0;
}

/* --- the whole --- */

/* The nursery; with the old generation, and what is between them, when references to large young objects or for marking
 * matter. */
static void find_near(crd_minor *context) {
  uintptr_t start = context->nursery_start, end = start + context->nursery_bytes;
  if (context->looks_at_old) {
    const crd_arenas *arenas = &context->heap->old.arenas;
    if (arenas->base < start) start = arenas->base;
    if (arenas->base + arenas->bytes > end) end = arenas->base + arenas->bytes;
  }
  context->near_start = start;
  context->near_bytes = end - start;
}

static crd_minor begin(cradle_heap *heap) {
  return (crd_minor){.nursery_start = address_of(heap->nursery.start),
                     .nursery_bytes = heap->nursery.reserved_bytes,
                     .allocators = heap->old.allocators,
                     .types = heap->types.types,
                     .pending = NULL,
                     .pending_large = PAGE_NONE,
                     .has_young_large = heap->old.young_large != PAGE_NONE,
                     .marking = heap->major.phase == MAJOR_MARKING,
                     .heap = heap,
                     .encoding = heap->encoding};
}

static void trace_roots(crd_minor *context) {
  cradle_heap *heap = context->heap;
  crd_event_simple(heap, CRADLE_EVENT_ROOTS_BEGIN);
  uint64_t root_words = visit_changed_roots(heap, minor_slot, context);
  if (CRADLE_UNLIKELY(heap->handles.young != HANDLE_LIST_END)) root_words += trace_young_handles(context);
  if (event_wanted(heap))
    crd_event_send(heap, &(cradle_event){.kind = CRADLE_EVENT_ROOTS_END, .u.roots.words = root_words});
  heap->adapt.root_words = root_words;
  trace_pending(context);
}

void crd_minor_run(cradle_heap *heap, cradle_event *event) {
  ASSERT(heap->state == HEAP_COLLECTING, "[heap.4] a minor collection while the mutator runs");
  crd_minor context = begin(heap);
  context.self = &context;
  context.looks_at_old = context.has_young_large || context.marking;
  find_near(&context);
  uint64_t remembered = word_stack_count(&heap->remembered), recorded = word_stack_count(&heap->recorded);
  trace_roots(&context);
  if (CRADLE_UNLIKELY(heap->remember_all)) trace_all_old(&context);
  trace_recorded(&context); /* first: what was stored in the order it was allocated is copied in that order, nearly */
  trace_remembered(&context);
  bool has_services = CRADLE_UNLIKELY(heap->death != NULL);
  uint64_t freed = has_services ? settle_services(&context, remembered) : settle_plain(&context);
  ASSERT(context.pending == NULL && context.pending_large == PAGE_NONE, "[minor.3] an object was not traced");
  ASSERT(word_stack_is_empty(&heap->remembered) && word_stack_is_empty(&heap->recorded),
         "[minor.3] the remembered set or the recorded slots are not empty");
  event->u.minor.large_freed_bytes = freed;
  event->u.minor.promoted_objects = context.objects;
  event->u.minor.promoted_bytes = context.bytes;
  event->u.minor.remembered = remembered;
  event->u.minor.recorded = recorded;
}
