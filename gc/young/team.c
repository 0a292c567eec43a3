#include "gc/young/team.h"

#include <stdlib.h>

#include "gc/old/marking.h"
#include "gc/platform/pages.h"
#include "gc/young/promote.h"
#include "gc/young/young.h"

/* A minor collection that promotes less, on average, is over before a helper has begun. */
#define WORTH_BYTES LIMIT((uint64_t)256 << 10, 1)
/* Of a shorter list nothing is given away; of one that is too long for a tree, what comes after so many bodies. */
#define GIVE_MIN LIMIT(8, 2)
#define GIVE_LONG LIMIT(64, 4)
/* How many items of arrays are gathered before the first are given away, and how many at last. */
#define GATHER_FIRST LIMIT(64, 4)
#define GATHER_MOST 4096
/* Looks before a hungry worker asks under the lock, and such questions before a helper goes back to sleep. */
#define LOOKS 1000
#define QUESTIONS_MOST 20
/* Of so many collections that are worth it, the first so many try both in turns. */
#define TRY_EVERY 32
#define TRY_FIRST 6
#define FASTER LIMIT(0.98, 1000)
#define AVERAGED 4
/* The workers' runs take at most this share of the heap's maximum. */
#define REST_SHARE LIMIT(64, 1)

#if CRADLE_SMALL_LIMITS
crd_turn_function *crd_team_turn = NULL;
#endif

static bool leads(const crd_minor *worker) {
  return worker->index == 0;
}

/* --- giving --- */

/* Cuts off what is given away: the last body, which leads to the most where bodies are nodes of a tree; of a list that
 * is longer than most, everything after that. NULL: the list has one body, or fewer than least. */
static cradle_word *cut(cradle_word *list, uint32_t least, uint32_t most) {
  cradle_word *last = list, *given = pending_next(list);
  uint32_t count = 1;
  for (; given != NULL && pending_next(given) != NULL && count < most; count++) {
    last = given;
    given = pending_next(given);
  }
  if (given == NULL || count < least) return NULL;
  pending_set_next(last, NULL);
  return given;
}

/* Puts a list that was cut off back at the end. */
static void put_back(cradle_word *list, cradle_word *given) {
  while (pending_next(list) != NULL) list = pending_next(list);
  pending_set_next(list, given);
}

static bool post(crd_team *team, cradle_word *list) {
  spinlock_take(&team->lock);
  bool free = team->mail == NULL && team->hungry > 0;
  if (free) __atomic_store_n(&team->mail, list, __ATOMIC_RELAXED);
  spinlock_release(&team->lock);
  return free;
}

static void give(crd_minor *worker, cradle_word *list, uint32_t least, uint32_t most) {
  cradle_word *given = cut(list, least, most);
  if (given == NULL) return;
  worker->shares = true;
  if (!post(worker->team, given)) put_back(list, given);
}

void crd_team_give(crd_minor *worker) {
  give(worker, worker->pending, GIVE_MIN, GIVE_LONG);
}

bool crd_team_gather(crd_minor *worker) {
  if (worker->gather == 0) worker->gather = GATHER_FIRST;
  if (++worker->gathered < worker->gather) return true;
  give(worker, worker->pending, 0, worker->gather / 4);
  worker->gathered = 0;
  if (worker->gather < GATHER_MOST) worker->gather *= 2;
  return false;
}

void crd_team_give_pieces(crd_minor *worker) {
  worker->shares = true;
  __atomic_store_n(&worker->team->pieces, true, __ATOMIC_RELEASE);
}

void crd_team_leave(crd_minor *worker, cradle_word *body) {
  crd_team *team = worker->team;
  spinlock_take(&team->lock);
  pending_set_next(body, team->left);
  team->left = body;
  spinlock_release(&team->lock);
}

