/* Ids: numbers that stay with an object while it lives and moves, and lead back to it. (The identity hash needs no
 * table: it is in the header.)
 *
 * An object with an id has a flag in its header and an entry in a table; a hash map finds the entry by the object's
 * address. The id is the entry's index and how often the entry was used before, so no id is given out again.
 *
 * A minor collection goes through a list of the young objects' entries, and a compaction through all entries. Sweeping
 * touches no dead object and so cannot tell: its first increments go through the entries before a place is freed.
 *
 *   [identity.1] An object's id flag is set exactly when it has an entry; the entry's address is the object's.
 *   [identity.2] Outside a minor collection, the entry of a young object is in the young list; after one that list is
 *                empty.
 *   [identity.3] The entry of a dead old object goes between the end of marking and the sweep of the first span, in
 *                increments. Until then nothing is allocated in the dead object's place, which has no mark.
 *   [identity.4] A free entry is in the free list, unless it was taken as often as a generation can count.
 */
#ifndef CRADLE_GC_TABLES_IDENTITY_H
#define CRADLE_GC_TABLES_IDENTITY_H

#include <cradle/identity.h>

#include "gc/base/address_map.h"
#include "gc/parts.h"

/* Entries of a list are linked by their index plus 1; 0 ends a list. This is the link of an entry in no list. */
#define ID_UNLISTED UINT32_MAX

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

void crd_ids_fini(crd_ids *ids);
/* Enters the next id of an image. address 0: the id is free. false: memory was refused, or the object has one. */
bool crd_ids_adopt(crd_ids *ids, uintptr_t address, uint32_t generation);
/* When a minor collection has reached all that lives, before the pages of dead large objects are freed: the entries of
 * young objects follow them, or go. */
void crd_ids_after_minor(crd_tables *tables);
/* Drops entries of dead objects, after marking, from entry *at on until the deadline. true: all have been looked at. */
bool crd_ids_purge(crd_tables *tables, uint32_t *at, uint64_t deadline_ns);
/* After a compaction, which has left the new addresses in the headers. */
void crd_ids_follow(crd_ids *ids);
/* For the verifier. Whether an object with the id flag has an entry; and what is wrong with the entries, or NULL. *at:
 * at which address; 0: at none. */
bool crd_ids_know(const crd_ids *ids, const cradle_word *object);
const char *crd_ids_check(const crd_tables *tables, uintptr_t *at);

#endif
