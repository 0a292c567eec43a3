/* Reaching what only finalizers and ephemerons hold, slot by slot, with an explicit stack, for both collections: an object is
 * copied by a minor collection and marked by a major one, and then its slots are looked at. Unlike the collections' own
 * tracing it asks every object for the watched and the weak flag, and it goes depth first, which is what the order
 * of finalizers needs.
 *
 * The order. Objects with finalizers come before those that they lead to; those that lead to each other form a strongly connected
 * component, and are in registration order. Components are found by the path-based algorithm (Gabow, Path-based depth-first
 * search for strong and biconnected components, 2000): an object that is reached is opened, with a place in the open
 * stack; the path holds the places where a component may begin; a slot that leads back to an open object joins all that lies
 * between; when the object at the end of the path has no more slots, all from its place on is a component. Components come out
 * last first. The place of an open object is in its header, instead of the flags, which are put back when it closes.
 *
 * When a stack cannot grow, the object goes to the collection's own tracing, which needs none: nothing is lost but order, and
 * ephemerons then go by passes.
 */
#include <stdlib.h>

#include "gc/services.h"
#include "gc/visit.h"

/* Entries of the slots stack: a slot, perhaps with SLOT_HOLDS_VALUE, or an object to close. */
#define ENTRY_CLOSES 2

#define OPEN_SHIFT 36 /* the bits below are flags that others may set meanwhile */
#define OPEN_MAX (UINT64_C(1) << (63 - OPEN_SHIFT))
#define OPEN_WORDS 2  /* an object and its header */

/* --- components --- */

static void meet(crd_death *death, uintptr_t address) {
  if (!arenas_contain(&death->heap->old.arenas, address)) return;
  cradle_word header = *(const cradle_word *)address;
  if (!(header & HEADER_OPEN)) return;
  cradle_word place = (header & ~HEADER_OPEN) >> OPEN_SHIFT;
  while (death->path.top[-1] > place) death->path.top--;
}

void crd_reach_give_up_order(crd_death *death) {
  for (cradle_word *at = death->open.base; at < death->open.top; at += OPEN_WORDS) *(cradle_word *)(uintptr_t)at[0] = at[1];
  death->open.top = death->open.base;
  death->path.top = death->path.base;
  death->members.top = death->members.base;
  death->ordering = false;
  death->unordered = true;
  crd_event_note(death->heap, "finalizers come in registration order: no memory to find out which object leads to which", 0, 0);
}

static void open_object(crd_death *death, cradle_word *object) {
  cradle_word place = (cradle_word)(death->open.top - death->open.base) / OPEN_WORDS;
  if (place < OPEN_MAX && word_stack_push(&death->open, (uintptr_t)object)) {
    if (word_stack_push(&death->open, object[0])) {
      if (word_stack_push(&death->path, place)) {
        if (word_stack_push(&death->slots, (uintptr_t)object | ENTRY_CLOSES)) {
          object[0] = HEADER_OPEN | place << OPEN_SHIFT | (object[0] & ((UINT64_C(1) << OPEN_SHIFT) - 1));
          return;
        }
        death->path.top--;
      }
      death->open.top--;
    }
    death->open.top--;
  }
  crd_reach_give_up_order(death);
}

static int descending(const void *a, const void *b) {
  cradle_word x = *(const cradle_word *)a, y = *(const cradle_word *)b;
  return x < y ? 1 : x > y ? -1 : 0;
}

/* The candidates of the component that begins at place, last registered first. */
static void put_in_order(crd_death *death, cradle_word place) {
  cradle_word *first = death->ordered.top;
  while (death->members.top > death->members.base && death->members.top[-1] >> 32 >= place)
    *death->ordered.top++ = (uint32_t)*--death->members.top;
  if (death->ordered.top - first > 1)
    qsort(first, (size_t)(death->ordered.top - first), sizeof *first, descending);
}

static void close_object(crd_death *death, const cradle_word *object) {
  if (!death->ordering || !(object[0] & HEADER_OPEN)) return; /* order was given up */
  cradle_word place = (object[0] & ~HEADER_OPEN) >> OPEN_SHIFT;
  if (death->path.top[-1] != place) return;
  death->path.top--;
  put_in_order(death, place);
  for (cradle_word *first = death->open.base + place * OPEN_WORDS; death->open.top > first;) {
    death->open.top -= OPEN_WORDS;
    *(cradle_word *)(uintptr_t)death->open.top[0] = death->open.top[1];
  }
}

/* --- slots --- */

static void reach_by_tracing(crd_death *death, bool value, cradle_word *slot, uintptr_t address) {
  death->progress = true;
  if (death->is_minor)
    crd_minor_visit(death->context, value, slot);
  else
    crd_mark_address(death->heap, address);
}

/* What a slot leads to whose object is to be reached; 0: nothing. The pair of an array that the program has made shorter meanwhile
 * may lead to a young large object that is gone: nobody looks behind an array's end. */
