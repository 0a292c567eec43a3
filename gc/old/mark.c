#include "gc/old/mark.h"

#include "gc/heap.h"
#include "gc/platform/pages.h"
#include "gc/roots.h"

/* An array is traced so many words at a time. An array of structures is traced in whole items: as many as fit into so
 * many words, at least one. */
#define PIECE_WORDS LIMIT(1024, 8)
/* Objects that wait while their first line is prefetched. */
#define QUEUE_LENGTH 8
/* Objects between two readings of the clock, so that reading it costs little. WORDS_AN_OBJECT words of an array count
 * as one more object. */
#define CLOCK_OBJECTS LIMIT(128, 8)
#define WORDS_AN_OBJECT LIMIT(32, 4)
/* Handles, pinned and prebuilt objects that are marked at a time. */
#define TABLE_PIECE LIMIT(256, 8)
/* How many objects an increment traces if its budget is 0 bytes. The stress mode makes such increments. */
#define STEP_OBJECTS 4

/* What marking needs at each slot. The loop over objects works on a copy of this struct whose address is passed to no
 * function, so that the compiler keeps it in registers. While the loop runs, the copy's top is the true one and the
 * stack's own is out of date. */
typedef struct mark_context {
  cradle_heap *heap;
  crd_word_stack *stack;
  uintptr_t arenas_base;
  size_t arenas_bytes; /* of the known ones [arena.7] */
  crd_arena *meta;
  const crd_type *types;
  cradle_word *top, *limit; /* of the stack */
  uint64_t objects, bytes;
  int countdown; /* to the next look at the budget */
} mark_context;

static inline mark_context begin(cradle_heap *heap) {
  return (mark_context){.heap = heap,
                        .stack = &heap->mark_stack,
                        .arenas_base = heap->old.arenas.base,
                        .arenas_bytes = heap->old.arenas.known_bytes,
                        .meta = heap->old.arenas.meta,
                        .types = heap->types.types,
                        .top = heap->mark_stack.top,
                        .limit = heap->mark_stack.limit};
}
/* Writes the context's top back to the stack, before something else uses the stack. take_again reads it again
 * afterwards. */
static inline void write_back(const mark_context *context) {
  context->stack->top = context->top;
}
static inline void take_again(mark_context *context) {
  context->top = context->stack->top;
  context->limit = context->stack->limit;
}

/* Makes the stack longer. Returns its new end, or NULL: it cannot grow. */
static CRADLE_COLD cradle_word *more_stack(crd_word_stack *stack) {
  return crd_word_stack_grow(stack) ? stack->limit : NULL;
}

CRD_ALWAYS_INLINE bool push(mark_context *context, cradle_word entry) {
  ASSERT(context->top <= context->limit && context->limit == context->stack->limit,
         "[word_stack.1] a push behind what is committed");
  if (CRADLE_UNLIKELY(context->top == context->limit)) {
    cradle_word *limit = more_stack(context->stack);
    if (limit == NULL) return false;
    context->limit = limit;
  }
  *context->top++ = entry;
  return true;
}

/* Turns the object at an address grey, if it is white and lies in the arenas. The address needs no other test: 0 and
 * objects outside of the heap do not lie in the arenas. And no slot refers to a young object, because an increment
 * begins right after a minor collection. */
CRD_ALWAYS_INLINE void mark_address(mark_context *context, uintptr_t address) {
  uintptr_t offset = address - context->arenas_base;
  if (offset >= context->arenas_bytes) return;
  uint64_t *word = &context->meta[offset >> ARENA_SHIFT].marks[arena_bit_word(address)];
  uint64_t mask = arena_bit_mask(address);
  ASSERT(old_is_allocated(&context->heap->old, address), "[span.4] what is marked is no object");
  if (*word & mask) return;
  *word |= mask;
  if (!push(context, address)) context->heap->major.overflowed = true;
}

CRD_ALWAYS_INLINE void mark_slot(void *data, bool value, cradle_word *slot) {
  mark_context *context = data;
  uintptr_t address = heap_address_in(context->heap, value, *slot);
  if (!value || address != 0) mark_address(context, address); /* immediates, which are many, need no comparison more */
}

