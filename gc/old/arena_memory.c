#include "gc/old/arena_memory.h"

#include <string.h>

#include "gc/base/address.h"
#include "gc/base/bits.h"
#include "gc/old/closed.h"
#include "gc/platform/hardware.h"
#include "gc/platform/limits.h"
#include "gc/platform/pages.h"

#define RESERVE_MIN_ARENAS 8
/* Where address space is limited, a heap works with so few: two of the nursery's promotion, and two of objects. */
#define RESERVE_SHARED_MIN_ARENAS 4
#define RESERVE_DEFAULT_BYTES ((size_t)64 << 30)
#define ADDRESS_PARTS 4
/* With a quarantine, commits go in turn through so many arenas more than are committed. */
#define ROUND_ARENAS 256
#define DEMAND_EPOCH_NS UINT64_C(2000000000)
/* No machine whose base pages are smaller than an arena has larger ones. */
#define BASE_PAGE_MAX_BYTES ((size_t)64 << 10)

static void *arena_at(const crd_arenas *arenas, uint32_t index) {
  return memory_at(arenas->base + ((size_t)index << ARENA_SHIFT));
}

/* --- the reservation --- */

/* The states and the origins are one byte an arena each. Only those of arenas that were committed are ever touched. */
static size_t states_bytes(const crd_arenas *arenas) {
  return align_up(2 * (size_t)arenas->capacity, BASE_PAGE_MAX_BYTES);
}

static bool reserve(crd_arenas *arenas, size_t bytes, void *hint) {
  void *base = crd_pages_reserve(bytes, ARENA_BYTES, hint);
  if (base == NULL) return false;
  size_t meta_bytes = align_up((bytes >> ARENA_SHIFT) * sizeof(crd_arena), ARENA_BYTES);
  void *meta = crd_pages_reserve(meta_bytes, ARENA_BYTES, NULL);
  if (meta == NULL) {
    crd_pages_unreserve(base, bytes);
    return false;
  }
  arenas->base = address_of(base);
  arenas->bytes = bytes;
  arenas->meta = meta;
  arenas->meta_bytes = meta_bytes;
  arenas->capacity = (uint32_t)(bytes >> ARENA_SHIFT);
  return true;
}

/* How many heaps the process has. */
static uint32_t heaps;

/* What a program gets that asks for nothing in particular: room for all the memory that the machine has, or for the
 * maximum heap if that is more; but the n-th heap of a process at most one n-th of 8 TiB. So the reservations of 3,000
 * heaps take 55 TiB together at most, of the 128 that a process has on most machines. */
static size_t default_bytes(const cradle_options *options, const cradle_hardware *hardware, uint32_t number) {
  size_t memory = crd_hardware_memory(hardware), max = options->heap_max_bytes, bytes = RESERVE_DEFAULT_BYTES;
  while (bytes < (memory > max ? memory : max) && bytes < CRADLE_ADDRESS_MAX_BYTES) bytes *= 2;
  while (bytes > CRADLE_RESERVE_MIN_BYTES && bytes > CRADLE_ADDRESS_MAX_BYTES / number) bytes /= 2;
  return bytes;
}

/* Where addresses are short, one part in ADDRESS_PARTS of those that are left; but 8 arenas, if these are no more than
 * half of what is left. The rest is for the collector's stacks and for the program. */
static size_t share_of(size_t bytes, bool refused) {
  size_t share = crd_limits_share(bytes, ADDRESS_PARTS, refused);
  size_t least = crd_limits_share(RESERVE_MIN_ARENAS * ARENA_BYTES, 2, refused);
  return (share > least ? share : least) & ~(ARENA_BYTES - 1);
}

/* A size that the program gave is reserved if the system agrees, whatever that leaves; else a share of what is left. */
static bool reserve_what_is_given(crd_arenas *arenas, size_t bytes, bool given, void *hint) {
  const size_t least = RESERVE_SHARED_MIN_ARENAS * ARENA_BYTES;
  if (bytes < RESERVE_MIN_ARENAS * ARENA_BYTES) bytes = RESERVE_MIN_ARENAS * ARENA_BYTES;
  if (!given) bytes = share_of(bytes, false);
  if (bytes >= least && reserve(arenas, bytes, hint)) return true;
  bytes = share_of(bytes, true);
  return bytes >= least && reserve(arenas, bytes, hint);
}

