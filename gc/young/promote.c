#include "gc/young/promote.h"
#include "gc/object/visit.h"
#include "gc/old/marking.h"
#include "gc/tables/tables.h"
#include "gc/young/young.h"

#include <string.h>

/* Objects of at most this many words are copied in a loop. */
#define COPY_INLINE_WORDS 16
/* How many entries ahead recorded slots are prefetched. What they refer to is prefetched half as far ahead. */
#define AHEAD 16

/* How far beyond an object the nursery is prefetched when it is copied. Children are mostly allocated before their
 * parent, and the first child first: so promotion goes forward through the nursery, except down to a first leaf. */
#define PREFETCH_BYTES 192

/* Most objects are a few words long, and a call of memcpy would cost more than their copy. */
static inline void copy_words(cradle_word *restrict to, const cradle_word *restrict from, size_t words) {
  if (CRADLE_UNLIKELY(words > COPY_INLINE_WORDS)) {
    memcpy(to, from, words * 8);
    return;
  }
  size_t i = 0;
  for (; i + 2 <= words; i += 2) {
    memcpy(to + i, from + i, 16);
    __asm__("" : "+r"(i)); /* keeps the compiler from turning the loop into a call of memcpy */
  }
  if (i < words) to[i] = from[i];
}

/* A place for an object that the fast path cannot serve: the allocator's run is used up, or the object's size is not
 * in its type. May take the last arenas: the reserve is held for this. */
static CRADLE_NOINLINE cradle_word *slow_place(crd_minor *context, size_t bytes) {
  crd_old *old = context->old;
  if (CRADLE_UNLIKELY(bytes > SMALL_MAX_BYTES)) return crd_old_take_large(old, bytes, false, false, 0);
  return words_of(old_take_small(old, &old->leader, old_class_of(old, bytes), 0));
}

/* --- the pending list [promote.1] --- */

CRD_ALWAYS_INLINE void pending_push(crd_minor *context, cradle_word *body, unsigned word) {
  pending_set(body, pending_link(address_of(context->pending), word));
  context->pending = body;
}
/* The copy of a body. Another worker may try to promote the object still. */
CRD_ALWAYS_INLINE cradle_word *pending_copy(const cradle_word *body) {
  cradle_word header = slot_load(body);
  ASSERT(header_is_forwarded(header), "[promote.1] a body on the pending list has no copy");
  return object_at(header_forwarded_to(header));
}

/* Leaves the place's address in the header, unless another worker has left one: then *place is that one. */
CRD_ALWAYS_INLINE bool claim(const crd_minor *context, cradle_word *object, uint64_t header, cradle_word **place) {
  TEAM_TURN(context, TURN_OBJECT);
  (void)context;
  if (CRADLE_LIKELY(object_try_forward(object, &header, *place))) return true;
  *place = object_at(header_forwarded_to(header));
  return false;
}

/* As the slow part of copy, in a team. Word 1 of a body may be its length, or a link by now. */
static CRADLE_NOINLINE bool claim_slowly(crd_minor *context, cradle_word *object, const crd_type *type,
                                         cradle_word **place, size_t *bytes) {
  crd_old *old = context->old;
  crd_team *team = context->team;
  *bytes = type->size;
  if (type->items != CRADLE_ITEMS_NONE)
    *bytes =
        type_array_bytes(type, __atomic_load_n(object_at(address_of(object) + type->length_offset), __ATOMIC_ACQUIRE));
  TEAM_TURN(context, TURN_OBJECT);
  uint64_t header = slot_load(object);
  if (header_is_forwarded(header)) {
    *place = object_at(header_forwarded_to(header));
    return false;
  }
  if (*bytes > SMALL_MAX_BYTES) {
    spinlock_take(&team->lock);
    bool won = !header_is_forwarded(header = slot_load(object));
    *place = won ? crd_old_take_large(old, *bytes, false, false, 0) : object_at(header_forwarded_to(header));
    ASSERT(*place != NULL, "[heap.2] the promotion reserve did not hold a place");
    if (won) (void)object_try_forward(object, &header, *place);
    spinlock_release(&team->lock);
    return won;
  }
  uint32_t size_class = old_class_of(old, *bytes);
  crd_allocator *allocator = &context->allocators[size_class];
  if (allocator->free == allocator->end) {
    spinlock_take(&team->lock);
    bool refilled = crd_old_refill(old, context->worker, size_class, 0);
    spinlock_release(&team->lock);
    ASSERT(refilled, "[team.6] the promotion reserve did not hold a worker's run");
    (void)refilled;
  }
  *place = words_of(allocator->free);
  if (!claim(context, object, header, place)) return false;
  allocator->free += old->classes.of[size_class].bytes;
  return true;
}

