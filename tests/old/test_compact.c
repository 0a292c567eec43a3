/* Compaction by itself: which arenas it empties, in which order, and what it leaves alone. The heap is a row of arenas
 * full of objects of one size, and the test says how many of them live on in each. */
#include "tests/support/heap_fixture.h"

#include "tests/inside.h"

#define KIB 1024
/* With these contents a string has exactly the size of its class. */
#define CONTENTS_BYTES 248
#define OBJECT_BYTES (CONTENTS_BYTES + sizeof(string))
#define MOST_ARENAS 20

static fixture f;
static void *objects[MOST_ARENAS * ARENA_BYTES / OBJECT_BYTES], *addresses[MOST_ARENAS * ARENA_BYTES / OBJECT_BYTES];
static void *first, *end; /* of the root range */
static cradle_root_range range = {.base = &first, .top = &end, .kind = CRADLE_KIND_REFERENCE, .name = "objects"};
static cradle_event compaction; /* the last one's end */
static int compactions_begun;
static cradle_statistics at_the_end; /* of the heap, when that event came */

static void listen(void *data, const cradle_event *event) {
  (void)data;
  if (event->kind == CRADLE_EVENT_COMPACT_BEGIN) compactions_begun++;
  if (event->kind != CRADLE_EVENT_COMPACT_END) return;
  compaction = *event;
  at_the_end = fixture_stats(&f);
}

static int open_heap(void **state) {
  (void)state;
  cradle_options options;
  fixture_options(&f, &options);
  fixture_unstress(&options);
  options.verify = false;
  options.major_min_bytes = (size_t)1 << 30; /* none but those asked for */
  options.listener = (cradle_listener){listen, NULL};
  fixture_open_with(&f, &options);
  first = end = objects;
  cradle_root_range_add(f.m, &range);
  return 0;
}

static int close_heap(void **state) {
  (void)state;
  cradle_root_range_remove(f.m, &range);
  fixture_close(&f);
  return 0;
}

static size_t count(void) {
  return (size_t)((void **)end - objects);
}

static uint32_t arena_of(const void *object) {
  return (uint32_t)(((uintptr_t)object - inside_old(f.heap)->arenas.base) >> ARENA_SHIFT);
}

/* Fills this many arenas from the lowest up. The objects already there take `taken` bytes. */
static void fill(uint32_t arenas, size_t taken) CRADLE_MAY_COLLECT {
  const crd_old *old = inside_old(f.heap);
  const crd_size_class *class = &old->classes.of[old_class_of(old, OBJECT_BYTES)];
  assert_int_equal(class->bytes, OBJECT_BYTES);
  assert_true(arenas <= MOST_ARENAS);
  size_t spans = (arenas * ARENA_BYTES - taken) / (class->pages * PAGE_BYTES);
  for (size_t left = spans * class->objects; left > 0; left--) {
    string *fresh = cradle_new_array(f.m, T_STRING, CONTENTS_BYTES);
    memset(fresh->byte, (int)(count() % 251), CONTENTS_BYTES);
    *(void **)end = fresh;
    end = (void **)end + 1;
  }
  cradle_collect(f.m, CRADLE_COLLECT_MINOR);
  assert_int_equal(old->arenas.used_end, arenas);
}

/* Leaves each arena this many KiB of its objects, evenly spread, and leaves no arena free. */
static void thin_out(const uint32_t *live_kib) CRADLE_MAY_COLLECT {
  uint32_t due[MOST_ARENAS] = {0};
  for (size_t i = 0; i < count(); i++) {
    uint32_t arena = arena_of(objects[i]);
    due[arena] += live_kib[arena];
    if (due[arena] < ARENA_BYTES / KIB)
      objects[i] = NULL;
    else
      due[arena] -= ARENA_BYTES / KIB;
  }
  cradle_collect(f.m, CRADLE_COLLECT_MAJOR);
  (void)crd_arenas_release(&inside_old(f.heap)->arenas, 0, UINT32_MAX);
  memcpy(addresses, objects, sizeof objects);
}

/* Makes one arena for each number, the first at the lowest address, each with that many KiB of objects. */
#define SHAPE(...) \
  do { \
    static const uint32_t live_kib_[] = {__VA_ARGS__}; \
    fill((uint32_t)(sizeof live_kib_ / sizeof *live_kib_), 0); \
    thin_out(live_kib_); \
  } while (0)

