/* The loop of marking: takes objects from the mark stack and marks what they refer to.
 *
 * The loop is written once and compiled four times, as each of the modes below, which are always constants. The
 * mutator's increments (gc/old/mark.c) run it in two of them, the second core's rounds (gc/old/mark_beside.c) in the
 * others. Those run beside the program, which may write to an object while the loop reads it. So there nothing is
 * decided by two reads of one word; an address is followed only if the allocation bit says that an object begins there
 * [marker.4]; no more items are traced than the object's place has room for; and objects that need the program are put
 * aside [marker.6].
 *
 * Everything is inline, and the loop works on a copy of its context whose address is passed to no function that is not
 * inlined: so the compiler keeps the copy in registers.
 */
#ifndef CRADLE_GC_OLD_MARK_LOOP_H
#define CRADLE_GC_OLD_MARK_LOOP_H

#include "gc/base/sanitizers.h"
#include "gc/object/visit.h"
#include "gc/old/marking.h"

/* An array is traced so many words at a time, but whole items. A pause waits for the second core to end a piece. */
#define PIECE_WORDS LIMIT(256, 8)
/* For the countdown, so many words of an array count as one more object. */
#define WORDS_AN_OBJECT 8
/* Objects that wait while their first line is prefetched. */
#define QUEUE_LENGTH 8

typedef enum mark_mode {
  MARK_ALONE,    /* nobody else works in the heap */
  MARK_WATCHING, /* the same, and the order of death wants to see watched and weak objects (gc/death/waiting.h) */
  MARK_BESIDE,   /* the program runs */
  MARK_SHARED,   /* the same, and other markers set mark bits, too [marker.7] */
} mark_mode;
CRD_ALWAYS_INLINE bool mark_is_beside(mark_mode mode) {
  return mode >= MARK_BESIDE;
}

/* The tag bit of an entry that is the rest of an array [mark.3]. */
#define MARK_PIECE 1

/* What marking needs at each slot. While the loop runs, the top in its copy of this is the true one. */
typedef struct mark_context {
  crd_marking *marking;
  const crd_space *space;
  crd_word_stack *stack;
  bool *overflowed; /* set when the stack has no room [mark.4] */
  uintptr_t arenas_base;
  size_t arenas_bytes; /* of the known ones [arena.7]; beside: that were committed when the round began */
  crd_arena *meta;
  const crd_type *types;
  cradle_word *top, *limit; /* of the stack */
  uint64_t objects, bytes;
  int countdown;          /* objects to the next look at the budget, or at the protocol's word; 0 or less: it is due */
  crd_budget budget;      /* of an increment */
  crd_word_stack *aside;  /* beside: for the objects that are put aside */
  uint64_t objects_aside; /* beside: how many were */
  crd_mark_pool *pool;    /* beside: what several markers share; NULL: one marks */
  uint64_t hungry_ns;     /* for which this one had nothing to trace */
  uint64_t *random;       /* beside, under stress; NULL: none */
} mark_context;

static inline mark_context mark_context_of(crd_marking *marking, crd_word_stack *stack, bool *overflowed,
                                           size_t arenas_bytes) {
  const crd_space *space = marking->space;
  return (mark_context){.marking = marking,
                        .space = space,
                        .stack = stack,
                        .overflowed = overflowed,
                        .arenas_base = space->old.arenas.base,
                        .arenas_bytes = arenas_bytes,
                        .meta = space->old.arenas.meta,
                        .types = space->types.types,
                        .top = stack->top,
                        .limit = stack->limit};
}
/* Before something else uses the stack, and afterwards. */
static inline void mark_write_back(const mark_context *context) {
  context->stack->top = context->top;
}
static inline void mark_take_again(mark_context *context) {
  context->top = context->stack->top;
  context->limit = context->stack->limit;
}

/* --- what the mutator may be writing to --- */

/* Reads a word of an object while the program runs: its header, its length or a slot. The mutator stores whole aligned
 * words, and a processor never shows half of such a store. In C's terms that is a data race all the same: the program's
 * stores are plain, because the write barrier must not cost more than it does. */
