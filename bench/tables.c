/* Two things that make a major collection hard to spread out, and what their pauses are.
 *
 * weak-table: a table of --slots pairs with weak keys, each of which is only in the value of the next pair, so that a
 * scan of the table from its beginning finds no key alive: the worst order there is. SIZE times, a fresh cell is stored
 * into a random slot of an array with --slots slots. After every thousandth store, one pair of the table is changed, in
 * whatever phase the collector is.
 *
 * large-array: an array of --live bytes comes at once, and SIZE cells die after it, but for the last. The longest pause
 * is the minor collection that traces all of the array for the first time; the others are increments of the major
 * collection that it calls for.
 */
#include "bench/workloads.h"

enum { STORES_APART = 1000 };

/* --- weak-table --- */

/* Keys are numbered from the first pair. Returns the key of the last pair, which leads to all. */
static cell *fill(cradle_mutator *m, pairs **table) CRADLE_MAY_COLLECT {
  cell *last = NULL;
  CRADLE_ROOT(m, last);
  for (uint64_t i = 0; i < (*table)->length; i++) {
    cell *key = CRADLE_NEW(m, cell, TYPE_CELL);
    key->number = i;
    cradle_store(m, *table, &(*table)->items[i].key, key);
    cradle_store(m, *table, &(*table)->items[i].value, last);
    last = key;
  }
  return last;
}

static uint64_t sum_of_keys(cradle_mutator *m, const pairs *table) {
  uint64_t sum = 0;
  for (uint64_t i = 0; i < table->length; i++) {
    const cell *key = cradle_weak_get(m, &table->items[i].key);
    if (key == NULL || key->number != i) workload_wrong("a key that lives is not in its pair");
    sum += key->number;
  }
  return sum;
}

static uint64_t run_weak_table(workload_run *run) {
  cradle_heap *heap = workload_start(run);
  cradle_mutator *m = cradle_mutator_new(heap);
  uint64_t sum = 0;
  {
    randomizer r = RANDOMIZER_SEED;
    pairs *table = CRADLE_NEW_REGISTERED_ARRAY(m, pairs, TYPE_PAIRS, items, length, run->with.slots);
    CRADLE_ROOT(m, table);
    cell *first = fill(m, &table);
    CRADLE_ROOT(m, first);
    array *all = array_new(m, run->with.slots);
    CRADLE_ROOT(m, all);
    cradle_collect(m, CRADLE_COLLECT_FULL);
    workload_timed_begin(run);
    for (uint64_t i = 0; i < run->with.size; i++) {
      cell *fresh = CRADLE_NEW(m, cell, TYPE_CELL);
      cradle_store(m, all, &all->slots[random_below(&r, all->length)], fresh);
      if (i % STORES_APART != 0) continue;
      pair *stored = &table->items[random_below(&r, table->length)];
      cradle_store(m, table, &stored->value, stored->value);
    }
    workload_timed_end(run);
    sum = sum_of_keys(m, table);
    run->live_bytes = workload_measure_live(heap, m);
  }
  workload_end(run, heap, m);
  return sum;
}

const workload workload_weak_table = {
    .name = "weak-table",
    .help = "a table of --slots pairs with weak keys that is stored into after every thousandth of SIZE objects",
    .cradle = run_weak_table,
    .usual = {.size = 20000000, .slots = 1000000, .runs = 1},
    .small = {.size = 3000, .slots = 100, .runs = 1},
};

/* --- large-array --- */

static uint64_t run_large_array(workload_run *run) {
  cradle_heap *heap = workload_start(run);
  cradle_mutator *m = cradle_mutator_new(heap);
  {
    cell *last = NULL;
    CRADLE_ROOT(m, last);
    workload_timed_begin(run);
    array *all = array_new(m, run->with.live / sizeof(void *));
    CRADLE_ROOT(m, all);
    for (uint64_t i = 0; i < run->with.size; i++) {
      last = CRADLE_NEW(m, cell, TYPE_CELL);
      last->number = i;
    }
    workload_timed_end(run);
    if (last->number != run->with.size - 1) workload_wrong("the last cell is another one");
    for (uint64_t i = 0; i < all->length; i++)
      if (all->slots[i] != NULL) workload_wrong("a slot that nobody stored into is not empty");
    run->live_bytes = workload_measure_live(heap, m);
  }
  workload_end(run, heap, m);
  return run->with.size;
}

const workload workload_large_array = {
    .name = "large-array",
    .help = "an array of --live bytes that comes at once, and SIZE cells that die",
    .cradle = run_large_array,
    .usual = {.size = 20000000, .live = UINT64_C(1) << 29, .runs = 1},
    .small = {.size = 3000, .live = 100000, .runs = 1},
};
