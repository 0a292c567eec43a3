/* soak: for --seconds, the structures of the other workloads turn by turn in one heap, beside a graph of --live bytes
 * and an array of medium objects that stay. Every piece checks itself, and the graph is checked whole between rounds.
 */
#include "bench/graph.h"
#include "bench/parts.h"
#include "bench/timing.h"

enum { MEDIUM_SLOTS = 500, LARGE_SLOTS = 100000 };

static void mix(cradle_mutator *m, array **graph, array **medium, randomizer *r) CRADLE_MAY_COLLECT {
  uint64_t elements = (*graph)->length;
  uint64_t steps = random_below(r, elements) + 1;
  switch (random_below(r, 6)) {
  case 0: sort_round(m, steps, r); break;
  case 1: hash_round(m, steps / 2 + 1, random_next(r) >> 32); break;
  case 2:
    for (uint64_t i = 0; i < steps / 100 + 1; i++) medium_step(m, medium, r);
    break;
  case 3:
    for (uint64_t i = 0; i < 3; i++) array_new(m, random_below(r, LARGE_SLOTS));
    break;
  default:
    for (uint64_t i = 0; i < steps; i++) graph_mutate(m, graph, r);
  }
}

static uint64_t run_cradle(workload_run *run) {
  cradle_heap *heap = workload_start(run);
  cradle_mutator *m = cradle_mutator_new(heap);
  uint64_t rounds = 0, begin = now_ns();
  {
    randomizer r = RANDOMIZER_SEED;
    array *graph = array_new(m, run->with.live / GRAPH_ELEMENT_BYTES + 1);
    CRADLE_ROOT(m, graph);
    array *medium = array_new(m, MEDIUM_SLOTS);
    CRADLE_ROOT(m, medium);
    graph_fill(m, &graph, &r);
    for (; now_ns() - begin < run->with.seconds * 1000000000; rounds++) {
      mix(m, &graph, &medium, &r);
      graph_check(graph);
    }
    workload_timed_end(run);
    run->live_bytes = workload_measure_live(heap, m);
  }
  workload_figure_add(run, "rounds", (double)rounds);
  workload_end(run, heap, m);
  return 0;
}

const workload workload_soak = {
    .name = "soak",
    .help = "for --seconds everything in turn, beside a graph of --live bytes",
    .cradle = run_cradle,
    .usual = {.live = UINT64_C(64) << 20, .seconds = 180, .runs = 1},
    .small = {.live = 20000, .seconds = 1, .runs = 1},
};
