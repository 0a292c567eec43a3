#include "gc/death/finalizer.h"

#include "gc/death/services.h"
#include "gc/mutator.h"
#include "gc/object/visit.h"
#include "gc/old/mark.h"
#include "gc/report/misuse.h"

static void put(crd_services *services, cradle_word entry, uintptr_t address) {
  ASSERT(entry_queue(entry) != 0, "an object without a finalizer is in the list of finalizers");
  crd_queue *queue = &services->queues[entry_queue(entry) - 1];
  ASSERT(queue->words.top < queue->words.limit, "[services.3] a finalizer queue is full");
  *queue->words.top++ = address;
}

/* So many objects that wait in queues are marked before marking goes on. */
#define MARK_PIECE_OBJECTS ((size_t)LIMIT(256, 4))

/* --- finding --- */

static bool has_finalizer(const crd_type *type) {
  return type->registers >> REGISTERED_FINALIZER & 1;
}

static inline void look_at(void *data, bool value, cradle_word *slot) {
  crd_death *death = data;
  uintptr_t address = space_address_in(death->space, value, *slot);
  if (address == 0 || death_find(death, address) != 0) return;
  cradle_word header = *object_at(address);
  const crd_type *type = space_type(death->space, header);
  if (!reach_is_leaf(type, header) || has_finalizer(type)) crd_reach_set_ordering(death, true);
}

/* Has the order looked for if a candidate may lead to another one, as arrays, callbacks and ephemerons may. To a leaf
 * whose type has no finalizer others may lead. */
static void look_on(crd_death *death, cradle_word *object) {
  const crd_type *type = space_type(death->space, object[0]);
  if (type->items >= CRADLE_ITEMS_REFERENCES || type->trace != NULL || header_is_watched(object[0]) ||
      type->registers >> REGISTERED_EPHEMERON & 1 || (!type->has_slots && !has_finalizer(type)))
    crd_reach_set_ordering(death, true);
  visit_bits(object, type->references, false, look_at, death);
  visit_bits(object, type->values, true, look_at, death);
}

static void add_candidate(crd_death *death, cradle_word entry) {
  crd_candidates *candidates = &death->candidates;
  crd_word_stack *entries = &candidates->entries;
  if (word_stack_is_empty(entries)) { /* the order of the collection before is discarded */
    ASSERT(candidates->next == 0, "[finalizer.2] candidates of the last collection were not queued");
    crd_reach_set_ordering(death, false);
    death->reach.unordered = false;
    candidates->placed = candidates->components = 0;
    candidates->linked = UINT32_MAX;
  }
  ASSERT(entries->top < entries->limit, "[services.3] more candidates than there is room for");
  *entries->top++ = entry;
  if (!death->reach.ordering) look_on(death, entry_object(entry));
  candidates->next = candidates_count(candidates);
}

crd_verdict crd_finalizers_find_entry(crd_death *death, cradle_word *entry) {
  uintptr_t place = death_find(death, entry_address(*entry));
  if (place == 0) {
    add_candidate(death, *entry);
    return ENTRY_DROP;
  }
  *entry = entry_of(place, entry_queue(*entry));
  return ENTRY_KEEP;
}

bool crd_finalizers_find(crd_death *death) {
  list_pass_young(death, &death->services->lists[REGISTERED_FINALIZER], crd_finalizers_find_entry);
  return candidates_count(&death->candidates) != 0;
}

/* --- reaching --- */

/* The number in the header of an object; CANDIDATE_NONE: it is no candidate that has its number. */
static cradle_word number_in(const crd_candidates *candidates, const cradle_word *object) {
  cradle_word number = header_place(object[0]);
  if (number >= word_stack_count(&candidates->headers)) return CANDIDATE_NONE;
  return entry_address(candidates->entries.base[number]) == address_of(object) ? number : CANDIDATE_NONE;
}

