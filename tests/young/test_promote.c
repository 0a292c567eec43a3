/* Tests promotion: the order in which survivors lie in memory, and what must hold in any order. */
#include "tests/support/heap_fixture.h"

#include "tests/inside.h"

/* Added to the fixture's types. A value with bit 0 set is not a reference. */
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

static void trace_owner(void *user, void *object, cradle_visitor *visitor) {
  (void)user;
  assert_int_equal(callbacks_open++, 0); /* no callback runs inside another */
  cradle_visit(visitor, ((owner *)object)->slot, CRADLE_KIND_REFERENCE);
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
  fixture_unstress(&options); /* the test looks at the result of a single collection */
  options.types = types;
  options.type_count = T_ALL;
  options.nursery_bytes = nursery_bytes;
  /* With one tag only, values would be treated as references. */
  options.encoding = cradle_encoding_of(0, 0, 1 << 0 | 1 << 5);
  fixture_open_with(f, &options);
}

/* --- the order --- */

/* Counts of a traversal: `neighbours` lie right behind the object visited before them; `objects` are all. */
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

/* [promote.2], except at the ends of spans and next to other promoted objects. */
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

/* [promote.3]: a chain that hangs from an item of an array lies next to that item, not behind the last one. This holds
 * for reference and value slots. */
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

/* Arrays nested in arrays so deeply that a recursive promotion would overflow the C stack. */
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

/* A value array is read past words that lie near no young object. That is right whether the system puts the nursery
 * below the old generation or above it. */
static void values_are_followed_wherever_the_nursery_lies(void **state) {
  (void)state;
  enum { ITEMS = 500 };
  const size_t hole = (size_t)4 << 30; /* the nursery fits, the addresses of the old generation do not */
  bool lay_above = false;
  for (int above = 0; above < 2; above++)
    for (int large = 0; large < 2; large++) {
      fixture f;
      void *space = above ? crd_pages_reserve(hole, 4096, NULL) : NULL;
      void *below = above ? crd_pages_reserve((size_t)1 << 20, 4096, NULL) : NULL;
      if (space != NULL) (void)crd_pages_unreserve(space, hole);
      open_types(&f, (size_t)1 << 20);
      lay_above |= inside_old(f.heap)->arenas.base < (uintptr_t)inside_nursery(f.heap)->start;
      {
        values *items = cradle_new_array(f.m, T_VALUES, ITEMS);
        CRADLE_ROOT(f.m, items);
        vector *other = cradle_new_array(f.m, T_VECTOR, large ? 100000 : 1);
        CRADLE_ROOT(f.m, other);
        for (size_t i = 0; i < ITEMS; i += 3) {
          pair *p = cradle_new(f.m, T_PAIR, sizeof *p);
          items->item[i] = (uintptr_t)p;
          items->item[i + 1] = 8 * i + 1;
        }
        cradle_collect(f.m, CRADLE_COLLECT_MINOR);
        for (size_t i = 0; i < ITEMS; i += 3) {
          assert_false(space_is_young(&f.heap->space, items->item[i]));
          assert_int_equal(cradle_type_of((void *)(uintptr_t)items->item[i]), T_PAIR);
          assert_true(items->item[i + 1] == 8 * i + 1);
        }
      }
      fixture_close(&f);
      if (below != NULL) (void)crd_pages_unreserve(below, (size_t)1 << 20);
    }
  if (!lay_above) print_message("skipped: the system did not put a nursery above the old generation\n");
}

/* --- callbacks --- */

static owner **slots;

static void report_first(void *data, cradle_visitor *visitor) {
  (void)data;
  assert_int_equal(callbacks_open++, 0);
  cradle_visit(visitor, &slots[0], CRADLE_KIND_REFERENCE);
  callbacks_open--;
}

/* The root callback leads to an owner, whose callback leads to the next owner, and so on. If a callback ran inside
 * another, an embedder that takes a lock in each would lock it twice. */
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

/* The program stores into an old object that marking has not reached. It may be dead, so its direct old referents are
 * not marked. But the young objects in it are promoted as marked and will not be traced again. So everything that they
 * refer to must be marked now; otherwise it would be lost if the old object turns out to live. */
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

/* --- marking, which follows the same order --- */

enum { T_LABELLED = 1, T_LABELLED_TWICE };
typedef struct labelled {
  uint64_t header;
  struct labelled *first, *rest;
  uint64_t length;
  char text[];
} labelled;

static uint64_t marked_bytes;

static void add_marked(void *data, const cradle_event *event) {
  (void)data;
  if (event->kind == CRADLE_EVENT_STEP_END && event->u.step.from == CRADLE_PHASE_MARKING)
    marked_bytes += event->u.step.marked_bytes;
}

