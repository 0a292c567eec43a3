/* The write-barrier modes: loops that do little but store. Two more modes are separate workloads: "array" is store, and
 * "list" is list. Where a mode allocates, its bare loop bumps through a ring of the size of a nursery, since nothing
 * lives long.
 */
#include "bench/workloads.h"

#include <string.h>

/* Keeps a store in the loop: the compiler must assume that memory is read here. */
#define STORED() __asm__ volatile("" : : : "memory")

static cell *cell_by_hand(manual *memory, uint64_t number) {
  cell *fresh = manual_take(memory, sizeof(cell));
  *fresh = (cell){TYPE_CELL, NULL, number};
  return fresh;
}
static cell *cell_new(cradle_mutator *m, uint64_t number) CRADLE_MAY_COLLECT {
  cell *fresh = CRADLE_NEW(m, cell, TYPE_CELL);
  fresh->number = number;
  return fresh;
}

/* --- barrier-storeold: stores a reference into an old object that is already remembered --- */

static uint64_t storeold_cradle(workload_run *run) {
  cradle_heap *heap = workload_start(run);
  cradle_mutator *m = cradle_mutator_new(heap);
  uint64_t same = 0;
  {
    cell *kept = cell_new(m, 0);
    CRADLE_ROOT(m, kept);
    cradle_collect(m, CRADLE_COLLECT_MINOR);
    cell *old = kept; /* nothing collects from here on */
    workload_timed_begin(run);
    for (uint64_t i = 0; i < run->with.size; i++) {
      cradle_store(m, old, &old->next, old);
      STORED();
    }
    workload_timed_end(run);
    same = old->next == old;
  }
  workload_end(run, heap, m);
  return same;
}

static uint64_t storeold_by_hand(workload_run *run, manual *memory) {
  cell *old = cell_by_hand(memory, 0);
  workload_timed_begin(run);
  for (uint64_t i = 0; i < run->with.size; i++) {
    old->next = old;
    STORED();
  }
  workload_timed_end(run);
  uint64_t same = old->next == old;
  manual_give(memory, old);
  return same;
}

const workload workload_barrier_storeold = {
    .name = "barrier-storeold",
    .help = "SIZE stores into one old object",
    .cradle = storeold_cradle,
    .by_hand = storeold_by_hand,
    .on_arena = true,
    .usual = {.size = 300000000, .runs = 5},
    .small = {.size = 1000, .runs = 1},
};

/* --- barrier-onecell: a fresh object into the field of one old one --- */

static uint64_t onecell_cradle(workload_run *run) {
  cradle_heap *heap = workload_start(run);
  cradle_mutator *m = cradle_mutator_new(heap);
  uint64_t last = 0;
  {
    cell *old = cell_new(m, 0);
    CRADLE_ROOT(m, old);
    cradle_collect(m, CRADLE_COLLECT_MINOR);
    workload_timed_begin(run);
    for (uint64_t i = 0; i < run->with.size; i++) {
      cell *fresh = cell_new(m, i);
      cradle_store(m, old, &old->next, fresh);
    }
    workload_timed_end(run);
    last = old->next->number;
  }
  workload_end(run, heap, m);
  return last;
}

static uint64_t onecell_by_hand(workload_run *run, manual *memory) {
  cell *old = cell_by_hand(memory, 0);
  char *ring = manual_mark(memory);
  workload_timed_begin(run);
  for (uint64_t i = 0; i < run->with.size; i++) {
    manual_wrap(memory, ring);
    cell *fresh = cell_by_hand(memory, i);
    manual_give(memory, old->next);
    old->next = fresh;
    STORED();
  }
  workload_timed_end(run);
  uint64_t last = old->next->number;
  manual_give(memory, old->next);
  manual_give(memory, old);
  return last;
}

