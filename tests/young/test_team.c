/* Tests minor collections with a team (gc/young/team.h): graphs of every shape come out as they were, whoever promoted
 * what. Each test runs with one helper and with three, first as the machine lets them go; these are the collector's
 * threads, or guests: threads with mutators that stand. In test_team_small, which
 * has small limits, it also runs with delays and in turns (tests/model/turns.h). A test in which no helper promoted
 * anything has failed. */
#include "tests/support/heap_fixture.h"

#include <pthread.h>
#include <sched.h>
#include <time.h>

#include "tests/inside.h"
#include "tests/model/turns.h"
#include "tests/support/forks.h"

/* --- the heap --- */

/* A node's number is in the word where its body has the link, and so is the length of each array here. */
enum { T_NODE = T_COUNT, T_MIXED, T_ARRAY, T_PLAIN, T_OWNER, T_WEAK, T_FINAL, T_PART, T_ALL };
#define QUEUE 1
#define SLOTS 3
typedef struct node {
  uint64_t header, number;
  struct node *slot[SLOTS];
} node;
typedef struct array {
  uint64_t header, length, number;
  void *item[];
} array;

/* How a test runs. */
enum { AS_IT_COMES, DELAYED, IN_TURNS, ORDERS };
typedef struct way {
  uint32_t helpers;
  int order;
  uint64_t seed;
  bool guests;
} way;
static way running;
static fixture f;
static pthread_t program;
static uint32_t callbacks, callbacks_open;

static void trace_owner(void *user, void *object, cradle_visitor *visitor) {
  (void)user;
  node *owner = object;
  /* Under stress any mutator may lead. */
  bool leads = running.guests ? crd_world_is_mine(&f.heap->space) : pthread_equal(pthread_self(), program);
  if (!leads) fail_msg("[team.4] a helper calls a trace callback");
  if (callbacks_open++ != 0) fail_msg("a trace callback runs within another");
  for (int i = 0; i < SLOTS; i++) cradle_visit(visitor, &owner->slot[i], CRADLE_KIND_REFERENCE);
  /* A callback may ask for types, so what it has visited must be whole. */
  for (int i = 0; i < SLOTS; i++)
    if (owner->slot[i] != NULL && cradle_type_of(owner->slot[i]) < T_COUNT) fail_msg("a callback sees half a copy");
  callbacks_open--;
  callbacks++;
}

/* The first slot is a fixed one. */
static void trace_part(void *user, void *object, cradle_visitor *visitor) {
  (void)user;
  node *part = object;
  if (__atomic_load_n(&f.heap->young.team.mail, __ATOMIC_RELAXED) != NULL)
    fail_msg("[team.4] a trace callback is called while others promote");
  for (int i = 1; i < SLOTS; i++) cradle_visit(visitor, &part->slot[i], CRADLE_KIND_REFERENCE);
  callbacks++;
}

static const cradle_type own_types[] = {
    {.name = "node", .size = sizeof(node), .references = 7 << 2},
    {.name = "mixed", .size = sizeof(node), .references = 1 << 2, .values = 6 << 2},
    {.name = "array",
     .size = offsetof(array, item),
     .items = CRADLE_ITEMS_REFERENCES,
     .item_size = 8,
     .length_offset = offsetof(array, length)},
    {.name = "plain",
     .size = offsetof(array, item),
     .items = CRADLE_ITEMS_BYTES,
     .item_size = 8,
     .length_offset = offsetof(array, length)},
    {.name = "owner", .size = sizeof(node), .trace = trace_owner},
    {.name = "weak", .size = sizeof(node), .weak = 7 << 2},
    {.name = "final", .size = sizeof(node), .references = 7 << 2, .finalizer = QUEUE},
    {.name = "part", .size = sizeof(node), .references = 1 << 2, .trace = trace_part},
};

static bool is_array(uint32_t type) {
  return type == T_ARRAY || type == T_PLAIN;
}

static size_t nursery_bytes;
static void (*change)(cradle_options *options);

static void set_order(void) {
  if (running.order == DELAYED) (void)turns_delay(running.seed);
  if (running.order == IN_TURNS) (void)turns_take(running.seed);
}

/* Guests: other mutators, which do nothing but stand. */
static pthread_t guests[3];
static bool guests_go;       /* atomic */
static uint32_t guests_here; /* atomic */
static const cradle_hardware machine = {
    .page_bytes = 4096, .l2_bytes = 1 << 20, .memory_bytes = 1 << 30, .processors = 8};

CRADLE_UNCHECKED_COLLECTION static void *be_guest(void *data) {
  cradle_mutator *m = cradle_mutator_new(data);
  assert_non_null(m);
  __atomic_fetch_add(&guests_here, 1, __ATOMIC_RELAXED);
  while (!__atomic_load_n(&guests_go, __ATOMIC_RELAXED)) {
    cradle_safepoint(m);
    crd_thread_relax();
  }
  cradle_mutator_free(m);
  return NULL;
}

CRADLE_UNCHECKED_COLLECTION static void wait_for_guests(void) {
  __atomic_store_n(&guests_go, false, __ATOMIC_RELAXED);
  __atomic_store_n(&guests_here, 0, __ATOMIC_RELAXED);
  for (uint32_t i = 0; i < running.helpers; i++)
    assert_int_equal(pthread_create(&guests[i], NULL, be_guest, f.heap), 0);
  while (__atomic_load_n(&guests_here, __ATOMIC_RELAXED) != running.helpers) CRADLE_PARKED(f.m)(void) sched_yield();
}

CRADLE_UNCHECKED_COLLECTION static void end_guests(void) {
  __atomic_store_n(&guests_go, true, __ATOMIC_RELAXED);
  CRADLE_PARKED(f.m)
  for (uint32_t i = 0; i < running.helpers; i++) assert_int_equal(pthread_join(guests[i], NULL), 0);
}

