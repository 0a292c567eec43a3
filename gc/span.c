#include "gc/span.h"

#include <string.h>

#include "gc/check.h"

/* Pages that may stay unused at the end of an arena because no span fits. */
#define ARENA_TAIL_BYTES ((size_t)SPAN_MAX_PAGES * PAGE_BYTES)
#define ARENA_PROMOTABLE_BYTES (ARENA_BYTES - ARENA_TAIL_BYTES)
/* A large object of more pages takes its arenas with it when it goes: 32 MiB. */
#define RETURNED_PAGES (16 * ARENA_PAGES)

bool crd_old_init(crd_old *old, const cradle_options *options, const cradle_hardware *hardware) {
  crd_size_classes_init(&old->classes);
  for (uint32_t i = 0; i < SIZE_CLASS_MAX; i++) old->allocators[i] = (crd_allocator){NULL, NULL, PAGE_NONE, PAGE_NONE};
  old->young_large = PAGE_NONE;
  return crd_arenas_init(&old->arenas, options, hardware);
}

void crd_old_fini(crd_old *old) {
  crd_arenas_fini(&old->arenas);
}

/* The worst promotion: every byte of the nursery in objects just above the small ones, whose page runs are half again as
 * long (8,208 bytes take three pages), and one span of every class opened besides. */
uint32_t crd_old_arenas_for(const crd_old *old, size_t nursery_bytes) {
  size_t bytes = nursery_bytes + nursery_bytes / 2 + old->classes.span_bytes_total;
  return (uint32_t)((bytes + ARENA_PROMOTABLE_BYTES - 1) / ARENA_PROMOTABLE_BYTES);
}

size_t crd_old_nursery_for(const crd_old *old, uint32_t arenas) {
  size_t bytes = arenas * ARENA_PROMOTABLE_BYTES;
  if (bytes <= old->classes.span_bytes_total) return 0;
  return ((bytes - old->classes.span_bytes_total) / 3 * 2) & ~(size_t)7;
}

/* --- bitmaps of a span --- */

/* The object starts in bitmap word i of a span, for objects of stride words. */
static uint64_t starts_in(const crd_size_class *class, uint32_t i) {
  uint32_t over = i * 64 % class->words, phase = over == 0 ? 0 : class->words - over;
  return phase >= 64 ? 0 : class->pattern << phase;
}

/* Index in words of the first free place at or after from (an object start), or limit. */
static uint32_t find_free(const uint64_t *allocated, const crd_size_class *class, uint32_t from, uint32_t limit) {
  if (class->words >= 64) {
    while (from < limit && (allocated[from / 64] >> (from % 64) & 1)) from += class->words;
    return from < limit ? from : limit;
  }
  uint64_t above = ~UINT64_C(0) << (from % 64);
  for (uint32_t i = from / 64; i * 64 < limit; i++, above = ~UINT64_C(0)) {
    uint64_t places = ~allocated[i] & starts_in(class, i) & above;
    if (places == 0) continue;
    uint32_t found = i * 64 + (uint32_t)__builtin_ctzll(places);
    return found < limit ? found : limit;
  }
  return limit;
}

/* Index in words of the first taken place at or after from, or limit. */
static uint32_t find_taken(const uint64_t *allocated, uint32_t from, uint32_t limit) {
  uint64_t above = ~UINT64_C(0) << (from % 64);
  for (uint32_t i = from / 64; i * 64 < limit; i++, above = ~UINT64_C(0)) {
    if ((allocated[i] & above) == 0) continue;
    uint32_t found = i * 64 + (uint32_t)__builtin_ctzll(allocated[i] & above);
    return found < limit ? found : limit;
  }
  return limit;
}

/* Sets or clears the bits of the places in [from, to). */
static void write_bits(uint64_t *allocated, const crd_size_class *class, uint32_t from, uint32_t to, bool set) {
  for (uint32_t i = from / 64; i * 64 < to; i++) {
    uint64_t places = starts_in(class, i);
    if (i == from / 64) places &= ~UINT64_C(0) << (from % 64);
    if (i == to / 64) places &= ~(~UINT64_C(0) << (to % 64));
    if (set)
      allocated[i] |= places;
    else
      allocated[i] &= ~places;
  }
}

/* --- the allocator of a class --- */

static char *span_address(const crd_old *old, uint32_t page) {
  return (char *)old_page_start(old, page);
}

static void count_used(crd_old *old, uint32_t size_class, int64_t bytes) {
  old->used_bytes += (uint64_t)bytes;
  old->class_used[size_class] += (uint64_t)bytes;
}

