/* The results of huge-pages, as a table for people or as one JSON object. */
#include "bench/huge_pages.h"

#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>

#include "bench/timing.h"

typedef struct summary {
  double min_ns, median_ns, cpu_ns, faults;
  double misses; /* of the data TLB, loads and stores, the median; -1: not counted */
  uint64_t operations;
} summary;

static double misses_of(const huge_phase *phase) {
  double loads = phase->counts[COUNTER_DTLB_LOADS], stores = phase->counts[COUNTER_DTLB_STORES];
  return loads < 0 ? -1 : loads + (stores < 0 ? 0 : stores);
}

static summary summarize(const huge_row *row, int phase) {
  double ns[HUGE_RUNS_MAX], cpu[HUGE_RUNS_MAX], faults[HUGE_RUNS_MAX], misses[HUGE_RUNS_MAX];
  size_t count = (size_t)row->runs;
  for (size_t i = 0; i < count; i++) {
    ns[i] = row->phases[phase][i].ns;
    cpu[i] = row->phases[phase][i].cpu_ns;
    faults[i] = row->phases[phase][i].faults;
    misses[i] = misses_of(&row->phases[phase][i]);
  }
  summary result = {.median_ns = median_of(ns, count),
                    .cpu_ns = median_of(cpu, count),
                    .faults = median_of(faults, count),
                    .misses = median_of(misses, count)};
  result.min_ns = ns[0]; /* sorted now */
  result.operations = row->phases[phase][0].operations;
  return result;
}

static bool measured(const huge_result *result, size_t which, int kind) {
  const huge_row *row = &result->rows[which][kind];
  return !result->left_out[which] && result->settings->kinds[kind] && row->skipped == NULL && row->runs > 0;
}

static double probe_at(const huge_row *row, int phase, double quantile) {
  return row->probes[phase][(size_t)(quantile * (double)(row->probe_count - 1) + 0.5)];
}

/* --- the table --- */

static void print_time(double ns) {
  if (ns < 0)
    printf(" %12s", "n/a");
  else if (ns < 1e3)
    printf(" %9.2f ns", ns);
  else if (ns < 1e4)
    printf(" %9.0f ns", ns);
  else if (ns < 1e7)
    printf(" %9.1f us", ns * 1e-3);
  else
    printf(" %9.1f ms", ns * 1e-6);
}

static void print_change(double value, double base) {
  if (base <= 0)
    printf(" %9s", "-");
  else
    printf(" %+8.1f%%", 100 * (value / base - 1));
}

static void print_row(const huge_result *result, size_t which, int phase, int kind) {
  const huge_row *row = &result->rows[which][kind];
  summary own = summarize(row, phase), base = own;
  if (measured(result, which, HUGE_SMALL)) base = summarize(&result->rows[which][HUGE_SMALL], phase);
  printf("%-20s %-14s %-8s", result->bench->cases[which].name, result->bench->phases[phase], huge_kind_names[kind]);
  print_time(own.min_ns / (double)own.operations);
  print_time(own.median_ns / (double)own.operations);
  print_change(own.median_ns, base.median_ns);
  print_time(own.cpu_ns / (double)own.operations);
  print_change(own.cpu_ns, base.cpu_ns);
  printf(" %11.0f", own.faults);
  print_change(own.faults, base.faults);
  if (own.misses < 0)
    printf(" %12s", "n/a");
  else
    printf(" %12.0f", own.misses);
  if (row->resident_bytes == 0)
    printf(" %6s\n", "n/a");
  else
    printf(" %5.0f%%\n", 100 * (double)row->huge_bytes / (double)row->resident_bytes);
  if (row->probe_count == 0) return;
  printf("%-20s %-14s %-8s  p10 %.0f, p50 %.0f, p90 %.0f, p99 %.0f, most %.0f ns of %zu\n", "", "", "",
         probe_at(row, phase, 0.1), probe_at(row, phase, 0.5), probe_at(row, phase, 0.9), probe_at(row, phase, 0.99),
         probe_at(row, phase, 1), row->probe_count);
}

/* Whether this is the first case that was skipped on the kind for its reason. */
static bool first_of_reason(const huge_result *result, size_t which, int kind) {
  for (size_t i = 0; i < which; i++) {
    const char *other = result->rows[i][kind].skipped;
    if (other != NULL && strcmp(other, result->rows[which][kind].skipped) == 0) return false;
  }
  return true;
}

/* Prints each reason once for a kind, with the cases that it applies to. */
static void print_skipped(const huge_result *result) {
  for (int kind = 0; kind < HUGE_KINDS; kind++)
    for (size_t i = 0; i < result->bench->case_count; i++) {
      const char *reason = result->rows[i][kind].skipped;
      if (reason == NULL || !first_of_reason(result, i, kind)) continue;
      printf("skipped on %s: %s:", huge_kind_names[kind], reason);
      for (size_t j = i; j < result->bench->case_count; j++) {
        const char *other = result->rows[j][kind].skipped;
        if (other != NULL && strcmp(other, reason) == 0) printf(" %s", result->bench->cases[j].name);
      }
      printf("\n");
    }
}

