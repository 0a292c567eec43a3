/* Marking in increments: what they mark and count, how far each goes, and what is found when the stack was full.
 * tests/old/test_mark_beside.c has the rounds of the second core. */
#include "tests/old/mark_fixture.h"
#include "tests/support/waiting.h"

/* --- increments --- */

static void all_that_lives_is_marked_and_counted(void **state) {
  (void)state;
  make_objects(T_TRACED);
  const array *were = begin_marking();
  assert_true(crd_mark_some(&heap->marking, everything));
  assert_marked(were);
  assert_int_equal(inside_major(heap)->objects, live);
  assert_int_equal(inside_major(heap)->bytes, live_bytes);
  assert_true(crd_mark_some(&heap->marking, everything));
  assert_int_equal(inside_major(heap)->objects, live);
  end_collection(DECOYS + 1);
}

static void all_that_lives_is_marked_with_a_short_stack(void **state) {
  (void)state;
  make_objects(T_TRACED);
  shorten_stack();
  const array *were = begin_marking();
  assert_true(crd_mark_some(&heap->marking, everything));
  assert_true(inside_major(heap)->objects > live); /* some were traced again */
  assert_marked(were);
  end_collection(DECOYS + 1);
}

/* An increment may exceed its bytes by what 128 objects have, or by one piece of an array. */
static void an_increment_ends_when_its_bytes_are_marked(void **state) {
  (void)state;
  uint64_t first = 0;
  make_objects(T_TRACED);
  for (int times = 0; times < 2; times++) {
    (void)begin_marking();
    assert_false(crd_mark_some(&heap->marking, (crd_budget){times == 0 ? 1 : first, UINT64_MAX, false}));
    if (times == 0) first = inside_major(heap)->bytes;
    assert_int_equal(inside_major(heap)->bytes, first); /* as many bytes are enough to be exactly as many */
    uint64_t increments = 1;
    for (uint64_t before = first; !crd_mark_some(&heap->marking, (crd_budget){10000, UINT64_MAX, false});
         increments++) {
      assert_in_range(inside_major(heap)->bytes - before, 10000, 10000 + 2 * 1024 * 24);
      before = inside_major(heap)->bytes;
    }
    assert_in_range(increments, live_bytes / (10000 + 2 * 1024 * 24), live_bytes / 10000 + 2);
    assert_int_equal(inside_major(heap)->objects, live);
    assert_int_equal(inside_major(heap)->bytes, live_bytes);
    end_collection(times == 0 ? DECOYS + 1 : 0);
  }
}

static void an_increment_ends_at_its_deadline(void **state) {
  (void)state;
  make_objects(T_TRACED);
  (void)begin_marking();
  uint64_t now = crd_platform_now_ns();
  assert_false(crd_mark_some(&heap->marking, (crd_budget){UINT64_MAX, now, false}));
  assert_in_range(inside_major(heap)->objects, 1, 160);
  assert_true(crd_mark_some(&heap->marking, (crd_budget){UINT64_MAX, now + (UINT64_C(3600) << 30), false}));
  assert_int_equal(inside_major(heap)->objects, live);
  end_collection(DECOYS + 1);
}

static void no_increment_is_long(void **state) {
  (void)state;
  for (int sort = 0; sort < LONG_SORTS; sort++) {
    live = live_bytes = 0;
    make_long(sort);
    (void)begin_marking();
    assert_false(crd_mark_some(&heap->marking, (crd_budget){1, UINT64_MAX, false}));
    assert_in_range(inside_major(heap)->objects, 1, 128 + 8); /* and those that were popped already */
    assert_in_range(inside_major(heap)->bytes, 1, (128 * 32 + 2 * 1024) * 8);
    assert_true(crd_mark_some(&heap->marking, everything));
    assert_int_equal(inside_major(heap)->objects, live);
    assert_int_equal(inside_major(heap)->bytes, live_bytes);
    end_collection(0);
  }
}

static void the_smallest_increments_are_a_few_objects(void **state) {
  (void)state;
  make_long(LONG_CHAIN);
  (void)begin_marking();
  for (uint64_t before = 0; !crd_mark_some(&heap->marking, (crd_budget){0, UINT64_MAX, false});
       before = inside_major(heap)->objects)
    assert_in_range(inside_major(heap)->objects - before, 1, 4 + 8);
  end_collection(0);
}

