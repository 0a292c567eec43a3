/* Mutators: their life, their thread, parking, and the checks of who may use them. */
#include "gc/mutator.h"

#include <stdlib.h>
#include <string.h>

#define CRADLE_WITHOUT_PLACES 1 /* cradle_call_begin is here */
#include <cradle/detail/call.h>

#include "gc/collect.h"
#include "gc/death/services.h"
#include "gc/heap.h"
#include "gc/platform/thread.h"
#include "gc/report/misuse.h"
#include "gc/roots.h"
#include "gc/turns.h"
#include "gc/unwind.h"
#include "gc/world.h"
#include "gc/young/nursery.h"

_Static_assert(offsetof(cradle_mutator, free) == CRADLE_MUTATOR_FREE_OFFSET, "published offset");
_Static_assert(offsetof(cradle_mutator, top) == CRADLE_MUTATOR_TOP_OFFSET, "published offset");
_Static_assert(offsetof(cradle_mutator, shadow_top) == CRADLE_MUTATOR_SHADOW_TOP_OFFSET, "published offset");
_Static_assert(offsetof(cradle_mutator, shadow_limit) == CRADLE_MUTATOR_SHADOW_LIMIT_OFFSET, "published offset");
_Static_assert(offsetof(cradle_mutator, shadow_watermark) == CRADLE_MUTATOR_SHADOW_WATERMARK_OFFSET,
               "published offset");

CRD_THREAD_LOCAL char crd_thread_mark = 0;

static CRADLE_COLD _Noreturn void entry_misuse(cradle_heap *heap, const char *what, const char *why) {
  crd_misuse(heap, "%s: %s", what, why);
}

/* Whoever waits for the thread may say where it was last. */
const char *cradle_call_begin(const char *place, const void *frame) {
  const char *outer = crd_running_call.place;
  crd_running_call = (crd_call){place, frame};
  for (crd_mutator *mutator = crd_thread_left(); mutator != NULL; mutator = mutator->next_attached)
    __atomic_store_n(&mutator->last_place, place, __ATOMIC_RELAXED);
  return outer;
}

static const char sampled[] = "called from a sampler's callback; callbacks must not use the heap";

void crd_heap_busy(cradle_heap *heap, const char *what) {
  static const char collecting[] = "called from a callback while a collection runs; callbacks must not use the heap";
  static const char *const called[HEAP_STATES] = {
      [HEAP_MUTATING] = "called from a listener while a collection waits for a mutator; it must not use the heap",
      [HEAP_COLLECTING] = collecting,
      [HEAP_VERIFYING] = collecting,
      [HEAP_FORKING] = "called after cradle_fork_prepare and before cradle_fork_done",
      [HEAP_DESTROYING] = "called from a destructor, an external-size callback or a weak set's swept function, or "
                          "after one was left with longjmp; they must not use the heap",
      [HEAP_TELLING] = "called from a listener, which must not use the heap",
      [HEAP_WALKING] = "called from a callback of a heap walk; callbacks must not use the heap",
      [HEAP_SAMPLING] = sampled,
  };
  entry_misuse(heap, what, called[heap->report.state]);
}

/* Whoever sees a mutator parked sees all that its last thread did with it. */
static bool is_parked(const crd_mutator *mutator) {
  return __atomic_load_n(&mutator->state, __ATOMIC_ACQUIRE) == MUTATOR_PARKED;
}
static bool is_detached(const crd_mutator *mutator) {
  return is_parked(mutator) && __atomic_load_n(&mutator->parked_by, __ATOMIC_RELAXED) == NULL;
}

static CRADLE_COLD void refuse_thread(cradle_mutator *mutator, const char *what) {
  const crd_mutator *m = mutator_of(mutator);
  const void *parked_by = __atomic_load_n(&m->parked_by, __ATOMIC_RELAXED);
  entry_misuse(mutator->heap, what,
               m->thread == MUTATOR_SAMPLED         ? sampled
               : parked_by == crd_thread_self()     ? "the mutator is parked: call cradle_mutator_unpark first"
               : !is_parked(m) || parked_by != NULL ? "the mutator is not attached to the calling thread"
               : m->orphaned ? "the thread of the mutator has ended: call cradle_mutator_attach first"
                             : "the mutator is attached to no thread: call cradle_mutator_attach first");
}
/* Asked before the state, which only the mutator's own thread may read safely. */
static void check_owner(cradle_mutator *mutator, const char *what) {
  if (CRADLE_UNLIKELY(__atomic_load_n(&mutator_of(mutator)->thread, __ATOMIC_RELAXED) != crd_thread_self()))
    refuse_thread(mutator, what);
}

