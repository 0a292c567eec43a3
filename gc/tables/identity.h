/* Ids: numbers of objects, kept beside them.
 *
 * Each object with an id has an entry, found by its address; the id is the entry's index and how often the entry was
 * taken before. When an object moves, its entry follows: after a minor collection for the objects that were young when
 * they were asked, in compaction for all.
 *
 *   [identity.1] An object's id flag is set exactly when it has an entry; the entry's address is the object's.
 *   [identity.2] Outside a minor collection, the entry of a young object is in the young list; after one that list is
 *                empty.
 *   [identity.3] The entry of a dead old object goes between the end of marking and the sweep of the first span, in
 *                increments; until then nothing is allocated in the dead object's place, and it is told by its mark.
 *   [identity.4] A free entry is in the free list, unless it was taken as often as a generation can count.
 */
#ifndef CRADLE_GC_TABLES_IDENTITY_H
#define CRADLE_GC_TABLES_IDENTITY_H

#include <cradle/identity.h>

#include "gc/base/address_map.h"

/* Ends a list of entries; 0: the entry is in none. Entries are linked by their index plus 1. */
#define ID_LIST_END UINT32_MAX

typedef struct crd_id_entry {
  uintptr_t address;   /* 0: free */
  uint32_t generation; /* how often the entry was taken before */
  uint32_t link;       /* in the free list or the young list */
} crd_id_entry;

typedef struct crd_ids {
  crd_address_map by_address; /* index of the entry */
  crd_id_entry *entries;
  uint32_t used, capacity; /* entries taken so far, and room */
  uint32_t free, young;    /* lists */
  uint64_t hashes;         /* identity hashes given out */
} crd_ids;

void crd_ids_init(crd_ids *ids);
void crd_ids_fini(crd_ids *ids);
/* An object that is none any more gives its id up, if it has one. */
void crd_ids_drop(cradle_heap *heap, const cradle_word *object);
/* The minor collection has reached all that lives, and large objects that died still have their pages: entries of young
 * objects follow them or go. */
void crd_ids_after_minor(cradle_heap *heap);
/* Marking is over: drops entries of dead objects from entry *at on until the deadline. true: all are looked at. */
bool crd_ids_purge(cradle_heap *heap, uint32_t *at, uint64_t deadline_ns);
/* Compaction has left new addresses in headers: entries follow them. */
void crd_ids_follow(cradle_heap *heap);
/* Whether the object with the id flag has its entry; and for the verifier, what is wrong with the entries, or NULL.
 * *at: with what address, 0 if with none. */
bool crd_ids_know(const cradle_heap *heap, const cradle_word *object);
const char *crd_ids_check(const cradle_heap *heap, uintptr_t *at);

#endif