void crd_team_leave_large(crd_minor *worker, uint32_t page) {
  crd_team *team = worker->team;
  spinlock_take(&team->lock);
  arenas_page(&worker->old->arenas, page)->pending = team->left_large;
  team->left_large = page;
  spinlock_release(&team->lock);
}

void crd_team_shade(crd_minor *worker, uintptr_t address) {
  if (old_is_marked(worker->old, address)) return;
  spinlock_take(&worker->team->lock);
  crd_marker_shade(worker->young->marking, address);
  spinlock_release(&worker->team->lock);
}

/* --- hunger --- */

static bool has_pieces(const crd_team *team) {
  return __atomic_load_n(&team->pieces, __ATOMIC_ACQUIRE);
}

/* With the lock: whether there is something for the worker, which takes it. */
static bool take(crd_minor *worker) {
  crd_team *team = worker->team;
  worker->pending = team->mail;
  __atomic_store_n(&team->mail, NULL, __ATOMIC_RELAXED);
  return worker->pending != NULL || team_has_items(team) || (!leads(worker) && has_pieces(team));
}

static void set_hungry(crd_team *team, uint32_t hungry) {
  __atomic_store_n(&team->hungry, hungry, __ATOMIC_RELAXED);
}

static void look(const crd_minor *worker) {
  const crd_team *team = worker->team;
  for (int i = 0; i < LOOKS && __atomic_load_n(&team->mail, __ATOMIC_RELAXED) == NULL && !has_pieces(team) &&
                  !team_has_items(team) && !__atomic_load_n(&team->done, __ATOMIC_RELAXED);
       i++)
    crd_thread_relax();
}

/* With the lock, which is released meanwhile; the worker is counted as hungry. false: the team is done. */
static bool wait_for_work(crd_minor *worker, uint32_t number) {
  crd_team *team = worker->team;
  for (int questions = 0; team->number == number && !team->done; questions++) {
    if (take(worker)) {
      set_hungry(team, team->hungry - 1);
      return true;
    }
    if (team->hungry == team->workers) {
      __atomic_store_n(&team->done, true, __ATOMIC_RELAXED);
    } else if (!leads(worker) && questions > QUESTIONS_MOST) {
      set_hungry(team, team->hungry - 1);
      team->workers--;
      return false;
    } else {
      spinlock_release(&team->lock);
      TEAM_TURN(worker, TURN_WAIT);
      if (questions > 1) crd_thread_yield();
      look(worker);
      spinlock_take(&team->lock);
    }
  }
  return false;
}

static void work(crd_minor *worker) {
  crd_minor_trace(worker);
  if (leads(worker) || has_pieces(worker->team) || team_has_items(worker->team)) crd_minor_pieces(worker);
}

/* --- hiring --- */

static void run(crd_thread *self, void *data);

/* How many helpers a heap may have: their runs are kept out of its maximum [team.6]. */
static uint32_t most_helpers(const crd_old *old) {
  uint64_t most = old->arenas.limit * ARENA_BYTES / REST_SHARE / old->classes.run_bytes_total;
  return most < 2 ? 0 : most > CRADLE_GC_THREADS_MAX ? CRADLE_GC_THREADS_MAX : (uint32_t)most - 1;
}

static uint32_t at_most(uint32_t count, uint32_t most) {
  return count < most ? count : most;
}

/* Room for the helpers, once: their workers stay, because they have runs. */
static bool make_room(crd_young *young) {
  crd_team *team = &young->team;
  crd_old *old = &young->space->old;
  if (team->helpers != NULL) return true;
  uint32_t most = most_helpers(old), guests = at_most(young->space->guests, most);
  uint32_t threads = at_most(crd_marker_threads(young->marking), most - guests), all = threads + guests;
  if (all == 0) return false;
  team->helpers = calloc(all, sizeof *team->helpers);
  if (team->helpers == NULL) return false;
  team->wanted = threads;
  team->guests = team->places = guests;
  for (uint32_t i = all; i-- != 0;) {
    crd_helper *helper = &team->helpers[i];
    *helper = (crd_helper){.worker = {.next = old->leader.next, .run_words = TEAM_RUN_BYTES / 8}, .young = young};
    helper->index = i + 1;
    old->leader.next = &helper->worker;
  }
  old->rest_bytes = (all + 1) * old->classes.run_bytes_total;
  return true;
}

