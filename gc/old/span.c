#include "gc/old/span.h"

#include "gc/base/bits.h"
#include "gc/old/arena_memory.h"

/* The rest may stay unused at the end of an arena, because no span of the longest sort fits there. */
#define ARENA_PROMOTABLE_BYTES (ARENA_BYTES - (size_t)SPAN_MAX_PAGES * PAGE_BYTES)

bool crd_old_init(crd_old *old, const cradle_options *options, const cradle_hardware *hardware) {
  crd_size_classes_init(&old->classes);
  for (uint32_t i = 0; i < SIZE_CLASS_MAX; i++) old->spans[i] = (crd_class_spans){PAGE_NONE, 0, PAGE_NONE, 0, 0};
  old->leader.run_words = UINT32_MAX;
  old->young_large = PAGE_NONE;
  return crd_arenas_init(&old->arenas, options, hardware);
}

void crd_old_fini(crd_old *old) {
  census_end(&old->census);
  crd_address_map_fini(&old->opened);
  crd_arenas_fini(&old->arenas);
}

/* The worst promotion: the nursery is full of objects just above the small ones, one span of every class is opened
 * besides, and the workers of a team have runs in spans that are full otherwise. An object of 8,208 bytes takes three
 * pages, 12,288 bytes: half again as much. */
uint32_t crd_old_arenas_for(const crd_old *old, size_t nursery_bytes) {
  size_t bytes = nursery_bytes + nursery_bytes / 2 + old->classes.span_bytes_total + old->rest_bytes;
  return (uint32_t)((bytes + ARENA_PROMOTABLE_BYTES - 1) / ARENA_PROMOTABLE_BYTES);
}

size_t crd_old_nursery_for(const crd_old *old, uint32_t arenas) {
  size_t bytes = arenas * ARENA_PROMOTABLE_BYTES, besides = old->classes.span_bytes_total + old->rest_bytes;
  return bytes <= besides ? 0 : ((bytes - besides) / 3 * 2) & ~(size_t)7;
}

/* --- bitmaps of a span --- */

/* The first place at or after the place from that is taken, or not; or limit. All three are indexes of words in the
 * span. Places of 64 words and more are looked at one by one, because a bitmap word has at most one of them. */
CRD_ALWAYS_INLINE uint32_t find_place(const uint64_t *allocated, const crd_size_class *class, uint32_t from,
                                      uint32_t limit, bool taken) {
  if (class->words >= 64) {
    while (from < limit && bitmap_has(allocated, from) != taken) from += class->words;
    return from < limit ? from : limit;
  }
  uint64_t above = ~UINT64_C(0) << (from % 64);
  for (uint32_t i = from / 64; i * 64 < limit; i++, above = ~UINT64_C(0)) {
    uint64_t places = (taken ? allocated[i] : ~allocated[i] & size_class_starts(class, i)) & above;
    if (places == 0) continue;
    uint32_t found = i * 64 + (uint32_t)__builtin_ctzll(places);
    return found < limit ? found : limit;
  }
  return limit;
}

/* Sets or clears the allocation bits of the places in [from, to), and their mark bits if objects are born marked. Who
 * sees an allocation bit sees the mark bit [marker.3]. */
static void write_bits(const crd_old *old, uint32_t page, const crd_size_class *class, uint32_t from, uint32_t to,
                       bool set) {
  span_bits bits = old_bits_of(old, page, class->pages);
  for (uint32_t i = from / 64; i * 64 < to; i++) {
    uint64_t places = size_class_starts(class, i);
    if (i == from / 64) places &= ~UINT64_C(0) << (from % 64);
    if (i == to / 64) places &= ~(~UINT64_C(0) << (to % 64));
    uint64_t marks = bits.marks[i], allocated = bits.allocated[i];
    if (old->born_marked) __atomic_store_n(&bits.marks[i], set ? marks | places : marks & ~places, __ATOMIC_RELAXED);
    __atomic_store_n(&bits.allocated[i], set ? allocated | places : allocated & ~places, __ATOMIC_RELEASE);
  }
}

/* --- runs --- */

/* The index of a place's first word in its span. */
static uint32_t word_in(const crd_old *old, uint32_t page, const char *place) {
  uintptr_t bytes = address_of(place) - arenas_page_address(&old->arenas, page);
  ASSERT(bytes <= arenas_page(&old->arenas, page)->pages * PAGE_BYTES, "[span.1] a place outside of its span");
  return (uint32_t)bytes / 8;
}

