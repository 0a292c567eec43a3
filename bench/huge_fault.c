/* The latency of one page fault: mapping a page, the first write to it, the second. Each is timed on its own, and every
 * page stays mapped until the run ends, so that the kernel hands out no warm page again. */
#include "bench/huge_pages.h"

#include "bench/timing.h"

enum { MAP, FIRST, SECOND };

#define PROBES 200

/* The pool must have a page for each probe. */
static const huge_case cases[] = {{.name = "one-page", .bytes = (UINT64_C(2) << 20) * PROBES}};

static double write_timed(volatile char *page) {
  uint64_t begin = now_ns();
  *page = 1;
  return (double)(now_ns() - begin);
}

static uint64_t run_fault(huge_run *run) {
  char *pages[PROBES];
  uint64_t count = huge_work(run, PROBES);
  double faults[SECOND + 1] = {0};
  for (uint64_t i = 0; i < count; i++) {
    double before = huge_faults();
    uint64_t begin = now_ns();
    pages[i] = huge_map(run->kind, 1);
    run->probes[MAP][i] = (double)(now_ns() - begin);
    double mapped = huge_faults();
    run->probes[FIRST][i] = write_timed(pages[i]);
    double written = huge_faults();
    run->probes[SECOND][i] = write_timed(pages[i]);
    faults[MAP] += mapped - before;
    faults[FIRST] += written - mapped;
    faults[SECOND] += huge_faults() - written;
  }
  huge_look(run);
  for (int phase = MAP; phase <= SECOND; phase++) huge_phase_probed(run, phase, count, faults[phase]);
  for (uint64_t i = 0; i < count; i++) huge_unmap(run->kind, pages[i], 1);
  return count;
}

const huge_bench huge_fault = {
    .name = "fault",
    .help = "one page at a time: mapping it, the first write, the second write, with the distribution",
    .phases = {"map", "first write", "second write"},
    .operation = "page",
    HUGE_CASES(cases),
    .probes = PROBES,
    .run = run_fault,
};
