#include "gc/death/service_memory.h"

#include <string.h>

#include "gc/death/services.h"
#include "gc/platform/limits.h"
#include "gc/platform/pages.h"

/* The address space of a list has room for an eighth as many entries as the old generation could have words, at most
 * 256 Mi entries. */
#define LIST_SHARE 8
#define LIST_MAX_BYTES ((size_t)2 << 30)
#define LIST_MIN_BYTES ((size_t)16 << 10)
/* About as many stacks exist: address space for all of them is asked for at once, to see whether there is enough. */
#define LISTS 32
/* Where address space is limited, all of them together take one part in so many of what is left. A stack is mapped when
 * it is first needed, so few programs take all of it. */
#define ADDRESS_PARTS 2
/* Attempts to get a stack. Between the look and the attempt, other threads may take addresses. */
#define ATTEMPTS 4
/* A stack that grew beyond this gives its pages back after a major collection. */
#define KEPT_BYTES ((size_t)LIMIT(1 << 20, 4 << 10))
/* So much is given back before a look at the clock: about 0.1 ms of work. */
#define TRIM_BYTES ((size_t)LIMIT(1 << 20, 4 << 10))
/* Room for finalizers is made for at least so many at once. */
#define FINALIZER_ROOM_MIN LIMIT(1024, 2)

/* --- room --- */

/* How large all lists can be. If the system refuses addresses for all of them, half of what it would give: the rest
 * of the process needs some, too. 0: none are to be had now. */
static size_t list_bytes(crd_services *services) {
  size_t most = services->space->old.arenas.bytes / LIST_SHARE, bytes = most < LIST_MAX_BYTES ? most : LIST_MAX_BYTES;
  if (services->list_bytes == 0) bytes = crd_limits_share(LISTS * bytes, ADDRESS_PARTS, false) / LISTS;
  bool refused = false;
  for (; services->list_bytes == 0 && bytes >= LIST_MIN_BYTES; bytes /= 2, refused = true) {
    void *probe = crd_pages_reserve(LISTS * bytes, services->space->hardware->page_bytes, NULL);
    if (probe == NULL) continue;
    (void)crd_pages_unreserve(probe, LISTS * bytes);
    services->list_bytes = refused ? bytes / 2 : bytes;
  }
  return services->list_bytes;
}

/* A stack that came out smaller than asked would stay small for good, so probe again. */
static bool init_stack(crd_services *services, crd_word_stack *stack) {
  for (int attempt = 0; attempt < ATTEMPTS; attempt++) {
    size_t bytes = list_bytes(services);
    if (bytes == 0 || !crd_word_stack_init(stack, bytes, services->space->hardware->page_bytes, "cradle services"))
      return false;
    if ((size_t)((char *)stack->end - (char *)stack->base) >= bytes) return true;
    crd_word_stack_fini(stack);
    services->list_bytes = 0;
  }
  return false;
}

bool crd_services_room(crd_services *services, crd_word_stack *stack, size_t words) {
  if (stack->base == NULL && !init_stack(services, stack)) return false;
  /* Each step doubles what is committed. */
  while ((size_t)(stack->limit - stack->top) < words)
    if (!crd_word_stack_grow(stack)) return false;
  return true;
}

void crd_services_reach_room(crd_services *services, crd_death *death) {
  crd_watch_init(&death->watch, list_bytes(services), services->space->hardware->page_bytes);
  crd_reach *reach = &death->reach;
  crd_word_stack *stacks[] = {&reach->slots, &reach->open, &reach->path, &reach->members, &death->candidates.headers};
  for (size_t i = 0; i < sizeof stacks / sizeof *stacks; i++) (void)crd_services_room(services, stacks[i], 1);
}

/* If the first pages are refused, the list has an address but no memory. It is empty, and the next registration
 * tries again. */
static bool init_list(crd_services *services, crd_list *list) {
  bool ready = crd_services_room(services, &list->words, 1);
  list->kept = list->next = list->young = list->words.base;
  return ready;
}

/* What waits is moved to the beginning first: the VM takes objects out at the front, and the room there would be
 * lost. */
static bool queue_room(crd_services *services, crd_queue *queue, size_t count) {
  size_t waiting = (size_t)(queue->words.top - queue->head), shown = (size_t)(queue->shown - queue->head);
  if (queue->head != queue->words.base) {
    memmove(queue->words.base, queue->head, waiting * sizeof *queue->head);
    queue->words.top = queue->words.base + waiting;
  }
  bool ready = crd_services_room(services, &queue->words, count);
  queue->head = queue->words.base;                               /* of a queue without memory, too */
  queue->shown = shown == 0 ? queue->head : queue->head + shown; /* NULL where there is none yet */
  return ready;
}

/* Makes room for so many finalizers more than are listed, wherever they may go [services.3]: one collection may make
 * all of them candidates, and one queue may get them all. */
