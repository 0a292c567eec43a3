#include "gc/death/registry.h"

#include <stdlib.h>
#include <string.h>

#include "gc/death/services.h"
#include "gc/platform/limits.h"
#include "gc/platform/pages.h"

/* A minor collection finds the order of all young finalizers at once, at 100 to 160 ns for each. So with a pause target
 * one is asked for when so many objects were registered as would take the target, but not for a few. */
#define REGISTERED_NS 128
#define REGISTERED_LEAST ((size_t)4096)
/* The address space of a list has room for an eighth as many entries as the old generation could have words, at most
 * 256 Mi entries. */
#define LIST_SHARE 8
#define LIST_MAX_BYTES ((size_t)2 << 30)
/* Where address space is limited or refused, all of them together take one part in so many of what is left. A stack is
 * mapped when it is first needed, so few programs take all of it. */
#define ADDRESS_PARTS 2
/* A stack that grew beyond this gives its pages back after a major collection, so much before each look at the clock:
 * about 0.1 ms of work. */
#define TRIM_BYTES ((size_t)LIMIT(1 << 20, 4 << 10))
/* Room for finalizers is made for at least so many at once. */
#define FINALIZER_ROOM_MIN LIMIT(1024, 2)

bool crd_pace_is_over_slow(crd_pace *pace) {
  pace->countdown = PACE_ENTRIES;
  return pace->budget.bytes == 0 ||
         (pace->budget.deadline_ns != UINT64_MAX && crd_platform_now_ns() >= pace->budget.deadline_ns);
}

/* --- all stacks --- */

enum { DEATH_STACKS = 8, REACH_STACKS = 6 };
enum { ALL_STACKS = 2 * DEATH_STACKS + REGISTERED_KINDS + CRADLE_FINALIZER_QUEUES + 1 };

/* Those of the major collection first, then the minor collections'. Of both, the REACH_STACKS that may be refused. */
static void all_stacks(crd_services *services, crd_word_stack **stacks) {
  crd_death *deaths[] = {&services->major, &services->minor};
  for (size_t i = 0; i < 2; i++, stacks += DEATH_STACKS) {
    crd_reach *reach = &deaths[i]->reach;
    crd_candidates *candidates = &deaths[i]->candidates;
    crd_word_stack *of[DEATH_STACKS] = {&reach->slots,
                                        &reach->open,
                                        &reach->path,
                                        &candidates->headers,
                                        &deaths[i]->watch.entries,
                                        &deaths[i]->watch.buckets,
                                        &candidates->entries,
                                        &candidates->ordered};
    memcpy(stacks, of, sizeof of);
  }
  for (int kind = 0; kind < REGISTERED_KINDS; kind++) *stacks++ = &services->lists[kind].words;
  for (size_t i = 0; i < CRADLE_FINALIZER_QUEUES; i++) *stacks++ = &services->queues[i].words;
  *stacks++ = &services->items;
}

/* --- room --- */

/* Of address space, for each stack and for a mutator's fresh. 0: none is to be had now. */
static size_t stack_bytes(crd_services *services) {
  if (services->list_bytes != 0) return services->list_bytes;
  size_t most = services->space->old.arenas.bytes / LIST_SHARE;
  size_t all = (ALL_STACKS + 1) * (most < LIST_MAX_BYTES ? most : LIST_MAX_BYTES);
  void *probe = crd_pages_reserve(all, services->space->hardware->page_bytes, NULL);
  if (probe != NULL) (void)crd_pages_unreserve(probe, all);
  return services->list_bytes = crd_limits_share(all, ADDRESS_PARTS, probe == NULL) / (ALL_STACKS + 1);
}

/* Makes room for so many words above the top. false: memory was refused. */
static bool room_for(crd_services *services, crd_word_stack *stack, size_t words) {
  if (stack->base == NULL) {
    size_t bytes = stack_bytes(services), page_bytes = services->space->hardware->page_bytes;
    if (bytes == 0 || !crd_word_stack_init(stack, bytes, page_bytes, "cradle services")) return false;
  }
  while ((size_t)(stack->limit - stack->top) < words)
    if (!crd_word_stack_grow(stack)) return false;
  return true;
}

/* First memory for the stacks of reach and the watch table. If it is refused, only the order of finalizers is lost, and
 * the next call asks again. */
