/* A list of references for the benchmarks: a spine of leaves, so that a store makes the collector look at one leaf
 * again and not at the whole list, as a VM with long lists would arrange it.
 */
#ifndef BENCH_HUGE_LIST_H
#define BENCH_HUGE_LIST_H

#include <cradle/cradle.h>

#define HUGE_LEAF_ITEMS 1024u

/* Both spine and leaves have this length. */
typedef struct huge_list {
  uint64_t header, length;
  void *items[];
} huge_list;

#define HUGE_LIST_TYPE \
  {.name = "list", \
   .size = sizeof(huge_list), \
   .items = CRADLE_ITEMS_REFERENCES, \
   .item_size = 8, \
   .length_offset = offsetof(huge_list, length)}

/* Room for length items, all NULL. type is the id of HUGE_LIST_TYPE. */
static inline huge_list *huge_list_new(cradle_mutator *m, uint32_t type, uint64_t length) CRADLE_MAY_COLLECT {
  huge_list *spine =
      CRADLE_NEW_ARRAY(m, huge_list, type, items, length, (length + HUGE_LEAF_ITEMS - 1) / HUGE_LEAF_ITEMS);
  CRADLE_ROOT(m, spine);
  for (uint64_t i = 0; i < spine->length; i++) {
    huge_list *leaf = CRADLE_NEW_ARRAY(m, huge_list, type, items, length, HUGE_LEAF_ITEMS);
    cradle_store(m, spine, &spine->items[i], leaf);
  }
  return spine;
}

static inline void *huge_list_get(const huge_list *spine, uint64_t index) {
  const huge_list *leaf = spine->items[index / HUGE_LEAF_ITEMS];
  return leaf->items[index % HUGE_LEAF_ITEMS];
}

static inline void huge_list_set(cradle_mutator *m, huge_list *spine, uint64_t index, const void *item) {
  huge_list *leaf = spine->items[index / HUGE_LEAF_ITEMS];
  cradle_store(m, leaf, &leaf->items[index % HUGE_LEAF_ITEMS], item);
}

#endif
