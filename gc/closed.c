/* Closed runs: with a quarantine, the pages of a large object that died become inaccessible, so that the use of a reference to it
 * faults. The whole arenas among them are given back, until they are committed again; the pages of the last one stay taken, in
 * a ring, until others need the place in it, memory is short, or objects are moved. Pages of a pool cannot be closed one by
 * one, nor can those of systems whose base pages are larger than 4 KiB: what they hold is poison, and they are used again at once.
 *
 *   [closed.1] The ring holds the last runs, oldest first. The last closed pages of each are taken, inaccessible and no span's;
 *              none when they were opened again, and the run is there to be told of.
 *   [closed.2] No page among the first unused ones of a run was taken since its object died; those behind one that was are told of
 *              no more, even where they are inaccessible.
 */
#include <stdlib.h>

#include "gc/arena.h"
#include "gc/check.h"
#include "gc/platform/pages.h"
#include "gc/sanitize.h"

#define CLOSED_RUNS LIMIT(64, 4)
#define CLOSED_PAGES (8 * ARENA_PAGES)

bool crd_arenas_closing_init(crd_arenas *arenas, size_t page_bytes) {
  arenas->can_close = page_bytes <= PAGE_BYTES; /* larger ones have the next object's memory in them */
  arenas->runs = calloc(CLOSED_RUNS, sizeof *arenas->runs);
  return arenas->runs != NULL;
}

void crd_arenas_closing_fini(crd_arenas *arenas) {
  while (crd_arenas_open_oldest(arenas)) {}
  free(arenas->runs);
}

static crd_closed_run *run_at(const crd_arenas *arenas, uint32_t i) {
  return &arenas->runs[(arenas->first_run + i) % CLOSED_RUNS];
}

static bool protect(const crd_arenas *arenas, uint32_t page, uint32_t pages, bool accessible) {
  void *address = (void *)arenas_page_address(arenas, page);
  size_t bytes = (size_t)pages << PAGE_SHIFT;
  if (!crd_pages_protect(address, bytes, accessible)) return false;
  if (accessible)
    sanitize_known(address, bytes);
  else
    sanitize_unused(address, bytes);
  return true;
}

/* false: it is open, or the system refuses; it stays as it is. */
static bool open_run(crd_arenas *arenas, crd_closed_run *run) {
  uint32_t pages = run->closed, page = run->page + run->pages - pages;
  if (pages == 0 || !protect(arenas, page, pages, true)) return false;
  run->closed = 0;
  arenas->closed_pages -= pages;
  crd_arenas_give_back(arenas, page, pages);
  return true;
}

/* The arena that the run was all of becomes inaccessible. */
static void retire_run(crd_arenas *arenas, crd_closed_run *run, uint32_t keep) {
  if (open_run(arenas, run)) crd_arenas_quarantine(arenas, (run->page + run->pages - 1) / ARENA_PAGES, 1, keep);
}

bool crd_arenas_open_oldest(crd_arenas *arenas) {
  for (uint32_t i = 0; i < arenas->run_count; i++)
    if (open_run(arenas, run_at(arenas, i))) return true;
  return false;
}

void crd_arenas_retire_closed(crd_arenas *arenas, uint32_t keep) {
  for (uint32_t i = 0; i < arenas->run_count; i++) retire_run(arenas, run_at(arenas, i), keep);
}

/* false: the oldest one cannot be opened. */
static bool make_room(crd_arenas *arenas, uint32_t pages, uint32_t keep) {
  for (uint32_t i = 0; i < arenas->run_count && arenas->closed_pages + pages > CLOSED_PAGES; i++)
    retire_run(arenas, run_at(arenas, i), keep);
  if (arenas->run_count < CLOSED_RUNS) return true;
  retire_run(arenas, run_at(arenas, 0), keep);
  if (run_at(arenas, 0)->closed != 0) return false;
  arenas->first_run = (arenas->first_run + 1) % CLOSED_RUNS;
  arenas->run_count--;
  return true;
}

/* What was closed in part before the system refused is opened again, or stays. */
static bool close_tail(const crd_arenas *arenas, uint32_t page, uint32_t pages) {
  if (pages == 0 || !arenas->can_close) return false;
  return protect(arenas, page, pages, false) || !protect(arenas, page, pages, true);
}

void crd_arenas_close(crd_arenas *arenas, crd_closed_run run, uint32_t keep) {
  uint32_t tail = run.pages % ARENA_PAGES, whole = run.pages - tail;
  if (whole > 0) {
    crd_arenas_give_back(arenas, run.page, whole);
    crd_arenas_quarantine(arenas, run.page / ARENA_PAGES, whole / ARENA_PAGES, keep);
  }
  bool has_room = make_room(arenas, tail, keep);
  if (has_room && close_tail(arenas, run.page + whole, tail))
    run.closed = tail;
  else
    crd_arenas_give_back(arenas, run.page + whole, tail);
  if (!has_room) return;
  run.unused = run.pages;
  arenas->closed_pages += run.closed;
  *run_at(arenas, arenas->run_count) = run;
  arenas->run_count++;
}

void crd_arenas_forget_closed(crd_arenas *arenas, uint32_t page, uint32_t count) {
  for (uint32_t i = 0; i < arenas->run_count; i++) {
    crd_closed_run *run = run_at(arenas, i);
    if (page + count > run->page && page < run->page + run->unused) run->unused = page > run->page ? page - run->page : 0;
  }
}

uint32_t crd_arenas_count_closed(const crd_arenas *arenas) {
  uint32_t pages = 0;
  for (uint32_t i = 0; i < arenas->run_count; i++) pages += run_at(arenas, i)->closed;
  return pages;
}

const crd_closed_run *crd_arenas_closed_at(const crd_arenas *arenas, uintptr_t address) {
  if (!arenas_contain(arenas, address)) return NULL;
  uint32_t page = arenas_page_number(arenas, address);
  for (uint32_t i = arenas->run_count; i-- > 0;) {
    const crd_closed_run *run = run_at(arenas, i);
    uint32_t end = run->page + run->pages;
    if (page >= end - run->closed && page < end) return run;
    if (page >= run->page && page < run->page + run->unused && !arenas_are_committed(arenas, address)) return run;
  }
  return NULL;
}
