/* Memory by hand, for the variants of the workloads that have no collector: a bump arena on transparent huge pages,
 * freed whole, which is the physical limit; or a peer's malloc and free behind two function pointers.
 *
 *   [manual.1] An arena has no release, a peer no arena: free == end == NULL sends each of its allocations to the call.
 */
#ifndef BENCH_MANUAL_H
#define BENCH_MANUAL_H

#include <stdbool.h>

#include "bench/peers.h"

typedef struct manual {
  char *free, *end;  /* the arena's unused part */
  char *start, *map; /* its start, and the start of its mapping */
  peer by;
  bool fresh; /* an arena that never reuses dropped memory */
} manual;

/* Address space of an arena; only touched pages take memory. */
#define MANUAL_ARENA_BYTES ((size_t)16 << 30)

/* NULL, or why it cannot be had, in words. A fresh arena never uses again what was dropped, and pays for the first
 * touch of all its memory; another one bumps over what was dropped and finds it in the cache. */
const char *manual_open_arena(manual *m, bool fresh);
const char *manual_open_peer(manual *m, peer_id id);
void manual_close(manual *m);
void manual_full(void) __attribute__((noreturn, cold));

static inline void *manual_take(manual *m, size_t bytes) {
  char *object = m->free;
  if (__builtin_expect((size_t)(m->end - object) >= bytes, 1)) {
    m->free = object + bytes;
    return object;
  }
  void *block = m->by.allocate != NULL ? m->by.allocate(bytes) : NULL;
  if (block == NULL) manual_full();
  return block;
}

/* Whether objects must be freed one by one; an arena needs no such calls. */
static inline bool manual_frees(const manual *m) {
  return m->by.release != NULL;
}
static inline void manual_give(manual *m, void *block) {
  if (m->by.release != NULL) m->by.release(block);
}

/* The arena's way to free: everything taken since the mark, at once. A fresh arena goes on behind it. */
static inline char *manual_mark(const manual *m) {
  return m->free;
}
static inline void manual_drop(manual *m, char *mark) {
  if (!m->fresh) m->free = mark;
}

/* An arena used as a ring: for loops whose objects are dead by the time it is full. */
#define MANUAL_RING_BYTES ((size_t)4 << 20)
static inline void manual_wrap(manual *m, char *ring) {
  if (m->free - ring >= (ptrdiff_t)MANUAL_RING_BYTES) m->free = ring;
}

#endif