/* The program makes arrays shorter while their rests wait. What they referred to there is not marked. */
static void what_an_array_loses_is_not_marked(void **state) {
  (void)state;
  for (uint32_t type = T_ARRAY; type <= T_BOXES; type++) {
    live = live_bytes = 0;
    root = new_array(type, 2600);
    uint64_t words = types[type].item_size / 8, last = 2 * (type == T_VALUES || type == T_BOXES);
    for (int i = 1100; i < 2600; i++) root->item[i * words] = new_leaf() + last / 2;
    cradle_collect(m, CRADLE_COLLECT_FULL);
    (void)begin_marking();
    assert_false(crd_mark_some(&heap->marking, (crd_budget){0, UINT64_MAX, false}));
    uint64_t bytes = inside_major(heap)->bytes;
    root->length = 10;
    assert_true(crd_mark_some(&heap->marking, everything));
    assert_int_equal(inside_major(heap)->bytes, bytes);
    assert_int_equal(inside_major(heap)->objects, 1);
    end_collection(1500);
    root = NULL;
    cradle_collect(m, CRADLE_COLLECT_FULL);
  }
}

static void what_lies_around_an_array_is_none_of_it(void **state) {
  (void)state;
  for (uint32_t type = T_ARRAY; type <= T_BOXES; type++)
    for (int length = 0; length < 2; length++) {
      live = live_bytes = 0;
      make_neighbours(type, neighbour_lengths[type][length]);
      const array *were = begin_marking();
      assert_true(crd_mark_some(&heap->marking, everything));
      assert_marked(were);
      assert_int_equal(inside_major(heap)->bytes, live_bytes);
      cradle_collect(m, CRADLE_COLLECT_FULL);
    }
}

/* The first address behind the arenas is no object's, whatever lies there. */
static void what_lies_behind_the_arenas_is_not_marked(void **state) {
  (void)state;
  root = new_array(T_ARRAY, 2);
  grow_old();
  (void)begin_marking();
  root->item[0] = inside_old(heap)->arenas.base + inside_old(heap)->arenas.bytes;
  root->item[1] = inside_old(heap)->arenas.base - 8;
  assert_true(crd_mark_some(&heap->marking, everything));
  assert_int_equal(inside_major(heap)->objects, 1);
  root->item[0] = root->item[1] = 0;
  end_collection(DECOYS + 1);
}

static void an_address_is_marked_once(void **state) {
  (void)state;
  root = new_array(T_ARRAY, 1);
  object *one = new_object(T_ONE);
  root->item[0] = address_of(one);
  one->word[1] = new_leaf();
  grow_old();
  uintptr_t marked = root->item[0];
  (void)begin_marking();
  size_t grey = word_stack_count(inside_mark_stack(heap));
  for (int i = 0; i < 2; i++) {
    crd_mark_address(&heap->marking, marked);
    assert_true(old_is_marked(inside_old(heap), marked));
    assert_int_equal(word_stack_count(inside_mark_stack(heap)), grey + 1);
  }
  crd_mark_address(&heap->marking, 0);
  assert_int_equal(word_stack_count(inside_mark_stack(heap)), grey + 1);
  assert_true(crd_mark_some(&heap->marking, everything));
  assert_int_equal(inside_major(heap)->objects, live);
  end_collection(DECOYS + 1);
}

/* What is promoted while marking goes on is born marked, also in the places that were found before it began. */
static void what_becomes_old_meanwhile_is_marked(void **state) {
  (void)state;
  make_objects(T_TRACED);
  spare = new_array(T_ARRAY, 50);
  for (int i = 0; i < 25; i++) spare->item[i] = new_leaf();
  const array *were = begin_marking();
  for (int i = 25; i < 50; i++) cradle_store(m, spare, &spare->item[i], at(new_leaf()));
  cradle_collect(m, CRADLE_COLLECT_MINOR);
  for (int i = 25; i < 50; i++) assert_true(old_is_marked(inside_old(heap), spare->item[i]));
  assert_true(crd_mark_some(&heap->marking, everything));
  assert_marked(were);
  end_collection(DECOYS + 1);
}

/* Where the next old objects will be, others were that are dead. Nobody takes these for marked objects, though their
 * places are marked already. */