CRADLE_UNCHECKED_COLLECTION static void close_team(void) {
  turns_end();
  if (running.guests) end_guests();
  cradle_mutator_free(f.m);
  cradle_heap_free(f.heap);
}

/* The marker's thread is made as marking begins, other helpers in the next collection. */
CRADLE_UNCHECKED_COLLECTION static void open_heap(void) {
  cradle_options options;
  fixture_options(&f, &options);
  fixture_unstress(&options);
  options.gc_threads = running.helpers;
  options.nursery_bytes = nursery_bytes == 0 ? (size_t)4 << 20 : nursery_bytes;
  if (running.guests) {
    options.gc_threads = 0;
    options.mutators = running.helpers + 1;
    options.hardware = &machine;
  }
  if (change != NULL) change(&options);
  fixture_open_with(&f, &options);
  for (size_t i = 0; i < T_ALL - T_COUNT; i++) assert_int_equal(cradle_type_add(f.heap, &own_types[i]), T_COUNT + i);
  turns_always(f.heap);
  program = pthread_self();
  callbacks = 0;
  set_order();
  if (running.guests) wait_for_guests();
  while (!cradle_collect_step(f.m, 0)) continue;
  cradle_collect(f.m, CRADLE_COLLECT_MINOR);
}

/* A heap that has all its helpers. */
CRADLE_UNCHECKED_COLLECTION static void open_team(void) {
  open_heap();
  if (f.heap->marking.marker.takes_turns) {
    close_team();
    print_message("the process has one processor: nobody helps\n");
    skip();
  }
  const crd_team *team = &f.heap->young.team;
  assert_int_equal(running.guests ? team->guests : team->count, running.helpers);
}

static uint64_t helped(void) {
  return fixture_stats(&f).helped_objects;
}

/* --- the graph, and what it should be: objects have numbers --- */

#define OBJECTS_MOST 300000
typedef struct shape {
  uint32_t type, count; /* count: its slots */
  uint32_t *to;         /* numbers; 0: none */
} shape;
static shape shapes[OBJECTS_MOST];
static void *objects[OBJECTS_MOST]; /* roots while the graph is made */
static uint32_t count;
static void **roots_base = objects, **roots_top;
static cradle_root_range roots;

static void begin_graph(void) {
  count = 1;
  objects[0] = NULL;
  roots_top = objects;
  roots = CRADLE_ROOT_RANGE(roots_base, roots_top, CRADLE_KIND_REFERENCE, "objects");
  cradle_root_range_add(f.m, &roots);
}

static void end_graph(void) {
  cradle_root_range_remove(f.m, &roots);
  for (uint32_t i = 1; i < count; i++) free(shapes[i].to);
}

static void **slot_of(uint32_t number, uint32_t i) {
  void *object = objects[number];
  return is_array(shapes[number].type) ? &((array *)object)->item[i] : (void **)&((node *)object)->slot[i];
}

static uint32_t note(uint32_t type, uint32_t slots, void *object) {
  assert_true(count < OBJECTS_MOST);
  shapes[count] = (shape){type, slots, slots == 0 ? NULL : calloc(slots, sizeof(uint32_t))};
  objects[count] = object;
  roots_top = objects + count + 1;
  return count++;
}

CRADLE_MAY_COLLECT static uint32_t add(uint32_t type) {
  bool is_plain = type != T_FINAL && type != T_WEAK;
  void *object = is_plain ? cradle_new(f.m, type, sizeof(node)) : (void *)CRADLE_NEW_WITH(f.m, node, type, 0);
  ((node *)object)->number = count;
  for (int i = 0; i < SLOTS; i++) ((node *)object)->slot[i] = NULL;
  return note(type, SLOTS, object);
}

CRADLE_MAY_COLLECT static uint32_t add_array(uint32_t type, uint32_t length) {
  array *object = cradle_new_array(f.m, type, length);
  object->number = count;
  return note(type, type == T_PLAIN ? 0 : length, object);
}

static void put(uint32_t holder, uint32_t i, uint32_t target) {
  cradle_store(f.m, objects[holder], slot_of(holder, i), objects[target]);
  shapes[holder].to[i] = target;
}

static void differ(uint32_t number, const char *why) {
  fail_msg("object %u, of type %u: %s (%u helpers, order %d, seed %llu)", number, shapes[number].type, why,
           running.helpers, running.order, (unsigned long long)running.seed);
}

static void check_object(uint32_t number) {
  const void *object = objects[number];
  if (cradle_type_of(object) != shapes[number].type) differ(number, "another type");
  if (is_array(shapes[number].type)) {
    if (((const array *)object)->number != number) differ(number, "another array");
    if (shapes[number].type == T_ARRAY && ((const array *)object)->length != shapes[number].count)
      differ(number, "[team.2] another length");
  } else if (((const node *)object)->number != number) {
    differ(number, "another object");
  }
}

static uint32_t walked[OBJECTS_MOST], walked_count;
static bool seen[OBJECTS_MOST];

static void come_to(uint32_t number, void *object) {
  if (seen[number]) {
    if (objects[number] != object) differ(number, "[team.1] it is in two places");
    return;
  }
  seen[number] = true;
  objects[number] = object;
  walked[walked_count++] = number;
}

/* Compares what the first `kept` objects lead to, which are the roots. Gives a hash of the addresses in the arenas. */
static uint64_t check_graph(uint32_t kept) {
  uint64_t hash = 0;
  walked_count = 0;
  memset(seen, 0, count);
  for (uint32_t i = 1; i <= kept; i++) come_to(i, objects[i]);
  for (uint32_t at = 0; at < walked_count; at++) {
    uint32_t number = walked[at];
    check_object(number);
    hash = (hash ^ (address_of(objects[number]) - inside_old(f.heap)->arenas.base)) * UINT64_C(0x9e3779b97f4a7c15);
    for (uint32_t i = 0; i < shapes[number].count; i++) {
      void *is = *slot_of(number, i);
      uint32_t should = shapes[number].to[i];
      if ((is == NULL) != (should == 0)) differ(number, should == 0 ? "a slot is not empty" : "a slot is empty");
      if (should != 0) come_to(should, is);
    }
  }
  return hash;
}

