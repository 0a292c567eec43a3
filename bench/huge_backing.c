/* The system's side of huge-pages: kinds of pages, the pool, mappings, and what the kernel really gave. */
#include "bench/huge_pages.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#ifndef MAP_HUGE_SHIFT
#define MAP_HUGE_SHIFT 26
#endif

#define THP_FOLDER "/sys/kernel/mm/transparent_hugepage/"
/* Memory that is left for other programs. */
#define SPARE_BYTES ((uint64_t)1 << 30)
/* A heap's tables, its nursery and the arena that is being filled. */
#define HEAP_EXTRA_BYTES ((uint64_t)64 << 20)

const char *const huge_kind_names[HUGE_KINDS] = {"small", "thp", "hugetlb", "1g"};

static char reason[160];

void huge_die(const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  fputs("huge-pages: ", stderr);
  vfprintf(stderr, format, arguments);
  fputc('\n', stderr);
  va_end(arguments);
  exit(1);
}

/* --- reading the system --- */

/* false: the file cannot be read. */
static bool read_text(const char *path, char *text, size_t size) {
  FILE *file = fopen(path, "re");
  if (file == NULL) return false;
  size_t got = fread(text, 1, size - 1, file);
  text[got] = '\0';
  return fclose(file) == 0 && got > 0;
}

/* 0: the file cannot be read, or holds no number. */
static uint64_t read_number(const char *path) {
  char text[32];
  return read_text(path, text, sizeof text) ? strtoull(text, NULL, 10) : 0;
}

/* The bytes of a line "name:  N kB"; 0: there is no such line. */
static uint64_t line_bytes(const char *text, const char *name) {
  size_t length = strlen(name);
  for (const char *line = text; line != NULL; line = strchr(line, '\n')) {
    if (*line == '\n') line++;
    if (strncmp(line, name, length) == 0 && line[length] == ':') return strtoull(line + length + 1, NULL, 10) << 10;
  }
  return 0;
}

static uint64_t memory_line(const char *name) {
  char text[8192];
  return read_text("/proc/meminfo", text, sizeof text) ? line_bytes(text, name) : 0;
}

static bool transparent_off(void) {
  char text[64];
  return read_text(THP_FOLDER "enabled", text, sizeof text) && strstr(text, "[never]") != NULL;
}

static size_t read_page_bytes(huge_kind kind) {
  if (kind == HUGE_SMALL) return (size_t)sysconf(_SC_PAGESIZE);
  if (kind == HUGE_TRANSPARENT) return read_number(THP_FOLDER "hpage_pmd_size");
  return kind == HUGE_POOL ? memory_line("Hugepagesize") : HUGE_GIGANTIC_BYTES;
}

/* 0: the system has no huge pages. Read only once, because timed code calls this. */
static size_t page_bytes(huge_kind kind) {
  static size_t sizes[HUGE_KINDS];
  static bool known[HUGE_KINDS];
  if (!known[kind]) sizes[kind] = read_page_bytes(kind);
  known[kind] = true;
  return sizes[kind];
}

static size_t round_up(size_t bytes, size_t unit) {
  return (bytes + unit - 1) / unit * unit;
}

static void pool_path(char *path, size_t size, size_t page, const char *file) {
  snprintf(path, size, "/sys/kernel/mm/hugepages/hugepages-%zukB/%s", page >> 10, file);
}

static uint64_t pool_number(size_t page, const char *file) {
  char path[128];
  pool_path(path, sizeof path, page, file);
  return read_number(path);
}

/* Pages that a mapping could get: free and not reserved by another. */
static uint64_t pool_free(size_t page) {
  uint64_t open = pool_number(page, "free_hugepages"), promised = pool_number(page, "resv_hugepages");
  return open > promised ? open - promised : 0;
}

static uint64_t needed_bytes(const huge_case *which) {
  return which->heap ? which->bytes + which->bytes / 8 + HEAP_EXTRA_BYTES : which->bytes;
}

void huge_obtained(uint64_t *resident, uint64_t *huge) {
  char text[4096];
  *resident = *huge = 0;
  if (!read_text("/proc/self/smaps_rollup", text, sizeof text)) return;
  uint64_t pool = line_bytes(text, "Private_Hugetlb");
  *resident = line_bytes(text, "Rss") + pool;
  *huge = line_bytes(text, "AnonHugePages") + pool;
}

double huge_faults(void) {
  struct rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return (double)(usage.ru_minflt + usage.ru_majflt);
}

/* --- what is available --- */

static const char *because(const char *format, ...) __attribute__((format(printf, 1, 2)));
static const char *because(const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(reason, sizeof reason, format, arguments);
  va_end(arguments);
  return reason;
}

