/* marking SHAPE SIZE [THREADS...]: how long it takes to mark SIZE bytes that live, with so many threads of the
 * collector (options.gc_threads; 0, 1 and 2 unless told). Each number of threads has a heap of its own. It times
 *
 *   pause    full collections, of which the program's thread leads the marking; with their sweep
 *   beside   from the beginning of a major collection to the end of its marking, while the program only sleeps
 *
 * The shapes: tree, a binary tree; graph, nodes that lead to four others at random, so that each look misses the cache;
 * arrays, of 1,000 references each; list, which cannot be divided.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cradle/cradle.h>

#include "bench/size.h"
#include "bench/timing.h"

enum { T_NODE, T_ARRAY, T_COUNT, SLOTS = 4, ITEMS = 1000, RUNS = 5, THREADS_TOLD = 3 };
#define WAIT_NS 2000000 /* between two pauses of the program that only sleeps */
#define BRANCH 2

typedef struct node {
  uint64_t header;
  struct node *slot[SLOTS];
} node;
typedef struct array {
  uint64_t header, length;
  node *item[];
} array;

static const cradle_type types[T_COUNT] = {
    [T_NODE] = {.name = "node",
                .size = sizeof(node),
                .references = CRADLE_SLOT(node, slot[0]) | CRADLE_SLOT(node, slot[1]) | CRADLE_SLOT(node, slot[2]) |
                              CRADLE_SLOT(node, slot[3])},
    [T_ARRAY] = {.name = "array",
                 .size = sizeof(array),
                 .items = CRADLE_ITEMS_REFERENCES,
                 .item_size = sizeof(node *),
                 .length_offset = offsetof(array, length)},
};

typedef struct shape {
  const char *name;
  /* Which earlier node leads to node i, for i > 0; the slot is the next free one. */
  uint64_t (*parent)(uint64_t i);
  uint64_t more; /* slots besides, which lead to nodes at random */
} shape;

static uint64_t random_state = 1;

static uint64_t below(uint64_t limit) {
  random_state = random_state * UINT64_C(6364136223846793005) + 1442695040888963407;
  return (random_state >> 33) % limit;
}
static uint64_t before(uint64_t i) {
  return i - 1;
}
static uint64_t above(uint64_t i) {
  return (i - 1) / BRANCH;
}
static const shape shapes[] = {{"tree", above, 0}, {"graph", above, 2}, {"list", before, 0}, {"arrays", NULL, 0}};

/* All nodes while they are made: arrays of ITEMS, in an array. */
typedef struct everything {
  cradle_heap *heap;
  cradle_mutator *m;
  array *all;
  node *first;
} everything;

static node *node_at(const everything *e, uint64_t i) {
  return ((array *)e->all->item[i / ITEMS])->item[i % ITEMS];
}

static void make_node(everything *e, const shape *of, uint64_t i) CRADLE_MAY_COLLECT {
  if (i % ITEMS == 0) {
    array *part = cradle_new_array(e->m, T_ARRAY, ITEMS);
    cradle_store(e->m, e->all, &e->all->item[i / ITEMS], part);
  }
  node *made = CRADLE_NEW(e->m, node, T_NODE);
  array *part = (array *)e->all->item[i / ITEMS];
  cradle_store(e->m, part, &part->item[i % ITEMS], made);
  if (i == 0) e->first = made;
  if (i == 0 || of->parent == NULL) return;
  node *parent = node_at(e, of->parent(i));
  cradle_store(e->m, parent, &parent->slot[parent->slot[0] != NULL], made);
  for (uint64_t k = 0; k < of->more; k++) cradle_store(e->m, made, &made->slot[BRANCH + k], node_at(e, below(i)));
}