/* A minor collection, with the first objects as roots. */
CRADLE_MAY_COLLECT static uint64_t collect_graph(uint32_t kept) {
  roots_top = objects + kept + 1;
  cradle_collect(f.m, CRADLE_COLLECT_MINOR);
  assert_heap_sound(f.heap);
  uint64_t hash = check_graph(kept);
  /* What is not reachable any more must not become a root again. */
  for (uint32_t i = 1; i < count; i++)
    if (!seen[i]) objects[i] = NULL;
  roots_top = objects + count;
  return hash;
}

static uint64_t random_state;
static uint32_t below(uint64_t limit) {
  return (uint32_t)(random_next(&random_state) % limit);
}

/* --- running a test every way --- */

/* Objects that helpers promoted in all tests: the collector's threads, and guests. In turns, the leader waits for them.
 * Otherwise a helper may come too late, so a test is tried again a few times. */
static uint64_t helped_in_all[2];
#define TRIES 5
#define LATE_S 100              /* so late it may be where other programs run */
static bool may_be_alone;       /* the leader may be done before a helper has its turn */
static uint32_t arrays_divided; /* teams whose members claimed items of an array */

static void run_once(void (*body)(void)) {
  for (int tries = 0; tries < TRIES; tries++) {
    open_team();
    begin_graph();
    body();
    uint64_t by_helpers = helped();
    arrays_divided += f.heap->young.team.array != NULL;
    end_graph();
    close_team();
    helped_in_all[running.guests] += by_helpers;
    if (by_helpers != 0) return;
    if (running.order == IN_TURNS && may_be_alone) return;
    if (running.order == IN_TURNS)
      fail_msg("no helper promoted an object (%u helpers, seed %llu)", running.helpers,
               (unsigned long long)running.seed);
  }
}

static void every_way_with(size_t nursery, void (*options)(cradle_options *), void (*body)(void)) {
  static const way ways[] = {{1, AS_IT_COMES, 0, false}, {3, AS_IT_COMES, 0, false}, {1, DELAYED, 1, false},
                             {3, DELAYED, 2, false},     {1, IN_TURNS, 3, false},    {3, IN_TURNS, 5, false},
                             {3, IN_TURNS, 6, false},    {3, AS_IT_COMES, 0, true},  {3, DELAYED, 2, true},
                             {1, IN_TURNS, 9, true},     {3, IN_TURNS, 5, true}};
  bool asks = turns_take(1);
  turns_end();
  nursery_bytes = nursery;
  change = options;
  for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
    if (ways[i].order != AS_IT_COMES && !asks) continue;
    running = ways[i];
    random_state = 7;
    run_once(body);
  }
}
static void every_way(void (*body)(void)) {
  every_way_with(0, NULL, body);
}

/* --- shapes --- */

/* A tree of nodes below one, without the children of the last level. */
CRADLE_MAY_COLLECT static void grow_tree(uint32_t top, uint32_t type, uint32_t nodes) {
  uint32_t first = count;
  for (uint32_t i = 0; i < nodes; i++) {
    uint32_t made = add(type), parent = i < SLOTS ? top : first + (i - SLOTS) / SLOTS;
    put(parent, i % SLOTS, made);
  }
}

CRADLE_MAY_COLLECT static void tree(void) {
  grow_tree(add(T_NODE), T_NODE, 5000);
  (void)collect_graph(1);
  (void)collect_graph(1);
}

static void trees_stay_trees(void **state) {
  (void)state;
  every_way(tree);
}

/* Few objects, to which all bodies refer: all workers reach the same at once. */
CRADLE_MAY_COLLECT static void shared(void) {
  uint32_t top = add(T_NODE), few[8], holders = 6000;
  for (uint32_t i = 0; i < 4; i++) few[i] = add(T_NODE);
  for (uint32_t i = 4; i < 8; i++) few[i] = add_array(T_ARRAY, 3);
  grow_tree(top, T_NODE, holders);
  uint32_t last = count;
  for (uint32_t i = last - holders; i < last; i++)
    for (uint32_t k = 0; k < SLOTS; k++)
      if (shapes[i].to[k] == 0) put(i, k, few[below(8)]);
  (void)collect_graph(1);
}

static void what_all_reach_has_one_copy(void **state) {
  (void)state;
  every_way(shared);
}

/* The length in word 1 becomes a link when another worker has promoted the array. */
CRADLE_MAY_COLLECT static void arrays(void) {
  uint32_t wide = add_array(T_ARRAY, 3000), made[300];
  for (uint32_t i = 0; i < 300; i++) {
    made[i] = add_array(i % 5 == 0 ? T_PLAIN : T_ARRAY, 1 + below(i % 50 == 0 ? 1000 : 30));
    for (uint32_t k = 0; i > 0 && k < shapes[made[i]].count; k++)
      if (below(3) == 0) put(made[i], k, made[below(i)]);
  }
  for (uint32_t i = 0; i < 3000; i++) {
    uint32_t holder = add(T_NODE);
    for (uint32_t k = 0; k < SLOTS; k++) put(holder, k, made[below(300)]);
    put(wide, i, holder);
  }
  (void)collect_graph(1);
}

static void arrays_that_all_meet_keep_their_lengths(void **state) {
  (void)state;
  every_way(arrays);
}

