/* The old-to-young store test: each step makes an object and stores it into a random slot of an old array, or of an old
 * array of arrays. Only the stores are timed, the collections they cause included; the time a store is a figure of its
 * own.
 *
 * The bare loop of the arena makes the same stores with memory that costs nothing: it bumps through a ring of the size
 * of a nursery and overwrites what is stored. What the slots would hold is then made anew, outside the timed part.
 */
#include "bench/workloads.h"

enum { CHUNK_SLOTS = 1000 };

/* An array is chunked when its slots lie in arrays under it. */
static array *holder_of(array *all, bool chunked, uint64_t place) {
  return chunked ? all->slots[place / CHUNK_SLOTS] : all;
}
static uint64_t slot_of(bool chunked, uint64_t place) {
  return chunked ? place % CHUNK_SLOTS : place;
}
static uint64_t chunks_of(const workload_run *run) {
  return (run->with.slots + CHUNK_SLOTS - 1) / CHUNK_SLOTS;
}

static uint64_t add_up(workload_run *run, array *all, bool chunked) {
  uint64_t sum = 0, filled = 0;
  for (uint64_t place = 0; place < run->with.slots; place++) {
    const cell *c = holder_of(all, chunked, place)->slots[slot_of(chunked, place)];
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

static array *make(cradle_mutator *m, const workload_run *run, bool chunked) CRADLE_MAY_COLLECT {
  if (!chunked) return array_new(m, run->with.slots);
  array *all = array_new(m, chunks_of(run));
  CRADLE_ROOT(m, all);
  for (uint64_t i = 0; i < all->length; i++) {
    array *chunk = array_new(m, CHUNK_SLOTS);
    cradle_store(m, all, &all->slots[i], chunk);
  }
  return all;
}

static inline __attribute__((always_inline)) uint64_t run_cradle(workload_run *run, bool chunked) {
  cradle_heap *heap = workload_start(run);
  cradle_mutator *m = cradle_mutator_new(heap);
  uint64_t sum = 0;
  {
    array *all = make(m, run, chunked);
    CRADLE_ROOT(m, all);
    cradle_collect(m, CRADLE_COLLECT_MINOR);
    randomizer r = RANDOMIZER_SEED;
    workload_timed_begin(run);
    for (uint64_t i = 0; i < run->with.size; i++) {
      cell *fresh = CRADLE_NEW(m, cell, TYPE_CELL);
      fresh->number = i;
      uint64_t place = random_below(&r, run->with.slots);
      array *holder = holder_of(all, chunked, place);
      cradle_store(m, holder, &holder->slots[slot_of(chunked, place)], fresh);
    }
    workload_timed_end(run);
    sum = add_up(run, all, chunked);
  }
  workload_end(run, heap, m);
  return sum;
}

/* --- by hand --- */

static array *make_by_hand(manual *memory, const workload_run *run, bool chunked) {
  if (!chunked) return array_by_hand(memory, run->with.slots);
  array *all = array_by_hand(memory, chunks_of(run));
  for (uint64_t i = 0; i < all->length; i++) all->slots[i] = array_by_hand(memory, CHUNK_SLOTS);
  return all;
}

static inline __attribute__((always_inline)) void store_by_hand(manual *memory, array *all, bool chunked,
                                                                uint64_t place, uint64_t number) {
  cell *fresh = manual_take(memory, sizeof(cell));
  *fresh = (cell){TYPE_CELL, NULL, number};
  void **slot = &holder_of(all, chunked, place)->slots[slot_of(chunked, place)];
  manual_give(memory, *slot);
  *slot = fresh;
}

static inline __attribute__((always_inline)) void store_all_by_hand(manual *memory, const workload_run *run, array *all,
                                                                    bool chunked) {
  randomizer r = RANDOMIZER_SEED;
  for (uint64_t i = 0; i < run->with.size; i++)
    store_by_hand(memory, all, chunked, random_below(&r, run->with.slots), i);
}

static inline __attribute__((always_inline)) void store_all_bare(manual *memory, const workload_run *run, array *all,
                                                                 bool chunked) {
  randomizer r = RANDOMIZER_SEED;
  char *ring = manual_mark(memory);
  for (uint64_t i = 0; i < run->with.size; i++) {
    manual_wrap(memory, ring);
    store_by_hand(memory, all, chunked, random_below(&r, run->with.slots), i);
  }
}

static void give_all(manual *memory, const workload_run *run, array *all, bool chunked) {
  for (uint64_t place = 0; place < run->with.slots; place++)
    manual_give(memory, holder_of(all, chunked, place)->slots[slot_of(chunked, place)]);
  if (chunked)
    for (uint64_t i = 0; i < all->length; i++) manual_give(memory, all->slots[i]);
  manual_give(memory, all);
}

static inline __attribute__((always_inline)) uint64_t run_by_hand(workload_run *run, manual *memory, bool chunked) {
  array *all = make_by_hand(memory, run, chunked);
  workload_timed_begin(run);
  if (manual_frees(memory))
    store_all_by_hand(memory, run, all, chunked);
  else
    store_all_bare(memory, run, all, chunked);
  workload_timed_end(run);
  if (!manual_frees(memory)) store_all_by_hand(memory, run, all, chunked);
  uint64_t sum = add_up(run, all, chunked);
  give_all(memory, run, all, chunked);
  return sum;
}

/* --- one array, and chunked --- */

static uint64_t one_cradle(workload_run *run) {
  return run_cradle(run, false);
}
static uint64_t one_by_hand(workload_run *run, manual *memory) {
  return run_by_hand(run, memory, false);
}
static uint64_t chunked_cradle(workload_run *run) {
  return run_cradle(run, true);
}
static uint64_t chunked_by_hand(workload_run *run, manual *memory) {
  return run_by_hand(run, memory, true);
}

const workload workload_store = {
    .name = "store",
    .help = "SIZE stores of a fresh object into a random one of an old array's --slots",
    .cradle = one_cradle,
    .by_hand = one_by_hand,
    .on_arena = true,
    .usual = {.size = 20000000, .slots = 1000000, .runs = 5},
    .small = {.size = 3000, .slots = 500, .runs = 1},
};

const workload workload_store_chunked = {
    .name = "store-chunked",
    .help = "the same, the --slots in arrays of 1000 under an array",
    .cradle = chunked_cradle,
    .by_hand = chunked_by_hand,
    .on_arena = true,
    .usual = {.size = 20000000, .slots = 1000000, .runs = 5},
    .small = {.size = 3000, .slots = 2500, .runs = 1},
};
