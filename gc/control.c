#include <cradle/control.h>

#include "gc/death/services.h"
#include "gc/heap.h"
#include "gc/mutator.h"
#include "gc/old/arena_memory.h"
#include "gc/old/closed.h"
#include "gc/outgrow.h"
#include "gc/platform/backtrace.h"
#include "gc/platform/hardware.h"
#include "gc/report/misuse.h"
#include "gc/statistics.h"
#include "gc/world.h"
#include "gc/young/adapt.h"
#include "gc/young/nursery.h"

/* A heap needs so many arenas besides what lives in it: room for a little of the nursery and its promotion, as when
 * it is made. */
#define ROOM_MIN_ARENAS 2

void cradle_major_hold(cradle_mutator *mutator, bool held) {
  crd_mutator_check_thread(mutator, "cradle_major_hold");
  space_lock(&mutator->heap->space);
  if (!held && mutator->heap->majors_disabled == 0)
    crd_misuse(mutator->heap, "cradle_major_hold: major collections are not held off");
  mutator->heap->majors_disabled += held ? 1 : -1;
  space_unlock(&mutator->heap->space);
}

void cradle_external_memory(cradle_mutator *mutator, int64_t bytes) {
  cradle_heap *heap = mutator->heap;
  crd_mutator_check_thread(mutator, "cradle_external_memory");
  space_lock(&heap->space);
  uint64_t told = heap->marking.external_bytes - crd_destructors_owned_bytes(heap->space.services);
  if (bytes < 0 && -(uint64_t)bytes > told)
    crd_misuse(heap, "cradle_external_memory: more bytes are removed than were added");
  if (bytes > 0 && (uint64_t)bytes > COUNTED_MAX_BYTES - told)
    crd_misuse(heap, "cradle_external_memory: the total would be above 1 EiB");
  ASSERT(told <= COUNTED_MAX_BYTES, "external memory is counted beyond its bound");
  heap->marking.external_bytes += (uint64_t)bytes;
  space_unlock(&heap->space);
}

/* --- the maximum heap --- */

/* Whether the maximum leaves so many arenas besides those in use. */
static bool leaves(const cradle_heap *heap, size_t max, size_t arenas) {
  return arenas_in_use(&heap->space.old.arenas) + arenas <= crd_space_arenas_within(&heap->space, max);
}

/* Collects until the maximum leaves room for the promotion of a whole nursery. */
static void make_fit(cradle_mutator *mutator, size_t max) CRADLE_MAY_COLLECT {
  static const cradle_collection_kind kinds[] = {CRADLE_COLLECT_MINOR, CRADLE_COLLECT_FULL, CRADLE_COLLECT_COMPACTING};
  crd_old *old = &mutator->heap->space.old;
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
    cradle_collect(mutator, kinds[i]);
    crd_closed_open_all(&old->arenas, old->reserve);
    if (leaves(mutator->heap, max, crd_old_arenas_for(old, mutator->heap->space.nursery.bytes))) return;
  }
}

/* arenas: the smallest maximum holds so many. */
static bool refuse(const cradle_heap *heap, const char *why, size_t arenas, cradle_error *error) {
  size_t least = heap->space.nursery.bytes + arenas * ARENA_BYTES;
  (void)crd_fail(error, "cradle_heap_set_max: %s; at least %zu", why, least);
  if (error != NULL) error->option = "heap_max_bytes", error->accepted = least;
  return false;
}

static void set_max(cradle_heap *heap, size_t max) {
  ASSERT(max == 0 || max >= heap->space.nursery.bytes, "a maximum below the nursery");
  heap->options.heap_max_bytes = max;
  /* Pages that a shrunken nursery kept: the arenas may have them now. */
  if (max != 0) crd_nursery_discard(&heap->young, false);
  crd_space_limit_arenas(&heap->space);
  /* A threshold above the maximum would never be reached. */
  uint64_t most = crd_major_threshold_max(&heap->marking);
  if (most != 0 && heap->marking.pacing.threshold > most) heap->marking.pacing.threshold = most;
}

/* Hands the empty nursery out anew, as much of it as the new maximum allows. */
static void hand_out(cradle_heap *heap) {
  crd_nursery_hand_out(&heap->young, crd_adapt_hand_out(&heap->young));
  crd_nursery_set_tops(&heap->young);
}

static bool set_max_held(cradle_mutator *mutator, size_t bytes, cradle_error *error) CRADLE_MAY_COLLECT {
  cradle_heap *heap = mutator->heap;
  crd_arenas *arenas = &heap->space.old.arenas;
  if (error != NULL) *error = (cradle_error){.option = NULL};
  crd_outgrow_memory(heap); /* otherwise the cgroup's limit would replace it later */
  /* A maximum at or above the reserved addresses limits nothing. */
  bool binds = crd_space_arenas_within(&heap->space, bytes) < arenas->capacity;
  if (binds && (arenas->committed_count > crd_space_arenas_within(&heap->space, bytes) ||
                !leaves(heap, bytes, ROOM_MIN_ARENAS))) {
    make_fit(mutator, bytes);
    if (!leaves(heap, bytes, ROOM_MIN_ARENAS))
      return refuse(heap, "too small for the live objects, the nursery and two arenas",
                    arenas_in_use(arenas) + (size_t)ROOM_MIN_ARENAS, error);
    /* What is empty goes back before the maximum is set: a system that refuses leaves the old maximum in force. */
    uint32_t keep = (uint32_t)crd_space_arenas_within(&heap->space, bytes) - arenas_in_use(arenas);
    crd_arenas_release(arenas, keep, UINT32_MAX);
    if (arenas->free_count > keep) {
      hand_out(heap);
      return refuse(heap, "the system did not take the free memory back", arenas->committed_count, error);
    }
  }
  set_max(heap, bytes);
  if (nursery_filled(&heap->space) == 0) hand_out(heap); /* the promotion reserve has changed [heap.2] */
  crd_statistics_arenas(heap, false);
  return true;
}

bool cradle_heap_set_max(cradle_mutator *mutator, size_t bytes, cradle_error *error) {
  crd_mutator_check(mutator, "cradle_heap_set_max");
  crd_space *space = &mutator->heap->space;
  crd_world_enter(space, mutator_of(mutator));
  crd_world_stop(space, "cradle_heap_set_max");
  bool done = set_max_held(mutator, bytes, error);
  crd_world_leave(space);
  return done;
}

void cradle_heap_prepare(cradle_heap *heap) {
  crd_heap_enter(heap, "cradle_heap_prepare");
  crd_outgrow_memory(heap);
  crd_hardware_learn(&heap->hardware, &heap->known_hardware, HARDWARE_CACHES | HARDWARE_PROCESSORS);
  crd_backtrace_prepare(); /* the verifier's history and last words take backtraces, and the first opens files */
  heap->prepared = true;
  crd_world_leave(&heap->space);
}

uint64_t cradle_release_memory(cradle_heap *heap) {
  crd_heap_enter(heap, "cradle_release_memory");
  uint32_t gone = crd_arenas_release(&heap->space.old.arenas, heap->space.old.reserve, UINT32_MAX);
  crd_statistics_arenas(heap, false);
  crd_world_leave(&heap->space);
  return gone * (uint64_t)ARENA_BYTES;
}
