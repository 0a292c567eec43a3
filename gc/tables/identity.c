#include "gc/tables/identity.h"

#include <stdlib.h>

#include "gc/base/grow.h"
#include "gc/old/marking.h"
#include "gc/tables/tables.h"

/* Entries between two looks at the clock. */
#define CLOCK_ENTRIES LIMIT(256, 4)

/* --- the identity hash --- */

/* Mixes a counter of 24 bits. No two counts give the same hash, because each step can be undone: a product with an odd
 * number modulo 2^24, and a number xor itself shifted right. 0 gives 0. */
static uint32_t mix(uint32_t count) {
  uint32_t hash = count * 0x9e3779u & CRADLE_HASH_MASK;
  hash ^= hash >> 12;
  hash = hash * 0x85ebcbu & CRADLE_HASH_MASK;
  return hash ^ hash >> 11;
}

/* If two mutators ask for the hash of one object, the later takes the earlier's. */
static uint32_t hash_shared(cradle_word *header, uint32_t hash) {
  cradle_word before = __atomic_load_n(header, __ATOMIC_RELAXED), after;
  do {
    if (header_has_hash(before)) return (uint32_t)(before >> CRADLE_HASH_SHIFT) & CRADLE_HASH_MASK;
    after = before;
    object_set_hash(&after, hash);
  } while (!__atomic_compare_exchange_n(header, &before, after, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
  return hash;
}

/* The next number of the counter, mixed, so that all 24-bit hashes are given out before one comes again. 0 is left out:
 * it means that the object has no hash yet. */
uint32_t cradle_identity_hash_slow(cradle_mutator *mutator, void *object) {
  crd_mutator_check_thread(mutator, "cradle_identity_hash");
  crd_tables *tables = mutator_of(mutator)->tables;
  cradle_word *header = object;
  ASSERT(space_is_shared(tables->space) || !header_has_hash(*header), "the object has its hash already");
  ASSERT(type_table_has(&tables->space->types, header_type(CRADLE_HEADER_(cradle_word, header))),
         "the identity hash of what is no object");
  uint32_t hash;
  do hash = mix((uint32_t)__atomic_add_fetch(&tables->ids.hashes, 1, __ATOMIC_RELAXED) & CRADLE_HASH_MASK);
  while (hash == 0);
  if (space_is_shared(tables->space)) return hash_shared(header, hash);
  object_set_hash(header, hash);
  return hash;
}

/* --- entries --- */

void crd_ids_fini(crd_ids *ids) {
  crd_address_map_fini(&ids->by_address);
  free(ids->entries);
}

static uint32_t take_entry(crd_ids *ids) {
  if (ids->free == 0) {
    ASSERT(ids->used < ids->capacity, "no room was made for an id");
    ids->entries[ids->used] = (crd_id_entry){.generation = 0};
    return ids->used++;
  }
  uint32_t index = ids->free - 1;
  ASSERT(index < ids->used && ids->entries[index].address == 0, "[identity.4] the free list holds a taken entry");
  ids->free = ids->entries[index].link;
  return index;
}

/* If its generations are used up the entry stays free for ever. */
static void drop_entry(crd_ids *ids, uint32_t index) {
  crd_id_entry *entry = &ids->entries[index];
  ASSERT(entry->address != 0, "[identity.1] a free entry is dropped");
  ASSERT(entry->link == ID_UNLISTED, "[identity.2] a dropped entry stays in the young list");
  crd_address_map_remove(&ids->by_address, entry->address);
  entry->address = 0;
  if (entry->generation == UINT32_MAX) return;
  entry->generation++;
  entry->link = ids->free;
  ids->free = index + 1;
}

bool crd_ids_adopt(crd_ids *ids, uintptr_t address, uint32_t generation) {
  if (!crd_address_map_reserve(&ids->by_address) || !GROW(ids->entries, ids->used, ids->capacity)) return false;
  bool known = address != 0 && crd_address_map_get(&ids->by_address, address) != ADDRESS_MAP_NONE;
  if (known) return false;
  uint32_t index = ids->used++;
  ids->entries[index] = (crd_id_entry){address, generation, ID_UNLISTED};
  if (address != 0) {
    crd_address_map_insert(&ids->by_address, address, index);
  } else if (generation != UINT32_MAX) {
    ids->entries[index].link = ids->free;
    ids->free = index + 1;
  }
  return true;
}

static uint32_t index_of(const crd_ids *ids, const cradle_word *object) {
  uint32_t index = crd_address_map_get(&ids->by_address, address_of(object));
  ASSERT(index < ids->used, "[identity.1] an object has the flag of an id, but no entry");
  return index;
}

static uint64_t id_of(const crd_ids *ids, uint32_t index) {
  return (uint64_t)ids->entries[index].generation << 32 | (index + 1);
}

static uint64_t find_or_make(crd_tables *tables, cradle_word *object, const char *what) {
  crd_ids *ids = &tables->ids;
  cradle_word *header = object;
  if (header_has_id(CRADLE_HEADER_(cradle_word, header))) return id_of(ids, index_of(ids, header));
  if (!crd_address_map_reserve(&ids->by_address) || (ids->free == 0 && !GROW(ids->entries, ids->used, ids->capacity))) {
    crd_out_of_room(tables->space, what, "id");
    return 0;
  }
  uint32_t index = take_entry(ids);
  bool is_young = space_holds_young(tables->space, address_of(object));
  ids->entries[index].address = address_of(object);
  ids->entries[index].link = is_young ? ids->young : ID_UNLISTED;
  if (is_young) ids->young = index + 1;
  crd_address_map_insert(&ids->by_address, address_of(object), index);
  space_give_flags(tables->space, header, HEADER_ID_FLAG);
  return id_of(ids, index);
}

uint64_t cradle_id(cradle_mutator *mutator, void *object) {
  static const char what[] = "cradle_id";
  crd_mutator_check_thread(mutator, what);
  crd_tables *tables = mutator_of(mutator)->tables;
  if (!space_has(tables->space, address_of(object)))
    crd_misuse(mutator->heap, "%s: %s: it cannot have an id", what, crd_name_object(tables->space, object).buffer);
  space_lock(tables->space);
  uint64_t id = find_or_make(tables, object, what);
  space_unlock(tables->space);
  return id;
}

/* --- dead objects --- */

/* As far as is known. An object that a finalizer brings back counts as dead until its header has its flags again. */
static bool is_alive(const crd_tables *tables, uintptr_t address) {
  if (!arenas_know(&tables->space->old.arenas, address)) return true;
  return !marking_knows_dead(tables->marking, address) && !space_has_open(tables->space, object_at(address));
}

static void *find_object(const crd_tables *tables, uint64_t id) {
  uint32_t index = (uint32_t)id - 1;
  if (index >= tables->ids.used) return NULL;
  const crd_id_entry *entry = &tables->ids.entries[index];
  if (entry->address == 0 || entry->generation != id >> 32 || !is_alive(tables, entry->address)) return NULL;
  ASSERT(header_has_id(CRADLE_HEADER_(cradle_word, object_at(entry->address))),
         "[identity.1] an id belongs to an object without the flag");
  return object_at(entry->address);
}

void *cradle_object_of_id(cradle_mutator *mutator, uint64_t id) {
  crd_tables *tables = mutator_of(mutator)->tables;
  crd_mutator_check_thread(mutator, "cradle_object_of_id");
  space_lock(tables->space);
  void *object = find_object(tables, id);
  space_unlock(tables->space);
  return object;
}

/* --- collections --- */

/* Where a young object is after the minor collection; 0: it died. The nursery still holds the headers. */
static uintptr_t promoted(const crd_tables *tables, uintptr_t address) {
  cradle_word header = *object_at(address);
  if (space_is_young(tables->space, address)) return header_is_forwarded(header) ? header_forwarded_to(header) : 0;
  return space_holds_young(tables->space, address) ? 0 : address;
}

void crd_ids_after_minor(crd_tables *tables) {
  crd_ids *ids = &tables->ids;
  while (ids->young != 0) {
    ASSERT(ids->young <= ids->used, "[identity.2] the young list leads out of the table");
    uint32_t index = ids->young - 1;
    crd_id_entry *entry = &ids->entries[index];
    ids->young = entry->link;
    entry->link = ID_UNLISTED;
    uintptr_t address = promoted(tables, entry->address);
    if (address == 0) {
      drop_entry(ids, index);
    } else if (address != entry->address) {
      crd_address_map_remove(&ids->by_address, entry->address);
      crd_address_map_insert(&ids->by_address, address, index);
      entry->address = address;
    }
    ASSERT(address == 0 || header_has_id(*object_at(address)), "[identity.1] a copy lost the flag of its id");
  }
}

/* At least one piece at each call, even if the deadline has passed. */
bool crd_ids_purge(crd_tables *tables, uint32_t *at, uint64_t deadline_ns) {
  crd_ids *ids = &tables->ids;
  ASSERT(tables->marking->major.phase == MAJOR_SWEEPING, "[identity.3] ids go before it is known who is dead");
  ASSERT(*at <= ids->used, "[identity.3] more entries were looked at than there are");
  while (*at < ids->used) {
    uint32_t last = ids->used - *at < CLOCK_ENTRIES ? ids->used : *at + CLOCK_ENTRIES;
    for (; *at < last; (*at)++)
      if (ids->entries[*at].address != 0 && !is_alive(tables, ids->entries[*at].address)) drop_entry(ids, *at);
    if (deadline_ns != UINT64_MAX && crd_platform_now_ns() >= deadline_ns) return *at == ids->used;
  }
  return true;
}

/* The map is filled anew: an object may have moved to the old address of one whose entry is not changed yet. */
void crd_ids_follow(crd_ids *ids) {
  ASSERT(ids->young == 0, "[identity.2] objects move in the old generation while ids are young");
  crd_address_map_clear(&ids->by_address);
  for (uint32_t i = 0; i < ids->used; i++) {
    crd_id_entry *entry = &ids->entries[i];
    if (entry->address == 0) continue;
    cradle_word header = *object_at(entry->address);
    if (header_is_forwarded(header)) entry->address = header_forwarded_to(header);
    crd_address_map_insert(&ids->by_address, entry->address, i);
  }
}

/* --- checks --- */

bool crd_ids_know(const crd_ids *ids, const cradle_word *object) {
  return crd_address_map_get(&ids->by_address, address_of(object)) != ADDRESS_MAP_NONE;
}

static const char *check_entry(const crd_tables *tables, uint32_t index) {
  const crd_id_entry *entry = &tables->ids.entries[index];
  if (entry->address == 0)
    return entry->link == ID_UNLISTED && entry->generation != UINT32_MAX ? "a free id is in no list [identity.4]"
                                                                         : NULL;
  if (crd_address_map_get(&tables->ids.by_address, entry->address) != index)
    return "an id is not found by its object's address";
  if (!is_alive(tables, entry->address)) return NULL;
  if (!space_is_young(tables->space, entry->address) && !crd_old_is_object(&tables->space->old, entry->address))
    return "an id belongs to what is no object [identity.1]";
  if (!header_has_id(*object_at(entry->address))) return "an id belongs to an object without the flag [identity.1]";
  if (space_holds_young(tables->space, entry->address) && entry->link == ID_UNLISTED)
    return "a young object's id is in no list [identity.2]";
  return NULL;
}

const char *crd_ids_check(const crd_tables *tables, uintptr_t *at) {
  size_t taken = 0;
  for (uint32_t i = 0; i < tables->ids.used; i++) {
    const char *fault = check_entry(tables, i);
    *at = tables->ids.entries[i].address;
    if (fault != NULL) return fault;
    taken += *at != 0;
  }
  *at = 0;
  if (taken != tables->ids.by_address.count) return "the ids and their map disagree";
  return crd_address_map_check(&tables->ids.by_address);
}
