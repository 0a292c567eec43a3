/* A quad tree, built from the leaves and dropped: nothing dies before the whole does, so every collection of the build
 * finds that everything lives. */
#include "bench/workloads.h"

static quad *make(cradle_mutator *m, uint64_t depth) CRADLE_MAY_COLLECT {
  if (depth == 0) return NULL;
  for (int i = 0; i < QUAD_CHILDREN; i++) cradle_push(m, make(m, depth - 1));
  quad *fresh = CRADLE_NEW(m, quad, TYPE_QUAD);
  for (int i = QUAD_CHILDREN; i-- > 0;) fresh->children[i] = cradle_pop(m);
  return fresh;
}

static uint64_t count(const quad *root) {
  if (root == NULL) return 0;
  uint64_t sum = 1;
  for (int i = 0; i < QUAD_CHILDREN; i++) sum += count(root->children[i]);
  return sum;
}

static void note_live(workload_run *run, uint64_t nodes) {
  run->live_bytes = nodes * sizeof(quad);
}

static uint64_t run_cradle(workload_run *run) {
  cradle_heap *heap = workload_start(run);
  cradle_mutator *m = cradle_mutator_new(heap);
  uint64_t nodes = count(make(m, run->with.size));
  note_live(run, nodes);
  workload_end(run, heap, m);
  return nodes;
}

static quad *make_by_hand(manual *memory, uint64_t depth) {
  if (depth == 0) return NULL;
  quad made = {.header = 0};
  for (int i = 0; i < QUAD_CHILDREN; i++) made.children[i] = make_by_hand(memory, depth - 1);
  quad *fresh = manual_take(memory, sizeof(quad));
  *fresh = made;
  return fresh;
}

static void give(manual *memory, quad *root) {
  if (root == NULL) return;
  for (int i = 0; i < QUAD_CHILDREN; i++) give(memory, root->children[i]);
  manual_give(memory, root);
}

static uint64_t run_by_hand(workload_run *run, manual *memory) {
  quad *root = make_by_hand(memory, run->with.size);
  uint64_t nodes = count(root);
  note_live(run, nodes);
  if (manual_frees(memory)) give(memory, root);
  return nodes;
}

const workload workload_quads = {
    .name = "quads",
    .help = "a quad tree of depth SIZE, built and dropped",
    .cradle = run_cradle,
    .by_hand = run_by_hand,
    .on_arena = true,
    .usual = {.size = 11, .runs = 5},
    .small = {.size = 7, .runs = 1},
    .size_most = 14,
};
