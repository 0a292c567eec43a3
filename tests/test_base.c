/* Tests the collector's basic parts: texts, growing arrays, bits, address maps, word stacks, headers and types. */
#include "tests/heap_fixture.h"

#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <unistd.h>
#ifndef _WIN32
#include <sys/wait.h>
#endif
#ifdef __GLIBC__
#include <malloc.h>
#endif

#include "gc/base/address_map.h"
#include "gc/base/bits.h"
#include "gc/base/prefix.h"
#include "gc/base/random.h"
#include "gc/base/text.h"
#include "gc/base/word_stack.h"
#include "gc/heap.h"
#include "gc/object/header.h"
#include "gc/object/poison.h"
#include "gc/object/type_table.h"
#include "gc/object/value.h"
#include "gc/object/visit.h"
#include "gc/platform/pages.h"

/* This program's own growing function, which can refuse memory after a given number of calls. */
static int granted = INT_MAX;
static size_t asked_bytes;
static void *may_realloc(void *memory, size_t bytes) {
  asked_bytes = bytes;
  return granted-- > 0 ? realloc(memory, bytes) : NULL;
}
#define realloc may_realloc
#include "gc/base/grow.c"
#undef realloc
static void *may_calloc(size_t count, size_t bytes) {
  return granted-- > 0 ? calloc(count, bytes) : NULL;
}
#define calloc may_calloc
#include "gc/base/address_map.c"
#undef calloc
static size_t reservable = SIZE_MAX; /* the most bytes that the address space has */
static void *may_reserve(size_t size, size_t alignment, void *hint) {
  return size <= reservable ? crd_pages_reserve(size, alignment, hint) : NULL;
}
#define crd_pages_reserve may_reserve
#include "gc/base/word_stack.c"
#undef crd_pages_reserve

/* Bytes that malloc has in use; 0 where malloc does not report them. */
static size_t allocated_bytes(void) {
#ifdef __GLIBC__ /* since 2.33, which is older than Debian 12 */
  struct mallinfo2 info = mallinfo2();
  return info.uordblks + info.hblkhd;
#else
  return 0;
#endif
}

/* malloc keeps a few freed blocks of each size, and counts them as used. So the function runs some times before its
 * memory is looked at. */
static void assert_leaves_no_memory(void (*function)(void)) {
  for (int i = 0; i < 10; i++) function();
  size_t before = allocated_bytes();
  for (int i = 0; i < 10; i++) function();
  assert_int_equal(allocated_bytes(), before);
}

/* --- texts --- */

static void texts_are_cut_where_they_are_full(void **state) {
  (void)state;
  crd_text text = {.length = 0};
  crd_text_format(&text, "%" PRIu64 "%#zx%u", UINT64_MAX, SIZE_MAX, 0u);
  assert_string_equal(text.buffer, "184467440737095516150xffffffffffffffff0");
  text.length = 0;
  crd_text_format(&text, "%zu %lx %u%% of %s at %p, %llu", (size_t)7, 255ul, 12u, "a vector", (void *)0x1000, 3ull);
  assert_string_equal(text.buffer, "7 ff 12% of a vector at 0x1000, 3");
  for (int i = 0; i < 100; i++) crd_text_format(&text, "%s.", "seven.");
  assert_int_equal(text.length, sizeof text.buffer - 1);
  assert_int_equal(strlen(text.buffer), text.length);
}

static void numbers_are_as_long_as_their_conversion_says(void **state) {
  (void)state;
  for (unsigned bit = 0; bit < 64; bit += 7) {
    const size_t size = (size_t)1 << bit;
    const unsigned long number = (unsigned long)size, wide = ~number;
    const unsigned long long widest = ~(unsigned long long)size;
    const unsigned narrow = 1u << bit % 32;
    char expected[256];
    crd_text text = {.length = 0};
    crd_text_format(&text, "%zx %lx %llx %x %u %#x %#lx %#llx %p%%", size, number, widest, narrow, ~narrow, narrow,
                    wide, widest, (void *)(uintptr_t)size);
    snprintf(expected, sizeof expected, "%zx %lx %llx %x %u %#x %#lx %#llx %#zx%%", size, number, widest, narrow,
             ~narrow, narrow, wide, widest, size);
    assert_string_equal(text.buffer, expected);
  }
}

/* --- random numbers --- */

/* The first numbers of splitmix64, as its authors' program gives them. */
static void random_numbers_are_those_of_splitmix64(void **state) {
  (void)state;
  uint64_t seed = 1234567;
  assert_true(random_next(&seed) == UINT64_C(6457827717110365317));
  assert_true(random_next(&seed) == UINT64_C(3203168211198807973));
  assert_true(random_next(&seed) == UINT64_C(9817491932198370423));
  assert_true(random_next(&seed) == UINT64_C(4593380528125082431));
  assert_true(random_next(&seed) == UINT64_C(16408922859458223821));
}

/* --- structures of another version --- */

static void a_structure_of_another_version_keeps_what_both_have(void **state) {
  (void)state;
  for (size_t size = 0; size <= 12; size++) {
    char to[16];
    memset(to, '-', sizeof to);
    copy_prefix(to + 2, size, "abcdef", 6);
    for (size_t i = 0; i < 14; i++) assert_int_equal(to[i + 2], i >= size ? '-' : i < 6 ? "abcdef"[i] : 0);
    assert_memory_equal(to, "--", 2);
  }
}

/* --- arrays that grow --- */

static void an_array_doubles_and_keeps_what_it_holds(void **state) {
  (void)state;
  struct item {
    uint64_t number;
    char more[3];
  } *items = NULL;
  uint32_t count = 0, capacity = 0;
  for (; count < 1000; count++) {
    assert_true(GROW(items, count, capacity));
    assert_true(count < capacity && is_power_of_two(capacity) && capacity >= GROW_FIRST); /* [grow.1] */
    assert_int_equal(asked_bytes, capacity * sizeof *items);
    items[count].number = count;
  }
  assert_int_equal(capacity, 1024);
  for (uint64_t i = 0; i < count; i++) assert_int_equal(items[i].number, i);
  free(items);
}

static void refused_memory_leaves_an_array_as_it_was(void **state) {
  (void)state;
  uint64_t *first = NULL, *second = NULL;
  uint32_t capacity = 0;
  granted = 0;
  assert_false(GROW(first, 0u, capacity));
  assert_null(first);
  assert_int_equal(capacity, 0);
  granted = INT_MAX;
  assert_true(GROW(first, 0u, capacity));
  for (uint32_t i = 0; i < capacity; i++) first[i] = i;
  uint64_t *before = first;
  granted = 0;
  assert_false(GROW(first, capacity, capacity));
  assert_ptr_equal(first, before);
  assert_int_equal(capacity, GROW_FIRST);
  assert_int_equal(first[GROW_FIRST - 1], GROW_FIRST - 1);
  /* two arrays of one capacity, of which only the first grows at first */
  free(first);
  first = NULL;
  capacity = 0;
  for (granted = 1; granted >= 0; granted = INT_MAX) {
    uint32_t copy = capacity;
    bool grown = GROW(first, 0u, copy) && GROW(second, 0u, capacity);
    assert_int_equal(capacity, grown ? GROW_FIRST : 0);
    if (grown) break;
    assert_null(second);
  }
  second[GROW_FIRST - 1] = first[GROW_FIRST - 1] = 1;
  free(first);
  free(second);
}

/* The request is refused without asking for memory, which would be granted. */
static void an_array_ends_where_its_indices_do(void **state) {
  (void)state;
  static char none;
  char *array = &none;
  uint32_t capacity = GROW_MAX;
  asked_bytes = 0;
  assert_false(GROW(array, GROW_MAX, capacity));
  uint32_t count = GROW_MAX / 2;
  capacity = count;
  assert_false(crd_grow(&array, count, &capacity, SIZE_MAX / GROW_MAX + 1));
  assert_int_equal(asked_bytes, 0);
  assert_ptr_equal(array, &none);
  assert_int_equal(capacity, count);
}

/* --- bits --- */

static void sizes_are_rounded_to_powers_of_two(void **state) {
  (void)state;
  assert_int_equal(align_up(0, 8), 0);
  assert_int_equal(align_up(1, 8), 8);
  assert_int_equal(align_up(4096, 4096), 4096);
  assert_int_equal(align_up(4097, 4096), 8192);
  assert_int_equal(align_down(4095, 4096), 0);
  assert_int_equal(align_down(SIZE_MAX, 4096), SIZE_MAX - 4095);
  for (size_t power = 1; power != 0; power *= 2) assert_true(is_power_of_two(power));
  assert_false(is_power_of_two(0));
  assert_false(is_power_of_two(SIZE_MAX));
}

static void bits_of_a_map_are_apart(void **state) {
  (void)state;
  enum { BITS = 200 };
  uint64_t map[BITS / 64 + 1] = {0};
  for (size_t bit = 0; bit < BITS; bit += 3) bitmap_set(map, bit);
  for (size_t bit = 0; bit < BITS; bit += 6) bitmap_clear(map, bit);
  for (size_t bit = 0; bit < BITS; bit++) assert_int_equal(bitmap_has(map, bit), bit % 6 == 3);
}