/* If there is no room, the order is given up. */
static void give_number(crd_death *death, cradle_word number) {
  crd_candidates *candidates = &death->candidates;
  cradle_word *object = entry_object(candidates->entries.base[number]);
  ASSERT(death_find(death, address_of(object)) == 0, "a candidate was reached before all of them have numbers");
  cradle_word before = header_is_watched(object[0]) ? number_in(candidates, object) : CANDIDATE_NONE;
  cradle_word kept = before == CANDIDATE_NONE ? object[0] : header_of_same(before);
  if (number < HEADER_OPEN_PLACES && word_stack_push(&candidates->headers, kept))
    object_set_place(object, number, !death->is_minor);
  else
    crd_reach_give_up_order(death);
}

static bool give_numbers(crd_death *death, crd_pace *pace) {
  crd_candidates *candidates = &death->candidates;
  while (death->reach.ordering && word_stack_count(&candidates->headers) < candidates_count(candidates)) {
    give_number(death, word_stack_count(&candidates->headers));
    if (pace_is_over(pace)) return false;
  }
  return true;
}

/* Of a number, the next one that the same object has; CANDIDATE_NONE: there is no other. */
static cradle_word same(const crd_candidates *candidates, cradle_word number) {
  cradle_word kept = candidates->headers.base[number];
  return header_is_of_same(kept) ? header_same(kept) : CANDIDATE_NONE;
}

cradle_word crd_finalizers_unnumber(crd_death *death, cradle_word *object) {
  const crd_candidates *candidates = &death->candidates;
  cradle_word number = number_in(candidates, object);
  ASSERT(number == CANDIDATE_NONE || death->is_minor || header_is_open(object[0]) || !death->reach.ordering,
         "[finalizer.4] the number of a candidate is in a header that is not open");
  if (number == CANDIDATE_NONE) return number;
  cradle_word first = number;
  for (cradle_word next = number; next != CANDIDATE_NONE; next = same(candidates, next)) first = next;
  object[0] = candidates->headers.base[first];
  return number;
}

void crd_finalizers_unnumber_all(crd_death *death) {
  crd_candidates *candidates = &death->candidates;
  /* Of those that are keys of pairs, some became keys when they had numbers, and their own headers do not say so. */
  cradle_word flags = watch_count(&death->watch) != 0 ? HEADER_WATCHED_FLAG : 0;
  for (size_t i = 0; i < word_stack_count(&candidates->headers); i++) {
    cradle_word *object = entry_object(candidates->entries.base[i]);
    if (death_find(death, address_of(object)) != 0) continue;
    if (crd_finalizers_unnumber(death, object) != CANDIDATE_NONE) object_set_flags(object, flags);
  }
  candidates->headers.top = candidates->headers.base;
}

/* From the last registered to the first, so that unrelated candidates keep registration order. Without an order, a
 * candidate and the leaves that it leads to are reached in one go. */
static bool reach_all(crd_death *death, crd_pace *pace) {
  crd_candidates *candidates = &death->candidates;
  death->reach.by_stack = true;
  for (;;) {
    if (!crd_reach_run(death, death->reach.ordering ? pace : NULL)) return false;
    if (candidates->next == 0) break;
    uintptr_t address = entry_address(candidates->entries.base[--candidates->next]);
    if (death_find(death, address) == 0) crd_reach_object(death, address);
    if (crd_reach_pauses(death, pace)) return false;
  }
  death->reach.by_stack = false;
  ASSERT(!death->reach.ordering || candidates->placed == candidates_count(candidates),
         "[finalizer.1] a candidate has no component");
  return true;
}

bool crd_finalizers_reach(crd_death *death, crd_pace *pace) {
  return give_numbers(death, pace) && reach_all(death, pace);
}

/* --- the order --- */

