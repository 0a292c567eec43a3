/* Marking beside the program: the one file whose code reads objects while the mutator writes to them.
 *
 * It is the loop of gc/old/mark.c without its refinements, and with three differences. Every word of an object is read
 * once, by word_beside: a second read might see another value. The address in a word is followed only if its allocation
 * bit says that an object begins there, because the word may be anything [marker.4]. And what needs the program is put
 * aside [marker.6]. */
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

typedef struct beside {
  const cradle_heap *heap;
  crd_word_stack stack, aside;
  const uint32_t *word; /* of the protocol */
  uintptr_t arenas_base;
  size_t arenas_bytes; /* that were committed when the round began */
  crd_arena *meta;
  const crd_type *types;
  crd_marker_work work;
  int countdown; /* to the next look at the word */
  bool overflowed;
  cradle_word queue[QUEUE_LENGTH];
  unsigned first, waiting;
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
 * mark bit is read once more after the allocation bit: whoever sees the second sees the first. */
static inline bool is_unmarked_object(crd_arena *arena, size_t index, uint64_t mask, uintptr_t address) {
  if (address % CRADLE_OBJECT_ALIGNMENT != 0) return false;
  if (!(__atomic_load_n(&arena->allocated[index], __ATOMIC_ACQUIRE) & mask)) return false;
  return !(__atomic_load_n(&arena->marks[index], __ATOMIC_RELAXED) & mask);
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
  if (!word_stack_push(&b->stack, address)) b->overflowed = true;
}

CRD_ALWAYS_INLINE void mark_slot(void *data, bool value, cradle_word *slot) {
  beside *b = data;
  cradle_word word = word_beside(slot);
  mark_address(b, heap_address_in(b->heap, value, word));
}

/* --- objects --- */

static bool push_rest(beside *b, const cradle_word *object, uint64_t first) {
  if (!word_stack_push(&b->stack, first)) return false;
  if (word_stack_push(&b->stack, mark_piece(object))) return true;
  (void)word_stack_pop(&b->stack);
  return false;
}

/* The end of the piece of an array that begins with the item first; what is behind it goes on the stack. words: of one
 * item. */
static uint64_t piece_end(beside *b, const crd_type *type, const cradle_word *object, uint64_t first, uint64_t words) {
  uint64_t last = length_beside(type, object), fit = items_that_fit(b, type, object);
  uint64_t piece = words < PIECE_WORDS ? PIECE_WORDS / words : 1;
  if (last > fit) last = fit;
  if (last <= first) return first;
  ASSERT(fit > 0, "[marker.4] items of an object that has no room for any");
  if (last - first > piece) {
    last = first + piece;
    /* If the stack has no room for the rest, a rescan will trace it, as all that is marked [mark.4]. */
    if (!push_rest(b, object, last)) b->overflowed = true;
  }
  b->countdown -= (int)((last - first) * words / WORDS_AN_OBJECT);
  b->work.bytes += (last - first) * words * 8;
  return last;
}

/* As mark_words and mark_structures of gc/old/mark.c, in one function: items that are no structures are ones of one
 * word. */
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
  b->work.put_aside++;
  if (!word_stack_push(&b->aside, address_of(object))) b->overflowed = true;
}

/* Marks what an object refers to; or puts it aside, if tracing it needs the program or the order of death
 * [marker.6]. */
static void trace(beside *b, cradle_word *object) {
  uint64_t header = word_beside(object);
  const crd_type *type = &b->types[header_type(header)];
  ASSERT(old_is_marked(&b->heap->old, address_of(object)), "[mark.1] an object is traced beside that is not marked");
  b->countdown--;
  if (header_is_watched(header) || header_is_weak(header) || type->trace != NULL) {
    put_aside(b, object);
    return;
  }
  bool slot_items = type->items >= CRADLE_ITEMS_REFERENCES, fixed = type->items == CRADLE_ITEMS_NONE;
  b->work.objects++;
  b->work.bytes += slot_items || fixed ? type->size : type_array_bytes(type, length_beside(type, object));
  if (!type->has_slots) return;
  if (slot_items) mark_items(b, type, object, 0);
  visit_bits_backward(object, type->values, true, mark_slot, b);
  visit_bits_backward(object, type->references, false, mark_slot, b);
}

/* --- the loop --- */

/* Takes one entry from the stack: prefetches an object and puts it into the queue, or traces a piece of an array.
 * false: the stack is empty. */
static inline bool fetch(beside *b) {
  if (word_stack_is_empty(&b->stack)) return false;
  cradle_word entry = word_stack_pop(&b->stack);
  if (mark_is_piece(entry)) {
    uint64_t first = word_stack_pop(&b->stack);
    cradle_word *object = mark_object_of(entry);
    mark_items(b, &b->types[header_type(word_beside(object))], object, first);
    return true;
  }
  __builtin_prefetch(object_at(entry));
  b->queue[(b->first + b->waiting++) % QUEUE_LENGTH] = entry;
  return true;
}

static inline cradle_word *next_in_queue(beside *b) {
  cradle_word *object = object_at(b->queue[b->first]);
  b->first = (b->first + 1) % QUEUE_LENGTH;
  b->waiting--;
  return object;
}

static void drain(beside *b) {
  while (!rounds_end_now(b->word)) {
    for (b->countdown = LOOK_OBJECTS; b->countdown > 0;) {
      while (b->waiting < QUEUE_LENGTH && b->countdown > 0 && fetch(b)) continue;
      if (b->waiting == 0) {
        if (word_stack_is_empty(&b->stack)) return;
        break; /* a piece used the countdown up */
      }
      trace(b, next_in_queue(b));
    }
  }
}

/* Puts the objects of the queue back on the stack, at the end of a round. */
static void give_back(beside *b) {
  while (b->waiting > 0)
    if (!word_stack_push(&b->stack, address_of(next_in_queue(b)))) b->overflowed = true;
}

/* The round works on copies of the stacks and figures, so that it writes to nothing that the mutator reads
 * meanwhile. */
void crd_mark_beside(cradle_heap *heap) {
  uint64_t begin = crd_platform_now_ns();
  const crd_type *types = heap->types.types;
  crd_marker *marker = &heap->marker;
  beside b = {.heap = heap,
              .stack = marker->stack,
              .aside = marker->aside,
              .word = &marker->word,
              .arenas_base = heap->old.arenas.base,
              .arenas_bytes = marker->arenas_bytes,
              .meta = heap->old.arenas.meta,
              .types = types};
  drain(&b);
  give_back(&b);
  ASSERT(heap->types.types == types, "[marker.7] the type table moved in a round");
  b.work.run_ns = crd_platform_now_ns() - begin;
  marker->stack = b.stack;
  marker->aside = b.aside;
  marker->overflowed = b.overflowed;
  marker->work = b.work;
}
