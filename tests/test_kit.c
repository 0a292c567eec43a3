/* The runtime kit against models, in three encodings of values: random operations on strings, lists, maps and symbols,
 * with the collector working in between. */
#include "tests/heap_fixture.h"

#include <inttypes.h>
#include <stdio.h>

#include <cradle/kit.h>

typedef struct kit_fixture {
  fixture f;
  cradle_kit kit;
  uint64_t seed;
  bool has_immediates; /* the encoding has */
  jmp_buf out_of_memory;
} kit_fixture;

static uint64_t next(kit_fixture *k) {
  k->seed = k->seed * UINT64_C(6364136223846793005) + 1442695040888963407u;
  return k->seed >> 33;
}
static size_t below(kit_fixture *k, size_t bound) {
  return next(k) % bound;
}
/* Stress collects and checks the heap at each allocation, so the tests do only part of the work. */
static int times(const kit_fixture *k, int count) {
  return k->f.stressed ? count / 20 + 1 : count;
}

enum { ENCODINGS = 3 };
#define NAN_BITS UINT64_C(0xfffc000000000000)
static cradle_encoding encoding_of(int which) {
  return which == 0   ? cradle_encoding_low_tags(0x01)
         : which == 1 ? plain_encoding()
                      : cradle_encoding_nan_boxing(NAN_BITS, NAN_BITS);
}
static uint64_t reference(const kit_fixture *k, const void *object) {
  return (uint64_t)(uintptr_t)object | k->kit.encoding.pairs[0].pattern;
}
static void *object_of(const kit_fixture *k, uint64_t value) {
  return cradle_value_object(&k->kit.encoding, value);
}

CRADLE_UNCHECKED_COLLECTION static void open_kit(kit_fixture *k, int which, size_t heap_max) {
  cradle_options options;
  fixture_options(&k->f, &options);
  options.encoding = encoding_of(which);
  options.shadow_stack = CRADLE_KIND_VALUE;
  options.heap_max_bytes = heap_max;
  fixture_open_with(&k->f, &options);
  cradle_kit_init(&k->kit, k->f.m, cradle_kit_add_types(k->f.heap));
  k->seed = 42;
  k->has_immediates = which != 1;
}

#define FOR_EACH_ENCODING(k, test) \
  for (int which = 0; which < ENCODINGS; which++) { \
    open_kit(&(k), which, 0); \
    test(&(k)); \
    fixture_close(&(k).f); \
  }

/* --- strings --- */

enum { TEXT_MAX = 200 };

static size_t random_text(kit_fixture *k, char *text) {
  size_t length = below(k, TEXT_MAX);
  for (size_t i = 0; i < length; i++) text[i] = (char)next(k);
  return length;
}

static void check_text(cradle_kit_string *string, const char *bytes, size_t length) {
  assert_int_equal(string->length, length);
  assert_memory_equal(string->bytes, bytes, length);
  assert_int_equal(cradle_kit_string_hash(string), cradle_kit_hash_bytes(bytes, length));
}

static int sign(int order) {
  return (order > 0) - (order < 0);
}

static void strings_of_one(kit_fixture *k) {
  char one[2 * TEXT_MAX], other[TEXT_MAX];
  for (int i = times(k, 3000); i > 0; i--) {
    size_t length = random_text(k, one), length_2 = random_text(k, other);
    cradle_kit_string *left = cradle_kit_string_new(&k->kit, one, length), *right = NULL, *joined = NULL;
    CRADLE_ROOT(k->f.m, left);
    CRADLE_ROOT(k->f.m, right);
    CRADLE_ROOT(k->f.m, joined);
    right = cradle_kit_string_new(&k->kit, other, length_2);
    joined = cradle_kit_string_join(&k->kit, left, right);
    int order = memcmp(one, other, length < length_2 ? length : length_2);
    assert_int_equal(sign(cradle_kit_string_compare(left, right)),
                     order != 0 ? sign(order) : sign((int)length - (int)length_2));
    memcpy(one + length, other, length_2);
    check_text(joined, one, length + length_2);
    size_t end = below(k, length + length_2 + 1), start = below(k, end + 1);
    check_text(cradle_kit_string_slice(&k->kit, joined, start, end), one + start, end - start);
    cradle_kit_string *again = cradle_kit_string_slice(&k->kit, joined, 0, length);
    assert_true(cradle_kit_string_equal(again, left));
    assert_int_equal(cradle_kit_string_compare(again, left), 0);
    assert_int_equal(cradle_kit_string_equal(left, right), length == length_2 && memcmp(one, other, length) == 0);
  }
}

