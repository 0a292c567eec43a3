/* Tests the pages of the running system, with either backend: alignment, contents, memory given back, refusals and
 * figures. What a backend or machine cannot do is skipped by name. */
#include "tests/support/machine.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <time.h>

#include "tests/inside.h"

static size_t page_bytes;

/* --- asking the kernel --- */

/* A write system call finds out whether memory is readable without causing a fault. */
static bool is_writable(void *address) {
  int zero = open("/dev/zero", O_RDONLY);
  bool writable = read(zero, address, 1) == 1;
  close(zero);
  return writable;
}

/* Field 0 is the size of the address space, 1 what is resident, 5 the data; in bytes. */
static size_t statm(int field) {
  unsigned long values[7] = {0};
  FILE *file = fopen("/proc/self/statm", "r");
  assert_non_null(file);
  for (int i = 0; i < 7; i++) assert_int_equal(fscanf(file, "%lu", &values[i]), 1);
  fclose(file);
  return values[field] * kernel_page_bytes();
}

/* Copies the flags of the mapping around the address, as smaps prints them; false: there is no smaps. */
static bool mapping_flags(const void *address, char *flags, size_t size) {
  FILE *file = fopen("/proc/self/smaps", "r");
  if (file == NULL) return false;
  char line[4096];
  bool inside = false, found = false;
  while (!found && fgets(line, sizeof line, file) != NULL) {
    unsigned long from, to;
    if (sscanf(line, "%lx-%lx ", &from, &to) == 2)
      inside = from <= (uintptr_t)address && (uintptr_t)address < to;
    else if (inside && strncmp(line, "VmFlags:", 8) == 0)
      found = snprintf(flags, size, "%s", line + 8) > 0;
  }
  fclose(file);
  return found;
}

static char *reserve(size_t size) {
  char *base = crd_pages_reserve(size, HUGE_BYTES, NULL);
  assert_non_null(base);
  return base;
}

static char *reserve_committed(size_t size) {
  char *base = reserve(size);
  assert_true(crd_pages_commit(base, size));
  return base;
}

static bool is_zero(const char *from, size_t size) {
  for (size_t i = 0; i < size; i++)
    if (from[i] != 0) return false;
  return true;
}

/* --- reservations --- */

static void reservation_is_aligned_and_without_access(void **state) {
  (void)state;
  for (size_t alignment = page_bytes; alignment <= (size_t)1 << 30; alignment *= 2) {
    char *base = crd_pages_reserve(3 * page_bytes, alignment, NULL);
    assert_non_null(base);
    assert_int_equal((uintptr_t)base % alignment, 0);
    for (size_t i = 0; i < 3; i++) assert_false(is_readable(base + i * page_bytes));
    assert_false(is_hole(base, 3 * page_bytes));
    assert_true(crd_pages_unreserve(base, 3 * page_bytes));
    assert_true(is_hole(base, 3 * page_bytes));
  }
}

/* The loader only prints a message about a library that it cannot preload. */
static void a_simulated_page_size_is_in_force(void **state) {
  (void)state;
  const char *simulated = getenv("TEST_PAGE_BYTES");
  if (simulated == NULL) SKIP("no page size is simulated");
  assert_int_equal(page_bytes, strtoul(simulated, NULL, 10));
}

static void reservation_takes_its_size_and_no_more(void **state) {
  (void)state;
  size_t before = statm(0);
  char *base = crd_pages_reserve(8 * MIB, 1024 * MIB, NULL);
  assert_non_null(base);
  assert_in_range(statm(0) - before, 8 * MIB, 9 * MIB);
  assert_true(crd_pages_unreserve(base, 8 * MIB));
  assert_in_range(statm(0), before, before + MIB);
}

static void reservation_beyond_the_address_space_is_refused(void **state) {
  (void)state;
  errno = 77;
  assert_null(crd_pages_reserve((size_t)1 << 62, HUGE_BYTES, NULL));
  assert_null(crd_pages_reserve(SIZE_MAX - MIB + 1, HUGE_BYTES, NULL));
  assert_null(crd_pages_reserve(SIZE_MAX - page_bytes + 1, HUGE_BYTES, NULL));
  assert_int_equal(errno, 77); /* [pages.2] */
}

