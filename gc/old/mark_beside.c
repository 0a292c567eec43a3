/* Marking beside the program: the one file whose code reads objects while the mutator writes to them.
 *
 * It marks what gc/old/mark.c marks, in the same order, with a loop of its own. The program may write to an object
 * while the loop reads it. So:
 *
 *   - word_beside reads the words of an object. Nothing is decided by two reads of one word, because the second read
 *     might see another value.
 *   - A word may hold anything [marker.4]. Its address is followed only if the allocation bit says that an object
 *     begins there.
 *   - A length may be anything, too. No more items are traced than the object's place has room for.
 *   - Objects that need the program are put aside [marker.6].
 *
 * Pieces of arrays are shorter than in gc/old/mark.c, because a pause waits for the end of a piece. */
#include "gc/old/mark_beside.h"

#include "gc/base/sanitizers.h"
#include "gc/heap.h"
#include "gc/object/visit.h"
#include "gc/old/mark.h"
#include "gc/platform/pages.h"

#define QUEUE_LENGTH 8
/* Words of an array that are traced at a time. */
#define PIECE_WORDS LIMIT(256, 8)
/* Objects between two looks at the protocol's word, which says whether a pause waits for the round to end.
 * WORDS_AN_OBJECT words of an array count as one more object. Even if every word misses the cache, that is a few
 * microseconds. */
#define LOOK_OBJECTS LIMIT(32, 4)
#define WORDS_AN_OBJECT 8

/* What a round needs at each slot. As in gc/old/mark.c, the loop over objects works on a copy. The copy's address
 * never leaves the loop, so the compiler keeps the copy in registers. */
typedef struct beside {
  const cradle_heap *heap;
  crd_word_stack *stack, *aside; /* the round's own copies */
  const uint32_t *word;          /* of the protocol */
  uintptr_t arenas_base;
  size_t arenas_bytes; /* that were committed when the round began */
  crd_arena *meta;
  const crd_type *types;
  cradle_word *top, *limit; /* of the stack */
  uint64_t objects, bytes, put_aside;
  int countdown; /* to the next look at the word */
  bool overflowed;
  uint64_t *random; /* under stress; NULL: none */
} beside;

/* --- what the mutator may be writing to --- */

/* Reads a word of an object: its header, its length or a slot. The mutator stores whole aligned words, and a processor
 * never shows half of such a store. In C's terms, its plain stores and this load are a data race all the same. Atomic
 * stores would avoid that, but the write barrier, which is inline in every program, must not cost more than it does. */
SANITIZE_RACY cradle_word word_beside(const cradle_word *word) {
  return __atomic_load_n(word, __ATOMIC_RELAXED);
}

static inline uint64_t length_beside(const crd_type *type, const cradle_word *object) {
  return word_beside(object_at(address_of(object) + type->length_offset));
}

/* How many items the object's place or pages have room for. The length in the object is a hint, too [marker.4], and
 * must not lead out of them. */
static uint64_t items_that_fit(const beside *b, const crd_type *type, const cradle_word *object) {
  const crd_old *old = &b->heap->old;
  const crd_page *span = old_span_of(old, address_of(object));
  size_t bytes =
      span->state == PAGE_SMALL ? old->classes.of[span->size_class].bytes : (size_t)span->pages << PAGE_SHIFT;
  return (bytes - type->size) / type->item_size;
}

/* Whether a finished old object begins at the address and is not marked. The caller has found the mark bit clear, but
 * the mutator may be allocating a large object there. It sets the mark bit before the allocation bit [marker.3], so the
 * mark bit is read once more after the allocation bit: whoever sees the new allocation bit also sees the mark bit. */
static inline bool is_unmarked_object(crd_arena *arena, size_t index, uint64_t mask, uintptr_t address) {
  if (address % CRADLE_OBJECT_ALIGNMENT != 0) return false;
  if (!(__atomic_load_n(&arena->allocated[index], __ATOMIC_ACQUIRE) & mask)) return false;
  return !(__atomic_load_n(&arena->marks[index], __ATOMIC_RELAXED) & mask);
}

/* The stack's new end, or NULL: it cannot grow. */
static CRADLE_COLD cradle_word *more_stack(crd_word_stack *stack) {
  return crd_word_stack_grow(stack) ? stack->limit : NULL;
}

CRD_ALWAYS_INLINE bool push(beside *b, cradle_word entry) {
  if (CRADLE_UNLIKELY(b->top == b->limit)) {
    cradle_word *limit = more_stack(b->stack);
    if (limit == NULL) return false;
    b->limit = limit;
  }
  *b->top++ = entry;
  return true;
}

