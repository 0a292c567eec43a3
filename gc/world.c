#include "gc/world.h"

#include <stdlib.h>
#include <string.h>

#include "gc/base/probes.h"
#include "gc/old/marking.h"
#include "gc/platform/hardware.h"
#include "gc/platform/pages.h"
#include "gc/platform/thread.h"
#include "gc/turns.h"
#include "gc/young/team.h"
#include "gc/young/young.h"

/* Looks at the word before a thread sleeps, some twenty microseconds: most stops are shorter than it takes to wake. */
#define STAND_SPINS 4000

bool crd_world_init(crd_space *space, crd_young *young) {
  crd_world *world = calloc(1, sizeof *world);
  if (world == NULL) return false;
  world->gate = crd_gate_new();
  if (world->gate == NULL) {
    free(world);
    return false;
  }
  world->young = young;
  space->call_guests = crd_world_call;
  space->world = world;
  return crd_turns_init(space);
}

void crd_world_fini(crd_space *space) {
  if (space->world == NULL) return;
  crd_turns_fini(space);
  crd_gate_free(space->world->gate);
  free(space->world);
  space->world = NULL;
}

static inline bool is_stopping(const crd_space *space) {
  return __atomic_load_n(&space->stopping, __ATOMIC_SEQ_CST) != 0;
}
static inline void set_stopping(crd_space *space, uint32_t stopping) {
  __atomic_store_n(&space->stopping, stopping, __ATOMIC_SEQ_CST);
}
static inline bool holds(const crd_world *world) {
  return __atomic_load_n(&world->holder, __ATOMIC_RELAXED) == crd_thread_self();
}
bool crd_world_is_mine(const crd_space *space) {
  return space->world != NULL && holds(space->world);
}
static inline bool is_running(const crd_mutator *mutator) {
  return __atomic_load_n(&mutator->state, __ATOMIC_SEQ_CST) == MUTATOR_RUNNING;
}

void crd_world_check_forked(const crd_space *space) {
  if (CRADLE_LIKELY(crd_gate_is_here(space->world->gate))) return;
  crd_misuse(heap_of(space->report), "fork: the child uses a heap that may have several mutators (options.mutators): "
                                     "call cradle_fork_prepare before the fork and cradle_fork_done after it in both "
                                     "processes, or only exec or _exit in the child");
}

/* A mutator's state becomes another one than RUNNING. What its thread did before is seen by the holder. Returns whether
 * it was RUNNING. */
static bool leave_running(crd_world *world, crd_mutator *mutator, int state) {
  bool ran = __atomic_exchange_n(&mutator->state, state, __ATOMIC_SEQ_CST) == MUTATOR_RUNNING;
  if (CRADLE_LIKELY(__atomic_load_n(&world->is_awaited, __ATOMIC_SEQ_CST) == 0)) return ran;
  crd_world_check_forked(mutator->space);
  crd_gate_lock(world->gate);
  crd_gate_wake(world->gate, GATE_STANDS);
  crd_gate_unlock(world->gate);
  return ran;
}

/* With the gate's lock held. */
static void sleep_at(crd_world *world) {
  world->sleepers++;
  crd_gate_wait(world->gate, GATE_OPENS);
  world->sleepers--;
}

/* --- stopped mutators --- */

static bool has_place(const crd_world *world) {
  return team_has_place(&world->young->team) || marker_has_place(&world->young->marking->marker);
}

/* false: another was faster, or the work is over. */
static bool help(crd_world *world) {
  return (team_has_place(&world->young->team) && crd_team_visit(world->young)) ||
         (marker_has_place(&world->young->marking->marker) && crd_marker_visit(world->young->marking));
}

/* Helps to collect, and otherwise looks for a while whether the stop is over. */
static void linger(const crd_space *space) {
  crd_world *world = space->world;
  uint32_t spins = 0;
  ASSERT(!holds(world), "[world.2] the holder waits for itself");
  do {
    spins = help(world) ? 0 : spins + 1;
    crd_thread_relax();
  } while (is_stopping(space) && spins < __atomic_load_n(&world->spins, __ATOMIC_RELAXED));
}