/* Old arrays that are remembered as a whole, and whose items lead to little: they are divided, one at a time. */
CRADLE_MAY_COLLECT static void refilled(void) {
  enum { ARRAYS = 12, LONG = 3000, SHORT = 200 };
  uint32_t top = add_array(T_ARRAY, ARRAYS), old[ARRAYS];
  for (uint32_t i = 0; i < ARRAYS; i++) put(top, i, old[i] = add_array(T_ARRAY, i == 0 ? LONG : SHORT));
  (void)collect_graph(1);
  for (uint32_t i = ARRAYS; i-- > 0;)
    for (uint32_t k = 0; k < shapes[old[i]].count; k++) {
      uint32_t fresh = k % 7 == 0 ? add_array(T_PLAIN, 3) : add(T_NODE);
      put(old[i], k, fresh);
      if (k % 7 == 1) put(fresh, 1, add(T_NODE));
    }
  (void)collect_graph(1);
}

static void a_long_array_is_divided(void **state) {
  (void)state;
  arrays_divided = 0;
  time_t end = time(NULL) + LATE_S;
  do every_way(refilled);
  while (arrays_divided == 0 && time(NULL) < end);
  assert_in_range(arrays_divided, 1, UINT32_MAX);
}

/* Above 8,200 bytes a copy has pages of its own. */
CRADLE_MAY_COLLECT static void long_objects(void) {
  uint32_t wide = add_array(T_ARRAY, 1500), made[40];
  for (uint32_t i = 0; i < 40; i++) {
    made[i] = add_array(i % 2 == 0 ? T_ARRAY : T_PLAIN, 1023 + below(1500));
    for (uint32_t k = 0; k < shapes[made[i]].count; k += 97) put(made[i], k, made[below(i + 1)]);
  }
  for (uint32_t i = 0; i < 1500; i++) {
    uint32_t holder = add(T_NODE);
    for (uint32_t k = 0; k < SLOTS; k++) put(holder, k, made[below(40)]);
    put(wide, i, holder);
  }
  (void)collect_graph(1);
}

static void long_objects_have_one_copy(void **state) {
  (void)state;
  every_way(long_objects);
}

/* Outside the nursery; the largest are recorded from birth. */
CRADLE_MAY_COLLECT static void large_objects(void) {
  static const uint32_t lengths[] = {33000, 36000, 80000};
  for (int round = 0; round < 2; round++) {
    uint32_t wide = add_array(T_ARRAY, 900), large[6];
    for (uint32_t i = 0; i < 6; i++) large[i] = add_array(i == 5 ? T_PLAIN : T_ARRAY, lengths[i % 3]);
    for (uint32_t i = 0; i < 5; i++)
      for (uint32_t k = 0; k < 300; k++) put(large[i], k * (shapes[large[i]].count / 300), add(T_NODE));
    for (uint32_t i = 0; i < 900; i++) {
      uint32_t holder = add(T_NODE);
      put(holder, 0, large[below(6)]);
      put(holder, 1, large[below(6)]);
      put(holder, 2, add(T_NODE));
      put(wide, i, holder);
    }
    uint64_t before = inside_old(f.heap)->large_bytes;
    if (round == 0) put(1, 0, wide);
    put(1, (uint32_t)round, wide);
    (void)collect_graph(1);
    assert_true(inside_old(f.heap)->large_bytes >= before && inside_old(f.heap)->young_large == PAGE_NONE);
  }
}
CRADLE_MAY_COLLECT static void large(void) {
  (void)add(T_NODE);
  large_objects();
}

/* One that is scanned whole, and not recorded from birth: with small limits, at most 48 KiB. */
CRADLE_MAY_COLLECT static void scanned(void) {
  (void)add(T_NODE);
  for (int round = 0; round < 12; round++) {
    uint32_t whole = add_array(T_ARRAY, 5500), wide = add_array(T_ARRAY, 200);
    assert_int_not_equal(inside_old(f.heap)->young_large, PAGE_NONE);
    for (uint32_t k = 0; k < 100; k++) put(whole, 55 * k, add(T_NODE));
    for (uint32_t i = 0; i < 200; i++) {
      uint32_t holder = add(T_NODE), last = add(T_NODE);
      put(wide, i, holder);
      put(holder, 0, last);
      if (i >= 100) put(last, 0, whole); /* so that a helper may come to it first, and leave it to the leader */
      put(last, 1, add(T_NODE));
    }
    put(1, 0, wide);
    (void)collect_graph(1);
  }
}

static void large_objects_become_old_once(void **state) {
  (void)state;
  may_be_alone = true; /* which alone looks at large objects */
  every_way_with((size_t)40 << 10, NULL, scanned);
  every_way_with((size_t)256 << 10, NULL, large);
  may_be_alone = false;
}

/* Objects with callbacks, young and remembered, from which trees hang. */
CRADLE_MAY_COLLECT static void owners(void) {
  uint32_t top = add_array(T_ARRAY, 400);
  for (uint32_t i = 0; i < 400; i++) {
    uint32_t holder = add(T_NODE), owner = add(T_OWNER);
    put(top, i, holder);
    grow_tree(holder, T_NODE, 6);
    put(count - 1, 0, owner);
    grow_tree(owner, T_OWNER, 4);
    put(owner + 1, 0, holder);
    uint32_t both = add(T_NODE); /* which callbacks and helpers reach */
    for (uint32_t k = 3; k <= 9; k++) put(holder + k, 1, both);
  }
  uint32_t before = callbacks;
  (void)collect_graph(1);
  assert_true(callbacks - before >= 400 * 5);
  uint32_t last = count;
  for (uint32_t i = 1; i < last; i++)
    if (objects[i] != NULL && (shapes[i].type == T_OWNER || (shapes[i].type == T_NODE && i % 3 == 0))) {
      uint32_t made = add(i % 2 == 0 ? T_NODE : T_OWNER);
      put(i, 2, made);
      put(made, 1, add(T_NODE));
    }
  (void)collect_graph(1);
}

