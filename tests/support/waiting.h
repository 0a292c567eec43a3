/* How many objects wait in a finalizer queue. */
#ifndef TESTS_SUPPORT_WAITING_H
#define TESTS_SUPPORT_WAITING_H

#include <cradle/cradle.h>

static inline size_t finalizers_waiting(const cradle_mutator *m, uint32_t queue) {
  cradle_statistics now;
  cradle_heap_statistics(m->heap, &now, sizeof now);
  return (size_t)now.finalizers_waiting[queue];
}

#endif
