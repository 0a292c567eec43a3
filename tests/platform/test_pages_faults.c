/* Makes every system call of the Linux pages fail, one at a time; pages_faults_calls.h says which calls are its own. */
#if defined(__linux__)

#include "tests/platform/pages_faults_calls.h"
#include "tests/support/machine.h"

#include <errno.h>

#include "gc/platform/calls.h"
#include "tests/inside.h"

/* The kernel's interface (PAGEMAP_SCAN). */
struct scan_region {
  uint64_t start, end, categories;
};
struct scan_arguments {
  uint64_t size, flags, start, end, walk_end, vector, vector_length, max_pages;
  uint64_t category_inverted, category_mask, category_any, return_mask;
};
#define SCAN_REQUEST ((int)_IOWR('f', 16, struct scan_arguments))
#define SCAN_PRESENT (UINT64_C(1) << 3)
#define SCAN_HUGE (UINT64_C(1) << 6)
#define SCAN_REGIONS 64 /* so many the library asks for at a time */

bool crd_fault_should_fail(const char *call, int *error);

static FILE *smaps; /* read in place of the kernel's, which has no PAGEMAP_SCAN then; NULL: the kernel's own */

int answer_open(const char *path, int flags) {
  if (smaps == NULL) return open(path, flags);
  if (strcmp(path, "/proc/self/smaps") != 0) return errno = ENOENT, -1;
  fflush(smaps);
  assert_int_equal(lseek(fileno(smaps), 0, SEEK_SET), 0);
  return dup(fileno(smaps));
}

static struct {
  int (*answer)(struct scan_arguments *arguments); /* NULL: the kernel's own */
  unsigned count;                                  /* answers so far */
} scans;

static struct {
  size_t at_once; /* the most bytes that one write takes; 0: no limit */
  bool takes_none;
  unsigned count;
} writes;

static struct {
  bool anywhere; /* takes a given address for a wish, as Linux did before 4.17 */
  bool odd;      /* places what may lie anywhere at an odd number of pages */
} maps;

ssize_t answer_write(int file, const void *text, size_t length) {
  writes.count++;
  if (writes.takes_none) return errno = EINTR, 0;
  return write(file, text, writes.at_once != 0 && writes.at_once < length ? writes.at_once : length);
}

void *answer_mmap(void *address, size_t size, int access, int flags, int file, off_t offset) {
  size_t page = (size_t)sysconf(_SC_PAGESIZE);
  if (maps.anywhere && address != NULL && (flags & MAP_FIXED) == 0)
    return mmap(NULL, size, access, flags & ~MAP_FIXED_NOREPLACE, file, offset);
  if (!maps.odd || address != NULL) return mmap(address, size, access, flags, file, offset);
  char *base = mmap(NULL, size + page, access, flags, file, offset);
  if (base == MAP_FAILED) return base;
  bool skipped = (uintptr_t)base / page % 2 == 0;
  munmap(skipped ? base : base + size, page);
  return skipped ? base + page : base;
}

int answer_scan(int file, unsigned long request, void *arguments) {
  scans.count++;
  assert_int_equal((int)request, SCAN_REQUEST);
  return scans.answer != NULL ? scans.answer(arguments) : ioctl(file, request, arguments);
}

/* --- the injector --- */

static const char *const calls[] = {"mmap",  "munmap", "mprotect", "mremap", "madvise", "prctl",
                                    "ioctl", "open",   "close",    "read",   "write",   "clock_gettime"};
#define CALLS (sizeof calls / sizeof *calls)

static struct {
  const char *call;  /* the call that fails; NULL: none */
  unsigned from, to; /* its from-th to to-th call fail, counted from 1 */
  int error;
  unsigned count; /* times it was called */
  unsigned seen[CALLS];
  void *hole; /* what mremap has unmapped before it fails, or NULL */
} fault;

