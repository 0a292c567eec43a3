/* Maps, in the layout of Python's and RPython's dictionaries: the entries lie in an array in the order of insertion,
 * and an index, an open-addressing table of small numbers, finds them.
 *
 * There are twice as many slots as the entries have room. So at most half of the slots are taken, removed entries
 * included, because each of them was taken by an entry below `used`. A slot also holds bits of its key's hash, so that
 * a search looks at few entries of other keys.
 *
 * Behind the slots, the index holds the 32 bits of each entry's hash that the map uses; they are not among the entries,
 * because a hash is no value. So growing a map asks no key for its hash again.
 */
#include <cradle/kit.h>

enum { SLOTS_LEAST = 8, ROOM_SHARE = 2 };

/* --- hashes --- */

/* The hash of a key that is compared by identity. */
CRADLE_INLINE uint64_t hash_of_word(const cradle_kit *kit, cradle_value key) {
  if (!cradle_kit_may_refer(kit, key)) return cradle_kit_hash_word(key);
  void *object = cradle_value_object(&kit->encoding, key);
  return cradle_kit_hash_word(object == NULL ? key : cradle_identity_hash(kit->mutator, object));
}
CRADLE_INLINE uint32_t hash_for(const cradle_kit *kit, const cradle_kit_map *map, cradle_value key) {
  uint64_t hash = map->keys == NULL ? hash_of_word(kit, key) : cradle_kit_hash_word(map->keys->hash(kit, key));
  return (uint32_t)hash | CRADLE_KIT_MAP_HASHED;
}

/* --- the index --- */

static size_t slots_of(const cradle_kit_index *index) {
  return index->mask + 1;
}
static uint32_t *hashes_of(cradle_kit_index *index) {
  return &index->words[slots_of(index)];
}

/* Whether the entry has this key. A removed entry has the key zero, and only its hash, also zero, tells it from one
 * with that key. */
CRADLE_INLINE bool is_key(const cradle_kit *kit, const cradle_kit_map *map, uint64_t entry, cradle_value key,
                          uint32_t hash) {
  cradle_value there = map->entries->items[entry].key;
  if (there == 0 && hashes_of(map->index)[entry] != hash) return false;
  return there == key || (map->keys != NULL && map->keys->equal(kit, there, key));
}

/* Finds the entry of a key and its slot; or CRADLE_KIT_MAP_NONE and the slot for a new entry, the first without an
 * entry. */
CRADLE_INLINE size_t search(const cradle_kit *kit, const cradle_kit_map *map, cradle_value key, uint32_t hash,
                            uint32_t *found) {
  const cradle_kit_index *index = map->index;
  if (CRADLE_UNLIKELY(index == NULL)) return CRADLE_KIT_MAP_NONE;
  uint64_t mask = index->mask, used = map->used;
  uint32_t removed = UINT32_MAX;
  for (uint64_t slot = hash & mask;; slot = (slot + 1) & mask) {
    uint32_t word = index->words[slot];
    if (word == CRADLE_KIT_MAP_FREE) {
      *found = removed == UINT32_MAX ? (uint32_t)slot : removed;
      return CRADLE_KIT_MAP_NONE;
    }
    uint64_t entry = word ^ hash;
    if (entry < used && is_key(kit, map, entry, key, hash)) {
      *found = (uint32_t)slot;
      return entry;
    }
    if (word == CRADLE_KIT_MAP_REMOVED && removed == UINT32_MAX) removed = (uint32_t)slot;
  }
}

static void fill_slot(cradle_kit_index *index, uint32_t slot, uint32_t hash, size_t entry) {
  index->words[slot] = hash ^ (uint32_t)entry;
  hashes_of(index)[entry] = hash;
}

/* The slot for a new key, in an index without removed entries. */
static uint32_t free_slot(const cradle_kit_index *index, uint32_t hash) {
  uint32_t mask = (uint32_t)index->mask, slot = hash & mask;
  while (index->words[slot] != CRADLE_KIT_MAP_FREE) slot = (slot + 1) & mask;
  return slot;
}

/* --- room --- */

/* Moves the entries that are left into new arrays without holes. Both new objects were just allocated, so they need no
 * barrier. */
static void move_entries(const cradle_kit_map *map, cradle_kit_entries *entries, cradle_kit_index *index) {
  const uint32_t *hashes = hashes_of(map->index);
  const cradle_kit_map_entry *from = map->entries->items;
  size_t moved = 0, used = map->used;
  for (size_t i = 0; i < used; i++) {
    if (hashes[i] == 0) continue;
    entries->items[moved] = from[i];
    fill_slot(index, free_slot(index, hashes[i]), hashes[i], moved);
    moved++;
  }
}

