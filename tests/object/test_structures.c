/* Tests arrays whose items are structures: in each phase the collector treats every word of an item as the bitmaps say,
 * and never treats other words as references, whatever they hold. */
#define CRADLE_CHECKED 1
#include "tests/support/one_heap.h"

#include "tests/inside.h"

enum { LARGE = 5000, NUMBERS = 2 * LARGE * 5 };

/* --- the types --- */

typedef struct entry { /* 16 bytes, all slots of one kind */
  uint64_t key, value;
} entry;
typedef struct mixed { /* 24 bytes, a word of each sort */
  void *reference;
  uint64_t raw, value;
} mixed;
typedef struct last { /* 40 bytes, and one slot at their end */
  uint64_t raw[4];
  void *reference;
} last;
typedef struct wide { /* has more words than a bitmap has bits */
  uint64_t raw[3], value, more[66];
} wide;

typedef struct array {
  uint64_t header, length, words[];
} array;
typedef struct headed { /* with fixed slots before the items */
  uint64_t header;
  void *owner;
  uint64_t length, name;
  uint64_t words[];
} headed;

#define ITEMS_OF(structure) .items = CRADLE_ITEMS_STRUCTURES, .item_size = sizeof(structure)
static const cradle_type structure_types[] = {
    {.name = "entries",
     .size = sizeof(array),
     .length_offset = offsetof(array, length),
     ITEMS_OF(entry),
     .item_values = CRADLE_SLOT(entry, key) | CRADLE_SLOT(entry, value)},
    {.name = "pairs",
     .size = sizeof(array),
     .length_offset = offsetof(array, length),
     ITEMS_OF(entry),
     .item_references = CRADLE_SLOT(entry, key) | CRADLE_SLOT(entry, value)},
    {.name = "mixed",
     .size = sizeof(array),
     .length_offset = offsetof(array, length),
     ITEMS_OF(mixed),
     .item_references = CRADLE_SLOT(mixed, reference),
     .item_values = CRADLE_SLOT(mixed, value)},
    {.name = "last",
     .size = sizeof(array),
     .length_offset = offsetof(array, length),
     ITEMS_OF(last),
     .item_references = CRADLE_SLOT(last, reference)},
    {.name = "wide",
     .size = sizeof(array),
     .length_offset = offsetof(array, length),
     ITEMS_OF(wide),
     .item_values = CRADLE_SLOT(wide, value) | UINT64_C(1) << 63},
    {.name = "headed",
     .size = sizeof(headed),
     .length_offset = offsetof(headed, length),
     .references = CRADLE_SLOT(headed, owner),
     .values = CRADLE_SLOT(headed, name),
     ITEMS_OF(mixed),
     .item_references = CRADLE_SLOT(mixed, reference),
     .item_values = CRADLE_SLOT(mixed, value)},
};
enum { ENTRIES, PAIRS, MIXED, LAST, WIDE, HEADED, STRUCTURES };

/* Of the running test. */
static uint32_t first_type;
static uint64_t tag; /* the tag bits of a value that is a reference */

static void choose(cradle_options *options) {
  options->verify = false; /* the tests verify explicitly */
}

static void choose_encoding(int which) {
  cradle_options options;
  fixture_options(&f, &options);
  choose(&options);
  tag = which == 1 ? 5 : which == 2 ? UINT64_C(0xfffc) << 48 : 0;
  if (which == 0) options.encoding = plain_encoding();
  if (which == 1) options.encoding = cradle_encoding_of(0, 0, 1 << 5);
  if (which == 2) options.encoding = cradle_encoding_of(UINT64_C(0xffff) << 48, tag, 1 << 0);
  fixture_open_with(&f, &options);
  for (int i = 0; i < STRUCTURES; i++) {
    uint32_t type = cradle_type_add(f.heap, &structure_types[i]);
    if (i == 0) first_type = type;
  }
}

static int open_plain(void **state) {
  (void)state;
  choose_encoding(0);
  return 0;
}
static int open_tagged(void **state) {
  (void)state;
  choose_encoding(1);
  return 0;
}
static int open_boxed(void **state) {
  (void)state;
  choose_encoding(2);
  return 0;
}