SANITIZE_RACY cradle_word word_beside(const cradle_word *word) {
  return __atomic_load_n(word, __ATOMIC_RELAXED);
}

CRD_ALWAYS_INLINE cradle_word mark_read(const cradle_word *word, mark_mode mode) {
  return mark_is_beside(mode) ? word_beside(word) : *word;
}

CRD_ALWAYS_INLINE uint64_t mark_read_length(const crd_type *type, const cradle_word *object, mark_mode mode) {
  return mark_read(object_at(address_of(object) + type->length_offset), mode);
}

/* How many items the object's place or pages have room for. The length in the object is a hint [marker.4]. */
static inline uint64_t items_that_fit(const mark_context *context, const crd_type *type, const cradle_word *object) {
  const crd_old *old = &context->space->old;
  const crd_page *span = old_span_of(old, address_of(object));
  size_t bytes =
      span->state == PAGE_SMALL ? old->classes.of[span->size_class].bytes : (size_t)span->pages << PAGE_SHIFT;
  return (bytes - type->size) / type->item_size;
}

/* Whether a finished old object begins at the address and is not marked. The caller has found the mark bit clear, but
 * the mutator may be allocating a large object there: so the mark bit is read once more after the allocation bit, which
 * the mutator sets last [marker.3]. */
static inline bool is_unmarked_object(crd_arena *arena, size_t index, uint64_t mask, uintptr_t address) {
  if (address % CRADLE_OBJECT_ALIGNMENT != 0) return false;
  if (!(__atomic_load_n(&arena->allocated[index], __ATOMIC_ACQUIRE) & mask)) return false;
  return !(__atomic_load_n(&arena->marks[index], __ATOMIC_RELAXED) & mask);
}

/* --- slots --- */

/* Makes the stack longer. Returns its new end, or NULL: it cannot grow. */
static CRADLE_COLD cradle_word *mark_more_stack(crd_word_stack *stack) {
  return crd_word_stack_grow(stack) ? stack->limit : NULL;
}

CRD_ALWAYS_INLINE bool mark_push(mark_context *context, cradle_word entry) {
  ASSERT(context->top <= context->limit && context->limit == context->stack->limit,
         "[word_stack.1] a push behind what is committed");
  if (CRADLE_UNLIKELY(context->top == context->limit)) {
    cradle_word *limit = mark_more_stack(context->stack);
    if (limit == NULL) return false;
    context->limit = limit;
  }
  *context->top++ = entry;
  return true;
}

/* Turns the object at an address grey, if it is white and lies in the arenas. No slot refers to a young object, because
 * an increment begins right after a minor collection. */
CRD_ALWAYS_INLINE void mark_address_in(mark_context *context, uintptr_t address, mark_mode mode) {
  uintptr_t offset = address - context->arenas_base;
  if (offset >= context->arenas_bytes) return;
  crd_arena *arena = &context->meta[offset >> ARENA_SHIFT];
  size_t index = arena_bit_word(address);
  uint64_t marks = __atomic_load_n(&arena->marks[index], __ATOMIC_RELAXED);
  if (marks >> (address >> 3 & 63) & 1) return;
  if (mark_is_beside(mode) && !is_unmarked_object(arena, index, arena_bit_mask(address), address)) return;
  ASSERT(mark_is_beside(mode) || old_is_allocated(&context->space->old, address),
         "[span.4] what is marked is no object");
  if (mode == MARK_SHARED) {
    uint64_t mask = arena_bit_mask(address);
    POOL_TURN();
    if (__atomic_fetch_or(&arena->marks[index], mask, __ATOMIC_RELAXED) & mask) return; /* another marker was faster */
  } else { /* nobody else writes to this word [marker.1] */
    __atomic_store_n(&arena->marks[index], marks | arena_bit_mask(address), __ATOMIC_RELAXED);
  }
  if (!mark_push(context, address)) *context->overflowed = true;
}

