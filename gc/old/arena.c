#include "gc/old/arena.h"

#include <string.h>

#include "gc/base/bits.h"
#include "gc/old/arena_memory.h"
#include "gc/old/closed.h"

/* Not all arenas of the first list have room for a run, as their longest runs differ by up to a factor of two. After so
 * many that have none, the search goes on with the next list, whose arenas all have room. */
#define LIST_TRIES 8

_Static_assert(sizeof(crd_arena) == 80 * 1024, "metadata of an arena: 80 KiB");
_Static_assert(sizeof(crd_page) == 24, "page entry: 24 bytes");

/* --- lists [arena.4] --- */

static uint32_t bucket_of(uint32_t pages) {
  return 31 - (uint32_t)__builtin_clz(pages);
}

static uint32_t *list_of(crd_arenas *arenas, const crd_arena *arena) {
  return &arenas->lists[bucket_of(arena->free_pages)][bucket_of(arena->longest)];
}

void crd_arenas_withdraw(crd_arenas *arenas, uint32_t index) {
  crd_arena *arena = &arenas->meta[index];
  if (arena->longest == 0) return; /* a full arena is in no list */
  uint32_t *head = list_of(arenas, arena);
  ASSERT(arena->previous != ARENA_NONE ? arenas->meta[arena->previous].next == index : *head == index,
         "[arena.4] an arena leaves a list that it is not in");
  if (arena->next != ARENA_NONE) arenas->meta[arena->next].previous = arena->previous;
  if (arena->previous != ARENA_NONE)
    arenas->meta[arena->previous].next = arena->next;
  else
    *head = arena->next;
  if (*head == ARENA_NONE) arenas->listed[bucket_of(arena->free_pages)] &= (uint16_t)~(1u << bucket_of(arena->longest));
}

void crd_arenas_restore(crd_arenas *arenas, uint32_t index) {
  crd_arena *arena = &arenas->meta[index];
  if (arena->longest == 0) return;
  uint32_t *head = list_of(arenas, arena);
  ASSERT(arenas->states[index] == ARENA_USED, "[arena.4] an arena that is not in use enters a list");
  ASSERT(*head != index, "[arena.4] an arena enters a list twice");
  arena->previous = ARENA_NONE;
  arena->next = *head;
  if (*head != ARENA_NONE) arenas->meta[*head].previous = index;
  *head = index;
  arenas->listed[bucket_of(arena->free_pages)] |= (uint16_t)(1u << bucket_of(arena->longest));
}

/* --- the maps of an arena --- */

/* The first page at or after from whose bit is as wanted; ARENA_PAGES if there is none. */
static uint32_t map_find(const uint64_t *map, uint32_t from, bool set) {
  while (from < ARENA_PAGES) {
    uint64_t word = (set ? map[from / 64] : ~map[from / 64]) >> (from % 64);
    if (word != 0) return from + (uint32_t)__builtin_ctzll(word);
    from = (from / 64 + 1) * 64;
  }
  return ARENA_PAGES;
}

static void map_write(uint64_t *map, uint32_t from, uint32_t count, bool set) {
  for (uint32_t page = from; page < from + count; page++) {
    if (set)
      bitmap_set(map, page);
    else
      bitmap_clear(map, page);
  }
}

/* The first run of count free pages or more; ARENA_PAGES if there is none. *longest: of the runs looked at. */
static uint32_t map_first_fit(const uint64_t *map, uint32_t count, uint32_t *longest) {
  uint32_t from = *longest = 0;
  while ((from = map_find(map, from, true)) < ARENA_PAGES) {
    uint32_t end = map_find(map, from, false);
    if (end - from > *longest) *longest = end - from;
    if (end - from >= count) return from;
    from = end;
  }
  return ARENA_PAGES;
}

static uint16_t map_longest(const uint64_t *map) {
  uint32_t longest;
  (void)map_first_fit(map, ARENA_PAGES, &longest);
  return (uint16_t)longest;
}

uint32_t crd_arenas_skip_free(const crd_arenas *arenas, uint32_t page) {
  uint32_t index = page / ARENA_PAGES;
  return index * ARENA_PAGES + map_find(arenas->meta[index].free_map, page % ARENA_PAGES + 1, false);
}