const workload workload_barrier_onecell = {
    .name = "barrier-onecell",
    .help = "SIZE stores of a fresh object into one old object",
    .cradle = onecell_cradle,
    .by_hand = onecell_by_hand,
    .on_arena = true,
    .usual = {.size = 100000000, .runs = 5},
    .small = {.size = 3000, .runs = 1},
};

/* --- barrier-cells: a fresh object into the field of a random one of many old ones --- */

static uint64_t finish_cells(workload_run *run, const array *all) {
  uint64_t sum = 0;
  for (uint64_t i = 0; i < all->length; i++) {
    const cell *holder = all->slots[i];
    if (holder->number != i) workload_wrong("an old cell's number");
    if (holder->next != NULL) sum = sum * 31 + holder->next->number;
  }
  run->live_bytes = run->with.slots * (sizeof(void *) + 2 * sizeof(cell));
  return sum;
}

static uint64_t cells_cradle(workload_run *run) {
  cradle_heap *heap = workload_start(run);
  cradle_mutator *m = cradle_mutator_new(heap);
  uint64_t sum = 0;
  {
    randomizer r = RANDOMIZER_SEED;
    array *all = array_new(m, run->with.slots);
    CRADLE_ROOT(m, all);
    for (uint64_t i = 0; i < run->with.slots; i++) {
      cell *holder = cell_new(m, i);
      cradle_store(m, all, &all->slots[i], holder);
    }
    cradle_collect(m, CRADLE_COLLECT_MINOR);
    workload_timed_begin(run);
    for (uint64_t i = 0; i < run->with.size; i++) {
      cell *fresh = cell_new(m, i);
      cell *holder = all->slots[random_below(&r, run->with.slots)];
      cradle_store(m, holder, &holder->next, fresh);
    }
    workload_timed_end(run);
    sum = finish_cells(run, all);
  }
  workload_end(run, heap, m);
  return sum;
}

static void cells_stores(workload_run *run, manual *memory, array *all, bool bare) {
  randomizer r = RANDOMIZER_SEED;
  char *ring = manual_mark(memory);
  for (uint64_t i = 0; i < run->with.size; i++) {
    if (bare) manual_wrap(memory, ring);
    cell *fresh = cell_by_hand(memory, i);
    cell *holder = all->slots[random_below(&r, run->with.slots)];
    manual_give(memory, holder->next);
    holder->next = fresh;
  }
}

static uint64_t cells_by_hand(workload_run *run, manual *memory) {
  array *all = array_by_hand(memory, run->with.slots);
  for (uint64_t i = 0; i < run->with.slots; i++) all->slots[i] = cell_by_hand(memory, i);
  workload_timed_begin(run);
  cells_stores(run, memory, all, !manual_frees(memory));
  workload_timed_end(run);
  if (!manual_frees(memory)) cells_stores(run, memory, all, false); /* remakes the cells that the ring overwrote */
  uint64_t sum = finish_cells(run, all);
  for (uint64_t i = 0; i < run->with.slots; i++) {
    cell *holder = all->slots[i];
    manual_give(memory, holder->next);
    manual_give(memory, holder);
  }
  manual_give(memory, all);
  return sum;
}

const workload workload_barrier_cells = {
    .name = "barrier-cells",
    .help = "SIZE stores of a fresh object into a random one of --slots old objects",
    .cradle = cells_cradle,
    .by_hand = cells_by_hand,
    .on_arena = true,
    .usual = {.size = 10000000, .slots = 1000000, .runs = 3},
    .small = {.size = 3000, .slots = 300, .runs = 1},
};

/* --- barrier-bigarr: large arrays that die at once --- */

static uint64_t use_array(cradle_mutator *m, array *a, cell *item) {
  cradle_store(m, a, &a->slots[0], item);
  cradle_store(m, a, &a->slots[a->length - 1], item);
  STORED();
  return a->length;
}

