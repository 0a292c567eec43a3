/* Finalizers: dead objects that are given back to the VM.
 *
 * The dead objects of the finalizer list are the candidates, in registration order. If one of them leads to anything that was not
 * reached, each is watched, so that gc/reach.c, which reaches them from the last to the first, learns which of them lead to
 * which; what comes out is the order, last first. If none does, registration order is the order. Then they go to their
 * queues, alive. Objects in a queue are old, and roots of marking.
 */
#include <cradle/finalizer.h>

#include "gc/services.h"
#include "gc/visit.h"

static size_t count_of(const crd_word_stack *stack) {
  return (size_t)(stack->top - stack->base);
}

static uintptr_t address_of(cradle_word entry) {
  return (uintptr_t)(entry & ~(cradle_word)ENTRY_BITS);
}

/* --- finding --- */

typedef struct look {
  const crd_death *death;
  bool leads_on;
} look;

static inline void look_at(look *at, bool value, cradle_word word) {
  uintptr_t address = service_address(at->death->heap, value, word);
  if (address != 0 && death_find(at->death, address) == 0) at->leads_on = true;
}
static inline void look_at_reference(void *at, cradle_word *slot) {
  look_at(at, false, *slot);
}
static inline void look_at_value(void *at, cradle_word *slot) {
  look_at(at, true, *slot);
}

/* Whether reaching a dead object may reach more. Arrays and callbacks are not asked, nor what ephemerons hold. */
static bool leads_on(const crd_death *death, uintptr_t address) {
  cradle_word *object = (cradle_word *)address;
  const crd_type *type = heap_type(death->heap, object[0]);
  bool is_plain = type->items < CRADLE_ITEMS_REFERENCES && type->trace == NULL && !(type->registers >> REGISTERED_EPHEMERON & 1);
  if (!is_plain || object[0] & HEADER_WATCHED_FLAG) return true;
  look at = {death, false};
  visit_bitmap(object, type->references, look_at_reference, &at);
  visit_bitmap(object, type->values, look_at_value, &at);
  return at.leads_on;
}

/* [services.3]: there is room. */
static void add_candidate(crd_death *death, cradle_word entry) {
  if (count_of(&death->candidates) == 0) {
    death->ordering = death->unordered = false;
    death->watched = 0;
    death->ordered.top = death->ordered.base;
  }
  *death->candidates.top++ = entry;
  if (!death->ordering) death->ordering = leads_on(death, address_of(entry));
}

bool crd_finalizers_find_minor(crd_death *death) {
  crd_list *list = &death->heap->services->lists[REGISTERED_FINALIZER];
  cradle_word *to = list->young;
  for (const cradle_word *entry = list->young; entry < list->words.top; entry++) {
    uintptr_t place = death_find(death, address_of(*entry));
    if (place != 0)
      *to++ = place | (*entry & ENTRY_BITS);
    else
      add_candidate(death, *entry);
  }
  list->words.top = list->young = to;
  death->candidate = count_of(&death->candidates);
  return death->candidate != 0;
}

crd_verdict crd_finalizers_find_entry(crd_death *death, cradle_word *entry) {
  if (old_is_marked(&death->heap->old, address_of(*entry))) return ENTRY_KEEP;
  add_candidate(death, *entry);
  death->candidate = count_of(&death->candidates);
  return ENTRY_DROP;
}

/* --- reaching --- */

/* A candidate that cannot be watched costs the order. */
static void watch(crd_death *death) {
  cradle_word number = death->watched++;
  uintptr_t address = address_of(death->candidates.base[number]);
  if (number <= UINT32_MAX && crd_watch_add(&death->watch, address, number << WATCH_SHIFT | WATCH_CANDIDATE))
    *(cradle_word *)address |= HEADER_WATCHED_FLAG;
  else
    crd_reach_give_up_order(death);
}

bool crd_finalizers_reach(crd_death *death, crd_pace *pace) {
  while (death->ordering && death->watched < count_of(&death->candidates)) {
    watch(death);
    if (pace != NULL && crd_pace_is_over(pace)) return false;
  }
  death->reaching = true;
  for (;;) {
    if (!crd_reach_run(death, pace)) return false;
    if (death->candidate == 0) break;
    uintptr_t address = address_of(death->candidates.base[--death->candidate]);
    if (death_find(death, address) == 0) crd_reach_object(death, address);
    if (crd_reach_pauses(death, pace)) return false;
  }
  crd_reach_complete(death);
  death->reaching = false;
  return true;
}