bool crd_fault_should_fail(const char *call, int *error) {
  for (size_t i = 0; i < CALLS; i++)
    if (strcmp(call, calls[i]) == 0) fault.seen[i]++;
  if (fault.call == NULL || strcmp(call, fault.call) != 0) return false;
  fault.count++;
  if (fault.count < fault.from || fault.count > fault.to) return false;
  if (fault.hole != NULL) munmap(fault.hole, HUGE_BYTES);
  *error = fault.error;
  return true;
}

static void refuse_between(const char *call, unsigned from, unsigned to, int error) {
  fault.call = call;
  fault.from = from;
  fault.to = to;
  fault.error = error;
  fault.count = 0;
  fault.hole = NULL;
  errno = 77;
}

static void refuse(const char *call, int error) {
  refuse_between(call, 1, UINT32_MAX, error);
}

/* Makes calls succeed again. The failing call must have been made, and errno must be unchanged. */
static void heal(void) {
  assert_true(fault.call == NULL || fault.count >= fault.from);
  assert_int_equal(errno, 77); /* [pages.2] */
  fault.call = NULL;
}

static int no_fault(void **state) {
  (void)state;
  memset(&fault, 0, sizeof fault);
  memset(&scans, 0, sizeof scans);
  memset(&writes, 0, sizeof writes);
  memset(&maps, 0, sizeof maps);
  smaps = NULL;
  return 0;
}

/* --- what must hold --- */

static size_t page_bytes(void) {
  return (size_t)sysconf(_SC_PAGESIZE);
}