void huge_report_table(const huge_result *result) {
  const huge_bench *bench = result->bench;
  printf("%s: %s\n", bench->name, bench->help);
  printf("%d runs on each kind of page in turn, after one that is not counted; changes against small pages\n\n",
         result->settings->runs);
  printf("%-20s %-14s %-8s %12s %12s %9s %12s %9s %11s %9s %12s %6s\n", "case", "phase", "pages", "minimum", "median",
         "change", "processor", "change", "faults", "change", "dTLB misses", "huge");
  for (size_t i = 0; i < bench->case_count; i++)
    for (int phase = 0; phase < HUGE_PHASES_MAX && bench->phases[phase] != NULL; phase++)
      for (int kind = 0; kind < HUGE_KINDS; kind++)
        if (measured(result, i, kind)) print_row(result, i, phase, kind);
  printf("\nTimes are for one %s; processor: the processor's time, the median. huge: share of the resident memory that "
         "the\n"
         "kernel backed with huge pages.\n",
         bench->operation);
  if (bench->probes != 0)
    printf("dTLB misses: not counted where each operation is timed.\n");
  else if (result->counter_reasons[COUNTER_DTLB_LOADS][0] != '\0')
    printf("dTLB misses: n/a (%s)\n", result->counter_reasons[COUNTER_DTLB_LOADS]);
  print_skipped(result);
}

/* --- JSON --- */

static void json_numbers(const char *name, const huge_row *row, int phase, bool faults) {
  printf(", \"%s\": [", name);
  for (int i = 0; i < row->runs; i++)
    printf("%s%.0f", i == 0 ? "" : ", ", faults ? row->phases[phase][i].faults : row->phases[phase][i].ns);
  printf("]");
}

static void json_probes(const huge_row *row, int phase) {
  static const double quantiles[] = {0, 0.1, 0.5, 0.9, 0.99, 1};
  printf(", \"probes\": %zu, \"quantiles\": {", row->probe_count);
  for (size_t i = 0; i < sizeof quantiles / sizeof quantiles[0]; i++)
    printf("%s\"%g\": %.0f", i == 0 ? "" : ", ", quantiles[i], probe_at(row, phase, quantiles[i]));
  printf("}");
}

static void json_row(const huge_result *result, size_t which, int phase, int kind) {
  const huge_case *one = &result->bench->cases[which];
  const huge_row *row = &result->rows[which][kind];
  summary own = summarize(row, phase);
  printf("    {\"case\": \"%s\", \"bytes\": %llu, \"heap\": %s, \"phase\": \"%s\", \"pages\": \"%s\"", one->name,
         (unsigned long long)one->bytes, one->heap ? "true" : "false", result->bench->phases[phase],
         huge_kind_names[kind]);
  printf(", \"operations\": %llu, \"min_ns\": %.0f, \"median_ns\": %.0f, \"cpu_ns\": %.0f, \"faults\": %.0f",
         (unsigned long long)own.operations, own.min_ns, own.median_ns, own.cpu_ns, own.faults);
  json_numbers("runs_ns", row, phase, false);
  json_numbers("runs_faults", row, phase, true);
  if (own.misses < 0)
    printf(", \"dtlb_misses\": null");
  else
    printf(", \"dtlb_misses\": %.0f", own.misses);
  printf(", \"resident_bytes\": %llu, \"huge_bytes\": %llu", (unsigned long long)row->resident_bytes,
         (unsigned long long)row->huge_bytes);
  if (row->probe_count != 0) json_probes(row, phase);
  printf("}");
}

static void json_skipped(const huge_result *result) {
  const char *separator = "";
  for (size_t i = 0; i < result->bench->case_count; i++)
    for (int kind = 0; kind < HUGE_KINDS; kind++) {
      const huge_row *row = &result->rows[i][kind];
      if (row->skipped == NULL) continue;
      printf("%s\n    {\"case\": \"%s\", \"pages\": \"%s\", \"reason\": \"%s\"}", separator,
             result->bench->cases[i].name, huge_kind_names[kind], row->skipped);
      separator = ",";
    }
}

void huge_report_json(const huge_result *result) {
  const huge_bench *bench = result->bench;
  const char *separator = "", *reason = result->counter_reasons[COUNTER_DTLB_LOADS];
  struct utsname system;
  uname(&system);
  printf("{\n  \"benchmark\": \"%s\",\n  \"help\": \"%s\",\n  \"operation\": \"%s\",\n", bench->name, bench->help,
         bench->operation);
  printf("  \"kernel\": \"%s %s %s\",\n  \"runs\": %d,\n  \"divide\": %llu,\n", system.sysname, system.release,
         system.machine, result->settings->runs, (unsigned long long)result->settings->divide);
  if (bench->probes != 0) reason = "not counted where each operation is timed";
  if (reason[0] == '\0')
    printf("  \"dtlb_reason\": null,\n");
  else
    printf("  \"dtlb_reason\": \"%s\",\n", reason);
  printf("  \"rows\": [");
  for (size_t i = 0; i < bench->case_count; i++)
    for (int phase = 0; phase < HUGE_PHASES_MAX && bench->phases[phase] != NULL; phase++)
      for (int kind = 0; kind < HUGE_KINDS; kind++) {
        if (!measured(result, i, kind)) continue;
        printf("%s\n", separator);
        json_row(result, i, phase, kind);
        separator = ",";
      }
  printf("\n  ],\n  \"skipped\": [");
  json_skipped(result);
  printf("\n  ]\n}\n");
}