static void strings(void **state) {
  (void)state;
  static kit_fixture k;
  FOR_EACH_ENCODING(k, strings_of_one);
}

/* Fills the nursery with bytes that are not zero. */
CRADLE_MAY_COLLECT static void dirty_nursery(kit_fixture *k) {
  char text[1000];
  memset(text, 'x', sizeof text);
  for (int i = times(k, 5000); i > 0; i--) (void)cradle_kit_string_new(&k->kit, text, sizeof text);
  cradle_collect(k->f.m, CRADLE_COLLECT_MINOR);
}

static void long_and_empty_strings(void **state) {
  (void)state;
  static kit_fixture k;
  static char text[100000];
  open_kit(&k, 0, 0);
  for (size_t i = 0; i < sizeof text; i++) text[i] = (char)next(&k);
  check_text(cradle_kit_string_new(&k.kit, NULL, 0), text, 0);
  check_text(cradle_kit_string_new(&k.kit, text, sizeof text), text, sizeof text);
  for (size_t length = 32700; length < 32800; length += 7)
    check_text(cradle_kit_string_new(&k.kit, text, length), text, length);
  dirty_nursery(&k);
  const cradle_kit_string *blank = cradle_kit_string_blank(&k.kit, 77);
  for (size_t i = 0; i < 77; i++) assert_int_equal(blank->bytes[i], 0);
  fixture_close(&k.f);
}

/* What lies behind the shorter string counts for nothing. */
static void a_string_sorts_after_its_beginning(void **state) {
  (void)state;
  static kit_fixture k;
  static const char bytes[40] = "ab";
  open_kit(&k, 0, 0);
  dirty_nursery(&k);
  {
    cradle_kit_string *whole = cradle_kit_string_new(&k.kit, bytes, sizeof bytes);
    CRADLE_ROOT(k.f.m, whole);
    for (size_t length = 0; length < sizeof bytes; length++) {
      const cradle_kit_string *start = cradle_kit_string_new(&k.kit, bytes, length);
      assert_true(cradle_kit_string_compare(start, whole) < 0);
      assert_true(cradle_kit_string_compare(whole, start) > 0);
    }
  }
  fixture_close(&k.f);
}

/* A large slice, put where a string between two others died. */
static void slices_end_where_they_end(void **state) {
  (void)state;
  static kit_fixture k;
  enum { LENGTH = 40000, STRINGS = 8 };
  static char text[2 * LENGTH];
  memset(text, 's', sizeof text);
  open_kit(&k, 0, 0);
  cradle_kit_array *strings = cradle_kit_array_new(&k.kit, STRINGS);
  cradle_kit_string *whole = NULL;
  {
    CRADLE_ROOT(k.f.m, strings);
    CRADLE_ROOT(k.f.m, whole);
    whole = cradle_kit_string_new(&k.kit, text, sizeof text);
    for (size_t i = 0; i < STRINGS; i++) {
      uint64_t string = reference(&k, cradle_kit_string_blank(&k.kit, LENGTH));
      cradle_store_value(k.f.m, strings, &strings->items[i], string);
    }
    for (size_t i = 0; i < STRINGS; i += 2) cradle_store_value(k.f.m, strings, &strings->items[i], 0);
    cradle_collect(k.f.m, CRADLE_COLLECT_FULL);
    for (size_t i = 0; i < STRINGS; i += 2) {
      uint64_t slice = reference(&k, cradle_kit_string_slice(&k.kit, whole, LENGTH, 2 * LENGTH));
      cradle_store_value(k.f.m, strings, &strings->items[i], slice);
    }
    for (size_t i = 0; i < STRINGS; i++) {
      const cradle_kit_string *string = object_of(&k, strings->items[i]);
      assert_int_equal(string->length, LENGTH);
      for (size_t at = 0; at < LENGTH; at++) assert_int_equal(string->bytes[at], i % 2 == 0 ? 's' : 0);
    }
  }
  fixture_close(&k.f);
}

