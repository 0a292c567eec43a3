/* The old-to-young store test: each step makes an object and stores it into a random slot of an old array, or of an old
 * array of arrays. Only the stores are timed, the collections they cause included; the time a store is a figure of its own.
 */
#include "bench/workloads.h"

enum { CHUNK_SLOTS = 1000 };

static void note(workload_run *run, uint64_t filled) {
  run->live_bytes = run->with.slots * sizeof(void *) + filled * sizeof(cell);
  workload_figure_add(run, "store_ns", (double)(run->end_ns - run->begin_ns) / (double)run->with.size);
}

static uint64_t add_up(const array *a, uint64_t *filled, uint64_t sum) {
  for (uint64_t i = 0; i < a->length; i++) {
    const cell *c = a->slots[i];
    if (c == NULL) continue;
    sum = sum * 31 + c->number;
    ++*filled;
  }
  return sum;
}

/* --- one array --- */

static uint64_t one_cradle(workload_run *run) {
  cradle_heap *heap = workload_start(run);
  cradle_mutator *m = cradle_mutator_new(heap);
  uint64_t sum = 0, filled = 0;
  {
    array *all = array_new(m, run->with.slots);
    CRADLE_ROOT(m, all);
    cradle_collect_minor(m);
    randomizer r = RANDOMIZER_SEED;
    workload_timed_begin(run);
    for (uint64_t i = 0; i < run->with.size; i++) {
      cell *fresh = cradle_new(m, TYPE_CELL, sizeof(cell));
      fresh->number = i;
      cradle_store(m, all, &all->slots[random_below(&r, run->with.slots)], fresh);
    }
    workload_timed_end(run);
    sum = add_up(all, &filled, 0);
  }
  note(run, filled);
  workload_end(run, heap, m);
  return sum;
}

static cell *cell_by_hand(manual *memory, uint64_t number) {
  cell *fresh = manual_take(memory, sizeof(cell));
  *fresh = (cell){TYPE_CELL, NULL, number};
  return fresh;
}

static void give_slots(manual *memory, array *a) {
  for (uint64_t i = 0; i < a->length; i++) manual_give(memory, a->slots[i]);
  manual_give(memory, a);
}

static uint64_t one_by_hand(workload_run *run, manual *memory) {
  array *all = array_by_hand(memory, run->with.slots);
  randomizer r = RANDOMIZER_SEED;
  uint64_t filled = 0;
  workload_timed_begin(run);
  for (uint64_t i = 0; i < run->with.size; i++) {
    cell *fresh = cell_by_hand(memory, i);
    void **slot = &all->slots[random_below(&r, run->with.slots)];
    manual_give(memory, *slot);
    *slot = fresh;
  }
  workload_timed_end(run);
  uint64_t sum = add_up(all, &filled, 0);
  note(run, filled);
  give_slots(memory, all);
  return sum;
}

/* --- an array of arrays of CHUNK_SLOTS --- */

static uint64_t chunks_of(const workload_run *run) {
  return (run->with.slots + CHUNK_SLOTS - 1) / CHUNK_SLOTS;
}

static uint64_t chunked_cradle(workload_run *run) {
  cradle_heap *heap = workload_start(run);
  cradle_mutator *m = cradle_mutator_new(heap);
  uint64_t sum = 0, filled = 0;
  {
    array *chunks = array_new(m, chunks_of(run));
    CRADLE_ROOT(m, chunks);
    for (uint64_t i = 0; i < chunks->length; i++) {
      array *chunk = array_new(m, CHUNK_SLOTS);
      cradle_store(m, chunks, &chunks->slots[i], chunk);
    }
    cradle_collect_minor(m);
    randomizer r = RANDOMIZER_SEED;
    workload_timed_begin(run);
    for (uint64_t i = 0; i < run->with.size; i++) {
      cell *fresh = cradle_new(m, TYPE_CELL, sizeof(cell));
      fresh->number = i;
      uint64_t slot = random_below(&r, run->with.slots);
      array *chunk = chunks->slots[slot / CHUNK_SLOTS];
      cradle_store(m, chunk, &chunk->slots[slot % CHUNK_SLOTS], fresh);
    }
    workload_timed_end(run);
    for (uint64_t i = 0; i < chunks->length; i++) sum = add_up(chunks->slots[i], &filled, sum);
  }
  note(run, filled);
  workload_end(run, heap, m);
  return sum;
}

static uint64_t chunked_by_hand(workload_run *run, manual *memory) {
  array *chunks = array_by_hand(memory, chunks_of(run));
  for (uint64_t i = 0; i < chunks->length; i++) chunks->slots[i] = array_by_hand(memory, CHUNK_SLOTS);
  randomizer r = RANDOMIZER_SEED;
  uint64_t filled = 0, sum = 0;
  workload_timed_begin(run);
  for (uint64_t i = 0; i < run->with.size; i++) {
    cell *fresh = cell_by_hand(memory, i);
    uint64_t at = random_below(&r, run->with.slots);
    array *chunk = chunks->slots[at / CHUNK_SLOTS];
    void **slot = &chunk->slots[at % CHUNK_SLOTS];
    manual_give(memory, *slot);
    *slot = fresh;
  }
  workload_timed_end(run);
  for (uint64_t i = 0; i < chunks->length; i++) sum = add_up(chunks->slots[i], &filled, sum);
  note(run, filled);
  for (uint64_t i = 0; i < chunks->length; i++) give_slots(memory, chunks->slots[i]);
  manual_give(memory, chunks);
  return sum;
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