static const char *pool_missing(const huge_case *which, huge_kind kind, bool may_grow) {
  size_t page = page_bytes(kind);
  if (page == 0) return "this system has no pool of huge pages";
  if (which->bytes < page) return because("a page is larger than the case's memory");
  unsigned long long needed = (needed_bytes(which) + page - 1) / page, open = pool_free(page);
  if (open >= needed) return NULL;
  if (kind == HUGE_GIGANTIC) return because("the pool of 1 GiB pages has %llu free, %llu are needed", open, needed);
  if (!may_grow || geteuid() != 0)
    return because("the pool has %llu free pages, %llu are needed%s", open, needed,
                   may_grow ? "; only root may add pages" : "");
  return NULL;
}

const char *huge_kind_missing(const huge_case *which, huge_kind kind, bool may_grow) {
  uint64_t available = memory_line("MemAvailable");
  bool pooled = kind == HUGE_POOL || kind == HUGE_GIGANTIC;
  if (kind == HUGE_TRANSPARENT && page_bytes(kind) == 0) return "this system has no transparent huge pages";
  if (kind == HUGE_GIGANTIC && which->heap) return "heaps ask for no pages of 1 GiB";
  if (kind == HUGE_TRANSPARENT && transparent_off())
    return "transparent huge pages are off: " THP_FOLDER "enabled says never";
  const char *missing = pooled ? pool_missing(which, kind, may_grow) : NULL;
  if (missing != NULL) return missing;
  if (available != 0 && available < needed_bytes(which) + SPARE_BYTES && !(pooled && pool_free(page_bytes(kind)) > 0))
    return because("%llu MiB are available, the case and a spare GiB need more", (unsigned long long)available >> 20);
  return NULL;
}

/* --- the pool --- */

static char pool_file[128];
static volatile int64_t pool_grown; /* pages that this program added and must remove */

/* These also run in a signal handler, so they only make system calls. */
static uint64_t read_pool_size(int file) {
  char text[32];
  uint64_t value = 0;
  ssize_t got = pread(file, text, sizeof text, 0);
  for (ssize_t i = 0; i < got && text[i] >= '0' && text[i] <= '9'; i++) value = value * 10 + (uint64_t)(text[i] - '0');
  return value;
}

static bool write_pool_size(int file, uint64_t pages) {
  char text[32];
  size_t at = sizeof text;
  do text[--at] = (char)('0' + pages % 10);
  while ((pages /= 10) != 0);
  return pwrite(file, text + at, sizeof text - at, 0) > 0;
}

/* Adds pages to the pool or removes them, and counts them in pool_grown. A lock makes two of these programs take turns;
 * signals are blocked between the change and the count. false, with errno: the system refused. */
static bool change_pool(int64_t pages) {
  sigset_t all, before;
  sigfillset(&all);
  sigprocmask(SIG_BLOCK, &all, &before);
  int file = open(pool_file, O_RDWR | O_CLOEXEC);
  bool done = file >= 0 && flock(file, LOCK_EX) == 0;
  if (done) {
    int64_t size = (int64_t)read_pool_size(file), wanted = size + pages > 0 ? size + pages : 0;
    done = write_pool_size(file, (uint64_t)wanted);
    int64_t change = (int64_t)read_pool_size(file) - size;
    pool_grown = pages > 0 && change > 0 ? change : 0;
  }
  int error = errno;
  if (file >= 0) close(file);
  sigprocmask(SIG_SETMASK, &before, NULL);
  errno = error;
  return done;
}

void huge_pool_restore(void) {
  if (pool_grown != 0) change_pool(-pool_grown);
}

static void restore_and_end(int signal_number) {
  huge_pool_restore();
  signal(signal_number, SIG_DFL);
  raise(signal_number);
}

static void restore_at_the_end(void) {
  static bool armed;
  if (armed) return;
  armed = true;
  atexit(huge_pool_restore);
  static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
  for (size_t i = 0; i < sizeof signals / sizeof signals[0]; i++) signal(signals[i], restore_and_end);
}

const char *huge_pool_grow(const huge_case *which, huge_kind kind) {
  if (kind != HUGE_POOL) return NULL;
  size_t page = page_bytes(kind);
  uint64_t needed = (needed_bytes(which) + page - 1) / page, open = pool_free(page);
  if (open >= needed) return NULL;
  pool_path(pool_file, sizeof pool_file, page, "nr_hugepages");
  restore_at_the_end();
  if (!change_pool((int64_t)(needed - open))) return because("%s: %s", pool_file, strerror(errno));
  long long given = pool_grown;
  open = pool_free(page);
  if (open >= needed) return NULL;
  huge_pool_restore();
  return because("after the system gave %lld pages the pool has %llu free, %llu are needed", given,
                 (unsigned long long)open, (unsigned long long)needed);
}

