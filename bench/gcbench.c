/* GCBench (Ellis, Kovac, Boehm): short-lived trees made from the root down and from the leaves up, beside a long-lived
 * tree and a long-lived array of numbers. The path to the leftmost leaf of each short-lived tree is walked, so that no
 * compiler can leave the trees out.
 */
#include "bench/workloads.h"

enum { STANDARD_DEPTH = 18, STANDARD_NUMBERS = 500000, MIN_DEPTH = 4 };

/* SIZE is the depth of the tree that stretches the heap; the rest follows from it. */
typedef struct shape {
  unsigned stretch, most; /* depths; most: of the long-lived tree and the largest of the others */
  uint64_t numbers;
} shape;

static shape shape_of(const workload_run *run) {
  unsigned depth = (unsigned)run->with.size;
  uint64_t numbers = depth < STANDARD_DEPTH ? STANDARD_NUMBERS >> (STANDARD_DEPTH - depth) : STANDARD_NUMBERS;
  return (shape){depth, depth - 2, numbers};
}

static uint64_t tree_nodes(unsigned depth) {
  return (UINT64_C(2) << depth) - 1;
}
static uint64_t trees_of(const shape *s, unsigned depth) {
  return 2 * tree_nodes(s->stretch) / tree_nodes(depth);
}

static uint64_t left_depth(const gcbench_node *n) {
  uint64_t depth = 0;
  for (; n->left != NULL; n = n->left) depth++;
  return depth;
}
static uint64_t count(const gcbench_node *n) {
  return n->left == NULL ? 1 : 1 + count(n->left) + count(n->right);
}
static double number_at(const shape *s, uint64_t i) {
  return i < s->numbers / 2 ? 1.0 / (double)(i + 1) : 0;
}
static void fill(const shape *s, bytes *numbers) {
  double *to = (double *)(void *)numbers->data;
  for (uint64_t i = 0; i < s->numbers / 2; i++) to[i] = number_at(s, i);
}
static uint64_t check_long_lived(workload_run *run, const shape *s, const gcbench_node *long_lived,
                                 const bytes *numbers) {
  const double *at = (const double *)(const void *)numbers->data;
  uint64_t nodes = tree_nodes(s->most);
  run->live_bytes = nodes * sizeof(gcbench_node) + s->numbers * sizeof(double) + sizeof(bytes);
  if (count(long_lived) != nodes) workload_wrong("the long-lived tree lost nodes");
  for (uint64_t i = 0; i < s->numbers; i++)
    if (at[i] != number_at(s, i)) workload_wrong("the long-lived array changed");
  return nodes;
}

/* --- Cradle --- */

static gcbench_node *node_new(cradle_mutator *m) CRADLE_MAY_COLLECT {
  return CRADLE_NEW(m, gcbench_node, TYPE_GCBENCH);
}

/* From the root down: n is on top of the shadow stack during the call. */
static void populate(cradle_mutator *m, unsigned depth) CRADLE_MAY_COLLECT {
  if (depth == 0) return;
  gcbench_node *fresh = node_new(m), *n = (gcbench_node *)(uintptr_t)*cradle_peek(m, 0);
  cradle_store(m, n, &n->left, fresh);
  fresh = node_new(m);
  n = (gcbench_node *)(uintptr_t)*cradle_peek(m, 0);
  cradle_store(m, n, &n->right, fresh);
  cradle_push(m, n->left);
  populate(m, depth - 1);
  cradle_pop_many(m, 1);
  n = (gcbench_node *)(uintptr_t)*cradle_peek(m, 0);
  cradle_push(m, n->right);
  populate(m, depth - 1);
  cradle_pop_many(m, 1);
}

static gcbench_node *make_down(cradle_mutator *m, unsigned depth) CRADLE_MAY_COLLECT {
  cradle_push(m, node_new(m));
  populate(m, depth);
  return cradle_pop(m);
}

static gcbench_node *make_up(cradle_mutator *m, unsigned depth) CRADLE_MAY_COLLECT {
  if (depth == 0) return node_new(m);
  cradle_push(m, make_up(m, depth - 1));
  cradle_push(m, make_up(m, depth - 1));
  gcbench_node *fresh = node_new(m);
  fresh->right = cradle_pop(m);
  fresh->left = cradle_pop(m);
  return fresh;
}

