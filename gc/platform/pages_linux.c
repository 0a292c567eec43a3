/* Pages on Linux: the pool of huge pages, advice, and what the kernel gave. */
#include "gc/platform/pages.h"

#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "gc/platform/calls.h"

/* Constants that older C library headers lack. */
#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif
#ifndef MAP_HUGE_SHIFT
#define MAP_HUGE_SHIFT 26
#endif
#ifndef PR_SET_VMA
#define PR_SET_VMA 0x53564d41
#define PR_SET_VMA_ANON_NAME 0
#endif

/* --- the pool of huge pages --- */

static bool fits_pool_pages(const void *address, size_t size, size_t page_bytes) {
  return page_bytes != 0 && (page_bytes & (page_bytes - 1)) == 0 && size % page_bytes == 0 &&
         (uintptr_t)address % page_bytes == 0;
}

/* Maps pages of the pool somewhere else, to be moved into their place. They must not be mapped in place: a MAP_FIXED
 * that fails would leave a hole in the reservation [pages.3]. Without MAP_NORESERVE, a pool that is too small refuses
 * at once. Populating makes an error now of what could be a SIGBUS at the first touch. */
static void *map_pool(size_t size, size_t pool_page_bytes) {
  unsigned page_size = (unsigned)__builtin_ctzll(pool_page_bytes) << MAP_HUGE_SHIFT;
  int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB | (int)page_size;
  void *mapped = CALL(mmap, MAP_FAILED, NULL, size, PROT_READ | PROT_WRITE, flags, -1, 0);
  if (mapped == MAP_FAILED) return NULL;
  if (crd_pages_populate(mapped, size)) return mapped;
  crd_pages_unreserve(mapped, size);
  return NULL;
}

/* Moves pages of the pool into their place in the reservation. mremap may refuse with the target gone: an old kernel
 * cannot move pool pages, others run out of mappings half-way. So after a refusal the target is reserved again. */
static bool move_into(void *mapped, size_t size, void *address) {
  int flags = MREMAP_MAYMOVE | MREMAP_FIXED;
  if (CALL(mremap, MAP_FAILED, mapped, size, size, flags, address) != MAP_FAILED) return true;
  crd_pages_unreserve(mapped, size);
  (void)crd_pages_reserve(size, 1, address);
  return false;
}

bool crd_pages_commit_pool(void *address, size_t size, size_t pool_page_bytes) {
  if (!fits_pool_pages(address, size, pool_page_bytes)) return false;
  KEEP_ERRNO;
  void *mapped = map_pool(size, pool_page_bytes);
  return mapped != NULL && move_into(mapped, size, address);
}

/* --- advice --- */

bool crd_pages_discard(void *address, size_t size) {
  KEEP_ERRNO;
  return CALL(madvise, -1, address, size, MADV_DONTNEED) == 0;
}