static void the_bits_of_a_word_are_counted(void **state) {
  (void)state;
  uint64_t seed = 3;
  assert_int_equal(count_bits(0), 0);
  assert_int_equal(count_bits(UINT64_MAX), 64);
  for (int i = 0; i < 64; i++) {
    uint64_t word = random_next(&seed);
    assert_int_equal(count_bits(UINT64_C(1) << i), 1);
    assert_int_equal(count_bits(UINT64_MAX >> i), 64 - i);
    assert_int_equal(count_bits(word), __builtin_popcountll(word));
  }
}

/* --- maps of addresses --- */

/* The objects' addresses are close together, so that probing runs into other entries; the entry that is removed last
 * lies between others. */
static void a_map_of_addresses_finds_what_is_in_it(void **state) {
  (void)state;
  enum { ADDRESSES = 3000, STEPS = 20000 };
  static bool in[ADDRESSES];
  uint64_t seed = 7;
  crd_address_map map = {NULL, 0, 0};
  assert_null(crd_address_map_find(&map, 8));
  for (int step = 0; step < STEPS; step++) {
    uint32_t i = (uint32_t)(random_next(&seed) % ADDRESSES);
    uintptr_t address = 0x10000 + 16 * (uintptr_t)i;
    assert_int_equal(crd_address_map_get(&map, address), in[i] ? i : ADDRESS_MAP_NONE);
    if (in[i]) {
      crd_address_map_remove(&map, address);
    } else {
      assert_true(crd_address_map_reserve(&map));
      crd_address_map_insert(&map, address, i);
    }
    in[i] = !in[i];
    if (step % 100 == 0) assert_null(crd_address_map_check(&map));
  }
  crd_address_map_clear(&map);
  assert_int_equal(map.count, 0);
  assert_null(crd_address_map_check(&map));
  crd_address_map_fini(&map);
}

static void fill_a_map(void) {
  crd_address_map map = {NULL, 0, 0};
  for (uint32_t i = 1; i <= 200; i++) {
    assert_true(crd_address_map_reserve(&map));
    crd_address_map_insert(&map, 8 * (uintptr_t)i, i);
  }
  crd_address_map_clear(&map);
  for (uint32_t i = 1; i <= 200; i++) assert_int_equal(crd_address_map_get(&map, 8 * (uintptr_t)i), ADDRESS_MAP_NONE);
  crd_address_map_insert(&map, 8, 1);
  crd_address_map_clear(&map);
  assert_int_equal(crd_address_map_get(&map, 8), ADDRESS_MAP_NONE);
  crd_address_map_insert(&map, 8, 3);
  assert_int_equal(crd_address_map_get(&map, 8), 3);
  assert_null(crd_address_map_check(&map));
  crd_address_map_fini(&map);
  assert_null(map.entries);
  assert_null(crd_address_map_find(&map, 8));
  assert_true(crd_address_map_reserve(&map)); /* it can be used again */
  crd_address_map_insert(&map, 8, 2);
  assert_int_equal(crd_address_map_get(&map, 8), 2);
  crd_address_map_fini(&map);
}

static void a_map_that_ends_leaves_no_memory(void **state) {
  (void)state;
  assert_leaves_no_memory(fill_a_map);
}

static void refused_memory_leaves_a_map_as_it_was(void **state) {
  (void)state;
  crd_address_map map = {NULL, 0, 0};
  granted = 0;
  assert_false(crd_address_map_reserve(&map));
  assert_null(map.entries);
  granted = INT_MAX;
  for (uint32_t i = 1; i <= 48; i++) {
    assert_true(crd_address_map_reserve(&map));
    crd_address_map_insert(&map, 8 * (uintptr_t)i, i);
  }
  granted = 0;
  assert_false(crd_address_map_reserve(&map));
  granted = INT_MAX;
  assert_int_equal(map.capacity, 64);
  for (uint32_t i = 1; i <= 48; i++) assert_int_equal(crd_address_map_get(&map, 8 * (uintptr_t)i), i);
  crd_address_map_fini(&map);
}

/* An empty entry has no number either, so that a map that was emptied entry by entry is as it was before. */
static void a_map_without_entries_is_all_zero(void **state) {
  (void)state;
  crd_address_map map = {NULL, 0, 0};
  for (uint32_t i = 1; i <= 40; i++) {
    assert_true(crd_address_map_reserve(&map));
    crd_address_map_insert(&map, 8 * (uintptr_t)i, i);
  }
  for (uint32_t i = 1; i <= 40; i++) crd_address_map_remove(&map, 8 * (uintptr_t)i);
  for (size_t i = 0; i < map.capacity; i++) assert_int_equal(map.entries[i].address | map.entries[i].number, 0);
  crd_address_map_fini(&map);
}

/* [address_map.1] */
static void a_map_is_at_most_three_quarters_full(void **state) {
  (void)state;
  crd_address_map map = {NULL, 0, 0};
  for (uint32_t i = 1; i <= 48; i++) {
    assert_true(crd_address_map_reserve(&map));
    assert_int_equal(map.capacity, 64);
    crd_address_map_insert(&map, 8 * (uintptr_t)i, i);
  }
  assert_null(crd_address_map_check(&map));
  /* one entry more, in the free place where it belongs */
  bool too_full = false;
  map.count++;
  for (size_t i = 0; i < map.capacity; i++) {
    if (map.entries[i].address != 0) continue;
    map.entries[i] = (crd_address_entry){8000, 49};
    too_full = too_full || strcmp(crd_address_map_check(&map), "a map is too full [address_map.1]") == 0;
    map.entries[i] = (crd_address_entry){0, 0};
  }
  assert_true(too_full);
  map.count--;
  assert_true(crd_address_map_reserve(&map));
  assert_int_equal(map.capacity, 128);
  crd_address_map_fini(&map);
}

static void the_check_of_a_map_sees_what_is_broken(void **state) {
  (void)state;
  crd_address_map map = {NULL, 0, 0};
  for (uint32_t i = 1; i <= 40; i++) {
    assert_true(crd_address_map_reserve(&map));
    crd_address_map_insert(&map, 8 * (uintptr_t)i, i);
  }
  assert_null(crd_address_map_check(&map));
  map.count++;
  assert_string_equal(crd_address_map_check(&map), "the entries of a map are counted wrong");
  map.count--;
  /* moved away from home, behind an empty entry; or beside its other entry */
  crd_address_entry *entry = crd_address_map_find(&map, 8), *end = map.entries + map.capacity, saved = *entry;
  crd_address_entry *free_entry = map.entries;
  while (free_entry < end && (free_entry->address != 0 || free_entry == entry + 1)) free_entry++;
  *free_entry = saved;
  entry->address = 0;
  assert_non_null(strstr(crd_address_map_check(&map), "[address_map.2]"));
  *free_entry = (crd_address_entry){0, 0};
  *entry = saved;
  crd_address_entry *next = entry + 1 < end ? entry + 1 : map.entries, kept = *next;
  *next = saved;
  map.count += kept.address == 0;
  assert_non_null(strstr(crd_address_map_check(&map), "[address_map.3]"));
  map.count -= kept.address == 0;
  *next = kept;
  assert_null(crd_address_map_check(&map));
  crd_address_map_fini(&map);
}

/* --- word stacks --- */

static void a_word_stack_without_memory_refuses_all(void **state) {
  (void)state;
  crd_word_stack stack = {NULL, NULL, NULL, NULL};
  assert_true(word_stack_is_sound(&stack) && word_stack_is_empty(&stack)); /* [word_stack.1] */
  assert_int_equal(word_stack_committed(&stack), 0);
  assert_false(word_stack_push(&stack, 1));
  assert_true(word_stack_is_empty(&stack));
  crd_word_stack_fini(&stack);
}

static void a_word_stack_gives_back_what_came_last(void **state) {
  (void)state;
  crd_word_stack stack = {NULL, NULL, NULL, NULL};
  assert_true(crd_word_stack_init(&stack, 4096, 4096, "test"));
  for (cradle_word i = 0; i < 10; i++) assert_true(word_stack_push(&stack, i));
  assert_int_equal(word_stack_count(&stack), 10);
  for (cradle_word i = 10; i-- > 0;) assert_int_equal(word_stack_pop(&stack), i);
  assert_true(word_stack_is_empty(&stack) && word_stack_is_sound(&stack));
  crd_word_stack_fini(&stack);
}

/* [word_stack.1] */
static void the_order_of_a_word_stack_is_checked(void **state) {
  (void)state;
  cradle_word words[4];
  for (unsigned i = 0; i < 256; i++) {
    cradle_word *at[] = {words + i % 4, words + i / 4 % 4, words + i / 16 % 4, words + i / 64};
    crd_word_stack stack = {.base = at[0], .top = at[1], .limit = at[2], .end = at[3]};
    assert_int_equal(word_stack_is_sound(&stack), at[0] <= at[1] && at[1] <= at[2] && at[2] <= at[3]);
  }
}

