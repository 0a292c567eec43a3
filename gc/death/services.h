/* Object services: what weak slots, ephemerons, weak sets, finalizers, destructors and external sizes share, and the
 * order in which they act.
 *
 * An object with services is registered when it is allocated: it enters a list for each kind of service that its type
 * has. So a minor collection looks only at the young ones and at those that were stored into, a major collection looks
 * at all, and a heap without any has no lists.
 *
 *    a list:     base ... kept     next ... young     top
 *                 |======|  (gap)  |=========|=========|
 *                kept by the pass  old, not    registered since the last
 *                that runs         looked at   minor collection
 *
 *   [services.1] Of a list, [base, kept) and [next, young) are old objects. [young, top) are those registered since the
 *                last minor collection; it is empty outside of one. kept == next == base unless a pass of the major
 *                collection over the list is under way. What is fresh are objects: young ones or, if registered for a
 *                finalizer alone, any.
 *   [services.2] An old object is in the weak or in the ephemeron list if and only if it has the weak flag.
 *   [services.3] Each list has room for all that the mutators may hold in fresh together, each up to its
 *                registered_end. For every registered finalizer there is room in its queue and in both collections'
 *                candidates: a collection cannot fail there. What else takes memory (watch tables, the stacks of reach)
 *                has a way without it.
 *   [services.4] Between collections the stacks of minor.reach and minor.candidates are empty; so are those of major
 *                unless a major collection marks or clears.
 *
 * The order of death (docs/order-of-death.md says what it means for programs): a step may judge only what no later step
 * can change, or what must not change although a later step reaches the object.
 *
 *    step                 reaches                             judges
 *    1 roots              what roots lead to
 *    2 ephemerons         values of living keys
 *    3 weak                                                   weak slots and weak sets: what is not reached is cleared
 *    4 finalizers         dead objects with finalizers,
 *                         and what they lead to
 *    5 ephemerons         values of keys that came back
 *    6 dead keys                                              pairs whose keys are not reached are cleared
 *    7 destructors                                            what is not reached is destroyed
 *    8 callbacks                                              of weak sets that lost entries
 *    9 memory                                                 the nursery at once, the old generation by sweeping
 *
 * - 2 before 3: a value that an ephemeron keeps lives, and weak slots must not lose it.
 * - 3 before 4: a weak slot dies at once, even if a finalizer brings its object back. Otherwise programs would see an
 *   object in a weak slot and in a finalizer's queue.
 * - 5 after 4, and 6 after 5: a key that comes back with a finalizer keeps its value, so no pair is judged earlier.
 * - 7 after 6: nothing is reached any more, so destructors run for what is certainly dead. Its memory is still whole.
 *
 * A minor collection takes all steps at once. A major collection takes them between marking and sweeping, as stages
 * that may each last several increments. Meanwhile the program reads weak slots behind a guard, which asks for the
 * mark.
 *
 *   [order.1] Between collections a stage is under way only while major.phase is MAJOR_CLEARING.
 *   [order.2] The guard of weak slots is up from the end of marking until the last dead key is cleared.
 */
#ifndef CRADLE_GC_DEATH_SERVICES_H
#define CRADLE_GC_DEATH_SERVICES_H

#include "gc/death/finalizer.h"
#include "gc/death/reach.h"
#include "gc/death/waiting.h"
#include "gc/death/weak.h"
#include "gc/old/marking.h"

/* The stages of a major collection's clearing, one after the other. The numbers are the steps above; marking has
 * done steps 1 and 2. */
typedef enum crd_stage {
  STAGE_WEAK,        /* 3: weak slots */
  STAGE_SETS,        /* 3: weak sets */
  STAGE_FIND,        /* 4: dead objects with finalizers are found */
  STAGE_REACH,       /* 4: they are reached, with all that they lead to */
  STAGE_QUEUE,       /* as it begins, 5: ephemerons are completed; then 4: objects with finalizers are queued */
  STAGE_EPHEMERONS,  /* 6: dead keys */
  STAGE_HOLDERS,     /* dead holders leave the list of weak slots */
  STAGE_DESTRUCTORS, /* 7 */
  STAGE_TRIM,        /* memory of stacks is given back */
  STAGE_NONE
} crd_stage;

