/* Page supply: the second core populates arenas before minor collections fill them, so that the program's thread seldom
 * has any left to populate (crd_arenas_prepare). Populating changes nothing that was written. So the thread may
 * populate an arena while the mutator takes it, writes to it and frees it again, but not while it goes back to the
 * system.
 *
 *   [supply.1] The arenas that the thread may be populating are [first, first + count). They are not given back, and
 *              their contents are not dropped, until the mutator has seen that the thread is done with all of them.
 *   [supply.2] The mutator writes first, count and asked only when it has seen that done equals asked. The thread
 *              writes nothing but done, and reads first and count only when done differs from asked. So each request
 *              is published by asked, and taken back by done, both with release and acquire order.
 */
#ifndef CRADLE_GC_OLD_SUPPLY_H
#define CRADLE_GC_OLD_SUPPLY_H

#include "gc/old/arena.h"

/* Notes what the thread has populated. Returns whether the thread has nothing left to do. */
bool crd_supply_settle(crd_arenas *arenas);
/* Settles. If the thread is done, asks it to populate the lowest `keep` FREE arenas and, while the heap grows, `ahead`
 * more, which are committed and kept from the system. Returns whether the thread has something new to do. */
bool crd_supply_ask(crd_arenas *arenas, uint32_t keep, uint32_t ahead);
/* The thread is gone, or was lost in a fork. */
void crd_supply_forget(crd_arenas *arenas);

/* On the thread: populates the next arena that was asked for. false: there is none. */
bool crd_supply_next(crd_arenas *arenas);

#endif