static string *new_string(uint64_t number) {
  string *text = cradle_new_array(f.m, T_STRING, sizeof number);
  memcpy(text->byte, &number, sizeof number);
  return text;
}
static uint64_t number_of(uint64_t address) {
  uint64_t number;
  const string *text = (const string *)(uintptr_t)address;
  assert_int_equal(cradle_type_of(text), T_STRING);
  memcpy(&number, text->byte, sizeof number);
  return number;
}
static uint64_t value_of(const void *object) {
  return (uint64_t)(uintptr_t)object | tag;
}

typedef enum sort { RAW, REFERENCE, VALUE } sort;
static sort sort_of(int kind, size_t word) {
  const cradle_type *type = &structure_types[kind];
  size_t at = word % (type->item_size / 8);
  if (at < 64 && type->item_references >> at & 1) return REFERENCE;
  return at < 64 && type->item_values >> at & 1 ? VALUE : RAW;
}
static size_t words_of_item(int kind) {
  return structure_types[kind].item_size / 8;
}
static array *new_array(int kind, size_t length) {
  return cradle_new_array(f.m, first_type + (uint32_t)kind, length);
}
static uint64_t *words_of_array(int kind, void *object) {
  return kind == HEADED ? ((headed *)object)->words : ((array *)object)->words;
}

/* --- against a copy --- */

/* What each word must hold: RAW words themselves; for others the number of their string, or 0. */
static uint64_t expected[NUMBERS];

static void assert_words(int kind, void *object, size_t length) {
  const uint64_t *words = words_of_array(kind, object);
  for (size_t i = 0; i < length * words_of_item(kind); i++) {
    sort s = sort_of(kind, i);
    if (s == RAW) {
      assert_int_equal(words[i], expected[i]);
    } else if (expected[i] == 0) {
      assert_int_equal(words[i], 0);
    } else {
      uint64_t bits = s == VALUE ? tag : 0;
      assert_int_equal(words[i] & bits, bits);
      assert_int_equal(number_of(words[i] & ~bits), expected[i]);
    }
  }
}

static uint64_t seed;
static size_t below(size_t end) {
  seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  return (size_t)(seed >> 33) % end;
}

/* Stores into word i. A word that is not a slot gets bits that look like a reference to a young object. */
static void store_word(int kind, void *object, size_t i, uint64_t number) CRADLE_MAY_COLLECT {
  CRADLE_ROOT(f.m, object);
  string *text = new_string(number);
  uint64_t *word = &words_of_array(kind, object)[i];
  sort s = sort_of(kind, i);
  expected[i] = number;
  if (s == REFERENCE) cradle_store(f.m, object, word, text);
  if (s == VALUE) cradle_store_value(f.m, object, word, value_of(text));
  if (s != RAW) return;
  expected[i] = number % 2 ? value_of(text) : (uint64_t)(uintptr_t)text;
  if (number % 4 == 0) /* harmless, because the collector knows that this word is not a slot */
    cradle_store_value(f.m, object, word, expected[i]);
  else
    *word = expected[i];
}

/* Copies items within the array, raw words and all. */
static void copy_items(int kind, void *object, size_t length) {
  size_t words = words_of_item(kind), count = 1 + below(length < 40 ? length : 40);
  size_t from = below(length - count + 1) * words, to = below(length - count + 1) * words;
  uint64_t *all = words_of_array(kind, object);
  cradle_copy_slots(f.m, object, &all[to], &all[from], count * words);
  memmove(&expected[to], &expected[from], count * words * sizeof *expected);
}

static void collect_somehow(size_t which) CRADLE_MAY_COLLECT {
  if (which == 0)
    cradle_collect(f.m, CRADLE_COLLECT_FULL);
  else if (which == 1)
    cradle_collect(f.m, CRADLE_COLLECT_COMPACTING);
  else if (which < 12)
    cradle_collect(f.m, CRADLE_COLLECT_MINOR);
  else
    (void)cradle_collect_step(f.m, 0);
}

