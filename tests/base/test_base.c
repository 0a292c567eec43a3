/* Tests the collector's basic parts: texts, growing arrays, bits, address maps and word stacks. */
#include "tests/support/granted.h"
#include "tests/support/heap_fixture.h"

#include <inttypes.h>
#include <signal.h>
#include <unistd.h>
#ifndef _WIN32
#include <sys/wait.h>
#endif

#include "tests/inside.h"

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
  granted_reallocs = 0;
  assert_false(GROW(first, 0u, capacity));
  assert_null(first);
  assert_int_equal(capacity, 0);
  granted_reallocs = INT_MAX;
  assert_true(GROW(first, 0u, capacity));
  for (uint32_t i = 0; i < capacity; i++) first[i] = i;
  uint64_t *before = first;
  granted_reallocs = 0;
  assert_false(GROW(first, capacity, capacity));
  assert_ptr_equal(first, before);
  assert_int_equal(capacity, GROW_FIRST);
  assert_int_equal(first[GROW_FIRST - 1], GROW_FIRST - 1);
  /* two arrays of one capacity, of which only the first grows at first */
  free(first);
  first = NULL;
  capacity = 0;
  for (granted_reallocs = 1; granted_reallocs >= 0; granted_reallocs = INT_MAX) {
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
  granted_callocs = 0;
  assert_false(crd_address_map_reserve(&map));
  assert_null(map.entries);
  granted_callocs = INT_MAX;
  for (uint32_t i = 1; i <= 48; i++) {
    assert_true(crd_address_map_reserve(&map));
    crd_address_map_insert(&map, 8 * (uintptr_t)i, i);
  }
  granted_callocs = 0;
  assert_false(crd_address_map_reserve(&map));
  granted_callocs = INT_MAX;
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

static void divided_word_stacks_share_a_reservation(void **state) {
  (void)state;
  size_t page = (size_t)sysconf(_SC_PAGESIZE), words = page / sizeof(cradle_word);
  for (size_t pages = 1; pages <= 20; pages++) {
    crd_word_stack lower = {NULL, NULL, NULL, NULL}, upper;
    assert_true(crd_word_stack_init(&lower, pages * page, page, "test"));
    cradle_word *base = lower.base, *end = lower.end;
    crd_word_stack_divide(&lower, &upper, 3, 7, page);
    assert_true(word_stack_is_sound(&lower) && word_stack_is_sound(&upper));
    assert_ptr_equal(lower.base, base);
    assert_ptr_equal(lower.end, upper.base);
    assert_ptr_equal(upper.end, end);
    assert_int_equal(upper.end - upper.base, pages * 3 / 7 * words);
    size_t count = 0;
    while (word_stack_push(&lower, 1)) count++;
    while (word_stack_push(&upper, 2)) count++;
    assert_int_equal(count, pages * words);
    for (const cradle_word *word = base; word < end; word++) assert_int_equal(*word, word < lower.end ? 1 : 2);
    lower.end = upper.end;
    crd_word_stack_fini(&lower);
    assert_ptr_equal(crd_pages_reserve(pages * page, page, base), base);
    assert_true(crd_pages_unreserve(base, pages * page));
  }
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

/* A reservation that does not fit the address space becomes a share of what is left, in whole pages. */
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
  /* a sixteenth of 128 TiB on most machines; of 8 GiB under qemu */
  assert_true(bytes >= (size_t)256 << 20 && bytes < (size_t)16 << 40);
  void *program = crd_pages_reserve(4 * bytes, page, NULL);
  assert_non_null(program); /* the program has more left than the stack took */
  crd_pages_unreserve(program, 4 * bytes);
  assert_true(word_stack_push(&stack, 7));
  crd_word_stack_fini(&stack);
  assert_null(stack.base);
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
      cmocka_unit_test(divided_word_stacks_share_a_reservation),
      cmocka_unit_test(a_word_stack_grows_to_its_end_and_says_so),
      cmocka_unit_test(what_a_word_stack_held_is_dropped),
      cmocka_unit_test(a_word_stack_takes_what_the_address_space_has),
#ifndef _WIN32
      cmocka_unit_test(an_abort_says_why_and_where),
#endif
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