/* --- taking and giving back runs --- */

/* Whether [arena.5] holds for a run of pages in one arena. */
static bool is_cleared(const crd_arena *arena, uint32_t first, uint32_t count) {
  const uint32_t words = PAGE_BYTES / 8 / 64;
  for (uint32_t page = first; page < first + count; page++) {
    uint64_t bits = 0;
    for (uint32_t i = page * words; i < (page + 1) * words; i++) bits |= arena->marks[i] | arena->allocated[i];
    if (bits != 0 || arena->pages[page].state != PAGE_FREE || arena->pages[page].pages != 0) return false;
  }
  return true;
}

/* Marks pages of one arena as taken. *clean becomes false if one of them was written before. */
static void occupy(crd_arenas *arenas, uint32_t index, uint32_t first, uint32_t count, bool *clean) {
  crd_arena *arena = &arenas->meta[index];
  ASSERT(first + count <= ARENA_PAGES, "[arena.6] a run leaves its arena");
  ASSERT(map_find(arena->free_map, first, false) >= first + count, "[arena.4] a page is taken twice");
  ASSERT(is_cleared(arena, first, count), "[arena.5] a page that is taken has bits or an entry from before");
  if (map_find(arena->dirty_map, first, true) < first + count) *clean = false;
  map_write(arena->free_map, first, count, false);
  map_write(arena->dirty_map, first, count, true);
  arena->free_pages = (uint16_t)(arena->free_pages - count);
  arena->longest = map_longest(arena->free_map);
}

/* Makes a FREE arena USED, with all its pages free and in no list yet. */
static void open_arena(crd_arenas *arenas, uint32_t index) {
  crd_arena *arena = &arenas->meta[index];
  ASSERT(arenas->states[index] == ARENA_FREE && arenas->free_count > 0,
         "[arena.1] an arena is opened that is not FREE");
  memset(arena->free_map, 0xff, sizeof arena->free_map);
  arena->free_pages = arena->longest = ARENA_PAGES;
  arenas->states[index] = ARENA_USED;
  arenas->origins[index] |= ARENA_TOUCHED;
  arenas->free_count--;
  if (arenas_in_use(arenas) > arenas->demand.peak) arenas->demand.peak = arenas_in_use(arenas);
  if (index >= arenas->used_end) arenas->used_end = index + 1;
}

void crd_arenas_adopt(crd_arenas *arenas, uint32_t index, bool sealed) {
  crd_arena *arena = &arenas->meta[index];
  uint64_t map[ARENA_PAGES / 64];
  memcpy(map, arena->free_map, sizeof map);
  open_arena(arenas, index);
  if (sealed) memset(map, 0, sizeof map);
  if (sealed) arenas->origins[index] |= ARENA_SEALED;
  memcpy(arena->free_map, map, sizeof map);
  memset(arena->dirty_map, 0xff, sizeof arena->dirty_map); /* a file may hold anything in free pages */
  arena->free_pages = 0;
  for (size_t i = 0; i < ARENA_PAGES / 64; i++) arena->free_pages = (uint16_t)(arena->free_pages + count_bits(map[i]));
  arena->longest = map_longest(map);
  crd_arenas_restore(arenas, index);
}

/* Makes a USED arena FREE. All its pages are free, and it has been taken out of its list. */
static void close_arena(crd_arenas *arenas, uint32_t index) {
  ASSERT(arenas->states[index] == ARENA_USED, "[arena.1] an arena becomes FREE that was not in use");
  arenas->meta[index].longest = arenas->meta[index].free_pages = 0;
  arenas->states[index] = ARENA_FREE;
  arenas->free_count++;
  while (arenas->used_end > 0 && arenas->states[arenas->used_end - 1] != ARENA_USED) arenas->used_end--;
}

static uint32_t lowest_free(const crd_arenas *arenas) {
  return arenas_next(arenas, 0, arenas->committed_end, ARENA_FREE);
}

/* The fullest USED arena that has count free pages in a row, or ARENA_NONE; of about as full ones, that with the
 * shortest longest run: long runs are kept for those that need them. most: so many arenas of a list are looked at. */