static void count_used(crd_old *old, uint32_t size_class, int64_t bytes) {
  ASSERT(bytes >= 0 || old->spans[size_class].used_bytes >= (uint64_t)-bytes,
         "[span.5] a class's used bytes go below zero");
  old->used_bytes += (uint64_t)bytes;
  old->spans[size_class].used_bytes += (uint64_t)bytes;
}

/* A run that is taken in a round: its span's first page, and its first word and its end in the span. */
#define LATE_RUNS_MAX LIMIT((size_t)1 << 17, 8)
#define LATE_PAGE_SHIFT 32
#define LATE_FROM_SHIFT 16

static bool may_note_run(crd_old *old) {
  if (word_stack_count(&old->late_runs) >= LATE_RUNS_MAX) return false;
  return old->late_runs.top != old->late_runs.limit || crd_word_stack_grow(&old->late_runs);
}

static void note_run(crd_old *old, uint32_t page, uint32_t from, uint32_t to) {
  ASSERT(to < 1u << LATE_FROM_SHIFT, "[span.8] a run ends where its note has no room for it");
  uint64_t run = (uint64_t)page << LATE_PAGE_SHIFT | (uint64_t)from << LATE_FROM_SHIFT | to;
  bool noted = word_stack_push(&old->late_runs, run);
  ASSERT(noted, "[span.8] a run is taken in a round and not noted");
  (void)noted;
}

void crd_old_write_late_runs(crd_old *old) {
  ASSERT(!old->marked_beside, "[span.8] the bits of runs are written in a round");
  while (!word_stack_is_empty(&old->late_runs)) {
    uint64_t run = word_stack_pop(&old->late_runs);
    uint32_t page = (uint32_t)(run >> LATE_PAGE_SHIFT), from = (uint16_t)(run >> LATE_FROM_SHIFT), to = (uint16_t)run;
    write_bits(old, page, &old->classes.of[arenas_page(&old->arenas, page)->size_class], from, to, true);
  }
}

/* Gives the allocator the next run of free places of the class's open span. opened: the span is new. false: there is
 * none. */
static bool next_run(crd_old *old, crd_worker *worker, uint32_t size_class, bool opened) {
  crd_allocator *allocator = &worker->allocators[size_class];
  const crd_size_class *class = &old->classes.of[size_class];
  crd_class_spans *spans = &old->spans[size_class];
  const crd_page *entry = arenas_page(&old->arenas, spans->open);
  ASSERT(entry->state == PAGE_SMALL && entry->size_class == size_class, "[span.3] a class has another class's span");
  ASSERT(!old_is_unswept(old, entry), "[span.6] a run is taken from a span that waits to be swept");
  span_bits bits = old_bits_of(old, spans->open, class->pages);
  uint32_t limit = class->objects * class->words;
  uint32_t start = spans->from < limit ? find_place(bits.allocated, class, spans->from, limit, false) : limit;
  if (start == limit) return false;
  uint32_t most = worker->run_words < class->words ? class->words : worker->run_words / class->words * class->words;
  if (most < limit - start) limit = start + most;
  uint32_t end = find_place(bits.allocated, class, start, limit, true);
  ASSERT(start < end && (end - start) % class->words == 0, "[span.1] a run that is no row of places");
  ASSERT(old->born_marked || !old->marked_beside, "[marker.2] a round goes on while nothing marks");
  if (CRADLE_UNLIKELY(old->marked_beside) && !opened)
    note_run(old, spans->open, start, end);
  else
    write_bits(old, spans->open, class, start, end, true);
  allocator->free = (char *)(old_page_start(old, spans->open) + start);
  allocator->end = (char *)(old_page_start(old, spans->open) + end);
  spans->from = end;
  count_used(old, size_class, (int64_t)(end - start) * 8);
  return true;
}

/* Others of a team may look at a page's state meanwhile, because a slot leads them to an object in it: they only want
 * to know whether it is a large object's. */
static void enter_pages(crd_old *old, uint32_t page, const crd_size_class *class, uint32_t size_class) {
  ASSERT(page % ARENA_PAGES + class->pages <= ARENA_PAGES, "[arena.6] a span leaves its arena");
  crd_page *first = arenas_page(&old->arenas, page);
  first->pages = class->pages;
  first->next = PAGE_NONE;
  first->pending = first->again = 0;
  first->size_class = (uint8_t)size_class;
  first->epoch = old->epoch;
  first->listed = false;
  for (uint32_t i = 0; i < class->pages; i++) {
    crd_page *entry = arenas_page(&old->arenas, page + i);
    entry->head = page;
    __atomic_store_n(&entry->state, i == 0 ? PAGE_SMALL : PAGE_INSIDE, __ATOMIC_RELAXED);
  }
  old->spans[size_class].count++;
}