/* The mutator of the heap that the calling thread has attached and not parked; NULL: none. Only the thread itself
 * changes its list. */
static crd_mutator *mutator_here(const cradle_heap *heap) {
  for (crd_mutator *mutator = crd_thread_left(); mutator != NULL; mutator = mutator->next_attached)
    if (mutator->space == &heap->space && mutator->thread != NULL) return mutator;
  return NULL;
}

crd_mutator *crd_heap_mutator(cradle_heap *heap) {
  return space_is_shared(&heap->space) ? mutator_here(heap) : heap->space.mutators;
}

/* A heap with one mutator is used by that one's thread. A shared heap may be used by any. */
void crd_heap_check_owner(cradle_heap *heap, const char *what) {
  crd_mutator *only = space_is_shared(&heap->space) ? NULL : heap->space.mutators;
  if (only == NULL) return;
  if (CRADLE_UNLIKELY(__atomic_load_n(&only->thread, __ATOMIC_RELAXED) != crd_thread_self()))
    refuse_thread(&only->public, what);
}

cradle_heap *crd_heap_hold(const cradle_heap *heap, const char *what) {
  cradle_heap *shared = heap_of(heap->space.report);
  bool is_told = crd_world_is_mine(&shared->space); /* a listener, which may read figures although not all stand */
  crd_world_take(&shared->space, mutator_here(heap));
  if (!is_told) crd_world_stop(&shared->space, what);
  return shared;
}

void crd_heap_enter(cradle_heap *heap, const char *what) {
  crd_heap_check_owner(heap, what);
  crd_mutator *mine = space_is_shared(&heap->space) ? mutator_here(heap) : NULL;
  if (mine != NULL && mine->thread == MUTATOR_SAMPLED) refuse_thread(&mine->public, what);
  if (space_is_shared(&heap->space)) crd_world_take(&heap->space, mine);
  heap_check(heap, what);
}

void crd_mutator_check_thread(cradle_mutator *mutator, const char *what) {
  check_owner(mutator, what);
  heap_check(mutator->heap, what);
}

void crd_heap_check_thread(cradle_heap *heap, const char *what) {
  crd_heap_check_owner(heap, what);
  heap_check(heap, what);
}

void crd_mutator_check(cradle_mutator *mutator, const char *what) {
  crd_mutator_check_thread(mutator, what);
  if (CRADLE_UNLIKELY(mutator->no_collect_depth != 0))
    entry_misuse(mutator->heap, what, "may collect, but a no-collection region is open (cradle_no_collect_begin)");
  /* A mistake shows here only by luck; the verifier looks for it. */
  if (CRADLE_UNLIKELY(mutator->shadow_top < mutator->shadow_watermark))
    entry_misuse(mutator->heap, what,
                 "the shadow stack's top is below its watermark: code that writes shadow_top lowers shadow_watermark, "
                 "too [mutator.6]");
  /* The common case makes no call, so that it saves no registers. */
  const cradle_options *options = &mutator->heap->options;
  if (CRADLE_ASSERTIONS || crd_running_call.place != NULL || options->verify || options->stress_period != 0)
    crd_unwind_check_scopes(mutator, what);
}

/* --- threads --- */

/* While a mutator has no thread that may use it, top is NULL, so that inline allocation is refused, too. */
static void park(crd_mutator *mutator, const void *by) {
  __atomic_store_n(&mutator->thread, NULL, __ATOMIC_RELAXED);
  __atomic_store_n(&mutator->parked_by, by, __ATOMIC_RELAXED);
  crd_world_park(mutator);
}

static void unpark(crd_mutator *mutator) {
  crd_world_unpark(mutator);
  __atomic_store_n(&mutator->parked_by, NULL, __ATOMIC_RELAXED);
  __atomic_store_n(&mutator->thread, crd_thread_self(), __ATOMIC_RELAXED);
}

