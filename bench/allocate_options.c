#include "bench/allocate_options.h"
#include "bench/size.h"

#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cradle/runtime.h>

#define LOOPS_MIN 10000
#define LOOPS_MAX 1e15
#define RUNS_DEFAULT 5
#define RUNS_MAX 99

const char *const variant_names[VARIANT_NONE] = {"cradle", "bare", "malloc", "mimalloc", "boehm"};
const char *const api_names[LOOP_APIS] = {"new", "reserve", "shadow-stack"};
const char *const hugepages_names[CRADLE_HUGEPAGES_HUGETLB_STRICT + 1] = {"auto", "hugetlb", "off", "hugetlb!"};

static const char help[] =
    "usage: allocate-a-lot LOOPS [options]\n"
    "\n"
    "Allocates LOOPS objects of 16 bytes, the last two alive, and compares the time with a bare\n"
    "loop of the same stores and checks in a buffer of the nursery's size. LOOPS is a count such\n"
    "as 1000000000, 1e9 or 1G (K, M, G: steps of 1000).\n"
    "\n"
    "  --init=0|1           1: write the field too, cradle_new (the default)\n"
    "                       0: header only, CRADLE_NEW_UNINITIALIZED\n"
    "  --api=API            new: a check an allocation (the default)\n"
    "                       reserve: one for four objects, cradle_reserve\n"
    "                       shadow-stack: the two saved and reloaded around each allocation\n"
    "  --nursery=SIZE       such as 4M; CRADLE_GC_NURSERY goes before it\n"
    "  --hugepages=POLICY   auto, hugetlb or off; CRADLE_HUGEPAGES goes before it\n"
    "  --against=LIST       of bare, malloc, mimalloc, boehm; or none; all of them by default\n"
    "  --only=VARIANT       run cradle or one of these alone, LOOPS objects\n"
    "  --runs=N             pairs of runs, Cradle's and bare, each at 16 code offsets; 1 to 99,\n"
    "                       5 by default: a run allocates LOOPS/N objects\n"
    "  --counters           cycles and instructions, from the processor's counters\n"
    "  --offsets            print the figure of every code offset\n"
    "  --json               one JSON object in place of the table\n"
    "\n"
    "Peers allocate at most ten million objects, unless they are run alone.\n";

static void refuse(const char *what, const char *text, const char *accepted) __attribute__((noreturn));
static void refuse(const char *what, const char *text, const char *accepted) {
  fprintf(stderr, "allocate-a-lot: %s '%s': accepted is %s\n", what, text, accepted);
  exit(2);
}

static double unit_of(const char *text) {
  static const char units[] = "KMG";
  if (*text == '\0') return 1;
  const char *unit = strchr(units, *text >= 'a' ? *text - 'a' + 'A' : *text);
  return unit == NULL || text[1] != '\0' ? NAN : pow(1000, (double)(unit - units + 1));
}

static uint64_t read_loops(const char *text) {
  char *end;
  double count = strtod(text, &end);
  count *= end == text ? NAN : unit_of(end);
  if (!(count >= LOOPS_MIN && count <= LOOPS_MAX))
    refuse("LOOPS", text, "a count from 10000 to 1e15, such as 1000000000, 1e9 or 1G");
  return (uint64_t)count;
}

static unsigned read_runs(const char *text) {
  char *end;
  unsigned long runs = strtoul(text, &end, 10);
  if (end == text || *end != '\0' || runs < 1 || runs > RUNS_MAX) refuse("--runs", text, "a number from 1 to 99");
  return (unsigned)runs;
}

static size_t read_nursery(const char *text) {
  size_t bytes;
  if (!read_bytes(text, &bytes) || bytes < CRADLE_NURSERY_MIN_BYTES || bytes > CRADLE_NURSERY_MAX_BYTES)
    refuse("--nursery", text, "a size from 4K to 1G");
  return bytes;
}

/* The index of the name; -1 if the name is unknown. */
static int find(const char *text, const char *const *names, int count) {
  for (int i = 0; i < count; i++)
    if (strcmp(text, names[i]) == 0) return i;
  return -1;
}

static int read_name(const char *option, const char *text, const char *const *names, int count, const char *accepted) {
  int found = find(text, names, count);
  if (found < 0) refuse(option, text, accepted);
  return found;
}

static void read_against(allocate_options *options, char *list) {
  memset(options->against, 0, sizeof(options->against));
  if (strcmp(list, "none") == 0) return;
  for (char *rest = list, *name; (name = strsep(&rest, ",")) != NULL;) {
    int found = find(name, variant_names, VARIANT_NONE);
    if (found <= VARIANT_CRADLE) refuse("--against", name, "none, or a list of bare, malloc, mimalloc and boehm");
    options->against[found] = true;
  }
}

enum { INIT = 1, API, NURSERY, HUGEPAGES, AGAINST, ONLY, RUNS, COUNTERS_TOO, OFFSETS, JSON, HELP };
static const struct option long_options[] = {
    {"init", required_argument, NULL, INIT},
    {"api", required_argument, NULL, API},
    {"nursery", required_argument, NULL, NURSERY},
    {"hugepages", required_argument, NULL, HUGEPAGES},
    {"against", required_argument, NULL, AGAINST},
    {"only", required_argument, NULL, ONLY},
    {"runs", required_argument, NULL, RUNS},
    {"counters", no_argument, NULL, COUNTERS_TOO},
    {"offsets", no_argument, NULL, OFFSETS},
    {"json", no_argument, NULL, JSON},
    {"help", no_argument, NULL, HELP},
    {NULL, 0, NULL, 0},
};

static void print_help(void) {
  fputs(help, stdout);
  exit(0);
}

static void read_option(allocate_options *options, int option) {
  static const char *const truth[] = {"0", "1"};
  switch (option) {
  case INIT: options->init = read_name("--init", optarg, truth, 2, "0 or 1") == 1; break;
  case API:
    options->api = (loop_api)read_name("--api", optarg, api_names, LOOP_APIS, "new, reserve or shadow-stack");
    break;
  case NURSERY: options->nursery_bytes = read_nursery(optarg); break;
  case HUGEPAGES:
    options->hugepages = (cradle_hugepages)read_name("--hugepages", optarg, hugepages_names, CRADLE_HUGEPAGES_OFF + 1,
                                                     "auto, hugetlb or off");
    break;
  case AGAINST: read_against(options, optarg); break;
  case ONLY:
    options->only =
        (variant)read_name("--only", optarg, variant_names, VARIANT_NONE, "cradle, bare, malloc, mimalloc or boehm");
    break;
  case RUNS: options->runs = read_runs(optarg); break;
  case COUNTERS_TOO: options->counters = true; break;
  case OFFSETS: options->offsets = true; break;
  case JSON: options->json = true; break;
  case HELP: print_help(); break;
  default: fprintf(stderr, "allocate-a-lot: --help tells what is accepted\n"); exit(2);
  }
}

void allocate_options_read(allocate_options *options, int argc, char **argv) {
  int option;
  *options = (allocate_options){.runs = RUNS_DEFAULT, .init = true, .only = VARIANT_NONE};
  for (int i = VARIANT_BARE; i < VARIANT_NONE; i++) options->against[i] = true;
  while ((option = getopt_long(argc, argv, "", long_options, NULL)) != -1) read_option(options, option);
  if (argc - optind != 1) {
    fprintf(stderr, "allocate-a-lot: give one count of objects, such as 1e9; --help tells more\n");
    exit(2);
  }
  options->loops = read_loops(argv[optind]);
}