void crd_mark_address(cradle_heap *heap, uintptr_t address) {
  mark_context context = begin(heap);
  ASSERT(heap->old.born_marked, "[span.7] an object is marked while nothing marks");
  ASSERT(!heap->old.marked_beside, "[marker.3] the mutator marks an object in a round");
  mark_address(&context, address);
  write_back(&context);
}

void crd_mark_again(cradle_heap *heap, const cradle_word *object) {
  ASSERT(old_is_marked(&heap->old, address_of(object)), "[mark.1] an object is traced again that is not marked");
  ASSERT(!heap->marker.going, "[marker.1] the mutator pushes on the mark stack in a round");
  if (!word_stack_push(&heap->mark_stack, address_of(object))) heap->major.overflowed = true;
}

/* Pushes the rest of an array, from item `first` on, to be traced later. false: the stack has no room for two words. */
static inline bool push_rest(mark_context *context, const cradle_word *object, uint64_t first) {
  if (!push(context, first)) return false;
  if (push(context, mark_piece(object))) return true;
  context->top--;
  return false;
}

/* Traces one piece of an array, from item `first` on, and pushes the rest. If the stack has no room for the rest, all
 * of it is traced now: that takes long, but needs no memory. */
static CRADLE_NOINLINE void mark_words(mark_context *context, const crd_type *type, cradle_word *object,
                                       uint64_t first) {
  uint64_t last = type_length(type, object);
  if (first >= last) return; /* the program made it shorter */
  if (last - first > PIECE_WORDS && push_rest(context, object, first + PIECE_WORDS)) last = first + PIECE_WORDS;
  context->countdown -= (int)((last - first) / WORDS_AN_OBJECT);
  context->bytes += (last - first) * 8;
  cradle_word *items = type_items(type, object);
  if (type->items == CRADLE_ITEMS_REFERENCES)
    visit_words_backward(items + first, items + last, false, mark_slot, context);
  else
    visit_words_backward(items + first, items + last, true, mark_slot, context);
}

/* As mark_words, for an array of structures: a piece is a number of whole items. */
static CRADLE_NOINLINE void mark_structures(mark_context *context, const crd_type *type, cradle_word *object,
                                            uint64_t first) {
  const crd_item_slots *slots = type_item_slots(&context->heap->types, object);
  uint64_t last = type_length(type, object), piece = slots->words < PIECE_WORDS ? PIECE_WORDS / slots->words : 1;
  if (first >= last) return;
  if (last - first > piece && push_rest(context, object, first + piece)) last = first + piece;
  context->countdown -= (int)((last - first) * slots->words / WORDS_AN_OBJECT);
  context->bytes += (last - first) * slots->words * 8;
  cradle_word *items = type_items(type, object), *from = items + first * slots->words,
              *to = items + last * slots->words;
  if (slots->alike == CRADLE_ITEMS_VALUES) {
    visit_words_backward(from, to, true, mark_slot, context);
    return;
  }
  for (; to > from; to -= slots->words) {
    visit_bits_backward(to - slots->words, slots->values, true, mark_slot, context);
    visit_bits_backward(to - slots->words, slots->references, false, mark_slot, context);
  }
}

static inline void mark_items(mark_context *context, const crd_type *type, cradle_word *object, uint64_t first) {
  if (CRADLE_UNLIKELY(type->items == CRADLE_ITEMS_STRUCTURES))
    mark_structures(context, type, object, first);
  else
    mark_words(context, type, object, first);
}

static inline void check_traced(const mark_context *context, const cradle_word *object) {
  (void)context, (void)object; /* without assertions */
  ASSERT(arenas_contain(&context->heap->old.arenas, address_of(object)), "[mark.1] what is traced is no old object");
  ASSERT(old_is_marked(&context->heap->old, address_of(object)), "[mark.1] an object is traced that is not marked");
}

/* Traces any object. The last slots are pushed first, so that the first slot, which a program tends to follow first, is
 * popped first: marking then visits objects in the order in which promotion laid them out. */
