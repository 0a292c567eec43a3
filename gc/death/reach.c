#include "gc/death/reach.h"

#include "gc/death/ephemeron.h"
#include "gc/death/services.h"
#include "gc/object/visit.h"
#include "gc/old/mark.h"
#include "gc/young/minor.h"

/* A component of more objects comes out in pieces. */
#define CLOSING_AT_ONCE LIMIT(64, 4)

/* --- the words of the stacks --- */

/* An entry of slots is a slot entry, an object to close, or an array of which items are left. */
#define ENTRY_CLOSES 2
#define ENTRY_RESTS 4

/* An entry of open is an object, the header that it had, and its number as a candidate or CANDIDATE_NONE. */
#define OPEN_WORDS 3

static inline cradle_word open_count(const crd_reach *reach) {
  return (cradle_word)(reach->open.top - reach->open.base) / OPEN_WORDS;
}
static inline cradle_word *open_at(const crd_reach *reach, cradle_word place) {
  return reach->open.base + place * OPEN_WORDS;
}
static inline bool is_open_at(const crd_reach *reach, const cradle_word *object, cradle_word place) {
  return place < open_count(reach) && *open_at(reach, place) == address_of(object);
}
/* The words of the last object in open, which stay as they are until something is opened. */
static inline const cradle_word *pop_open(crd_reach *reach) {
  return reach->open.top -= OPEN_WORDS;
}

/* --- components --- */

/* A slot leads to an object that was reached. If that is open, everything from its place on is one component: their
 * places leave the path. */
static void meet(crd_death *death, uintptr_t address) {
  if (!arenas_know(&death->space->old.arenas, address)) return;
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
  ASSERT(death->is_minor || death->space->open_flags == header_open_flags(death->reach.ordering, false),
         "[reach.3] the heap was told another thing of open headers");
  ASSERT(ordering || word_stack_is_empty(&death->reach.open), "[reach.1] the order ends while objects are open");
  death->reach.ordering = ordering;
  if (!death->is_minor) death->space->open_flags = header_open_flags(ordering, false);
}

void crd_reach_give_up_order(crd_death *death) {
  crd_reach *reach = &death->reach;
  while (!word_stack_is_empty(&reach->open)) {
    const cradle_word *words = pop_open(reach);
    object_close(object_at(words[0]), words[1]);
  }
  crd_finalizers_unnumber_all(death);
  reach->path.top = reach->path.base;
  crd_reach_set_ordering(death, false);
  reach->unordered = true;
  crd_event_note(death->space->report,
                 "finalizers come in registration order: no memory to find out which object leads to which", 0, 0);
}

/* Every stack must take its word before the header is changed. If one cannot, the words go with the order. */
static void open_object(crd_death *death, cradle_word *object, cradle_word number) {
  crd_reach *reach = &death->reach;
  cradle_word place = open_count(reach), *open_top = reach->open.top;
  ASSERT(place > 0 || word_stack_is_empty(&reach->path), "[reach.2] a path without open objects");
  /* The header has no room for more places. */
  if (place < HEADER_OPEN_PLACES && word_stack_push(&reach->open, address_of(object)) &&
      word_stack_push(&reach->open, object[0]) && word_stack_push(&reach->open, number) &&
      word_stack_push(&reach->path, place) && word_stack_push(&reach->slots, address_of(object) | ENTRY_CLOSES)) {
    object_open(object, place);
    return;
  }
  reach->open.top = open_top;
  crd_reach_give_up_order(death);
}

/* --- components that come out --- */

static void set_closing(crd_death *death, crd_closing closing) {
  death->reach.closing = closing;
  if (!death->is_minor) death->space->open_flags = header_open_flags(true, closing.step == CLOSING_HEADERS);
}

/* Does the next piece of work for the large component that comes out: headers come back with the watched flag, and when
 * all are back the flags go. */
