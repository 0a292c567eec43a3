/* First touch: what it costs to use memory for the first time, and to give it back. */
#include "bench/huge_pages.h"

#include <string.h>
#include <unistd.h>

enum { TOUCH, FILL, FREE };

static const huge_case cases[] = {
    {.name = "50M", .bytes = UINT64_C(50) << 20},
    {.name = "1G", .bytes = UINT64_C(1) << 30},
    {.name = "4G", .bytes = UINT64_C(4) << 30},
    {.name = "heap-50M", .bytes = UINT64_C(50) << 20, .heap = true},
    {.name = "heap-1G", .bytes = UINT64_C(1) << 30, .heap = true},
};

static uint64_t touch(huge_area *area, size_t page) {
  uint64_t touched = 0;
  for (volatile char *byte = area->bytes; byte < area->bytes + area->size; byte += page, touched++) *byte = 1;
  return touched;
}

/* Mapping the memory, or making the heap and its array, is part of the time. */
static uint64_t run_touch(huge_run *run) {
  size_t page = (size_t)sysconf(_SC_PAGESIZE);
  huge_area area;
  huge_phase_begin(run);
  huge_area_open(&area, run);
  uint64_t touched = touch(&area, page);
  huge_phase_end(run, TOUCH, touched);
  huge_area_close(&area);

  huge_phase_begin(run);
  huge_area_open(&area, run);
  memset(area.bytes, 1, area.size);
  huge_phase_end(run, FILL, touched);
  huge_look(run);

  huge_phase_begin(run);
  huge_area_close(&area);
  huge_phase_end(run, FREE, touched);
  return touched;
}

const huge_bench huge_touch = {
    .name = "touch",
    .help = "first touch of fresh memory: a byte in each base page, all bytes, and giving it back",
    .phases = {"touch", "fill", "free"},
    .operation = "base page",
    HUGE_CASES(cases),
    .run = run_touch,
};
