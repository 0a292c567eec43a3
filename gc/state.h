/* What the heap is doing now. Every change of state goes through here, and these changes exist:
 *
 *   mutating     -> collecting, verifying, forking, sampling, telling, walking, destroying
 *   collecting   -> telling, destroying
 *
 * and back to what ran before. The second core stops before anything but the mutator runs [marker.2]. It goes on
 * afterwards. A collection lets it go on by itself: while its minor collection traces, and when the pause is over.
 *
 *   [state.1] While the state is not HEAP_MUTATING the mutator's top is NULL, so that an allocation where none may be
 *             takes the slow path and is refused there.
 */
#ifndef CRADLE_GC_STATE_H
#define CRADLE_GC_STATE_H

#include "gc/heap.h"

/* Begins a state. Returns what ran before, for crd_state_leave. */
crd_state crd_state_enter(cradle_heap *heap, crd_state state);
void crd_state_leave(cradle_heap *heap, crd_state before);

#endif
