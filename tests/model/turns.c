#include "tests/model/turns.h"

#include <pthread.h>
#include <sched.h>
#include <time.h>

#include "tests/inside.h"

void turns_always(cradle_heap *heap) {
  heap->young.team.always = true;
}

#if CRADLE_SMALL_LIMITS

#define WORKERS_MOST (1 + CRADLE_GC_THREADS_MAX)
/* Of so many places, one is where another worker may go on, or where somebody waits. */
#define SWITCH_EVERY 4
#define DELAY_EVERY 16
#define DELAY_MOST 2000

static uint64_t random_state, passed, switched;

static uint64_t below(uint64_t limit) {
  return random_next(&random_state) % limit;
}

/* --- turns: what is not atomic belongs to the worker that goes --- */

static crd_team *ring;            /* atomic: the team that takes turns, or NULL */
static uint32_t rings;            /* atomic: so many have begun or ended; odd: there is one */
static bool inside[WORKERS_MOST]; /* atomic: the workers in the ring */
static uint32_t goes;             /* atomic: the worker whose turn it is */

/* Who waits sleeps: on a busy machine a thread that yields is back only after all others had their slice. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;

static void tell(void) {
  pthread_mutex_lock(&lock);
  pthread_cond_broadcast(&changed);
  pthread_mutex_unlock(&lock);
}

#define WAIT_UNTIL(condition) \
  do { \
    pthread_mutex_lock(&lock); \
    while (!(condition)) pthread_cond_wait(&changed, &lock); \
    pthread_mutex_unlock(&lock); \
  } while (0)

static bool is_inside(uint32_t worker) {
  return __atomic_load_n(&inside[worker], __ATOMIC_ACQUIRE);
}

static void set_inside(uint32_t worker, bool in) {
  __atomic_store_n(&inside[worker], in, __ATOMIC_RELEASE);
  tell();
}

static void let_go(uint32_t worker) {
  __atomic_store_n(&goes, worker, __ATOMIC_RELEASE);
  tell();
}

/* Until it is the worker's turn, or there is another ring, or none. */
static void wait_for_turn(uint32_t number, uint32_t worker) {
  WAIT_UNTIL(__atomic_load_n(&rings, __ATOMIC_ACQUIRE) != number || __atomic_load_n(&goes, __ATOMIC_ACQUIRE) == worker);
}

/* A helper may come here sooner than the leader, whose ring it waits for. */
static void wait_for_ring(crd_team *team) {
  bool open = true;
  while (open && __atomic_load_n(&ring, __ATOMIC_ACQUIRE) != team) {
    (void)nanosleep(&(struct timespec){.tv_nsec = 10000}, NULL);
    spinlock_take(&team->lock);
    open = team->open;
    spinlock_release(&team->lock);
  }
}

static uint32_t choose_next(void) {
  uint32_t in[WORKERS_MOST], count = 0;
  for (uint32_t i = 0; i < WORKERS_MOST; i++)
    if (is_inside(i)) in[count++] = i;
  return in[below(count)];
}

static uint32_t guests_inside(const crd_team *team) {
  uint32_t count = 0;
  for (uint32_t i = 1; i <= team->guests; i++) count += is_inside(team->wanted + i);
  return count;
}

/* The helpers that the leader has called: all, but for the marker's thread while that marks; and as many guests as
 * stand. */
static void begin_ring(crd_team *team) {
  const crd_marker *marker = &team->helpers[0].young->marking->marker;
  for (uint32_t i = 0; i < WORKERS_MOST; i++) set_inside(i, i == 0);
  let_go(0);
  /* In this order, and the other way at the end: who sees the ring sees its number. */
  __atomic_add_fetch(&rings, 1, __ATOMIC_RELEASE);
  __atomic_store_n(&ring, team, __ATOMIC_RELEASE);
  for (uint32_t i = marker->going ? 2 : 1; i <= team->count; i++) WAIT_UNTIL(is_inside(i));
  uint32_t standing = team->helpers[0].young->space->standing;
  WAIT_UNTIL(guests_inside(team) >= team->guests || guests_inside(team) >= standing);
}

static void end_ring(void) {
  __atomic_store_n(&ring, NULL, __ATOMIC_RELEASE);
  __atomic_add_fetch(&rings, 1, __ATOMIC_RELEASE);
  tell();
}

/* The first place that a helper passes is where it waits for work. */
static void take_turn(crd_team *team, uint32_t worker, crd_turn turn) {
  if (turn == TURN_WAIT && worker != 0) wait_for_ring(team);
  if (turn == TURN_BEGIN) begin_ring(team);
  bool is_mine = __atomic_load_n(&ring, __ATOMIC_ACQUIRE) == team;
  uint32_t number = __atomic_load_n(&rings, __ATOMIC_ACQUIRE);
  if (!is_mine || number % 2 == 0 || (!is_inside(worker) && turn == TURN_END)) {
    return; /* it has left the last team just now */
  } else if (turn == TURN_END) {
    set_inside(worker, false);
    if (worker == 0)
      end_ring();
    else
      let_go(choose_next());
    return;
  } else if (!is_inside(worker)) {
    set_inside(worker, true);
    wait_for_turn(number, worker);
    return;
  }
  passed++;
  if (turn == TURN_OBJECT && below(SWITCH_EVERY) != 0) return;
  uint32_t next = choose_next();
  if (next == worker) return;
  switched++;
  let_go(next);
  wait_for_turn(number, worker);
}

/* --- delays --- */

static void delay(crd_team *team, uint32_t worker, crd_turn turn) {
  (void)team, (void)turn;
  static _Thread_local uint64_t own;
  if (own == 0) own = __atomic_load_n(&random_state, __ATOMIC_RELAXED) + worker;
  __atomic_fetch_add(&passed, 1, __ATOMIC_RELAXED);
  uint64_t drawn = random_next(&own);
  if (drawn % DELAY_EVERY != 0) return;
  drawn /= DELAY_EVERY;
  if (drawn % 2 == 0) (void)sched_yield();
  for (uint64_t i = drawn / 2 % DELAY_MOST; i > 0; i--) crd_thread_relax();
}

static bool begin(crd_turn_function *function, uint64_t seed) {
  /* A helper may still leave the last team. */
  __atomic_store_n(&random_state, seed, __ATOMIC_RELAXED);
  __atomic_store_n(&passed, 0, __ATOMIC_RELAXED);
  switched = 0;
  __atomic_store_n(&crd_team_turn, function, __ATOMIC_RELEASE);
  return true;
}

bool turns_take(uint64_t seed) {
  return begin(take_turn, seed);
}
bool turns_delay(uint64_t seed) {
  return begin(delay, seed);
}
void turns_end(void) {
  (void)begin(NULL, 0);
}
uint64_t turns_passed(void) {
  return passed;
}
uint64_t turns_switched(void) {
  return switched;
}

#else

bool turns_take(uint64_t seed) {
  return (void)seed, false;
}
bool turns_delay(uint64_t seed) {
  return (void)seed, false;
}
void turns_end(void) {}
uint64_t turns_passed(void) {
  return 0;
}
uint64_t turns_switched(void) {
  return 0;
}

#endif