static void callbacks_are_the_leaders(void **state) {
  (void)state;
  every_way(owners);
}

/* An object with a callback, which is remembered, and whose fixed slot leads to so much that others help. */
CRADLE_MAY_COLLECT static void parts(void) {
  uint32_t top = add(T_PART);
  (void)collect_graph(1);
  for (int round = 0; round < 3; round++) {
    put(top, 0, add(T_NODE));
    grow_tree(shapes[top].to[0], T_NODE, 300);
    put(top, 1, add(T_NODE));
    put(top, 2, shapes[top].to[0]);
    uint32_t before = callbacks;
    (void)collect_graph(1);
    assert_int_not_equal(callbacks, before);
  }
}

static void callbacks_come_before_others_help(void **state) {
  (void)state;
  every_way(parts);
}

/* More recorded slots and remembered objects than pieces of 64, and not a multiple. */
CRADLE_MAY_COLLECT static void records(void) {
  enum { OLD = 583, SLOTS_RECORDED = 1033 };
  uint32_t top = add_array(T_ARRAY, OLD), wide = add_array(T_ARRAY, 2 * SLOTS_RECORDED);
  for (uint32_t i = 0; i < OLD; i++) put(top, i, add(i % 7 == 0 ? T_MIXED : i % 5 == 0 ? T_OWNER : T_NODE));
  (void)collect_graph(2);
  uint32_t last = count;
  for (int round = 0; round < 2; round++) {
    for (uint32_t i = 0; i < SLOTS_RECORDED; i++) {
      uint32_t made = add(T_NODE);
      put(wide, 2 * i, made);
      for (uint32_t k = 0; k < SLOTS; k++) put(made, k, add(T_NODE));
    }
    for (uint32_t i = 3; i < last; i++) {
      uint32_t made = add(T_NODE);
      put(i, (uint32_t)round, made);
      put(made, 0, add(T_NODE));
      put(made, 1, made - 2);
    }
    cradle_statistics before = fixture_stats(&f);
    (void)collect_graph(2);
    cradle_statistics after = fixture_stats(&f);
    assert_true(after.recorded_slots - before.recorded_slots + after.remembered_objects - before.remembered_objects >
                OLD);
    assert_true(space_has_no_records(&f.heap->space));
    assert_int_equal(inside_local(f.heap)->claimed_recorded, 0);
    assert_int_equal(inside_local(f.heap)->claimed_remembered, 0);
  }
}

static void records_are_claimed_in_pieces(void **state) {
  (void)state;
  every_way(records);
}

/* Nothing but one piece, the last of which ends in the middle; and nothing at all. */
CRADLE_MAY_COLLECT static void few_records(void) {
  uint32_t top = add_array(T_ARRAY, 400);
  for (uint32_t i = 0; i < 400; i++) put(top, i, add(T_NODE));
  (void)collect_graph(1);
  uint32_t sizes[] = {0, 1, 3, 4, 5, 63, 64, 65, 128, 129, 321, 400};
  for (uint32_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
    for (uint32_t i = 0; i < sizes[s]; i++) {
      uint32_t made = add(T_NODE);
      put(2 + i, s % SLOTS, made);
      put(made, 0, add(T_NODE));
    }
    (void)collect_graph(1);
  }
}

static void pieces_end_anywhere(void **state) {
  (void)state;
  every_way(few_records);
}

CRADLE_MAY_COLLECT static void extremes(void) {
  enum { LONG = 10000, WIDE = 6000, DEEP = 30 };
  uint32_t top = add(T_NODE), last = top;
  for (int i = 0; i < LONG; i++) { /* a list through the last slots */
    uint32_t made = add(i % 3 == 0 ? T_MIXED : T_NODE);
    put(last, 2, made);
    last = made;
  }
  uint32_t wide = add_array(T_ARRAY, WIDE), deep = add_array(T_ARRAY, 3);
  put(top, 0, wide);
  for (uint32_t i = 0; i < WIDE; i++) put(wide, i, i % 4 == 0 ? add_array(T_ARRAY, 1) : add(T_NODE));
  put(top, 1, deep);
  for (int i = 0; i < DEEP; i++) {
    uint32_t inner = add_array(T_ARRAY, 100);
    for (uint32_t k = 1; k < 100; k++)
      put(inner, k, k % 9 == 0 ? add_array(T_ARRAY, 2) : add(k % 2 == 0 ? T_NODE : T_MIXED));
    put(deep, 0, inner);
    deep = inner;
  }
  (void)collect_graph(1);
}

static void long_wide_and_deep_graphs(void **state) {
  (void)state;
  every_way(extremes);
}

/* --- any graph --- */

/* Adds objects of every type that refer to any of those before, and some of those before to them. */
CRADLE_MAY_COLLECT static void add_any(uint32_t kept, uint32_t more) {
  static const uint32_t types[] = {T_NODE, T_NODE, T_NODE, T_MIXED, T_MIXED, T_OWNER, T_ARRAY, T_ARRAY, T_PLAIN};
  uint32_t first = count;
  for (uint32_t i = 0; i < more; i++) {
    uint32_t type = types[below(sizeof types / sizeof *types)];
    uint32_t made = is_array(type) ? add_array(type, below(below(100) == 0 ? 1200 : 12)) : add(type);
    for (uint32_t k = 0; k < shapes[made].count && k < 40; k++) {
      uint32_t target = 1 + below(made);
      if (objects[target] != NULL) put(made, k, target);
    }
    for (int stores = 0; stores < 2; stores++) {
      uint32_t holder = below(4) == 0                ? 1 + below(kept)
                        : first > 1 && below(2) == 0 ? 1 + below(first)
                                                     : 1 + below(made);
      if (objects[holder] == NULL || shapes[holder].count == 0) continue;
      put(holder, below(shapes[holder].count), made);
    }
  }
}

