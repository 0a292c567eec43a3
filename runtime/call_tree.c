#include "runtime/call_tree.h"

#include <stdlib.h>
#include <string.h>

#include "gc/base/grow.h"

#define FIRST_CAPACITY 64

/* --- numbers by hash --- */

/* The finalizer of splitmix64: every bit of the result depends on every bit of both. */
static uint32_t hash_of(uint64_t a, uint64_t b) {
  uint64_t z = a * UINT64_C(0x9e3779b97f4a7c15) ^ b;
  z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
  z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
  return (uint32_t)(z ^ z >> 31);
}

static void table_put(crd_number_table *table, crd_number_slot slot) {
  uint32_t mask = table->capacity - 1, i = slot.hash & mask;
  while (table->slots[i].number_plus_1 != 0) i = (i + 1) & mask;
  table->slots[i] = slot;
  table->count++;
}

/* Makes room for one more number, so that half of the slots stay empty. */
static bool table_reserve(crd_number_table *table) {
  if (table->count < table->capacity / 2) return true;
  crd_number_table bigger = {.capacity = table->capacity == 0 ? FIRST_CAPACITY : 2 * table->capacity};
  bigger.slots = calloc(bigger.capacity, sizeof *bigger.slots);
  if (bigger.slots == NULL) return false;
  for (uint32_t i = 0; i < table->capacity; i++)
    if (table->slots[i].number_plus_1 != 0) table_put(&bigger, table->slots[i]);
  free(table->slots);
  *table = bigger;
  return true;
}

/* --- frames --- */

static uint32_t hash_of_key(const crd_frame_key *key) {
  return hash_of(key->id, (uint64_t)key->kind << 32 | key->line);
}

static bool equal_keys(const crd_frame_key *a, const crd_frame_key *b) {
  return a->id == b->id && a->line == b->line && a->kind == b->kind;
}

uint32_t crd_call_tree_find_frame(const crd_call_tree *tree, const crd_frame_key *key) {
  const crd_number_table *table = &tree->frame_table;
  if (table->capacity == 0) return CRD_CALL_TREE_NONE;
  uint32_t mask = table->capacity - 1, hash = hash_of_key(key);
  for (uint32_t i = hash & mask; table->slots[i].number_plus_1 != 0; i = (i + 1) & mask) {
    uint32_t number = table->slots[i].number_plus_1 - 1;
    if (table->slots[i].hash == hash && equal_keys(&tree->frames[number].key, key)) return number;
  }
  return CRD_CALL_TREE_NONE;
}

static bool copy_texts(crd_tree_frame *frame, const char *name, const char *file) {
  frame->name = strdup(name);
  frame->file = file == NULL ? NULL : strdup(file);
  if (frame->name != NULL && (file == NULL || frame->file != NULL)) return true;
  free(frame->name);
  free(frame->file);
  return false;
}

uint32_t crd_call_tree_add_frame(crd_call_tree *tree, const crd_frame_key *key, const char *name, const char *file) {
  crd_tree_frame frame = {.key = *key};
  if (!GROW(tree->frames, tree->frame_count, tree->frame_capacity) || !table_reserve(&tree->frame_table) ||
      !copy_texts(&frame, name, file))
    return CRD_CALL_TREE_NONE;
  tree->frames[tree->frame_count++] = frame;
  table_put(&tree->frame_table, (crd_number_slot){hash_of_key(key), tree->frame_count});
  return tree->frame_count - 1;
}

/* --- nodes --- */

static uint32_t find_child(const crd_call_tree *tree, uint32_t parent, uint32_t frame, uint32_t hash) {
  const crd_number_table *table = &tree->node_table;
  uint32_t mask = table->capacity - 1; /* the capacity is not 0: there is a root */
  for (uint32_t i = hash & mask; table->slots[i].number_plus_1 != 0; i = (i + 1) & mask) {
    uint32_t number = table->slots[i].number_plus_1 - 1;
    const crd_tree_node *node = &tree->nodes[number];
    if (node->parent == parent && node->frame == frame) return number;
  }
  return CRD_CALL_TREE_NONE;
}

static uint32_t add_node(crd_call_tree *tree, uint32_t parent, uint32_t frame, uint32_t hash) {
  if (!GROW(tree->nodes, tree->node_count, tree->node_capacity) || !table_reserve(&tree->node_table))
    return CRD_CALL_TREE_NONE;
  tree->nodes[tree->node_count++] = (crd_tree_node){.parent = parent, .frame = frame};
  table_put(&tree->node_table, (crd_number_slot){hash, tree->node_count});
  return tree->node_count - 1;
}

uint32_t crd_call_tree_child(crd_call_tree *tree, uint32_t parent, uint32_t frame) {
  uint32_t hash = hash_of(parent, frame);
  uint32_t found = find_child(tree, parent, frame, hash);
  return found != CRD_CALL_TREE_NONE ? found : add_node(tree, parent, frame, hash);
}

/* --- life --- */

bool crd_call_tree_init(crd_call_tree *tree) {
  *tree = (crd_call_tree){0};
  if (add_node(tree, CRD_CALL_TREE_NONE, CRD_CALL_TREE_NONE, 0) != CRD_CALL_TREE_NONE) return true;
  crd_call_tree_fini(tree);
  return false;
}

void crd_call_tree_fini(crd_call_tree *tree) {
  for (uint32_t i = 0; i < tree->frame_count; i++) {
    free(tree->frames[i].name);
    free(tree->frames[i].file);
  }
  free(tree->frames);
  free(tree->nodes);
  free(tree->frame_table.slots);
  free(tree->node_table.slots);
}