/* One collection's way through the order of death. Minor and major collections have one each, because minor collections
 * run between the increments of a major one. */
struct crd_death {
  crd_services *services;
  crd_space *space;
  bool is_minor;
  crd_minor *minor;  /* of a minor collection: that collection */
  crd_stored stored; /* what the minor collection found remembered; major: the last minor collection */
  unsigned unlisted; /* of a minor collection: the kinds of the objects that it has left in fresh */
  uint64_t item;     /* major: the item at which the array that is looked at in pieces goes on; 0 between arrays */
  crd_watch watch;
  crd_reach reach;
  crd_candidates candidates;
};

struct crd_services {
  crd_space *space;
  crd_marking *marking;
  size_t list_bytes;    /* of address space, for each stack; 0: not known yet */
  crd_word_stack items; /* of large old holders that were stored into since the last minor collection [stored.1] */
  crd_list lists[REGISTERED_KINDS];
  unsigned kinds; /* the lists that have memory */
  crd_queue queues[CRADLE_FINALIZER_QUEUES];
  size_t finalizer_room; /* so many more finalizers may be listed: there is room for them everywhere */
  crd_death minor, major;
  crd_stage stage;        /* of the major collection */
  cradle_word *scan_next; /* of the major collection, while watching: the next holder in the list of ephemerons */
  size_t trimmed_stacks;  /* of the major collection, at its end: so many stacks were given back, */
  size_t trimmed_bytes;   /* and so much of the next one */
  crd_weak_sets sets;
  /* What objects own outside the heap, as external-size callbacks and cradle_external_pressure say. bytes and
   * pressure_bytes are counted in marking->external_bytes. */
  struct {
    uint64_t bytes;           /* of old objects */
    uint64_t recounted_bytes; /* of those that the pass under way has looked at; becomes bytes when it ends */
    uint64_t pressure_bytes;  /* reported since the last minor collection */
  } owned;
};

/* Lists the mended objects of an image that have destructors or external sizes, and counts what they own. */
bool crd_destructors_adopt(crd_services *services, cradle_word *object);
/* The functions that collections call by space->death. */
const crd_death_calls *crd_order_calls(void);
/* Whether the guard is up: readers of weak slots must ask for the mark [order.2]. */
bool crd_death_guards(const crd_services *services);
/* When the heap is freed: runs the destructors of all objects that are left. */
void crd_destructors_fini(crd_services *services);
/* How much of marking->external_bytes the services count. */
uint64_t crd_destructors_owned_bytes(const crd_services *services);

/* --- what a collection knows --- */

/* Where an object is now, or 0 if it was not reached yet. Objects that the collection does not judge count as
 * reached: a minor collection judges young ones only, and neither judges memory of the program's own. */
static inline uintptr_t death_find(const crd_death *death, uintptr_t address) {
  const crd_space *space = death->space;
  const crd_arenas *arenas = &space->old.arenas;
  if (!death->is_minor) return !arenas_know(arenas, address) || old_is_marked(&space->old, address) ? address : 0;
  if (CRADLE_LIKELY(space_is_young(space, address))) {
    cradle_word header = *object_at(address);
    return header_is_forwarded(header) ? header_forwarded_to(header) : 0;
  }
  if (CRADLE_LIKELY(space->old.young_large == PAGE_NONE)) return address;
  return old_is_young_large(&space->old, address) ? 0 : address;
}

static inline void service_redirect(const crd_space *space, bool value, cradle_word *slot, uintptr_t address) {
  *slot = value ? value_moved(&space->encoding, *slot, address) : address;
}

/* Judges a slot that does not keep its object alive: the slot follows an object that was reached, and becomes zero
 * otherwise. Returns whether the object died. */