static size_t address_space(void) {
  char text[64] = {0};
  int file = open("/proc/self/statm", O_RDONLY);
  assert_true(read(file, text, sizeof text - 1) > 0);
  close(file);
  return strtoul(text, NULL, 10) * page_bytes();
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

static void give_back(char *base, size_t size) {
  assert_false(is_hole(base, size)); /* [pages.3] */
  assert_true(crd_pages_unreserve(base, size));
}

/* --- reservations --- */

static void reserve_refused(void **state) {
  (void)state;
  refuse("mmap", ENOMEM);
  assert_null(crd_pages_reserve(HUGE_BYTES, HUGE_BYTES, NULL));
  assert_null(crd_pages_reserve(HUGE_BYTES, HUGE_BYTES, (void *)(uintptr_t)(HUGE_BYTES << 20)));
  heal();
}

static void reserve_that_cannot_trim_is_aligned_all_the_same(void **state) {
  (void)state;
  refuse("munmap", ENOMEM);
  char *base;
  do base = crd_pages_reserve(HUGE_BYTES, 8 * HUGE_BYTES, NULL);
  while (base != NULL && fault.count == 0); /* the system's own choice happened to be aligned */
  heal();
  assert_non_null(base);
  assert_int_equal((uintptr_t)base % (8 * HUGE_BYTES), 0);
  give_back(base, HUGE_BYTES);
}

/* Where the system's own choice is aligned, as it is for base pages, nothing is mapped but what was asked for. */
static void an_aligned_reservation_takes_one_call(void **state) {
  (void)state;
  refuse_between("mmap", 2, UINT32_MAX, ENOMEM);
  char *base = crd_pages_reserve(3 * page_bytes(), page_bytes(), NULL);
  assert_non_null(base);
  assert_int_equal(fault.count, 1);
  fault.call = NULL;
  give_back(base, 3 * page_bytes());
}

/* What is mapped elsewhere is given back: the caller asked for its address or nothing. */
static void an_address_that_is_a_wish_is_refused(void **state) {
  (void)state;
  char *base = reserve(HUGE_BYTES);
  size_t before = address_space();
  maps.anywhere = true;
  errno = 77;
  assert_null(crd_pages_reserve(HUGE_BYTES, HUGE_BYTES, base));
  assert_int_equal(errno, 77);
  assert_int_equal(address_space(), before);
  give_back(base, HUGE_BYTES);
}

/* Whatever the size, the ends of a longer range are given back. */
static void a_reservation_is_aligned_wherever_the_system_maps(void **state) {
  (void)state;
  const size_t page = page_bytes(), before = address_space();
  maps.odd = true;
  for (size_t pages = 1; pages <= 16; pages *= 2)
    for (size_t alignment = 2 * page; alignment <= 64 * page; alignment *= 2) {
      char *base = crd_pages_reserve(pages * page, alignment, NULL);
      assert_non_null(base);
      assert_int_equal((uintptr_t)base % alignment, 0);
      assert_int_equal(address_space(), before + pages * page);
      give_back(base, pages * page);
      assert_int_equal(address_space(), before);
    }
}

static void unreserve_refused_leaves_the_reservation(void **state) {
  (void)state;
  char *base = reserve(HUGE_BYTES);
  refuse("munmap", ENOMEM);
  assert_false(crd_pages_unreserve(base, HUGE_BYTES));
  heal();
  give_back(base, HUGE_BYTES);
}

/* --- commit and release --- */

static void commit_refused_can_be_tried_again(void **state) {
  (void)state;
  char *base = reserve(HUGE_BYTES);
  refuse("mprotect", ENOMEM);
  assert_false(crd_pages_commit(base, HUGE_BYTES));
  heal();
  assert_false(is_readable(base));
  assert_true(crd_pages_commit(base, HUGE_BYTES));
  assert_int_equal(base[0], 0);
  give_back(base, HUGE_BYTES);
}

static void protect_refused_leaves_access(void **state) {
  (void)state;
  char *base = reserve_committed(HUGE_BYTES);
  base[0] = 1;
  refuse("mprotect", ENOMEM);
  assert_false(crd_pages_protect(base, HUGE_BYTES, false));
  heal();
  assert_int_equal(base[0], 1);
  give_back(base, HUGE_BYTES);
}

static void release_refused_keeps_the_contents(void **state) {
  (void)state;
  char *base = reserve_committed(HUGE_BYTES);
  base[0] = 1;
  refuse("mmap", ENOMEM);
  assert_false(crd_pages_release(base, HUGE_BYTES));
  heal();
  assert_int_equal(base[0], 1);
  give_back(base, HUGE_BYTES);
}

static void discard_refused_keeps_the_contents(void **state) {
  (void)state;
  char *base = reserve_committed(HUGE_BYTES);
  base[0] = 1;
  refuse("madvise", EAGAIN);
  assert_false(crd_pages_discard(base, HUGE_BYTES));
  heal();
  assert_int_equal(base[0], 1);
  give_back(base, HUGE_BYTES);
}

/* --- the pool --- */

static void pool_moves_into_its_place(void **state) {
  (void)state;
  char *base = reserve(3 * HUGE_BYTES), *middle = base + HUGE_BYTES;
  refuse(NULL, 0);
  assert_true(crd_pages_commit_pool(middle, HUGE_BYTES, HUGE_BYTES));
  heal();
  memset(middle, 1, HUGE_BYTES);
  assert_false(is_readable(middle - 1));
  assert_false(is_readable(middle + HUGE_BYTES));
  assert_true(crd_pages_release(middle, HUGE_BYTES));
  assert_false(is_readable(middle));
  give_back(base, 3 * HUGE_BYTES);
}

/* Whichever step is refused, the slot is unchanged and nothing else stays mapped. */
static void pool_refused_at_any_step(void **state) {
  (void)state;
  static const struct {
    const char *call;
    int error;
  } steps[] = {{"mmap", ENOMEM}, {"madvise", EFAULT}, {"mremap", ENOMEM}};
  char *base = reserve(3 * HUGE_BYTES), *middle = base + HUGE_BYTES;
  size_t before = address_space();
  for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
    refuse(steps[i].call, steps[i].error);
    assert_false(crd_pages_commit_pool(middle, HUGE_BYTES, HUGE_BYTES));
    heal();
    assert_false(is_readable(middle));
    assert_false(is_hole(base, 3 * HUGE_BYTES));
    assert_int_equal(address_space(), before);
  }
  assert_true(crd_pages_commit(middle, HUGE_BYTES));
  give_back(base, 3 * HUGE_BYTES);
}