static void run_against_a_copy(int kind, size_t length) CRADLE_MAY_COLLECT {
  memset(expected, 0, sizeof expected);
  void *object = new_array(kind, length);
  CRADLE_ROOT(f.m, object);
  size_t words = length * words_of_item(kind);
  for (uint64_t step = 1; step < (f.stressed ? 300 : 3000); step++) {
    for (size_t stores = words == 0 ? 0 : below(4); stores > 0; stores--)
      store_word(kind, object, below(words), step * 8 + stores);
    if (words != 0 && below(5) == 0) copy_items(kind, object, length);
    if (below(10) == 0) collect_somehow(below(40));
    if (kind == HEADED && below(10) == 0) {
      string *text = new_string(step);
      cradle_store(f.m, object, &((headed *)object)->owner, text);
      cradle_store_value(f.m, object, &((headed *)object)->name, value_of(text));
    }
    if (step % 50 == 0) assert_heap_sound(f.heap);
    if (step % 200 == 0) assert_words(kind, object, length);
  }
  collect_somehow(1);
  assert_heap_sound(f.heap);
  assert_words(kind, object, length);
  if (kind == HEADED && ((headed *)object)->owner != NULL)
    assert_int_equal(value_of(((headed *)object)->owner), ((headed *)object)->name);
}

static void each_word_is_what_its_type_says(void **state) {
  (void)state;
  static const size_t lengths[] = {0, 1, 7, 100, LARGE};
  for (int kind = 0; kind < STRUCTURES; kind++)
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
      size_t length = lengths[i];
      if (length * words_of_item(kind) > NUMBERS) length = NUMBERS / words_of_item(kind);
      seed = (uint64_t)kind * 100 + i + 1;
      run_against_a_copy(kind, length);
    }
}

/* --- the write barrier --- */

static bool has_large_array_flags(const void *object) {
  return header_records_slots(*(const cradle_word *)object);
}

/* [heap.3], [heap.5]: stores into a large array record its slots, and no other words. */
static void slots_are_recorded_and_raw_words_are_not(void **state) {
  (void)state;
  if (f.stressed) {
    print_message("not under stress: its collections come between, and what was recorded is old by then\n");
    skip();
  }
  for (int kind = 0; kind < HEADED; kind++) {
    size_t length = 1000, words = words_of_item(kind), slots = 0;
    array *object = new_array(kind, length);
    CRADLE_ROOT(f.m, object);
    cradle_collect(f.m, CRADLE_COLLECT_MINOR);
    assert_true(has_large_array_flags(object));
    cradle_statistics before = fixture_stats(&f);
    string *text = new_string(1);
    for (size_t i = 500 * words; i < 502 * words; i++) {
      sort s = sort_of(kind, i);
      slots += s != RAW;
      cradle_store_value(f.m, object, &object->words[i], s == VALUE ? value_of(text) : (uint64_t)(uintptr_t)text);
    }
    uint64_t items[2 * sizeof(wide) / 8];
    for (size_t i = 0; i < 2 * words; i++)
      items[i] = sort_of(kind, i) == VALUE ? value_of(text) : (uint64_t)(uintptr_t)text;
    cradle_copy_slots(f.m, object, &object->words[700 * words], items, 2 * words);
    /* and from the middle of one item to the middle of another */
    cradle_copy_slots(f.m, object, &object->words[801 * words - 1], &items[words - 1], words);
    cradle_collect(f.m, CRADLE_COLLECT_MINOR);
    assert_int_equal(fixture_stats(&f).recorded_slots, before.recorded_slots + 2 * slots + slots / 2);
    assert_int_equal(fixture_stats(&f).remembered_objects, before.remembered_objects);
    for (size_t i = 500 * words; i < 502 * words; i++)
      if (sort_of(kind, i) != RAW)
        assert_int_equal(number_of(object->words[i] & ~(sort_of(kind, i) == VALUE ? tag : 0)), 1);
    assert_heap_sound(f.heap);
  }
}

/* Nor are slots recorded that get no reference, or one to an old object. */
static void a_slot_that_holds_nothing_young_is_not_recorded(void **state) {
  (void)state;
  if (f.stressed) {
    print_message("not under stress: marking would need the slots\n");
    skip();
  }
  for (int kind = 0; kind < HEADED; kind++) {
    size_t words = words_of_item(kind);
    array *object = new_array(kind, 1000);
    CRADLE_ROOT(f.m, object);
    string *text = new_string(1);
    CRADLE_ROOT(f.m, text);
    cradle_collect(f.m, CRADLE_COLLECT_MINOR);
    cradle_statistics before = fixture_stats(&f);
    uint64_t items[2 * sizeof(wide) / 8] = {0};
    for (size_t i = 0; i < words; i++)
      items[i] = sort_of(kind, i) == VALUE ? value_of(text) : (uint64_t)(uintptr_t)text;
    for (size_t i = 0; i < 2 * words; i++) cradle_store_value(f.m, object, &object->words[i], items[i]);
    cradle_copy_slots(f.m, object, &object->words[700 * words], items, 2 * words);
    cradle_collect(f.m, CRADLE_COLLECT_MINOR);
    assert_int_equal(fixture_stats(&f).recorded_slots, before.recorded_slots);
    assert_int_equal(fixture_stats(&f).remembered_objects, before.remembered_objects);
  }
}