/* Compacts as a full collection does, but only the old generation holds objects. */
static void compact_with(bool all) {
  cradle_statistics before = fixture_stats(&f);
  compactions_begun = 0;
  (void)crd_state_enter(&f.heap->report, HEAP_COLLECTING);
  crd_compact(&f.heap->marking, all);
  crd_nursery_hand_out(&f.heap->young, crd_adapt_hand_out(&f.heap->young));
  crd_state_leave(&f.heap->report, HEAP_MUTATING);
  assert_heap_sound(f.heap);
  cradle_statistics after = fixture_stats(&f);
  assert_int_equal(compactions_begun, 1);
  assert_int_equal(at_the_end.moved_old_bytes, after.moved_old_bytes);
  assert_int_equal(after.compactions - before.compactions, 1);
  assert_int_equal(after.moved_old_objects - before.moved_old_objects, compaction.u.compact.objects);
  assert_int_equal(after.moved_old_bytes - before.moved_old_bytes, compaction.u.compact.bytes);
  assert_int_equal(after.compact_ns - before.compact_ns, compaction.u.compact.duration_ns);
  assert_int_equal(after.old_bytes, before.old_bytes);
}

static void compact(void) {
  compact_with(false);
}

/* Checks that no object is lost, and that exactly the objects in arenas with the letter m have moved. */
static void assert_moved(const char *arenas) {
  uint64_t moved = 0;
  for (size_t i = 0; i < count(); i++) {
    const string *object = objects[i];
    if (object == NULL) continue;
    assert_int_equal(object->length, CONTENTS_BYTES);
    assert_int_equal((unsigned char)object->byte[CONTENTS_BYTES - 1], i % 251);
    bool moves = arenas[arena_of(addresses[i])] == 'm';
    if ((object != addresses[i]) != moves)
      fail_msg("an object of arena %u %s", arena_of(addresses[i]), moves ? "stayed" : "moved");
    moved += moves;
  }
  assert_int_equal(compaction.u.compact.objects, moved);
  assert_int_equal(compaction.u.compact.bytes, moved * OBJECT_BYTES);
}

/* The same, and exactly the arenas whose letter is a dot or an n are in use. Those with an n were not in use before. */
static void assert_left(const char *arenas) {
  uint32_t before = 0, emptied = 0;
  assert_moved(arenas);
  for (uint32_t i = 0; i < MOST_ARENAS; i++) {
    char letter = i < strlen(arenas) ? arenas[i] : ' ';
    bool used = letter == '.' || letter == 'n';
    if ((inside_old(f.heap)->arenas.states[i] == ARENA_USED) != used)
      fail_msg("arena %u is %sin use", i, used ? "not " : "");
    before += letter == '.' || letter == 'm';
    emptied += letter == 'm';
  }
  assert_int_equal(compaction.u.compact.arenas_in_use, before);
  assert_int_equal(compaction.u.compact.arenas_emptied, emptied);
}

/* --- the order --- */

/* All of them in one step of 512 KiB, though the low ones hold less. */
static void what_lives_at_low_addresses_stays(void **state) {
  (void)state;
  SHAPE(520, 560, 600, 640, 680, 720, 760, 800, 840, 880, 920, 960); /* 8,880 KiB have room in five */
  compact();
  assert_left(".....mmmmmmm");
}

/* A step below, the low ones are emptied first, though they are not much sparser; then the highest of the others. */
static void the_sparse_are_emptied_before_the_high(void **state) {
  (void)state;
  SHAPE(480, 480, 480, 480, 560, 560, 560, 560);
  compact();
  assert_left("mmmm...m");
}

static void arenas_without_anything_are_passed_over(void **state) {
  (void)state;
  SHAPE(600, 0, 600, 0, 0, 600, 600);
  compact();
  assert_left(". .  mm");
}

/* --- what is left alone --- */

static void dense_arenas_stay(void **state) {
  (void)state;
  SHAPE(1660, 1660, 1660, 1600);                                       /* 81 %, 78 % */
  assert_true(crd_arenas_ensure_free(&inside_old(f.heap)->arenas, 3)); /* holes enough for all of them */
  compact();
  assert_moved("...m");
  assert_int_equal(inside_old(f.heap)->arenas.states[3], ARENA_FREE);
}

/* Large objects count with all their pages. */
static void arenas_dense_with_large_objects_stay(void **state) {
  (void)state;
  enum { LARGE = 17, PAGES = 25 };
  const void *there[LARGE];
  for (size_t i = 0; i < LARGE; i++) {
    there[i] = cradle_new_array(f.m, T_STRING, PAGES * PAGE_BYTES - sizeof(string));
    cradle_push(f.m, there[i]);
  }
  fill(2, (size_t)LARGE * PAGES * PAGE_BYTES); /* 83 % of the first arena */
  thin_out((const uint32_t[]){0, 300});
  assert_true(crd_arenas_ensure_free(&inside_old(f.heap)->arenas, 3));
  compact();
  assert_moved(".m");
  for (size_t i = LARGE; i-- > 0;) assert_ptr_equal(cradle_pop(f.m), there[i]);
}

