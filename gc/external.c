/* External memory: bytes outside the heap that the program reports. They count for when a major collection begins,
 * because a small object may keep much of it alive. */

#include "gc/death/destructor.h"
#include "gc/heap.h"
#include "gc/misuse.h"
#include "gc/mutator.h"

void cradle_external_memory(cradle_mutator *mutator, int64_t bytes) {
  cradle_heap *heap = mutator->heap;
  crd_mutator_check_thread(mutator, "cradle_external_memory");
  uint64_t told = heap->external_bytes - crd_destructors_owned_bytes(heap);
  if (bytes < 0 && -(uint64_t)bytes > told)
    crd_misuse(heap, "cradle_external_memory: more is taken away than was added");
  if (bytes > 0 && (uint64_t)bytes > COUNTED_MAX_BYTES - told)
    crd_misuse(heap, "cradle_external_memory: more than 1 EiB would be told of");
  ASSERT(told <= COUNTED_MAX_BYTES, "external memory is counted beyond its bound");
  heap->external_bytes += (uint64_t)bytes;
}
