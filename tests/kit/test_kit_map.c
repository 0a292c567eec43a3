/* The kit's maps against a model, in three encodings of values, with the collector working in between. */
#include "tests/kit/kit_fixture.h"

#include <inttypes.h>

/* --- maps --- */

/* Sets a key. true: it is new. map: a rooted variable. */
static size_t count_before;
#define set_new(kit, map, key, value) \
  (count_before = (map)->count, assert_true(cradle_kit_map_set((kit), (map), (key), (value))), \
   (map)->count != count_before)

/* The keys of a test are made once and rooted, so that each has an identity: key i is objects[i]. */
typedef struct map_model {
  size_t keys;
  bool *present;
  uint64_t *value, *since; /* when it was put in, which is its order */
  uint64_t clock;
  size_t count;
} map_model;

static map_model new_model(size_t keys) {
  map_model model = {.keys = keys};
  model.present = calloc(keys, sizeof *model.present);
  model.value = calloc(keys, sizeof *model.value);
  model.since = calloc(keys, sizeof *model.since);
  assert_true(model.present != NULL && model.value != NULL && model.since != NULL);
  return model;
}
static void free_model(map_model *model) {
  free(model->present);
  free(model->value);
  free(model->since);
}

/* All kinds of keys: immediates with the zero word among them, strings, symbols, and objects without a hash of their
 * own. */
CRADLE_MAY_COLLECT static uint64_t new_key(kit_fixture *k, cradle_weak_set *symbols, size_t number) {
  char name[32];
  int length = snprintf(name, sizeof name, "key %zu", number);
  if (number == 0) return 0;
  switch (number % 4) {
  case 0:
    if (k->has_immediates) return number << 3 | 1;
    /* fall through */
  case 1: return reference(k, cradle_kit_string_new(&k->kit, name, (size_t)length));
  case 2: return reference(k, cradle_kit_intern(&k->kit, symbols, name, (size_t)length));
  default: return reference(k, cradle_kit_array_new(&k->kit, number % 64));
  }
}

CRADLE_MAY_COLLECT static cradle_kit_array *new_keys(kit_fixture *k, size_t count) {
  cradle_weak_set *symbols = new_symbols(k, NULL);
  cradle_kit_array *keys = NULL;
  CRADLE_ROOT(k->f.m, keys);
  keys = cradle_kit_array_new(&k->kit, count);
  for (size_t i = 0; i < count; i++) {
    uint64_t key = new_key(k, symbols, i);
    cradle_store_value(k->f.m, keys, &keys->items[i], key);
  }
  cradle_weak_set_free(symbols);
  return keys;
}

static void check_order(const kit_fixture *k, const cradle_kit_map *map, const map_model *model,
                        const cradle_kit_array *keys) {
  uint64_t before = 0;
  size_t count = 0;
  assert_int_equal(map->count, model->count);
  for (size_t e = cradle_kit_map_next(map, 0); e != CRADLE_KIT_MAP_NONE; e = cradle_kit_map_next(map, e + 1)) {
    size_t key = 0;
    while (key < model->keys && keys->items[key] != cradle_kit_map_key_at(map, e)) key++;
    assert_true(key < model->keys && model->present[key]);
    assert_true(model->since[key] > before);
    assert_int_equal(number_of(k, cradle_kit_map_value_at(map, e)), model->value[key]);
    before = model->since[key];
    count++;
  }
  assert_int_equal(count, model->count);
}

CRADLE_MAY_COLLECT static void map_step(kit_fixture *k, cradle_kit_map *map, map_model *model, cradle_kit_array *keys,
                                        size_t i) {
  CRADLE_ROOT(k->f.m, map);
  CRADLE_ROOT(k->f.m, keys);
  if (below(k, 3) > 0) {
    uint64_t value = numbered(k, next(k));
    model->value[i] = number_of(k, value);
    assert_int_equal(set_new(&k->kit, map, keys->items[i], value), !model->present[i]);
    if (!model->present[i]) model->since[i] = ++model->clock, model->count++;
    model->present[i] = true;
  } else {
    assert_int_equal(cradle_kit_map_remove(&k->kit, map, keys->items[i]), model->present[i]);
    model->count -= model->present[i];
    model->present[i] = false;
  }
  size_t other = below(k, model->keys), entry = cradle_kit_map_find(&k->kit, map, keys->items[other]);
  assert_int_equal(entry != CRADLE_KIT_MAP_NONE, model->present[other]);
  if (entry != CRADLE_KIT_MAP_NONE)
    assert_int_equal(number_of(k, cradle_kit_map_value_at(map, entry)), model->value[other]);
}