static void pool_refused_with_its_target_unmapped_leaves_no_hole(void **state) {
  (void)state;
  char *base = reserve(3 * HUGE_BYTES), *middle = base + HUGE_BYTES;
  refuse("mremap", EINVAL);
  fault.hole = middle;
  assert_false(crd_pages_commit_pool(middle, HUGE_BYTES, HUGE_BYTES));
  heal();
  assert_false(is_hole(base, 3 * HUGE_BYTES));
  assert_true(crd_pages_commit(middle, HUGE_BYTES));
  middle[0] = 1;
  give_back(base, 3 * HUGE_BYTES);
}

/* --- advice --- */

static void refused_advice_has_no_consequence(void **state) {
  (void)state;
  char *base = reserve_committed(HUGE_BYTES);
  base[0] = 1;
  refuse("madvise", EAGAIN);
  crd_pages_advise_huge(base, HUGE_BYTES, true);
  crd_pages_advise_huge(base, HUGE_BYTES, false);
  assert_false(crd_pages_populate(base, HUGE_BYTES));
  heal();
  refuse("prctl", EINVAL);
  crd_pages_name(base, HUGE_BYTES, "cradle test");
  heal();
  assert_int_equal(base[0], 1);
  give_back(base, HUGE_BYTES);
}

/* --- figures --- */

static void assert_backing(const char *base, size_t size, size_t resident) {
  crd_pages_backing backing;
  assert_true(crd_pages_backing_of(base, size, &backing));
  assert_int_equal(backing.resident_bytes, resident);
  assert_int_equal(backing.huge_bytes, 0);
}

/* Alternating resident and absent pages. Every byte is touched, for the kernel's pages may be smaller than those that
 * the test simulates. */
static char *touch_alternate_pages(size_t pages) {
  char *base = reserve_committed(HUGE_BYTES);
  crd_pages_advise_huge(base, HUGE_BYTES, false);
  for (size_t i = 0; i < pages; i++) memset(base + 2 * i * page_bytes(), 1, page_bytes());
  return base;
}

static bool has_figures(const char *base) {
  crd_pages_backing backing;
  return crd_pages_backing_of(base, HUGE_BYTES, &backing);
}

static void smaps_tells_what_the_scan_does_not(void **state) {
  (void)state;
  /* With pages of 4 KiB, these are more regions than one scan returns. */
  size_t pages = HUGE_BYTES / 2 / page_bytes() < 200 ? HUGE_BYTES / 2 / page_bytes() : 200;
  char *base = touch_alternate_pages(pages);
  if (!has_figures(base)) skip();
  assert_backing(base, HUGE_BYTES, pages * page_bytes());
  refuse("ioctl", ENOTTY);
  assert_backing(base, HUGE_BYTES, pages * page_bytes());
  assert_backing(base, HUGE_BYTES / 2, pages / 2 * page_bytes()); /* estimated as a proportion of the whole */
  heal();
  refuse_between("ioctl", 2, 2, EFAULT); /* fails half-way: the count so far is discarded */
  assert_backing(base, HUGE_BYTES, pages * page_bytes());
  assert_int_equal(errno, 77);
  refuse_between("open", 1, 1, EMFILE);
  assert_backing(base, HUGE_BYTES, pages * page_bytes());
  heal();
  give_back(base, HUGE_BYTES);
}

/* The kernel reports a region of three units for each four, the last of every eight regions on huge pages. */
#define UNIT ((uintptr_t)1 << 14)

static int report_regions(struct scan_arguments *arguments) {
  struct scan_region *regions = (struct scan_region *)(uintptr_t)arguments->vector;
  int count = 0;
  assert_int_equal(arguments->size, sizeof *arguments);
  assert_int_equal(arguments->vector_length, SCAN_REGIONS);
  uint64_t at = arguments->start;
  for (; at < arguments->end && count < SCAN_REGIONS; at += 4 * UNIT) {
    regions[count].start = at;
    regions[count].end = at + 3 * UNIT;
    regions[count].categories = SCAN_PRESENT | (count % 8 == 7 ? SCAN_HUGE : 0);
    count++;
  }
  arguments->walk_end = at;
  return count;
}