/* What is free or can be had: nothing. */
static void nothing_free(void) {
  crd_arenas *arenas = &inside_old(f.heap)->arenas;
  (void)crd_arenas_release(arenas, 0, UINT32_MAX);
  arenas->limit = arenas->committed_count;
}

/* To the last place. */
static void what_fits_the_holes_moves(void **state) {
  (void)state;
  enum { PLACES = 128 * 62 };
  uint32_t in[2] = {0};
  fill(2, 0);
  assert_int_equal(count(), 2 * PLACES);
  thin_out((const uint32_t[]){1150, 1000});
  for (size_t i = 0; i < count(); i++)
    if (objects[i] != NULL) in[arena_of(objects[i])]++;
  for (size_t i = 0; in[0] + in[1] > PLACES + 1; i++)
    if (objects[i] != NULL && arena_of(objects[i]) == 1) objects[i] = NULL, in[1]--;
  cradle_collect(f.m, CRADLE_COLLECT_FULL);
  nothing_free();
  memcpy(addresses, objects, sizeof objects);
  compact();
  assert_left("..");
  for (size_t i = 0; in[0] + in[1] > PLACES; i++)
    if (objects[i] != NULL && arena_of(objects[i]) == 1) objects[i] = NULL, in[1]--;
  cradle_collect(f.m, CRADLE_COLLECT_FULL);
  memcpy(addresses, objects, sizeof objects);
  compact();
  assert_left(".m");
}

/* The objects around it stay, too; a less sparse arena, whose objects fit elsewhere, is emptied. */
static void a_large_object_that_fits_nowhere_keeps_its_arena(void **state) {
  (void)state;
  enum { PAGES = 112 };
  string *large = cradle_new_array(f.m, T_STRING, PAGES * PAGE_BYTES - sizeof *large);
  CRADLE_ROOT(f.m, large);
  const string *there = large;
  fill(3, (size_t)PAGES * PAGE_BYTES);
  thin_out((const uint32_t[]){50, 1000, 900});
  nothing_free();
  compact();
  assert_left("..m");
  assert_ptr_equal(large, there);
}

/* The ends of spans have room for no object. When they were counted as holes, two arenas were chosen to be emptied into
 * a full one, and none was emptied. */
static void the_ends_of_spans_are_no_holes(void **state) {
  (void)state;
  fill(3, 0);
  for (size_t i = 1; i + 1 < count(); i++)
    if (arena_of(objects[i]) != 1) objects[i] = NULL;
  cradle_collect(f.m, CRADLE_COLLECT_FULL);
  nothing_free();
  memcpy(addresses, objects, sizeof objects);
  compact();
  assert_left("..m");
}

/* Nor are places of another size: two arenas, of which each has room for all that is in the other, and none in the
 * rest. The pages around it have room for what does not fit elsewhere. */
static void places_of_another_size_are_no_holes(void **state) {
  (void)state;
  enum { PAIRS = 2 * ARENA_BYTES / sizeof(pair) / 4 * 3 };
  fill(2, 0);
  pair *first_pair = cradle_new(f.m, T_PAIR, sizeof(pair)), *last = first_pair, *list = first_pair;
  CRADLE_ROOT(f.m, first_pair);
  CRADLE_ROOT(f.m, list);
  for (int i = 0; i < PAIRS; i++) {
    last = cradle_new(f.m, T_PAIR, sizeof(pair));
    last->rest = list;
    list = last;
  }
  cradle_collect(f.m, CRADLE_COLLECT_MINOR);
  assert_int_equal(arena_of(first_pair) + arena_of(list), 2 + 3);
  cradle_store(f.m, list, &list->rest, NULL);
  thin_out((const uint32_t[]){1000, 1900});
  nothing_free();
  compact();
  assert_int_equal(arena_of(first_pair), arena_of(list));
  assert_int_equal(compaction.u.compact.arenas_emptied, 2);
  assert_int_equal(inside_old(f.heap)->arenas.states[0], ARENA_FREE);
}

/* The others around it, too: the arena would not be empty. */
static void an_arena_with_a_pinned_object_stays(void **state) {
  (void)state;
  SHAPE(200, 200, 200, 200);
  size_t last = count() - 1;
  while (objects[last] == NULL) last--;
  void *pinned = cradle_pin(f.m, objects[last]);
  compact();
  cradle_unpin(f.m, pinned);
  assert_left("mmm.");
}