/* Advises a part of a region for or against huge pages [arena_memory.4]. */
static void advise_huge(const crd_arenas *arenas, char *region, char *address, size_t bytes, bool transparent) {
  bool leads = arenas->backing.asked == CRADLE_HUGEPAGES_AUTO && address == region;
  size_t lead = leads ? ARENA_BYTES : 0;
  if (leads) crd_pages_advise_huge(address, lead, false);
  if (bytes > lead) crd_pages_advise_huge(address + lead, bytes - lead, transparent && !arenas->waits);
}
/* Advises and names mappings that are new: of some arenas, or of all of them and their metadata. */
static void advise(const crd_arenas *arenas, void *address, size_t bytes) {
  advise_huge(arenas, memory_at(arenas->base), address, bytes, arenas->backing.transparent);
  crd_pages_name(address, bytes, ARENAS_NAME);
}
static void advise_all(const crd_arenas *arenas) {
  char *meta = (char *)arenas->meta;
  advise(arenas, memory_at(arenas->base), arenas->bytes);
  advise_huge(arenas, meta, meta, arenas->meta_bytes, arenas->meta_backing.transparent);
  crd_pages_name(meta, arenas->meta_bytes, METADATA_NAME);
}

bool crd_arenas_init(crd_arenas *arenas, const cradle_options *options, const cradle_hardware *hardware) {
  memset(arenas, 0, sizeof *arenas);
  memset(arenas->lists, 0xff, sizeof arenas->lists); /* ARENA_NONE */
  cradle_hugepages policy = options->hugepages_arenas;
  arenas->backing = crd_backing_choose(policy, hardware);
  arenas->meta_backing = crd_backing_choose(policy == CRADLE_HUGEPAGES_OFF ? policy : CRADLE_HUGEPAGES_AUTO, hardware);
  arenas->waits = policy == CRADLE_HUGEPAGES_AUTO;
  uint32_t number = __atomic_add_fetch(&heaps, 1, __ATOMIC_RELAXED);
  bool given = options->reserve_bytes != 0;
  size_t bytes = given ? align_up(options->reserve_bytes, ARENA_BYTES) : default_bytes(options, hardware, number);
  if (!reserve_what_is_given(arenas, bytes, given, options->base_address)) {
    (void)__atomic_sub_fetch(&heaps, 1, __ATOMIC_RELAXED);
    return false;
  }
  if (arenas->bytes < bytes) arenas->refused_bytes = bytes * ADDRESS_PARTS;
  arenas->limit = arenas->capacity;
  arenas->states = crd_pages_reserve(states_bytes(arenas), hardware->page_bytes, NULL);
  if (arenas->states == NULL || !crd_pages_commit(arenas->states, states_bytes(arenas))) {
    crd_arenas_fini(arenas);
    return false;
  }
  arenas->origins = arenas->states + arenas->capacity;
  advise_all(arenas);
  return true;
}

void crd_arenas_enter_huge(crd_arenas *arenas) {
  if (!arenas->waits) return;
  arenas->waits = false;
  advise_all(arenas);
}

void crd_arenas_fini(crd_arenas *arenas) {
  ASSERT(arenas->closed == NULL, "closed pages outlive their arenas");
  if (arenas->base != 0) {
    (void)__atomic_sub_fetch(&heaps, 1, __ATOMIC_RELAXED);
    crd_pages_unreserve(memory_at(arenas->base), arenas->bytes);
    crd_pages_unreserve(arenas->meta, arenas->meta_bytes);
  }
  if (arenas->states != NULL) crd_pages_unreserve(arenas->states, states_bytes(arenas));
  memset(arenas, 0, sizeof *arenas);
}

/* --- committing --- */