/* The mutator is RUNNING, and a stop is on. Returns when none is. */
static void stand(const crd_space *space, crd_mutator *mutator) {
  crd_world *world = space->world;
  ASSERT(!holds(world), "[world.2] a thread that has stopped the world waits for its end");
  crd_world_check_forked(space);
  uint64_t begin = crd_platform_now_ns();
  while (is_stopping(space)) {
    (void)leave_running(world, mutator, MUTATOR_STOPPED);
    for (linger(space); is_stopping(space); linger(space)) {
      crd_gate_lock(world->gate);
      if (is_stopping(space) && !has_place(world)) sleep_at(world);
      crd_gate_unlock(world->gate);
    }
    (void)__atomic_exchange_n(&mutator->state, MUTATOR_RUNNING, __ATOMIC_SEQ_CST);
  }
  mutator->waited_ns += crd_platform_now_ns() - begin;
}

/* Afterwards the caller looks whether a stop is on, as whoever becomes RUNNING does. */
static void take_turns(crd_mutator *mutator) {
  crd_space *space = mutator->space;
  if (CRADLE_LIKELY(!space_is_shared(space) || space->world->turns == NULL) || holds(space->world)) return;
  crd_world_check_forked(space);
  if (!crd_turn_ends(space)) return;
  (void)leave_running(space->world, mutator, MUTATOR_STOPPED);
  crd_turn_pass(space, mutator);
  (void)__atomic_exchange_n(&mutator->state, MUTATOR_RUNNING, __ATOMIC_SEQ_CST);
}

void crd_world_stand(crd_mutator *mutator) {
  take_turns(mutator);
  if (CRADLE_LIKELY(!space_stops(mutator))) return;
  stand(mutator->space, mutator);
  crd_nursery_set_top(mutator);
}

void crd_world_park(crd_mutator *mutator) {
  crd_world *world = mutator->space->world;
  __atomic_store_n(&mutator->parked_top, __atomic_load_n(&mutator->public.top, __ATOMIC_RELAXED), __ATOMIC_RELAXED);
  __atomic_store_n(&mutator->public.top, NULL, __ATOMIC_RELAXED);
  if (world == NULL)
    __atomic_store_n(&mutator->state, MUTATOR_PARKED, __ATOMIC_RELEASE);
  else if (leave_running(world, mutator, MUTATOR_PARKED))
    crd_turn_give(mutator->space);
}

/* top is raised before the state: a stop that sees RUNNING lowers it again. A stop that began and ended meanwhile has
 * forgotten the old top. */
void crd_world_unpark(crd_mutator *mutator) {
  if (space_is_shared(mutator->space)) crd_turn_await(mutator->space, mutator);
  char *top = __atomic_load_n(&mutator->parked_top, __ATOMIC_RELAXED);
  __atomic_store_n(&mutator->public.top, top, __ATOMIC_RELAXED);
  (void)__atomic_exchange_n(&mutator->state, MUTATOR_RUNNING, __ATOMIC_SEQ_CST);
  bool stops = space_stops(mutator);
  if (CRADLE_UNLIKELY(stops)) stand(mutator->space, mutator);
  if (CRADLE_LIKELY(!stops && top != NULL && __atomic_load_n(&mutator->parked_top, __ATOMIC_RELAXED) == top &&
                    __atomic_load_n(&mutator->pending_request, __ATOMIC_SEQ_CST) == 0))
    return;
  crd_nursery_set_top(mutator);
}

/* --- the holder --- */

void crd_world_take(crd_space *space, crd_mutator *mutator) {
  crd_world *world = space->world;
  if (holds(world)) {
    world->depth++;
    return;
  }
  ASSERT(mutator == NULL || is_running(mutator), "[world.1] a mutator that is not RUNNING takes the world");
  crd_world_check_forked(space);
  if (mutator != NULL) take_turns(mutator);
  crd_gate_lock(world->gate);
  bool waits = world->holder != NULL;
  uint64_t begin = waits ? crd_platform_now_ns() : 0;
  if (waits && mutator != NULL) {
    (void)__atomic_exchange_n(&mutator->state, MUTATOR_STOPPED, __ATOMIC_SEQ_CST);
    crd_gate_wake(world->gate, GATE_STANDS);
  }
  while (world->holder != NULL) {
    if (!has_place(world)) {
      sleep_at(world);
      continue;
    }
    crd_gate_unlock(world->gate);
    (void)help(world);
    crd_gate_lock(world->gate);
  }
  ASSERT(!is_stopping(space), "[world.5] a stop is on that nobody holds");
  if (waits && mutator != NULL) (void)__atomic_exchange_n(&mutator->state, MUTATOR_RUNNING, __ATOMIC_SEQ_CST);
  __atomic_store_n(&world->holder, crd_thread_self(), __ATOMIC_RELAXED);
  __atomic_store_n(&space->holder, mutator, __ATOMIC_RELAXED);
  world->depth = 1;
  crd_gate_unlock(world->gate);
  if (!waits || mutator == NULL) return;
  mutator->waited_ns += crd_platform_now_ns() - begin;
  crd_nursery_set_top(mutator);
}

