/* The driver of the workload suite: workloads NAME [SIZE] [--nursery=SIZE] [--runs=N] [--json] | --list */
#include "bench/workloads.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "bench/timing.h"

#define HUGE_BYTES ((size_t)2 << 20)
#define RUNS_MAX 99

static const workload *const all[] = {&workload_binary_trees, &workload_list, &workload_queue};
enum { WORKLOAD_COUNT = sizeof all / sizeof all[0] };

/* --- what the workloads share --- */

cradle_heap *workload_start(const workload_run *run, const cradle_type *types, size_t count) {
  cradle_options options;
  cradle_options_init(&options);
  options.types = types;
  options.type_count = count;
  options.nursery_bytes = run->nursery_bytes;
  cradle_error error;
  cradle_heap *heap = cradle_start(&options, &error);
  if (heap != NULL) return heap;
  fprintf(stderr, "workloads: %s\n", error.message);
  exit(1);
}

void workload_end(workload_run *run, cradle_heap *heap, cradle_mutator *mutator) {
  cradle_heap_stats(heap, &run->stats, sizeof run->stats, false);
  cradle_mutator_free(mutator);
  cradle_heap_free(heap);
}

void bare_arena_open(bare_arena *arena, size_t bytes) {
  size_t mapped = (bytes + HUGE_BYTES - 1) & ~(HUGE_BYTES - 1);
  arena->start = aligned_alloc(HUGE_BYTES, mapped);
  if (arena->start == NULL) bare_arena_full();
  madvise(arena->start, mapped, MADV_HUGEPAGE);
  arena->free = arena->start;
  arena->end = arena->start + bytes;
}

void bare_arena_close(bare_arena *arena) {
  free(arena->start);
}

void bare_arena_full(void) {
  fputs("workloads: the bare arena is too small, or memory for it was refused\n", stderr);
  exit(1);
}

/* --- measuring --- */

typedef struct result {
  double seconds, bare_seconds, ratio;
  long peak_kib;
} result;

static double timed(uint64_t (*function)(workload_run *run), workload_run *run, uint64_t *checksum) {
  uint64_t begin = now_ns();
  *checksum = function(run);
  return (double)(now_ns() - begin) * 1e-9;
}

/* Pairs, one variant after the other; the first pair warms the machine up and does not count. */
static result measure(const workload *work, workload_run *run, int runs) {
  double seconds[RUNS_MAX], bare[RUNS_MAX], ratios[RUNS_MAX];
  uint64_t sum, bare_sum;
  for (int i = -1; i < runs; i++) {
    int at = i < 0 ? 0 : i;
    seconds[at] = timed(work->cradle, run, &sum);
    bare[at] = timed(work->bare, run, &bare_sum);
    ratios[at] = seconds[at] / bare[at];
    if (sum == bare_sum) continue;
    fprintf(stderr, "workloads: %s: checksums differ\n", work->name);
    exit(1);
  }
  struct rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  size_t count = (size_t)runs;
  return (result){median_of(seconds, count), median_of(bare, count), median_of(ratios, count), usage.ru_maxrss};
}

static void print_table(const workload *work, const workload_run *run, const result *r) {
  const cradle_stats *stats = &run->stats;
  double gc = (double)(stats->minor_ns + stats->major_ns) * 1e-9;
  printf("workload             %s %llu\n", work->name, (unsigned long long)run->size);
  printf("seconds              %.4f\n", r->seconds);
  printf("bare arena, seconds  %.4f\n", r->bare_seconds);
  printf("ratio to bare        %.3f   median of the pairs' ratios\n", r->ratio);
  printf("collector's share    %.1f %%\n", 100 * gc / r->seconds);
  printf("nursery              %llu bytes\n", (unsigned long long)stats->nursery_bytes);
  printf("minor collections    %llu, the longest %.3f ms\n", (unsigned long long)stats->minor_collections,
         (double)stats->minor_max_ns * 1e-6);
  printf("major collections    %llu, the longest %.3f ms\n", (unsigned long long)stats->major_collections,
         (double)stats->major_max_ns * 1e-6);
  printf("promoted             %llu objects, %llu bytes", (unsigned long long)stats->promoted_objects,
         (unsigned long long)stats->promoted_bytes);
  if (stats->promoted_objects > 0)
    printf(", %.1f ns an object", (double)stats->minor_ns / (double)stats->promoted_objects);
  printf("\npeak resident        %ld KiB, both variants in one process\n", r->peak_kib);
}

