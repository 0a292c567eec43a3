#include "gc/old/compact.h"

#include <string.h>

#include "gc/base/probes.h"
#include "gc/old/arena_memory.h"
#include "gc/old/closed.h"
#include "gc/old/marking.h"
#include "gc/platform/pages.h"
#include "gc/roots.h"
#include "gc/tables/tables.h"

/* Arenas in which more than this share of the bytes lives are left: too much would have to be copied for one arena. */
#define SPARSE_PERCENT 80
#define STEP_BYTES ((uint32_t)512 << 10)
/* More than any arena can hold. */
#define NEVER_EMPTY ((uint32_t)ARENA_BYTES + 1)
/* The share of the free pages that counts as room, in percent: some free runs are shorter than a span. */
#define PAGES_PERCENT 95
/* Due: the arenas in use have more than DUE_PERCENT of the bytes that will be used when the next major collection is
 * over, and more than these and DUE_ARENAS arenas. */
#define DUE_PERCENT 125
#define DUE_ARENAS 16
/* A heap is sparse if less than this share of its arenas in use is, in percent, and at least so many bytes are not. */
#define SPARSE_HEAP_PERCENT 60
#define SPARSE_HEAP_BYTES (4 * ARENA_BYTES)
/* The most compactions that are skipped after one that achieved nothing. */
#define WAIT_MOST 64

typedef struct compact_context {
  crd_marking *marking;
  /* By size class: the objects in arenas that are chosen, without the free places in those that are not. Objects that
   * find no free place of their class need new spans, and these need pages, as large objects do. */
  int64_t places[SIZE_CLASS_MAX];
  int64_t moving_pages, free_pages; /* of large objects in arenas that are chosen; in those that are not */
  uint32_t count;                   /* of arenas in use */
  uint64_t objects, bytes;
  uint32_t emptied;
} compact_context;

/* The first span at or after a page, if it begins in the arena; else PAGE_NONE. */
static uint32_t span_in(const crd_old *old, uint32_t arena, uint32_t page) {
  page = crd_old_next_span(old, page);
  return page != PAGE_NONE && page / ARENA_PAGES == arena ? page : PAGE_NONE;
}
static uint32_t first_in(const crd_old *old, uint32_t arena) {
  return span_in(old, arena, arena * ARENA_PAGES);
}
static uint32_t next_in(const crd_old *old, uint32_t arena, uint32_t page) {
  return span_in(old, arena, page + arenas_page(&old->arenas, page)->pages);
}
/* Whether an arena has objects that may move, or room for some. */
static inline bool is_open(const crd_old *old, uint32_t arena) {
  return old->arenas.states[arena] == ARENA_USED && !(old->arenas.origins[arena] & ARENA_SEALED);
}
static inline bool is_chosen(const crd_old *old, uint32_t arena) {
  return old->arenas.origins[arena] & ARENA_CHOSEN;
}

/* --- choosing --- */

/* Counts the bytes that live in an arena, and notes in each span how many places are taken. NEVER_EMPTY: it cannot be
 * emptied. */
static uint32_t live_bytes(const crd_old *old, uint32_t arena) {
  uint32_t live = 0, covered = 0;
  for (uint32_t page = first_in(old, arena); page != PAGE_NONE; page = next_in(old, arena, page)) {
    crd_page *entry = arenas_page(&old->arenas, page);
    covered += entry->pages;
    if (entry->pages > ARENA_PAGES) return NEVER_EMPTY;
    if (entry->state != PAGE_SMALL) {
      live += entry->pages * PAGE_BYTES;
      continue;
    }
    entry->taken = crd_old_count_taken(old, page);
    ASSERT(entry->taken > 0, "[compact.1] a sweep has left an empty span");
    ASSERT(!old_is_unswept(old, entry), "[compact.1] a span waits to be swept");
    live += entry->taken * old->classes.of[entry->size_class].bytes;
  }
  /* If other pages are taken, they are the rest of a large object that begins in an earlier arena. */
  return covered + old->arenas.meta[arena].free_pages == ARENA_PAGES ? live : NEVER_EMPTY;
}

/* Keeps arenas with pinned objects from being chosen: they would not become empty, whatever moved out of them. */
static void keep_pinned(compact_context *context) {
  const crd_arenas *arenas = &context->marking->old->arenas;
  const crd_pins *pins = &context->marking->tables->pins;
  for (uint32_t i = 0; i < pins->count; i++) arenas_of(arenas, pins->pins[i].address)->live = NEVER_EMPTY;
}

