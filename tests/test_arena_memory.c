/* The arenas' memory on a simulated system: this test has its own functions of gc/platform/pages.h. They can refuse,
 * they have a pool of huge pages, and they note which memory, advice and name each arena has. */
#if defined(__linux__)

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <sys/mman.h>

#include "gc/instruments/closed_runs.h"
#include "gc/old/arena_memory.h"
#include "gc/platform/pages.h"

#define SECOND UINT64_C(1000000000)
#define MIB ((size_t)1 << 20)
#define GIB ((size_t)1 << 30)
#define PIECE ARENA_BYTES /* in which metadata is committed */
#define BASE_PAGE_MOST ((size_t)64 << 10)
#define CAPACITY_MOST 1600

/* --- the system --- */

typedef enum call {
  RESERVE,
  UNRESERVE,
  COMMIT,
  COMMIT_META,
  COMMIT_OTHER,
  COMMIT_POOL,
  RELEASE,
  DISCARD,
  DISCARD_META,
  ADVISE,
  POPULATE,
  CALLS
} call;
enum { UNADVISED, HUGE_WANTED, HUGE_UNWANTED };

static crd_arenas arenas;

static struct {
  unsigned count[CALLS];
  unsigned first[CALLS], last[CALLS]; /* these calls are refused, counted from 1; first 0: none */
  size_t most[CALLS];                 /* calls for more bytes are refused, too; 0: none are */
  struct {
    char *address;
    size_t size;
  } reserved[8];
  struct {
    bool memory, pool, named, populated;
    int advice;
  } arena[CAPACITY_MOST];
  size_t meta_bytes; /* committed, from the first byte on */
  int meta_advice;
  bool meta_named;
  uintptr_t populated_from, populated_to; /* of the metadata, by the last call */
} the;

/* Counts anew. */
static void refuse_between(call which, unsigned first, unsigned last) {
  the.count[which] = 0;
  the.first[which] = first;
  the.last[which] = last;
  the.most[which] = 0;
}
static void refuse(call which) {
  refuse_between(which, 1, UINT32_MAX);
}
static void allow(call which) {
  refuse_between(which, 0, 0);
}
static void refuse_above(call which, size_t bytes) {
  allow(which);
  the.most[which] = bytes;
}
static bool agrees(call which, size_t size) {
  unsigned number = ++the.count[which];
  if (the.most[which] != 0 && size > the.most[which]) return false;
  return the.first[which] == 0 || number < the.first[which] || number > the.last[which];
}

static bool is_in_arenas(const void *address) {
  return arenas.base != 0 && arenas_contain(&arenas, (uintptr_t)address);
}
static bool is_in_meta(const void *address) {
  return arenas.meta != NULL && (uintptr_t)address - (uintptr_t)arenas.meta < arenas.meta_bytes;
}

