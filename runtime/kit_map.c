/* Maps, in the layout of Python's and RPython's dictionaries: the entries lie in an array in the order of insertion, and an
 * index, an open-addressing table of small numbers, says where.
 *
 * An index slot of 8, 16 or 32 bits holds FREE, REMOVED or an entry's number + FIRST in its low bits, as many as the number of
 * slots has, and above them bits of the key's hash, so that few entries are looked at in vain. Slots are twice the entries'
 * room: an index is never more than half full of entries, and never full with removed ones, since every slot that is not free
 * was taken by an entry below `used`. Colliding keys go to the next slot.
 *
 * The 32 bits of the hashes that the map uses lie before the index, because hashes are no values: one for each entry, HASHED
 * set in those of entries that are there, 0 in removed ones. So growing asks no key for its hash again.
 */
#include <cradle/kit.h>

#include "runtime/kit_hash.h"

enum { FREE = 0, REMOVED = 1, FIRST = 2, SLOTS_LEAST = 8, ROOM_SHARE = 2 };
#define HASHED UINT32_C(0x80000000)

typedef uint8_t index_8;
typedef uint16_t __attribute__((may_alias)) index_16;
typedef uint32_t __attribute__((may_alias)) index_32;

/* --- the index --- */

static uint32_t room_of(const cradle_index *index) {
  return (uint32_t)(index->slots / ROOM_SHARE);
}
static size_t width_of(uint64_t slots) {
  return slots <= 256 ? 1 : slots <= 65536 ? 2 : 4;
}
static void *slots_of(cradle_index *index) {
  return &index->words[room_of(index)];
}

/* What a slot holds for an entry: its number, and the hash's bits that the slot's place does not tell already. */
static uint32_t word_for(uint32_t mask, uint32_t hash, size_t entry) {
  return (hash & ~mask) | (uint32_t)(entry + FIRST);
}

static inline uint32_t shortened(uint64_t hash) {
  return (uint32_t)(hash >> 32) | HASHED;
}
static inline uint32_t hash_of(const cradle_kit *kit, const cradle_map *map, uint64_t key) {
  if (CRADLE_UNLIKELY(map->keys != NULL)) return shortened(hash_word(map->keys->hash(kit, key)));
  if (cradle_value_object(&kit->encoding, key) == NULL) return shortened(hash_word(key));
  return shortened(cradle_hash_identity(kit, key));
}

/* Of an entry whose hash is that of the key as far as the index knows. No slot leads to a removed entry. */
static CRADLE_NOINLINE bool is_equal(const cradle_kit *kit, const cradle_map *map, size_t entry, uint64_t key,
                                     uint32_t hash) {
  return map->index->words[entry] == hash && map->keys->equal(kit, map->entries->items[2 * entry], key);
}

/* For each width of slots: the search, which returns the entry and its slot, and taking the first slot that holds no entry. */
#define DEFINE_WIDTH(bits, type)                                                                                      \
  CRADLE_INLINE size_t search_##bits(const cradle_kit *kit, const cradle_map *map, uint64_t key, uint32_t hash,       \
                                     uint32_t *found) {                                                               \
    const type *slots = slots_of(map->index);                                                                         \
    const cradle_word *entries = map->entries->items;                                                                 \
    uint32_t mask = (uint32_t)map->index->slots - 1, room = room_of(map->index);                                      \
    for (uint32_t slot = hash & mask;; slot = (slot + 1) & mask) {                                                    \
      uint32_t word = slots[slot];                                                                                    \
      uint32_t entry = (uint32_t)(type)(word ^ (hash & ~mask)) - FIRST; /* at least room: of another hash, or none */ \
      if (entry < room &&                                                                                             \
          (entries[2 * (size_t)entry] == key || (map->keys != NULL && is_equal(kit, map, entry, key, hash)))) {       \
        *found = slot;                                                                                                \
        return entry;                                                                                                 \
      }                                                                                                               \
      if (word == FREE) return CRADLE_MAP_NONE;                                                                       \
    }                                                                                                                 \
  }                                                                                                                   \
  static void take_slot_##bits(cradle_index *index, uint32_t hash, size_t entry) {                                    \
    type *slots = slots_of(index);                                                                                    \
    uint32_t mask = (uint32_t)index->slots - 1, slot = hash & mask;                                                   \
    while ((slots[slot] & mask) >= FIRST) slot = (slot + 1) & mask;                                                   \
    slots[slot] = (type)word_for(mask, hash, entry);                                                                  \
  }
DEFINE_WIDTH(8, index_8)
DEFINE_WIDTH(16, index_16)
DEFINE_WIDTH(32, index_32)

CRADLE_INLINE size_t search(const cradle_kit *kit, const cradle_map *map, uint64_t key, uint32_t hash, uint32_t *slot) {
  if (CRADLE_UNLIKELY(map->index == NULL)) return CRADLE_MAP_NONE;
  switch (width_of(map->index->slots)) {
  case 1: return search_8(kit, map, key, hash, slot);
  case 2: return search_16(kit, map, key, hash, slot);
  default: return search_32(kit, map, key, hash, slot);
  }
}

static void take_slot(cradle_index *index, uint32_t hash, size_t entry) {
  index->words[entry] = hash;
  switch (width_of(index->slots)) {
  case 1: take_slot_8(index, hash, entry); break;
  case 2: take_slot_16(index, hash, entry); break;
  default: take_slot_32(index, hash, entry);
  }
}

static void mark_removed(cradle_index *index, uint32_t slot) {
  switch (width_of(index->slots)) {
  case 1: ((index_8 *)slots_of(index))[slot] = REMOVED; break;
  case 2: ((index_16 *)slots_of(index))[slot] = REMOVED; break;
  default: ((index_32 *)slots_of(index))[slot] = REMOVED;
  }
}