static const cradle_kit_keys *keys_of_test;
enum { KEYS = 300 };

/* Phases with few keys and with many make the map grow, fill with holes and shrink. */
static void maps_of_one(kit_fixture *k) {
  map_model model = new_model(KEYS);
  cradle_kit_array *keys = new_keys(k, KEYS);
  cradle_kit_map *map = NULL;
  CRADLE_ROOT(k->f.m, keys);
  CRADLE_ROOT(k->f.m, map);
  map = cradle_kit_map_new(&k->kit, keys_of_test);
  for (int i = times(k, 30000), active = KEYS; i > 0; i--) {
    if (i % 1000 == 0) active = 1 + (int)below(k, KEYS);
    map_step(k, map, &model, keys, below(k, (size_t)active));
    if (i % 100 == 0) check_order(k, map, &model, keys);
  }
  check_order(k, map, &model, keys);
  free_model(&model);
}

static void maps_by_identity(void **state) {
  (void)state;
  static kit_fixture k;
  keys_of_test = NULL;
  FOR_EACH_ENCODING(k, maps_of_one);
}

static void maps_of_strings(void **state) {
  (void)state;
  static kit_fixture k;
  keys_of_test = &cradle_kit_keys_strings;
  FOR_EACH_ENCODING(k, maps_of_one);
}

/* --- keys whose hashes agree but for a few low bits --- */

/* Pairs of numbers, found among as many as it takes; the zero word has an entry's number wherever a removed one is. */
enum { PAIRS = 24, POOL = 2 * PAIRS + 4, CANDIDATES = 1 << 17, AGREE_SHIFT = 4 };
static uint64_t pool[POOL];
static const map_model *asked; /* of the map that is used */

static uint32_t used_hash(uint64_t word) {
  return (uint32_t)cradle_kit_hash_word(word) | CRADLE_KIT_MAP_HASHED;
}
static int compare_hashes(const void *left, const void *right) {
  uint32_t a = used_hash(*(const uint64_t *)left), b = used_hash(*(const uint64_t *)right);
  return a < b ? -1 : a > b;
}
static void fill_pool(void) {
  static uint64_t candidates[CANDIDATES];
  for (size_t i = 0; i < CANDIDATES; i++) candidates[i] = i + 1;
  qsort(candidates, CANDIDATES, sizeof *candidates, compare_hashes);
  static const uint64_t with_zero[] = {0, 221067363, 304855049, 567199555}; /* so few agree with it */
  size_t filled = sizeof with_zero / sizeof *with_zero;
  memcpy(pool, with_zero, sizeof with_zero);
  for (size_t i = 1; i < filled; i++) assert_int_equal(used_hash(0) >> AGREE_SHIFT, used_hash(pool[i]) >> AGREE_SHIFT);
  for (size_t i = 1; i < CANDIDATES && filled < POOL; i++) {
    if (used_hash(candidates[i]) >> AGREE_SHIFT != used_hash(candidates[i - 1]) >> AGREE_SHIFT) continue;
    pool[filled++] = candidates[i - 1];
    pool[filled++] = candidates[i];
  }
  assert_int_equal(filled, POOL);
}

static uint64_t hash_itself(const cradle_kit *kit, uint64_t key) {
  (void)kit;
  return key;
}
/* Looks up only keys that are in the map. */
static bool equal_when_present(const cradle_kit *kit, uint64_t left, uint64_t right) {
  (void)kit;
  size_t i = 0;
  while (i < POOL && pool[i] != left) i++;
  if (i == POOL || !asked->present[i]) fail_msg("asked about 0x%" PRIx64 ", which is no key", left);
  return left == right;
}