void crd_pages_advise_huge(void *address, size_t size, bool wanted) {
  KEEP_ERRNO;
  (void)CALL(madvise, -1, address, size, wanted ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
}

bool crd_pages_populate(void *address, size_t size) {
  KEEP_ERRNO;
  return CALL(madvise, -1, address, size, MADV_POPULATE_WRITE) == 0;
}

void crd_pages_name(void *address, size_t size, const char *name) {
  KEEP_ERRNO;
  (void)CALL(prctl, -1, PR_SET_VMA, (unsigned long)PR_SET_VMA_ANON_NAME, address, size, name);
}

/* --- what was obtained: PAGEMAP_SCAN (Linux 6.7) --- */

/* The kernel's interface, written out for C library headers that are older than it. */
struct scan_region {
  uint64_t start, end, categories;
};
struct scan_arguments {
  uint64_t size, flags, start, end, walk_end, vector, vector_length, max_pages;
  uint64_t category_inverted, category_mask, category_any, return_mask;
};
#define SCAN_REQUEST ((int)_IOWR('f', 16, struct scan_arguments)) /* the kernel reads 32 bits; musl takes an int */
#define SCAN_PRESENT (UINT64_C(1) << 3)
#define SCAN_ZERO (UINT64_C(1) << 5) /* the shared page of zeros: read, never written, no memory */
#define SCAN_HUGE (UINT64_C(1) << 6)
#define SCAN_REGIONS 64

static void add_regions(const struct scan_region *regions, long count, crd_pages_backing *backing) {
  for (long i = 0; i < count; i++) {
    size_t bytes = (size_t)(regions[i].end - regions[i].start);
    backing->resident_bytes += bytes;
    if (regions[i].categories & SCAN_HUGE) backing->huge_bytes += bytes;
  }
}

/* Asks for the pages that are present and are not the shared page of zeros, and for each region of them whether it is
 * on huge pages. One call fills at most SCAN_REGIONS regions and says where it stopped, so it is repeated from there.
 * */
static bool scan(int pagemap, uintptr_t start, uintptr_t end, crd_pages_backing *backing) {
  struct scan_region regions[SCAN_REGIONS] = {{0, 0, 0}};
  while (start < end) {
    struct scan_arguments arguments = {
        .size = sizeof arguments,
        .start = start,
        .end = end,
        .vector = (uintptr_t)regions,
        .vector_length = SCAN_REGIONS,
        .category_inverted = SCAN_ZERO,
        .category_mask = SCAN_PRESENT | SCAN_ZERO,
        .return_mask = SCAN_PRESENT | SCAN_HUGE,
    };
    long count = CALL(ioctl, -1, pagemap, SCAN_REQUEST, &arguments);
    if (count < 0 || count > SCAN_REGIONS || arguments.walk_end <= start) return false;
    add_regions(regions, count, backing);
    start = (uintptr_t)arguments.walk_end;
  }
  return true;
}

static bool scan_pagemap(uintptr_t start, uintptr_t end, crd_pages_backing *backing) {
  int pagemap = CALL(open, -1, "/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
  if (pagemap < 0) return false;
  bool done = scan(pagemap, start, end, backing);
  (void)CALL(close, -1, pagemap);
  return done;
}

/* --- the same from smaps, for kernels without PAGEMAP_SCAN ---
 *
 * The file can be long and nothing here may allocate memory, so it is read in pieces and looked at line by line. */

typedef struct smaps_walk {
  uintptr_t start, end; /* asked for */
  /* of the mapping that the present lines describe: its bytes, and those that lie in the range; overlap <= mapping */
  size_t mapping, overlap;
  crd_pages_backing *backing;
} smaps_walk;

static const char *parse_number(const char *text, unsigned base, uint64_t *number) {
  for (*number = 0;; text++) {
    unsigned digit = *text >= 'a' && *text <= 'f' ? (unsigned)(*text - 'a') + 10 : (unsigned)(*text - '0');
    if (digit >= base) return text;
    *number = *number * base + digit;
  }
}

static void begin_mapping(smaps_walk *walk, uint64_t from, uint64_t to) {
  uint64_t low = from > walk->start ? from : walk->start;
  uint64_t high = to < walk->end ? to : walk->end;
  walk->mapping = (size_t)(to - from);
  walk->overlap = high > low ? (size_t)(high - low) : 0;
}

/* The bytes that a line says, if it has the name, else 0. Of a mapping that lies partly in the range, a proportional
 * share is counted. */
static size_t field(const smaps_walk *walk, const char *line, const char *name) {
  size_t length = strlen(name);
  uint64_t kib;
  if (strncmp(line, name, length) != 0) return 0;
  line += length;
  parse_number(line + strspn(line, " "), 10, &kib);
  return (size_t)((double)kib * 1024 * (double)walk->overlap / (double)walk->mapping);
}

static void count_line(const smaps_walk *walk, const char *line) {
  /* Rss leaves pool pages out. They are private until a fork and shared after it, so both lines are added. */
  size_t pool = field(walk, line, "Private_Hugetlb:") + field(walk, line, "Shared_Hugetlb:");
  walk->backing->resident_bytes += field(walk, line, "Rss:") + pool;
  walk->backing->huge_bytes += field(walk, line, "AnonHugePages:") + pool;
}

static void smaps_line(smaps_walk *walk, const char *line) {
  uint64_t from, to;
  const char *dash = parse_number(line, 16, &from);
  if (*dash == '-' && dash != line) {
    parse_number(dash + 1, 16, &to);
    begin_mapping(walk, from, to);
  } else if (walk->overlap != 0) {
    count_line(walk, line);
  }
}

/* Of a line only its beginning counts: behind it comes the name of a file. */
static bool walk_smaps(smaps_walk *walk, int file) {
  char buffer[4096], line[128];
  size_t length = 0;
  ssize_t got;
  while ((got = CALL(read, -1, file, buffer, sizeof buffer)) > 0)
    for (const char *at = buffer; at < buffer + got; at++)
      if (*at == '\n') {
        line[length] = '\0';
        smaps_line(walk, line);
        length = 0;
      } else if (length < sizeof line - 1) {
        line[length++] = *at;
      }
  return got == 0;
}

static bool read_smaps(uintptr_t start, uintptr_t end, crd_pages_backing *backing) {
  int file = CALL(open, -1, "/proc/self/smaps", O_RDONLY | O_CLOEXEC);
  if (file < 0) return false;
  smaps_walk walk = {.start = start, .end = end, .backing = backing};
  bool done = walk_smaps(&walk, file);
  (void)CALL(close, -1, file);
  return done;
}

bool crd_pages_backing_of(const void *address, size_t size, crd_pages_backing *backing) {
  KEEP_ERRNO;
  uintptr_t start = (uintptr_t)address;
  *backing = (crd_pages_backing){0, 0};
  if (scan_pagemap(start, start + size, backing)) return true;
  *backing = (crd_pages_backing){0, 0}; /* the scan may have failed half-way */
  return read_smaps(start, start + size, backing);
}
