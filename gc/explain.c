/* What a heap knows of an address or word that led a program astray. Everything here can run in a signal handler: it takes no
 * lock, allocates nothing and calls nothing but the page protection. */
#include <string.h>

#include "gc/heap.h"

static const struct {
  uint64_t poison;
  const char *cause;
} poisons[] = {
    {POISON_SWEPT, "an old object that died and was swept"},
    {POISON_NURSERY, "a nursery object that moved or died, or a new object's slot that was never written"},
    {POISON_UNUSED, "a new object's slot that was never written, or nursery memory that was never handed out"},
    {POISON_COMPACTED, "an old object that a compacting collection moved"},
};

/* Pointers into an object are a little above the word that was taken for its address. */
#define POISON_REACH 4096

const char *crd_poison_cause(uint64_t word) {
  for (size_t i = 0; i < sizeof poisons / sizeof *poisons; i++)
    if (word - poisons[i].poison < POISON_REACH) return poisons[i].cause;
  return NULL;
}

static void add_stale(crd_text *text, const cradle_heap *heap, uint32_t type) {
  const char *name = type < heap->types.count ? heap->types.types[type].name : NULL;
  crd_text_add(text, "stale reference to a ");
  crd_text_add(text, name != NULL ? name : "type ");
  if (name == NULL) crd_text_number(text, type);
}

static void explain_object(crd_text *text, const cradle_heap *heap, const crd_quarantined *found, uintptr_t address) {
  add_stale(text, heap, found->type);
  crd_text_add(text, " (object at ");
  crd_text_hex(text, (uintptr_t)found->object);
  crd_text_add(text, found->moved_to != 0 ? ", moved by" : ", died in");
  crd_text_add(text, " minor collection ");
  crd_text_number(text, found->collection);
  if (found->moved_to != 0) crd_text_add(text, " to "), crd_text_hex(text, found->moved_to);
  crd_text_add(text, "), at its word ");
  crd_text_number(text, (address - (uintptr_t)found->object) / 8);
}

static void explain_closed(crd_text *text, const cradle_heap *heap, const crd_closed_run *run, uintptr_t address) {
  uintptr_t object = arenas_page_address(&heap->old.arenas, run->page);
  add_stale(text, heap, run->type);
  crd_text_add(text, " (large object at ");
  crd_text_hex(text, object);
  crd_text_add(text, run->swept ? ", died; swept after minor collection " : ", died in minor collection ");
  crd_text_number(text, run->collection);
  crd_text_add(text, "), at its word ");
  crd_text_number(text, (address - object) / 8);
}

static bool explain(crd_text *text, const cradle_heap *heap, uintptr_t address, uint64_t *collection) {
  crd_quarantined found;
  const char *poison = crd_poison_cause(address);
  *collection = 0;
  if (poison != NULL) {
    crd_text_add(text, "poison ");
    crd_text_hex(text, address);
    crd_text_add(text, " was used as a reference: it was read from ");
    crd_text_add(text, poison);
    return true;
  }
  const crd_closed_run *closed = crd_arenas_closed_at(&heap->old.arenas, address);
  if (closed != NULL) {
    *collection = closed->collection;
    explain_closed(text, heap, closed, address);
    return true;
  }
  if (arenas_contain(&heap->old.arenas, address) && !arenas_are_committed(&heap->old.arenas, address)) {
    crd_text_add(text, "stale reference into the old generation, where no memory is: all that was there, if anything was, has moved or died");
    return true;
  }
  if (!crd_quarantine_find(heap, address, &found)) return false;
  *collection = found.collection;
  if (found.object != NULL) {
    explain_object(text, heap, &found, address);
    return true;
  }
  crd_text_add(text, "stale reference into the nursery that minor collection ");
  crd_text_number(text, found.collection);
  crd_text_add(text, " emptied, where no object was");
  return true;
}

bool cradle_explain_address(const cradle_heap *heap, const void *address, cradle_explanation *explanation) {
  crd_text text = {.length = 0};
  bool known = explain(&text, heap, (uintptr_t)address, &explanation->collection);
  memcpy(explanation->text, text.buffer, sizeof explanation->text);
  return known;
}