static void reach_room(crd_services *services) {
  crd_word_stack *stacks[ALL_STACKS];
  all_stacks(services, stacks);
  for (size_t i = 0; i < 2 * DEATH_STACKS; i++)
    if (i % DEATH_STACKS < REACH_STACKS) (void)room_for(services, stacks[i], 1);
}

/* What waits is moved to the beginning first: the VM takes objects out at the front, and the room there would be
 * lost. */
static bool queue_room(crd_services *services, crd_queue *queue, size_t count) {
  size_t waiting = (size_t)(queue->words.top - queue->head), shown = (size_t)(queue->shown - queue->head);
  if (queue->head != queue->words.base) {
    memmove(queue->words.base, queue->head, waiting * sizeof *queue->head);
    queue->words.top = queue->words.base + waiting;
  }
  bool ready = room_for(services, &queue->words, count);
  queue->head = queue->words.base;                               /* also if the memory was refused */
  queue->shown = shown == 0 ? queue->head : queue->head + shown; /* NULL if it has never had memory */
  return ready;
}

/* Makes room for so many finalizers more than are listed [services.3]: one collection may make all of them candidates,
 * and one queue may get them all. */
static bool finalizer_room_for(crd_services *services, size_t more) {
  const crd_word_stack *list = &services->lists[REGISTERED_FINALIZER].words;
  size_t all = word_stack_count(list) + candidates_count(&services->major.candidates) + more;
  crd_candidates *candidates[] = {&services->minor.candidates, &services->major.candidates};
  for (size_t i = 0; i < 2; i++)
    if (!room_for(services, &candidates[i]->entries, all) || !room_for(services, &candidates[i]->ordered, all))
      return false;
  for (size_t i = 0; i < CRADLE_FINALIZER_QUEUES; i++)
    if (!queue_room(services, &services->queues[i], all)) return false;
  services->finalizer_room = more;
  return true;
}

/* Makes room for as many again as are listed, so that it seldom has to; for fewer of these if memory is refused. */
static bool finalizer_room(crd_services *services, size_t needed) {
  if (services->finalizer_room >= needed) return true;
  const crd_word_stack *list = &services->lists[REGISTERED_FINALIZER].words;
  size_t listed = word_stack_count(list), again = listed < FINALIZER_ROOM_MIN ? FINALIZER_ROOM_MIN : listed;
  while (again > 0 && !finalizer_room_for(services, needed + again)) again /= 2;
  return again > 0 || finalizer_room_for(services, needed);
}

/* Makes room to list so many objects more; for finalizers, also in every queue and list to which they may go. */
static bool list_room(crd_services *services, int kind, size_t needed) {
  crd_list *list = &services->lists[kind];
  bool is_new = word_stack_committed(&list->words) == 0, has_room = room_for(services, &list->words, needed);
  /* A list whose first pages are refused has an address and is empty. */
  if (is_new) list->kept = list->next = list->young = list->words.base;
  return has_room && (kind != REGISTERED_FINALIZER || finalizer_room(services, needed));
}

/* --- registration --- */

crd_services *crd_registry_open(crd_space *space, crd_marking *marking) {
  if (space->services != NULL) return space->services;
  crd_services *services = calloc(1, sizeof *services);
  if (services == NULL) return NULL;
  *services = (crd_services){.space = space,
                             .marking = marking,
                             .stage = STAGE_NONE, /* the first stage would have the guard up */
                             .minor = {.services = services, .space = space, .is_minor = true},
                             .major = {.services = services, .space = space}};
  crd_weak_sets_init(&services->sets);
  space->death = crd_order_calls();
  return space->services = services;
}

void crd_registry_close(const crd_space *space) {
  for (EACH_MUTATOR(mutator, space)) mutator->public.registered_end = mutator->public.registered;
}

/* How many objects may be registered before a minor collection is asked for. */
static size_t registered_most(const crd_services *services) {
  uint64_t most = services->space->options->pause_ns / REGISTERED_NS;
  if (services->space->options->pause_ns == 0 || !(services->kinds >> REGISTERED_FINALIZER & 1)) return SIZE_MAX;
  return most < REGISTERED_LEAST ? REGISTERED_LEAST : (size_t)most;
}

