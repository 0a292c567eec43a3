/* Several mutators on one heap: who may stop them, and how they stop.
 *
 * A heap made for several mutators (options.mutators) is shared, and has a world. One thread at a time holds the world:
 * it may collect, allocate outside of the nursery, and change what the heap has only once. The holder may stop all
 * mutators, until it lets go of the world or has them go on earlier. Whoever waits for the world counts as stopped, so
 * two mutators that both want to collect cannot wait for each other. A heap with one mutator has no world, and these
 * functions cost it a test.
 *
 *   RUNNING   the mutator's thread uses the heap
 *   STOPPED   its thread waits for the world, or for the end of a stop
 *   PARKED    its thread has promised not to use the heap (cradle_mutator_park), or it has no thread
 *
 *     stop      stopping = 1; top of each RUNNING mutator = NULL; wait until none is RUNNING but the holder's
 *     stand     at a slow path, if stopping: STOPPED; wake the holder; help to promote, or wait, until stopping is 0;
 *               RUNNING; look again
 *     park      PARKED; if stopping: wake the holder
 *     unpark    RUNNING; if stopping: as stand
 *
 * There are no counters that could be read late: the holder looks at the states themselves. All these words are read
 * and written in one order (seq_cst): either the holder sees a mutator RUNNING and waits for it, or the mutator sees
 * that a stop is on. tests/spin/world.pml has this as a model.
 *
 *   [world.1] While the world is stopped no mutator is RUNNING but the holder's. One that unparks may say so for a
 *             moment, but does nothing before it has looked at `stopping`.
 *   [world.2] Whoever waits at the gate holds no lock of the library, and its mutator is not RUNNING.
 *   [world.3] The state of a shared heap leaves HEAP_MUTATING only while the world is stopped.
 *   [world.4] The lists of mutators and of locals change only while the world is held, and under space_lock. Others
 *             read them only while they hold the world or have that lock.
 *   [world.5] stopping is 0 while nobody holds the world.
 */
#ifndef CRADLE_GC_WORLD_H
#define CRADLE_GC_WORLD_H

#include "gc/platform/gate.h"
#include "gc/space.h"

struct crd_world {
  crd_gate *gate;
  uint32_t is_awaited; /* the holder sleeps until all stand; atomic */
  uint32_t sleepers;   /* threads that sleep until they may go on; changes under the gate's lock */
  const void *holder;  /* its thread, NULL: nobody holds the world; atomic, changes under the gate's lock */
  uint32_t spins;   /* how often a thread looks before it sleeps; 0: there are more mutators than processors; atomic */
  uint32_t depth;   /* calls of enter that were not left; the holder's */
  crd_young *young; /* whose minor collections have guests (gc/young/team.h): whoever stands helps if it is called */
  crd_turns *turns; /* NULL: threads run as the machine lets them */
};

/* false: no memory. */
bool crd_world_init(crd_space *space, crd_young *young);
void crd_world_fini(crd_space *space);

/* Takes the world, for as many calls of leave. Waits while another thread holds it; the calling thread's mutator counts
 * as stopped meanwhile, so a collection may take place. mutator: the calling thread's own, RUNNING; or NULL if it has
 * none that is. */
void crd_world_take(crd_space *space, crd_mutator *mutator);
void crd_world_release(crd_space *space);
static inline void crd_world_enter(crd_space *space, crd_mutator *mutator) {
  if (CRADLE_UNLIKELY(space->world != NULL)) crd_world_take(space, mutator);
}
/* Nothing, if the thread does not hold the world any more. */
static inline void crd_world_leave(crd_space *space) {
  if (CRADLE_UNLIKELY(space->world != NULL)) crd_world_release(space);
}
/* Whether the calling thread holds it. */
bool crd_world_is_mine(const crd_space *space);
/* Lets go of the world whatever the depth, before a handler of the program runs: it may longjmp. */
void crd_world_let_go(crd_space *space);
/* The holder stops all others, or has them go on. why: "a collection", for messages and probes. A world that is
 * stopped already stays so. The listener that is told of a late mutator must not cause a call of this: that is misuse,
 * because not all stand yet. */
void crd_world_stop_all(crd_space *space, const char *why);
void crd_world_end_stop(crd_space *space);
static inline void crd_world_stop(crd_space *space, const char *why) {
  if (CRADLE_UNLIKELY(space->world != NULL)) crd_world_stop_all(space, why);
}
static inline void crd_world_go_on(crd_space *space) {
  if (CRADLE_UNLIKELY(space->world != NULL)) crd_world_end_stop(space);
}
/* Says that a mutator does not come, what its thread does, and where it last called the library, if that code is
 * compiled with CRADLE_CHECKED. who waits: "a collection". what: "", or "the turn of " this mutator. */
CRADLE_COLD void crd_world_tell_late(crd_space *space, const char *who, const char *what, const crd_mutator *mutator,
                                     uint64_t ns);
/* The slow path of a mutator whose top a stop has lowered: stands until it is over. With turns, its turn may end. */
void crd_world_stand(crd_mutator *mutator);
/* The mutator's thread promises not to use the heap, or takes that back, which waits for the end of a stop. */
void crd_world_park(crd_mutator *mutator);
void crd_world_unpark(crd_mutator *mutator);
/* The holder calls guests for its minor collection: at most so many threads that sleep are woken. */
void crd_world_call(crd_space *space, uint32_t count);
/* The holder's own mutator leaves the list. */
void crd_world_forget(crd_mutator *mutator);
/* After the list of mutators has changed. */
void crd_world_count(crd_space *space);
/* Before a thread waits: misuse in the child of a fork that was not prepared. Nobody may be there to wake the thread,
 * or to let go of the gate's lock. */
void crd_world_check_forked(const crd_space *space);
/* After a fork: whether this is the child, where only the calling thread is. Its gate is a new one then. */
bool crd_world_is_forked(crd_space *space);

#endif