static void a_word_stack_without_address_space_is_refused(void **state) {
  (void)state;
  size_t page = (size_t)sysconf(_SC_PAGESIZE);
  for (size_t pages = 0; pages <= 16; pages++) {
    crd_word_stack stack = {NULL, NULL, NULL, NULL};
    reservable = pages * page;
    assert_int_equal(crd_word_stack_init(&stack, 16 * page, page, "test"), pages > 0);
    size_t halved = pages == 16 ? 16 : pages >= 8 ? 8 : pages >= 4 ? 4 : pages >= 2 ? 2 : pages;
    assert_int_equal((size_t)((char *)stack.end - (char *)stack.base), halved * page);
    crd_word_stack_fini(&stack);
  }
  reservable = SIZE_MAX;
}

static void a_word_stack_that_ends_gives_its_addresses_back(void **state) {
  (void)state;
  size_t page = (size_t)sysconf(_SC_PAGESIZE), bytes = 16 * page;
  crd_word_stack stack = {NULL, NULL, NULL, NULL};
  assert_true(crd_word_stack_init(&stack, bytes, page, "test"));
  assert_true(word_stack_push(&stack, 7));
  void *base = stack.base;
  assert_null(crd_pages_reserve(bytes, page, base));
  crd_word_stack_fini(&stack);
  assert_ptr_equal(crd_pages_reserve(bytes, page, base), base);
  assert_true(crd_pages_unreserve(base, bytes));
  assert_false(word_stack_push(&stack, 7));
}

static void a_word_stack_grows_to_its_end_and_says_so(void **state) {
  (void)state;
  crd_word_stack stack = {NULL, NULL, NULL, NULL};
  assert_true(crd_word_stack_init(&stack, 200000, 4096, "test"));
  size_t count = 0;
  while (word_stack_push(&stack, count)) count++;
  assert_int_equal(count, 200704 / 8);
  for (size_t i = 0; i < count; i++) assert_int_equal(stack.base[i], i);
  assert_false(word_stack_push(&stack, 1));
  crd_word_stack_fini(&stack);
}

static void what_a_word_stack_held_is_dropped(void **state) {
  (void)state;
  enum { WORDS = 100000, KEPT = 1000 };
  size_t page = (size_t)sysconf(_SC_PAGESIZE);
  crd_word_stack stack = {NULL, NULL, NULL, NULL};
  crd_pages_backing backing;
  assert_true(crd_word_stack_init(&stack, WORDS * 8, page, "test"));
  for (size_t i = 0; i < WORDS; i++) assert_true(word_stack_push(&stack, i));
  stack.top = stack.base + KEPT;
  size_t committed = word_stack_committed(&stack);
  crd_word_stack_discard(&stack, page);
  if (crd_pages_backing_of(stack.base, committed, &backing))
    assert_in_range(backing.resident_bytes, KEPT * 8, (KEPT * 8 + page - 1) / page * page); /* or a share of a page */
  assert_int_equal(word_stack_committed(&stack), committed);
  for (size_t i = 0; i < KEPT; i++) assert_int_equal(stack.base[i], i);
  for (size_t i = KEPT; i < WORDS; i++) assert_true(word_stack_push(&stack, i));
  assert_int_equal(stack.base[WORDS - 1], WORDS - 1);
  crd_word_stack_fini(&stack);
}

/* A reservation that does not fit the address space is halved, in whole pages, until it fits. */
static void a_word_stack_takes_what_the_address_space_has(void **state) {
  (void)state;
#ifdef _WIN32
  skip(); /* Wine has a byte for each page that is reserved, 16 GiB of them */
#endif
  const size_t page = 4096, pages = ((size_t)1 << 50) - 1;
  crd_word_stack stack = {NULL, NULL, NULL, NULL};
  assert_true(crd_word_stack_init(&stack, pages * page, page, "test"));
  size_t bytes = (size_t)((char *)stack.end - (char *)stack.base);
  assert_int_equal(bytes % page, 0);
  size_t halved = pages * page;
  while (halved > bytes) halved = halved / 2 & ~(page - 1);
  assert_int_equal(bytes, halved);
  assert_true(word_stack_push(&stack, 7));
  crd_word_stack_fini(&stack);
  assert_null(stack.base);
}

/* --- headers --- */

/* The header bits that generated code knows are where the public headers say; the private bits are between them. */
static void each_flag_has_its_bit(void **state) {
  (void)state;
  static const struct {
    uint64_t flag;
    int bit;
    bool (*has)(uint64_t header);
  } flags[] = {{HEADER_BARRIER_FLAG, 8 * CRADLE_BARRIER_OFFSET, header_has_barrier},
               {HEADER_SLOTS_FLAG, 33, header_records_one_kind},
               {HEADER_VALUES_FLAG, 34, header_holds_values},
               {HEADER_WATCHED_FLAG, 35, header_is_watched},
               {HEADER_WEAK_FLAG, 36, header_is_weak},
               {HEADER_PINNED_FLAG, CRADLE_PINNED_BIT, header_is_pinned},
               {HEADER_ID_FLAG, 38, header_has_id},
               {HEADER_HASH & -HEADER_HASH, CRADLE_HASH_SHIFT, header_has_hash},
               {HEADER_FORWARDED, 63, header_is_forwarded}};
  enum { FLAGS = sizeof flags / sizeof *flags };
  for (size_t i = 0; i < FLAGS; i++) {
    uint64_t header = UINT32_MAX | flags[i].flag;
    assert_int_equal(flags[i].flag, UINT64_C(1) << flags[i].bit);
    assert_int_equal(header_type(header), UINT32_MAX);
    assert_int_equal(header_flags(header), flags[i].flag);
    for (size_t k = 0; k < FLAGS; k++) assert_int_equal(flags[k].has(header), i == k);
  }
  for (uint8_t recording = RECORDING_OBJECT; recording <= RECORDING_VALUES; recording++) {
    uint64_t header = header_recording(recording);
    assert_int_equal(header_array_flags(header), header);
    assert_int_equal(header_records_slots(header), recording != RECORDING_OBJECT);
    assert_int_equal(header_records_structures(header), recording == RECORDING_STRUCTURES);
  }
  uint8_t bytes[8];
  uint64_t barrier = HEADER_BARRIER_FLAG;
  memcpy(bytes, &barrier, sizeof bytes);
  assert_int_equal(bytes[CRADLE_BARRIER_OFFSET], CRADLE_BARRIER_MASK);
  assert_int_equal(HEADER_OLD_FLAGS | HEADER_FORWARDED | UINT32_MAX, UINT64_MAX); /* every bit is somebody's */
  assert_int_equal(HEADER_OLD_FLAGS & HEADER_FORWARDED, 0);
}

static void a_change_of_a_header_leaves_the_rest(void **state) {
  (void)state;
  static const uint64_t flags[] = {HEADER_BARRIER_FLAG, HEADER_WATCHED_FLAG, HEADER_WEAK_FLAG, HEADER_PINNED_FLAG,
                                   HEADER_ID_FLAG};
  for (size_t i = 0; i < sizeof flags / sizeof *flags; i++) {
    cradle_word header = 77;
    object_set_flags(&header, flags[i]);
    assert_int_equal(header, 77 | flags[i]);
    header = 77 | HEADER_OLD_FLAGS;
    object_clear_flags(&header, flags[i]);
    assert_int_equal(header, (77 | HEADER_OLD_FLAGS) & ~flags[i]);
  }
  cradle_word header = 77 | HEADER_OLD_FLAGS;
  object_clear_flags(&header, HEADER_HASH);
  object_set_hash(&header, 0xabcdef);
  assert_int_equal(header >> CRADLE_HASH_SHIFT & CRADLE_HASH_MASK, 0xabcdef);
  assert_int_equal(header & ~HEADER_HASH, 77 | (HEADER_OLD_FLAGS & ~HEADER_HASH));
}

static void a_header_tells_where_its_object_is(void **state) {
  (void)state;
  cradle_word place[2] = {0}, object[2] = {5 | HEADER_BARRIER_FLAG | HEADER_ID_FLAG};
  object_forward(object, place);
  assert_true(header_is_forwarded(object[0]));
  assert_ptr_equal(object_at(header_forwarded_to(object[0])), place);
  /* an open header keeps what is below the place */
  cradle_word open = 5 | HEADER_OLD_FLAGS;
  object_open(&open, HEADER_OPEN_PLACES - 1);
  assert_true(header_is_open(open));
  assert_int_equal(header_open_place(open), HEADER_OPEN_PLACES - 1);
  assert_int_equal(header_type(open), 5);
  assert_true(header_has_barrier(open) && header_is_watched(open));
  open = 5 | HEADER_OLD_FLAGS;
  object_open(&open, 0);
  assert_int_equal(header_open_place(open), 0);
}