/* How much the next minor collection may list: what is fresh, and all that mutators may register without asking. How
 * far other mutators have come with that is not read: they register meanwhile. */
static size_t promised(const crd_space *space) {
  size_t entries = 0;
  for (EACH_MUTATOR(mutator, space)) entries += (size_t)(mutator->public.registered_end - mutator->local->fresh.base);
  for (EACH_LOCAL(local, space))
    if (local_is_free(local)) entries += word_stack_count(&local->fresh);
  return entries;
}

/* The least room that any list has. */
static size_t least_room(const crd_services *services) {
  size_t room = services->kinds >> REGISTERED_FINALIZER & 1 ? services->finalizer_room : SIZE_MAX;
  for (int kind = 0; kind < REGISTERED_KINDS; kind++) {
    const crd_word_stack *words = &services->lists[kind].words;
    size_t free_words = (size_t)(words->limit - words->top);
    if (services->kinds >> kind & 1 && free_words < room) room = free_words;
  }
  return room;
}

/* Lets the mutator register what is spare, but only its part of what may be registered before the next minor
 * collection. count: what is promised already. */
static void give_quota(const crd_services *services, crd_mutator *m, size_t count, size_t spare) {
  size_t most = registered_most(services), mutators = 0;
  for (EACH_MUTATOR(mutator, services->space)) mutators++;
  if (count >= most && !collection_is_off(services->space->options)) cradle_safepoint_request(&m->public);
  size_t quota = ((count < most ? most - count : most) - 1) / mutators + 1;
  size_t room = (size_t)(m->local->fresh.limit - m->public.registered);
  if (quota > spare) quota = spare;
  m->public.registered_end = m->public.registered + (quota < room ? quota : room);
}

/* The lists need room for everything that is fresh, because the next minor collection may move all of it. */
bool crd_registry_make_room(crd_mutator *m, unsigned kinds) {
  crd_services *services = crd_registry_open(m->space, m->marking);
  if (services == NULL) return false;
  cradle_mutator *mutator = &m->public;
  crd_word_stack *fresh = &m->local->fresh;
  fresh->top = mutator->registered;
  bool has_room = room_for(services, fresh, 1);
  if (mutator->registered == NULL) mutator->registered = fresh->base;
  mutator->registered_end = mutator->registered; /* so that nothing is registered if memory is refused below */
  if (!has_room) return false;
  kinds |= services->kinds | services->space->types.registers;
  size_t needed = promised(services->space);
  for (int kind = 0; kind < REGISTERED_KINDS; kind++)
    if (kinds >> kind & 1 && !list_room(services, kind, needed + 1)) return false;
  reach_room(services);
  services->kinds = kinds;
  give_quota(services, m, needed, least_room(services) - needed);
  ASSERT(mutator->registered < mutator->registered_end, "[services.3] there is no room for what room was made for");
  return true;
}

bool crd_registry_adopt(crd_services *services, int kind, uintptr_t address) {
  crd_list *list = &services->lists[kind];
  if (list_is_empty(list)) reach_room(services);
  if (!list_room(services, kind, 1) || !word_stack_push(&list->words, entry_of(address, 0))) return false;
  services->kinds |= 1u << kind;
  list->young = list->words.top;
  return true;
}

/* --- giving back --- */

bool crd_services_trim(crd_death *death, crd_pace *pace) {
  crd_services *services = death->services;
  crd_word_stack *stacks[ALL_STACKS];
  all_stacks(services, stacks);
  crd_watch_clear(&death->watch);
  for (; services->trimmed_stacks < 2 * DEATH_STACKS; services->trimmed_stacks++, services->trimmed_bytes = 0) {
    const crd_word_stack *stack = stacks[services->trimmed_stacks];
    size_t committed = word_stack_committed(stack);
    ASSERT(word_stack_is_empty(stack), "[services.4] a stack that is given back is in use");
    while (committed > TRIM_BYTES && services->trimmed_bytes < committed) {
      size_t rest = committed - services->trimmed_bytes, piece = rest < TRIM_BYTES ? rest : TRIM_BYTES;
      (void)crd_pages_discard((char *)stack->base + services->trimmed_bytes, piece);
      services->trimmed_bytes += piece;
      pace->countdown = 1; /* each piece takes long enough to look at the clock */
      if (pace_is_over(pace)) return false;
    }
  }
  services->trimmed_stacks = 0;
  return true;
}