static void close_one(crd_death *death) {
  crd_reach *reach = &death->reach;
  crd_closing *closing = &reach->closing;
  if (closing->step == CLOSING_HEADERS && closing->at < open_count(reach)) {
    const cradle_word *words = open_at(reach, closing->at++);
    object_close(object_at(words[0]), header_with(words[1], HEADER_WATCHED_FLAG));
    crd_finalizers_come_out(&death->candidates, words[2]);
  } else if (closing->step == CLOSING_HEADERS) {
    set_closing(death, (crd_closing){.step = CLOSING_FLAGS, .place = closing->place});
  } else if (open_count(reach) > closing->place) {
    object_clear_flags(object_at(*pop_open(reach)), HEADER_WATCHED_FLAG);
  } else {
    set_closing(death, (crd_closing){.step = CLOSING_NONE});
    crd_finalizers_came_out(&death->candidates);
  }
}

static void close_object(crd_death *death, const cradle_word *object) {
  crd_reach *reach = &death->reach;
  /* Entries that close stay on the stack when the order is given up. */
  if (!reach->ordering || !header_is_open(object[0])) return;
  cradle_word place = header_open_place(object[0]);
  ASSERT(is_open_at(reach, object, place), "[reach.1] an object to close is not at its place");
  /* The object belongs to a component that begins further down. */
  if (reach->path.top[-1] != place) return;
  reach->path.top--;
  if (open_count(reach) - place > CLOSING_AT_ONCE) {
    set_closing(death, (crd_closing){CLOSING_HEADERS, place, place});
    return;
  }
  while (open_count(reach) > place) {
    const cradle_word *words = pop_open(reach);
    object_close(object_at(words[0]), words[1]);
    crd_finalizers_come_out(&death->candidates, words[2]);
  }
  crd_finalizers_came_out(&death->candidates);
}

/* --- slots --- */

/* The object to reach through a slot; 0: none. Behind the end of an array of pairs that the program has shortened
 * between increments, a pair may lead to a young large object that was freed. */
static uintptr_t address_in(const crd_death *death, bool value, cradle_word word) {
  uintptr_t address = space_address_in(death->space, value, word);
  if (address == 0 || death->is_minor || death_find(death, address) != 0) return address;
  return crd_old_is_object(&death->space->old, address) ? address : 0;
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
    death->reach.progress = true;
    if (death->is_minor)
      crd_minor_visit(death->minor, value, slot);
    else
      crd_mark_address(death->services->marking, address);
    return;
  }
  if (place != address)
    service_redirect(death->space, value, slot, place);
  else if (death->is_minor && !ephemeral)
    crd_minor_visit(death->minor, value, slot); /* a running major collection must mark the old object */
  if (death->reach.ordering) meet(death, place);
}

static void reach_slot(void *death, bool value, cradle_word *slot) {
  crd_reach_slot(death, value, slot, false);
}

/* --- objects --- */

/* A pair whose key is another by now was overwritten since it was scanned, and is passed over. */
static void wake(crd_death *death, const cradle_word *object, uintptr_t address) {
  cradle_word what;
  while (crd_watch_take(&death->watch, address, &what)) {
    bool value = slot_entry_holds_value(what);
    cradle_word *pair = slot_of_entry(what);
    uintptr_t key = space_address_in(death->space, value, pair[0]);
    if (key == address || key == address_of(object)) crd_reach_slot(death, value, pair + 1, true);
  }
}

void crd_reach_wake(crd_death *death, cradle_word *object, uintptr_t address) {
  object_clear_flags(object, HEADER_WATCHED_FLAG);
  wake(death, object, address);
}

/* --- arrays and holders that are looked at in pieces --- */

/* Looks at the last of so many items, and leaves the rest on the stack, which gives the last slot back first anyway.
 * Without room for the rest, all are looked at. */
