#include "gc/death/weak.h"

#include <stddef.h>
#include <stdlib.h>

#include "gc/death/services.h"
#include "gc/mutator.h"
#include "gc/report/misuse.h"
#include "gc/report/report.h"

#define FIRST_CAPACITY 64
/* A set of which less than 1 / EMPTY_SHARE is taken is rebuilt by the next addition: it would keep its memory, and
 * each major collection would look at all its places. */
#define EMPTY_SHARE 16
#define PLACE_FREE 0
/* So many places are looked at before the clock is. */
#define PIECE_PLACES LIMIT(256, 8)

/* --- weak slots --- */

static void judge_slot(void *death, bool values, cradle_word *slot) {
  (void)death_judge(death, values, slot);
}

/* In a major collection, one piece of a large array. false: there is more. */
static bool judge_holder(crd_death *death, cradle_word *holder) {
  return death_visit(death, holder, CRADLE_ITEMS_WEAK, !death->is_minor, judge_slot);
}

static void check_slot(void *death, bool values, cradle_word *slot) {
  ASSERT(death_is_judged(death, values, *slot), "[weak.1] a weak slot leads to an object that was found dead");
}

/* The slots of a dead holder are judged where it lies. */
crd_verdict crd_weak_clear_entry(crd_death *death, cradle_word *entry) {
  uintptr_t place = death_find(death, *entry);
  /* A minor collection knows by now whether there are finalizers to come back; a major one finds them later. */
  bool comes_back = death->is_minor ? candidates_count(&death->candidates) != 0
                                    : !list_is_empty(&death->services->lists[REGISTERED_FINALIZER]);
  if (place == 0 && !comes_back) {
    death->item = 0;
    return ENTRY_DROP;
  }
  if (!death_is_recorded(death, place, *entry) && !judge_holder(death, object_at(place != 0 ? place : *entry)))
    return ENTRY_AGAIN;
  /* What is dead for now keeps its old address: crd_weak_settle_entry looks for it again. */
  if (!comes_back) *entry = death_settle(death, place);
  return ENTRY_KEEP;
}

crd_verdict crd_weak_settle_entry(crd_death *death, cradle_word *entry) {
  uintptr_t place = death_find(death, *entry);
  if (place == 0) return ENTRY_DROP;
  if (CRADLE_ASSERTIONS) service_visit_all(death->space, object_at(place), CRADLE_ITEMS_WEAK, 0, check_slot, death);
  *entry = death_settle(death, place);
  return ENTRY_KEEP;
}

void crd_weak_clear(crd_death *death) {
  crd_stored_each(death, REGISTERED_WEAK, judge_holder, judge_slot);
  list_pass_young(death, &death->services->lists[REGISTERED_WEAK], crd_weak_clear_entry);
}

/* --- readers --- */

/* While the guard is up: whether the object at an address is dead. One that a finalizer brings back counts as alive
 * when everything that it leads to was reached. Until then its header is open. */
static bool is_dead(const crd_space *space, uintptr_t address) {
  if (!arenas_know(&space->old.arenas, address)) return false;
  if (old_is_marked(&space->old, address)) return space_has_open(space, object_at(address));
  return !old_is_young_large(&space->old, address);
}

bool cradle_weak_is_dead(cradle_mutator *mutator, cradle_word word, bool value) {
  crd_mutator_check_thread(mutator, "cradle_weak_get");
  const crd_space *space = mutator_of(mutator)->space;
  /* With the plain encoding value slots are folded into reference slots [type.2]. */
  uintptr_t address = space_address_in(space, value && !space->plain_encoding, word);
  return address != 0 && is_dead(space, address);
}

/* --- weak sets --- */

typedef crd_weak_place place;

/* --- the rings --- */

static cradle_weak_set *set_of(crd_ring *link) {
  return (cradle_weak_set *)link;
}
static cradle_weak_set *changed_set_of(crd_ring *link) {
  return memory_at(address_of(link) - offsetof(cradle_weak_set, changed));
}

