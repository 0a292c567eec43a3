/* The runtime kit: strings, growable lists, ordered hash maps and symbols, which every language runtime needs
 * (docs/kit.md). It uses only the public interface, so runtime/kit_*.c is also an example of its use.
 *
 * The kit's objects are objects of the heap like the program's own. Their contents are values in the heap's encoding,
 * whatever that is; with plain references a list is a list of references. The structures are public so that reading is
 * inline. Write to them only through the functions; a symbol's value and an array's items are stored with
 * cradle_store_value.
 *
 * With several mutators each thread has a kit of its own, made with its mutator; the objects are everybody's. Strings
 * and interning need no lock. Lists, maps, arrays and the values of symbols are the program's data: what one thread
 * changes and others use at the same time needs a lock of the program.
 *
 *   [kit.1] A function that may collect says so, and roots its own arguments. Nothing else here collects, or needs
 *           anything rooted.
 *   [kit.2] A function that may collect gets all the memory it needs before it changes an object. When memory runs out,
 *           the object is as it was, and the function returns NULL or false if the out-of-memory handler returns.
 *   [kit.3] No bit of a value is reserved: every word can be a key, a value or an item, the zero word included.
 */
#ifndef CRADLE_KIT_H
#define CRADLE_KIT_H

#include <cradle/barrier.h>
#include <cradle/detail/kit.h>
#include <cradle/heap.h>
#include <cradle/identity.h>
#include <cradle/roots.h>
#include <cradle/typed.h>
#include <cradle/weak_set.h>

CRADLE_BEGIN_DECLS

#ifdef __cplusplus /* arrays at the end of structures are C's; gcc and clang know them in C++ too */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpedantic"
#endif

/* --- the kit and its types --- */

/* The kit's types have consecutive ids. There are two ways to add them. As rows of the program's own table, which makes
 * T_STRING in this example a constant for type tests and switches:
 *
 *     enum { T_PAIR, T_KIT, T_STRING = T_KIT + CRADLE_KIT_STRING, T_COUNT = T_KIT + CRADLE_KIT_TYPES };
 *     static const cradle_type types[T_COUNT] = {[T_PAIR] = {...}, CRADLE_KIT_ROWS(T_KIT)};
 *
 * Or with cradle_kit_add_types, which adds them to an existing heap. */
typedef enum cradle_kit_type {
  CRADLE_KIT_STRING = 0,
  CRADLE_KIT_ARRAY,
  CRADLE_KIT_LIST,
  CRADLE_KIT_MAP,
  CRADLE_KIT_ENTRIES, /* a map's keys and values; not for programs */
  CRADLE_KIT_INDEX,   /* a map's index and hashes; not for programs */
  CRADLE_KIT_SYMBOL,
  CRADLE_KIT_TYPES,
} cradle_kit_type;

/* Of a cradle_kit (cradle/detail/kit.h) a program reads `mutator` and `first_type`, and `data` is its own. */

/* Fills *kit; data becomes NULL. Does not fail. */
CRADLE_API void cradle_kit_init(cradle_kit *kit, cradle_mutator *mutator, uint32_t first_type);
/* Adds the kit's types to the heap with cradle_type_add and returns the first id. CRADLE_TYPE_ID_END: memory or ids ran
 * out; types that were added by then stay. */
CRADLE_API CRADLE_RESULT_MATTERS uint32_t cradle_kit_add_types(cradle_heap *heap);

/* --- hashes --- */

/* A hash of bytes, never 0. It does not defend against keys that are chosen to collide. */
CRADLE_API uint64_t cradle_kit_hash_bytes(const void *bytes, size_t length);
/* The hash for comparison by identity, for hash functions of the program's own; it does not change when objects move.
 * Strings and symbols are hashed by their bytes, other objects by cradle_identity_hash. */
CRADLE_API uint64_t cradle_kit_hash_identity(const cradle_kit *kit, cradle_value value);

/* --- strings: immutable bytes --- */

typedef struct cradle_kit_string {
  uint64_t header;
  uint64_t length; /* bytes */
  uint64_t hash;   /* of the bytes; 0: not computed so far */
  char bytes[];    /* any bytes; no zero byte ends them */
} cradle_kit_string;

/* A string with a copy of the bytes, which lie outside the heap. bytes NULL: a string of zero bytes; fill it in before
 * other code sees it. */
CRADLE_API cradle_kit_string *cradle_kit_string_new(const cradle_kit *kit, const char *bytes, size_t length)
    CRADLE_MAY_COLLECT;
