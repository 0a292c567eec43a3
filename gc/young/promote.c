#include "gc/young/promote.h"
#include "gc/tables/tables.h"
#include "gc/young/young.h"

#include <string.h>

/* Objects of at most this many words are copied in a loop. */
#define COPY_INLINE_WORDS 16
/* How many entries ahead recorded slots are prefetched. What they refer to is prefetched half as far ahead. */
#define AHEAD 16
/* Down to this depth, the items of arrays inside arrays are followed at once [promote.3]. */
#define DEPTH_MAX LIMIT(8, 2)

/* Most objects are a few words long, and a call of memcpy would cost more than their copy. */
static inline void copy_words(cradle_word *restrict to, const cradle_word *restrict from, size_t words) {
  if (CRADLE_UNLIKELY(words > COPY_INLINE_WORDS)) {
    memcpy(to, from, words * 8);
    return;
  }
  for (size_t i = 0; i < words; i++) {
    to[i] = from[i];
    __asm__("" : "+r"(i)); /* keeps the compiler from turning the loop into a call of memcpy */
  }
}

/* A place for an object that the fast path cannot serve: the allocator's run is used up, or the object's size is not
 * in its type. May take the last arenas: the reserve is held for this. */
static CRADLE_NOINLINE cradle_word *slow_place(crd_minor *context, size_t bytes) {
  crd_old *old = context->old;
  if (CRADLE_UNLIKELY(bytes > SMALL_MAX_BYTES)) return crd_old_take_large(old, bytes, false, false, 0);
  return words_of(old_take_small(old, &old->leader, old_class_of(old, bytes), 0));
}

/* --- the pending list [promote.1] --- */

/* The link's low 48 bits are an address. Above them is the word number of the last slot that was looked at. It is 0
 * before the first slot: word 0 is the header, never a slot. */
#define PENDING_WORD_SHIFT 48

CRD_ALWAYS_INLINE cradle_word pending_link(uintptr_t next, unsigned word) {
  ASSERT(next >> PENDING_WORD_SHIFT == 0, "[promote.1] an address reaches into the place of a slot");
  return next | (cradle_word)word << PENDING_WORD_SHIFT;
}
CRD_ALWAYS_INLINE uintptr_t pending_next(cradle_word link) {
  return link & ((UINT64_C(1) << PENDING_WORD_SHIFT) - 1);
}
CRD_ALWAYS_INLINE void pending_push(crd_minor *context, cradle_word *body, unsigned word) {
  body[1] = pending_link(address_of(context->pending), word);
  context->pending = body;
}
/* The copy of a body. */
CRD_ALWAYS_INLINE cradle_word *pending_copy(const cradle_word *body) {
  ASSERT(header_is_forwarded(body[0]), "[promote.1] a body on the pending list has no copy");
  return object_at(header_forwarded_to(body[0]));
}

/* Copies an object to the old generation and leaves its new address behind. The caller looks at its slots. */
CRD_ALWAYS_INLINE cradle_word *copy(crd_minor *context, cradle_word *object, uint64_t header, const crd_type *type) {
  crd_allocator *allocator = &context->allocators[type->size_class];
  cradle_word *place = words_of(allocator->free);
  size_t bytes = type->size;
  ASSERT(!header_has(header, HEADER_OLD_ONLY_FLAGS), "[header.2] a young object has flags of an old one");
  if (CRADLE_LIKELY(type->class_bytes != 0 && allocator->free != allocator->end)) {
    allocator->free += type->class_bytes;
  } else {
    bytes = type_object_bytes(type, object);
    place = slow_place(context->self, bytes);
    ASSERT(place != NULL, "[heap.2] the promotion reserve did not hold a place");
    /* Only here: the fast path copies small objects of fixed size, which have no array flags. */
    header |= type_old_flags(type, bytes);
  }
  /* From here on the copy is old and not remembered. If its slots still lead into the nursery, the pending list has it,
   * not the remembered set. */
  place[0] = header_with(header, HEADER_BARRIER_FLAG);
  place[1] = object[1];
  copy_words(place + 2, object + 2, bytes / 8 - 2);
  object_forward(object, place);
  context->objects++;
  context->bytes += bytes;
  return place;
}

cradle_word *crd_promote_object(crd_minor *context, cradle_word *object) {
  ASSERT(!header_is_forwarded(object[0]), "[header.1] an object is promoted twice");
  return copy(context, object, object[0], &context->types[header_type(object[0])]);
}

/* The first reference to a young large object links it; it is traced from the list. One that is recorded from birth
 * need not be traced [large.3]. Neither needs a mark: it was born marked if a major collection marks [marker.5]. */
static void reach_large(crd_minor *context, crd_page *page) {
  page->state = PAGE_LARGE_REACHED;
  const crd_arenas *arenas = &context->old->arenas;
  if (header_records_slots(*object_at(arenas_page_address(arenas, page->head)))) return;
  page->pending = context->pending_large;
  context->pending_large = page->head;
}

