/* A map from addresses of objects to numbers. It is for the few objects of which something must be known that has no
 * room in their headers: pins and ids. Open addressing with linear probing; a removed entry leaves no
 * mark behind.
 *
 *   [address_map.1] capacity is a power of two or 0; at most three quarters of the entries are taken.
 *   [address_map.2] Between an entry's home and its place no entry is empty.
 *   [address_map.3] An address, never 0, has one entry at most, and its number is not ADDRESS_MAP_NONE.
 */
#ifndef CRADLE_GC_BASE_ADDRESS_MAP_H
#define CRADLE_GC_BASE_ADDRESS_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ADDRESS_MAP_NONE UINT32_MAX

typedef struct crd_address_entry {
  uintptr_t address; /* 0: empty */
  uint32_t number;
} crd_address_entry;

typedef struct crd_address_map {
  crd_address_entry *entries;
  size_t capacity, count;
} crd_address_map;

/* Makes room for one more entry, so that the next insertion cannot fail. false: memory was refused, nothing changed. */
bool crd_address_map_reserve(crd_address_map *map);
/* Enters an address that is not in the map yet; room was made. */
void crd_address_map_insert(crd_address_map *map, uintptr_t address, uint32_t number);
/* The address's entry, or NULL; valid until the map changes. */
crd_address_entry *crd_address_map_find(const crd_address_map *map, uintptr_t address);
/* The address's number, or ADDRESS_MAP_NONE. */
uint32_t crd_address_map_get(const crd_address_map *map, uintptr_t address);
/* Removes an address that is in the map. */
void crd_address_map_remove(crd_address_map *map, uintptr_t address);
/* Empties the map and keeps its room. */
void crd_address_map_clear(crd_address_map *map);
void crd_address_map_fini(crd_address_map *map);
/* For the verifier: NULL, or what is wrong. */
const char *crd_address_map_check(const crd_address_map *map);

#endif
