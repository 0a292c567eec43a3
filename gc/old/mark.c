#include "gc/old/mark.h"

#include "gc/heap.h"
#include "gc/platform/pages.h"
#include "gc/roots.h"

/* Words of an array that are traced at a time; of structures as many whole items as they hold, at least one. */
#define PIECE_WORDS LIMIT(1024, 8)
#define QUEUE_LENGTH 8
/* Objects between two looks at the clock; a piece of an array counts as so many. */
#define CLOCK_OBJECTS LIMIT(128, 8)
#define PIECE_OBJECTS LIMIT(32, 2)
/* Handles, pinned and prebuilt objects that are marked at a time. */
#define TABLE_PIECE LIMIT(256, 8)
/* Objects of the smallest increment, which the stress mode takes. */
#define STEP_OBJECTS 4

typedef struct mark_context {
  cradle_heap *heap;
  crd_word_stack *stack;
  uint64_t objects, bytes;
  int countdown; /* to the next look at the budget */
} mark_context;

static inline void mark_address(mark_context *context, uintptr_t address) {
  if (!arenas_contain(&context->heap->old.arenas, address)) return;
  if (old_mark_test_and_set(&context->heap->old, address)) return;
  if (!word_stack_push(context->stack, address)) context->heap->major.overflowed = true;
}

CRD_ALWAYS_INLINE void mark_slot(void *data, bool value, cradle_word *slot) {
  mark_context *context = data;
  const cradle_encoding *encoding = &context->heap->encoding;
  if (!value)
    mark_address(context, *slot);
  else if (value_is_reference(encoding, *slot))
    mark_address(context, value_address(encoding, *slot));
}

void crd_mark_address(cradle_heap *heap, uintptr_t address) {
  mark_context context = {.heap = heap, .stack = &heap->mark_stack};
  ASSERT(heap->old.born_marked, "[span.7] an object is marked while nothing marks");
  mark_address(&context, address);
}

/* Puts the items from first on on the stack, for later. false: they do not fit. */
static inline bool push_rest(mark_context *context, const cradle_word *object, uint64_t first) {
  if (!word_stack_push(context->stack, first)) return false;
  if (word_stack_push(context->stack, mark_piece(object))) return true;
  context->stack->top--;
  return false;
}

/* Traces the items from first on, one piece now and the rest later if the stack takes it. */
static CRADLE_NOINLINE void mark_words(mark_context *context, const crd_type *type, cradle_word *object,
                                       uint64_t first) {
  uint64_t last = type_length(type, object);
  if (first >= last) return; /* the program made it shorter */
  if (last - first > PIECE_WORDS && push_rest(context, object, first + PIECE_WORDS)) last = first + PIECE_WORDS;
  context->countdown -= PIECE_OBJECTS;
  context->bytes += (last - first) * 8;
  visit_items(type, object, first, last, mark_slot, context);
}

/* The same of items that are structures: a piece is some whole ones. */
static CRADLE_NOINLINE void mark_structures(mark_context *context, const crd_type *type, cradle_word *object,
                                            uint64_t first) {
  const crd_item_slots *slots = type_item_slots(&context->heap->types, object);
  uint64_t last = type_length(type, object), piece = slots->words < PIECE_WORDS ? PIECE_WORDS / slots->words : 1;
  if (first >= last) return;
  if (last - first > piece && push_rest(context, object, first + piece)) last = first + piece;
  context->countdown -= PIECE_OBJECTS;
  context->bytes += (last - first) * slots->words * 8;
  visit_structures(type, slots, object, first, last, mark_slot, context);
}

static inline void mark_items(mark_context *context, const crd_type *type, cradle_word *object, uint64_t first) {
  if (CRADLE_UNLIKELY(type->items == CRADLE_ITEMS_STRUCTURES))
    mark_structures(context, type, object, first);
  else
    mark_words(context, type, object, first);
}

CRD_ALWAYS_INLINE void mark_trace(mark_context *context, cradle_word *object, bool watching) {
  const crd_type *type = heap_type(context->heap, object[0]);
  bool slot_items = type->items >= CRADLE_ITEMS_REFERENCES;
  ASSERT(arenas_contain(&context->heap->old.arenas, address_of(object)), "[mark.1] what is traced is no old object");
  ASSERT(old_is_marked(&context->heap->old, address_of(object)), "[mark.1] an object is traced that is not marked");
  context->objects++;
  context->bytes += slot_items ? type->size : type_object_bytes(type, object);
  context->countdown--;
  if (watching && (header_is_watched(object[0]) || header_is_weak(object[0])))
    context->heap->death->traced(context->heap, object);
  if (!type->has_slots) return;
  visit_fixed(type, object, mark_slot, context);
  if (slot_items) mark_items(context, type, object, 0);
}

/* Pops the next object; 0 when the stack is empty or the budget is to be looked at. Array pieces are traced on the
 * way. */
static inline cradle_word pop(mark_context *context) {
  crd_word_stack *stack = context->stack;
  while (stack->top > stack->base && context->countdown > 0) {
    cradle_word entry = *--stack->top;
    if (!mark_is_piece(entry)) return entry;
    ASSERT(!word_stack_is_empty(stack) && stack->top[-1] > 0, "[mark.3] a piece has lost its index");
    cradle_word *object = mark_object_of(entry);
    ASSERT(old_is_marked(&context->heap->old, address_of(object)), "[mark.1] a piece of an object that is not marked");
    uint64_t first = *--stack->top;
    mark_items(context, heap_type(context->heap, object[0]), object, first);
  }
  return 0;
}

