/* Nursery sizes on each kind of page: the evidence for the size that the library chooses. Three programs: one that only
 * allocates, binary-trees, and one that reads what it just allocated, several times and in no order. */
#include "bench/huge_pages.h"

enum { ALLOCATE, TREES, REREAD };
enum { NODE, CELL, TABLE };

#define NODES UINT64_C(50000000)
#define TREE_DEPTH 16
#define TREE_MIN_DEPTH 4
/* reread: 2,048 cells of 64 bytes and their table, 144 KiB in all, each cell read eight times. */
#define CELLS 2048u
#define BATCHES UINT64_C(2000)
#define READS 8u

typedef struct node {
  uint64_t header;
  uint64_t value;
} node;

typedef struct tree {
  uint64_t header;
  struct tree *left, *right;
} tree;

typedef struct cell {
  uint64_t header;
  uint64_t numbers[7];
} cell;

typedef struct table {
  uint64_t header, length;
  cell *cells[];
} table;

enum { TREE = TABLE + 1 };
static const cradle_type types[] = {
    [NODE] = {.name = "node", .size = sizeof(node)},
    [CELL] = {.name = "cell", .size = sizeof(cell)},
    [TABLE] = {.name = "table",
               .size = sizeof(table),
               .items = CRADLE_ITEMS_REFERENCES,
               .item_size = 8,
               .length_offset = offsetof(table, length)},
    [TREE] = {.name = "tree", .size = sizeof(tree), .references = CRADLE_SLOT(tree, left) | CRADLE_SLOT(tree, right)},
};

static uint64_t allocate(const huge_run *run, cradle_mutator *m) CRADLE_MAY_COLLECT {
  uint64_t count = huge_work(run, NODES), sum = 0;
  for (uint64_t i = 0; i < count; i++) {
    node *fresh = CRADLE_NEW_UNINITIALIZED(m, node, NODE);
    fresh->value = i;
    __asm__ volatile("" : : "r"(fresh) : "memory"); /* makes the compiler allocate each */
    sum += i;
  }
  return sum;
}

static tree *make(cradle_mutator *m, unsigned depth) CRADLE_MAY_COLLECT {
  if (depth == 0) return CRADLE_NEW(m, tree, TREE);
  cradle_push(m, make(m, depth - 1));
  cradle_push(m, make(m, depth - 1));
  tree *fresh = CRADLE_NEW_UNINITIALIZED(m, tree, TREE);
  fresh->right = cradle_pop(m);
  fresh->left = cradle_pop(m);
  return fresh;
}

static uint64_t size_of(const tree *node_of) {
  return node_of->left == NULL ? 1 : 1 + size_of(node_of->left) + size_of(node_of->right);
}

static uint64_t trees(const huge_run *run, cradle_mutator *m) CRADLE_MAY_COLLECT {
  uint64_t sum = 0;
  tree *kept = make(m, TREE_DEPTH);
  CRADLE_ROOT(m, kept);
  for (unsigned depth = TREE_MIN_DEPTH; depth <= TREE_DEPTH; depth += 4)
    for (uint64_t i = huge_work(run, UINT64_C(1) << (TREE_DEPTH - depth + TREE_MIN_DEPTH)); i > 0; i--)
      sum += size_of(make(m, depth));
  return sum + size_of(kept);
}

static uint64_t reread(const huge_run *run, cradle_mutator *m) CRADLE_MAY_COLLECT {
  uint64_t state = 1, sum = 0;
  table *young = NULL;
  CRADLE_ROOT(m, young);
  for (uint64_t batch = huge_work(run, BATCHES); batch > 0; batch--) {
    young = CRADLE_NEW_ARRAY(m, table, TABLE, cells, length, CELLS);
    for (uint64_t i = 0; i < CELLS; i++) {
      cell *fresh = CRADLE_NEW(m, cell, CELL);
      fresh->numbers[0] = i;
      cradle_store(m, young, &young->cells[i], fresh);
    }
    for (uint64_t i = 0; i < READS * CELLS; i++) sum += young->cells[huge_random(&state) % CELLS]->numbers[0];
  }
  return sum;
}

static uint64_t (*const programs[])(const huge_run *run, cradle_mutator *m) = {allocate, trees, reread};

#define SIZE(program, number, text, kib) \
  {.name = program "-" text, .bytes = UINT64_C(128) << 20, .heap = true, .variant = number, .size = UINT64_C(kib) << 10}
#define SIZES(program, number) \
  SIZE(program, number, "32K", 32), SIZE(program, number, "64K", 64), SIZE(program, number, "128K", 128), \
      SIZE(program, number, "256K", 256), SIZE(program, number, "512K", 512), SIZE(program, number, "1M", 1024), \
      SIZE(program, number, "2M", 2048), SIZE(program, number, "4M", 4096), SIZE(program, number, "8M", 8192), \
      SIZE(program, number, "16M", 16384), SIZE(program, number, "32M", 32768), SIZE(program, number, "64M", 65536)
static const huge_case cases[] = {SIZES("allocate", ALLOCATE), SIZES("trees", TREES), SIZES("reread", REREAD)};

static uint64_t run_nursery(huge_run *run) {
  cradle_options options;
  huge_heap_options(run, &options);
  options.types = types;
  options.type_count = sizeof types / sizeof types[0];
  options.nursery_bytes = run->which->size;
  huge_phase_begin(run);
  cradle_heap *heap = huge_heap_start(&options);
  cradle_mutator *m = cradle_mutator_new(heap);
  uint64_t sum = programs[run->which->variant](run, m);
  huge_phase_end(run, 0, 1);
  huge_look(run);
  cradle_mutator_free(m);
  cradle_heap_free(heap);
  return sum;
}

const huge_bench huge_nursery = {
    .name = "nursery",
    .help = "nursery sizes from 32 KiB to 64 MiB: allocating only, binary-trees, rereading young data",
    .phases = {"run"},
    .operation = "run",
    HUGE_CASES(cases),
    .run = run_nursery,
};