static void note_changed(cradle_weak_set *set) {
  if (!ring_is_empty(&set->changed)) return;
  space_lock(set->services->space);
  ring_insert(&set->services->sets.changed, &set->changed);
  space_unlock(set->services->space);
}

static void clear_next(crd_weak_sets *sets, crd_ring *next) {
  sets->clearing = next;
  sets->cleared = 0;
}

void crd_weak_sets_init(crd_weak_sets *sets) {
  ring_init(&sets->all);
  ring_init(&sets->changed);
  sets->clearing = &sets->all;
}

static bool holds(const place *at) {
  return weak_place_is_taken(at);
}

/* While the guard is up: whether an object is dead, and not cleared yet. */
static bool hides(const cradle_weak_set *set, cradle_word object) {
  const crd_space *space = set->services->space;
  return crd_death_guards(set->services) && is_dead(space, object);
}

/* --- memory --- */

static void count_removed(cradle_weak_set *set) {
  set->removed++;
  note_changed(set);
}

static void fill(cradle_weak_set *set, uint64_t hash, cradle_word object) {
  ASSERT(set->count < set->capacity, "[weak_set.1] no place is free");
  size_t at = hash & (set->capacity - 1);
  while (holds(&set->places[at])) at = (at + 1) & (set->capacity - 1);
  set->used += set->places[at].object == PLACE_FREE;
  set->count++;
  set->places[at] = (place){hash, object};
  ASSERT(set->used <= set->capacity / 4 * 3, "[weak_set.1] a set is too full for short probes");
  if (!space_holds_young(set->services->space, object)) return;
  ASSERT(set->young_count < set->capacity, "[weak_set.2] no room to list a place with a young object");
  set->young[set->young_count++] = (uint32_t)at;
  note_changed(set);
}

#define PLACE_BYTES (sizeof(place) + sizeof(uint32_t))

/* Rebuilds the set so that it is at most 3/8 full. */
static bool rebuild(cradle_weak_set *set) {
  size_t capacity = FIRST_CAPACITY, old_capacity = set->capacity;
  while (capacity / 8 * 3 < set->count) capacity *= 2;
  place *old = set->places, *places = capacity - 1 <= UINT32_MAX ? calloc(capacity, PLACE_BYTES) : NULL;
  if (places == NULL) return false;
  set->places = places;
  set->young = (void *)(places + capacity);
  set->capacity = capacity;
  set->count = set->used = set->young_count = 0;
  for (size_t i = 0; i < old_capacity; i++)
    if (holds(&old[i]) && hides(set, old[i].object))
      count_removed(set);
    else if (holds(&old[i]))
      fill(set, old[i].hash, old[i].object);
  free(old);
  (void)__atomic_add_fetch(&set->services->sets.bytes, (capacity - old_capacity) * PLACE_BYTES, __ATOMIC_RELAXED);
  return true;
}

/* --- life --- */

cradle_weak_set *crd_weak_set_make(crd_services *services, cradle_weak_swept_function swept, void *data) {
  cradle_weak_set *set = calloc(1, sizeof *set);
  if (set == NULL) return NULL;
  *set = (cradle_weak_set){.services = services, .swept = swept, .data = data};
  ring_init(&set->changed);
  if (!rebuild(set)) {
    free(set);
    return NULL;
  }
  space_lock(services->space);
  ring_insert(&services->sets.all, &set->ring);
  space_unlock(services->space);
  return set;
}

cradle_weak_set *cradle_weak_set_new(cradle_mutator *mutator, cradle_weak_swept_function swept, void *data) {
  static const char what[] = "cradle_weak_set_new";
  crd_mutator_check_thread(mutator, what);
  space_lock(mutator_of(mutator)->space);
  crd_services *services = crd_registry_open(mutator_of(mutator)->space, mutator_of(mutator)->marking);
  space_unlock(mutator_of(mutator)->space);
  cradle_weak_set *set = services == NULL ? NULL : crd_weak_set_make(services, swept, data);
  if (set == NULL) crd_out_of_room(mutator_of(mutator)->space, what, "weak set");
  return set;
}