static void assert_refused(cradle_heap *heap, void *object, uint64_t flag) {
  cradle_error error;
  cradle_word *header = object;
  assert_true(cradle_heap_verify(heap, &error));
  *header ^= flag;
  assert_false(cradle_heap_verify(heap, &error));
  assert_non_null(strstr(error.message, "broken header"));
  *header ^= flag;
}

/* [header.1], [header.2] */
static void the_verifier_knows_which_flags_an_object_can_have(void **state) {
  (void)state;
  fixture f;
  fixture_open(&f);
  if (!f.stressed) {
    pair *old = cradle_new(f.m, T_PAIR, sizeof(pair));
    CRADLE_ROOT(f.m, old);
    cradle_collect(f.m, CRADLE_COLLECT_MINOR);
    pair *young = cradle_new(f.m, T_PAIR, sizeof(pair));
    CRADLE_ROOT(f.m, young);
    for (int bit = 32; bit < CRADLE_HASH_SHIFT; bit++) {
      uint64_t flag = UINT64_C(1) << bit;
      if (flag != HEADER_ID_FLAG) assert_refused(f.heap, young, flag);
    }
    assert_refused(f.heap, young, HEADER_FORWARDED);
    assert_refused(f.heap, old, HEADER_FORWARDED);
    assert_refused(f.heap, old, HEADER_WEAK_FLAG); /* of a type without weak slots */
    assert_refused(f.heap, old, HEADER_SLOTS_FLAG);
    (void)cradle_identity_hash(f.m, young);
    (void)cradle_id(f.m, young);
    assert_true(cradle_heap_verify(f.heap, NULL));
  }
  fixture_close(&f);
}

/* --- slot entries --- */

static void an_entry_of_a_slot_tells_the_slot_and_its_kind(void **state) {
  (void)state;
  cradle_word slot = 0; /* [value.2] */
  assert_false(slot_entry_holds_value(slot_entry(&slot, false)));
  assert_true(slot_entry_holds_value(slot_entry(&slot, true)));
  assert_ptr_equal(slot_of_entry(slot_entry(&slot, false)), &slot);
  assert_ptr_equal(slot_of_entry(slot_entry(&slot, true)), &slot);
}

/* [value.1] */
static void an_encoding_that_cannot_hold_an_address_is_refused(void **state) {
  (void)state;
  cradle_encoding encoding = cradle_encoding_low_tags(0x02);
  assert_null(crd_encoding_fault(&encoding));
  assert_int_equal(value_moved(&encoding, 0x1001, 0x2000), 0x2001);
  encoding.payload_mask &= ~(UINT64_C(1) << 46);
  assert_non_null(strstr(crd_encoding_fault(&encoding), "payload_mask must have bits 3 to 46"));
}

static cradle_encoding with_pairs(uint32_t count, uint64_t mask, uint64_t pattern) {
  cradle_encoding encoding = cradle_encoding_low_tags(0x01);
  encoding.payload_mask = UINT64_C(0x00007ffffffffff8);
  encoding.pair_count = count;
  for (uint32_t i = 0; i < CRADLE_ENCODING_PAIRS_MAX; i++) {
    encoding.pairs[i].mask = mask;
    encoding.pairs[i].pattern = pattern;
  }
  return encoding;
}

static void assert_encoding(const cradle_encoding *encoding, const char *fault) {
  const char *told = crd_encoding_fault(encoding);
  if (fault == NULL && told != NULL) fail_msg("refused: %s", told);
  if (fault != NULL && (told == NULL || strstr(told, fault) == NULL)) fail_msg("not refused: %s", fault);
}

static void the_bounds_of_an_encoding_are_exact(void **state) {
  (void)state;
  static const char count[] = "pair_count must be 1 to 4", tags[] = "tag_set and a pattern exclude each other";
  cradle_encoding encoding = cradle_encoding_low_tags(0);
  assert_encoding(&encoding, "tag_set is empty");
  for (uint32_t pairs = 0; pairs <= CRADLE_ENCODING_PAIRS_MAX + 1; pairs++) {
    encoding = with_pairs(pairs, 0, 0);
    assert_encoding(&encoding, pairs == 0 || pairs == CRADLE_ENCODING_PAIRS_MAX + 1 ? count : NULL);
    if (pairs == 0 || pairs > CRADLE_ENCODING_PAIRS_MAX) continue;
    /* the last of the pairs is looked at, and none behind it */
    encoding.pairs[pairs - 1].pattern = 8;
    assert_encoding(&encoding, "a pattern has bits outside its mask");
    if (pairs == CRADLE_ENCODING_PAIRS_MAX) continue;
    encoding = with_pairs(pairs, 0, 0);
    encoding.pairs[pairs].pattern = 8;
    assert_encoding(&encoding, NULL);
  }
  for (int bit = 0; bit < 64; bit++) {
    uint64_t mask = UINT64_C(1) << bit;
    encoding = with_pairs(1, mask, 0);
    assert_encoding(&encoding, bit >= 3 && bit <= 46 ? "a mask covers address bits" : NULL);
    encoding = with_pairs(1, mask, mask);
    assert_encoding(&encoding, bit < 3 ? tags : bit <= 46 ? "a mask covers address bits" : NULL);
    encoding = with_pairs(1, 0, 0);
    encoding.payload_mask &= ~mask;
    assert_encoding(&encoding, bit >= 3 && bit <= 46 ? "payload_mask must have bits 3 to 46" : NULL);
  }
  encoding = with_pairs(1, UINT64_C(1) << 47, 0);
  encoding.payload_mask |= UINT64_C(1) << 47;
  assert_encoding(&encoding, "payload_mask and a mask overlap");
  /* each tag alone, and a pattern that asks for it or for another one */
  for (unsigned tag = 0; tag < 8; tag++)
    for (unsigned other = 0; other < 8; other++) {
      encoding = with_pairs(1, 7, other);
      encoding.tag_set = (uint8_t)(1u << tag);
      assert_encoding(&encoding, tag == other ? NULL : tags);
    }
  encoding = cradle_encoding_low_tags(0x02);
  encoding.payload_mask |= 1;
  assert_encoding(&encoding, "payload_mask must leave out the tag bits");
  encoding.tag_set = 0x01;
  assert_encoding(&encoding, NULL);
}

static void a_value_is_a_reference_by_its_pattern_tag_and_payload(void **state) {
  (void)state;
  const uint64_t boxed = UINT64_C(0xfffc000000000000), address = 0x12345678;
  cradle_encoding encoding = cradle_encoding_nan_boxing(boxed, boxed);
  assert_int_equal(encoding.pair_count, 1);
  assert_true(value_is_reference(&encoding, boxed | address));
  assert_int_equal(value_address(&encoding, boxed | address), address);
  assert_false(value_is_reference(&encoding, boxed));
  assert_false(value_is_reference(&encoding, 0));
  assert_false(value_is_reference(&encoding, address));
  for (int bit = 50; bit < 64; bit++)
    assert_false(value_is_reference(&encoding, (boxed | address) ^ UINT64_C(1) << bit));
  for (uint64_t tag = 1; tag < 8; tag++) assert_false(value_is_reference(&encoding, boxed | address | tag));
  encoding = cradle_encoding_low_tags(0x29);
  assert_int_equal(encoding.pair_count, 1);
  for (uint64_t tag = 0; tag < 8; tag++) {
    assert_int_equal(value_is_reference(&encoding, address | tag), tag == 0 || tag == 3 || tag == 5);
    assert_false(value_is_reference(&encoding, tag));
  }
  encoding = with_pairs(2, 0, 0);
  for (uint32_t i = 0; i < 3; i++) {
    encoding.pairs[i].mask = UINT64_C(7) << 48;
    encoding.pairs[i].pattern = (uint64_t)(i + 1) << 48;
  }
  for (uint64_t pattern = 0; pattern < 8; pattern++)
    assert_int_equal(value_is_reference(&encoding, pattern << 48 | address), pattern == 1 || pattern == 2);
}

static void an_encoding_is_plain_only_without_tags_and_patterns(void **state) {
  (void)state;
  cradle_encoding plain = crd_encoding_plain(), other;
  assert_true(crd_encoding_is_plain(&plain));
  assert_encoding(&plain, NULL);
  other = plain, other.pair_count = 2;
  assert_false(crd_encoding_is_plain(&other));
  other = plain, other.pairs[0].mask = UINT64_C(1) << 63;
  assert_false(crd_encoding_is_plain(&other));
  other = plain, other.tag_set = 0x03;
  assert_false(crd_encoding_is_plain(&other));
  other = plain, other.payload_mask = ~UINT64_C(7);
  assert_false(crd_encoding_is_plain(&other));
}

/* --- the type table --- */

#define TYPE(...) (&(cradle_type){__VA_ARGS__})
#define ITEMS(sort, bytes, ...) TYPE(.size = 16, .items = (sort), .item_size = (bytes), .length_offset = 8, __VA_ARGS__)
#define BIT(word) (UINT64_C(1) << (word))

