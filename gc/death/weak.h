/* Weak slots: they are followed when their object is reached, and cleared when it is not.
 *
 * A minor collection looks at the registered young holders and at the old ones that were stored into, since no others
 * can hold a young object. A major collection looks at all, in increments; meanwhile the guard is up, and who reads a
 * slot asks the mark bit. Nothing that is unmarked gets marked before the last weak slot is cleared, so the answer does
 * not change.
 *
 *   [weak.1] After the clearing of weak slots, no weak slot of a reached holder leads to an object that the collection
 *            found dead.
 */
#ifndef CRADLE_GC_DEATH_WEAK_H
#define CRADLE_GC_DEATH_WEAK_H

#include "gc/death/list.h"

/* In a minor collection: clears the slots that lead to the dead. dead_too: those of dead holders as well, since a
 * finalizer may bring them back. */
void crd_weak_clear(crd_death *death, bool dead_too);
/* In a minor collection, at its end: lists the young holders that live. */
void crd_weak_settle(crd_death *death);
/* The same as passes of a major one. */
crd_verdict crd_weak_clear_entry(crd_death *death, cradle_word *entry);
crd_verdict crd_weak_settle_entry(crd_death *death, cradle_word *entry);

/* While the guard is up: whether marking left the object at an address that a weak slot holds. */
bool crd_weak_is_dead(const cradle_heap *heap, uintptr_t address);

#endif