static uint64_t any_hash;
CRADLE_MAY_COLLECT static void any_of(uint32_t more) {
  enum { KEPT = 20 };
  for (uint32_t i = 0; i < KEPT; i++) (void)(i % 5 == 0 ? add_array(T_ARRAY, 200) : add(T_NODE));
  any_hash = 0;
  for (int round = 0; round < 6; round++) {
    add_any(KEPT, more);
    any_hash = any_hash * 31 + collect_graph(KEPT);
  }
}
CRADLE_MAY_COLLECT static void any(void) {
  any_of(CRADLE_SMALL_LIMITS ? 300 : 1000);
}
CRADLE_MAY_COLLECT static void any_small(void) {
  any_of(100);
}

static void any_graph(void **state) {
  (void)state;
  every_way(any);
}

static void nurseries_of_any_size(void **state) {
  (void)state;
  static const size_t sizes[] = {4096, 5000, 16384, 65536, (size_t)1 << 20};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) every_way_with(sizes[i], NULL, any_small);
}

static void use_quarantine(cradle_options *options) {
  options->quarantine = 3;
}
static void use_stress(cradle_options *options) {
  options->stress_period = 40;
  options->stress_major = 5;
}
static void with_quarantine_and_under_stress(void **state) {
  (void)state;
  every_way_with((size_t)256 << 10, use_quarantine, any_small);
  every_way_with((size_t)64 << 10, use_stress, any_small);
}

/* The same seed is the same collection, place by place; another seed is another. */
static void turns_replay(void **state) {
  (void)state;
  if (!turns_take(1)) skip();
  uint64_t hash[4], switched[4];
  for (int i = 0; i < 4; i++) {
    running = (way){3, IN_TURNS, i == 3 ? 12 : 11, false};
    nursery_bytes = 0;
    change = NULL;
    random_state = 7;
    open_team();
    begin_graph();
    any();
    hash[i] = any_hash;
    switched[i] = turns_switched();
    assert_true(helped() > 1000);
    end_graph();
    close_team();
  }
  for (int i = 1; i < 3; i++) {
    assert_int_equal(hash[i], hash[0]);
    assert_int_equal(switched[i], switched[0]);
  }
  assert_int_not_equal(hash[3], hash[0]);
}

/* --- while a major collection runs --- */

static uint32_t phases_seen, rounds_seen;
CRADLE_MAY_COLLECT static void beside_major(void) {
  enum { KEPT = 20 };
  for (uint32_t i = 0; i < KEPT; i++) (void)(i % 5 == 0 ? add_array(T_ARRAY, 200) : add(T_NODE));
  add_any(KEPT, 1000);
  for (int round = 0; round < 12; round++) {
    for (int steps = round * round; steps >= 0; steps--) {
      (void)cradle_collect_step(f.m, 0);
      if (inside_major(f.heap)->phase == MAJOR_SWEEPING) break;
    }
    phases_seen |= 1u << inside_major(f.heap)->phase;
    add_any(KEPT, 200);
    roots_top = objects + KEPT + 1;
    uint64_t beside = fixture_stats(&f).beside_objects;
    (void)collect_graph(KEPT);
    rounds_seen += fixture_stats(&f).beside_objects != beside;
    phases_seen |= 1u << inside_major(f.heap)->phase;
  }
}
static void small_steps(cradle_options *options) {
  options->pause_ns = 1;
  options->major_min_bytes = (size_t)64 << 10;
}

static void beside_a_major_collection(void **state) {
  (void)state;
  phases_seen = rounds_seen = 0;
  every_way_with((size_t)512 << 10, small_steps, beside_major);
  assert_true((phases_seen & 1u << MAJOR_MARKING) != 0 && (phases_seen & 1u << MAJOR_SWEEPING) != 0);
  printf("a round went on beside %u collections\n", rounds_seen); /* that is the machine's */
}

/* --- services --- */

CRADLE_MAY_COLLECT static void services(void) {
  enum { EACH = CRADLE_SMALL_LIMITS ? 150 : 500 };
  static uint64_t ids[EACH];
  static cradle_handle handles[EACH];
  uint32_t top = add_array(T_ARRAY, 3 * EACH);
  for (uint32_t i = 0; i < EACH; i++) {
    uint32_t alive = add(T_NODE), weak = add(T_WEAK), final = add(T_FINAL), dying = add(T_NODE), last = add(T_FINAL);
    put(top, 3 * i, weak);
    put(top, 3 * i + 1, final);
    put(final, 0, alive);
    put(last, 0, dying);
    ((node *)objects[weak])->slot[0] = objects[alive];
    shapes[weak].to[0] = alive;
    ((node *)objects[weak])->slot[1] = i % 2 == 0 ? objects[dying] : NULL;
    ids[i] = cradle_id(f.m, objects[alive]);
    handles[i] = cradle_handle_new(f.m, objects[alive]);
    grow_tree(alive, T_NODE, 20);
  }
  roots_top = objects + 2;
  cradle_collect(f.m, CRADLE_COLLECT_MINOR);
  assert_heap_sound(f.heap);
  /* A dying node came back with its final object, which waits in the queue: weak slots were cleared before. */
  uint32_t queued = 0;
  for (node *dead; (dead = cradle_finalizer_next(f.m, QUEUE)) != NULL; queued++) {
    assert_int_equal(cradle_type_of(dead), T_FINAL);
    assert_int_equal(dead->slot[0]->number, dead->number - 1);
  }
  assert_int_equal(queued, EACH);
  array *all = objects[1];
  for (uint32_t i = 0; i < EACH; i++) {
    node *weak = all->item[3 * i], *final = all->item[3 * i + 1], *alive = final->slot[0];
    assert_ptr_equal(cradle_weak_get(f.m, (void **)&weak->slot[0]), alive);
    assert_ptr_equal(cradle_object_of_id(f.m, ids[i]), alive);
    assert_int_equal(cradle_id(f.m, alive), ids[i]);
    assert_ptr_equal(cradle_handle_get(f.m, handles[i]), alive);
    cradle_handle_free(f.m, handles[i]);
    assert_null(weak->slot[1]);
  }
}