static void assert_type(const cradle_type *type, const char *fault) {
  const char *told = crd_type_fault(type);
  if (fault == NULL && told != NULL) fail_msg("refused: %s", told);
  if (fault != NULL && (told == NULL || strstr(told, fault) == NULL)) fail_msg("not refused: %s", fault);
}

/* Beside each descriptor that is refused, the nearest one that is not. */
static void the_bounds_of_a_fixed_part_are_exact(void **state) {
  (void)state;
  static const char twice[] = "a word cannot be two of", beyond[] = "a slot lies beyond size";
  assert_type(TYPE(.size = 7), "size must be at least 8");
  assert_type(TYPE(.size = 8), NULL);
  assert_type(TYPE(.size = (size_t)1 << 30), NULL);
  assert_type(TYPE(.size = ((size_t)1 << 30) + 1), "size is above 1 GiB");
  assert_type(TYPE(.size = 16, .finalizer = CRADLE_FINALIZER_QUEUES), NULL);
  assert_type(TYPE(.size = 16, .finalizer = CRADLE_FINALIZER_QUEUES + 1), "finalizer is not a queue's number");
  assert_type(TYPE(.size = 32, .references = 1), "word 0 is the header");
  assert_type(TYPE(.size = 32, .values = 1), "word 0 is the header");
  assert_type(TYPE(.size = 32, .weak = 1), "word 0 is the header");
  assert_type(TYPE(.size = 32, .ephemerons = 1), "word 0 is the header");
  assert_type(TYPE(.size = 48, .references = 2, .values = 4, .weak = 8, .ephemerons = 16), NULL);
  assert_type(TYPE(.size = 48, .references = 2, .values = 2), "references and values have a bit in common");
  assert_type(TYPE(.size = 48, .references = 2, .weak = 2), twice);
  assert_type(TYPE(.size = 48, .values = 2, .weak = 2), twice);
  assert_type(TYPE(.size = 48, .weak = 2, .ephemerons = 2), twice);
  assert_type(TYPE(.size = 48, .references = 4, .ephemerons = 2), twice);
  assert_type(TYPE(.size = 48, .weak = 4, .ephemerons = 2), twice);
  assert_type(TYPE(.size = 48, .ephemerons = 2 | 4), twice);
  assert_type(TYPE(.size = 48, .ephemerons = 2 | 8), NULL);
  assert_type(TYPE(.size = 512, .ephemerons = BIT(62)), NULL);
  assert_type(TYPE(.size = 1024, .ephemerons = BIT(63)), "an ephemeron's value lies beyond word 63");
  for (unsigned word = 1; word < 64; word++) {
    size_t end = 8 * ((size_t)word + 1);
    assert_type(TYPE(.size = end, .references = BIT(word)), NULL);
    assert_type(TYPE(.size = end - 1, .references = BIT(word)), beyond);
    assert_type(TYPE(.size = end, .values = BIT(word)), NULL);
    assert_type(TYPE(.size = end - 1, .values = BIT(word)), beyond);
    assert_type(TYPE(.size = end - 1, .weak = BIT(word)), beyond);
    if (word == 63) continue;
    assert_type(TYPE(.size = end + 8, .ephemerons = BIT(word)), NULL);
    assert_type(TYPE(.size = end, .ephemerons = BIT(word)), beyond);
  }
}

static void the_bounds_of_items_are_exact(void **state) {
  (void)state;
  static const char eight[] = "item_size of references, values and weak slots must be 8";
  static const char length[] = "length_offset must be a multiple of 8, after the header and inside size";
  assert_type(ITEMS(CRADLE_ITEMS_EPHEMERONS, 16, .name = ""), NULL);
  assert_type(ITEMS((cradle_items)(CRADLE_ITEMS_EPHEMERONS + 1), 16, .name = ""), "items is not a value");
  assert_type(ITEMS(CRADLE_ITEMS_EPHEMERONS, 17, .name = ""), "item_size of ephemerons must be 16");
  assert_type(ITEMS(CRADLE_ITEMS_EPHEMERONS, 8, .name = ""), "item_size of ephemerons must be 16");
  static const cradle_items words[] = {CRADLE_ITEMS_REFERENCES, CRADLE_ITEMS_VALUES, CRADLE_ITEMS_WEAK};
  for (size_t i = 0; i < 3; i++) {
    assert_type(ITEMS(words[i], 8, .name = ""), NULL);
    assert_type(ITEMS(words[i], 16, .name = ""), eight);
    assert_type(ITEMS(words[i], 8, .item_references = 1), "item_references is for items that are");
    assert_type(ITEMS(words[i], 8, .item_values = 1), "item_values is for items that are");
  }
  assert_type(ITEMS(CRADLE_ITEMS_BYTES, 1, .name = ""), NULL);
  assert_type(ITEMS(CRADLE_ITEMS_BYTES, 0, .name = ""), "item_size is 0");
  assert_type(TYPE(.size = 16, .item_references = 1), "item_references is for items that are");
  for (uint32_t offset = 0; offset <= 24; offset += 4) {
    cradle_type bytes = {.size = 24, .items = CRADLE_ITEMS_BYTES, .item_size = 1, .length_offset = offset};
    assert_type(&bytes, offset == 8 || offset == 16 ? NULL : length);
    bytes.size = 20; /* the items need not begin at a word */
    assert_type(&bytes, offset == 8 ? NULL : length);
    bytes.items = CRADLE_ITEMS_REFERENCES, bytes.item_size = 8;
    assert_type(&bytes, "size must be a multiple of 8 before slots");
  }
  for (uint32_t word = 1; word < 70; word++) {
    cradle_type type = {.size = 8 * 70, .items = CRADLE_ITEMS_REFERENCES, .item_size = 8, .length_offset = 8 * word};
    assert_type(&type, NULL);
    type.references = word < 64 ? BIT(word) : ~UINT64_C(1);
    assert_type(&type, word < 64 ? "the length cannot be a slot" : NULL);
  }
}

static void the_bounds_of_structures_are_exact(void **state) {
  (void)state;
  const cradle_items sort = CRADLE_ITEMS_STRUCTURES;
  assert_type(ITEMS(sort, 12, .item_references = 1), "item_size of structures must be a multiple of 8");
  assert_type(ITEMS(sort, 16, .item_references = 1, .item_values = 2), NULL);
  assert_type(ITEMS(sort, 16, .item_references = 3, .item_values = 2), "have a bit in common");
  assert_type(ITEMS(sort, 16, .name = ""), "item_references and item_values are both 0");
  for (uint32_t words = 1; words <= 66; words++) {
    uint32_t last = words < 64 ? words - 1 : 63;
    assert_type(ITEMS(sort, 8 * words, .item_references = BIT(last)), NULL);
    assert_type(ITEMS(sort, 8 * words, .item_values = BIT(last)), NULL);
    if (words >= 64) continue;
    assert_type(ITEMS(sort, 8 * words, .item_references = BIT(words)), "item_references has a bit beyond item_size");
    assert_type(ITEMS(sort, 8 * words, .item_values = BIT(words)), "item_values has a bit beyond item_size");
  }
}

static void no_trace(void *object, cradle_visitor *visitor) {
  (void)object, (void)visitor;
}

static void a_row_is_unused_if_all_of_it_is_zero(void **state) {
  (void)state;
  assert_true(crd_type_is_unused(TYPE(.size = 0)));
  assert_false(crd_type_is_unused(TYPE(.size = 8)));
  assert_false(crd_type_is_unused(TYPE(.name = "")));
  assert_false(crd_type_is_unused(TYPE(.references = 2)));
  assert_false(crd_type_is_unused(TYPE(.values = 2)));
  assert_false(crd_type_is_unused(TYPE(.items = CRADLE_ITEMS_BYTES)));
  assert_false(crd_type_is_unused(TYPE(.trace = no_trace)));
  assert_false(crd_type_is_unused(TYPE(.weak = 2)));
  assert_false(crd_type_is_unused(TYPE(.ephemerons = 2)));
  assert_false(crd_type_is_unused(TYPE(.finalizer = 1)));
  assert_false(crd_type_is_unused(TYPE(.destructor = free)));
  assert_false(crd_type_is_unused(TYPE(.external_size = (cradle_external_size_function)(uintptr_t)8)));
}

