/* Tuples of three values that all live: an array of them, filled anew SIZE times. */
#include "bench/workloads.h"

static uint64_t immediate(uint64_t number) {
  return 2 * number + 1;
}

static uint64_t sum_of(const array *a) {
  uint64_t sum = 0;
  for (uint64_t i = 0; i < a->length; i++) {
    const tuple *t = a->slots[i];
    sum += t->items[0] + 3 * t->items[1] + 5 * t->items[2];
  }
  return sum;
}

static void note_live(workload_run *run) {
  run->live_bytes = sizeof(array) + run->with.slots * (sizeof(void *) + sizeof(tuple));
}

static uint64_t run_cradle(workload_run *run) {
  cradle_heap *heap = workload_start(run);
  cradle_mutator *m = cradle_mutator_new(heap);
  uint64_t sum = 0;
  {
    array *all = array_new(m, run->with.slots);
    CRADLE_ROOT(m, all);
    for (uint64_t round = 0; round < run->with.size; round++) {
      for (uint64_t i = 0; i < run->with.slots; i++) {
        tuple *t = CRADLE_NEW_UNINITIALIZED(m, tuple, TYPE_TUPLE);
        t->items[0] = immediate(i);
        t->items[1] = immediate(i + 1);
        t->items[2] = immediate(i + round);
        cradle_store(m, all, &all->slots[i], t);
      }
    }
    sum = sum_of(all);
  }
  note_live(run);
  workload_end(run, heap, m);
  return sum;
}

static uint64_t run_by_hand(workload_run *run, manual *memory) {
  array *all = array_by_hand(memory, run->with.slots);
  char *mark = manual_mark(memory);
  for (uint64_t round = 0; round < run->with.size; round++) {
    manual_drop(memory, mark);
    for (uint64_t i = 0; i < run->with.slots; i++) {
      manual_give(memory, all->slots[i]);
      tuple *t = manual_take(memory, sizeof(tuple));
      *t = (tuple){TYPE_TUPLE, {immediate(i), immediate(i + 1), immediate(i + round)}};
      all->slots[i] = t;
    }
  }
  uint64_t sum = sum_of(all);
  note_live(run);
  for (uint64_t i = 0; i < run->with.slots; i++) manual_give(memory, all->slots[i]);
  manual_give(memory, all);
  return sum;
}

const workload workload_tuples = {
    .name = "tuples",
    .help = "an array of --slots tuples of three values, filled anew SIZE times",
    .cradle = run_cradle,
    .by_hand = run_by_hand,
    .on_arena = true,
    .usual = {.size = 10, .slots = 1000000, .runs = 5},
    .small = {.size = 2, .slots = 500, .runs = 1},
};