/* What is free is all that can be had. */
static void only_free(uint32_t count) {
  crd_arenas *arenas = &inside_old(f.heap)->arenas;
  assert_true(crd_arenas_ensure_free(arenas, count));
  arenas->limit = arenas->committed_count;
  assert_int_equal(arenas->free_count, count);
}

/* Holes do not count where every object is to move, since none of what is in use is to stay; the last free arena
 * does. */
static void everything_moves_where_there_is_room_for_it(void **state) {
  (void)state;
  SHAPE(600, 600);
  compact_with(true);
  assert_moved("..");
  (void)crd_arenas_release(&inside_old(f.heap)->arenas, 0, UINT32_MAX);
  only_free(1);
  compact_with(true);
  assert_left("mmn");
}

/* Objects of 32 bytes leave none free. */
static void so_do_arenas_that_are_full_to_the_last_byte(void **state) {
  (void)state;
  enum { BYTES = 32, COUNT = 2 * ARENA_BYTES / BYTES };
  for (size_t i = 0; i < COUNT; i++) {
    *(void **)end = cradle_new_array(f.m, T_STRING, BYTES - sizeof(string));
    end = (void **)end + 1;
  }
  cradle_collect(f.m, CRADLE_COLLECT_FULL);
  assert_int_equal(fixture_stats(&f).old_bytes, 2 * ARENA_BYTES);
  assert_int_equal(inside_old(f.heap)->arenas.used_end, 2);
  memcpy(addresses, objects, sizeof objects);
  assert_true(crd_arenas_ensure_free(&inside_old(f.heap)->arenas, 3));
  compact_with(true);
  assert_int_equal(compaction.u.compact.objects, COUNT);
  for (size_t i = 0; i < COUNT; i++) assert_ptr_not_equal(objects[i], addresses[i]);
}

static void a_large_object_moves_into_the_last_free_arena(void **state) {
  (void)state;
  string *large = cradle_new_array(f.m, T_STRING, 300 * PAGE_BYTES);
  CRADLE_ROOT(f.m, large);
  memset(large->byte, 7, large->length);
  cradle_collect(f.m, CRADLE_COLLECT_FULL);
  (void)crd_arenas_release(&inside_old(f.heap)->arenas, 0, UINT32_MAX);
  assert_int_equal(arena_of(large), 0);
  only_free(1);
  compact_with(true);
  assert_int_equal(arena_of(large), 1);
  assert_int_equal(large->byte[300 * PAGE_BYTES - 1], 7);
  assert_int_equal(inside_old(f.heap)->arenas.states[0], ARENA_FREE);
}

/* If every object is to move, all but the pinned one do, and the places around the pinned one are used again. */
static void but_not_what_is_around_it_if_everything_is_to_move(void **state) {
  (void)state;
  SHAPE(1000, 1000);
  size_t middle = 0;
  while (objects[middle] == NULL || arena_of(objects[middle]) != 1) middle++;
  uintptr_t pinned = (uintptr_t)cradle_pin(f.m, objects[middle]);
  assert_true(crd_arenas_ensure_free(&inside_old(f.heap)->arenas, 3)); /* as many as could be needed */
  compact_with(true);
  for (size_t i = 0; i < count(); i++)
    if (objects[i] != NULL) assert_true((objects[i] == addresses[i]) == (i == middle));
  const string *fresh = cradle_new_array(f.m, T_STRING, CONTENTS_BYTES);
  CRADLE_ROOT(f.m, fresh);
  cradle_collect(f.m, CRADLE_COLLECT_MINOR);
  assert_true((uintptr_t)fresh / PAGE_BYTES == pinned / PAGE_BYTES);
  cradle_unpin(f.m, (void *)pinned);
}

/* Objects that share the last arena of an object longer than an arena may not move, either. */
static void an_arena_with_the_end_of_a_long_object_stays(void **state) {
  (void)state;
  string *long_one = cradle_new_array(f.m, T_STRING, ARENA_BYTES + ARENA_BYTES / 8 - sizeof(string));
  CRADLE_ROOT(f.m, long_one);
  const string *there = long_one;
  fill(4, ARENA_BYTES + ARENA_BYTES / 8);
  thin_out((const uint32_t[]){0, 300, 400, 400});
  compact();
  assert_ptr_equal(long_one, there);
  assert_left("..mm"); /* into what is behind the end */
  assert_true(crd_arenas_ensure_free(&inside_old(f.heap)->arenas, 4));
  compact_with(true);
  assert_ptr_equal(long_one, there);
  for (size_t i = 0; i < count(); i++)
    if (objects[i] != NULL && arena_of(addresses[i]) == 1) assert_ptr_equal(objects[i], addresses[i]);
}