static void fill(everything *e, const shape *of, uint64_t nodes) CRADLE_MAY_COLLECT {
  cradle_global_root_add(e->heap, &e->all, CRADLE_KIND_REFERENCE);
  cradle_global_root_add(e->heap, &e->first, CRADLE_KIND_REFERENCE);
  e->all = cradle_new_array(e->m, T_ARRAY, nodes / ITEMS + 1);
  for (uint64_t i = 0; i < nodes; i++) make_node(e, of, i);
  if (of->parent != NULL) e->all = NULL; /* from now on the shape alone leads to the nodes */
  /* The threads are made as marking begins and by the next minor collection. */
  (void)cradle_collect_step(e->m, 0);
  cradle_collect(e->m, CRADLE_COLLECT_MINOR);
  cradle_collect(e->m, CRADLE_COLLECT_FULL);
}

static uint64_t time_pause(everything *e) CRADLE_MAY_COLLECT {
  uint64_t begin = now_ns();
  cradle_collect(e->m, CRADLE_COLLECT_MAJOR);
  return now_ns() - begin;
}

static bool is_marking(const everything *e) {
  cradle_statistics stats;
  cradle_heap_statistics(e->heap, &stats, sizeof stats);
  return stats.phase == CRADLE_PHASE_MARKING;
}

/* The steps' deadline is 0: they do what the threads have left to the program. */
static uint64_t time_beside(everything *e) CRADLE_MAY_COLLECT {
  uint64_t begin = now_ns();
  (void)cradle_collect_step(e->m, 0);
  while (is_marking(e)) {
    (void)nanosleep(&(struct timespec){.tv_nsec = WAIT_NS}, NULL);
    (void)cradle_collect_step(e->m, 0);
  }
  uint64_t took = now_ns() - begin;
  while (!cradle_collect_step(e->m, UINT64_MAX)) continue;
  return took;
}

static double least_ms(everything *e, uint64_t (*timed)(everything *e)) CRADLE_MAY_COLLECT {
  uint64_t least = UINT64_MAX;
  for (int i = 0; i < RUNS; i++) {
    uint64_t took = timed(e);
    if (took < least) least = took;
  }
  return (double)least / 1e6;
}

static void measure(const shape *of, uint64_t bytes, uint32_t threads) {
  cradle_options options;
  cradle_error error;
  everything e = {.all = NULL};
  cradle_options_init(&options);
  options.types = types, options.type_count = T_COUNT;
  options.gc_threads = threads;
  e.heap = cradle_heap_new(&options, &error);
  if (e.heap == NULL) {
    fprintf(stderr, "marking: %s\n", error.message);
    exit(1);
  }
  e.m = cradle_mutator_new(e.heap);
  fill(&e, of, bytes / sizeof(node));
  double pause = least_ms(&e, time_pause);
  printf("%-8s %2u threads: pause %8.1f ms", of->name, (unsigned)threads, pause);
  if (threads > 0) printf(", beside %8.1f ms", least_ms(&e, time_beside));
  printf("\n");
  cradle_mutator_free(e.m);
  cradle_heap_free(e.heap);
}

static void bad_usage(void) {
  fputs("usage: marking tree|graph|arrays|list SIZE [THREADS...], such as: marking tree 1G 0 1 2\n", stderr);
  exit(2);
}

int main(int count, char **arguments) {
  static const char *const told[THREADS_TOLD] = {"0", "1", "2"};
  const shape *of = NULL;
  size_t bytes = 0;
  for (size_t i = 0; count > 2 && i < sizeof shapes / sizeof *shapes; i++)
    if (strcmp(arguments[1], shapes[i].name) == 0) of = &shapes[i];
  if (of == NULL || !read_bytes(arguments[2], &bytes) || bytes < sizeof(node) * ITEMS) bad_usage();
  for (int i = 3; i < (count > 3 ? count : 3 + THREADS_TOLD); i++) {
    unsigned long threads = strtoul(count > 3 ? arguments[i] : told[i - 3], NULL, 10);
    if (threads > CRADLE_GC_THREADS_MAX) bad_usage();
    random_state = 1;
    measure(of, bytes, (uint32_t)threads);
  }
  return 0;
}
