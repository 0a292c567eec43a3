/* External memory: bytes outside the heap that the program reports. They count for when a major collection begins,
 * because a small object may keep much of it alive. */

#include "gc/death/destructor.h"
#include "gc/heap.h"
#include "gc/report/misuse.h"
#include "gc/mutator.h"

void cradle_external_memory(cradle_mutator *mutator, int64_t bytes) {
  cradle_heap *heap = mutator->heap;
  crd_mutator_check_thread(mutator, "cradle_external_memory");
  uint64_t told = heap->marking.external_bytes - crd_destructors_owned_bytes(heap->space.services);
  if (bytes < 0 && -(uint64_t)bytes > told)
    crd_misuse(heap, "cradle_external_memory: more bytes are removed than were added");
  if (bytes > 0 && (uint64_t)bytes > COUNTED_MAX_BYTES - told)
    crd_misuse(heap, "cradle_external_memory: the total would be above 1 EiB");
  ASSERT(told <= COUNTED_MAX_BYTES, "external memory is counted beyond its bound");
  heap->marking.external_bytes += (uint64_t)bytes;
}