static int report_nothing(struct scan_arguments *arguments) {
  arguments->walk_end = arguments->end;
  return 0;
}

static int stand_still(struct scan_arguments *arguments) {
  arguments->walk_end = arguments->start;
  return 0;
}

static int report_too_many(struct scan_arguments *arguments) {
  arguments->walk_end = arguments->end;
  return SCAN_REGIONS + 1;
}

/* What the scan says of a range; false: it says nothing. The range is not mapped, so that smaps would say 0 bytes, and
 * cannot be opened. */
static bool scanned(size_t size, crd_pages_backing *backing) {
  fault.call = "open";
  fault.from = fault.to = 2;
  fault.count = 0;
  bool found = crd_pages_backing_of((void *)UINT64_C(0x100000000), size, backing);
  fault.call = NULL;
  return found;
}

static void scanned_regions_are_added_up(void **state) {
  (void)state;
  crd_pages_backing backing;
  scans.answer = report_regions;
  assert_true(scanned(4 * 200 * UNIT, &backing));
  assert_int_equal(scans.count, 4); /* of at most 64 regions */
  assert_int_equal(backing.resident_bytes, 200 * 3 * UNIT);
  assert_int_equal(backing.huge_bytes, 25 * 3 * UNIT);
  assert_true(scanned(0, &backing)); /* nothing */
  assert_int_equal(scans.count, 4);
  assert_int_equal(backing.resident_bytes, 0);
  assert_true(scanned(4 * UNIT, &backing));
  assert_int_equal(backing.resident_bytes, 3 * UNIT);
  assert_int_equal(backing.huge_bytes, 0);
  scans.answer = report_nothing;
  scans.count = 0;
  assert_true(scanned(UNIT, &backing));
  assert_int_equal(backing.resident_bytes, 0);
  assert_int_equal(scans.count, 1);
  scans.answer = stand_still;
  assert_false(scanned(UNIT, &backing));
  scans.answer = report_too_many;
  assert_false(scanned(UNIT, &backing));
}

/* The figures of the range 0x10000 to 0x20000, as the file says them. */
static crd_pages_backing backing_in_file(FILE *file) {
  crd_pages_backing backing;
  smaps = file;
  assert_true(crd_pages_backing_of((void *)UINT64_C(0x10000), 0x10000, &backing));
  smaps = NULL;
  fclose(file);
  return backing;
}

static crd_pages_backing backing_in_text(const char *text) {
  FILE *file = tmpfile();
  assert_non_null(file);
  fputs(text, file);
  return backing_in_file(file);
}

static void mappings_of_smaps_are_added_up(void **state) {
  (void)state;
  /* before the range, partly in it, in it, partly again and behind it */
  crd_pages_backing backing = backing_in_text("Rss: 100 kB\n"
                                              "00001000-00010000 rw-p 00000000 00:00 0\n"
                                              "Rss:                  60 kB\n"
                                              "0000c000-00014000 rw-p 00000000 00:00 0 [heap]\n"
                                              "Size:                 32 kB\n"
                                              "Rss:                  32 kB\n"
                                              "Pss:                  32 kB\n"
                                              "AnonHugePages:        16 kB\n"
                                              "00014000-0001f000 rw-p 00000000 00:00 0\n"
                                              "Rss:                   7 kB\n"
                                              "NotAnonHugePages:     16 kB\n"
                                              "Private_Hugetlb:       8 kB\n"
                                              "Shared_Hugetlb:        4 kB\n"
                                              "0001f000-ffff0000 rw-p 00000000 00:00 0\n"
                                              "Rss:                   0 kB\n"
                                              "00020000-7fabcdef0000 rw-p 00000000 00:00 0\n"
                                              "Rss:                 100 kB\n"
                                              "rest");
  assert_int_equal(backing.resident_bytes, (16 + 7 + 8 + 4) << 10);
  assert_int_equal(backing.huge_bytes, (8 + 8 + 4) << 10);
  /* addresses of every digit; a line that only looks like a mapping's */
  backing = backing_in_text("00000000-fedcba98 ---p 00000000 00:00 0\n"
                            "Rss: 4 kB\n"
                            "0000000000010000-000000000001abcd rw-p 00000000 00:00 0\n"
                            "-00000000 none\n"
                            "abc none\n"
                            "Rss:1234567890 kB\n"
                            "rest");
  assert_int_equal(backing.resident_bytes, UINT64_C(1234567890) << 10);
  backing = backing_in_text("rest");
  assert_int_equal(backing.resident_bytes | backing.huge_bytes, 0);
}

