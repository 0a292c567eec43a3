#include "bench/manual.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#define HUGE_BYTES ((size_t)2 << 20)

const char *manual_open_arena(manual *m, bool fresh) {
  *m = (manual){.fresh = fresh};
  void *map = mmap(NULL, MANUAL_ARENA_BYTES + HUGE_BYTES, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (map == MAP_FAILED) return "the system refuses the arena's address space";
  m->map = map;
  m->start = (char *)(((uintptr_t)map + HUGE_BYTES - 1) & ~(uintptr_t)(HUGE_BYTES - 1));
  madvise(m->start, MANUAL_ARENA_BYTES, MADV_HUGEPAGE);
  m->free = m->start;
  m->end = m->start + MANUAL_ARENA_BYTES;
  return NULL;
}

const char *manual_open_peer(manual *m, peer_id id) {
  *m = (manual){.free = NULL};
  return peer_open(&m->by, id);
}

void manual_close(manual *m) {
  if (m->map != NULL) munmap(m->map, MANUAL_ARENA_BYTES + HUGE_BYTES);
}

void manual_full(void) {
  fputs("workloads: memory for a variant without a collector was refused\n", stderr);
  exit(1);
}
