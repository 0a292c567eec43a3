/* huge-pages: what huge pages bring on this machine. The benchmarks of the huge-page literature, each on every kind of
 * page that can be had, side by side in one run.
 *
 * A benchmark has cases (a size, an object mix) and phases (touch, walk, mark); one row of its result is a phase of a
 * case on one kind of page. A run does one case on one kind: it opens what it needs, brackets each phase with
 * huge_phase_begin and huge_phase_end, and says with huge_look when everything is in place, so that what the kernel
 * gave can be read.
 *
 * Invariants
 *   [huge.1] The kinds alternate, one run on each in turn, another one first in each turn, and the first turn is
 *            dropped. As much memory as the run needs is touched and freed right before it: a host that takes freed
 *            memory back makes the next touch many times slower, which no page size explains.
 *   [huge.2] Every kind does the same work: the runs of a case return one checksum, or the program ends with an error.
 *   [huge.3] What was obtained is read from the kernel, never inferred from what was asked.
 *   [huge.4] The pool is grown by what a run lacks and shrunk by the same when the run ends, whatever the pool was.
 *   [huge.5] At any time one run holds memory: its case's bytes, a little more for a heap's own tables.
 */
#ifndef BENCH_HUGE_PAGES_H
#define BENCH_HUGE_PAGES_H

#include <cradle/cradle.h>

#include "bench/counters.h"

typedef enum huge_kind { HUGE_SMALL, HUGE_TRANSPARENT, HUGE_POOL, HUGE_GIGANTIC } huge_kind;
#define HUGE_KINDS 4
extern const char *const huge_kind_names[HUGE_KINDS]; /* small, thp, hugetlb, 1g */

#define HUGE_PHASES_MAX 4
#define HUGE_RUNS_MAX 99
#define HUGE_PROBES_MAX 256
#define HUGE_GIGANTIC_BYTES ((size_t)1 << 30)

typedef struct huge_case {
  const char *name;
  uint64_t bytes; /* the most memory that a run holds */
  bool heap;      /* true: in a Cradle heap; false: in bare mappings */
  int variant;    /* the benchmark's own */
  uint64_t size;  /* the benchmark's own */
} huge_case;

/* One phase of one run. */
typedef struct huge_phase {
  uint64_t operations; /* 0: the phase did not run */
  double ns;           /* the whole phase; or the median operation where each was timed */
  /* processor time of the process, which leaves out what other programs took; -1: not measured */
  double cpu_ns;
  double faults; /* page faults of the process */
  double counts[COUNTERS];
} huge_phase;

typedef struct huge_run {
  const huge_case *which;
  huge_kind kind;
  uint64_t divide; /* divides the work, for a quick trial */
  huge_phase phases[HUGE_PHASES_MAX];
  uint64_t resident_bytes, huge_bytes; /* what the kernel gave, at huge_look */
  uint64_t resident_before, huge_before;
  double *probes[HUGE_PHASES_MAX]; /* of the benchmarks that time each operation: room for bench.probes of them */
  uint64_t begin_ns;
  double begin_faults, begin_cpu_ns;
  counters counters;
} huge_run;

typedef struct huge_bench {
  const char *name, *help;
  const char *phases[HUGE_PHASES_MAX]; /* NULL after the last */
  const char *operation;               /* what is counted, in words */
  const huge_case *cases;
  size_t case_count;
  size_t probes; /* how many operations a phase times one by one, at most HUGE_PROBES_MAX; 0: none */
  uint64_t (*run)(huge_run *run);
} huge_bench;

extern const huge_bench huge_touch, huge_access, huge_fault, huge_pymalloc, huge_nursery, huge_graph;

#define HUGE_CASES(array) .cases = (array), .case_count = sizeof(array) / sizeof((array)[0])

/* --- for the benchmarks --- */

/* amount divided by --divide; at least 1. */
uint64_t huge_work(const huge_run *run, uint64_t amount);
void huge_phase_begin(huge_run *run);
void huge_phase_end(huge_run *run, int phase, uint64_t operations);
/* A phase whose run->probes[phase][0 .. count - 1] are the times of its operations. */
void huge_phase_probed(huge_run *run, int phase, uint64_t count, double faults);
/* Reads what backs the memory that was added since the run began. */
void huge_look(huge_run *run);

/* A mapping of bytes on pages of the kind: whole huge pages of it, except for small. If it is refused, the program
 * ends with a message, because the driver made sure that there is room. */
char *huge_map(huge_kind kind, size_t bytes);
void huge_unmap(huge_kind kind, char *address, size_t bytes);
/* Page faults of the process so far. */
double huge_faults(void);

/* Default options on pages of the run's kind. */
void huge_heap_options(const huge_run *run, cradle_options *options);
/* Starts a heap, or ends the program with a message. */
cradle_heap *huge_heap_start(const cradle_options *options);

/* An area of bytes, writable and untouched: a bare mapping, or one byte array of a Cradle heap where the case says
 * so. */
typedef struct huge_area {
  char *bytes;
  size_t size;
  huge_kind kind;
  cradle_heap *heap; /* NULL: a bare mapping */
  cradle_mutator *mutator;
} huge_area;
void huge_area_open(huge_area *area, const huge_run *run);
void huge_area_close(huge_area *area);

/* xorshift64*, from a seed that is not 0. */
static inline uint64_t huge_random(uint64_t *state) {
  *state ^= *state >> 12;
  *state ^= *state << 25;
  *state ^= *state >> 27;
  return *state * UINT64_C(2685821657736338717);
}

/* --- for the driver --- */

/* NULL, or a text that says why the case cannot run on this kind; valid until the next call. may_grow: the pool may
 * grow. */
const char *huge_kind_missing(const huge_case *which, huge_kind kind, bool may_grow);
/* Touches as much memory as a run of the case needs, divide times less, and frees it. */
void huge_warm_up(const huge_case *which, uint64_t divide);
/* Call these around every run. NULL, or a text that says why the pool could not grow; valid until the next call. */
const char *huge_pool_grow(const huge_case *which, huge_kind kind);
void huge_pool_restore(void);
/* The process's resident bytes, including the pool's pages, and how many of them are on huge pages. */
void huge_obtained(uint64_t *resident, uint64_t *huge);

typedef struct huge_settings {
  int runs; /* without the warm-up */
  uint64_t divide, most_bytes;
  bool kinds[HUGE_KINDS];
  const char *only; /* one case; NULL: all */
  bool json, once;  /* once: a single run, to time the process from outside */
} huge_settings;

typedef struct huge_row {
  const char *skipped; /* NULL: it was measured */
  char reason[160];
  int runs;
  huge_phase phases[HUGE_PHASES_MAX][HUGE_RUNS_MAX]; /* of the runs that count */
  double *probes[HUGE_PHASES_MAX];                   /* of all these runs, sorted */
  size_t probe_count;
  uint64_t resident_bytes, huge_bytes;
} huge_row;

typedef struct huge_result {
  const huge_bench *bench;
  const huge_settings *settings;
  huge_row (*rows)[HUGE_KINDS]; /* by case */
  bool *left_out;               /* by case: above most_bytes, or not the chosen case */
  char counter_reasons[COUNTERS][128];
} huge_result;

/* Runs the cases that the settings select; free the result with huge_result_free. */
void huge_measure(const huge_bench *bench, const huge_settings *settings, huge_result *result);
void huge_result_free(huge_result *result);
void huge_report_table(const huge_result *result);
void huge_report_json(const huge_result *result);

/* Prints the message and ends the program with status 1. */
void huge_die(const char *format, ...) __attribute__((noreturn, cold, format(printf, 1, 2)));

#endif