/* Takes a new span for the class. */
static bool open_span(crd_old *old, uint32_t size_class, uint32_t keep) {
  const crd_size_class *class = &old->classes.of[size_class];
  bool clean;
  uint32_t page = crd_arenas_take(&old->arenas, class->pages, keep, &clean);
  if (page == PAGE_NONE) return false;
  enter_pages(old, page, class, size_class);
  old->spans[size_class].open = page;
  old->spans[size_class].from = 0;
  return true;
}

/* Puts a swept span with room into the partial list of its class. */
static void list_partial(crd_old *old, uint32_t page) {
  crd_page *entry = arenas_page(&old->arenas, page);
  crd_class_spans *spans = &old->spans[entry->size_class];
  ASSERT(!old_is_unswept(old, entry), "[span.6] a span that waits to be swept enters a partial list");
  ASSERT(spans->open != page, "[span.3] an open span enters a partial list");
  ASSERT(spans->partial != page, "[span.3] a span enters its partial list twice");
  entry->next = spans->partial;
  entry->listed = true;
  spans->partial = page;
}

void crd_old_adopt_span(crd_old *old, uint32_t page, uint32_t size_class, uint32_t objects, bool listed) {
  const crd_size_class *class = &old->classes.of[size_class];
  enter_pages(old, page, class, size_class);
  count_used(old, size_class, (int64_t)objects * class->bytes);
  if (listed && objects < class->objects) list_partial(old, page);
}

/* The class has no open span any more. If it is to be listed, it may be full all the same. */
static void leave_span(crd_old *old, crd_class_spans *spans, bool list) {
  uint32_t page = spans->open;
  spans->open = PAGE_NONE;
  if (list) list_partial(old, page);
}

/* The rest of the open span first, then spans of the partial list, of which some may be full, then a new one. */
bool crd_old_refill(crd_old *old, crd_worker *worker, uint32_t size_class, uint32_t keep) {
  crd_allocator *allocator = &worker->allocators[size_class];
  crd_class_spans *spans = &old->spans[size_class];
  ASSERT(allocator->free == allocator->end, "[span.1] the run is not used up");
  /* Where no further run can be noted, what is left of the span waits in its list, and a new span is opened. */
  bool may_note = CRADLE_LIKELY(!old->marked_beside) || may_note_run(old);
  if (spans->open != PAGE_NONE) {
    if (may_note && next_run(old, worker, size_class, false)) return true;
    leave_span(old, spans, !may_note);
  }
  while (may_note && spans->partial != PAGE_NONE) {
    spans->open = spans->partial;
    spans->from = 0;
    spans->partial = arenas_page(&old->arenas, spans->open)->next;
    arenas_page(&old->arenas, spans->open)->listed = false;
    if (next_run(old, worker, size_class, false)) return true;
    spans->open = PAGE_NONE;
  }
  *allocator = (crd_allocator){NULL, NULL};
  return open_span(old, size_class, keep) && next_run(old, worker, size_class, true);
}

/* The span of a run may not be open any more, and not listed, because nothing was left of it when it was closed. */
static void retire_run(crd_old *old, crd_allocator *allocator, uint32_t size_class) {
  ASSERT(allocator->free <= allocator->end, "[span.1] an allocator went past the end of its run");
  if (allocator->free != allocator->end) {
    uint32_t page = arenas_page(&old->arenas, arenas_page_number(&old->arenas, address_of(allocator->free)))->head;
    ASSERT(!old->marked_beside, "[span.8] an allocator is retired in a round");
    write_bits(old, page, &old->classes.of[size_class], word_in(old, page, allocator->free),
               word_in(old, page, allocator->end), false);
    count_used(old, size_class, allocator->free - allocator->end);
    if (page != old->spans[size_class].open && !arenas_page(&old->arenas, page)->listed) list_partial(old, page);
  }
  *allocator = (crd_allocator){NULL, NULL};
}

void crd_old_retire(crd_old *old) {
  for (uint32_t i = 0; i < old->classes.count; i++) {
    for (crd_worker *worker = &old->leader; worker != NULL; worker = worker->next)
      retire_run(old, &worker->allocators[i], i);
    if (old->spans[i].open != PAGE_NONE) leave_span(old, &old->spans[i], true);
  }
}