static CRADLE_NOINLINE void mark_trace(mark_context *context, cradle_word *object) {
  const crd_type *type = heap_type(context->heap, object[0]);
  bool slot_items = type->items >= CRADLE_ITEMS_REFERENCES;
  check_traced(context, object);
  context->objects++;
  context->bytes += slot_items ? type->size : type_object_bytes(type, object);
  context->countdown--;
  if (!type->has_slots) return;
  if (slot_items) mark_items(context, type, object, 0);
  if (type->trace != NULL) visit_by_callback(type, object, mark_slot, context);
  visit_bits_backward(object, type->values, true, mark_slot, context);
  visit_bits_backward(object, type->references, false, mark_slot, context);
}

/* As mark_trace, while the order of death wants to know which objects are reached (gc/death/waiting.h). The order
 * of death may use the mark stack, so the stack has its true top during that call. */
static void mark_trace_watching(mark_context *context, cradle_word *object) {
  if (header_is_watched(object[0]) || header_is_weak(object[0])) {
    write_back(context);
    context->heap->death->traced(context->heap, object);
    take_again(context);
  }
  mark_trace(context, object);
}

/* Traces the next piece of an array. Its entry has been popped; the index is still on the stack. */
static CRADLE_NOINLINE void mark_rest(mark_context *context, cradle_word *object) {
  ASSERT(context->top > context->stack->base && context->top[-1] > 0, "[mark.3] a piece has lost its index");
  ASSERT(old_is_marked(&context->heap->old, address_of(object)), "[mark.1] a piece of an object that is not marked");
  uint64_t first = *--context->top;
  mark_items(context, heap_type(context->heap, object[0]), object, first);
}

/* --- the loop over objects --- */

/* Most objects that are popped one after another are of one type. The loop calls them a run. While a run lasts, the
 * loop knows where the type's slots are and traces them inline, without a look at the type. (A node with two references
 * then takes 65 instructions instead of 94.) A type can form a run if it has no items and its slots are all references
 * or all values. Other objects are traced by a call, which ends the run. Objects without slots, such as the strings of
 * a list of records, may come between the objects of a run.
 *
 * mark_loop is the loop's state. Its address is passed to no function that is not inlined, so that the compiler keeps
 * it in registers. */
typedef struct mark_loop {
  mark_context local;       /* a copy; functions that are not inlined work on the original */
  const cradle_word *floor; /* pop stops here: the stack's base, or the stack's end once the countdown is over */
  /* The run. */
  uint32_t type; /* CRADLE_TYPE_ID_END: none */
  uint64_t slots;
  unsigned first, last;
  bool one_or_two, values;
  /* Equals local.countdown when the run begins. Each object then lowers local.countdown, and each object that is not of
   * the run lowers this one, too. So the run has traced as many objects as the two differ by, and needs no
   * counter. */
  int countdown;
} mark_loop;

/* Ends the run and counts its objects. */
CRD_ALWAYS_INLINE void end_run(mark_loop *loop) {
  if (loop->type == CRADLE_TYPE_ID_END) return;
  uint64_t objects = (uint64_t)(loop->countdown - loop->local.countdown);
  loop->local.objects += objects;
  loop->local.bytes += objects * loop->local.types[loop->type].size;
  loop->type = CRADLE_TYPE_ID_END;
}

/* Calls a function that is not inlined, which works on the context and not on the loop's copy. */
CRD_ALWAYS_INLINE void call(mark_loop *loop, mark_context *context, void (*function)(mark_context *, cradle_word *),
                            cradle_word *object) {
  end_run(loop);
  context->top = loop->local.top;
  context->limit = loop->local.limit;
  context->countdown = loop->local.countdown;
  function(context, object);
  loop->local.top = context->top;
  loop->local.limit = context->limit;
  loop->local.countdown = context->countdown;
  if (context->countdown <= 0) loop->floor = context->stack->end;
}

/* Pops the next object and prefetches it. Pieces of arrays on top of it are traced. false: the stack is empty, or it is
 * time to look at the budget; one comparison with floor tells both. */