CRD_ALWAYS_INLINE void mark_address(beside *b, uintptr_t address) {
  uintptr_t offset = address - b->arenas_base;
  if (offset >= b->arenas_bytes) return;
  crd_arena *arena = &b->meta[offset >> ARENA_SHIFT];
  size_t index = arena_bit_word(address);
  uint64_t mask = arena_bit_mask(address), marks = __atomic_load_n(&arena->marks[index], __ATOMIC_RELAXED);
  if (marks & mask) return;
  if (!is_unmarked_object(arena, index, mask, address)) return;
  /* Nobody else writes to this word [marker.1]. */
  __atomic_store_n(&arena->marks[index], marks | mask, __ATOMIC_RELAXED);
  if (!push(b, address)) b->overflowed = true;
}

CRD_ALWAYS_INLINE void mark_slot(void *data, bool value, cradle_word *slot) {
  beside *b = data;
  cradle_word word = word_beside(slot);
  mark_address(b, heap_address_in(b->heap, value, word));
}

/* --- objects --- */

static bool push_rest(beside *b, const cradle_word *object, uint64_t first) {
  if (!push(b, first)) return false;
  if (push(b, mark_piece(object))) return true;
  b->top--;
  return false;
}

/* Returns where a piece of an array ends that begins with the item `first`, and pushes the rest on the stack. words:
 * the words of one item. */
static uint64_t piece_end(beside *b, const crd_type *type, const cradle_word *object, uint64_t first, uint64_t words) {
  uint64_t last = length_beside(type, object), fit = items_that_fit(b, type, object);
  uint64_t piece = words < PIECE_WORDS ? PIECE_WORDS / words : 1;
  if (last > fit) last = fit;
  if (last <= first) return first;
  ASSERT(fit > 0, "[marker.4] items of an object that has no room for any");
  if (last - first > piece) {
    last = first + piece;
    /* If the stack has no room for the rest, a rescan of all marked objects will trace it [mark.4]. */
    if (!push_rest(b, object, last)) b->overflowed = true;
  }
  b->countdown -= (int)((last - first) * words / WORDS_AN_OBJECT);
  b->bytes += (last - first) * words * 8;
  return last;
}

/* As mark_words and mark_structures of gc/old/mark.c, in one function: other items count as structures of one word. */
static void mark_items(beside *b, const crd_type *type, cradle_word *object, uint64_t first) {
  static const crd_item_slots single = {.words = 1};
  bool structures = type->items == CRADLE_ITEMS_STRUCTURES;
  const crd_item_slots *slots = structures ? &b->heap->types.item_slots[type - b->types] : &single;
  uint64_t last = piece_end(b, type, object, first, slots->words);
  cradle_word *items = type_items(type, object), *from = items + first * slots->words,
              *to = items + last * slots->words;
  if (!structures) {
    visit_words_backward(from, to, type->items == CRADLE_ITEMS_VALUES, mark_slot, b);
    return;
  }
  for (; to > from; to -= slots->words) {
    visit_bits_backward(to - slots->words, slots->values, true, mark_slot, b);
    visit_bits_backward(to - slots->words, slots->references, false, mark_slot, b);
  }
}

static void put_aside(beside *b, const cradle_word *object) {
  b->put_aside++;
  if (!word_stack_push(b->aside, address_of(object))) b->overflowed = true;
}

/* Marks what an object refers to; or puts it aside, if tracing it needs the program or the order of death
 * [marker.6]. */
static CRADLE_NOINLINE void trace(beside *b, cradle_word *object) {
  uint64_t header = word_beside(object);
  const crd_type *type = &b->types[header_type(header)];
  ASSERT(old_is_marked(&b->heap->old, address_of(object)), "[mark.1] an object is traced beside that is not marked");
  b->countdown--;
  if (header_is_watched(header) || header_is_weak(header) || type->trace != NULL) {
    put_aside(b, object);
    return;
  }
  bool slot_items = type->items >= CRADLE_ITEMS_REFERENCES, fixed = type->items == CRADLE_ITEMS_NONE;
  b->objects++;
  b->bytes += slot_items || fixed ? type->size : type_array_bytes(type, length_beside(type, object));
  if (!type->has_slots) return;
  if (slot_items) mark_items(b, type, object, 0);
  visit_bits_backward(object, type->values, true, mark_slot, b);
  visit_bits_backward(object, type->references, false, mark_slot, b);
}

