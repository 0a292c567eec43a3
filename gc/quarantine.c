/* Quarantine: what a minor collection emptied becomes inaccessible, so that the use of a reference that was not updated faults
 * where it happens. (Of the old generation, large objects that died are closed, gc/closed.c, and arenas that a compaction emptied
 * given back.)
 *
 * The nursery is then a window that moves through a ring of pages. After a minor collection the pages that were filled are
 * closed and the window goes on behind them; at the end of the ring it begins again, opening the oldest pages. So the fewer bytes
 * lie between two collections the longer a page stays closed: with a collection at every allocation, one page each.
 *
 * Closed pages keep the forwarded headers. What an address in them was is asked in a signal handler, long after the copies may
 * have moved again or died; so each object's start is noted when its page is closed, and a moved object's second word becomes
 * its type.
 *
 * The ring has room for two windows more than the option says, so for three and more: the first one at its base never overlaps
 * the last one at its end.
 *
 *   [quarantine.1] The window [nursery.start, nursery.start + nursery.reserved_bytes) is accessible, and no page of it is closed.
 *   [quarantine.2] Of the window, what was not handed out holds POISON_UNUSED, up to clean.
 *   [quarantine.3] starts has the bits of objects on closed pages only.
 */
#include <stdlib.h>
#include <string.h>

#include "gc/heap.h"
#include "gc/platform/pages.h"
#include "gc/sanitize.h"

const char *crd_quarantine_fault(const cradle_options *options) {
  if (options->quarantine == 0) return NULL;
  if (options->quarantine > CRADLE_QUARANTINE_MAX) return "quarantine: accepted are 1 to 4096 nurseries, or 0 for none";
  if (options->hugepages_nursery != CRADLE_HUGEPAGES_AUTO && options->hugepages_nursery != CRADLE_HUGEPAGES_OFF)
    return "quarantine needs base pages: hugepages_nursery must be auto or off";
  return NULL;
}

static size_t page_of(const crd_quarantine *quarantine, const char *address) {
  return (size_t)(address - quarantine->base) / quarantine->page_bytes;
}

static char *page_end(const crd_quarantine *quarantine, char *address) {
  return quarantine->base + (size_t)(address - quarantine->base + (ptrdiff_t)quarantine->page_bytes - 1) /
                                quarantine->page_bytes * quarantine->page_bytes;
}

/* --- opening and closing pages --- */

/* Makes [from, to) ready to be handed out. */
static bool open_pages(crd_quarantine *quarantine, char *from, char *to) {
  if (from >= to) return true;
  if (!crd_pages_protect(from, (size_t)(to - from), true)) return false;
  sanitize_used(from, (size_t)(to - from));
  memset(quarantine->closed_by + page_of(quarantine, from), 0, (size_t)(to - from) / quarantine->page_bytes * 8);
  memset(quarantine->starts + (from - quarantine->base) / 512, 0, (size_t)(to - from) / 64);
  for (cradle_word *word = (cradle_word *)from; word < (cradle_word *)to; word++) *word = POISON_UNUSED;
  sanitize_unused(from, (size_t)(to - from));
  return true;
}

/* Where the object is now whose place in the nursery begins with this header, or NULL when it is none. */
static const cradle_word *object_now(const cradle_heap *heap, const cradle_word *object) {
  uintptr_t copy = (uintptr_t)(object[0] & ~HEADER_FORWARDED);
  bool has_moved = object[0] & HEADER_FORWARDED;
  if (has_moved && !crd_old_is_object(&heap->old, copy)) return NULL; /* poison, say */
  const cradle_word *now = has_moved ? (const cradle_word *)copy : object;
  return (uint32_t)now[0] < heap->types.count ? now : NULL;
}

/* Notes where the objects in [from, to) start. Words that are no header were reserved and not carved, or are the rest of an array
 * that became shorter; a walk that a wrong size or such a word leads astray ends, and reads nothing beyond. */
static void note_starts(const cradle_heap *heap, cradle_word *from, cradle_word *to) {
  const crd_quarantine *quarantine = &heap->quarantine;
  size_t bytes;
  for (cradle_word *object = from; object < to; object += bytes / 8) {
    const cradle_word *now = object_now(heap, object);
    bytes = 8;
    if (now == NULL) continue;
    uint32_t type = (uint32_t)now[0];
    const crd_type *descriptor = &heap->types.types[type];
    size_t room = (size_t)(to - object) * 8;
    bytes = descriptor->size <= room ? type_object_bytes(descriptor, now) : 0;
    if (bytes == 0 || bytes > room) return;
    size_t word = (size_t)(object - (cradle_word *)quarantine->base);
    quarantine->starts[word / 64] |= UINT64_C(1) << (word % 64);
    if (now != object) object[1] = type;
  }
}

