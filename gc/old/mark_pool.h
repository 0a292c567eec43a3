/* The pool: how several markers share what is to be traced (gc/old/marker.h).
 *
 * Each marker has a mark stack of its own. One that has nothing left is *hungry*: it waits at the pool. The others see
 * that between two objects, and the first that can puts the bottom of its stack into the pool, because the entries
 * there lead to the most. A hungry marker takes all that is in the pool.
 *
 *     marker A   traces ....... sees hunger: gives ....... nothing left, hungry --- all are hungry: the round is over
 *     marker B   nothing, hungry ------------------ takes, traces ........ hungry --- the round is over
 *
 *   [pool.1] Entries, hunger and the end change under the lock. A hungry marker has an empty stack. So if all markers
 *            of the round are hungry and the pool is empty, nothing is left to trace, and the round is over.
 *   [pool.2] One that has not begun is not hungry, because it may have a stack. So without it the round is over only
 *            when a pause asks for the end. In a round that the mutator leads, threads join as they begin, and nobody
 *            waits for one that has not. A guest (gc/old/marker.h) joins as it enters, and leaves when the round is
 *            over.
 *   [pool.3] When a round has ended, what is in the pool goes to the mark stack.
 *   [pool.4] Only a piece of an array is an odd word. Nobody gives one of its two words and keeps the other.
 */
#ifndef CRADLE_GC_OLD_MARK_POOL_H
#define CRADLE_GC_OLD_MARK_POOL_H

#include "gc/base/word_stack.h"
#include "gc/platform/gate.h"

/* So many entries are given away at a time. */
#define POOL_ENTRIES LIMIT(512, 16)
/* Of a shorter stack nothing is given away. */
#define POOL_GIVE_MIN LIMIT(8, 3)

typedef struct crd_mark_pool {
  crd_gate *gate;   /* its lock, and where hungry markers wait */
  uint32_t markers; /* of the round; if the mutator leads, those that have joined */
  uint32_t places;  /* free ones for guests */
  uint32_t guests;  /* that have not left */
  /* Read without the lock, too. */
  uint32_t hungry; /* markers */
  uint32_t count;  /* entries */
  bool over;
  cradle_word entries[POOL_ENTRIES];
} crd_mark_pool;

/* Where another marker's next step may come in between. In the library with small limits, tests wait there. */
#if CRADLE_SMALL_LIMITS
typedef void crd_pool_turn_function(void);
extern crd_pool_turn_function *crd_pool_turn;
#define POOL_TURN() \
  do { \
    crd_pool_turn_function *waits = __atomic_load_n(&crd_pool_turn, __ATOMIC_ACQUIRE); \
    if (waits != NULL) waits(); \
  } while (0)
#else
#define POOL_TURN() ((void)0)
#endif

/* Between rounds. false: no memory. */
bool crd_pool_init(crd_mark_pool *pool);
void crd_pool_fini(crd_mark_pool *pool);
/* Begins and ends a round, by the mutator. */
void crd_pool_open(crd_mark_pool *pool, uint32_t markers);
/* Returns when no guest is left. */
void crd_pool_close(crd_mark_pool *pool);
/* All that a round needs is ready: so many guests may enter. */
void crd_pool_invite(crd_mark_pool *pool, uint32_t places);
/* A guest has a place of this round, from 0 on, which is *place; false: none is free, or the round is over. */
bool crd_pool_enter(crd_mark_pool *pool, uint32_t *place);
void crd_pool_leave(crd_mark_pool *pool);
/* One more marker has begun. */
void crd_pool_join(crd_mark_pool *pool);
/* By a marker whose stack is empty: waits until it has something. false: the round is over. */
bool crd_pool_take(crd_mark_pool *pool, crd_word_stack *stack);
/* Puts the bottom of the stack into the pool, if it is empty. */
void crd_pool_give(crd_mark_pool *pool, crd_word_stack *stack);

static inline bool pool_is_over(const crd_mark_pool *pool) {
  return __atomic_load_n(&pool->over, __ATOMIC_RELAXED);
}
/* Whether a marker waits, and nobody has given anything. */
static inline bool pool_wants(const crd_mark_pool *pool) {
  return __atomic_load_n(&pool->hungry, __ATOMIC_RELAXED) != 0 && __atomic_load_n(&pool->count, __ATOMIC_RELAXED) == 0;
}

#endif