static inline bool death_judge(const crd_death *death, bool value, cradle_word *slot) {
  uintptr_t address = space_address_in(death->space, value, *slot);
  if (address == 0) return false;
  uintptr_t place = death_find(death, address);
  if (place == address) return false;
  if (place == 0)
    *slot = 0;
  else
    service_redirect(death->space, value, slot, place);
  return place == 0;
}
/* Whether a slot is as death_judge leaves it: it leads nowhere, or to where a reached object is now. */
static inline bool death_is_judged(const crd_death *death, bool value, cradle_word word) {
  uintptr_t address = space_address_in(death->space, value, word);
  return address == 0 || death_find(death, address) == address;
}

/* Whether the holder of a young entry is recorded from its birth [large.3]: of its items only the recorded ones are
 * looked at [stored.1]. No other young holder has the barrier's flag where it was born. */
static inline bool death_is_recorded(const crd_death *death, uintptr_t place, cradle_word entry) {
  return death->is_minor && place == entry_address(entry) && header_has_barrier(*object_at(place));
}

/* The entry of an object with weak slots or ephemerons that was reached. A young one is old from now on, and gets the
 * flag for that [services.2]. */
static inline cradle_word death_settle(const crd_death *death, uintptr_t place) {
  if (death->is_minor) object_set_flags(object_at(place), HEADER_WEAK_FLAG);
  return place;
}

/* --- the words of a holder --- */

/* How many items the holder has, if they are of the kind, CRADLE_ITEMS_WEAK or CRADLE_ITEMS_EPHEMERONS; 0 otherwise. */
static inline uint64_t service_length(const crd_space *space, const cradle_word *holder, cradle_items kind) {
  const crd_type *type = space_type(space, holder[0]);
  return type->weak_items == kind ? type_length(type, holder) : 0;
}

/* Visits the holder's weak slots, or one word of each of its pairs (0: the key, 1: the value); of its items only
 * [first, last). */
CRD_ALWAYS_INLINE void service_visit(const crd_space *space, cradle_word *holder, cradle_items kind, unsigned word,
                                     uint64_t first, uint64_t last, crd_slot_function visit, void *context) {
  const crd_type *type = space_type(space, holder[0]);
  uint64_t bitmap = kind == CRADLE_ITEMS_WEAK ? type->weak : type->ephemerons;
  for (; bitmap != 0; bitmap &= bitmap - 1) visit(context, type->weak_values, holder + __builtin_ctzll(bitmap) + word);
  uint64_t step = kind == CRADLE_ITEMS_WEAK ? 1 : 2;
  cradle_word *items = holder + type->size / 8;
  for (uint64_t i = first; i < last; i++) visit(context, type->weak_values, items + step * i + word);
}

CRD_ALWAYS_INLINE void service_visit_all(const crd_space *space, cradle_word *holder, cradle_items kind, unsigned word,
                                         crd_slot_function visit, void *context) {
  service_visit(space, holder, kind, word, 0, service_length(space, holder, kind), visit, context);
}

/* So many items of a large array are looked at before the clock is. */
#define SERVICE_PIECE_ITEMS LIMIT(1024, 4)

/* Visits the weak slots of a holder, or the keys of its pairs, with the death as context. With in_pieces, visits of a
 * large array only the next piece, and returns false if there is more. */
CRD_ALWAYS_INLINE bool death_visit(crd_death *death, cradle_word *holder, cradle_items kind, bool in_pieces,
                                   crd_slot_function visit) {
  uint64_t length = service_length(death->space, holder, kind), first = 0, last = length;
  if (in_pieces) {
    ASSERT(!death->is_minor, "a minor collection looks at an array in pieces");
    first = death->item < length ? death->item : length; /* the program may have shortened it since */
    if (length - first > SERVICE_PIECE_ITEMS) last = first + SERVICE_PIECE_ITEMS;
    death->item = last < length ? last : 0;
  }
  service_visit(death->space, holder, kind, 0, first, last, visit, death);
  return last == length;
}

#endif