static uint64_t bigarr_cradle(workload_run *run) {
  cradle_heap *heap = workload_start(run);
  cradle_mutator *m = cradle_mutator_new(heap);
  uint64_t sum = 0;
  {
    cell *item = cell_new(m, 0);
    CRADLE_ROOT(m, item);
    for (uint64_t i = 0; i < run->with.size; i++) {
      array *a = array_new(m, run->with.slots);
      sum += use_array(m, a, item);
    }
  }
  workload_end(run, heap, m);
  return sum;
}

static uint64_t bigarr_by_hand(workload_run *run, manual *memory) {
  cell *item = cell_by_hand(memory, 0);
  uint64_t sum = 0;
  for (uint64_t i = 0; i < run->with.size; i++) {
    char *mark = manual_mark(memory);
    array *a = array_by_hand(memory, run->with.slots);
    sum += use_array(NULL, a, item);
    manual_give(memory, a);
    manual_drop(memory, mark);
  }
  manual_give(memory, item);
  return sum;
}

const workload workload_barrier_bigarr = {
    .name = "barrier-bigarr",
    .help = "SIZE arrays of --slots references that die at once",
    .cradle = bigarr_cradle,
    .by_hand = bigarr_by_hand,
    .on_arena = true,
    .usual = {.size = 20000, .slots = 10000, .runs = 5},
    .small = {.size = 20, .slots = 10000, .runs = 1},
};

/* --- barrier-str: strings put together --- */

enum { HALF_BYTES = 512 };

static uint64_t join(bytes *joined, const bytes *first, const bytes *second) {
  memcpy(joined->data, first->data, HALF_BYTES);
  memcpy(joined->data + HALF_BYTES, second->data, HALF_BYTES);
  STORED();
  return joined->data[1] + joined->data[2 * HALF_BYTES - 1];
}

static uint64_t str_cradle(workload_run *run) {
  cradle_heap *heap = workload_start(run);
  cradle_mutator *m = cradle_mutator_new(heap);
  uint64_t sum = 0;
  {
    bytes *first = CRADLE_NEW_ARRAY(m, bytes, TYPE_BYTES, data, length, HALF_BYTES);
    memset(first->data, 'a', HALF_BYTES);
    CRADLE_ROOT(m, first);
    bytes *second = CRADLE_NEW_ARRAY(m, bytes, TYPE_BYTES, data, length, HALF_BYTES);
    memset(second->data, 'b', HALF_BYTES);
    CRADLE_ROOT(m, second);
    for (uint64_t i = 0; i < run->with.size; i++) {
      bytes *joined = CRADLE_NEW_ARRAY(m, bytes, TYPE_BYTES, data, length, 2 * HALF_BYTES);
      sum += join(joined, first, second);
    }
  }
  workload_end(run, heap, m);
  return sum;
}

static uint64_t str_by_hand(workload_run *run, manual *memory) {
  bytes *first = bytes_by_hand(memory, HALF_BYTES), *second = bytes_by_hand(memory, HALF_BYTES);
  memset(first->data, 'a', HALF_BYTES);
  memset(second->data, 'b', HALF_BYTES);
  char *ring = manual_mark(memory);
  uint64_t sum = 0;
  for (uint64_t i = 0; i < run->with.size; i++) {
    manual_wrap(memory, ring);
    bytes *joined = manual_take(memory, sizeof(bytes) + 2 * HALF_BYTES);
    joined->header = TYPE_BYTES;
    joined->length = 2 * HALF_BYTES;
    sum += join(joined, first, second);
    manual_give(memory, joined);
  }
  manual_give(memory, first);
  manual_give(memory, second);
  return sum;
}

const workload workload_barrier_str = {
    .name = "barrier-str",
    .help = "SIZE strings of 1 KiB put together from halves, which die at once",
    .cradle = str_cradle,
    .by_hand = str_by_hand,
    .on_arena = true,
    .usual = {.size = 2000000, .runs = 5},
    .small = {.size = 300, .runs = 1},
};
