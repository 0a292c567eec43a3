/* Turns: of the mutators of a shared heap one runs at a time, in an order that a seed decides, so that a run can be
 * repeated (options.stress_turns).
 *
 * The thread that has the turn may give it away at a slow path: there the seed says whether it goes on and, if not,
 * which of those that wait comes next. It also gives its turn away as it parks or goes. A mutator that unparks, and one
 * that is made, waits for its turn.
 *
 *     parked  --unpark-->  waits  --chosen-->  has the turn  --slow path-->  waits
 *                                                   `---park, free--->  parked
 *
 * Who waits must not depend on how fast the machine is. A parked thread may have got its lock just now, a new thread
 * may be on its way to its first mutator, and an ended one about to wake the thread that joins it. So before each
 * choice, as a turn begins, and at each slow path, a thread waits until all others of the process sleep: then whoever
 * can come has come. Where the system does not tell what threads do, the order is only as good as the program's own.
 *
 * The clock decides nothing: such a heap has no pause target, no collection by age, a nursery of one size, and no
 * threads of the collector. What a program does by the clock itself is not repeated, such as a sleep while parked.
 *
 *   [turns.1] A mutator of such a heap is RUNNING only while its thread has the turn.
 *   [turns.2] Those that wait are in the order of their mutators' numbers; then come new threads, in the order of
 *             theirs.
 */
#ifndef CRADLE_GC_TURNS_H
#define CRADLE_GC_TURNS_H

#include "gc/parts.h"

/* false: no memory. Nothing, if the options ask for no turns. */
bool crd_turns_init(crd_space *space);
void crd_turns_fini(crd_space *space);
/* Waits for the calling thread's turn, unless it has it. mutator: its own, which is not RUNNING; NULL: it has none so
 * far. */
void crd_turn_await(crd_space *space, const crd_mutator *mutator);
/* The calling thread's turn is over. */
void crd_turn_give(const crd_space *space);
/* At a slow path: whether the turn is to be passed on. Then the caller's mutator must not be RUNNING, and it calls the
 * second, which returns when the next turn begins. */
bool crd_turn_ends(const crd_space *space);
void crd_turn_pass(crd_space *space, const crd_mutator *mutator);
/* In the child of a fork: only the calling thread is there. */
void crd_turns_forked(const crd_space *space);

#endif
