/* Weak slots: a weak slot follows its object if that is reached, and is cleared if it is not.
 *
 * A minor collection looks at the registered young holders and at the old ones that were stored into. A major
 * collection looks at all holders, in increments. Meanwhile the guard is up, and the reader of a slot asks for the mark
 * of its object. No object is marked between the end of marking and the clearing of the last weak slot, so the answer
 * for an object does not change.
 *
 *   [weak.1] After the clearing of weak slots, no weak slot of a reached holder leads to an object that the collection
 *            found dead.
 */
#ifndef CRADLE_GC_DEATH_WEAK_H
#define CRADLE_GC_DEATH_WEAK_H

#include "gc/death/registry.h"

/* Clears the slots of a holder that lead to the dead. A dead holder stays listed if a finalizer may bring it back. */
crd_verdict crd_weak_clear_entry(crd_death *death, cradle_word *entry);
/* Whether the holder stays listed, when it is certain which holders live. */
crd_verdict crd_weak_settle_entry(crd_death *death, cradle_word *entry);
/* In a minor collection: both, of young holders and of the old ones that were stored into. */
void crd_weak_clear(crd_death *death);
void crd_weak_settle(crd_death *death);

/* While the guard is up: whether the object at an address that a weak slot holds is dead. */
bool crd_weak_is_dead(const crd_space *space, uintptr_t address);

#endif
