/* Weak sets: open addressing in malloc'ed memory, linear probing, powers of two.
 *
 * The places that were filled with young objects since the last minor collection are listed, so that it looks at no others. A
 * major collection clears a set place after place; a set that is rebuilt meanwhile leaves the dead behind by itself.
 *
 *   [weak_set.1] A place is free (0), was freed (1) or holds an object. count are held; used are held or were freed; used is at
 *                most 3/4 of the capacity.
 *   [weak_set.2] Every place that holds a young object is listed in young, with others perhaps.
 */
#include <cradle/weak_set.h>

#include <stdlib.h>

#include "gc/services.h"

#define FIRST_CAPACITY 64
/* A set of which a smaller share is taken is rebuilt by the next addition. */
#define EMPTY_SHARE 16
#define PLACE_FREE 0
#define PLACE_FREED 1
/* Places that are looked at as one piece. */
#define PIECE_PLACES LIMIT(256, 8)

typedef struct place {
  uint64_t hash;
  cradle_word object;
} place;

struct cradle_weak_set {
  cradle_heap *heap;
  struct cradle_weak_set *next;
  cradle_weak_swept_function swept;
  void *data;
  place *places;
  size_t capacity, count, used;
  size_t *young;
  size_t young_count, young_capacity;
  size_t cleared;  /* places that the major collection has looked at */
  size_t removed;  /* by collections, and not told yet */
  uint64_t changes; /* made by the program */
};

static bool holds(const place *at) {
  return at->object > PLACE_FREED;
}

/* --- memory --- */

static bool is_young(const cradle_heap *heap, uintptr_t address) {
  if (heap_is_young(heap, address)) return true;
  return heap->old.young_large != PAGE_NONE && arenas_contain(&heap->old.arenas, address) &&
         arenas_page(&heap->old.arenas, arenas_page_number(&heap->old.arenas, address))->state == PAGE_LARGE_YOUNG;
}

static bool guard_is_up(const cradle_heap *heap) {
  return heap->mutator != NULL && heap->mutator->public.weak_guard != 0;
}

static place *free_place(cradle_weak_set *set, uint64_t hash) {
  size_t at = hash & (set->capacity - 1);
  while (holds(&set->places[at])) at = (at + 1) & (set->capacity - 1);
  return &set->places[at];
}

static void fill(cradle_weak_set *set, uint64_t hash, cradle_word object) {
  place *at = free_place(set, hash);
  set->used += at->object == PLACE_FREE;
  set->count++;
  *at = (place){hash, object};
  if (is_young(set->heap, (uintptr_t)object)) set->young[set->young_count++] = (size_t)(at - set->places);
}

/* The list of young places has shrunk with the set: there is room for another one. */
static void trim_young(cradle_weak_set *set) {
  if (set->young_capacity <= set->capacity) return;
  size_t *young = realloc(set->young, set->capacity * sizeof *young);
  if (young == NULL) return;
  set->young = young;
  set->young_capacity = set->capacity;
}

/* Rebuilds the set so that it is at most 3/8 full. */
static bool rebuild(cradle_weak_set *set) {
  size_t capacity = FIRST_CAPACITY;
  while (capacity / 8 * 3 < set->count) capacity *= 2;
  place *old = set->places, *places = calloc(capacity, sizeof *places);
  size_t old_capacity = set->capacity;
  bool guarded = guard_is_up(set->heap);
  if (places == NULL) return false;
  set->places = places;
  set->capacity = capacity;
  set->count = set->used = set->young_count = 0;
  set->cleared = SIZE_MAX;
  for (size_t i = 0; i < old_capacity; i++) {
    if (!holds(&old[i])) continue;
    if (guarded && crd_weak_is_dead(set->heap, (uintptr_t)old[i].object))
      set->removed++;
    else
      fill(set, old[i].hash, old[i].object);
  }
  free(old);
  if (capacity < old_capacity) trim_young(set);
  return true;
}

static bool young_room(cradle_weak_set *set) {
  if (set->young_count < set->young_capacity) return true;
  size_t capacity = set->young_capacity == 0 ? FIRST_CAPACITY : 2 * set->young_capacity;
  size_t *young = realloc(set->young, capacity * sizeof *young);
  if (young == NULL) return false;
  set->young = young;
  set->young_capacity = capacity;
  return true;
}

/* --- life --- */

cradle_weak_set *cradle_weak_set_new(cradle_mutator *mutator, cradle_weak_swept_function swept, void *data) {
  crd_mutator_check_thread(mutator, "cradle_weak_set_new");
  cradle_heap *heap = mutator->heap;
  cradle_weak_set *set = calloc(1, sizeof *set);
  if (set == NULL) return NULL;
  *set = (cradle_weak_set){.heap = heap, .swept = swept, .data = data};
  if (!crd_registry_open(heap) || !rebuild(set)) {
    free(set);
    return NULL;
  }
  set->next = heap->services->sets;
  heap->services->sets = set;
  return set;
}

static void check(const cradle_weak_set *set, const char *what) {
  if (set->heap->mutator == NULL) crd_misuse(set->heap, "cradle_weak_set: the heap has no mutator");
  crd_mutator_check_thread(&set->heap->mutator->public, what);
}

void cradle_weak_set_free(cradle_weak_set *set) {
  if (set == NULL) return;
  crd_services *services = set->heap->services;
  heap_check(set->heap, "cradle_weak_set_free");
  if (set->heap->mutator != NULL) check(set, "cradle_weak_set_free");
  if (services->set == set) services->set = set->next;
  cradle_weak_set **link = &services->sets;
  while (*link != set) link = &(*link)->next;
  *link = set->next;
  free(set->places);
  free(set->young);
  free(set);
}

