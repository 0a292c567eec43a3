#include "gc/death/reach.h"

#include <stdlib.h>

#include "gc/death/services.h"
#include "gc/event.h"
#include "gc/heap.h"
#include "gc/object/visit.h"
#include "gc/old/mark.h"
#include "gc/young/minor.h"

/* --- the words of the stacks --- */

/* An entry of slots is a slot entry, or an object to close. */
#define ENTRY_CLOSES 2

static inline cradle_word closing_entry(const cradle_word *object) {
  return address_of(object) | ENTRY_CLOSES;
}
static inline bool entry_closes(cradle_word entry) {
  return entry & ENTRY_CLOSES;
}
static inline cradle_word *entry_to_close(cradle_word entry) {
  return object_at(entry - ENTRY_CLOSES);
}

/* An entry of open is an object and the header that it had. */
#define OPEN_WORDS 2

static inline cradle_word open_count(const crd_reach *reach) {
  return (cradle_word)(reach->open.top - reach->open.base) / OPEN_WORDS;
}
static inline bool is_open_at(const crd_reach *reach, const cradle_word *object, cradle_word place) {
  return place < open_count(reach) && reach->open.base[place * OPEN_WORDS] == address_of(object);
}
static inline void close_last(crd_reach *reach) {
  reach->open.top -= OPEN_WORDS;
  object_close(object_at(reach->open.top[0]), reach->open.top[1]);
}

/* An entry of members is a place in open and the number of the candidate that is there. */
static inline cradle_word member_of(cradle_word place, cradle_word candidate) {
  return place << 32 | candidate;
}
static inline cradle_word member_place(cradle_word member) {
  return member >> 32;
}
static inline cradle_word member_candidate(cradle_word member) {
  return (uint32_t)member;
}

/* --- components --- */

/* A slot leads to an object that was reached. If that is open, a way leads from it back to itself, so everything
 * from its place on is one component: their places leave the path. */
static void meet(crd_death *death, uintptr_t address) {
  if (!arenas_know(&death->heap->old.arenas, address)) return;
  crd_reach *reach = &death->reach;
  const cradle_word *object = object_at(address);
  if (!header_is_open(object[0])) return;
  cradle_word place = header_open_place(object[0]);
  ASSERT(is_open_at(reach, object, place), "[reach.1] an object whose header is open is not at its place");
  ASSERT(!word_stack_is_empty(&reach->path) && reach->path.base[0] == 0,
         "[reach.2] the path does not begin with place 0");
  while (reach->path.top[-1] > place) reach->path.top--;
}

void crd_reach_set_ordering(crd_death *death, bool ordering) {
  ASSERT(death->is_minor || death->heap->has_open_headers == death->reach.ordering,
         "[reach.3] the heap was told another thing of open headers");
  ASSERT(ordering || word_stack_is_empty(&death->reach.open), "[reach.1] the order ends while objects are open");
  death->reach.ordering = ordering;
  if (!death->is_minor) death->heap->has_open_headers = ordering;
}

void crd_reach_give_up_order(crd_death *death) {
  crd_reach *reach = &death->reach;
  while (!word_stack_is_empty(&reach->open)) close_last(reach);
  reach->path.top = reach->path.base;
  reach->members.top = reach->members.base;
  crd_reach_set_ordering(death, false);
  reach->unordered = true;
  crd_event_note(death->heap,
                 "finalizers come in registration order: no memory to find out which object leads to which", 0, 0);
}

/* Every stack must take its word before the header is changed. If one cannot, the words on the others are taken
 * back. */
static void open_object(crd_death *death, cradle_word *object) {
  crd_reach *reach = &death->reach;
  cradle_word place = open_count(reach);
  ASSERT(place > 0 || word_stack_is_empty(&reach->path), "[reach.2] a path without open objects");
  /* The header has no room for more places. */
  if (place < HEADER_OPEN_PLACES && word_stack_push(&reach->open, address_of(object))) {
    if (word_stack_push(&reach->open, object[0])) {
      if (word_stack_push(&reach->path, place)) {
        if (word_stack_push(&reach->slots, closing_entry(object))) {
          object_open(object, place);
          return;
        }
        reach->path.top--;
      }
      reach->open.top--;
    }
    reach->open.top--;
  }
  crd_reach_give_up_order(death);
}