static void close_pages(cradle_heap *heap, char *from, char *filled) {
  crd_quarantine *quarantine = &heap->quarantine;
  char *to = page_end(quarantine, filled);
  sanitize_known(from, (size_t)(filled - from));
  note_starts(heap, (cradle_word *)from, (cradle_word *)filled);
  for (size_t page = page_of(quarantine, from); page < page_of(quarantine, to); page++)
    quarantine->closed_by[page] = heap->stats.minor_collections + 1; /* which is not counted yet */
  sanitize_unused(from, (size_t)(to - from));
  if (!crd_pages_protect(from, (size_t)(to - from), false) && !quarantine->refused) {
    quarantine->refused = true;
    crd_event_note(heap, "quarantine: the system refuses to protect pages; what moved stays accessible", 0, 0);
  }
}

/* --- the ring --- */

char *crd_quarantine_init(cradle_heap *heap, size_t window) {
  crd_quarantine *quarantine = &heap->quarantine;
  size_t page = heap->hardware.page_bytes, count;
  window = (window + page - 1) & ~(page - 1);
  if (__builtin_mul_overflow(window, heap->options.quarantine + 2, &count) || count > CRADLE_QUARANTINE_MAX_BYTES) return NULL;
  char *base = crd_pages_reserve(count, page < ARENA_BYTES ? ARENA_BYTES : page, NULL);
  if (base == NULL) return NULL;
  *quarantine = (crd_quarantine){.base = base, .bytes = count, .page_bytes = page};
  crd_pages_advise_huge(base, count, false);
  quarantine->starts = calloc(count / 512, sizeof *quarantine->starts);
  quarantine->closed_by = calloc(count / page, sizeof *quarantine->closed_by);
  if (quarantine->starts == NULL || quarantine->closed_by == NULL || !crd_pages_commit(base, count) ||
      !open_pages(quarantine, base, base + window)) {
    crd_quarantine_fini(heap);
    return NULL;
  }
  crd_pages_name(base, count, NURSERY_NAME);
  quarantine->clean = base + window;
  return base;
}

void crd_quarantine_fini(cradle_heap *heap) {
  crd_quarantine *quarantine = &heap->quarantine;
  free(quarantine->starts);
  free(quarantine->closed_by);
  sanitize_used(quarantine->base, quarantine->bytes);
  crd_pages_unreserve(quarantine->base, quarantine->bytes);
  quarantine->base = NULL;
}

bool crd_quarantine_advance(cradle_heap *heap, char *filled) {
  crd_quarantine *quarantine = &heap->quarantine;
  size_t window = heap->nursery.reserved_bytes;
  char *from = heap->nursery.start, *next = page_end(quarantine, filled), *clean = quarantine->clean;
  if ((size_t)(quarantine->base + quarantine->bytes - next) < window) next = clean = quarantine->base;
  if (!open_pages(quarantine, clean, next + window)) {
    crd_event_note(heap, "quarantine: the system refuses to open pages; the nursery stays where it is", 0, 0);
    return false;
  }
  close_pages(heap, from, filled);
  quarantine->clean = next + window;
  heap->nursery.start = next;
  return true;
}

/* --- what an address was --- */

/* The start of the object that an address on a closed page lies in, or NULL. */
static cradle_word *object_around(const crd_quarantine *quarantine, uintptr_t address) {
  size_t word = (address - (uintptr_t)quarantine->base) / 8;
  size_t at = word / 64;
  uint64_t bits = quarantine->starts[at] & (~UINT64_C(0) >> (63 - word % 64));
  while (bits == 0 && at > 0) bits = quarantine->starts[--at];
  if (bits == 0) return NULL;
  return (cradle_word *)quarantine->base + at * 64 + (63 - (size_t)__builtin_clzll(bits));
}

static void open_for_reading(const crd_quarantine *quarantine, const cradle_word *object, bool accessible) {
  char *page = quarantine->base + page_of(quarantine, (const char *)object) * quarantine->page_bytes;
  size_t bytes = quarantine->page_bytes;
  if ((const char *)(object + 2) > page + bytes) bytes *= 2; /* the second word lies on the next page */
  if (accessible) sanitize_known(page, bytes);
  (void)crd_pages_protect(page, bytes, accessible);
  if (!accessible) sanitize_unused(page, bytes);
}

bool crd_quarantine_find(const cradle_heap *heap, uintptr_t address, crd_quarantined *found) {
  const crd_quarantine *quarantine = &heap->quarantine;
  *found = (crd_quarantined){.object = NULL};
  if (quarantine->base == NULL || address - (uintptr_t)quarantine->base >= quarantine->bytes) return false;
  found->collection = quarantine->closed_by[page_of(quarantine, (const char *)address)];
  if (found->collection == 0) return false;
  cradle_word *object = object_around(quarantine, address);
  if (object == NULL || quarantine->closed_by[page_of(quarantine, (const char *)object)] != found->collection) return true;
  found->object = object;
  open_for_reading(quarantine, object, true);
  found->moved_to = object[0] & HEADER_FORWARDED ? (uintptr_t)(object[0] & ~HEADER_FORWARDED) : 0;
  found->type = (uint32_t)(found->moved_to != 0 ? object[1] : object[0]);
  open_for_reading(quarantine, object, false);
  return true;
}
