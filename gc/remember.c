/* The remembered set: old objects that were stored into since the last minor collection, each once. */
#include <cradle/barrier.h>

#include "gc/check.h"
#include "gc/heap.h"
#include "gc/probes.h"

void cradle_write_barrier_slow(cradle_mutator *mutator, void *object) {
  cradle_heap *heap = mutator->heap;
  cradle_word *header = object;
  PROBE2(barrier_slow, heap, object);
  ASSERT(*header & HEADER_BARRIER_FLAG, "the barrier's slow path needs the flag");
  ASSERT(heap->state == HEAP_MUTATING, "[heap.4] a store during a collection");
  *header &= ~HEADER_BARRIER_FLAG;
  if (!word_stack_push(&heap->remembered, (uintptr_t)object)) heap->remember_all = true;
}