/* What is noted for a candidate, whose number fits into the place of a header, so into 32 bits [finalizer.4]. */
static uint32_t *link_of(const crd_candidates *candidates, cradle_word number) {
  ASSERT(number < 2 * (word_stack_committed(&candidates->ordered) / sizeof(cradle_word)),
         "[services.3] more candidates are put in order than there is room for");
  return (uint32_t *)(void *)candidates->ordered.base + number;
}
/* The first candidate of a component. */
static uint32_t *first_of(const crd_candidates *candidates, cradle_word component) {
  return link_of(candidates, candidates_count(candidates) + component);
}

void crd_finalizers_come_out(crd_candidates *candidates, cradle_word number) {
  if (number == CANDIDATE_NONE) return;
  candidates->comes_out = true;
  *first_of(candidates, candidates->components) = UINT32_MAX;
  for (; number != CANDIDATE_NONE; number = same(candidates, number), candidates->placed++)
    *link_of(candidates, number) = (uint32_t)candidates->components;
}

void crd_finalizers_came_out(crd_candidates *candidates) {
  candidates->components += candidates->comes_out;
  candidates->comes_out = false;
}

/* Links the candidates of each component, the last registered first, so that each list begins with the first. */
static bool link_all(crd_candidates *candidates, crd_pace *pace) {
  while (candidates->placed > 0) {
    uint32_t *link = link_of(candidates, --candidates->placed), *first = first_of(candidates, *link);
    *link = *first;
    *first = (uint32_t)candidates->placed;
    if (pace_is_over(pace)) return false;
  }
  return true;
}

static size_t next_in_order(crd_candidates *candidates) {
  if (candidates->linked == UINT32_MAX) candidates->linked = *first_of(candidates, --candidates->components);
  size_t number = candidates->linked;
  candidates->linked = *link_of(candidates, number);
  return number;
}

/* --- queues --- */

static void show_queues(crd_services *services) {
  for (size_t i = 0; i < CRADLE_FINALIZER_QUEUES; i++) services->queues[i].shown = services->queues[i].words.top;
}

/* In the order that was found. If none was looked for, or it was given up, that is registration order. */
bool crd_finalizers_queue(crd_death *death, crd_pace *pace) {
  crd_services *services = death->services;
  crd_candidates *candidates = &death->candidates;
  if (death->reach.ordering && !link_all(candidates, pace)) return false;
  while (candidates->next < candidates_count(candidates)) {
    size_t number = death->reach.ordering ? next_in_order(candidates) : candidates->next;
    candidates->next++;
    cradle_word entry = candidates->entries.base[number];
    uintptr_t place = death_find(death, entry_address(entry));
    ASSERT(place != 0, "a candidate is queued that was not reached");
    put(services, entry, place);
    if (pace_is_over(pace)) return false;
  }
  /* While a major collection is queueing, a minor collection does not show the queues: the major one will. */
  if (death == &services->major || services->stage != STAGE_QUEUE) show_queues(services); /* [finalizer.3] */
  candidates->entries.top = candidates->entries.base;
  candidates->headers.top = candidates->headers.base;
  candidates->next = 0;
  crd_reach_set_ordering(death, false);
  return true;
}

void crd_finalizers_mark_begin(crd_services *services) {
  for (size_t i = 0; i < CRADLE_FINALIZER_QUEUES; i++)
    services->queues[i].unmarked = (size_t)(services->queues[i].words.top - services->queues[i].head);
}

bool crd_finalizers_mark_some(crd_services *services) {
  size_t left = MARK_PIECE_OBJECTS;
  for (size_t i = 0; i < CRADLE_FINALIZER_QUEUES; i++) {
    crd_queue *queue = &services->queues[i];
    for (; queue->unmarked > 0 && left > 0; left--) {
      cradle_word object = queue->head[--queue->unmarked];
      ASSERT(queue->head + queue->unmarked < queue->words.top, "[finalizer.5] more are to be marked than wait");
      ASSERT(!space_is_young(services->space, object), "a young object waits in a finalizer queue");
      crd_mark_address(services->marking, object);
    }
  }
  return left < MARK_PIECE_OBJECTS;
}