/* Its scoped roots lay on the thread's C stack. */
static void orphan(crd_mutator *mutator) {
  crd_root_stack_drop_scopes(mutator);
  mutator->orphaned = true;
  park(mutator, NULL);
}

/* Runs as a thread ends that has left mutators attached. */
static void thread_ended(void *left) {
  for (crd_mutator *mutator = left, *next; mutator != NULL; mutator = next) {
    next = mutator->next_attached;
    if (mutator->parked_by != NULL) unpark(mutator); /* its roots change only while no collection looks at them */
    orphan(mutator);
  }
}

/* The lists of the other threads are gone with them. */
void crd_mutators_forked(cradle_heap *heap) {
  crd_team_forked(&heap->young);
  for (EACH_MUTATOR(mutator, &heap->space)) {
    if (mutator->thread == crd_thread_self() || mutator->parked_by == crd_thread_self()) continue;
    mutator->next_attached = NULL;
    mutator->attached_link = NULL;
    orphan(mutator);
  }
}

/* The first of a thread's mutators is what it leaves behind. */
static void attach(crd_mutator *mutator) {
  crd_mutator *first = crd_thread_left();
  mutator->orphaned = false;
  mutator->next_attached = first;
  mutator->attached_link = NULL;
  if (first != NULL) first->attached_link = &mutator->next_attached;
  crd_thread_leave(mutator, thread_ended);
  __atomic_store_n(&mutator->thread_id, crd_thread_id(), __ATOMIC_RELAXED);
  unpark(mutator);
}

static void detach(crd_mutator *mutator) {
  crd_mutator *next = mutator->next_attached;
  if (next != NULL) next->attached_link = mutator->attached_link;
  if (mutator->attached_link != NULL)
    *mutator->attached_link = next;
  else
    crd_thread_leave(next, thread_ended);
  park(mutator, NULL);
}

/* Two running mutators of one thread would wait for each other in the first stop. */
static void check_alone(cradle_heap *heap, const char *what) {
  if (crd_world_is_mine(&heap->space)) crd_heap_busy(heap, what); /* a callback would wait for its own thread */
  if (space_is_shared(&heap->space) && mutator_here(heap) != NULL)
    entry_misuse(heap, what, "the calling thread has a mutator of this heap already: park or detach that first");
}

static void attach_checked(crd_mutator *mutator, const char *what) {
  check_alone(mutator->public.heap, what);
  attach(mutator);
}

/* --- life --- */

/* Tells the listener, and so the log, which limit refused memory. Returns NULL. */
static CRADLE_COLD cradle_mutator *refused(cradle_heap *heap) {
  crd_text text = {.length = 0};
  crd_text_format(&text, "cradle_mutator_new: no memory for the mutator's root stacks: ");
  crd_text_limit(&text, heap->options.shadow_stack_bytes);
  crd_event_note(&heap->report, text.buffer, heap->options.shadow_stack_bytes, 0);
  return NULL;
}

static void check_room(cradle_heap *heap) {
  uint64_t count = 0;
  for (EACH_MUTATOR(mutator, &heap->space)) count++;
  if (count < heap->options.mutators) return;
  crd_misuse(heap, "cradle_mutator_new: the heap has its %llu mutator%s already (options.mutators)",
             (unsigned long long)count, count == 1 ? "" : "s");
}

/* A shared heap keeps the locals of mutators that went, with what they hold. NULL: memory was refused. */
static crd_local *find_local(cradle_heap *heap) {
  crd_local *last = &heap->space.locals;
  if (local_is_free(last)) return last;
  for (; last->next != NULL; last = last->next)
    if (local_is_free(last->next)) return last->next;
  crd_local *local = crd_local_new(&heap->young, last->number + 1);
  space_lock(&heap->space);
  last->next = local;
  space_unlock(&heap->space);
  return local;
}

/* With the world held. */
static void set_name(crd_mutator *mutator, const char *name) {
  crd_text number = {.length = 0};
  crd_text_format(&number, "mutator %llu", (unsigned long long)mutator->number);
  if (name == NULL || *name == 0) name = number.buffer;
  size_t length = strlen(name);
  if (length >= MUTATOR_NAME_BYTES) length = MUTATOR_NAME_BYTES - 1;
  memcpy(mutator->name, name, length);
  mutator->name[length] = 0;
}

