/* The walk after promotion: structures are built and promoted, and then the program follows their slots. Only the walks
 * are timed. What they cost is decided by where the collector put the survivors. Beside it the same walks over nodes
 * that lie in an arena in the order in which a walk from the first slot to the last meets them.
 *
 * A wide node fills a cache line. In the arena it begins where a line begins, as it does in Cradle's spans. A node that
 * lies in two lines would be walked in half the time: who reads its last child has the line of the next node, too.
 *
 * Trees and wide nodes are built from the leaves (children first) and from the root (parent first). The table's items
 * are cells, each with a second cell behind it: buckets of a hash table.
 */
#include <alloca.h>

#include "bench/timing.h"
#include "bench/workloads.h"

/* One round for each position of a frame within a cache line. */
enum { ROUNDS = 8, FRAME_STEP = 16, WALKS = 9, WORD = 8, LINE_BYTES = 64 };

/* The words of a node in which its children are. Every node of these shapes consists of a header and children. */
typedef struct knot {
  uint64_t header;
  struct knot *children[];
} knot;
typedef struct shape {
  uint32_t type;
  unsigned children;
} shape;
static const shape of_tree = {TYPE_TREE, 2}, of_wide = {TYPE_WIDE, WIDE_CHILDREN};

static size_t node_bytes(shape s) {
  return sizeof(knot) + s.children * sizeof(knot *);
}

/* The levels below the root that keep the number of nodes at or under the limit. */
static unsigned depth_for(shape s, uint64_t nodes) {
  unsigned depth = 0;
  for (uint64_t level = s.children, all = 1; (all += level) <= nodes; level *= s.children) depth++;
  return depth;
}

/* --- walking --- */

static uint64_t walk_forward(const knot *root, unsigned children) {
  uint64_t sum = 1;
  for (unsigned i = 0; i < children && root->children[i] != NULL; i++) sum += walk_forward(root->children[i], children);
  return sum;
}

static uint64_t walk_backward(const knot *root, unsigned children) {
  uint64_t sum = 1;
  for (unsigned i = children; i > 0 && root->children[i - 1] != NULL; i--)
    sum += walk_backward(root->children[i - 1], children);
  return sum;
}

static uint64_t walk_table(const array *table) {
  uint64_t sum = 0;
  for (uint64_t i = 0; i < table->length; i++)
    for (const cell *c = table->slots[i]; c != NULL; c = c->next) sum += c->number;
  return sum;
}

typedef struct walked {
  const knot *leaves_first, *root_first, *wide_leaves_first, *wide_root_first;
  const cell *list;
  const array *table;
} walked;

/* One walk of each sort. nodes: how many it met. */
static CRADLE_NOINLINE uint64_t walk_one(const walked *w, int walk, uint64_t size, uint64_t *nodes) {
  switch (walk) {
  case 0: return *nodes = walk_forward(w->leaves_first, of_tree.children);
  case 1: return *nodes = walk_backward(w->leaves_first, of_tree.children);
  case 2: return *nodes = walk_forward(w->root_first, of_tree.children);
  case 3: return *nodes = walk_backward(w->root_first, of_tree.children);
  case 4: return *nodes = walk_forward(w->wide_leaves_first, of_wide.children);
  case 5: return *nodes = walk_forward(w->wide_root_first, of_wide.children);
  case 6: return *nodes = walk_backward(w->wide_root_first, of_wide.children);
  case 7: *nodes = size; return cells_sum(w->list);
  default: *nodes = size; return walk_table(w->table);
  }
}

/* The same with the frames of the recursion so many bytes lower. A load from a node waits for a store into a frame when
 * their addresses agree in the low 12 bits, as far as the processor can tell at first. If each node fills a cache line,
 * a walk meets that always or never, and takes up to twice the time by chance. So the frames' place is varied. */
static CRADLE_NOINLINE uint64_t walk_lower(const walked *w, int walk, uint64_t size, uint64_t *nodes, size_t lower) {
  volatile char *below = alloca(lower + 1);
  below[0] = 0;
  return walk_one(w, walk, size, nodes);
}

/* Walks everything and notes what a node took in each way, the median of the rounds. */
static uint64_t walk_all(workload_run *run, const walked *w) {
  static const char *const names[WALKS] = {"tree_leaves_first_ns",
                                           "tree_leaves_first_backward_ns",
                                           "tree_root_first_ns",
                                           "tree_root_first_backward_ns",
                                           "wide_leaves_first_ns",
                                           "wide_root_first_ns",
                                           "wide_root_first_backward_ns",
                                           "list_ns",
                                           "table_ns"};
  double ns[WALKS][ROUNDS];
  uint64_t sum = 0;
  workload_timed_begin(run);
  for (int round = 0; round < ROUNDS; round++) {
    for (int i = 0; i < WALKS; i++) {
      uint64_t begin = cpu_now_ns(), nodes = 0;
      sum += walk_lower(w, i, run->with.size, &nodes, (size_t)round * FRAME_STEP);
      ns[i][round] = (double)(cpu_now_ns() - begin) / (double)nodes;
    }
  }
  workload_timed_end(run);
  for (int i = 0; i < WALKS; i++) workload_figure_add(run, names[i], median_of(ns[i], ROUNDS));
  return sum;
}

