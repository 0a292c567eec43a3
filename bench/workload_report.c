#include "bench/workload_report.h"

#include <stdio.h>
#include <string.h>

#include "bench/timing.h"

#define MIB ((double)(1 << 20))

typedef unsigned long long ull;

/* Each median is computed once, here, because it sorts its values; the table and the JSON print the same figures. */
typedef struct summary {
  double seconds, ratio, cpu_seconds, beside_seconds, cpu_ratio, gc_share, figures[WORKLOAD_FIGURES_MAX];
} summary;

static summary summarize(variant_result *r, size_t runs) {
  summary s = {.ratio = median_of(r->ratios, runs), .gc_share = median_of(r->gc_shares, runs)};
  s.seconds = median_of(r->seconds, runs);
  s.cpu_seconds = median_of(r->cpu_seconds, runs);
  s.beside_seconds = median_of(r->beside_seconds, runs);
  s.cpu_ratio = median_of(r->cpu_ratios, runs);
  for (unsigned i = 0; i < r->last.figure_count; i++) s.figures[i] = median_of(r->figures[i], runs);
  return s;
}

/* --- for people --- */

static void print_pauses(const histogram *pauses) {
  if (pauses->count == 0) return;
  static const struct {
    const char *name;
    double quantile;
  } shown[] = {{"p50", 0.5}, {"p90", 0.9}, {"p99", 0.99}, {"p99.9", 0.999}};
  char duration[32];
  printf("pauses               %llu: ", (ull)pauses->count);
  for (size_t i = 0; i < sizeof shown / sizeof shown[0]; i++)
    printf("%s %s, ", shown[i].name, duration_text((double)histogram_quantile(pauses, shown[i].quantile), duration));
  printf("longest %s\n", duration_text((double)pauses->max, duration));
}

static void print_collector(const cradle_statistics *stats) {
  printf("collections          %llu minor, %llu major; nursery %llu bytes\n", (ull)stats->minor_collections,
         (ull)stats->major_collections, (ull)stats->nursery_bytes);
  printf("promoted             %llu objects, %llu bytes", (ull)stats->promoted_objects, (ull)stats->promoted_bytes);
  if (stats->promoted_objects > 0)
    printf(", %.1f ns an object", (double)stats->minor_ns / (double)stats->promoted_objects);
  putchar('\n');
}

/* A figure's name ends in its unit; a time is printed with the unit that suits it. */
static void print_figure(const char *name, double value) {
  char duration[32];
  size_t length = strlen(name), unit = strlen("_ns");
  if (length > unit && strcmp(name + length - unit, "_ns") == 0)
    printf("  %-18.*s %s\n", (int)(length - unit), name, duration_text(value, duration));
  else
    printf("  %-18s %.6g\n", name, value);
}

static void print_figures(const variant_result *r, const summary *s) {
  for (unsigned i = 0; i < r->last.figure_count; i++) print_figure(r->last.figures[i].name, s->figures[i]);
}

static void print_parameters(const workload_parameters *with) {
  if (with->size > 0) printf("%llu ", (ull)with->size);
  if (with->slots > 0) printf("--slots=%llu ", (ull)with->slots);
  if (with->live > 0) printf("--live=%llu ", (ull)with->live);
  if (with->seconds > 0) printf("--seconds=%llu ", (ull)with->seconds);
  printf("--runs=%llu\n", (ull)with->runs);
}