static int descending(const void *a, const void *b) {
  const cradle_word *x = a, *y = b;
  return *x < *y ? 1 : *x > *y ? -1 : 0;
}

/* Puts the candidates of the component that begins at place in order, the last registered first: the order is read
 * from its end. */
static void put_in_order(crd_death *death, cradle_word place) {
  crd_word_stack *members = &death->reach.members, *ordered = &death->candidates.ordered;
  cradle_word *first = ordered->top;
  while (!word_stack_is_empty(members) && member_place(members->top[-1]) >= place) {
    ASSERT(ordered->top < ordered->limit, "[services.3] more candidates are put in order than there is room for");
    *ordered->top++ = member_candidate(word_stack_pop(members));
  }
  if (ordered->top - first > 1) qsort(first, (size_t)(ordered->top - first), sizeof *first, descending);
}

static void close_object(crd_death *death, const cradle_word *object) {
  crd_reach *reach = &death->reach;
  /* Entries that close stay on the stack when the order is given up. */
  if (!reach->ordering || !header_is_open(object[0])) return; /* the order was given up */
  cradle_word place = header_open_place(object[0]);
  ASSERT(is_open_at(reach, object, place), "[reach.1] an object to close is not at its place");
  /* The object belongs to a component that begins further down. */
  if (reach->path.top[-1] != place) return;
  reach->path.top--;
  put_in_order(death, place);
  while (open_count(reach) > place) close_last(reach);
}

/* --- slots --- */

static void reach_by_tracing(crd_death *death, bool value, cradle_word *slot, uintptr_t address) {
  death->reach.progress = true;
  if (death->is_minor)
    crd_minor_visit(death->minor, value, slot);
  else
    crd_mark_address(death->heap, address);
}

/* The object to reach through a slot; 0: none. Between increments the program may shorten an array of pairs. Nobody
 * else looks behind its end then, so a pair there may lead to a young large object that was freed. */
static uintptr_t address_in(const crd_death *death, bool value, cradle_word word) {
  uintptr_t address = heap_address_in(death->heap, value, word);
  if (address == 0 || death->is_minor || death_find(death, address) != 0) return address;
  return crd_old_is_object(&death->heap->old, address) ? address : 0;
}

/* false: there is no room, and the collection's own tracing takes the object. That opens nothing, so the order of
 * finalizers is given up; and it asks for no flags, so ephemerons need passes. */
static bool push_slot(crd_death *death, bool value, const cradle_word *slot) {
  crd_reach *reach = &death->reach;
  if (word_stack_push(&reach->slots, slot_entry(slot, value))) return true;
  reach->incomplete = true;
  if (reach->ordering) crd_reach_give_up_order(death);
  return false;
}

void crd_reach_slot(crd_death *death, bool value, cradle_word *slot, bool ephemeral) {
  uintptr_t address = address_in(death, value, *slot);
  if (address == 0) return;
  uintptr_t place = death_find(death, address);
  if (place == 0) {
    if (death->reach.by_stack && push_slot(death, value, slot)) return;
    reach_by_tracing(death, value, slot, address);
    return;
  }
  if (place != address)
    service_redirect(death->heap, value, slot, place);
  else if (death->is_minor && !ephemeral)
    crd_minor_visit(death->minor, value, slot); /* a running major collection must mark the old object */
  if (death->reach.ordering) meet(death, place);
}

static void reach_slot(void *death, bool value, cradle_word *slot) {
  crd_reach_slot(death, value, slot, false);
}

/* --- objects --- */

