#include "tests/model/fuzz_system.h"

#if defined(__linux__)
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sysinfo.h>
#include <time.h>
#include <unistd.h>

#include "tests/model/fuzz_calls.h"

#include "tests/inside.h"

/* During a collection, some tens of microseconds pass between two readings of the clock. */
#define TICK_NS 20000

static long long clock_ns;

long long system_clock_ns(void) {
  return clock_ns;
}

int ticking_gettime(clockid_t clock, struct timespec *now) {
  (void)clock;
  long long ns = __atomic_add_fetch(&clock_ns, TICK_NS, __ATOMIC_RELAXED);
  *now = (struct timespec){(time_t)(ns / 1000000000), (long)(ns % 1000000000)};
  return 0;
}

/* Guards everything below, because the second core asks for memory, too. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static unsigned granted, refused; /* calls to come */

void system_refuse(unsigned after, unsigned count) {
  pthread_mutex_lock(&lock);
  granted = after;
  refused = count;
  pthread_mutex_unlock(&lock);
}

void system_heal(void) {
  system_refuse(0, 0);
}

void system_reset(void) {
  clock_ns = 0;
  system_heal();
}

/* --- address space that is kept from heap to heap --- */

/* Each heap is a new one, but its memory need not be: most of an execution was the kernel making mappings, faulting
 * their pages in and taking them away. What the library gives back is kept with its access, its pages that were touched
 * are cleared, and the next mapping of the size gets it. What had its access taken away or was mapped over really goes
 * back to the system. So does everything under AddressSanitizer or valgrind, which know what may be used, and where
 * pages may be swapped out, because mincore would not see them. */

#define KEPT_MOST 64
#define OPEN_MOST_BYTES ((size_t)32 << 20)
#define ONE_PAGE_BYTES ((size_t)4096)
#define CLEARED_MOST_BYTES ((size_t)64 << 10)

#if defined(__SANITIZE_ADDRESS__) || (defined(CRADLE_VALGRIND) && CRADLE_VALGRIND)
#define CAN_KEEP 0
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define CAN_KEEP 0
#endif
#endif
#ifndef CAN_KEEP
#define CAN_KEEP 1
#endif

typedef struct mapping {
  char *start;
  size_t size;
  char *open, *open_end; /* what was made accessible, and what lies between; empty: NULL */
  bool used, changed;    /* changed: the mapping no longer is what this entry says */
} mapping;
static mapping mappings[KEPT_MOST];
static size_t mapped_bytes;

size_t system_mapped_bytes(void) {
  return mapped_bytes;
}

static bool keeps(void) {
  static int known = -1;
  struct sysinfo about;
  if (known < 0) known = CAN_KEEP && sysinfo(&about) == 0 && about.totalswap == 0;
  return known;
}

static mapping *mapping_with(const char *address) {
  for (size_t i = 0; i < KEPT_MOST; i++)
    if (mappings[i].used && address >= mappings[i].start && address < mappings[i].start + mappings[i].size)
      return &mappings[i];
  return NULL;
}

static void clear_touched(char *from, const char *end) {
  static unsigned char touched[OPEN_MOST_BYTES / 4096];
  size_t page = (size_t)sysconf(_SC_PAGESIZE);
  if (mincore(from, (size_t)(end - from), touched) != 0) abort();
  for (size_t i = 0; from < end; i++, from += page)
    if (touched[i] & 1) memset(from, 0, page);
}

/* A free mapping of this size. Size 0: an entry without a mapping. */
static mapping *free_mapping(size_t size) {
  for (size_t i = KEPT_MOST; i-- > 0;)
    if (!mappings[i].used && mappings[i].size == size) return &mappings[i];
  return NULL;
}

/* With MAP_FIXED, the range is part of an earlier mapping. */
static void *counting_mmap(void *address, size_t size, int protection, int flags, int file, off_t offset) {
  mapping *kept;
  if (flags & MAP_FIXED) {
    if ((kept = mapping_with(address)) != NULL) kept->changed = true;
    return mmap(address, size, protection, flags, file, offset);
  }
  bool keep = address == NULL && protection == PROT_NONE && keeps();
  if (keep && (kept = free_mapping(size)) != NULL) {
    kept->used = true;
    mapped_bytes += size;
    return kept->start;
  }
  void *mapped = mmap(address, size, protection, flags, file, offset);
  if (mapped == MAP_FAILED) return mapped;
  mapped_bytes += size;
  if (keep && (kept = free_mapping(0)) != NULL) *kept = (mapping){.start = mapped, .size = size, .used = true};
  return mapped;
}

