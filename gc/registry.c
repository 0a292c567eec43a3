/* The registry: the lists of objects with services, and the memory of all services. Nothing of it exists on a heap before the
 * first such object. */
#include "gc/registry.h"

#include <stdlib.h>
#include <string.h>

#include <cradle/new.h>

#include "gc/platform/pages.h"
#include "gc/services.h"

/* Address space for a list: room for an eighth as many entries as the old generation could have words, at most 256 Mi. */
#define LIST_SHARE 8
#define LIST_MAX_BYTES ((size_t)2 << 30)
#define LIST_MIN_BYTES ((size_t)64 << 10)
/* About so many lists there are, or tables. */
#define LISTS 32
/* To get a stack, while others take addresses, too. */
#define ATTEMPTS 4
/* A stack that grew larger than this gives its pages back after a major collection. */
#define KEPT_BYTES ((size_t)LIMIT(1 << 20, 4 << 10))
/* So much of it at once, which takes some 0.1 ms. */
#define TRIM_BYTES ((size_t)LIMIT(1 << 20, 4 << 10))
/* Finalizers that can be registered before room for them is looked at again, at least. */
#define FINALIZER_ROOM_MIN LIMIT(1024, 2)

/* --- memory --- */

static crd_services *services_of(cradle_heap *heap) {
  if (heap->services != NULL) return heap->services;
  crd_services *services = calloc(1, sizeof *services);
  if (services == NULL) return NULL;
  services->stage = STAGE_NONE;
  services->minor.heap = services->major.heap = heap;
  services->minor.is_minor = true;
  return heap->services = services;
}

/* How large all lists can be. Where there are not enough addresses, half of what there is room for: the rest of the process has
 * some, too. 0: nothing is to be had now. */
static size_t list_bytes(const cradle_heap *heap) {
  crd_services *services = heap->services;
  size_t most = heap->options.reserve_bytes / LIST_SHARE, bytes = most < LIST_MAX_BYTES ? most : LIST_MAX_BYTES;
  bool refused = false;
  for (; services->list_bytes == 0 && bytes >= LIST_MIN_BYTES; bytes /= 2, refused = true) {
    void *probe = crd_pages_reserve(LISTS * bytes, heap->hardware.page_bytes, NULL);
    if (probe == NULL) continue;
    (void)crd_pages_unreserve(probe, LISTS * bytes);
    services->list_bytes = refused ? bytes / 2 : bytes;
  }
  return services->list_bytes;
}

/* One that is smaller because the system refused would stay so: what there is room for now is asked again. */
static bool init_stack(const cradle_heap *heap, crd_word_stack *stack) {
  for (int attempt = 0; attempt < ATTEMPTS; attempt++) {
    size_t bytes = list_bytes(heap);
    if (bytes == 0 || !crd_word_stack_init(stack, bytes, heap->hardware.page_bytes, "cradle services")) return false;
    if ((size_t)((char *)stack->end - (char *)stack->base) >= bytes) return true;
    crd_word_stack_fini(stack);
    heap->services->list_bytes = 0;
  }
  return false;
}

static bool ensure_room(const cradle_heap *heap, crd_word_stack *stack, size_t words) {
  if (stack->base == NULL && !init_stack(heap, stack)) return false;
  while ((size_t)(stack->limit - stack->top) < words)
    if (!crd_word_stack_grow(stack)) return false;
  return true;
}

/* These may stay without memory: order is lost then, nothing else. What was refused is asked for again. */
static void init_reach(cradle_heap *heap, crd_death *death) {
  (void)crd_watch_init(&death->watch, list_bytes(heap), heap->hardware.page_bytes);
  crd_word_stack *stacks[] = {&death->slots, &death->open, &death->path, &death->members};
  for (size_t i = 0; i < sizeof stacks / sizeof *stacks; i++) (void)ensure_room(heap, stacks[i], 1);
}

/* When its first pages are refused it has an address without memory: an empty list all the same, and the next object tries
 * again. */
static bool init_list(cradle_heap *heap, crd_list *list) {
  bool ready = ensure_room(heap, &list->words, 1);
  list->kept = list->next = list->young = list->words.base;
  return ready;
}

static bool queue_room(const cradle_heap *heap, crd_queue *queue, size_t count) {
  size_t waiting = (size_t)(queue->words.top - queue->head);
  if (queue->head != queue->words.base) {
    memmove(queue->words.base, queue->head, waiting * sizeof *queue->head);
    queue->words.top = queue->words.base + waiting;
  }
  bool ready = ensure_room(heap, &queue->words, count);
  queue->head = queue->words.base; /* that of a queue without memory, too */
  return ready;
}