CRD_ALWAYS_INLINE bool pop(mark_loop *loop, mark_context *context, cradle_word *object) {
  while (loop->local.top > loop->floor) {
    *object = *--loop->local.top;
    __builtin_prefetch(object_at(*object));
    if (CRADLE_LIKELY(!mark_is_piece(*object))) return true;
    call(loop, context, mark_rest, mark_object_of(*object));
  }
  return false;
}

CRD_ALWAYS_INLINE void begin_run(mark_loop *loop, uint32_t id, const crd_type *type) {
  uint64_t slots = type->sole, but_one = slots & (slots - 1);
  end_run(loop);
  loop->type = id;
  loop->slots = slots;
  loop->first = (unsigned)__builtin_ctzll(slots);
  loop->last = 63 - (unsigned)__builtin_clzll(slots);
  loop->one_or_two = (but_one & (but_one - 1)) == 0;
  loop->values = type->sole_values;
  loop->countdown = loop->local.countdown;
}

/* Counts an object without slots, which does not end a run. */
CRD_ALWAYS_INLINE void pass(mark_loop *loop, const crd_type *type, const cradle_word *object) {
  loop->local.objects++;
  loop->local.bytes += type_object_bytes(type, object);
  loop->countdown--;
}

CRD_ALWAYS_INLINE void trace_slots(mark_loop *loop, cradle_word *object, bool values) {
  if (CRADLE_LIKELY(loop->one_or_two)) {
    if (loop->last != loop->first) mark_slot(&loop->local, values, object + loop->last);
    mark_slot(&loop->local, values, object + loop->first);
  } else {
    visit_bits_backward(object, loop->slots, values, mark_slot, &loop->local);
  }
}

/* Traces one object: as part of the run, as the first of a new one, or by a call. */
CRD_ALWAYS_INLINE void trace_inline(mark_loop *loop, mark_context *context, cradle_word *object, bool watching) {
  uint32_t id = header_type(object[0]);
  const crd_type *type = &loop->local.types[id];
  bool leaf = false;
  if (CRADLE_UNLIKELY(id != loop->type)) {
    leaf = !type->has_slots && !watching;
    if (!leaf && (watching || type->sole == 0 || type->items != CRADLE_ITEMS_NONE)) {
      call(loop, context, watching ? mark_trace_watching : mark_trace, object);
      return;
    }
    if (!leaf) begin_run(loop, id, type);
  }
  check_traced(&loop->local, object);
  if (leaf)
    pass(loop, type, object);
  else if (loop->values)
    trace_slots(loop, object, true);
  else
    trace_slots(loop, object, false);
  if (CRADLE_UNLIKELY(--loop->local.countdown == 0)) loop->floor = loop->local.stack->end;
}

/* Traces what is on the stack until it is empty or the countdown is over. Returns whether it is empty.
 *
 * Popped objects go through a queue: one goes in at the end and the oldest comes out and is traced. So between the
 * prefetch of an object and the first look at it, QUEUE_LENGTH others are traced, and the cache line has had time to
 * arrive. The queue is emptied before the function returns. */
CRD_ALWAYS_INLINE bool drain_with(mark_context *context, bool watching) {
  mark_loop loop = {.local = *context, .floor = context->stack->base, .type = CRADLE_TYPE_ID_END};
  cradle_word queue[QUEUE_LENGTH], next;
  unsigned first = 0, waiting = 0;
  loop.local.objects = loop.local.bytes = 0;
  for (;;) {
    while (waiting < QUEUE_LENGTH && pop(&loop, context, &next)) queue[(first + waiting++) % QUEUE_LENGTH] = next;
    if (waiting == 0) break;
    while (waiting == QUEUE_LENGTH && pop(&loop, context, &next)) {
      cradle_word *object = object_at(queue[first]);
      queue[first] = next;
      first = (first + 1) % QUEUE_LENGTH;
      trace_inline(&loop, context, object, watching);
    }
    cradle_word *object = object_at(queue[first]);
    first = (first + 1) % QUEUE_LENGTH;
    waiting--;
    trace_inline(&loop, context, object, watching);
  }
  end_run(&loop);
  context->objects += loop.local.objects;
  context->bytes += loop.local.bytes;
  context->top = loop.local.top;
  context->limit = loop.local.limit;
  write_back(context);
  return word_stack_is_empty(context->stack);
}