/* The next run of free places of the allocator's span at or after word from. */
static bool next_run(crd_old *old, uint32_t size_class, uint32_t from) {
  const crd_size_class *class = &old->classes.of[size_class];
  crd_allocator *allocator = &old->allocators[size_class];
  span_bits bits = old_bits_of(old, allocator->span, class->pages);
  uint32_t limit = class->objects * class->words;
  uint32_t start = from < limit ? find_free(bits.allocated, class, from, limit) : limit;
  if (start == limit) return false;
  uint32_t end = find_taken(bits.allocated, start, limit);
  write_bits(bits.allocated, class, start, end, true);
  if (old->born_marked) write_bits(bits.marks, class, start, end, true);
  allocator->free = span_address(old, allocator->span) + start * 8;
  allocator->end = span_address(old, allocator->span) + end * 8;
  count_used(old, size_class, (int64_t)(end - start) * 8);
  return true;
}

static void enter_pages(crd_old *old, uint32_t page, const crd_size_class *class, uint32_t size_class) {
  for (uint32_t i = 0; i < class->pages; i++) {
    crd_page *entry = arenas_page(&old->arenas, page + i);
    entry->head = page;
    entry->state = i == 0 ? PAGE_SMALL : PAGE_INSIDE;
  }
  crd_page *head = arenas_page(&old->arenas, page);
  head->pages = class->pages;
  head->size_class = (uint8_t)size_class;
  head->next = PAGE_NONE;
  head->epoch = old->epoch;
  old->class_spans[size_class]++;
}

static bool open_span(crd_old *old, uint32_t size_class, uint32_t keep) {
  const crd_size_class *class = &old->classes.of[size_class];
  bool clean;
  uint32_t page = crd_arenas_take(&old->arenas, class->pages, keep, &clean);
  if (page == PAGE_NONE) return false;
  enter_pages(old, page, class, size_class);
  old->allocators[size_class].span = page;
  return next_run(old, size_class, 0);
}

bool crd_old_refill(crd_old *old, uint32_t size_class, uint32_t keep) {
  crd_allocator *allocator = &old->allocators[size_class];
  ASSERT(allocator->free == allocator->end, "[span.1] the run is not used up");
  if (allocator->span != PAGE_NONE) {
    uint32_t from = (uint32_t)(allocator->end - span_address(old, allocator->span)) / 8;
    if (next_run(old, size_class, from)) return true;
    allocator->span = PAGE_NONE;
    allocator->free = allocator->end = NULL;
  }
  while (allocator->partial != PAGE_NONE) {
    allocator->span = allocator->partial;
    allocator->partial = arenas_page(&old->arenas, allocator->span)->next;
    if (next_run(old, size_class, 0)) return true;
    allocator->span = PAGE_NONE;
  }
  return open_span(old, size_class, keep);
}

static void retire(crd_old *old, uint32_t size_class) {
  const crd_size_class *class = &old->classes.of[size_class];
  crd_allocator *allocator = &old->allocators[size_class];
  if (allocator->span == PAGE_NONE) return;
  span_bits bits = old_bits_of(old, allocator->span, class->pages);
  char *base = span_address(old, allocator->span);
  uint32_t from = (uint32_t)(allocator->free - base) / 8, to = (uint32_t)(allocator->end - base) / 8;
  write_bits(bits.allocated, class, from, to, false);
  if (old->born_marked) write_bits(bits.marks, class, from, to, false);
  count_used(old, size_class, allocator->free - allocator->end);
  arenas_page(&old->arenas, allocator->span)->next = allocator->partial;
  allocator->partial = allocator->span;
  allocator->span = PAGE_NONE;
  allocator->free = allocator->end = NULL;
}

void crd_old_retire(crd_old *old) {
  for (uint32_t i = 0; i < old->classes.count; i++) retire(old, i);
}

/* --- large objects --- */

void *crd_old_take_large(crd_old *old, size_t bytes, bool young, bool zeroed, uint32_t keep) {
  size_t pages = (bytes + PAGE_BYTES - 1) >> PAGE_SHIFT;
  if (pages > old->arenas.bytes >> PAGE_SHIFT) return NULL;
  bool clean;
  uint32_t page = crd_arenas_take(&old->arenas, (uint32_t)pages, keep, &clean);
  if (page == PAGE_NONE) return NULL;
  uintptr_t address = arenas_page_address(&old->arenas, page);
  crd_page *entry = arenas_page(&old->arenas, page);
  *entry = (crd_page){.pages = (uint32_t)pages, .head = page, .next = PAGE_NONE,
                      .state = young ? PAGE_LARGE_YOUNG : PAGE_LARGE, .epoch = old->epoch};
  if (old->born_marked && !young) old_mark(old, address);
  arenas_of(&old->arenas, address)->allocated[arena_bit_word(address)] |= arena_bit_mask(address);
  old->used_bytes += pages << PAGE_SHIFT;
  old->large_bytes += pages << PAGE_SHIFT;
  if (young) {
    entry->next = old->young_large;
    old->young_large = page;
  }
  if (zeroed && !clean) memset((void *)address, 0, bytes);
  return (void *)address;
}

