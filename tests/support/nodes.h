/* For tests with types of their own, of which NODE is the first: one heap, its mutator, and nodes in it. */
#ifndef TESTS_NODES_H
#define TESTS_NODES_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <cradle/cradle.h>

typedef struct node {
  uint64_t header, number;
  struct node *next;
} node;
#define NODE_TYPE {.name = "node", .size = sizeof(node), .references = CRADLE_SLOT(node, next)}
enum { NODE };

static cradle_heap *heap;
static cradle_mutator *mutator;

/* What a test's setup returns: 0, or that there is no heap. */
CRADLE_UNCHECKED_COLLECTION static inline int start_heap(const cradle_options *options) {
  heap = cradle_heap_new(options, NULL);
  mutator = heap == NULL ? NULL : cradle_mutator_new(heap);
  return mutator == NULL;
}
CRADLE_UNCHECKED_COLLECTION static inline int close_heap(void **state) {
  (void)state;
  cradle_mutator_free(mutator);
  cradle_heap_free(heap);
  return 0;
}

static inline void fail_of_misuse(void *data, const char *message) {
  (void)data;
  fail_msg("misuse: %s", message);
}
static inline void assert_sound(void) {
  cradle_error error;
  if (!cradle_heap_verify(heap, &error)) fail_msg("verify: %s", error.message);
}
static inline cradle_statistics read_stats(void) {
  cradle_statistics stats;
  cradle_heap_statistics(heap, &stats, sizeof stats);
  return stats;
}

CRADLE_MAY_COLLECT static inline node *new_node(uint64_t number) {
  node *made = CRADLE_NEW(mutator, node, NODE);
  made->number = number;
  return made;
}
static inline node *node_at(uint64_t word) {
  return (node *)(uintptr_t)word;
}

#endif
