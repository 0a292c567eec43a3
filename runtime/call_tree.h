/* The call tree: where a program allocates, as a tree. Each node stands for a call path, names its innermost frame, and
 * holds the bytes that were sampled there.
 *
 * [call_tree.1] Node 0 is the root and has no frame; a node's parent has a smaller number.
 * [call_tree.2] Frames with equal keys are one frame, with the name and file that came first.
 * [call_tree.3] When memory runs out CRD_CALL_TREE_NONE is returned and the tree is as it was.
 */
#ifndef CRADLE_RUNTIME_CALL_TREE_H
#define CRADLE_RUNTIME_CALL_TREE_H

#include <cradle/base.h>

#define CRD_CALL_TREE_NONE UINT32_MAX

typedef struct crd_frame_key {
  uint64_t id;
  uint32_t line;
  uint32_t kind; /* chosen by the caller: equal ids of different kinds are different keys */
} crd_frame_key;

typedef struct crd_tree_frame {
  crd_frame_key key;
  char *name, *file; /* owned; file may be NULL */
} crd_tree_frame;

typedef struct crd_tree_node {
  uint32_t parent, frame;
  uint64_t allocated, survived, died; /* bytes, without those of its children */
} crd_tree_node;

/* A hash table of numbers, with open addressing. */
typedef struct crd_number_slot {
  uint32_t hash, number_plus_1; /* 0: the slot is empty */
} crd_number_slot;
typedef struct crd_number_table {
  crd_number_slot *slots;
  uint32_t capacity, count; /* capacity: a power of two, or 0 */
} crd_number_table;

typedef struct crd_call_tree {
  crd_tree_frame *frames;
  crd_tree_node *nodes;
  uint32_t frame_count, frame_capacity, node_count, node_capacity;
  crd_number_table frame_table, node_table;
} crd_call_tree;

/* Makes an empty tree. false: no memory. */
bool crd_call_tree_init(crd_call_tree *tree);
void crd_call_tree_fini(crd_call_tree *tree);

/* The number of the frame with this key, or CRD_CALL_TREE_NONE. */
uint32_t crd_call_tree_find_frame(const crd_call_tree *tree, const crd_frame_key *key);
/* Adds a frame that find_frame did not find. name and file (may be NULL) are copied. */
uint32_t crd_call_tree_add_frame(crd_call_tree *tree, const crd_frame_key *key, const char *name, const char *file);
/* The number of the child of parent for this frame; the node is made if there is none. */
uint32_t crd_call_tree_child(crd_call_tree *tree, uint32_t parent, uint32_t frame);

#endif