/* --- mappings --- */

static size_t mapped_bytes(huge_kind kind, size_t bytes) {
  return round_up(bytes, page_bytes(kind));
}

static char *map(size_t bytes, int flags) {
  void *address = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0);
  if (address == MAP_FAILED) huge_die("%zu bytes could not be mapped: %s", bytes, strerror(errno));
  return address;
}

/* Aligned to the huge page: maps more than needed and unmaps both ends. */
static char *map_aligned(size_t bytes, size_t page) {
  char *address = map(bytes + page, 0);
  size_t head = round_up((uintptr_t)address, page) - (uintptr_t)address;
  if (head != 0) munmap(address, head);
  munmap(address + head + bytes, page - head);
  return address + head;
}

char *huge_map(huge_kind kind, size_t bytes) {
  size_t page = page_bytes(kind), mapped = mapped_bytes(kind, bytes);
  if (kind == HUGE_POOL) return map(mapped, MAP_HUGETLB);
  if (kind == HUGE_GIGANTIC) return map(mapped, MAP_HUGETLB | (30 << MAP_HUGE_SHIFT));
  char *address = kind == HUGE_TRANSPARENT ? map_aligned(mapped, page) : map(mapped, 0);
  madvise(address, mapped, kind == HUGE_TRANSPARENT ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
  return address;
}

void huge_unmap(huge_kind kind, char *address, size_t bytes) {
  if (munmap(address, mapped_bytes(kind, bytes)) != 0) huge_die("a mapping could not be freed: %s", strerror(errno));
}

void huge_warm_up(const huge_case *which, uint64_t divide) {
  huge_kind kind = page_bytes(HUGE_TRANSPARENT) == 0 ? HUGE_SMALL : HUGE_TRANSPARENT;
  size_t bytes = needed_bytes(which) / divide;
  char *memory = huge_map(kind, bytes);
  for (size_t at = 0; at < bytes; at += page_bytes(HUGE_SMALL)) ((volatile char *)memory)[at] = 1;
  huge_unmap(kind, memory, bytes);
}

/* --- heaps --- */

void huge_heap_options(const huge_run *run, cradle_options *options) {
  static const cradle_hugepages policies[HUGE_KINDS] = {CRADLE_HUGEPAGES_OFF, CRADLE_HUGEPAGES_AUTO,
                                                        CRADLE_HUGEPAGES_HUGETLB};
  cradle_options_init(options);
  options->hugepages_nursery = options->hugepages_arenas = policies[run->kind];
}

cradle_heap *huge_heap_start(const cradle_options *options) {
  cradle_error error;
  cradle_heap *heap = cradle_heap_new_from_environment(options, &error);
  if (heap == NULL) huge_die("%s", error.message);
  return heap;
}

typedef struct byte_array {
  uint64_t header, length;
  char bytes[];
} byte_array;

/* Unchecked by -Wthread-safety, like huge_area_close: this makes the mutator, and huge_area_close frees it. */
static char *array_in_heap(huge_area *area, const huge_run *run) CRADLE_UNCHECKED_COLLECTION {
  static const cradle_type type = {.name = "area",
                                   .size = sizeof(byte_array),
                                   .items = CRADLE_ITEMS_BYTES,
                                   .item_size = 1,
                                   .length_offset = offsetof(byte_array, length)};
  cradle_options options;
  huge_heap_options(run, &options);
  options.types = &type;
  options.type_count = 1;
  area->heap = huge_heap_start(&options);
  area->mutator = cradle_mutator_new(area->heap);
  byte_array *array = CRADLE_NEW_ARRAY(area->mutator, byte_array, 0, bytes, length, area->size);
  return array->bytes;
}

/* The bytes of an array in a heap stay alive and in place, because nothing collects while the area is open. */
void huge_area_open(huge_area *area, const huge_run *run) {
  *area = (huge_area){.size = run->which->bytes, .kind = run->kind};
  area->bytes = run->which->heap ? array_in_heap(area, run) : huge_map(run->kind, area->size);
}

void huge_area_close(huge_area *area) CRADLE_UNCHECKED_COLLECTION {
  if (area->heap == NULL) {
    huge_unmap(area->kind, area->bytes, area->size);
    return;
  }
  cradle_mutator_free(area->mutator);
  cradle_heap_free(area->heap);
}
