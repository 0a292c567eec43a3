/* What the heap is doing. Every change of state goes through here, and this module knows which changes there are:
 *
 *   mutating     -> collecting, verifying, forking, sampling, telling, walking, destroying
 *   collecting   -> telling, destroying
 *
 * and back to what ran before. The second core stops before anything else than the mutator runs [marker.2]. It goes on
 * afterwards; after a collection, when the pause is over.
 *
 *   [state.1] While the state is not HEAP_MUTATING the mutator's top is NULL, so that an allocation where none may be
 *             takes the slow path and is refused there.
 */
#ifndef CRADLE_GC_STATE_H
#define CRADLE_GC_STATE_H

#include "gc/heap.h"

/* Begins something; returns what ran before, for crd_state_leave. */
crd_state crd_state_enter(cradle_heap *heap, crd_state state);
void crd_state_leave(cradle_heap *heap, crd_state before);

#endif