/* When half of the slots were stored into, the array is remembered as a whole. */
static void an_array_with_many_stores_is_remembered(void **state) {
  (void)state;
  if (f.stressed) {
    print_message("not under stress: its collections come between\n");
    skip();
  }
  array *object = new_array(LAST, 1000);
  CRADLE_ROOT(f.m, object);
  cradle_collect(f.m, CRADLE_COLLECT_MINOR);
  cradle_statistics before = fixture_stats(&f);
  string *text = new_string(1);
  for (size_t i = 0; i < 1000; i++) cradle_store(f.m, object, &object->words[5 * i + 4], text);
  assert_heap_sound(f.heap);
  cradle_collect(f.m, CRADLE_COLLECT_MINOR);
  assert_int_equal(fixture_stats(&f).recorded_slots, before.recorded_slots + 500);
  assert_int_equal(fixture_stats(&f).remembered_objects, before.remembered_objects + 1);
  for (size_t i = 0; i < 1000; i++) assert_int_equal(number_of(object->words[5 * i + 4]), 1);
}

static void a_store_without_the_barrier_is_found(void **state) {
  (void)state;
  array *object = new_array(MIXED, 1000);
  CRADLE_ROOT(f.m, object);
  cradle_collect(f.m, CRADLE_COLLECT_MINOR);
  string *text = new_string(1);
  cradle_push(f.m, text);
  cradle_error error;
  object->words[3 * 7 + 1] = (uint64_t)(uintptr_t)text; /* raw */
  assert_heap_sound(f.heap);
  object->words[3 * 7] = (uint64_t)(uintptr_t)text;
  assert_false(cradle_heap_verify(f.heap, &error));
  assert_non_null(strstr(error.message, "missing write barrier"));
  assert_non_null(strstr(error.message, "word 23 (word 0 of item 7) of type 6 (mixed)"));
  object->words[3 * 7] = 0;
  object->words[3 * 7 + 2] = value_of(text);
  assert_false(cradle_heap_verify(f.heap, &error));
  assert_non_null(strstr(error.message, "word 25 (word 2 of item 7) of type 6 (mixed)"));
  object->words[3 * 7 + 2] = 0;
  object->words[3 * 999] = (uint64_t)(uintptr_t)text;
  assert_false(cradle_heap_verify(f.heap, &error));
  assert_non_null(strstr(error.message, "(word 0 of item 999)"));
  cradle_write_barrier(f.m, object);
  assert_heap_sound(f.heap);
  (void)cradle_pop(f.m);
}

/* --- marking --- */

/* Arrays of several pieces are marked in the smallest increments, while the program stores into them and shortens
 * them. */
