/* Tests the order of survivors that slots without an order of their own lead to: items that are structures, and what a
 * trace callback reports. They lie in the order of allocation. Slots that have an order keep it. */
#include "tests/support/heap_fixture.h"

/* Added to the fixture's types. Values with bit 0 set are no references, but for those with tag 5. */
enum { T_LEAF = T_COUNT, T_ENTRIES, T_MIXED, T_OWNER, T_FULL, T_ALL };
enum { TAG = 5, TAG_MASK = 7 };
/* So many slots are sorted at a time where they are not in a young object (gc/young/promote.c). */
enum { BATCH = 64 };

typedef struct leaf {
  uint64_t header;
  struct leaf *inner;
  uint64_t number;
} leaf;
typedef struct entry {
  cradle_value key, value;
} entry;
typedef struct entries {
  uint64_t header, length;
  entry item[];
} entries;
typedef struct mixed_item {
  void *reference;
  uint64_t raw;
  cradle_value value;
} mixed_item;
typedef struct mixed {
  uint64_t header;
  leaf *fixed;
  uint64_t length;
  mixed_item item[];
} mixed;
/* Its slots lie outside of the heap. */
typedef struct owner {
  uint64_t header;
  cradle_value *slot;
  uint64_t count;
} owner;
/* Every word but the header is a slot. */
enum { FULL = 3 };
typedef struct full {
  uint64_t header;
  leaf *reference[FULL];
  cradle_value value[FULL];
} full;

static int times_reported;

static void trace_owner(void *user, void *object, cradle_visitor *visitor) {
  (void)user;
  const owner *o = object;
  for (int time = 0; time < times_reported; time++)
    for (uint64_t i = 0; i < o->count; i++) cradle_visit(visitor, &o->slot[i], CRADLE_KIND_VALUE);
}

static const cradle_type *all_types(void) {
  static cradle_type types[T_ALL];
  memcpy(types, fixture_types, sizeof fixture_types);
  types[T_LEAF] = (cradle_type){.name = "leaf", .size = sizeof(leaf), .references = CRADLE_SLOT(leaf, inner)};
  types[T_ENTRIES] = (cradle_type){.name = "entries",
                                   .size = sizeof(entries),
                                   .items = CRADLE_ITEMS_STRUCTURES,
                                   .item_size = sizeof(entry),
                                   .length_offset = offsetof(entries, length),
                                   .item_values = CRADLE_SLOT(entry, key) | CRADLE_SLOT(entry, value)};
  types[T_MIXED] = (cradle_type){.name = "mixed",
                                 .size = sizeof(mixed),
                                 .references = CRADLE_SLOT(mixed, fixed),
                                 .items = CRADLE_ITEMS_STRUCTURES,
                                 .item_size = sizeof(mixed_item),
                                 .length_offset = offsetof(mixed, length),
                                 .item_references = CRADLE_SLOT(mixed_item, reference),
                                 .item_values = CRADLE_SLOT(mixed_item, value)};
  types[T_OWNER] = (cradle_type){.name = "owner", .size = sizeof(owner), .trace = trace_owner};
  types[T_FULL] = (cradle_type){.name = "full",
                                .size = sizeof(full),
                                .references = ((1u << FULL) - 1) << 1,
                                .values = ((1u << FULL) - 1) << (1 + FULL)};
  return types;
}

static void open_heap(fixture *f, size_t nursery_bytes, bool stress) {
  cradle_options options;
  fixture_options(f, &options);
  if (!stress) fixture_unstress(&options);
  options.types = all_types();
  options.type_count = T_ALL;
  options.nursery_bytes = nursery_bytes;
  options.encoding = cradle_encoding_of(0, 0, 1 << 0 | 1 << TAG);
  fixture_open_with(f, &options);
  times_reported = 1;
}

/* --- following --- */

/* `neighbours` lie right behind the object visited before them; `objects` are all. */
typedef struct followed {
  const char *last;
  size_t last_bytes, neighbours, objects;
} followed;

static void follow(followed *w, const void *object, size_t bytes) {
  if (w->last != NULL && (const char *)object == w->last + w->last_bytes) w->neighbours++;
  w->objects++;
  w->last = object;
  w->last_bytes = bytes;
}

/* Except at the ends of spans. */
static void assert_in_order(const followed *w, const char *what) {
  if (w->neighbours + w->objects / 20 + 2 < w->objects)
    fail_msg("%s: only %zu of %zu objects lie behind the one before", what, w->neighbours, w->objects);
}

