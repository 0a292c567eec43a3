/* Marking: from the roots over the whole old generation, in increments, with an explicit stack.
 *
 * The stack holds objects that are marked and not traced. A long array of slots is traced in pieces: the rest of it goes
 * back on the stack as two words, the index and the object with a tag bit. When the stack cannot grow, the object that did
 * not fit stays marked and untraced; once the stack is empty, every marked object is traced again, span after span, until
 * nothing new turns up: the memory that marking needs is bounded, its time grows.
 *
 * A popped object passes through a short queue in which its first line is prefetched before it is looked at.
 *
 * Between increments the mutator runs. Every increment comes right after a minor collection, which has marked all that a
 * root, a remembered object, a recorded slot or a promoted object refers to, and promoted objects are born marked. So when
 * the stack runs empty in an increment, marking is complete, and roots need no second look [heap.6].
 */
#include "gc/check.h"
#include "gc/heap.h"
#include "gc/platform/pages.h"
#include "gc/visit.h"

#define PIECE_ITEMS 1024
#define QUEUE_LENGTH 8
#define PIECE_TAG 1
/* Objects between two looks at the clock; a piece of an array counts as so many. */
#define CLOCK_OBJECTS 128
#define PIECE_OBJECTS 32
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

static inline void mark_reference(void *data, cradle_word *slot) {
  mark_address(data, (uintptr_t)*slot);
}

static inline void mark_value(void *data, cradle_word *slot) {
  mark_context *context = data;
  if (value_is_reference(&context->heap->encoding, *slot))
    mark_address(context, value_address(&context->heap->encoding, *slot));
}

void crd_mark_address(cradle_heap *heap, uintptr_t address) {
  mark_context context = {.heap = heap, .stack = &heap->mark_stack};
  mark_address(&context, address);
}

/* Traces the items from first on, one piece now and the rest later if the stack takes it. */
static void mark_items(mark_context *context, const crd_type *type, cradle_word *object, uint64_t first) {
  uint64_t length = type_length(type, object), last = length;
  if (first >= length) return; /* the program made it shorter */
  if (length - first > PIECE_ITEMS && word_stack_push(context->stack, first + PIECE_ITEMS)) {
    if (word_stack_push(context->stack, (uintptr_t)object | PIECE_TAG))
      last = first + PIECE_ITEMS;
    else
      context->stack->top--;
  }
  context->countdown -= PIECE_OBJECTS;
  context->bytes += (last - first) * 8;
  visit_items(type, object, first, last, mark_reference, mark_value, context);
}

static inline void mark_trace(mark_context *context, cradle_word *object) {
  const crd_type *type = heap_type(context->heap, object[0]);
  bool slot_items = type->items >= CRADLE_ITEMS_REFERENCES;
  context->objects++;
  context->bytes += slot_items ? type->size : type_object_bytes(type, object);
  context->countdown--;
  if (!type->has_slots) return;
  visit_fixed(type, object, mark_reference, mark_value, context);
  if (slot_items) mark_items(context, type, object, 0);
}

/* Pops the next object; 0 when the stack is empty or the budget is to be looked at. Array pieces are traced on the way. */
static inline uintptr_t pop(mark_context *context) {
  crd_word_stack *stack = context->stack;
  while (stack->top > stack->base && context->countdown > 0) {
    uintptr_t entry = (uintptr_t)*--stack->top;
    if (!(entry & PIECE_TAG)) return entry;
    cradle_word *object = (cradle_word *)(entry - PIECE_TAG);
    uint64_t first = *--stack->top;
    mark_items(context, heap_type(context->heap, object[0]), object, first);
  }
  return 0;
}

/* Traces what is on the stack until it is empty or the countdown is over. Returns whether it is empty. */
static bool drain(mark_context *context) {
  uintptr_t queue[QUEUE_LENGTH];
  unsigned first = 0, waiting = 0;
  for (;;) {
    uintptr_t next;
    while (waiting < QUEUE_LENGTH && (next = pop(context)) != 0) {
      __builtin_prefetch((void *)next);
      queue[(first + waiting++) % QUEUE_LENGTH] = next;
    }
    if (waiting == 0) return context->stack->top == context->stack->base;
    mark_trace(context, (cradle_word *)queue[first]);
    first = (first + 1) % QUEUE_LENGTH;
    waiting--;
  }
}

static void trace_again(void *data, cradle_word *object) {
  mark_trace(data, object);
}

/* Traces the marked objects of the next span once more. The runs that allocators own are marked ahead of what will lie in
 * them, so the allocators are retired first. Returns false when all spans have been looked at. */
static bool rescan_span(mark_context *context) {
  cradle_heap *heap = context->heap;
  crd_major *major = &heap->major;
  if (major->rescan_page == PAGE_NONE) {
    if (!major->overflowed) return false;
    major->overflowed = false;
    major->rescan_page = 0;
  }
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
  ASSERT(heap->mark_stack.top == heap->mark_stack.base, "the mark stack is not empty before marking");
  heap->major.overflowed = false;
  heap->major.rescan_page = PAGE_NONE;
  crd_old_retire(&heap->old);
  heap->old.born_marked = true;
  visit_roots(heap, mark_reference, mark_value, &context);
}

bool crd_mark_some(cradle_heap *heap, crd_budget budget) {
  mark_context context = {.heap = heap, .stack = &heap->mark_stack};
  bool complete = false;
  do {
    context.countdown = budget.bytes == 0 ? STEP_OBJECTS : CLOCK_OBJECTS;
    if (drain(&context)) complete = !rescan_span(&context);
  } while (!complete && !is_spent(&context, budget));
  heap->major.objects += context.objects;
  heap->major.bytes += context.bytes;
  return complete;
}
