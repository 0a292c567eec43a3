#include "gc/arena.h"

#include <stdlib.h>
#include <string.h>

#include "gc/check.h"
#include "gc/platform/pages.h"

#define RESERVE_MIN_ARENAS 8
#define GIGANTIC_BYTES ((size_t)1 << 30)
#define GIGANTIC_ARENAS ((uint32_t)(GIGANTIC_BYTES >> ARENA_SHIFT))
/* After a refusal the pool is left alone for so many commits: asking costs a system call each time. */
#define POOL_SKIP 8
/* Arenas of a bucket that may be too short are looked at so often before the next bucket, which always fits. */
#define BUCKET_TRIES 8

_Static_assert(sizeof(crd_arena) == 80 * 1024, "metadata of an arena: 80 KiB");
_Static_assert(sizeof(crd_page) == 24, "page entry: 24 bytes");

/* --- life --- */

static bool reserve(crd_arenas *arenas, size_t bytes, size_t alignment, void *hint) {
  size_t meta_bytes = (bytes >> ARENA_SHIFT) * sizeof(crd_arena);
  void *base = crd_pages_reserve(bytes, alignment, hint);
  if (base == NULL) return false;
  void *meta = crd_pages_reserve(meta_bytes, ARENA_BYTES, NULL);
  if (meta == NULL) {
    crd_pages_unreserve(base, bytes);
    return false;
  }
  arenas->base = (uintptr_t)base;
  arenas->bytes = bytes;
  arenas->meta = meta;
  arenas->capacity = (uint32_t)(bytes >> ARENA_SHIFT);
  return true;
}

static void advise(crd_arenas *arenas) {
  bool wanted = arenas->policy != CRADLE_HUGEPAGES_OFF;
  crd_pages_advise_huge((void *)arenas->base, arenas->bytes, wanted);
  crd_pages_advise_huge(arenas->meta, arenas->capacity * sizeof(crd_arena), wanted);
  crd_pages_name((void *)arenas->base, arenas->bytes, "cradle arenas");
  crd_pages_name(arenas->meta, arenas->capacity * sizeof(crd_arena), "cradle metadata");
}

bool crd_arenas_init(crd_arenas *arenas, const cradle_options *options, const cradle_hardware *hardware) {
  memset(arenas, 0, sizeof *arenas);
  size_t bytes = (options->reserve_bytes + ARENA_BYTES - 1) & ~(ARENA_BYTES - 1);
  size_t alignment = options->hugepages_arenas == CRADLE_HUGEPAGES_1G ? GIGANTIC_BYTES : ARENA_BYTES;
  if (bytes < RESERVE_MIN_ARENAS * ARENA_BYTES) bytes = RESERVE_MIN_ARENAS * ARENA_BYTES;
  while (!reserve(arenas, bytes, alignment, options->base_address)) {
    bytes = (bytes / 2) & ~(ARENA_BYTES - 1);
    if (bytes < RESERVE_MIN_ARENAS * ARENA_BYTES) return false;
  }
  arenas->policy = options->hugepages_arenas;
  bool pool = arenas->policy == CRADLE_HUGEPAGES_HUGETLB || arenas->policy == CRADLE_HUGEPAGES_1G;
  if (pool && hardware->pool_page_bytes != 0 && ARENA_BYTES % hardware->pool_page_bytes == 0)
    arenas->pool_page_bytes = hardware->pool_page_bytes;
  arenas->limit = arenas->capacity;
  for (int i = 0; i < ARENA_BUCKETS; i++) arenas->buckets[i] = ARENA_NONE;
  arenas->states = calloc(arenas->capacity, 1);
  advise(arenas);
  if (arenas->states != NULL) return true;
  crd_arenas_fini(arenas);
  return false;
}

void crd_arenas_fini(crd_arenas *arenas) {
  if (arenas->base != 0) crd_pages_unreserve((void *)arenas->base, arenas->bytes);
  if (arenas->meta != NULL) crd_pages_unreserve(arenas->meta, arenas->capacity * sizeof(crd_arena));
  free(arenas->states);
  memset(arenas, 0, sizeof *arenas);
}

/* --- commit and release --- */

static bool commit_meta(crd_arenas *arenas, uint32_t end) {
  size_t total = arenas->capacity * sizeof(crd_arena);
  size_t wanted = (end * sizeof(crd_arena) + ARENA_BYTES - 1) & ~(ARENA_BYTES - 1);
  if (wanted > total) wanted = total;
  if (wanted <= arenas->meta_committed) return true;
  char *from = (char *)arenas->meta + arenas->meta_committed;
  if (!crd_pages_commit(from, wanted - arenas->meta_committed)) return false;
  arenas->meta_committed = wanted;
  return true;
}

