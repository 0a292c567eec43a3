/* The minor collection: what is reachable in the nursery is promoted, everything else in it is gone.
 *
 * Roots and the remembered set are scanned; each young object they reach is copied into a span of the old generation, and
 * the copies are traced until none is left. The objects still to be traced form a list through their dead bodies in the
 * nursery (header: the new address, second word: the next in the list), which needs no memory and so cannot overflow; the
 * last copied is traced first, so that a chain lies together afterwards. Large objects allocated since the last collection
 * do not move: those that are reached become old where they are, the others are freed at the end.
 *
 * While a major collection marks, the old objects that roots, remembered objects, recorded slots and survivors refer to are
 * marked on the way, which is all that marking needs to know of what the mutator did [heap.6].
 *
 * Nothing here can fail: [heap.2] holds the memory ready. The cost is survivors + remembered objects + roots.
 */
#include <string.h>

#include "gc/check.h"
#include "gc/heap.h"
#include "gc/registry.h"
#include "gc/visit.h"

#define COPY_INLINE_WORDS 16
#define RECORDED_PIECE LIMIT(64, 4)
/* Remembered objects and recorded slots are prefetched so many entries ahead, what they refer to half as many. */
#define AHEAD 16

typedef struct minor_context {
  struct minor_context *self; /* see borrow */
  uintptr_t nursery_start, nursery_bytes;
  uintptr_t near_start, near_bytes; /* where the address of a value that matters lies */
  crd_allocator *allocators;
  const crd_type *types;
  cradle_word *pending; /* dead bodies of objects whose copies are to be traced */
  uint32_t pending_large; /* large objects reached and not traced yet */
  bool has_young_large, marking;
  bool looked_at_all; /* old objects, not only the remembered ones */
  bool looks_at_old; /* one of the two: references that do not lead into the nursery matter */
  uint64_t objects, bytes;
  cradle_heap *heap;
  cradle_encoding encoding; /* of the heap */
} minor_context;

