/* Forks: both processes go on with the heap.
 *
 * After a fork every page is shared, and a process that writes to one first copies it. A shared huge page is not copied
 * but split, base page by base page, and stays split. So empty memory is dropped before the fork: both processes get
 * whole new pages there. Live memory is shared, and costs what docs/design/pages.md measures. A copy that a reserved
 * pool cannot serve is a SIGBUS, so heaps with such pages are refused.
 */
#include "gc/collect.h"
#include "gc/heap.h"
#include "gc/mutator.h"
#include "gc/old/arena_memory.h"
#include "gc/platform/pages.h"
#include "gc/report/misuse.h"
#include "gc/report/report.h"
#include "gc/world.h"
#include "gc/young/nursery.h"

static bool prepare(cradle_heap *heap, const crd_mutator *mutator, cradle_error *error) CRADLE_MAY_COLLECT {
  if (heap->space.nursery.pool_bytes != 0 || heap->space.old.arenas.pool_count != 0)
    return crd_fail(
        error, "fork: memory of the reserved huge-page pool is in use, and a process that writes to it after a fork "
               "dies when the pool is empty; use policy auto or off (hugepages_nursery, hugepages_arenas)");
  if (!PLATFORM_HAS_FORK) return crd_fail(error, "fork: this system has no fork()");
  /* A minor collection first: only an empty nursery can be dropped. */
  if (!collection_is_off(&heap->options)) {
    if (mutator != NULL || space_is_shared(&heap->space)) crd_collect_minor(heap, CRADLE_CAUSE_FORK);
    ASSERT(nursery_filled(&heap->space) == 0, "the nursery is dropped while it holds objects");
    crd_nursery_discard(&heap->young, true);
  }
  crd_arenas_discard_free(&heap->space.old.arenas);
  (void)crd_state_enter(&heap->report, HEAP_FORKING);
  return true;
}

bool cradle_fork_prepare(cradle_heap *heap, cradle_error *error) {
  if (error != NULL) *error = (cradle_error){.option = NULL};
  crd_heap_enter(heap, "cradle_fork_prepare");
  crd_mutator *mutator = space_running(&heap->space);
  if (mutator != NULL) crd_mutator_check(&mutator->public, "cradle_fork_prepare");
  bool prepared = prepare(heap, mutator, error);
  if (!prepared) crd_world_leave(&heap->space);
  return prepared;
}

void cradle_fork_done(cradle_heap *heap) {
  crd_heap_check_owner(heap, "cradle_fork_done");
  if (heap->report.state != HEAP_FORKING) crd_misuse(heap, "cradle_fork_done: without cradle_fork_prepare");
  if (crd_world_is_forked(&heap->space)) crd_mutators_forked(heap);
  crd_state_leave(&heap->report, HEAP_MUTATING);
  crd_world_leave(&heap->space);
}