/* Commits the metadata of all arenas below end, in pieces of 2 MiB. */
static bool commit_meta(crd_arenas *arenas, uint32_t end) {
  size_t wanted = align_up(end * sizeof(crd_arena), ARENA_BYTES);
  if (wanted <= arenas->meta_committed) return true;
  char *from = (char *)arenas->meta + arenas->meta_committed;
  if (!crd_pages_commit(from, wanted - arenas->meta_committed)) return false;
  arenas->meta_committed = wanted;
  size_t known = wanted / sizeof(crd_arena) * ARENA_BYTES; /* the last piece may go beyond the last arena */
  arenas->known_bytes = known < arenas->bytes ? known : arenas->bytes;
  return true;
}

static void count_committed(crd_arenas *arenas, uint32_t first, uint32_t count, uint8_t origin) {
  ASSERT(arenas->states[first] == ARENA_RESERVED && arenas->states[first + count - 1] == ARENA_RESERVED,
         "[arena.1] an arena is committed twice");
  ASSERT(arenas->committed_count + count <= arenas->limit, "[arena.2] more is committed than the limit allows");
  ASSERT((first + count) * sizeof(crd_arena) <= arenas->meta_committed,
         "[arena_memory.1] an arena is committed before its metadata");
  memset(arenas->states + first, ARENA_FREE, count);
  if (origin != 0) memset(arenas->origins + first, origin, count); /* else [arena_memory.2] */
  arenas->free_count += count;
  arenas->committed_count += count;
  arenas->taken_total += count;
  if (origin & ARENA_FROM_POOL) arenas->pool_count += count;
  if (first + count > arenas->committed_end) arenas->committed_end = first + count;
}

/* A failed attempt may have replaced the mapping, and its advice with it. */
static bool commit_pool(crd_arenas *arenas, uint32_t index) {
  const crd_backing *backing = &arenas->backing;
  size_t page = backing->pool_page_bytes;
  if (!backing->pool) return false;
  if (page != 0 && crd_pages_commit_pool(arena_at(arenas, index), ARENA_BYTES, page)) {
    count_committed(arenas, index, 1, ARENA_FROM_POOL | ARENA_TOUCHED);
    return true;
  }
  if (page != 0) advise(arenas, arena_at(arenas, index), ARENA_BYTES);
  arenas->pool_refusals++;
  return false;
}

static bool commit(crd_arenas *arenas, uint32_t first, uint32_t count) {
  if (arenas->committed_count + count > arenas->limit || !commit_meta(arenas, first + count)) return false;
  if (count == 1 && commit_pool(arenas, first)) return true;
  if (!crd_pages_commit(arena_at(arenas, first), count * ARENA_BYTES)) return false;
  count_committed(arenas, first, count, 0);
  return true;
}

/* How many RESERVED arenas from first on one system call can commit, at most `most`. From a pool it is one at a time,
 * so that each can be refused by itself. */
static uint32_t reserved_run(const crd_arenas *arenas, uint32_t first, uint32_t most) {
  uint32_t at = first, end = arenas->backing.pool ? first + 1 : first + most;
  while (at < end && at < arenas->capacity && arenas->states[at] == ARENA_RESERVED) at++;
  return at - first;
}

uint32_t crd_arenas_round_end(const crd_arenas *arenas, uint32_t count) {
  uint32_t round = arenas->committed_count + ROUND_ARENAS + count;
  return arenas_go_round(arenas) && round < arenas->capacity ? round : arenas->capacity;
}

/* Commits at least one arena, from the lowest RESERVED one on: as many neighbours as are wanted, or, if the system
 * refuses those together, one. With a quarantine, the round goes on behind the arena that was committed last. */
static bool commit_some(crd_arenas *arenas, uint32_t wanted) {
  uint32_t end = crd_arenas_round_end(arenas, 0);
  uint32_t first = arenas_next(arenas, arenas->round_next, end, ARENA_RESERVED);
  if (first == end && arenas_go_round(arenas)) first = arenas_next(arenas, 0, end, ARENA_RESERVED);
  if (arenas_go_round(arenas)) arenas->round_next = first + 1;
  if (first >= arenas->capacity) return false;
  uint32_t count = reserved_run(arenas, first, wanted);
  return commit(arenas, first, count) || (count > 1 && commit(arenas, first, 1));
}

