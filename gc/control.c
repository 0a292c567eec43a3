/* Control of a running heap: major collections held off, the maximum changed, hooks. */
#include <cradle/control.h>

#include "gc/check.h"
#include "gc/heap.h"

/* What a heap needs beside what lives in it: a little of the nursery and its promotion, as when it is made. */
#define ROOM_MIN_ARENAS 2

void cradle_major_disable(cradle_mutator *mutator) {
  crd_mutator_check_thread(mutator, "cradle_major_disable");
  mutator->heap->majors_disabled++;
}

void cradle_major_enable(cradle_mutator *mutator) {
  crd_mutator_check_thread(mutator, "cradle_major_enable");
  if (mutator->heap->majors_disabled == 0)
    crd_misuse(mutator->heap, "cradle_major_enable: major collections are not disabled");
  mutator->heap->majors_disabled--;
}

/* --- the maximum heap --- */

/* Whether the maximum leaves so many arenas beside those in use. */
static bool leaves(const cradle_heap *heap, size_t max, size_t arenas) {
  return arenas_in_use(&heap->old.arenas) + arenas <= crd_heap_arenas_within(heap, max);
}

/* Collects, the more thoroughly the longer it takes, until the maximum leaves room for the promotion of a whole nursery. */
static void make_fit(cradle_mutator *mutator, size_t max) CRADLE_MAY_COLLECT {
  cradle_heap *heap = mutator->heap;
  cradle_collect_minor(mutator);
  crd_arenas_retire_closed(&heap->old.arenas, heap->old.reserve);
  if (!leaves(heap, max, crd_old_arenas_for(&heap->old, heap->nursery.bytes))) cradle_collect_full(mutator);
  crd_arenas_retire_closed(&heap->old.arenas, heap->old.reserve);
  if (!leaves(heap, max, crd_old_arenas_for(&heap->old, heap->nursery.bytes))) cradle_collect_compacting(mutator);
}

static bool refuse(const cradle_heap *heap, const char *why, cradle_error *error) {
  crd_text text = {.length = 0};
  crd_text_add(&text, "cradle_heap_set_max: ");
  crd_text_add(&text, why);
  crd_text_add(&text, "; at least ");
  crd_text_number(&text, heap->nursery.bytes + (arenas_in_use(&heap->old.arenas) + (size_t)ROOM_MIN_ARENAS) * ARENA_BYTES);
  return crd_fail(error, text.buffer);
}

static void set_max(cradle_heap *heap, size_t max) {
  heap->options.heap_max_bytes = max;
  if (max != 0) crd_nursery_discard_rest(heap); /* of one that shrank before: the arenas may have it now */
  crd_heap_limit_arenas(heap);
  uint64_t most = crd_heap_threshold_max(heap);
  if (most != 0 && heap->pacing.threshold > most) heap->pacing.threshold = most;
}

bool cradle_heap_set_max(cradle_mutator *mutator, size_t bytes, cradle_error *error) {
  crd_mutator_check(mutator, "cradle_heap_set_max");
  cradle_heap *heap = mutator->heap;
  crd_arenas *arenas = &heap->old.arenas;
  if (error != NULL) error->message[0] = '\0';
  bool binds = crd_heap_arenas_within(heap, bytes) < arenas->capacity; /* or it is no less than there are addresses for */
  if (binds && (arenas->committed_count > crd_heap_arenas_within(heap, bytes) || !leaves(heap, bytes, ROOM_MIN_ARENAS))) {
    make_fit(mutator, bytes);
    if (!leaves(heap, bytes, ROOM_MIN_ARENAS))
      return refuse(heap, "smaller than what lives, the nursery and two arenas", error);
    uint32_t keep = (uint32_t)crd_heap_arenas_within(heap, bytes) - arenas_in_use(arenas);
    crd_arenas_release(arenas, keep, UINT32_MAX);
    if (arenas->free_count > keep) {
      crd_nursery_reset(heap);
      return refuse(heap, "the system did not take back what is empty", error);
    }
  }
  set_max(heap, bytes);
  if (nursery_filled(heap) == 0) crd_nursery_reset(heap); /* the promotion reserve is another one [heap.2] */
  crd_event_arenas(heap, false);
  return true;
}

/* --- hooks --- */

void cradle_hook_add(cradle_heap *heap, cradle_hook *hook) {
  crd_heap_check_thread(heap, "cradle_hook_add");
  if (hook->events == 0 || hook->function == NULL) crd_misuse(heap, "cradle_hook_add: the hook has no events or no function");
  cradle_hook **end = &heap->hooks;
  for (; *end != NULL; end = &(*end)->next)
    if (*end == hook) crd_misuse(heap, "cradle_hook_add: the hook was added already");
  hook->next = NULL;
  *end = hook;
}

void cradle_hook_remove(cradle_heap *heap, cradle_hook *hook) {
  crd_heap_check_thread(heap, "cradle_hook_remove");
  cradle_hook **link = &heap->hooks;
  while (*link != NULL && *link != hook) link = &(*link)->next;
  if (*link == NULL) crd_misuse(heap, "cradle_hook_remove: the hook was not added");
  *link = hook->next;
}