/* Traces what is on the stack until it is empty or the countdown is over. Returns whether it is empty. */
CRD_ALWAYS_INLINE bool drain_with(mark_context *context, bool watching) {
  cradle_word queue[QUEUE_LENGTH];
  unsigned first = 0, waiting = 0;
  for (;;) {
    cradle_word next;
    while (waiting < QUEUE_LENGTH && (next = pop(context)) != 0) {
      __builtin_prefetch(object_at(next));
      queue[(first + waiting++) % QUEUE_LENGTH] = next;
    }
    if (waiting == 0) return word_stack_is_empty(context->stack);
    mark_trace(context, object_at(queue[first]), watching);
    first = (first + 1) % QUEUE_LENGTH;
    waiting--;
  }
}

static bool drain_watching(mark_context *context) {
  return drain_with(context, true);
}

static bool drain(mark_context *context) {
  return CRADLE_UNLIKELY(context->heap->major.watching) ? drain_watching(context) : drain_with(context, false);
}

/* The next piece of a table that marking goes through: [*at, the result). */
static uint32_t next_piece(uint32_t *at, uint32_t count) {
  ASSERT(*at <= count, "marking went past the end of a table");
  uint32_t left = count - *at;
  return *at += left < TABLE_PIECE ? left : TABLE_PIECE;
}

/* Handles, pinned objects and written prebuilt objects may be many, so these roots are marked a piece at a time. What
 * changes behind the piece is marked when it changes. Returns false when all are marked. */
static bool mark_tables(mark_context *context) {
  cradle_heap *heap = context->heap;
  if (heap->handles.marked_at < heap->handles.used) {
    uint32_t first = heap->handles.marked_at, last = next_piece(&heap->handles.marked_at, heap->handles.used);
    visit_handles(heap, first, last, mark_slot, context);
  } else if (heap->pins.marked_at < heap->pins.count) {
    uint32_t first = heap->pins.marked_at, last = next_piece(&heap->pins.marked_at, heap->pins.count);
    for (uint32_t i = first; i < last; i++) mark_address(context, heap->pins.pins[i].address);
  } else if (heap->prebuilts.marked_at < heap->prebuilts.written) {
    uint32_t first = heap->prebuilts.marked_at, last = next_piece(&heap->prebuilts.marked_at, heap->prebuilts.written);
    visit_prebuilts(heap, first, last, mark_slot, context);
  } else {
    return false;
  }
  return true;
}

/* What minor collections left out while marking went on was marked when it began; that all of it is looked at once more
 * costs little, and a word that was written unnoticed keeps its object alive. Returns whether something is grey now. */
static bool mark_unchanged_roots(mark_context *context) {
  visit_unchanged_roots(context->heap, mark_slot, context);
  return !word_stack_is_empty(context->stack) || context->heap->major.overflowed;
}

static void trace_again(void *data, cradle_word *object) {
  mark_context *context = data;
  mark_trace(context, object, context->heap->major.watching);
}

/* Traces the marked objects of the next span once more. The runs that allocators own are marked ahead of what will lie
 * in them, so the allocators are retired first. Returns false when all spans have been looked at. */
static bool rescan_span(mark_context *context) {
  cradle_heap *heap = context->heap;
  crd_major *major = &heap->major;
  if (major->rescan_page == PAGE_NONE) {
    if (!major->overflowed) return false;
    major->overflowed = false;
    major->rescan_page = 0;
  }
  ASSERT(word_stack_is_empty(context->stack), "[mark.4] a rescan while objects wait on the stack");
  crd_old_retire(&heap->old);
  uint32_t page = crd_old_next_span(&heap->old, major->rescan_page);
  major->rescan_page = PAGE_NONE;
  if (page == PAGE_NONE) return major->overflowed;
  major->rescan_page = page + arenas_page(&heap->old.arenas, page)->pages;
  crd_old_each_in(&heap->old, page, true, trace_again, context);
  return true;
}

static bool is_spent(const mark_context *context, crd_budget budget) {
  return context->bytes >= budget.bytes ||
         (budget.deadline_ns != UINT64_MAX && crd_platform_now_ns() >= budget.deadline_ns);
}

void crd_mark_start(cradle_heap *heap) {
  mark_context context = {.heap = heap, .stack = &heap->mark_stack};
  ASSERT(word_stack_is_empty(&heap->mark_stack), "[mark.2] the mark stack is not empty before marking");
  ASSERT(!heap->old.born_marked, "[span.7] marking begins twice");
  heap->major.overflowed = false;
  heap->major.rescan_page = PAGE_NONE;
  heap->handles.marked_at = heap->pins.marked_at = heap->prebuilts.marked_at = 0;
  crd_old_retire(&heap->old);
  heap->old.born_marked = true;
  visit_roots(heap, mark_slot, &context);
  if (heap->death != NULL) heap->death->mark_queues(heap);
}

bool crd_mark_some(cradle_heap *heap, crd_budget budget) {
  mark_context context = {.heap = heap, .stack = &heap->mark_stack};
  bool complete = false;
  ASSERT(heap->old.born_marked, "[span.7] an increment of marking while nothing marks");
  do {
    context.countdown = budget.bytes == 0 ? STEP_OBJECTS : CLOCK_OBJECTS;
    if (drain(&context))
      complete = !mark_tables(&context) && !rescan_span(&context) &&
                 (heap->death == NULL || !heap->death->mark_more(heap, &context.bytes)) &&
                 !mark_unchanged_roots(&context);
  } while (!complete && !is_spent(&context, budget));
  ASSERT(!complete || (word_stack_is_empty(&heap->mark_stack) && !heap->major.overflowed &&
                       heap->major.rescan_page == PAGE_NONE),
         "[mark.2] marking is over while objects are grey");
  heap->major.objects += context.objects;
  heap->major.bytes += context.bytes;
  return complete;
}
