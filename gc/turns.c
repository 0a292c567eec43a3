#include "gc/turns.h"

#include <stdlib.h>

#include "gc/base/random.h"
#include "gc/platform/pages.h"
#include "gc/platform/sleepers.h"
#include "gc/platform/thread.h"
#include "gc/world.h"

/* At one slow path in so many, the turn may go to another. */
#define SWITCH_EVERY 4
/* So many looks in a row must find that all others sleep: one may wake another between the two looks at them. */
#define LOOKS 2

/* A thread that waits, in its own frame. */
typedef struct crd_waiter {
  struct crd_waiter *next;
  const crd_mutator *mutator; /* NULL: it has none so far */
  const void *thread;
  uint64_t key; /* [turns.2] */
  bool chosen;
} crd_waiter;

/* Changes under the gate's lock; restless and random are for the thread that has the turn, or chooses. */
struct crd_turns {
  crd_gate *gate;
  uint64_t random;            /* the generator's state */
  const void *thread;         /* that has the turn; NULL: nobody has it; atomic */
  const crd_mutator *mutator; /* of that thread, or NULL */
  crd_waiter *waiters;        /* ascending */
  bool chooses;               /* a thread that has no turn chooses now who is next */
  crd_sleepers sleepers;      /* of the thread that settles */
  bool restless;              /* a thread of the program's never sleeps, so nobody waits for that any more */
  uint64_t begun_ns, tell_ns; /* when the turn began; after so long it is reported, 0: never */
};

bool crd_turns_init(crd_space *space) {
  crd_turns *turns = space->options->stress_turns == 0 ? NULL : calloc(1, sizeof *turns);
  space->world->turns = turns;
  if (turns == NULL) return space->options->stress_turns == 0;
  turns->random = space->options->stress_turns;
  turns->gate = crd_gate_new();
  return turns->gate != NULL;
}

void crd_turns_fini(crd_space *space) {
  crd_turns *turns = space->world->turns;
  if (turns == NULL) return;
  crd_sleepers_forget(&turns->sleepers);
  crd_gate_free(turns->gate);
  free(turns);
  space->world->turns = NULL;
}

static bool is_mine(const crd_turns *turns) {
  return __atomic_load_n(&turns->thread, __ATOMIC_RELAXED) == crd_thread_self();
}

/* --- who is next --- */

static CRADLE_COLD void tell_restless(const crd_space *space) {
  space->world->turns->restless = true;
  cradle_event event = {
      .kind = CRADLE_EVENT_NOTE,
      .u.note = {"turns: a thread of the program never sleeps, so the run may not repeat", 0, 0, CRADLE_NOTE_STRESS}};
  crd_event_tell(space->report, &event);
}

/* Waits until all other threads of the process sleep. One that never does is waited for as long as a mutator that does
 * not come. */
static void settle(const crd_space *space) {
  crd_turns *turns = space->world->turns;
  uint64_t begin = crd_platform_now_ns(), most = space->options->stop_report_ns;
  ASSERT(is_mine(turns) || (turns->thread == NULL && turns->chooses), "[turns.1] two threads wait until others sleep");
  for (int looks = 0; looks < LOOKS && !turns->restless;) {
    looks = crd_threads_sleep(&turns->sleepers) ? looks + 1 : 0;
    if (looks != 0) continue;
    crd_thread_yield();
    if (most != 0 && crd_platform_now_ns() - begin > most) tell_restless(space);
  }
}

/* With the lock held. */
static void choose(const crd_space *space) {
  crd_turns *turns = space->world->turns;
  uint64_t count = 0, nth;
  ASSERT(turns->thread == NULL || is_mine(turns), "[turns.1] a turn is given that another thread has");
  for (const crd_waiter *waiter = turns->waiters; waiter != NULL; waiter = waiter->next) count++;
  if (count == 0) return;
  crd_waiter **link = &turns->waiters;
  for (nth = random_next(&turns->random) % count; nth > 0; nth--) link = &(*link)->next;
  crd_waiter *chosen = *link;
  *link = chosen->next;
  chosen->chosen = true;
  __atomic_store_n(&turns->thread, chosen->thread, __ATOMIC_RELAXED);
  turns->mutator = chosen->mutator;
  turns->begun_ns = crd_platform_now_ns();
  turns->tell_ns = space->options->stop_report_ns;
  crd_gate_wake(turns->gate, GATE_OPENS);
}

