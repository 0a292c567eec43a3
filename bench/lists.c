/* Two workloads of list nodes: one in which everything survives, and a queue in which nothing survives for long but
 * everything survives once. */
#include "bench/workloads.h"

enum { LIST_ROUNDS = 5 };

/* --- list: SIZE cells that all live, built and dropped --- */

static uint64_t list_cradle(workload_run *run) {
  cradle_heap *heap = workload_start(run);
  cradle_mutator *m = cradle_mutator_new(heap);
  uint64_t sum = 0;
  for (int round = 0; round < LIST_ROUNDS; round++) sum += cells_sum(cells_new(m, run->with.size));
  run->live_bytes = run->with.size * sizeof(cell);
  workload_end(run, heap, m);
  return sum;
}

static void give(manual *memory, cell *list) {
  while (list != NULL) {
    cell *next = list->next;
    manual_give(memory, list);
    list = next;
  }
}

static uint64_t list_by_hand(workload_run *run, manual *memory) {
  char *mark = manual_mark(memory);
  uint64_t sum = 0;
  for (int round = 0; round < LIST_ROUNDS; round++) {
    cell *list = NULL;
    manual_drop(memory, mark);
    for (uint64_t i = 0; i < run->with.size; i++) {
      cell *fresh = manual_take(memory, sizeof(cell));
      *fresh = (cell){TYPE_CELL, list, i};
      list = fresh;
    }
    sum += cells_sum(list);
    if (manual_frees(memory)) give(memory, list);
  }
  run->live_bytes = run->with.size * sizeof(cell);
  return sum;
}

const workload workload_list = {
    .name = "list",
    .help = "SIZE list cells that all live, built and dropped five times",
    .cradle = list_cradle,
    .by_hand = list_by_hand,
    .on_arena = true,
    .usual = {.size = 4000000, .runs = 5},
    .small = {.size = 1000, .runs = 1},
};

/* --- queue: SIZE cells pass through a queue of --live cells --- */

static uint64_t queue_cradle(workload_run *run) {
  cradle_heap *heap = workload_start(run);
  cradle_mutator *m = cradle_mutator_new(heap);
  uint64_t sum = 0;
  {
    cell *first = NULL, *last = NULL;
    CRADLE_ROOT(m, first);
    CRADLE_ROOT(m, last);
    for (uint64_t i = 0; i < run->with.size; i++) {
      cell *fresh = CRADLE_NEW(m, cell, TYPE_CELL);
      fresh->number = i;
      if (last == NULL)
        first = fresh;
      else
        cradle_store(m, last, &last->next, fresh);
      last = fresh;
      if (i < run->with.live) continue;
      sum += first->number;
      first = first->next;
    }
  }
  run->live_bytes = run->with.live * sizeof(cell);
  workload_end(run, heap, m);
  return sum;
}

/* The arena is used as a ring: the oldest cell has left the queue before its place is used again. */
static uint64_t queue_by_hand(workload_run *run, manual *memory) {
  char *mark = manual_mark(memory);
  cell *first = NULL, *last = NULL;
  uint64_t sum = 0, place = 0;
  for (uint64_t i = 0; i < run->with.size; i++) {
    if (place++ > run->with.live) {
      manual_drop(memory, mark);
      place = 1;
    }
    cell *fresh = manual_take(memory, sizeof(cell));
    *fresh = (cell){TYPE_CELL, NULL, i};
    if (last == NULL)
      first = fresh;
    else
      last->next = fresh;
    last = fresh;
    if (i < run->with.live) continue;
    cell *oldest = first;
    sum += oldest->number;
    first = oldest->next;
    manual_give(memory, oldest);
  }
  run->live_bytes = run->with.live * sizeof(cell);
  if (manual_frees(memory)) give(memory, first);
  return sum;
}

const workload workload_queue = {
    .name = "queue",
    .help = "SIZE cells pass through a queue of --live cells",
    .cradle = queue_cradle,
    .by_hand = queue_by_hand,
    .on_arena = true,
    .usual = {.size = 20000000, .live = 1000, .runs = 5},
    .small = {.size = 3000, .live = 100, .runs = 1},
};
