/* Large tables of ephemerons and weak slots: a minor collection looks only at what was stored into them, and finds all
 * of it; so does marking. A random program's own list of keys says what must be in the tables. */
#include "tests/support/services.h"

/* SMALL_ITEMS make a large object, BORN_ITEMS one whose stores are recorded from its birth. */
enum { SMALL_ITEMS = 1500, BORN_ITEMS = 300000, ROUNDS = 150, STORES = 40, VALUE = 1000000000 };

static fixture f;
/* Item i of all three belongs to one key. What `held` has lives; what only the tables have dies. */
static vector *held;
static ephemerons *pairs;
static weaks *slots;

static size_t below(size_t n) {
  static uint64_t state = 1;
  state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  return (size_t)(state >> 33) % n;
}

static string *new_number(uint64_t number) CRADLE_MAY_COLLECT {
  string *text = cradle_new_array(f.m, T_STRING, sizeof number);
  memcpy(text->byte, &number, sizeof number);
  return text;
}

static uint64_t number_of(const void *text) {
  uint64_t number;
  assert_int_equal(cradle_type_of(text), T_STRING);
  memcpy(&number, ((const string *)text)->byte, sizeof number);
  return number;
}

static void open_tables(size_t items) CRADLE_MAY_COLLECT {
  services_open(&f);
  held = NULL, pairs = NULL, slots = NULL; /* a case that is skipped leaves them */
  cradle_global_root_add(f.heap, &held, CRADLE_KIND_REFERENCE);
  cradle_global_root_add(f.heap, &pairs, CRADLE_KIND_REFERENCE);
  cradle_global_root_add(f.heap, &slots, CRADLE_KIND_REFERENCE);
  held = cradle_new_array(f.m, T_VECTOR, items);
  pairs = cradle_new_array(f.m, T_EPHEMERONS, items);
  slots = cradle_new_array(f.m, T_WEAKS, items);
}

static void close_tables(void) {
  held = NULL, pairs = NULL, slots = NULL;
  fixture_close(&f);
}

/* Puts a key and its value into item i of the tables. */
static void put(size_t i, void *key, void *value, bool in_bulk) {
  void *pair[2] = {key, value};
  if (in_bulk) {
    cradle_copy_slots(f.m, pairs, &pairs->item[i], pair, 2);
    cradle_copy_slots(f.m, slots, &slots->item[i], pair, 1);
  } else {
    cradle_store(f.m, pairs, &pairs->item[i].key, key);
    cradle_store(f.m, pairs, &pairs->item[i].value, value);
    cradle_store(f.m, slots, &slots->item[i], key);
  }
}

/* Item i gets a new key that lives, one that dies, the key of another item with its value, a new value, or nothing. */
static void change(size_t i) CRADLE_MAY_COLLECT {
  static uint64_t last;
  size_t what = below(6), from = below(pairs->length);
  string *key = NULL;
  CRADLE_ROOT(f.m, key);
  string *value = NULL;
  CRADLE_ROOT(f.m, value);
  if (what <= 2) {
    key = new_number(++last);
    value = new_number(last + VALUE);
  } else if (what == 3 && held->item[from] != NULL) {
    key = held->item[from];
    value = pairs->item[from].value;
  } else if (what == 4 && held->item[i] != NULL) {
    value = new_number(number_of(held->item[i]) + VALUE);
    key = held->item[i];
  }
  void *lives = what == 2 ? NULL : key;
  cradle_store(f.m, held, &held->item[i], lives);
  put(i, key, value, below(3) == 0);
}

/* dead: nothing is left in the tables but what is held. */
static void check(bool dead) {
  for (size_t i = 0; i < pairs->length; i++) {
    void *key = pairs->item[i].key, *value = pairs->item[i].value;
    if (held->item[i] != NULL) {
      assert_ptr_equal(key, held->item[i]);
      assert_int_equal(number_of(value), number_of(key) + VALUE);
      assert_ptr_equal(cradle_weak_get(f.m, &slots->item[i]), key);
    } else if (dead) {
      assert_null(key);
      assert_null(value);
      assert_null(cradle_weak_get(f.m, &slots->item[i]));
    }
  }
}

static void collect_somehow(void) CRADLE_MAY_COLLECT {
  size_t what = below(40);
  if (what < 20) (void)cradle_collect_step(f.m, 0);
  if (what >= 20 && what < 38) cradle_collect(f.m, CRADLE_COLLECT_MINOR);
  if (what == 38) cradle_collect(f.m, CRADLE_COLLECT_FULL);
  if (what == 39) cradle_collect(f.m, CRADLE_COLLECT_COMPACTING);
}

static void run(size_t items, unsigned rounds) CRADLE_MAY_COLLECT {
  open_tables(items);
  if (f.stressed) rounds = rounds / 4 + 1; /* each makes some thirty collections then */
  for (unsigned round = 0; round < rounds; round++) {
    for (unsigned i = 0; i < STORES; i++) change(below(items));
    assert_heap_sound(f.heap);
    collect_somehow();
    if (round % 8 == 0) check(false);
  }
  /* Twice: what died while the first one marked is found by the second. */
  cradle_collect(f.m, CRADLE_COLLECT_FULL);
  cradle_collect(f.m, CRADLE_COLLECT_FULL);
  check(true);
  close_tables();
}

static void tables_that_have_become_old(void **state) {
  (void)state;
  for (int times = 0; times < 4; times++) run(SMALL_ITEMS, ROUNDS);
}