static void places_without_objects_are_not_looked_at(void **state) {
  (void)state;
  enum { OBJECTS = 300 };
  root = new_array(T_ARRAY, OBJECTS);
  for (int i = 0; i < OBJECTS; i++) {
    object *one = new_object(T_ONE);
    one->word[1] = new_leaf();
    root->item[i] = address_of(one);
  }
  cradle_collect(m, CRADLE_COLLECT_FULL);
  for (int i = 1; i < OBJECTS; i++) root->item[i] = 0;
  cradle_collect(m, CRADLE_COLLECT_FULL);
  (void)begin_marking();
  assert_true(crd_mark_some(&heap->marking, everything));
  assert_int_equal(inside_major(heap)->objects, 3);
  spare = new_array(T_ARRAY, 4);
  spare->item[0] = new_leaf();
  cradle_collect(m, CRADLE_COLLECT_MINOR);
  inside_major(heap)->overflowed = true; /* so all marked objects are traced once more */
  assert_true(crd_mark_some(&heap->marking, everything));
  assert_int_equal(inside_major(heap)->objects, 3 + 5);
  end_collection(0);
}

/* --- the stack --- */

static void the_stack_grows_with_the_depth(void **state) {
  (void)state;
  assert_true(word_stack_committed(inside_mark_stack(heap)) >= 8192 * 8); /* this much is always there */
  for (int begins_inline = 0; begins_inline < 2; begins_inline++) {
    make_deep(begins_inline);
    cradle_handle handle = cradle_handle_new(m, at(new_leaf()));
    (void)begin_marking();
    assert_true(crd_mark_some(&heap->marking, everything));
    assert_true(word_stack_committed(inside_mark_stack(heap)) > 32768 * 8);
    assert_false(inside_major(heap)->overflowed);
    assert_int_equal(inside_major(heap)->objects, live);
    assert_int_equal(inside_major(heap)->bytes, live_bytes);
    cradle_handle_free(m, handle);
    end_collection(0);
  }
}

/* A long array is traced when the stack has one free word, so that only a part of the array's rest has room. All of it
 * is traced. full: how many of 13 free words are taken before; then one more word is popped. */
static void check_long_array(uint64_t full) {
  enum { LONG = 1100, LEAVES = 506 };
  live = live_bytes = 0;
  root = new_array(T_ARRAY, 3);
  root->item[0] = address_of(new_array(T_ARRAY, full));
  root->item[1] = address_of(new_array(T_ARRAY, LONG));
  root->item[2] = address_of(new_array(T_ARRAY, LEAVES + 4));
  for (uint64_t i = 0; i < full; i++) ((array *)at(root->item[0]))->item[i] = new_leaf();
  ((array *)at(root->item[1]))->item[LONG - 1] = new_leaf();
  for (int i = 0; i < LEAVES + 4; i++) ((array *)at(root->item[2]))->item[i] = new_leaf();
  grow_old();
  shorten_stack();
  (void)begin_marking();
  const array *leaves = at(root->item[2]);
  crd_word_stack *stack = inside_mark_stack(heap);
  stack->top = stack->base;
  for (int i = 0; i < 3; i++) old_mark(inside_old(heap), root->item[i]);
  for (int i = 0; i < LEAVES + 4; i++) {
    old_mark(inside_old(heap), leaves->item[i]);
    if (i == LEAVES) {
      assert_true(word_stack_push(stack, root->item[1]));
      assert_true(word_stack_push(stack, root->item[0]));
    }
    assert_true(word_stack_push(stack, leaves->item[i]));
  }
  assert_false(word_stack_push(stack, 0));
  (void)crd_mark_some(&heap->marking, (crd_budget){0, 0, false});
  assert_int_equal(old_is_marked(inside_old(heap), ((array *)at(root->item[1]))->item[LONG - 1]), full > 12);
  assert_true(crd_mark_some(&heap->marking, everything));
  assert_true(old_is_marked(inside_old(heap), ((array *)at(root->item[1]))->item[LONG - 1]));
  end_collection(DECOYS + 1);
}

static void a_long_array_is_traced_without_room_for_its_rest(void **state) {
  (void)state;
  for (uint64_t full = 10; full <= 14; full++) check_long_array(full);
}

/* Of each level all bushes but the last fill the stack when a search traces them again, so that what the last one
 * refers to is lost: bushes of the level below, which the search has passed. So each level takes a search of its own.
 * Meanwhile the verifier must not report what lost objects refer to as a missing write barrier. */