/* A line with a long name is passed over, and a line may begin in one piece and end in the next. */
static void smaps_is_read_in_pieces(void **state) {
  (void)state;
  for (size_t length = 3900; length < 13000; length += length < 4200 ? 1 : 1000) {
    FILE *file = tmpfile();
    assert_non_null(file);
    fprintf(file, "00010000-00020000 rw-p 00000000 00:00 0\nRss: 4 kB\nName: %0*d\n", (int)length, 0);
    fprintf(file, "Private_Hugetlb: 8 kB\n00020000-00030000 rw-p 00000000 00:00 0 %0*d\nRss: 4 kB\n", (int)length, 0);
    fprintf(file, "0001f000-00020000 rw-p 00000000 00:00 0\nRss: 2 kB\n");
    crd_pages_backing backing = backing_in_file(file);
    assert_int_equal(backing.resident_bytes, (4 + 8 + 2) << 10);
    assert_int_equal(backing.huge_bytes, 8 << 10);
  }
}

/* Leaves lines where the next call has its variables. */
static __attribute__((__noinline__)) void use_the_stack(void) {
  volatile char bytes[8192];
  for (size_t i = 0; i < sizeof bytes; i++) bytes[i] = "Rss: 4 kB\n"[i % 10];
}

static void no_line_of_smaps_is_taken_twice_or_for_another(void **state) {
  (void)state;
  FILE *file = tmpfile();
  assert_non_null(file);
  fprintf(file, "00010000-00020000 rw-p 00000000 00:00 0\nRss: 16 kB\n");
  use_the_stack();
  assert_int_equal(backing_in_file(file).resident_bytes, 16 << 10);
  file = tmpfile();
  assert_non_null(file);
  fprintf(file, "00010000-00020000 rw-p 00000000 00:00 0\n");
  for (int i = 0; i < 600; i++) fprintf(file, "Rss: 4 kB\n");
  assert_int_equal(backing_in_file(file).resident_bytes, 600 << 12);
  /* a long name goes on as a mapping or a figure would begin */
  static const char *const names[] = {"00010000-00020000", "Rss: 1 kB"};
  for (size_t i = 0; i < 2; i++)
    for (int length = 4090; length < 4100; length++) {
      file = tmpfile();
      assert_non_null(file);
      fprintf(file, "00010000-00020000 rw-p 00000000 00:00 0\nRss: 16 kB\n");
      int begun = fprintf(file, "%s rw-p 00000000 00:00 0 ", i == 0 ? "00020000-00030000" : "00010000-00020000");
      fprintf(file, "%0*d%s\nRss: 32 kB\n", length - begun, 0, names[i]);
      assert_int_equal(backing_in_file(file).resident_bytes, (i == 0 ? 16 : 16 + 32) << 10);
    }
}

/* Then the kernel's file is opened as what standard input was. */
static void a_process_without_standard_input_has_figures(void **state) {
  (void)state;
  char *base = touch_alternate_pages(3);
  if (!has_figures(base)) skip();
  int input = dup(0);
  (close)(0);
  assert_backing(base, HUGE_BYTES, 3 * page_bytes());
  refuse("ioctl", ENOTTY);
  assert_backing(base, HUGE_BYTES, 3 * page_bytes());
  heal();
  assert_int_equal(dup(input), 0); /* every file was closed */
  (close)(input);
  give_back(base, HUGE_BYTES);
}

