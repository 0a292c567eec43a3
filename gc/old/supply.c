#include "gc/old/supply.h"

#include "gc/old/arena_memory.h"

#define ASKED_MOST 16 /* arenas at a time */

bool crd_supply_settle(crd_arenas *arenas) {
  crd_supply *supply = &arenas->supply;
  if (supply->count == 0) return true;
  if (__atomic_load_n(&supply->done, __ATOMIC_ACQUIRE) != supply->asked) return false;
  for (uint32_t i = supply->first; i < supply->first + supply->count; i++)
    if (arenas->states[i] != ARENA_RESERVED) arenas->origins[i] |= ARENA_TOUCHED;
  arenas->supplied_total += supply->count;
  supply->count = 0;
  return true;
}

/* Among the lowest count FREE arenas, the first run of neighbours that are not populated: from *first on, as many as
 * are returned. */
static uint32_t find_unready(const crd_arenas *arenas, uint32_t count, uint32_t *first) {
  uint32_t seen = 0, found = 0, end = arenas->committed_end;
  for (uint32_t i = arenas_next(arenas, 0, end, ARENA_FREE); i < end && seen < count && found < ASKED_MOST; i++) {
    bool is_free = arenas->states[i] == ARENA_FREE, is_wanted = is_free && !(arenas->origins[i] & ARENA_TOUCHED);
    if (found > 0 && !is_wanted) break;
    if (found == 0) *first = i;
    found += is_wanted;
    seen += is_free;
  }
  return found;
}

bool crd_supply_ask(crd_arenas *arenas, uint32_t keep, uint32_t ahead) {
  crd_supply *supply = &arenas->supply;
  uint32_t first = 0;
  /* Pages of a pool are populated when they are committed. */
  if (arenas->backing.pool || arenas_go_round(arenas)) return false;
  supply->ahead = arenas_in_use(arenas) >= arenas->demand.peak ? ahead : 0;
  if (!crd_supply_settle(arenas)) return false;
  uint32_t count = keep + supply->ahead;
  (void)crd_arenas_ensure_free(arenas, count); /* what has come is asked for */
  uint32_t found = find_unready(arenas, count, &first);
  if (found == 0) return false;
  ASSERT(supply->count == 0, "[supply.2] the thread is asked while it is at something");
  supply->first = first;
  supply->count = found;
  __atomic_store_n(&supply->asked, supply->asked + found, __ATOMIC_RELEASE);
  return true;
}

void crd_supply_forget(crd_arenas *arenas) {
  arenas->supply = (crd_supply){0};
}

bool crd_supply_next(crd_arenas *arenas) {
  crd_supply *supply = &arenas->supply;
  uint32_t done = supply->done, left = __atomic_load_n(&supply->asked, __ATOMIC_ACQUIRE) - done;
  if (left == 0) return false;
  ASSERT(left <= supply->count, "[supply.2] the thread has more to do than it was asked for");
  (void)crd_arenas_populate(arenas, supply->first + (supply->count - left));
  __atomic_store_n(&supply->done, done + 1, __ATOMIC_RELEASE);
  return true;
}
