/* Mutators: what every public function checks first. The invariants of mutators are in cradle/mutator.h.
 *
 *   function                                     thread   state   no-collection region   checks with
 *   may collect                                  yes      yes     yes                    crd_mutator_check
 *   has a mutator                                yes      yes                            crd_mutator_check_thread
 *   has a heap (or a weak set)                   yes *    yes                            crd_heap_check_thread
 *   stores, past the barrier's inline test       **       yes                            heap_check
 *   only reads, and says so in its header; uses no heap; is the kit's: nothing
 *
 *   thread: the calling thread is the one that the mutator is attached to. *: if the heap has a mutator. **: in code
 *   compiled with CRADLE_CHECKED; the inline test asks nobody, and the slow path is hot.
 *   state:  no callback runs, no collection, no fork ([heap.4], gc/state.h).
 *
 * tests/heap/test_every_function.c has a row for each public function; tests/tree/every_function.py finds those that it
 * lacks. A heap, mutator or structure that is NULL faults at address 0. One that was freed cannot be recognised. An
 * object that must not be NULL is misuse.
 */
#ifndef CRADLE_GC_MUTATOR_H
#define CRADLE_GC_MUTATOR_H

#include "gc/heap.h"

/* Misuse: a callback or a collection runs, or the heap is otherwise busy. what: the public function. */
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
/* Checks only the thread, if the heap has a mutator: for calls that end a state. */
void crd_heap_check_owner(cradle_heap *heap, const char *what);

#endif