/* Ends the threads. Those that are not here did not survive a fork, in which one may have held the lock. */
static void dismiss(crd_team *team) {
  for (uint32_t i = 1; i < team->count; i++) {
    crd_helper *helper = &team->helpers[i];
    if (crd_thread_is_here(helper->thread)) {
      crd_thread_set(helper->thread, &helper->word, ROUND_END);
      crd_thread_join(helper->thread);
    } else {
      crd_thread_forget(helper->thread);
    }
    helper->thread = NULL;
    helper->word = ROUND_IDLE;
  }
  team->count = 0;
  team->lock = (crd_spinlock){0};
}

/* Fewer helpers than wanted if the system makes no more threads; none without memory. */
static void hire(crd_young *young) {
  crd_team *team = &young->team;
  crd_marker_dismiss(young->marking);
  dismiss(team);
  const crd_marker *marker = &young->marking->marker;
  __atomic_store_n(&team->hired_for, marker->made + 1, __ATOMIC_RELEASE);
  if (!make_room(young) || marker->thread == NULL || team->wanted == 0) return;
  uint32_t count = 1;
  while (count < team->wanted &&
         (team->helpers[count].thread = crd_thread_new("cradle-helper", run, &team->helpers[count])) != NULL)
    count++;
  for (uint32_t i = 1; i < count; i++)
    crd_marker_enlist(young->marking, team->helpers[i].thread, &team->helpers[i].word);
  if (count < team->wanted)
    crd_event_note(young->space->report, "not all of the collector's threads could be made", team->wanted, count);
  __atomic_store_n(&team->count, count, __ATOMIC_RELEASE);
}

void crd_team_fini(crd_young *young) {
  crd_team *team = &young->team;
  if (team->helpers == NULL) return;
  dismiss(team);
  crd_old_retire(&young->space->old); /* what the helpers' runs have left */
  young->space->old.leader.next = NULL;
  free(team->helpers);
  team->helpers = NULL;
}

/* --- whether it is worth it --- */

/* Why no team is called this time, or NULL. What decides is whether an object takes less time in a team: which depends
 * on the program, because a list cannot be divided, and on the machine, because the helper fetches what the program's
 * thread has just written. Both are tried now and then. */
static const char *choose(crd_team *team) {
  uint32_t turn = team->worth++ % TRY_EVERY;
  if (team->always) return NULL;
  if (turn < TRY_FIRST) return turn % 2 == 0 ? NULL : "to compare";
  return team->object_ns[1] < FASTER * team->object_ns[0] ? NULL : "a team is no faster";
}

/* The first time is no measure: the helper's thread has just been made. Nor is a collection that promotes little. */
void crd_team_judge(crd_minor *leader, uint64_t begun_ns) {
  crd_team *team = &leader->young->team;
  if (begun_ns == 0 || leader->bytes < WORTH_BYTES || team->worth == 1) return;
  double *average = &team->object_ns[leader->worker != NULL], took = (double)(crd_platform_now_ns() - begun_ns);
  double now = took / (double)leader->objects;
  *average = *average == 0 ? now : *average + (now - *average) / AVERAGED;
}

static uint32_t guests_now(const crd_young *young) {
  return at_most(young->space->standing, young->team.guests);
}

static const char *no_helpers(const crd_team *team) {
  return team->guests == 0 ? "no room for helpers" : "no other mutator ran";
}

/* Why there can be no team, or why none is worth it; NULL: one may be. The promotion reserve may be too small for runs
 * of workers that were hired just now, or while memory is short. */