CRADLE_COLD void crd_promote_old(crd_minor *context, uintptr_t address, bool live) {
  const crd_old *old = context->old;
  if (!arenas_know(&old->arenas, address)) return;
  if (old_may_be_young_large(old, address)) {
    crd_page *page = arenas_page(&old->arenas, arenas_page_number(&old->arenas, address));
    if (page->state == PAGE_LARGE_YOUNG) reach_large(context, page);
    if (page->state == PAGE_LARGE_REACHED) return;
  }
  if (context->marking && live) crd_marker_shade(context->young->marking, address);
}

/* Promotes the young object that a slot refers to, then the one that the first slot of its copy refers to, and so on
 * [promote.2]. A copy with further slots waits on the pending list. */
CRD_ALWAYS_INLINE void promote(crd_minor *context, cradle_word *slot, uintptr_t address, bool value) {
  for (;;) {
    cradle_word *object = object_at(address);
    uint64_t header = object[0];
    if (header_is_forwarded(header)) {
      uintptr_t to = header_forwarded_to(header);
      *slot = value ? value_moved(&context->encoding, *slot, to) : to;
      return;
    }
    const crd_type *type = &context->types[header_type(header)];
    cradle_word *place = copy(context, object, header, type);
    *slot = value ? value_moved(&context->encoding, *slot, address_of(place)) : address_of(place);
    uint64_t slots = type->sole;
    if (slots == 0) {
      if (type->has_slots) pending_push(context, object, 0);
      return;
    }
    /* Before the first slot is followed: what this slot leads to is pushed above the object, and so traced earlier. */
    unsigned first = (unsigned)__builtin_ctzll(slots);
    if ((slots & (slots - 1)) != 0) pending_push(context, object, first);
    slot = place + first;
    value = type->sole_values;
    address = address_in(context, value, *slot);
    if (!is_young(context, address)) {
      if (is_beyond(context, address)) crd_promote_old(context->self, address, true);
      return;
    }
  }
}

/* The hot loops work on a copy of the context. No pointer to the copy exists, so no store into an object can change it,
 * and the compiler keeps it in registers. */
CRD_ALWAYS_INLINE crd_minor borrow(const crd_minor *context) {
  crd_minor local = *context;
  local.objects = local.bytes = 0;
  return local;
}
/* Counts are added, because a call in the meantime may have added to the original, too. */
CRD_ALWAYS_INLINE void write_back(const crd_minor *local) {
  local->self->pending = local->pending;
  local->self->objects += local->objects;
  local->self->bytes += local->bytes;
}

/* Goes on with the first body of the list, whose slots are all fixed and of one sort. Skips slots that refer to nothing
 * young, and promotes what the next slot refers to. The body leaves the list before its last slot is followed, so that
 * a chain through last slots keeps the list short. */
CRD_ALWAYS_INLINE void trace_next(crd_minor *context, uint64_t slots, bool values) {
  cradle_word *body = context->pending, *copied = pending_copy(body), link = body[1];
  /* Keeps only the slots after the one that was looked at last. */
  for (slots &= ~UINT64_C(1) << (link >> PENDING_WORD_SHIFT); slots != 0;) {
    unsigned word = (unsigned)__builtin_ctzll(slots);
    slots &= slots - 1;
    cradle_word *slot = copied + word;
    uintptr_t address = address_in(context, values, *slot);
    if (is_young(context, address)) {
      if (slots != 0)
        body[1] = pending_link(pending_next(link), word);
      else
        context->pending = object_at(pending_next(link));
      promote(context, slot, address, values);
      return;
    }
    if (is_beyond(context, address)) crd_promote_old(context->self, address, true);
  }
  context->pending = object_at(pending_next(link));
}

/* Traces a copy from the list that has items, or slots of both sorts [promote.3]. The field `until` keeps nested calls
 * apart: an inner call empties the list only down to where this one began. */
static CRADLE_NOINLINE void follow(crd_minor *context, cradle_word *object) {
  cradle_word *until = context->until;
  context->until = context->pending;
  context->depth++;
  crd_promote_from(context, object);
  context->depth--;
  context->until = until;
}

/* Neighbours in the list tend to be of one type, whose slots are looked up once: so the processor can predict where
 * they are and go on to the next object, instead of waiting for the lookup. */
void crd_promote_list(crd_minor *context) {
  crd_minor local = borrow(context);
  uint32_t last_type = CRADLE_TYPE_ID_END;
  uint64_t slots = 0;
  bool values = false;
  while (local.pending != local.until) {
    cradle_word *copied = pending_copy(local.pending);
    if (header_type(copied[0]) != last_type) {
      last_type = header_type(copied[0]);
      slots = local.types[last_type].sole;
      values = local.types[last_type].sole_values;
    }
    if (slots == 0) {
      /* The call works on the original context, so the list goes there and comes back. */
      context->pending = object_at(pending_next(local.pending[1]));
      follow(context, copied);
      local.pending = context->pending;
    } else if (values) {
      trace_next(&local, slots, true);
    } else {
      trace_next(&local, slots, false);
    }
  }
  write_back(&local);
}