static void services_put_objects_on_lists(void **state) {
  (void)state;
  enum { WEAK = 1 << REGISTERED_WEAK, EPHEMERON = 1 << REGISTERED_EPHEMERON };
  enum { FINALIZER = 1 << REGISTERED_FINALIZER, DESTRUCTOR = 1 << REGISTERED_DESTRUCTOR };
  const struct {
    const cradle_type *type;
    unsigned registers;
    cradle_items items, service_items;
  } rows[] = {
      {TYPE(.size = 16, .references = 2), 0, 0, 0},
      {TYPE(.size = 16, .weak = 2), WEAK, 0, 0},
      {TYPE(.size = 24, .ephemerons = 2), EPHEMERON, 0, 0},
      {ITEMS(CRADLE_ITEMS_WEAK, 8, .name = ""), WEAK, CRADLE_ITEMS_BYTES, CRADLE_ITEMS_WEAK},
      {ITEMS(CRADLE_ITEMS_EPHEMERONS, 16, .name = ""), EPHEMERON, CRADLE_ITEMS_BYTES, CRADLE_ITEMS_EPHEMERONS},
      {TYPE(.size = 16, .finalizer = 1), FINALIZER, 0, 0},
      {TYPE(.size = 16, .destructor = free), DESTRUCTOR, 0, 0},
      {TYPE(.size = 16, .external_size = (cradle_external_size_function)(uintptr_t)8), DESTRUCTOR, 0, 0},
      {TYPE(.size = 40, .weak = 2, .ephemerons = 4, .finalizer = 3, .destructor = free),
       WEAK | EPHEMERON | FINALIZER | DESTRUCTOR, 0, 0},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    crd_type_table table = {NULL, NULL, NULL, 0, 0, 0};
    const crd_type *entry = crd_type_table_add(&table, rows[i].type, true);
    assert_int_equal(entry->registers, rows[i].registers);
    assert_int_equal(table.registers, rows[i].registers);
    assert_int_equal(entry->items, rows[i].items);
    assert_int_equal(entry->queue, rows[i].type->finalizer);
    assert_int_equal(table.services[0].items, rows[i].service_items);
    assert_non_null(crd_type_table_add(&table, TYPE(.size = 16, .weak = 2), true));
    assert_int_equal(table.registers, rows[i].registers | WEAK);
    crd_type_table_fini(&table);
  }
}

/* Weak slots hold values if the type says so and the encoding has any. */
static void weak_values_need_an_encoding(void **state) {
  (void)state;
  for (int way = 0; way < 4; way++) {
    crd_type_table table = {NULL, NULL, NULL, 0, 0, 0};
    assert_non_null(crd_type_table_add(&table, TYPE(.size = 16, .weak = 2, .weak_values = way % 2 == 1), way / 2 == 1));
    assert_int_equal(table.services[0].values, way == 1);
    crd_type_table_fini(&table);
  }
}

/* An array of which all slots are items is recorded by its items. */
static void an_entry_knows_how_stores_are_recorded(void **state) {
  (void)state;
  const struct {
    const cradle_type *type;
    uint8_t recording;
  } rows[] = {
      {TYPE(.size = 16), RECORDING_OBJECT},
      {TYPE(.size = 16, .references = 2), RECORDING_OBJECT},
      {ITEMS(CRADLE_ITEMS_BYTES, 1, .name = ""), RECORDING_OBJECT},
      {ITEMS(CRADLE_ITEMS_WEAK, 8, .name = ""), RECORDING_OBJECT},
      {ITEMS(CRADLE_ITEMS_REFERENCES, 8, .name = ""), RECORDING_REFERENCES},
      {ITEMS(CRADLE_ITEMS_VALUES, 8, .name = ""), RECORDING_VALUES},
      {ITEMS(CRADLE_ITEMS_STRUCTURES, 16, .item_references = 1), RECORDING_STRUCTURES},
      {ITEMS(CRADLE_ITEMS_STRUCTURES, 16, .item_references = 3), RECORDING_REFERENCES},
      {ITEMS(CRADLE_ITEMS_STRUCTURES, 16, .item_values = 3), RECORDING_VALUES},
      {ITEMS(CRADLE_ITEMS_STRUCTURES, 16, .item_references = 1, .item_values = 2), RECORDING_STRUCTURES},
      {ITEMS(CRADLE_ITEMS_REFERENCES, 8, .finalizer = 1, .destructor = free), RECORDING_REFERENCES},
      {ITEMS(CRADLE_ITEMS_REFERENCES, 8, .trace = no_trace), RECORDING_OBJECT},
      {TYPE(.size = 24, .items = CRADLE_ITEMS_REFERENCES, .item_size = 8, .length_offset = 8, .references = 4),
       RECORDING_OBJECT},
      {TYPE(.size = 24, .items = CRADLE_ITEMS_REFERENCES, .item_size = 8, .length_offset = 8, .values = 4),
       RECORDING_OBJECT},
      {TYPE(.size = 24, .items = CRADLE_ITEMS_REFERENCES, .item_size = 8, .length_offset = 8, .weak = 4),
       RECORDING_OBJECT},
      {TYPE(.size = 32, .items = CRADLE_ITEMS_REFERENCES, .item_size = 8, .length_offset = 8, .ephemerons = 4),
       RECORDING_OBJECT},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    crd_type_table table = {NULL, NULL, NULL, 0, 0, 0};
    assert_null(crd_type_fault(rows[i].type));
    assert_int_equal(crd_type_table_add(&table, rows[i].type, false)->recording, rows[i].recording);
    /* with references alone, nothing is folded, and nothing of it is known to hold tagged words */
    const crd_type *plain = crd_type_table_add(&table, rows[i].type, true);
    assert_int_equal(plain->folded, rows[i].type->values != 0 || rows[i].type->item_values != 0 ||
                                        rows[i].type->items == CRADLE_ITEMS_VALUES);
    crd_type_table_fini(&table);
  }
}

/* What an entry says of its slots, with an encoding that has values. */
static void an_entry_knows_its_slots(void **state) {
  (void)state;
  const struct {
    const cradle_type *type;
    uint64_t sole;
    bool sole_values, has_slots;
    uint32_t size;
  } rows[] = {
      {TYPE(.size = 0), 0, false, false, 0},
      {TYPE(.size = 8), 0, false, false, CRADLE_OBJECT_MIN_BYTES},
      {TYPE(.size = 33), 0, false, false, 40},
      {TYPE(.size = 24, .references = 6), 6, false, true, 24},
      {TYPE(.size = 24, .values = 6), 6, true, true, 24},
      {TYPE(.size = 24, .references = 2, .values = 4), 0, true, true, 24},
      {TYPE(.size = 24, .references = 2, .trace = no_trace), 0, false, true, 24},
      {TYPE(.size = 24, .trace = no_trace), 0, false, true, 24},
      {TYPE(.size = 20, .items = CRADLE_ITEMS_BYTES, .item_size = 1, .length_offset = 8), 0, false, false, 20},
      {ITEMS(CRADLE_ITEMS_REFERENCES, 8, .name = ""), 0, false, true, 16},
      {ITEMS(CRADLE_ITEMS_WEAK, 8, .name = ""), 0, false, false, 16},
      {TYPE(.size = 24, .references = 4, .items = CRADLE_ITEMS_BYTES, .item_size = 1, .length_offset = 8), 4, false,
       true, 24},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    crd_type_table table = {NULL, NULL, NULL, 0, 0, 0};
    const crd_type *entry = crd_type_table_add(&table, rows[i].type, false);
    assert_int_equal(entry->sole, rows[i].sole);
    assert_int_equal(entry->sole_values, rows[i].sole_values);
    assert_int_equal(entry->has_slots, rows[i].has_slots);
    assert_int_equal(entry->size, rows[i].size);
    assert_false(entry->folded);
    crd_type_table_fini(&table);
  }
}

/* [type.5] Slots are among the first 64 words of an item only. */
static void a_word_of_a_structure_has_its_kind(void **state) {
  (void)state;
  for (uint32_t words = 62; words <= 67; words++) {
    crd_type_table table = {NULL, NULL, NULL, 0, 0, 0};
    cradle_word object[2 + 2 * 67] = {0, 2};
    uint64_t references = words < 64 ? BIT(words) - 1 : UINT64_MAX;
    const cradle_type *type = ITEMS(CRADLE_ITEMS_STRUCTURES, 8 * words, .item_references = references);
    assert_non_null(crd_type_table_add(&table, type, false));
    assert_int_equal(table.item_slots->alike, words <= 64 ? CRADLE_ITEMS_REFERENCES : CRADLE_ITEMS_NONE);
    for (uint32_t i = 0; i < 2 * words; i++)
      assert_int_equal(crd_type_item_word(&table, object, object + 2 + i),
                       i % words < 64 ? CRADLE_ITEMS_REFERENCES : CRADLE_ITEMS_BYTES);
    assert_int_equal(crd_type_item_slot_count(&table, object), 2 * (words < 64 ? words : 64));
    crd_type_table_fini(&table);
    /* of values and of both kinds */
    type = ITEMS(CRADLE_ITEMS_STRUCTURES, 8 * words, .item_values = references);
    assert_non_null(crd_type_table_add(&table, type, false));
    assert_int_equal(table.item_slots->alike, words <= 64 ? CRADLE_ITEMS_VALUES : CRADLE_ITEMS_NONE);
    type = ITEMS(CRADLE_ITEMS_STRUCTURES, 8 * words, .item_values = references & ~UINT64_C(9), .item_references = 8);
    assert_non_null(crd_type_table_add(&table, type, false));
    assert_int_equal(table.item_slots[1].alike, CRADLE_ITEMS_NONE);
    object[0] = 1;
    assert_int_equal(crd_type_item_word(&table, object, object + 2), CRADLE_ITEMS_BYTES);
    assert_int_equal(crd_type_item_word(&table, object, object + 3), CRADLE_ITEMS_VALUES);
    assert_int_equal(crd_type_item_word(&table, object, object + 5), CRADLE_ITEMS_REFERENCES);
    crd_type_table_fini(&table);
  }
}