static bool drain_watching(mark_context *context) {
  return drain_with(context, true);
}

static bool drain(mark_context *context) {
  take_again(context);
  return CRADLE_UNLIKELY(context->heap->major.watching) ? drain_watching(context) : drain_with(context, false);
}

static void trace_again(void *data, cradle_word *object) {
  mark_context *context = data;
  if (context->heap->major.watching)
    mark_trace_watching(context, object);
  else
    mark_trace(context, object);
}

/* The next piece of a table: the entries [*at, the result). Moves the cursor on. */
static uint32_t next_piece(uint32_t *at, uint32_t count) {
  ASSERT(*at <= count, "marking went past the end of a table");
  uint32_t left = count - *at;
  return *at += left < TABLE_PIECE ? left : TABLE_PIECE;
}

/* A piece of a root stack's words: its shadow stack, its scoped roots and its ranges, one behind the other. */
typedef struct root_piece {
  size_t skip;  /* words before the piece */
  int64_t left; /* words that it may still have; the last scoped root may make it negative */
} root_piece;

static void mark_block(mark_context *context, root_piece *piece, cradle_word *base, const cradle_word *top,
                       cradle_kind kind) {
  size_t count = base < top ? (size_t)(top - base) : 0, skip = piece->skip < count ? piece->skip : count;
  size_t most = piece->left > 0 ? (size_t)piece->left : 0, words = count - skip < most ? count - skip : most;
  visit_kind(base + skip, base + skip + words, kind, mark_slot, context);
  piece->skip -= skip;
  piece->left -= (int64_t)words;
}

static void mark_scoped(mark_context *context, root_piece *piece, const cradle_root_stack *stack) {
  size_t count = root_stack_scoped_words(stack), skip = piece->skip < count ? piece->skip : count;
  const cradle_word *at = stack->scoped.top - skip, *from = at, *base = stack->scoped.base + 1;
  while (at > base && from - at < piece->left) {
    crd_scoped_root root = scoped_root_next(&at);
    mark_slot(context, root.kind == CRADLE_KIND_VALUE, root.variable);
  }
  piece->skip -= skip;
  piece->left -= from - at;
}

static void mark_root_stack(mark_context *context, root_piece *piece, const cradle_root_stack *stack) {
  mark_block(context, piece, stack->shadow.base, stack->shadow.top, context->heap->options.shadow_stack);
  mark_scoped(context, piece, stack);
  for (cradle_root_range *range = stack->ranges; range != NULL; range = range->next)
    mark_block(context, piece, range_base(range), range_top(range), range->kind);
}

/* Marks one piece of the root stacks that did not run since marking began [root_stack.3]. false: there are none. */
static bool mark_suspended(mark_context *context) {
  crd_mutator *mutator = context->heap->mutator;
  crd_ring *unmarked = mutator == NULL ? NULL : &mutator->rings[ROOT_STACKS_UNMARKED];
  if (CRADLE_LIKELY(unmarked == NULL || unmarked->next == unmarked)) return false;
  root_piece piece = {.left = TABLE_PIECE};
  while (piece.left > 0 && unmarked->next != unmarked) {
    cradle_root_stack *stack = root_stack_of(unmarked->next);
    int64_t before = piece.left;
    piece.skip = stack->looked_at;
    mark_root_stack(context, &piece, stack);
    stack->looked_at += (size_t)(before - piece.left);
    if (piece.left-- <= 0) break; /* there may be more of it */
    stack->looked_at = 0;
    ring_remove(&stack->ring);
    ring_insert(&mutator->rings[ROOT_STACKS_RESTED], &stack->ring);
  }
  return true;
}