/* A candidate was reached. If order matters, its object was opened last. */
static void add_member(crd_death *death, const cradle_word *object, cradle_word candidate) {
  crd_reach *reach = &death->reach;
  if (!reach->ordering) return;
  cradle_word place = open_count(reach) - 1;
  ASSERT(is_open_at(reach, object, place), "[reach.1] a candidate is not the object that was opened last");
  ASSERT(word_stack_is_empty(&reach->members) || member_place(reach->members.top[-1]) <= place,
         "[reach.2] a member comes after one that was opened later");
  if (!word_stack_push(&reach->members, member_of(place, candidate))) crd_reach_give_up_order(death);
}

/* Does what waits for an object. address: where it was when it was watched. A pair whose key is another by now was
 * overwritten since it was scanned, and is passed over. */
static void wake(crd_death *death, const cradle_word *object, uintptr_t address) {
  cradle_word what;
  while (crd_watch_take(&death->watch, address, &what)) {
    if (waiting_is_candidate(what)) {
      add_member(death, object, waiting_candidate_number(what));
      continue;
    }
    bool value = slot_entry_holds_value(what);
    cradle_word *pair = slot_of_entry(what);
    uintptr_t key = heap_address_in(death->heap, value, pair[0]);
    if (key == address || key == address_of(object)) crd_reach_slot(death, value, pair + 1, true);
  }
}

void crd_reach_wake(crd_death *death, cradle_word *object, uintptr_t address) {
  object_clear_flags(object, HEADER_WATCHED_FLAG);
  wake(death, object, address);
}

void crd_reach_object(crd_death *death, uintptr_t address) {
  ASSERT(death_find(death, address) == 0, "an object is reached twice");
  cradle_heap *heap = death->heap;
  cradle_word *object = object_at(address);
  if (death->is_minor)
    object = crd_minor_reach(death->minor, address);
  else
    old_mark(&heap->old, address);
  death->reach.progress = true;
  cradle_word header = object[0];
  const crd_type *type = heap_type(heap, header);
  object_clear_flags(object, HEADER_WATCHED_FLAG); /* before it opens, which saves the header */
  if (death->reach.ordering) open_object(death, object);
  if (header_is_watched(header)) wake(death, object, address);
  if (type->registers >> REGISTERED_EPHEMERON & 1) crd_ephemerons_scan(death, object);
  /* Last: the slots lie on the stack above the entry that closes the object, so they are all looked at before it
   * closes. */
  if (type->has_slots) visit_object(&heap->types, object, reach_slot, death);
}

static void run_entry(crd_death *death, cradle_word entry) {
  if (entry_closes(entry)) {
    close_object(death, entry_to_close(entry));
    return;
  }
  bool value = slot_entry_holds_value(entry);
  cradle_word *slot = slot_of_entry(entry);
  uintptr_t address = address_in(death, value, *slot), place = death_find(death, address);
  if (address == 0) return; /* the value of a pair that the program has cleared since */
  if (place == 0) {
    crd_reach_object(death, address);
    place = death_find(death, address);
    ASSERT(place != 0, "an object that was reached is not found");
  } else if (death->reach.ordering) {
    meet(death, place);
  }
  service_redirect(death->heap, value, slot, place);
}

bool crd_reach_pauses(const crd_death *death, crd_pace *pace) {
  return pace != NULL && !death->reach.unordered && !death->reach.incomplete && pace_is_over(pace);
}

bool crd_reach_run(crd_death *death, crd_pace *pace) {
  crd_reach *reach = &death->reach;
  while (!word_stack_is_empty(&reach->slots)) {
    run_entry(death, word_stack_pop(&reach->slots));
    if (crd_reach_pauses(death, pace)) return false;
  }
  ASSERT(word_stack_is_empty(&reach->open) && word_stack_is_empty(&reach->path),
         "[reach.1] an object is open, and nothing will close it");
  ASSERT(word_stack_is_empty(&reach->members), "[reach.2] a member of no open component");
  return true;
}