/* A string of the bytes of left and then those of right. */
CRADLE_API cradle_kit_string *cradle_kit_string_join(const cradle_kit *kit, cradle_kit_string *left,
                                                     cradle_kit_string *right) CRADLE_MAY_COLLECT;
/* A string of the bytes [start, end) of a string. It is misuse unless start <= end <= its length. */
CRADLE_API cradle_kit_string *cradle_kit_string_slice(const cradle_kit *kit, cradle_kit_string *string, size_t start,
                                                      size_t end) CRADLE_MAY_COLLECT;
/* Negative, 0 or positive if left sorts before, equal to or after right. Bytes are compared as unsigned numbers. */
CRADLE_API int cradle_kit_string_compare(const cradle_kit_string *left, const cradle_kit_string *right);

/* --- lists: values, growing at the end --- */

/* A fixed number of values. Lists are made of arrays, and arrays are useful alone (tuples, vectors, frames). */
typedef struct cradle_kit_array {
  uint64_t header;
  uint64_t length;
  cradle_word items[]; /* zero at first; store with cradle_store_value */
} cradle_kit_array;
/* An array of length values, all zero. */
CRADLE_API cradle_kit_array *cradle_kit_array_new(const cradle_kit *kit, size_t length) CRADLE_MAY_COLLECT;

typedef struct cradle_kit_list {
  uint64_t header;
  cradle_kit_array *array; /* holds the items and has room for more; NULL while there is no room */
  uint64_t length;         /* items */
  uint64_t room;           /* items that fit into the array */
} cradle_kit_list;

/* An empty list with room for capacity items. */
CRADLE_API cradle_kit_list *cradle_kit_list_new(const cradle_kit *kit, size_t capacity) CRADLE_MAY_COLLECT;
/* Inserts value before the item at index. It is misuse unless index <= list->length. false: memory ran out. */
CRADLE_API bool cradle_kit_list_insert(const cradle_kit *kit, cradle_kit_list *list, size_t index, cradle_value value)
    CRADLE_MAY_COLLECT;
/* Appends a value. false: memory ran out. */
CRADLE_INLINE bool cradle_kit_list_append(const cradle_kit *kit, cradle_kit_list *list, cradle_value value)
    CRADLE_MAY_COLLECT {
  uint64_t length = list->length;
  if (CRADLE_UNLIKELY(length == list->room)) return cradle_kit_list_insert(kit, list, length, value);
  cradle_kit_store(kit, list->array, &list->array->items[length], value);
  list->length = length + 1;
  return true;
}
/* The next functions need an index < list->length. With CRADLE_CHECKED any other index is misuse; else it is an
 * assertion. */
CRADLE_INLINE cradle_value cradle_kit_list_get(const cradle_kit_list *list, size_t index) {
  CRADLE_KIT_CHECK_(NULL, "cradle_kit_list_get", index, list->length);
  return list->array->items[index];
}
CRADLE_INLINE void cradle_kit_list_set(const cradle_kit *kit, cradle_kit_list *list, size_t index, cradle_value value) {
  CRADLE_KIT_CHECK_(kit, "cradle_kit_list_set", index, list->length);
  cradle_kit_store(kit, list->array, &list->array->items[index], value);
}
/* Removes the last item of a list and returns it. The list must not be empty. */
CRADLE_INLINE cradle_value cradle_kit_list_pop(cradle_kit_list *list) {
  CRADLE_KIT_CHECK_(NULL, "cradle_kit_list_pop", 0, list->length);
  cradle_word *last = &list->array->items[--list->length];
  cradle_value value = *last;
  *last = 0; /* needs no barrier: a zero word is no reference */
  return value;
}
/* Removes the item at index and returns it; later items move down. It is misuse unless index < list->length. */
CRADLE_API cradle_value cradle_kit_list_remove(const cradle_kit *kit, cradle_kit_list *list, size_t index);

/* --- maps: from values to values, in the order of insertion --- */

/* How a map compares keys. Equal keys must always have equal hashes. The functions must not collect and must not change
 * the map. The hash may be of any quality: the kit mixes it. The structure must live as long as the maps that use
 * it. */
typedef struct cradle_kit_keys {
  uint64_t (*hash)(const cradle_kit *kit, cradle_value key);
  bool (*equal)(const cradle_kit *kit, cradle_value left, cradle_value right);
} cradle_kit_keys;
/* Compares strings of the kit by their bytes and everything else by identity. */
CRADLE_API_DATA const cradle_kit_keys cradle_kit_keys_strings;
/* The most keys that a map holds. */
#define CRADLE_KIT_MAP_MAX ((size_t)1 << 30)
/* The number that means: no entry. */
#define CRADLE_KIT_MAP_NONE SIZE_MAX