static crd_mutator *make(cradle_heap *heap) {
  check_room(heap);
  crd_local *local = find_local(heap);
  crd_mutator *mutator = local == NULL ? NULL : malloc(sizeof *mutator);
  if (mutator == NULL) return NULL;
  /* A major collection may have been clearing since the last mutator went. */
  *mutator = (crd_mutator){.public = {.free = local->left,
                                      .registered = local->fresh.top,
                                      .registered_end = local->fresh.top,
                                      .heap = heap,
                                      .weak_guard = crd_death_guards(heap->space.services)},
                           .space = &heap->space,
                           .tables = &heap->tables,
                           .marking = &heap->marking,
                           .young = &heap->young,
                           .local = local,
                           .began = crd_space_allocated(&heap->space, local),
                           .number = ++heap->space.born};
  set_name(mutator, NULL);
  if (!crd_root_stack_open(mutator, heap->options.shadow_stack_bytes, heap->hardware.page_bytes)) {
    crd_root_stacks_close(mutator);
    free(mutator);
    return NULL;
  }
  space_lock(&heap->space);
  local->free = &mutator->public.free;
  local->registered = &mutator->public.registered;
  mutator->next = heap->space.mutators;
  heap->space.mutators = mutator;
  space_unlock(&heap->space);
  return mutator;
}

CRADLE_UNCHECKED_COLLECTION cradle_mutator *cradle_mutator_new(cradle_heap *heap) {
  static const char what[] = "cradle_mutator_new";
  check_alone(heap, what);
  if (space_is_shared(&heap->space)) crd_turn_await(&heap->space, NULL);
  crd_heap_enter(heap, what);
  crd_mutator *mutator = make(heap);
  cradle_mutator *none = mutator == NULL ? refused(heap) : NULL;
  if (space_is_shared(&heap->space)) crd_world_count(&heap->space);
  crd_world_leave(&heap->space);
  if (mutator == NULL && space_is_shared(&heap->space)) crd_turn_give(&heap->space);
  if (mutator == NULL) return none;
  attach(mutator);
  return &mutator->public;
}

/* Ends a mutator while scopes of scoped roots are open: a main that frees the mutator has not left its own scope. Each
 * scope reads the mutator when it ends, so the structure stays until then. A scope finds no root of its own and takes
 * the slow path, cradle_scope_close_slow, which counts scopes, and reads nothing of the heap: it may be gone. */
static void leave_to_scopes(crd_mutator *mutator, uint64_t scopes) {
  *mutator = (crd_mutator){.open_scopes = scopes};
  mutator->public.scoped_top = mutator->public.scoped_limit = &mutator->no_root + 1;
}

CRADLE_UNCHECKED_COLLECTION void cradle_mutator_free(cradle_mutator *mutator) {
  if (mutator == NULL) return;
  cradle_heap *heap = mutator->heap;
  crd_mutator *m = mutator_of(mutator);
  bool orphaned = m->orphaned;
  if (is_detached(m)) attach_checked(m, "cradle_mutator_free");
  crd_mutator_check(mutator, "cradle_mutator_free");
  crd_world_enter(&heap->space, m);
  if (m->running != &m->own)
    crd_misuse(heap,
               "cradle_mutator_free: a coroutine's root stack runs: cradle_root_stack_switch to the mutator's own "
               "first, which is NULL");
  if (orphaned) mutator->shadow_top = mutator->shadow_watermark = mutator->shadow_base;
  if (mutator->shadow_top != mutator->shadow_base)
    crd_misuse(heap, "cradle_mutator_free: the shadow stack is not empty (words held: %zu)",
               (size_t)(mutator->shadow_top - mutator->shadow_base));
  /* What it has allocated stays where it is, in its local: others may refer to it; or, if collection is off, nothing
   * moves. */
  bool is_last = heap->space.mutators == m && m->next == NULL;
  if (is_last && !collection_is_off(&heap->options)) {
    crd_collect_minor(heap, CRADLE_CAUSE_DETACH);
    ASSERT(nursery_filled(&heap->space) == 0, "[local.2] a mutator goes while there are young objects");
  }
  space_lock(&heap->space);
  m->local->left = mutator->free;
  m->local->free = &m->local->left;
  m->local->fresh.top = mutator->registered;
  m->local->registered = &m->local->fresh.top;
  crd_mutator **link = &heap->space.mutators;
  while (*link != m) link = &(*link)->next;
  *link = m->next;
  space_unlock(&heap->space);
  uint64_t scopes = 0;
  for (const cradle_word *at = mutator->scoped_top; at > mutator->scoped_base; scopes++) (void)scoped_root_next(&at);
  if (space_is_shared(&heap->space)) crd_world_forget(m);
  detach(m);
  crd_world_leave(&heap->space);
  crd_root_stacks_close(m);
  if (scopes > 0)
    leave_to_scopes(m, scopes);
  else
    free(m);
}

