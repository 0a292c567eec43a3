/* Gates of Windows. */
#include "gc/platform/gate.h"

#include <stdlib.h>

#include "gc/platform/windows.h"

struct crd_gate {
  SRWLOCK lock;
  CONDITION_VARIABLE sides[GATE_SIDES];
};

crd_gate *crd_gate_new(void) {
  crd_gate *gate = malloc(sizeof *gate);
  if (gate == NULL) return NULL;
  InitializeSRWLock(&gate->lock);
  for (int i = 0; i < GATE_SIDES; i++) InitializeConditionVariable(&gate->sides[i]);
  return gate;
}

/* Windows has no fork. */
bool crd_gate_is_here(const crd_gate *gate) {
  (void)gate;
  return true;
}

void crd_gate_free(crd_gate *gate) {
  free(gate);
}

void crd_gate_lock(crd_gate *gate) {
  AcquireSRWLockExclusive(&gate->lock);
}

void crd_gate_unlock(crd_gate *gate) {
  ReleaseSRWLockExclusive(&gate->lock);
}

void crd_gate_wait(crd_gate *gate, crd_gate_side side) {
  KEEP_LAST_ERROR;
  (void)SleepConditionVariableSRW(&gate->sides[side], &gate->lock, INFINITE, 0);
}

void crd_gate_wait_for(crd_gate *gate, crd_gate_side side, uint64_t ns) {
  KEEP_LAST_ERROR;
  uint64_t ms = ns / 1000000 + 1;
  (void)SleepConditionVariableSRW(&gate->sides[side], &gate->lock, ms < INFINITE ? (DWORD)ms : INFINITE - 1, 0);
}

void crd_gate_wake(crd_gate *gate, crd_gate_side side) {
  WakeAllConditionVariable(&gate->sides[side]);
}

void crd_gate_wake_one(crd_gate *gate, crd_gate_side side) {
  WakeConditionVariable(&gate->sides[side]);
}