/* The last registered first, which docs/order-of-death.md promises. */
void crd_finalizers_queue_all(crd_services *services) {
  crd_list *list = &services->lists[REGISTERED_FINALIZER];
  ASSERT(list_is_whole(list) && list->young == list->words.top, "[services.1] the list of finalizers is in use");
  while (!word_stack_is_empty(&list->words)) {
    cradle_word entry = word_stack_pop(&list->words);
    put(services, entry, entry_address(entry));
  }
  list->young = list->words.top;
  show_queues(services);
}

/* --- the public functions --- */

static crd_queue *queue_of(cradle_mutator *mutator, const char *what, uint32_t number) {
  crd_mutator_check_thread(mutator, what);
  if (number == 0 || number > CRADLE_FINALIZER_QUEUES)
    crd_misuse(mutator->heap, "%s: no queue %u: queues are 1 to 7", what, number);
  return mutator_of(mutator)->space->services == NULL ? NULL
                                                      : &mutator_of(mutator)->space->services->queues[number - 1];
}

CRD_ALWAYS_INLINE bool register_object(cradle_mutator *mutator, void *object, uint32_t queue, const char *what) {
  crd_mutator *m = mutator_of(mutator);
  const crd_space *space = m->space;
  uintptr_t address = address_of(object);
  if (!space_is_young(space, address) && !arenas_contain(&space->old.arenas, address))
    crd_misuse(mutator->heap, "%s: %p is not in this heap", what, object);
  /* The room up to registered_end is counted for existing lists only: a heap's first finalizer has its list made. */
  bool listed = space->services != NULL && space->services->kinds >> REGISTERED_FINALIZER & 1;
  if ((!listed || mutator->registered == mutator->registered_end) &&
      !crd_registry_make_room(m, 1u << REGISTERED_FINALIZER)) {
    crd_out_of_room(m->space, what, "finalizer");
    return false;
  }
  *mutator->registered++ = entry_of(address, queue);
  return true;
}

bool cradle_finalizer_register(cradle_mutator *mutator, void *object, uint32_t queue) {
  static const char what[] = "cradle_finalizer_register";
  (void)queue_of(mutator, what, queue);
  space_lock(mutator_of(mutator)->space);
  bool listed = register_object(mutator, object, queue, what);
  space_unlock(mutator_of(mutator)->space);
  return listed;
}

CRD_ALWAYS_INLINE void *take(crd_queue *queue) {
  if (queue->head == queue->shown) return NULL;
  ASSERT(queue->head < queue->shown && queue->shown <= queue->words.top, "[finalizer.3] more is shown than is queued");
  cradle_word *object = object_at(*queue->head++);
  if (queue->unmarked > 0) queue->unmarked--; /* as from any other place that marking has not come to [heap.6] */
  /* An empty queue begins again at its base, so that its room is not used up. */
  if (queue->head == queue->words.top) queue->head = queue->shown = queue->words.top = queue->words.base;
  return object;
}

static CRADLE_NOINLINE void *take_locked(crd_space *space, crd_queue *queue) {
  space_lock(space);
  void *object = take(queue);
  space_unlock(space);
  return object;
}

void *cradle_finalizer_next(cradle_mutator *mutator, uint32_t number) {
  crd_queue *queue = queue_of(mutator, "cradle_finalizer_next", number);
  if (queue == NULL) return NULL;
  crd_space *space = mutator_of(mutator)->space;
  return space_is_shared(space) ? take_locked(space, queue) : take(queue);
}

size_t crd_finalizer_waiting(const crd_services *services, uint32_t number) {
  const crd_queue *queue = services == NULL ? NULL : &services->queues[number - 1];
  return queue == NULL ? 0 : (size_t)(queue->shown - queue->head);
}
