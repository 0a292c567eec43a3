/* A lock that is held for less than a microsecond at a time. */
#ifndef CRADLE_GC_BASE_SPINLOCK_H
#define CRADLE_GC_BASE_SPINLOCK_H

#include "gc/platform/thread.h"

/* Looks at the word before the processor is given to another thread: the one that holds the lock may wait for it. */
#define LOCK_SPINS 1000

typedef struct crd_spinlock {
  uint32_t held;
} crd_spinlock;

static inline void spinlock_take(crd_spinlock *lock) {
  for (uint32_t spins = 0; __atomic_exchange_n(&lock->held, 1, __ATOMIC_ACQUIRE) != 0; spins++)
    while (__atomic_load_n(&lock->held, __ATOMIC_RELAXED) != 0)
      if (++spins % LOCK_SPINS == 0)
        crd_thread_yield();
      else
        crd_thread_relax();
}
static inline void spinlock_release(crd_spinlock *lock) {
  __atomic_store_n(&lock->held, 0, __ATOMIC_RELEASE);
}

#endif