/* Marks one piece of the tables: handles, pinned objects, written prebuilt objects and suspended root stacks are or
 * hold roots, but there may be a million of them, and then one look at all would make a long pause. An entry that
 * changes after the cursor has passed it is marked when it changes. Returns false when the cursors are at the ends. */
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
  } else if (!mark_suspended(context)) {
    return false;
  }
  write_back(context);
  return true;
}

/* Traces some of the objects that the second core put aside. Returns false when there are none. */
static bool mark_aside(mark_context *context) {
  crd_word_stack *aside = &context->heap->marker.aside;
  if (CRADLE_LIKELY(word_stack_is_empty(aside))) return false;
  for (int i = 0; i < CLOCK_OBJECTS && !word_stack_is_empty(aside); i++)
    trace_again(context, object_at(word_stack_pop(aside)));
  write_back(context);
  return true;
}

/* The part of the shadow stack that minor collections skip has not changed, so what lies there was marked when marking
 * began. It is visited once more at the end of marking as a precaution. That costs little. If the program wrote a
 * reference there unnoticed, the object that it refers to stays alive. Returns whether something is grey now. */
static bool mark_unchanged_roots(mark_context *context) {
  take_again(context);
  visit_unchanged_roots(context->heap, mark_slot, context);
  write_back(context);
  return !word_stack_is_empty(context->stack) || context->heap->major.overflowed;
}

/* Traces the marked objects of the next span once more, after the stack has overflowed. Retires the allocators first,
 * because the free places that they own have mark bits already and no objects yet. Returns false when all spans have
 * been looked at. */
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
  write_back(context);
  return true;
}

static bool is_spent(const mark_context *context, crd_budget budget) {
  return context->bytes >= budget.bytes ||
         (budget.deadline_ns != UINT64_MAX && crd_platform_now_ns() >= budget.deadline_ns);
}

void crd_mark_start(cradle_heap *heap) {
  mark_context context = begin(heap);
  ASSERT(word_stack_is_empty(&heap->mark_stack), "[mark.2] the mark stack is not empty before marking");
  ASSERT(!heap->old.born_marked, "[span.7] marking begins twice");
  heap->major.rescan_page = PAGE_NONE;
  heap->handles.marked_at = heap->pins.marked_at = heap->prebuilts.marked_at = 0;
  crd_old_retire(&heap->old); /* the places that allocators own have no mark bits; those taken from now on get them */
  heap->old.born_marked = true;
  (void)visit_roots_if(heap, ROOTS_RAN, mark_slot, &context);
  (void)visit_callback_roots(heap, mark_slot, &context);
  if (heap->mutator != NULL) crd_root_stacks_unmark(heap->mutator);
  write_back(&context);
  if (heap->death != NULL) heap->death->mark_starts(heap);
}

/* Whenever the stack is empty, the loop asks the other sources of grey objects one after another. If one has something,
 * the stack is drained again before the next is asked. The unchanged roots come last, because each look at them goes
 * over all of them. */
bool crd_mark_some(cradle_heap *heap, crd_budget budget) {
  mark_context context = begin(heap);
  bool complete = false;
  ASSERT(!heap->marker.going, "[marker.1] an increment of marking while a round goes on");
  ASSERT(heap->old.born_marked, "[span.7] an increment of marking while nothing marks");
  do {
    context.countdown = budget.bytes == 0 ? STEP_OBJECTS : CLOCK_OBJECTS;
    if (budget.aside) {
      if (!mark_aside(&context)) break;
    } else if (drain(&context))
      complete = !mark_aside(&context) && !mark_tables(&context) && !rescan_span(&context) &&
                 (heap->death == NULL || !heap->death->mark_more(heap, &context.bytes)) &&
                 !mark_unchanged_roots(&context);
  } while (!complete && !is_spent(&context, budget));
  ASSERT(!complete || (word_stack_is_empty(&heap->mark_stack) && !heap->major.overflowed &&
                       heap->major.rescan_page == PAGE_NONE),
         "[mark.2] marking is over while objects are grey");
  ASSERT(!complete || word_stack_is_empty(&heap->marker.aside), "[marker.6] marking is over while objects are aside");
  heap->major.objects += context.objects;
  heap->major.bytes += context.bytes;
  return complete;
}