static bool commit_pool(crd_arenas *arenas, uint32_t first, uint32_t count) {
  void *address = (void *)(arenas->base + (uintptr_t)first * ARENA_BYTES);
  if (arenas->policy == CRADLE_HUGEPAGES_1G && count == GIGANTIC_ARENAS)
    return crd_pages_commit_pool(address, GIGANTIC_BYTES, GIGANTIC_BYTES);
  if (arenas->pool_page_bytes == 0 || count != 1) return false;
  if (arenas->pool_skip > 0) {
    arenas->pool_skip--;
    return false;
  }
  if (crd_pages_commit_pool(address, ARENA_BYTES, arenas->pool_page_bytes)) return true;
  arenas->pool_skip = POOL_SKIP;
  return false;
}

static bool commit(crd_arenas *arenas, uint32_t first, uint32_t count) {
  if (arenas->committed_count + count > arenas->limit || !commit_meta(arenas, first + count)) return false;
  bool by_pool = commit_pool(arenas, first, count);
  if (!by_pool && (arenas->policy == CRADLE_HUGEPAGES_HUGETLB || arenas->policy == CRADLE_HUGEPAGES_1G))
    arenas->pool_refusals += count;
  if (!by_pool && !crd_pages_commit((void *)(arenas->base + (uintptr_t)first * ARENA_BYTES), count * ARENA_BYTES))
    return false;
  memset(arenas->states + first, ARENA_FREE, count);
  arenas->free_count += count;
  arenas->committed_count += count;
  arenas->taken_total += count;
  if (first < arenas->free_hint) arenas->free_hint = first;
  if (first + count > arenas->committed_end) arenas->committed_end = first + count;
  return true;
}

/* How many arenas to commit in one system call, from first on. */
static uint32_t commit_run(const crd_arenas *arenas, uint32_t first, uint32_t wanted) {
  bool gigantic = arenas->policy == CRADLE_HUGEPAGES_1G && first % GIGANTIC_ARENAS == 0;
  if (arenas->pool_page_bytes != 0 && !gigantic) return 1;
  uint32_t most = gigantic ? GIGANTIC_ARENAS : wanted, count = 0;
  while (count < most && first + count < arenas->capacity && arenas->states[first + count] == ARENA_RESERVED) count++;
  return count;
}

static bool commit_some(crd_arenas *arenas, uint32_t wanted) {
  uint32_t first = arenas->reserved_hint;
  while (first < arenas->capacity && arenas->states[first] != ARENA_RESERVED) first++;
  arenas->reserved_hint = first;
  if (first == arenas->capacity) return false;
  uint32_t count = commit_run(arenas, first, wanted);
  return commit(arenas, first, count) || (count > 1 && commit(arenas, first, 1));
}

bool crd_arenas_ensure_free(crd_arenas *arenas, uint32_t count) {
  while (arenas->free_count < count)
    if (!commit_some(arenas, count - arenas->free_count)) return false;
  return true;
}

static void forget(crd_arenas *arenas, uint32_t index) {
  memset(arenas->meta[index].dirty_map, 0, sizeof arenas->meta[index].dirty_map);
  arenas->states[index] = ARENA_RESERVED;
  arenas->free_count--;
  arenas->committed_count--;
  arenas->given_back_total++;
  if (index < arenas->reserved_hint) arenas->reserved_hint = index;
}

uint32_t crd_arenas_trim(crd_arenas *arenas, uint32_t keep) {
  uint32_t gone = 0;
  for (uint32_t i = arenas->committed_end; i-- > 0 && arenas->free_count > keep;) {
    if (arenas->states[i] != ARENA_FREE) continue;
    /* A refusal leaves the arena committed and cached. */
    if (!crd_pages_release((void *)(arenas->base + (uintptr_t)i * ARENA_BYTES), ARENA_BYTES)) continue;
    /* The mapping is new, and so is its advice. */
    crd_pages_advise_huge((void *)(arenas->base + (uintptr_t)i * ARENA_BYTES), ARENA_BYTES,
                          arenas->policy != CRADLE_HUGEPAGES_OFF);
    forget(arenas, i);
    gone++;
  }
  while (arenas->committed_end > 0 && arenas->states[arenas->committed_end - 1] == ARENA_RESERVED) arenas->committed_end--;
  return gone;
}

/* --- bucket lists --- */

static int bucket_of(uint32_t longest) {
  return 31 - __builtin_clz(longest);
}

