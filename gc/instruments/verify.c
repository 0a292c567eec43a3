#include "gc/instruments/verify.h"

#include <inttypes.h>
#include <stdlib.h>

#include "gc/death/registry.h"
#include "gc/instruments/history.h"
#include "gc/mutator.h"
#include "gc/world.h"

/* The lowest bits of an entry are tags. On the mark stack bit 0 says that the entry is the rest of an array, and then
 * the entry below is an index and no object. */
#define ENTRY_TAG ((cradle_word)1)
#define ENTRY_TAGS ((cradle_word)7)

static int compare(const void *a, const void *b) {
  const cradle_word *x = a, *y = b;
  return *x < *y ? -1 : *x > *y;
}

/* Adds a stack to a set, and sorts the set. has_indices: it is the mark stack, whose indices are left out. false:
 * memory was refused. */
static bool add(sorted_words *set, const crd_word_stack *stack, bool has_indices) {
  size_t most = set->count + word_stack_count(stack);
  cradle_word *words = realloc(set->words, (most + 1) * sizeof *words);
  if (words == NULL) return false;
  set->words = words;
  for (const cradle_word *entry = stack->top; entry > stack->base;) {
    cradle_word word = *--entry;
    if (has_indices && (word & ENTRY_TAG)) entry--;
    set->words[set->count++] = word & ~ENTRY_TAGS;
  }
  ASSERT(set->count <= most, "a set has more words than its stack");
  qsort(set->words, set->count, sizeof *set->words, compare);
  return true;
}

bool crd_verify_has(const crd_verification *verification, int set, uintptr_t word) {
  const sorted_words *in = &verification->sets[set];
  return in->count != 0 && bsearch(&word, in->words, in->count, sizeof word, compare) != NULL;
}

/* false: memory was refused. */
static bool prepare(crd_verification *verification) {
  cradle_heap *heap = verification->heap;
  sorted_words *sets = verification->sets;
  const crd_word_stack items = crd_stored_items(heap->space.services);
  for (EACH_LOCAL(local, &heap->space)) {
    const crd_word_stack fresh = local_fresh(local);
    if (!add(&sets[VERIFY_RECORDED], &local->recorded, false) ||
        !add(&sets[VERIFY_REMEMBERED], &local->remembered, false) || !add(&sets[VERIFY_REGISTERED], &fresh, false))
      return false;
  }
  return add(&sets[VERIFY_ITEMS], &items, false) && add(&sets[VERIFY_GREY], &heap->marking.mark_stack, true);
}

static void forget(crd_verification *verification) {
  young_search_fini(&verification->young);
  for (int i = 0; i < VERIFY_SETS; i++) free(verification->sets[i].words);
}

static void describe(crd_verification *verification, const cradle_word *object) {
  crd_text_format(verification->text, "%s at %p",
                  crd_name_type(&verification->heap->space, header_type(object[0])).buffer, (const void *)object);
}

static void describe_root(const crd_verification *verification, const cradle_word *slot) {
  crd_text *text = verification->text;
  crd_root_at at = verification->at;
  cradle_referrer root = {.slot = slot};
  crd_root_name(&at, &root);
  const char *kind = crd_holder_name(at.holder);
  const crd_type_words name = crd_show_name(root.name == kind ? NULL : root.name);
  switch (at.holder) {
  case CRADLE_HOLDER_SHADOW_STACK: crd_text_format(text, "%s, word %" PRIu64, kind, root.index); break;
  case CRADLE_HOLDER_SCOPED_ROOT: crd_text_format(text, "%s %s", kind, name.buffer); break;
  case CRADLE_HOLDER_ROOT_RANGE: crd_text_format(text, "%s %s, index %" PRIu64, kind, name.buffer, root.index); break;
  case CRADLE_HOLDER_GLOBAL_ROOT: crd_text_format(text, "the global root"); break;
  case CRADLE_HOLDER_OTHER_ROOT: crd_text_format(text, "a root of the root callback"); break;
  case CRADLE_HOLDER_HANDLE: crd_text_format(text, "a handle"); break;
  default: crd_text_format(text, "a weak set");
  }
  if (at.stack != NULL && at.stack != &at.stack->mutator->own)
    crd_text_format(text, " of the root stack at %p", (const void *)at.stack);
  crd_text_format(text, " at %p", (const void *)slot);
}