static bool finalizer_room_for(crd_services *services, size_t more) {
  const crd_word_stack *list = &services->lists[REGISTERED_FINALIZER].words;
  size_t all = word_stack_count(list) + candidates_count(&services->major.candidates) + more;
  crd_candidates *candidates[] = {&services->minor.candidates, &services->major.candidates};
  for (size_t i = 0; i < 2; i++)
    if (!crd_services_room(services, &candidates[i]->entries, all) ||
        !crd_services_room(services, &candidates[i]->ordered, all))
      return false;
  for (size_t i = 0; i < CRADLE_FINALIZER_QUEUES; i++)
    if (!queue_room(services, &services->queues[i], all)) return false;
  services->finalizer_room = more;
  return true;
}

/* Makes room for needed finalizers and for as many again as are listed, so that it seldom has to; for fewer of these
 * if memory is refused. */
static bool finalizer_room(crd_services *services, size_t needed) {
  if (services->finalizer_room >= needed) return true;
  const crd_word_stack *list = &services->lists[REGISTERED_FINALIZER].words;
  size_t listed = word_stack_count(list), again = listed < FINALIZER_ROOM_MIN ? FINALIZER_ROOM_MIN : listed;
  while (again > 0 && !finalizer_room_for(services, needed + again)) again /= 2;
  return again > 0 || finalizer_room_for(services, needed);
}

bool crd_services_list_room(crd_services *services, int kind, size_t needed) {
  crd_list *list = &services->lists[kind];
  if (word_stack_committed(&list->words) == 0 && !init_list(services, list)) return false;
  if (!crd_services_room(services, &list->words, needed)) return false;
  return kind != REGISTERED_FINALIZER || finalizer_room(services, needed);
}

/* --- all stacks --- */

enum { DEATH_STACKS = 9 };

static void stacks_of(crd_death *death, crd_word_stack **stacks) {
  crd_word_stack *of[DEATH_STACKS] = {
      &death->reach.slots,        &death->reach.open,         &death->reach.path,
      &death->reach.members,      &death->candidates.entries, &death->candidates.headers,
      &death->candidates.ordered, &death->watch.entries,      &death->watch.buckets};
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
  visit(context, &services->items);
  visit(context, &services->scan.noted);
}

/* --- giving back --- */

/* Whether a stack's pages can be dropped without a loss. The buckets of a watch table without entries are zeros,
 * which fresh pages are as well. */
static bool is_spare(const crd_services *services, const crd_word_stack *stack) {
  if (stack == &services->major.watch.buckets) return watch_count(&services->major.watch) == 0;
  if (stack == &services->minor.watch.buckets) return watch_count(&services->minor.watch) == 0;
  return word_stack_is_empty(stack);
}

/* Gives a stack's pages back, piece by piece. true: all of them. */
static bool trim_stack(crd_trim *trim, const crd_word_stack *stack, crd_pace *pace) {
  size_t committed = word_stack_committed(stack);
  while (committed > KEPT_BYTES && trim->bytes < committed) {
    size_t rest = committed - trim->bytes, piece = rest < TRIM_BYTES ? rest : TRIM_BYTES;
    (void)crd_pages_discard((char *)stack->base + trim->bytes, piece);
    trim->bytes += piece;
    pace->countdown = 1; /* each piece takes long enough to look at the clock */
    if (pace_is_over(pace)) return false;
  }
  return true;
}

bool crd_services_trim(crd_death *death, crd_pace *pace) {
  crd_services *services = death->services;
  crd_trim *trim = &services->trim;
  crd_word_stack *stacks[2 * DEATH_STACKS];
  stacks_of(death, stacks);
  stacks_of(&services->minor, stacks + DEATH_STACKS); /* they are empty outside of minor collections */
  crd_watch_clear(&death->watch);
  for (; trim->stacks < sizeof stacks / sizeof *stacks; trim->stacks++, trim->bytes = 0) {
    ASSERT(is_spare(services, stacks[trim->stacks]), "[services.4] a stack that is given back is in use");
    if (!trim_stack(trim, stacks[trim->stacks], pace)) return false;
  }
  trim->stacks = 0;
  return true;
}

static void discard_stack(void *context, crd_word_stack *stack) {
  if (stack->base != NULL) crd_word_stack_discard(stack, *(const size_t *)context);
}

void crd_services_discard(crd_services *services) {
  if (services == NULL) return;
  ASSERT(services->marking->major.phase == MAJOR_IDLE,
         "[services.4] stacks are given back while a collection uses them");
  /* The end of fresh is in the mutator; the pages below it must stay. */
  cradle_word *registered = services->space->mutator->public.registered;
  if (registered != NULL) services->fresh.top = registered;
  size_t page_bytes = services->space->hardware->page_bytes;
  each_stack(services, discard_stack, &page_bytes);
}

static void add_committed(void *bytes, crd_word_stack *stack) {
  *(size_t *)bytes += word_stack_committed(stack);
}

size_t crd_services_committed(crd_services *services) {
  if (services == NULL) return 0;
  size_t bytes = services->sets.bytes;
  each_stack(services, add_committed, &bytes);
  return bytes;
}

static void fini_stack(void *context, crd_word_stack *stack) {
  (void)context;
  crd_word_stack_fini(stack);
}

void crd_services_free_stacks(crd_services *services) {
  each_stack(services, fini_stack, NULL);
}