/* The holes are large enough together but lie in spans of another size, and no memory is free or can be obtained. */
static void what_finds_no_place_stays(void **state) {
  (void)state;
  enum { LIST = 10000 };
  crd_arenas *arenas = &inside_old(f.heap)->arenas;
  fill(2, 0);
  pair *list = NULL;
  CRADLE_ROOT(f.m, list);
  for (int i = 0; i < LIST; i++) {
    pair *fresh = cradle_new(f.m, T_PAIR, sizeof *fresh);
    fresh->rest = list;
    list = fresh;
  }
  cradle_collect(f.m, CRADLE_COLLECT_MINOR);
  assert_int_equal(arena_of(list), 2);
  string *large = cradle_new_array(f.m, T_STRING, 20 * PAGE_BYTES);
  CRADLE_ROOT(f.m, large);
  assert_int_equal(arena_of(large), 2);
  thin_out((const uint32_t[]){1700, 1700});
  const void *there = list, *large_there = large;
  arenas->limit = arenas->committed_count;
  compact();
  arenas->limit = arenas->capacity;
  assert_ptr_equal(list, there);
  assert_ptr_equal(large, large_there);
  for (int i = 0; i < LIST; i++, list = list->rest) assert_int_equal(arena_of(list), 2);
  assert_null(list);
  assert_left("...");
}

/* --- the order of what moves --- */

enum { CHILDREN = 2, TABLE_ITEMS = 8, OTHERS = 3 };

static vector *table_of(const pair *node) {
  return (vector *)(void *)node->first;
}
static pair *new_node(void) CRADLE_MAY_COLLECT {
  pair *node = CRADLE_NEW(f.m, pair, T_PAIR);
  CRADLE_ROOT(f.m, node);
  vector *table = cradle_new_array(f.m, T_VECTOR, TABLE_ITEMS);
  cradle_store(f.m, node, &node->first, table);
  return node;
}

/* A tree of objects, each with a table that leads to its children, and with some others of the same sizes behind it. */
static pair *new_tree(unsigned depth) CRADLE_MAY_COLLECT {
  pair *node = new_node();
  CRADLE_ROOT(f.m, node);
  for (int i = 0; i < OTHERS; i++) {
    pair *other = new_node();
    cradle_store(f.m, other, &other->rest, node->rest);
    cradle_store(f.m, node, &node->rest, other);
  }
  for (int i = 0; i < CHILDREN && depth > 0; i++) {
    pair *child = new_tree(depth - 1);
    vector *table = table_of(node);
    cradle_store(f.m, table, &table->item[i], child);
  }
  return node;
}

typedef struct tree_walk {
  uintptr_t node, table; /* those visited last */
  size_t steps, backwards;
} tree_walk;

/* Counts the steps to a lower address, from object to object and from table to table. drops: drops the others. */
static void walk_tree(tree_walk *walk, pair *node, bool drops) {
  const vector *table = table_of(node);
  walk->steps += 2;
  walk->backwards += ((uintptr_t)node < walk->node) + ((uintptr_t)table < walk->table);
  walk->node = (uintptr_t)node;
  walk->table = (uintptr_t)table;
  if (drops) cradle_store(f.m, node, &node->rest, NULL);
  for (int i = 0; i < CHILDREN && table->item[i] != NULL; i++) walk_tree(walk, table->item[i], drops);
}

/* [compact.4] Each arena that is emptied costs the walk two steps backwards at most for each size: one to where its
 * objects are now, and one from there. */
static void the_order_of_a_walk_is_kept(void **state) {
  (void)state;
  tree_walk before = {0, 0, 0, 0}, after = before, last = before;
  pair *root = new_tree(14);
  CRADLE_ROOT(f.m, root);
  cradle_collect(f.m, CRADLE_COLLECT_MINOR);
  walk_tree(&before, root, true);
  cradle_collect(f.m, CRADLE_COLLECT_COMPACTING);
  walk_tree(&after, root, false);
  assert_in_range(compaction.u.compact.objects, after.steps / 2, after.steps);
  assert_in_range(after.backwards, 0, before.backwards + 4 * compaction.u.compact.arenas_emptied);
  assert_true(crd_arenas_ensure_free(&inside_old(f.heap)->arenas, 5));
  compact_with(true);
  walk_tree(&last, root, false);
  assert_int_equal(compaction.u.compact.objects, last.steps);
  assert_in_range(last.backwards, 0, after.backwards);
}

