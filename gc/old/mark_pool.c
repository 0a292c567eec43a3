#include "gc/old/mark_pool.h"

#include <string.h>

#include "gc/platform/thread.h"

/* Looks before a hungry marker sleeps. */
#define LOOKS LIMIT(1000, 1)

#if CRADLE_SMALL_LIMITS
crd_pool_turn_function *crd_pool_turn = NULL;
#endif

bool crd_pool_init(crd_mark_pool *pool) {
  if (pool->gate != NULL && crd_gate_is_here(pool->gate)) return true;
  /* After a fork it may be held for ever. Nobody else looks at the pool of a new gate. */
  *pool = (crd_mark_pool){.gate = crd_gate_new()};
  return pool->gate != NULL;
}

void crd_pool_fini(crd_mark_pool *pool) {
  if (pool->gate != NULL && crd_gate_is_here(pool->gate)) crd_gate_free(pool->gate);
  pool->gate = NULL;
}

void crd_pool_open(crd_mark_pool *pool, uint32_t markers) {
  ASSERT(pool->count == 0, "[pool.3] a round begins with what another has left in the pool");
  crd_gate_lock(pool->gate);
  pool->markers = markers;
  pool->places = 0;
  __atomic_store_n(&pool->hungry, 0, __ATOMIC_RELAXED);
  __atomic_store_n(&pool->over, false, __ATOMIC_RELAXED);
  crd_gate_unlock(pool->gate);
}

/* With the lock. */
static void end(crd_mark_pool *pool) {
  __atomic_store_n(&pool->over, true, __ATOMIC_RELAXED);
  crd_gate_wake(pool->gate, GATE_OPENS);
}

void crd_pool_close(crd_mark_pool *pool) {
  crd_gate_lock(pool->gate);
  end(pool);
  while (pool->guests != 0) crd_gate_wait(pool->gate, GATE_STANDS);
  crd_gate_unlock(pool->gate);
}

void crd_pool_invite(crd_mark_pool *pool, uint32_t places) {
  crd_gate_lock(pool->gate);
  pool->places = places;
  crd_gate_unlock(pool->gate);
}

bool crd_pool_enter(crd_mark_pool *pool, uint32_t *place) {
  POOL_TURN();
  crd_gate_lock(pool->gate);
  bool enters = pool->places != 0 && !pool->over;
  if (enters) {
    *place = --pool->places;
    pool->guests++;
    pool->markers++;
  }
  crd_gate_unlock(pool->gate);
  return enters;
}

void crd_pool_leave(crd_mark_pool *pool) {
  crd_gate_lock(pool->gate);
  ASSERT(pool->guests != 0, "[pool.2] a guest leaves that was not there");
  if (--pool->guests == 0) crd_gate_wake(pool->gate, GATE_STANDS);
  crd_gate_unlock(pool->gate);
}

void crd_pool_join(crd_mark_pool *pool) {
  POOL_TURN();
  crd_gate_lock(pool->gate);
  pool->markers++;
  crd_gate_unlock(pool->gate);
}

/* --- taking --- */

static void set_hungry(crd_mark_pool *pool, uint32_t hungry) {
  __atomic_store_n(&pool->hungry, hungry, __ATOMIC_RELAXED);
}

static void look(const crd_mark_pool *pool) {
  for (int i = 0; i < LOOKS && !pool_is_over(pool) && __atomic_load_n(&pool->count, __ATOMIC_RELAXED) == 0; i++)
    crd_thread_relax();
}

/* With the lock. The stack is empty, so its order stays. */
static void take(crd_mark_pool *pool, crd_word_stack *stack) {
  ASSERT(stack->limit - stack->base >= POOL_ENTRIES, "[word_stack.1] a marker's stack has no room for what it takes");
  memcpy(stack->base, pool->entries, pool->count * sizeof *pool->entries);
  stack->top = stack->base + pool->count;
  __atomic_store_n(&pool->count, 0, __ATOMIC_RELAXED);
}

bool crd_pool_take(crd_mark_pool *pool, crd_word_stack *stack) {
  ASSERT(word_stack_is_empty(stack), "[pool.1] a marker is hungry that has something to trace");
  POOL_TURN();
  crd_gate_lock(pool->gate);
  set_hungry(pool, pool->hungry + 1);
  ASSERT(pool->hungry <= pool->markers, "[pool.2] more are hungry than mark in the round");
  for (bool looked = false; pool->count == 0 && !pool->over; looked = true) {
    if (pool->hungry == pool->markers) {
      end(pool);
    } else if (looked) {
      crd_gate_wait(pool->gate, GATE_OPENS);
    } else {
      crd_gate_unlock(pool->gate);
      look(pool);
      POOL_TURN();
      crd_gate_lock(pool->gate);
    }
  }
  bool goes_on = !pool->over;
  if (goes_on) {
    take(pool, stack);
    set_hungry(pool, pool->hungry - 1);
  }
  crd_gate_unlock(pool->gate);
  return goes_on;
}

/* --- giving --- */

static bool is_cut(const cradle_word *base, const cradle_word *top, size_t at) {
  return base + at < top && base[at] % 2 != 0;
}

/* How many entries, at most `most`, can go from the bottom, and as many from the top into their place [pool.4]. */
static size_t portion(const crd_word_stack *stack, size_t most) {
  size_t count = word_stack_count(stack);
  while (most != 0 && (is_cut(stack->base, stack->top, most) || is_cut(stack->base, stack->top, count - most))) most--;
  return most;
}

/* The top fills the hole: to move all that is left down would take too long. At most half was given. */
static void cut_bottom(crd_word_stack *stack, size_t given) {
  stack->top -= given;
  memcpy(stack->base, stack->top, given * sizeof *stack->base);
  ASSERT(word_stack_is_empty(stack) || stack->base[0] % 2 == 0, "[pool.4] a piece is left without its index");
}

void crd_pool_give(crd_mark_pool *pool, crd_word_stack *stack) {
  size_t count = word_stack_count(stack), half = count / 2;
  size_t given = count < POOL_GIVE_MIN ? 0 : portion(stack, half < POOL_ENTRIES ? half : POOL_ENTRIES);
  if (given == 0) return;
  POOL_TURN();
  crd_gate_lock(pool->gate);
  bool wanted = pool->count == 0 && pool->hungry != 0 && !pool->over;
  if (wanted) {
    memcpy(pool->entries, stack->base, given * sizeof *stack->base);
    __atomic_store_n(&pool->count, (uint32_t)given, __ATOMIC_RELAXED);
    crd_gate_wake(pool->gate, GATE_OPENS);
  }
  crd_gate_unlock(pool->gate);
  if (wanted) cut_bottom(stack, given);
}