/* Detaching once more what the end of its thread has detached does no harm. */
CRADLE_UNCHECKED_COLLECTION void cradle_mutator_detach(cradle_mutator *mutator) {
  if (is_detached(mutator_of(mutator)) && mutator_of(mutator)->orphaned) return;
  crd_mutator_check(mutator, "cradle_mutator_detach");
  ASSERT(mutator_of(mutator)->thread == crd_thread_self(), "[mutator.5] a mutator is detached by another thread");
  detach(mutator_of(mutator));
}

CRADLE_UNCHECKED_COLLECTION void cradle_mutator_attach(cradle_mutator *mutator) {
  static const char what[] = "cradle_mutator_attach";
  if (!space_is_shared(&mutator->heap->space)) heap_check(mutator->heap, what);
  if (!is_detached(mutator_of(mutator)))
    entry_misuse(mutator->heap, what, "the mutator is attached to a thread already");
  attach_checked(mutator_of(mutator), what);
}

/* --- parking --- */

CRADLE_UNCHECKED_COLLECTION void cradle_mutator_park(cradle_mutator *mutator) {
  crd_mutator_check(mutator, "cradle_mutator_park");
  mutator->reserved_end = NULL;
  park(mutator_of(mutator), crd_thread_self());
}

CRADLE_UNCHECKED_COLLECTION void cradle_mutator_unpark(cradle_mutator *mutator) {
  static const char what[] = "cradle_mutator_unpark";
  crd_mutator *m = mutator_of(mutator);
  if (CRADLE_UNLIKELY(__atomic_load_n(&m->parked_by, __ATOMIC_RELAXED) != crd_thread_self()))
    entry_misuse(mutator->heap, what, "the calling thread has not parked the mutator");
  bool stops = __atomic_load_n(&m->space->stopping, __ATOMIC_RELAXED) != 0; /* perhaps a callback of this thread's */
  if (CRADLE_UNLIKELY(stops || m->next_attached != NULL || m->attached_link != NULL)) check_alone(mutator->heap, what);
  unpark(m);
  /* While it was parked, another might have collected; with stress it is as if one had. */
  if (CRADLE_UNLIKELY(stress_is_on(&mutator->heap->options)) && space_is_shared(m->space))
    cradle_safepoint_slow(mutator);
}

CRADLE_UNCHECKED_COLLECTION cradle_mutator *cradle_parked_begin(cradle_mutator *mutator) {
  cradle_mutator_park(mutator);
  return mutator;
}

CRADLE_UNCHECKED_COLLECTION void cradle_parked_end(cradle_mutator *const *mutator) {
  cradle_mutator_unpark(*mutator);
}

/* --- stops for the program, and names --- */

CRADLE_UNCHECKED_COLLECTION void cradle_stopped_call(cradle_mutator *mutator, cradle_stopped_function function,
                                                     void *data) {
  crd_mutator *m = mutator_of(mutator);
  crd_mutator_check(mutator, "cradle_stopped_call");
  crd_world_enter(m->space, m);
  crd_world_stop(m->space, "cradle_stopped_call");
  mutator->no_collect_depth++; /* a collection would end the stop */
  crd_nursery_set_top(m);
  function(data);
  mutator->no_collect_depth--;
  crd_world_leave(m->space);
  crd_nursery_set_top(m);
}

void crd_mutator_copy_name(const crd_mutator *mutator, char name[MUTATOR_NAME_BYTES]) {
  space_lock(mutator->space);
  memcpy(name, mutator->name, MUTATOR_NAME_BYTES);
  space_unlock(mutator->space);
}

void cradle_mutator_name(cradle_mutator *mutator, const char *name) {
  crd_mutator *m = mutator_of(mutator);
  space_lock(m->space);
  set_name(m, name);
  space_unlock(m->space);
}
