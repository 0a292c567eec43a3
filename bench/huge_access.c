/* Random access to memory that is already there: independent stores and loads, and loads each of which needs the
 * result of the load before. Addresses are words of the area, all equally likely. */
#include "bench/huge_pages.h"

#include <string.h>

enum { STORE, LOAD, DEPENDENT };

#define ACCESSES UINT64_C(200000000)
/* A dependent load takes ten times as long as an independent one. */
#define DEPENDENT_ACCESSES (ACCESSES / 10)
#define SEED UINT64_C(0x9e3779b97f4a7c15)

#define AREA(text, mib) {.name = text, .bytes = UINT64_C(mib) << 20}
#define AREA_IN_HEAP(text, mib) {.name = text, .bytes = UINT64_C(mib) << 20, .heap = true}
static const huge_case cases[] = {
    AREA("64M", 64),
    AREA("128M", 128),
    AREA("256M", 256),
    AREA("512M", 512),
    AREA("1G", 1024),
    AREA("2G", 2048),
    AREA("4G", 4096),
    AREA_IN_HEAP("heap-1G", 1024),
    AREA_IN_HEAP("heap-4G", 4096),
};

/* Sizes are powers of two, so that a mask picks the word. */
static uint64_t store(uint64_t *words, uint64_t mask, uint64_t count) {
  uint64_t state = SEED;
  for (uint64_t i = 0; i < count; i++) {
    uint64_t number = huge_random(&state);
    words[(number >> 20) & mask] = number;
  }
  return state;
}

static uint64_t load(const uint64_t *words, uint64_t mask, uint64_t count) {
  uint64_t state = SEED, sum = 0;
  for (uint64_t i = 0; i < count; i++) sum += words[(huge_random(&state) >> 20) & mask];
  return sum;
}

/* The loaded word goes into the generator's state, so the next address must wait for it. */
static uint64_t load_dependent(const uint64_t *words, uint64_t mask, uint64_t count) {
  uint64_t state = SEED, sum = 0;
  for (uint64_t i = 0; i < count; i++) {
    uint64_t word = words[(huge_random(&state) >> 20) & mask];
    sum += word;
    state ^= word;
    if (state == 0) state = SEED;
  }
  return sum;
}

static uint64_t run_access(huge_run *run) {
  huge_area area;
  huge_area_open(&area, run);
  uint64_t *words = (uint64_t *)(void *)area.bytes, mask = area.size / sizeof *words - 1, sum;
  memset(words, 1, area.size);
  huge_look(run);

  uint64_t count = huge_work(run, ACCESSES), dependent = huge_work(run, DEPENDENT_ACCESSES);
  huge_phase_begin(run);
  sum = store(words, mask, count);
  huge_phase_end(run, STORE, count);
  huge_phase_begin(run);
  sum += load(words, mask, count);
  huge_phase_end(run, LOAD, count);
  huge_phase_begin(run);
  sum += load_dependent(words, mask, dependent);
  huge_phase_end(run, DEPENDENT, dependent);
  huge_area_close(&area);
  return sum;
}

const huge_bench huge_access = {
    .name = "access",
    .help = "random access: 200 million stores and loads, 20 million loads that depend on each other",
    .phases = {"store", "load", "dependent load"},
    .operation = "access",
    HUGE_CASES(cases),
    .run = run_access,
};