/* A map's keys and values, in the order of insertion. */
typedef struct cradle_kit_map_entry {
  cradle_word key, value;
} cradle_kit_map_entry;
typedef struct cradle_kit_entries {
  uint64_t header;
  uint64_t length;
  cradle_kit_map_entry items[];
} cradle_kit_entries;

/* A map's index: open addressing, at most half full, a colliding key in the next slot. A slot is CRADLE_KIT_MAP_FREE,
 * CRADLE_KIT_MAP_REMOVED, or hash ^ entry: a key's hash XOR the number of its entry. A lookup computes slot ^ hash,
 * with the hash of the key that it looks for. If the keys differ, the result is meaningless; check it against
 * `used`. */
typedef struct cradle_kit_index {
  uint64_t header;
  uint64_t length;  /* of the words */
  uint64_t mask;    /* the number of slots - 1, a power of two - 1 */
  uint32_t words[]; /* the slots; then the hashes of the entries, half as many, 0 for a removed entry */
} cradle_kit_index;

typedef struct cradle_kit_map {
  uint64_t header;
  cradle_kit_entries *entries; /* NULL while there is no room */
  cradle_kit_index *index;
  const cradle_kit_keys *keys; /* NULL: identity */
  uint64_t count;              /* keys in the map */
  uint64_t used;               /* entries, removed ones included */
} cradle_kit_map;

/* An empty map. keys NULL: keys are equal if they are the same word. */
CRADLE_API cradle_kit_map *cradle_kit_map_new(const cradle_kit *kit, const cradle_kit_keys *keys) CRADLE_MAY_COLLECT;
/* Returns the entry of a key, or CRADLE_KIT_MAP_NONE. An entry keeps its number until a new key is set. Immediates in
 * maps that compare by identity are found inline; everything else takes a call. */
CRADLE_INLINE size_t cradle_kit_map_find(const cradle_kit *kit, const cradle_kit_map *map, cradle_value key) {
  const cradle_kit_index *index = map->index;
  if (map->keys != NULL || index == NULL || cradle_kit_may_refer(kit, key))
    return cradle_kit_map_find_slow(kit, map, key);
  const cradle_kit_map_entry *entries = map->entries->items;
  uint64_t mask = index->mask, used = map->used;
  uint32_t hash = (uint32_t)cradle_kit_hash_word(key) | CRADLE_KIT_MAP_HASHED;
  for (uint64_t slot = hash & mask;; slot = (slot + 1) & mask) {
    uint32_t word = index->words[slot];
    if (word == CRADLE_KIT_MAP_FREE) return CRADLE_KIT_MAP_NONE;
    /* meaningless if the slot is another key's. A removed entry has key 0 and hash 0 */
    uint64_t entry = word ^ hash;
    if (entry < used && entries[entry].key == key && (key != 0 || index->words[mask + 1 + entry] == hash)) return entry;
  }
}
/* The key, and the value, of an entry that cradle_kit_map_find or cradle_kit_map_next returned. entry must be <
 * map->used; this is checked as a list's index is. */
CRADLE_INLINE cradle_value cradle_kit_map_key_at(const cradle_kit_map *map, size_t entry) {
  CRADLE_KIT_CHECK_(NULL, "cradle_kit_map_key_at", entry, map->used);
  return map->entries->items[entry].key;
}
CRADLE_INLINE cradle_value cradle_kit_map_value_at(const cradle_kit_map *map, size_t entry) {
  CRADLE_KIT_CHECK_(NULL, "cradle_kit_map_value_at", entry, map->used);
  return map->entries->items[entry].value;
}
/* Returns the value of a key; absent if the map does not have the key. */
CRADLE_INLINE cradle_value cradle_kit_map_get(const cradle_kit *kit, const cradle_kit_map *map, cradle_value key,
                                              cradle_value absent) {
  size_t entry = cradle_kit_map_find(kit, map, key);
  return entry == CRADLE_KIT_MAP_NONE ? absent : cradle_kit_map_value_at(map, entry);
}
/* Sets the value of a key. A key that is in the map already keeps its place, and the map goes on holding its first key
 * object. More than CRADLE_KIT_MAP_MAX keys are out of memory. false: memory ran out. */
CRADLE_API bool cradle_kit_map_set(const cradle_kit *kit, cradle_kit_map *map, cradle_value key, cradle_value value)
    CRADLE_MAY_COLLECT;