/* There are places already. Who goes to sleep looks for one with the gate's lock held, so none misses this. */
void crd_world_call(crd_space *space, uint32_t count) {
  crd_world *world = space->world;
  ASSERT(holds(world) && is_stopping(space), "[world.1] guests are called while mutators run");
  crd_gate_lock(world->gate);
  if (count > world->sleepers) count = world->sleepers;
  for (; count > 0; count--) crd_gate_wake_one(world->gate, GATE_OPENS);
  crd_gate_unlock(world->gate);
}

/* With the gate's lock held. */
static void end_stop(crd_space *space) {
  if (is_stopping(space)) PROBE1(stop_end, space->report);
  set_stopping(space, 0);
  if (space->world->sleepers != 0) crd_gate_wake(space->world->gate, GATE_OPENS);
}

static void let_go(crd_space *space) {
  crd_world *world = space->world;
  crd_mutator *mutator = space->holder;
  bool stopped = is_stopping(space);
  crd_gate_lock(world->gate);
  __atomic_store_n(&space->holder, NULL, __ATOMIC_RELAXED);
  __atomic_store_n(&world->holder, NULL, __ATOMIC_RELAXED);
  __atomic_store_n(&world->is_awaited, 0, __ATOMIC_SEQ_CST); /* misuse may end a stop before all stand */
  end_stop(space);
  crd_gate_unlock(world->gate);
  if (stopped && mutator != NULL) crd_nursery_set_top(mutator);
}

void crd_world_release(crd_space *space) {
  if (!holds(space->world) || --space->world->depth != 0) return;
  let_go(space);
}

void crd_world_let_go(crd_space *space) {
  if (space->world != NULL && holds(space->world)) let_go(space);
}

/* The first mutator from here on that is RUNNING and not the holder's; NULL: all stand. One that stands does so until
 * the stop is over, so the caller begins here again. */
static crd_mutator *first_running(const crd_space *space, crd_mutator *from) {
  for (; from != NULL; from = from->next)
    if (from != space->holder && is_running(from)) return from;
  return NULL;
}

/* A place that is too long for a message loses the beginning of its path. */
static void tell_place(crd_text *text, const char *place) {
  enum { KEPT = 40 };
  size_t length = strlen(place);
  crd_text_format(text, "; its last call was at %s", length > KEPT ? place + length - KEPT : place);
}

/* The listener is called although not all stand, because they may never: it must not use the heap anyway. Without a
 * listener the message goes to standard error. */
void crd_world_tell_late(crd_space *space, const char *who, const char *what, const crd_mutator *mutator, uint64_t ns) {
  crd_text text = {.length = 0};
  char activity[THREAD_ACTIVITY_BYTES];
  char name[MUTATOR_NAME_BYTES];
  crd_mutator_copy_name(mutator, name);
  uint64_t thread = __atomic_load_n(&mutator->thread_id, __ATOMIC_RELAXED);
  crd_text_format(&text, "%s waits for %sthe mutator at %p (%s), of thread %llu", who, what, (const void *)mutator,
                  name, (unsigned long long)thread);
  if (crd_thread_activity(thread, activity))
    crd_text_format(&text, strcmp(activity, "running") == 0 ? ", which runs" : ", which is in system call %s",
                    activity);
  crd_text_format(&text, ": it must allocate, poll (cradle_safepoint) or park (cradle_mutator_park)");
  const char *place = __atomic_load_n(&mutator->last_place, __ATOMIC_RELAXED);
  if (place != NULL) tell_place(&text, place);
  cradle_event event = {.kind = CRADLE_EVENT_NOTE,
                        .u.note = {text.buffer, space->options->stop_report_ns, ns, CRADLE_NOTE_LATE}};
  crd_event_tell(space->report, &event);
}

