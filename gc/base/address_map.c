#include "gc/base/address_map.h"

#include <stdlib.h>
#include <string.h>

#include "gc/base/bits.h"

#define FIRST_CAPACITY 64

/* The highest bits of the product (Knuth, The Art of Computer Programming, volume 3, 6.4: Fibonacci hashing). They
 * spread addresses at regular distances evenly in a table of any size, which bits from the middle do not. */
static size_t home_of(const crd_address_map *map, uintptr_t address) {
  ASSERT(map->capacity > 1, "[address_map.1] a home in no table");
  return (size_t)((uint64_t)address * UINT64_C(0x9e3779b97f4a7c15) >> (__builtin_clzll(map->capacity) + 1));
}

static size_t after(const crd_address_map *map, size_t at) {
  return (at + 1) & (map->capacity - 1);
}

bool crd_address_map_reserve(crd_address_map *map) {
  /* At three quarters probes are still short, and there always is an empty entry at which a search ends. */
  if (map->count + 1 <= map->capacity / 4 * 3) return true;
  ASSERT(map->capacity == 0 || is_power_of_two(map->capacity), "[address_map.1] a capacity is no power of two");
  crd_address_map wider = {.capacity = map->capacity == 0 ? FIRST_CAPACITY : 2 * map->capacity};
  wider.entries = calloc(wider.capacity, sizeof *wider.entries);
  if (wider.entries == NULL) return false;
  for (size_t i = 0; i < map->capacity; i++)
    if (map->entries[i].address != 0) crd_address_map_insert(&wider, map->entries[i].address, map->entries[i].number);
  free(map->entries);
  *map = wider;
  return true;
}

void crd_address_map_insert(crd_address_map *map, uintptr_t address, uint32_t number) {
  ASSERT(map->count < map->capacity / 4 * 3, "[address_map.1] no room was made");
  ASSERT(address != 0 && number != ADDRESS_MAP_NONE, "[address_map.3] an entry that nothing finds");
  ASSERT(crd_address_map_find(map, address) == NULL, "[address_map.3] an address is entered twice");
  size_t at = home_of(map, address);
  while (map->entries[at].address != 0) at = after(map, at);
  map->entries[at] = (crd_address_entry){address, number};
  map->count++;
}

crd_address_entry *crd_address_map_find(const crd_address_map *map, uintptr_t address) {
  if (map->count == 0) return NULL;
  for (size_t at = home_of(map, address); map->entries[at].address != 0; at = after(map, at))
    if (map->entries[at].address == address) return &map->entries[at];
  return NULL;
}

uint32_t crd_address_map_get(const crd_address_map *map, uintptr_t address) {
  const crd_address_entry *entry = crd_address_map_find(map, address);
  return entry == NULL ? ADDRESS_MAP_NONE : entry->number;
}

/* Closes the hole that a removed entry leaves, so that no mark has to stay [address_map.2]. Looks at the entries
 * behind the hole, up to the next empty one. An entry moves into the hole unless its home lies between the hole and
 * the entry; where it was is the next hole. */
void crd_address_map_remove(crd_address_map *map, uintptr_t address) {
  crd_address_entry *entry = crd_address_map_find(map, address);
  ASSERT(entry != NULL, "[address_map.3] an address is removed that is not in the map");
  size_t hole = (size_t)(entry - map->entries), mask = map->capacity - 1;
  for (size_t at = after(map, hole); map->entries[at].address != 0; at = after(map, at)) {
    size_t from_home = (at - home_of(map, map->entries[at].address)) & mask;
    if (from_home < ((at - hole) & mask)) continue;
    map->entries[hole] = map->entries[at];
    hole = at;
  }
  map->entries[hole] = (crd_address_entry){0, 0};
  map->count--;
}

const char *crd_address_map_check(const crd_address_map *map) {
  size_t taken = 0;
  for (size_t i = 0; i < map->capacity; i++) {
    uintptr_t address = map->entries[i].address;
    if (address == 0) continue;
    taken++;
    for (size_t at = home_of(map, address); at != i; at = after(map, at)) {
      if (map->entries[at].address == 0) return "an entry of a map lies behind an empty one [address_map.2]";
      if (map->entries[at].address == address) return "an address is in a map twice [address_map.3]";
    }
  }
  if (taken != map->count) return "the entries of a map are counted wrong";
  return taken <= map->capacity / 4 * 3 ? NULL : "a map is too full [address_map.1]";
}

void crd_address_map_clear(crd_address_map *map) {
  if (map->count != 0) memset(map->entries, 0, map->capacity * sizeof *map->entries);
  map->count = 0;
}

void crd_address_map_fini(crd_address_map *map) {
  free(map->entries);
  *map = (crd_address_map){NULL, 0, 0};
}