/* Room for so many finalizers more than are listed, wherever they may go [services.3]. */
static bool finalizer_room_for(cradle_heap *heap, size_t more) {
  crd_services *services = heap->services;
  const crd_word_stack *list = &services->lists[REGISTERED_FINALIZER].words;
  size_t found = (size_t)(services->major.candidates.top - services->major.candidates.base);
  size_t all = (size_t)(list->top - list->base) + found + more;
  crd_death *deaths[] = {&services->minor, &services->major};
  for (size_t i = 0; i < 2; i++)
    if (!ensure_room(heap, &deaths[i]->candidates, all) || !ensure_room(heap, &deaths[i]->ordered, all)) return false;
  for (size_t i = 0; i < CRADLE_FINALIZER_QUEUES; i++)
    if (!queue_room(heap, &services->queues[i], all)) return false;
  services->finalizer_room = more;
  return true;
}

/* With room for as many as are listed again, or for as many of them as is to be had. */
static bool finalizer_room(cradle_heap *heap, size_t needed) {
  if (heap->services->finalizer_room >= needed) return true;
  const crd_word_stack *list = &heap->services->lists[REGISTERED_FINALIZER].words;
  size_t listed = (size_t)(list->top - list->base), again = listed < FINALIZER_ROOM_MIN ? FINALIZER_ROOM_MIN : listed;
  while (again > 0 && !finalizer_room_for(heap, needed + again)) again /= 2;
  return again > 0 || finalizer_room_for(heap, needed);
}

bool crd_registry_open(cradle_heap *heap) {
  return services_of(heap) != NULL;
}

void crd_registry_close(cradle_heap *heap) {
  if (heap->mutator != NULL) heap->mutator->public.registered_end = heap->mutator->public.registered;
}

/* A kind that was refused room is one that has none. */
void crd_registry_allow(cradle_heap *heap) {
  const crd_services *services = heap->services;
  unsigned kinds = services->kinds | heap->types.registers;
  size_t room = (size_t)(services->fresh.limit - services->fresh.base);
  for (int kind = 0; kind < REGISTERED_KINDS; kind++) {
    const crd_word_stack *words = &services->lists[kind].words;
    size_t free_words = (size_t)(words->limit - words->top);
    if (kinds >> kind & 1 && free_words < room) room = free_words;
  }
  if (kinds >> REGISTERED_FINALIZER & 1 && services->finalizer_room < room) room = services->finalizer_room;
  heap->mutator->public.registered_end = services->fresh.base + room;
}

static bool list_room(cradle_heap *heap, int kind, size_t needed) {
  crd_list *list = &heap->services->lists[kind];
  if (word_stack_committed(&list->words) == 0 && !init_list(heap, list)) return false;
  if (!ensure_room(heap, &list->words, needed)) return false;
  return kind != REGISTERED_FINALIZER || finalizer_room(heap, needed);
}

/* What is fresh has its room already; of the lists, that is used in the next minor collection. */
bool crd_registry_make_room(cradle_heap *heap, unsigned kinds) {
  crd_services *services = services_of(heap);
  if (services == NULL) return false;
  cradle_mutator *mutator = &heap->mutator->public;
  services->fresh.top = mutator->registered != NULL ? mutator->registered : services->fresh.base;
  if (!ensure_room(heap, &services->fresh, 1)) return false;
  /* No room yet, if a list is refused now. */
  if (mutator->registered == NULL) mutator->registered = mutator->registered_end = services->fresh.base;
  kinds |= services->kinds | heap->types.registers;
  size_t needed = (size_t)(services->fresh.top - services->fresh.base) + 1;
  for (int kind = 0; kind < REGISTERED_KINDS; kind++)
    if (kinds >> kind & 1 && !list_room(heap, kind, needed)) return false;
  init_reach(heap, &services->minor);
  init_reach(heap, &services->major);
  (void)ensure_room(heap, &services->noted, 1);
  services->kinds = kinds;
  crd_registry_allow(heap);
  return true;
}

static inline void enter(crd_services *services, int kind, cradle_word entry) {
  crd_word_stack *words = &services->lists[kind].words;
  ASSERT(words->top < words->limit, "[services.3] a list of registered objects is full");
  *words->top++ = entry;
}