/* Gives the map room for count keys, without holes. false: memory ran out. */
static bool set_room(const cradle_kit *kit, cradle_kit_map *map, size_t count) CRADLE_MAY_COLLECT {
  CRADLE_ROOT(kit->mutator, map);
  if (count > CRADLE_KIT_MAP_MAX) return cradle_kit_array_new(kit, SIZE_MAX) != NULL; /* it is NULL: out of memory */
  uint64_t slots = SLOTS_LEAST;
  while (slots / ROOM_SHARE < count) slots *= 2;
  size_t room = slots / ROOM_SHARE;
  cradle_kit_index *index =
      CRADLE_NEW_ARRAY(kit->mutator, cradle_kit_index, kit->first_type + CRADLE_KIT_INDEX, words, length, slots + room);
  if (CRADLE_UNLIKELY(index == NULL)) return false;
  index->mask = slots - 1;
  CRADLE_ROOT(kit->mutator, index);
  cradle_kit_entries *entries =
      CRADLE_NEW_ARRAY(kit->mutator, cradle_kit_entries, kit->first_type + CRADLE_KIT_ENTRIES, items, length, room);
  if (CRADLE_UNLIKELY(entries == NULL)) return false;
  if (map->index != NULL) move_entries(map, entries, index);
  map->used = map->count;
  cradle_store(kit->mutator, map, &map->entries, entries);
  cradle_store(kit->mutator, map, &map->index, index);
  return true;
}

CRADLE_INLINE void add(const cradle_kit *kit, cradle_kit_map *map, cradle_value key, cradle_value value, uint32_t hash,
                       uint32_t slot) {
  cradle_kit_map_entry *entry = &map->entries->items[map->used];
  cradle_kit_store(kit, map->entries, &entry->key, key);
  cradle_kit_store(kit, map->entries, &entry->value, value);
  fill_slot(map->index, slot, hash, map->used);
  map->used++;
  map->count++;
}

/* Makes room for one and a half times the keys. So a map with many removed entries does not grow, and a map that lost
 * most of its keys shrinks. */
static CRADLE_NOINLINE bool grow_and_add(const cradle_kit *kit, cradle_kit_map *map, cradle_value key,
                                         cradle_value value, uint32_t hash) CRADLE_MAY_COLLECT {
  CRADLE_ROOT(kit->mutator, map);
  CRADLE_ROOT_VALUE(kit->mutator, key);
  CRADLE_ROOT_VALUE(kit->mutator, value);
  size_t count = map->count + map->count / 2 + 1;
  if (map->count < CRADLE_KIT_MAP_MAX && count > CRADLE_KIT_MAP_MAX) count = CRADLE_KIT_MAP_MAX;
  if (!set_room(kit, map, count)) return false;
  add(kit, map, key, value, hash, free_slot(map->index, hash));
  return true;
}

/* --- the interface --- */

cradle_kit_map *cradle_kit_map_new(const cradle_kit *kit, const cradle_kit_keys *keys) {
  cradle_kit_map *map = CRADLE_NEW(kit->mutator, cradle_kit_map, kit->first_type + CRADLE_KIT_MAP);
  if (CRADLE_LIKELY(map != NULL)) map->keys = keys;
  return map;
}

size_t cradle_kit_map_find_slow(const cradle_kit *kit, const cradle_kit_map *map, cradle_value key) {
  uint32_t slot;
  return search(kit, map, key, hash_for(kit, map, key), &slot);
}

bool cradle_kit_map_set(const cradle_kit *kit, cradle_kit_map *map, cradle_value key, cradle_value value) {
  uint32_t slot = 0, hash = hash_for(kit, map, key);
  size_t entry = search(kit, map, key, hash, &slot);
  if (entry != CRADLE_KIT_MAP_NONE)
    cradle_kit_store(kit, map->entries, &map->entries->items[entry].value, value);
  else if (CRADLE_UNLIKELY(map->index == NULL || map->used == slots_of(map->index) / ROOM_SHARE))
    return grow_and_add(kit, map, key, value, hash);
  else
    add(kit, map, key, value, hash, slot);
  return true;
}

bool cradle_kit_map_remove(const cradle_kit *kit, cradle_kit_map *map, cradle_value key) {
  uint32_t slot;
  size_t entry = search(kit, map, key, hash_for(kit, map, key), &slot);
  if (entry == CRADLE_KIT_MAP_NONE) return false;
  map->index->words[slot] = CRADLE_KIT_MAP_REMOVED;
  hashes_of(map->index)[entry] = 0;
  map->entries->items[entry] = (cradle_kit_map_entry){0, 0};
  map->count--;
  return true;
}

size_t cradle_kit_map_next(const cradle_kit_map *map, size_t entry) {
  for (; entry < map->used; entry++)
    if (hashes_of(map->index)[entry] != 0) return entry;
  return CRADLE_KIT_MAP_NONE;
}

/* --- strings as keys --- */

static cradle_kit_string *as_string(const cradle_kit *kit, cradle_value value) {
  void *object = cradle_value_object(&kit->encoding, value);
  return object != NULL && cradle_type_of(object) == kit->first_type + CRADLE_KIT_STRING ? object : NULL;
}

/* Tag bits may tell kinds of values apart, so two strings are equal only if their tag bits are equal too. */
static bool strings_equal(const cradle_kit *kit, cradle_value left, cradle_value right) {
  const cradle_kit_string *one = as_string(kit, left), *other = as_string(kit, right);
  return one != NULL && other != NULL && ((left ^ right) & ~kit->encoding.payload_mask) == 0 &&
         one->length == other->length && memcmp(one->bytes, other->bytes, one->length) == 0;
}

CRADLE_API const cradle_kit_keys cradle_kit_keys_strings = {cradle_kit_hash_identity, strings_equal};