static void figures_that_nobody_tells_are_unknown(void **state) {
  (void)state;
  char *base = touch_alternate_pages(1);
  crd_pages_backing backing;
  refuse("open", EACCES);
  assert_false(crd_pages_backing_of(base, HUGE_BYTES, &backing));
  heal();
  give_back(base, HUGE_BYTES);
}

static void smaps_that_breaks_off_is_unknown(void **state) {
  (void)state;
  char *base = touch_alternate_pages(1);
  crd_pages_backing backing = {0, 0};
  for (unsigned time = 1; time <= 2; time++) {
    refuse_between("read", time, UINT32_MAX, EIO);
    scans.answer = stand_still;
    assert_false(crd_pages_backing_of(base, HUGE_BYTES, &backing));
    heal();
  }
  give_back(base, HUGE_BYTES);
}

static void file_that_does_not_close_changes_no_figure(void **state) {
  (void)state;
  char *base = touch_alternate_pages(3);
  if (!has_figures(base)) skip();
  int before = dup(0);
  refuse("close", EINTR);
  assert_backing(base, HUGE_BYTES, 3 * page_bytes());
  heal();
  close(before);
  close(before + 1); /* opened by the injector and not closed */
  give_back(base, HUGE_BYTES);
}

/* --- words and time --- */

static void last_words_go_on_after_a_signal(void **state) {
  (void)state;
  int ends[2], kept = dup(STDERR_FILENO);
  char words[8] = {0};
  assert_int_equal(pipe(ends), 0);
  dup2(ends[1], STDERR_FILENO);
  refuse_between("write", 1, 3, EINTR);
  crd_platform_last_words("words", 5);
  dup2(kept, STDERR_FILENO);
  heal();
  assert_int_equal(read(ends[0], words, sizeof words), 5);
  assert_string_equal(words, "words");
  close(ends[0]);
  close(ends[1]);
  close(kept);
}

static void last_words_are_written_bit_by_bit(void **state) {
  (void)state;
  int ends[2], kept = dup(STDERR_FILENO);
  char words[32] = {0};
  assert_int_equal(pipe(ends), 0);
  dup2(ends[1], STDERR_FILENO);
  writes.at_once = 3;
  crd_platform_last_words("twelve ", 7);
  writes.at_once = 1;
  crd_platform_last_words("words", 5);
  unsigned count = writes.count;
  crd_platform_last_words("", 0);
  bool none = writes.count == count;
  writes.takes_none = true;
  crd_platform_last_words("lost", 4);
  dup2(kept, STDERR_FILENO);
  assert_int_equal(read(ends[0], words, sizeof words), 12);
  assert_string_equal(words, "twelve words");
  assert_int_equal(count, 3 + 5);
  assert_true(none);
  assert_int_equal(writes.count, count + 1);
  close(ends[0]);
  close(ends[1]);
  close(kept);
}

static void last_words_that_fail_are_lost_in_silence(void **state) {
  (void)state;
  refuse("write", EIO);
  crd_platform_last_words("words", 5);
  heal();
  assert_int_equal(fault.count, 1);
}

static void time_that_fails_is_zero(void **state) {
  (void)state;
  refuse("clock_gettime", EINVAL);
  assert_int_equal(crd_platform_now_ns(), 0);
  heal();
}

/* --- everything at once --- */

/* Runs a reservation through its life. This function does not know which call fails; it continues after any refusal. */
static void live(void) {
  char *base = crd_pages_reserve(4 * HUGE_BYTES, HUGE_BYTES, NULL);
  crd_pages_backing backing;
  (void)crd_platform_now_ns();
  if (base == NULL) return;
  crd_pages_advise_huge(base, 4 * HUGE_BYTES, true);
  crd_pages_name(base, 4 * HUGE_BYTES, "cradle test");
  (void)crd_pages_commit_pool(base, HUGE_BYTES, HUGE_BYTES);
  (void)crd_pages_release(base, HUGE_BYTES);
  bool committed = crd_pages_commit(base, 2 * HUGE_BYTES);
  if (committed) memset(base, 1, 2 * HUGE_BYTES);
  (void)crd_pages_backing_of(base, 4 * HUGE_BYTES, &backing);
  (void)crd_pages_populate(base, HUGE_BYTES);
  (void)crd_pages_discard(base, HUGE_BYTES);
  (void)crd_pages_protect(base, HUGE_BYTES, false);
  (void)crd_pages_release(base, 2 * HUGE_BYTES);
  crd_platform_last_words("", 1);
  assert_int_equal(errno, 77);
  fault.call = NULL;
  give_back(base, 4 * HUGE_BYTES);
  errno = 77;
}