/* Names and numbers as programs have them, and single changed bits: few meet in 17 bits of the hash. */
static void hashes_are_spread(void **state) {
  (void)state;
  static unsigned char met[1 << 17];
  unsigned most = 0;
  for (unsigned i = 0; i < 1 << 17; i++) {
    char name[32];
    int length = snprintf(name, sizeof name, "name_%u", i);
    unsigned bucket = (unsigned)cradle_kit_hash_bytes(name, (size_t)length) & 0x1ffff;
    if (++met[bucket] > most) most = met[bucket];
  }
  assert_true(most <= 12); /* of random hashes, 8 or 9 */
  char bytes[40] = {0};
  uint64_t plain = cradle_kit_hash_bytes(bytes, sizeof bytes);
  for (unsigned bit = 0; bit < 8 * sizeof bytes; bit++) {
    bytes[bit / 8] = (char)(1 << bit % 8);
    int changed = __builtin_popcountll(plain ^ cradle_kit_hash_bytes(bytes, sizeof bytes));
    assert_true(changed >= 10 && changed <= 54);
    bytes[bit / 8] = 0;
  }
  for (size_t length = 0; length < sizeof bytes; length++)
    assert_true(cradle_kit_hash_bytes(bytes, length) != cradle_kit_hash_bytes(bytes, length + 1));
  for (size_t length = 0; length < sizeof bytes; length++) {
    plain = cradle_kit_hash_bytes(bytes, length);
    for (size_t at = 0; at < sizeof bytes; at++) {
      bytes[at] = 1; /* a byte of the string, or one after its end */
      assert_int_equal(cradle_kit_hash_bytes(bytes, length) != plain, at < length);
      bytes[at] = 0;
    }
  }
}

/* Strings and symbols are hashed by their bytes, immediates by their word, and other objects so that the hash stays
 * when they move. */
static void identities_have_hashes_of_one(kit_fixture *k) {
  enum { OBJECTS = 20 };
  uint64_t before[OBJECTS];
  cradle_kit_array *objects = cradle_kit_array_new(&k->kit, OBJECTS);
  CRADLE_ROOT(k->f.m, objects);
  cradle_weak_set *symbols = cradle_weak_set_new(k->f.m, NULL, NULL);
  for (size_t i = 0; i < OBJECTS; i++) {
    uint64_t object = reference(k, cradle_kit_array_new(&k->kit, 3));
    cradle_store_value(k->f.m, objects, &objects->items[i], object);
    before[i] = cradle_kit_hash_identity(&k->kit, object);
    for (size_t other = 0; other < i; other++) assert_true(before[other] != before[i]);
  }
  uint64_t wanted = cradle_kit_hash_bytes("name", 4);
  uint64_t name = reference(k, cradle_kit_string_new(&k->kit, "name", 4));
  assert_int_equal(cradle_kit_hash_identity(&k->kit, name), wanted);
  uint64_t symbol = reference(k, cradle_kit_intern(&k->kit, symbols, "name", 4));
  assert_int_equal(cradle_kit_hash_identity(&k->kit, symbol), wanted);
  assert_int_equal(cradle_kit_hash_identity(&k->kit, 0), cradle_kit_hash_word(0));
  if (k->has_immediates) assert_int_equal(cradle_kit_hash_identity(&k->kit, 9), cradle_kit_hash_word(9));
  cradle_collect(k->f.m, CRADLE_COLLECT_COMPACTING);
  for (size_t i = 0; i < OBJECTS; i++)
    assert_int_equal(cradle_kit_hash_identity(&k->kit, objects->items[i]), before[i]);
  cradle_weak_set_free(symbols);
}

static void hashes_for_identity(void **state) {
  (void)state;
  static kit_fixture k;
  FOR_EACH_ENCODING(k, identities_have_hashes_of_one);
}

/* --- lists --- */

enum { LIST_MAX = 2000 };

/* Values that contain their number: even ones are immediates if the encoding has them, all others strings. */
CRADLE_MAY_COLLECT static uint64_t numbered(kit_fixture *k, uint64_t number) {
  if (number % 2 == 0 && k->has_immediates) return number << 3 | 1;
  return reference(k, cradle_kit_string_new(&k->kit, (const char *)&number, sizeof number));
}
static uint64_t number_of(const kit_fixture *k, uint64_t value) {
  const cradle_kit_string *string = object_of(k, value);
  uint64_t number = value >> 3;
  if (string != NULL) memcpy(&number, string->bytes, sizeof number);
  return number;
}