/* Strings with slots before their bytes: pacing relies on the number of bytes that marking reports. */
static void marking_tells_all_bytes_of_what_it_marks(void **state) {
  (void)state;
  enum { STRINGS = 500, LENGTH = 4000 };
  static const cradle_type types[] = {
      [0] = {.name = "vector",
             .size = sizeof(vector),
             .items = CRADLE_ITEMS_REFERENCES,
             .item_size = 8,
             .length_offset = offsetof(vector, length)},
      [T_LABELLED] = {.name = "labelled",
                      .size = sizeof(labelled),
                      .references = CRADLE_SLOT(labelled, first),
                      .items = CRADLE_ITEMS_BYTES,
                      .item_size = 1,
                      .length_offset = offsetof(labelled, length)},
      [T_LABELLED_TWICE] = {.name = "labelled twice",
                            .size = sizeof(labelled),
                            .references = CRADLE_SLOT(labelled, first) | CRADLE_SLOT(labelled, rest),
                            .items = CRADLE_ITEMS_BYTES,
                            .item_size = 1,
                            .length_offset = offsetof(labelled, length)},
  };
  for (uint32_t type = T_LABELLED; type <= T_LABELLED_TWICE; type++) {
    fixture f;
    cradle_options options;
    fixture_options(&f, &options);
    fixture_unstress(&options);
    options.types = types;
    options.type_count = sizeof types / sizeof *types;
    options.listener = (cradle_listener){add_marked, NULL};
    fixture_open_with(&f, &options);
    vector *all = cradle_new_array(f.m, 0, STRINGS);
    {
      CRADLE_ROOT(f.m, all);
      for (int i = 0; i < STRINGS; i++) cradle_store(f.m, all, &all->item[i], cradle_new_array(f.m, type, LENGTH));
      cradle_collect(f.m, CRADLE_COLLECT_FULL);
      marked_bytes = 0;
      cradle_collect(f.m, CRADLE_COLLECT_MAJOR);
      assert_true(marked_bytes >= (uint64_t)STRINGS * LENGTH);
    }
    cradle_mutator_free(f.m);
    cradle_heap_free(f.heap);
  }
}

/* A callback reports each of the slots. */
typedef struct many {
  uint64_t header;
  void **slots;
  uint64_t count;
} many;

static void trace_many(void *user, void *object, cradle_visitor *visitor) {
  (void)user;
  const many *m = object;
  for (uint64_t i = 0; i < m->count; i++) cradle_visit(visitor, &m->slots[i], CRADLE_KIND_REFERENCE);
}

enum { T_MANY = T_COUNT };

static many *new_many(cradle_mutator *m, uint64_t count) CRADLE_MAY_COLLECT {
  many *made = cradle_new(m, T_MANY, sizeof *made);
  made->slots = calloc(count, sizeof *made->slots);
  made->count = count;
  CRADLE_ROOT(m, made);
  for (uint64_t i = 0; i < count; i++) {
    string *empty = cradle_new_array(m, T_STRING, 0);
    made->slots[i] = empty;
    cradle_write_barrier(m, made);
  }
  return made;
}

/* Makes a tree whose leftmost node at the given level is an object with many slots. */
static pair *tree_with_many(cradle_mutator *m, int depth, int level, many **inner) CRADLE_MAY_COLLECT {
  pair *made = cradle_new(m, T_PAIR, sizeof *made);
  CRADLE_ROOT(m, made);
  if (depth == 0) return made;
  if (level == 1) {
    *inner = new_many(m, 20000);
    cradle_store(m, made, &made->first, (pair *)*inner);
  } else {
    pair *first = tree_with_many(m, depth - 1, level - 1, inner);
    cradle_store(m, made, &made->first, first);
  }
  pair *rest = tree_with_many(m, depth - 1, 0, inner);
  cradle_store(m, made, &made->rest, rest);
  return made;
}

/* The mark stack begins with room for 8,192 objects. It is nearly full when marking reaches the tree, so it grows while
 * the tree is traced. Then an object follows that fills the added room. */
static void the_mark_stack_grows_between_objects(void **state) {
  (void)state;
  for (uint64_t nearly = 8080; nearly < 8192; nearly += 12) {
    fixture f;
    cradle_options options;
    static cradle_type types[T_MANY + 1];
    memcpy(types, fixture_types, sizeof fixture_types);
    types[T_MANY] = (cradle_type){.name = "many", .size = sizeof(many), .trace = trace_many};
    fixture_options(&f, &options);
    fixture_unstress(&options);
    options.types = types;
    options.type_count = T_MANY + 1;
    options.nursery_bytes = (size_t)4 << 20;
    options.verify = false; /* the verifier would grow the mark stack, which it shares */
    fixture_open_with(&f, &options);
    many *root = new_many(f.m, nearly), *inner = NULL;
    {
      CRADLE_ROOT(f.m, root);
      pair *tree = tree_with_many(f.m, 13, 8, &inner);
      root->slots[nearly - 1] = tree;
      cradle_write_barrier(f.m, root);
      tree = NULL;
      cradle_collect(f.m, CRADLE_COLLECT_MAJOR);
      pair *at = root->slots[nearly - 1];
      for (int level = 8; level > 1; level--) at = at->first;
      inner = (many *)at->first;
      for (uint64_t i = 0; i < inner->count; i++) assert_int_equal(cradle_type_of(inner->slots[i]), T_STRING);
      assert_heap_sound(f.heap);
      free(inner->slots);
      free(root->slots);
      inner->count = root->count = 0;
    }
    cradle_mutator_free(f.m);
    cradle_heap_free(f.heap);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(nodes_lie_in_the_order_of_a_walk),
      cmocka_unit_test(tagged_pairs_lie_in_the_order_of_a_walk),
      cmocka_unit_test(what_an_item_leads_to_lies_behind_it),
      cmocka_unit_test(arrays_inside_arrays_survive),
      cmocka_unit_test(values_are_followed_wherever_the_nursery_lies),
      cmocka_unit_test(no_callback_runs_within_another),
      cmocka_unit_test(what_survivors_of_an_unmarked_object_hold_is_marked),
      cmocka_unit_test(marking_tells_all_bytes_of_what_it_marks),
      cmocka_unit_test(the_mark_stack_grows_between_objects),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
