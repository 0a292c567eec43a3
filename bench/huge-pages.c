/* The driver: huge-pages NAME [options] | --list */
#include "bench/huge_pages.h"
#include "bench/size.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const huge_bench *const all[] = {&huge_touch,    &huge_access,  &huge_fault,
                                        &huge_pymalloc, &huge_nursery, &huge_graph};
enum { BENCH_COUNT = sizeof all / sizeof all[0], RUNS_DEFAULT = 5 };

static const char help[] =
    "usage: huge-pages NAME [options]\n"
    "       huge-pages --list [NAME]\n"
    "\n"
    "Measures what huge pages bring on this machine: one benchmark on small pages, transparent huge\n"
    "pages, the pool of huge pages and that of 1 GiB pages, in turn in one process. As root it grows\n"
    "the pool for a run and shrinks it by the same afterwards; a kind of page that cannot be had is\n"
    "skipped, and the report says why.\n"
    "\n"
    "  --list [NAME]      the benchmarks, or the cases of one\n"
    "  --pages=LIST       of small, thp, hugetlb and 1g (default: all)\n"
    "  --case=CASE        this case alone\n"
    "  --most=SIZE        leave out the cases that hold more memory than SIZE, such as 1G\n"
    "  --runs=N           runs on each kind, 1 to 99 (default: 5), after one that is not counted\n"
    "  --divide=N         N times less work in a run, to try things out\n"
    "  --once             one run of the case on the one kind given, and no report: for timing the\n"
    "                     process from outside. The pool is used as it is.\n"
    "  --json             one JSON object in place of the table\n";

static void bad_usage(const char *what, const char *given, const char *accepted) __attribute__((noreturn));
static void bad_usage(const char *what, const char *given, const char *accepted) {
  fprintf(stderr, "huge-pages: %s '%s': accepted is %s\n", what, given, accepted);
  exit(2);
}

static uint64_t number(const char *option, const char *text, uint64_t most, const char *accepted) {
  char *end;
  unsigned long long value = strtoull(text, &end, 10);
  if (*text < '0' || *text > '9' || *end != '\0' || value == 0 || value > most) bad_usage(option, text, accepted);
  return value;
}

static huge_kind kind_of(const char *name) {
  for (int kind = 0; kind < HUGE_KINDS; kind++)
    if (strcmp(name, huge_kind_names[kind]) == 0) return (huge_kind)kind;
  bad_usage("--pages", name, "a list of small, thp, hugetlb and 1g");
}

static void read_kinds(huge_settings *settings, char *list) {
  memset(settings->kinds, 0, sizeof settings->kinds);
  for (char *name; (name = strsep(&list, ",")) != NULL;) settings->kinds[kind_of(name)] = true;
}

static uint64_t read_size(const char *text) {
  size_t bytes;
  if (!read_bytes(text, &bytes)) bad_usage("--most", text, "a size such as 512M or 1G");
  return bytes;
}

static const huge_bench *find(const char *name) {
  for (int i = 0; i < BENCH_COUNT; i++)
    if (strcmp(all[i]->name, name) == 0) return all[i];
  bad_usage("no such benchmark", name, "a name that --list prints");
}

static void list(const char *name) {
  if (name == NULL)
    for (int i = 0; i < BENCH_COUNT; i++) printf("%-10s %s\n", all[i]->name, all[i]->help);
  else
    for (size_t i = 0; i < find(name)->case_count; i++)
      printf("%-20s %6llu MiB\n", find(name)->cases[i].name, (unsigned long long)find(name)->cases[i].bytes >> 20);
}

/* The benchmark chooses each heap's pages and nursery; the environment would override that. */
static void refuse_environment(void) {
  static const char *const names[] = {"CRADLE_HUGEPAGES", "CRADLE_HUGEPAGES_NURSERY", "CRADLE_HUGEPAGES_ARENAS",
                                      "CRADLE_GC_NURSERY"};
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
    const char *value = getenv(names[i]);
    if (value == NULL || *value == '\0') continue;
    fprintf(stderr, "huge-pages: %s is set; the benchmark chooses this itself, so unset it\n", names[i]);
    exit(2);
  }
}

static void check(const huge_bench *bench, const huge_settings *settings) {
  bool found = settings->only == NULL;
  int kinds = 0;
  for (size_t i = 0; i < bench->case_count && !found; i++) found = strcmp(bench->cases[i].name, settings->only) == 0;
  if (!found) bad_usage("--case", settings->only, "a case that --list NAME prints");
  for (int kind = 0; kind < HUGE_KINDS; kind++) kinds += settings->kinds[kind];
  if (settings->once && (kinds != 1 || settings->only == NULL))
    bad_usage("--once", bench->name, "one --case on one kind of --pages");
}

/* If the single chosen kind or case cannot run, that is an error, with the reason. */
static int finish_once(const huge_result *result) {
  for (size_t i = 0; i < result->bench->case_count; i++)
    for (int kind = 0; kind < HUGE_KINDS; kind++)
      if (result->rows[i][kind].skipped != NULL) {
        fprintf(stderr, "huge-pages: %s on %s: %s\n", result->bench->cases[i].name, huge_kind_names[kind],
                result->rows[i][kind].skipped);
        return 1;
      }
  return 0;
}

static int run(const huge_bench *bench, const huge_settings *settings) {
  huge_result result;
  int status = 0;
  huge_measure(bench, settings, &result);
  if (settings->once)
    status = finish_once(&result);
  else
    (settings->json ? huge_report_json : huge_report_table)(&result);
  huge_result_free(&result);
  return status;
}

enum { LIST = 1, PAGES, CASE, MOST, RUNS, DIVIDE, ONCE, JSON, HELP };
static const struct option long_options[] = {
    {"list", no_argument, NULL, LIST},       {"pages", required_argument, NULL, PAGES},
    {"case", required_argument, NULL, CASE}, {"most", required_argument, NULL, MOST},
    {"runs", required_argument, NULL, RUNS}, {"divide", required_argument, NULL, DIVIDE},
    {"once", no_argument, NULL, ONCE},       {"json", no_argument, NULL, JSON},
    {"help", no_argument, NULL, HELP},       {NULL, 0, NULL, 0},
};

int main(int argc, char **argv) {
  huge_settings settings = {
      .runs = RUNS_DEFAULT, .divide = 1, .most_bytes = UINT64_MAX, .kinds = {true, true, true, true}};
  bool listed = false;
  int option;
  while ((option = getopt_long(argc, argv, "", long_options, NULL)) != -1) {
    switch (option) {
    case LIST: listed = true; break;
    case PAGES: read_kinds(&settings, optarg); break;
    case CASE: settings.only = optarg; break;
    case MOST: settings.most_bytes = read_size(optarg); break;
    case RUNS: settings.runs = (int)number("--runs", optarg, HUGE_RUNS_MAX, "a number from 1 to 99"); break;
    case DIVIDE: settings.divide = number("--divide", optarg, 1000000, "a number from 1 to 1000000"); break;
    case ONCE: settings.once = true; break;
    case JSON: settings.json = true; break;
    case HELP: fputs(help, stdout); return 0;
    default: fputs(help, stderr); return 2;
    }
  }
  if (listed && argc - optind <= 1) return list(argv[optind]), 0;
  if (argc - optind != 1)
    bad_usage("arguments", optind < argc ? argv[argc - 1] : "none", "the name of one benchmark; --help tells more");
  const huge_bench *bench = find(argv[optind]);
  if (settings.once) settings.runs = 1;
  check(bench, &settings);
  refuse_environment();
  return run(bench, &settings);
}