static void a_search_that_loses_more_is_followed_by_another(void **state) {
  enum { LEVELS = 4 };
  (void)state;
  uint32_t width = inside_old(heap)->classes.of[old_class_of(inside_old(heap), sizeof(bush))].objects; /* a span's */
  assert_true(width >= BRANCHES);
  for (int level = 0; level < LEVELS; level++) {
    array *above = new_array(T_ARRAY, width);
    for (uint32_t i = 0; i < width; i++) {
      bush *made = count(cradle_new(m, T_BUSH, sizeof(bush)), sizeof(bush));
      above->item[i] = address_of(made);
      for (uint32_t k = 0; k < BRANCHES; k++)
        made->branch[k] = level > 0 && i == width - 1 ? root->item[width - 1 - k] : new_leaf();
    }
    root = above;
    cradle_collect(m, CRADLE_COLLECT_MINOR);
  }
  cradle_collect(m, CRADLE_COLLECT_MAJOR);
  crd_word_stack usual = *inside_mark_stack(heap);
  cradle_error error;
  assert_true(crd_word_stack_init(inside_mark_stack(heap), 4096, 4096, "test")); /* 512 entries */
  (void)begin_marking();
  for (uint32_t i = 0; i < width; i++) old_mark(inside_old(heap), root->item[i]); /* as if they had found no room */
  inside_major(heap)->overflowed = true;
  int searches = 0, looks = 0;
  for (uint32_t before = PAGE_NONE; !crd_mark_some(&heap->marking, (crd_budget){0, 0, false});) {
    searches += inside_major(heap)->rescan_page < before;
    before = inside_major(heap)->rescan_page;
    if (before == PAGE_NONE || !word_stack_is_empty(inside_mark_stack(heap))) continue;
    looks++;
    crd_word_stack small = *inside_mark_stack(heap);
    *inside_mark_stack(heap) = usual; /* the verifier shares the stack, and passes over what does not fit */
    if (!cradle_heap_verify(heap, &error)) fail_msg("%s", error.message);
    *inside_mark_stack(heap) = small;
  }
  assert_true(searches >= LEVELS && looks >= LEVELS);
  crd_word_stack_fini(&usual);
  end_collection(0);
}

/* --- roots that change unnoticed --- */

static void a_word_of_the_shadow_stack_that_changed_unnoticed_is_marked(void **state) {
  (void)state;
  make_objects(T_LEAF);
  object *one = new_object(T_ONE);
  one->word[1] = new_leaf();
  spare = new_array(T_ARRAY, 1);
  spare->item[0] = address_of(one);
  cradle_push(m, root);
  cradle_collect(m, CRADLE_COLLECT_MINOR);
  const array *only = spare;
  const object *hidden = at(only->item[0]);
  spare = NULL;
  const array *were = begin_marking();
  assert_true(m->shadow_watermark > m->shadow_base);
  m->shadow_base[0] = address_of(hidden);
  assert_true(crd_mark_some(&heap->marking, everything));
  assert_marked(were);
  assert_true(old_is_marked(inside_old(heap), address_of(hidden)));
  assert_true(old_is_marked(inside_old(heap), hidden->word[1]));
  assert_false(old_is_marked(inside_old(heap), address_of(only)));
  (void)cradle_pop(m);
  end_collection(DECOYS + 2);
}

/* --- the order of death --- */

enum { PAIRS = 300 };
/* Ephemerons of which each key is the value of the one before, and the first ones are looked at last. Each key also
 * leads to an ephemeron of its own, with the first key and a value that nothing else refers to. An object that nothing
 * refers to waits for its finalizer. */
static void make_pairs(void) {
  object *keys[PAIRS + 1];
  root = new_array(T_ARRAY, PAIRS + 1);
  for (int i = 0; i <= PAIRS; i++) {
    object *other = new_object(i % 2 ? T_WEAK : T_MIXED);
    other->word[0] = new_leaf();
    keys[i] = new_object(T_LAST);
    keys[i]->word[3] = address_of(other);
  }
  for (int i = PAIRS; i-- > 0;) {
    object *pair = new_object(T_EPHEMERON), *own = new_object(T_EPHEMERON);
    pair->word[1] = address_of(keys[i]);
    pair->word[2] = address_of(keys[i + 1]);
    own->word[1] = address_of(keys[0]);
    own->word[2] = address_of(new_chain(T_ONE, 1, NULL));
    ((object *)at(own->word[2]))->word[1] = new_leaf();
    keys[i]->word[4] = address_of(own);
    root->item[i] = address_of(pair);
  }
  root->item[PAIRS] = address_of(keys[0]);
  cradle_finalizer_register(m, new_chain(T_ONE, 1, NULL), 1);
  cradle_collect(m, CRADLE_COLLECT_FULL);
  assert_int_equal(finalizers_waiting(m, 1), 1);
}