static void hint_is_had_exactly_or_not_at_all(void **state) {
  (void)state;
  char *base = reserve(4 * HUGE_BYTES);
  errno = 77;
  assert_null(crd_pages_reserve(HUGE_BYTES, HUGE_BYTES, base));
  assert_null(crd_pages_reserve(4 * HUGE_BYTES, HUGE_BYTES, base - HUGE_BYTES));
  assert_int_equal(errno, 77);
  assert_false(is_hole(base, 4 * HUGE_BYTES));
  assert_true(crd_pages_unreserve(base, 4 * HUGE_BYTES));
  assert_null(crd_pages_reserve(HUGE_BYTES, HUGE_BYTES, base + page_bytes));
  assert_ptr_equal(crd_pages_reserve(HUGE_BYTES, HUGE_BYTES, base), base);
  assert_true(crd_pages_unreserve(base, HUGE_BYTES));
}

static int reserve_under_a_limit(void) {
  struct rlimit limit = {statm(0) + 64 * MIB, statm(0) + 64 * MIB};
  if (setrlimit(RLIMIT_AS, &limit) != 0) return 2;
  errno = 77;
  if (crd_pages_reserve(256 * MIB, HUGE_BYTES, NULL) != NULL) return 1;
  return crd_pages_reserve(16 * MIB, HUGE_BYTES, NULL) == NULL || errno != 77;
}

static void limit_of_the_address_space_refuses_a_reservation(void **state) {
  (void)state;
  assert_int_equal(status_of_child(reserve_under_a_limit), 0);
}

/* --- contents --- */

static void recommitted_memory_reads_zero(void **state) {
  (void)state;
  char *base = reserve(3 * HUGE_BYTES), *middle = base + HUGE_BYTES;
  for (int round = 0; round < 3; round++) {
    assert_true(crd_pages_commit(middle, HUGE_BYTES));
    assert_true(is_zero(middle, HUGE_BYTES));
    memset(middle, 0x5A, HUGE_BYTES);
    assert_false(is_readable(middle - 1));
    assert_false(is_readable(middle + HUGE_BYTES));
    assert_true(crd_pages_release(middle, HUGE_BYTES));
    assert_false(is_readable(middle));
    assert_false(is_hole(base, 3 * HUGE_BYTES));
  }
  assert_true(crd_pages_unreserve(base, 3 * HUGE_BYTES));
}

static void discarded_memory_reads_zero_and_stays_committed(void **state) {
  (void)state;
  char *base = reserve_committed(32 * MIB);
  memset(base, 0x5A, 32 * MIB);
  size_t before = statm(1);
  assert_true(crd_pages_discard(base, 32 * MIB));
  assert_true(statm(1) + 28 * MIB < before);
  assert_true(is_writable(base));
  assert_true(is_zero(base, 32 * MIB));
  assert_true(crd_pages_unreserve(base, 32 * MIB));
}

static void protected_memory_keeps_its_contents(void **state) {
  (void)state;
  char *base = reserve_committed(HUGE_BYTES);
  memset(base, 0x5A, HUGE_BYTES);
  assert_true(crd_pages_protect(base + page_bytes, page_bytes, false));
  assert_true(is_readable(base));
  assert_false(is_readable(base + page_bytes));
  assert_true(crd_pages_protect(base + page_bytes, page_bytes, true));
  assert_int_equal(base[page_bytes], 0x5A);
  assert_true(is_writable(base + page_bytes));
  assert_true(crd_pages_unreserve(base, HUGE_BYTES));
}

static void released_memory_leaves_the_process(void **state) {
  (void)state;
  char *base = reserve_committed(64 * MIB);
  memset(base, 1, 64 * MIB);
  size_t before = statm(1);
  assert_true(crd_pages_release(base, 64 * MIB));
  assert_true(statm(1) + 60 * MIB < before);
  assert_true(crd_pages_unreserve(base, 64 * MIB));
}

/* The flag "ac" means that the kernel has charged the mapping's pages; "nr" means that it will not charge them. */
static void released_memory_is_not_charged(void **state) {
  (void)state;
  char *base = reserve_committed(HUGE_BYTES), flags[256];
  memset(base, 1, HUGE_BYTES);
  if (!mapping_flags(base, flags, sizeof flags)) SKIP("/proc/self/smaps tells no flags");
  assert_non_null(strstr(flags, " wr"));
  assert_true(crd_pages_release(base, HUGE_BYTES));
  assert_true(mapping_flags(base, flags, sizeof flags));
  assert_null(strstr(flags, " ac"));
  assert_null(strstr(flags, " wr"));
  assert_true(crd_pages_unreserve(base, HUGE_BYTES));
}