/* An entry stays the address that the object had; the phases find out where it is. */
static void distribute(const cradle_heap *heap, cradle_word entry) {
  crd_services *services = heap->services;
  cradle_word queue = entry & ENTRY_BITS, address = entry - queue, header = *(const cradle_word *)(uintptr_t)address;
  if (header & HEADER_FORWARDED) header = *(const cradle_word *)(uintptr_t)(header & ~HEADER_FORWARDED);
  const crd_type *type = heap_type(heap, header);
  for (unsigned kinds = queue != 0 ? 1u << REGISTERED_FINALIZER : type->registers; kinds != 0; kinds &= kinds - 1) {
    int kind = __builtin_ctz(kinds);
    bool final = kind == REGISTERED_FINALIZER;
    enter(services, kind, final ? address | (queue != 0 ? queue : type->queue) : address);
    services->finalizer_room -= final;
  }
}

/* Most objects are dead here, and nobody looks at their weak slots and destructors unless they come back. */
void crd_registry_distribute(crd_death *death) {
  const cradle_heap *heap = death->heap;
  death->fresh = death->fresh_end = heap->services->fresh.base;
  death->fresh_kinds = 0;
  if (heap->mutator == NULL || heap->mutator->public.registered == NULL) return;
  cradle_word *to = heap->services->fresh.base;
  for (const cradle_word *entry = to, *end = heap->mutator->public.registered; entry < end; entry++) {
    cradle_word header = *(const cradle_word *)(uintptr_t)(*entry & ~(cradle_word)ENTRY_BITS);
    bool is_dead = !(header & HEADER_FORWARDED) && !(*entry & ENTRY_BITS) && heap_is_young(heap, (uintptr_t)*entry);
    unsigned kinds = is_dead ? heap_type(heap, header)->registers : REGISTERED_REVIVING;
    if (kinds & REGISTERED_REVIVING) {
      distribute(heap, *entry);
    } else {
      *to++ = *entry;
      death->fresh_kinds |= kinds;
    }
  }
  death->fresh_end = to;
  heap->mutator->public.registered = heap->services->fresh.base;
}

void crd_registry_distribute_rest(crd_death *death) {
  for (const cradle_word *entry = death->fresh; entry < death->fresh_end; entry++) distribute(death->heap, *entry);
  death->fresh_end = death->fresh;
}

enum { DEATH_STACKS = 8 };

static void stacks_of(crd_death *death, crd_word_stack **stacks) {
  crd_word_stack *of[DEATH_STACKS] = {&death->slots,      &death->open,    &death->path,          &death->members,
                                      &death->candidates, &death->ordered, &death->watch.entries, &death->watch.buckets};
  memcpy(stacks, of, sizeof of);
}

static void each_stack(crd_services *services, void (*visit)(void *context, crd_word_stack *stack), void *context) {
  crd_word_stack *stacks[2 * DEATH_STACKS];
  stacks_of(&services->major, stacks);
  stacks_of(&services->minor, stacks + DEATH_STACKS);
  for (size_t i = 0; i < sizeof stacks / sizeof *stacks; i++) visit(context, stacks[i]);
  for (int kind = 0; kind < REGISTERED_KINDS; kind++) visit(context, &services->lists[kind].words);
  for (size_t i = 0; i < CRADLE_FINALIZER_QUEUES; i++) visit(context, &services->queues[i].words);
  visit(context, &services->fresh);
  visit(context, &services->noted);
}

bool crd_registry_has_sets(const cradle_heap *heap) {
  return heap->services != NULL && heap->services->sets != NULL;
}

/* Gives a stack's pages back; whether all of them are. */
static bool trim(crd_death *death, const crd_word_stack *stack, crd_pace *pace) {
  size_t committed = word_stack_committed(stack);
  while (committed > KEPT_BYTES && death->trimmed_bytes < committed) {
    size_t rest = committed - death->trimmed_bytes, piece = rest < TRIM_BYTES ? rest : TRIM_BYTES;
    (void)crd_pages_discard((char *)stack->base + death->trimmed_bytes, piece);
    death->trimmed_bytes += piece;
    pace->countdown = 1; /* each piece takes long enough to look at the clock */
    if (crd_pace_is_over(pace)) return false;
  }
  return true;
}