static void keys_whose_hashes_agree(void **state) {
  (void)state;
  static kit_fixture k;
  static const cradle_kit_keys asking = {hash_itself, equal_when_present};
  fill_pool();
  open_kit(&k, 2, 0);
  {
    cradle_kit_array *keys = cradle_kit_array_new(&k.kit, POOL);
    cradle_kit_map *map = NULL;
    CRADLE_ROOT(k.f.m, keys);
    CRADLE_ROOT(k.f.m, map);
    memcpy(keys->items, pool, sizeof pool); /* numbers */
    for (int round = times(&k, 2000); round > 0; round--) {
      map_model model = new_model(POOL);
      asked = &model;
      map = cradle_kit_map_new(&k.kit, round % 2 == 0 ? &asking : NULL);
      size_t first = below(&k, 3) == 0 ? 0 : below(&k, PAIRS) * 2, active = 2 + below(&k, 5);
      for (int step = 0; step < 60; step++) map_step(&k, map, &model, keys, (first + below(&k, active)) % POOL);
      check_order(&k, map, &model, keys);
      free_model(&model);
    }
  }
  fixture_close(&k.f);
}

static uint64_t hash_seven(const cradle_kit *kit, uint64_t key) {
  (void)kit, (void)key;
  return 7;
}
static bool same_word(const cradle_kit *kit, uint64_t left, uint64_t right) {
  (void)kit;
  return left == right;
}

static void a_map_with_one_hash_for_all_is_right(void **state) {
  (void)state;
  static kit_fixture k;
  static const cradle_kit_keys all_collide = {hash_seven, same_word};
  keys_of_test = &all_collide;
  FOR_EACH_ENCODING(k, maps_of_one);
}

static int compare_halves(const void *left, const void *right) {
  uint32_t one = *(const uint32_t *)left, other = *(const uint32_t *)right;
  return (one > other) - (one < other);
}

/* Objects that are keys by identity have hashes that differ, and keep them when they move: the index stays as it is. */
static void identities_of_one(kit_fixture *k) {
  size_t count = (size_t)times(k, 4000);
  cradle_kit_array *objects = cradle_kit_array_new(&k->kit, count);
  cradle_kit_map *map = NULL;
  CRADLE_ROOT(k->f.m, objects);
  CRADLE_ROOT(k->f.m, map);
  map = cradle_kit_map_new(&k->kit, NULL);
  for (size_t i = 0; i < count; i++) {
    uint64_t object = reference(k, cradle_kit_array_new(&k->kit, 1));
    cradle_store_value(k->f.m, objects, &objects->items[i], object);
    cradle_kit_map_set(&k->kit, map, object, object);
  }
  size_t bytes = map->index->length * sizeof(uint32_t);
  uint32_t *words = malloc(bytes), *hashes = words + map->index->mask + 1;
  assert_non_null(words);
  memcpy(words, map->index->words, bytes);
  uint64_t address = objects->items[0];
  cradle_collect(k->f.m, CRADLE_COLLECT_COMPACTING);
  assert_true(address != objects->items[0]);
  assert_memory_equal(words, map->index->words, bytes);
  for (size_t i = 0; i < count; i++)
    assert_int_equal(cradle_kit_map_get(&k->kit, map, objects->items[i], 0), objects->items[i]);
  size_t met = 1;
  qsort(hashes, count, sizeof *hashes, compare_halves);
  for (size_t i = 1; i < count; i++) met += hashes[i] != hashes[i - 1];
  assert_true(met >= count - count / 100);
  free(words);
}

static void objects_keep_their_hash_when_they_move(void **state) {
  (void)state;
  static kit_fixture k;
  FOR_EACH_ENCODING(k, identities_of_one);
}

/* What the kit takes for an immediate is one, whatever the encoding; and with one pattern and one tag the reverse
 * holds, but for words without an address. */
