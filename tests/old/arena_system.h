/* The arenas' memory on a simulated system: functions of gc/platform/pages.h in place of the library's. They can
 * refuse, they have a pool of huge pages, and they note which memory, advice and name each arena has. For one file of a
 * program on Linux. */
#ifndef TESTS_ARENA_SYSTEM_H
#define TESTS_ARENA_SYSTEM_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <sys/mman.h>

#include "tests/inside.h"

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
  size_t meta_bytes;                 /* committed, from the first byte on */
  int meta_advice, meta_lead_advice; /* beyond the first piece, and of it */
  bool meta_named;
  uintptr_t populated_from, populated_to; /* of the metadata, by the last call */
} the;

/* Counts anew. */
static inline void refuse_between(call which, unsigned first, unsigned last) {
  the.count[which] = 0;
  the.first[which] = first;
  the.last[which] = last;
  the.most[which] = 0;
}
static inline void refuse(call which) {
  refuse_between(which, 1, UINT32_MAX);
}
static inline void allow(call which) {
  refuse_between(which, 0, 0);
}
static inline void refuse_above(call which, size_t bytes) {
  allow(which);
  the.most[which] = bytes;
}
static inline bool agrees(call which, size_t size) {
  unsigned number = ++the.count[which];
  if (the.most[which] != 0 && size > the.most[which]) return false;
  return the.first[which] == 0 || number < the.first[which] || number > the.last[which];
}

static inline bool is_in_arenas(const void *address) {
  return arenas.base != 0 && arenas_contain(&arenas, (uintptr_t)address);
}
static inline bool is_in_meta(const void *address) {
  return arenas.meta != NULL && (uintptr_t)address - (uintptr_t)arenas.meta < arenas.meta_bytes;
}

/* The arenas of a range, which must be whole ones of the reservation. */
#define EACH_ARENA(i, address, size) \
  for (uint32_t i = arena_of(address, size), i##_end = i + (uint32_t)((size) / ARENA_BYTES); i < i##_end; i++)
static inline uint32_t arena_of(const void *address, size_t size) {
  size_t from = (uintptr_t)address - arenas.base;
  assert_true(from % ARENA_BYTES == 0 && size % ARENA_BYTES == 0 && size > 0 && size <= arenas.bytes - from);
  return (uint32_t)(from / ARENA_BYTES);
}

static inline void map_anew(void *address, size_t size, int access) {
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

static inline bool is_nothing_reserved(void) {
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
static inline void forget_advice(void *address, size_t size) {
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
    uintptr_t from = (uintptr_t)address - (uintptr_t)arenas.meta;
    assert_true(from + size == arenas.meta_bytes || (from == 0 && size == PIECE));
    if (from == 0) the.meta_lead_advice = wanted ? HUGE_WANTED : HUGE_UNWANTED;
    if (from + size > PIECE) the.meta_advice = wanted ? HUGE_WANTED : HUGE_UNWANTED;
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
unsigned long long crd_platform_now_ns(void) {
  return 0;
}

/* --- the arenas --- */

static cradle_hardware hardware;

static inline bool init(cradle_hugepages policy, size_t bytes) {
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

static inline int begin(void **state) {
  (void)state;
  memset(&the, 0, sizeof the);
  hardware = (cradle_hardware){
      .page_bytes = 4096, .thp_page_bytes = 2 * MIB, .pool_page_bytes = 2 * MIB, .thp_mode = CRADLE_THP_MADVISE};
  return 0;
}

/* Whether the states and the counts say what the system has given, and every arena has its advice and its name. */
static inline void check(void) {
  const char *fault = crd_arenas_check(&arenas);
  if (fault != NULL) fail_msg("%s", fault);
  int advice = arenas.backing.transparent && !arenas.waits ? HUGE_WANTED : HUGE_UNWANTED;
  assert_int_equal(arenas.meta_committed, the.meta_bytes);
  int lead_advice = arenas.backing.asked == CRADLE_HUGEPAGES_AUTO ? HUGE_UNWANTED : advice; /* [arena_memory.4] */
  if (arenas.meta_bytes > PIECE) assert_int_equal(the.meta_advice, advice);
  assert_int_equal(the.meta_lead_advice, lead_advice);
  assert_true(the.meta_named);
  for (uint32_t i = 0; i < arenas.capacity; i++) {
    assert_int_equal(the.arena[i].memory, arenas.states[i] != ARENA_RESERVED);
    assert_int_equal(the.arena[i].pool, (arenas.origins[i] & ARENA_FROM_POOL) != 0);
    if (the.arena[i].memory) assert_true((i + 1) * sizeof(crd_arena) <= the.meta_bytes);
    if (the.arena[i].pool) continue;
    assert_int_equal(the.arena[i].advice, i == 0 ? lead_advice : advice);
    assert_true(the.arena[i].named);
  }
}

static inline void close_arenas(void) {
  check();
  crd_closed_fini(&arenas);
  crd_arenas_fini(&arenas);
  assert_true(is_nothing_reserved());
}

static inline void open_arenas(cradle_hugepages policy, size_t bytes) {
  assert_true(init(policy, bytes));
  assert_int_equal(arenas.capacity, bytes / ARENA_BYTES);
  check();
}

static inline uint32_t take(uint32_t count) {
  bool clean;
  return crd_arenas_take(&arenas, count, 0, &clean);
}

/* Takes all of so many arenas, the lowest that are free. */
static inline void fill(uint32_t count) {
  for (uint32_t i = 0; i < count; i++) assert_int_not_equal(take(ARENA_PAGES), PAGE_NONE);
}

static inline void empty(uint32_t first, uint32_t count) {
  for (uint32_t i = first; i < first + count; i++) crd_arenas_give_back(&arenas, i * ARENA_PAGES, ARENA_PAGES);
}

#define TEST(name) cmocka_unit_test_setup(name, begin)

#endif
