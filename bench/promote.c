/* Promotion by itself: SIZE times, a list of --live cells is built in young memory and then moved out of it; only the
 * moves are timed. Cradle's move is a minor collection in which all survives. The other one is Cheney's algorithm in
 * its barest form, on objects of one size and one type: copy, leave the new address behind, scan the copies. Both write
 * to memory that was not used before, page faults included.
 */
#include "bench/timing.h"
#include "bench/workloads.h"

typedef struct spent {
  uint64_t ns, cpu_ns;
} spent;

static void spent_begin(spent *s) {
  s->cpu_ns -= cpu_now_ns();
  s->ns -= now_ns();
}
static void spent_end(spent *s) {
  s->ns += now_ns();
  s->cpu_ns += cpu_now_ns();
}
static void note(workload_run *run, spent s) {
  run->begin_ns = run->cpu_begin_ns = 0;
  run->end_ns = s.ns;
  run->cpu_end_ns = s.cpu_ns;
  run->live_bytes = run->with.live * sizeof(cell);
  workload_figure_add(run, "cell_cpu_ns", (double)s.cpu_ns / (double)(run->with.size * run->with.live));
}

/* --- Cradle --- */

static uint64_t promote_cradle(workload_run *run) {
  cradle_heap *heap = workload_start(run);
  cradle_mutator *m = cradle_mutator_new(heap);
  uint64_t sum = 0;
  spent s = {0, 0};
  cradle_major_hold(m, true);
  for (uint64_t round = 0; round < run->with.size; round++) {
    cell *list = cells_new(m, run->with.live);
    CRADLE_ROOT(m, list);
    spent_begin(&s);
    cradle_collect(m, CRADLE_COLLECT_MINOR);
    spent_end(&s);
    sum += cells_sum(list);
  }
  cradle_major_hold(m, false);
  workload_end(run, heap, m);
  note(run, s);
  return sum;
}

/* --- Cheney --- */

enum { FORWARDED = TYPE_COUNT };

static cell *build_by_hand(cell *place, uint64_t count) {
  cell *list = NULL;
  for (uint64_t i = 0; i < count; i++) {
    place[i] = (cell){TYPE_CELL, list, i};
    list = &place[i];
  }
  return list;
}

static cell *copy(cell *from, cell **free) {
  if (from == NULL) return NULL;
  if (from->header == FORWARDED) return from->next;
  cell *to = (*free)++;
  *to = *from; // cradle-rootcheck: ok no heap has these
  from->header = FORWARDED;
  from->next = to;
  return to;
}

static uint64_t promote_by_hand(workload_run *run, manual *memory) {
  cell *young = manual_take(memory, run->with.live * sizeof(cell));
  uint64_t sum = 0;
  spent s = {0, 0};
  for (uint64_t round = 0; round < run->with.size; round++) {
    cell *list = build_by_hand(young, run->with.live);
    cell *old = manual_take(memory, run->with.live * sizeof(cell)), *free = old;
    spent_begin(&s);
    list = copy(list, &free);
    for (cell *scan = old; scan < free; scan++) scan->next = copy(scan->next, &free);
    spent_end(&s);
    sum += cells_sum(list);
    manual_give(memory, old);
  }
  manual_give(memory, young);
  note(run, s);
  return sum;
}

const workload workload_promote = {
    .name = "promote",
    .help = "a list of --live cells is promoted SIZE times; beside it, Cheney's algorithm on the same list",
    .cradle = promote_cradle,
    .by_hand = promote_by_hand,
    .on_arena = true,
    .usual = {.size = 100, .live = 40000, .runs = 7},
    .small = {.size = 3, .live = 1000, .runs = 1},
};