void crd_promote_one(crd_minor *context, cradle_word *slot, uintptr_t address, bool value) {
  promote(context, slot, address, value);
}

/* At DEPTH_MAX, what was promoted waits on the list: a call for each level of arrays would need unlimited C stack. */
void crd_promote_all(crd_minor *context, cradle_word *slot, uintptr_t address, bool value) {
  promote(context, slot, address, value);
  if (context->pending != context->until && context->depth < DEPTH_MAX) crd_promote_list(context);
}

/* --- recorded slots --- */

/* The slot itself was prefetched when it was AHEAD entries away. For a prefetch, it need not hold a value. */
CRD_ALWAYS_INLINE void prefetch_target(const crd_minor *context, cradle_word entry) {
  uintptr_t address = value_payload(&context->encoding, *slot_of_entry(entry));
  if (is_young(context, address)) __builtin_prefetch(object_at(address), 1);
}

CRD_ALWAYS_INLINE void promote_recorded(crd_minor *context, cradle_word *slot, bool value) {
  uintptr_t address = address_in(context, value, *slot);
  if (is_young(context, address))
    promote(context, slot, address, value);
  else if (is_beyond(context, address))
    crd_promote_old(context->self, address, true);
}

/* The slots lie anywhere in large arrays, and what they refer to lies anywhere in the nursery. Both are prefetched. */
void crd_promote_recorded(crd_minor *context, const cradle_word *entry, const cradle_word *to, const cradle_word *top) {
  crd_minor local = borrow(context);
  for (; entry < to; entry++) {
    if (entry + AHEAD < top) __builtin_prefetch(slot_of_entry(entry[AHEAD]), 1);
    if (entry + AHEAD / 2 < top) prefetch_target(&local, entry[AHEAD / 2]);
    promote_recorded(&local, slot_of_entry(*entry), slot_entry_holds_value(*entry));
  }
  write_back(&local);
}

/* --- objects that are looked at slot by slot --- */

static inline bool is_near(uintptr_t address, uintptr_t start, uintptr_t bytes) {
  return address - start < bytes;
}

/* Looks at the values of an array. Skips four at a time while all four lie outside the range that needs a look. */
CRD_ALWAYS_INLINE void trace_values(crd_minor *context, cradle_word *slot, cradle_word *end) {
  uint64_t payload = context->encoding.payload_mask;
  uintptr_t start = context->near_start, bytes = context->near_bytes;
  while (slot < end) {
    while (end - slot >= 4 && !is_near(slot[0] & payload, start, bytes) && !is_near(slot[1] & payload, start, bytes) &&
           !is_near(slot[2] & payload, start, bytes) && !is_near(slot[3] & payload, start, bytes))
      slot += 4;
    /* At least one of these four needs a look, or they are the last. */
    for (cradle_word *to = end - slot < 4 ? end : slot + 4; slot < to; slot++) promote_slot(context, true, slot);
  }
}

static CRADLE_NOINLINE void trace_structures(crd_minor *context, const crd_type *type, cradle_word *object) {
  uint64_t length = type_length(type, object);
  if (type->item_alike == CRADLE_ITEMS_VALUES)
    trace_values(context, type_items(type, object), type_items(type, object) + length * type->item_words);
  else
    visit_items(&context->young->space->types, object, 0, length, promote_slot, context);
}

void crd_promote_from(crd_minor *context, cradle_word *object) {
  const crd_type *type = &context->types[header_type(object[0])];
  visit_bits(object, type->references, false, promote_slot, context);
  if (type->values != 0) visit_bits(object, type->values, true, promote_slot, context);
  if (CRADLE_UNLIKELY(type->trace != NULL)) visit_by_callback(type, object, promote_slot_only, context);
  if (type->items >= CRADLE_ITEMS_VALUES) {
    if (CRADLE_LIKELY(type->items == CRADLE_ITEMS_VALUES))
      trace_values(context, type_items(type, object), type_items(type, object) + type_length(type, object));
    else
      trace_structures(context, type, object);
  } else if (type->items == CRADLE_ITEMS_REFERENCES) {
    visit_words(type_items(type, object), type_items(type, object) + type_length(type, object), false, promote_slot,
                context);
  }
}

/* References outside the nursery go to crd_promote_old, because their object may be a young large one. */
static void promote_slot_unmarked(void *data, bool value, cradle_word *slot) {
  crd_minor *context = data;
  uintptr_t address = address_in(context, value, *slot);
  if (is_young(context, address))
    crd_promote_one(context, slot, address, value);
  else
    crd_promote_old(context, address, false);
}

void crd_promote_from_unmarked(crd_minor *context, cradle_word *object) {
  visit_object(&context->young->space->types, object, promote_slot_unmarked, context);
}
