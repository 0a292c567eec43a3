/* Runs of a benchmark: the kinds of pages in turn, the first turn dropped. */
#include "bench/huge_pages.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/progress.h"
#include "bench/timing.h"

/* --- phases --- */

uint64_t huge_work(const huge_run *run, uint64_t amount) {
  return amount < run->divide ? 1 : amount / run->divide;
}

void huge_phase_begin(huge_run *run) {
  run->begin_faults = huge_faults();
  counters_open(&run->counters);
  counters_start(&run->counters);
  run->begin_cpu_ns = (double)cpu_now_ns();
  run->begin_ns = now_ns();
}

void huge_phase_end(huge_run *run, int phase, uint64_t operations) {
  double ns = (double)(now_ns() - run->begin_ns), cpu_ns = (double)cpu_now_ns() - run->begin_cpu_ns;
  huge_phase *ended = &run->phases[phase];
  counters_stop(&run->counters);
  *ended =
      (huge_phase){.operations = operations, .ns = ns, .cpu_ns = cpu_ns, .faults = huge_faults() - run->begin_faults};
  for (int i = 0; i < COUNTERS; i++)
    if (!counter_read(&run->counters.counter[i], &ended->counts[i])) ended->counts[i] = -1;
  counters_close(&run->counters);
}

void huge_phase_probed(huge_run *run, int phase, uint64_t count, double faults) {
  double sorted[HUGE_PROBES_MAX];
  memcpy(sorted, run->probes[phase], count * sizeof *sorted);
  run->phases[phase] = (huge_phase){.operations = 1, .ns = median_of(sorted, count), .cpu_ns = -1, .faults = faults};
  for (int i = 0; i < COUNTERS; i++) run->phases[phase].counts[i] = -1;
}

void huge_look(huge_run *run) {
  uint64_t resident, huge;
  huge_obtained(&resident, &huge);
  run->resident_bytes = resident > run->resident_before ? resident - run->resident_before : 0;
  run->huge_bytes = huge > run->huge_before ? huge - run->huge_before : 0;
}

/* --- runs --- */

typedef struct checksum {
  bool known;
  uint64_t value;
} checksum;

static void give_reason(huge_row *row, const char *reason) {
  snprintf(row->reason, sizeof row->reason, "%s", reason);
  row->skipped = row->reason;
}

/* Makes one run. If the pool refuses, the row is skipped from here on. count: the run's figures go into the row. */
static void run_once(const huge_result *result, const huge_case *which, huge_kind kind, bool count, checksum *sum) {
  const huge_bench *bench = result->bench;
  huge_row *row = &result->rows[which - bench->cases][kind];
  huge_run run = {.which = which, .kind = kind, .divide = result->settings->divide};
  for (int i = 0; i < HUGE_PHASES_MAX && row->probes[i] != NULL; i++) run.probes[i] = row->probes[i] + row->probe_count;
  if (!result->settings->once) huge_warm_up(which, result->settings->divide);
  const char *refused = result->settings->once ? NULL : huge_pool_grow(which, kind);
  if (refused != NULL) {
    give_reason(row, refused);
    return;
  }
  huge_obtained(&run.resident_before, &run.huge_before);
  uint64_t value = bench->run(&run);
  huge_pool_restore();
  if (sum->known && sum->value != value)
    huge_die("%s %s: checksums differ between kinds of pages", bench->name, which->name);
  *sum = (checksum){true, value};
  if (!count) return;
  for (int i = 0; i < HUGE_PHASES_MAX; i++) row->phases[i][row->runs] = run.phases[i];
  row->runs++;
  if (bench->probes != 0) row->probe_count += huge_work(&run, bench->probes);
  row->resident_bytes = run.resident_bytes;
  row->huge_bytes = run.huge_bytes;
}

static void prepare_row(const huge_result *result, const huge_case *which, huge_kind kind) {
  huge_row *row = &result->rows[which - result->bench->cases][kind];
  const char *missing = huge_kind_missing(which, kind, !result->settings->once);
  if (missing != NULL) give_reason(row, missing);
  if (result->bench->probes == 0) return;
  size_t room = result->bench->probes * (size_t)result->settings->runs;
  for (int i = 0; i < HUGE_PHASES_MAX && result->bench->phases[i] != NULL; i++) {
    row->probes[i] = calloc(room, sizeof(double));
    if (row->probes[i] == NULL) huge_die("no memory for %zu times", room);
  }
}

static void finish_row(huge_row *row) {
  for (int i = 0; i < HUGE_PHASES_MAX && row->probes[i] != NULL; i++)
    qsort(row->probes[i], row->probe_count, sizeof(double), timing_compare);
}

static void measure_case(const huge_result *result, const huge_case *which) {
  const huge_settings *settings = result->settings;
  huge_row *rows = result->rows[which - result->bench->cases];
  checksum sum = {false, 0};
  char run[40];
  for (int kind = 0; kind < HUGE_KINDS; kind++)
    if (settings->kinds[kind]) prepare_row(result, which, (huge_kind)kind);
  for (int turn = settings->once ? 0 : -1; turn < settings->runs; turn++)
    for (int i = 0; i < HUGE_KINDS; i++) {
      huge_kind kind = (huge_kind)((turn + 1 + i) % HUGE_KINDS);
      if (!settings->kinds[kind] || rows[kind].skipped != NULL) continue;
      progress_show("huge-pages: %s on %s, %s", which->name, huge_kind_names[kind],
                    progress_run(turn, settings->runs, run));
      run_once(result, which, kind, turn >= 0, &sum);
    }
  progress_end();
  for (int kind = 0; kind < HUGE_KINDS; kind++) finish_row(&rows[kind]);
}

static void note_counters(huge_result *result) {
  counters probe;
  counters_open(&probe);
  for (int i = 0; i < COUNTERS; i++)
    memcpy(result->counter_reasons[i], probe.counter[i].reason, sizeof probe.counter[i].reason);
  counters_close(&probe);
}

void huge_measure(const huge_bench *bench, const huge_settings *settings, huge_result *result) {
  *result = (huge_result){.bench = bench, .settings = settings};
  result->rows = calloc(bench->case_count, sizeof *result->rows);
  result->left_out = calloc(bench->case_count, sizeof *result->left_out);
  if (result->rows == NULL || result->left_out == NULL)
    huge_die("no memory for the results of %zu cases", bench->case_count);
  note_counters(result);
  for (size_t i = 0; i < bench->case_count; i++) {
    const huge_case *which = &bench->cases[i];
    bool other = settings->only != NULL && strcmp(settings->only, which->name) != 0;
    result->left_out[i] = other || which->bytes > settings->most_bytes;
    if (!result->left_out[i]) measure_case(result, which);
  }
}

void huge_result_free(huge_result *result) {
  for (size_t i = 0; i < result->bench->case_count; i++)
    for (int kind = 0; kind < HUGE_KINDS; kind++)
      for (int phase = 0; phase < HUGE_PHASES_MAX; phase++) free(result->rows[i][kind].probes[phase]);
  free(result->rows);
  free(result->left_out);
}