static void unlink_arena(crd_arenas *arenas, uint32_t index) {
  crd_arena *arena = &arenas->meta[index];
  if (arena->longest == 0) return;
  if (arena->next != ARENA_NONE) arenas->meta[arena->next].previous = arena->previous;
  if (arena->previous != ARENA_NONE)
    arenas->meta[arena->previous].next = arena->next;
  else
    arenas->buckets[bucket_of(arena->longest)] = arena->next;
}

static void link_arena(crd_arenas *arenas, uint32_t index) {
  crd_arena *arena = &arenas->meta[index];
  if (arena->longest == 0) return;
  uint32_t *head = &arenas->buckets[bucket_of(arena->longest)];
  arena->previous = ARENA_NONE;
  arena->next = *head;
  if (*head != ARENA_NONE) arenas->meta[*head].previous = index;
  *head = index;
}

void crd_arenas_withdraw(crd_arenas *arenas, uint32_t index) {
  unlink_arena(arenas, index);
}

void crd_arenas_restore(crd_arenas *arenas, uint32_t index) {
  link_arena(arenas, index);
}

/* --- the maps of an arena --- */

static bool map_test(const uint64_t *map, uint32_t page) {
  return map[page / 64] >> (page % 64) & 1;
}

/* First page at or after from whose bit is (not) set, or 512. */
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
    uint64_t bit = UINT64_C(1) << (page % 64);
    if (set)
      map[page / 64] |= bit;
    else
      map[page / 64] &= ~bit;
  }
}

static uint32_t map_longest(const uint64_t *map) {
  uint32_t longest = 0, from = 0;
  while ((from = map_find(map, from, true)) < ARENA_PAGES) {
    uint32_t end = map_find(map, from, false);
    if (end - from > longest) longest = end - from;
    from = end;
  }
  return longest;
}

static uint32_t map_first_fit(const uint64_t *map, uint32_t count) {
  uint32_t from = 0;
  while ((from = map_find(map, from, true)) < ARENA_PAGES) {
    uint32_t end = map_find(map, from, false);
    if (end - from >= count) return from;
    from = end;
  }
  return ARENA_PAGES;
}

/* --- taking and giving back runs --- */

static void occupy(crd_arenas *arenas, uint32_t index, uint32_t first, uint32_t count, bool *clean) {
  crd_arena *arena = &arenas->meta[index];
  if (map_find(arena->dirty_map, first, true) < first + count) *clean = false;
  map_write(arena->free_map, first, count, false);
  map_write(arena->dirty_map, first, count, true);
  arena->free_pages = (uint16_t)(arena->free_pages - count);
  arena->longest = (uint16_t)map_longest(arena->free_map);
}

/* Makes a FREE arena USED, with all its pages free and in no list yet. */
static void open_arena(crd_arenas *arenas, uint32_t index) {
  crd_arena *arena = &arenas->meta[index];
  memset(arena->free_map, 0xff, sizeof arena->free_map);
  arena->free_pages = arena->longest = ARENA_PAGES;
  arenas->states[index] = ARENA_USED;
  arenas->free_count--;
  if (index >= arenas->used_end) arenas->used_end = index + 1;
}

static void close_arena(crd_arenas *arenas, uint32_t index) {
  arenas->meta[index].longest = arenas->meta[index].free_pages = 0;
  arenas->states[index] = ARENA_FREE;
  arenas->free_count++;
  if (index < arenas->free_hint) arenas->free_hint = index;
  while (arenas->used_end > 0 && arenas->states[arenas->used_end - 1] != ARENA_USED) arenas->used_end--;
}

static uint32_t lowest_free(crd_arenas *arenas) {
  uint32_t index = arenas->free_hint;
  while (index < arenas->capacity && arenas->states[index] != ARENA_FREE) index++;
  arenas->free_hint = index;
  return index;
}

/* An arena in use whose longest free run is the shortest that holds count pages, or ARENA_NONE. */
static uint32_t find_used(const crd_arenas *arenas, uint32_t count) {
  for (int bucket = bucket_of(count); bucket < ARENA_BUCKETS; bucket++) {
    uint32_t index = arenas->buckets[bucket];
    for (int tries = 0; index != ARENA_NONE && tries < BUCKET_TRIES; tries++) {
      if (arenas->meta[index].longest >= count) return index;
      index = arenas->meta[index].next;
    }
  }
  return ARENA_NONE;
}

static uint32_t take_in(crd_arenas *arenas, uint32_t index, uint32_t count, bool *clean) {
  unlink_arena(arenas, index);
  uint32_t first = map_first_fit(arenas->meta[index].free_map, count);
  occupy(arenas, index, first, count, clean);
  link_arena(arenas, index);
  return index * ARENA_PAGES + first;
}