void workload_print_table(const workload *work, const workload_run *run, variant_result results[VARIANTS]) {
  printf("workload             %s ", work->name);
  print_parameters(&run->with);
  for (variant_id variant = 0; variant < VARIANTS; variant++) {
    variant_result *r = &results[variant];
    if (!r->wanted) continue;
    summary s = summarize(r, run->with.runs);
    printf("%-20s %.4f s, %.4f s of processor time", variant_names[variant], s.seconds, s.cpu_seconds);
    if (s.beside_seconds >= 0.00005) printf(", %.4f s of it on the second core", s.beside_seconds);
    if (variant != VARIANT_CRADLE) printf("; Cradle takes %.3f and %.3f times that", s.ratio, s.cpu_ratio);
    printf("; peak resident %.1f MiB\n", (double)r->peak_resident_bytes / MIB);
    print_figures(r, &s);
    if (variant != VARIANT_CRADLE) continue;
    printf("live                 %.3f MiB\n", (double)r->last.live_bytes / MIB);
    if (r->last.resident_bytes > 0)
      printf("resident             %.3f MiB at the end of the timed part\n", (double)r->last.resident_bytes / MIB);
    printf("collector's share    %.1f %%\n", 100 * s.gc_share);
    print_pauses(&r->pauses);
    print_collector(&r->last.stats);
  }
}

/* --- for programs --- */

static void json_figures(const variant_result *r, const summary *s) {
  for (unsigned i = 0; i < r->last.figure_count; i++) printf(", \"%s\": %.9g", r->last.figures[i].name, s->figures[i]);
}

static void json_cradle(const variant_result *r, const summary *s) {
  const histogram *pauses = &r->pauses;
  const cradle_statistics *stats = &r->last.stats;
  printf("\"seconds\": %.6f, \"cpu_seconds\": %.6f, \"beside_cpu_seconds\": %.6f, \"gc_share\": %.4f, \"pause_count\": "
         "%llu, \"pause_p50_ns\": %llu, "
         "\"pause_p99_ns\": %llu, "
         "\"pause_p999_ns\": %llu, \"pause_max_ns\": %llu, \"peak_resident_bytes\": %llu, "
         "\"live_bytes\": %llu, \"nursery_bytes\": %llu, \"minor_collections\": %llu, \"major_collections\": %llu, "
         "\"promoted_objects\": %llu, \"promoted_bytes\": %llu",
         s->seconds, s->cpu_seconds, s->beside_seconds, s->gc_share, (ull)pauses->count,
         (ull)histogram_quantile(pauses, 0.5), (ull)histogram_quantile(pauses, 0.99),
         (ull)histogram_quantile(pauses, 0.999), (ull)pauses->max, (ull)r->peak_resident_bytes, (ull)r->last.live_bytes,
         (ull)stats->nursery_bytes, (ull)stats->minor_collections, (ull)stats->major_collections,
         (ull)stats->promoted_objects, (ull)stats->promoted_bytes);
  if (r->last.resident_bytes > 0) printf(", \"resident_bytes\": %llu", (ull)r->last.resident_bytes);
  json_figures(r, s);
}

static void json_peer(variant_id variant, const variant_result *r, const summary *s) {
  printf(", \"%s\": {\"seconds\": %.6f, \"ratio\": %.4f, \"cpu_seconds\": %.6f, \"cpu_ratio\": %.4f, "
         "\"peak_resident_bytes\": %llu",
         variant_names[variant], s->seconds, s->ratio, s->cpu_seconds, s->cpu_ratio, (ull)r->peak_resident_bytes);
  json_figures(r, s);
  putchar('}');
  if (variant == VARIANT_ARENA) printf(", \"bare_seconds\": %.6f, \"ratio_to_bare\": %.4f", s->seconds, s->ratio);
}

void workload_print_json(const workload *work, const workload_run *run, variant_result results[VARIANTS]) {
  printf("{\"workload\": \"%s\", \"size\": %llu, \"slots\": %llu, \"live\": %llu, \"runs\": %llu, \"checksum\": %llu, ",
         work->name, (ull)run->with.size, (ull)run->with.slots, (ull)run->with.live, (ull)run->with.runs,
         (ull)results[VARIANT_CRADLE].last.checksum);
  for (variant_id variant = 0; variant < VARIANTS; variant++) {
    if (!results[variant].wanted) continue;
    summary s = summarize(&results[variant], run->with.runs);
    if (variant == VARIANT_CRADLE)
      json_cradle(&results[variant], &s);
    else
      json_peer(variant, &results[variant], &s);
  }
  puts("}");
}
