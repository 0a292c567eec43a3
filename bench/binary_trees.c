/* binary-trees of the Computer Language Benchmarks Game: many short-lived trees beside one that lives.
 *
 * The arena drops each passing tree at once and lays the next one over it, at addresses that the cache still holds: no
 * allocator that serves several owners can do that. --peer=arena-fresh is the same arena on memory that was never used
 * before. It touches all that the program allocates: 1.6 GiB at SIZE 18.
 */
#include "bench/workloads.h"

enum { MIN_DEPTH = 4 };

/* References that must outlive a call that may collect are pushed on the shadow stack before it and reloaded after it.
 * The allocation rarely collects, and only its slow path needs the push. */
static tree *make(cradle_mutator *m, unsigned depth) CRADLE_MAY_COLLECT {
  if (depth == 0) return CRADLE_NEW(m, tree, TYPE_TREE);
  cradle_push(m, make(m, depth - 1));
  tree *right = make(m, depth - 1);
  tree *fresh = CRADLE_NEW_FAST(m, tree, TYPE_TREE);
  if (CRADLE_UNLIKELY(fresh == NULL)) {
    cradle_push(m, right);
    fresh = CRADLE_NEW(m, tree, TYPE_TREE);
    right = cradle_pop(m);
  }
  fresh->left = cradle_pop(m);
  fresh->right = right;
  return fresh;
}

static uint64_t count(const tree *root) {
  return root->left == NULL ? 1 : 1 + count(root->left) + count(root->right);
}

static void note_live(workload_run *run) {
  run->live_bytes = sizeof(tree) * ((UINT64_C(4) << run->with.size) - 1);
}

static uint64_t run_cradle(workload_run *run) {
  cradle_heap *heap = workload_start(run);
  cradle_mutator *m = cradle_mutator_new(heap);
  unsigned most = (unsigned)run->with.size;
  uint64_t sum = count(make(m, most + 1));
  tree *kept = make(m, most);
  {
    CRADLE_ROOT(m, kept);
    for (unsigned depth = MIN_DEPTH; depth <= most; depth += 2)
      for (uint64_t i = 0; i < UINT64_C(1) << (most - depth + MIN_DEPTH); i++) sum += count(make(m, depth));
    sum += count(kept);
  }
  note_live(run);
  workload_end(run, heap, m);
  return sum;
}

static tree *make_by_hand(manual *memory, unsigned depth) {
  tree *left = NULL, *right = NULL;
  if (depth > 0) {
    left = make_by_hand(memory, depth - 1);
    right = make_by_hand(memory, depth - 1);
  }
  tree *fresh = manual_take(memory, sizeof(tree));
  *fresh = (tree){0, left, right};
  return fresh;
}

static void give(manual *memory, tree *root) {
  if (root->left != NULL) {
    give(memory, root->left);
    give(memory, root->right);
  }
  manual_give(memory, root);
}

static uint64_t passing_tree(manual *memory, unsigned depth) {
  char *mark = manual_mark(memory);
  tree *root = make_by_hand(memory, depth);
  uint64_t sum = count(root);
  if (manual_frees(memory)) give(memory, root);
  manual_drop(memory, mark);
  return sum;
}

static uint64_t run_by_hand(workload_run *run, manual *memory) {
  unsigned most = (unsigned)run->with.size;
  uint64_t sum = passing_tree(memory, most + 1);
  tree *kept = make_by_hand(memory, most);
  for (unsigned depth = MIN_DEPTH; depth <= most; depth += 2)
    for (uint64_t i = 0; i < UINT64_C(1) << (most - depth + MIN_DEPTH); i++) sum += passing_tree(memory, depth);
  sum += count(kept);
  if (manual_frees(memory)) give(memory, kept);
  note_live(run);
  return sum;
}

const workload workload_binary_trees = {
    .name = "binary-trees",
    .help = "trees of depth 4 to SIZE that pass by beside one that stays",
    .cradle = run_cradle,
    .by_hand = run_by_hand,
    .on_arena = true,
    .on_fresh_arena = true,
    .usual = {.size = 18, .runs = 5},
    .small = {.size = 8, .runs = 1},
    .size_most = 26,
};