static const char *obstacle(const crd_young *young) {
  const crd_team *team = &young->team;
  const crd_marking *marking = young->marking;
  const crd_old *old = &young->space->old;
  if (marking->marker.takes_turns) return "one processor";
  if (young->remember_all) return "all old objects are looked at";
  uint32_t helpers = team->count + guests_now(young);
  if (helpers <= marking->marker.going) return helpers != 0 ? "the thread marks" : no_helpers(team);
  if (!team->always && young->space->options->stress_period != 0) return "stress";
  if (!team->always && marking->pacing.promoted_average < WORTH_BYTES) return "little is promoted";
  if (old->reserve < crd_old_arenas_for(old, young->space->nursery.end - young->space->nursery.start))
    return "the reserve is too small";
  if (team->count == 0 || crd_thread_is_here(marking->marker.thread)) return NULL;
  return "the thread did not survive a fork";
}

/* --- calling --- */

static void call(crd_team *team, uint32_t index) {
  if (index <= team->count) rounds_call(&team->helpers[index - 1].word, team->helpers[index - 1].thread);
}

/* Each helper calls two more, so that no one has to wake all. */
static void call_after(crd_team *team, uint32_t index) {
  call(team, 2 * index);
  call(team, 2 * index + 1);
}

/* --- the leader --- */

static void open_team(crd_team *team) {
  spinlock_take(&team->lock);
  team->number++;
  __atomic_store_n(&team->open, true, __ATOMIC_RELEASE);
  __atomic_store_n(&team->done, false, __ATOMIC_RELAXED);
  __atomic_store_n(&team->pieces, false, __ATOMIC_RELAXED);
  team->workers = 1;
  set_hungry(team, 0);
  team->left_large = PAGE_NONE;
  team->left_remembered = false;
  ASSERT(team->mail == NULL && team->left == NULL && !team_has_items(team),
         "[team.3] a team begins with what another has left");
  spinlock_release(&team->lock);
}

uint64_t crd_team_begin(crd_minor *leader) {
  crd_team *team = &leader->young->team;
  crd_marker *marker = &leader->young->marking->marker;
  if (CRADLE_UNLIKELY(team->hired_for != marker->made + 1) && !marker->takes_turns) hire(leader->young);
  team->joined = team->objects = team->bytes = team->ns = 0;
  if ((team->alone = obstacle(leader->young)) != NULL) return 0;
  uint64_t now = crd_platform_now_ns();
  if ((team->alone = choose(team)) != NULL) return now;
  leader->team = team;
  leader->worker = &leader->old->leader;
  leader->worker->run_words = TEAM_RUN_BYTES / 8;
  open_team(team);
  uint32_t guests = guests_now(leader->young);
  if (guests != 0) leader->young->space->call_guests(leader->young->space, guests);
  if (team->count != 0 && !marker->going) rounds_call(&marker->word, marker->thread);
  call_after(team, 1);
  TEAM_TURN(leader, TURN_BEGIN);
  return now;
}

void crd_team_end(crd_minor *leader) {
  crd_team *team = leader->team;
  bool more = true;
  while (more) {
    work(leader);
    spinlock_take(&team->lock);
    set_hungry(team, team->hungry + 1);
    more = wait_for_work(leader, team->number);
    __atomic_store_n(&team->open, more, __ATOMIC_RELAXED);
    spinlock_release(&team->lock);
  }
  TEAM_TURN(leader, TURN_END);
  leader->worker->run_words = UINT32_MAX;
  leader->objects += team->objects;
  leader->bytes += team->bytes;
  leader->team = NULL;
  leader->shares = false;
  leader->pending = team->left;
  leader->pending_large = team->left_large;
  team->left = NULL;
  leader->left_remembered = team->left_remembered;
  crd_minor_trace(leader);
}

void crd_team_tell(const crd_team *team, cradle_event *event) {
  event->u.minor.helpers = team->joined;
  event->u.minor.helped_objects = team->objects;
  event->u.minor.helped_bytes = team->bytes;
  event->u.minor.helped_ns = team->ns;
  event->u.minor.alone = team->alone == NULL && team->joined == 0 ? "no helper came in time" : team->alone;
}