/* Counts an arena as one that is kept, or as one that is chosen. sign -1: takes it out again. */
static void count(compact_context *context, uint32_t arena, bool is_kept, int sign) {
  const crd_old *old = context->marking->old;
  if (is_kept) context->free_pages += sign * old->arenas.meta[arena].free_pages;
  for (uint32_t page = first_in(old, arena); page != PAGE_NONE; page = next_in(old, arena, page)) {
    const crd_page *entry = arenas_page(&old->arenas, page);
    if (entry->state == PAGE_SMALL)
      context->places[entry->size_class] +=
          sign * ((int64_t)entry->taken - (is_kept ? old->classes.of[entry->size_class].objects : 0));
    else if (!is_kept)
      context->moving_pages += sign * (int64_t)entry->pages;
  }
}

static bool fits(const compact_context *context) {
  const crd_size_class *class = context->marking->old->classes.of;
  int64_t pages = context->moving_pages;
  for (uint32_t i = 0; i < SIZE_CLASS_MAX; i++, class++)
    if (context->places[i] > 0) pages += (context->places[i] + class->objects - 1) / class->objects * class->pages;
  return pages <= context->free_pages * PAGES_PERCENT / 100;
}

/* Chooses an arena if what moves out of it fits into the rest; another one, with other classes, may fit. */
static void choose_if_it_fits(compact_context *context, uint32_t arena, bool all) {
  if (!all) count(context, arena, true, -1);
  count(context, arena, false, 1);
  if (fits(context)) {
    context->marking->old->arenas.origins[arena] |= ARENA_CHOSEN;
  } else {
    count(context, arena, false, -1);
    if (!all) count(context, arena, true, 1);
  }
}

/* Chooses arenas, the sparsest first, in steps of 512 KiB, and in each step the highest first, so that metadata can be
 * given back, too. If every object is to move, arenas in use have no room: all are to be emptied, into FREE arenas. */
static void choose(compact_context *context, bool all) {
  const crd_arenas *arenas = &context->marking->old->arenas;
  uint32_t most = all ? ARENA_BYTES : ARENA_BYTES / 100 * SPARSE_PERCENT;
  for (uint32_t i = 0; i < arenas->used_end; i++) {
    if (!is_open(context->marking->old, i)) continue;
    ASSERT(!is_chosen(context->marking->old, i), "[compact.2] an arena is still chosen from the last compaction");
    arenas->meta[i].live = live_bytes(context->marking->old, i);
    if (!all) count(context, i, true, 1);
    context->count++;
  }
  context->free_pages += (int64_t)arenas->free_count * ARENA_PAGES;
  if (!all) keep_pinned(context);
  for (uint32_t step = 0; step <= most / STEP_BYTES; step++)
    for (uint32_t i = arenas->used_end; i-- > 0;)
      if (is_open(context->marking->old, i) && arenas->meta[i].live / STEP_BYTES == step &&
          arenas->meta[i].live <= most)
        choose_if_it_fits(context, i, all);
}

/* Nothing moves into chosen arenas: their spans leave the partial lists, and the arenas leave the lists of free pages.
 * The sweep left the highest span first in each partial list. Each is turned round, because what is evacuated keeps its
 * order only if it fills the lowest span first [compact.4]. */
static void withdraw(compact_context *context) {
  crd_old *old = context->marking->old;
  for (uint32_t i = 0; i < old->classes.count; i++) {
    uint32_t kept = PAGE_NONE, next;
    for (uint32_t page = old->spans[i].partial; page != PAGE_NONE; page = next) {
      crd_page *entry = arenas_page(&old->arenas, page);
      next = entry->next;
      if (is_chosen(old, page / ARENA_PAGES)) continue;
      entry->next = kept;
      kept = page;
    }
    old->spans[i].partial = kept;
  }
  for (uint32_t i = 0; i < old->arenas.used_end; i++)
    if (is_chosen(old, i)) crd_arenas_withdraw(&old->arenas, i);
}

/* --- evacuating --- */

