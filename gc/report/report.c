#include "gc/report/report.h"

#include "gc/base/check.h"

#define TO(state) (1u << HEAP_##state)

/* Which states may begin while the state of the index runs. */
static const unsigned may_begin[HEAP_STATES] = {
    [HEAP_MUTATING] =
        TO(COLLECTING) | TO(VERIFYING) | TO(FORKING) | TO(SAMPLING) | TO(DESTROYING) | TO(TELLING) | TO(WALKING),
    [HEAP_COLLECTING] = TO(DESTROYING) | TO(TELLING),
};

static void go_to(crd_heap_report *report, crd_state state) {
  if (report->state == HEAP_MUTATING || state == HEAP_MUTATING)
    report->go_to(heap_of(report), state);
  else
    report->state = state;
}

crd_state crd_state_enter(crd_heap_report *report, crd_state state) {
  crd_state before = report->state;
  ASSERT(may_begin[before] >> state & 1, "[heap.4] a state begins where it cannot");
  go_to(report, state);
  return before;
}

void crd_state_leave(crd_heap_report *report, crd_state before) {
  ASSERT(may_begin[before] >> report->state & 1, "[heap.4] a state ends that did not begin");
  go_to(report, before);
}