size_t cradle_weak_set_count(const cradle_weak_set *set) {
  return set->count;
}

/* --- use --- */

void *cradle_weak_set_find(cradle_weak_set *set, uint64_t hash, cradle_weak_equal_function equal, const void *key) {
  check(set, "cradle_weak_set_find");
  bool guarded = guard_is_up(set->heap);
  for (size_t at = hash & (set->capacity - 1);; at = (at + 1) & (set->capacity - 1)) {
    const place *here = &set->places[at];
    if (here->object == PLACE_FREE) return NULL;
    if (!holds(here) || here->hash != hash) continue;
    void *object = (void *)(uintptr_t)here->object;
    if (guarded && crd_weak_is_dead(set->heap, (uintptr_t)object)) continue;
    if (equal(object, key)) return object;
  }
}

bool cradle_weak_set_add(cradle_weak_set *set, uint64_t hash, void *object) {
  check(set, "cradle_weak_set_add");
  if (object == NULL) crd_misuse(set->heap, "cradle_weak_set_add: NULL is no object");
  /* Entries of young that no place holds any more go when there are as many as places. */
  bool full = set->used >= set->capacity / 4 * 3 || set->young_count >= set->capacity;
  /* One that emptied becomes smaller, if memory for that is granted; not in a collection, since the program may be iterating. */
  bool emptied = set->capacity > FIRST_CAPACITY && set->count < set->capacity / EMPTY_SHARE;
  /* Room comes first: rebuilding needs no more of it, and an addition that is refused must not change the order. */
  if (!young_room(set) || ((full || emptied) && !rebuild(set) && full)) return false;
  fill(set, hash, (uintptr_t)object);
  set->changes++;
  return true;
}

static void empty(cradle_weak_set *set, place *at) {
  at->object = PLACE_FREED;
  set->count--;
}

bool cradle_weak_set_remove(cradle_weak_set *set, uint64_t hash, const void *object) {
  check(set, "cradle_weak_set_remove");
  for (size_t at = hash & (set->capacity - 1);; at = (at + 1) & (set->capacity - 1)) {
    place *here = &set->places[at];
    if (here->object == PLACE_FREE) return false;
    if (here->object != (uintptr_t)object || object == NULL) continue;
    empty(set, here);
    set->changes++;
    return true;
  }
}

void *cradle_weak_set_next(cradle_weak_set *set, cradle_weak_cursor *cursor) {
  check(set, "cradle_weak_set_next");
  if (cursor->changes == 0) *cursor = (cradle_weak_cursor){0, set->changes + 1};
  if (cursor->changes != set->changes + 1)
    crd_misuse(set->heap, "cradle_weak_set_next: the set was changed by the program since the iteration began");
  bool guarded = guard_is_up(set->heap);
  while (cursor->place < set->capacity) {
    const place *here = &set->places[cursor->place++];
    if (holds(here) && !(guarded && crd_weak_is_dead(set->heap, (uintptr_t)here->object)))
      return (void *)(uintptr_t)here->object;
  }
  return NULL;
}

/* --- collections --- */

static void judge(const crd_death *death, cradle_weak_set *set, place *at) {
  if (!holds(at) || !death_judge(death, false, &at->object)) return;
  empty(set, at);
  set->removed++;
}

void crd_weak_sets_minor(crd_death *death) {
  for (cradle_weak_set *set = death->heap->services->sets; set != NULL; set = set->next) {
    for (size_t i = 0; i < set->young_count; i++) judge(death, set, &set->places[set->young[i]]);
    set->young_count = 0;
  }
}

void crd_weak_sets_begin(crd_services *services) {
  services->set = services->sets;
  for (cradle_weak_set *set = services->sets; set != NULL; set = set->next) set->cleared = 0;
}

bool crd_weak_sets_pass(crd_death *death, crd_pace *pace) {
  crd_services *services = death->heap->services;
  while (services->set != NULL) {
    cradle_weak_set *set = services->set;
    for (size_t i = 0; i < PIECE_PLACES && set->cleared < set->capacity; i++)
      judge(death, set, &set->places[set->cleared++]);
    if (set->cleared >= set->capacity) services->set = set->next;
    if (crd_pace_is_over(pace)) return false;
  }
  return true;
}

void crd_weak_sets_tell(cradle_heap *heap) {
  int state = heap->state;
  heap->state = HEAP_DESTROYING;
  for (cradle_weak_set *set = heap->services->sets; set != NULL; set = set->next) {
    size_t removed = set->removed;
    set->removed = 0;
    if (removed != 0 && set->swept != NULL) set->swept(set->data, removed);
  }
  heap->state = state;
}

size_t crd_weak_sets_bytes(const crd_services *services) {
  size_t bytes = 0;
  for (const cradle_weak_set *set = services->sets; set != NULL; set = set->next)
    bytes += set->capacity * sizeof *set->places + set->young_capacity * sizeof *set->young;
  return bytes;
}

void crd_weak_sets_each(cradle_heap *heap, crd_move_function visit, void *context) {
  for (cradle_weak_set *set = heap->services->sets; set != NULL; set = set->next)
    for (size_t i = 0; i < set->capacity; i++)
      if (holds(&set->places[i])) visit(context, false, &set->places[i].object);
}