static void tables_that_are_recorded_from_birth(void **state) {
  (void)state;
  for (int times = 0; times < 2; times++) run(BORN_ITEMS, 20);
}

/* [stored.1] A young key that dies is cleared, and one that lives keeps its value, without a look at the rest of the
 * table. */
static void only_the_item_is_looked_at(void **state) {
  (void)state;
  open_tables(BORN_ITEMS);
  fixture_skip_stressed(&f, "it counts what each collection looks at");
  {
    for (int times = 0; times < 3; times++) {
      cradle_statistics before = fixture_stats(&f);
      string *key = new_number(7);
      CRADLE_ROOT(f.m, key);
      string *value = new_number(7 + VALUE);
      CRADLE_ROOT(f.m, value);
      put(12345, key, value, times == 1);
      cradle_store(f.m, held, &held->item[12345], key);
      key = new_number(8);
      value = new_number(8 + VALUE);
      put(54321, key, value, times == 1);
      key = value = NULL;
      cradle_collect(f.m, CRADLE_COLLECT_MINOR);
      check(true);
      /* Neither table was remembered as a whole, whether it is young or old. */
      assert_int_equal(fixture_stats(&f).remembered_objects, before.remembered_objects);
    }
  }
  close_tables();
}

/* The budget of a table: one more store than half of its words have, and all of it is looked at. */
static void too_many_items(void **state) {
  (void)state;
  open_tables(SMALL_ITEMS);
  fixture_skip_stressed(&f, "it counts what each collection looks at");
  {
    cradle_collect(f.m, CRADLE_COLLECT_MINOR);
    cradle_statistics before = fixture_stats(&f);
    string *key = new_number(1);
    CRADLE_ROOT(f.m, key);
    string *value = new_number(1 + VALUE);
    CRADLE_ROOT(f.m, value);
    for (size_t i = 0; i < SMALL_ITEMS; i++) {
      put(i, key, value, false);
      cradle_store(f.m, held, &held->item[i], key);
    }
    assert_heap_sound(f.heap);
    key = value = NULL;
    cradle_collect(f.m, CRADLE_COLLECT_MINOR);
    assert_int_equal(fixture_stats(&f).remembered_objects, before.remembered_objects + 2); /* held and slots */
    check(true);
  }
  close_tables();
}

/* A table whose weak slots hold NaN-boxed values also has a field of its own, which holds a plain reference. */
static void a_field_beside_the_items(void **state) {
  typedef struct table {
    uint64_t header, length;
    void *name;
    cradle_word item[];
  } table;
  (void)state;
  fixture g;
  cradle_options options;
  fixture_options(&g, &options);
  options.encoding = cradle_encoding_of(UINT64_C(0xfffc) << 48, UINT64_C(0xfffc) << 48, 1);
  fixture_open_with(&g, &options);
  {
    const cradle_type type = {.name = "table",
                              .size = sizeof(table),
                              .references = CRADLE_SLOT(table, name),
                              .items = CRADLE_ITEMS_WEAK,
                              .weak_values = true,
                              .item_size = 8,
                              .length_offset = offsetof(table, length)};
    uint32_t number = cradle_type_add(g.heap, &type);
    table *t = cradle_new_array(g.m, number, SMALL_ITEMS);
    CRADLE_ROOT(g.m, t);
    for (size_t i = 0; i < 20; i++) {
      cradle_collect(g.m, CRADLE_COLLECT_MINOR);
      pair *name = cradle_new(g.m, T_PAIR, sizeof(pair));
      cradle_store(g.m, t, &t->name, name);
      assert_heap_sound(g.heap);
      cradle_collect(g.m, CRADLE_COLLECT_MINOR);
      assert_int_equal(cradle_type_of(t->name), T_PAIR);
    }
  }
  fixture_close(&g);
}

/* A trace callback may visit slots anywhere, and a store into one is no store into an item. */
static void *outside[2];
static void trace_outside(void *user, void *object, cradle_visitor *visitor) {
  (void)user, (void)object;
  for (size_t i = 0; i < 2; i++) cradle_visit(visitor, &outside[i], CRADLE_KIND_REFERENCE);
}

static void a_slot_outside_of_the_table(void **state) {
  (void)state;
  fixture g;
  fixture_open(&g);
  {
    const cradle_type type = {.name = "table",
                              .size = sizeof(weaks),
                              .items = CRADLE_ITEMS_WEAK,
                              .item_size = 8,
                              .length_offset = offsetof(weaks, length),
                              .trace = trace_outside};
    uint32_t number = cradle_type_add(g.heap, &type);
    weaks *t = cradle_new_array(g.m, number, SMALL_ITEMS);
    CRADLE_ROOT(g.m, t);
    for (size_t i = 0; i < 20; i++) {
      cradle_collect(g.m, CRADLE_COLLECT_MINOR);
      void *fresh = cradle_new(g.m, T_PAIR, sizeof(pair));
      cradle_store(g.m, t, &outside[i % 2], fresh);
      cradle_collect(g.m, CRADLE_COLLECT_MINOR);
      assert_int_equal(cradle_type_of(outside[i % 2]), T_PAIR);
      assert_heap_sound(g.heap);
    }
  }
  fixture_close(&g);
  outside[0] = outside[1] = NULL;
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(tables_that_have_become_old), cmocka_unit_test(tables_that_are_recorded_from_birth),
      cmocka_unit_test(only_the_item_is_looked_at),  cmocka_unit_test(too_many_items),
      cmocka_unit_test(a_field_beside_the_items),    cmocka_unit_test(a_slot_outside_of_the_table),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
