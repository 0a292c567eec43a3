#include "gc/instruments/verify.h"

#include "gc/death/registry.h"
#include "gc/death/stored.h"
#include "gc/report/event.h"
#include "gc/heap.h"
#include "gc/instruments/history.h"
#include "gc/instruments/verification.h"
#include "gc/report/misuse.h"
#include "gc/mutator.h"
#include "gc/report/report.h"

/* false: memory was refused. */
static bool prepare(crd_verification *verification) {
  const cradle_heap *heap = verification->heap;
  verify_sets *sets = &verification->sets;
  crd_word_stack fresh = crd_registry_fresh(heap->space.services), items = crd_stored_items(heap->space.services);
  return young_set_init(&verification->young.seen, heap) &&
         sorted_words_init(&sets->recorded, &heap->young.recorded, false) &&
         sorted_words_init(&sets->items, &items, false) &&
         sorted_words_init(&sets->remembered, &heap->young.remembered, false) &&
         sorted_words_init(&sets->grey, &heap->marking.mark_stack, true) &&
         sorted_words_init(&sets->registered, &fresh, false);
}

static void forget(crd_verification *verification) {
  verify_sets *sets = &verification->sets;
  young_set_fini(&verification->young.seen);
  sorted_words_fini(&sets->recorded);
  sorted_words_fini(&sets->items);
  sorted_words_fini(&sets->remembered);
  sorted_words_fini(&sets->grey);
  sorted_words_fini(&sets->registered);
}

/* Spans first, because the walk goes by their bitmaps; tables last, because they are compared with objects that the
 * walk has found in order. */
static void verify_all(crd_verification *verification) {
  crd_verify_spans(verification);
  if (!verify_failed(verification)) crd_verify_objects(verification);
  if (!verify_failed(verification)) crd_verify_tables(verification);
}

static void verify_prepared(crd_verification *verification) {
  cradle_heap *heap = verification->heap;
  verify_young *young = &verification->young;
  crd_state before = crd_state_enter(&heap->report, HEAP_VERIFYING);
  ASSERT(heap->space.mutator == NULL || __atomic_load_n(&heap->space.mutator->public.top, __ATOMIC_RELAXED) == NULL,
         "[state.1] the mutator may allocate while its heap is verified");
  young->waiting = &heap->marking.mark_stack;
  young->waiting_base = heap->marking.mark_stack.top;
  verify_all(verification);
  ASSERT(young->waiting->top >= young->waiting_base, "[verification.2] a verification takes from marking");
  ASSERT(verify_failed(verification) || young->waiting->top == young->waiting_base,
         "[verification.1] a young object was found and not looked into");
  young->waiting->top = young->waiting_base; /* a fault leaves some */
  crd_state_leave(&heap->report, before);
}

/* If memory is refused for the verification, a note says so: that the heap could not be looked at is no fault of it. */
static bool verify_stopped(cradle_heap *heap, crd_text *text) {
  crd_verification verification = {.heap = heap, .text = text};
  ASSERT(heap->report.state == HEAP_MUTATING, "a heap is verified in the middle of what it does");
  ASSERT(text->length == 0, "[verification.1] a verification begins with a fault");
  crd_history_suspect(heap, NULL);
  crd_verify_bounds(&verification);
  if (verify_failed(&verification)) return false;
  bool prepared = prepare(&verification);
  if (prepared) verify_prepared(&verification);
  forget(&verification);
  if (!prepared)
    crd_event_note_about(&heap->report, CRADLE_NOTE_LESS_CHECKED, "the heap was not verified: no memory for it",
                         nursery_filled(&heap->space) / 64, 0);
  else if (verification.young.incomplete)
    crd_event_note_about(&heap->report, CRADLE_NOTE_LESS_CHECKED,
                         "the heap was verified in part: no memory for all of it", 0, 0);
  return !verify_failed(&verification);
}

/* A round of the second core ends first: while it goes on, mark bits and mark stack are not the mutator's to read. */
bool crd_verify(cradle_heap *heap, crd_text *text) {
  bool went = crd_marker_stop(&heap->marking);
  crd_marker_gather(&heap->marking);
  bool sound = verify_stopped(heap, text);
  if (went) crd_marker_go_on(&heap->marking);
  return sound;
}

bool cradle_heap_verify(cradle_heap *heap, cradle_error *error) {
  crd_text text = {.length = 0};
  crd_heap_check_thread(heap, "cradle_heap_verify");
  if (crd_verify(heap, &text)) {
    if (error != NULL) *error = (cradle_error){.option = NULL};
    return true;
  }
  return crd_fail(error, "%s", text.buffer);
}