/* Removes a key. false: the map does not have it. */
CRADLE_API bool cradle_kit_map_remove(const cradle_kit *kit, cradle_kit_map *map, cradle_value key);
/* Returns the first entry at or after the given number, or CRADLE_KIT_MAP_NONE. In a loop like this one, keys may be
 * removed and values set:
 *     for (size_t e = cradle_kit_map_next(map, 0); e != CRADLE_KIT_MAP_NONE; e = cradle_kit_map_next(map, e + 1)) */
CRADLE_API size_t cradle_kit_map_next(const cradle_kit_map *map, size_t entry);

/* --- symbols: one object for each name --- */

typedef struct cradle_kit_symbol {
  uint64_t header;
  cradle_kit_string *name;
  uint64_t hash;      /* of the name */
  cradle_value value; /* for the program to use, for instance as a global variable; zero at first */
} cradle_kit_symbol;

/* A table of symbols is a weak set (cradle/weak_set.h) that holds only symbols. A symbol to which only its table refers
 * dies, and its value with it: a program that finds its variables by name must hold the symbols to which it gave
 * values. To look a name up without making a symbol, call cradle_weak_set_find with cradle_kit_hash_bytes of the name
 * and an equality of your own. */

/* Returns the symbol with that name, and makes it if there is none. The bytes of the name lie outside the heap. */
CRADLE_API cradle_kit_symbol *cradle_kit_intern(const cradle_kit *kit, cradle_weak_set *symbols, const char *bytes,
                                                size_t length) CRADLE_MAY_COLLECT;
/* As cradle_kit_intern, with a string, which becomes the name of a new symbol. Names can be compared by address. */
CRADLE_API cradle_kit_symbol *cradle_kit_intern_string(const cradle_kit *kit, cradle_weak_set *symbols,
                                                       cradle_kit_string *name) CRADLE_MAY_COLLECT;

/* --- the rows of the type table --- */

/* clang-format off */ /* it takes the rows for Objective-C */
/* The rows of the kit's types, as initialisers in an array of cradle_type. first: the id of CRADLE_KIT_STRING. */
#define CRADLE_KIT_ROWS(first) \
  [(first) + CRADLE_KIT_STRING] = {.name = "string", .size = sizeof(cradle_kit_string), .items = CRADLE_ITEMS_BYTES, \
                                   .item_size = 1, .length_offset = offsetof(cradle_kit_string, length)}, \
  [(first) + CRADLE_KIT_ARRAY] = {.name = "array", .size = sizeof(cradle_kit_array), .items = CRADLE_ITEMS_VALUES, \
                                  .item_size = 8, .length_offset = offsetof(cradle_kit_array, length)}, \
  [(first) + CRADLE_KIT_LIST] = {.name = "list", .size = sizeof(cradle_kit_list), \
                                 .references = CRADLE_SLOT(cradle_kit_list, array)}, \
  [(first) + CRADLE_KIT_MAP] = {.name = "map", .size = sizeof(cradle_kit_map), \
                                .references = CRADLE_SLOT(cradle_kit_map, entries) | \
                                              CRADLE_SLOT(cradle_kit_map, index), \
                                .symbols = CRADLE_SLOT(cradle_kit_map, keys)}, \
  [(first) + CRADLE_KIT_ENTRIES] = {.name = "map entries", .size = sizeof(cradle_kit_entries), \
                                    .items = CRADLE_ITEMS_STRUCTURES, .item_size = sizeof(cradle_kit_map_entry), \
                                    .length_offset = offsetof(cradle_kit_entries, length), \
                                    .item_values = CRADLE_SLOT(cradle_kit_map_entry, key) | \
                                                   CRADLE_SLOT(cradle_kit_map_entry, value)}, \
  [(first) + CRADLE_KIT_INDEX] = {.name = "map index", .size = sizeof(cradle_kit_index), .items = CRADLE_ITEMS_BYTES, \
                                  .item_size = sizeof(uint32_t), .length_offset = offsetof(cradle_kit_index, length)}, \
  [(first) + CRADLE_KIT_SYMBOL] = {.name = "symbol", .size = sizeof(cradle_kit_symbol), \
                                   .references = CRADLE_SLOT(cradle_kit_symbol, name), \
                                   .values = CRADLE_SLOT(cradle_kit_symbol, value)}
/* clang-format on */

#ifdef __cplusplus
#pragma GCC diagnostic pop
#endif

CRADLE_END_DECLS

/* after the declarations: it makes macros of their names */
#include <cradle/detail/kit_places.h>

#endif
