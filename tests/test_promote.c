/* Promotion: in which order survivors lie afterwards, and what must be right whatever the order is. */
#include "tests/heap_fixture.h"

/* Beside the fixture's types. Values have 1 in bit 0 when they are none. */
enum { WIDE = 7, T_WIDE = T_COUNT, T_TAGGED, T_MIXED, T_OWNER, T_ALL };
typedef struct wide {
  uint64_t header;
  struct wide *child[WIDE];
} wide;
typedef struct tagged {
  uint64_t header;
  cradle_value first, rest;
} tagged;
typedef struct mixed {
  uint64_t header;
  struct mixed *first;
  cradle_value rest;
} mixed;
/* Its slot lies outside of the heap. */
typedef struct owner {
  uint64_t header;
  struct owner **slot;
} owner;

static int callbacks_open, callbacks;

static void trace_owner(void *object, cradle_visitor *visitor) {
  assert_int_equal(callbacks_open++, 0); /* none is called within another */
  cradle_visit_reference(visitor, ((owner *)object)->slot);
  callbacks_open--;
  callbacks++;
}

static void open_types(fixture *f, size_t nursery_bytes) {
  static cradle_type types[T_ALL];
  cradle_options options;
  memcpy(types, fixture_types, sizeof fixture_types);
  types[T_WIDE] = (cradle_type){.name = "wide", .size = sizeof(wide), .references = ((1u << WIDE) - 1) << 1};
  types[T_TAGGED] = (cradle_type){
      .name = "tagged", .size = sizeof(tagged), .values = CRADLE_SLOT(tagged, first) | CRADLE_SLOT(tagged, rest)};
  types[T_MIXED] = (cradle_type){.name = "mixed",
                                 .size = sizeof(mixed),
                                 .references = CRADLE_SLOT(mixed, first),
                                 .values = CRADLE_SLOT(mixed, rest)};
  types[T_OWNER] = (cradle_type){.name = "owner", .size = sizeof(owner), .trace = trace_owner};
  fixture_options(f, &options);
  fixture_unstress(&options); /* one collection, and what it leaves */
  options.types = types;
  options.type_count = T_ALL;
  options.nursery_bytes = nursery_bytes;
  options.encoding = cradle_encoding_low_tags(1 << 0 | 1 << 5); /* a second tag, or values were references */
  fixture_open_with(f, &options);
}

/* --- the order --- */

/* How a structure is followed: objects that come right behind the one before, and all. */
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

/* [promote.2], but for the last places of spans, and what the promotion of other objects leaves. */
static void assert_in_order(const followed *w) {
  if (w->neighbours < w->objects - w->objects / 20 - 2)
    fail_msg("only %zu of %zu objects lie behind the one before", w->neighbours, w->objects);
}

static void follow_wide(followed *w, const wide *node) {
  follow(w, node, sizeof *node);
  for (int i = 0; i < WIDE; i++)
    if (node->child[i] != NULL) follow_wide(w, node->child[i]);
}

static wide *wide_leaves_first(cradle_mutator *m, int depth, int children) CRADLE_MAY_COLLECT {
  if (depth > 0)
    for (int i = 0; i < children; i++) cradle_push(m, wide_leaves_first(m, depth - 1, children));
  wide *made = cradle_new(m, T_WIDE, sizeof *made);
  if (depth > 0)
    for (int i = children; i > 0; i--) made->child[i - 1] = cradle_pop(m);
  return made;
}

static wide *wide_root_first(cradle_mutator *m, int depth, int children) CRADLE_MAY_COLLECT {
  cradle_push(m, cradle_new(m, T_WIDE, sizeof(wide)));
  for (int i = 0; i < children && depth > 0; i++) {
    wide *child = wide_root_first(m, depth - 1, children), *node = *(wide **)cradle_peek(m, 0);
    cradle_store(m, node, &node->child[i], child);
  }
  return cradle_pop(m);
}

static void nodes_lie_in_the_order_of_a_walk(void **state) {
  (void)state;
  static const struct {
    int children, depth;
  } shapes[] = {{1, 1000}, {2, 9}, {3, 6}, {7, 3}};
  for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
    for (int root_first = 0; root_first < 2; root_first++) {
      fixture f;
      open_types(&f, (size_t)1 << 20);
      wide *top = (root_first ? wide_root_first : wide_leaves_first)(f.m, shapes[i].depth, shapes[i].children);
      {
        CRADLE_ROOT(f.m, top);
        cradle_collect(f.m, CRADLE_COLLECT_MINOR);
        followed w = {0};
        follow_wide(&w, top);
        assert_in_order(&w);
        cradle_collect(f.m, CRADLE_COLLECT_MAJOR);
        followed again = {0};
        follow_wide(&again, top);
        assert_int_equal(again.objects, w.objects);
      }
      fixture_close(&f);
    }
}