/* --- tables of each kind --- */

static leaf *new_leaf(cradle_mutator *m, uint64_t number) CRADLE_MAY_COLLECT {
  leaf *inner = CRADLE_NEW(m, leaf, T_LEAF);
  inner->number = ~number;
  CRADLE_ROOT(m, inner);
  leaf *made = CRADLE_NEW(m, leaf, T_LEAF);
  made->inner = inner;
  made->number = number;
  return made;
}

static void *new_table(cradle_mutator *m, uint32_t type, uint64_t count) CRADLE_MAY_COLLECT {
  if (type == T_ENTRIES) return CRADLE_NEW_ARRAY(m, entries, T_ENTRIES, item, length, (count + 1) / 2);
  if (type == T_MIXED) return CRADLE_NEW_ARRAY(m, mixed, T_MIXED, item, length, (count + 1) / 2);
  owner *made = CRADLE_NEW(m, owner, T_OWNER);
  made->slot = calloc(count, sizeof *made->slot);
  assert_non_null(made->slot);
  made->count = count;
  return made;
}

static cradle_value *slot_of(void *table, uint32_t type, uint64_t i) {
  if (type == T_OWNER) return &((owner *)table)->slot[i];
  if (type == T_ENTRIES)
    return i % 2 == 0 ? &((entries *)table)->item[i / 2].key : &((entries *)table)->item[i / 2].value;
  mixed_item *item = &((mixed *)table)->item[i / 2];
  return i % 2 == 0 ? (cradle_value *)&item->reference : &item->value;
}

/* Some values have the tag. References have none. */
static uint64_t tag_of(uint32_t type, uint64_t slot) {
  return (type != T_MIXED || slot % 2 == 1) && slot % 3 == 1 ? TAG : 0;
}

static void store(cradle_mutator *m, void *table, uint32_t type, uint64_t slot, const leaf *made) {
  cradle_value value = (uintptr_t)made | tag_of(type, slot);
  if (type != T_OWNER) {
    cradle_store_value(m, table, slot_of(table, type, slot), value);
    return;
  }
  *slot_of(table, type, slot) = value;
  cradle_write_barrier(m, table);
}

static leaf *load(void *table, uint32_t type, uint64_t slot) {
  cradle_value value = *slot_of(table, type, slot);
  assert_int_equal(value & TAG_MASK, tag_of(type, slot));
  return (leaf *)(uintptr_t)(value & ~(uint64_t)TAG_MASK);
}

enum { MOST = 700 };

static void shuffle(uint64_t places[MOST], uint64_t count) {
  uint64_t random = count;
  for (uint64_t i = 0; i < count; i++) places[i] = i;
  for (uint64_t i = count; i > 1; i--) {
    random = random * UINT64_C(6364136223846793005) + 1442695040888963407;
    uint64_t other = (random >> 33) % i, place = places[i - 1];
    places[i - 1] = places[other];
    places[other] = place;
  }
}

static followed look(void *table, uint32_t type, const uint64_t places[MOST], uint64_t count) {
  followed w = {0};
  for (uint64_t i = 0; i < count; i++) {
    const leaf *made = load(table, type, places[i]);
    assert_int_equal(cradle_type_of(made), T_LEAF);
    assert_true(made->number == i && made->inner->number == ~i);
    follow(&w, made, sizeof *made);
    follow(&w, made->inner, sizeof *made);
  }
  return w;
}

/* A table that is old or young when its slots are filled, in any order. */
static void fill_and_look(uint32_t type, uint64_t count, bool old, size_t nursery_bytes, bool stress) {
  fixture f;
  uint64_t places[MOST];
  open_heap(&f, nursery_bytes, stress);
  void *table = new_table(f.m, type, count);
  {
    CRADLE_ROOT(f.m, table);
    shuffle(places, count);
    if (old) cradle_collect(f.m, CRADLE_COLLECT_MINOR);
    for (uint64_t i = 0; i < count; i++) {
      leaf *made = new_leaf(f.m, i);
      store(f.m, table, type, places[i], made);
    }
    bool at_once = !f.stressed && fixture_stats(&f).minor_collections == (old ? 1 : 0);
    cradle_collect(f.m, CRADLE_COLLECT_MINOR);
    assert_heap_sound(f.heap);
    followed w = look(table, type, places, count);
    if (at_once && (count <= BATCH || (!old && type != T_OWNER))) assert_in_order(&w, all_types()[type].name);
    cradle_collect(f.m, CRADLE_COLLECT_MAJOR);
    cradle_collect(f.m, CRADLE_COLLECT_COMPACTING);
    assert_heap_sound(f.heap);
    (void)look(table, type, places, count);
    if (type == T_OWNER) {
      free(((owner *)table)->slot);
      ((owner *)table)->count = 0;
    }
  }
  fixture_close(&f);
}