/* May use all FREE arenas, the promotion reserve too: the arenas that are emptied become FREE in return. */
static void evacuate_object(void *data, cradle_word *object) {
  compact_context *context = data;
  crd_marking *marking = context->marking;
  ASSERT(!header_is_forwarded(object[0]), "[compact.3] an object moves twice");
  if (header_is_pinned(object[0])) return;
  ASSERT(!old_is_marked(marking->old, address_of(object)), "[compact.1] an object is marked");
  const crd_page *page = old_span_of(marking->old, address_of(object));
  size_t bytes = type_object_bytes(space_type(marking->space, object[0]), object);
  void *place = page->state == PAGE_SMALL ? old_take_small(marking->old, &marking->old->leader, page->size_class, 0)
                                          : crd_old_take_large(marking->old, bytes, false, false, 0);
  if (place == NULL) return;
  ASSERT(!is_chosen(marking->old, arenas_index(&marking->old->arenas, address_of(place))),
         "[compact.2] an object moves into an arena that is to be emptied");
  memcpy(place, object, bytes);
  object_forward(object, place);
  context->objects++;
  context->bytes += bytes;
}

static void evacuate(compact_context *context) {
  crd_old *old = context->marking->old;
  for (uint32_t i = 0, end = old->arenas.used_end; i < end; i++)
    for (uint32_t page = is_chosen(old, i) ? first_in(old, i) : PAGE_NONE; page != PAGE_NONE;
         page = next_in(old, i, page))
      crd_old_each_in(old, page, false, evacuate_object, context);
}

/* --- redirecting, after all objects were copied: a slot may refer to one that is copied late --- */

/* Where the object at an address is now. Only chosen arenas can have forwarded headers, so no other header is read. */
static inline uintptr_t moved(const compact_context *context, uintptr_t address) {
  const crd_old *old = context->marking->old;
  if (!arenas_contain(&old->arenas, address) || !is_chosen(old, arenas_index(&old->arenas, address))) return address;
  cradle_word header = *object_at(address);
  return header_is_forwarded(header) ? header_forwarded_to(header) : address;
}

static inline void redirect_slot(void *data, bool value, cradle_word *slot) {
  const compact_context *context = data;
  uintptr_t before = space_address_in(context->marking->space, value, *slot), now = moved(context, before);
  if (now != before) *slot = value ? value_moved(&context->marking->space->encoding, *slot, now) : now;
}

static void redirect_object(void *data, cradle_word *object) {
  compact_context *context = data;
  if (header_is_forwarded(object[0])) return;
  if (CRADLE_UNLIKELY(header_is_weak(object[0])))
    context->marking->space->death->each_slot(context->marking->space, object, redirect_slot, context);
  visit_object(&context->marking->space->types, object, redirect_slot, context);
}

static void redirect(compact_context *context) {
  crd_marking *marking = context->marking;
  crd_old_retire(marking->old);
  visit_roots(marking->roots, redirect_slot, context);
  visit_handles(marking->tables, 0, marking->tables->handles.used, redirect_slot, context);
  crd_ids_follow(&marking->tables->ids);
  crd_old_each(marking->old, redirect_object, context);
  if (marking->space->death != NULL) marking->space->death->each_word(marking->space->services, redirect_slot, context);
}

/* --- releasing --- */

/* Frees the places of a small span whose objects have moved. If one stayed, the span is open for new ones again. */
static void release_small(compact_context *context, uint32_t page) {
  crd_marking *marking = context->marking;
  crd_old *old = marking->old;
  const crd_page *entry = arenas_page(&old->arenas, page);
  const crd_size_class *class = &old->classes.of[entry->size_class];
  span_bits bits = old_bits_of(old, page, entry->pages);
  uint32_t stayed = 0, gone = 0;
  for (uint32_t i = 0; i < bits.words; i++)
    for (uint64_t word = bits.allocated[i]; word != 0; word &= word - 1) {
      cradle_word *object = old_page_start(old, page) + i * 64 + (uint32_t)__builtin_ctzll(word);
      if (!header_is_forwarded(object[0])) {
        stayed++;
        continue;
      }
      ASSERT(old_is_allocated(old, header_forwarded_to(object[0])), "[compact.3] an object has moved to where none is");
      bits.allocated[i] &= ~(word & -word);
      gone++;
      if (space_poisons(marking->space)) poison_words(object, class->words, POISON_COMPACTED);
    }
  (void)crd_old_settle_span(old, page, gone, stayed);
}