/* --- what is left behind --- */

/* With an instrument on, the word that a stale reference leads to says why the object is gone. */
static void with_the_verifier_what_was_left_is_poisoned(void **state) {
  (void)state;
  for (int verify = 0; verify < 2; verify++) {
    f.heap->options.verify = verify;
    end = first;
    cradle_collect(f.m, CRADLE_COLLECT_FULL);
    SHAPE(200, 200);
    compact();
    assert_left(".m");
    for (size_t i = 0; i < count(); i++)
      if (objects[i] != addresses[i])
        for (size_t word = 0; word < OBJECT_BYTES / 8; word++)
          assert_true((((cradle_word *)addresses[i])[word] == POISON_COMPACTED) == verify);
  }
}

/* So is what a large object left. */
static void what_a_large_object_left_is_poisoned(void **state) {
  (void)state;
  enum { BYTES = 300 * PAGE_BYTES - sizeof(string) };
  for (int verify = 0; verify < 2; verify++) {
    string *large = cradle_new_array(f.m, T_STRING, BYTES);
    CRADLE_ROOT(f.m, large);
    memset(large->byte, 7, large->length);
    cradle_collect(f.m, CRADLE_COLLECT_FULL);
    assert_true(crd_arenas_ensure_free(&inside_old(f.heap)->arenas, 2));
    f.heap->options.verify = verify;
    const cradle_word *left = (const cradle_word *)(const void *)large;
    compact_with(true);
    assert_ptr_not_equal(large, left);
    for (size_t word = 0; word < 300 * PAGE_BYTES / 8; word++) assert_int_equal(left[word] == POISON_COMPACTED, verify);
    f.heap->options.verify = false;
    large = NULL;
    cradle_collect(f.m, CRADLE_COLLECT_FULL);
  }
}

/* Of the smallest and of the largest size. */
static void objects_of_every_size_move(void **state) {
  (void)state;
  static const size_t sizes[] = {16, 24, SMALL_MAX_BYTES};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    end = first = objects;
    size_t spans = 3 * ARENA_BYTES / 2 / sizes[i];
    vector *all = cradle_new_array(f.m, T_VECTOR, spans);
    CRADLE_ROOT(f.m, all);
    for (size_t k = 0; k < spans; k++) {
      string *fresh = cradle_new_array(f.m, T_STRING, sizes[i] - sizeof(string));
      cradle_store(f.m, all, &all->item[k], fresh);
    }
    cradle_collect(f.m, CRADLE_COLLECT_FULL);
    for (size_t k = 0; k < spans; k++)
      if (k % 8 != 0) cradle_store(f.m, all, &all->item[k], NULL);
    cradle_collect(f.m, CRADLE_COLLECT_FULL);
    nothing_free();
    compact();
    assert_true(compaction.u.compact.arenas_emptied > 0);
    assert_true(compaction.u.compact.objects > 0);
    for (size_t k = 0; k < spans; k += 8) assert_int_equal(((string *)all->item[k])->length, sizes[i] - sizeof(string));
    all = NULL;
    inside_old(f.heap)->arenas.limit = inside_old(f.heap)->arenas.capacity;
    cradle_collect(f.m, CRADLE_COLLECT_FULL);
  }
}

/* As many pages as it has are free, but nowhere in a row: it stays, with what refers to it. */
static void a_large_object_without_a_long_run_stays(void **state) {
  (void)state;
  enum { PAGES = 100 };
  fill(1, 0);
  uint32_t span_pages = inside_old(f.heap)->classes.of[old_class_of(inside_old(f.heap), OBJECT_BYTES)].pages;
  for (size_t i = 0; i < count(); i++)
    if (((uintptr_t)objects[i] - inside_old(f.heap)->arenas.base) / PAGE_BYTES / span_pages % 2) objects[i] = NULL;
  cradle_collect(f.m, CRADLE_COLLECT_FULL);
  string *large = cradle_new_array(f.m, T_STRING, PAGES * PAGE_BYTES - sizeof *large);
  CRADLE_ROOT(f.m, large);
  cradle_collect(f.m, CRADLE_COLLECT_FULL);
  const string *there = large;
  assert_int_equal(arena_of(large), 1);
  nothing_free();
  memcpy(addresses, objects, sizeof objects);
  compact();
  assert_ptr_equal(large, there);
  assert_int_equal(compaction.u.compact.objects, 0);
  assert_int_equal(compaction.u.compact.arenas_emptied, 0);
  assert_moved("..");
}

