/* Instances whose fields lie in hash tables, as a VM with dynamic classes has them: a binary tree of instances is
 * built, parent first, promoted, and then walked by the names of the fields. Only the walks are timed.
 *
 * A table's entries have no order of their own: where an entry lies is decided by the hash of its name. So the tree is
 * built twice. In *hashed*, the entry of the right child comes before that of the left one; in *in order*, its twin, it
 * comes after, in the order of allocation. The twins differ in nothing else, so the ratio of their walks is what the
 * order of the entries costs. An arena has the objects of both in the order of allocation.
 *
 * Beside the times, the figures say how many steps of a walk go backwards in memory: from an instance to one at a lower
 * address, and the same for tables. They depend on no clock, but on the sizes of the nursery.
 */
#include "bench/everyday.h"
#include "bench/timing.h"

enum { TWINS = 2, ROUNDS = 9, ENTRIES = 8, NAMES = 3, ITEM = 0, LEFT = 1, RIGHT = 2 };

/* Where the entries of item, left and right lie. Those of the children are neighbours, so that the twins read the same
 * lines of the cache. */
static const uint64_t hashes[TWINS][NAMES] = {{3, 5, 4}, {3, 4, 5}};

typedef struct named_tree {
  instance *root;
  cell *names[NAMES];
} named_tree;

/* --- tables --- */

EVERYDAY_INLINE field *entry_of(fields *table, const cell *name) {
  uint64_t at = name->number;
  while (table->entries[at & (ENTRIES - 1)].name != name && table->entries[at & (ENTRIES - 1)].name != NULL) at++;
  return &table->entries[at & (ENTRIES - 1)];
}
EVERYDAY_INLINE cradle_value get(const instance *object, const cell *name) {
  return entry_of(object->fields, name)->value;
}
EVERYDAY_INLINE void set(cradle_mutator *m, instance *object, const cell *name, cradle_value value) {
  field *entry = entry_of(object->fields, name);
  everyday_store(m, object->fields, &entry->name, name);
  everyday_store(m, object->fields, &entry->value, (const void *)(uintptr_t)value);
}

/* --- walking --- */

static instance *child_of(const instance *object, const cell *name) {
  return (instance *)(uintptr_t)get(object, name);
}

static uint64_t walk(const instance *at, cell *const names[NAMES]) {
  const instance *left = child_of(at, names[LEFT]);
  uint64_t item = get(at, names[ITEM]) >> 1;
  if (left == NULL) return item;
  item += walk(left, names);
  return item - walk(child_of(at, names[RIGHT]), names);
}

typedef struct steps {
  const instance *instance;
  const fields *fields;
  uint64_t all, backwards;
} steps;

static void count_steps(steps *s, const instance *at, cell *const names[NAMES]) {
  s->all += 2;
  s->backwards += (at < s->instance) + (at->fields < s->fields);
  s->instance = at;
  s->fields = at->fields;
  if (child_of(at, names[LEFT]) == NULL) return;
  count_steps(s, child_of(at, names[LEFT]), names);
  count_steps(s, child_of(at, names[RIGHT]), names);
}

static double backwards_percent(const named_tree *tree) {
  steps s = {NULL, NULL, 0, 0};
  count_steps(&s, tree->root, tree->names);
  return 100 * (double)s.backwards / (double)s.all;
}

/* Walks the twins in turn. */
static uint64_t walk_all(workload_run *run, const named_tree trees[TWINS], uint64_t nodes) {
  double ns[TWINS][ROUNDS];
  uint64_t sum = 0;
  workload_timed_begin(run);
  for (int round = 0; round < ROUNDS; round++)
    for (int twin = 0; twin < TWINS; twin++) {
      uint64_t begin = cpu_now_ns();
      sum += walk(trees[twin].root, trees[twin].names);
      ns[twin][round] = (double)(cpu_now_ns() - begin) / (double)nodes;
    }
  workload_timed_end(run);
  double hashed = median_of(ns[0], ROUNDS), in_order = median_of(ns[1], ROUNDS);
  workload_figure_add(run, "hashed_ns", hashed);
  workload_figure_add(run, "in_order_ns", in_order);
  workload_figure_add(run, "hashed_over_in_order", hashed / in_order);
  workload_figure_add(run, "hashed_backwards_percent", backwards_percent(&trees[0]));
  workload_figure_add(run, "in_order_backwards_percent", backwards_percent(&trees[1]));
  return sum;
}