static void services_come_afterwards(void **state) {
  (void)state;
  every_way(services);
}

/* --- memory --- */

static void small_maximum(cradle_options *options) {
  options->heap_max_bytes = (size_t)128 << 20;
}

/* A full nursery of the size that takes the most room, and of a few objects of each class, always finds its places. */
CRADLE_MAY_COLLECT static void full(void) {
  const crd_old *old = inside_old(f.heap);
  crd_space *space = &f.heap->space;
  assert_int_equal(old->rest_bytes, (running.helpers + 1) * old->classes.run_bytes_total);
  for (int round = 0; round < 6; round++) {
    uint32_t top = add_array(T_ARRAY, 2000);
    uint64_t before = fixture_stats(&f).minor_collections;
    for (uint32_t i = 0; i < 2000 && space->nursery.end - *space->locals.free > 24000; i++)
      put(top, i, add_array(T_ARRAY, round % 2 == 0 ? 1023 : 1 + i % 900));
    for (uint32_t i = 0; i < shapes[top].count && i < 40 && shapes[top].to[i] != 0; i++)
      put(shapes[top].to[i], 0, add(T_NODE));
    assert_int_equal(fixture_stats(&f).minor_collections, before);
    roots_top = objects;
    objects[1] = objects[top];
    cradle_push(f.m, objects[top]);
    cradle_collect(f.m, CRADLE_COLLECT_MINOR);
    (void)cradle_pop(f.m);
    assert_heap_sound(f.heap);
    /* What the helpers' runs have left lies in what the reserve holds for them. */
    uint64_t rest = crd_old_unfilled_bytes(old);
    for (uint32_t i = 0; i < old->classes.count; i++)
      rest -= (uint64_t)(old->leader.allocators[i].end - old->leader.allocators[i].free);
    assert_true(rest <= old->rest_bytes);
    for (uint32_t i = 1; i < count; i++) objects[i] = NULL;
    roots_top = objects;
  }
}

static void the_reserve_holds_the_workers_runs(void **state) {
  (void)state;
  every_way_with((size_t)1 << 20, small_maximum, full);
}

/* There the helpers' runs would take too much of the maximum. */
CRADLE_UNCHECKED_COLLECTION static void a_heap_with_a_small_maximum_has_no_helpers(void **state) {
  (void)state;
  if (CRADLE_SMALL_LIMITS) skip();
  cradle_options options;
  fixture_options(&f, &options);
  fixture_unstress(&options);
  running = (way){3, AS_IT_COMES, 0, false};
  options.gc_threads = 3;
  options.heap_max_bytes = (size_t)16 << 20;
  fixture_open_with(&f, &options);
  while (!cradle_collect_step(f.m, 0)) continue;
  cradle_collect(f.m, CRADLE_COLLECT_MINOR);
  assert_int_equal(f.heap->young.team.count, 0);
  assert_int_equal(inside_old(f.heap)->rest_bytes, 0);
  close_team();
}

/* Spans in which helpers have left runs are swept, compacted and walked as others [team.5]. */
CRADLE_MAY_COLLECT static void swept(void) {
  enum { KEPT = 20 };
  for (uint32_t i = 0; i < KEPT; i++) (void)(i % 5 == 0 ? add_array(T_ARRAY, 200) : add(T_NODE));
  for (int round = 0; round < 4; round++) {
    add_any(KEPT, 600);
    (void)collect_graph(KEPT);
    roots_top = objects + KEPT + 1;
    cradle_collect(f.m, round % 2 == 0 ? CRADLE_COLLECT_MAJOR : CRADLE_COLLECT_COMPACTING);
    assert_heap_sound(f.heap);
    (void)check_graph(KEPT);
    for (uint32_t i = 1; i < count; i++)
      if (!seen[i]) objects[i] = NULL;
    roots_top = objects + count;
  }
  assert_null(crd_old_check(inside_old(f.heap)));
}

static void runs_of_helpers_are_retired(void **state) {
  (void)state;
  every_way(swept);
}

/* --- how many guests --- */

static uint32_t processors; /* 0: unknown */

static void have_processors(cradle_options *options) {
  static cradle_hardware described;
  described = machine;
  described.processors = processors;
  options->hardware = &described;
}

/* The leader keeps a processor. Without knowing how many there are, nobody is called, and the leader does it all. */
static void guests_leave_the_leader_its_processor(void **state) {
  const uint32_t guests_of[] = {0, 0, 1, 2, 3, 3};
  (void)state;
  change = have_processors;
  nursery_bytes = (size_t)1 << 20;
  for (processors = 0; processors < sizeof guests_of / sizeof *guests_of; processors++) {
    running = (way){3, AS_IT_COMES, 0, true};
    open_heap();
    assert_int_equal(f.heap->young.team.guests, guests_of[processors]);
    begin_graph();
    grow_tree(add(T_NODE), T_NODE, 3000);
    (void)collect_graph(1);
    if (guests_of[processors] == 0) assert_int_equal(helped(), 0);
    end_graph();
    close_team();
  }
}

/* --- threads --- */

/* A heap may be freed while its helpers still look whether the team goes on. */
CRADLE_UNCHECKED_COLLECTION static void heaps_end_at_any_time(void **state) {
  (void)state;
  change = NULL;
  nursery_bytes = (size_t)1 << 20;
  for (int i = 0; i < 60; i++) {
    running = (way){1 + (uint32_t)i % 5, AS_IT_COMES, 0, false};
    open_team();
    begin_graph();
    grow_tree(add(T_NODE), T_NODE, i % 2 == 0 ? 10 : 3000);
    (void)collect_graph(1);
    end_graph();
    close_team();
  }
}