bool crd_arenas_ensure_free(crd_arenas *arenas, uint32_t count) {
  while (arenas->free_count < count)
    if (!commit_some(arenas, count - arenas->free_count) && !crd_closed_open_oldest(arenas)) return false;
  return true;
}

bool crd_arenas_commit_at(crd_arenas *arenas, uint32_t first, uint32_t count) {
  for (uint32_t end = first + count, run; first < end; first += run) {
    run = 1;
    if (arenas->states[first] != ARENA_RESERVED) continue;
    run = reserved_run(arenas, first, end - first);
    if (!commit(arenas, first, run)) return false;
  }
  return true;
}

/* The metadata is populated in whole pages. Its neighbours are committed, too, as it is committed in larger pieces. */
bool crd_arenas_populate(const crd_arenas *arenas, uint32_t index) {
  uintptr_t from = align_down(address_of(&arenas->meta[index]), BASE_PAGE_MAX_BYTES);
  uintptr_t to = align_up(address_of(&arenas->meta[index + 1]), BASE_PAGE_MAX_BYTES);
  return crd_pages_populate(memory_at(from), to - from) && crd_pages_populate(arena_at(arenas, index), ARENA_BYTES);
}

uint32_t crd_arenas_prepare(crd_arenas *arenas, uint32_t count) {
  uint32_t ready = 0;
  (void)crd_arenas_ensure_free(arenas, count); /* if some are refused, the others are prepared */
  for (uint32_t i = arenas_next(arenas, 0, arenas->committed_end, ARENA_FREE);
       i < arenas->committed_end && ready < count; i++) {
    if (arenas->states[i] != ARENA_FREE) continue;
    if (!(arenas->origins[i] & ARENA_TOUCHED) && !crd_arenas_populate(arenas, i)) break;
    arenas->origins[i] |= ARENA_TOUCHED;
    ready++;
  }
  return ready;
}

/* --- giving back --- */

static void forget(crd_arenas *arenas, uint32_t index) {
  bool from_pool = arenas->origins[index] & ARENA_FROM_POOL;
  ASSERT(arenas->states[index] == ARENA_FREE && arenas->free_count > 0, "[arena.1] an arena goes that is not FREE");
  ASSERT(!from_pool || arenas->pool_count > 0, "[arena_memory.2] more arenas of the pool go than came");
  memset(arenas->meta[index].dirty_map, 0, sizeof arenas->meta[index].dirty_map);
  if (from_pool) arenas->pool_count--;
  arenas->states[index] = ARENA_RESERVED;
  arenas->origins[index] = 0;
  arenas->free_count--;
  arenas->committed_count--;
  arenas->given_back_total++;
}

/* Drops metadata in the pieces of 2 MiB in which it was committed: a piece goes when no arena with metadata in it is
 * committed. It reads as zero afterwards [arena.5]. */
static void discard_meta(crd_arenas *arenas, uint32_t first, uint32_t count) {
  size_t end = (first + count) * sizeof(crd_arena);
  for (size_t piece = align_down(first * sizeof(crd_arena), ARENA_BYTES); piece < end; piece += ARENA_BYTES) {
    uint32_t at = (uint32_t)(piece / sizeof(crd_arena)),
             last = (uint32_t)((piece + ARENA_BYTES - 1) / sizeof(crd_arena));
    while (at <= last && (at >= arenas->capacity || arenas->states[at] == ARENA_RESERVED)) at++;
    if (at > last) (void)crd_pages_discard((char *)arenas->meta + piece, ARENA_BYTES);
  }
}

/* Gives count arenas back. If the system refuses, they stay committed and FREE. */
static bool release_run(crd_arenas *arenas, uint32_t first, uint32_t count) {
  if (!crd_pages_release(arena_at(arenas, first), count * ARENA_BYTES)) return false;
  /* The new mapping has neither advice nor name. With both, the kernel merges it with its neighbours again. */
  advise(arenas, arena_at(arenas, first), count * ARENA_BYTES);
  for (uint32_t i = 0; i < count; i++) forget(arenas, first + i);
  ASSERT(arenas->taken_total - arenas->given_back_total == arenas->committed_count,
         "[arena.2] the totals do not differ by what is committed");
  discard_meta(arenas, first, count);
  return true;
}