static int counting_munmap(void *address, size_t size) {
  mapping *kept = mapping_with(address);
  if (kept != NULL && kept->start == address && kept->size == size && !kept->changed &&
      (size_t)(kept->open_end - kept->open) <= OPEN_MOST_BYTES) {
    if (kept->open != NULL) clear_touched(kept->open, kept->open_end);
    kept->used = false;
    mapped_bytes -= size;
    return 0;
  }
  int status = munmap(address, size);
  if (status != 0) return status;
  mapped_bytes -= size;
  if (kept != NULL) *kept = (mapping){.size = 0}; /* a part of it: the rest is no longer known */
  return status;
}

/* The target is part of an earlier mapping. */
static void *counting_mremap(void *from, size_t size, size_t new_size, int flags, void *to) {
  mapping *kept = mapping_with(to);
  if (kept != NULL) kept->changed = true;
  void *moved = mremap(from, size, new_size, flags, to);
  if (moved != MAP_FAILED) mapped_bytes -= size;
  return moved;
}

static int keeping_mprotect(void *address, size_t size, int protection) {
  mapping *kept = mapping_with(address);
  char *start = address, *end = start + size;
  if (kept == NULL || kept->changed) return mprotect(address, size, protection);
  if (protection == PROT_NONE) kept->changed = true;
  if (protection != PROT_NONE && start >= kept->open && end <= kept->open_end) return 0;
  int status = mprotect(address, size, protection);
  if (status != 0 || protection == PROT_NONE) {
    kept->changed = true;
  } else if (kept->open == NULL) {
    kept->open = start, kept->open_end = end;
  } else if (start <= kept->open_end && end >= kept->open) {
    if (start < kept->open) kept->open = start;
    if (end > kept->open_end) kept->open_end = end;
  } else {
    kept->changed = true; /* two parts */
  }
  return status;
}

static int keeping_madvise(void *address, size_t size, int advice) {
  const mapping *kept = mapping_with(address);
  char *start = address;
  if (kept == NULL || kept->changed || advice != MADV_DONTNEED || size > CLEARED_MOST_BYTES || start < kept->open ||
      start + size > kept->open_end)
    return madvise(address, size, advice);
  if (size <= ONE_PAGE_BYTES)
    memset(start, 0, size); /* quicker than asking whether it was touched */
  else
    clear_touched(start, start + size);
  return 0;
}

void *locked_mmap(void *address, size_t size, int protection, int flags, int file, off_t offset) {
  pthread_mutex_lock(&lock);
  void *mapped = counting_mmap(address, size, protection, flags, file, offset);
  pthread_mutex_unlock(&lock);
  return mapped;
}

int locked_munmap(void *address, size_t size) {
  pthread_mutex_lock(&lock);
  int status = counting_munmap(address, size);
  pthread_mutex_unlock(&lock);
  return status;
}

void *locked_mremap(void *from, size_t size, size_t new_size, int flags, void *to) {
  pthread_mutex_lock(&lock);
  void *moved = counting_mremap(from, size, new_size, flags, to);
  pthread_mutex_unlock(&lock);
  return moved;
}

int locked_mprotect(void *address, size_t size, int protection) {
  pthread_mutex_lock(&lock);
  int status = keeping_mprotect(address, size, protection);
  pthread_mutex_unlock(&lock);
  return status;
}

int locked_madvise(void *address, size_t size, int advice) {
  pthread_mutex_lock(&lock);
  int status = keeping_madvise(address, size, advice);
  pthread_mutex_unlock(&lock);
  return status;
}

void system_await_round(const cradle_heap *heap) {
  const crd_marker *marker = inside_marker(heap);
  if (!marker->going) return;
  for (int i = 0; i < 1000 && __atomic_load_n(&marker->word, __ATOMIC_RELAXED) == ROUND_OFFERED; i++) sched_yield();
}

/* munmap is never refused: a mapping that is not given back would be missing for every later input. */
bool crd_fault_should_fail(const char *call, int *error) {
  if (strcmp(call, "mmap") != 0 && strcmp(call, "mprotect") != 0 && strcmp(call, "madvise") != 0) return false;
  pthread_mutex_lock(&lock);
  bool fail = refused != 0 && granted == 0;
  if (fail)
    refused--;
  else if (refused != 0)
    granted--;
  pthread_mutex_unlock(&lock);
  *error = ENOMEM;
  return fail;
}

#else
void system_refuse(unsigned after, unsigned count) {
  (void)after, (void)count;
}
void system_heal(void) {}
void system_reset(void) {}
size_t system_mapped_bytes(void) {
  return 0;
}
long long system_clock_ns(void) {
  return 0;
}
void system_await_round(const cradle_heap *heap) {
  (void)heap;
}
#endif