CRD_ALWAYS_INLINE void mark_slot_in(mark_context *context, bool value, cradle_word *slot, mark_mode mode) {
  uintptr_t address = space_address_in(context->space, value, mark_read(slot, mode));
  /* Immediates, which are many, need no comparison more. */
  if (!value || address != 0) mark_address_in(context, address, mode);
}
CRD_ALWAYS_INLINE void mark_slot(void *context, bool value, cradle_word *slot) {
  mark_slot_in(context, value, slot, MARK_ALONE);
}
CRD_ALWAYS_INLINE void mark_slot_beside(void *context, bool value, cradle_word *slot) {
  mark_slot_in(context, value, slot, MARK_BESIDE);
}
CRD_ALWAYS_INLINE void mark_slot_shared(void *context, bool value, cradle_word *slot) {
  mark_slot_in(context, value, slot, MARK_SHARED);
}
CRD_ALWAYS_INLINE crd_slot_function mark_slot_as(mark_mode mode) {
  return mode == MARK_SHARED ? mark_slot_shared : mode == MARK_BESIDE ? mark_slot_beside : mark_slot;
}

/* From the last slot to the first, because the stack gives them back in the opposite order. The function of the slot is
 * a constant, with which gcc needs two instructions less for each object than with a call of mark_slot_in. */
CRD_ALWAYS_INLINE void mark_words(mark_context *context, cradle_word *from, cradle_word *to, bool value,
                                  mark_mode mode) {
  const crd_slot_function visit = mark_slot_as(mode);
  while (to > from) visit(context, value, --to);
}
CRD_ALWAYS_INLINE void mark_bits(mark_context *context, cradle_word *words, uint64_t bitmap, bool value,
                                 mark_mode mode) {
  const crd_slot_function visit = mark_slot_as(mode);
  while (bitmap != 0) {
    unsigned word = 63 - (unsigned)__builtin_clzll(bitmap);
    visit(context, value, words + word);
    bitmap ^= UINT64_C(1) << word;
  }
}

/* --- arrays --- */

/* Pushes the rest of an array, from item `first` on. The index is kept as an even word [pool.4]. false: the stack has
 * no room for two words. */
CRD_ALWAYS_INLINE bool push_rest(mark_context *context, const cradle_word *object, uint64_t first) {
  if (!mark_push(context, first * 2)) return false;
  if (mark_push(context, address_of(object) | MARK_PIECE)) return true;
  context->top--;
  return false;
}

/* Returns where a piece of an array ends that begins with the item `first`, and pushes the rest on the stack. words: of
 * one item. If the stack has no room for the rest, the mutator traces all of it now: that takes long, but needs no
 * memory. A pause cannot wait so long for the second core, so there a rescan will trace it [mark.4]. */
CRD_ALWAYS_INLINE uint64_t piece_end(mark_context *context, const crd_type *type, const cradle_word *object,
                                     uint64_t first, uint64_t words, mark_mode mode) {
  uint64_t last = mark_read_length(type, object, mode), piece = words < PIECE_WORDS ? PIECE_WORDS / words : 1;
  if (mark_is_beside(mode)) {
    uint64_t fit = items_that_fit(context, type, object);
    if (last > fit) last = fit;
  }
  if (last <= first) return first; /* the program made it shorter */
  if (last - first > piece) {
    bool rest_waits = push_rest(context, object, first + piece);
    if (rest_waits || mark_is_beside(mode)) last = first + piece;
    if (!rest_waits && mark_is_beside(mode)) *context->overflowed = true;
  }
  context->countdown -= (int)((last - first) * words / WORDS_AN_OBJECT);
  context->bytes += (last - first) * words * 8;
  return last;
}

