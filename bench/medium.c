/* medium: objects of 281 bytes to 128 KiB, small ones as likely as large ones in each octave; each of SIZE replaces a
 * random one of --slots. RPython sends each survivor of these sizes to malloc.
 */
#include "bench/parts.h"

#include <string.h>

enum { LEAST = 281, MOST = 128 << 10 };

static uint64_t random_length(randomizer *r) {
  return random_size(r, LEAST, MOST) - sizeof(bytes);
}

/* The first and the last byte hold the object's slot number, as a check. */
static void stamp(bytes *b, uint64_t place) {
  b->data[0] = b->data[b->length - 1] = place & 0xff;
}
static void check(const bytes *b, uint64_t place) {
  if (b == NULL) return;
  if (b->length < LEAST - sizeof(bytes) || b->length > MOST) workload_wrong("a medium object's length");
  if (b->data[0] != (place & 0xff) || b->data[b->length - 1] != (place & 0xff))
    workload_wrong("a medium object's contents");
}

static uint64_t finish(workload_run *run, const array *all) {
  uint64_t sum = 0;
  run->live_bytes = sizeof(array) + all->length * sizeof(void *);
  for (uint64_t i = 0; i < all->length; i++) {
    const bytes *b = all->slots[i];
    check(b, i);
    if (b == NULL) continue;
    sum = sum * 31 + b->length;
    run->live_bytes += sizeof(bytes) + b->length;
  }
  return sum;
}

void medium_step(cradle_mutator *m, array **all, randomizer *r) {
  uint64_t place = random_below(r, (*all)->length);
  bytes *b = CRADLE_NEW_ARRAY(m, bytes, TYPE_BYTES, data, length, random_length(r));
  check((*all)->slots[place], place);
  stamp(b, place);
  cradle_store(m, *all, &(*all)->slots[place], b);
}

static uint64_t run_cradle(workload_run *run) {
  cradle_heap *heap = workload_start(run);
  cradle_mutator *m = cradle_mutator_new(heap);
  uint64_t sum = 0;
  {
    randomizer r = RANDOMIZER_SEED;
    array *all = array_new(m, run->with.slots);
    CRADLE_ROOT(m, all);
    for (uint64_t i = 0; i < run->with.size; i++) medium_step(m, &all, &r);
    sum = finish(run, all);
  }
  workload_end(run, heap, m);
  return sum;
}

static uint64_t run_by_hand(workload_run *run, manual *memory) {
  randomizer r = RANDOMIZER_SEED;
  array *all = array_by_hand(memory, run->with.slots);
  for (uint64_t i = 0; i < run->with.size; i++) {
    uint64_t place = random_below(&r, all->length);
    bytes *b = bytes_by_hand(memory, random_length(&r));
    check(all->slots[place], place);
    manual_give(memory, all->slots[place]);
    stamp(b, place);
    all->slots[place] = b;
  }
  uint64_t sum = finish(run, all);
  for (uint64_t i = 0; i < all->length; i++) manual_give(memory, all->slots[i]);
  manual_give(memory, all);
  return sum;
}

const workload workload_medium = {
    .name = "medium",
    .help = "SIZE objects of 281 bytes to 128 KiB, each in the place of one of --slots",
    .cradle = run_cradle,
    .by_hand = run_by_hand,
    .usual = {.size = 100000, .slots = 2000, .runs = 5},
    .small = {.size = 60, .slots = 20, .runs = 1},
};
