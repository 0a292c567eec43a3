/* Two workloads of list nodes: one in which everything survives, and a queue in which nothing survives for long but
 * everything survives once. */
#include "bench/workloads.h"

typedef struct cell {
  uint64_t header;
  struct cell *next;
  uint64_t number;
} cell;

enum { LIST_ROUNDS = 5, QUEUE_LIVE = 1000 };

static const cradle_type types[] = {{.name = "cell", .size = sizeof(cell), .references = CRADLE_SLOT(cell, next)}};

static uint64_t sum_of(const cell *list) {
  uint64_t sum = 0;
  for (; list != NULL; list = list->next) sum += list->number;
  return sum;
}

/* --- list: SIZE cells that all live, built and dropped --- */

static uint64_t build(cradle_mutator *m, uint64_t size) CRADLE_MAY_COLLECT {
  cell *list = NULL;
  for (uint64_t i = 0; i < size; i++) {
    cradle_push(m, list);
    cell *fresh = cradle_new(m, 0, sizeof(cell));
    fresh->next = cradle_pop(m);
    fresh->number = i;
    list = fresh;
  }
  return sum_of(list);
}

static uint64_t list_cradle(workload_run *run) {
  cradle_heap *heap = workload_start(run, types, 1);
  cradle_mutator *m = cradle_mutator_new(heap);
  uint64_t sum = 0;
  for (int round = 0; round < LIST_ROUNDS; round++) sum += build(m, run->size);
  workload_end(run, heap, m);
  return sum;
}

static uint64_t list_bare(workload_run *run) {
  bare_arena arena;
  bare_arena_open(&arena, run->size * sizeof(cell));
  uint64_t sum = 0;
  for (int round = 0; round < LIST_ROUNDS; round++) {
    cell *list = NULL;
    arena.free = arena.start;
    for (uint64_t i = 0; i < run->size; i++) {
      cell *fresh = bare_arena_take(&arena, sizeof(cell));
      *fresh = (cell){0, list, i};
      list = fresh;
    }
    sum += sum_of(list);
  }
  bare_arena_close(&arena);
  return sum;
}

const workload workload_list = {"list", "SIZE list cells that all live, built and dropped five times", 4000000, list_cradle,
                                list_bare};

/* --- queue: SIZE cells pass through a queue of 1,000 --- */

static uint64_t queue_cradle(workload_run *run) {
  cradle_heap *heap = workload_start(run, types, 1);
  cradle_mutator *m = cradle_mutator_new(heap);
  uint64_t sum = 0;
  {
    cell *first = NULL, *last = NULL;
    CRADLE_ROOT(m, first);
    CRADLE_ROOT(m, last);
    for (uint64_t i = 0; i < run->size; i++) {
      cell *fresh = cradle_new(m, 0, sizeof(cell));
      fresh->number = i;
      if (last == NULL)
        first = fresh;
      else
        cradle_store(m, last, &last->next, fresh);
      last = fresh;
      if (i < QUEUE_LIVE) continue;
      sum += first->number;
      first = first->next;
    }
  }
  workload_end(run, heap, m);
  return sum;
}

static uint64_t queue_bare(workload_run *run) {
  bare_arena arena;
  bare_arena_open(&arena, (QUEUE_LIVE + 1) * sizeof(cell));
  cell *first = NULL, *last = NULL;
  uint64_t sum = 0;
  for (uint64_t i = 0; i < run->size; i++) {
    if (arena.free == arena.end) arena.free = arena.start; /* a ring: the oldest cell has left the queue */
    cell *fresh = bare_arena_take(&arena, sizeof(cell));
    *fresh = (cell){0, NULL, i};
    if (last == NULL)
      first = fresh;
    else
      last->next = fresh;
    last = fresh;
    if (i < QUEUE_LIVE) continue;
    sum += first->number;
    first = first->next;
  }
  bare_arena_close(&arena);
  return sum;
}

const workload workload_queue = {"queue", "SIZE cells pass through a queue of 1,000 live ones", 20000000, queue_cradle,
                                 queue_bare};