static void check_list(const kit_fixture *k, const cradle_kit_list *list, const uint64_t *model, size_t length) {
  assert_int_equal(list->length, length);
  for (size_t i = 0; i < length; i++) assert_int_equal(number_of(k, cradle_kit_list_get(list, i)), model[i]);
}

static void lists_of_one(kit_fixture *k) {
  static uint64_t model[LIST_MAX + 1];
  size_t length = 0;
  cradle_kit_list *list = cradle_kit_list_new(&k->kit, below(k, 10));
  CRADLE_ROOT(k->f.m, list);
  for (int i = times(k, 40000); i > 0; i--) {
    size_t at = length > 0 ? below(k, length) : 0;
    uint64_t value = numbered(k, next(k));
    CRADLE_ROOT_VALUE(k->f.m, value);
    uint64_t number = number_of(k, value);
    switch (length == 0 ? 0 : length == LIST_MAX ? 9 : below(k, 10)) {
    case 0:
    case 1:
    case 2:
    case 3:
    case 4: cradle_kit_list_append(&k->kit, list, value), model[length++] = number; break;
    case 5:
      cradle_kit_list_insert(&k->kit, list, at, value);
      memmove(model + at + 1, model + at, (length++ - at) * sizeof *model);
      model[at] = number;
      break;
    case 6:
      assert_int_equal(number_of(k, cradle_kit_list_remove(&k->kit, list, at)), model[at]);
      memmove(model + at, model + at + 1, (--length - at) * sizeof *model);
      break;
    case 7: assert_int_equal(number_of(k, cradle_kit_list_pop(list)), model[--length]); break;
    case 8: cradle_kit_list_set(&k->kit, list, at, value), model[at] = number; break;
    default:
      if (below(k, 20) == 0 || length == LIST_MAX) cradle_kit_list_truncate(list, length = at);
      cradle_kit_list_reserve(&k->kit, list, length + at);
      assert_true(list->room >= length + at);
    }
    assert_int_equal(list->length, length);
    if (i % 64 == 0) check_list(k, list, model, length);
  }
  check_list(k, list, model, length);
}

static void lists(void **state) {
  (void)state;
  static kit_fixture k;
  FOR_EACH_ENCODING(k, lists_of_one);
}

/* A list has the room that was asked for, zeroed; only room that is not there makes another array. */
static void lists_have_the_room_that_is_asked_for(void **state) {
  (void)state;
  static kit_fixture k;
  enum { LARGEST = (CRADLE_NURSERY_OBJECT_MAX_BYTES - sizeof(cradle_kit_array)) / sizeof(cradle_word) };
  static const size_t rooms[] = {1, 2, 5, 6, 7, 100, LARGEST - 1, LARGEST, LARGEST + 1};
  open_kit(&k, 0, 0);
  assert_null(cradle_kit_list_new(&k.kit, 0)->array);
  for (size_t i = 0; i < sizeof rooms / sizeof *rooms; i++) {
    dirty_nursery(&k);
    cradle_kit_list *list = cradle_kit_list_new(&k.kit, rooms[i]);
    CRADLE_ROOT(k.f.m, list);
    assert_int_equal(list->room, rooms[i]);
    assert_int_equal(list->array->length, rooms[i]);
    for (size_t at = 0; at < rooms[i]; at++) assert_int_equal(list->array->items[at], 0);
    const cradle_kit_array *array = list->array;
    cradle_kit_list_reserve(&k.kit, list, rooms[i]);
    assert_ptr_equal(list->array, array);
    cradle_kit_list_reserve(&k.kit, list, rooms[i] + 1);
    assert_int_equal(list->room, rooms[i] + 1);
  }
  fixture_close(&k.f);
}