/* Adds " (item 2)", or for items that are structures " (word 1 of item 2)". */
static void describe_item(crd_verification *verification, const crd_type *type, size_t word) {
  size_t words = type->item_size / 8;
  if (type->items != CRADLE_ITEMS_STRUCTURES)
    crd_text_format(verification->text, " (item %zu)", word);
  else
    crd_text_format(verification->text, " (word %zu of item %zu)", word % words, word / words);
}

/* Adds "word 5 (item 2) of type 3 (vector) at 0x...", or which root the slot is. */
static void describe_slot(crd_verification *verification, const cradle_word *slot) {
  crd_text *text = verification->text;
  const cradle_word *holder = verification->holder.object;
  if (holder == NULL) {
    describe_root(verification, slot);
    return;
  }
  const crd_type *type = space_type(&verification->heap->space, holder[0]);
  size_t word = (size_t)(slot - holder), fixed = type->size / 8;
  if (slot < holder || word >= type_object_bytes(type, holder) / 8) {
    crd_text_format(text, "a slot that the trace callback visits at %p", (const void *)slot);
  } else {
    crd_text_format(text, "word %zu", word);
    if (type->items >= CRADLE_ITEMS_REFERENCES && word >= fixed) describe_item(verification, type, word - fixed);
  }
  crd_text_format(text, " of ");
  describe(verification, holder);
}

static void add_last_collection(crd_verification *verification) {
  const cradle_heap *heap = verification->heap;
  crd_text *text = verification->text;
  if (heap->report.stats.minor_collections == 0) {
    crd_text_format(text, "; last collection: none yet");
    return;
  }
  crd_text_format(text, "; last collection: %" PRIu64 " (%s", heap->report.stats.minor_collections,
                  crd_cause_name(heap->last_cause));
  if (stress_is_on(&heap->options)) crd_text_format(text, " %" PRIu64, heap->stress.number);
  crd_text_format(text, ")");
}

void crd_fault(crd_verification *verification, const cradle_word *slot, const char *what, ...) {
  va_list list;
  if (verify_failed(verification)) return;
  va_start(list, what);
  crd_text_format_list(verification->text, what, list);
  va_end(list);
  if (slot != NULL) {
    crd_text_format(verification->text, ": %#" PRIx64 " in ", *slot);
    describe_slot(verification, slot);
  }
  add_last_collection(verification);
}

void crd_fault_at(crd_verification *verification, const char *what, uintptr_t address) {
  if (verify_failed(verification)) return;
  crd_text_format(verification->text, "%s", what);
  if (address != 0) crd_text_format(verification->text, ": %#" PRIxPTR, address);
  add_last_collection(verification);
}

void crd_fault_of(crd_verification *verification, const char *what, const cradle_word *object,
                  const cradle_word *slot) {
  if (verify_failed(verification)) return;
  crd_text_format(verification->text, "%s: ", what);
  describe(verification, object);
  if (slot != NULL) {
    crd_text_format(verification->text, " in ");
    describe_slot(verification, slot);
  }
  add_last_collection(verification);
}

/* Spans first, because the walk goes by their bitmaps; tables last, because they are compared with objects that the
 * walk has found in order. */
static void verify_prepared(crd_verification *verification) {
  cradle_heap *heap = verification->heap;
  crd_state before = crd_state_enter(&heap->report, HEAP_VERIFYING);
  for (EACH_MUTATOR(mutator, &heap->space))
    ASSERT(__atomic_load_n(&mutator->public.top, __ATOMIC_RELAXED) == NULL,
           "[state.1] a mutator may allocate while its heap is verified");
  crd_verify_spans(verification);
  if (!verify_failed(verification)) crd_verify_objects(verification);
  if (!verify_failed(verification)) crd_verify_tables(verification);
  ASSERT(verify_failed(verification) || young_search_next(&verification->young) == NULL,
         "[verification.1] a young object was found and not looked into");
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
  bool prepared = young_search_init(&verification.young, heap) && prepare(&verification);
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
  crd_heap_enter(heap, "cradle_heap_verify");
  crd_world_stop(&heap->space, "cradle_heap_verify");
  bool sound = crd_verify(heap, &text);
  crd_world_leave(&heap->space);
  if (sound) {
    if (error != NULL) *error = (cradle_error){.option = NULL};
    return true;
  }
  return crd_fail(error, "%s", text.buffer);
}
