/* Reaching: finds what only finalizers and ephemerons keep alive, slot by slot with an explicit stack. To reach an
 * object, a minor collection copies it, and a major collection marks it. The collections' own tracing is faster. This
 * one asks every object for the watched and the weak flag, and goes depth first, as the order of finalizers needs it.
 *
 * The order: an object with a finalizer comes before those that it leads to. Objects that lead to each other form a
 * strongly connected component. Within a component registration order holds. Components are found by the path-based
 * algorithm (Gabow, Path-based depth-first search for strong and biconnected components, 2000):
 *
 *   open    An object that is reached is opened: it gets a place in the open stack, and its header says at which place.
 *   path    holds the places at which a component may begin. Opening an object pushes its place. A slot that leads to
 *           an open object joins everything from that object on into one component: higher places leave the path.
 *   close   An object is done after its last slot. If the path then ends with its place, all open objects from there
 *           on are a component: they close, and leave the open stack.
 *
 *    A leads to B, B to C, C back to B:       open     path
 *    A, B and C are reached                   A B C    0 1 2
 *    C's slot leads to B, which is open       A B C    0 1        B and C are joined
 *    C is done: the path does not end with 2
 *    B is done: the path ends with 1          A        0          {B, C} comes out
 *    A is done: the path ends with 0                              {A} comes out
 *
 * Components come out in reverse order: here {B, C} before {A}, so the order is A, then B and C. The header that an
 * object had is kept in the open stack and put back when the object's component comes out. A leaf is a component of its
 * own, which comes out at once; it is never opened.
 *
 * A major collection may stop after every slot, piece of a large array or of a holder of many pairs, and object of a
 * large component. Between two increments the program may do anything:
 *
 *   - It gets at no object on its way back. One that was not reached yet is dead for it. One that was reached is open,
 *     and whoever could hand it out (weak slots, ids, walks) asks space_has_open.
 *   - An object closes when all that it leads to has been reached, so one that the program gets at (the key of a pair)
 *     leads to nothing that is still to be reached. A large component closes in two passes. The first puts the headers
 *     back and sets the watched flag, which then stands for bit 63; the second clears it, when the program may see all.
 *   - What the program allocates or promotes is marked [major.3], so it is never a candidate of this collection. What a
 *     minor collection finds dead has its own candidates.
 *   - Nothing compacts before the phase ends [order.1], a fork copies all, and the second core does nothing meanwhile.
 *
 * When a stack cannot grow, the object goes to the collection's own tracing, which needs no memory. Only order is lost
 * then: finalizers come in registration order, and ephemerons are found by passes over all of them.
 *
 *   [reach.1] An object is open exactly while it is in the open stack, and its header says at which place. An entry
 *             that will close it is on the slots stack. So when the slots stack is empty, nothing is open.
 *   [reach.2] Places ascend in the stack path, which begins with place 0 while anything is open.
 *   [reach.3] Of a major collection, space->open_flags has bit 63 exactly while ordering is set, and the watched flag
 *             while headers of a large component are put back.
 *   [reach.4] The rest of an array is two words on the slots stack: how many items are left, and above it the array.
 */
#ifndef CRADLE_GC_DEATH_REACH_H
#define CRADLE_GC_DEATH_REACH_H

#include "gc/death/registry.h"
#include "gc/object/type_table.h"

/* How far a large component has come that comes out in pieces. */
typedef struct crd_closing {
  enum { CLOSING_NONE, CLOSING_HEADERS, CLOSING_FLAGS } step;
  cradle_word place; /* of its first object in open */
  cradle_word at;    /* of the next one that gets its header back */
} crd_closing;

typedef struct crd_reach {
  crd_word_stack slots; /* slots to look at, objects to close, or rests of arrays; while marking: holders of
                         * ephemerons to scan */
  crd_word_stack open;  /* objects of components that are not complete, each with its header and its number */
  crd_word_stack path;  /* places in open where a component may begin */
  cradle_word *holder;  /* whose pairs are scanned in pieces, before its slots are looked at; or NULL */
  crd_closing closing;
  bool by_stack;   /* slots go on the slots stack; otherwise the collection's own tracing takes them */
  bool ordering;   /* objects are opened, to find out which leads to which */
  bool unordered;  /* memory for the order was refused: objects are reached and not opened */
  bool incomplete; /* a pair of an ephemeron is not in the watch table, or an object's flags were not looked
                           * at: only passes over all ephemerons find all values to reach */
  bool progress;   /* something was reached since it was last cleared */
} crd_reach;

/* When a collection begins to look for what ephemerons hold. */
static inline void reach_begin(crd_reach *reach) {
  reach->by_stack = reach->incomplete = reach->progress = false;
}

/* --- reaching --- */

/* Whether an object has no slots, and no pairs that it is the holder or the key of. */
static inline bool reach_is_leaf(const crd_type *type, cradle_word header) {
  return !type->has_slots && !(type->registers >> REGISTERED_EPHEMERON & 1) && !header_is_watched(header);
}

/* Looks at a slot whose object is to be reached. ephemeral: the slot is the value of a pair. A minor collection does
 * not mark an old value, because the running major collection decides whether it lives. */
void crd_reach_slot(crd_death *death, bool value, cradle_word *slot, bool ephemeral);
/* Reaches an object that was not reached yet. */
void crd_reach_object(crd_death *death, uintptr_t address);
/* When a watched object was reached: clears its flag and reaches the values of the pairs that wait for it. address:
 * where the object was when it got the flag. */
void crd_reach_wake(crd_death *death, cradle_word *object, uintptr_t address);
/* Goes on until nothing is left to look at, or the budget in pace is spent (NULL: never). true: nothing left. */
bool crd_reach_run(crd_death *death, crd_pace *pace);
/* Whether an increment ends here. If the order was given up or the watch table is incomplete, it goes on until
 * everything is reached: no open header hides a reached object that leads to an unreached one. */
bool crd_reach_pauses(const crd_death *death, crd_pace *pace);

/* --- order --- */

/* Says whether objects are opened from now on. */
void crd_reach_set_ordering(crd_death *death, bool ordering);
/* Memory for the order was refused: finalizers come in registration order. Closes what is open. */
void crd_reach_give_up_order(crd_death *death);

#endif
