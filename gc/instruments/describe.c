#include "gc/instruments/describe.h"

#include <inttypes.h>
#include <string.h>

#include "gc/base/prefix.h"
#include "gc/heap.h"
#include "gc/instruments/other_heaps.h"
#include "gc/instruments/quarantine.h"
#include "gc/old/closed.h"
#include "gc/report/misuse.h"

/* Objects in the nursery have no page entry: their place is as large as they are. */
cradle_object_info crd_object_info(const cradle_heap *heap, const cradle_word *object) {
  ASSERT(type_table_has(&heap->space.types, header_type(object[0])), "what is described is no object");
  const crd_type *type = space_type(&heap->space, object[0]);
  uintptr_t address = address_of(object);
  cradle_object_info info = {.object = memory_at(address),
                             .type_name = type->name,
                             .bytes = type_object_bytes(type, object),
                             .type = header_type(object[0]),
                             .is_young = space_is_young(&heap->space, address)};
  info.place_bytes = info.bytes;
  if (info.is_young) return info;
  const crd_page *page = old_span_of(&heap->space.old, address);
  info.is_large = page->state != PAGE_SMALL;
  info.is_young = page->state == PAGE_LARGE_YOUNG || page->state == PAGE_LARGE_REACHED;
  info.place_bytes =
      info.is_large ? (uint64_t)page->pages << PAGE_SHIFT : heap->space.old.classes.of[page->size_class].bytes;
  return info;
}

/* The start of the place that holds the address, in the span whose first page is given. */
static uintptr_t place_of(const crd_old *old, const crd_page *span, uint32_t page, uintptr_t address) {
  uintptr_t start = arenas_page_address(&old->arenas, page);
  if (span->state != PAGE_SMALL) return start;
  return start + (address - start) / old->classes.of[span->size_class].bytes * old->classes.of[span->size_class].bytes;
}

/* The first page of the span that the address is in, or PAGE_NONE. Only the first page of a large object has an entry.
 * So a page that is taken and has no entry belongs to the nearest page below that has one, if all arenas between are in
 * use. */
static uint32_t span_of(const crd_old *old, uintptr_t address) {
  const crd_arenas *arenas = &old->arenas;
  uint32_t page = arenas_page_number(arenas, address), in_arena = page % ARENA_PAGES;
  if (arenas->states[page / ARENA_PAGES] != ARENA_USED) return PAGE_NONE;
  if (bitmap_has(arenas_of(arenas, address)->free_map, in_arena)) return PAGE_NONE;
  for (; arenas_page(arenas, page)->state == PAGE_FREE; page--)
    if (page == 0 || arenas->states[(page - 1) / ARENA_PAGES] != ARENA_USED) return PAGE_NONE;
  const crd_page *entry = arenas_page(arenas, page);
  ASSERT(entry->head <= page, "a page's span begins behind it");
  return entry->state == PAGE_INSIDE ? entry->head : page;
}

/* An address in the old generation. An allocation bit alone proves no object: the place may lie in an allocator's
 * unfilled run, what begins there may be no header or a forwarded one, and the object may be shorter than its place.
 * Then the address counts as free. */
static void describe_old(const cradle_heap *heap, uintptr_t address, cradle_address_info *info) {
  const crd_old *old = &heap->space.old;
  info->kind = CRADLE_ADDRESS_FREE;
  uint32_t page = span_of(old, address);
  if (page == PAGE_NONE) return;
  const crd_page *span = arenas_page(&old->arenas, page);
  uintptr_t place = place_of(old, span, page, address);
  const crd_arena *arena = arenas_of(&old->arenas, place);
  const cradle_word *object = object_at(place);
  if (!(arena->allocated[arena_bit_word(place)] & arena_bit_mask(place)) || old_is_unfilled(old, span, place)) return;
  if (!type_table_has(&heap->space.types, header_type(object[0]))) return;
  if (header_is_forwarded(object[0]) && !space_has_open(&heap->space, object)) return;
  cradle_object_info found = crd_object_info(heap, object);
  if (address - place >= found.bytes) return;
  info->object = found;
  info->offset = address - place;
  info->kind = info->offset == 0 ? CRADLE_ADDRESS_OBJECT : CRADLE_ADDRESS_INTERIOR;
  if (marking_knows_dead(&heap->marking, place) || space_has_open(&heap->space, object))
    info->kind = CRADLE_ADDRESS_DEAD;
}

static const struct {
  uint64_t poison;
  const char *cause;
} poisons[] = {
    {POISON_SWEPT, "an old object that died and was swept"},
    {POISON_NURSERY, "a nursery object that moved or died, or a new object's slot that was never written"},
    {POISON_UNUSED, "a new object's slot that was never written, or nursery memory that was never handed out"},
    {POISON_COMPACTED, "an old object that a compacting collection moved"},
};

/* A fault at poison comes from a word that was taken for an object's address, plus the offset of the slot that the
 * program wanted. So addresses this far above a poison word still count as that poison. */
#define POISON_REACH 4096

const char *crd_poison_cause(uint64_t word) {
  for (size_t i = 0; i < sizeof poisons / sizeof *poisons; i++)
    if (word - poisons[i].poison < POISON_REACH) return poisons[i].cause;
  return NULL;
}

