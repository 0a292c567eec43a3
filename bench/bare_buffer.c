/* The bare loops' memory: a buffer of the nursery's size, on the kind of pages that the nursery
 * asks for. */
#include "bench/allocate_loops.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#define HUGE_PAGE_BYTES ((size_t)2 << 20)
#define BARE_STACK_WORDS 64

static size_t round_up(size_t bytes) {
  return (bytes + HUGE_PAGE_BYTES - 1) & ~(HUGE_PAGE_BYTES - 1);
}

static char *map(size_t bytes, int flags) {
  void *address = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0);
  return address == MAP_FAILED ? NULL : address;
}

/* Aligned to the huge page, with the slack left mapped and untouched. */
static char *map_transparent(size_t bytes, bool huge) {
  char *address = map(bytes + HUGE_PAGE_BYTES, 0);
  if (address == NULL) return NULL;
  char *start = (char *)(((uintptr_t)address + HUGE_PAGE_BYTES - 1) & ~(uintptr_t)(HUGE_PAGE_BYTES - 1));
  madvise(start, bytes, huge ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
  return start;
}

bool bare_open(bare *bump, size_t bytes, cradle_hugepages policy) {
  static cradle_word stack[BARE_STACK_WORDS];
  size_t mapped = round_up(bytes);
  bool pool = policy != CRADLE_HUGEPAGES_AUTO && policy != CRADLE_HUGEPAGES_OFF;
  char *start = pool ? map(mapped, MAP_HUGETLB) : NULL;
  if (start == NULL) start = map_transparent(mapped, policy != CRADLE_HUGEPAGES_OFF);
  if (start == NULL) return false;
  *bump = (bare){.free = start,
                 .top = start + bytes,
                 .shadow_top = stack,
                 .shadow_limit = stack + BARE_STACK_WORDS,
                 .shadow_base = stack,
                 .start = start};
  return true;
}

char *bare_refill(bare *bump, uint64_t bytes) {
  bump->free = bump->start + bytes;
  return bump->start;
}

void bare_stack_misuse(bare *bump) {
  (void)bump;
  fprintf(stderr, "the bare loop's shadow stack is out of its bounds\n");
  abort();
}
