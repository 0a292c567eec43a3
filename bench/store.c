/* The old-to-young store test: each step makes an object and stores it into a random slot of an old array. Only the
 * stores are timed, with the collections that they cause; the time a store is a figure of its own.
 *
 * The bare loop of the arena makes the same stores with memory that costs nothing: it bumps through a ring of the size
 * of a nursery and overwrites what is stored. What the slots would hold is then made anew, outside the timed part.
 */
#include "bench/workloads.h"

static uint64_t add_up(workload_run *run, array *all) {
  uint64_t sum = 0, filled = 0;
  for (uint64_t place = 0; place < run->with.slots; place++) {
    const cell *c = all->slots[place];
    if (c == NULL) continue;
    sum = sum * 31 + c->number;
    filled++;
  }
  run->live_bytes = run->with.slots * sizeof(void *) + filled * sizeof(cell);
  workload_figure_add(run, "store_ns", (double)(run->end_ns - run->begin_ns) / (double)run->with.size);
  workload_figure_add(run, "store_cpu_ns", (double)(run->cpu_end_ns - run->cpu_begin_ns) / (double)run->with.size);
  return sum;
}

/* --- Cradle --- */

static uint64_t run_cradle(workload_run *run) {
  cradle_heap *heap = workload_start(run);
  cradle_mutator *m = cradle_mutator_new(heap);
  uint64_t sum = 0;
  {
    array *all = array_new(m, run->with.slots);
    CRADLE_ROOT(m, all);
    cradle_collect(m, CRADLE_COLLECT_MINOR);
    randomizer r = RANDOMIZER_SEED;
    workload_timed_begin(run);
    for (uint64_t i = 0; i < run->with.size; i++) {
      cell *fresh = CRADLE_NEW(m, cell, TYPE_CELL);
      fresh->number = i;
      uint64_t place = random_below(&r, run->with.slots);
      cradle_store(m, all, &all->slots[place], fresh);
    }
    workload_timed_end(run);
    sum = add_up(run, all);
  }
  workload_end(run, heap, m);
  return sum;
}

/* --- by hand --- */

static inline __attribute__((always_inline)) void store_by_hand(manual *memory, array *all, uint64_t place,
                                                                uint64_t number) {
  cell *fresh = manual_take(memory, sizeof(cell));
  *fresh = (cell){TYPE_CELL, NULL, number};
  void **slot = &all->slots[place];
  manual_give(memory, *slot);
  *slot = fresh;
}

static inline __attribute__((always_inline)) void store_all_by_hand(manual *memory, const workload_run *run,
                                                                    array *all) {
  randomizer r = RANDOMIZER_SEED;
  for (uint64_t i = 0; i < run->with.size; i++) store_by_hand(memory, all, random_below(&r, run->with.slots), i);
}

static inline __attribute__((always_inline)) void store_all_bare(manual *memory, const workload_run *run, array *all) {
  randomizer r = RANDOMIZER_SEED;
  char *ring = manual_mark(memory);
  for (uint64_t i = 0; i < run->with.size; i++) {
    manual_wrap(memory, ring);
    store_by_hand(memory, all, random_below(&r, run->with.slots), i);
  }
}

static void give_all(manual *memory, const workload_run *run, array *all) {
  for (uint64_t place = 0; place < run->with.slots; place++) manual_give(memory, all->slots[place]);
  manual_give(memory, all);
}

static uint64_t run_by_hand(workload_run *run, manual *memory) {
  array *all = array_by_hand(memory, run->with.slots);
  workload_timed_begin(run);
  if (manual_frees(memory))
    store_all_by_hand(memory, run, all);
  else
    store_all_bare(memory, run, all);
  workload_timed_end(run);
  if (!manual_frees(memory)) store_all_by_hand(memory, run, all);
  uint64_t sum = add_up(run, all);
  give_all(memory, run, all);
  return sum;
}

const workload workload_store = {
    .name = "store",
    .help = "SIZE stores of a fresh object into a random one of an old array's --slots",
    .cradle = run_cradle,
    .by_hand = run_by_hand,
    .on_arena = true,
    .usual = {.size = 20000000, .slots = 1000000, .runs = 5},
    .small = {.size = 3000, .slots = 500, .runs = 1},
};
