#include "gc/instruments/closed_runs.h"

#include <stdlib.h>

#include "gc/base/address.h"
#include "gc/base/bits.h"
#include "gc/base/sanitizers.h"
#include "gc/old/arena_memory.h"
#include "gc/platform/pages.h"

/* --- the ring --- */

static crd_closed_run *run_at(const crd_arenas *arenas, uint32_t i) {
  crd_closed_runs *ring = arenas->closed_runs;
  ASSERT(i <= ring->count, "[closed.1] a run beyond the ring's end");
  return &ring->runs[(ring->first + i) % CLOSED_RUNS];
}

static uint32_t end_of(const crd_closed_run *run) {
  return run->object.page + run->object.pages;
}

/* The first closed page of a run, or its end if none is closed. */
static uint32_t first_closed(const crd_closed_run *run) {
  return end_of(run) - run->closed;
}

static void add_run(crd_arenas *arenas, crd_closed_run run) {
  crd_closed_runs *ring = arenas->closed_runs;
  ASSERT(ring->count < CLOSED_RUNS, "[closed.1] the ring is full");
  *run_at(arenas, ring->count) = run;
  ring->count++;
  ring->pages += run.closed;
}

static void drop_oldest(crd_closed_runs *ring) {
  ASSERT(ring->runs[ring->first].closed == 0, "[closed.1] a run leaves the ring closed");
  ring->first = (ring->first + 1) % CLOSED_RUNS;
  ring->count--;
}

/* --- opening --- */

/* Takes or gives access to pages, and tells the sanitizers. */
static bool protect(const crd_arenas *arenas, uint32_t page, uint32_t pages, bool accessible) {
  void *address = memory_at(arenas_page_address(arenas, page));
  size_t bytes = (size_t)pages << PAGE_SHIFT;
  if (!crd_pages_protect(address, bytes, accessible)) return false;
  if (accessible)
    sanitize_known(address, bytes);
  else
    sanitize_unused(address, bytes);
  return true;
}

/* Opens the closed pages of a run and gives them back to their arena. false: none is closed, or the system refuses, and
 * nothing has changed. */
static bool open_run(crd_arenas *arenas, crd_closed_run *run) {
  uint32_t pages = run->closed, page = first_closed(run);
  if (pages == 0 || !protect(arenas, page, pages, true)) return false;
  ASSERT(arenas->closed_runs->pages >= pages, "[closed.1] more pages are opened than were closed");
  run->closed = 0;
  arenas->closed_runs->pages -= pages;
  crd_arenas_give_back(arenas, page, pages);
  return true;
}

/* Opens a run. If its arena is empty then, the arena becomes inaccessible in its turn. */
static void retire_run(crd_arenas *arenas, crd_closed_run *run, uint32_t keep) {
  if (open_run(arenas, run)) crd_arenas_quarantine(arenas, (end_of(run) - 1) / ARENA_PAGES, 1, keep);
}

static bool open_oldest(crd_arenas *arenas) {
  for (uint32_t i = 0; i < arenas->closed_runs->count; i++)
    if (open_run(arenas, run_at(arenas, i))) return true;
  return false;
}

static void retire(crd_arenas *arenas, uint32_t keep) {
  for (uint32_t i = 0; i < arenas->closed_runs->count; i++) retire_run(arenas, run_at(arenas, i), keep);
}

/* Makes room in the ring for one more run with so many closed pages, by opening the oldest ones. false: the ring is
 * full and the system refuses to open the oldest run. */
static bool make_place(crd_arenas *arenas, uint32_t pages, uint32_t keep) {
  crd_closed_runs *ring = arenas->closed_runs;
  for (uint32_t i = 0; i < ring->count && ring->pages + pages > CLOSED_PAGES; i++)
    retire_run(arenas, run_at(arenas, i), keep);
  if (ring->count < CLOSED_RUNS) return true;
  retire_run(arenas, run_at(arenas, 0), keep);
  if (run_at(arenas, 0)->closed != 0) return false;
  drop_oldest(ring);
  return true;
}

/* --- closing --- */

/* Closes pages. If the system refuses half-way, opens them again; if it refuses that, too, they count as closed,
 * because some of them are inaccessible. */
static bool close_tail(const crd_arenas *arenas, uint32_t page, uint32_t pages) {
  if (pages == 0 || !arenas->closed_runs->can_close) return false;
  return protect(arenas, page, pages, false) || !protect(arenas, page, pages, true);
}

