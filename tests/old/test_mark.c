/* Marking by itself, in increments and in rounds of the second core: what they mark, count, put aside and leave for
 * later. The rounds run on the test's own thread. */
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

/* Handles, pinned and prebuilt objects, of which the last one alone refers to what else would die. The others refer to
 * what is marked already. */
static void tables_are_marked_to_the_end(void **state) {
  (void)state;
  enum { ENTRIES = 600 };
  static cradle_handle handles[ENTRIES];
  static object prebuilt[ENTRIES];
  make_objects(T_TRACED);
  uintptr_t only[3];
  spare = new_array(T_ARRAY, ENTRIES + 3);
  for (int i = 0; i < ENTRIES + 3; i++) {
    object *one = new_object(T_ONE);
    one->word[1] = new_leaf();
    spare->item[i] = address_of(one);
  }
  cradle_collect(m, CRADLE_COLLECT_MINOR);
  array *many = spare;
  for (int i = 0; i < 3; i++) only[i] = many->item[ENTRIES + i];
  for (int i = 0; i < ENTRIES; i++) {
    bool last = i == ENTRIES - 1;
    uint64_t usual = many->item[0], pinned = last ? only[1] : many->item[i];
    handles[i] = cradle_handle_new(m, at(last ? only[0] : usual));
    assert_ptr_equal(cradle_pin(m, at(pinned)), at(pinned));
    prebuilt[i] = (object){.header = T_ONE};
    cradle_prebuilt_add(heap, &prebuilt[i]);
    cradle_store(m, &prebuilt[i], &prebuilt[i].word[1], at(last ? only[2] : usual));
  }
  for (int i = 0; i < 3; i++) cradle_store(m, many, &many->item[ENTRIES + i], NULL);
  uintptr_t unpinned = dead->item[7]; /* its place in the table is not used */
  assert_ptr_equal(cradle_pin(m, at(unpinned)), at(unpinned));
  cradle_unpin(m, at(unpinned));
  const array *were = begin_marking();
  int seen = 0;
  while (!crd_mark_some(&heap->marking, (crd_budget){0, UINT64_MAX, false})) {
    /* a piece of a table at a time */
    seen |= (heap->tables.handles.marked_at == 256) | (heap->tables.pins.marked_at == 256) << 1 |
            (heap->tables.prebuilts.marked_at == 512) << 2;
    assert_true(heap->tables.handles.marked_at % 256 == 0 ||
                heap->tables.handles.marked_at == heap->tables.handles.used);
    assert_true(heap->tables.pins.marked_at == 0 || heap->tables.handles.marked_at == heap->tables.handles.used);
    assert_true(heap->tables.prebuilts.marked_at == 0 || heap->tables.pins.marked_at == heap->tables.pins.count);
  }
  assert_int_equal(seen, 7);
  assert_marked(were);
  for (int i = 0; i < 3; i++) {
    assert_true(old_is_marked(inside_old(heap), only[i]));
    assert_true(old_is_marked(inside_old(heap), object_at(only[i])[2]));
  }
  assert_false(old_is_marked(inside_old(heap), unpinned));
  end_collection(DECOYS + 1);
  for (int i = 0; i < 3; i++) assert_int_equal(cradle_type_of(object_at(only[i])), T_ONE);
  for (int i = 0; i < ENTRIES; i++) {
    cradle_handle_free(m, handles[i]);
    cradle_unpin(m, at(i == ENTRIES - 1 ? only[1] : many->item[i]));
    cradle_prebuilt_remove(heap, &prebuilt[i]);
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

/* --- rounds --- */

static void a_round_marks_all_that_lives_and_counts_it(void **state) {
  (void)state;
  make_objects(T_LEAF);
  const array *were = begin_marking();
  crd_marker_work work = run_round(ROUND_TAKEN);
  assert_marked(were);
  assert_true(word_stack_is_empty(inside_mark_stack(heap)));
  assert_false(inside_marker(heap)->overflowed);
  assert_int_equal(work.objects, live);
  assert_int_equal(work.bytes, live_bytes);
  assert_int_equal(work.put_aside, 0);
  assert_int_equal(work.stop_ns, 0);
  end_collection(DECOYS + 1);
}

static void a_round_takes_no_longer_than_it_does(void **state) {
  (void)state;
  make_objects(T_LEAF);
  (void)begin_marking();
  uint64_t before = crd_platform_now_ns();
  crd_marker_work work = run_round(ROUND_TAKEN);
  assert_in_range(work.run_ns, 1, crd_platform_now_ns() - before);
}

/* Somebody waits for its end from the beginning. */
static void a_round_that_is_to_end_marks_nothing(void **state) {
  (void)state;
  make_objects(T_LEAF);
  (void)begin_marking();
  size_t grey = word_stack_count(inside_mark_stack(heap));
  crd_marker_work work = run_round(ROUND_ASKED);
  assert_int_equal(work.objects, 0);
  assert_int_equal(work.bytes, 0);
  assert_int_equal(word_stack_count(inside_mark_stack(heap)), grey);
}

/* Under stress rounds end at any object. What they leave is traced by the next ones, and nothing twice. */
static void what_rounds_leave_is_traced_by_others(void **state) {
  (void)state;
  uint64_t objects = 0, bytes = 0, rounds = 0, empty_rounds = 0;
  make_objects(T_LEAF);
  const array *were = begin_marking();
  heap->options.stress_period = 1000000;
  for (; !word_stack_is_empty(inside_mark_stack(heap)); rounds++) {
    crd_marker_work work = run_round(ROUND_TAKEN);
    objects += work.objects;
    bytes += work.bytes;
    empty_rounds += work.objects == 0;
    assert_true(rounds < live);
  }
  heap->options.stress_period = 0;
  assert_true(rounds > live / 500);
  assert_true(empty_rounds > 0 && empty_rounds < rounds / 2);
  assert_marked(were);
  assert_int_equal(objects, live);
  assert_int_equal(bytes, live_bytes);
  end_collection(DECOYS + 1);
}

/* Whether they are traced by a call, have no slots or are traced in runs. A round takes 132 of them on average. */
static void objects_of_any_kind_bring_the_next_look_nearer(void **state) {
  (void)state;
  enum { MANY = 3000 };
  const uint32_t kinds[] = {T_PLAIN, T_LEAF, T_TWO};
  for (size_t kind = 0; kind < 3; kind++) {
    uint64_t rounds = 0;
    root = new_array(T_ARRAY, MANY);
    for (int i = 0; i < MANY; i++)
      root->item[i] = kinds[kind] == T_PLAIN ? address_of(new_array(T_PLAIN, 8)) : address_of(new_object(kinds[kind]));
    grow_old();
    (void)begin_marking();
    heap->options.stress_period = 1000000;
    for (; !word_stack_is_empty(inside_mark_stack(heap)); rounds++) (void)run_round(ROUND_TAKEN);
    heap->options.stress_period = 0;
    assert_in_range(rounds, MANY / 500, MANY);
    assert_true(crd_mark_some(&heap->marking, everything));
    end_collection(DECOYS + 1);
  }
}

/* If no stack has room for an object, the mutator finds it by a look at all marked objects. */
static void what_rounds_have_no_room_for_is_found(void **state) {
  (void)state;
  for (int stress = 0; stress < 2; stress++) {
    make_objects(T_LEAF);
    if (stress == 0) shorten_stack();
    const array *were = begin_marking();
    heap->options.stress_period = stress * 1000000u;
    do {
      (void)run_round(ROUND_TAKEN);
      assert_true(word_stack_is_sound(inside_mark_stack(heap)));
    } while (!word_stack_is_empty(inside_mark_stack(heap)));
    heap->options.stress_period = 0;
    assert_true(inside_major(heap)->overflowed);
    assert_true(crd_mark_some(&heap->marking, everything));
    assert_marked(were);
    end_collection(DECOYS + 1);
  }
}

/* A list whose cells also refer to many others, so that the stack is full whenever a round ends. */
static void what_waits_when_a_round_ends_is_found(void **state) {
  (void)state;
  enum { CELLS = 300, WIDTH = 40 };
  root = new_array(T_ARRAY, WIDTH);
  for (int i = 0; i < CELLS; i++) {
    array *cell = new_array(T_ARRAY, WIDTH);
    cell->item[0] = root->item[0];
    root->item[0] = address_of(cell);
    for (int k = 1; k < WIDTH; k++) {
      object *one = new_object(T_ONE);
      one->word[1] = new_leaf();
      cell->item[k] = address_of(one);
    }
  }
  grow_old();
  shorten_stack();
  (void)begin_marking();
  heap->options.stress_period = 1000000;
  while (!word_stack_is_empty(inside_mark_stack(heap))) (void)run_round(ROUND_TAKEN);
  heap->options.stress_period = 0;
  assert_true(inside_major(heap)->overflowed);
  assert_true(crd_mark_some(&heap->marking, everything));
  end_collection(DECOYS + 1);
}

/* An array whose rest finds room for one of its two words only. What is in the rest is not lost. */
static void half_an_entry_is_none(void **state) {
  (void)state;
  enum { LONG = 700, FILL = 504, FEW = 9 };
  root = new_array(T_ARRAY, 3);
  root->item[0] = address_of(new_array(T_ARRAY, FEW));
  root->item[1] = address_of(new_array(T_ARRAY, LONG));
  root->item[2] = address_of(new_array(T_ARRAY, FILL + 6));
  for (int i = 0; i < FEW; i++) ((array *)at(root->item[0]))->item[i] = new_leaf();
  ((array *)at(root->item[1]))->item[LONG - 1] = new_leaf();
  for (int i = 0; i < FILL + 6; i++) ((array *)at(root->item[2]))->item[i] = new_leaf();
  grow_old();
  shorten_stack();
  (void)begin_marking();
  /* By hand: leaves, then the long array, then the one with few items, which are traced first. */
  const array *leaves = at(root->item[2]);
  crd_word_stack *stack = inside_mark_stack(heap);
  stack->top = stack->base;
  for (int i = 2; i >= 0; i--) old_mark(inside_old(heap), root->item[i]);
  for (int i = 0; i < FILL + 6; i++) {
    old_mark(inside_old(heap), leaves->item[i]);
    assert_true(word_stack_push(stack, leaves->item[i]));
  }
  assert_true(word_stack_push(stack, root->item[1]));
  assert_true(word_stack_push(stack, root->item[0]));
  assert_false(word_stack_push(stack, 0));
  crd_marker_work work = run_round(ROUND_TAKEN);
  assert_true(word_stack_is_empty(inside_mark_stack(heap)));
  assert_true(inside_marker(heap)->overflowed);
  assert_int_equal(work.objects, FILL + 6 + 2 + FEW);
  assert_false(old_is_marked(inside_old(heap), ((array *)at(root->item[1]))->item[LONG - 1]));
  assert_true(crd_mark_some(&heap->marking, everything));
  assert_true(old_is_marked(inside_old(heap), ((array *)at(root->item[1]))->item[LONG - 1]));
  end_collection(DECOYS + 1);
}

/* When a round ends, what waits in the queue goes back on the stack: seven objects. If an array has just filled the
 * stack, there is no room for them, but for what was taken from it since. */
static void what_cannot_go_back_is_found(void **state) {
  (void)state;
  enum { LEAVES = 511 };
  int with_room = 0, without = 0;
  root = new_array(T_ARRAY, 2);
  root->item[0] = address_of(new_array(T_ARRAY, 8));
  root->item[1] = address_of(new_array(T_ARRAY, LEAVES));
  for (int i = 0; i < 8; i++) ((array *)at(root->item[0]))->item[i] = new_leaf();
  for (int i = 0; i < LEAVES; i++) ((array *)at(root->item[1]))->item[i] = new_leaf();
  cradle_collect(m, CRADLE_COLLECT_FULL);
  shorten_stack();
  inside_marker(heap)->random = 1;
  for (int tries = 0; tries < 1000; tries++) {
    (void)begin_marking();
    crd_word_stack *stack = inside_mark_stack(heap);
    stack->top = stack->base;
    const array *leaves = at(root->item[1]);
    for (int i = 0; i < 2; i++) old_mark(inside_old(heap), root->item[i]);
    for (int i = 0; i < LEAVES; i++) {
      old_mark(inside_old(heap), leaves->item[i]);
      assert_true(word_stack_push(stack, leaves->item[i]));
    }
    assert_true(word_stack_push(stack, root->item[0]));
    heap->options.stress_period = 1000000;
    crd_marker_work work = run_round(ROUND_TAKEN);
    heap->options.stress_period = 0;
    bool has_room = work.objects == 0 || work.objects > 7;
    assert_int_equal(inside_marker(heap)->overflowed, !has_room);
    with_room += has_room;
    without += work.objects == 1;
    assert_true(crd_mark_some(&heap->marking, everything));
    end_collection(0);
  }
  assert_true(with_room > 0 && without > 0);
}

static void rounds_look_often_whether_they_are_to_end(void **state) {
  (void)state;
  for (int sort = 0; sort < LONG_SORTS; sort++) {
    uint64_t rounds = 0, objects = 0, bytes = 0;
    live = live_bytes = 0;
    make_long(sort);
    (void)begin_marking();
    inside_marker(heap)->random = 0;
    heap->options.stress_period = 1000000;
    for (; !word_stack_is_empty(inside_mark_stack(heap)); rounds++) {
      crd_marker_work work = run_round(ROUND_TAKEN);
      objects += work.objects;
      bytes += work.bytes;
    }
    heap->options.stress_period = 0;
    assert_in_range(rounds, 10, 1000); /* a look at every 16th object, on average, and every eighth look ends one */
    assert_int_equal(objects, live);
    assert_int_equal(bytes, live_bytes);
    end_collection(0);
  }
}

static void the_stack_of_a_round_grows_with_the_depth(void **state) {
  (void)state;
  for (int begins_inline = 0; begins_inline < 2; begins_inline++) {
    make_deep(begins_inline);
    (void)begin_marking();
    crd_marker_work work = run_round(ROUND_TAKEN);
    assert_true(word_stack_is_empty(inside_mark_stack(heap)));
    assert_true(word_stack_committed(inside_mark_stack(heap)) > 32768 * 8);
    assert_false(inside_marker(heap)->overflowed);
    assert_int_equal(work.objects, live);
    assert_int_equal(work.bytes, live_bytes);
    end_collection(0);
  }
}

static void what_lies_around_an_array_is_none_of_a_rounds(void **state) {
  (void)state;
  for (uint32_t type = T_ARRAY; type <= T_BOXES; type++)
    for (int length = 0; length < 2; length++) {
      live = live_bytes = 0;
      make_neighbours(type, neighbour_lengths[type][length]);
      const array *were = begin_marking();
      crd_marker_work work = run_round(ROUND_TAKEN);
      assert_marked(were);
      assert_int_equal(work.bytes, live_bytes);
      cradle_collect(m, CRADLE_COLLECT_FULL);
    }
}

/* Words that for a moment are no references mark nothing [marker.4]. */
static void words_that_are_no_references_mark_nothing(void **state) {
  (void)state;
  enum { WORDS = 900 };
  make_objects(T_LEAF);
  spare = new_array(T_ARRAY, WORDS);
  cradle_collect(m, CRADLE_COLLECT_MINOR);
  array *odd = spare;
  const array *were = begin_marking();
  uintptr_t base = inside_old(heap)->arenas.base, end = base + inside_old(heap)->arenas.committed_end * ARENA_BYTES;
  for (uint64_t i = 0; i < WORDS; i++)
    odd->item[i] = i % 3 == 0   ? root->item[i % root->length] + 8 * (1 + i % 4)
                   : i % 3 == 1 ? were->item[i % DECOYS] + 1 + i % 39
                                : (i % 2 ? end + i / 2 * 4096 : base - 8 * i);
  crd_marker_work work = run_round(ROUND_TAKEN);
  memset(odd->item, 0, WORDS * 8);
  assert_int_equal(work.objects, live);
  assert_int_equal(work.bytes, live_bytes);
  assert_marked(were);
  end_collection(DECOYS + 1);
}

/* Nor do words behind an array whose length is for a moment too large: they are another's. */
static void lengths_that_are_too_large_lead_out_of_no_place(void **state) {
  (void)state;
  enum { SMALL = 14, LARGE = 5000 };
  root = new_array(T_ARRAY, 2);
  root->item[0] = address_of(new_array(T_ARRAY, SMALL)); /* 128 bytes */
  spare = cradle_new_array(m, T_ARRAY, SMALL);
  root->item[1] = address_of(new_array(T_ARRAY, LARGE));
  grow_old();
  const array *were = dead;
  array *small = at(root->item[0]), *large = at(root->item[1]);
  for (int i = 0; i < SMALL; i++) spare->item[i] = were->item[i];
  assert_ptr_equal(&small->item[SMALL], spare);
  spare = NULL;
  (void)begin_marking();
  const crd_page *span = old_span_of(inside_old(heap), address_of(large));
  uint64_t fit = (((uint64_t)span->pages << PAGE_SHIFT) - sizeof(array)) / 8;
  assert_true(fit > LARGE && fit < LARGE + 1024);
  for (uint64_t i = LARGE; i < fit; i++) large->item[i] = were->item[DECOYS - 1 - (fit - 1 - i)];
  small->length = UINT64_MAX / 16;
  large->length = UINT64_MAX / 16;
  crd_marker_work work = run_round(ROUND_TAKEN);
  small->length = SMALL;
  large->length = LARGE;
  uint64_t leaves = fit - LARGE;
  assert_int_equal(work.objects, live + leaves);
  assert_int_equal(work.bytes, live_bytes + leaves * (8 + sizeof(object)));
  for (int i = 0; i < SMALL; i++) assert_false(old_is_marked(inside_old(heap), were->item[i]));
  end_collection(DECOYS + 2 - leaves);
}

/* A round marks only in arenas that were committed when it was offered. */
static void a_round_keeps_to_the_arenas_that_were_there(void **state) {
  (void)state;
  root = new_array(T_ARRAY, 2);
  for (int i = 0; i < 2; i++) root->item[i] = new_leaf();
  grow_old();
  uintptr_t low = root->item[0], high = root->item[1];
  assert_true(low < high);
  (void)begin_marking();
  crd_marker *marker = inside_marker(heap);
  marker->stack = *inside_mark_stack(heap);
  marker->arenas_bytes = high - inside_old(heap)->arenas.base;
  marker->word = ROUND_TAKEN;
  crd_mark_beside(&heap->marking);
  marker->word = ROUND_IDLE;
  *inside_mark_stack(heap) = marker->stack;
  assert_true(old_is_marked(inside_old(heap), low));
  assert_false(old_is_marked(inside_old(heap), high));
  old_mark(inside_old(heap), high);
  end_collection(DECOYS + 1);
}

/* --- what rounds put aside --- */

/* Objects that need the program or the order of death. The last one alone refers to another that no one else does. */
enum { ASIDE = 600 };
static uintptr_t make_aside_objects(void) {
  root = new_array(T_ARRAY, ASIDE);
  for (int i = 0; i < ASIDE; i++) root->item[i] = address_of(new_object(i % 2 ? T_WEAK : T_TRACED));
  uintptr_t last = root->item[0];
  object_at(last)[1] = new_leaf();
  grow_old();
  return object_at(root->item[0])[1];
}

static void what_needs_the_program_is_put_aside(void **state) {
  (void)state;
  uintptr_t only = make_aside_objects();
  make_aside();
  (void)begin_marking();
  crd_marker_work work = run_round(ROUND_TAKEN);
  assert_int_equal(work.put_aside, ASIDE);
  assert_int_equal(work.objects, 1);
  assert_int_equal(work.bytes, sizeof(array) + ASIDE * 8);
  assert_int_equal(word_stack_count(&inside_marker(heap)->aside), ASIDE);
  assert_false(inside_marker(heap)->overflowed);
  assert_true(word_stack_is_empty(inside_mark_stack(heap)));
  for (int i = 0; i < ASIDE; i++) assert_true(old_is_marked(inside_old(heap), root->item[i]));
  assert_false(old_is_marked(inside_old(heap), only));
  /* An increment of its own for what was put aside. It leaves the stack alone. */
  assert_true(word_stack_push(inside_mark_stack(heap), root->item[0]));
  assert_false(crd_mark_some(&heap->marking, (crd_budget){UINT64_MAX, UINT64_MAX, true}));
  assert_true(word_stack_is_empty(&inside_marker(heap)->aside));
  assert_int_equal(inside_major(heap)->objects, ASIDE);
  assert_int_equal(word_stack_count(inside_mark_stack(heap)), 2);
  assert_true(old_is_marked(inside_old(heap), only));
  assert_true(crd_mark_some(&heap->marking, everything));
  end_collection(DECOYS + 1);
}

/* Marking is not over as long as something is there. */
static void what_was_put_aside_is_traced_to_the_last(void **state) {
  (void)state;
  uintptr_t only = make_aside_objects();
  make_aside();
  (void)begin_marking();
  (void)run_round(ROUND_TAKEN);
  assert_true(crd_mark_some(&heap->marking, everything));
  assert_true(word_stack_is_empty(&inside_marker(heap)->aside));
  assert_int_equal(inside_major(heap)->objects, ASIDE + 1);
  assert_true(old_is_marked(inside_old(heap), only));
  end_collection(DECOYS + 1);
}

static void what_finds_no_room_aside_is_found(void **state) {
  (void)state;
  uintptr_t only = make_aside_objects();
  (void)begin_marking();
  crd_marker_work work = run_round(ROUND_TAKEN); /* there is no stack at all */
  assert_int_equal(work.put_aside, ASIDE);
  assert_true(inside_marker(heap)->overflowed);
  assert_true(crd_mark_some(&heap->marking, everything));
  assert_true(old_is_marked(inside_old(heap), only));
  end_collection(DECOYS + 1);
}

/* A watched object, whatever its type, is shown to the order of death. */
static void watched_objects_are_put_aside(void **state) {
  (void)state;
  make_objects(T_LEAF);
  make_aside();
  const array *were = begin_marking();
  uint64_t watched = 0;
  for (uint64_t i = 0; i < root->length; i += 3, watched++)
    object_set_flags(object_at(root->item[i]), HEADER_WATCHED_FLAG);
  crd_marker_work work = run_round(ROUND_TAKEN);
  assert_int_equal(work.put_aside, watched);
  assert_int_equal(word_stack_count(&inside_marker(heap)->aside), watched);
  for (uint64_t i = 0; i < root->length; i += 3) object_clear_flags(object_at(root->item[i]), HEADER_WATCHED_FLAG);
  assert_true(crd_mark_some(&heap->marking, everything));
  assert_int_equal(work.objects + inside_major(heap)->objects, live);
  assert_marked(were);
  end_collection(DECOYS + 1);
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
      TEST(a_word_of_the_shadow_stack_that_changed_unnoticed_is_marked),
      TEST(values_of_ephemerons_are_marked_and_traced),
      TEST(ephemerons_that_were_put_aside_are_looked_at),
      TEST(many_values_at_once_make_the_stack_grow),
      TEST(tables_are_marked_to_the_end),
      TEST(short_tables_are_marked),
      TEST(a_round_marks_all_that_lives_and_counts_it),
      TEST(a_round_takes_no_longer_than_it_does),
      TEST(a_round_that_is_to_end_marks_nothing),
      TEST(what_rounds_leave_is_traced_by_others),
      TEST(objects_of_any_kind_bring_the_next_look_nearer),
      TEST(what_rounds_have_no_room_for_is_found),
      TEST(what_waits_when_a_round_ends_is_found),
      TEST(half_an_entry_is_none),
      TEST(what_cannot_go_back_is_found),
      TEST(rounds_look_often_whether_they_are_to_end),
      TEST(the_stack_of_a_round_grows_with_the_depth),
      TEST(what_lies_around_an_array_is_none_of_a_rounds),
      TEST(words_that_are_no_references_mark_nothing),
      TEST(lengths_that_are_too_large_lead_out_of_no_place),
      TEST(a_round_keeps_to_the_arenas_that_were_there),
      TEST(what_needs_the_program_is_put_aside),
      TEST(what_was_put_aside_is_traced_to_the_last),
      TEST(what_finds_no_room_aside_is_found),
      TEST(watched_objects_are_put_aside),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