static const uint64_t counts[] = {1, 2, 3, 5, 8, BATCH - 1, BATCH, BATCH + 1, 2 * BATCH, MOST};

static void survivors_lie_in_the_order_of_allocation(void **state) {
  (void)state;
  for (uint32_t type = T_ENTRIES; type <= T_OWNER; type++)
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
      for (int old = 0; old < 2; old++) fill_and_look(type, counts[i], old, (size_t)1 << 20, false);
}

/* With nurseries that are full before the table is, and under stress where the suite asks for it. */
static void no_slot_is_lost_in_any_nursery(void **state) {
  (void)state;
  for (uint32_t type = T_ENTRIES; type <= T_OWNER; type++)
    for (size_t bytes = (size_t)32 << 10; bytes <= (size_t)256 << 10; bytes *= 2)
      for (int old = 0; old < 2; old++) fill_and_look(type, 2 * BATCH + 1, old, bytes, true);
}

/* --- one slot twice, one object in many slots [promote.5] --- */

static void a_slot_may_be_reported_twice(void **state) {
  (void)state;
  enum { SLOTS = 40, LEAVES = 7 };
  fixture f;
  open_heap(&f, (size_t)1 << 20, true);
  times_reported = 2;
  owner *table = new_table(f.m, T_OWNER, SLOTS);
  {
    CRADLE_ROOT(f.m, table);
    for (int old = 0; old < 2; old++) {
      for (uint64_t i = 0; i < LEAVES; i++) {
        leaf *made = new_leaf(f.m, i);
        for (uint64_t slot = i; slot < SLOTS; slot += LEAVES) store(f.m, table, T_OWNER, slot, made);
      }
      cradle_collect(f.m, CRADLE_COLLECT_MINOR);
      assert_heap_sound(f.heap);
      for (uint64_t slot = 0; slot < SLOTS; slot++) {
        const leaf *made = load(table, T_OWNER, slot);
        assert_ptr_equal(made, load(table, T_OWNER, slot % LEAVES));
        assert_int_equal(made->number, slot % LEAVES);
      }
    }
    free(table->slot);
    table->count = 0;
  }
  fixture_close(&f);
}

/* --- tables within tables --- */

enum { SLOTS = 8, LEFT = 11, RIGHT = 2 };

/* A tree of pairs, each of which leads to a table in which the entry of the right child comes first. */
static pair *new_tree(cradle_mutator *m, int depth) CRADLE_MAY_COLLECT {
  pair *made = CRADLE_NEW(m, pair, T_PAIR);
  CRADLE_ROOT(m, made);
  entries *table = CRADLE_NEW_ARRAY(m, entries, T_ENTRIES, item, length, SLOTS);
  cradle_store(m, made, &made->rest, table);
  for (int child = 0; child < 2 && depth > 0; child++) {
    pair *below = new_tree(m, depth - 1);
    cradle_store_value(m, made->rest, slot_of(made->rest, T_ENTRIES, child == 0 ? LEFT : RIGHT), (uintptr_t)below);
  }
  return made;
}

static int follow_tree(followed *w, followed *tables, const pair *at) {
  follow(w, at, sizeof *at);
  follow(tables, at->rest, sizeof(entries) + SLOTS * sizeof(entry));
  const pair *left = (const pair *)(uintptr_t)*slot_of(at->rest, T_ENTRIES, LEFT);
  if (left == NULL) return 0;
  int depth = follow_tree(w, tables, left);
  assert_int_equal(follow_tree(w, tables, (const pair *)(uintptr_t)*slot_of(at->rest, T_ENTRIES, RIGHT)), depth);
  return depth + 1;
}