static void assert_pairs(void) {
  const object *key = at(root->item[PAIRS]);
  for (int i = 0; i < PAIRS; i++) {
    const object *pair = at(root->item[i]), *own = at(key->word[4]);
    assert_ptr_equal(at(pair->word[1]), key);
    assert_int_equal(own->word[1], root->item[PAIRS]);
    assert_int_equal(cradle_type_of(at(((object *)at(own->word[2]))->word[1])), T_LEAF);
    assert_int_equal(cradle_type_of(at(key->word[3])), i % 2 ? T_WEAK : T_MIXED);
    key = at(pair->word[2]);
  }
}

/* All at once, in the smallest increments, and with a short stack. */
static void values_of_ephemerons_are_marked_and_traced(void **state) {
  (void)state;
  for (int way = 0; way < 3; way++) {
    live = live_bytes = 0;
    make_pairs();
    if (way == 2) shorten_stack();
    crd_major_start(&heap->marking, CRADLE_CAUSE_REQUEST);
    do crd_major_step(&heap->marking, way == 1 ? (crd_budget){0, 0, false} : everything);
    while (inside_major(heap)->phase != MAJOR_IDLE);
    assert_int_equal(inside_major(heap)->swept.freed_objects, 0);
    if (way != 2) assert_int_equal(inside_major(heap)->objects, live);
    assert_pairs();
    assert_non_null(cradle_finalizer_next(m, 1));
    root = NULL;
    cradle_collect(m, CRADLE_COLLECT_FULL);
    assert_int_equal(inside_major(heap)->swept.freed_objects, live);
  }
}

/* What rounds put aside is shown to the order of death, too. */
static void ephemerons_that_were_put_aside_are_looked_at(void **state) {
  (void)state;
  make_pairs();
  make_aside();
  crd_major_start(&heap->marking, CRADLE_CAUSE_REQUEST);
  while (inside_major(heap)->phase == MAJOR_MARKING) {
    (void)run_round(ROUND_TAKEN);
    crd_major_step(&heap->marking, (crd_budget){0, 0, false});
  }
  while (inside_major(heap)->phase != MAJOR_IDLE) crd_major_step(&heap->marking, everything);
  assert_int_equal(inside_major(heap)->swept.freed_objects, 0);
  assert_pairs();
}

/* The order of death marks so many values at once that the stack grows. */
static void many_values_at_once_make_the_stack_grow(void **state) {
  (void)state;
  enum { VALUES = 12000 };
  root = new_array(T_ARRAY, 2);
  pairs *table = count(cradle_new_array(m, T_TABLE, VALUES), sizeof(array) + 16 * VALUES);
  root->item[0] = address_of(table);
  root->item[1] = address_of(new_chain(T_ONE, 1, NULL));
  cradle_collect(m, CRADLE_COLLECT_MINOR);
  table = at(root->item[0]);
  for (int i = 0; i < VALUES; i++) {
    object *value = new_object(T_ONE);
    value->word[1] = new_leaf();
    cradle_store(m, table, &table->item[i].value, value);
    cradle_store(m, table, &table->item[i].key, at(root->item[1]));
  }
  cradle_collect(m, CRADLE_COLLECT_FULL);
  crd_word_stack_fini(inside_mark_stack(heap));
  assert_true(crd_word_stack_init(inside_mark_stack(heap), (size_t)1 << 20, 4096, "test"));
  crd_major_start(&heap->marking, CRADLE_CAUSE_REQUEST);
  while (inside_major(heap)->phase != MAJOR_IDLE) crd_major_step(&heap->marking, everything);
  assert_true(word_stack_committed(inside_mark_stack(heap)) > 8192 * 8);
  assert_int_equal(inside_major(heap)->objects, live);
  assert_int_equal(inside_major(heap)->swept.freed_objects, 0);
}

/* --- tables --- */

/* Handles and pinned objects, of which the last one alone refers to what else would die. The others refer to what is
 * marked already. */