/* The arenas of a range, which must be whole ones of the reservation. */
#define EACH_ARENA(i, address, size) \
  for (uint32_t i = arena_of(address, size), i##_end = i + (uint32_t)((size) / ARENA_BYTES); i < i##_end; i++)
static uint32_t arena_of(const void *address, size_t size) {
  size_t from = (uintptr_t)address - arenas.base;
  assert_true(from % ARENA_BYTES == 0 && size % ARENA_BYTES == 0 && size > 0 && size <= arenas.bytes - from);
  return (uint32_t)(from / ARENA_BYTES);
}

static void map_anew(void *address, size_t size, int access) {
  void *mapped = mmap(address, size, access, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
  assert_ptr_equal(mapped, address);
}

void *crd_pages_reserve(size_t size, size_t alignment, void *hint) {
  (void)hint;
  if (!agrees(RESERVE, size)) return NULL;
  char *mapped = mmap(NULL, size + alignment, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapped == MAP_FAILED) return NULL;
  char *start = mapped + (alignment - (uintptr_t)mapped % alignment) % alignment;
  if (start > mapped) munmap(mapped, (size_t)(start - mapped));
  munmap(start + size, (size_t)(mapped + alignment - start));
  size_t i = 0;
  while (the.reserved[i].address != NULL) i++;
  assert_true(i < 8);
  the.reserved[i].address = start;
  the.reserved[i].size = size;
  return start;
}

bool crd_pages_unreserve(void *address, size_t size) {
  size_t i = 0;
  while (i < 8 && (the.reserved[i].address != address || the.reserved[i].size != size)) i++;
  assert_true(address != NULL && i < 8); /* it is reserved */
  the.reserved[i].address = NULL;
  the.count[UNRESERVE]++;
  return munmap(address, size) == 0;
}

static bool is_nothing_reserved(void) {
  for (size_t i = 0; i < 8; i++)
    if (the.reserved[i].address != NULL) return false;
  return true;
}

bool crd_pages_commit(void *address, size_t size) {
  if (!agrees(is_in_arenas(address) ? COMMIT : is_in_meta(address) ? COMMIT_META : COMMIT_OTHER, size)) return false;
  if (is_in_arenas(address)) {
    EACH_ARENA(i, address, size) {
      assert_false(the.arena[i].memory);
      the.arena[i].memory = true;
    }
  } else if (is_in_meta(address)) {
    assert_ptr_equal(address, (char *)arenas.meta + the.meta_bytes);
    the.meta_bytes += size;
    assert_true(the.meta_bytes <= arenas.meta_bytes && the.meta_bytes % PIECE == 0);
  }
  return mprotect(address, size, PROT_READ | PROT_WRITE) == 0;
}

/* A new mapping has neither advice nor name. */
static void forget_advice(void *address, size_t size) {
  EACH_ARENA(i, address, size) {
    the.arena[i].advice = UNADVISED;
    the.arena[i].named = false;
  }
}

bool crd_pages_commit_pool(void *address, size_t size, size_t pool_page_bytes) {
  assert_true(is_in_arenas(address) && pool_page_bytes == (size == ARENA_BYTES ? 2 * MIB : GIB));
  assert_int_equal((uintptr_t)address % pool_page_bytes, 0);
  forget_advice(address, size);
  if (!agrees(COMMIT_POOL, size)) return false;
  EACH_ARENA(i, address, size) {
    assert_false(the.arena[i].memory);
    the.arena[i].memory = the.arena[i].pool = true;
  }
  return mprotect(address, size, PROT_READ | PROT_WRITE) == 0;
}

bool crd_pages_release(void *address, size_t size) {
  if (!agrees(RELEASE, size)) return false;
  EACH_ARENA(i, address, size) {
    assert_true(the.arena[i].memory);
    the.arena[i].memory = the.arena[i].pool = the.arena[i].populated = false;
  }
  forget_advice(address, size);
  map_anew(address, size, PROT_NONE);
  return true;
}

bool crd_pages_discard(void *address, size_t size) {
  if (!agrees(is_in_arenas(address) ? DISCARD : DISCARD_META, size)) return false;
  if (is_in_arenas(address)) {
    EACH_ARENA(i, address, size) {
      assert_true(the.arena[i].memory && !the.arena[i].pool);
      the.arena[i].populated = false;
    }
  } else {
    assert_true(is_in_meta(address) && size == PIECE && ((uintptr_t)address - (uintptr_t)arenas.meta) % PIECE == 0);
    assert_true((uintptr_t)address - (uintptr_t)arenas.meta < the.meta_bytes);
  }
  map_anew(address, size, PROT_READ | PROT_WRITE);
  return true;
}

void crd_pages_advise_huge(void *address, size_t size, bool wanted) {
  (void)agrees(ADVISE, size);
  if (is_in_arenas(address)) {
    EACH_ARENA(i, address, size) the.arena[i].advice = wanted ? HUGE_WANTED : HUGE_UNWANTED;
  } else {
    assert_true((void *)arenas.meta == address && size == arenas.meta_bytes);
    the.meta_advice = wanted ? HUGE_WANTED : HUGE_UNWANTED;
  }
}

void crd_pages_name(void *address, size_t size, const char *name) {
  if (is_in_arenas(address)) {
    assert_string_equal(name, ARENAS_NAME);
    EACH_ARENA(i, address, size) the.arena[i].named = true;
  } else if (is_in_meta(address)) {
    assert_true((void *)arenas.meta == address && size == arenas.meta_bytes);
    assert_string_equal(name, METADATA_NAME);
    the.meta_named = true;
  }
}

/* Metadata that is to be populated must be committed, and whole pages of any size. */
bool crd_pages_populate(void *address, size_t size) {
  if (!agrees(POPULATE, size)) return false;
  if (is_in_arenas(address)) {
    EACH_ARENA(i, address, size) the.arena[i].populated = true;
  } else {
    assert_true(is_in_meta(address) && (uintptr_t)address - (uintptr_t)arenas.meta + size <= the.meta_bytes);
    assert_true((uintptr_t)address % BASE_PAGE_MOST == 0 && size % BASE_PAGE_MOST == 0);
    the.populated_from = (uintptr_t)address;
    the.populated_to = the.populated_from + size;
  }
  return true;
}

bool crd_pages_protect(void *address, size_t size, bool accessible) {
  return mprotect(address, size, accessible ? PROT_READ | PROT_WRITE : PROT_NONE) == 0;
}
void *crd_pages_reserve_pool(size_t size, size_t pool_page_bytes) {
  (void)size, (void)pool_page_bytes;
  return NULL;
}
const char *crd_pages_pool_doubt(bool in_parts) {
  (void)in_parts;
  return NULL;
}
bool crd_pages_backing_of(const void *address, size_t size, crd_pages_backing *backing) {
  (void)address, (void)size, (void)backing;
  return false;
}
void crd_platform_last_words(const char *text, size_t length) {
  print_error("%.*s", (int)length, text);
}
bool crd_platform_can_fork(void) {
  return false;
}
unsigned long long crd_platform_now_ns(void) {
  return 0;
}

/* --- the arenas --- */

static cradle_hardware hardware;

static bool init(cradle_hugepages policy, size_t bytes) {
  cradle_options options;
  cradle_options_init(&options);
  options.reserve_bytes = bytes;
  options.hugepages_arenas = policy;
  memset(the.arena, 0, sizeof the.arena);
  memset(&arenas, 0xa5, sizeof arenas);
  the.meta_bytes = 0;
  the.meta_named = false;
  return crd_arenas_init(&arenas, &options, &hardware);
}

static int begin(void **state) {
  (void)state;
  memset(&the, 0, sizeof the);
  hardware = (cradle_hardware){
      .page_bytes = 4096, .thp_page_bytes = 2 * MIB, .pool_page_bytes = 2 * MIB, .thp_mode = CRADLE_THP_MADVISE};
  return 0;
}

/* Whether the states and the counts say what the system has given, and every arena has its advice and its name. */
static void check(void) {
  const char *fault = crd_arenas_check(&arenas);
  if (fault != NULL) fail_msg("%s", fault);
  int advice = arenas.backing.transparent && !arenas.waits ? HUGE_WANTED : HUGE_UNWANTED;
  assert_int_equal(arenas.meta_committed, the.meta_bytes);
  assert_int_equal(the.meta_advice, advice);
  assert_true(the.meta_named);
  for (uint32_t i = 0; i < arenas.capacity; i++) {
    assert_int_equal(the.arena[i].memory, arenas.states[i] != ARENA_RESERVED);
    assert_int_equal(the.arena[i].pool, (arenas.origins[i] & ARENA_FROM_POOL) != 0);
    if (the.arena[i].memory) assert_true((i + 1) * sizeof(crd_arena) <= the.meta_bytes);
    if (the.arena[i].pool) continue;
    assert_int_equal(the.arena[i].advice, advice);
    assert_true(the.arena[i].named);
  }
}

static void close_arenas(void) {
  check();
  crd_closed_runs_fini(&arenas);
  crd_arenas_fini(&arenas);
  assert_true(is_nothing_reserved());
}

static void open_arenas(cradle_hugepages policy, size_t bytes) {
  assert_true(init(policy, bytes));
  assert_int_equal(arenas.capacity, bytes / ARENA_BYTES);
  check();
}

static uint32_t take(uint32_t count) {
  bool clean;
  return crd_arenas_take(&arenas, count, 0, &clean);
}

/* Takes all of so many arenas, the lowest that are free. */
static void fill(uint32_t count) {
  for (uint32_t i = 0; i < count; i++) assert_int_not_equal(take(ARENA_PAGES), PAGE_NONE);
}

static void empty(uint32_t first, uint32_t count) {
  for (uint32_t i = first; i < first + count; i++) crd_arenas_give_back(&arenas, i * ARENA_PAGES, ARENA_PAGES);
}

/* --- the reservation --- */

/* The arenas of the reservation, where the system refuses more than `most` at once; 0 if it is too little. */
static uint32_t reserved_of(uint32_t asked, uint32_t most) {
  uint32_t capacity = 0;
  refuse_above(RESERVE, most * ARENA_BYTES);
  if (init(CRADLE_HUGEPAGES_OFF, asked * ARENA_BYTES)) {
    capacity = arenas.capacity;
    assert_true(capacity > 0);
    assert_int_equal(arenas.limit, capacity);
    assert_int_equal(arenas.bytes, capacity * ARENA_BYTES);
    check();
    crd_arenas_fini(&arenas);
  }
  assert_true(is_nothing_reserved());
  return capacity;
}

static void half_of_what_is_refused_is_asked_for(void **state) {
  (void)state;
  assert_int_equal(reserved_of(64, 64), 64);
  assert_int_equal(reserved_of(1, 64), 8); /* the least */
  assert_int_equal(reserved_of(8, 8), 8);
  assert_int_equal(reserved_of(9, 9), 9);
  assert_int_equal(reserved_of(64, 63), 16); /* 32 would be given: half of it is left to the process */
  assert_int_equal(reserved_of(64, 20), 8);
  assert_int_equal(reserved_of(24, 20), 12); /* half of it would be too little */
  assert_int_equal(reserved_of(22, 20), 11);
  assert_int_equal(reserved_of(62, 40), 15); /* whole arenas */
  assert_int_equal(reserved_of(64, 8), 8);
  assert_int_equal(reserved_of(64, 7), 0);
}

/* A heap whose arenas could not be made ends them once more. */
static void what_was_reserved_before_a_refusal_goes_back(void **state) {
  (void)state;
  static const call calls[] = {RESERVE, COMMIT_OTHER};
  for (size_t c = 0; c < 2; c++)
    for (unsigned first = 1; first <= 3; first++)
      for (unsigned last = first; last <= 4; last++) {
        refuse_between(calls[c], first, last);
        bool made = init(CRADLE_HUGEPAGES_AUTO, 64 * ARENA_BYTES);
        if (made) {
          assert_true(arenas.capacity >= 8);
          check();
        } else {
          assert_true(is_nothing_reserved());
        }
        crd_arenas_fini(&arenas);
        assert_true(is_nothing_reserved());
        allow(calls[c]);
      }
  refuse(COMMIT_OTHER);
  assert_false(init(CRADLE_HUGEPAGES_AUTO, 64 * ARENA_BYTES));
  refuse_between(RESERVE, 3, 3); /* the states */
  assert_false(init(CRADLE_HUGEPAGES_AUTO, 64 * ARENA_BYTES));
  allow(COMMIT_OTHER);
  refuse_above(RESERVE, 63 * ARENA_BYTES);
  the.first[RESERVE] = the.last[RESERVE] = 4; /* the half of what was given, after that was given back */
  assert_false(init(CRADLE_HUGEPAGES_AUTO, 64 * ARENA_BYTES));
  assert_true(is_nothing_reserved());
  crd_arenas_fini(&arenas);
}

/* --- advice --- */

static void huge_pages_are_advised_when_the_heap_is_large(void **state) {
  (void)state;
  open_arenas(CRADLE_HUGEPAGES_AUTO, 64 * ARENA_BYTES);
  assert_int_equal(the.arena[63].advice, HUGE_UNWANTED);
  assert_int_equal(the.meta_advice, HUGE_UNWANTED);
  fill(3);
  crd_arenas_enter_huge(&arenas);
  assert_int_equal(the.arena[63].advice, HUGE_WANTED);
  assert_int_equal(the.meta_advice, HUGE_WANTED);
  empty(1, 2);
  assert_int_equal(crd_arenas_release(&arenas, 0, UINT32_MAX), 2);
  assert_int_equal(the.arena[1].advice, HUGE_WANTED);
  close_arenas();
}

static void other_policies_advise_at_once(void **state) {
  (void)state;
  open_arenas(CRADLE_HUGEPAGES_OFF, 64 * ARENA_BYTES);
  assert_int_equal(the.meta_advice, HUGE_UNWANTED);
  unsigned before = the.count[ADVISE];
  crd_arenas_enter_huge(&arenas);
  assert_int_equal(the.count[ADVISE], before);
  close_arenas();
  open_arenas(CRADLE_HUGEPAGES_HUGETLB, 64 * ARENA_BYTES);
  assert_int_equal(the.arena[0].advice, HUGE_WANTED);
  assert_int_equal(the.meta_advice, HUGE_WANTED);
  before = the.count[ADVISE];
  crd_arenas_enter_huge(&arenas);
  assert_int_equal(the.count[ADVISE], before);
  close_arenas();
}

/* --- committing --- */

static void metadata_comes_before_its_arenas(void **state) {
  (void)state;
  enum { FIRST_PIECE = 25 }; /* arenas whose metadata is in the first 2 MiB */
  open_arenas(CRADLE_HUGEPAGES_OFF, 64 * ARENA_BYTES);
  refuse(COMMIT_META);
  assert_false(crd_arenas_ensure_free(&arenas, 1));
  assert_int_equal(arenas.committed_count, 0);
  allow(COMMIT_META);
  fill(FIRST_PIECE);
  assert_int_equal(the.meta_bytes, PIECE);
  assert_int_equal(the.count[COMMIT_META], 1);
  refuse(COMMIT_META);
  assert_int_equal(take(1), PAGE_NONE);
  assert_int_equal(arenas.committed_count, FIRST_PIECE);
  check();
  allow(COMMIT_META);
  fill(64 - FIRST_PIECE);
  assert_int_equal(the.meta_bytes, arenas.meta_bytes);
  assert_int_equal(take(1), PAGE_NONE);
  close_arenas();
}

static void neighbours_are_committed_together_or_one_by_one(void **state) {
  (void)state;
  open_arenas(CRADLE_HUGEPAGES_OFF, 64 * ARENA_BYTES);
  assert_true(crd_arenas_ensure_free(&arenas, 5));
  assert_int_equal(the.count[COMMIT], 1);
  refuse_above(COMMIT, ARENA_BYTES);
  assert_true(crd_arenas_ensure_free(&arenas, 8));
  assert_int_equal(the.count[COMMIT], 5); /* three, one, two, one, one */
  assert_int_equal(arenas.free_count, 8);
  check();
  refuse(COMMIT);
  assert_false(crd_arenas_ensure_free(&arenas, 9));
  assert_int_equal(the.count[COMMIT], 1);
  assert_false(crd_arenas_ensure_free(&arenas, 10));
  assert_int_equal(the.count[COMMIT], 3);
  assert_int_equal(arenas.free_count, 8);
  allow(COMMIT);
  arenas.limit = 9;
  assert_false(crd_arenas_ensure_free(&arenas, 10));
  assert_int_equal(arenas.free_count, 9);
  close_arenas();
}

/* Four arenas for a long run, of which the second and the fourth must be committed; a lower one need not. */
static void a_long_run_commits_what_is_missing(void **state) {
  (void)state;
  for (uint32_t room = 1; room <= 3; room++) {
    open_arenas(CRADLE_HUGEPAGES_OFF, 10 * ARENA_BYTES);
    fill(9);
    empty(0, 1);
    empty(2, 4);
    assert_int_equal(crd_arenas_release_at(&arenas, 0, 1, 0), 1);
    assert_int_equal(crd_arenas_release_at(&arenas, 3, 1, 0), 1);
    assert_int_equal(crd_arenas_release_at(&arenas, 5, 1, 0), 1);
    assert_int_equal(arenas.committed_count, 6);
    check();
    arenas.limit = 6 + room;
    refuse_between(COMMIT, 1, 1);
    assert_int_equal(take(4 * ARENA_PAGES), PAGE_NONE);
    assert_int_equal(arenas.committed_count, 6);
    check();
    assert_int_equal(take(4 * ARENA_PAGES), room == 1 ? PAGE_NONE : 2 * ARENA_PAGES);
    assert_int_equal(arenas.committed_count, 6 + (room == 1 ? 1 : 2));
    close_arenas();
  }
}

static void no_more_is_committed_than_asked_for(void **state) {
  (void)state;
  open_arenas(CRADLE_HUGEPAGES_OFF, 16 * ARENA_BYTES);
  assert_true(crd_arenas_commit_at(&arenas, 3, 2));
  assert_int_equal(the.count[COMMIT], 1);
  for (uint32_t i = 0; i < 16; i++) assert_int_equal(arenas.states[i] == ARENA_FREE, i == 3 || i == 4);
  check();
  assert_true(crd_arenas_commit_at(&arenas, 3, 2));
  assert_int_equal(the.count[COMMIT], 1);
  close_arenas();
}

static void the_lowest_reserved_arenas_come_first(void **state) {
  (void)state;
  open_arenas(CRADLE_HUGEPAGES_OFF, 16 * ARENA_BYTES);
  fill(10);
  empty(2, 3);
  empty(7, 1);
  assert_int_equal(crd_arenas_release(&arenas, 0, UINT32_MAX), 4);
  allow(COMMIT);
  assert_true(crd_arenas_ensure_free(&arenas, 6));
  assert_int_equal(the.count[COMMIT], 3); /* 2 to 4, 7, and 10 to 11 */
  assert_int_equal(arenas.committed_end, 12);
  assert_false(crd_arenas_ensure_free(&arenas, 11));
  assert_int_equal(arenas.committed_count, 16);
  close_arenas();
}

/* Also where it lies below all others that are free [arena.3]. */
static void what_is_committed_again_is_found(void **state) {
  (void)state;
  open_arenas(CRADLE_HUGEPAGES_OFF, 16 * ARENA_BYTES);
  fill(8);
  empty(2, 1);
  assert_int_equal(crd_arenas_release(&arenas, 0, UINT32_MAX), 1);
  empty(5, 2);
  assert_int_equal(take(ARENA_PAGES), 5 * ARENA_PAGES);
  assert_true(crd_arenas_ensure_free(&arenas, 2));
  assert_int_equal(arenas.states[2], ARENA_FREE);
  check();
  assert_int_equal(take(ARENA_PAGES), 2 * ARENA_PAGES);
  close_arenas();
}

/* --- the pool --- */

static void a_pool_that_refused_is_left_alone_for_a_while(void **state) {
  (void)state;
  open_arenas(CRADLE_HUGEPAGES_HUGETLB, 64 * ARENA_BYTES);
  refuse_between(COMMIT_POOL, 1, 1);
  fill(9);
  assert_int_equal(the.count[COMMIT_POOL], 1);
  assert_int_equal(arenas.pool_refusals, 9);
  check();
  fill(1);
  assert_int_equal(the.count[COMMIT_POOL], 2);
  assert_int_equal(arenas.pool_count, 1);
  assert_true(crd_arenas_ensure_free(&arenas, 3)); /* each could be refused by itself */
  assert_int_equal(the.count[COMMIT_POOL], 5);
  assert_int_equal(arenas.pool_count, 4);
  assert_int_equal(arenas.pool_refusals, 9);
  check();
  assert_int_equal(crd_arenas_prepare(&arenas, 3), 3); /* they have their pages */
  assert_int_equal(the.count[POPULATE], 0);
  assert_int_equal(crd_arenas_release(&arenas, 1, UINT32_MAX), 2);
  assert_int_equal(arenas.pool_count, 2);
  close_arenas();
}

static void without_a_pool_nothing_is_asked_of_it(void **state) {
  (void)state;
  hardware.pool_page_bytes = 0;
  open_arenas(CRADLE_HUGEPAGES_HUGETLB, 64 * ARENA_BYTES);
  fill(20);
  assert_int_equal(arenas.pool_refusals, 20);
  assert_int_equal(the.count[COMMIT_POOL], 0);
  close_arenas();
  open_arenas(CRADLE_HUGEPAGES_AUTO, 64 * ARENA_BYTES);
  fill(3);
  assert_int_equal(arenas.pool_refusals, 0);
  close_arenas();
}

/* --- pages of 1 GiB --- */

enum { GIGANTIC = 512 };

static void a_gigantic_page_comes_and_goes_whole(void **state) {
  (void)state;
  open_arenas(CRADLE_HUGEPAGES_1G, 2 * GIB);
  assert_true(crd_arenas_ensure_free(&arenas, 1));
  assert_int_equal(the.count[COMMIT_POOL], 1);
  assert_int_equal(arenas.pool_count, GIGANTIC);
  check();
  assert_int_equal(take(1), 0);
  assert_int_equal(crd_arenas_release(&arenas, 0, UINT32_MAX), 0);
  crd_arenas_give_back(&arenas, 0, 1);
  assert_int_equal(crd_arenas_release_at(&arenas, 100, 10, 0), 0);
  assert_int_equal(crd_arenas_release(&arenas, 1, UINT32_MAX), 0);
  assert_int_equal(crd_arenas_release(&arenas, 0, GIGANTIC - 1), 0);
  assert_int_equal(arenas.committed_count, GIGANTIC);
  assert_int_equal(crd_arenas_release(&arenas, 0, GIGANTIC), GIGANTIC);
  assert_int_equal(arenas.pool_count, 0);
  check();
  assert_true(crd_arenas_ensure_free(&arenas, GIGANTIC + 1)); /* both of them */
  assert_int_equal(the.count[COMMIT_POOL], 3);
  assert_int_equal(take(GIGANTIC * ARENA_PAGES + 1), 0);
  crd_arenas_give_back(&arenas, 0, GIGANTIC * ARENA_PAGES);
  assert_int_equal(crd_arenas_release(&arenas, 0, UINT32_MAX), GIGANTIC); /* the lower one */
  assert_int_equal(arenas.states[0], ARENA_RESERVED);
  close_arenas();
}

/* Above a 1 GiB page lie arenas of other memory. These can go alone, and do not take a part of it with them. */
static void other_arenas_go_without_the_gigantic_page(void **state) {
  (void)state;
  open_arenas(CRADLE_HUGEPAGES_1G, 2 * GIB);
  assert_true(crd_arenas_ensure_free(&arenas, GIGANTIC));
  refuse(COMMIT_POOL);
  assert_true(crd_arenas_ensure_free(&arenas, GIGANTIC + 4));
  assert_int_equal(the.count[COMMIT_POOL], 2); /* a page of 1 GiB and one of 2 MiB */
  assert_int_equal(arenas.pool_count, GIGANTIC);
  assert_int_equal(arenas.pool_refusals, 4);
  check();
  allow(RELEASE);
  assert_int_equal(crd_arenas_release(&arenas, 0, 10), 4);
  assert_int_equal(the.count[RELEASE], 1);
  assert_int_equal(arenas.committed_end, GIGANTIC);
  assert_int_equal(arenas.free_count, GIGANTIC);
  check();
  assert_true(crd_arenas_ensure_free(&arenas, GIGANTIC + 1));
  assert_int_equal(crd_arenas_release(&arenas, GIGANTIC, UINT32_MAX), 1);
  assert_true(crd_arenas_ensure_free(&arenas, GIGANTIC + 4));
  assert_int_equal(crd_arenas_release(&arenas, 0, UINT32_MAX), GIGANTIC + 4);
  close_arenas();
}

static void where_no_gigantic_page_fits_there_are_others(void **state) {
  (void)state;
  open_arenas(CRADLE_HUGEPAGES_1G, GIB + 4 * ARENA_BYTES);
  arenas.limit = 100;
  assert_true(crd_arenas_ensure_free(&arenas, 3));
  assert_int_equal(arenas.committed_count, 3); /* the limit allows no more than 100 */
  assert_int_equal(arenas.pool_count, 3);
  check();
  arenas.limit = arenas.capacity;
  (void)take(ARENA_PAGES);
  (void)take(ARENA_PAGES);
  empty(0, 1);
  assert_int_equal(crd_arenas_release_at(&arenas, 0, 1, 0), 1);
  assert_true(crd_arenas_ensure_free(&arenas, 2)); /* two of the first 1 GiB are committed already */
  assert_int_equal(arenas.committed_count, 3);
  check();
  empty(1, 1);
  assert_int_equal(crd_arenas_release(&arenas, 0, UINT32_MAX), 3);
  fill(GIGANTIC);
  assert_int_equal(arenas.pool_count, GIGANTIC);
  allow(COMMIT_POOL);
  fill(4); /* behind them the reservation ends */
  assert_int_equal(the.count[COMMIT_POOL], 4);
  assert_int_equal(take(1), PAGE_NONE);
  close_arenas();
  open_arenas(CRADLE_HUGEPAGES_OFF, GIB);
  assert_true(crd_arenas_ensure_free(&arenas, 1)); /* nothing asks for it */
  assert_int_equal(arenas.committed_count, 1);
  close_arenas();
  open_arenas(CRADLE_HUGEPAGES_1G, 2 * GIB);
  refuse_between(COMMIT_POOL, 1, 1);
  assert_true(crd_arenas_ensure_free(&arenas, 2)); /* not from the second arena on */
  assert_int_equal(arenas.committed_count, 2);
  assert_int_equal(arenas.pool_count, 2);
  refuse(COMMIT_POOL);
  fill(GIGANTIC);
  empty(0, GIGANTIC - 1);
  assert_int_equal(crd_arenas_release(&arenas, 0, UINT32_MAX), GIGANTIC - 1);
  allow(COMMIT_POOL);
  assert_true(crd_arenas_ensure_free(&arenas, 1)); /* the last of the first 1 GiB is committed already */
  assert_int_equal(arenas.committed_count, 2);
  close_arenas();
  open_arenas(CRADLE_HUGEPAGES_1G, GIB);
  fill(1); /* one that fits exactly */
  assert_int_equal(arenas.committed_count, GIGANTIC);
  close_arenas();
}

/* --- populating --- */

static void what_is_free_is_populated_once(void **state) {
  (void)state;
  open_arenas(CRADLE_HUGEPAGES_OFF, 64 * ARENA_BYTES);
  fill(6);
  empty(1, 1); /* it was in use, so it has its pages */
  empty(3, 1);
  assert_int_equal(crd_arenas_release_at(&arenas, 3, 1, 0), 1);
  assert_int_equal(crd_arenas_prepare(&arenas, 3), 3);
  for (uint32_t i = 0; i < 8; i++) assert_int_equal(the.arena[i].populated, i == 3 || i == 6);
  assert_int_equal(the.count[POPULATE], 4); /* two arenas, and the metadata of each */
  assert_int_equal(crd_arenas_prepare(&arenas, 3), 3);
  assert_int_equal(crd_arenas_prepare(&arenas, 2), 2);
  assert_int_equal(crd_arenas_prepare(&arenas, 0), 0);
  assert_int_equal(the.count[POPULATE], 4);
  assert_int_equal(arenas.committed_count, 7);
  close_arenas();
}

static void what_cannot_be_populated_is_not_ready(void **state) {
  (void)state;
  for (unsigned refused = 1; refused <= 5; refused++) {
    open_arenas(CRADLE_HUGEPAGES_OFF, 64 * ARENA_BYTES);
    refuse_between(POPULATE, refused, UINT32_MAX);
    assert_int_equal(crd_arenas_prepare(&arenas, 2), (refused - 1) / 2);
    for (uint32_t i = 0; i < 2; i++) assert_int_equal((arenas.origins[i] & ARENA_TOUCHED) != 0, i < (refused - 1) / 2);
    close_arenas();
  }
}

/* The metadata of each arena, up to the last of the reservation. */
static void metadata_is_populated_too(void **state) {
  (void)state;
  open_arenas(CRADLE_HUGEPAGES_OFF, 128 * ARENA_BYTES);
  assert_true(crd_arenas_ensure_free(&arenas, 128));
  for (uint32_t i = 0; i < 128; i++) {
    assert_true(crd_arenas_populate(&arenas, i));
    assert_true(the.populated_from <= (uintptr_t)&arenas.meta[i]);
    assert_true(the.populated_from + BASE_PAGE_MOST > (uintptr_t)&arenas.meta[i]);
    assert_true(the.populated_to >= (uintptr_t)&arenas.meta[i + 1]);
    assert_true(the.populated_to < (uintptr_t)&arenas.meta[i + 1] + BASE_PAGE_MOST);
  }
  close_arenas();
}

/* --- giving back --- */

static void what_is_kept_is_the_lowest(void **state) {
  (void)state;
  open_arenas(CRADLE_HUGEPAGES_OFF, 64 * ARENA_BYTES);
  fill(10);
  empty(0, 10);
  assert_int_equal(crd_arenas_release(&arenas, 10, UINT32_MAX), 0);
  assert_int_equal(crd_arenas_release(&arenas, 9, UINT32_MAX), 1);
  assert_int_equal(crd_arenas_release(&arenas, 0, 2), 2);
  assert_int_equal(arenas.committed_end, 7);
  assert_int_equal(the.count[RELEASE], 2); /* neighbours in one call */
  check();
  assert_int_equal(crd_arenas_release_at(&arenas, 2, 2, 6), 1);
  assert_int_equal(arenas.states[3], ARENA_RESERVED);
  check();
  assert_int_equal(crd_arenas_release(&arenas, 2, UINT32_MAX), 4);
  for (uint32_t i = 0; i < 64; i++) assert_int_equal(arenas.states[i] == ARENA_FREE, i < 2);
  close_arenas();
}

/* Arenas below the first are left, even if fewer went than might have. */
static void only_the_arenas_asked_for_go(void **state) {
  (void)state;
  open_arenas(CRADLE_HUGEPAGES_OFF, 64 * ARENA_BYTES);
  fill(8);
  empty(0, 4);
  empty(5, 3);
  assert_int_equal(crd_arenas_release_at(&arenas, 3, 2, 0), 1);
  for (uint32_t i = 0; i < 8; i++)
    assert_int_equal(arenas.states[i], i == 3 ? ARENA_RESERVED : i == 4 ? ARENA_USED : ARENA_FREE);
  check();
  assert_int_equal(crd_arenas_release_at(&arenas, 5, 2, 0), 2);
  assert_int_equal(arenas.states[7], ARENA_FREE);
  close_arenas();
}

/* [supply.1] */
static void what_is_being_populated_stays(void **state) {
  (void)state;
  open_arenas(CRADLE_HUGEPAGES_OFF, 64 * ARENA_BYTES);
  fill(8);
  empty(0, 8);
  arenas.supply.first = 3;
  arenas.supply.count = 2;
  crd_arenas_discard_free(&arenas);
  for (uint32_t i = 0; i < 8; i++) assert_int_equal((arenas.origins[i] & ARENA_TOUCHED) != 0, i == 3 || i == 4);
  assert_int_equal(crd_arenas_release(&arenas, 0, UINT32_MAX), 6);
  for (uint32_t i = 0; i < 8; i++) assert_int_equal(arenas.states[i] == ARENA_FREE, i == 3 || i == 4);
  close_arenas();
}

/* As when the process has as many mappings as it may. */
static void what_cannot_go_back_stays(void **state) {
  (void)state;
  open_arenas(CRADLE_HUGEPAGES_OFF, 64 * ARENA_BYTES);
  fill(10);
  for (uint32_t i = 0; i < 10; i += 2) empty(i, 1);
  refuse_between(RELEASE, 1, 1);
  assert_int_equal(crd_arenas_release(&arenas, 0, 2), 1); /* no more attempts than were asked for */
  assert_int_equal(the.count[RELEASE], 2);
  assert_int_equal(arenas.states[8], ARENA_FREE);
  assert_int_equal(arenas.states[6], ARENA_RESERVED);
  assert_int_equal(arenas.given_back_total, 1);
  check();
  refuse(RELEASE);
  assert_int_equal(crd_arenas_release(&arenas, 0, UINT32_MAX), 0);
  assert_int_equal(arenas.free_count, 4);
  close_arenas();
}

/* [arena_memory.1] A piece of the metadata is dropped when the last arena with metadata in it has gone. */
static void metadata_is_dropped_piece_by_piece(void **state) {
  (void)state;
  enum { ON_BOTH = 25 }; /* its metadata lies in the first piece and in the second, which the 26 above it fill */
  open_arenas(CRADLE_HUGEPAGES_OFF, 60 * ARENA_BYTES);
  fill(60);
  empty(ON_BOTH + 1, 26);
  assert_int_equal(crd_arenas_release(&arenas, 0, UINT32_MAX), 26);
  assert_int_equal(the.count[DISCARD_META], 0);
  empty(1, ON_BOTH);
  assert_int_equal(crd_arenas_release(&arenas, 0, UINT32_MAX), ON_BOTH);
  assert_int_equal(the.count[DISCARD_META], 1); /* the second; an arena is left in the first */
  check();
  empty(ON_BOTH + 27, 60 - ON_BOTH - 27);
  assert_int_equal(crd_arenas_release(&arenas, 0, UINT32_MAX), 60 - ON_BOTH - 27);
  assert_int_equal(the.count[DISCARD_META], 2); /* the third, behind whose arenas the reservation ends */
  empty(0, 1);
  assert_int_equal(crd_arenas_release(&arenas, 0, UINT32_MAX), 1);
  assert_int_equal(the.count[DISCARD_META], 3);
  assert_int_equal(arenas.committed_end, 0);
  fill(60);
  refuse(DISCARD_META);
  empty(0, 60);
  assert_int_equal(crd_arenas_release(&arenas, 0, UINT32_MAX), 60);
  fill(60);
  close_arenas();
}

/* The metadata of 128 arenas ends where the fifth piece does. */
static void a_piece_may_end_with_an_arena(void **state) {
  (void)state;
  open_arenas(CRADLE_HUGEPAGES_OFF, 130 * ARENA_BYTES);
  fill(130);
  empty(102, 26);
  assert_int_equal(crd_arenas_release(&arenas, 0, UINT32_MAX), 26);
  assert_int_equal(the.count[DISCARD_META], 1);
  close_arenas();
}

static bool is_clean(uint32_t page) {
  bool clean;
  uint32_t got = crd_arenas_take(&arenas, 1, 0, &clean);
  assert_int_equal(got, page);
  crd_arenas_give_back(&arenas, got, 1);
  return clean;
}

static void contents_are_dropped_where_they_can_be(void **state) {
  (void)state;
  open_arenas(CRADLE_HUGEPAGES_HUGETLB, 64 * ARENA_BYTES);
  refuse(COMMIT_POOL);
  fill(7);
  allow(COMMIT_POOL);
  arenas.pool_skip = 0;
  fill(2);
  empty(0, 1);
  empty(3, 6);
  crd_arenas_discard_free(&arenas);
  assert_int_equal(the.count[DISCARD], 2); /* 0, and 3 to 6 in one call; 7 and 8 are of the pool */
  for (uint32_t i = 0; i < 9; i++)
    assert_int_equal((arenas.origins[i] & ARENA_TOUCHED) != 0, i == 1 || i == 2 || i >= 7);
  assert_true(is_clean(0));
  assert_false(is_clean(0));
  refuse(DISCARD);
  crd_arenas_discard_free(&arenas);
  assert_false(is_clean(0));
  allow(DISCARD);
  crd_arenas_discard_free(&arenas);
  assert_true(is_clean(0));
  fill(5);
  bool clean;
  assert_int_equal(crd_arenas_take(&arenas, 1, 0, &clean) / ARENA_PAGES, 7);
  assert_false(clean);
  close_arenas();
  open_arenas(CRADLE_HUGEPAGES_OFF, 64 * ARENA_BYTES);
  assert_true(crd_closed_runs_init(&arenas, 4096));
  fill(2);
  empty(0, 1);
  allow(DISCARD);
  crd_arenas_discard_free(&arenas); /* with a quarantine they hold poison */
  assert_int_equal(the.count[DISCARD], 0);
  close_arenas();
}

/* What was released reads as zero and is known to. */
static void released_arenas_are_clean(void **state) {
  (void)state;
  open_arenas(CRADLE_HUGEPAGES_OFF, 64 * ARENA_BYTES);
  fill(2);
  *(char *)arenas_page_address(&arenas, ARENA_PAGES) = 1;
  empty(1, 1);
  assert_int_equal(crd_arenas_release(&arenas, 0, UINT32_MAX), 1);
  assert_true(is_clean(ARENA_PAGES));
  assert_int_equal(*(char *)arenas_page_address(&arenas, ARENA_PAGES), 0);
  close_arenas();
}

/* --- demand --- */

/* What recent use explains is kept, and what was committed beyond that goes at once. An epoch lasts two seconds. */
static void the_most_of_two_epochs_is_kept(void **state) {
  (void)state;
  const uint64_t begin = 100 * SECOND, epoch = 2 * SECOND;
  open_arenas(CRADLE_HUGEPAGES_OFF, 64 * ARENA_BYTES);
  fill(10);
  empty(4, 6);
  assert_true(crd_arenas_ensure_free(&arenas, 20));
  assert_int_equal(crd_arenas_settle(&arenas, 3, begin, 5), 5); /* no more at a time */
  assert_int_equal(crd_arenas_settle(&arenas, 3, begin, UINT32_MAX), 6);
  assert_int_equal(arenas.committed_count, 4 + 6 + 3);
  assert_int_equal(crd_arenas_settle(&arenas, 0, begin + epoch, UINT32_MAX), 3);
  assert_int_equal(crd_arenas_settle(&arenas, 0, begin + 2 * epoch - 1, UINT32_MAX), 0);
  assert_int_equal(arenas.committed_count, 10);
  fill(2); /* six in use, for the rest of this epoch and for the next */
  empty(4, 2);
  assert_int_equal(crd_arenas_settle(&arenas, 0, begin + 2 * epoch, UINT32_MAX), 4);
  assert_int_equal(crd_arenas_settle(&arenas, 0, begin + 3 * epoch - 1, UINT32_MAX), 0);
  assert_int_equal(crd_arenas_settle(&arenas, 0, begin + 3 * epoch, UINT32_MAX), 2);
  assert_int_equal(arenas.committed_count, 4);
  close_arenas();
}

static void a_clock_that_goes_back_ends_the_epoch(void **state) {
  (void)state;
  open_arenas(CRADLE_HUGEPAGES_OFF, 64 * ARENA_BYTES);
  fill(6);
  empty(2, 4);
  assert_int_equal(crd_arenas_settle(&arenas, 0, 100 * SECOND, UINT32_MAX), 0);
  assert_int_equal(crd_arenas_settle(&arenas, 0, 50 * SECOND, UINT32_MAX), 0);
  assert_int_equal(crd_arenas_settle(&arenas, 0, 52 * SECOND - 1, UINT32_MAX), 0);
  assert_int_equal(crd_arenas_settle(&arenas, 0, 52 * SECOND, UINT32_MAX), 4);
  close_arenas();
}

/* --- quarantine --- */

static void what_came_empty_goes_if_others_come(void **state) {
  (void)state;
  for (uint32_t more = 0; more <= 2; more++)
    for (uint32_t exact = 0; exact < 2; exact++) {
      open_arenas(CRADLE_HUGEPAGES_OFF, 64 * ARENA_BYTES);
      assert_true(crd_closed_runs_init(&arenas, 4096));
      fill(6);
      empty(1, 2);
      empty(5, 1);
      arenas.limit = 6 + more;
      crd_arenas_quarantine(&arenas, exact, exact ? 2 : 5, 2); /* 1 to 2, or 0 to 4 */
      uint32_t gone = more == 0 ? 1 : 2;                       /* with one more, three are free and two are kept */
      assert_int_equal(arenas.given_back_total, gone);
      assert_int_equal(arenas.states[2], ARENA_RESERVED); /* the highest first */
      assert_int_equal(arenas.states[1], gone == 2 ? ARENA_RESERVED : ARENA_FREE);
      assert_int_equal(arenas.states[5], ARENA_FREE);
      assert_int_equal(arenas.free_count, 2);
      check();
      uint32_t committed = arenas.committed_count;
      crd_arenas_quarantine(&arenas, 3, 2, 4); /* none of them is empty, so nothing takes their place */
      assert_int_equal(arenas.given_back_total, gone);
      assert_int_equal(arenas.committed_count, committed);
      crd_arenas_quarantine(&arenas, 4, 2, 1); /* one is */
      assert_int_equal(arenas.given_back_total, gone + 1);
      close_arenas();
    }
}

/* Commits go round in a small part of the reservation, because each arena that was ever committed has metadata. */
static void rounds_leave_most_of_the_reservation_alone(void **state) {
  (void)state;
  uint32_t end = 0;
  open_arenas(CRADLE_HUGEPAGES_OFF, 1024 * ARENA_BYTES);
  assert_true(crd_closed_runs_init(&arenas, 4096));
  fill(3);
  for (uint32_t i = 0; i < 400; i++) {
    uint32_t first = take(ARENA_PAGES) / ARENA_PAGES;
    empty(first, 1);
    crd_arenas_quarantine(&arenas, first, 1, 1);
    if (first >= end) end = first + 1;
  }
  assert_in_range(end, 200, 300);
  close_arenas();
}

/* Neighbours that are committed together go round, too: the first three times they lie behind one another. */
static void long_runs_go_round(void **state) {
  (void)state;
  enum { LONG = 100 };
  open_arenas(CRADLE_HUGEPAGES_OFF, 1024 * ARENA_BYTES);
  assert_true(crd_closed_runs_init(&arenas, 4096));
  fill(1);
  arenas.limit = 1 + LONG;
  for (uint32_t i = 0; i < 3; i++) {
    uint32_t first = take(LONG * ARENA_PAGES) / ARENA_PAGES;
    assert_int_equal(first, 1 + i * LONG);
    empty(first, LONG);
    crd_arenas_quarantine(&arenas, first, LONG, 0);
  }
  assert_int_equal(take(LONG * ARENA_PAGES) / ARENA_PAGES, 1);
  close_arenas();
}

#define TEST(name) cmocka_unit_test_setup(name, begin)

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(half_of_what_is_refused_is_asked_for),
      TEST(what_was_reserved_before_a_refusal_goes_back),
      TEST(huge_pages_are_advised_when_the_heap_is_large),
      TEST(other_policies_advise_at_once),
      TEST(metadata_comes_before_its_arenas),
      TEST(neighbours_are_committed_together_or_one_by_one),
      TEST(a_long_run_commits_what_is_missing),
      TEST(no_more_is_committed_than_asked_for),
      TEST(the_lowest_reserved_arenas_come_first),
      TEST(what_is_committed_again_is_found),
      TEST(a_pool_that_refused_is_left_alone_for_a_while),
      TEST(without_a_pool_nothing_is_asked_of_it),
      TEST(a_gigantic_page_comes_and_goes_whole),
      TEST(other_arenas_go_without_the_gigantic_page),
      TEST(where_no_gigantic_page_fits_there_are_others),
      TEST(what_is_free_is_populated_once),
      TEST(what_cannot_be_populated_is_not_ready),
      TEST(metadata_is_populated_too),
      TEST(what_is_kept_is_the_lowest),
      TEST(only_the_arenas_asked_for_go),
      TEST(what_is_being_populated_stays),
      TEST(what_cannot_go_back_stays),
      TEST(metadata_is_dropped_piece_by_piece),
      TEST(a_piece_may_end_with_an_arena),
      TEST(contents_are_dropped_where_they_can_be),
      TEST(released_arenas_are_clean),
      TEST(the_most_of_two_epochs_is_kept),
      TEST(a_clock_that_goes_back_ends_the_epoch),
      TEST(what_came_empty_goes_if_others_come),
      TEST(rounds_leave_most_of_the_reservation_alone),
      TEST(long_runs_go_round),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

#else

/* The exit status by which a test says that it was skipped. */
int main(void) {
  return 77;
}

#endif