/* Copies an object to the old generation and leaves its new address behind. The caller looks at its slots. In a team,
 * another worker may have done so; then false is returned, and its copy's address is in *to. */
CRD_ALWAYS_INLINE bool copy(crd_minor *context, cradle_word *object, uint64_t header, const crd_type *type, bool shared,
                            cradle_word **to) {
  crd_allocator *allocator = &context->allocators[type->size_class];
  cradle_word *place = words_of(allocator->free);
  size_t bytes = type->size;
  ASSERT(!header_has(header, HEADER_OLD_ONLY_FLAGS), "[header.2] a young object has flags of an old one");
  if (CRADLE_LIKELY(type->class_bytes != 0 && allocator->free != allocator->end)) {
    if (shared && !claim(context, object, header, &place)) {
      *to = place;
      return false;
    }
    allocator->free += type->class_bytes;
  } else if (shared) {
    bool won = claim_slowly(context->self, object, type, &place, &bytes);
    if (!won) {
      *to = place;
      return false;
    }
    header |= type_old_flags(type, bytes);
  } else {
    bytes = type_object_bytes(type, object);
    place = slow_place(context->self, bytes);
    ASSERT(place != NULL, "[heap.2] the promotion reserve did not hold a place");
    /* Only here: the fast path copies small objects of fixed size, which have no array flags. */
    header |= type_old_flags(type, bytes);
  }
  __builtin_prefetch((const char *)object + PREFETCH_BYTES, 1);
  /* In a team the next exchange waits until this copy is written, so the places of the next copies are fetched, too. */
  if (shared) __builtin_prefetch((const char *)place + PREFETCH_BYTES, 1);
  /* From here on the copy is old and not remembered. If its slots still lead into the nursery, the pending list has it,
   * not the remembered set. */
  if (shared) TEAM_TURN(context, TURN_OBJECT);
  place[0] = header_with(header, HEADER_BARRIER_FLAG);
  place[1] = object[1];
  copy_words(place + 2, object + 2, bytes / 8 - 2);
  if (!shared) object_forward(object, place);
  context->objects++;
  context->bytes += bytes;
  *to = place;
  return true;
}

cradle_word *crd_promote_object(crd_minor *context, cradle_word *object) {
  ASSERT(!header_is_forwarded(object[0]), "[header.1] an object is promoted twice");
  cradle_word *place;
  (void)copy(context, object, object[0], &context->types[header_type(object[0])], false, &place);
  return place;
}

/* Promotes the young object that a slot refers to, then the one that the first slot of its copy refers to, and so on
 * [promote.2]. A copy with further slots waits on the pending list. */
