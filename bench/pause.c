/* The pause test: a graph of --live bytes, all of it reached through one large array, that changes for --seconds.
 * Pauses are those of the collector's events. Beside them stand the same pauses in processor time, the longest that the
 * program waited for STEPS of its own steps, collector or not, and the hiccups of the machine in that time. Afterwards,
 * for a sixth of the time, a stall loop measures how long the same random memory accesses take without a collector: the
 * median and the longest.
 *
 * The hiccup loop never sleeps, so it runs in that time only on a processor that neither the program nor the
 * collector's thread needs. Otherwise it runs afterwards, alone, for the same sixth: then hiccups_meanwhile is 0.
 */
#include "bench/graph.h"
#include "bench/hiccup.h"
#include "bench/timing.h"

#include <sched.h>
#include <unistd.h>

enum { STEPS = 8, AFTERWARDS_SHARE = 6 };

/* Asked after the heap was filled: by then the collector's thread, if it has one, was stopped for some pauses. */
static bool has_free_processor(cradle_heap *heap) {
  cradle_statistics statistics;
  cpu_set_t allowed;
  cradle_heap_statistics(heap, &statistics, sizeof statistics);
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) return false;
  return CPU_COUNT(&allowed) > (statistics.beside_stops > 0 ? 2 : 1);
}

static uint64_t mutate_for(cradle_mutator *m, array **all, uint64_t seconds, histogram *waits) CRADLE_MAY_COLLECT {
  randomizer r = RANDOMIZER_SEED;
  uint64_t begin = now_ns(), last = begin, steps = 0;
  while (last - begin < seconds * 1000000000) {
    for (int i = 0; i < STEPS; i++) graph_mutate(m, all, &r);
    steps += STEPS;
    uint64_t now = now_ns();
    histogram_record(waits, now - last);
    last = now;
  }
  return steps;
}

static void note(workload_run *run, const histogram *waits, uint64_t steps) {
  workload_figure_add(run, "pause_cpu_p999_ns", (double)histogram_quantile(run->cpu_pauses, 0.999));
  workload_figure_add(run, "pause_cpu_max_ns", (double)run->cpu_pauses->max);
  workload_figure_add(run, "steps_per_second", (double)steps * 1e9 / (double)(run->end_ns - run->begin_ns));
  workload_figure_add(run, "wait_p999_ns", (double)histogram_quantile(waits, 0.999));
  workload_figure_add(run, "wait_max_ns", (double)waits->max);
}

static void note_hiccups(workload_run *run, const hiccup *found, bool meanwhile) {
  workload_figure_add(run, "hiccups_meanwhile", meanwhile);
  workload_figure_add(run, "hiccup_max_ns", (double)found->max_ns);
  workload_figure_add(run, "hiccups_above_1ms", (double)found->long_count);
}

static void note_hiccups_alone(workload_run *run) {
  hiccup alone;
  hiccup_start(&alone);
  sleep((unsigned)(run->with.seconds + AFTERWARDS_SHARE - 1) / AFTERWARDS_SHARE);
  hiccup_stop(&alone);
  note_hiccups(run, &alone, false);
}

static void note_stalls(workload_run *run) {
  static histogram rounds;
  rounds = (histogram){0};
  stall_measure(run->with.live, run->with.seconds * 1000000000 / AFTERWARDS_SHARE, &rounds);
  workload_figure_add(run, "stall_p50_ns", (double)histogram_quantile(&rounds, 0.5));
  workload_figure_add(run, "stall_p99_ns", (double)histogram_quantile(&rounds, 0.99));
  workload_figure_add(run, "stall_p999_ns", (double)histogram_quantile(&rounds, 0.999));
  workload_figure_add(run, "stall_max_ns", (double)rounds.max);
}

static uint64_t run_cradle(workload_run *run) {
  cradle_heap *heap = workload_start(run);
  cradle_mutator *m = cradle_mutator_new(heap);
  bool meanwhile;
  {
    static histogram waits, cpu_pauses;
    static hiccup beside;
    randomizer r = RANDOMIZER_SEED;
    array *all = array_new(m, run->with.live / GRAPH_ELEMENT_BYTES + 1);
    CRADLE_ROOT(m, all);
    graph_fill(m, &all, &r);
    cradle_collect(m, CRADLE_COLLECT_FULL);
    run->cpu_pauses = &cpu_pauses;
    meanwhile = has_free_processor(heap);
    if (meanwhile) hiccup_start(&beside);
    workload_timed_begin(run);
    uint64_t steps = mutate_for(m, &all, run->with.seconds, &waits);
    workload_timed_end(run);
    if (meanwhile) hiccup_stop(&beside);
    run->cpu_end_ns -= beside.cpu_ns;
    note(run, &waits, steps);
    if (meanwhile) note_hiccups(run, &beside, true);
    run->cpu_pauses = NULL;
    graph_check(all);
    run->live_bytes = workload_measure_live(heap, m);
  }
  workload_end(run, heap, m);
  if (!meanwhile) note_hiccups_alone(run);
  note_stalls(run);
  return 0;
}

const workload workload_pause = {
    .name = "pause",
    .help = "a graph of --live bytes that changes for --seconds; the pauses, and the machine's own hiccups",
    .cradle = run_cradle,
    .usual = {.live = UINT64_C(1) << 30, .seconds = 60, .runs = 1},
    .small = {.live = 50000, .seconds = 1, .runs = 1},
};