/* --- Cradle --- */

/* Holds a node's children until the node is made. */
static knot *make_leaves_first(cradle_mutator *m, shape s, unsigned depth) CRADLE_MAY_COLLECT {
  if (depth > 0)
    for (unsigned i = 0; i < s.children; i++) cradle_push(m, make_leaves_first(m, s, depth - 1));
  knot *fresh = cradle_new(m, s.type, node_bytes(s));
  if (depth > 0)
    for (unsigned i = s.children; i > 0; i--) fresh->children[i - 1] = cradle_pop(m);
  return fresh;
}

static knot *make_root_first(cradle_mutator *m, shape s, unsigned depth) CRADLE_MAY_COLLECT {
  cradle_push(m, cradle_new(m, s.type, node_bytes(s)));
  if (depth > 0)
    for (unsigned i = 0; i < s.children; i++) {
      knot *child = make_root_first(m, s, depth - 1), *fresh = *(knot **)cradle_peek(m, 0);
      cradle_store(m, fresh, &fresh->children[i], child);
    }
  return cradle_pop(m);
}

static array *make_table(cradle_mutator *m, uint64_t cells) CRADLE_MAY_COLLECT {
  array *table = array_new(m, cells / 2);
  CRADLE_ROOT(m, table);
  for (uint64_t i = 0; i < cells / 2; i++) {
    cell *two = cells_new(m, 2);
    cradle_store(m, table, &table->slots[i], two);
  }
  return table;
}

static uint64_t run_cradle(workload_run *run) {
  cradle_heap *heap = workload_start(run);
  cradle_mutator *m = cradle_mutator_new(heap);
  unsigned deep = depth_for(of_tree, run->with.size), wide_deep = depth_for(of_wide, run->with.size);
  uint64_t sum;
  {
    walked w = {NULL, NULL, NULL, NULL, NULL, NULL};
    CRADLE_ROOT(m, w.leaves_first);
    CRADLE_ROOT(m, w.root_first);
    CRADLE_ROOT(m, w.wide_leaves_first);
    CRADLE_ROOT(m, w.wide_root_first);
    CRADLE_ROOT(m, w.list);
    CRADLE_ROOT(m, w.table);
    w.leaves_first = make_leaves_first(m, of_tree, deep);
    w.root_first = make_root_first(m, of_tree, deep);
    w.wide_leaves_first = make_leaves_first(m, of_wide, wide_deep);
    w.wide_root_first = make_root_first(m, of_wide, wide_deep);
    w.list = cells_new(m, run->with.size);
    w.table = make_table(m, run->with.size);
    cradle_collect(m, CRADLE_COLLECT_MINOR);
    sum = walk_all(run, &w);
  }
  workload_end(run, heap, m);
  return sum;
}

/* --- an arena, in the order of the walk --- */

static knot *lay_out(manual *memory, shape s, unsigned depth) {
  knot *fresh = manual_take(memory, node_bytes(s));
  fresh->header = s.type;
  for (unsigned i = 0; i < s.children; i++) fresh->children[i] = depth > 0 ? lay_out(memory, s, depth - 1) : NULL;
  return fresh;
}

/* The next object will begin where a cache line begins. What is taken until then is not used. A peer's blocks lie where
 * the peer puts them, which may be at no such place ever. */
static void begin_line(manual *memory) {
  if (manual_frees(memory)) return;
  while (((uintptr_t)manual_take(memory, WORD) + WORD) % LINE_BYTES != 0) {}
}

static cell *lay_out_cells(manual *memory, uint64_t count) {
  cell *first = NULL, **end = &first;
  for (uint64_t i = count; i > 0; i--) {
    cell *fresh = manual_take(memory, sizeof *fresh);
    *fresh = (cell){TYPE_CELL, NULL, i - 1};
    *end = fresh;
    end = &fresh->next;
  }
  return first;
}

static uint64_t run_by_hand(workload_run *run, manual *memory) {
  unsigned deep = depth_for(of_tree, run->with.size), wide_deep = depth_for(of_wide, run->with.size);
  walked w = {.leaves_first = lay_out(memory, of_tree, deep), .root_first = lay_out(memory, of_tree, deep)};
  begin_line(memory);
  w.wide_leaves_first = lay_out(memory, of_wide, wide_deep);
  w.wide_root_first = lay_out(memory, of_wide, wide_deep);
  w.list = lay_out_cells(memory, run->with.size);
  array *table = array_by_hand(memory, run->with.size / 2);
  for (uint64_t i = 0; i < table->length; i++) table->slots[i] = lay_out_cells(memory, 2);
  w.table = table;
  return walk_all(run, &w);
}

const workload workload_walk = {
    .name = "walk",
    .help = "what was promoted is walked: trees, wide nodes, a list and a table of SIZE nodes each",
    .cradle = run_cradle,
    .by_hand = run_by_hand,
    .on_arena = true,
    .usual = {.size = 2000000, .runs = 5},
    .small = {.size = 500, .runs = 1},
    .size_least = 8,
};
