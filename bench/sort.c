/* list-sort: a linked list of random numbers, built and merge-sorted in place SIZE times. The stores are between
 * objects of all ages. Both variants store through the barrier; objects made by hand have no barrier flag and pay one
 * test for it.
 */
#include "bench/parts.h"

/* --- functions that do not allocate --- */

/* Cuts a list in two and returns the second half. */
static cell *split(cradle_mutator *m, cell *list) {
  cell *slow = list;
  for (cell *fast = list->next; fast != NULL && fast->next != NULL; fast = fast->next->next) slow = slow->next;
  cell *second = slow->next;
  cradle_store(m, slow, &slow->next, NULL);
  return second;
}

static cell *take_smaller(cell **a, cell **b) {
  cell **from = (*a)->number <= (*b)->number ? a : b;
  cell *taken = *from;
  *from = taken->next;
  return taken;
}

static cell *merge(cradle_mutator *m, cell *a, cell *b) {
  cell *first = take_smaller(&a, &b), *last = first;
  while (a != NULL && b != NULL) {
    cell *next = take_smaller(&a, &b);
    cradle_store(m, last, &last->next, next);
    last = next;
  }
  cradle_store(m, last, &last->next, a != NULL ? a : b);
  return first;
}

static cell *sort(cradle_mutator *m, cell *list) {
  if (list == NULL || list->next == NULL) return list;
  cell *second = split(m, list);
  list = sort(m, list);
  return merge(m, list, sort(m, second));
}

static uint64_t check_sorted(const cell *list, uint64_t cells) {
  uint64_t sum = 0, count = 0, last = 0;
  for (; list != NULL; list = list->next) {
    if (list->number < last) workload_wrong("a sorted list is not sorted");
    last = list->number;
    sum = sum * 31 + last;
    count++;
  }
  if (count != cells) workload_wrong("a sorted list's length");
  return sum;
}

/* --- Cradle --- */

uint64_t sort_round(cradle_mutator *m, uint64_t cells, randomizer *r) {
  cell *list = NULL;
  CRADLE_ROOT(m, list);
  for (uint64_t i = 0; i < cells; i++) {
    cell *fresh = CRADLE_NEW(m, cell, TYPE_CELL);
    fresh->next = list;
    fresh->number = random_next(r) >> 16;
    list = fresh;
  }
  list = sort(m, list);
  return check_sorted(list, cells);
}

static uint64_t run_cradle(workload_run *run) {
  cradle_heap *heap = workload_start(run);
  cradle_mutator *m = cradle_mutator_new(heap);
  randomizer r = RANDOMIZER_SEED;
  uint64_t sum = 0;
  for (uint64_t i = 0; i < run->with.size; i++) sum += sort_round(m, run->with.live, &r);
  run->live_bytes = run->with.live * sizeof(cell);
  workload_end(run, heap, m);
  return sum;
}

/* --- by hand --- */

static uint64_t sort_by_hand(manual *memory, uint64_t cells, randomizer *r) {
  char *mark = manual_mark(memory);
  cell *list = NULL;
  for (uint64_t i = 0; i < cells; i++) {
    cell *fresh = manual_take(memory, sizeof(cell));
    *fresh = (cell){TYPE_CELL, list, random_next(r) >> 16};
    list = fresh;
  }
  list = sort(NULL, list);
  uint64_t sum = check_sorted(list, cells);
  while (manual_frees(memory) && list != NULL) {
    cell *next = list->next;
    manual_give(memory, list);
    list = next;
  }
  manual_drop(memory, mark);
  return sum;
}

static uint64_t run_by_hand(workload_run *run, manual *memory) {
  randomizer r = RANDOMIZER_SEED;
  uint64_t sum = 0;
  for (uint64_t i = 0; i < run->with.size; i++) sum += sort_by_hand(memory, run->with.live, &r);
  return sum;
}

const workload workload_list_sort = {
    .name = "list-sort",
    .help = "a list of --live random numbers, built and merge-sorted SIZE times",
    .cradle = run_cradle,
    .by_hand = run_by_hand,
    .on_arena = true,
    .usual = {.size = 1, .live = 1000000, .runs = 5},
    .small = {.size = 2, .live = 500, .runs = 1},
};
