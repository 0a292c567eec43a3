/* Weak slots: a weak slot follows its object if that is reached, and is cleared if it is not.
 *
 * A minor collection looks at the registered young holders and at the old ones that were stored into: no others can
 * hold a young object. A major collection looks at all holders, in increments. Meanwhile the guard is up, and the
 * reader of a slot asks for the mark of its object. No object is marked between the end of marking and the clearing of
 * the last weak slot, so the answer for an object does not change.
 *
 *   [weak.1] After the clearing of weak slots, no weak slot of a reached holder leads to an object that the collection
 *            found dead.
 */
#ifndef CRADLE_GC_DEATH_WEAK_H
#define CRADLE_GC_DEATH_WEAK_H

#include "gc/death/list.h"

/* In a minor collection: clears the slots that lead to the dead. dead_too: also the slots of dead holders, because a
 * finalizer may bring them back. */
void crd_weak_clear(crd_death *death, bool dead_too);
/* In a minor collection, at its end: lists the young holders that live. */
void crd_weak_settle(crd_death *death);
/* The same for one entry, in passes of a major collection. */
crd_verdict crd_weak_clear_entry(crd_death *death, cradle_word *entry);
crd_verdict crd_weak_settle_entry(crd_death *death, cradle_word *entry);

/* While the guard is up: whether the object at an address that a weak slot holds is dead. */
bool crd_weak_is_dead(const crd_space *space, uintptr_t address);

#endif