/* --- the helper --- */

/* With the lock, which is released, and a team that is open. */
static void join(crd_helper *self) {
  crd_team *team = &self->young->team;
  uint32_t number = team->number;
  ASSERT(team->open && self->index != 0, "[team.3] a helper joins a team that is over");
  team->workers++;
  team->joined += self->team != number;
  self->team = number;
  set_hungry(team, team->hungry + 1);
  crd_minor helper;
  crd_minor_begin(&helper, self->young);
  helper.team = team;
  helper.index = self->index;
  helper.shares = true;
  helper.worker = &self->worker;
  helper.allocators = self->worker.allocators;
  while (wait_for_work(&helper, number)) {
    spinlock_release(&team->lock);
    uint64_t begun = crd_platform_now_ns();
    work(&helper);
    uint64_t worked = crd_platform_now_ns() - begun;
    spinlock_take(&team->lock);
    set_hungry(team, team->hungry + 1);
    team->ns += worked;
    team->objects += helper.objects;
    team->bytes += helper.bytes;
    helper.objects = helper.bytes = 0;
  }
  spinlock_release(&team->lock);
  TEAM_TURN(&helper, TURN_END);
}

static void help(crd_helper *self) {
  crd_team *team = &self->young->team;
  spinlock_take(&team->lock);
  if (team->open)
    join(self);
  else
    spinlock_release(&team->lock);
}

/* After a fork the marker's thread may come before helpers were hired again, when the lock may still be held. */
void crd_team_help(crd_young *young) {
  crd_team *team = &young->team;
  if (__atomic_load_n(&team->hired_for, __ATOMIC_ACQUIRE) != young->marking->marker.made + 1) return;
  if (__atomic_load_n(&team->count, __ATOMIC_ACQUIRE) != 0) help(&team->helpers[0]);
}

/* With the lock: the first free place for a guest, or NULL. */
static crd_helper *find_place(crd_team *team) {
  if (!team_has_place(team)) return NULL;
  crd_helper *place = &team->helpers[team->wanted];
  while (place->taken) place++;
  return place;
}

static void take_place(crd_team *team, crd_helper *place, bool taken) {
  ASSERT(place->taken != taken && team->places <= team->guests, "[team.3] a guest's place is taken twice");
  place->taken = taken;
  __atomic_store_n(&team->places, taken ? team->places - 1 : team->places + 1, __ATOMIC_RELAXED);
}

bool crd_team_visit(crd_young *young) {
  crd_team *team = &young->team;
  spinlock_take(&team->lock);
  crd_helper *self = find_place(team);
  if (self == NULL) {
    spinlock_release(&team->lock);
    return false;
  }
  take_place(team, self, true);
  join(self);
  spinlock_take(&team->lock);
  take_place(team, self, false);
  spinlock_release(&team->lock);
  return true;
}

/* A guest that was about to leave may have left half of that behind. */
void crd_team_forked(crd_young *young) {
  crd_team *team = &young->team;
  team->lock = (crd_spinlock){0};
  team->places = team->guests;
  for (uint32_t i = 0; i < team->guests; i++) team->helpers[team->wanted + i].taken = false;
}

static void run(crd_thread *self, void *data) {
  crd_helper *helper = data;
  for (;;) {
    uint32_t taken = rounds_take(&helper->word);
    if (taken == ROUND_END) return;
    if (taken == ROUND_CALLED) {
      call_after(&helper->young->team, helper->index);
      help(helper);
    } else if (taken == ROUND_TAKEN) {
      crd_marker_work_as(helper->young->marking, helper->index - 1);
      crd_thread_set(self, &helper->word, ROUND_IDLE);
    } else {
      crd_thread_wait(self, &helper->word, ROUND_IDLE);
    }
  }
}