/* The levels below the root of a tree of at most so many nodes. */
static unsigned depth_for(uint64_t nodes) {
  unsigned depth = 0;
  while ((UINT64_C(4) << depth) - 1 <= nodes) depth++;
  return depth;
}

/* --- Cradle --- */

static instance *build(cradle_mutator *m, cell *const names[NAMES], unsigned depth, uint64_t item) CRADLE_MAY_COLLECT {
  instance *made = CRADLE_NEW(m, instance, TYPE_INSTANCE);
  CRADLE_ROOT(m, made);
  fields *table = CRADLE_NEW_ARRAY(m, fields, TYPE_FIELDS, entries, length, ENTRIES);
  cradle_store(m, made, &made->fields, table);
  set(m, made, names[ITEM], item << 1 | 1);
  for (int name = LEFT; name <= RIGHT && depth > 0; name++) {
    const instance *child = build(m, names, depth - 1, 2 * item + (uint64_t)name);
    set(m, made, names[name], (uintptr_t)child);
  }
  return made;
}

static void build_tree(cradle_mutator *m, named_tree *tree, int twin, unsigned depth) CRADLE_MAY_COLLECT {
  for (int name = 0; name < NAMES; name++) {
    tree->names[name] = CRADLE_NEW(m, cell, TYPE_CELL);
    tree->names[name]->number = hashes[twin][name];
  }
  tree->root = build(m, tree->names, depth, 0);
}

static uint64_t run_cradle(workload_run *run) {
  cradle_heap *heap = workload_start(run);
  cradle_mutator *m = cradle_mutator_new(heap);
  named_tree trees[TWINS], *base = trees, *top = trees + TWINS;
  unsigned depth = depth_for(run->with.size);
  cradle_root_range range = CRADLE_ROOT_RANGE(base, top, CRADLE_KIND_REFERENCE, "trees");
  memset(trees, 0, sizeof trees);
  cradle_root_range_add(m, &range);
  for (int twin = 0; twin < TWINS; twin++) build_tree(m, &trees[twin], twin, depth);
  cradle_collect(m, CRADLE_COLLECT_MINOR);
  uint64_t sum = walk_all(run, trees, (UINT64_C(2) << depth) - 1);
  cradle_root_range_remove(m, &range);
  workload_end(run, heap, m);
  return sum;
}

/* --- by hand, in the order of allocation --- */

static instance *build_by_hand(manual *memory, cell *const names[NAMES], unsigned depth, uint64_t item) {
  instance *made = manual_take(memory, sizeof *made);
  *made = (instance){TYPE_INSTANCE, NULL, manual_take(memory, sizeof(fields) + ENTRIES * sizeof(field))};
  memset(made->fields, 0, sizeof(fields) + ENTRIES * sizeof(field));
  made->fields->length = ENTRIES;
  set(NULL, made, names[ITEM], item << 1 | 1);
  for (int name = LEFT; name <= RIGHT && depth > 0; name++)
    set(NULL, made, names[name], (uintptr_t)build_by_hand(memory, names, depth - 1, 2 * item + (uint64_t)name));
  return made;
}

static uint64_t run_by_hand(workload_run *run, manual *memory) {
  named_tree trees[TWINS];
  unsigned depth = depth_for(run->with.size);
  for (int twin = 0; twin < TWINS; twin++) {
    for (int name = 0; name < NAMES; name++) {
      trees[twin].names[name] = manual_take(memory, sizeof(cell));
      *trees[twin].names[name] = (cell){TYPE_CELL, NULL, hashes[twin][name]}; /* cradle-rootcheck: ok by hand */
    }
    trees[twin].root = build_by_hand(memory, trees[twin].names, depth, 0);
  }
  return walk_all(run, trees, (UINT64_C(2) << depth) - 1);
}

const workload workload_table_walk = {
    .name = "table-walk",
    .help = "a tree of SIZE instances, whose fields lie in hash tables, is promoted and walked by name; its twin has "
            "entries in the order of allocation",
    .cradle = run_cradle,
    .by_hand = run_by_hand,
    .on_arena = true,
    .usual = {.size = 300000, .runs = 5},
    .small = {.size = 500, .runs = 1},
    .size_least = 3,
};
