#include "gc/death/service_memory.h"

#include <string.h>

#include "gc/death/services.h"
#include "gc/platform/limits.h"
#include "gc/platform/pages.h"

/* The address space of a list has room for an eighth as many entries as the old generation could have words, at most
 * 256 Mi entries. */
#define LIST_SHARE 8
#define LIST_MAX_BYTES ((size_t)2 << 30)
/* Where address space is limited or refused, all of them together take one part in so many of what is left. A stack is
 * mapped when it is first needed, so few programs take all of it. */
#define ADDRESS_PARTS 2
/* A stack that grew beyond this gives its pages back after a major collection. */
#define KEPT_BYTES ((size_t)LIMIT(1 << 20, 4 << 10))
/* So much is given back before a look at the clock: about 0.1 ms of work. */
#define TRIM_BYTES ((size_t)LIMIT(1 << 20, 4 << 10))
/* Room for finalizers is made for at least so many at once. */
#define FINALIZER_ROOM_MIN LIMIT(1024, 2)

/* --- all stacks --- */

enum { DEATH_STACKS = 8, REACH_STACKS = 6 };
enum { ALL_STACKS = 2 * DEATH_STACKS + REGISTERED_KINDS + CRADLE_FINALIZER_QUEUES + 2 };

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
  *stacks++ = &services->fresh;
  *stacks++ = &services->items;
}

/* --- room --- */

/* Of address space, for each stack. 0: none is to be had now. */
static size_t stack_bytes(crd_services *services) {
  if (services->list_bytes != 0) return services->list_bytes;
  size_t most = services->space->old.arenas.bytes / LIST_SHARE;
  size_t all = ALL_STACKS * (most < LIST_MAX_BYTES ? most : LIST_MAX_BYTES);
  void *probe = crd_pages_reserve(all, services->space->hardware->page_bytes, NULL);
  if (probe != NULL) (void)crd_pages_unreserve(probe, all);
  return services->list_bytes = crd_limits_share(all, ADDRESS_PARTS, probe == NULL) / ALL_STACKS;
}

bool crd_services_room(crd_services *services, crd_word_stack *stack, size_t words) {
  if (stack->base == NULL) {
    size_t bytes = stack_bytes(services), page_bytes = services->space->hardware->page_bytes;
    if (bytes == 0 || !crd_word_stack_init(stack, bytes, page_bytes, "cradle services")) return false;
  }
  /* Each step doubles what is committed. */
  while ((size_t)(stack->limit - stack->top) < words)
    if (!crd_word_stack_grow(stack)) return false;
  return true;
}

void crd_services_reach_room(crd_services *services) {
  crd_word_stack *stacks[ALL_STACKS];
  all_stacks(services, stacks);
  for (size_t i = 0; i < 2 * DEATH_STACKS; i++)
    if (i % DEATH_STACKS < REACH_STACKS) (void)crd_services_room(services, stacks[i], 1);
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

/* --- giving back --- */

bool crd_services_trim(crd_death *death, crd_pace *pace) {
  crd_trim *trim = &death->services->trim;
  crd_word_stack *stacks[ALL_STACKS];
  all_stacks(death->services, stacks);
  crd_watch_clear(&death->watch);
  for (; trim->stacks < 2 * DEATH_STACKS; trim->stacks++, trim->bytes = 0) {
    const crd_word_stack *stack = stacks[trim->stacks];
    size_t committed = word_stack_committed(stack);
    ASSERT(word_stack_is_empty(stack), "[services.4] a stack that is given back is in use");
    while (committed > KEPT_BYTES && trim->bytes < committed) {
      size_t rest = committed - trim->bytes, piece = rest < TRIM_BYTES ? rest : TRIM_BYTES;
      (void)crd_pages_discard((char *)stack->base + trim->bytes, piece);
      trim->bytes += piece;
      pace->countdown = 1; /* each piece takes long enough to look at the clock */
      if (pace_is_over(pace)) return false;
    }
  }
  trim->stacks = 0;
  return true;
}

void crd_services_discard(crd_services *services) {
  if (services == NULL) return;
  ASSERT(services->marking->major.phase == MAJOR_IDLE,
         "[services.4] stacks are given back while a collection uses them");
  /* The end of fresh is in the mutator; the pages below it must stay. */
  cradle_word *registered = services->space->mutator->public.registered;
  if (registered != NULL) services->fresh.top = registered;
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

void crd_services_free_stacks(crd_services *services) {
  crd_word_stack *stacks[ALL_STACKS];
  all_stacks(services, stacks);
  for (size_t i = 0; i < ALL_STACKS; i++) crd_word_stack_fini(stacks[i]);
}