static void tables_are_marked_to_the_end(void **state) {
  (void)state;
  enum { ENTRIES = 600 };
  static cradle_handle handles[ENTRIES];
  make_objects(T_TRACED);
  uintptr_t only[2];
  spare = new_array(T_ARRAY, ENTRIES + 2);
  for (int i = 0; i < ENTRIES + 2; i++) {
    object *one = new_object(T_ONE);
    one->word[1] = new_leaf();
    spare->item[i] = address_of(one);
  }
  cradle_collect(m, CRADLE_COLLECT_MINOR);
  array *many = spare;
  for (int i = 0; i < 2; i++) only[i] = many->item[ENTRIES + i];
  for (int i = 0; i < ENTRIES; i++) {
    bool last = i == ENTRIES - 1;
    uint64_t usual = many->item[0], pinned = last ? only[1] : many->item[i];
    handles[i] = cradle_handle_new(m, at(last ? only[0] : usual));
    assert_ptr_equal(cradle_pin(m, at(pinned)), at(pinned));
  }
  for (int i = 0; i < 2; i++) cradle_store(m, many, &many->item[ENTRIES + i], NULL);
  uintptr_t unpinned = dead->item[7]; /* its place in the table is not used */
  assert_ptr_equal(cradle_pin(m, at(unpinned)), at(unpinned));
  cradle_unpin(m, at(unpinned));
  const array *were = begin_marking();
  int seen = 0;
  while (!crd_mark_some(&heap->marking, (crd_budget){0, UINT64_MAX, false})) {
    /* a piece of a table at a time */
    seen |= (heap->tables.handles.marked_at == 256) | (heap->tables.pins.marked_at == 256) << 1;
    assert_true(heap->tables.handles.marked_at % 256 == 0 ||
                heap->tables.handles.marked_at == heap->tables.handles.used);
    assert_true(heap->tables.pins.marked_at == 0 || heap->tables.handles.marked_at == heap->tables.handles.used);
  }
  assert_int_equal(seen, 3);
  assert_marked(were);
  for (int i = 0; i < 2; i++) {
    assert_true(old_is_marked(inside_old(heap), only[i]));
    assert_true(old_is_marked(inside_old(heap), object_at(only[i])[2]));
  }
  assert_false(old_is_marked(inside_old(heap), unpinned));
  end_collection(DECOYS + 1);
  for (int i = 0; i < 2; i++) assert_int_equal(cradle_type_of(object_at(only[i])), T_ONE);
  for (int i = 0; i < ENTRIES; i++) {
    cradle_handle_free(m, handles[i]);
    cradle_unpin(m, at(i == ENTRIES - 1 ? only[1] : many->item[i]));
  }
}

static void short_tables_are_marked(void **state) {
  (void)state;
  root = new_array(T_ARRAY, 1);
  spare = new_array(T_ARRAY, 2);
  for (int i = 0; i < 2; i++) spare->item[i] = new_leaf();
  grow_old();
  uintptr_t handled = spare->item[0], pinned = spare->item[1];
  cradle_handle handle = cradle_handle_new(m, at(handled));
  assert_ptr_equal(cradle_pin(m, at(pinned)), at(pinned));
  spare = NULL;
  live--;
  (void)begin_marking();
  assert_true(crd_mark_some(&heap->marking, everything));
  assert_int_equal(inside_major(heap)->objects, live);
  assert_true(old_is_marked(inside_old(heap), handled) && old_is_marked(inside_old(heap), pinned));
  end_collection(DECOYS + 2);
  cradle_handle_free(m, handle);
  cradle_unpin(m, at(pinned));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(all_that_lives_is_marked_and_counted),
      TEST(all_that_lives_is_marked_with_a_short_stack),
      TEST(an_increment_ends_when_its_bytes_are_marked),
      TEST(an_increment_ends_at_its_deadline),
      TEST(no_increment_is_long),
      TEST(the_smallest_increments_are_a_few_objects),
      TEST(what_an_array_loses_is_not_marked),
      TEST(what_lies_around_an_array_is_none_of_it),
      TEST(what_lies_behind_the_arenas_is_not_marked),
      TEST(an_address_is_marked_once),
      TEST(what_becomes_old_meanwhile_is_marked),
      TEST(places_without_objects_are_not_looked_at),
      TEST(the_stack_grows_with_the_depth),
      TEST(a_long_array_is_traced_without_room_for_its_rest),
      TEST(a_search_that_loses_more_is_followed_by_another),
      TEST(a_word_of_the_shadow_stack_that_changed_unnoticed_is_marked),
      TEST(values_of_ephemerons_are_marked_and_traced),
      TEST(ephemerons_that_were_put_aside_are_looked_at),
      TEST(many_values_at_once_make_the_stack_grow),
      TEST(tables_are_marked_to_the_end),
      TEST(short_tables_are_marked),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