uint64_t crd_old_unfilled_of(const crd_old *old, uint32_t size_class) {
  uint64_t bytes = 0;
  for (const crd_worker *worker = &old->leader; worker != NULL; worker = worker->next)
    bytes += (uint64_t)(worker->allocators[size_class].end - worker->allocators[size_class].free);
  return bytes;
}

uint64_t crd_old_unfilled_bytes(const crd_old *old) {
  uint64_t bytes = 0;
  for (uint32_t i = 0; i < old->classes.count; i++) bytes += crd_old_unfilled_of(old, i);
  return bytes;
}

static void free_span(crd_old *old, uint32_t page) {
  uint32_t pages = arenas_page(&old->arenas, page)->pages, size_class = arenas_page(&old->arenas, page)->size_class;
  ASSERT(old->spans[size_class].open != page && old->spans[size_class].partial != page,
         "[span.3] a span is freed that is open or listed");
  ASSERT(old->spans[size_class].count > 0, "[span.5] more spans of a class are freed than were opened");
  old->spans[size_class].count--;
  for (uint32_t i = 0; i < pages; i++) *arenas_page(&old->arenas, page + i) = (crd_page){.state = PAGE_FREE};
  crd_arenas_give_back(&old->arenas, page, pages);
}

bool crd_old_settle_span(crd_old *old, uint32_t page, uint32_t gone, uint32_t live) {
  const crd_page *entry = arenas_page(&old->arenas, page);
  const crd_size_class *class = &old->classes.of[entry->size_class];
  ASSERT(entry->state == PAGE_SMALL, "what is settled is no span of small objects");
  count_used(old, entry->size_class, -(int64_t)gone * class->bytes);
  if (live == 0)
    free_span(old, page);
  else if (live < class->objects)
    list_partial(old, page);
  return live == 0;
}

/* --- walking --- */

uint32_t crd_old_next_span(const crd_old *old, uint32_t page) {
  uint32_t end = old->arenas.used_end * ARENA_PAGES;
  while (page < end) {
    if (old->arenas.states[page / ARENA_PAGES] != ARENA_USED) {
      page = (page / ARENA_PAGES + 1) * ARENA_PAGES;
      continue;
    }
    const crd_page *entry = arenas_page(&old->arenas, page);
    if (entry->state == PAGE_INSIDE) /* since a walk stopped here, a span was opened that began before page */
      page = entry->head + arenas_page(&old->arenas, entry->head)->pages;
    else if (entry->state != PAGE_FREE)
      return page;
    else
      page = crd_arenas_skip_free(&old->arenas, page);
  }
  return PAGE_NONE;
}

void crd_old_each_in(const crd_old *old, uint32_t page, bool marked_only, crd_object_function visit, void *context) {
  const crd_page *entry = arenas_page(&old->arenas, page);
  ASSERT(entry->head == page && entry->pages > 0, "a walk visits what is no span");
  span_bits bits = old_bits_of(old, page, entry->pages);
  const uint64_t *map = marked_only || old_is_unswept(old, entry) ? bits.marks : bits.allocated;
  for (uint32_t i = 0; i < bits.words; i++)
    for (uint64_t word = map[i]; word != 0; word &= word - 1)
      visit(context, old_page_start(old, page) + i * 64 + (uint32_t)__builtin_ctzll(word));
}

void crd_old_each(const crd_old *old, crd_object_function visit, void *context) {
  for (uint32_t page = crd_old_next_span(old, 0); page != PAGE_NONE; page = old_span_after(old, page))
    crd_old_each_in(old, page, false, visit, context);
}

uint32_t crd_old_count_taken(const crd_old *old, uint32_t page) {
  span_bits bits = old_bits_of(old, page, arenas_page(&old->arenas, page)->pages);
  uint32_t taken = 0;
  for (uint32_t i = 0; i < bits.words; i++) taken += count_bits(bits.allocated[i]);
  return taken;
}

bool crd_old_is_object(const crd_old *old, uintptr_t address) {
  if (!arenas_contain(&old->arenas, address) || address % 8 != 0) return false;
  if (old->arenas.states[arenas_index(&old->arenas, address)] != ARENA_USED) return false;
  const crd_page *page = arenas_page(&old->arenas, arenas_page_number(&old->arenas, address));
  if (page->state == PAGE_FREE) return false;
  if (old_is_unswept(old, arenas_page(&old->arenas, page->head))) return old_is_marked(old, address);
  return old_is_allocated(old, address);
}