static uint32_t find_used(const crd_arenas *arenas, uint32_t count, uint32_t most) {
  uint32_t shortest = bucket_of(count);
  for (uint32_t room = shortest; room < ARENA_BUCKETS; room++)
    for (uint32_t listed = arenas->listed[room] >> shortest << shortest; listed != 0; listed &= listed - 1) {
      uint32_t index = arenas->lists[room][__builtin_ctz(listed)], tries = 0;
      for (; index != ARENA_NONE && tries < most; tries++, index = arenas->meta[index].next)
        if (arenas->meta[index].longest >= count) return index;
    }
  return ARENA_NONE;
}

/* A run of up to 512 pages: in a USED arena, which changes its list, else in a FREE one that is opened for it. */
static uint32_t take_small(crd_arenas *arenas, uint32_t count, uint32_t keep, bool *clean) {
  uint32_t index = find_used(arenas, count, LIST_TRIES);
  if (index == ARENA_NONE && crd_arenas_ensure_free(arenas, keep + 1)) {
    index = lowest_free(arenas);
    open_arena(arenas, index);
    crd_arenas_restore(arenas, index);
  }
  /* Before memory has run out, also those that the first search passed over. */
  if (index == ARENA_NONE) index = find_used(arenas, count, UINT32_MAX);
  if (index == ARENA_NONE) return PAGE_NONE;
  uint32_t longest, first = map_first_fit(arenas->meta[index].free_map, count, &longest);
  crd_arenas_withdraw(arenas, index);
  occupy(arenas, index, first, count, clean);
  crd_arenas_restore(arenas, index);
  return index * ARENA_PAGES + first;
}

/* The first of count neighbouring arenas in [from, end) that hold nothing, or ARENA_NONE. committed: all of them must
 * be FREE already, so the search ends with the last FREE one. */
static uint32_t find_neighbours(const crd_arenas *arenas, uint32_t from, uint32_t end, uint32_t count, bool committed) {
  uint32_t found = 0, left = committed ? arenas->free_count : end;
  for (uint32_t i = from; i < end && left > 0; i++) {
    bool is_free = arenas->states[i] == ARENA_FREE;
    bool fits = is_free || (!committed && arenas->states[i] == ARENA_RESERVED);
    left -= is_free;
    found = fits ? found + 1 : 0;
    if (found == count) return i + 1 - count;
  }
  return ARENA_NONE;
}

/* With a quarantine, neighbours are committed in turn, as single arenas are. If that would exceed the limit, the search
 * begins at the lowest arena, so that FREE ones can be among the neighbours. */
static uint32_t find_reserved_neighbours(crd_arenas *arenas, uint32_t count) {
  if (arenas_go_round(arenas) && arenas->committed_count + count <= arenas->limit) {
    uint32_t end = crd_arenas_round_end(arenas, count);
    uint32_t first = find_neighbours(arenas, arenas->round_next, end, count, false);
    if (first != ARENA_NONE) return first;
  }
  /* One of the neighbours at least is RESERVED, because FREE ones alone were looked for before. */
  uint32_t lowest = arenas_go_round(arenas) ? 0 : arenas_next(arenas, 0, arenas->capacity, ARENA_RESERVED);
  return find_neighbours(arenas, lowest < count ? 0 : lowest - (count - 1), arenas->capacity, count, false);
}

/* A run of more than 512 pages. */
static uint32_t take_big(crd_arenas *arenas, uint32_t count, uint32_t keep, bool *clean) {
  uint32_t arenas_needed = (count + ARENA_PAGES - 1) / ARENA_PAGES, first = ARENA_NONE;
  if (arenas->free_count >= arenas_needed)
    first = find_neighbours(arenas, lowest_free(arenas), arenas->committed_end, arenas_needed, true);
  if (first == ARENA_NONE) {
    first = find_reserved_neighbours(arenas, arenas_needed);
    if (first == ARENA_NONE || !crd_arenas_commit_at(arenas, first, arenas_needed)) return PAGE_NONE;
    if (arenas_go_round(arenas)) arenas->round_next = first + arenas_needed;
  }
  /* The neighbours are FREE now. Besides them, `keep` more must be. */
  if (!crd_arenas_ensure_free(arenas, keep + arenas_needed)) return PAGE_NONE;
  for (uint32_t i = 0; i < arenas_needed; i++, count -= ARENA_PAGES) {
    open_arena(arenas, first + i);
    occupy(arenas, first + i, 0, count < ARENA_PAGES ? count : ARENA_PAGES, clean);
    crd_arenas_restore(arenas, first + i);
  }
  return first * ARENA_PAGES;
}