static void wait_for_all(crd_space *space, const char *why, uint64_t begin) {
  crd_world *world = space->world;
  crd_mutator *last = space->mutators;
  for (uint32_t spins = world->spins; (last = first_running(space, last)) != NULL && spins > 0; spins--) {
    space->report->stop_last = last->name;
    crd_thread_relax();
  }
  if (last == NULL) return;
  crd_gate_lock(world->gate);
  __atomic_store_n(&world->is_awaited, 1, __ATOMIC_SEQ_CST);
  uint64_t tell_at = space->options->stop_report_ns; /* after the beginning; 0: never */
  while ((last = first_running(space, last)) != NULL) {
    space->report->stop_last = last->name;
    if (tell_at == 0) {
      crd_gate_wait(world->gate, GATE_STANDS);
      continue;
    }
    uint64_t gone = crd_platform_now_ns() - begin;
    if (gone < tell_at) {
      crd_gate_wait_for(world->gate, GATE_STANDS, tell_at - gone);
      continue;
    }
    tell_at = gone + gone;
    crd_gate_unlock(world->gate);
    crd_world_tell_late(space, why, "", last, gone);
    crd_gate_lock(world->gate);
  }
  __atomic_store_n(&world->is_awaited, 0, __ATOMIC_SEQ_CST);
  crd_gate_unlock(world->gate);
}

void crd_world_stop_all(crd_space *space, const char *why) {
  crd_world *world = space->world;
  if (is_stopping(space)) {
    if (world->is_awaited != 0) crd_heap_busy(heap_of(space->report), "a call that stops the mutators");
    return;
  }
  ASSERT(holds(world), "[world.3] a thread stops a world that it does not hold");
  uint64_t begin = crd_platform_now_ns();
  space->report->stop_by = space->holder == NULL ? NULL : space->holder->name;
  space->report->stop_last = NULL;
  PROBE3(stop_begin, space->report, space->report->stop_by, why);
  set_stopping(space, 1);
  space->standing = 0;
  for (EACH_MUTATOR(mutator, space)) {
    if (mutator == space->holder) continue;
    int state = __atomic_load_n(&mutator->state, __ATOMIC_SEQ_CST);
    if (state == MUTATOR_RUNNING) __atomic_store_n(&mutator->public.top, NULL, __ATOMIC_SEQ_CST);
    space->standing += state != MUTATOR_PARKED;
  }
  wait_for_all(space, why, begin);
  cradle_statistics *stats = &space->report->stats;
  uint64_t ns = crd_platform_now_ns() - begin;
  PROBE3(stop_stands, space->report, space->report->stop_last, ns);
  if (space->holder != NULL) {
    space->holder->stops++;
    space->holder->stop_ns += ns;
  }
  space->report->stop_ns = ns;
  stats->stops++;
  stats->stop_ns += ns;
  if (ns > stats->stop_max_ns) stats->stop_max_ns = ns;
}

void crd_world_end_stop(crd_space *space) {
  crd_world *world = space->world;
  if (!is_stopping(space)) return;
  ASSERT(holds(world), "[world.5] a stop is ended by a thread that does not hold the world");
  ASSERT(space->report->state == HEAP_MUTATING, "[world.3] mutators go on in a state that is not theirs");
  crd_gate_lock(world->gate);
  end_stop(space);
  crd_gate_unlock(world->gate);
  if (space->holder != NULL) crd_nursery_set_top(space->holder);
}

void crd_world_forget(crd_mutator *mutator) {
  ASSERT(holds(mutator->space->world), "[world.4] a mutator goes while others may look at it");
  if (mutator->space->holder == mutator) __atomic_store_n(&mutator->space->holder, NULL, __ATOMIC_RELAXED);
  crd_world_count(mutator->space);
}

void crd_world_count(crd_space *space) {
  uint32_t mutators = 0;
  for (EACH_MUTATOR(mutator, space)) mutators++;
  crd_hardware_learn(space->hardware, space->known_hardware, HARDWARE_PROCESSORS);
  uint32_t processors = space->hardware->processors; /* 0: unknown */
  __atomic_store_n(&space->world->spins, mutators <= processors ? STAND_SPINS : 0, __ATOMIC_RELAXED);
  uint64_t most = processors == 0 || space->options->stress_turns != 0 ? 0 : processors - 1; /* the leader has one */
  space->guests = (uint32_t)(space->options->mutators - 1 < most ? space->options->mutators - 1 : most);
}

/* The old gate is left alone: a thread that is not here may hold its lock. Without memory for another, the only thread
 * of the process may as well use it. */
bool crd_world_is_forked(crd_space *space) {
  crd_world *world = space->world;
  if (world == NULL || crd_gate_is_here(world->gate)) return false;
  crd_gate *gate = crd_gate_new();
  if (gate != NULL) world->gate = gate;
  world->sleepers = 0;
  crd_turns_forked(space);
  return true;
}