static uint64_t run_all(cradle_mutator *m, workload_run *run) CRADLE_MAY_COLLECT {
  shape s = shape_of(run);
  uint64_t sum = left_depth(make_up(m, s.stretch));
  gcbench_node *long_lived = make_down(m, s.most);
  CRADLE_ROOT(m, long_lived);
  bytes *numbers = CRADLE_NEW_ARRAY(m, bytes, TYPE_BYTES, data, length, s.numbers * sizeof(double));
  CRADLE_ROOT(m, numbers);
  fill(&s, numbers);
  for (unsigned depth = MIN_DEPTH; depth <= s.most; depth += 2) {
    for (uint64_t i = trees_of(&s, depth); i > 0; i--) sum += left_depth(make_down(m, depth));
    for (uint64_t i = trees_of(&s, depth); i > 0; i--) sum += left_depth(make_up(m, depth));
  }
  return sum + check_long_lived(run, &s, long_lived, numbers);
}

static uint64_t run_cradle(workload_run *run) {
  cradle_heap *heap = workload_start(run);
  cradle_mutator *m = cradle_mutator_new(heap);
  uint64_t sum = run_all(m, run);
  workload_end(run, heap, m);
  return sum;
}

/* --- by hand --- */

static gcbench_node *node_by_hand(manual *memory, gcbench_node *left, gcbench_node *right) {
  gcbench_node *n = manual_take(memory, sizeof(gcbench_node));
  *n = (gcbench_node){0, left, right, 0, 0};
  return n;
}

static void populate_by_hand(manual *memory, gcbench_node *n, unsigned depth) {
  if (depth == 0) return;
  n->left = node_by_hand(memory, NULL, NULL);
  n->right = node_by_hand(memory, NULL, NULL);
  populate_by_hand(memory, n->left, depth - 1);
  populate_by_hand(memory, n->right, depth - 1);
}

static gcbench_node *down_by_hand(manual *memory, unsigned depth) {
  gcbench_node *n = node_by_hand(memory, NULL, NULL);
  populate_by_hand(memory, n, depth);
  return n;
}

static gcbench_node *up_by_hand(manual *memory, unsigned depth) {
  if (depth == 0) return node_by_hand(memory, NULL, NULL);
  gcbench_node *left = up_by_hand(memory, depth - 1);
  return node_by_hand(memory, left, up_by_hand(memory, depth - 1));
}

static void give(manual *memory, gcbench_node *n) {
  if (n->left != NULL) {
    give(memory, n->left);
    give(memory, n->right);
  }
  manual_give(memory, n);
}

static uint64_t passing_tree(manual *memory, gcbench_node *make(manual *, unsigned), unsigned depth) {
  char *mark = manual_mark(memory);
  gcbench_node *n = make(memory, depth);
  uint64_t sum = left_depth(n);
  if (manual_frees(memory)) give(memory, n);
  manual_drop(memory, mark);
  return sum;
}

static uint64_t run_by_hand(workload_run *run, manual *memory) {
  shape s = shape_of(run);
  uint64_t sum = passing_tree(memory, up_by_hand, s.stretch);
  gcbench_node *long_lived = down_by_hand(memory, s.most);
  bytes *numbers = bytes_by_hand(memory, s.numbers * sizeof(double));
  fill(&s, numbers);
  for (unsigned depth = MIN_DEPTH; depth <= s.most; depth += 2) {
    for (uint64_t i = trees_of(&s, depth); i > 0; i--) sum += passing_tree(memory, down_by_hand, depth);
    for (uint64_t i = trees_of(&s, depth); i > 0; i--) sum += passing_tree(memory, up_by_hand, depth);
  }
  sum += check_long_lived(run, &s, long_lived, numbers);
  if (manual_frees(memory)) give(memory, long_lived);
  manual_give(memory, numbers);
  return sum;
}

const workload workload_gcbench = {
    .name = "gcbench",
    .help = "GCBench with a stretch tree of depth SIZE (18 is the standard), a long-lived tree of SIZE - 2",
    .cradle = run_cradle,
    .by_hand = run_by_hand,
    .on_arena = true,
    .on_fresh_arena = true,
    .usual = {.size = 18, .runs = 5},
    .small = {.size = 8, .runs = 1},
    .size_least = 6,
    .size_most = 26,
};