/* The whole arenas of the object go back to the system, and its tail is closed. If the tail cannot be closed, it is
 * used again at once. The run is entered all the same: addresses in the arenas that went can be reported. */
static void large_died(crd_arenas *arenas, crd_dead_large dead, uint32_t keep) {
  uint32_t tail = dead.pages % ARENA_PAGES, whole = dead.pages - tail;
  crd_closed_run run = {.object = dead, .unused = dead.pages};
  if (whole > 0) {
    crd_arenas_give_back(arenas, dead.page, whole);
    crd_arenas_quarantine(arenas, dead.page / ARENA_PAGES, whole / ARENA_PAGES, keep);
  }
  bool has_place = make_place(arenas, tail, keep);
  if (has_place && close_tail(arenas, dead.page + whole, tail))
    run.closed = tail;
  else
    crd_arenas_give_back(arenas, dead.page + whole, tail);
  if (has_place) add_run(arenas, run);
}

/* A page of a dead object is used again, so what lies there now is no longer that object: `unused` ends before it. */
static void pages_taken(crd_arenas *arenas, uint32_t page, uint32_t count) {
  for (uint32_t i = 0; i < arenas->closed_runs->count; i++) {
    crd_closed_run *run = run_at(arenas, i);
    ASSERT(run->closed == 0 || page + count <= first_closed(run) || page >= end_of(run),
           "[closed.1] a closed page is taken");
    if (page + count > run->object.page && page < run->object.page + run->unused)
      run->unused = page > run->object.page ? page - run->object.page : 0;
  }
}

/* --- questions --- */

static bool is_taken(const crd_arenas *arenas, uint32_t page) {
  const crd_arena *arena = &arenas->meta[page / ARENA_PAGES];
  if (arenas->states[page / ARENA_PAGES] != ARENA_USED) return false;
  return !bitmap_has(arena->free_map, page % ARENA_PAGES);
}

static const char *check_run(const crd_arenas *arenas, const crd_closed_run *run) {
  for (uint32_t page = first_closed(run); page < end_of(run); page++)
    if (!is_taken(arenas, page) || arenas_page(arenas, page)->state != PAGE_FREE)
      return "a closed page is not taken, or a span's [closed.1]";
  for (uint32_t page = run->object.page; page < run->object.page + run->unused && page < first_closed(run); page++)
    if (is_taken(arenas, page)) return "a dead object's page was taken and not forgotten [closed.2]";
  return NULL;
}

static const char *check(const crd_arenas *arenas, uint32_t *closed_pages) {
  const char *fault = NULL;
  *closed_pages = 0;
  for (uint32_t i = 0; i < arenas->closed_runs->count && fault == NULL; i++) {
    *closed_pages += run_at(arenas, i)->closed;
    fault = check_run(arenas, run_at(arenas, i));
  }
  if (fault == NULL && *closed_pages != arenas->closed_runs->pages)
    fault = "the count of closed pages does not match their runs [closed.1]";
  return fault;
}

/* The newest run is asked first: the same pages may have belonged to an older object, too. */
const crd_closed_run *crd_closed_runs_at(const crd_arenas *arenas, uintptr_t address) {
  if (arenas->closing == NULL || !arenas_contain(arenas, address)) return NULL;
  uint32_t page = arenas_page_number(arenas, address);
  for (uint32_t i = arenas->closed_runs->count; i-- > 0;) {
    const crd_closed_run *run = run_at(arenas, i);
    if (page >= first_closed(run) && page < end_of(run)) return run;
    bool is_unused = page >= run->object.page && page < run->object.page + run->unused;
    if (is_unused && !arenas_are_committed(arenas, address)) return run;
  }
  return NULL;
}

/* --- beginning and end --- */

static const crd_closing_calls calls = {open_oldest, pages_taken, large_died, retire, check};

bool crd_closed_runs_init(crd_arenas *arenas, size_t page_bytes) {
  ASSERT(arenas->committed_count == 0, "arenas were committed before there was a quarantine");
  arenas->closed_runs = calloc(1, sizeof *arenas->closed_runs);
  if (arenas->closed_runs == NULL) return false;
  arenas->closed_runs->can_close = page_bytes <= PAGE_BYTES; /* a larger base page may hold the next object, too */
  arenas->closing = &calls;
  return true;
}

void crd_closed_runs_fini(crd_arenas *arenas) {
  if (arenas->closing == NULL) return;
  while (open_oldest(arenas)) {}
  free(arenas->closed_runs);
  arenas->closed_runs = NULL;
  arenas->closing = NULL;
}