CRD_ALWAYS_INLINE void promote(crd_minor *context, cradle_word *slot, uintptr_t address, bool value, bool shared) {
  for (;;) {
    cradle_word *object = object_at(address);
    uint64_t header = slot_load(object);
    if (header_is_forwarded(header)) {
      uintptr_t to = header_forwarded_to(header);
      slot_store(slot, value ? value_moved(&context->encoding, slot_load(slot), to) : to);
      return;
    }
    const crd_type *type = &context->types[header_type(header)];
    cradle_word *place;
    bool won = copy(context, object, header, type, shared, &place);
    if (shared) TEAM_TURN(context, TURN_OBJECT);
    slot_store(slot, value ? value_moved(&context->encoding, slot_load(slot), address_of(place)) : address_of(place));
    if (shared && !won) return;
    uint64_t slots = type->sole;
    if (slots == 0) {
      if (type->has_slots) pending_push(context, object, 0);
      return;
    }
    value = type->sole_values;
    slot = place + __builtin_ctzll(slots);
    slots &= slots - 1;
    while (!is_young(context, address = address_in(context, value, *slot))) {
      if (is_beyond(context, address)) crd_minor_beyond(context->self, address, true);
      if (CRADLE_LIKELY(slots == 0)) return;
      slot = place + __builtin_ctzll(slots);
      slots &= slots - 1;
    }
    /* Before the slot is followed: what it leads to is pushed above the object, and so traced earlier. */
    if (slots != 0) {
      pending_push(context, object, (unsigned)(slot - place));
      if (shared) __builtin_prefetch(object_at(place[__builtin_ctzll(slots)]), 1);
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
CRD_ALWAYS_INLINE void trace_next(crd_minor *context, uint64_t slots, bool values, bool shared) {
  cradle_word *body = context->pending, *copied = pending_copy(body), link = body[1];
  /* Keeps only the slots after the one that was looked at last. */
  for (slots &= ~UINT64_C(1) << (link >> PENDING_NUMBER_SHIFT); slots != 0;) {
    unsigned word = (unsigned)__builtin_ctzll(slots);
    slots &= slots - 1;
    cradle_word *slot = copied + word;
    uintptr_t address = address_in(context, values, *slot);
    if (is_young(context, address)) {
      if (slots != 0)
        pending_set(body, pending_link(pending_after(link), word));
      else
        context->pending = object_at(pending_after(link));
      promote(context, slot, address, values, shared);
      return;
    }
    if (is_beyond(context, address)) crd_minor_beyond(context->self, address, true);
  }
  context->pending = object_at(pending_after(link));
}

static inline bool is_near(uintptr_t address, uintptr_t start, uintptr_t bytes) {
  return address - start < bytes;
}

/* Visits the values of an array that may need a look. Skips four at a time while all four lie outside the range that
 * needs one. */
CRD_ALWAYS_INLINE void visit_values(const crd_minor *context, cradle_word *slot, cradle_word *end,
                                    crd_slot_function visit, void *data) {
  uint64_t payload = context->encoding.payload_mask;
  uintptr_t start = context->near_start, bytes = context->near_bytes;
  while (slot < end) {
    while (end - slot >= 4 && !is_near(slot_load(&slot[0]) & payload, start, bytes) &&
           !is_near(slot_load(&slot[1]) & payload, start, bytes) &&
           !is_near(slot_load(&slot[2]) & payload, start, bytes) &&
           !is_near(slot_load(&slot[3]) & payload, start, bytes))
      slot += 4;
    /* At least one of these four needs a look, or they are the last. */
    for (cradle_word *to = end - slot < 4 ? end : slot + 4; slot < to; slot++) visit(data, true, slot);
  }
}

/* The items [first, last) of an object that has such, which may be structures. */
CRD_ALWAYS_INLINE void visit_items_near(const crd_minor *context, const crd_type *type, cradle_word *object,
                                        uint64_t first, uint64_t last, crd_slot_function visit, void *data) {
  cradle_word *items = type_items(type, object);
  if (type->item_alike == CRADLE_ITEMS_VALUES)
    visit_values(context, items + first * type->item_words, items + last * type->item_words, visit, data);
  else
    visit_items(&context->young->space->types, object, first, last, visit, data);
}

/* --- notes: bodies of objects that have items, or slots of both sorts [promote.3] --- */

/* A note says which slot leads to which young object. From bit NOTE_TARGET_SHIFT on, it has the number of words between
 * the nursery's start and the object; from NOTE_NUMBER_SHIFT on, the number of the slot's word in the copy. So sorted
 * notes are in the order of allocation. NOTE_LAST is set in an object's last note. */
#define NOTE_VALUE 1
#define NOTE_LAST 2
#define NOTE_NUMBER_SHIFT 2
#define NOTE_TARGET_SHIFT 16
_Static_assert(CRADLE_NURSERY_OBJECT_MAX_BYTES / 8 <= 1 << (NOTE_TARGET_SHIFT - NOTE_NUMBER_SHIFT),
               "the number of a word in a young object fits into a note");

CRD_ALWAYS_INLINE cradle_word note_of(const crd_minor *context, uintptr_t address, size_t number, bool value) {
  return (address - context->nursery_start) >> 3 << NOTE_TARGET_SHIFT | number << NOTE_NUMBER_SHIFT |
         (value ? NOTE_VALUE : 0);
}
CRD_ALWAYS_INLINE uintptr_t note_address(const crd_minor *context, cradle_word note) {
  return context->nursery_start + (note >> NOTE_TARGET_SHIFT << 3);
}
CRD_ALWAYS_INLINE size_t note_number(cradle_word note) {
  return note >> NOTE_NUMBER_SHIFT & ((1 << (NOTE_TARGET_SHIFT - NOTE_NUMBER_SHIFT)) - 1);
}

/* Sorts notes by the addresses of the young objects. Shell's method, with Knuth's distances: most tables have a few
 * entries, which it sorts as insertion does. */
static CRADLE_NOINLINE void sort_notes(cradle_word *notes, size_t count) {
  size_t distance = 1;
  while (distance < count / 3) distance = 3 * distance + 1;
  for (; distance > 0; distance /= 3)
    for (size_t i = distance; i < count; i++) {
      cradle_word note = notes[i];
      size_t at = i;
      for (; at >= distance && notes[at - distance] > note; at -= distance) body_set(&notes[at], notes[at - distance]);
      body_set(&notes[at], note);
    }
}

typedef struct noted {
  crd_minor *context;
  const cradle_word *copied;
  cradle_word *next; /* where the next note goes in the body */
} noted;

CRD_ALWAYS_INLINE void note_slot(void *data, bool value, cradle_word *slot) {
  noted *notes = data;
  const crd_minor *context = notes->context;
  uintptr_t address = value ? value_payload(&context->encoding, *slot) : *slot;
  if (CRADLE_LIKELY(!is_near(address, context->near_start, context->near_bytes))) return;
  if (value && !value_is_reference(&context->encoding, *slot)) return;
  if (is_young(context, address))
    body_set(notes->next++, note_of(context, address, (size_t)(slot - notes->copied), value));
  else if (is_beyond(context, address))
    crd_minor_beyond(notes->context, address, true);
}

/* Notes the slots of the copy that lead to young objects in words 1.. of the body, in the order in which they are to be
 * followed. Returns how many there are. */
CRD_ALWAYS_INLINE size_t note_slots(crd_minor *context, const crd_type *type, cradle_word *body, cradle_word *copied) {
  noted notes = {context, copied, body + 1};
  visit_bits(copied, type->references, false, note_slot, &notes);
  visit_bits(copied, type->values, true, note_slot, &notes);
  if (type->items >= CRADLE_ITEMS_REFERENCES) {
    cradle_word *of_items = notes.next;
    visit_items_near(context, type, copied, 0, type_length(type, copied), note_slot, &notes);
    if (type->items == CRADLE_ITEMS_STRUCTURES && notes.next - of_items > 1)
      sort_notes(of_items, (size_t)(notes.next - of_items));
  }
  return (size_t)(notes.next - (body + 1));
}

/* Whether what is promoted is to wait, so that it can be given away. */
static bool gathers(crd_minor *context) {
  return CRADLE_UNLIKELY(context->team != NULL) && team_is_hungry(context->team) && crd_team_gather(context);
}

/* Follows slots of the list's first body until something waits to be traced before the rest. */
CRD_ALWAYS_INLINE void follow_slots(crd_minor *context, const crd_type *type, cradle_word *body, cradle_word *copied) {
  uintptr_t next = pending_after(body[1]);
  unsigned at = pending_number(body);
  if (at == 0) {
    size_t count = note_slots(context, type, body, copied);
    if (count == 0) {
      context->pending = object_at(next);
      return;
    }
    ASSERT(body + count < object_at(address_of(body) + type_object_bytes(type, copied)),
           "[promote.3] notes behind a body");
    body_set(&body[count], body[count] | NOTE_LAST);
  }
  for (;;) {
    cradle_word note = body[1 + at];
    bool is_last = note & NOTE_LAST;
    /* A body can leave the list only while it is the first. */
    if (is_last && context->pending != body) return;
    if (is_last)
      context->pending = object_at(next);
    else
      pending_set(body, pending_link(next, ++at));
    crd_promote_one(context, copied + note_number(note), note_address(context, note), note & NOTE_VALUE);
    if (is_last || (context->pending != body && !gathers(context))) return;
  }
}

/* Follows slots of the list's first body, and of those that come to its place as long as they have notes, too. */
static CRADLE_NOINLINE void follow(crd_minor *context, const crd_type *type) {
  do {
    follow_slots(context, type, context->pending, pending_copy(context->pending));
    if (context->team != NULL || context->pending == NULL) return;
    type = &context->types[header_type(pending_copy(context->pending)[0])];
  } while (type->sole == 0 && type->trace == NULL);
}

/* --- batches: unordered slots of an old object, or outside of objects [promote.5] --- */

/* So many slots of an object are sorted at a time. */
#define BATCH_SLOTS LIMIT(64, 4)

typedef struct batch {
  crd_minor *context;
  bool queues;               /* what is promoted is traced once the batch ends; otherwise at once */
  cradle_word *first, *last; /* the queue of bodies */
  cradle_word *waiting;      /* the list, which comes after the queue */
  size_t count;
  cradle_word notes[BATCH_SLOTS];
  cradle_word *slots[BATCH_SLOTS]; /* a note has the number of a slot here */
} batch;

/* Promotes what a slot refers to. The list, which is empty, goes to the end of the queue. */
static void queue_slot(batch *b, cradle_word *slot, uintptr_t address, bool value) {
  crd_promote_one(b->context, slot, address, value);
  cradle_word *body = b->context->pending;
  if (body == NULL) return;
  b->context->pending = NULL;
  if (b->last == NULL)
    b->first = body;
  else
    pending_set_next(b->last, body);
  while (pending_next(body) != NULL) body = pending_next(body);
  b->last = body;
}

static void empty_batch(batch *b) {
  sort_notes(b->notes, b->count);
  for (size_t i = 0; i < b->count; i++) {
    cradle_word note = b->notes[i], *slot = b->slots[note_number(note)];
    if (b->queues)
      queue_slot(b, slot, note_address(b->context, note), note & NOTE_VALUE);
    else
      crd_promote_all(b->context, slot, note_address(b->context, note), note & NOTE_VALUE);
  }
  b->count = 0;
}

static void batch_slot(void *data, bool value, cradle_word *slot) {
  batch *b = data;
  uintptr_t address = address_in(b->context, value, slot_load(slot));
  if (is_young(b->context, address)) {
    if (b->count == BATCH_SLOTS) empty_batch(b);
    b->slots[b->count] = slot;
    b->notes[b->count] = note_of(b->context, address, b->count, value);
    b->count++;
  } else if (is_beyond(b->context, address)) {
    crd_minor_beyond(b->context, address, true);
  }
}

static void begin_queue(batch *b, crd_minor *context) {
  b->context = context;
  b->queues = true;
  b->first = b->last = NULL;
  b->waiting = context->pending;
  b->count = 0;
  context->pending = NULL;
}
static void end_queue(batch *b) {
  empty_batch(b);
  if (b->last != NULL) pending_set_next(b->last, b->waiting);
  b->context->pending = b->last != NULL ? b->first : b->waiting;
}

/* Calls the trace callback of an object. What its slots refer to is promoted at once, and waits, because callbacks must
 * not be called within one another. */
static CRADLE_NOINLINE void trace_by_callback(crd_minor *context, const crd_type *type, cradle_word *object) {
  ASSERT(!context->shares, "[team.4] a trace callback is called while others promote");
  batch b;
  begin_queue(&b, context);
  visit_by_callback(type, object, batch_slot, &b);
  end_queue(&b);
}

static CRADLE_NOINLINE void trace_structures(crd_minor *context, const crd_type *type, cradle_word *object,
                                             uint64_t first, uint64_t last) {
  batch b;
  b.context = context;
  b.queues = false;
  b.count = 0;
  visit_items_near(context, type, object, first, last, batch_slot, &b);
  empty_batch(&b);
}

/* Traces the list's first body, which has a trace callback; or leaves it for the time when nobody else promotes. */
static CRADLE_NOINLINE void follow_callback(crd_minor *context, cradle_word *body) {
  cradle_word *object = pending_copy(body);
  context->pending = pending_next(body);
  if (CRADLE_UNLIKELY(context->shares)) {
    crd_team_leave(context, body);
    return;
  }
  batch b;
  begin_queue(&b, context);
  visit_object(&context->young->space->types, object, batch_slot, &b);
  end_queue(&b);
}

/* --- the loop over the list --- */

/* Neighbours in the list tend to be of one type, whose slots are looked up once: so the processor can predict where
 * they are and go on to the next object, instead of waiting for the lookup. */
CRD_ALWAYS_INLINE void promote_list(crd_minor *context, promote_mode mode) {
  crd_minor local = borrow(context);
  uint32_t last_type = CRADLE_TYPE_ID_END;
  uint64_t slots = 0;
  bool values = false, shared = mode == PROMOTE_SHARING;
  while (local.pending != NULL) {
    if (mode != PROMOTE_ALONE && CRADLE_UNLIKELY(team_is_hungry(local.team))) {
      context->pending = local.pending;
      crd_team_give(context);
      local.pending = context->pending;
      if (!shared && context->shares) break;
    }
    cradle_word *copied = pending_copy(local.pending);
    if (header_type(copied[0]) != last_type) {
      last_type = header_type(copied[0]);
      slots = local.types[last_type].sole;
      values = local.types[last_type].sole_values;
    }
    if (slots == 0) {
      /* The call works on the original context, so the list goes there and comes back. */
      context->pending = local.pending;
      const crd_type *type = &local.types[last_type];
      if (CRADLE_UNLIKELY(type->trace != NULL))
        follow_callback(context, local.pending);
      else
        follow(context, type);
      local.pending = context->pending;
      if (mode == PROMOTE_LEADING && context->shares) break;
    } else if (values) {
      trace_next(&local, slots, true, shared);
    } else {
      trace_next(&local, slots, false, shared);
    }
  }
  write_back(&local);
}

static CRADLE_NOINLINE void promote_list_leading(crd_minor *context) {
  promote_list(context, PROMOTE_LEADING);
}
static CRADLE_NOINLINE void promote_list_sharing(crd_minor *context) {
  promote_list(context, PROMOTE_SHARING);
}
static CRADLE_NOINLINE void promote_list_in_team(crd_minor *context) {
  if (!context->shares) promote_list_leading(context);
  if (context->shares) promote_list_sharing(context);
}
static CRADLE_NOINLINE void promote_list_alone(crd_minor *context) {
  promote_list(context, PROMOTE_ALONE);
}

void crd_promote_list(crd_minor *context) {
  if (CRADLE_UNLIKELY(context->team != NULL))
    promote_list_in_team(context);
  else
    promote_list_alone(context);
}

static CRADLE_NOINLINE void promote_sharing(crd_minor *context, cradle_word *slot, uintptr_t address, bool value) {
  promote(context, slot, address, value, true);
}

void crd_promote_one(crd_minor *context, cradle_word *slot, uintptr_t address, bool value) {
  if (CRADLE_UNLIKELY(context->shares))
    promote_sharing(context, slot, address, value);
  else
    promote(context, slot, address, value, false);
}

/* A worker that sees hunger lets what the items of an array refer to wait on the list, so that it can give it away. */
static CRADLE_NOINLINE void promote_all_in_team(crd_minor *context, cradle_word *slot, uintptr_t address, bool value) {
  crd_promote_one(context, slot, address, value);
  if (context->pending != NULL && !gathers(context)) promote_list_in_team(context);
}

void crd_promote_all(crd_minor *context, cradle_word *slot, uintptr_t address, bool value) {
  if (CRADLE_UNLIKELY(context->team != NULL)) {
    promote_all_in_team(context, slot, address, value);
    return;
  }
  promote(context, slot, address, value, false);
  if (context->pending != NULL) promote_list_alone(context);
}

/* --- recorded slots --- */

/* The slot itself was prefetched when it was AHEAD entries away. For a prefetch, it need not hold a value. */
CRD_ALWAYS_INLINE void prefetch_target(const crd_minor *context, cradle_word entry) {
  uintptr_t address = value_payload(&context->encoding, slot_load(slot_of_entry(entry)));
  if (is_young(context, address)) __builtin_prefetch(object_at(address), 1);
}

CRD_ALWAYS_INLINE void promote_recorded(crd_minor *context, cradle_word *slot, bool value, bool shared) {
  uintptr_t address = address_in(context, value, slot_load(slot));
  if (is_young(context, address))
    promote(context, slot, address, value, shared);
  else if (is_beyond(context, address))
    crd_minor_beyond(context->self, address, true);
}

/* The slots lie anywhere in large arrays, and what they refer to lies anywhere in the nursery. Both are prefetched. */
CRD_ALWAYS_INLINE void promote_entries(crd_minor *context, const cradle_word *entry, const cradle_word *to,
                                       const cradle_word *top, bool shared) {
  crd_minor local = borrow(context);
  for (; entry < to; entry++) {
    if (entry + AHEAD < top) __builtin_prefetch(slot_of_entry(entry[AHEAD]), 1);
    if (entry + AHEAD / 2 < top) prefetch_target(&local, entry[AHEAD / 2]);
    promote_recorded(&local, slot_of_entry(*entry), slot_entry_holds_value(*entry), shared);
  }
  write_back(&local);
}

static CRADLE_NOINLINE void promote_entries_sharing(crd_minor *context, const cradle_word *entry, const cradle_word *to,
                                                    const cradle_word *top) {
  promote_entries(context, entry, to, top, true);
}

void crd_promote_recorded(crd_minor *context, const cradle_word *entry, const cradle_word *to, const cradle_word *top) {
  if (CRADLE_UNLIKELY(context->shares))
    promote_entries_sharing(context, entry, to, top);
  else
    promote_entries(context, entry, to, top, false);
}

/* --- objects that are looked at slot by slot --- */

/* Whether some of the words need a look. The young objects to which they refer lie anywhere in the nursery, so they are
 * prefetched before the first is promoted. */
CRD_ALWAYS_INLINE bool look_ahead(const crd_minor *context, const cradle_word *word, const cradle_word *end,
                                  bool values) {
  bool some = false;
  for (; word < end; word++) {
    uintptr_t address = values ? value_payload(&context->encoding, slot_load(word)) : slot_load(word);
    if (CRADLE_LIKELY(!is_near(address, context->near_start, context->near_bytes))) continue;
    some = true;
    if (is_young(context, address)) __builtin_prefetch(object_at(address), 1);
  }
  return some;
}

static void trace_slots(crd_minor *context, const crd_type *type, cradle_word *array, uint64_t first, uint64_t last) {
  const cradle_word *items = type_items(type, array);
  bool values = type->items == CRADLE_ITEMS_VALUES, some = false;
  /* [first, to) was looked at. */
  for (uint64_t to = first; first < last;) {
    uint64_t next = last - to > AHEAD ? to + AHEAD : last;
    bool some_next = look_ahead(context, items + to, items + next, values);
    if (some) visit_items_near(context, type, array, first, to, promote_slot, context);
    first = to, to = next, some = some_next;
  }
}

void crd_promote_items(crd_minor *context, cradle_word *array, uint64_t first, uint64_t last) {
  const crd_type *type = &context->types[header_type(array[0])];
  if (type->items == CRADLE_ITEMS_STRUCTURES)
    trace_structures(context, type, array, first, last);
  else
    trace_slots(context, type, array, first, last);
}

uint64_t crd_promote_fixed(crd_minor *context, cradle_word *object) {
  const crd_type *type = &context->types[header_type(object[0])];
  /* First, because what other slots lead to may be given away [team.4]. */
  if (CRADLE_UNLIKELY(type->trace != NULL)) trace_by_callback(context, type, object);
  visit_bits(object, type->references, false, promote_slot, context);
  if (type->values != 0) visit_bits(object, type->values, true, promote_slot, context);
  return type->items >= CRADLE_ITEMS_REFERENCES ? type_length(type, object) : 0;
}

void crd_promote_from(crd_minor *context, cradle_word *object) {
  uint64_t items = crd_promote_fixed(context, object);
  if (items != 0) crd_promote_items(context, object, 0, items);
}

/* As promote_slot, but what is old and unmarked is left to marking. */
static void promote_slot_young(void *data, bool value, cradle_word *slot) {
  crd_minor *context = data;
  uintptr_t address = address_in(context, value, slot_load(slot));
  if (is_young(context, address))
    crd_promote_all(context, slot, address, value);
  else if (CRADLE_UNLIKELY(old_may_be_young_large(context->old, address)))
    crd_minor_beyond(context, address, false);
}

void crd_promote_from_grey(crd_minor *context, cradle_word *object) {
  ASSERT(context->types[header_type(object[0])].trace == NULL, "[promote.5] a callback is called within promotion");
  visit_object(&context->young->space->types, object, promote_slot_young, context);
}

/* References outside the nursery go to crd_minor_beyond, because their object may be a young large one. */
static void promote_slot_unmarked(void *data, bool value, cradle_word *slot) {
  crd_minor *context = data;
  uintptr_t address = address_in(context, value, slot_load(slot));
  if (is_young(context, address))
    crd_promote_one(context, slot, address, value);
  else
    crd_minor_beyond(context, address, false);
}

void crd_promote_from_unmarked(crd_minor *context, cradle_word *object) {
  visit_object(&context->young->space->types, object, promote_slot_unmarked, context);
}