/* Whether an arena may go back to the system: it is FREE, and the second core is not populating it [supply.1]. */
static bool may_go(const crd_arenas *arenas, uint32_t index) {
  return arenas->states[index] == ARENA_FREE && index - arenas->supply.first >= arenas->supply.count;
}

/* Goes down from end to first and gives back FREE arenas, neighbours in one call, while more than keep are FREE. */
static uint32_t release_between(crd_arenas *arenas, uint32_t first, uint32_t end, uint32_t keep, uint32_t most) {
  uint32_t surplus = arenas->free_count > keep ? arenas->free_count - keep : 0, gone = 0;
  if (surplus > most) surplus = most;
  for (uint32_t count; end > first && surplus > 0; end -= count == 0 ? 1 : count) {
    for (count = 0; count < surplus && count < end - first && may_go(arenas, end - count - 1);) count++;
    if (count == 0) continue;
    surplus -= count; /* also if the system refuses, so that a call tries no more arenas than it was asked to */
    if (release_run(arenas, end - count, count)) gone += count;
  }
  while (arenas->committed_end > 0 && arenas->states[arenas->committed_end - 1] == ARENA_RESERVED)
    arenas->committed_end--;
  return gone;
}

uint32_t crd_arenas_release(crd_arenas *arenas, uint32_t keep, uint32_t most) {
  return release_between(arenas, 0, arenas->committed_end, keep, most);
}

uint32_t crd_arenas_release_at(crd_arenas *arenas, uint32_t first, uint32_t count, uint32_t keep) {
  return release_between(arenas, first, first + count, keep, count);
}

void crd_arenas_quarantine(crd_arenas *arenas, uint32_t first, uint32_t count, uint32_t keep) {
  uint32_t emptied = 0;
  for (uint32_t i = first; i < first + count; i++) emptied += arenas->states[i] == ARENA_FREE;
  if (emptied == 0) return;
  (void)crd_arenas_ensure_free(arenas, keep + emptied); /* if fewer come, fewer of the emptied ones go */
  (void)crd_arenas_release_at(arenas, first, count, keep);
}

/* How many arenas more than now were in use at most, in this epoch and the one before. */
static uint32_t recently_wanted(crd_arenas *arenas, uint64_t now_ns) {
  crd_arena_demand *demand = &arenas->demand;
  uint32_t in_use = arenas_in_use(arenas);
  if (demand->epoch_ns == 0) demand->epoch_ns = now_ns;
  if (now_ns - demand->epoch_ns >= DEMAND_EPOCH_NS) {
    demand->previous = demand->peak;
    demand->peak = in_use;
    demand->epoch_ns = now_ns;
  }
  ASSERT(demand->peak >= in_use, "[arena_memory.3] the peak missed arenas in use");
  uint32_t most = demand->peak > demand->previous ? demand->peak : demand->previous;
  return most > in_use ? most - in_use : 0;
}

uint32_t crd_arenas_settle(crd_arenas *arenas, uint32_t keep, uint64_t now_ns, uint32_t most) {
  keep += recently_wanted(arenas, now_ns);
  return arenas->free_count <= keep ? 0 : crd_arenas_release(arenas, keep, most);
}

void crd_arenas_discard_free(crd_arenas *arenas) {
  for (uint32_t i = 0; i < arenas->committed_end && !arenas_go_round(arenas); i++) {
    if (!may_go(arenas, i) || arenas->origins[i] & (ARENA_FROM_POOL | ARENA_FROM_FILE)) continue;
    if (!crd_pages_discard(arena_at(arenas, i), ARENA_BYTES)) continue;
    memset(arenas->meta[i].dirty_map, 0, sizeof arenas->meta[i].dirty_map);
    arenas->origins[i] &= (uint8_t)~ARENA_TOUCHED;
  }
}