/* The last slot first, as in mark_trace. */
CRD_ALWAYS_INLINE void mark_items(mark_context *context, const crd_type *type, cradle_word *object, uint64_t first,
                                  mark_mode mode) {
  uint64_t last = piece_end(context, type, object, first, type->item_words, mode);
  cradle_word *items = type_items(type, object), *from = items + first * type->item_words,
              *to = items + last * type->item_words;
  if (CRADLE_LIKELY(type->item_alike == CRADLE_ITEMS_REFERENCES)) {
    mark_words(context, from, to, false, mode);
  } else if (type->item_alike == CRADLE_ITEMS_VALUES) {
    mark_words(context, from, to, true, mode);
  } else {
    for (; to > from; to -= type->item_words) {
      mark_bits(context, to - type->item_words, type->item_values, true, mode);
      mark_bits(context, to - type->item_words, type->item_references, false, mode);
    }
  }
}

/* Traces the next piece of an array. Its entry has been popped; the index is still on the stack. */
CRD_ALWAYS_INLINE void mark_rest(mark_context *context, cradle_word *object, mark_mode mode) {
  ASSERT(context->top > context->stack->base && context->top[-1] > 0, "[mark.3] a piece has lost its index");
  ASSERT(old_is_marked(&context->space->old, address_of(object)), "[mark.1] a piece of an object that is not marked");
  uint64_t first = *--context->top / 2;
  mark_items(context, &context->types[header_type(mark_read(object, mode))], object, first, mode);
}

/* --- objects --- */

static inline void check_traced(const mark_context *context, const cradle_word *object) {
  ASSERT(arenas_contain(&context->space->old.arenas, address_of(object)), "[mark.1] what is traced is no old object");
  ASSERT(old_is_marked(&context->space->old, address_of(object)), "[mark.1] an object is traced that is not marked");
}

/* Shows an object to the order of death, which may use the mark stack: so the stack has its true top meanwhile. */
static inline void show_to_death(mark_context *context, cradle_word *object) {
  mark_write_back(context);
  context->space->death->traced(context->space->services, object);
  mark_take_again(context);
}

static inline size_t fixed_or_all_bytes(const crd_type *type, const cradle_word *object, mark_mode mode) {
  bool raw_items = type->items != CRADLE_ITEMS_NONE && type->items < CRADLE_ITEMS_REFERENCES;
  return raw_items ? type_array_bytes(type, mark_read_length(type, object, mode)) : type->size;
}

/* Traces any object. The last slots are pushed first, so that the first slot, which a program tends to follow first, is
 * popped first: marking then visits objects in the order in which promotion laid them out. */
CRD_ALWAYS_INLINE void mark_trace(mark_context *context, cradle_word *object, mark_mode mode) {
  uint64_t header = mark_read(object, mode);
  const crd_type *type = &context->types[header_type(header)];
  bool flagged = header_kind(header) != header_type(header);
  check_traced(context, object);
  context->countdown--;
  if (mark_is_beside(mode) && (type->trace != NULL || flagged)) { /* it needs the program [marker.6] */
    context->objects_aside++;
    if (!word_stack_push(context->aside, address_of(object))) *context->overflowed = true;
    return;
  }
  if (mode == MARK_WATCHING && flagged) show_to_death(context, object);
  context->objects++;
  context->bytes += fixed_or_all_bytes(type, object, mode);
  if (!type->has_slots) return;
  if (type->items >= CRADLE_ITEMS_REFERENCES) mark_items(context, type, object, 0, mode);
  if (!mark_is_beside(mode) && type->trace != NULL) visit_by_callback(type, object, mark_slot, context);
  mark_bits(context, object, type->values, true, mode);
  mark_bits(context, object, type->references, false, mode);
}

/* --- the loop over objects --- */

/* Most objects that are popped one after another are of one type. The loop calls them a run. While a run lasts, the
 * loop knows where the type's slots are and traces them inline, without a look at the type. A type can form a run if it
 * has no items and its slots are all references or all values. Other objects are traced by a call, which ends the run.
 * Objects without slots, such as the strings of a list of records, may come between the objects of a run.
 *
 * The shape of a run: one or two references, which most objects have, take the shortest way. */
typedef enum run_shape {
  RUN_OF_ONE,
  RUN_OF_TWO,
  RUN_OF_ONE_VALUE,
  RUN_OF_TWO_VALUES,
  RUN_OF_REFERENCES,
  RUN_OF_VALUES
} run_shape;