/* The range has two mappings, and the limit allows only the first: the commit must not stay half done. */
static int commit_under_a_limit(void) {
  char *base = crd_pages_reserve(64 * MIB, HUGE_BYTES, NULL);
  if (base == NULL || madvise(base, 32 * MIB, MADV_DONTFORK) != 0) return 2;
  struct rlimit limit = {statm(5) + 48 * MIB, statm(5) + 48 * MIB};
  if (setrlimit(RLIMIT_DATA, &limit) != 0) return 2;
  errno = 77;
  if (crd_pages_commit(base, 64 * MIB)) return 3;
  if (errno != 77) return 4;
  if (is_readable(base) || is_readable(base + 63 * MIB)) return 5; /* [pages.3] */
  return crd_pages_commit(base, 16 * MIB) && is_writable(base) ? 0 : 6;
}

static void refused_commit_leaves_the_range_as_it_was(void **state) {
  (void)state;
  assert_int_equal(status_of_child(commit_under_a_limit), 0);
}

/* --- the pool --- */

static void refused_pool_leaves_no_hole(void **state) {
  (void)state;
  size_t size = (meminfo("HugePages_Free:") + meminfo("HugePages_Surp:") + 64) * HUGE_BYTES;
  if (meminfo("Hugepagesize:") != 2048 || size > 64 * 1024 * MIB) size = HUGE_BYTES;
  char *base = reserve(size);
  errno = 77;
  bool obtained = crd_pages_commit_pool(base, size, HUGE_BYTES);
  assert_int_equal(errno, 77);
  if (obtained) SKIP("the system makes huge pages on demand");
  assert_false(is_hole(base, size)); /* [pages.3] */
  assert_false(is_readable(base));
  assert_true(crd_pages_commit(base, HUGE_BYTES));
  assert_true(is_zero(base, HUGE_BYTES));
  assert_true(crd_pages_unreserve(base, size));
}

static void pool_of_a_wrong_unit_is_refused(void **state) {
  (void)state;
  char *base = reserve(2 * HUGE_BYTES);
  assert_false(crd_pages_commit_pool(base, HUGE_BYTES, 0));
  assert_false(crd_pages_commit_pool(base, HUGE_BYTES, 3 * MIB));
  assert_false(crd_pages_commit_pool(base, 3 * MIB, HUGE_BYTES));
  assert_false(crd_pages_commit_pool(base + MIB, HUGE_BYTES, HUGE_BYTES));
  assert_false(crd_pages_commit_pool(base, HUGE_BYTES, page_bytes));
  assert_false(crd_pages_commit_pool(base, HUGE_BYTES, (size_t)1 << 34));
  assert_false(is_hole(base, 2 * HUGE_BYTES));
  assert_true(crd_pages_unreserve(base, 2 * HUGE_BYTES));
}

static bool extend_pool(size_t total, size_t pages) {
  return meminfo("Hugepagesize:") == 2048 && put(POOL_FILE, total + pages) && meminfo("HugePages_Free:") >= pages;
}

static bool has_figures(void) {
  crd_pages_backing backing;
  return crd_pages_backing_of((void *)((uintptr_t)&page_bytes & ~(page_bytes - 1)), page_bytes, &backing);
}

static void assert_backing(const char *base, size_t size, size_t resident, size_t huge) {
  crd_pages_backing backing;
  assert_true(crd_pages_backing_of(base, size, &backing));
  assert_int_equal(backing.resident_bytes, resident);
  assert_int_equal(backing.huge_bytes, huge);
}

static void pool_pages_come_into_place_and_go_back(void **state) {
  if (!extend_pool(*(size_t *)*state, 4)) SKIP("the pool cannot be given pages here");
  char *base = reserve(4 * HUGE_BYTES), *middle = base + HUGE_BYTES;
  if (!crd_pages_commit_pool(middle, 2 * HUGE_BYTES, HUGE_BYTES)) {
    assert_false(has_figures());
    SKIP("this backend has no pool");
  }
  assert_true(is_zero(middle, 2 * HUGE_BYTES));
  memset(middle, 0x5A, 2 * HUGE_BYTES);
  assert_backing(base, 4 * HUGE_BYTES, 2 * HUGE_BYTES, 2 * HUGE_BYTES);
  assert_backing(middle, HUGE_BYTES, HUGE_BYTES, HUGE_BYTES);
  size_t free_pages = meminfo("HugePages_Free:");
  assert_true(crd_pages_release(middle, 2 * HUGE_BYTES));
  assert_int_equal(meminfo("HugePages_Free:"), free_pages + 2);
  assert_false(is_hole(base, 4 * HUGE_BYTES));
  assert_true(crd_pages_commit(middle, HUGE_BYTES));
  assert_true(is_zero(middle, HUGE_BYTES));
  assert_true(crd_pages_unreserve(base, 4 * HUGE_BYTES));
}

/* --- figures --- */

