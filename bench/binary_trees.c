/* binary-trees of the Computer Language Benchmarks Game: many short-lived trees beside one that lives. */
#include "bench/workloads.h"

typedef struct tree {
  uint64_t header;
  struct tree *left, *right;
} tree;

enum { MIN_DEPTH = 4 };

static const cradle_type types[] = {
    {.name = "tree", .size = sizeof(tree), .references = CRADLE_SLOT(tree, left) | CRADLE_SLOT(tree, right)}};

/* The shadow stack's way: what must outlive a call is pushed before it and reloaded after it. */
static tree *make(cradle_mutator *m, unsigned depth) CRADLE_MAY_COLLECT {
  if (depth == 0) return cradle_new(m, 0, sizeof(tree));
  cradle_push(m, make(m, depth - 1));
  cradle_push(m, make(m, depth - 1));
  tree *node = cradle_new(m, 0, sizeof(tree));
  node->right = cradle_pop(m);
  node->left = cradle_pop(m);
  return node;
}

static uint64_t count(const tree *node) {
  return node->left == NULL ? 1 : 1 + count(node->left) + count(node->right);
}

static uint64_t run_cradle(workload_run *run) {
  cradle_heap *heap = workload_start(run, types, 1);
  cradle_mutator *m = cradle_mutator_new(heap);
  unsigned most = (unsigned)run->size;
  uint64_t sum = count(make(m, most + 1));
  tree *kept = make(m, most);
  {
    CRADLE_ROOT(m, kept);
    for (unsigned depth = MIN_DEPTH; depth <= most; depth += 2)
      for (uint64_t i = 0; i < UINT64_C(1) << (most - depth + MIN_DEPTH); i++) sum += count(make(m, depth));
    sum += count(kept);
  }
  workload_end(run, heap, m);
  return sum;
}

static tree *bare_make(bare_arena *arena, unsigned depth) {
  tree *left = NULL, *right = NULL;
  if (depth > 0) {
    left = bare_make(arena, depth - 1);
    right = bare_make(arena, depth - 1);
  }
  tree *node = bare_arena_take(arena, sizeof(tree));
  *node = (tree){0, left, right};
  return node;
}

static uint64_t bare_tree(bare_arena *arena, unsigned depth) {
  arena->free = arena->start;
  return count(bare_make(arena, depth));
}

static uint64_t run_bare(workload_run *run) {
  unsigned most = (unsigned)run->size;
  bare_arena kept, scratch;
  bare_arena_open(&kept, (size_t)sizeof(tree) << (most + 1));
  bare_arena_open(&scratch, (size_t)sizeof(tree) << (most + 2));
  uint64_t sum = bare_tree(&scratch, most + 1);
  tree *long_lived = bare_make(&kept, most);
  for (unsigned depth = MIN_DEPTH; depth <= most; depth += 2)
    for (uint64_t i = 0; i < UINT64_C(1) << (most - depth + MIN_DEPTH); i++) sum += bare_tree(&scratch, depth);
  sum += count(long_lived);
  bare_arena_close(&scratch);
  bare_arena_close(&kept);
  return sum;
}

const workload workload_binary_trees = {"binary-trees", "trees of depth 4 to SIZE, freed whole in the bare variant", 18,
                                        run_cradle, run_bare};
