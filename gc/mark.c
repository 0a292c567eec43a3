/* Marking: from the roots over the whole old generation, with an explicit stack.
 *
 * The stack holds objects that are marked and not traced. A long array of slots is traced in pieces: the rest of it goes
 * back on the stack as two words, the index and the object with a tag bit. When the stack cannot grow, the object that did
 * not fit stays marked and untraced, and every marked object is traced again at the end, until nothing new turns up: the
 * memory that marking needs is bounded, its time grows.
 *
 * A popped object passes through a short queue in which its first line is prefetched before it is looked at.
 */
#include "gc/check.h"
#include "gc/heap.h"
#include "gc/visit.h"

#define PIECE_ITEMS 1024
#define QUEUE_LENGTH 8
#define PIECE_TAG 1

typedef struct mark_context {
  cradle_heap *heap;
  crd_word_stack *stack;
  bool overflowed;
  uint64_t objects, bytes;
} mark_context;

static inline void mark_address(mark_context *context, uintptr_t address) {
  if (!arenas_contain(&context->heap->old.arenas, address)) return;
  if (old_mark_test_and_set(&context->heap->old, address)) return;
  if (!word_stack_push(context->stack, address)) context->overflowed = true;
}

static inline void mark_reference(void *data, cradle_word *slot) {
  mark_address(data, (uintptr_t)*slot);
}

static inline void mark_value(void *data, cradle_word *slot) {
  mark_context *context = data;
  if (value_is_reference(&context->heap->encoding, *slot))
    mark_address(context, value_address(&context->heap->encoding, *slot));
}

/* Traces the items from first on, one piece now and the rest later if the stack takes it. */
static void mark_items(mark_context *context, const crd_type *type, cradle_word *object, uint64_t first) {
  uint64_t length = type_length(type, object), last = length;
  if (length - first > PIECE_ITEMS && word_stack_push(context->stack, first + PIECE_ITEMS)) {
    if (word_stack_push(context->stack, (uintptr_t)object | PIECE_TAG))
      last = first + PIECE_ITEMS;
    else
      context->stack->top--;
  }
  visit_items(type, object, first, last, mark_reference, mark_value, context);
}

static inline void mark_trace(mark_context *context, cradle_word *object) {
  const crd_type *type = heap_type(context->heap, object[0]);
  context->objects++;
  context->bytes += type_object_bytes(type, object);
  if (!type->has_slots) return;
  visit_fixed(type, object, mark_reference, mark_value, context);
  if (type->items >= CRADLE_ITEMS_REFERENCES) mark_items(context, type, object, 0);
}

/* Pops the next object, tracing array pieces on the way; 0 when the stack is empty. */
static inline uintptr_t pop(mark_context *context) {
  crd_word_stack *stack = context->stack;
  while (stack->top > stack->base) {
    uintptr_t entry = (uintptr_t)*--stack->top;
    if (!(entry & PIECE_TAG)) return entry;
    cradle_word *object = (cradle_word *)(entry - PIECE_TAG);
    uint64_t first = *--stack->top;
    mark_items(context, heap_type(context->heap, object[0]), object, first);
  }
  return 0;
}

static void drain(mark_context *context) {
  uintptr_t queue[QUEUE_LENGTH];
  unsigned first = 0, waiting = 0;
  for (;;) {
    uintptr_t next;
    while (waiting < QUEUE_LENGTH && (next = pop(context)) != 0) {
      __builtin_prefetch((void *)next);
      queue[(first + waiting++) % QUEUE_LENGTH] = next;
    }
    if (waiting == 0) return;
    mark_trace(context, (cradle_word *)queue[first]);
    first = (first + 1) % QUEUE_LENGTH;
    waiting--;
  }
}

static void trace_again(void *data, cradle_word *object) {
  mark_context *context = data;
  mark_trace(context, object);
  drain(context);
}

void crd_mark_run(cradle_heap *heap, uint64_t *objects, uint64_t *bytes) {
  mark_context context = {.heap = heap, .stack = &heap->mark_stack};
  visit_roots(heap, mark_reference, mark_value, &context);
  drain(&context);
  while (context.overflowed) {
    context.overflowed = false;
    crd_old_each(&heap->old, true, trace_again, &context);
  }
  ASSERT(heap->mark_stack.top == heap->mark_stack.base, "the mark stack is not empty after marking");
  *objects = context.objects;
  *bytes = context.bytes;
}