static void marking_goes_on_between_two_items(void **state) {
  (void)state;
  for (int kind = 0; kind < STRUCTURES; kind++) {
    size_t words = words_of_item(kind), length = 20000 / words;
    void *object = new_array(kind, length);
    CRADLE_ROOT(f.m, object);
    size_t at = 0;
    while (sort_of(kind, at) == RAW) at++;
    uint64_t bits = sort_of(kind, at) == VALUE ? tag : 0;
    for (size_t i = 0; i < length; i += f.stressed ? 50 : 1) {
      string *text = new_string(i + 1);
      cradle_store_value(f.m, object, &words_of_array(kind, object)[i * words + at], (uint64_t)(uintptr_t)text | bits);
    }
    cradle_collect(f.m, CRADLE_COLLECT_FULL);
    uint64_t steps = 0, majors = fixture_stats(&f).major_collections;
    while (fixture_stats(&f).major_collections == majors) {
      (void)cradle_collect_step(f.m, 0);
      size_t i = (steps * 997) % length;
      if (!f.stressed || i % 50 == 0) {
        uint64_t *word = &words_of_array(kind, object)[i * words + at];
        uint64_t held = *word;
        uint64_t *other = &words_of_array(kind, object)[(length - 1 - i) * words + at];
        cradle_store_value(f.m, object, word, *other); /* an old reference moves behind the marker, */
        cradle_store_value(f.m, object, other, held);  /* and another before it */
      }
      if (++steps % 16 == 0) assert_heap_sound(f.heap);
    }
    if (f.heap->options.gc_threads == 0) assert_true(steps > 3);
    assert_heap_sound(f.heap);
    size_t found = 0, sum = 0, expected_sum = 0, made = 0;
    for (size_t i = 0; i < length; i++) {
      uint64_t word = words_of_array(kind, object)[i * words + at];
      if (word != 0) found++, sum += number_of(word & ~bits);
    }
    for (size_t i = 0; i < length; i += f.stressed ? 50 : 1) made++, expected_sum += i + 1;
    if (!f.stressed) {
      assert_int_equal(found, made);
      assert_int_equal(sum, expected_sum);
    }
    /* Shortens the array while the rest of a piece waits on the mark stack. */
    (void)cradle_collect_step(f.m, 0);
    (void)cradle_collect_step(f.m, 0);
    *(uint64_t *)((char *)object + structure_types[kind].length_offset) = 3;
    cradle_collect(f.m, CRADLE_COLLECT_FULL);
    assert_heap_sound(f.heap);
  }
}

/* --- functions that inspect objects from outside --- */

typedef struct seen {
  const void *holder;
  size_t count;
  uint64_t index[4];
  cradle_kind kind[4];
} seen;

static bool see(void *data, const cradle_referrer *referrer) {
  seen *all = data;
  if (referrer->holder != CRADLE_HOLDER_OBJECT) return true;
  assert_ptr_equal(referrer->object.object, all->holder);
  if (all->count < 4) all->index[all->count] = referrer->index, all->kind[all->count] = referrer->kind;
  all->count++;
  return true;
}

static void referrers_name_the_word(void **state) {
  (void)state;
  for (int old = 0; old < 2; old++) {
    headed *object = (headed *)new_array(HEADED, 1000);
    CRADLE_ROOT(f.m, object);
    string *text = new_string(1);
    CRADLE_ROOT(f.m, text);
    cradle_store_value(f.m, object, &object->words[3 * 999 + 2], value_of(text));
    cradle_store(f.m, object, &object->words[3 * 5], text);
    object->words[3 * 5 + 1] = (uint64_t)(uintptr_t)text;
    cradle_store(f.m, object, &object->owner, text);
    if (old) cradle_collect(f.m, CRADLE_COLLECT_MINOR);
    object->words[3 * 5 + 1] = (uint64_t)(uintptr_t)text;
    seen all = {.holder = object};
    assert_int_equal(cradle_referrers(f.heap, text, see, &all), CRADLE_WALK_COMPLETE);
    assert_int_equal(all.count, 3);
    assert_int_equal(all.index[0], 1);
    assert_int_equal(all.index[1], 4 + 3 * 5);
    assert_int_equal(all.index[2], 4 + 3 * 999 + 2);
    assert_int_equal(all.kind[1], CRADLE_KIND_REFERENCE);
    assert_int_equal(all.kind[2], CRADLE_KIND_VALUE);
    cradle_address_info info;
    cradle_describe_address(f.heap, &object->words[3 * 5], &info, sizeof info);
    if (old) {
      assert_int_equal(info.kind, CRADLE_ADDRESS_INTERIOR);
      assert_int_equal(info.object.bytes, sizeof(headed) + 1000 * sizeof(mixed));
    }
  }
}

/* --- the order of death --- */