/* --- queues --- */

static void put(crd_death *death, cradle_word candidate) {
  crd_queue *queue = &death->heap->services->queues[(candidate & ENTRY_BITS) - 1];
  ASSERT(queue->words.top < queue->words.limit, "[services.3] a finalizer queue is full");
  *queue->words.top++ = death_find(death, address_of(candidate));
}

/* Where none leads to another, or the order was given up, all of them in registration order. */
bool crd_finalizers_queue(crd_death *death, crd_pace *pace) {
  size_t all = count_of(&death->candidates);
  if (death->ordering || all == 0) {
    ASSERT(count_of(&death->ordered) + death->candidate == all, "a candidate has no place in the order");
    while (death->ordered.top > death->ordered.base) {
      put(death, death->candidates.base[*--death->ordered.top]);
      death->candidate++;
      if (pace != NULL && crd_pace_is_over(pace)) return false;
    }
  } else {
    while (death->candidate < all) {
      put(death, death->candidates.base[death->candidate++]);
      if (pace != NULL && crd_pace_is_over(pace)) return false;
    }
  }
  death->candidates.top = death->candidates.base;
  death->ordered.top = death->ordered.base;
  death->ordering = false;
  death->candidate = 0;
  return true;
}

void crd_death_mark_queues(cradle_heap *heap) {
  heap->services->watching = heap->services->major.incomplete = false;
  for (size_t i = 0; i < CRADLE_FINALIZER_QUEUES; i++) {
    const crd_queue *queue = &heap->services->queues[i];
    for (const cradle_word *word = queue->head; word < queue->words.top; word++) crd_mark_address(heap, (uintptr_t)*word);
  }
}

/* --- the public functions --- */

static crd_queue *queue_of(cradle_mutator *mutator, const char *what, uint32_t number) {
  crd_mutator_check_thread(mutator, what);
  if (number == 0 || number > CRADLE_FINALIZER_QUEUES) {
    crd_text text = {.length = 0};
    crd_text_add(&text, what);
    crd_text_add(&text, ": no queue ");
    crd_text_number(&text, number);
    crd_text_add(&text, "; they are 1 to 7");
    crd_misuse(mutator->heap, text.buffer);
  }
  return mutator->heap->services == NULL ? NULL : &mutator->heap->services->queues[number - 1];
}

bool cradle_finalizer_register(cradle_mutator *mutator, void *object, uint32_t queue) {
  (void)queue_of(mutator, "cradle_finalizer_register", queue);
  cradle_heap *heap = mutator->heap;
  uintptr_t address = (uintptr_t)object;
  if (!heap_is_young(heap, address) && !arenas_contain(&heap->old.arenas, address))
    crd_misuse(heap, "cradle_finalizer_register: the object is not in this heap");
  bool listed = heap->services != NULL && heap->services->kinds >> REGISTERED_FINALIZER & 1;
  if ((!listed || mutator->registered == mutator->registered_end) && !crd_registry_make_room(heap, 1u << REGISTERED_FINALIZER))
    return false;
  *mutator->registered++ = address | queue;
  return true;
}

void *cradle_finalizer_next(cradle_mutator *mutator, uint32_t number) {
  crd_queue *queue = queue_of(mutator, "cradle_finalizer_next", number);
  if (queue == NULL || queue->head == queue->words.top) return NULL;
  cradle_word *object = (cradle_word *)(uintptr_t)*queue->head++;
  if (queue->head == queue->words.top) queue->head = queue->words.top = queue->words.base;
  return object;
}

size_t cradle_finalizer_waiting(cradle_mutator *mutator, uint32_t number) {
  const crd_queue *queue = queue_of(mutator, "cradle_finalizer_waiting", number);
  return queue == NULL ? 0 : (size_t)(queue->words.top - queue->head);
}

void cradle_finalizer_queue_all(cradle_mutator *mutator) {
  crd_mutator_check(mutator, "cradle_finalizer_queue_all");
  cradle_heap *heap = mutator->heap;
  if (heap->services == NULL) return;
  crd_collect_major(heap, CRADLE_CAUSE_REQUEST, DEPTH_MAJOR); /* so that none runs, and all that is listed lives */
  crd_list *list = &heap->services->lists[REGISTERED_FINALIZER];
  while (list->words.top > list->words.base) {
    cradle_word entry = *--list->words.top;
    *heap->services->queues[(entry & ENTRY_BITS) - 1].words.top++ = address_of(entry);
  }
  list->young = list->words.top;
}