static void any_call_may_fail_at_any_time(void **state) {
  (void)state;
  static const int errors[] = {ENOMEM, EAGAIN, EINVAL};
  int kept = dup(STDERR_FILENO), sink = open("/dev/null", O_WRONLY);
  dup2(sink, STDERR_FILENO);
  for (size_t i = 0; i < CALLS; i++)
    for (unsigned time = 1; time <= 8; time++) {
      refuse_between(calls[i], time, time, errors[time % 3]);
      live();
    }
  dup2(kept, STDERR_FILENO);
  close(kept);
  close(sink);
}

/* Each system call must have gone through the seam; otherwise the test could not make it fail. "read" is used where the
 * kernel lacks the scan. */
static void every_call_goes_through_the_seam(void **state) {
  (void)state;
  int kept = dup(STDERR_FILENO), sink = open("/dev/null", O_WRONLY);
  dup2(sink, STDERR_FILENO);
  refuse("ioctl", ENOTTY);
  live();
  dup2(kept, STDERR_FILENO);
  close(kept);
  close(sink);
  for (size_t i = 0; i < CALLS; i++)
    if (fault.seen[i] == 0) fail_msg("%s was never asked for", calls[i]);
}

#define FAULT_TEST(name) cmocka_unit_test_setup(name, no_fault)

int main(void) {
  const struct CMUnitTest tests[] = {
      FAULT_TEST(reserve_refused),
      FAULT_TEST(reserve_that_cannot_trim_is_aligned_all_the_same),
      FAULT_TEST(an_aligned_reservation_takes_one_call),
      FAULT_TEST(an_address_that_is_a_wish_is_refused),
      FAULT_TEST(a_reservation_is_aligned_wherever_the_system_maps),
      FAULT_TEST(unreserve_refused_leaves_the_reservation),
      FAULT_TEST(commit_refused_can_be_tried_again),
      FAULT_TEST(protect_refused_leaves_access),
      FAULT_TEST(release_refused_keeps_the_contents),
      FAULT_TEST(discard_refused_keeps_the_contents),
      FAULT_TEST(pool_moves_into_its_place),
      FAULT_TEST(pool_refused_at_any_step),
      FAULT_TEST(pool_refused_with_its_target_unmapped_leaves_no_hole),
      FAULT_TEST(refused_advice_has_no_consequence),
      FAULT_TEST(smaps_tells_what_the_scan_does_not),
      FAULT_TEST(scanned_regions_are_added_up),
      FAULT_TEST(mappings_of_smaps_are_added_up),
      FAULT_TEST(smaps_is_read_in_pieces),
      FAULT_TEST(no_line_of_smaps_is_taken_twice_or_for_another),
      FAULT_TEST(a_process_without_standard_input_has_figures),
      FAULT_TEST(figures_that_nobody_tells_are_unknown),
      FAULT_TEST(smaps_that_breaks_off_is_unknown),
      FAULT_TEST(file_that_does_not_close_changes_no_figure),
      FAULT_TEST(last_words_go_on_after_a_signal),
      FAULT_TEST(last_words_are_written_bit_by_bit),
      FAULT_TEST(last_words_that_fail_are_lost_in_silence),
      FAULT_TEST(time_that_fails_is_zero),
      FAULT_TEST(any_call_may_fail_at_any_time),
      FAULT_TEST(every_call_goes_through_the_seam),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

#else

/* The exit status by which a test says that it was skipped. */
int main(void) {
  return 77;
}

#endif