/* No object lies below this: systems map nothing there, so that using NULL, or an address near it, faults. */
#define LOWEST_ADDRESS 4096
/* No address has one of these bits, but most floating-point numbers do. On 64-bit Arm a program may keep tags there. */
#ifdef __aarch64__
#define NO_ADDRESS_BITS UINT64_C(0)
#else
#define NO_ADDRESS_BITS (UINT64_C(0xff) << 56)
#endif

/* Of the quarantine's ring, objects lie in the nursery's window only. */
static bool is_in_own_ring(const cradle_heap *heap, uintptr_t address) {
  return quarantine_is_on(&heap->quarantine) && address - address_of(heap->quarantine.base) < heap->quarantine.bytes;
}

static const char *outside_fault(const cradle_heap *heap, uintptr_t address, bool tagged) {
  crd_quarantined quarantined;
  if (crd_poison_cause(address) != NULL) return "poison";
  if (crd_quarantine_find(&heap->quarantine, address, &quarantined))
    return "stale reference to what an earlier collection moved or freed";
  if (is_in_own_ring(heap, address)) return "stale reference into the nursery, where no object is";
  if (address % 8 != 0) return tagged ? NULL : "no reference";
  if (crd_is_in_other_heap(heap, address)) return "reference into another heap";
  return address < LOWEST_ADDRESS || (address & NO_ADDRESS_BITS) != 0 ? "no reference" : NULL;
}

const char *crd_reference_fault(const cradle_heap *heap, uintptr_t address, bool tagged) {
  if (address == 0) return NULL;
  if (space_is_young(&heap->space, address))
    return address % 8 == 0 && nursery_holds(&heap->space, address)
               ? NULL
               : "stale reference into the nursery, where no object is";
  if (!arenas_contain(&heap->space.old.arenas, address)) return outside_fault(heap, address, tagged);
  return crd_old_is_object(&heap->space.old, address) ? NULL
                                                      : "stale reference into the old generation, where no object is";
}

/* what: such as "object"; how: such as "died in". */
static void add_stale(crd_text *text, const cradle_heap *heap, const crd_quarantined *was, const char *what,
                      const char *how, uintptr_t address) {
  const char *name = type_table_name(&heap->space.types, was->type);
  ASSERT(address_of(was->object) <= address, "an address lies before the object that it is said to be in");
  if (name != NULL)
    crd_text_format(text, "stale reference to a %s", crd_show_name(name).buffer);
  else
    crd_text_format(text, "stale reference to a type %u", was->type);
  crd_text_format(text, " (%s at %p, %u bytes, %s minor collection %" PRIu64, what, (const void *)was->object,
                  was->bytes, how, was->collection);
  if (was->moved_to != 0) crd_text_format(text, " to %#" PRIxPTR, was->moved_to);
  crd_text_format(text, "), at its word %zu", (address - address_of(was->object)) / sizeof(cradle_word));
}

/* Says what is known of an address; nothing: the text stays empty. Returns the collection that the text is about, or 0.
 * Poison first: a poison word is an address too, but the sharper answer is which object it was read from. */
static uint64_t explain(crd_text *text, const cradle_heap *heap, uintptr_t address) {
  const crd_arenas *arenas = &heap->space.old.arenas;
  const char *cause = crd_poison_cause(address);
  const crd_closed_run *closed = crd_closed_at(arenas, address);
  crd_quarantined was = {.collection = 0};
  if (cause != NULL) {
    crd_text_format(text, "poison %#" PRIxPTR " was used as a reference: it was read from %s", address, cause);
  } else if (closed != NULL) {
    was = (crd_quarantined){object_at(arenas_page_address(arenas, closed->page)), 0, closed->collection, closed->type,
                            closed->pages << PAGE_SHIFT};
    add_stale(text, heap, &was, "large object", closed->swept ? "died; swept after" : "died in", address);
  } else if (arenas_contain(arenas, address) && !arenas_are_committed(arenas, address)) {
    crd_text_format(text, "stale reference into the old generation, where no memory is: all that was there, if "
                          "anything was, has moved or died");
  } else if (crd_quarantine_find(&heap->quarantine, address, &was)) {
    if (was.object != NULL)
      add_stale(text, heap, &was, "object", was.moved_to != 0 ? "moved by" : "died in", address);
    else
      crd_text_format(text,
                      "stale reference into the nursery that minor collection %" PRIu64 " emptied, where no object was",
                      was.collection);
  }
  return was.collection;
}

bool cradle_explain_address(const cradle_heap *heap, const void *address, cradle_explanation *explanation,
                            size_t size) {
  crd_text text = {.length = 0};
  cradle_explanation found = {.collection = explain(&text, heap, address_of(address))};
  memcpy(found.text, text.buffer, text.length);
  copy_prefix(explanation, size, &found, sizeof found);
  return text.length != 0;
}

void cradle_describe_address(const cradle_heap *heap, const void *address, cradle_address_info *info, size_t size) {
  uintptr_t where = address_of(address);
  crd_text text = {.length = 0};
  cradle_address_info found = {.kind = CRADLE_ADDRESS_OUTSIDE, .collection = explain(&text, heap, where)};
  memcpy(found.text, text.buffer, text.length);
  if (space_is_young(&heap->space, where))
    found.kind = nursery_holds(&heap->space, where) ? CRADLE_ADDRESS_NURSERY : CRADLE_ADDRESS_NURSERY_FREE;
  else if (arenas_contain(&heap->space.old.arenas, where))
    describe_old(heap, where, &found);
  copy_prefix(info, size, &found, sizeof found);
}