static void immediates_are_told_from_references(void **state) {
  (void)state;
  static kit_fixture k;
  enum { PAIRS = 7 };
  cradle_encoding encodings[PAIRS] = {plain_encoding(), cradle_encoding_of(0, 0, 0x02),
                                      cradle_encoding_of(NAN_BITS, NAN_BITS, 1 << 0), cradle_encoding_of(0, 0, 0x82)};
  encodings[4] = cradle_encoding_of(NAN_BITS, NAN_BITS, 1 << 0);
  encodings[4].pairs[1].mask = NAN_BITS;
  encodings[4].pairs[1].pattern = UINT64_C(0x7ffc000000000000);
  encodings[4].pair_count = 2;
  encodings[5] = (cradle_encoding){.pairs = {{1, 1}}, .pair_count = 1, .tag_set = 0x03, .payload_mask = ~UINT64_C(7)};
  encodings[6] = encodings[5];
  encodings[6].pairs[0].pattern = 0; /* of the two tags, one fits each pattern */
  for (int e = 0; e < PAIRS; e++) {
    cradle_options options;
    fixture_options(&k.f, &options);
    options.encoding = encodings[e];
    fixture_open_with(&k.f, &options);
    cradle_kit_init(&k.kit, k.f.m, cradle_kit_add_types(k.f.heap));
    bool is_exact = e != 3 && e != 4;
    for (int i = 0; i < 20000; i++) {
      uint64_t word = next(&k) << 40 ^ next(&k) << 20 ^ next(&k);
      if (i % 3 == 0) word = (word & k.kit.encoding.payload_mask) | k.kit.reference_pattern;
      bool refers = object_of(&k, word) != NULL, has_address = (word & k.kit.encoding.payload_mask) != 0;
      assert_true(!refers || cradle_kit_may_refer(&k.kit, word));
      if (is_exact && has_address) assert_int_equal(refers, cradle_kit_may_refer(&k.kit, word));
    }
    fixture_close(&k.f);
  }
}

/* A string, a symbol of the same name, and the same bytes behind other tag bits have equal hashes. */
static void keys_of_one_name_are_kept_apart(void **state) {
  (void)state;
  static kit_fixture k;
  enum { TAG_1 = 1, TAG_7 = 7, VALUE = 3 << 3 | 2 };
  cradle_options options;
  fixture_options(&k.f, &options);
  options.encoding = cradle_encoding_of(0, 0, 1 << TAG_1 | 1 << TAG_7);
  fixture_open_with(&k.f, &options);
  cradle_kit_init(&k.kit, k.f.m, cradle_kit_add_types(k.f.heap));
  {
    cradle_weak_set *symbols = cradle_weak_set_new(k.f.m, NULL, NULL);
    cradle_kit_string *name = NULL;
    cradle_kit_symbol *symbol = NULL;
    cradle_kit_map *map = NULL;
    CRADLE_ROOT(k.f.m, name);
    CRADLE_ROOT(k.f.m, symbol);
    CRADLE_ROOT(k.f.m, map);
    name = cradle_kit_string_new(&k.kit, "name", 4);
    symbol = cradle_kit_intern(&k.kit, symbols, "name", 4);
    map = cradle_kit_map_new(&k.kit, &cradle_kit_keys_strings);
    assert_true(set_new(&k.kit, map, (uintptr_t)name | TAG_1, VALUE));
    assert_true(set_new(&k.kit, map, (uintptr_t)symbol | TAG_1, VALUE));
    assert_true(set_new(&k.kit, map, (uintptr_t)name | TAG_7, VALUE));
    const cradle_kit_string *again = cradle_kit_string_new(&k.kit, "name", 4);
    assert_false(set_new(&k.kit, map, (uintptr_t)again | TAG_1, VALUE));
    again = cradle_kit_string_new(&k.kit, "name", 4);
    assert_false(set_new(&k.kit, map, (uintptr_t)again | TAG_7, VALUE));
    assert_int_equal(map->count, 3);
    cradle_weak_set_free(symbols);
  }
  fixture_close(&k.f);
}

