/* Four workloads of the suite on Boehm's collector: boehm NAME SIZE SLOTS RUNS prints a line of seconds and checksum
 * for each run. */
#include <gc.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* --- binary-trees --- */

typedef struct tree {
  struct tree *left, *right;
} tree;

static tree *make(unsigned depth) {
  tree *fresh = GC_MALLOC(sizeof(tree));
  if (depth > 0) {
    fresh->left = make(depth - 1);
    fresh->right = make(depth - 1);
  }
  return fresh;
}

static uint64_t count(const tree *root) {
  return root->left == NULL ? 1 : 1 + count(root->left) + count(root->right);
}

static uint64_t binary_trees(uint64_t size, uint64_t slots) {
  (void)slots;
  unsigned most = (unsigned)size;
  uint64_t sum = count(make(most + 1));
  tree *kept = make(most);
  for (unsigned depth = 4; depth <= most; depth += 2)
    for (uint64_t i = 0; i < UINT64_C(1) << (most - depth + 4); i++) sum += count(make(depth));
  return sum + count(kept);
}

/* --- gcbench --- */

typedef struct node {
  struct node *left, *right;
  int32_t i, j;
} node;

static void populate(node *n, unsigned depth) {
  if (depth == 0) return;
  n->left = GC_MALLOC(sizeof(node));
  n->right = GC_MALLOC(sizeof(node));
  populate(n->left, depth - 1);
  populate(n->right, depth - 1);
}
static node *make_down(unsigned depth) {
  node *n = GC_MALLOC(sizeof(node));
  populate(n, depth);
  return n;
}
static node *make_up(unsigned depth) {
  if (depth == 0) return GC_MALLOC(sizeof(node));
  node *left = make_up(depth - 1), *right = make_up(depth - 1), *n = GC_MALLOC(sizeof(node));
  n->left = left;
  n->right = right;
  return n;
}
static uint64_t left_depth(const node *n) {
  uint64_t depth = 0;
  for (; n->left != NULL; n = n->left) depth++;
  return depth;
}
static uint64_t count_nodes(const node *n) {
  return n->left == NULL ? 1 : 1 + count_nodes(n->left) + count_nodes(n->right);
}
static uint64_t nodes_of(unsigned depth) {
  return (UINT64_C(2) << depth) - 1;
}

static uint64_t gcbench(uint64_t size, uint64_t slots) {
  (void)slots;
  unsigned stretch = (unsigned)size, most = stretch - 2;
  uint64_t length = stretch < 18 ? 500000u >> (18 - stretch) : 500000u;
  uint64_t sum = left_depth(make_up(stretch));
  node *long_lived = make_down(most);
  double *numbers = GC_MALLOC_ATOMIC(length * sizeof(double));
  memset(numbers, 0, length * sizeof(double));
  for (uint64_t i = 0; i < length / 2; i++) numbers[i] = 1.0 / (double)(i + 1);
  for (unsigned depth = 4; depth <= most; depth += 2) {
    uint64_t trees = 2 * nodes_of(stretch) / nodes_of(depth);
    for (uint64_t i = 0; i < trees; i++) sum += left_depth(make_down(depth));
    for (uint64_t i = 0; i < trees; i++) sum += left_depth(make_up(depth));
  }
  if (numbers[9] != 0.1) exit(1);
  return sum + count_nodes(long_lived);
}

/* --- tuples --- */

typedef struct tuple {
  uint64_t items[3];
} tuple;

static uint64_t tuples(uint64_t rounds, uint64_t slots) {
  tuple **all = GC_MALLOC(slots * sizeof(tuple *));
  for (uint64_t round = 0; round < rounds; round++) {
    for (uint64_t i = 0; i < slots; i++) {
      tuple *t = GC_MALLOC(sizeof(tuple));
      *t = (tuple){{2 * i + 1, 2 * (i + 1) + 1, 2 * (i + round) + 1}};
      all[i] = t;
    }
  }
  uint64_t sum = 0;
  for (uint64_t i = 0; i < slots; i++) sum += all[i]->items[0] + 3 * all[i]->items[1] + 5 * all[i]->items[2];
  return sum;
}

/* --- store --- */

typedef struct cell {
  struct cell *next;
  uint64_t number;
} cell;

static uint64_t store(uint64_t steps, uint64_t slots) {
  cell **all = GC_MALLOC(slots * sizeof(cell *));
  uint64_t state = 1, sum = 0;
  for (uint64_t number = 1; number <= steps; number++) {
    state = (state * 1103515245 + 12345) & 0x7fffffff;
    cell *fresh = GC_MALLOC(sizeof(cell));
    fresh->number = number;
    all[state * slots >> 31] = fresh;
  }
  for (uint64_t i = 0; i < slots; i++) sum += all[i] == NULL ? 0 : all[i]->number;
  return sum;
}

/* --- the program --- */

typedef struct program {
  const char *name;
  uint64_t (*run)(uint64_t size, uint64_t slots);
} program;
static const program programs[] = {
    {"binary-trees", binary_trees}, {"gcbench", gcbench}, {"tuples", tuples}, {"store", store}, {NULL, NULL}};

static double seconds_now(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

int main(int argc, char **argv) {
  const program *p = programs;
  while (argc == 5 && p->name != NULL && strcmp(p->name, argv[1]) != 0) p++;
  if (argc != 5 || p->name == NULL) {
    fprintf(stderr, "usage: boehm binary-trees|gcbench|tuples|store SIZE SLOTS RUNS\n");
    return 2;
  }
  GC_INIT();
  for (int i = atoi(argv[4]); i > 0; i--) {
    double begun = seconds_now();
    uint64_t sum = p->run(strtoull(argv[2], NULL, 10), strtoull(argv[3], NULL, 10));
    printf("%.6f %llu\n", seconds_now() - begun, (unsigned long long)sum);
    fflush(stdout);
  }
  return 0;
}