static void reach_items(crd_death *death, cradle_word *object, uint64_t count) {
  crd_word_stack *slots = &death->reach.slots;
  ASSERT(count <= type_length(space_type(death->space, object[0]), object),
         "[reach.4] a rest is longer than its array");
  uint64_t first = count > SERVICE_PIECE_ITEMS ? count - SERVICE_PIECE_ITEMS : 0;
  if (first > 0 && !word_stack_push(slots, first)) first = 0;
  if (first > 0 && !word_stack_push(slots, address_of(object) | ENTRY_RESTS)) {
    slots->top--;
    first = 0;
  }
  visit_items(&death->space->types, object, first, count, reach_slot, death);
}

/* They lie on the stack above the entry that closes the object, so all are looked at before it closes. */
static void reach_slots(crd_death *death, cradle_word *object) {
  const crd_type *type = space_type(death->space, object[0]);
  if (!type->has_slots) return;
  visit_fixed(type, object, reach_slot, death);
  if (type->items >= CRADLE_ITEMS_REFERENCES) reach_items(death, object, type_length(type, object));
}

static void scan_holder(crd_death *death) {
  cradle_word *holder = death->reach.holder;
  if (!crd_ephemerons_scan(death, holder)) return;
  death->reach.holder = NULL;
  reach_slots(death, holder);
}

/* --- objects that are reached --- */

void crd_reach_object(crd_death *death, uintptr_t address) {
  ASSERT(death_find(death, address) == 0, "an object is reached twice");
  crd_reach *reach = &death->reach;
  cradle_word *object = object_at(address), number = CANDIDATE_NONE;
  bool watched = header_is_watched(object[0]);
  if (reach->ordering && watched) number = crd_finalizers_unnumber(death, object);
  reach->progress = true;
  if (death->is_minor)
    object = crd_minor_reach(death->minor, address);
  else
    old_mark(&death->space->old, address);
  const crd_type *type = space_type(death->space, object[0]);
  object_clear_flags(object, HEADER_WATCHED_FLAG); /* before it opens, which saves the header */
  bool waited = watched && watch_count(&death->watch) != 0;
  if (!waited && reach_is_leaf(type, object[0])) {
    if (number == CANDIDATE_NONE) return;
    crd_finalizers_come_out(&death->candidates, number);
    crd_finalizers_came_out(&death->candidates);
    return;
  }
  if (reach->ordering) open_object(death, object, number);
  if (waited) wake(death, object, address);
  if (type->registers >> REGISTERED_EPHEMERON & 1) {
    reach->holder = object;
    scan_holder(death);
  } else {
    reach_slots(death, object);
  }
}

static void run_slot(crd_death *death, cradle_word entry) {
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
  service_redirect(death->space, value, slot, place);
}

/* Returns whether it was a piece, which takes so long that the clock is looked at. */
static bool run_one(crd_death *death) {
  crd_reach *reach = &death->reach;
  if (reach->closing.step != CLOSING_NONE) {
    close_one(death);
    return false;
  }
  if (reach->holder != NULL) {
    scan_holder(death);
    return true;
  }
  cradle_word entry = word_stack_pop(&reach->slots);
  if (entry & ENTRY_RESTS)
    reach_items(death, object_at(entry - ENTRY_RESTS), word_stack_pop(&reach->slots));
  else if (entry & ENTRY_CLOSES)
    close_object(death, object_at(entry - ENTRY_CLOSES));
  else
    run_slot(death, entry);
  return entry & ENTRY_RESTS;
}

bool crd_reach_pauses(const crd_death *death, crd_pace *pace) {
  return pace != NULL && !death->reach.unordered && !death->reach.incomplete && pace_is_over(pace);
}

bool crd_reach_run(crd_death *death, crd_pace *pace) {
  const crd_reach *reach = &death->reach;
  while (!word_stack_is_empty(&reach->slots) || reach->closing.step != CLOSING_NONE || reach->holder != NULL) {
    if (run_one(death) && pace != NULL) pace->countdown = 1;
    if (crd_reach_pauses(death, pace)) return false;
  }
  ASSERT(word_stack_is_empty(&reach->open) && word_stack_is_empty(&reach->path),
         "[reach.1] an object is open, and nothing will close it");
  return true;
}