/* Its pages are taken and no span's then. Returns their number. */
static uint32_t take_out_large(crd_old *old, uint32_t page) {
  crd_page *entry = arenas_page(&old->arenas, page);
  uintptr_t address = arenas_page_address(&old->arenas, page);
  uint32_t pages = entry->pages;
  arenas_of(&old->arenas, address)->allocated[arena_bit_word(address)] &= ~arena_bit_mask(address);
  *entry = (crd_page){.state = PAGE_FREE};
  old->used_bytes -= (uint64_t)pages << PAGE_SHIFT;
  old->large_bytes -= (uint64_t)pages << PAGE_SHIFT;
  return pages;
}

void crd_old_free_large(crd_old *old, uint32_t page) {
  uint32_t pages = take_out_large(old, page);
  crd_arenas_give_back(&old->arenas, page, pages);
  if (pages > RETURNED_PAGES)
    (void)crd_arenas_release_at(&old->arenas, page / ARENA_PAGES, (pages + ARENA_PAGES - 1) / ARENA_PAGES, old->reserve);
}

/* But for arenas that were given back, where writing would fault; of a sparse object, it would have brought the pages in. */
static void poison_pages(const crd_old *old, uint32_t page, uint32_t pages, cradle_word poison) {
  for (uint32_t end = page + pages; page < end; page++) {
    cradle_word *word = old_page_start(old, page);
    if (!arenas_are_committed(&old->arenas, (uintptr_t)word)) continue;
    for (size_t i = 0; i < PAGE_BYTES / 8; i++) word[i] = poison;
  }
}

void crd_old_bury_large(crd_old *old, uint32_t page, crd_remains remains) {
  if (CRADLE_LIKELY(remains.poison == 0)) {
    crd_old_free_large(old, page); /* and nobody touches the dead */
    return;
  }
  cradle_word *object = old_page_start(old, page);
  crd_closed_run run = {.page = page, .type = (uint32_t)object[0], .swept = remains.swept, .collection = remains.collection};
  run.pages = arenas_page(&old->arenas, page)->pages;
  uint32_t tail = run.pages % ARENA_PAGES, whole = run.pages - tail;
  poison_pages(old, page + whole, tail, remains.poison); /* while it is not closed */
  if (!old->arenas.rotating) {
    crd_old_free_large(old, page);
  } else {
    (void)take_out_large(old, page);
    crd_arenas_close(&old->arenas, run, old->reserve);
  }
  poison_pages(old, page, whole, remains.poison); /* what was not given back */
}

void crd_old_free_span(crd_old *old, uint32_t page) {
  uint32_t pages = arenas_page(&old->arenas, page)->pages;
  old->class_spans[arenas_page(&old->arenas, page)->size_class]--;
  for (uint32_t i = 0; i < pages; i++) *arenas_page(&old->arenas, page + i) = (crd_page){.state = PAGE_FREE};
  crd_arenas_give_back(&old->arenas, page, pages);
}

/* --- walking spans --- */

uint32_t crd_old_next_span(const crd_old *old, uint32_t page) {
  uint32_t end = old->arenas.used_end * ARENA_PAGES;
  while (page < end) {
    if (old->arenas.states[page / ARENA_PAGES] != ARENA_USED) {
      page = (page / ARENA_PAGES + 1) * ARENA_PAGES;
      continue;
    }
    const crd_page *entry = arenas_page(&old->arenas, page);
    if (entry->state == PAGE_INSIDE) /* of a span that was opened across page since a walk stopped here */
      page = entry->head + arenas_page(&old->arenas, entry->head)->pages;
    else if (entry->state != PAGE_FREE)
      return page;
    else
      page++;
  }
  return PAGE_NONE;
}

void crd_old_each_in(const crd_old *old, uint32_t page, bool marked_only, crd_object_function visit, void *context) {
  const crd_page *entry = arenas_page(&old->arenas, page);
  span_bits bits = old_bits_of(old, page, entry->pages);
  const uint64_t *map = marked_only || old_is_unswept(old, entry) ? bits.marks : bits.allocated;
  for (uint32_t i = 0; i < bits.words; i++)
    for (uint64_t word = map[i]; word != 0; word &= word - 1)
      visit(context, old_page_start(old, page) + i * 64 + (uint32_t)__builtin_ctzll(word));
}

void crd_old_each(const crd_old *old, bool marked_only, crd_object_function visit, void *context) {
  for (uint32_t page = crd_old_next_span(old, 0), pages; page != PAGE_NONE; page = crd_old_next_span(old, page + pages)) {
    pages = arenas_page(&old->arenas, page)->pages;
    crd_old_each_in(old, page, marked_only, visit, context);
  }
}