static void follow_tagged(followed *w, cradle_value value) {
  for (const tagged *t; value != 0 && (value & 7) == 0; value = t->rest) {
    t = (const tagged *)(uintptr_t)value;
    follow(w, t, sizeof *t);
    follow_tagged(w, t->first);
  }
}

/* Lists of lists, as a Lisp has them: the parts of each pair come before what is behind it. */
static cradle_value tagged_list(cradle_mutator *m, int depth) CRADLE_MAY_COLLECT {
  cradle_value list = 0;
  CRADLE_ROOT_VALUE(m, list);
  for (int i = 0; i < 6; i++) {
    cradle_value first = depth > 0 ? tagged_list(m, depth - 1) : (cradle_value)(2 * i + 1);
    CRADLE_ROOT_VALUE(m, first);
    tagged *made = cradle_new(m, T_TAGGED, sizeof *made);
    made->first = first;
    made->rest = list;
    list = (uintptr_t)made;
  }
  return list;
}

static void tagged_pairs_lie_in_the_order_of_a_walk(void **state) {
  (void)state;
  fixture f;
  open_types(&f, (size_t)1 << 20);
  cradle_value list = tagged_list(f.m, 4);
  {
    CRADLE_ROOT_VALUE(f.m, list);
    cradle_collect(f.m, CRADLE_COLLECT_MINOR);
    followed w = {0};
    follow_tagged(&w, list);
    assert_true(w.objects > 9000);
    assert_in_order(&w);
  }
  fixture_close(&f);
}

/* [promote.3]: a chain behind each item of an array is with it, not behind the last item. Of slots of both sorts the
 * same. */
static void what_an_item_leads_to_lies_behind_it(void **state) {
  (void)state;
  enum { ITEMS = 300 };
  fixture f;
  open_types(&f, (size_t)1 << 20);
  vector *all = cradle_new_array(f.m, T_VECTOR, ITEMS);
  {
    CRADLE_ROOT(f.m, all);
    for (int i = 0; i < ITEMS; i++) {
      cradle_push(f.m, cradle_new(f.m, T_MIXED, sizeof(mixed)));
      mixed *second = cradle_new(f.m, T_MIXED, sizeof(mixed));
      cradle_push(f.m, second);
      mixed *third = cradle_new(f.m, T_MIXED, sizeof(mixed));
      third->first = cradle_pop(f.m);
      third->rest = (uintptr_t)cradle_pop(f.m);
      cradle_store(f.m, all, &all->item[i], third);
    }
    cradle_collect(f.m, CRADLE_COLLECT_MINOR);
    followed w = {0};
    for (int i = 0; i < ITEMS; i++) {
      const mixed *third = all->item[i];
      follow(&w, third, sizeof *third);
      follow(&w, third->first, sizeof *third);
      follow(&w, (const void *)(uintptr_t)third->rest, sizeof *third);
    }
    assert_in_order(&w);
  }
  fixture_close(&f);
}

/* Arrays inside arrays: calls within calls would overflow the stack. */
static void arrays_inside_arrays_survive(void **state) {
  (void)state;
  enum { DEPTH = 100000 };
  fixture f;
  open_types(&f, (size_t)16 << 20);
  vector *top = NULL;
  {
    CRADLE_ROOT(f.m, top);
    for (int i = 0; i < DEPTH; i++) {
      pair *beside = cradle_new(f.m, T_PAIR, sizeof *beside);
      CRADLE_ROOT(f.m, beside);
      vector *made = cradle_new_array(f.m, T_VECTOR, 3);
      made->item[0] = beside;
      made->item[1] = top;
      made->item[2] = beside;
      top = made;
    }
    cradle_collect(f.m, CRADLE_COLLECT_MINOR);
    assert_heap_sound(f.heap);
    int depth = 0;
    for (const vector *at = top; at != NULL; at = at->item[1], depth++) {
      assert_ptr_equal(at->item[0], at->item[2]);
      assert_int_equal(cradle_type_of(at->item[0]), T_PAIR);
    }
    assert_int_equal(depth, DEPTH);
  }
  fixture_close(&f);
}

/* --- callbacks --- */

static owner **slots;

static void report_first(void *data, cradle_visitor *visitor) {
  (void)data;
  assert_int_equal(callbacks_open++, 0);
  cradle_visit_reference(visitor, &slots[0]);
  callbacks_open--;
}

/* From the root callback to an owner, whose callback leads to the next one, and so on. An embedder's lock, say, would
 * be taken twice if one ran within another. */