/* Only the comparison of strings tells these keys apart: each meets all others. */
static void equality_of_one(kit_fixture *k) {
  enum { COUNT = 40 };
  const cradle_kit_keys keys_of_one_hash = {hash_seven, cradle_kit_keys_strings.equal};
  cradle_kit_array *keys = NULL;
  cradle_kit_map *map = NULL;
  CRADLE_ROOT(k->f.m, keys);
  CRADLE_ROOT(k->f.m, map);
  keys = new_keys(k, COUNT);
  map = cradle_kit_map_new(&k->kit, &keys_of_one_hash);
  for (size_t i = 0; i < COUNT; i++) assert_true(set_new(&k->kit, map, keys->items[i], 0));
  for (size_t i = 0; i < COUNT; i++) assert_int_equal(cradle_kit_map_find(&k->kit, map, keys->items[i]), i);
  uint64_t again = reference(k, cradle_kit_string_new(&k->kit, "key 1", 5));
  assert_int_equal(cradle_kit_map_find(&k->kit, map, again), 1);
}

static void keys_that_are_no_strings_equal_none(void **state) {
  (void)state;
  static kit_fixture k;
  FOR_EACH_ENCODING(k, equality_of_one);
}

static void equal_strings_are_one_key_or_two(void **state) {
  (void)state;
  static kit_fixture k;
  open_kit(&k, 0, 0);
  for (int by_bytes = 0; by_bytes < 2; by_bytes++) {
    cradle_kit_map *map = cradle_kit_map_new(&k.kit, by_bytes ? &cradle_kit_keys_strings : NULL);
    CRADLE_ROOT(k.f.m, map);
    for (uint64_t i = 0; i < 3; i++) {
      uint64_t key = reference(&k, cradle_kit_string_new(&k.kit, "key", 3));
      cradle_kit_map_set(&k.kit, map, key, i << 3 | 1);
    }
    assert_int_equal(map->count, by_bytes ? 1 : 3);
    uint64_t again = reference(&k, cradle_kit_string_new(&k.kit, "key", 3));
    assert_int_equal(cradle_kit_map_get(&k.kit, map, again, 5), by_bytes ? 2 << 3 | 1 : 5);
  }
  fixture_close(&k.f);
}

/* The index grows through all its widths, with removals, and shrinks again. */
static void many_of_one(kit_fixture *k) {
  uint64_t many = k->f.stressed ? 400 : 100000;
  cradle_kit_map *map = cradle_kit_map_new(&k->kit, NULL);
  CRADLE_ROOT(k->f.m, map);
  for (uint64_t i = 0; i < many; i++) {
    assert_true(set_new(&k->kit, map, i * 17 << 3 | 1, i << 3 | 1));
    if (i % 3 == 0) assert_true(cradle_kit_map_remove(&k->kit, map, i / 3 * 17 << 3 | 1));
  }
  uint64_t first = (many - 1) / 3 + 1;
  for (uint64_t i = 0; i < many; i++)
    assert_int_equal(cradle_kit_map_get(&k->kit, map, i * 17 << 3 | 1, 0), i < first ? 0 : i << 3 | 1);
  for (uint64_t i = first; i < many; i++) assert_true(cradle_kit_map_remove(&k->kit, map, i * 17 << 3 | 1));
  assert_int_equal(map->count, 0);
  assert_int_equal(cradle_kit_map_next(map, 0), CRADLE_KIT_MAP_NONE);
  /* Removed entries make no room for more: one key at a time in an empty map, and it becomes small. */
  for (uint64_t i = 0; i < 2 * many; i++) {
    assert_true(set_new(&k->kit, map, i << 3 | 1, 1));
    assert_true(cradle_kit_map_remove(&k->kit, map, i << 3 | 1));
  }
  assert_true(map->entries->length <= 16);
}

static void maps_of_many(void **state) {
  (void)state;
  static kit_fixture k;
  open_kit(&k, 0, 0);
  many_of_one(&k);
  fixture_close(&k.f);
}

static size_t taken_slots(const cradle_kit_map *map) {
  size_t taken = 0;
  for (size_t slot = 0; slot <= map->index->mask; slot++) taken += map->index->words[slot] != CRADLE_KIT_MAP_FREE;
  return taken;
}

