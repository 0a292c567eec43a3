#include "gc/space.h"

#include <inttypes.h>
#include <string.h>

#include "gc/platform/limits.h"
#include "gc/young/chunks.h"

/* --- memory --- */

/* The sum of used bytes still counts what allocators have not filled. It is quick to compute and seldom above the
 * peak, so it is compared first. */
void crd_space_note_used(crd_space *space) {
  uint64_t *peak = &space->report->stats.used_peak_bytes;
  if (space->old.used_bytes + nursery_filled(space) <= *peak) return;
  uint64_t used = space_used_bytes(space);
  if (used > *peak) *peak = used;
}

uint64_t crd_space_allocated(const crd_space *space, const crd_local *local) {
  uint64_t emptied = space_is_shared(space) ? local->emptied_bytes : space->report->stats.allocated_bytes;
  return emptied + local_filled(local);
}

bool crd_space_pieces_hold(const crd_space *space, uintptr_t address) {
  const crd_chunks *chunks = space->chunks;
  for (uint32_t i = 0; i < chunks->piece_count; i++)
    if (address - address_of(chunks->pieces[i].start) < (uint64_t)(chunks->pieces[i].end - chunks->pieces[i].start))
      return true;
  return false;
}

uint64_t crd_space_extent(const crd_space *space) {
  const char *end = space->nursery.start;
  for (uint32_t i = 0; i < space->chunks->piece_count; i++)
    if (space->chunks->pieces[i].end > end) end = space->chunks->pieces[i].end;
  for (EACH_LOCAL(local, space))
    if (*local->free > end) end = *local->free;
  return (uint64_t)(end - space->nursery.start);
}

/* How many arenas a maximum heap allows beside a nursery of so many bytes. */
static size_t arenas_within(const crd_space *space, size_t max, size_t nursery_bytes) {
  size_t arenas = max > nursery_bytes ? (max - nursery_bytes) >> ARENA_SHIFT : 0;
  return max != 0 && arenas < space->old.arenas.capacity ? arenas : space->old.arenas.capacity;
}

size_t crd_space_arenas_within(const crd_space *space, size_t max) {
  return arenas_within(space, max, space->nursery.bytes);
}

bool crd_space_nursery_fits(const crd_space *space, size_t nursery_bytes) {
  return space->old.arenas.committed_count + crd_old_arenas_for(&space->old, nursery_bytes) <=
         arenas_within(space, space->options->heap_max_bytes, nursery_bytes);
}

void crd_space_limit_arenas(crd_space *space) {
  space->old.arenas.limit = (uint32_t)crd_space_arenas_within(space, space->options->heap_max_bytes);
  ASSERT(space->old.arenas.limit <= space->old.arenas.capacity,
         "[arena.2] more arenas may come than there are addresses for");
}

/* --- out of memory --- */

/* What stands in the way of so many bytes, in the order in which a heap meets it: the maximum heap, the end of the
 * reserved addresses, a limit of the system. The promotion reserve needs its room, too. */
static void add_limit(const crd_space *space, size_t bytes, crd_text *text) {
  const crd_arenas *arenas = &space->old.arenas;
  size_t more = bytes / ARENA_BYTES + 1 + space->old.reserve, room = arenas->limit - arenas_in_use(arenas);
  if (more > room && arenas->limit < arenas->capacity)
    crd_text_format(text, "maximum heap %zu (CRADLE_GC_MAX)", space->options->heap_max_bytes);
  else if (more > room) {
    crd_text_format(text, "the old generation's addresses, %zu, are used up (CRADLE_GC_RESERVE)", arenas->bytes);
    /* They may be few because the process may have few: heaps take a share of what is left. */
    crd_limit of = {.bytes = 0};
    if (arenas->refused_bytes != 0) of = crd_limits_blame_addresses(arenas->refused_bytes);
    if (of.bytes != 0)
      crd_text_format(text, ", a share of what %s, %llu bytes, leaves (%s)", of.name, of.bytes, of.remedy);
  } else
    crd_text_limit(text, bytes < ARENA_BYTES ? ARENA_BYTES : bytes);
}

/* Adds to the message what holds the memory and what limits it, and hands the message over. */
static CRADLE_COLD void tell_shortage(crd_space *space, size_t size, const crd_text *text) {
  const crd_old *old = &space->old;
  size_t arenas = old->arenas.committed_count * ARENA_BYTES;
  uint32_t kept = old->arenas.free_count < old->reserve ? old->arenas.free_count : old->reserve;
  crd_text held = {.length = 0}, limit = {.length = 0};
  crd_text_format(&held, "; old objects %" PRIu64 " bytes, %" PRIu64 " of them large, in arenas of %zu",
                  old->used_bytes, old->large_bytes, arenas);
  if (kept != 0) crd_text_format(&held, ", %zu of these bytes kept free for promotion", kept * ARENA_BYTES);
  crd_text_format(&held, "; nursery %zu; ", space->nursery.bytes);
  add_limit(space, size, &limit);
  crd_message message = crd_message_of(text, &held, &limit);
  if (space->options->on_out_of_memory == NULL) crd_abort("cradle: ", message.words);
  crd_mutator *mutator = crd_heap_mutator(heap_of(space->report));
  space->report->let_go(heap_of(space->report));
  space->options->on_out_of_memory(space->options->user, mutator == NULL ? NULL : &mutator->public, size,
                                   message.words);
}

void crd_out_of_memory(crd_space *space, const char *what, size_t size) {
  crd_text text = {.length = 0};
  if (size == SIZE_MAX)
    crd_text_format(&text, "%s: out of memory: an array whose size overflows was asked for", what);
  else
    crd_text_format(&text, "%s: out of memory: %zu bytes asked for", what, size);
  tell_shortage(space, size, &text);
}

void crd_out_of_room(crd_space *space, const char *what, const char *thing) {
  crd_text text = {.length = 0};
  crd_text_format(&text, "%s: out of memory: no room for another %s", what, thing);
  tell_shortage(space, 0, &text);
}

/* --- words --- */

static crd_type_words type_words(const crd_text *text) {
  crd_type_words words;
  memcpy(words.buffer, text->buffer, sizeof words.buffer);
  words.buffer[sizeof words.buffer - 1] = '\0';
  return words;
}

crd_type_words crd_name_type(const crd_space *space, uint32_t type) {
  crd_text text = {.length = 0};
  const char *name = type_table_name(&space->types, type);
  crd_text_format(&text, name == NULL ? "type %u" : "type %u (%s)", type,
                  name == NULL ? NULL : crd_show_name(name).buffer);
  return type_words(&text);
}

/* Whether the header of an object can be read: what a program gives by mistake may be anything. */
static bool is_object(const crd_space *space, const void *object) {
  uintptr_t address = address_of(object);
  if (address % CRADLE_OBJECT_ALIGNMENT != 0) return false;
  return nursery_holds(space, address) || crd_old_is_object(&space->old, address);
}

crd_type_words crd_name_object(const crd_space *space, const void *object) {
  crd_text text = {.length = 0};
  if (object == NULL)
    crd_text_format(&text, "NULL");
  else if (is_object(space, object))
    crd_text_format(&text, "%s at %p", crd_name_type(space, cradle_type_of(object)).buffer, object);
  else
    crd_text_format(&text, "%p, which is no object of this heap", object);
  return type_words(&text);
}