static void check(const cradle_weak_set *set, const char *what) {
  cradle_heap *heap = heap_of(set->services->space->report);
  crd_mutator *mutator = crd_heap_mutator(heap);
  if (mutator == NULL) crd_misuse(heap, "%s: the heap has no mutator, or none of this thread", what);
  crd_mutator_check_thread(&mutator->public, what);
}

void cradle_weak_set_free(cradle_weak_set *set) {
  if (set == NULL) return;
  crd_weak_sets *sets = &set->services->sets;
  crd_space *space = set->services->space;
  crd_heap_check_thread(heap_of(space->report), "cradle_weak_set_free");
  space_lock(space);
  /* The program may free a set between the increments of clearing. */
  if (sets->clearing == &set->ring) clear_next(sets, set->ring.next);
  ring_remove(&set->ring);
  ring_remove(&set->changed);
  sets->bytes -= set->capacity * PLACE_BYTES;
  free(set->places);
  free(set);
  space_unlock(space);
}

/* --- use --- */

/* The set's own lock: the program's function is called under it. */
static void lock(cradle_weak_set *set) {
  if (space_is_shared(set->services->space)) spinlock_take(&set->lock);
}
static void unlock(cradle_weak_set *set) {
  if (space_is_shared(set->services->space)) spinlock_release(&set->lock);
}

static void *find(const cradle_weak_set *set, uint64_t hash, cradle_weak_equal_function equal, const void *key) {
  for (size_t at = hash & (set->capacity - 1);; at = (at + 1) & (set->capacity - 1)) {
    const place *here = &set->places[at];
    if (here->object == PLACE_FREE) return NULL;
    if (!holds(here) || here->hash != hash || hides(set, here->object)) continue;
    void *object = memory_at(here->object);
    if (equal(object, key)) return object;
  }
}

void *cradle_weak_set_find(cradle_weak_set *set, uint64_t hash, cradle_weak_equal_function equal, const void *key) {
  check(set, "cradle_weak_set_find");
  lock(set);
  void *object = find(set, hash, equal, key);
  unlock(set);
  return object;
}

bool crd_weak_set_put(cradle_weak_set *set, uint64_t hash, void *object) {
  /* A list of young places that is full names places that were emptied since; rebuilding drops those. */
  bool full = set->used >= set->capacity / 4 * 3 || set->young_count >= set->capacity;
  /* A set that emptied becomes smaller, if memory for that is granted. No collection does it, because the program
   * may be iterating. */
  bool emptied = set->capacity > FIRST_CAPACITY && set->count < set->capacity / EMPTY_SHARE;
  if ((full || emptied) && !rebuild(set) && full) return false;
  fill(set, hash, address_of(object));
  set->changes++;
  return true;
}

/* equal: NULL if nothing equal can be in the set. NULL: memory ran out. */
static void *find_or_add(cradle_weak_set *set, uint64_t hash, cradle_weak_equal_function equal, const void *key,
                         void *object, const char *what) {
  check(set, what);
  if (object == NULL) crd_misuse(heap_of(set->services->space->report), "%s: the object is NULL", what);
  lock(set);
  void *known = equal == NULL ? NULL : find(set, hash, equal, key);
  if (known == NULL && crd_weak_set_put(set, hash, object)) known = object;
  unlock(set);
  if (known == NULL) crd_out_of_room(set->services->space, what, "object of a weak set");
  return known;
}

bool cradle_weak_set_add(cradle_weak_set *set, uint64_t hash, void *object) {
  return find_or_add(set, hash, NULL, NULL, object, "cradle_weak_set_add") != NULL;
}

void *cradle_weak_set_find_or_add(cradle_weak_set *set, uint64_t hash, cradle_weak_equal_function equal,
                                  const void *key, void *object) {
  return find_or_add(set, hash, equal, key, object, "cradle_weak_set_find_or_add");
}

/* A freed place is not free: probes for other objects go on behind it. */
static void empty(cradle_weak_set *set, place *at) {
  ASSERT(at->object != PLACE_FREED && set->count > 0, "[weak_set.1] a place is emptied twice");
  at->object = PLACE_FREED;
  set->count--;
}