static void no_callback_runs_within_another(void **state) {
  (void)state;
  enum { OWNERS = 200 };
  fixture f;
  open_types(&f, (size_t)1 << 20);
  slots = calloc(OWNERS + 1, sizeof *slots);
  vector *all = cradle_new_array(f.m, T_VECTOR, OWNERS);
  {
    CRADLE_ROOT(f.m, all);
    for (int i = 0; i < OWNERS; i++) {
      owner *made = cradle_new(f.m, T_OWNER, sizeof *made);
      made->slot = &slots[i + 1];
      slots[i] = made;
      cradle_store(f.m, all, &all->item[i], made);
    }
    cradle_root_callback_set(f.heap, report_first, NULL);
    callbacks = 0;
    cradle_collect(f.m, CRADLE_COLLECT_MINOR);
    assert_true(callbacks >= OWNERS);
    for (int i = 0; i < OWNERS; i++) assert_ptr_equal(all->item[i], slots[i]);
    cradle_collect(f.m, CRADLE_COLLECT_MAJOR);
    cradle_root_callback_set(f.heap, NULL, NULL);
  }
  fixture_close(&f);
  free(slots);
}

/* --- while a major collection marks --- */

/* An old object that marking has not reached yet is stored into: it may be dead, so what it refers to itself is left
 * alone. But the young objects that it holds are promoted as marked ones, and will not be traced again: what they refer
 * to has to be marked now, each of them, or it is lost if the object turns out to live. */
static void what_survivors_of_an_unmarked_object_hold_is_marked(void **state) {
  (void)state;
  enum { LIST = 20000, LOST = 4 };
  fixture f;
  open_types(&f, (size_t)64 << 10);
  wide *list = NULL;
  {
    CRADLE_ROOT(f.m, list);
    for (int i = 0; i < LIST; i++) {
      wide *made = cradle_new(f.m, T_WIDE, sizeof *made);
      made->child[0] = list;
      list = made;
    }
    wide *holder = list;
    for (; holder->child[0] != NULL; holder = holder->child[0]) {}
    CRADLE_ROOT(f.m, holder);
    for (int i = 0; i < LOST; i++) {
      string *text = cradle_new_array(f.m, T_STRING, 9);
      memcpy(text->byte, "not lost", 9);
      cradle_store(f.m, holder, (void **)&holder->child[i + 1], text);
    }
    cradle_collect(f.m, CRADLE_COLLECT_FULL);
    wide *kept = holder;
    holder = NULL; /* only the list leads to it now, from its far end */
    assert_false(cradle_collect_step(f.m, 0));
    assert_int_equal(fixture_stats(&f).phase, CRADLE_PHASE_MARKING);
    /* young: a node, whose first slot, a further slot, and another young object's slots hold what was in the holder;
     * and an array */
    holder = kept;
    for (; holder->child[0] != NULL; holder = holder->child[0]) {}
    wide *node = cradle_new(f.m, T_WIDE, sizeof *node);
    CRADLE_ROOT(f.m, node);
    wide *inner = cradle_new(f.m, T_WIDE, sizeof *inner);
    node->child[3] = inner;
    vector *array = cradle_new_array(f.m, T_VECTOR, 2);
    array->item[1] = holder->child[4];
    node->child[5] = (wide *)array;
    node->child[0] = holder->child[1];
    node->child[2] = holder->child[2];
    ((wide *)node->child[3])->child[6] = holder->child[3];
    for (int i = 1; i <= LOST; i++) cradle_store(f.m, holder, &holder->child[i], NULL);
    cradle_store(f.m, holder, &holder->child[6], node);
    node = NULL;
    holder = NULL;
    assert_int_equal(fixture_stats(&f).phase, CRADLE_PHASE_MARKING);
    while (!cradle_collect_step(f.m, 1)) assert_heap_sound(f.heap);
    assert_heap_sound(f.heap);
    for (holder = list; holder->child[0] != NULL; holder = holder->child[0]) {}
    node = holder->child[6];
    array = (vector *)node->child[5];
    const string *texts[LOST] = {(string *)node->child[0], (string *)node->child[2], (string *)node->child[3]->child[6],
                                 array->item[1]};
    for (int i = 0; i < LOST; i++) {
      assert_int_equal(cradle_type_of(texts[i]), T_STRING);
      assert_string_equal(texts[i]->byte, "not lost");
    }
  }
  fixture_close(&f);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(nodes_lie_in_the_order_of_a_walk),
      cmocka_unit_test(tagged_pairs_lie_in_the_order_of_a_walk),
      cmocka_unit_test(what_an_item_leads_to_lies_behind_it),
      cmocka_unit_test(arrays_inside_arrays_survive),
      cmocka_unit_test(no_callback_runs_within_another),
      cmocka_unit_test(what_survivors_of_an_unmarked_object_hold_is_marked),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
