#include "gc/old/closed.h"

#include <stdlib.h>

#include "gc/base/address.h"
#include "gc/base/bits.h"
#include "gc/base/sanitizers.h"
#include "gc/old/arena_memory.h"
#include "gc/platform/pages.h"

/* The i-th oldest run; NULL: there are not so many. */
static const crd_closed_run *run_at(const crd_arenas *arenas, uint32_t i) {
  const crd_closed *closed = arenas->closed;
  return closed == NULL || i >= closed->count ? NULL : &closed->runs[(closed->first + i) % CLOSED_RUNS];
}

static bool protect(const crd_arenas *arenas, const crd_closed_run *run, bool accessible) {
  void *address = memory_at(arenas_page_address(arenas, run->page));
  size_t bytes = (size_t)run->pages << PAGE_SHIFT;
  if (!crd_pages_protect(address, bytes, accessible)) return false;
  if (accessible)
    sanitize_known(address, bytes);
  else
    sanitize_unused(address, bytes);
  return true;
}

/* Gives the arenas of a run that are empty now back to the system. */
static void release_arenas(crd_arenas *arenas, const crd_closed_run *run, uint32_t keep) {
  uint32_t first = run->page / ARENA_PAGES, last = (run->page + run->pages - 1) / ARENA_PAGES;
  crd_arenas_quarantine(arenas, first, last - first + 1, keep);
}

/* --- opening --- */

bool crd_closed_open_oldest(crd_arenas *arenas) {
  crd_closed *closed = arenas->closed;
  const crd_closed_run *run = run_at(arenas, 0);
  if (run == NULL || !protect(arenas, run, true)) return false;
  ASSERT(closed->pages >= run->pages, "[closed.1] more pages are opened than were closed");
  closed->first = (closed->first + 1) % CLOSED_RUNS;
  closed->count--;
  closed->pages -= run->pages;
  crd_arenas_give_back(arenas, run->page, run->pages);
  return true;
}

static bool retire_oldest(crd_arenas *arenas, uint32_t keep) {
  const crd_closed_run *run = run_at(arenas, 0); /* the place keeps what it had until another run is closed */
  if (!crd_closed_open_oldest(arenas)) return false;
  release_arenas(arenas, run, keep);
  return true;
}

void crd_closed_open_all(crd_arenas *arenas, uint32_t keep) {
  while (retire_oldest(arenas, keep)) {}
}

/* --- closing --- */

/* Opens the oldest runs until one more with so many pages fits. false: the system refuses that. */
static bool make_place(crd_arenas *arenas, uint32_t pages, uint32_t keep) {
  const crd_closed *closed = arenas->closed;
  while (closed->count == CLOSED_RUNS || closed->pages + pages > CLOSED_PAGES)
    if (!retire_oldest(arenas, keep)) return false;
  return true;
}

/* If the system refuses half-way to close the pages, they are opened again. If it refuses that, too, they count as
 * closed, because some of them are inaccessible. */
void crd_closed_bury(crd_arenas *arenas, crd_closed_run dead, uint32_t keep) {
  crd_closed *closed = arenas->closed;
  if (closed->can_close && dead.pages <= CLOSED_PAGES && make_place(arenas, dead.pages, keep) &&
      (protect(arenas, &dead, false) || !protect(arenas, &dead, true))) {
    closed->runs[(closed->first + closed->count) % CLOSED_RUNS] = dead;
    closed->count++;
    closed->pages += dead.pages;
  } else {
    crd_arenas_give_back(arenas, dead.page, dead.pages);
    release_arenas(arenas, &dead, keep);
  }
}

const crd_closed_run *crd_closed_at(const crd_arenas *arenas, uintptr_t address) {
  if (!arenas_contain(arenas, address)) return NULL;
  uint32_t page = arenas_page_number(arenas, address), i = 0;
  const crd_closed_run *run;
  while ((run = run_at(arenas, i++)) != NULL && page - run->page >= run->pages) {}
  return run;
}

const char *crd_closed_check(const crd_arenas *arenas, uint32_t *pages) {
  const crd_closed_run *run;
  *pages = 0;
  for (uint32_t i = 0; (run = run_at(arenas, i)) != NULL; i++)
    for (uint32_t page = run->page; page < run->page + run->pages; page++, (*pages)++)
      if (arenas->states[page / ARENA_PAGES] != ARENA_USED || arenas_page(arenas, page)->state != PAGE_FREE ||
          bitmap_has(arenas->meta[page / ARENA_PAGES].free_map, page % ARENA_PAGES))
        return "a closed page is not taken, or a span's [closed.1]";
  if (arenas->closed != NULL && *pages != arenas->closed->pages)
    return "the count of closed pages does not match their runs [closed.1]";
  return NULL;
}

bool crd_closed_init(crd_arenas *arenas, size_t page_bytes) {
  ASSERT(arenas->committed_count == 0, "arenas were committed before there was a quarantine");
  arenas->closed = calloc(1, sizeof *arenas->closed);
  if (arenas->closed == NULL) return false;
  arenas->closed->can_close = page_bytes <= PAGE_BYTES; /* a larger base page may hold the next object, too */
  return true;
}

void crd_closed_fini(crd_arenas *arenas) {
  while (crd_closed_open_oldest(arenas)) {}
  free(arenas->closed);
  arenas->closed = NULL;
}
