/* The order of death: what happens, and in which order, when a collection finds objects dead that something still waits
 * for. docs/order-of-death.md says what it means for programs. Heaps without services call none of it.
 *
 * A step may judge only what no later step can change, or what must not change although a later step reaches the object.
 *
 *    step                 reaches                             judges
 *    1 roots              what roots lead to
 *    2 ephemerons         values of living keys
 *    3 weak                                                   weak slots and weak sets: what is not reached is cleared
 *    4 finalizers         dead objects with finalizers,
 *                         and what they lead to
 *    5 ephemerons         values of keys that came back
 *    6 dead keys                                              pairs whose keys are not reached are cleared
 *    7 destructors                                            what is not reached is destroyed
 *    8 callbacks                                              of weak sets that lost entries
 *    9 memory                                                 the nursery at once, the old generation by sweeping
 *
 * - 2 before 3: a value that an ephemeron keeps lives, and weak slots must not lose it.
 * - 3 before 4: a weak slot dies at once, even if a finalizer brings its object back. Otherwise programs would see an
 *   object in a weak slot and in a finalizer's queue.
 * - 5 after 4, and 6 after 5: a key that comes back with a finalizer keeps its value, so no pair is judged earlier.
 * - 7 after 6: nothing is reached any more, so destructors run for what is certainly dead. Its memory is still whole.
 *
 * A minor collection takes all steps at once. A major collection takes them between marking and sweeping, as stages
 * that may each last several increments. In between, the program must not meet an object that is dead but not cleared
 * yet: until the last dead key is cleared, it reads weak slots behind a guard, which asks for the mark.
 *
 *   [order.1] Between collections a stage is under way only while major.phase is MAJOR_CLEARING.
 *   [order.2] The guard of weak slots is up from the end of marking until the last dead key is cleared.
 */
#ifndef CRADLE_GC_DEATH_ORDER_H
#define CRADLE_GC_DEATH_ORDER_H

#include "gc/death_calls.h"

/* The stages of a major collection's clearing, one after the other. The numbers are the steps above; marking has
 * done steps 1 and 2. */
typedef enum crd_stage {
  STAGE_WEAK,        /* 3: weak slots */
  STAGE_SETS,        /* 3: weak sets */
  STAGE_FIND,        /* 4: dead objects with finalizers are found */
  STAGE_REACH,       /* 4: they are reached, with all that they lead to */
  STAGE_QUEUE,       /* as it begins, 5: ephemerons are completed; then 4: objects with finalizers are queued */
  STAGE_EPHEMERONS,  /* 6: dead keys */
  STAGE_HOLDERS,     /* dead holders leave the list of weak slots */
  STAGE_DESTRUCTORS, /* 7 */
  STAGE_TRIM,        /* memory of stacks is given back */
  STAGE_NONE
} crd_stage;

/* The functions that collections call by space->death. */
const crd_death_calls *crd_order_calls(void);
/* Whether the guard is up: readers of weak slots must ask for the mark [order.2]. */
bool crd_death_guards(const crd_services *services);

#endif
