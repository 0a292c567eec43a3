/* Shared by the second-core tests: a heap whose collector has a thread, with enough objects that a round lasts. */
#ifndef TESTS_SECOND_CORE_H
#define TESTS_SECOND_CORE_H

#include <sched.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include <cradle/cradle.h>

#include "tests/inside.h"

enum { T_NODE, T_TABLE, T_TYPES };
typedef struct node {
  uint64_t header;
  struct node *next, *other;
  uint64_t number;
} node;
typedef struct table {
  uint64_t header, length;
  node *item[];
} table;

/* So many that marking them takes some milliseconds; and 8 MiB of them, which make a thread worthwhile. The table's
 * items take long enough that the program stores into those that the thread has passed what it has not come to. */
#define LIST_NODES 500000
#define WORTHWHILE_NODES 330000
#define TABLE_ITEMS 50000
#define CHAIN_MOST 50

typedef struct roots {
  node *list;
  table *items;
} roots;
typedef struct second_core {
  cradle_heap *heap;
  cradle_mutator *m;
  roots *roots; /* global ones */
  uint64_t nodes, random;
} second_core;

/* Listens to the events of heaps that are made from now on; NULL if nobody listens. */
static void (*second_core_listener)(void *data, const cradle_event *event);

static inline void require(bool holds, const char *what) {
  if (holds) return;
  (void)fprintf(stderr, "%s (process %ld)\n", what, (long)getpid());
  _exit(1);
}

static inline void nap_ms(long ms) {
  (void)nanosleep(&(struct timespec){.tv_nsec = ms * 1000000}, NULL);
}

static inline node *new_node(cradle_mutator *m, uint64_t number) CRADLE_MAY_COLLECT {
  node *fresh = cradle_new(m, T_NODE, sizeof(node));
  fresh->number = number;
  return fresh;
}

/* A heap with an old list of so many nodes. */
static inline second_core second_core_new(uint32_t threads, uint64_t nodes) {
  static const cradle_type types[T_TYPES] = {
      [T_NODE] = {.name = "node",
                  .size = sizeof(node),
                  .references = CRADLE_SLOT(node, next) | CRADLE_SLOT(node, other)},
      [T_TABLE] = {.name = "table",
                   .size = sizeof(table),
                   .items = CRADLE_ITEMS_REFERENCES,
                   .item_size = 8,
                   .length_offset = offsetof(table, length)}};
  cradle_options options;
  cradle_error error = {.message = ""};
  cradle_options_init(&options);
  options.types = types;
  options.type_count = T_TYPES;
  options.nursery_bytes = (size_t)256 << 10;
  options.hugepages_arenas = options.hugepages_nursery = CRADLE_HUGEPAGES_OFF; /* as much memory as is asked for */
  options.gc_threads = threads;
  if (second_core_listener != NULL) options.listener = (cradle_listener){second_core_listener, NULL};
  second_core s = {
      .heap = cradle_heap_new(&options, &error), .roots = calloc(1, sizeof *s.roots), .nodes = nodes, .random = 1};
  require(s.heap != NULL && s.roots != NULL, error.message);
  s.m = cradle_mutator_new(s.heap);
  require(s.m != NULL, "no memory for the mutator");
  cradle_global_root_add(s.heap, &s.roots->list, CRADLE_KIND_REFERENCE);
  cradle_global_root_add(s.heap, &s.roots->items, CRADLE_KIND_REFERENCE);
  s.roots->items = cradle_new_array(s.m, T_TABLE, TABLE_ITEMS);
  for (uint64_t i = 0; i < nodes; i++) {
    node *fresh = new_node(s.m, i);
    fresh->next = s.roots->list;
    s.roots->list = fresh;
  }
  for (uint64_t i = 0; i < 2 * TABLE_ITEMS; i++) {
    node *fresh = new_node(s.m, nodes + i % TABLE_ITEMS);
    fresh->other = s.roots->items->item[i % TABLE_ITEMS];
    cradle_store(s.m, s.roots->items, &s.roots->items->item[i % TABLE_ITEMS], fresh);
  }
  cradle_collect(s.m, CRADLE_COLLECT_MAJOR);
  return s;
}

static inline void second_core_free(second_core *s) {
  cradle_mutator_free(s->m);
  cradle_heap_free(s->heap);
  free(s->roots);
}

static inline uint64_t second_core_random(second_core *s, uint64_t below) {
  s->random = s->random * UINT64_C(6364136223846793005) + 1442695040888963407;
  return (s->random >> 33) % below;
}

/* Stores new nodes into old objects, and hides old ones from marking: an old node moves from a place that marking has
 * not reached to one that it has passed. */
CRADLE_UNCHECKED_COLLECTION static inline void second_core_churn(second_core *s, int times) {
  for (int i = 0; i < times; i++) {
    uint64_t from = second_core_random(s, TABLE_ITEMS), to = second_core_random(s, TABLE_ITEMS);
    node *fresh = new_node(s->m, s->nodes + from);
    table *items = s->roots->items;
    node *old = items->item[from], *hidden = old == NULL ? NULL : old->other;
    if (old != NULL) cradle_store(s->m, old, &old->other, (node *)NULL);
    if (second_core_random(s, CHAIN_MOST) != 0) cradle_store(s->m, fresh, &fresh->other, old);
    cradle_store(s->m, items, &items->item[from], fresh);
    if (hidden != NULL) cradle_store(s->m, items, &items->item[to], hidden);
  }
}

/* Takes small steps, at least one, until the heap is marking; a collector's thread may then run. */
CRADLE_UNCHECKED_COLLECTION static inline void second_core_begin(second_core *s) {
  do (void)cradle_collect_step(s->m, 1);
  while (inside_major(s->heap)->phase != MAJOR_MARKING);
}

/* Starts marking as second_core_begin does, and returns while the collector's thread is at work. */
CRADLE_UNCHECKED_COLLECTION static inline void second_core_begin_round(second_core *s) {
  for (int tries = 0; tries < 1000; tries++) {
    second_core_begin(s);
    require(inside_marker(s->heap)->thread != NULL, "the heap has no thread");
    for (int waits = 0; inside_marker(s->heap)->going; waits++) {
      uint32_t word = __atomic_load_n(&inside_marker(s->heap)->word, __ATOMIC_ACQUIRE);
      if (word == ROUND_TAKEN) return;
      if (word == ROUND_IDLE || waits == 100000) break;
      (void)sched_yield();
    }
  }
  require(false, "the thread takes no round");
}

/* Enough for some pauses. */
CRADLE_UNCHECKED_COLLECTION static inline void second_core_work(second_core *s) {
  second_core_churn(s, 60000);
}

CRADLE_UNCHECKED_COLLECTION static inline void second_core_check(second_core *s) {
  cradle_error error = {.message = ""};
  require(cradle_heap_verify(s->heap, &error), error.message);
  cradle_collect(s->m, CRADLE_COLLECT_FULL);
  require(cradle_heap_verify(s->heap, &error), error.message);
  uint64_t number = s->nodes;
  for (const node *n = s->roots->list; n != NULL; n = n->next)
    require(n->number == --number, "the list is not what it was");
  require(number == 0, "the list is too short");
  for (uint64_t i = 0; i < TABLE_ITEMS; i++)
    for (const node *n = s->roots->items->item[i]; n != NULL; n = n->other)
      require(n->number >= s->nodes && n->number < s->nodes + TABLE_ITEMS, "a node is not what was stored");
}

#endif
