/* The driver of the workload suite: workloads NAME [SIZE] [OPTION...] | --list */
#include "bench/workloads.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/size.h"
#include "bench/workload_report.h"

static const workload *const all[] = {
    &workload_binary_trees, &workload_quads,        &workload_gcbench,   &workload_tuples, &workload_store,
    &workload_promote,      &workload_list,         &workload_list_sort, &workload_queue,  &workload_hash_table,
    &workload_medium,       &workload_cache,        &workload_fragment,  &workload_pause,  &workload_walk,
    &workload_table_walk,   &workload_string_cache, &workload_tree_map,  &workload_json,   &workload_symbols,
    &workload_soak,
};
enum { WORKLOAD_COUNT = sizeof all / sizeof all[0] };

#define COUNT_MAX (UINT64_C(1) << 32)

static const char help[] =
    "usage: workloads NAME [SIZE] [options]\n"
    "       workloads --list\n"
    "\n"
    "Runs a program whose objects survive on a Cradle heap and, in turns, with memory by hand. Prints\n"
    "medians of the times, the pauses and the memory. Each run is a process of its own.\n"
    "\n"
    "  --list             the workloads, what each is, and the values that it takes unless told\n"
    "  --slots=N, --live=N, --seconds=N\n"
    "                     for the workloads that --list shows with them; N may have a unit: 1M, 1G\n"
    "  --runs=N           runs of each, 1 to 99; where there are several, one more warms up\n"
    "  --nursery=SIZE     such as 4M; CRADLE_GC_NURSERY goes before it\n"
    "  --peer=NAME        with malloc, mimalloc, arena (a C arena that only bumps) or arena-fresh (one that\n"
    "                     uses nothing again that was dropped), too; may be repeated\n"
    "  --small            the size that the tests run: a second at most\n"
    "  --json             one JSON object in place of the table\n";

static void bad_usage(const char *what, const char *given) {
  fprintf(stderr, "workloads: %s%s%s\n\n%s", what, given != NULL ? ": " : "", given != NULL ? given : "", help);
  exit(2);
}

static void print_default(const char *name, uint64_t value) {
  if (value > 0) printf("%s%llu ", name, (unsigned long long)value);
}

static void list(void) {
  for (int i = 0; i < WORKLOAD_COUNT; i++) {
    const workload_parameters *usual = &all[i]->usual;
    printf("%-16s %s (", all[i]->name, all[i]->help);
    print_default("SIZE=", usual->size);
    print_default("--slots=", usual->slots);
    print_default("--live=", usual->live);
    print_default("--seconds=", usual->seconds);
    printf("--runs=%llu)\n", (unsigned long long)usual->runs);
  }
}

static const workload *find(const char *name) {
  for (int i = 0; i < WORKLOAD_COUNT; i++)
    if (strcmp(all[i]->name, name) == 0) return all[i];
  bad_usage("no such workload (--list names them)", name);
  return NULL;
}

static uint64_t number(const char *text, const char *what, uint64_t least, uint64_t most) {
  size_t value;
  if (!read_bytes(text, &value) || value < least || value > most) bad_usage(what, text);
  return value;
}

/* Sets a parameter, which the workload must take. */
static void override(const workload *work, uint64_t *parameter, uint64_t given, const char *option) {
  if (given == 0) return;
  if (*parameter == 0) {
    char message[80];
    snprintf(message, sizeof message, "%s takes no %s", work->name, option);
    bad_usage(message, NULL);
  }
  *parameter = given;
}

static void want_peer(const workload *work, const char *name, variant_result results[VARIANTS]) {
  variant_id variant = VARIANT_ARENA;
  while (variant < VARIANTS && strcmp(name, variant_names[variant]) != 0) variant++;
  if (variant == VARIANTS) bad_usage("--peer wants malloc, mimalloc, arena or arena-fresh", name);
  if (work->by_hand == NULL || (variant == VARIANT_ARENA && !work->on_arena) ||
      (variant == VARIANT_ARENA_FRESH && !work->on_fresh_arena)) {
    fprintf(stderr, "workloads: %s has no variant on %s\n", work->name, name);
    exit(2);
  }
  results[variant].wanted = true;
}

static void choose(const workload *work, const char *peers[], variant_result results[VARIANTS]) {
  results[VARIANT_CRADLE].wanted = true;
  results[VARIANT_ARENA].wanted = work->on_arena;
  for (; *peers != NULL; peers++) want_peer(work, *peers, results);
}

enum { PEERS_MAX = 8 };
static const struct option options[] = {{"slots", required_argument, NULL, 's'},
                                        {"live", required_argument, NULL, 'v'},
                                        {"seconds", required_argument, NULL, 't'},
                                        {"runs", required_argument, NULL, 'r'},
                                        {"peer", required_argument, NULL, 'p'},
                                        {"nursery", required_argument, NULL, 'n'},
                                        {"small", no_argument, NULL, 'm'},
                                        {"json", no_argument, NULL, 'j'},
                                        {"list", no_argument, NULL, 'l'},
                                        {"help", no_argument, NULL, 'h'},
                                        {NULL, 0, NULL, 0}};

int main(int argc, char **argv) {
  static workload_run run;
  static variant_result results[VARIANTS];
  const char *peers[PEERS_MAX + 1] = {NULL};
  workload_parameters given = {0};
  bool json = false, small = false;
  int option, peer_count = 0;
  while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
    switch (option) {
    case 's': given.slots = number(optarg, "--slots wants a number such as 1000000", 1, COUNT_MAX - 1); break;
    case 'v': given.live = number(optarg, "--live wants a number or size such as 1G", 1, UINT64_C(1) << 40); break;
    case 't': given.seconds = number(optarg, "--seconds wants a number", 1, 1000000); break;
    case 'r': given.runs = number(optarg, "--runs wants a number", 1, WORKLOAD_RUNS_MAX); break;
    case 'n': run.nursery_bytes = number(optarg, "--nursery wants a size such as 4M", 1, SIZE_MAX); break;
    case 'p':
      if (peer_count == PEERS_MAX) bad_usage("too many peers", optarg);
      peers[peer_count++] = optarg;
      break;
    case 'm': small = true; break;
    case 'j': json = true; break;
    case 'l':
      if (argc > 2) bad_usage("--list takes nothing else", argv[optind == 2 ? 2 : 1]);
      list();
      return 0;
    case 'h': fputs(help, stdout); return 0;
    default: bad_usage("unknown option or missing value", NULL);
    }
  }
  if (optind == argc || argc - optind > 2) bad_usage("wants the name of a workload", NULL);
  const workload *work = find(argv[optind]);
  run.with = small ? work->small : work->usual;
  override(work, &run.with.slots, given.slots, "--slots");
  override(work, &run.with.live, given.live, "--live");
  override(work, &run.with.seconds, given.seconds, "--seconds");
  override(work, &run.with.runs, given.runs, "--runs");
  uint64_t least = work->size_least > 0 ? work->size_least : 1,
           most = work->size_most > 0 ? work->size_most : COUNT_MAX;
  if (optind + 1 < argc && run.with.size == 0) bad_usage("the workload takes no SIZE", argv[optind + 1]);
  if (optind + 1 < argc) run.with.size = number(argv[optind + 1], "SIZE is out of range", least, most);
  choose(work, peers, results);
  workload_measure(work, &run, results);
  (json ? workload_print_json : workload_print_table)(work, &run, results);
  return 0;
}
