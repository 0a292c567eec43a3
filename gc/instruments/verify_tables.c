#include "gc/instruments/verification.h"

#include <string.h>

#include "gc/death/registry.h"
#include "gc/heap.h"
#include "gc/roots.h"
#include "gc/tables/handle.h"
#include "gc/tables/identity.h"
#include "gc/tables/pin.h"
#include "gc/tables/prebuilt.h"

/* --- spans --- */

static bool is_zero(const uint64_t *words, size_t count) {
  uint64_t bits = 0;
  for (size_t i = 0; i < count; i++) bits |= words[i];
  return bits == 0;
}

/* Looks at the pages that are not taken; crd_old_check has looked at the others. */
static const char *check_free_pages(const crd_arena *arena) {
  enum { PAGE_WORDS = PAGE_BYTES / 8 / 64 };
  static const crd_page nothing;
  for (uint32_t page = 0; page < ARENA_PAGES; page++) {
    if (!bitmap_has(arena->free_map, page)) continue;
    if (memcmp(&arena->pages[page], &nothing, sizeof nothing) != 0) return "a free page has an entry [arena.5]";
    if (!is_zero(arena->marks + page * PAGE_WORDS, PAGE_WORDS) ||
        !is_zero(arena->allocated + page * PAGE_WORDS, PAGE_WORDS))
      return "a bit is set in a free page [arena.5]";
  }
  return NULL;
}

static const char *check_used_arenas(const crd_arenas *arenas) {
  const char *fault = NULL;
  for (uint32_t i = 0; i < arenas->used_end && fault == NULL; i++)
    if (arenas->states[i] == ARENA_USED) fault = check_free_pages(&arenas->meta[i]);
  return fault;
}

static void verify_ranges(crd_verification *verification) {
  crd_text text = {.length = 0};
  if (crd_ranges_fault(&verification->heap->space, true, &text)) crd_fault_at(verification, text.buffer, 0);
}

void crd_verify_spans(crd_verification *verification) {
  crd_old *old = &verification->heap->space.old;
  crd_old_retire(old);
  ASSERT(crd_old_unfilled_bytes(old) == 0, "[span.2] an allocator that was retired has a run");
  const char *fault = crd_old_check(old);
  if (fault == NULL) fault = check_used_arenas(&old->arenas);
  if (fault != NULL) crd_fault_at(verification, fault, 0);
  verify_ranges(verification);
}

/* --- what is kept beside the objects --- */

/* Each object in the set must lack the barrier flag. That each object without the flag is in the set was asked when the
 * walk looked at its header. */
static void verify_remembered(crd_verification *verification) {
  const cradle_heap *heap = verification->heap;
  const sorted_words *set = &verification->sets.remembered;
  for (const cradle_word *entry = heap->young.remembered.base;
       entry < heap->young.remembered.top && !verify_failed(verification); entry++) {
    const cradle_word *object = object_at(*entry);
    if (!crd_old_is_object(&heap->space.old, *entry) && !prebuilt_is(&heap->tables.prebuilts, object))
      crd_fault_at(verification, "the remembered set holds what is no object", *entry);
    else if (header_has_barrier(object[0]) && !space_has_open(&heap->space, object))
      crd_fault_of(verification, "an object is remembered, but has the barrier flag [heap.3]", object, NULL);
  }
  for (size_t i = 1; i < set->count; i++)
    if (set->words[i - 1] == set->words[i])
      crd_fault_of(verification, "an object is remembered twice [heap.3]", object_at(set->words[i]), NULL);
}

/* A table may have entries for young objects that nothing refers to. The walk has not looked at those, so the checks do
 * not look into them either. */
void crd_verify_tables(crd_verification *verification) {
  const cradle_heap *heap = verification->heap;
  ASSERT(!verify_failed(verification), "[verification.1] tables are compared with objects that are broken");
  verify_remembered(verification);
  if (verify_failed(verification)) return;
  uintptr_t at = 0;
  const char *fault = heap->space.services == NULL ? NULL : crd_registry_check(heap->space.services, &at);
  if (fault == NULL) fault = crd_pins_check(&heap->tables, &at);
  if (fault == NULL) fault = crd_handles_check(&heap->tables, &at);
  if (fault == NULL) fault = crd_ids_check(&heap->tables, &at);
  if (fault == NULL) fault = crd_prebuilts_check(&heap->tables, &at);
  if (fault != NULL) crd_fault_at(verification, fault, at);
}