static inline run_shape run_shape_of(const crd_type *type) {
  uint64_t but_one = type->sole & (type->sole - 1);
  if (but_one & (but_one - 1)) return type->sole_values ? RUN_OF_VALUES : RUN_OF_REFERENCES;
  return (run_shape)((type->sole_values ? RUN_OF_ONE_VALUE : RUN_OF_ONE) + (but_one != 0));
}

typedef struct mark_loop {
  mark_context local;       /* a copy; functions that are not inlined work on the original */
  const cradle_word *floor; /* pop stops here: the stack's base, or the stack's end once the countdown is over */
  /* The run. */
  uint64_t kind; /* a type id; CRADLE_TYPE_ID_END: none */
  run_shape shape;
  uint64_t slots;
  unsigned first, last; /* slot */
  /* Equals local.countdown when the run begins, and is lowered with it by each object that is not of the run. So the
   * two differ by the objects of the run. */
  int countdown;
} mark_loop;

/* The functions that the loop calls: not inlined, one copy in each mode. */
typedef struct mark_calls {
  void (*trace)(mark_context *context, cradle_word *object);
  void (*rest)(mark_context *context, cradle_word *object);
  /* How many objects are traced until the next call. 0: the loop is to end. */
  int (*next_countdown)(mark_context *context);
} mark_calls;

CRD_ALWAYS_INLINE void end_run(mark_loop *loop) {
  if (loop->kind == CRADLE_TYPE_ID_END) return;
  uint64_t objects = (uint64_t)(loop->countdown - loop->local.countdown);
  loop->local.objects += objects;
  loop->local.bytes += objects * loop->local.types[loop->kind].size;
  loop->kind = CRADLE_TYPE_ID_END;
}

/* Calls a function that is not inlined. It works on the original context. */
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

/* Pops the next object and prefetches it. Pieces of arrays on top of it are traced. false: the stack is empty, or the
 * countdown is over; one comparison with floor tells both. */
CRD_ALWAYS_INLINE bool pop(mark_loop *loop, mark_context *context, const mark_calls *calls, cradle_word *object) {
  while (loop->local.top > loop->floor) {
    *object = *--loop->local.top;
    __builtin_prefetch(object_at(*object));
    if (CRADLE_LIKELY(!(*object & MARK_PIECE))) return true;
    call(loop, context, calls->rest, object_at(*object & ~(cradle_word)MARK_PIECE));
  }
  return false;
}

CRD_ALWAYS_INLINE void begin_run(mark_loop *loop, const crd_type *type, uint64_t kind) {
  uint64_t slots = type->sole;
  end_run(loop);
  loop->kind = kind;
  loop->shape = run_shape_of(type);
  loop->slots = slots;
  loop->first = (unsigned)__builtin_ctzll(slots);
  loop->last = 63 - (unsigned)__builtin_clzll(slots);
  loop->countdown = loop->local.countdown;
}

CRD_ALWAYS_INLINE void trace_few(mark_loop *loop, cradle_word *object, bool values, bool two, mark_mode mode) {
  if (two) mark_slot_in(&loop->local, values, object + loop->last, mode);
  mark_slot_in(&loop->local, values, object + loop->first, mode);
}

CRD_ALWAYS_INLINE void trace_slots(mark_loop *loop, cradle_word *object, mark_mode mode) {
  if (CRADLE_LIKELY(loop->shape <= RUN_OF_TWO))
    trace_few(loop, object, false, loop->shape == RUN_OF_TWO, mode);
  else if (loop->shape <= RUN_OF_TWO_VALUES)
    trace_few(loop, object, true, loop->shape == RUN_OF_TWO_VALUES, mode);
  else if (loop->shape == RUN_OF_REFERENCES)
    mark_bits(&loop->local, object, loop->slots, false, mode);
  else
    mark_bits(&loop->local, object, loop->slots, true, mode);
}