static void backing_counts_resident_pages(void **state) {
  (void)state;
  if (!has_figures()) SKIP("the backend tells no figures");
  size_t size = 1024 * page_bytes, resident = kernel_page_bytes();
  char *base = reserve_committed(size);
  crd_pages_advise_huge(base, size, false);
  assert_backing(base, size, 0, 0);
  for (size_t i = 0; i < 300; i++) base[2 * i * page_bytes] = 1;
  errno = 77;
  assert_backing(base, size, 300 * resident, 0);
  assert_int_equal(errno, 77);
  assert_backing(base, 10 * page_bytes, 5 * resident, 0);
  assert_true(crd_pages_release(base, size));
  assert_backing(base, size, 0, 0);
  assert_true(crd_pages_unreserve(base, size));
}

static void pages_that_were_only_read_are_not_resident(void **state) {
  (void)state;
  if (!has_figures()) SKIP("the backend tells no figures");
  char *base = reserve_committed(HUGE_BYTES);
  crd_pages_advise_huge(base, HUGE_BYTES, false);
  assert_true(is_zero(base, HUGE_BYTES));
  assert_backing(base, HUGE_BYTES, 0, 0);
  assert_true(crd_pages_unreserve(base, HUGE_BYTES));
}

static void populated_pages_are_resident(void **state) {
  (void)state;
  char *base = reserve_committed(HUGE_BYTES);
  crd_pages_advise_huge(base, HUGE_BYTES, false);
  if (!crd_pages_populate(base, HUGE_BYTES)) SKIP("the system cannot populate");
  assert_backing(base, HUGE_BYTES, HUGE_BYTES, 0);
  assert_true(crd_pages_unreserve(base, HUGE_BYTES));
}

/* Returns how much of a range is huge once it was advised and touched; SIZE_MAX: the system gives no figures. */
static size_t huge_bytes_obtained(void) {
  crd_pages_backing backing;
  char *base = crd_pages_reserve(4 * HUGE_BYTES, HUGE_BYTES, NULL);
  crd_pages_advise_huge(base, 4 * HUGE_BYTES, true);
  if (!crd_pages_commit(base, 4 * HUGE_BYTES)) return SIZE_MAX;
  for (size_t at = 0; at < 4 * HUGE_BYTES; at += kernel_page_bytes()) base[at] = 1;
  bool known = crd_pages_backing_of(base, 4 * HUGE_BYTES, &backing);
  crd_pages_unreserve(base, 4 * HUGE_BYTES);
  return known && backing.resident_bytes == 4 * HUGE_BYTES ? backing.huge_bytes : SIZE_MAX;
}

static bool has_thp(void) {
  cradle_hardware hardware;
  inside_hardware(&hardware);
  return hardware.thp_page_bytes == HUGE_BYTES && hardware.thp_mode >= CRADLE_THP_MADVISE;
}

static void advised_memory_is_huge(void **state) {
  (void)state;
  if (!has_figures()) SKIP("the backend tells no figures");
  if (!has_thp()) SKIP("the system gives no transparent huge pages");
  size_t huge = huge_bytes_obtained(); /* less than all where memory is fragmented */
  assert_in_range(huge, HUGE_BYTES, 4 * HUGE_BYTES);
  assert_int_equal(huge % HUGE_BYTES, 0);
}

static int huge_bytes_when_disabled(void) {
  if (prctl(PR_SET_THP_DISABLE, 1ul, 0ul, 0ul, 0ul) != 0) return 2;
  return huge_bytes_obtained() != 0;
}

static void process_that_disabled_thp_obtains_none(void **state) {
  (void)state;
  if (!has_figures()) SKIP("the backend tells no figures");
  int status = status_of_child(huge_bytes_when_disabled);
  if (status == 2) SKIP("the system cannot disable huge pages for a process");
  assert_int_equal(status, 0); /* [pages.5] */
}

/* --- advice, words, time --- */

static void advice_has_no_consequence(void **state) {
  (void)state;
  char *base = reserve(HUGE_BYTES);
  errno = 77;
  crd_pages_name(base, HUGE_BYTES, "cradle test");
  crd_pages_name(base, HUGE_BYTES, "a name that no kernel takes: []\\$`");
  crd_pages_advise_huge(base + 1, 1, true);
  assert_false(crd_pages_populate(base, HUGE_BYTES));
  assert_false(crd_pages_discard(base + 1, 1));
  assert_int_equal(errno, 77); /* [pages.2], [pages.4] */
  assert_false(is_readable(base));
  assert_true(crd_pages_unreserve(base, HUGE_BYTES));
}

