/* The kit's strings, lists and symbols against models, in three encodings of values, with the collector working in
 * between; and each part of the kit when memory runs out. */
#include "tests/kit/kit_fixture.h"

#include <inttypes.h>
#include <stdio.h>

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
    assert_int_equal(cradle_kit_string_compare(again, left), 0);
    assert_int_equal((cradle_kit_string_compare(left, right) == 0),
                     length == length_2 && memcmp(one, other, length) == 0);
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
  const cradle_kit_string *blank = cradle_kit_string_new(&k.kit, NULL, 77);
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
      uint64_t string = reference(&k, cradle_kit_string_new(&k.kit, NULL, LENGTH));
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
      if (below(k, 20) != 0 && length != LIST_MAX) break;
      for (; length > at; length--) cradle_kit_list_pop(list);
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
    for (size_t at = 0; at < rooms[i]; at++) cradle_kit_list_append(&k.kit, list, 0);
    assert_ptr_equal(list->array, array);
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
  while (list->length > 10) cradle_kit_list_pop(list);
  for (size_t i = 10; i < list->room; i++) assert_int_equal(list->array->items[i], 0);
}

static void what_is_taken_out_of_a_list_is_let_go(void **state) {
  (void)state;
  static kit_fixture k;
  FOR_EACH_ENCODING(k, let_go_of_one);
}

/* --- symbols --- */

typedef struct wanted_name {
  const char *bytes;
  size_t length;
} wanted_name;
static bool has_name(const void *object, const void *key) {
  const cradle_kit_string *name = ((const cradle_kit_symbol *)object)->name;
  const wanted_name *wanted = key;
  return name->length == wanted->length && memcmp(name->bytes, wanted->bytes, name->length) == 0;
}
static cradle_kit_symbol *find_symbol(cradle_weak_set *symbols, const char *name, size_t length) {
  const wanted_name wanted = {name, length};
  return cradle_weak_set_find(symbols, cradle_kit_hash_bytes(name, length), has_name, &wanted);
}

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
    assert_int_equal(find_symbol(symbols, name, length) != NULL, i >= names);
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
    assert_null(find_symbol(symbols, "word", 4));
    assert_null(find_symbol(symbols, "names", 5));
    assert_ptr_equal(find_symbol(symbols, "name", 4), symbol);
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
    const cradle_kit_symbol *known = find_symbol(symbols, name, long_name(name, i));
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

static bool returns; /* the handler does; otherwise it lands */

static void land(void *data, cradle_mutator *mutator, size_t size, const char *message) {
  (void)mutator, (void)message;
  refused_bytes = size;
  if (returns) return;
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
  options.user = &k;
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
  }
  /* Up to the most keys a map grows by less than half, instead of asking for more than there can be. */
  for (size_t count = CRADLE_KIT_MAP_MAX - 1; count <= CRADLE_KIT_MAP_MAX; count++) {
    cradle_checkpoint checkpoint = cradle_checkpoint_save(k.f.m);
    map = cradle_kit_map_new(&k.kit, NULL);
    cradle_kit_map_set(&k.kit, map, 9, 1);
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

/* Each function returns NULL or false, and leaves its object as it was. Two texts do not fit into the heap. */
enum { HEAP_MAX = 12 << 20, TEXT_BYTES = 13 << 19, MOST = HEAP_MAX / 8 };
CRADLE_MAY_COLLECT static void ask_for_too_much(kit_fixture *k) {
  static const char bytes[HEAP_MAX];
  cradle_kit_string *text = cradle_kit_string_new(&k->kit, NULL, TEXT_BYTES);
  CRADLE_ROOT(k->f.m, text);
  cradle_kit_list *list = cradle_kit_list_new(&k->kit, 0);
  CRADLE_ROOT(k->f.m, list);
  cradle_kit_map *map = cradle_kit_map_new(&k->kit, NULL);
  CRADLE_ROOT(k->f.m, map);
  cradle_weak_set *symbols = new_symbols(k, NULL);
  returns = true;
  refused_bytes = 0;
  assert_null(cradle_kit_string_new(&k->kit, bytes, HEAP_MAX));
  assert_int_equal(refused_bytes, sizeof *text + HEAP_MAX);
  assert_null(cradle_kit_string_new(&k->kit, NULL, TEXT_BYTES));
  assert_null(cradle_kit_string_join(&k->kit, text, text));
  assert_null(cradle_kit_string_slice(&k->kit, text, 0, TEXT_BYTES));
  assert_null(cradle_kit_array_new(&k->kit, MOST));
  assert_null(cradle_kit_list_new(&k->kit, MOST));
  assert_null(cradle_kit_intern(&k->kit, symbols, bytes, HEAP_MAX));
  assert_int_equal(set_count(symbols), 0);
  size_t items = 0, keys = 0;
  while (cradle_kit_list_append(&k->kit, list, items << 3 | 1)) items++;
  assert_int_equal(list->length, items);
  assert_false(cradle_kit_list_insert(&k->kit, list, 0, 1));
  assert_int_equal(list->length, items);
  assert_int_equal(list->room, items);
  for (size_t i = 0; i < items; i++) assert_int_equal(cradle_kit_list_get(list, i), i << 3 | 1);
  list = NULL;
  while (cradle_kit_map_set(&k->kit, map, keys << 3 | 1, keys << 3 | 1)) keys++;
  assert_int_equal(map->count, keys);
  for (size_t i = 0; i < keys; i++) assert_int_equal(cradle_kit_map_get(&k->kit, map, i << 3 | 1, 0), i << 3 | 1);
  returns = false;
  assert_heap_sound(k->f.heap);
  cradle_weak_set_free(symbols);
}

CRADLE_UNCHECKED_COLLECTION static void a_handler_that_returns_gives_null(void **state) {
  (void)state;
  kit_fixture of;
  cradle_options options;
  fixture_options(&of.f, &options);
  options.encoding = encoding_of(0);
  options.heap_max_bytes = HEAP_MAX;
  options.on_out_of_memory = land;
  fixture_unstress(&options);
  fixture_open_with(&of.f, &options);
  cradle_kit_init(&of.kit, of.f.m, cradle_kit_add_types(of.f.heap));
  ask_for_too_much(&of);
  fixture_close(&of.f);
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
      cmocka_unit_test(symbols),
      cmocka_unit_test(names_whose_hashes_agree_are_told_apart),
      cmocka_unit_test(symbols_that_are_dropped_die),
      cmocka_unit_test(what_memory_fails_stays_whole),
      cmocka_unit_test(a_handler_that_returns_gives_null),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
