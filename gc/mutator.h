/* Mutators: what every function that is given one checks first. Their invariants are those of cradle/mutator.h. */
#ifndef CRADLE_GC_MUTATOR_H
#define CRADLE_GC_MUTATOR_H

#include "gc/heap.h"

/* Misuse in a callback, while a collection runs or the heap is otherwise busy. what: the public function. */
CRADLE_COLD _Noreturn void crd_heap_busy(cradle_heap *heap, const char *what);
static inline void heap_check(cradle_heap *heap, const char *what) {
  if (CRADLE_UNLIKELY(heap->state != HEAP_MUTATING)) crd_heap_busy(heap, what);
}
/* Misuse unless the calling thread is the mutator's, no collection runs, and none is forbidden. what: the public
 * function. */
void crd_mutator_check(cradle_mutator *mutator, const char *what);
/* The same without the last condition, for functions that do not collect. */
void crd_mutator_check_thread(cradle_mutator *mutator, const char *what);
/* The same for functions of the heap, which may have no mutator. */
void crd_heap_check_thread(cradle_heap *heap, const char *what);

#endif
