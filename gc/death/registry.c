#include "gc/death/registry.h"

#include <stdlib.h>

#include "gc/death/services.h"
#include "gc/death_calls.h"
#include "gc/heap.h"

/* A minor collection finds the order of all young finalizers at once, at 100 to 160 ns for each. So with a pause target
 * one is asked for when so many objects were registered as would take the target, but not for a few. */
#define REGISTERED_NS 128
#define REGISTERED_LEAST ((size_t)4096)

/* --- registration --- */

static crd_services *services_of(cradle_heap *heap) {
  if (heap->services != NULL) return heap->services;
  crd_services *services = calloc(1, sizeof *services);
  if (services == NULL) return NULL;
  /* calloc leaves the stage at the first one, which would have the guard up. */
  services->stage = STAGE_NONE;
  services->minor.heap = services->major.heap = heap;
  services->minor.is_minor = true;
  crd_weak_sets_init(&services->sets);
  heap->death = crd_order_calls();
  return heap->services = services;
}

bool crd_registry_open(cradle_heap *heap) {
  return services_of(heap) != NULL;
}

void crd_registry_close(cradle_heap *heap) {
  if (heap->mutator != NULL) heap->mutator->public.registered_end = heap->mutator->public.registered;
}

/* How many objects may be registered before a minor collection is asked for. */
static size_t registered_most(const cradle_heap *heap, unsigned kinds) {
  uint64_t most = heap->options.pause_ns / REGISTERED_NS;
  if (heap->options.pause_ns == 0 || !(kinds >> REGISTERED_FINALIZER & 1)) return SIZE_MAX;
  return most < REGISTERED_LEAST ? REGISTERED_LEAST : (size_t)most;
}

/* The least room that any list has. A list that was refused memory has none, so nothing can be registered then. */
void crd_registry_allow(cradle_heap *heap) {
  if (heap->mutator == NULL || heap->mutator->public.registered == NULL) return;
  const crd_services *services = heap->services;
  unsigned kinds = services->kinds | heap->types.registers;
  size_t room = (size_t)(services->fresh.limit - services->fresh.base);
  for (int kind = 0; kind < REGISTERED_KINDS; kind++) {
    const crd_word_stack *words = &services->lists[kind].words;
    size_t free_words = (size_t)(words->limit - words->top);
    if (kinds >> kind & 1 && free_words < room) room = free_words;
  }
  if (kinds >> REGISTERED_FINALIZER & 1 && services->finalizer_room < room) room = services->finalizer_room;
  size_t fresh = (size_t)(heap->mutator->public.registered - services->fresh.base), most = registered_most(heap, kinds);
  if (room > fresh && room - fresh > most) room = fresh + most;
  heap->mutator->public.registered_end = services->fresh.base + room;
}

/* Makes room in fresh and in each list. The lists need room for everything that is fresh, because the next minor
 * collection may move all of it. */
bool crd_registry_make_room(cradle_heap *heap, unsigned kinds) {
  crd_services *services = services_of(heap);
  if (services == NULL) return false;
  cradle_mutator *mutator = &heap->mutator->public;
  services->fresh.top = mutator->registered != NULL ? mutator->registered : services->fresh.base;
  if (!crd_services_room(heap, &services->fresh, 1)) return false;
  /* registered_end stays here if a list is refused below, so that nothing is registered. */
  if (mutator->registered == NULL) mutator->registered = mutator->registered_end = services->fresh.base;
  kinds |= services->kinds | heap->types.registers;
  size_t needed = word_stack_count(&services->fresh) + 1;
  for (int kind = 0; kind < REGISTERED_KINDS; kind++)
    if (kinds >> kind & 1 && !crd_services_list_room(heap, kind, needed)) return false;
  crd_services_reach_room(heap, &services->minor);
  crd_services_reach_room(heap, &services->major);
  (void)crd_services_room(heap, &services->scan.noted, 1);
  services->kinds = kinds;
  crd_registry_allow(heap);
  if (needed > registered_most(heap, kinds) && !collection_is_off(heap)) cradle_safepoint_request(mutator);
  ASSERT(mutator->registered < mutator->registered_end, "[services.3] there is no room for what room was made for");
  return true;
}

crd_word_stack crd_registry_fresh(const cradle_heap *heap) {
  /* The end of fresh is in the mutator, because registration is inline. */
  if (heap->services == NULL || heap->mutator == NULL || heap->mutator->public.registered == NULL)
    return (crd_word_stack){0};
  crd_word_stack fresh = heap->services->fresh;
  fresh.top = heap->mutator->public.registered;
  return fresh;
}

void crd_registry_fini(cradle_heap *heap) {
  crd_services *services = heap->services;
  if (services == NULL) return;
  /* Destructors read the lists, whose memory goes next. */
  crd_destructors_fini(heap);
  crd_services_free_stacks(services);
  free(services);
  heap->services = NULL;
  heap->death = NULL;
}

/* --- distribution --- */

static inline void enter(crd_services *services, int kind, cradle_word entry) {
  crd_word_stack *words = &services->lists[kind].words;
  ASSERT(words->top < words->limit, "[services.3] a list of registered objects is full");
  *words->top++ = entry;
  if (kind != REGISTERED_FINALIZER) return;
  ASSERT(services->finalizer_room > 0, "[services.3] a finalizer is listed for which there is no room");
  services->finalizer_room--;
}

/* Enters an object into the lists of its kinds. The entry is the address that the object had; each phase asks where
 * it is now. */