static void release_large(compact_context *context, uint32_t page) {
  crd_old *old = context->marking->old;
  size_t bytes = (size_t)arenas_page(&old->arenas, page)->pages << PAGE_SHIFT;
  if (space_poisons(context->marking->space)) poison_words(old_page_start(old, page), bytes / 8, POISON_COMPACTED);
  crd_old_free_large(old, page);
}

/* Giving pages back expects their arena in its list. The next span is looked for before the page entry is cleared. */
static void release(compact_context *context) {
  crd_old *old = context->marking->old;
  for (uint32_t arena = 0, end = old->arenas.used_end; arena < end; arena++) {
    if (!is_chosen(old, arena)) continue;
    old->arenas.origins[arena] &= (uint8_t)~ARENA_CHOSEN;
    crd_arenas_restore(&old->arenas, arena);
    for (uint32_t page = first_in(old, arena), next; page != PAGE_NONE; page = next) {
      next = next_in(old, arena, page);
      if (arenas_page(&old->arenas, page)->state == PAGE_SMALL)
        release_small(context, page);
      else if (header_is_forwarded(*old_page_start(old, page)))
        release_large(context, page);
    }
    if (old->arenas.states[arena] != ARENA_FREE) continue;
    context->emptied++;
    if (arenas_go_round(&old->arenas)) crd_arenas_quarantine(&old->arenas, arena, 1, old->reserve);
  }
}

/* --- the whole --- */

void crd_compact(crd_marking *marking, bool all) {
  crd_curve_forget(&marking->curve);
  compact_context context = {.marking = marking};
  uint64_t begin = crd_platform_now_ns();
  ASSERT(marking->major.phase == MAJOR_IDLE, "[compact.1] a compaction while a major collection runs");
  ASSERT(nursery_filled(marking->space) == 0 && marking->old->young_large == PAGE_NONE,
         "[compact.1] the nursery is not empty");
  crd_event_send(marking->space->report, &(cradle_event){.kind = CRADLE_EVENT_COMPACT_BEGIN});
  PROBE1(compact_begin, marking->space->report);
  crd_old_retire(marking->old);
  crd_closed_open_all(&marking->old->arenas, marking->old->reserve); /* with closed pages, no arena could be emptied */
  choose(&context, all);
  withdraw(&context);
  evacuate(&context);
  redirect(&context);
  release(&context);
  uint64_t duration = crd_platform_now_ns() - begin;
  PROBE3(compact_end, marking->space->report, context.bytes, duration);
  cradle_statistics *stats = &marking->space->report->stats;
  stats->compactions++;
  stats->compact_ns += duration;
  stats->moved_old_objects += context.objects;
  stats->moved_old_bytes += context.bytes;
  crd_event_send(marking->space->report, &(cradle_event){.kind = CRADLE_EVENT_COMPACT_END,
                                                         .u.compact = {context.objects, context.bytes, context.emptied,
                                                                       context.count, duration}});
}

static uint64_t held_bytes(const crd_marking *marking) {
  return (uint64_t)arenas_in_use(&marking->old->arenas) * ARENA_BYTES;
}

bool crd_compact_is_due(const crd_marking *marking) {
  uint64_t used = marking->old->used_bytes, held = held_bytes(marking);
  uint64_t threshold = marking->pacing.threshold, external = marking->external_bytes;
  uint64_t wanted = threshold > used + external ? threshold - external : used;
  return held / DUE_PERCENT > wanted / 100 && held > wanted + DUE_ARENAS * ARENA_BYTES;
}

bool crd_compact_is_sparse(const crd_marking *marking) {
  uint64_t used = marking->old->used_bytes, held = held_bytes(marking);
  return held / 100 * SPARSE_HEAP_PERCENT > used && held > used + SPARSE_HEAP_BYTES;
}

void crd_compact_if_due(crd_marking *marking) {
  crd_compaction_wait *wait = &marking->compaction;
  if (!crd_compact_is_due(marking) || (wait->left > 0 && wait->left-- > 0)) return;
  crd_compact(marking, false);
  ASSERT(wait->backoff >= 1 && wait->backoff <= WAIT_MOST, "compaction waits too long, or never");
  wait->left = crd_compact_is_due(marking) ? wait->backoff : 0;
  wait->backoff = wait->left == 0 ? 1 : wait->left < WAIT_MOST ? wait->left * 2 : WAIT_MOST;
}