static void print_json(const workload *work, const workload_run *run, const result *r) {
  const cradle_stats *stats = &run->stats;
  printf("{\"workload\": \"%s\", \"size\": %llu, \"seconds\": %.6f, \"bare_seconds\": %.6f, \"ratio_to_bare\": %.4f, "
         "\"gc_share\": %.4f, \"pause_max_ns\": %llu, \"nursery_bytes\": %llu, \"minor_collections\": %llu, "
         "\"major_collections\": %llu, \"promoted_objects\": %llu, \"peak_resident_bytes\": %lld}\n",
         work->name, (unsigned long long)run->size, r->seconds, r->bare_seconds, r->ratio,
         (double)(stats->minor_ns + stats->major_ns) * 1e-9 / r->seconds,
         (unsigned long long)(stats->minor_max_ns > stats->major_max_ns ? stats->minor_max_ns : stats->major_max_ns),
         (unsigned long long)stats->nursery_bytes, (unsigned long long)stats->minor_collections,
         (unsigned long long)stats->major_collections, (unsigned long long)stats->promoted_objects,
         (long long)r->peak_kib * 1024);
}

/* --- arguments --- */

static void bad_usage(const char *what, const char *given) {
  fprintf(stderr,
          "workloads: %s%s%s\nusage: workloads NAME [SIZE] [--nursery=SIZE] [--runs=1..%d] [--json]\n       workloads --list\n",
          what, given != NULL ? ": " : "", given != NULL ? given : "", RUNS_MAX);
  exit(2);
}

static void list(void) {
  for (int i = 0; i < WORKLOAD_COUNT; i++)
    printf("%-14s %s (SIZE %llu)\n", all[i]->name, all[i]->help, (unsigned long long)all[i]->default_size);
}

static const workload *find(const char *name) {
  for (int i = 0; i < WORKLOAD_COUNT; i++)
    if (strcmp(all[i]->name, name) == 0) return all[i];
  bad_usage("no such workload (--list names them)", name);
  return NULL;
}

static uint64_t number(const char *text, const char *what, uint64_t most) {
  char *end;
  unsigned long long value = strtoull(text, &end, 10);
  if (*text < '0' || *text > '9' || *end != '\0' || value == 0 || value > most) bad_usage(what, text);
  return value;
}

int main(int argc, char **argv) {
  static const struct option options[] = {{"nursery", required_argument, NULL, 'n'}, {"runs", required_argument, NULL, 'r'},
                                          {"json", no_argument, NULL, 'j'},          {"list", no_argument, NULL, 'l'},
                                          {NULL, 0, NULL, 0}};
  workload_run run = {.nursery_bytes = 0};
  int runs = 5, json = 0, option;
  while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
    if (option == 'n' && !cradle_parse_size(optarg, &run.nursery_bytes)) bad_usage("--nursery wants a size such as 4M", optarg);
    if (option == 'r') runs = (int)number(optarg, "--runs wants a number", RUNS_MAX);
    if (option == 'j') json = 1;
    if (option == 'l') return list(), 0;
    if (option == '?') bad_usage("unknown option or missing value", NULL);
  }
  if (optind == argc || argc - optind > 2) bad_usage("wants the name of a workload", NULL);
  const workload *work = find(argv[optind]);
  uint64_t most = work == &workload_binary_trees ? 26 : UINT64_C(1) << 32;
  run.size = optind + 1 < argc ? number(argv[optind + 1], "SIZE is out of range", most) : work->default_size;
  result r = measure(work, &run, runs);
  (json ? print_json : print_table)(work, &run, &r);
  return 0;
}