static CRADLE_COLD void *promote_large(minor_context *context, size_t bytes) {
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
static CRADLE_NOINLINE cradle_word *slow_place(minor_context *context, size_t bytes) {
  if (CRADLE_UNLIKELY(bytes > SMALL_MAX_BYTES)) return promote_large(context, bytes);
  crd_old *old = &context->heap->old;
  char *place = old_take_small(old, old_class_of(old, bytes), 0);
  ASSERT(place != NULL, "[heap.2] the promotion reserve did not hold a span");
  return (cradle_word *)place;
}

/* Copies an object to the old generation and leaves its new address behind. */
CRD_ALWAYS_INLINE uintptr_t copy(minor_context *context, cradle_word *object, uint64_t header) {
  const crd_type *type = &context->types[(uint32_t)header];
  crd_allocator *allocator = &context->allocators[type->size_class];
  cradle_word *place = (cradle_word *)allocator->free;
  size_t bytes = type->size;
  uint64_t flags = HEADER_BARRIER_FLAG;
  if (CRADLE_LIKELY(type->class_bytes != 0 && allocator->free != allocator->end)) {
    allocator->free += type->class_bytes;
  } else {
    bytes = type_object_bytes(type, object);
    place = slow_place(context->self, bytes);
    flags = heap_old_flags(type, bytes);
  }
  place[0] = header | flags;
  place[1] = object[1];
  copy_words(place + 2, object + 2, bytes / 8 - 2);
  object[0] = (uintptr_t)place | HEADER_FORWARDED;
  if (type->has_slots) {
    object[1] = (uintptr_t)context->pending;
    context->pending = object;
  }
  context->objects++;
  context->bytes += bytes;
  return (uintptr_t)place;
}

/* The new address of a young object, which is copied unless it has been. */
CRD_ALWAYS_INLINE uintptr_t promote(minor_context *context, uintptr_t address) {
  cradle_word *object = (cradle_word *)address;
  uint64_t header = object[0];
  if (header & HEADER_FORWARDED) return (uintptr_t)(header & ~HEADER_FORWARDED);
  return copy(context, object, header);
}

/* A reference that does not lead into the nursery: to an object that marking must see, or to a large one that may be young. */
static CRADLE_COLD void reach_old(minor_context *context, uintptr_t address) {
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

CRD_ALWAYS_INLINE void minor_reference(void *data, cradle_word *slot) {
  minor_context *context = data;
  uintptr_t address = (uintptr_t)*slot;
  if (address - context->nursery_start < context->nursery_bytes)
    *slot = promote(context, address);
  else if (CRADLE_UNLIKELY(context->looks_at_old))
    reach_old(context->self, address);
}

CRD_ALWAYS_INLINE void minor_value_with(minor_context *context, cradle_word *slot,
                                        void (*promote_it)(minor_context *, cradle_word *)) {
  if (!value_is_reference(&context->encoding, *slot)) return;
  uintptr_t address = value_address(&context->encoding, *slot);
  if (address - context->nursery_start < context->nursery_bytes)
    promote_it(context, slot);
  else if (CRADLE_UNLIKELY(context->looks_at_old))
    reach_old(context->self, address);
}

CRD_ALWAYS_INLINE void promote_value(minor_context *context, cradle_word *slot) {
  *slot = value_moved(&context->encoding, *slot, promote(context, value_address(&context->encoding, *slot)));
}

static CRADLE_NOINLINE void promote_value_called(minor_context *context, cradle_word *slot) {
  promote_value(context, slot);
}

/* Most values are zero, immediates or old: taken for an address, whatever the encoding, they lie elsewhere, and the loops over
 * arrays and stacks pass them with one comparison. */
CRD_ALWAYS_INLINE void minor_value(void *data, cradle_word *slot) {
  minor_context *context = data;
  if (CRADLE_LIKELY(value_address(&context->encoding, *slot) - context->near_start >= context->near_bytes)) return;
  minor_value_with(context, slot, promote_value_called);
}

/* With all of it inline. */
CRD_ALWAYS_INLINE void minor_value_inline(void *context, cradle_word *slot) {
  minor_value_with(context, slot, promote_value);
}

static inline bool is_near(uintptr_t address, uintptr_t start, uintptr_t bytes) {
  return address - start < bytes;
}

/* The values of an array, four at a time while they lie elsewhere. */
static void trace_values(minor_context *context, cradle_word *slot, cradle_word *end) {
  uint64_t payload = context->encoding.payload_mask;
  uintptr_t start = context->near_start, bytes = context->near_bytes;
  while (slot < end) {
    while (end - slot >= 4 && !is_near(slot[0] & payload, start, bytes) && !is_near(slot[1] & payload, start, bytes) &&
           !is_near(slot[2] & payload, start, bytes) && !is_near(slot[3] & payload, start, bytes))
      slot += 4;
    for (cradle_word *to = end - slot < 4 ? end : slot + 4; slot < to; slot++) minor_value(context, slot);
  }
}

static inline void trace(minor_context *context, cradle_word *object) {
  const crd_type *type = &context->types[(uint32_t)object[0]];
  visit_fixed(type, object, minor_reference, minor_value, context);
  cradle_word *items = object + type->size / 8;
  if (type->items == CRADLE_ITEMS_VALUES)
    trace_values(context, items, items + type_length(type, object));
  else if (type->items == CRADLE_ITEMS_REFERENCES)
    visit_words(items, items + type_length(type, object), minor_reference, context);
}

static void trace_large(minor_context *context) {
  crd_arenas *arenas = &context->heap->old.arenas;
  uint32_t page = context->pending_large;
  context->pending_large = arenas_page(arenas, page)->pending;
  trace(context, (cradle_word *)arenas_page_address(arenas, page));
}

static CRADLE_NOINLINE void trace_other(minor_context *context, cradle_word *object) {
  trace(context, object);
}

/* The hot loops work on a copy of the context whose address goes nowhere, so that the compiler keeps it in registers: it would
 * have to take every store into an object for one into the context itself. */
CRD_ALWAYS_INLINE minor_context borrow(const minor_context *context) {
  minor_context local = *context;
  local.objects = local.bytes = 0;
  return local;
}
CRD_ALWAYS_INLINE void give_back(const minor_context *local) {
  local->self->pending = local->pending;
  local->self->objects += local->objects;
  local->self->bytes += local->bytes;
}

/* Neighbours in the list tend to be of one type. Asking whether the type is the last one again, rather than looking its
 * slots up, lets the processor predict where the slots are and go on to the next object while the lookup would still wait.
 */
static void trace_list(minor_context *context) {
  minor_context local = borrow(context);
  uint32_t last_type = CRADLE_TYPE_ID_END;
  uint64_t slots = 0;
  bool values = false;
  while (local.pending != NULL) {
    cradle_word *body = local.pending;
    local.pending = (cradle_word *)(uintptr_t)body[1];
    cradle_word *object = (cradle_word *)(uintptr_t)(body[0] & ~HEADER_FORWARDED);
    if ((uint32_t)object[0] != last_type) {
      last_type = (uint32_t)object[0];
      slots = local.types[last_type].sole;
      values = local.types[last_type].sole_values;
    }
    if (slots == 0) {
      context->pending = local.pending;
      trace_other(context, object);
      local.pending = context->pending;
    } else if (values) {
      visit_bitmap(object, slots, minor_value_inline, &local);
    } else {
      visit_bitmap(object, slots, minor_reference, &local);
    }
  }
  give_back(&local);
}

static inline void trace_pending(minor_context *context) {
  for (;;) {
    if (context->pending != NULL) trace_list(context);
    if (CRADLE_LIKELY(context->pending_large == PAGE_NONE)) return;
    trace_large(context);
  }
}

/* What a dead object refers to need not be marked; whether it may be dead is known only by its mark. Prebuilt objects, which
 * lie elsewhere, live. */
static inline bool may_be_live(const cradle_heap *heap, const cradle_word *object) {
  return !arenas_contain(&heap->old.arenas, (uintptr_t)object) || old_is_marked(&heap->old, (uintptr_t)object);
}

static void trace_remembered(minor_context *context) {
  crd_word_stack *remembered = &context->heap->remembered;
  bool marking = context->marking;
  for (cradle_word *entry = remembered->base; entry < remembered->top; entry++) {
    if (entry + AHEAD < remembered->top) __builtin_prefetch((void *)(uintptr_t)entry[AHEAD], 1);
    cradle_word *object = (cradle_word *)(uintptr_t)*entry;
    object[0] |= HEADER_BARRIER_FLAG;
    context->marking = marking && may_be_live(context->heap, object);
    trace(context, object);
    context->marking = marking;
    trace_pending(context);
  }
  remembered->top = remembered->base;
}

static cradle_word *recorded_slot(cradle_word entry) {
  return (cradle_word *)(uintptr_t)(entry & ~(cradle_word)SLOT_HOLDS_VALUE);
}

CRD_ALWAYS_INLINE void prefetch_target(const minor_context *context, cradle_word entry) {
  uintptr_t address = value_address(&context->encoding, *recorded_slot(entry));
  if (address - context->nursery_start < context->nursery_bytes) __builtin_prefetch((const void *)address, 1);
}

/* The slots lie anywhere in large arrays, and what they refer to anywhere in the nursery: both are prefetched. */
static void copy_recorded(minor_context *context, const cradle_word *entry, const cradle_word *to, const cradle_word *top) {
  minor_context local = borrow(context);
  for (; entry < to; entry++) {
    if (entry + AHEAD < top) __builtin_prefetch((void *)(uintptr_t)entry[AHEAD], 1);
    if (entry + AHEAD / 2 < top) prefetch_target(&local, entry[AHEAD / 2]);
    if (*entry & SLOT_HOLDS_VALUE)
      minor_value_inline(&local, recorded_slot(*entry));
    else
      minor_reference(&local, recorded_slot(*entry));
  }
  give_back(&local);
}

/* A piece is copied, then traced while it is still in the cache. */
static void trace_recorded(minor_context *context) {
  crd_word_stack *recorded = &context->heap->recorded;
  const cradle_word *top = recorded->top;
  for (const cradle_word *from = recorded->base, *to; from < top; from = to) {
    to = top - from > RECORDED_PIECE ? from + RECORDED_PIECE : top;
    copy_recorded(context, from, to, top);
    trace_pending(context);
  }
  recorded->top = recorded->base;
}

static CRADLE_NOINLINE uint64_t trace_young_handles(minor_context *context) {
  uint64_t words = 0;
  cradle_word *slot;
  for (; (slot = crd_handles_next_young(&context->heap->handles)) != NULL; words++) minor_reference(context, slot);
  return words;
}

static void trace_old_object(void *data, cradle_word *object) {
  minor_context *context = data;
  const crd_old *old = &context->heap->old;
  if (old_is_unfilled(old, old_span_of(old, (uintptr_t)object), (uintptr_t)object)) return;
  if (heap_is_known_dead(context->heap, (uintptr_t)object)) return;
  object[0] |= HEADER_BARRIER_FLAG;
  trace(context, object);
}

/* When the remembered set could not grow, every old object may refer to a young one. Copies made meanwhile are pending, and
 * the walk may meet them too: tracing twice is harmless. */
static void trace_all_old(minor_context *context) {
  crd_old_retire(&context->heap->old);
  crd_old_each(&context->heap->old, false, trace_old_object, context);
  for (uint32_t i = 0; i < context->heap->prebuilts.written; i++) {
    *context->heap->prebuilts.objects[i] |= HEADER_BARRIER_FLAG;
    trace(context, context->heap->prebuilts.objects[i]);
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
    if (entry->state == PAGE_LARGE_YOUNG) {
      crd_old_bury_large(&heap->old, page, heap_remains(heap, false));
      continue;
    }
    entry->state = PAGE_LARGE;
    entry->next = PAGE_NONE;
    if (heap->old.born_marked) old_mark(&heap->old, arenas_page_address(arenas, page));
    cradle_word *object = (cradle_word *)arenas_page_address(arenas, page);
    const crd_type *type = heap_type(heap, *object);
    *object |= heap_old_flags(type, type_object_bytes(type, object));
  }
  heap->old.young_large = PAGE_NONE;
  return before - heap->old.used_bytes;
}

/* --- for the order of death --- */

cradle_word *crd_minor_reach(void *data, uintptr_t address) {
  minor_context *context = data;
  if (address - context->nursery_start < context->nursery_bytes) {
    cradle_word *pending = context->pending, *object = (cradle_word *)address;
    uintptr_t place = copy(context, object, object[0]);
    context->pending = pending;
    return (cradle_word *)place;
  }
  crd_arenas *arenas = &context->heap->old.arenas;
  arenas_page(arenas, arenas_page_number(arenas, address))->state = PAGE_LARGE_REACHED;
  return (cradle_word *)address;
}

void crd_minor_visit(void *context, bool value, cradle_word *slot) {
  if (value)
    minor_value(context, slot);
  else
    minor_reference(context, slot);
}

void crd_minor_trace(void *context) {
  trace_pending(context);
}

/* What dies in this collection, in the order of death, and the large objects at the end. Returns their bytes. */
static CRADLE_NOINLINE uint64_t settle_services(minor_context *context, uint64_t remembered) {
  cradle_heap *heap = context->heap;
  crd_death_minor(heap, context, heap->remembered.base, heap->remembered.base + remembered, context->looked_at_all);
  if (heap->ids.young != ID_LIST_END) crd_ids_after_minor(heap);
  uint64_t freed = settle_large(heap);
  crd_death_minor_ended(heap);
  return freed;
}

static inline uint64_t settle_plain(const minor_context *context) {
  if (CRADLE_UNLIKELY(context->heap->ids.young != ID_LIST_END)) crd_ids_after_minor(context->heap);
  return context->has_young_large ? settle_large(context->heap) : 0;
}

/* --- the whole --- */

/* The nursery; with the old generation, and what is between them, when references to large young objects or for marking matter. */
static void find_near(minor_context *context) {
  uintptr_t start = context->nursery_start, end = start + context->nursery_bytes;
  if (context->looks_at_old) {
    const crd_arenas *arenas = &context->heap->old.arenas;
    if (arenas->base < start) start = arenas->base;
    if (arenas->base + arenas->bytes > end) end = arenas->base + arenas->bytes;
  }
  context->near_start = start;
  context->near_bytes = end - start;
}

void crd_minor_run(cradle_heap *heap, cradle_event *event) {
  minor_context context = {.nursery_start = (uintptr_t)heap->nursery.start,
                           .nursery_bytes = heap->nursery.reserved_bytes,
                           .allocators = heap->old.allocators,
                           .types = heap->types.types,
                           .pending = NULL,
                           .pending_large = PAGE_NONE,
                           .has_young_large = heap->old.young_large != PAGE_NONE,
                           .marking = heap->major.phase == MAJOR_MARKING,
                           .heap = heap,
                           .encoding = heap->encoding};
  context.self = &context;
  context.looks_at_old = context.has_young_large || context.marking;
  find_near(&context);
  uint64_t remembered = (uint64_t)(heap->remembered.top - heap->remembered.base);
  uint64_t recorded = (uint64_t)(heap->recorded.top - heap->recorded.base);
  crd_event_simple(heap, CRADLE_EVENT_ROOTS_BEGIN);
  uint64_t root_words = visit_roots(heap, minor_reference, minor_value, &context);
  if (CRADLE_UNLIKELY(heap->handles.young != HANDLE_LIST_END)) root_words += trace_young_handles(&context);
  if (event_wanted(heap))
    crd_event_send(heap, &(cradle_event){.kind = CRADLE_EVENT_ROOTS_END, .u.roots.words = root_words});
  trace_pending(&context);
  if (CRADLE_UNLIKELY(heap->remember_all)) trace_all_old(&context);
  trace_recorded(&context); /* first: what was stored in the order it was allocated is copied in that order, nearly */
  trace_remembered(&context);
  if (CRADLE_UNLIKELY(heap->services != NULL))
    event->u.minor.large_freed_bytes = settle_services(&context, remembered);
  else
    event->u.minor.large_freed_bytes = settle_plain(&context);
  event->u.minor.promoted_objects = context.objects;
  event->u.minor.promoted_bytes = context.bytes;
  event->u.minor.remembered = remembered;
  event->u.minor.recorded = recorded;
}