/* Traces the rest of an array. Its entry has been popped; the index of the next item is below the entry. */
static CRADLE_NOINLINE void trace_rest(beside *b, cradle_word *object) {
  uint64_t first = *--b->top;
  mark_items(b, &b->types[header_type(word_beside(object))], object, first);
}

/* --- the loop --- */

/* The loop's own state: runs, floor and countdown are those of gc/old/mark.c. Its address never leaves the loop. */
typedef struct beside_loop {
  beside local;             /* a copy; calls get the original instead */
  const cradle_word *floor; /* pop stops here: the stack's base, or the stack's end once the countdown is over */
  uint64_t kind;            /* of the run's objects, a type id; CRADLE_TYPE_ID_END: no run */
  uint64_t slots;
  unsigned first, last;
  bool one_or_two, values;
  /* local.countdown when the run began, less the objects since then that are not of the run. A new countdown moves
   * both, so that their difference stays. */
  int64_t countdown;
} beside_loop;

/* Ends the run and counts its objects. */
CRD_ALWAYS_INLINE void end_run(beside_loop *loop) {
  if (loop->kind == CRADLE_TYPE_ID_END) return;
  uint64_t objects = (uint64_t)(loop->countdown - loop->local.countdown);
  loop->local.objects += objects;
  loop->local.bytes += objects * loop->local.types[loop->kind].size;
  loop->kind = CRADLE_TYPE_ID_END;
}

/* Calls a function that is not inline, on the original context. */
CRD_ALWAYS_INLINE void call(beside_loop *loop, beside *b, void (*function)(beside *, cradle_word *),
                            cradle_word *object) {
  end_run(loop);
  b->top = loop->local.top;
  b->limit = loop->local.limit;
  b->countdown = loop->local.countdown;
  function(b, object);
  loop->local.top = b->top;
  loop->local.limit = b->limit;
  loop->local.countdown = b->countdown;
  if (b->countdown <= 0) loop->floor = b->stack->end;
}

/* Pops the next object and prefetches it; pieces of arrays are traced on the way. false: the stack is empty, or the
 * countdown is over. */
CRD_ALWAYS_INLINE bool pop(beside_loop *loop, beside *b, cradle_word *object) {
  while (loop->local.top > loop->floor) {
    *object = *--loop->local.top;
    __builtin_prefetch(object_at(*object));
    if (CRADLE_LIKELY(!mark_is_piece(*object))) return true;
    call(loop, b, trace_rest, mark_object_of(*object));
  }
  return false;
}

CRD_ALWAYS_INLINE void begin_run(beside_loop *loop, uint32_t id, const crd_type *type) {
  uint64_t slots = type->sole, but_one = slots & (slots - 1);
  end_run(loop);
  loop->kind = id;
  loop->slots = slots;
  loop->first = (unsigned)__builtin_ctzll(slots);
  loop->last = 63 - (unsigned)__builtin_clzll(slots);
  loop->one_or_two = (but_one & (but_one - 1)) == 0;
  loop->values = type->sole_values;
  loop->countdown = loop->local.countdown;
}

/* Counts an object without slots, which does not end a run. */
CRD_ALWAYS_INLINE void pass(beside_loop *loop, const crd_type *type) {
  loop->local.objects++;
  loop->local.bytes += type->size;
  loop->countdown--;
}

CRD_ALWAYS_INLINE void trace_slots(beside_loop *loop, cradle_word *object, bool values) {
  if (CRADLE_LIKELY(loop->one_or_two)) {
    if (loop->last != loop->first) mark_slot(&loop->local, values, object + loop->last);
    mark_slot(&loop->local, values, object + loop->first);
  } else {
    visit_bits_backward(object, loop->slots, values, mark_slot, &loop->local);
  }
}

/* Traces one object: as part of the run, as the first of a new one, or by a call. */
CRD_ALWAYS_INLINE void trace_inline(beside_loop *loop, beside *b, cradle_word *object) {
  uint64_t kind = header_kind(word_beside(object));
  bool leaf = false;
  if (CRADLE_UNLIKELY(kind != loop->kind)) {
    const crd_type *type = &loop->local.types[header_type(kind)];
    bool aside = kind != header_type(kind) || type->trace != NULL;
    leaf = !aside && type->items == CRADLE_ITEMS_NONE && !type->has_slots;
    if (!leaf && (aside || type->items != CRADLE_ITEMS_NONE || type->sole == 0)) {
      call(loop, b, trace, object);
      return;
    }
    if (leaf)
      pass(loop, type);
    else
      begin_run(loop, header_type(kind), type);
  }
  ASSERT(old_is_marked(&loop->local.heap->old, address_of(object)),
         "[mark.1] an object is traced beside that is not marked");
  if (!leaf) {
    if (loop->values)
      trace_slots(loop, object, true);
    else
      trace_slots(loop, object, false);
  }
  if (CRADLE_UNLIKELY(--loop->local.countdown == 0)) loop->floor = loop->local.stack->end;
}

