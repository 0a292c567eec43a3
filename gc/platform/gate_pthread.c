/* Gates of POSIX systems. */
#include "gc/platform/gate.h"

#include <pthread.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "gc/platform/calls.h"

/* macOS has no conditions that wait by another clock than that of the day. */
#ifdef __APPLE__
#define WAIT_CLOCK CLOCK_REALTIME
#else
#define WAIT_CLOCK CLOCK_MONOTONIC
#endif

/* FreeBSD's functions say to clang's -Wthread-safety which lock they take and need; these do not. */
#ifdef __clang__
#define UNCHECKED_LOCK __attribute__((no_thread_safety_analysis))
#else
#define UNCHECKED_LOCK
#endif

struct crd_gate {
  pthread_mutex_t lock;
  pthread_cond_t sides[GATE_SIDES];
  pid_t process;
};

static void init_side(pthread_cond_t *side) {
  pthread_condattr_t attributes;
  (void)pthread_condattr_init(&attributes);
#ifndef __APPLE__
  (void)pthread_condattr_setclock(&attributes, WAIT_CLOCK);
#endif
  (void)pthread_cond_init(side, &attributes);
  (void)pthread_condattr_destroy(&attributes);
}

crd_gate *crd_gate_new(void) {
  KEEP_ERRNO;
  crd_gate *gate = malloc(sizeof *gate);
  if (gate == NULL) return NULL;
  (void)pthread_mutex_init(&gate->lock, NULL);
  for (int i = 0; i < GATE_SIDES; i++) init_side(&gate->sides[i]);
  gate->process = getpid();
  return gate;
}

bool crd_gate_is_here(const crd_gate *gate) {
  return gate->process == getpid();
}

void crd_gate_free(crd_gate *gate) {
  if (gate == NULL) return;
  for (int i = 0; i < GATE_SIDES; i++) (void)pthread_cond_destroy(&gate->sides[i]);
  (void)pthread_mutex_destroy(&gate->lock);
  free(gate);
}

UNCHECKED_LOCK void crd_gate_lock(crd_gate *gate) {
  (void)pthread_mutex_lock(&gate->lock);
}

UNCHECKED_LOCK void crd_gate_unlock(crd_gate *gate) {
  (void)pthread_mutex_unlock(&gate->lock);
}

UNCHECKED_LOCK void crd_gate_wait(crd_gate *gate, crd_gate_side side) {
  (void)pthread_cond_wait(&gate->sides[side], &gate->lock);
}

UNCHECKED_LOCK void crd_gate_wait_for(crd_gate *gate, crd_gate_side side, uint64_t ns) {
  enum { SECOND_NS = 1000000000 };
  struct timespec until;
  if (clock_gettime(WAIT_CLOCK, &until) != 0) return;
  ns += (uint64_t)until.tv_nsec;
  until.tv_sec += (time_t)(ns / SECOND_NS);
  until.tv_nsec = (long)(ns % SECOND_NS);
  (void)pthread_cond_timedwait(&gate->sides[side], &gate->lock, &until);
}

void crd_gate_wake(crd_gate *gate, crd_gate_side side) {
  (void)pthread_cond_broadcast(&gate->sides[side]);
}

void crd_gate_wake_one(crd_gate *gate, crd_gate_side side) {
  (void)pthread_cond_signal(&gate->sides[side]);
}