/* Many small collections one after the other: helpers come late, and look for teams that are gone. */
CRADLE_MAY_COLLECT static void many_teams(void) {
  (void)add(T_NODE);
  for (int i = 0; i < 60; i++) {
    uint32_t top = add(T_NODE);
    put(1, 0, top);
    grow_tree(top, T_NODE, 3 + below(60));
    roots_top = objects + 2;
    cradle_collect(f.m, CRADLE_COLLECT_MINOR);
    for (uint32_t k = 2; k < count; k++) free(shapes[k].to);
    shapes[1].to[0] = 0;
    ((node *)objects[1])->slot[0] = NULL;
    count = 2;
    roots_top = objects + 2;
  }
  grow_tree(1, T_NODE, 5000);
  (void)collect_graph(1);
}

static void teams_follow_each_other(void **state) {
  (void)state;
  every_way(many_teams);
}

#if FORKS_ARE_TRIED
CRADLE_UNCHECKED_COLLECTION static void work_on(bool no_help) {
  uint64_t before = helped();
  time_t end = time(NULL) + LATE_S;
  for (int tries = 0; (no_help ? tries < 3 : time(NULL) < end) && helped() == before; tries++) {
    uint32_t top = add(T_NODE);
    /* With small limits the verifier is slow, so the tree is small, for guests most: they come at once. */
    grow_tree(top, T_NODE, !CRADLE_SMALL_LIMITS ? 15000 : running.guests ? 500 : 4000);
    put(1, 0, top);
    (void)collect_graph(1);
    while (tries == 0 && !cradle_collect_step(f.m, 0)) continue; /* makes the thread in a child */
    for (uint32_t i = 2; i < count; i++) free(shapes[i].to);
    ((node *)objects[1])->slot[0] = NULL;
    shapes[1].to[0] = 0;
    count = 2;
    roots_top = objects + 2;
    if (tries % 4 == 3) cradle_collect(f.m, CRADLE_COLLECT_FULL); /* so that the verifier has less to look at */
  }
  assert_true(no_help || helped() > before);
}

/* Both processes go on, with helpers, or in the child without guests. There nobody releases the lock that a helper may
 * have held. */
CRADLE_UNCHECKED_COLLECTION static void both_sides_of_a_fork_hire(void **state) {
  (void)state;
  skip_without_fork();
  change = NULL;
  nursery_bytes = 0;
  for (int i = 0; i < 8; i++) {
    bool held = (i & 1) != 0;
    running = (way){i & 2 ? 3 : 1, AS_IT_COMES, 0, i >= 4};
    open_team();
    begin_graph();
    (void)add(T_NODE);
    work_on(false);
    assert_true(cradle_fork_prepare(f.heap, NULL));
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0 && held) {
      f.heap->young.team.lock.held = 1;
      crd_helper *place = &f.heap->young.team.helpers[0];
      if (running.guests && !place->taken) {
        place->taken = true;
        if (i == 7) f.heap->young.team.places--; /* otherwise the guest had not come to that */
      }
    }
    cradle_fork_done(f.heap);
    if (child == 0) {
      alarm(2 * LATE_S);
      work_on(running.guests || !CHILDREN_MAKE_THREADS);
      if (running.guests) _exit(f.heap->young.team.places == running.helpers ? 0 : 1);
      end_graph();
      close_team();
      _exit(0);
    }
    work_on(false);
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    work_on(false);
    end_graph();
    close_team();
  }
}
#else
static void both_sides_of_a_fork_hire(void **state) {
  (void)state;
  skip();
}
#endif

static void helpers_have_helped(void **state) {
  (void)state;
  running = (way){1, AS_IT_COMES, 0, false};
  open_team(); /* or skips */
  close_team();
  if (helped_in_all[false] == 0) fail_msg("no helper promoted an object in any test");
  if (helped_in_all[true] == 0) fail_msg("no guest promoted an object in any test");
}

/* Argument: a pattern of the tests to run. */
int main(int argc, char **argv) {
  if (argc > 1) cmocka_set_test_filter(argv[1]);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(trees_stay_trees),
      cmocka_unit_test(what_all_reach_has_one_copy),
      cmocka_unit_test(arrays_that_all_meet_keep_their_lengths),
      cmocka_unit_test(a_long_array_is_divided),
      cmocka_unit_test(long_objects_have_one_copy),
      cmocka_unit_test(large_objects_become_old_once),
      cmocka_unit_test(callbacks_are_the_leaders),
      cmocka_unit_test(callbacks_come_before_others_help),
      cmocka_unit_test(records_are_claimed_in_pieces),
      cmocka_unit_test(pieces_end_anywhere),
      cmocka_unit_test(long_wide_and_deep_graphs),
      cmocka_unit_test(any_graph),
      cmocka_unit_test(nurseries_of_any_size),
      cmocka_unit_test(with_quarantine_and_under_stress),
      cmocka_unit_test(turns_replay),
      cmocka_unit_test(beside_a_major_collection),
      cmocka_unit_test(services_come_afterwards),
      cmocka_unit_test(the_reserve_holds_the_workers_runs),
      cmocka_unit_test(a_heap_with_a_small_maximum_has_no_helpers),
      cmocka_unit_test(runs_of_helpers_are_retired),
      cmocka_unit_test(guests_leave_the_leader_its_processor),
      cmocka_unit_test(heaps_end_at_any_time),
      cmocka_unit_test(teams_follow_each_other),
      cmocka_unit_test(both_sides_of_a_fork_hire),
      cmocka_unit_test(helpers_have_helped),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