uint32_t crd_arenas_take(crd_arenas *arenas, uint32_t count, uint32_t keep, bool *clean) {
  ASSERT(count > 0, "an empty run");
  for (;;) {
    *clean = true;
    uint32_t page =
        count <= ARENA_PAGES ? take_small(arenas, count, keep, clean) : take_big(arenas, count, keep, clean);
    if (page != PAGE_NONE || !crd_closed_open_oldest(arenas)) return page;
  }
}

void crd_arenas_give_back(crd_arenas *arenas, uint32_t page, uint32_t count) {
  for (uint32_t part; count > 0; page += part, count -= part) {
    uint32_t index = page / ARENA_PAGES, first = page % ARENA_PAGES;
    crd_arena *arena = &arenas->meta[index];
    part = count < ARENA_PAGES - first ? count : ARENA_PAGES - first;
    ASSERT(part == count || first == 0, "[arena.6] a run goes on beyond the arena in which it begins");
    ASSERT(map_find(arena->free_map, first, true) >= first + part, "[arena.4] a page is given back twice");
    ASSERT(is_cleared(arena, first, part), "[arena.5] a page is given back with bits or an entry");
    crd_arenas_withdraw(arenas, index);
    map_write(arena->free_map, first, part, true);
    arena->free_pages = (uint16_t)(arena->free_pages + part);
    arena->longest = map_longest(arena->free_map);
    if (arena->free_pages == ARENA_PAGES)
      close_arena(arenas, index);
    else
      crd_arenas_restore(arenas, index);
  }
}

/* --- check --- */

static uint32_t count_listed(const crd_arenas *arenas, uint32_t most) {
  uint32_t listed = 0;
  for (int room = 0; room < ARENA_BUCKETS; room++)
    for (int longest = 0; longest < ARENA_BUCKETS; longest++)
      for (uint32_t i = arenas->lists[room][longest]; i != ARENA_NONE && listed <= most; i = arenas->meta[i].next)
        listed++;
  return listed;
}

/* If anything is committed at or above committed_end, the counts do not match. */
const char *crd_arenas_check(const crd_arenas *arenas) {
  uint32_t free_count = 0, used = 0, with_room = 0, from_pool = 0, end = arenas->committed_end;
  for (uint32_t i = 0; i < end; i++) {
    free_count += arenas->states[i] == ARENA_FREE;
    if (arenas->states[i] == ARENA_RESERVED && arenas->origins[i] != 0) return "a reserved arena has an origin";
    from_pool += (arenas->origins[i] & ARENA_FROM_POOL) != 0;
    if (arenas->states[i] != ARENA_USED) continue;
    const crd_arena *arena = &arenas->meta[i];
    uint32_t free_pages = 0;
    for (uint32_t page = 0; page < ARENA_PAGES; page++) free_pages += bitmap_has(arena->free_map, page);
    if (free_pages != arena->free_pages || map_longest(arena->free_map) != arena->longest)
      return "an arena's free pages do not match its map [arena.4]";
    used++;
    with_room += arena->longest > 0;
  }
  if (free_count != arenas->free_count || free_count + used != arenas->committed_count)
    return "arena counts do not match their states [arena.2]";
  if (from_pool != arenas->pool_count) return "the count of arenas from the pool does not match their origins";
  if (count_listed(arenas, used) != with_room) return "the arenas' lists lost or doubled an arena [arena.4]";
  if (arenas_next(arenas, arenas->used_end, end, ARENA_USED) < end) return "an arena is in use at the end [arena.3]";
  return NULL;
}
