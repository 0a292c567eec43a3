#include "bench/workload_measure.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench/progress.h"
#include "bench/timing.h"

enum { PROGRESS_US = 200000 };

const char *const variant_names[VARIANTS] = {"cradle", "arena", "arena-fresh", "malloc", "mimalloc"};

/* --- one run --- */

static void open_memory(manual *memory, variant_id variant) {
  const char *why;
  if (variant == VARIANT_ARENA || variant == VARIANT_ARENA_FRESH)
    why = manual_open_arena(memory, variant == VARIANT_ARENA_FRESH);
  else
    why = manual_open_peer(memory, variant == VARIANT_MALLOC ? PEER_MALLOC : PEER_MIMALLOC);
  if (why == NULL) return;
  fprintf(stderr, "workloads: %s cannot run: %s\n", variant_names[variant], why);
  exit(1);
}

/* Touches and frees as much memory as the largest run so far used. The host of a virtual machine takes freed memory
 * back, and giving it out again costs milliseconds for 2 MiB. Without this, whichever variant comes first would pay for
 * that. */
static void have_memory_ready(size_t bytes) {
  if (bytes == 0) return;
  char *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return; /* then all runs are slower */
#ifdef MADV_HUGEPAGE
  (void)madvise(memory, bytes, MADV_HUGEPAGE);
#endif
  for (size_t at = 0; at < bytes; at += 4096) memory[at] = 1;
  munmap(memory, bytes);
}

/* In the run's own process. A peer's library is loaded before the clock starts. */
static void run_here(const workload *work, variant_id variant, workload_run *run) {
  manual memory;
  if (variant != VARIANT_CRADLE) open_memory(&memory, variant);
  run->cpu_begin_ns = process_cpu_now_ns();
  run->thread_begin_ns = cpu_now_ns();
  run->begin_ns = now_ns();
  run->checksum = variant == VARIANT_CRADLE ? work->cradle(run) : work->by_hand(run, &memory);
  if (variant != VARIANT_CRADLE) manual_close(&memory);
  if (run->end_ns != 0) return;
  run->end_ns = now_ns();
  run->cpu_end_ns = process_cpu_now_ns();
  run->thread_end_ns = cpu_now_ns();
}

static void check_exit(const workload *work, variant_id variant, int status) {
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return;
  if (WIFSIGNALED(status))
    fprintf(stderr, "workloads: %s with %s: ended by signal %d\n", work->name, variant_names[variant],
            WTERMSIG(status));
  exit(1);
}

/* Like wait4, and meanwhile shows how long the run has taken. */
static bool await(pid_t child, const workload *work, variant_id variant, int round, const workload_run *run,
                  int *status, struct rusage *usage) {
  if (!progress_is_shown()) return wait4(child, status, 0, usage) == child;
  uint64_t begin = now_ns();
  for (;;) {
    char which[40];
    progress_show("workloads: %s with %s, %s: %.0f s", work->name, variant_names[variant],
                  progress_run(round, (int)run->with.runs, which), (double)(now_ns() - begin) * 1e-9);
    pid_t ended = wait4(child, status, WNOHANG, usage);
    if (ended != 0) {
      progress_end();
      return ended == child;
    }
    usleep(PROGRESS_US);
  }
}

/* Returns the peak of its resident memory. run is in shared memory. Round -1 warms up. */
static uint64_t run_process(const workload *work, variant_id variant, int round, workload_run *run) {
  fflush(NULL);
  pid_t child = fork();
  if (child == 0) {
    run_here(work, variant, run);
    exit(0);
  }
  int status;
  struct rusage usage;
  if (child < 0 || !await(child, work, variant, round, run, &status, &usage)) {
    perror("workloads: a process for a run");
    exit(1);
  }
  check_exit(work, variant, status);
  return (uint64_t)usage.ru_maxrss * 1024;
}

/* --- all runs --- */

static void histogram_add(histogram *to, const histogram *from) {
  to->count += from->count;
  to->sum += from->sum;
  if (from->max > to->max) to->max = from->max;
  for (int i = 0; i < HISTOGRAM_BUCKETS; i++) to->buckets[i] += from->buckets[i];
}

static void take(variant_result *result, const workload_run *run, uint64_t peak, int at) {
  result->seconds[at] = (double)(run->end_ns - run->begin_ns) * 1e-9;
  result->cpu_seconds[at] = (double)(run->cpu_end_ns - run->cpu_begin_ns) * 1e-9;
  result->beside_seconds[at] = result->cpu_seconds[at] - (double)(run->thread_end_ns - run->thread_begin_ns) * 1e-9;
  result->gc_shares[at] = (double)run->pauses.sum * 1e-9 / result->seconds[at];
  for (unsigned i = 0; i < run->figure_count; i++) result->figures[i][at] = run->figures[i].value;
  if (peak > result->peak_resident_bytes) result->peak_resident_bytes = peak;
  histogram_add(&result->pauses, &run->pauses);
  result->last = *run;
}

static void check_sum(const workload *work, variant_id variant, uint64_t expected, uint64_t got) {
  if (expected == got) return;
  fprintf(stderr, "workloads: %s: checksums differ: %s found %llx, the first run %llx\n", work->name,
          variant_names[variant], (unsigned long long)got, (unsigned long long)expected);
  exit(1);
}

/* Rounds, one variant after the other. If there are several rounds, one more goes first to warm the machine up, and the
 * memory that a run may need is touched before it. */
void workload_measure(const workload *work, const workload_run *run, variant_result results[VARIANTS]) {
  workload_run *shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED) {
    perror("workloads: shared memory");
    exit(1);
  }
  int runs = (int)run->with.runs;
  uint64_t sum = 0, most = 0;
  bool have_sum = false;
  for (int round = runs > 1 ? -1 : 0; round < runs; round++) {
    for (variant_id variant = 0; variant < VARIANTS; variant++) {
      variant_result *result = &results[variant];
      if (!result->wanted) continue;
      *shared = *run;
      have_memory_ready(most);
      uint64_t peak = run_process(work, variant, round, shared);
      if (runs > 1 && peak > most) most = peak;
      if (have_sum) check_sum(work, variant, sum, shared->checksum);
      sum = shared->checksum;
      have_sum = true;
      if (round < 0) continue;
      take(result, shared, peak, round);
      result->ratios[round] = results[VARIANT_CRADLE].seconds[round] / result->seconds[round];
      result->cpu_ratios[round] = results[VARIANT_CRADLE].cpu_seconds[round] / result->cpu_seconds[round];
    }
  }
  munmap(shared, sizeof *shared);
}