/* --- checks --- */

bool crd_old_is_object(const crd_old *old, uintptr_t address) {
  if (!arenas_contain(&old->arenas, address) || address % 8 != 0) return false;
  if (old->arenas.states[(address - old->arenas.base) >> ARENA_SHIFT] != ARENA_USED) return false;
  const crd_page *page = arenas_page(&old->arenas, arenas_page_number(&old->arenas, address));
  if (page->state == PAGE_FREE) return false;
  if (old_is_unswept(old, arenas_page(&old->arenas, page->head))) return old_is_marked(old, address);
  return (arenas_of(&old->arenas, address)->allocated[arena_bit_word(address)] & arena_bit_mask(address)) != 0;
}

/* What a recount finds. */
typedef struct recount {
  uint64_t used, class_used[SIZE_CLASS_MAX];
  uint32_t class_spans[SIZE_CLASS_MAX];
  uint64_t pages;
  bool marking; /* mark bits may be set */
} recount;

/* Where objects may start in bitmap word i of a span. class NULL: of a large object, which starts the span. */
static uint64_t possible_starts(const crd_size_class *class, uint32_t i) {
  return class != NULL ? starts_in(class, i) : i == 0;
}

static const char *check_bits(span_bits bits, const crd_size_class *class, bool marks, uint64_t *objects) {
  for (uint32_t i = 0; i < bits.words; i++) {
    if (bits.allocated[i] & ~possible_starts(class, i)) return "an allocation bit lies off an object's start [span.2]";
    if (bits.marks[i] & ~(marks ? bits.allocated[i] : 0)) return "a mark bit is set where none may be [span.4]";
    *objects += (uint64_t)__builtin_popcountll(bits.allocated[i]);
  }
  return NULL;
}

static const char *check_span(const crd_old *old, uint32_t page, recount *counted) {
  const crd_page *entry = arenas_page(&old->arenas, page);
  const crd_size_class *class = entry->state == PAGE_SMALL ? &old->classes.of[entry->size_class] : NULL;
  if ((class != NULL && entry->pages != class->pages) || entry->head != page) return "a span's page entry does not match its class";
  counted->pages += entry->pages;
  uint64_t objects = 0;
  bool marks = counted->marking || old_is_unswept(old, entry);
  const char *fault = check_bits(old_bits_of(old, page, entry->pages), class, marks, &objects);
  if (fault != NULL) return fault;
  if (class == NULL) {
    counted->used += (uint64_t)entry->pages << PAGE_SHIFT;
    return objects == 1 ? NULL : "a large object has no allocation bit [span.2]";
  }
  counted->used += objects * class->bytes;
  counted->class_used[entry->size_class] += objects * class->bytes;
  counted->class_spans[entry->size_class]++;
  return NULL;
}

static const char *check_lists(const crd_old *old) {
  for (uint32_t i = 0; i < old->classes.count; i++)
    for (uint32_t page = old->allocators[i].partial; page != PAGE_NONE; page = arenas_page(&old->arenas, page)->next) {
      const crd_page *entry = arenas_page(&old->arenas, page);
      if (entry->state != PAGE_SMALL || entry->size_class != i) return "a partial list holds a span of another class [span.3]";
      if (old_is_unswept(old, entry)) return "a partial list holds a span that has not been swept [span.6]";
    }
  return NULL;
}

static const char *check_counts(const crd_old *old, const recount *counted) {
  uint64_t taken = 0;
  for (uint32_t i = 0; i < old->arenas.used_end; i++)
    if (old->arenas.states[i] == ARENA_USED) taken += ARENA_PAGES - old->arenas.meta[i].free_pages;
  if (taken != counted->pages + old->arenas.closed_pages) return "pages are taken that are no span's and not closed [closed.1]";
  for (uint32_t i = 0; i < old->classes.count; i++)
    if (old->class_used[i] != counted->class_used[i] || old->class_spans[i] != counted->class_spans[i])
      return "a size class's counts do not match its spans [span.5]";
  return counted->used == old->used_bytes ? NULL : "used bytes do not match the allocation bits [span.5]";
}

const char *crd_old_check(const crd_old *old) {
  recount counted = {.marking = old->born_marked};
  const char *fault = NULL;
  for (uint32_t page = crd_old_next_span(old, 0), pages; page != PAGE_NONE && fault == NULL;
       page = crd_old_next_span(old, page + pages)) {
    pages = arenas_page(&old->arenas, page)->pages;
    fault = check_span(old, page, &counted);
  }
  if (fault == NULL) fault = crd_arenas_check(&old->arenas);
  if (fault == NULL) fault = check_lists(old);
  return fault != NULL ? fault : check_counts(old, &counted);
}
