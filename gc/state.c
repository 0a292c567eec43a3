#include "gc/state.h"

#include "gc/heap.h"
#include "gc/young/nursery.h"

#define TO(state) (1u << HEAP_##state)

/* Which states may begin while the state of the index runs. */
static const unsigned may_begin[HEAP_STATES] = {
    [HEAP_MUTATING] =
        TO(COLLECTING) | TO(VERIFYING) | TO(FORKING) | TO(SAMPLING) | TO(DESTROYING) | TO(TELLING) | TO(WALKING),
    [HEAP_COLLECTING] = TO(DESTROYING) | TO(TELLING),
};

/* Only a change from or to HEAP_MUTATING moves top [state.1]. */
static void change(cradle_heap *heap, crd_state state) {
  bool asks_for_top = (heap->state == HEAP_MUTATING) != (state == HEAP_MUTATING);
  heap->state = state;
  if (asks_for_top) crd_nursery_set_top(heap);
}

crd_state crd_state_enter(cradle_heap *heap, crd_state state) {
  crd_state before = heap->state;
  ASSERT(may_begin[before] >> state & 1, "[heap.4] a state begins where it cannot");
  /* A collection lets the second core go on by itself: in its minor collection, and when the pause is over. */
  if (CRADLE_UNLIKELY(heap->marker.thread != NULL) && before == HEAP_MUTATING)
    heap->marker.resumes = crd_marker_stop(heap) && state != HEAP_COLLECTING;
  ASSERT(!heap->marker.going || state == HEAP_TELLING, "[marker.2] a state begins while a round goes on");
  change(heap, state);
  return before;
}

void crd_state_leave(cradle_heap *heap, crd_state before) {
  ASSERT(may_begin[before] >> heap->state & 1, "[heap.4] a state ends that did not begin");
  change(heap, before);
  if (CRADLE_UNLIKELY(heap->marker.resumes) && before == HEAP_MUTATING) crd_marker_go_on(heap);
}
