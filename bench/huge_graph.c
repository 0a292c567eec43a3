/* A large live graph: grown by the mutator, walked by it at random, marked and swept by the collector.
 *
 * The nodes are numbered in the order of their birth. The left one of node i is node next(i), where next runs through
 * all of them in one long cycle with no order in memory; the right one is the left one of node i - 1. So all are
 * reachable from any, and a step in either direction goes anywhere.
 */
#include "bench/huge_pages.h"

#include "bench/huge_list.h"

enum { GROW, WALK, MARK, SWEEP };
enum { NODE, LIST };

#define STEPS UINT64_C(10000000)
/* Stores into old nodes are remembered until the next minor collection. One runs each time this many nodes are linked.
 * */
#define LINKS_A_COLLECTION UINT64_C(0xfffff)

typedef struct node {
  uint64_t header;
  struct node *left, *right;
  uint64_t number, payload[4];
} node;

static const cradle_type types[] = {
    [NODE] = {.name = "node", .size = sizeof(node), .references = CRADLE_SLOT(node, left) | CRADLE_SLOT(node, right)},
    [LIST] = HUGE_LIST_TYPE,
};

/* bytes: the nodes and, while they are linked, the list of them, an eighth as much. */
#define GRAPH(text, mib) \
  {.name = text, .bytes = (UINT64_C(mib) << 20) / 8 * 9, .heap = true, .size = UINT64_C(mib) << 20}
static const huge_case cases[] = {GRAPH("256M", 256), GRAPH("2G", 2048)};

/* A power of two, so that next() is one cycle. */
static uint64_t node_count(const huge_run *run) {
  uint64_t wanted = huge_work(run, run->which->size / sizeof(node)), count = 2;
  while (count * 2 <= wanted) count *= 2;
  return count;
}

/* A linear congruential generator with full period: its increment is odd and its factor one above a multiple of
 * four. */
static uint64_t next(uint64_t number, uint64_t count) {
  return (number * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407)) & (count - 1);
}

static huge_list *grow(cradle_mutator *m, uint64_t count) CRADLE_MAY_COLLECT {
  huge_list *all = huge_list_new(m, LIST, count);
  CRADLE_ROOT(m, all);
  for (uint64_t i = 0; i < count; i++) {
    node *fresh = CRADLE_NEW(m, node, NODE);
    fresh->number = i;
    huge_list_set(m, all, i, fresh);
  }
  cradle_collect(m, CRADLE_COLLECT_MINOR);
  return all;
}

static node *link(cradle_mutator *m, huge_list *all, uint64_t count) CRADLE_MAY_COLLECT {
  CRADLE_ROOT(m, all);
  for (uint64_t i = 0; i < count; i++) {
    node *from = huge_list_get(all, i), *left = huge_list_get(all, next(i, count));
    node *before = huge_list_get(all, i == 0 ? count - 1 : i - 1);
    cradle_store(m, from, &from->left, left);
    cradle_store(m, from, &from->right, i == 0 ? before : before->left);
    if ((i & LINKS_A_COLLECTION) == LINKS_A_COLLECTION) cradle_collect(m, CRADLE_COLLECT_MINOR);
  }
  return huge_list_get(all, 0);
}

static uint64_t walk(const node *at, uint64_t steps) {
  uint64_t state = 1, sum = 0;
  for (uint64_t i = 0; i < steps; i++) {
    at = huge_random(&state) >> 63 ? at->left : at->right;
    sum += at->number;
  }
  return sum;
}

/* The phases of a major collection, each run to its end in one increment. */
static void listen(void *data, const cradle_event *event) {
  huge_run *run = data;
  if (event->kind == CRADLE_EVENT_STEP_BEGIN) huge_phase_begin(run);
  if (event->kind != CRADLE_EVENT_STEP_END) return;
  bool marking = event->u.step.from == CRADLE_PHASE_MARKING;
  huge_phase_end(run, marking ? MARK : SWEEP, marking ? event->u.step.marked_objects : node_count(run));
}

static uint64_t use(huge_run *run, cradle_mutator *m) CRADLE_MAY_COLLECT {
  uint64_t count = node_count(run), steps = huge_work(run, STEPS);
  huge_phase_begin(run);
  huge_list *all = grow(m, count);
  huge_phase_end(run, GROW, count);
  node *root = link(m, all, count);
  CRADLE_ROOT(m, root);
  huge_look(run);
  huge_phase_begin(run);
  uint64_t sum = walk(root, steps);
  huge_phase_end(run, WALK, steps);
  cradle_collect(m, CRADLE_COLLECT_MAJOR);
  return sum;
}

/* No major collection except the timed one. */
static uint64_t run_graph(huge_run *run) {
  cradle_options options;
  huge_heap_options(run, &options);
  options.types = types;
  options.type_count = sizeof types / sizeof types[0];
  options.major_min_bytes = options.major_max_delta = CRADLE_ADDRESS_MAX_BYTES;
  options.listener = (cradle_listener){listen, run};
  cradle_heap *heap = huge_heap_start(&options);
  cradle_mutator *m = cradle_mutator_new(heap);
  uint64_t sum = use(run, m);
  cradle_mutator_free(m);
  cradle_heap_free(heap);
  return sum;
}

const huge_bench huge_graph = {
    .name = "graph",
    .help = "a live graph of 64-byte nodes: grown, walked at random, marked and swept",
    .phases = {"grow", "walk", "mark", "sweep"},
    .operation = "node",
    HUGE_CASES(cases),
    .run = run_graph,
};