/* A dead object with a finalizer is kept, and so is everything that its array of structures leads to. */
static void finalizers_bring_back_what_items_hold(void **state) {
  (void)state;
  for (int kind = 0; kind < STRUCTURES; kind++) {
    cradle_type type = structure_types[kind];
    type.finalizer = 1;
    uint32_t id = cradle_type_add(f.heap, &type);
    size_t words = words_of_item(kind), at = 0;
    while (sort_of(kind, at) == RAW) at++;
    for (int old = 0; old < 2; old++) {
      void *object = cradle_new_array(f.m, id, 300);
      CRADLE_ROOT(f.m, object);
      string *text = new_string(42);
      uint64_t bits = sort_of(kind, at) == VALUE ? tag : 0;
      cradle_store_value(f.m, object, &words_of_array(kind, object)[299 * words + at],
                         (uint64_t)(uintptr_t)text | bits);
      if (old) cradle_collect(f.m, CRADLE_COLLECT_FULL);
      object = NULL;
      cradle_collect(f.m, CRADLE_COLLECT_FULL);
      assert_heap_sound(f.heap);
      object = cradle_finalizer_next(f.m, 1);
      assert_non_null(object);
      assert_int_equal(number_of(words_of_array(kind, object)[299 * words + at] & ~bits), 42);
    }
  }
}

/* Weak slots and ephemerons before the items; the items' slots keep their referents alive, the weak slot does not. */
static void weak_slots_before_the_items(void **state) {
  (void)state;
  cradle_type type = structure_types[HEADED];
  type.references = 0, type.values = 0;
  type.weak = CRADLE_SLOT(headed, owner);
  uint32_t id = cradle_type_add(f.heap, &type);
  headed *object = cradle_new_array(f.m, id, 200);
  CRADLE_ROOT(f.m, object);
  string *text = new_string(1);
  cradle_store(f.m, object, &object->owner, text);
  cradle_store_value(f.m, object, &object->words[3 * 199 + 2], value_of(text));
  cradle_collect(f.m, CRADLE_COLLECT_FULL);
  text = new_string(2);
  cradle_store(f.m, object, &object->words[3 * 100], text);
  cradle_collect(f.m, CRADLE_COLLECT_FULL);
  assert_int_equal(number_of(object->words[3 * 199 + 2] & ~tag), 1);
  assert_int_equal(number_of(object->words[3 * 100]), 2);
  assert_int_equal(number_of((uint64_t)(uintptr_t)cradle_weak_get(f.m, &object->owner)), 1);
  cradle_store_value(f.m, object, &object->words[3 * 199 + 2], 0);
  cradle_collect(f.m, CRADLE_COLLECT_FULL);
  assert_null(cradle_weak_get(f.m, &object->owner));
  assert_heap_sound(f.heap);
}

/* --- objects that do not move --- */

static void pinned_arrays(void **state) {
  (void)state;
  mixed *item;
  array *pinned = cradle_new_with(f.m, first_type + MIXED, cradle_array_layout_of(0, 0, 0), 400, CRADLE_PINNED);
  for (uint64_t round = 1; round < 20; round++) {
    string *text = new_string(round);
    item = (mixed *)&pinned->words[3 * 399];
    item->raw = (uint64_t)(uintptr_t)text;
    cradle_store(f.m, pinned, &item->reference, text);
    cradle_store_value(f.m, pinned, &item->value, value_of(text));
    collect_somehow(round % 20);
    assert_heap_sound(f.heap);
    assert_int_equal(number_of((uint64_t)(uintptr_t)item->reference), round);
    assert_int_equal(item->value, value_of(item->reference));
  }
  cradle_unpin(f.m, pinned);
}

#define EACH_ENCODING(test) \
  cmocka_unit_test_setup_teardown(test, open_plain, close_fixture), \
      cmocka_unit_test_setup_teardown(test, open_tagged, close_fixture), \
      cmocka_unit_test_setup_teardown(test, open_boxed, close_fixture)

int main(void) {
  const struct CMUnitTest tests[] = {
      EACH_ENCODING(each_word_is_what_its_type_says),
      EACH_ENCODING(slots_are_recorded_and_raw_words_are_not),
      EACH_ENCODING(a_slot_that_holds_nothing_young_is_not_recorded),
      EACH_ENCODING(an_array_with_many_stores_is_remembered),
      EACH_ENCODING(a_store_without_the_barrier_is_found),
      EACH_ENCODING(marking_goes_on_between_two_items),
      cmocka_unit_test_setup_teardown(referrers_name_the_word, open_tagged, close_fixture),
      EACH_ENCODING(finalizers_bring_back_what_items_hold),
      EACH_ENCODING(weak_slots_before_the_items),
      EACH_ENCODING(pinned_arrays),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