static void the_bytes_of_an_array_are_rounded_and_bounded(void **state) {
  (void)state;
  crd_type_table table = {NULL, NULL, NULL, 0, 0, 0};
  const crd_type *bytes = crd_type_table_add(&table, ITEMS(CRADLE_ITEMS_BYTES, 1, .name = ""), false);
  assert_int_equal(type_array_bytes(bytes, 0), 16);
  assert_int_equal(type_array_bytes(bytes, 1), 24);
  assert_int_equal(type_array_bytes(bytes, 8), 24);
  assert_int_equal(type_array_bytes(bytes, 9), 32);
  assert_int_equal(type_array_bytes(bytes, (SIZE_MAX >> 1) - 23), (SIZE_MAX >> 1) - 7);
  assert_int_equal(type_array_bytes(bytes, (SIZE_MAX >> 1) - 22), 0);
  assert_int_equal(type_array_bytes(bytes, SIZE_MAX), 0);
  const crd_type *words = crd_type_table_add(&table, ITEMS(CRADLE_ITEMS_REFERENCES, 8, .name = ""), false);
  assert_int_equal(type_array_bytes(words, SIZE_MAX / 16), 0);
  assert_int_equal(type_array_bytes(words, (SIZE_MAX >> 4) - 2), SIZE_MAX / 2 - 7);
  assert_int_equal(type_array_bytes(words, SIZE_MAX / 8 + 1), 0); /* which wraps */
  crd_type_table_fini(&table);
}

static void add_types(void) {
  crd_type_table table = {NULL, NULL, NULL, 0, 0, 0};
  for (int i = 0; i < 100; i++) assert_non_null(crd_type_table_add(&table, TYPE(.size = 16, .weak = 2), false));
  crd_type_table_fini(&table);
  assert_null(table.types);
  assert_int_equal(table.count | table.capacity | table.registers, 0);
  assert_non_null(crd_type_table_add(&table, TYPE(.size = 16), false)); /* it can be used again */
  crd_type_table_fini(&table);
}

static void a_type_table_that_ends_leaves_no_memory(void **state) {
  (void)state;
  assert_leaves_no_memory(add_types);
}

/* [type.3] */
static void types_stay_as_they_were_added(void **state) {
  (void)state;
  enum { TYPES = 1000 };
  crd_type_table table = {NULL, NULL, NULL, 0, 0, 0};
  static crd_type added[TYPES];
  for (uint32_t i = 0; i < TYPES; i++) {
    cradle_type type = {.name = "some", .size = 16 + 8 * (i % 8), .references = UINT64_C(2) << i % 2};
    if (i % 3 == 0) type.destructor = (cradle_destructor_function)(uintptr_t)8;
    crd_type *entry = crd_type_table_add(&table, &type, false);
    assert_non_null(entry);
    assert_ptr_equal(entry, &table.types[i]);
    added[i] = *entry;
  }
  assert_memory_equal(table.types, added, sizeof added);
  for (uint32_t i = 0; i < TYPES; i++) assert_int_equal(table.services[i].destructor != NULL, i % 3 == 0);
  crd_type_table_fini(&table);
}

static void a_type_is_not_added_without_memory(void **state) {
  (void)state;
  crd_type_table table = {NULL, NULL, NULL, 0, 0, 0};
  cradle_type type = {.name = "some", .size = 16, .references = 2};
  for (int grants = 0; grants < 3; grants++) {
    granted = grants;
    assert_null(crd_type_table_add(&table, &type, false));
    assert_int_equal(table.count | table.capacity, 0);
  }
  granted = INT_MAX;
  assert_non_null(crd_type_table_add(&table, &type, false));
  table.count = CRADLE_TYPE_ID_END;
  assert_null(crd_type_table_add(&table, &type, false)); /* ids ran out */
  crd_type_table_fini(&table);
}

/* [type.2] */
static void the_plain_encoding_has_one_kind_of_slot(void **state) {
  (void)state;
  crd_type_table table = {NULL, NULL, NULL, 0, 0, 0};
  cradle_type fixed = {.name = "fixed", .size = 32, .references = 2, .values = 4};
  cradle_type array = {.name = "array", .size = 16, .items = CRADLE_ITEMS_VALUES, .item_size = 8, .length_offset = 8};
  const crd_type *entry = crd_type_table_add(&table, &fixed, true);
  assert_int_equal(entry->references, 6);
  assert_int_equal(entry->values, 0);
  assert_true(entry->folded);
  entry = crd_type_table_add(&table, &array, true);
  assert_int_equal(entry->items, CRADLE_ITEMS_REFERENCES);
  assert_true(entry->folded);
  entry = crd_type_table_add(&table, &fixed, false);
  assert_int_equal(entry->values, 4);
  assert_false(entry->folded);
  cradle_type entries = {.name = "entries",
                         .size = 16,
                         .items = CRADLE_ITEMS_STRUCTURES,
                         .item_size = 16,
                         .length_offset = 8,
                         .item_references = 1,
                         .item_values = 2};
  entry = crd_type_table_add(&table, &entries, true);
  const crd_item_slots *slots = &table.item_slots[entry - table.types];
  assert_int_equal(slots->references, 3);
  assert_int_equal(slots->values, 0);
  assert_int_equal(slots->alike, CRADLE_ITEMS_REFERENCES);
  assert_int_equal(entry->recording, RECORDING_REFERENCES);
  assert_true(entry->folded);
  entry = crd_type_table_add(&table, &entries, false);
  slots = &table.item_slots[entry - table.types];
  assert_int_equal(slots->values, 2);
  assert_int_equal(slots->alike, CRADLE_ITEMS_NONE);
  assert_int_equal(entry->recording, RECORDING_STRUCTURES);
  crd_type_table_fini(&table);
}

/* --- visiting --- */

/* The slots that were visited, as words of the object, in their order; values have 100 more. */
static struct {
  const cradle_word *object;
  int word[64], count;
} visited;

static void note_slot(void *context, bool value, cradle_word *slot) {
  assert_ptr_equal(context, &visited);
  assert_true(visited.count < 64);
  visited.word[visited.count++] = (int)(slot - visited.object) + (value ? 100 : 0);
}

static void assert_visited(int count, ...) {
  va_list words;
  va_start(words, count);
  assert_int_equal(visited.count, count);
  for (int i = 0; i < count; i++) assert_int_equal(visited.word[i], va_arg(words, int));
  va_end(words);
  visited.count = 0;
}

static void report_two(void *object, cradle_visitor *visitor) {
  cradle_word *words = object;
  visitor->visit(visitor->context, false, words + 5);
  visitor->visit(visitor->context, true, words + 4);
}

static void each_slot_is_visited_once(void **state) {
  (void)state;
  crd_type_table table = {NULL, NULL, NULL, 0, 0, 0};
  cradle_word object[70] = {0};
  visited.object = object;
  visited.count = 0;
  const cradle_type *types[] = {
      TYPE(.size = 48, .references = 2 | 8, .values = 4 | 32),
      TYPE(.size = 48, .values = 2),
      TYPE(.size = 48),
      TYPE(.size = 48, .references = 2, .trace = report_two),
      TYPE(.size = 24, .items = CRADLE_ITEMS_REFERENCES, .item_size = 8, .length_offset = 8, .values = 4),
      ITEMS(CRADLE_ITEMS_VALUES, 8, .name = ""),
      ITEMS(CRADLE_ITEMS_BYTES, 8, .name = ""),
      ITEMS(CRADLE_ITEMS_STRUCTURES, 24, .item_references = 1, .item_values = 4),
      ITEMS(CRADLE_ITEMS_STRUCTURES, 16, .item_references = 3),
      ITEMS(CRADLE_ITEMS_STRUCTURES, 16, .item_values = 3),
  };
  enum { TYPES = sizeof types / sizeof *types };
  for (size_t i = 0; i < TYPES; i++) assert_non_null(crd_type_table_add(&table, types[i], false));
#define VISIT(type, length) \
  (object[0] = (type), object[1] = (length), visit_object(&table, object, note_slot, &visited))
  VISIT(0, 0), assert_visited(4, 1, 3, 102, 105);
  VISIT(1, 0), assert_visited(1, 101);
  VISIT(2, 0), assert_visited(0);
  VISIT(3, 0), assert_visited(3, 1, 5, 104);
  VISIT(4, 3), assert_visited(4, 102, 3, 4, 5);
  VISIT(5, 3), assert_visited(3, 102, 103, 104);
  VISIT(5, 0), assert_visited(0);
  VISIT(6, 3), assert_visited(0);
  VISIT(7, 2), assert_visited(4, 2, 104, 5, 107);
  VISIT(8, 2), assert_visited(4, 2, 3, 4, 5);
  VISIT(9, 2), assert_visited(4, 102, 103, 104, 105);
#undef VISIT
  /* parts of arrays */
  object[0] = 4, object[1] = 9;
  visit_items(&table.types[4], object, 2, 4, note_slot, &visited), assert_visited(2, 5, 6);
  object[0] = 5;
  visit_items(&table.types[5], object, 2, 4, note_slot, &visited), assert_visited(2, 104, 105);
  for (uint32_t type = 7; type < 10; type++) {
    object[0] = type;
    visit_structures(&table.types[type], &table.item_slots[type], object, 1, 3, note_slot, &visited);
    if (type == 7) assert_visited(4, 5, 107, 8, 110);
    if (type == 8) assert_visited(4, 4, 5, 6, 7);
    if (type == 9) assert_visited(4, 104, 105, 106, 107);
  }
  crd_type_table_fini(&table);
}