/* Slots of removed entries are taken again, so that searches stay short in a map with much room. */
static void comes_and_goes(kit_fixture *k) {
  cradle_kit_map *map = cradle_kit_map_new(&k->kit, NULL);
  CRADLE_ROOT(k->f.m, map);
  for (uint64_t i = 0; i < 700; i++) cradle_kit_map_set(&k->kit, map, i << 3 | 1, 1);
  for (uint64_t i = 0; i < 700; i++) assert_true(cradle_kit_map_remove(&k->kit, map, i << 3 | 1));
  size_t before = taken_slots(map);
  for (int i = 0; i < 300; i++) {
    assert_true(set_new(&k->kit, map, 17 << 3 | 1, 1));
    assert_true(cradle_kit_map_remove(&k->kit, map, 17 << 3 | 1));
  }
  assert_true(taken_slots(map) <= before + 1);
}

static void a_key_that_comes_and_goes_takes_one_slot(void **state) {
  (void)state;
  static kit_fixture k;
  open_kit(&k, 0, 0);
  comes_and_goes(&k);
  fixture_close(&k.f);
}

/* Keys for which there is room leave the index as it is. */
static void maps_grow_when_they_are_full(void **state) {
  (void)state;
  static kit_fixture k;
  enum { MOST = 70 };
  open_kit(&k, 0, 0);
  cradle_kit_map *map = cradle_kit_map_new(&k.kit, NULL);
  CRADLE_ROOT(k.f.m, map);
  size_t room = 0, grown = 0;
  for (uint64_t i = 0; i < MOST; i++) {
    cradle_kit_map_set(&k.kit, map, i << 3 | 1, 1);
    assert_int_equal(map->index->mask + 1, 2 * map->entries->length);
    assert_in_range(map->entries->length, i + 1, 3 * i + 6);
    if (map->entries->length == room) continue;
    assert_int_equal(room, i); /* it was full */
    room = map->entries->length;
    grown++;
  }
  assert_in_range(grown, 3, 6);
  assert_true(cradle_kit_map_remove(&k.kit, map, 1)); /* the entry that was removed is still used */
  assert_int_equal(map->used, MOST);
  fixture_close(&k.f);
}

/* --- the rows of a program's own table --- */

static void rows_and_added_types_are_the_same(void **state) {
  (void)state;
  enum { FIRST = 3, ALL = FIRST + CRADLE_KIT_TYPES };
  static const cradle_type rows[ALL] = {[0] = {.name = "pair", .size = sizeof(pair)},
                                        [1] = {.name = "pair", .size = sizeof(pair)},
                                        [2] = {.name = "pair", .size = sizeof(pair)},
                                        CRADLE_KIT_ROWS(FIRST)};
  static kit_fixture k;
  cradle_options options;
  fixture_options(&k.f, &options);
  options.types = rows;
  options.type_count = ALL;
  options.encoding = encoding_of(0);
  fixture_open_with(&k.f, &options);
  cradle_kit_init(&k.kit, k.f.m, FIRST);
  k.has_immediates = true;
  keys_of_test = &cradle_kit_keys_strings;
  assert_int_equal(cradle_type_of(cradle_kit_string_new(&k.kit, "a", 1)), FIRST + CRADLE_KIT_STRING);
  assert_int_equal(cradle_type_of(cradle_kit_list_new(&k.kit, 1)), FIRST + CRADLE_KIT_LIST);
  maps_of_one(&k);
  assert_int_equal(cradle_kit_add_types(k.f.heap), ALL);
  fixture_close(&k.f);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(maps_by_identity),
      cmocka_unit_test(maps_of_strings),
      cmocka_unit_test(keys_whose_hashes_agree),
      cmocka_unit_test(a_map_with_one_hash_for_all_is_right),
      cmocka_unit_test(objects_keep_their_hash_when_they_move),
      cmocka_unit_test(immediates_are_told_from_references),
      cmocka_unit_test(keys_of_one_name_are_kept_apart),
      cmocka_unit_test(keys_that_are_no_strings_equal_none),
      cmocka_unit_test(equal_strings_are_one_key_or_two),
      cmocka_unit_test(maps_grow_when_they_are_full),
      cmocka_unit_test(maps_of_many),
      cmocka_unit_test(a_key_that_comes_and_goes_takes_one_slot),
      cmocka_unit_test(rows_and_added_types_are_the_same),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