bool crd_registry_trim(crd_death *death, crd_pace *pace) {
  crd_word_stack *stacks[2 * DEATH_STACKS];
  stacks_of(death, stacks);
  stacks_of(&death->heap->services->minor, stacks + DEATH_STACKS); /* empty outside of minor collections */
  crd_watch_clear(&death->watch);
  for (; death->trimmed < sizeof stacks / sizeof *stacks; death->trimmed++, death->trimmed_bytes = 0)
    if (!trim(death, stacks[death->trimmed], pace)) return false;
  death->trimmed = 0;
  return true;
}

static void discard_stack(void *context, crd_word_stack *stack) {
  if (stack->base != NULL) crd_word_stack_discard(stack, ((const cradle_heap *)context)->hardware.page_bytes);
}

void crd_registry_discard(cradle_heap *heap) {
  crd_services *services = heap->services;
  if (services == NULL) return;
  cradle_word *registered = heap->mutator->public.registered;
  if (registered != NULL) services->fresh.top = registered;
  each_stack(services, discard_stack, heap);
}

static void add_committed(void *bytes, crd_word_stack *stack) {
  *(size_t *)bytes += word_stack_committed(stack);
}

size_t crd_registry_committed(const cradle_heap *heap) {
  if (heap->services == NULL) return 0;
  size_t bytes = crd_weak_sets_bytes(heap->services);
  each_stack(heap->services, add_committed, &bytes);
  return bytes;
}

static void fini_stack(void *context, crd_word_stack *stack) {
  (void)context;
  crd_word_stack_fini(stack);
}

void crd_registry_fini(cradle_heap *heap) {
  crd_services *services = heap->services;
  if (services == NULL) return;
  crd_destructors_fini(heap);
  each_stack(services, fini_stack, NULL);
  free(services);
  heap->services = NULL;
}

/* --- passes --- */

bool crd_pace_is_over(crd_pace *pace) {
  if (--pace->countdown > 0) return false;
  pace->countdown = PACE_ENTRIES;
  return pace->budget.bytes == 0 ||
         (pace->budget.deadline_ns != UINT64_MAX && crd_platform_now_ns() >= pace->budget.deadline_ns);
}

bool crd_list_pass(crd_death *death, int kind, crd_entry_function judge, crd_pace *pace) {
  crd_list *list = &death->heap->services->lists[kind];
  if (list->words.base == NULL) return true;
  ASSERT(list->young == list->words.top, "[services.1] a pass while objects are young");
  while (list->next < list->young) {
    crd_verdict verdict = judge(death, list->next);
    if (verdict == ENTRY_KEEP) *list->kept++ = *list->next;
    if (verdict != ENTRY_AGAIN) list->next++;
    if (crd_pace_is_over(pace)) return false;
  }
  list->words.top = list->young = list->kept;
  list->kept = list->next = list->words.base;
  return true;
}

/* --- visiting --- */

typedef void (*word_function)(void *context, cradle_word *word);

static void each_in(cradle_word *from, const cradle_word *to, word_function visit, void *context) {
  for (cradle_word *word = from; word < to; word++) {
    cradle_word bits = *word & ENTRY_BITS;
    *word &= ~(cradle_word)ENTRY_BITS;
    visit(context, word);
    *word |= bits;
  }
}

void crd_registry_each(cradle_heap *heap, word_function visit, void *context) {
  crd_services *services = heap->services;
  ASSERT(heap->major.phase == MAJOR_IDLE, "a pass over a list is under way, or candidates wait");
  for (int kind = 0; kind < REGISTERED_KINDS; kind++)
    each_in(services->lists[kind].words.base, services->lists[kind].words.top, visit, context);
  for (size_t i = 0; i < CRADLE_FINALIZER_QUEUES; i++)
    each_in(services->queues[i].head, services->queues[i].words.top, visit, context);
}

void crd_registry_each_slot(cradle_heap *heap, cradle_word *object, crd_move_function visit, void *context) {
  const crd_type *type = heap_type(heap, object[0]);
  const crd_type_services *services = heap_services_of(heap, object[0]);
  uint64_t bitmap = services->weak | services->ephemerons | services->ephemerons << 1;
  for (; bitmap != 0; bitmap &= bitmap - 1) visit(context, services->values, object + __builtin_ctzll(bitmap));
  if (services->items == CRADLE_ITEMS_NONE) return;
  cradle_word *items = object + type->size / 8;
  uint64_t words = type_length(type, object) * (services->items == CRADLE_ITEMS_EPHEMERONS ? 2 : 1);
  for (uint64_t i = 0; i < words; i++) visit(context, services->values, items + i);
}