static void lists_grow_when_items_are_inserted(void **state) {
  (void)state;
  static kit_fixture k;
  enum { ITEMS = 100 };
  open_kit(&k, 0, 0);
  cradle_kit_list *list = cradle_kit_list_new(&k.kit, 0);
  {
    CRADLE_ROOT(k.f.m, list);
    for (uint64_t i = 0; i < ITEMS; i++) {
      cradle_kit_list_insert(&k.kit, list, i / 2, i << 3 | 1);
      assert_true(list->room >= i + 1 && list->array->length == list->room);
    }
    for (uint64_t i = 0; i < ITEMS; i++) { /* the odd ones upwards, and then the even ones downwards */
      uint64_t number = i < ITEMS / 2 ? 2 * i + 1 : 2 * (ITEMS - 1 - i);
      assert_int_equal(cradle_kit_list_get(list, i), number << 3 | 1);
    }
  }
  fixture_close(&k.f);
}

/* Unused room holds no references, so that removed objects can die. */
static void let_go_of_one(kit_fixture *k) {
  cradle_kit_list *list = cradle_kit_list_new(&k->kit, 0);
  CRADLE_ROOT(k->f.m, list);
  for (uint64_t i = 0; i < 40; i++) {
    uint64_t value = numbered(k, i);
    cradle_kit_list_append(&k->kit, list, value);
  }
  cradle_kit_list_pop(list);
  cradle_kit_list_remove(&k->kit, list, 3);
  cradle_kit_list_truncate(list, 10);
  for (size_t i = 10; i < list->room; i++) assert_int_equal(list->array->items[i], 0);
}

static void what_is_taken_out_of_a_list_is_let_go(void **state) {
  (void)state;
  static kit_fixture k;
  FOR_EACH_ENCODING(k, let_go_of_one);
}

/* --- maps --- */

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