static int words_into_a_pipe(void) {
  int ends[2];
  char words[16] = {0};
  if (pipe(ends) != 0 || dup2(ends[1], STDERR_FILENO) < 0) return 2;
  crd_platform_last_words("last words", 10);
  if (read(ends[0], words, sizeof words) != 10 || strcmp(words, "last words") != 0) return 1;
  close(STDERR_FILENO);
  errno = 77;
  crd_platform_last_words("nobody reads this", 17);
  return errno != 77;
}

static void last_words_are_written_or_lost_in_silence(void **state) {
  (void)state;
  assert_int_equal(status_of_child(words_into_a_pipe), 0);
}

/* Leaves set bits where the next call has its variables. */
static __attribute__((__noinline__)) void use_the_stack(void) {
  volatile unsigned char bytes[2048];
  for (size_t i = 0; i < sizeof bytes; i++) bytes[i] = 0xFF;
}

/* A reader that is gone, and a file that may not grow, would end the process by a signal. Other signals are left as
 * they were. */
static int words_that_are_refused(void) {
  int ends[2];
  sigset_t before, after;
  struct rlimit limit = {0, 0};
  FILE *file = tmpfile();
  if (file == NULL || pipe(ends) != 0 || dup2(ends[1], STDERR_FILENO) < 0) return 2;
  close(ends[0]);
  if (sigprocmask(SIG_BLOCK, NULL, &before) != 0) return 2;
  use_the_stack();
  crd_platform_last_words("nobody reads this", 17);
  if (setrlimit(RLIMIT_FSIZE, &limit) != 0 || dup2(fileno(file), STDERR_FILENO) < 0) return 2;
  crd_platform_last_words("no room for this", 16);
  if (sigprocmask(SIG_BLOCK, NULL, &after) != 0) return 2;
  for (int number = 1; number < 32; number++) {
    int expected = number == SIGPIPE || number == SIGXFSZ ? 1 : sigismember(&before, number);
    if (sigismember(&after, number) != expected) return 3;
  }
  return 0;
}

static void refused_last_words_raise_no_signal(void **state) {
  (void)state;
  assert_int_equal(status_of_child(words_that_are_refused), 0);
}

static unsigned long long nanoseconds(void) {
  struct timespec now;
  assert_int_equal(clock_gettime(CLOCK_MONOTONIC, &now), 0);
  return (unsigned long long)now.tv_sec * 1000000000u + (unsigned long long)now.tv_nsec;
}

static void time_is_in_nanoseconds(void **state) {
  (void)state;
  unsigned long long before = nanoseconds(), now = crd_platform_now_ns();
  assert_in_range(now, before, nanoseconds());
}

static void time_goes_forward(void **state) {
  (void)state;
  unsigned long long before = crd_platform_now_ns();
  usleep(2000);
  assert_in_range(crd_platform_now_ns() - before, 2000000, 60000000000u);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(reservation_is_aligned_and_without_access),
      cmocka_unit_test(a_simulated_page_size_is_in_force),
      cmocka_unit_test(reservation_takes_its_size_and_no_more),
      cmocka_unit_test(reservation_beyond_the_address_space_is_refused),
      cmocka_unit_test(hint_is_had_exactly_or_not_at_all),
      cmocka_unit_test(limit_of_the_address_space_refuses_a_reservation),
      cmocka_unit_test(recommitted_memory_reads_zero),
      cmocka_unit_test(discarded_memory_reads_zero_and_stays_committed),
      cmocka_unit_test(protected_memory_keeps_its_contents),
      cmocka_unit_test(released_memory_leaves_the_process),
      cmocka_unit_test(released_memory_is_not_charged),
      cmocka_unit_test(refused_commit_leaves_the_range_as_it_was),
      cmocka_unit_test(refused_pool_leaves_no_hole),
      cmocka_unit_test(pool_of_a_wrong_unit_is_refused),
      cmocka_unit_test_setup_teardown(pool_pages_come_into_place_and_go_back, remember_pool, restore_pool),
      cmocka_unit_test(backing_counts_resident_pages),
      cmocka_unit_test(pages_that_were_only_read_are_not_resident),
      cmocka_unit_test(populated_pages_are_resident),
      cmocka_unit_test(advised_memory_is_huge),
      cmocka_unit_test(process_that_disabled_thp_obtains_none),
      cmocka_unit_test(advice_has_no_consequence),
      cmocka_unit_test(last_words_are_written_or_lost_in_silence),
      cmocka_unit_test(refused_last_words_raise_no_signal),
      cmocka_unit_test(time_is_in_nanoseconds),
      cmocka_unit_test(time_goes_forward),
  };
  page_bytes = (size_t)sysconf(_SC_PAGESIZE);
  return cmocka_run_group_tests(tests, NULL, NULL);
}