void crd_registry_each_value(cradle_heap *heap, cradle_word *object, crd_move_function visit, void *context) {
  const crd_type *type = heap_type(heap, object[0]);
  const crd_type_services *services = heap_services_of(heap, object[0]);
  for (uint64_t bitmap = services->ephemerons; bitmap != 0; bitmap &= bitmap - 1)
    visit(context, services->values, object + __builtin_ctzll(bitmap) + 1);
  if (services->items != CRADLE_ITEMS_EPHEMERONS) return;
  cradle_word *items = object + type->size / 8;
  uint64_t pairs = type_length(type, object);
  for (uint64_t i = 0; i < pairs; i++) visit(context, services->values, items + 2 * i + 1);
}

void crd_registry_each_waiting(cradle_heap *heap, void (*visit)(void *context, uint32_t queue, cradle_word *word),
                               void *context) {
  for (uint32_t i = 0; i < CRADLE_FINALIZER_QUEUES; i++) {
    const crd_queue *queue = &heap->services->queues[i];
    for (cradle_word *word = queue->head; word < queue->words.top; word++) visit(context, i + 1, word);
  }
}

void crd_registry_each_set(cradle_heap *heap, crd_move_function visit, void *context) {
  crd_weak_sets_each(heap, visit, context);
}

/* --- checks --- */

bool crd_registry_is_open(const cradle_heap *heap, const cradle_word *object) {
  return heap->services != NULL && heap->services->major.ordering && (object[0] & HEADER_OPEN) != 0;
}

static bool is_object(const cradle_heap *heap, uintptr_t address) {
  if (!heap_is_young(heap, address)) return crd_old_is_object(&heap->old, address);
  return heap->mutator != NULL && address < (uintptr_t)heap->mutator->public.free;
}

crd_word_stack crd_registry_fresh(const cradle_heap *heap) {
  if (heap->services == NULL || heap->mutator == NULL || heap->mutator->public.registered == NULL) return (crd_word_stack){0};
  crd_word_stack fresh = heap->services->fresh;
  fresh.top = heap->mutator->public.registered;
  return fresh;
}

static const char *check_fresh(const cradle_heap *heap, uintptr_t *at) {
  crd_word_stack fresh = crd_registry_fresh(heap);
  for (const cradle_word *entry = fresh.base; entry < fresh.top; entry++) {
    *at = (uintptr_t)(*entry & ~(cradle_word)ENTRY_BITS);
    if (!is_object(heap, *at))
      return "what is no object was registered since the last minor collection [services.1]";
  }
  return NULL;
}

static const char *check_list(const cradle_heap *heap, const crd_list *list, int kind, uintptr_t *at) {
  for (const cradle_word *entry = list->words.base; entry < list->words.top; entry++) {
    if (entry >= list->kept && entry < list->next) continue;
    uintptr_t address = *at = (uintptr_t)(*entry & ~(cradle_word)ENTRY_BITS);
    if (!is_object(heap, address)) return "a list of registered objects holds what is no object [services.1]";
    if (heap_is_young(heap, address)) return "an entry of a list is young [services.1]";
    cradle_word header = *(const cradle_word *)address;
    if (kind != REGISTERED_FINALIZER && !(heap_type(heap, header)->registers >> kind & 1))
      return "an object is registered in a list that its type does not have [services.1]";
    if (kind <= REGISTERED_EPHEMERON && !(header & HEADER_WEAK_FLAG) && !crd_registry_is_open(heap, (const cradle_word *)address))
      return "a registered object lacks the weak flag [services.2]";
  }
  return NULL;
}

const char *crd_registry_check(const cradle_heap *heap, uintptr_t *at) {
  const crd_services *services = heap->services;
  if (services == NULL) return NULL;
  const char *fault = check_fresh(heap, at);
  for (int kind = 0; kind < REGISTERED_KINDS && fault == NULL; kind++) fault = check_list(heap, &services->lists[kind], kind, at);
  for (size_t i = 0; i < CRADLE_FINALIZER_QUEUES && fault == NULL; i++)
    for (const cradle_word *word = services->queues[i].head; word < services->queues[i].words.top && fault == NULL; word++) {
      *at = (uintptr_t)*word;
      if (!crd_old_is_object(&heap->old, *at)) fault = "a finalizer queue holds what is no object";
    }
  return fault;
}