static void count_removed(void *data, size_t removed) {
  *(size_t *)data += removed;
}
/* A symbol table that counts in *removed, unless that is NULL, how many of its symbols died. */
static cradle_weak_set *new_symbols(kit_fixture *k, size_t *removed) {
  cradle_weak_set *symbols = cradle_weak_set_new(k->f.m, removed != NULL ? count_removed : NULL, removed);
  assert_non_null(symbols);
  return symbols;
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
    assert_int_equal(cradle_kit_map_set(&k->kit, map, keys->items[i], value), !model->present[i]);
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
    if (below(k, 3000) == 0) {
      cradle_kit_map_clear(map);
      assert_true(map->entries == NULL && map->index == NULL);
      memset(model.present, 0, KEYS);
      model.count = 0;
    }
    if (below(k, 300) == 0) cradle_kit_map_reserve(&k->kit, map, below(k, 2 * KEYS));
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
  cradle_encoding encodings[PAIRS] = {plain_encoding(), cradle_encoding_low_tags(0x02),
                                      cradle_encoding_nan_boxing(NAN_BITS, NAN_BITS), cradle_encoding_low_tags(0x82)};
  encodings[4] = cradle_encoding_nan_boxing(NAN_BITS, NAN_BITS);
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
  options.encoding = cradle_encoding_low_tags(1 << TAG_1 | 1 << TAG_7);
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
    assert_true(cradle_kit_map_set(&k.kit, map, (uintptr_t)name | TAG_1, VALUE));
    assert_true(cradle_kit_map_set(&k.kit, map, (uintptr_t)symbol | TAG_1, VALUE));
    assert_true(cradle_kit_map_set(&k.kit, map, (uintptr_t)name | TAG_7, VALUE));
    const cradle_kit_string *again = cradle_kit_string_new(&k.kit, "name", 4);
    assert_false(cradle_kit_map_set(&k.kit, map, (uintptr_t)again | TAG_1, VALUE));
    again = cradle_kit_string_new(&k.kit, "name", 4);
    assert_false(cradle_kit_map_set(&k.kit, map, (uintptr_t)again | TAG_7, VALUE));
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
  for (size_t i = 0; i < COUNT; i++) assert_true(cradle_kit_map_set(&k->kit, map, keys->items[i], 0));
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
    assert_true(cradle_kit_map_set(&k->kit, map, i * 17 << 3 | 1, i << 3 | 1));
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
    assert_true(cradle_kit_map_set(&k->kit, map, i << 3 | 1, 1));
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

/* Slots of removed entries are taken again, so that searches stay short in a map with much room. */
static void comes_and_goes(kit_fixture *k) {
  cradle_kit_map *map = cradle_kit_map_new(&k->kit, NULL);
  CRADLE_ROOT(k->f.m, map);
  cradle_kit_map_reserve(&k->kit, map, 1000);
  for (int i = 0; i < 500; i++) {
    assert_true(cradle_kit_map_set(&k->kit, map, 17 << 3 | 1, 1));
    assert_true(cradle_kit_map_remove(&k->kit, map, 17 << 3 | 1));
  }
  size_t taken = 0;
  for (size_t slot = 0; slot <= map->index->mask; slot++) taken += map->index->words[slot] != CRADLE_KIT_MAP_FREE;
  assert_int_equal(taken, 1);
}

static void a_key_that_comes_and_goes_takes_one_slot(void **state) {
  (void)state;
  static kit_fixture k;
  open_kit(&k, 0, 0);
  comes_and_goes(&k);
  fixture_close(&k.f);
}

/* Keys for which there is room leave the index as it is; so does asking for room that is there. */
static void maps_have_the_room_that_is_asked_for(void **state) {
  (void)state;
  static kit_fixture k;
  enum { MOST = 70 };
  open_kit(&k, 0, 0);
  for (size_t count = 1; count <= MOST; count++) {
    cradle_kit_map *map = cradle_kit_map_new(&k.kit, NULL);
    CRADLE_ROOT(k.f.m, map);
    cradle_kit_map_reserve(&k.kit, map, count);
    size_t room = map->entries->length;
    assert_in_range(room, count, 2 * count + 3);
    assert_int_equal(map->index->mask + 1, 2 * room);
    const cradle_kit_index *index = map->index;
    for (uint64_t i = 0; i < room; i++) {
      cradle_kit_map_reserve(&k.kit, map, room);
      cradle_kit_map_set(&k.kit, map, i << 3 | 1, 1);
      cradle_kit_map_reserve(&k.kit, map, 0);
    }
    assert_ptr_equal(map->index, index);
    assert_true(cradle_kit_map_remove(&k.kit, map, 1)); /* the entry that was removed is still used */
    cradle_kit_map_reserve(&k.kit, map, room - 1);
    assert_ptr_equal(map->index, index);
    cradle_kit_map_reserve(&k.kit, map, room);
    assert_int_equal(map->used, room - 1);
    assert_int_equal(map->entries->length, room);
    cradle_kit_map_reserve(&k.kit, map, room + 1);
    assert_int_equal(map->entries->length, 2 * room);
  }
  fixture_close(&k.f);
}

/* --- symbols --- */

static void symbols_of_one(kit_fixture *k) {
  uint64_t names = (uint64_t)times(k, 3000);
  cradle_weak_set *symbols = new_symbols(k, NULL);
  cradle_kit_array *met = NULL;
  CRADLE_ROOT(k->f.m, met);
  met = cradle_kit_array_new(&k->kit, names);
  for (uint64_t i = 0; i < 3 * names; i++) {
    char name[32];
    uint64_t number = i * 7 % names;
    size_t length = (size_t)snprintf(name, sizeof name, "%llu name", (unsigned long long)number);
    assert_int_equal(cradle_kit_symbol_find(symbols, name, length) != NULL, i >= names);
    cradle_kit_string *string = cradle_kit_string_new(&k->kit, name, length);
    cradle_kit_symbol *symbol = i % 2 == 0 ? cradle_kit_intern(&k->kit, symbols, name, length)
                                           : cradle_kit_intern_string(&k->kit, symbols, string);
    check_text(symbol->name, name, length);
    assert_int_equal(symbol->hash, cradle_kit_string_hash(symbol->name));
    if (i < names)
      cradle_store_value(k->f.m, met, &met->items[number], reference(k, symbol));
    else
      assert_ptr_equal(object_of(k, met->items[number]), symbol);
  }
  assert_int_equal(set_count(symbols), names);
  cradle_weak_set_free(symbols);
}

static void symbols(void **state) {
  (void)state;
  static kit_fixture k;
  FOR_EACH_ENCODING(k, symbols_of_one);
}

/* A symbol stands in the table under the hash of other names, as if its own were the same. */
static void names_whose_hashes_agree_are_told_apart(void **state) {
  (void)state;
  static kit_fixture k;
  open_kit(&k, 0, 0);
  cradle_weak_set *symbols = new_symbols(&k, NULL), *others = new_symbols(&k, NULL);
  {
    cradle_kit_symbol *symbol = cradle_kit_intern(&k.kit, others, "name", 4);
    CRADLE_ROOT(k.f.m, symbol);
    cradle_weak_set_add(symbols, cradle_kit_hash_bytes("word", 4), symbol);
    cradle_weak_set_add(symbols, cradle_kit_hash_bytes("names", 5), symbol);
    cradle_weak_set_add(symbols, symbol->hash, symbol);
    assert_null(cradle_kit_symbol_find(symbols, "word", 4));
    assert_null(cradle_kit_symbol_find(symbols, "names", 5));
    assert_ptr_equal(cradle_kit_symbol_find(symbols, "name", 4), symbol);
  }
  cradle_weak_set_free(symbols);
  cradle_weak_set_free(others);
  fixture_close(&k.f);
}

enum { LONG_NAME = 200 };
static size_t long_name(char *name, uint64_t number) {
  memset(name, 'x', LONG_NAME);
  return LONG_NAME - 32 + (size_t)snprintf(name + LONG_NAME - 32, 32, "%llu", (unsigned long long)number);
}

/* Every eighth symbol is held. The others are gone after a collection, with their names; interned again, they are new
 * ones, without the value that the old ones had. */
static void dropped_symbols_of_one(kit_fixture *k) {
  uint64_t names = (uint64_t)times(k, 4000), held = (names + 7) / 8;
  size_t removed = 0;
  char name[LONG_NAME];
  cradle_weak_set *symbols = new_symbols(k, &removed);
  cradle_kit_array *met = cradle_kit_array_new(&k->kit, held);
  CRADLE_ROOT(k->f.m, met);
  for (uint64_t i = 0; i < names; i++) {
    cradle_kit_symbol *symbol = cradle_kit_intern(&k->kit, symbols, name, long_name(name, i));
    cradle_store_value(k->f.m, symbol, &symbol->value, reference(k, symbol));
    if (i % 8 == 0) cradle_store_value(k->f.m, met, &met->items[i / 8], reference(k, symbol));
  }
  cradle_collect(k->f.m, CRADLE_COLLECT_FULL);
  assert_int_equal(set_count(symbols), held);
  assert_int_equal(removed, names - held);
  assert_true(fixture_stats(&k->f).old_bytes < held * (LONG_NAME + 200) + 20000);
  for (uint64_t i = 0; i < names; i++) {
    const cradle_kit_symbol *known = cradle_kit_symbol_find(symbols, name, long_name(name, i));
    assert_ptr_equal(known, i % 8 == 0 ? object_of(k, met->items[i / 8]) : NULL);
  }
  for (uint64_t i = 0; i < names; i++) {
    const cradle_kit_symbol *symbol = cradle_kit_intern(&k->kit, symbols, name, long_name(name, i));
    check_text(symbol->name, name, long_name(name, i));
    assert_int_equal(symbol->value, i % 8 == 0 ? reference(k, symbol) : 0);
  }
  cradle_weak_set_free(symbols);
}

static void symbols_that_are_dropped_die(void **state) {
  (void)state;
  static kit_fixture k;
  FOR_EACH_ENCODING(k, dropped_symbols_of_one);
}

/* --- when memory runs out --- */

static size_t refused_bytes; /* SIZE_MAX: more than there can be */

static void land(void *data, cradle_mutator *mutator, size_t size, const char *message) {
  (void)mutator, (void)message;
  refused_bytes = size;
  longjmp(((kit_fixture *)data)->out_of_memory, 1);
}

/* Fills until the handler is called. The operation that was refused must have been done wholly or not at all. */
static void what_memory_fails_stays_whole(void **state) {
  (void)state;
  static kit_fixture k;
  static cradle_kit_list *list;
  static cradle_kit_map *map;
  static volatile uint64_t done;
  cradle_options options;
  fixture_options(&k.f, &options);
  options.encoding = encoding_of(0);
  options.heap_max_bytes = (size_t)12 << 20;
  options.on_out_of_memory = land;
  options.handler_data = &k;
  fixture_unstress(&options); /* megabytes of objects */
  fixture_open_with(&k.f, &options);
  cradle_kit_init(&k.kit, k.f.m, cradle_kit_add_types(k.f.heap));
  cradle_global_root_add(k.f.heap, &list, CRADLE_KIND_REFERENCE);
  cradle_global_root_add(k.f.heap, &map, CRADLE_KIND_REFERENCE);
  for (int fills_map = 0; fills_map < 2; fills_map++) {
    list = NULL, map = NULL;
    list = cradle_kit_list_new(&k.kit, 0);
    map = cradle_kit_map_new(&k.kit, NULL);
    cradle_checkpoint checkpoint = cradle_checkpoint_save(k.f.m);
    done = 0;
    if (setjmp(k.out_of_memory) == 0)
      for (;; done++) {
        if (fills_map)
          cradle_kit_map_set(&k.kit, map, done << 3 | 1, done << 3 | 1);
        else
          cradle_kit_list_append(&k.kit, list, done << 3 | 1);
      }
    cradle_checkpoint_restore(k.f.m, &checkpoint);
    assert_true(done > 100000);
    assert_int_equal(fills_map ? map->count : list->length, done);
    for (uint64_t i = 0; i < done; i++)
      assert_int_equal(fills_map ? cradle_kit_map_get(&k.kit, map, i << 3 | 1, 0) : cradle_kit_list_get(list, i),
                       i << 3 | 1);
    if (setjmp(k.out_of_memory) == 0) {
      cradle_kit_map_reserve(&k.kit, map, CRADLE_KIT_MAP_MAX + 1);
      fail_msg("a map that is too large");
    }
    assert_true(refused_bytes == SIZE_MAX);
    cradle_checkpoint_restore(k.f.m, &checkpoint);
  }
  /* Up to the most keys a map grows by less than half, instead of asking for more than there can be. */
  for (size_t count = CRADLE_KIT_MAP_MAX - 1; count <= CRADLE_KIT_MAP_MAX; count++) {
    cradle_checkpoint checkpoint = cradle_checkpoint_save(k.f.m);
    map = cradle_kit_map_new(&k.kit, NULL);
    cradle_kit_map_reserve(&k.kit, map, 1);
    map->count = count, map->used = (map->index->mask + 1) / 2; /* it is full, and holds so many, it says */
    if (setjmp(k.out_of_memory) == 0) {
      cradle_kit_map_set(&k.kit, map, 1, 1);
      fail_msg("a map that is too large");
    }
    cradle_checkpoint_restore(k.f.m, &checkpoint);
    assert_true((refused_bytes == SIZE_MAX) == (count == CRADLE_KIT_MAP_MAX));
    map = NULL;
  }
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
  maps_of_one(&k);
  lists_of_one(&k);
  assert_int_equal(cradle_kit_add_types(k.f.heap), ALL);
  fixture_close(&k.f);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(strings),
      cmocka_unit_test(long_and_empty_strings),
      cmocka_unit_test(a_string_sorts_after_its_beginning),
      cmocka_unit_test(slices_end_where_they_end),
      cmocka_unit_test(hashes_are_spread),
      cmocka_unit_test(hashes_for_identity),
      cmocka_unit_test(lists),
      cmocka_unit_test(lists_have_the_room_that_is_asked_for),
      cmocka_unit_test(lists_grow_when_items_are_inserted),
      cmocka_unit_test(what_is_taken_out_of_a_list_is_let_go),
      cmocka_unit_test(maps_by_identity),
      cmocka_unit_test(maps_of_strings),
      cmocka_unit_test(keys_whose_hashes_agree),
      cmocka_unit_test(a_map_with_one_hash_for_all_is_right),
      cmocka_unit_test(objects_keep_their_hash_when_they_move),
      cmocka_unit_test(immediates_are_told_from_references),
      cmocka_unit_test(keys_of_one_name_are_kept_apart),
      cmocka_unit_test(keys_that_are_no_strings_equal_none),
      cmocka_unit_test(equal_strings_are_one_key_or_two),
      cmocka_unit_test(maps_have_the_room_that_is_asked_for),
      cmocka_unit_test(maps_of_many),
      cmocka_unit_test(a_key_that_comes_and_goes_takes_one_slot),
      cmocka_unit_test(symbols),
      cmocka_unit_test(names_whose_hashes_agree_are_told_apart),
      cmocka_unit_test(symbols_that_are_dropped_die),
      cmocka_unit_test(what_memory_fails_stays_whole),
      cmocka_unit_test(rows_and_added_types_are_the_same),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