/* Traces one object: as part of the run, as the first of a new one, or by a call. Its kind is its type, and the flags
 * of watched and weak objects unless they make no difference now. */
CRD_ALWAYS_INLINE void trace_inline(mark_loop *loop, mark_context *context, const mark_calls *calls,
                                    cradle_word *object, mark_mode mode) {
  uint64_t header = mark_read(object, mode), kind = mode == MARK_ALONE ? header_type(header) : header_kind(header);
  bool leaf = false;
  if (CRADLE_UNLIKELY(kind != loop->kind)) {
    const crd_type *type = &loop->local.types[header_type(kind)];
    bool flagged = kind != header_type(kind);
    leaf = !type->has_slots && !flagged;
    if (!leaf && (flagged || type->sole == 0 || type->items != CRADLE_ITEMS_NONE)) {
      call(loop, context, calls->trace, object);
      return;
    }
    if (leaf) { /* it does not end the run */
      loop->local.objects++;
      loop->local.bytes += fixed_or_all_bytes(type, object, mode);
      loop->countdown--;
    } else {
      begin_run(loop, type, kind);
    }
  }
  check_traced(&loop->local, object);
  if (!leaf) trace_slots(loop, object, mode);
  if (CRADLE_UNLIKELY(--loop->local.countdown == 0)) loop->floor = loop->local.stack->end;
}

CRD_ALWAYS_INLINE void settle(mark_loop *loop, mark_context *context) {
  end_run(loop);
  context->objects += loop->local.objects;
  context->bytes += loop->local.bytes;
  loop->local.objects = loop->local.bytes = 0;
}

/* Begins the next countdown, for which one of several markers may give away a part of its stack. false: the loop is to
 * end. */
CRD_ALWAYS_INLINE bool go_on(mark_loop *loop, mark_context *context, const mark_calls *calls, mark_mode mode) {
  settle(loop, context);
  if (mark_is_beside(mode)) context->top = loop->local.top;
  loop->local.countdown = calls->next_countdown(context);
  if (mode == MARK_SHARED) loop->local.top = context->top;
  loop->floor = context->stack->base;
  return loop->local.countdown > 0;
}

/* Traces what is on the stack until it is empty, which it returns, or the loop is to end. Popped objects go through a
 * queue, so that between the prefetch of an object and the first look at it QUEUE_LENGTH others are traced. What is in
 * the queue when the loop ends goes back on the stack. */
CRD_ALWAYS_INLINE bool mark_drain(mark_context *context, const mark_calls *calls, mark_mode mode) {
  mark_loop loop = {.local = *context, .floor = context->stack->base, .kind = CRADLE_TYPE_ID_END};
  cradle_word queue[QUEUE_LENGTH], next;
  unsigned first = 0, waiting = 0;
  bool empty;
  loop.local.objects = loop.local.bytes = 0;
  do {
    for (;;) {
      while (waiting < QUEUE_LENGTH && pop(&loop, context, calls, &next))
        queue[(first + waiting++) % QUEUE_LENGTH] = next;
      while (waiting == QUEUE_LENGTH && pop(&loop, context, calls, &next)) {
        cradle_word *object = object_at(queue[first]);
        queue[first] = next;
        first = (first + 1) % QUEUE_LENGTH;
        trace_inline(&loop, context, calls, object, mode);
      }
      empty = waiting == 0 && loop.local.top == context->stack->base;
      if (empty || loop.local.countdown <= 0) break;
      cradle_word *object = object_at(queue[first]);
      first = (first + 1) % QUEUE_LENGTH;
      waiting--;
      trace_inline(&loop, context, calls, object, mode);
    }
  } while (!empty && go_on(&loop, context, calls, mode));
  settle(&loop, context);
  for (; waiting > 0; waiting--, first = (first + 1) % QUEUE_LENGTH)
    if (!mark_push(&loop.local, queue[first])) *context->overflowed = true;
  context->top = loop.local.top;
  context->limit = loop.local.limit;
  mark_write_back(context);
  return empty;
}

#endif