/* One that fills its arena, too, if every object is to move. */
static void an_object_of_exactly_an_arena_moves(void **state) {
  (void)state;
  string *large = cradle_new_array(f.m, T_STRING, ARENA_BYTES - sizeof(string));
  CRADLE_ROOT(f.m, large);
  memset(large->byte, 7, large->length);
  cradle_collect(f.m, CRADLE_COLLECT_FULL);
  assert_true(crd_arenas_ensure_free(&inside_old(f.heap)->arenas, 2));
  const string *there = large;
  compact_with(true);
  assert_ptr_not_equal(large, there);
  assert_int_equal(large->byte[large->length - 1], 7);
}

/* Also right after a promotion, when the collector has places in hand that hold no object yet; and all that refers to
 * what moves follows. */
static void what_refers_to_it_follows(void **state) {
  (void)state;
  SHAPE(300, 300);
  size_t last = count() - 1;
  while (objects[last] == NULL) last--;
  cradle_handle handle = cradle_handle_new(f.m, objects[last]);
  uint64_t id = cradle_id(f.m, objects[last]);
  *(void **)end = cradle_new_array(f.m, T_STRING, CONTENTS_BYTES);
  memset(((string *)*(void **)end)->byte, (int)(count() % 251), CONTENTS_BYTES);
  end = (void **)end + 1;
  cradle_collect(f.m, CRADLE_COLLECT_MINOR);
  memcpy(addresses, objects, sizeof objects);
  assert_true(crd_arenas_ensure_free(&inside_old(f.heap)->arenas, 3));
  uint64_t begin_ns = crd_platform_now_ns();
  compact_with(true);
  assert_in_range(compaction.u.compact.duration_ns, 1, crd_platform_now_ns() - begin_ns);
  for (size_t i = 0; i < count(); i++)
    if (objects[i] != NULL) assert_ptr_not_equal(objects[i], addresses[i]);
  assert_ptr_equal(cradle_handle_get(f.m, handle), objects[last]);
  assert_int_equal(cradle_id(f.m, objects[last]), id);
  cradle_handle_free(f.m, handle);
}

/* Memory that one deep collection needed does not stay resident. */
static void the_stacks_give_their_pages_back(void **state) {
  (void)state;
  enum { WORDS = 100000 };
  crd_word_stack *const stacks[] = {&inside_local(f.heap)->remembered, &inside_local(f.heap)->recorded,
                                    inside_mark_stack(f.heap)};
  for (size_t i = 0; i < 3; i++) {
    cradle_word *top = stacks[i]->top;
    for (size_t word = 0; word < WORDS; word++) assert_true(word_stack_push(stacks[i], 0));
    stacks[i]->top = top;
  }
  cradle_collect(f.m, CRADLE_COLLECT_COMPACTING);
  for (size_t i = 0; i < 3; i++) {
    crd_pages_backing backing;
    size_t committed = word_stack_committed(stacks[i]);
    assert_true(committed >= WORDS * 8);
    if (!crd_pages_backing_of(stacks[i]->base, committed, &backing)) skip();
    assert_in_range(backing.resident_bytes, 0, WORDS);
  }
}

/* --- when --- */

static bool is_due(uint32_t used, uint32_t threshold, uint32_t external, uint32_t held) {
  static cradle_heap heap; /* of which only the sizes are looked at */
  heap.space.old.used_bytes = used * ARENA_BYTES;
  heap.marking.pacing.threshold = threshold * ARENA_BYTES;
  heap.marking.external_bytes = external * ARENA_BYTES;
  heap.space.old.arenas.committed_count = held + 3;
  heap.space.old.arenas.free_count = 3;
  heap.marking.space = &heap.space;
  heap.marking.old = &heap.space.old;
  return crd_compact_is_due(&heap.marking);
}

static void it_is_due_when_a_quarter_more_is_held_than_will_be_used(void **state) {
  (void)state;
  assert_false(is_due(500, 1000, 0, 1250));
  assert_true(is_due(500, 1000, 0, 1251));
  assert_true(is_due(500, 1100, 100, 1251)); /* what is outside of the heap takes none of it */
  assert_false(is_due(1000, 900, 0, 1250));  /* a threshold below what lives says nothing */
  assert_true(is_due(1000, 900, 0, 1251));
  assert_true(is_due(1000, 900, 950, 1251));
  assert_false(is_due(10, 10, 0, 26)); /* less than 17 arenas could go */
  assert_true(is_due(10, 10, 0, 27));
  assert_false(is_due(0, 0, 0, 0));
}