/* --- stress --- */

/* From 0 to below - 1. Knuth's linear congruential generator. */
static int random_below(uint64_t *random, int below) {
  *random = *random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  return (int)((*random >> 33) % (uint64_t)below);
}

/* How many objects are traced until the round is over or looks at the word again. Under stress that is a random number,
 * and every eighth look ends the round: the mutator then gets a mark stack that is left at any object, at times that no
 * pause would have chosen. */
static int next_countdown(const beside *b) {
  if (CRADLE_UNLIKELY(rounds_end_now(b->word))) return 0;
  if (CRADLE_LIKELY(b->random == NULL)) return LOOK_OBJECTS;
  return random_below(b->random, 8) == 0 ? 0 : 1 + random_below(b->random, LOOK_OBJECTS);
}

/* Begins the next countdown. false: the round is to end. */
CRD_ALWAYS_INLINE bool look(beside_loop *loop, const beside *b) {
  int countdown = next_countdown(b);
  loop->countdown += countdown - loop->local.countdown;
  loop->local.countdown = countdown;
  loop->floor = b->stack->base;
  return countdown > 0;
}

/* Traces what is on the stack until it is empty or the round is to end. The queue is that of gc/old/mark.c. What is in
 * it when the round ends goes back. */
static void drain(beside *b) {
  beside_loop loop = {.local = *b, .kind = CRADLE_TYPE_ID_END};
  cradle_word queue[QUEUE_LENGTH], next;
  unsigned first = 0, waiting = 0;
  bool empty = false;
  while (!empty && look(&loop, b)) {
    for (;;) {
      while (waiting < QUEUE_LENGTH && pop(&loop, b, &next)) queue[(first + waiting++) % QUEUE_LENGTH] = next;
      while (waiting == QUEUE_LENGTH && pop(&loop, b, &next)) {
        cradle_word *object = object_at(queue[first]);
        queue[first] = next;
        first = (first + 1) % QUEUE_LENGTH;
        trace_inline(&loop, b, object);
      }
      empty = waiting == 0 && loop.local.top == b->stack->base;
      if (empty || loop.local.countdown <= 0) break;
      cradle_word *object = object_at(queue[first]);
      first = (first + 1) % QUEUE_LENGTH;
      waiting--;
      trace_inline(&loop, b, object);
    }
  }
  for (; waiting > 0; waiting--, first = (first + 1) % QUEUE_LENGTH)
    if (!push(&loop.local, queue[first])) loop.local.overflowed = true;
  end_run(&loop);
  b->objects += loop.local.objects;
  b->bytes += loop.local.bytes;
  b->overflowed |= loop.local.overflowed;
  b->stack->top = loop.local.top;
}

/* The round works on copies of the stacks and figures, so that it writes to nothing that the mutator reads
 * meanwhile. */
void crd_mark_beside(cradle_heap *heap) {
  uint64_t begin = crd_platform_now_ns();
  const crd_type *types = heap->types.types;
  crd_marker *marker = &heap->marker;
  crd_word_stack stack = marker->stack, aside = marker->aside;
  beside b = {.heap = heap,
              .stack = &stack,
              .aside = &aside,
              .word = &marker->word,
              .arenas_base = heap->old.arenas.base,
              .arenas_bytes = marker->arenas_bytes,
              .meta = heap->old.arenas.meta,
              .types = types,
              .top = stack.top,
              .limit = stack.limit,
              .random = heap->options.stress_period != 0 ? &marker->random : NULL};
  drain(&b);
  ASSERT(heap->types.types == types, "[marker.7] the type table moved in a round");
  marker->stack = stack;
  marker->aside = aside;
  marker->overflowed = b.overflowed;
  marker->work = (crd_marker_work){
      .objects = b.objects, .bytes = b.bytes, .put_aside = b.put_aside, .run_ns = crd_platform_now_ns() - begin};
}