/* --- room --- */

/* Moves the entries that are there into arrays without holes. Everything of the two new objects is fresh: no barrier. */
static void move_entries(const cradle_map *map, cradle_array *entries, cradle_index *index) {
  size_t moved = 0;
  for (size_t i = 0; i < map->used; i++) {
    if (map->index->words[i] == 0) continue;
    entries->items[2 * moved] = map->entries->items[2 * i];
    entries->items[2 * moved + 1] = map->entries->items[2 * i + 1];
    take_slot(index, map->index->words[i], moved);
    moved++;
  }
}

/* Gives the map room for count keys, without holes. */
static void set_room(const cradle_kit *kit, cradle_map *map, size_t count) CRADLE_MAY_COLLECT {
  CRADLE_ROOT(kit->mutator, map);
  if (count > CRADLE_MAP_MAX) cradle_array_new(kit, SIZE_MAX); /* out of memory: does not return */
  uint64_t slots = SLOTS_LEAST;
  while (slots / ROOM_SHARE < count) slots *= 2;
  size_t room = slots / ROOM_SHARE;
  cradle_index *index = cradle_new_array(kit->mutator, kit->first_type + CRADLE_KIT_INDEX,
                                         room * sizeof index->words[0] + slots * width_of(slots));
  index->slots = slots;
  CRADLE_ROOT(kit->mutator, index);
  cradle_array *entries = cradle_array_new(kit, 2 * room);
  if (map->index != NULL) move_entries(map, entries, index);
  map->used = map->count;
  cradle_store(kit->mutator, map, &map->entries, entries);
  cradle_store(kit->mutator, map, &map->index, index);
}

static bool is_full(const cradle_map *map) {
  return map->index == NULL || map->used == room_of(map->index);
}

static CRADLE_NOINLINE void add(const cradle_kit *kit, cradle_map *map, uint64_t key, uint32_t hash, uint64_t value) {
  size_t entry = map->used;
  cradle_store_value(kit->mutator, map->entries, &map->entries->items[2 * entry], key);
  cradle_store_value(kit->mutator, map->entries, &map->entries->items[2 * entry + 1], value);
  take_slot(map->index, hash, entry);
  map->used++;
  map->count++;
}

/* Half as much again as there are keys: a map of removed entries is not made larger, and one that has shrunk is made smaller. */
static CRADLE_NOINLINE void grow_and_add(const cradle_kit *kit, cradle_map *map, uint64_t key, uint32_t hash, uint64_t value)
    CRADLE_MAY_COLLECT {
  CRADLE_ROOT(kit->mutator, map);
  CRADLE_ROOT_VALUE(kit->mutator, key);
  CRADLE_ROOT_VALUE(kit->mutator, value);
  set_room(kit, map, map->count + map->count / 2 + 1);
  add(kit, map, key, hash, value);
}

/* --- the interface --- */

cradle_map *cradle_map_new(const cradle_kit *kit, const cradle_keys *keys) {
  cradle_map *map = cradle_new(kit->mutator, kit->first_type + CRADLE_KIT_MAP, sizeof(cradle_map));
  map->keys = keys;
  return map;
}

size_t cradle_map_find(const cradle_kit *kit, const cradle_map *map, uint64_t key) {
  uint32_t slot;
  return search(kit, map, key, hash_of(kit, map, key), &slot);
}

bool cradle_map_set(const cradle_kit *kit, cradle_map *map, uint64_t key, uint64_t value) {
  uint32_t slot, hash = hash_of(kit, map, key);
  size_t entry = search(kit, map, key, hash, &slot);
  if (entry != CRADLE_MAP_NONE)
    cradle_map_set_at(kit, map, entry, value);
  else if (CRADLE_UNLIKELY(is_full(map)))
    grow_and_add(kit, map, key, hash, value);
  else
    add(kit, map, key, hash, value);
  return entry == CRADLE_MAP_NONE;
}

bool cradle_map_remove(const cradle_kit *kit, cradle_map *map, uint64_t key) {
  uint32_t slot;
  size_t entry = search(kit, map, key, hash_of(kit, map, key), &slot);
  if (entry == CRADLE_MAP_NONE) return false;
  mark_removed(map->index, slot);
  map->index->words[entry] = 0;
  map->entries->items[2 * entry] = map->entries->items[2 * entry + 1] = 0;
  map->count--;
  return true;
}

void cradle_map_clear(cradle_map *map) {
  map->entries = NULL;
  map->index = NULL;
  map->count = map->used = 0;
}

void cradle_map_reserve(const cradle_kit *kit, cradle_map *map, size_t count) {
  if (count < map->count) count = map->count;
  if (map->index == NULL || room_of(map->index) - map->used < count - map->count) set_room(kit, map, count);
}

size_t cradle_map_next(const cradle_map *map, size_t entry) {
  for (; entry < map->used; entry++)
    if (map->index->words[entry] != 0) return entry;
  return CRADLE_MAP_NONE;
}

/* --- strings as keys --- */

static cradle_string *as_string(const cradle_kit *kit, uint64_t value) {
  void *object = cradle_value_object(&kit->encoding, value);
  return object != NULL && cradle_type_of(object) == kit->first_type + CRADLE_KIT_STRING ? object : NULL;
}

/* Tag bits may tell kinds of values apart, so only the same ones make two strings equal. */
static bool strings_equal(const cradle_kit *kit, uint64_t left, uint64_t right) {
  const cradle_string *one = as_string(kit, left), *other = as_string(kit, right);
  return one != NULL && other != NULL && ((left ^ right) & ~kit->encoding.payload_mask) == 0 &&
         cradle_string_equal(one, other);
}

const cradle_keys cradle_keys_strings = {cradle_hash_identity, strings_equal};