static uint32_t take_small(crd_arenas *arenas, uint32_t count, uint32_t keep, bool *clean) {
  uint32_t index = find_used(arenas, count);
  if (index != ARENA_NONE) return take_in(arenas, index, count, clean);
  if (!crd_arenas_ensure_free(arenas, keep + 1)) return PAGE_NONE;
  index = lowest_free(arenas);
  open_arena(arenas, index);
  link_arena(arenas, index);
  return take_in(arenas, index, count, clean);
}

/* The first of count neighbouring arenas that hold nothing, or ARENA_NONE. */
static uint32_t find_neighbours(const crd_arenas *arenas, uint32_t count) {
  uint32_t found = 0;
  for (uint32_t i = 0; i < arenas->capacity; i++) {
    found = arenas->states[i] == ARENA_USED ? 0 : found + 1;
    if (found == count) return i + 1 - count;
  }
  return ARENA_NONE;
}

static bool commit_neighbours(crd_arenas *arenas, uint32_t first, uint32_t count) {
  for (uint32_t i = first, run; i < first + count; i += run) {
    run = 1;
    if (arenas->states[i] != ARENA_RESERVED) continue;
    if (arenas->pool_page_bytes == 0)
      while (i + run < first + count && arenas->states[i + run] == ARENA_RESERVED) run++;
    if (!commit(arenas, i, run)) return false;
  }
  return true;
}

static uint32_t take_big(crd_arenas *arenas, uint32_t count, uint32_t keep, bool *clean) {
  uint32_t arenas_needed = (count + ARENA_PAGES - 1) / ARENA_PAGES;
  uint32_t first = find_neighbours(arenas, arenas_needed);
  if (first == ARENA_NONE || !commit_neighbours(arenas, first, arenas_needed)) return PAGE_NONE;
  /* The neighbours are among the FREE ones now; keep others must be. */
  if (!crd_arenas_ensure_free(arenas, keep + arenas_needed)) return PAGE_NONE;
  for (uint32_t i = 0; i < arenas_needed; i++, count -= ARENA_PAGES) {
    open_arena(arenas, first + i);
    occupy(arenas, first + i, 0, count < ARENA_PAGES ? count : ARENA_PAGES, clean);
    link_arena(arenas, first + i);
  }
  return first * ARENA_PAGES;
}

uint32_t crd_arenas_take(crd_arenas *arenas, uint32_t count, uint32_t keep, bool *clean) {
  ASSERT(count > 0, "an empty run");
  *clean = true;
  return count <= ARENA_PAGES ? take_small(arenas, count, keep, clean) : take_big(arenas, count, keep, clean);
}

void crd_arenas_give_back(crd_arenas *arenas, uint32_t page, uint32_t count) {
  for (uint32_t part; count > 0; page += part, count -= part) {
    uint32_t index = page / ARENA_PAGES, first = page % ARENA_PAGES;
    crd_arena *arena = &arenas->meta[index];
    part = count < ARENA_PAGES - first ? count : ARENA_PAGES - first;
    unlink_arena(arenas, index);
    map_write(arena->free_map, first, part, true);
    arena->free_pages = (uint16_t)(arena->free_pages + part);
    arena->longest = (uint16_t)map_longest(arena->free_map);
    if (arena->free_pages == ARENA_PAGES)
      close_arena(arenas, index);
    else
      link_arena(arenas, index);
  }
}

/* --- check --- */

static const char *check_used(const crd_arena *arena) {
  uint32_t free_pages = 0;
  for (uint32_t page = 0; page < ARENA_PAGES; page++) free_pages += map_test(arena->free_map, page);
  if (free_pages != arena->free_pages || map_longest(arena->free_map) != arena->longest)
    return "an arena's free pages do not match its map [arena.4]";
  return NULL;
}

const char *crd_arenas_check(const crd_arenas *arenas) {
  uint32_t free_count = 0, used = 0, with_room = 0, listed = 0;
  for (uint32_t i = 0; i < arenas->committed_end; i++) {
    if (arenas->states[i] == ARENA_FREE) free_count++;
    if (arenas->states[i] != ARENA_USED) continue;
    used++;
    const char *fault = check_used(&arenas->meta[i]);
    if (fault != NULL) return fault;
    if (arenas->meta[i].longest > 0) with_room++;
  }
  for (int bucket = 0; bucket < ARENA_BUCKETS; bucket++)
    for (uint32_t i = arenas->buckets[bucket]; i != ARENA_NONE && listed <= used; i = arenas->meta[i].next) listed++;
  if (free_count != arenas->free_count || free_count + used != arenas->committed_count)
    return "arena counts do not match their states [arena.2]";
  return listed == with_room ? NULL : "the arenas' bucket lists lost or doubled an arena [arena.4]";
}
