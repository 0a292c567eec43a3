#include "gc/instruments/quarantine.h"

#include <stdlib.h>
#include <string.h>

#include "gc/base/sanitizers.h"
#include "gc/platform/pages.h"
#include "gc/space.h"
#include "gc/young/chunks.h"

static size_t page_of(const crd_quarantine *quarantine, uintptr_t address) {
  ASSERT(address - address_of(quarantine->base) <= quarantine->bytes, "[quarantine.1] an address outside of the ring");
  return (address - address_of(quarantine->base)) / quarantine->page_bytes;
}

static char *page_end(const crd_quarantine *quarantine, char *address) {
  size_t offset = (size_t)(address - quarantine->base) + quarantine->page_bytes - 1;
  return quarantine->base + offset / quarantine->page_bytes * quarantine->page_bytes;
}

/* Makes the pages in [from, to) accessible and ready to be handed out, and forgets what was noted of them. */
static bool open_pages(crd_quarantine *quarantine, char *from, char *to) {
  if (from >= to) return true;
  size_t bytes = (size_t)(to - from);
  if (!crd_pages_protect(from, bytes, true)) return false;
  sanitize_used(from, bytes);
  memset(quarantine->closed_by + page_of(quarantine, address_of(from)), 0, bytes / quarantine->page_bytes * 8);
  memset(quarantine->starts + (from - quarantine->base) / 512, 0, bytes / 64);
  poison_words(words_of(from), bytes / sizeof(cradle_word), POISON_UNUSED);
  sanitize_unused(from, bytes);
  return true;
}

/* Where the object at a place of the nursery is now: there, or, if its header is forwarded, its copy. NULL: no object
 * begins there. */
static const cradle_word *object_now(const crd_space *space, const cradle_word *object) {
  const cradle_word *now = object;
  if (header_is_forwarded(object[0])) {
    uintptr_t copy = header_forwarded_to(object[0]);
    if (!crd_old_is_object(&space->old, copy)) return NULL; /* poison, say */
    now = object_at(copy);
  }
  return type_table_has(&space->types, header_type(now[0])) ? now : NULL;
}

/* Notes where the objects in [from, to) start, by going from one to the next. In between there may be words that belong
 * to no object: the unused part of a reservation, or the rest of an array that became shorter. Such a word may look
 * like a header. If the size that it says is impossible, the rest is left out; nothing behind `to` is ever read. */
static void note_starts(const crd_quarantine *quarantine, const crd_space *space, cradle_word *from, cradle_word *to) {
  size_t bytes;
  for (cradle_word *object = from; object < to; object += bytes / 8) {
    const cradle_word *now = object_now(space, object);
    bytes = 8;
    if (now == NULL) continue;
    const crd_type *type = space_type(space, now[0]);
    size_t room = (size_t)(to - object) * 8;
    bytes = type->size <= room ? type_object_bytes(type, now) : 0;
    if (bytes == 0 || bytes > room) return;
    size_t word = (size_t)(object - words_of(quarantine->base));
    bitmap_set(quarantine->starts, word);
    object[1] = header_type(now[0]) | (cradle_word)bytes << 32;
  }
}

/* Of all that mutators have filled. What lies between their chunks was never used. */
static void note_all(const crd_quarantine *quarantine, const crd_space *space) {
  for (EACH_LOCAL(local, space)) note_starts(quarantine, space, words_of(local->start), words_of(*local->free));
  const crd_chunks *chunks = space->chunks;
  for (uint32_t i = 0; chunks != NULL && i < chunks->piece_count; i++)
    note_starts(quarantine, space, words_of(chunks->pieces[i].start), words_of(chunks->pieces[i].end));
}

/* Takes the access to the filled pages away, after noting what is on them: afterwards they cannot be read. */
static void close_pages(crd_quarantine *quarantine, crd_space *space, char *from, char *filled) {
  char *to = page_end(quarantine, filled);
  sanitize_known(from, (size_t)(filled - from));
  note_all(quarantine, space);
  for (size_t page = page_of(quarantine, address_of(from)); page < page_of(quarantine, address_of(to)); page++) {
    ASSERT(quarantine->closed_by[page] == 0, "[quarantine.1] a page is closed twice");
    quarantine->closed_by[page] = space->report->stats.minor_collections + 1; /* this one is not counted yet */
  }
  sanitize_unused(from, (size_t)(to - from));
  if (!crd_pages_protect(from, (size_t)(to - from), false) && !quarantine->refused) {
    quarantine->refused = true;
    crd_event_note_about(space->report, CRADLE_NOTE_LESS_CHECKED,
                         "quarantine: the system refuses to protect pages; what moved stays accessible", 0, 0);
  }
}

