/* The workload suite: programs with survivors, each run on a Cradle heap and, interleaved with it, on a bare C arena that
 * bumps through fresh memory and frees everything at once: the physical limit.
 *
 *   [workloads.1] Both variants of a workload do the same work and return the same checksum; the driver compares them.
 *   [workloads.2] A run makes its own heap or arena and frees it, inside the timed part.
 */
#ifndef BENCH_WORKLOADS_H
#define BENCH_WORKLOADS_H

#include <cradle/cradle.h>

typedef struct workload_run {
  size_t nursery_bytes;  /* 0: the library's choice */
  uint64_t size;         /* the workload's own measure */
  cradle_stats stats;    /* filled by the Cradle variant */
} workload_run;

typedef struct workload {
  const char *name, *help;
  uint64_t default_size;
  uint64_t (*cradle)(workload_run *run); /* returns the checksum */
  uint64_t (*bare)(workload_run *run);   /* NULL: the workload has no bare variant */
} workload;

extern const workload workload_binary_trees, workload_list, workload_queue;

/* Starts a heap for a workload, or ends the program with a message. */
cradle_heap *workload_start(const workload_run *run, const cradle_type *types, size_t count);
/* Takes the statistics and frees mutator and heap. */
void workload_end(workload_run *run, cradle_heap *heap, cradle_mutator *mutator) CRADLE_REVOKES_COLLECTION;

/* The bare arena: memory for bytes in all, on transparent huge pages where the system has them. */
typedef struct bare_arena {
  char *start, *free, *end;
} bare_arena;
void bare_arena_open(bare_arena *arena, size_t bytes);
void bare_arena_close(bare_arena *arena);
void bare_arena_full(void) __attribute__((noreturn, cold));
static inline void *bare_arena_take(bare_arena *arena, size_t bytes) {
  char *object = arena->free;
  if (object + bytes > arena->end) bare_arena_full();
  arena->free = object + bytes;
  return object;
}

#endif