/* The same for a turn that nobody has; others only come to wait meanwhile. */
static void choose_settled(const crd_space *space) {
  crd_turns *turns = space->world->turns;
  turns->chooses = true;
  crd_gate_unlock(turns->gate);
  settle(space);
  crd_gate_lock(turns->gate);
  turns->chooses = false;
  choose(space);
}

/* --- waiting --- */

static void enter(crd_turns *turns, crd_waiter *waiter) {
  crd_waiter **link = &turns->waiters;
  while (*link != NULL && (*link)->key < waiter->key) link = &(*link)->next;
  ASSERT(*link == NULL || (*link)->key != waiter->key, "[turns.2] two that wait have the same number");
  waiter->next = *link;
  *link = waiter;
}

/* Who has the turn does not give it away: perhaps it waits, unparked, for a lock of one that waits here. */
static CRADLE_COLD void tell_late(crd_space *space, uint64_t ns) {
  crd_turns *turns = space->world->turns;
  const crd_mutator *late = turns->mutator;
  turns->tell_ns = 2 * ns;
  crd_gate_unlock(turns->gate);
  crd_world_take(space, NULL); /* so that no other thread calls the listener meanwhile */
  if (late != NULL) crd_world_tell_late(space, "a mutator", "the turn of ", late, ns);
  crd_world_release(space);
  crd_gate_lock(turns->gate);
}

/* With the lock held. The thread that had the turn before may not have come yet to what it parks for. */
static void await_choice(crd_space *space, const crd_waiter *waiter) {
  crd_turns *turns = space->world->turns;
  while (!waiter->chosen) {
    uint64_t gone = turns->thread == NULL ? 0 : crd_platform_now_ns() - turns->begun_ns;
    if (turns->thread == NULL || turns->tell_ns == 0)
      crd_gate_wait(turns->gate, GATE_OPENS);
    else if (gone < turns->tell_ns)
      crd_gate_wait_for(turns->gate, GATE_OPENS, turns->tell_ns - gone);
    else
      tell_late(space, gone);
  }
  crd_gate_unlock(turns->gate);
  settle(space);
  crd_gate_lock(turns->gate);
}

static crd_waiter waiter_of(const crd_mutator *mutator) {
  uint64_t key = mutator != NULL ? mutator->number : UINT64_MAX / 2 + crd_thread_id();
  return (crd_waiter){.mutator = mutator, .thread = crd_thread_self(), .key = key};
}

void crd_turn_await(crd_space *space, const crd_mutator *mutator) {
  crd_turns *turns = space->world->turns;
  if (turns == NULL) return;
  crd_world_check_forked(space);
  crd_waiter waiter = waiter_of(mutator);
  crd_gate_lock(turns->gate);
  if (is_mine(turns)) {
    turns->mutator = mutator; /* which is new */
  } else {
    enter(turns, &waiter);
    if (turns->thread == NULL && !turns->chooses) choose_settled(space);
    await_choice(space, &waiter);
  }
  crd_gate_unlock(turns->gate);
}

void crd_turn_give(const crd_space *space) {
  crd_turns *turns = space->world->turns;
  if (turns == NULL || !is_mine(turns)) return;
  ASSERT(!turns->chooses, "[turns.1] somebody chooses while a thread has the turn");
  crd_gate_lock(turns->gate);
  __atomic_store_n(&turns->thread, NULL, __ATOMIC_RELAXED);
  turns->mutator = NULL;
  choose_settled(space);
  crd_gate_unlock(turns->gate);
}

bool crd_turn_ends(const crd_space *space) {
  crd_turns *turns = space->world->turns;
  ASSERT(is_mine(turns), "[turns.1] a mutator runs while another has the turn");
  settle(space);
  return random_next(&turns->random) % SWITCH_EVERY == 0;
}

void crd_turn_pass(crd_space *space, const crd_mutator *mutator) {
  crd_turns *turns = space->world->turns;
  crd_waiter waiter = waiter_of(mutator);
  ASSERT(is_mine(turns), "[turns.1] a turn is passed on by a thread that has not got it");
  crd_gate_lock(turns->gate);
  enter(turns, &waiter);
  choose(space);
  await_choice(space, &waiter);
  crd_gate_unlock(turns->gate);
}

/* The old gate is left alone, as the world's is. */
void crd_turns_forked(const crd_space *space) {
  crd_turns *turns = space->world->turns;
  if (turns == NULL) return;
  crd_gate *gate = crd_gate_new();
  if (gate != NULL) turns->gate = gate;
  turns->waiters = NULL;
  turns->chooses = false;
}
