/* Reaching what only finalizers and ephemerons hold, slot by slot, with an explicit stack, for both collections: an
 * object is copied by a minor collection and marked by a major one, and then its slots are looked at. Unlike the
 * collections' own tracing it asks every object for the watched and the weak flag, and it goes depth first, which is
 * what the order of finalizers needs.
 *
 * The order. Objects with finalizers come before those that they lead to; those that lead to each other form a strongly
 * connected component, and are in registration order. Components are found by the path-based algorithm (Gabow,
 * Path-based depth-first search for strong and biconnected components, 2000): an object that is reached is opened, with
 * a place in the open stack; the path holds the places where a component may begin; a slot that leads back to an open
 * object joins all that lies between; when the object at the end of the path has no more slots, all from its place on
 * is a component. Components come out last first. The place of an open object is in its header, instead of the flags,
 * which are put back when it closes.
 *
 * When a stack cannot grow, the object goes to the collection's own tracing, which needs none: nothing is lost but
 * order, and ephemerons then go by passes.
 *
 *   [reach.1] An object is open exactly while it is in the open stack, and its header says at which place. The entry
 *             that closes it is on the slots stack: when that is empty, nothing is open.
 *   [reach.2] Places ascend along the path and along members, and the path begins with place 0 while anything is open.
 *   [reach.3] Of a major collection, heap->has_open_headers is ordering: both change in crd_reach_set_ordering only.
 */
#ifndef CRADLE_GC_DEATH_REACH_H
#define CRADLE_GC_DEATH_REACH_H

#include "gc/death/list.h"

typedef struct crd_reach {
  crd_word_stack slots;   /* to look at, or objects to close; while marking: holders of ephemerons to scan */
  crd_word_stack open;    /* objects of components that are not complete, each with its header */
  crd_word_stack path;    /* places in open where a component may begin */
  crd_word_stack members; /* candidates for finalizers in open components, each with its object's place */
  bool by_stack;          /* what is reached goes on the slots stack; else to the collection's own tracing */
  bool ordering;          /* objects are opened, to find out which leads to which */
  bool unordered;         /* memory for the order was refused: no header tells what is reached with all it leads to */
  bool incomplete;        /* the watch table lacks a pair, or an object was not asked for its flags: ephemerons go by
                           * passes */
  bool progress;          /* something was reached since it was last cleared */
} crd_reach;

/* A collection begins to look for what ephemerons hold. */
static inline void reach_begin(crd_reach *reach) {
  reach->by_stack = reach->incomplete = reach->progress = false;
}

/* --- reaching --- */

/* Looks at a slot whose object is to be reached. ephemeral: the value of a pair, of which a minor collection judges
 * young ones only. */
void crd_reach_slot(crd_death *death, bool value, cradle_word *slot, bool ephemeral);
/* Reaches an object that has not been. */
void crd_reach_object(crd_death *death, uintptr_t address);
/* An object with the watched flag was reached. address: where it was when it was watched. */
void crd_reach_wake(crd_death *death, cradle_word *object, uintptr_t address);
/* Goes on until nothing is left to look at, or the pace is over (NULL: never). */
bool crd_reach_run(crd_death *death, crd_pace *pace);
/* Whether an increment ends here. Without order or a complete watch table none does before all is reached: the program
 * could not be kept from what is reached itself, but leads to what is not yet. */
bool crd_reach_pauses(const crd_death *death, crd_pace *pace);

/* --- order --- */

/* Whether objects are opened from now on. */
void crd_reach_set_ordering(crd_death *death, bool ordering);
/* Memory for the order was refused: finalizers come as they were registered. What is open closes. */
void crd_reach_give_up_order(crd_death *death);

#endif