static uint64_t compactions_in(int times) {
  uint64_t before = fixture_stats(&f).compactions;
  (void)crd_state_enter(&f.heap->report, HEAP_COLLECTING);
  for (int i = 0; i < times; i++) crd_compact_if_due(&f.heap->marking);
  crd_nursery_hand_out(&f.heap->young, crd_adapt_hand_out(&f.heap->young));
  crd_state_leave(&f.heap->report, HEAP_MUTATING);
  return fixture_stats(&f).compactions - before;
}

/* Every arena has a pinned object, so no arena is released however often compaction tries. */
static void in_vain_it_is_tried_more_and_more_rarely(void **state) {
  (void)state;
  void *pinned[MOST_ARENAS];
  fill(MOST_ARENAS, 0);
  for (size_t i = 0, at = 0; at < MOST_ARENAS; i++) {
    if (arena_of(objects[i]) == at)
      pinned[at++] = cradle_pin(f.m, objects[i]);
    else
      objects[i] = NULL;
  }
  end = objects + 1;
  cradle_collect(f.m, CRADLE_COLLECT_FULL);
  inside_pacing(f.heap)->threshold = 0;
  assert_true(crd_compact_is_due(&f.heap->marking));
  assert_int_equal(compactions_in(1), 1);
  for (int wait = 1; wait <= 64; wait *= 2) {
    assert_int_equal(compactions_in(wait), 0);
    assert_int_equal(compactions_in(1), 1);
  }
  assert_int_equal(compactions_in(64), 0); /* the longest */
  for (int i = 0; i < MOST_ARENAS; i++) cradle_unpin(f.m, pinned[i]);
  assert_int_equal(compactions_in(1), 1);
  assert_false(crd_compact_is_due(&f.heap->marking));
  assert_int_equal(f.heap->marking.compaction.backoff, 1);
}

/* What is dense stays even then, and without need nothing is done. */
static void it_moves_what_is_sparse_only_if_it_is_due(void **state) {
  (void)state;
  uint32_t live_kib[MOST_ARENAS] = {2048};
  for (int i = 1; i < MOST_ARENAS; i++) live_kib[i] = 8;
  fill(MOST_ARENAS, 0);
  thin_out(live_kib);
  inside_pacing(f.heap)->threshold = (uint64_t)1 << 40;
  assert_false(crd_compact_is_due(&f.heap->marking));
  assert_int_equal(compactions_in(3), 0);
  inside_pacing(f.heap)->threshold = 0;
  assert_true(crd_arenas_ensure_free(&inside_old(f.heap)->arenas, 2)); /* there is room for it */
  assert_true(crd_compact_is_due(&f.heap->marking));
  assert_int_equal(compactions_in(1), 1);
  for (size_t i = 0; i < count(); i++)
    if (objects[i] != NULL && arena_of(addresses[i]) == 0) assert_ptr_equal(objects[i], addresses[i]);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, open_heap, close_heap)

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(what_lives_at_low_addresses_stays),
      TEST(the_sparse_are_emptied_before_the_high),
      TEST(arenas_without_anything_are_passed_over),
      TEST(dense_arenas_stay),
      TEST(arenas_dense_with_large_objects_stay),
      TEST(what_fits_the_holes_moves),
      TEST(a_large_object_that_fits_nowhere_keeps_its_arena),
      TEST(the_ends_of_spans_are_no_holes),
      TEST(places_of_another_size_are_no_holes),
      TEST(an_arena_with_a_pinned_object_stays),
      TEST(everything_moves_where_there_is_room_for_it),
      TEST(so_do_arenas_that_are_full_to_the_last_byte),
      TEST(a_large_object_moves_into_the_last_free_arena),
      TEST(but_not_what_is_around_it_if_everything_is_to_move),
      TEST(an_arena_with_the_end_of_a_long_object_stays),
      TEST(what_finds_no_place_stays),
      TEST(the_order_of_a_walk_is_kept),
      TEST(with_the_verifier_what_was_left_is_poisoned),
      TEST(what_a_large_object_left_is_poisoned),
      TEST(objects_of_every_size_move),
      TEST(a_large_object_without_a_long_run_stays),
      TEST(an_object_of_exactly_an_arena_moves),
      TEST(what_refers_to_it_follows),
      TEST(the_stacks_give_their_pages_back),
      cmocka_unit_test(it_is_due_when_a_quarter_more_is_held_than_will_be_used),
      TEST(it_moves_what_is_sparse_only_if_it_is_due),
      TEST(in_vain_it_is_tried_more_and_more_rarely),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