/* The ring is on base pages, because pages are closed one by one. */
char *crd_quarantine_init(crd_quarantine *quarantine, crd_space *space, size_t window) {
  size_t page = space->hardware->page_bytes, count;
  window = align_up(window, page);
  if (__builtin_mul_overflow(window, space->options->quarantine + 2, &count) || count > CRADLE_QUARANTINE_MAX_BYTES)
    return NULL;
  char *base = crd_pages_reserve(count, page < ARENA_BYTES ? ARENA_BYTES : page, NULL);
  if (base == NULL) return NULL;
  *quarantine = (crd_quarantine){.base = base, .bytes = count, .page_bytes = page};
  crd_pages_advise_huge(base, count, false);
  quarantine->starts = calloc(count / 512, sizeof *quarantine->starts);
  quarantine->closed_by = calloc(count / page, sizeof *quarantine->closed_by);
  if (quarantine->starts == NULL || quarantine->closed_by == NULL || !crd_pages_commit(base, count) ||
      !open_pages(quarantine, base, base + window)) {
    crd_quarantine_fini(quarantine);
    return NULL;
  }
  crd_pages_name(base, count, NURSERY_NAME);
  return base;
}

void crd_quarantine_fini(crd_quarantine *quarantine) {
  free(quarantine->starts);
  free(quarantine->closed_by);
  sanitize_used(quarantine->base, quarantine->bytes);
  crd_pages_unreserve(quarantine->base, quarantine->bytes);
  quarantine->base = NULL;
}

/* Opens before it closes, so that a refusal leaves the window as it was. If the rest of the ring is too short for a
 * window, a whole one is opened at the base. */
bool crd_quarantine_advance(crd_quarantine *quarantine, crd_space *space, char *filled) {
  size_t window = space->nursery.reserved_bytes;
  char *from = space->nursery.start, *next = page_end(quarantine, filled), *clean = from + window;
  ASSERT(filled > from && filled <= clean, "[quarantine.1] what was filled is not in the window");
  ASSERT(page_end(quarantine, from) == from, "[quarantine.1] the window begins inside a page");
  if ((size_t)(quarantine->base + quarantine->bytes - next) < window) next = clean = quarantine->base;
  if (!open_pages(quarantine, clean, next + window)) {
    crd_event_note_about(space->report, CRADLE_NOTE_LESS_CHECKED,
                         "quarantine: the system refuses to open pages; the nursery stays where it is", 0, 0);
    return false;
  }
  close_pages(quarantine, space, from, filled);
  space->nursery.start = next;
  return true;
}

/* The nearest start of an object at or below an address on a closed page, or NULL. */
static cradle_word *object_around(const crd_quarantine *quarantine, uintptr_t address) {
  size_t word = (address - address_of(quarantine->base)) / 8, at = word / 64;
  uint64_t bits = quarantine->starts[at] & (~UINT64_C(0) >> (63 - word % 64));
  while (bits == 0 && at > 0) bits = quarantine->starts[--at];
  if (bits == 0) return NULL;
  return words_of(quarantine->base) + at * 64 + (63 - (size_t)__builtin_clzll(bits));
}

/* Makes the first two words of an object on a closed page accessible for a moment, or closes them again. */
static void open_for_reading(const crd_quarantine *quarantine, const cradle_word *object, bool accessible) {
  char *page = quarantine->base + page_of(quarantine, address_of(object)) * quarantine->page_bytes;
  size_t bytes = quarantine->page_bytes;
  if (address_of(object + 2) > address_of(page + bytes)) bytes *= 2; /* the second word lies on the next page */
  if (accessible) sanitize_known(page, bytes);
  (void)crd_pages_protect(page, bytes, accessible);
  if (!accessible) sanitize_unused(page, bytes);
}

/* The nearest start below the address may be on a page that another collection closed. Then it belongs to another use
 * of the pages, and no object is known at the address. */
bool crd_quarantine_find(const crd_quarantine *quarantine, uintptr_t address, crd_quarantined *found) {
  *found = (crd_quarantined){.object = NULL};
  if (quarantine->base == NULL || address - address_of(quarantine->base) >= quarantine->bytes) return false;
  found->collection = quarantine->closed_by[page_of(quarantine, address)];
  if (found->collection == 0) return false;
  cradle_word *object = object_around(quarantine, address);
  if (object == NULL || quarantine->closed_by[page_of(quarantine, address_of(object))] != found->collection)
    return true;
  found->object = object;
  open_for_reading(quarantine, object, true);
  found->moved_to = header_is_forwarded(object[0]) ? header_forwarded_to(object[0]) : 0;
  found->type = (uint32_t)object[1];
  found->bytes = (uint32_t)(object[1] >> 32);
  open_for_reading(quarantine, object, false);
  return true;
}

const char *crd_quarantine_check(const crd_quarantine *quarantine, const crd_space *space) {
  if (!quarantine_is_on(quarantine)) return NULL;
  uintptr_t start = address_of(space->nursery.start), window = space->nursery.reserved_bytes;
  uintptr_t offset = start - address_of(quarantine->base);
  if (offset > quarantine->bytes || window > quarantine->bytes - offset || offset % quarantine->page_bytes != 0)
    return "the nursery is not a window of the quarantine's pages [quarantine.1]";
  for (size_t page = page_of(quarantine, start); page < page_of(quarantine, start + window); page++)
    if (quarantine->closed_by[page] != 0) return "a page of the nursery is closed [quarantine.1]";
  for (size_t i = offset / 512; i < (offset + window) / 512; i++)
    if (quarantine->starts[i] != 0) return "an object is noted on a page that is not closed [quarantine.3]";
  return NULL;
}