static void distribute(const cradle_heap *heap, cradle_word entry) {
  crd_services *services = heap->services;
  if (entry_queue(entry) != 0) { /* registered by the program, not by its type */
    enter(services, REGISTERED_FINALIZER, entry);
    return;
  }
  cradle_word header = *object_at(entry);
  /* The type id of an object that was promoted is in its copy's header. */
  if (header_is_forwarded(header)) header = *object_at(header_forwarded_to(header));
  const crd_type *type = heap_type(heap, header);
  for (unsigned kinds = type->registers; kinds != 0; kinds &= kinds - 1) {
    int kind = __builtin_ctz(kinds);
    enter(services, kind, kind == REGISTERED_FINALIZER ? entry_of(entry, type->queue) : entry);
  }
}

/* Most objects are dead here. Unless they may bring others back, they stay in fresh: nobody looks at their weak
 * slots and destructors unless they are brought back themselves. */
void crd_registry_distribute(crd_death *death) {
  const cradle_heap *heap = death->heap;
  crd_unlisted *unlisted = &death->unlisted;
  crd_word_stack fresh = crd_registry_fresh(heap);
  cradle_word *to = fresh.base;
  *unlisted = (crd_unlisted){to, to, 0};
  ASSERT(fresh.top >= fresh.base && fresh.top <= fresh.limit,
         "[services.3] more objects were registered than there was room for");
  for (const cradle_word *entry = to; entry < fresh.top; entry++) {
    cradle_word header = *entry_object(*entry);
    bool is_dead = !header_is_forwarded(header) && entry_queue(*entry) == 0 && heap_is_young(heap, *entry);
    unsigned kinds = is_dead ? heap_type(heap, header)->registers : REGISTERED_REVIVING;
    if (kinds & REGISTERED_REVIVING) {
      distribute(heap, *entry);
    } else {
      *to++ = *entry;
      unlisted->kinds |= kinds;
    }
  }
  unlisted->end = to;
  heap->mutator->public.registered = fresh.base;
}

void crd_registry_list_fresh(cradle_heap *heap) {
  crd_word_stack fresh = crd_registry_fresh(heap);
  if (fresh.base == NULL) return;
  for (const cradle_word *entry = fresh.base; entry < fresh.top; entry++) distribute(heap, *entry);
  heap->mutator->public.registered = fresh.base;
}

void crd_registry_distribute_rest(crd_death *death) {
  crd_unlisted *unlisted = &death->unlisted;
  for (const cradle_word *entry = unlisted->from; entry < unlisted->end; entry++) distribute(death->heap, *entry);
  unlisted->end = unlisted->from;
}

/* --- visiting --- */

void crd_registry_each_word(cradle_heap *heap, crd_slot_function visit, void *context) {
  crd_services *services = heap->services;
  ASSERT(heap->major.phase == MAJOR_IDLE, "a pass over a list is under way, or candidates wait");
  for (int kind = 0; kind < REGISTERED_KINDS; kind++)
    crd_list_each_word(services->lists[kind].words.base, services->lists[kind].words.top, visit, context);
  for (size_t i = 0; i < CRADLE_FINALIZER_QUEUES; i++)
    crd_list_each_word(services->queues[i].head, services->queues[i].words.top, visit, context);
  crd_weak_sets_each(heap, visit, context);
}

void crd_registry_each_slot(cradle_heap *heap, cradle_word *object, crd_slot_function visit, void *context) {
  service_visit_all(heap, object, CRADLE_ITEMS_WEAK, 0, visit, context);
  service_visit_all(heap, object, CRADLE_ITEMS_EPHEMERONS, 0, visit, context);
  service_visit_all(heap, object, CRADLE_ITEMS_EPHEMERONS, 1, visit, context);
}

void crd_registry_each_value(cradle_heap *heap, cradle_word *object, crd_slot_function visit, void *context) {
  service_visit_all(heap, object, CRADLE_ITEMS_EPHEMERONS, 1, visit, context);
}

void crd_registry_each_waiting(cradle_heap *heap, void (*visit)(void *context, uint32_t queue, cradle_word *word),
                               void *context) {
  for (uint32_t i = 0; i < CRADLE_FINALIZER_QUEUES; i++) {
    const crd_queue *queue = &heap->services->queues[i];
    for (cradle_word *word = queue->head; word < queue->shown; word++) visit(context, i + 1, word); /* [finalizer.3] */
  }
}

/* --- checks --- */

static const char *check_fresh(const cradle_heap *heap, uintptr_t *at) {
  crd_word_stack fresh = crd_registry_fresh(heap);
  for (const cradle_word *entry = fresh.base; entry < fresh.top; entry++) {
    *at = entry_address(*entry);
    if (!crd_list_is_object(heap, *at))
      return "what is no object was registered since the last minor collection [services.1]";
  }
  return NULL;
}

static const char *check_queue(const cradle_heap *heap, size_t number, uintptr_t *at) {
  const crd_queue *queue = &heap->services->queues[number];
  for (const cradle_word *word = queue->head; word < queue->words.top; word++) {
    *at = *word;
    if (!crd_old_is_object(&heap->old, *at)) return "a finalizer queue holds what is no object";
    bool passed = heap->major.phase == MAJOR_MARKING && word >= queue->head + queue->unmarked;
    if (passed && !old_is_marked(&heap->old, *at))
      return "an object that waits in a finalizer queue, and that marking has passed, is not marked [finalizer.5]";
  }
  return NULL;
}

const char *crd_registry_check(const cradle_heap *heap, uintptr_t *at) {
  const crd_services *services = heap->services;
  if (services == NULL) return NULL;
  const char *fault = check_fresh(heap, at);
  for (int kind = 0; kind < REGISTERED_KINDS && fault == NULL; kind++) fault = crd_list_check(heap, kind, at);
  for (size_t i = 0; i < CRADLE_FINALIZER_QUEUES && fault == NULL; i++) fault = check_queue(heap, i, at);
  return fault;
}
