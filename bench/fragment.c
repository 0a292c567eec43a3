/* The fragmentation adversary: --live bytes of objects of 24 to 8192 bytes, of which a random nine tenths die. What
 * stays resident after a compacting collection (by hand: after the frees), by what lives, is the figure. Then the dead
 * are made anew, which finds out whether the holes can be used.
 */
#include "bench/workloads.h"

#include <string.h>

enum { LEAST = 24, MOST = 8192, KEPT_OF = 10 };
#define MEAN_BYTES 1400 /* of random_size between these two, nearly */

static uint64_t length_of(const workload_run *run) {
  return run->with.live / MEAN_BYTES + 1;
}
static uint64_t random_length(randomizer *r) {
  return random_size(r, LEAST, MOST) - sizeof(bytes);
}
static void stamp(bytes *b, uint64_t i) {
  memset(b->data, (int)(i & 0xff), b->length);
}

/* The bytes of all objects, which are checked; sum is a checksum. */
static uint64_t inspect(const array *all, uint64_t *sum) {
  uint64_t total = sizeof(array) + all->length * sizeof(void *);
  for (uint64_t i = 0; i < all->length; i++) {
    const bytes *b = all->slots[i];
    if (b == NULL) continue;
    if (b->data[0] != (i & 0xff) || b->data[b->length - 1] != (i & 0xff)) workload_wrong("an object's contents");
    total += sizeof(bytes) + b->length;
    *sum = *sum * 31 + b->length;
  }
  return total;
}

static uint64_t note(workload_run *run, const char *name, const char *per_live, const array *all) {
  uint64_t sum = 0, resident = workload_resident_bytes(), live = inspect(all, &sum);
  if (live > run->live_bytes) run->live_bytes = live;
  workload_figure_add(run, name, (double)resident);
  workload_figure_add(run, per_live, (double)resident / (double)live);
  return sum;
}
static uint64_t note_filled(workload_run *run, const array *all) {
  return note(run, "filled_resident_bytes", "filled_per_live", all);
}
static uint64_t note_sparse(workload_run *run, const array *all) {
  return note(run, "sparse_resident_bytes", "sparse_per_live", all);
}
static uint64_t note_refilled(workload_run *run, const array *all) {
  return note(run, "refilled_resident_bytes", "refilled_per_live", all);
}

/* --- Cradle --- */

static void fill(cradle_mutator *m, array **all, randomizer *r) CRADLE_MAY_COLLECT {
  for (uint64_t i = 0; i < (*all)->length; i++) {
    if ((*all)->slots[i] != NULL) continue;
    bytes *b = CRADLE_NEW_ARRAY(m, bytes, TYPE_BYTES, data, length, random_length(r));
    stamp(b, i);
    cradle_store(m, *all, &(*all)->slots[i], b);
  }
}

static uint64_t run_cradle(workload_run *run) {
  cradle_heap *heap = workload_start(run);
  cradle_mutator *m = cradle_mutator_new(heap);
  uint64_t sum = 0;
  {
    randomizer r = RANDOMIZER_SEED;
    array *all = array_new(m, length_of(run));
    CRADLE_ROOT(m, all);
    fill(m, &all, &r);
    sum += note_filled(run, all);
    for (uint64_t i = 0; i < all->length; i++)
      if (random_below(&r, KEPT_OF) != 0) cradle_store(m, all, &all->slots[i], NULL);
    cradle_collect(m, CRADLE_COLLECT_COMPACTING);
    sum += note_sparse(run, all);
    fill(m, &all, &r);
    cradle_collect(m, CRADLE_COLLECT_FULL);
    sum += note_refilled(run, all);
  }
  workload_end(run, heap, m);
  return sum;
}

/* --- by hand --- */

static void fill_by_hand(manual *memory, array *all, randomizer *r) {
  for (uint64_t i = 0; i < all->length; i++) {
    if (all->slots[i] != NULL) continue;
    bytes *b = bytes_by_hand(memory, random_length(r));
    stamp(b, i);
    all->slots[i] = b;
  }
}

static void drop(manual *memory, array *all, uint64_t i) {
  manual_give(memory, all->slots[i]);
  all->slots[i] = NULL;
}

static uint64_t run_by_hand(workload_run *run, manual *memory) {
  randomizer r = RANDOMIZER_SEED;
  array *all = array_by_hand(memory, length_of(run));
  fill_by_hand(memory, all, &r);
  uint64_t sum = note_filled(run, all);
  for (uint64_t i = 0; i < all->length; i++)
    if (random_below(&r, KEPT_OF) != 0) drop(memory, all, i);
  sum += note_sparse(run, all);
  fill_by_hand(memory, all, &r);
  sum += note_refilled(run, all);
  for (uint64_t i = 0; i < all->length; i++) drop(memory, all, i);
  manual_give(memory, all);
  return sum;
}

const workload workload_fragment = {
    .name = "fragment",
    .help = "--live bytes of objects of many sizes, of which a random nine tenths die and are made anew",
    .cradle = run_cradle,
    .by_hand = run_by_hand,
    .usual = {.live = UINT64_C(1) << 30, .runs = 1},
    .small = {.live = 300000, .runs = 1},
};