static bool take_out(cradle_weak_set *set, uint64_t hash, const void *object) {
  for (size_t at = hash & (set->capacity - 1);; at = (at + 1) & (set->capacity - 1)) {
    place *here = &set->places[at];
    if (here->object == PLACE_FREE) return false;
    if (here->object != address_of(object) || object == NULL) continue;
    empty(set, here);
    set->changes++;
    return true;
  }
}

bool cradle_weak_set_remove(cradle_weak_set *set, uint64_t hash, const void *object) {
  check(set, "cradle_weak_set_remove");
  lock(set);
  bool was_there = take_out(set, hash, object);
  unlock(set);
  return was_there;
}

void *cradle_weak_set_next(cradle_weak_set *set, cradle_weak_cursor *cursor) {
  check(set, "cradle_weak_set_next");
  /* The cursor has the count of changes plus one, so that a cursor of zeros is one that has not begun. */
  if (cursor->changes == 0) *cursor = (cradle_weak_cursor){0, set->changes + 1};
  if (cursor->changes != set->changes + 1)
    crd_misuse(heap_of(set->services->space->report),
               "cradle_weak_set_next: the set was changed by the program since the iteration began");
  while (cursor->place < set->capacity) {
    const place *here = &set->places[cursor->place++];
    if (holds(here) && !hides(set, here->object)) return memory_at(here->object);
  }
  return NULL;
}

/* --- collections --- */

static void judge(const crd_death *death, cradle_weak_set *set, place *at) {
  if (!holds(at) || !death_judge(death, false, &at->object)) return;
  empty(set, at);
  count_removed(set);
}

void crd_weak_sets_clear(crd_death *death) {
  crd_ring *changed = &death->services->sets.changed;
  for (crd_ring *link = changed->next; link != changed; link = link->next) {
    cradle_weak_set *set = changed_set_of(link);
    for (size_t i = 0; i < set->young_count; i++) {
      ASSERT(set->young[i] < set->capacity, "[weak_set.2] a place is listed that the set does not have");
      judge(death, set, &set->places[set->young[i]]);
    }
    set->young_count = 0;
  }
}

bool crd_weak_sets_pass(crd_death *death, crd_pace *pace) {
  crd_weak_sets *sets = &death->services->sets;
  while (sets->clearing != &sets->all) {
    cradle_weak_set *set = set_of(sets->clearing);
    for (size_t i = 0; i < PIECE_PLACES && sets->cleared < set->capacity; i++) {
      place *at = &set->places[sets->cleared++];
      ASSERT(!holds(at) || !space_holds_young(death->space, at->object),
             "[weak_set.2] a place held a young object and was not listed");
      judge(death, set, at);
    }
    if (sets->cleared >= set->capacity) clear_next(sets, set->ring.next);
    if (pace_is_over(pace)) return false;
  }
  return true;
}

void crd_weak_sets_tell(crd_services *services) {
  const crd_ring *changed = &services->sets.changed;
  if (ring_is_empty(changed)) return;
  crd_state before = crd_state_enter(services->space->report, HEAP_DESTROYING);
  while (!ring_is_empty(changed)) {
    cradle_weak_set *set = changed_set_of(changed->next);
    ASSERT(set->young_count == 0, "[weak_set.3] a set leaves the ring with young places");
    ring_remove(&set->changed);
    ring_init(&set->changed);
    /* Cleared first: the numbers of the next collection begin at 0, whatever the function does. */
    size_t removed = set->removed;
    set->removed = 0;
    if (removed != 0 && set->swept != NULL) set->swept(set->data, removed);
  }
  crd_state_leave(services->space->report, before);
}

bool crd_weak_sets_exist(const crd_services *services) {
  return services != NULL && !ring_is_empty(&services->sets.all);
}

void crd_weak_sets_each(crd_services *services, crd_slot_function visit, void *context) {
  crd_ring *all = &services->sets.all;
  for (crd_ring *link = all->next; link != all; link = link->next) {
    const cradle_weak_set *set = set_of(link);
    for (size_t i = 0; i < set->capacity; i++)
      if (holds(&set->places[i])) visit(context, false, &set->places[i].object);
  }
}