static void tables_lie_in_the_order_of_a_walk_at_any_depth(void **state) {
  (void)state;
  enum { DEPTH = 11 };
  fixture f;
  open_heap(&f, (size_t)4 << 20, false);
  pair *top = new_tree(f.m, DEPTH);
  {
    CRADLE_ROOT(f.m, top);
    cradle_collect(f.m, CRADLE_COLLECT_MINOR);
    followed w = {0}, tables = {0};
    assert_int_equal(follow_tree(&w, &tables, top), DEPTH);
    assert_int_equal(w.objects, (2 << DEPTH) - 1);
    assert_in_order(&w, "pairs");
    /* A span of this class has room for some twenty. */
    assert_true(tables.neighbours > tables.objects - tables.objects / 8);
  }
  fixture_close(&f);
}

/* [promote.3]: a promotion that called itself for a table within a table would overflow the C stack. */
static void tables_within_tables_survive(void **state) {
  (void)state;
  enum { TABLES = 100000 };
  fixture f;
  open_heap(&f, (size_t)16 << 20, false);
  entries *top = NULL;
  {
    CRADLE_ROOT(f.m, top);
    for (uint64_t i = 0; i < TABLES; i++) {
      leaf *made = new_leaf(f.m, i);
      CRADLE_ROOT(f.m, made);
      entries *table = CRADLE_NEW_ARRAY(f.m, entries, T_ENTRIES, item, length, 2);
      table->item[0].value = (uintptr_t)made;
      table->item[1].key = (uintptr_t)made;
      table->item[i % 2].key = (uintptr_t)top | (top == NULL ? 0 : TAG);
      if (i % 2 == 1) table->item[0].key = (uintptr_t)made;
      top = table;
    }
    cradle_collect(f.m, CRADLE_COLLECT_MINOR);
    assert_heap_sound(f.heap);
    const entries *at = top;
    for (uint64_t i = TABLES; i-- > 0; at = (const entries *)(uintptr_t)(at->item[i % 2].key & ~(uint64_t)TAG_MASK)) {
      assert_int_equal(cradle_type_of(at), T_ENTRIES);
      assert_int_equal(((const leaf *)(uintptr_t)at->item[0].value)->number, i);
      assert_true(at->item[1 - i % 2].key == at->item[0].value);
    }
    assert_null(at);
  }
  fixture_close(&f);
}

/* --- slots that have an order --- */

/* Allocated from the last slot to the first. */
static void fixed_slots_and_references_keep_their_order(void **state) {
  (void)state;
  enum { OBJECTS = 50 };
  fixture f;
  open_heap(&f, (size_t)1 << 20, false);
  vector *all = CRADLE_NEW_ARRAY(f.m, vector, T_VECTOR, item, length, OBJECTS);
  {
    CRADLE_ROOT(f.m, all);
    for (int i = OBJECTS - 1; i >= 0; i--) {
      full *made = CRADLE_NEW(f.m, full, T_FULL);
      CRADLE_ROOT(f.m, made);
      for (int slot = 2 * FULL - 1; slot >= 0; slot--) {
        leaf *one = new_leaf(f.m, (uint64_t)slot);
        if (slot < FULL)
          cradle_store(f.m, made, &made->reference[slot], one);
        else
          cradle_store_value(f.m, made, &made->value[slot - FULL], (uintptr_t)one | TAG);
      }
      cradle_store(f.m, all, &all->item[i], made);
    }
    cradle_collect(f.m, CRADLE_COLLECT_MINOR);
    assert_heap_sound(f.heap);
    followed w = {0};
    for (int i = 0; i < OBJECTS; i++) {
      const full *made = all->item[i];
      for (int slot = 0; slot < 2 * FULL; slot++) {
        if (slot >= FULL) assert_int_equal(made->value[slot - FULL] & TAG_MASK, TAG);
        const leaf *one =
            slot < FULL ? made->reference[slot] : (const leaf *)(uintptr_t)(made->value[slot - FULL] - TAG);
        assert_int_equal(one->number, slot);
        follow(&w, one, sizeof *one);
        follow(&w, one->inner, sizeof *one);
      }
    }
    assert_in_order(&w, "leaves");
  }
  fixture_close(&f);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(survivors_lie_in_the_order_of_allocation),
      cmocka_unit_test(no_slot_is_lost_in_any_nursery),
      cmocka_unit_test(a_slot_may_be_reported_twice),
      cmocka_unit_test(tables_lie_in_the_order_of_a_walk_at_any_depth),
      cmocka_unit_test(tables_within_tables_survive),
      cmocka_unit_test(fixed_slots_and_references_keep_their_order),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