static void words_and_bits_are_visited_both_ways(void **state) {
  (void)state;
  cradle_word object[70] = {0};
  visited.object = object;
  visited.count = 0;
  visit_words(object + 2, object + 5, true, note_slot, &visited), assert_visited(3, 102, 103, 104);
  visit_words(object + 2, object + 2, true, note_slot, &visited), assert_visited(0);
  visit_words_backward(object + 2, object + 5, false, note_slot, &visited), assert_visited(3, 4, 3, 2);
  visit_words_backward(object + 2, object + 2, false, note_slot, &visited), assert_visited(0);
  visit_bits(object, 1 | 2 | BIT(40) | BIT(63), false, note_slot, &visited), assert_visited(4, 0, 1, 40, 63);
  visit_bits(object, 0, false, note_slot, &visited), assert_visited(0);
  visit_bits(object, UINT64_MAX, true, note_slot, &visited), assert_int_equal(visited.count, 64), visited.count = 0;
  visit_bits_backward(object, 1 | 2 | BIT(40) | BIT(63), true, note_slot, &visited);
  assert_visited(4, 163, 140, 101, 100);
  visit_bits_backward(object, 0, true, note_slot, &visited), assert_visited(0);
  visit_kind(object + 1, object + 3, CRADLE_KIND_VALUE, note_slot, &visited), assert_visited(2, 101, 102);
  visit_kind(object + 1, object + 3, CRADLE_KIND_REFERENCE, note_slot, &visited), assert_visited(2, 1, 2);
}

static void poison_fills_its_words(void **state) {
  (void)state;
  cradle_word words[6] = {1, 1, 1, 1, 1, 1};
  poison_words(words + 1, 0, POISON_SWEPT);
  assert_int_equal(words[1], 1);
  poison_words(words + 1, 4, POISON_SWEPT);
  for (int i = 0; i < 6; i++) assert_true(words[i] == (i == 0 || i == 5 ? 1 : POISON_SWEPT));
}

/* --- the end of the process --- */

#ifndef _WIN32
/* What a child that ends by abort says. */
static const char *last_words_of(void (*function)(void)) {
  static char text[4096];
  int ends[2], status;
  size_t length = 0;
  assert_int_equal(pipe(ends), 0);
  pid_t child = fork();
  if (child == 0) {
    dup2(ends[1], STDERR_FILENO);
    close(ends[0]);
    close(ends[1]);
    signal(SIGABRT, SIG_DFL);
    function();
    _exit(0);
  }
  close(ends[1]);
  for (ssize_t got; (got = read(ends[0], text + length, sizeof text - 1 - length)) > 0;) length += (size_t)got;
  text[length] = '\0';
  close(ends[0]);
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_true(WIFSIGNALED(status));
  assert_int_equal(WTERMSIG(status), SIGABRT);
  return text;
}

static void abort_with_words(void) {
  crd_abort("a kind: ", "a message");
}
static void fail_an_assertion(void) {
  crd_assertion_failed("what was wrong");
}

#define CALLED_FROM "cradle: called from, the innermost first (? for a line: compile that file with -g):\n"

/* After the message come lines that say where it was. */
static void assert_says(void (*function)(void), const char *words) {
  const char *said = last_words_of(function);
  if (strncmp(said, words, strlen(words)) != 0) fail_msg("not %s but %s", words, said);
  said += strlen(words);
#ifdef __GLIBC__
  if (strncmp(said, "addr2line ", 10) != 0) fail_msg("no commands but %s", said);
#else
  assert_string_equal(said, "cradle: the calls are not known: the C library has no backtrace(), or it found none\n");
#endif
}

static void an_abort_says_why_and_where(void **state) {
  (void)state;
  assert_says(crd_abort_here, CALLED_FROM);
  assert_says(abort_with_words, "a kind: a message\n" CALLED_FROM);
  assert_says(fail_an_assertion, "cradle: assertion failed: what was wrong\n" CALLED_FROM);
}
#endif

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(texts_are_cut_where_they_are_full),
      cmocka_unit_test(numbers_are_as_long_as_their_conversion_says),
      cmocka_unit_test(random_numbers_are_those_of_splitmix64),
      cmocka_unit_test(a_structure_of_another_version_keeps_what_both_have),
      cmocka_unit_test(an_array_doubles_and_keeps_what_it_holds),
      cmocka_unit_test(refused_memory_leaves_an_array_as_it_was),
      cmocka_unit_test(an_array_ends_where_its_indices_do),
      cmocka_unit_test(sizes_are_rounded_to_powers_of_two),
      cmocka_unit_test(bits_of_a_map_are_apart),
      cmocka_unit_test(the_bits_of_a_word_are_counted),
      cmocka_unit_test(a_map_of_addresses_finds_what_is_in_it),
      cmocka_unit_test(a_map_that_ends_leaves_no_memory),
      cmocka_unit_test(refused_memory_leaves_a_map_as_it_was),
      cmocka_unit_test(a_map_without_entries_is_all_zero),
      cmocka_unit_test(a_map_is_at_most_three_quarters_full),
      cmocka_unit_test(the_check_of_a_map_sees_what_is_broken),
      cmocka_unit_test(a_word_stack_without_memory_refuses_all),
      cmocka_unit_test(a_word_stack_gives_back_what_came_last),
      cmocka_unit_test(the_order_of_a_word_stack_is_checked),
      cmocka_unit_test(a_word_stack_without_address_space_is_refused),
      cmocka_unit_test(a_word_stack_that_ends_gives_its_addresses_back),
      cmocka_unit_test(a_word_stack_grows_to_its_end_and_says_so),
      cmocka_unit_test(what_a_word_stack_held_is_dropped),
      cmocka_unit_test(a_word_stack_takes_what_the_address_space_has),
      cmocka_unit_test(each_flag_has_its_bit),
      cmocka_unit_test(a_change_of_a_header_leaves_the_rest),
      cmocka_unit_test(a_header_tells_where_its_object_is),
      cmocka_unit_test(the_verifier_knows_which_flags_an_object_can_have),
      cmocka_unit_test(an_entry_of_a_slot_tells_the_slot_and_its_kind),
      cmocka_unit_test(an_encoding_that_cannot_hold_an_address_is_refused),
      cmocka_unit_test(the_bounds_of_an_encoding_are_exact),
      cmocka_unit_test(a_value_is_a_reference_by_its_pattern_tag_and_payload),
      cmocka_unit_test(an_encoding_is_plain_only_without_tags_and_patterns),
      cmocka_unit_test(the_bounds_of_a_fixed_part_are_exact),
      cmocka_unit_test(the_bounds_of_items_are_exact),
      cmocka_unit_test(the_bounds_of_structures_are_exact),
      cmocka_unit_test(a_row_is_unused_if_all_of_it_is_zero),
      cmocka_unit_test(services_put_objects_on_lists),
      cmocka_unit_test(weak_values_need_an_encoding),
      cmocka_unit_test(an_entry_knows_how_stores_are_recorded),
      cmocka_unit_test(an_entry_knows_its_slots),
      cmocka_unit_test(a_word_of_a_structure_has_its_kind),
      cmocka_unit_test(the_bytes_of_an_array_are_rounded_and_bounded),
      cmocka_unit_test(a_type_table_that_ends_leaves_no_memory),
      cmocka_unit_test(each_slot_is_visited_once),
      cmocka_unit_test(words_and_bits_are_visited_both_ways),
      cmocka_unit_test(poison_fills_its_words),
#ifndef _WIN32
      cmocka_unit_test(an_abort_says_why_and_where),
#endif
      cmocka_unit_test(types_stay_as_they_were_added),
      cmocka_unit_test(a_type_is_not_added_without_memory),
      cmocka_unit_test(the_plain_encoding_has_one_kind_of_slot),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