static uintptr_t address_in(const crd_death *death, bool value, cradle_word word) {
  uintptr_t address = service_address(death->heap, value, word);
  if (address == 0 || death->is_minor || death_find(death, address) != 0) return address;
  return crd_old_is_object(&death->heap->old, address) ? address : 0;
}

void crd_reach_slot(crd_death *death, bool value, cradle_word *slot, bool ephemeral) {
  uintptr_t address = address_in(death, value, *slot);
  if (address == 0) return;
  uintptr_t place = death_find(death, address);
  if (place == 0) {
    if (death->reaching && word_stack_push(&death->slots, (uintptr_t)slot | (value ? SLOT_HOLDS_VALUE : 0))) return;
    if (death->reaching) death->incomplete = true;
    if (death->reaching && death->ordering) crd_reach_give_up_order(death); /* tracing tells nobody which it comes by */
    reach_by_tracing(death, value, slot, address);
    return;
  }
  if (place != address)
    service_redirect(death->heap, value, slot, place);
  else if (death->is_minor && !ephemeral)
    crd_minor_visit(death->context, value, slot); /* an old object, which a running major collection must mark */
  if (death->ordering) meet(death, place);
}

static void reach_reference(void *death, cradle_word *slot) {
  crd_reach_slot(death, false, slot, false);
}

static void reach_value(void *death, cradle_word *slot) {
  crd_reach_slot(death, true, slot, false);
}

/* --- objects --- */

void crd_reach_wake(crd_death *death, cradle_word *object, uintptr_t address) {
  cradle_word what;
  object[0] &= ~HEADER_WATCHED_FLAG;
  while (crd_watch_take(&death->watch, address, &what)) {
    if (what & WATCH_CANDIDATE) {
      cradle_word place = (cradle_word)(death->open.top - death->open.base) / OPEN_WORDS - 1;
      if (death->ordering && !word_stack_push(&death->members, place << 32 | what >> WATCH_SHIFT)) crd_reach_give_up_order(death);
      continue;
    }
    bool value = (what & SLOT_HOLDS_VALUE) != 0;
    cradle_word *pair = (cradle_word *)(uintptr_t)(what & ~(cradle_word)SLOT_HOLDS_VALUE);
    uintptr_t key = service_address(death->heap, value, pair[0]);
    if (key == address || key == (uintptr_t)object) crd_reach_slot(death, value, pair + 1, true);
  }
}

void crd_reach_object(crd_death *death, uintptr_t address) {
  cradle_heap *heap = death->heap;
  cradle_word *object = (cradle_word *)address;
  if (death->is_minor)
    object = crd_minor_reach(death->context, address);
  else
    old_mark(&heap->old, address);
  death->progress = true;
  cradle_word header = object[0];
  const crd_type *type = heap_type(heap, header);
  object[0] = header & ~HEADER_WATCHED_FLAG;
  if (death->ordering) open_object(death, object);
  if (header & HEADER_WATCHED_FLAG) crd_reach_wake(death, object, address);
  if (type->registers >> REGISTERED_EPHEMERON & 1) crd_ephemerons_scan(death, object);
  if (type->has_slots) visit_object(type, object, reach_reference, reach_value, death);
}

static void run_entry(crd_death *death, cradle_word entry) {
  if (entry & ENTRY_CLOSES) {
    close_object(death, (cradle_word *)(uintptr_t)(entry - ENTRY_CLOSES));
    return;
  }
  bool value = (entry & SLOT_HOLDS_VALUE) != 0;
  cradle_word *slot = (cradle_word *)(uintptr_t)(entry & ~(cradle_word)SLOT_HOLDS_VALUE);
  uintptr_t address = address_in(death, value, *slot), place = death_find(death, address);
  if (address == 0) return; /* the value of a pair that the mutator has cleared since */
  if (place == 0) {
    crd_reach_object(death, address);
    place = death_find(death, address);
  } else if (death->ordering) {
    meet(death, place);
  }
  service_redirect(death->heap, value, slot, place);
}

bool crd_reach_pauses(const crd_death *death, crd_pace *pace) {
  return pace != NULL && !death->unordered && !death->incomplete && crd_pace_is_over(pace);
}

bool crd_reach_run(crd_death *death, crd_pace *pace) {
  while (death->slots.top > death->slots.base) {
    run_entry(death, *--death->slots.top);
    if (crd_reach_pauses(death, pace)) return false;
  }
  return true;
}

void crd_reach_complete(crd_death *death) {
  if (!death->incomplete) return;
  if (death->ordering) crd_reach_give_up_order(death); /* from a key that is not watched nothing led to its value */
  if (death->is_minor) {
    crd_ephemerons_by_passes(death);
    return;
  }
  crd_services *services = death->heap->services;
  bool watching = services->watching;
  services->scan = services->lists[REGISTERED_EPHEMERON].words.base;
  services->watching = true;
  death->reaching = death->progress = false;
  while (!crd_mark_some(death->heap, (crd_budget){UINT64_MAX, UINT64_MAX})) continue;
  services->watching = watching;
}