void crd_services_discard(crd_services *services) {
  if (services == NULL) return;
  ASSERT(services->marking->major.phase == MAJOR_IDLE,
         "[services.4] stacks are given back while a collection uses them");
  for (EACH_LOCAL(local, services->space)) {
    local->fresh.top = *local->registered;
    crd_word_stack_discard(&local->fresh, services->space->hardware->page_bytes);
  }
  crd_word_stack *stacks[ALL_STACKS];
  all_stacks(services, stacks);
  for (size_t i = 0; i < ALL_STACKS; i++)
    if (stacks[i]->base != NULL) crd_word_stack_discard(stacks[i], services->space->hardware->page_bytes);
}

size_t crd_services_committed(crd_services *services) {
  if (services == NULL) return 0;
  crd_word_stack *stacks[ALL_STACKS];
  all_stacks(services, stacks);
  size_t bytes = services->sets.bytes;
  for (size_t i = 0; i < ALL_STACKS; i++) bytes += word_stack_committed(stacks[i]);
  return bytes;
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

/* Enters an object into the lists of its kinds, by the address that it had: each phase asks where it is now. */
static void distribute(crd_services *services, cradle_word entry) {
  if (entry_queue(entry) != 0) { /* registered by the program, not by its type */
    enter(services, REGISTERED_FINALIZER, entry);
    return;
  }
  cradle_word header = *object_at(entry);
  /* The type id of an object that was promoted is in its copy's header. */
  if (header_is_forwarded(header)) header = *object_at(header_forwarded_to(header));
  const crd_type *type = space_type(services->space, header);
  for (unsigned kinds = type->registers; kinds != 0; kinds &= kinds - 1) {
    int kind = __builtin_ctz(kinds);
    enter(services, kind, kind == REGISTERED_FINALIZER ? entry_of(entry, type->queue) : entry);
  }
}

static void distribute_all(crd_services *services, crd_local *local) {
  const cradle_word *end = local->fresh.top;
  for (const cradle_word *entry = local->fresh.base; entry < end; entry++) distribute(services, *entry);
  local->fresh.top = local->fresh.base;
}

/* Most objects are dead here. Unless they may bring others back, they stay in fresh, up to fresh.top. Returns the kinds
 * of those. */
static unsigned distribute_reached(crd_services *services, crd_local *local) {
  const crd_space *space = services->space;
  const cradle_word *end = *local->registered;
  cradle_word *to = local->fresh.base;
  unsigned unlisted = 0;
  ASSERT(to <= end && end <= local->fresh.limit, "[local.3] more objects were registered than there was room for");
  for (const cradle_word *entry = to; entry < end; entry++) {
    cradle_word header = *entry_object(*entry);
    bool is_dead = !header_is_forwarded(header) && entry_queue(*entry) == 0 && space_is_young(space, *entry);
    unsigned kinds = is_dead ? space_type(space, header)->registers : REGISTERED_REVIVING;
    if (kinds & REGISTERED_REVIVING) {
      distribute(services, *entry);
    } else {
      *to++ = *entry;
      unlisted |= kinds;
    }
  }
  local->fresh.top = to;
  return unlisted;
}

/* What a mutator may register without asking stays as much: it may have made room for the object that it allocates
 * now. */
void crd_registry_distribute(crd_death *death) {
  death->unlisted = 0;
  for (EACH_LOCAL(local, death->space)) death->unlisted |= distribute_reached(death->services, local);
  for (EACH_MUTATOR(m, death->space)) {
    cradle_mutator *mutator = &m->public;
    if (mutator->registered == NULL) continue;
    mutator->registered_end -= mutator->registered - m->local->fresh.base;
    mutator->registered = m->local->fresh.base;
  }
}

void crd_registry_distribute_rest(crd_death *death) {
  for (EACH_LOCAL(local, death->space)) distribute_all(death->services, local);
}

void crd_registry_fini(crd_space *space) {
  crd_services *services = space->services;
  if (services == NULL) return;
  /* Where collection is off, all that was ever registered is fresh. */
  crd_registry_distribute_rest(&services->minor);
  crd_destructors_fini(services); /* reads the lists */
  crd_word_stack *stacks[ALL_STACKS];
  all_stacks(services, stacks);
  for (size_t i = 0; i < ALL_STACKS; i++) crd_word_stack_fini(stacks[i]);
  for (EACH_LOCAL(local, space)) crd_word_stack_fini(&local->fresh);
  free(services);
  space->services = NULL;
  space->death = NULL;
}

/* --- what the program has stored into old holders --- */

/* In an entry, beside the slot and whether it holds a value: it is the key of a pair. */
#define ENTRY_OF_PAIR 2

const cradle_word *crd_stored_item(const crd_space *space, const cradle_word *holder, const cradle_word *word) {
  cradle_items kind = (cradle_items)space_type(space, CRADLE_HEADER_(cradle_word, holder))->weak_items;
  if (kind == CRADLE_ITEMS_NONE) return NULL;
  const crd_type *type = space_type(space, CRADLE_HEADER_(cradle_word, holder));
  size_t words = kind == CRADLE_ITEMS_EPHEMERONS ? 2 : 1;
  /* Of a word before the items, or outside of the object, where a trace callback may visit slots: a large number. */
  size_t at = (address_of(word) - address_of(holder) - type->size) / 8;
  return at / words < type_length(type, holder) ? word - at % words : NULL;
}

/* While marking watches, it must see the pairs that change, too: those of holders that were scanned already are scanned
 * again when the minor collection has ended. */
bool crd_stored_record(crd_services *services, const cradle_word *holder, const cradle_word *words, size_t count,
                       uint32_t *left) {
  crd_word_stack *items = &services->items;
  const crd_space *space = services->space;
  const crd_type *type = space_type(space, CRADLE_HEADER_(cradle_word, holder));
  bool pairs = type->weak_items == CRADLE_ITEMS_EPHEMERONS, watches = pairs && services->marking->major.watching;
  if (crd_stored_item(space, holder, words) == NULL) return false;
  for (size_t i = 0; i < count; i++) {
    uintptr_t address = space_address_in(space, type->weak_values, word_now(&words[i]));
    if (!watches && (address == 0 || !space_holds_young(space, address))) continue;
    cradle_word entry =
        slot_entry(crd_stored_item(space, holder, &words[i]), type->weak_values) | (pairs ? ENTRY_OF_PAIR : 0);
    if (!word_stack_is_empty(items) && items->top[-1] == entry) continue; /* the other word of the pair */
    if (*left == 0 || !room_for(services, items, 1) || !word_stack_push(items, entry)) return false;
    --*left;
  }
  return true;
}

crd_word_stack crd_stored_items(const crd_services *services) {
  return services == NULL ? (crd_word_stack){.base = NULL} : services->items;
}

void crd_stored_each(crd_death *death, int kind, bool (*visit)(crd_death *death, cradle_word *holder),
                     crd_slot_function visit_item) {
  const crd_list *list = &death->services->lists[kind];
  if (list_is_empty(list)) return;
  for (const cradle_word *entry = death->services->items.base; entry < death->services->items.top; entry++) {
    cradle_word slot = *entry & ~(cradle_word)ENTRY_OF_PAIR;
    if ((slot != *entry) == (kind == REGISTERED_EPHEMERON))
      visit_item(death, slot_entry_holds_value(slot), slot_of_entry(slot));
  }
  if (death->stored.all) {
    for (const cradle_word *entry = list->words.base; entry < list->young; entry++)
      if (list_has(list, entry)) (void)visit(death, object_at(*entry));
  } else if (death->stored.any) {
    for (EACH_LOCAL(local, death->space))
      for (const cradle_word *entry = local->remembered.base; entry < local->remembered.base + local->stored; entry++)
        if (header_is_weak(*object_at(*entry))) (void)visit(death, object_at(*entry));
  }
}

/* --- visiting --- */

/* Visits the entries [from, to), each without its lowest bits, which are put back afterwards. */
static void each_word(cradle_word *from, const cradle_word *to, crd_slot_function visit, void *context) {
  for (cradle_word *word = from; word < to; word++) {
    cradle_word bits = *word & ENTRY_BITS;
    *word = entry_address(*word);
    visit(context, false, word);
    *word |= bits;
  }
}

void crd_registry_each_word(crd_services *services, crd_slot_function visit, void *context) {
  ASSERT(services->marking->major.phase == MAJOR_IDLE, "a pass over a list is under way, or candidates wait");
  for (int kind = 0; kind < REGISTERED_KINDS; kind++)
    each_word(services->lists[kind].words.base, services->lists[kind].words.top, visit, context);
  for (size_t i = 0; i < CRADLE_FINALIZER_QUEUES; i++)
    each_word(services->queues[i].head, services->queues[i].words.top, visit, context);
  crd_weak_sets_each(services, visit, context);
}

void crd_registry_each_slot(const crd_space *space, cradle_word *object, crd_slot_function visit, void *context) {
  service_visit_all(space, object, CRADLE_ITEMS_WEAK, 0, visit, context);
  service_visit_all(space, object, CRADLE_ITEMS_EPHEMERONS, 0, visit, context);
  service_visit_all(space, object, CRADLE_ITEMS_EPHEMERONS, 1, visit, context);
}

void crd_registry_each_waiting(crd_services *services, void (*visit)(void *context, uint32_t queue, cradle_word *word),
                               void *context) {
  for (uint32_t i = 0; i < CRADLE_FINALIZER_QUEUES; i++) {
    const crd_queue *queue = &services->queues[i];
    for (cradle_word *word = queue->head; word < queue->shown; word++) visit(context, i + 1, word); /* [finalizer.3] */
  }
}

/* --- checks --- */

/* Whether an object, young or old, lies at an address, as far as that can be told. */
static bool is_object(const crd_services *services, uintptr_t address) {
  if (!space_is_young(services->space, address)) return crd_old_is_object(&services->space->old, address);
  return nursery_holds(services->space, address);
}

static const char *check_list(const crd_services *services, int kind, uintptr_t *at) {
  const crd_list *list = &services->lists[kind];
  for (const cradle_word *entry = list->words.base; entry < list->words.top; entry++) {
    if (!list_has(list, entry)) continue;
    uintptr_t address = *at = entry_address(*entry);
    if (!is_object(services, address)) return "a list of registered objects holds what is no object [services.1]";
    if (space_is_young(services->space, address)) return "an entry of a list is young [services.1]";
    cradle_word header = *object_at(address);
    if (kind != REGISTERED_FINALIZER && !(space_type(services->space, header)->registers >> kind & 1))
      return "an object is registered in a list that its type does not have [services.1]";
    if (kind <= REGISTERED_EPHEMERON && !header_is_weak(header) && !space_has_open(services->space, object_at(address)))
      return "a registered object lacks the weak flag [services.2]";
  }
  return NULL;
}

static const char *check_fresh(const crd_services *services, uintptr_t *at) {
  for (EACH_LOCAL(local, services->space))
    for (const cradle_word *entry = local->fresh.base; entry < *local->registered; entry++) {
      *at = entry_address(*entry);
      if (!is_object(services, *at))
        return "what is no object was registered since the last minor collection [services.1]";
    }
  return NULL;
}

static const char *check_queue(const crd_services *services, size_t number, uintptr_t *at) {
  const crd_queue *queue = &services->queues[number];
  for (const cradle_word *word = queue->head; word < queue->words.top; word++) {
    *at = *word;
    if (!crd_old_is_object(&services->space->old, *at)) return "a finalizer queue holds what is no object";
    bool passed = services->marking->major.phase == MAJOR_MARKING && word >= queue->head + queue->unmarked;
    if (passed && !old_is_marked(&services->space->old, *at))
      return "an object that waits in a finalizer queue, and that marking has passed, is not marked [finalizer.5]";
  }
  return NULL;
}

const char *crd_registry_check(const crd_services *services, uintptr_t *at) {
  if (services == NULL) return NULL;
  if (least_room(services) < promised(services->space))
    return "more objects may be registered than the lists have room for [services.3]";
  const char *fault = check_fresh(services, at);
  for (int kind = 0; kind < REGISTERED_KINDS && fault == NULL; kind++) fault = check_list(services, kind, at);
  for (size_t i = 0; i < CRADLE_FINALIZER_QUEUES && fault == NULL; i++) fault = check_queue(services, i, at);
  return fault;
}
