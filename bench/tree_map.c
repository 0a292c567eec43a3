/* tree-map: a persistent map, as a functional language or a transactional store has it. A treap of about --live keys is
 * changed by copying the path to the change; of SIZE operations, half look a key up in one of the last versions, and
 * half set or remove one, which makes a new version. The last 64 versions are kept, older ones are dropped.
 *
 * By hand every node counts the nodes and versions that refer to it.
 */
#include "bench/everyday.h"

enum { VERSIONS = 64 };

typedef struct map {
  uint64_t random, sum, newest; /* the newest version's slot */
} map;

/* --- both owners --- */

/* Where an operation allocates its copies: in a reservation of the heap, or by hand. */
typedef struct maker {
  cradle_reservation *room; /* NULL: by hand */
  manual *memory;
} maker;

EVERYDAY_INLINE map_node *make(maker from) {
  map_node *n;
  if (from.room != NULL) return CRADLE_NEW_RESERVED(from.room, map_node, TYPE_MAP_NODE);
  n = manual_take(from.memory, sizeof *n);
  n->header = 1;
  return n;
}

EVERYDAY_INLINE map_node *shared(maker from, map_node *n) {
  if (from.room == NULL && n != NULL) n->header++;
  return n;
}

/* Copies a node. The caller replaces one side of the copy; the other side is shared. */
EVERYDAY_INLINE map_node *copy(maker from, const map_node *of, bool left_changes) {
  map_node *n = make(from);
  n->key = of->key;
  n->priority = of->priority;
  n->value = of->value;
  n->left = left_changes ? NULL : shared(from, of->left);
  n->right = left_changes ? shared(from, of->right) : NULL;
  return n;
}

/* Copies the search path for key below t. Copies with smaller keys go into *left, those with larger keys into
 * *right. */
EVERYDAY_INLINE void split(maker from, const map_node *t, uint64_t key, map_node **left, map_node **right) {
  while (t != NULL) {
    bool above = key < t->key;
    map_node *n = copy(from, t, above);
    if (above) {
      *right = n; /* cradle-rootcheck: ok into a fresh node */
      right = &n->left;
      t = t->left;
    } else {
      *left = n; /* cradle-rootcheck: ok into a fresh node */
      left = &n->right;
      t = t->right;
    }
  }
  *left = *right = NULL;
}

/* A new map with the key set; the given map does not change. */
EVERYDAY_INLINE map_node *set(maker from, const map_node *t, uint64_t key, uint64_t value) {
  uint64_t priority = everyday_mix(key);
  map_node *root, **at = &root, *n;
  while (t != NULL && t->key != key && t->priority >= priority) {
    bool below = key < t->key;
    *at = n = copy(from, t, below);
    at = below ? &n->left : &n->right;
    t = below ? t->left : t->right;
  }
  *at = n = make(from);
  n->key = key;
  n->priority = priority;
  n->value = value;
  if (t != NULL && t->key == key) {
    n->left = shared(from, t->left);
    n->right = shared(from, t->right);
  } else
    split(from, t, key, &n->left, &n->right);
  return root;
}

/* A new map without the key, which t must contain. */
EVERYDAY_INLINE map_node *without(maker from, const map_node *t, uint64_t key) {
  map_node *root, **at = &root, *n;
  while (t->key != key) {
    bool below = key < t->key;
    *at = n = copy(from, t, below);
    at = below ? &n->left : &n->right;
    t = below ? t->left : t->right;
  }
  map_node *left = t->left, *right = t->right;
  while (left != NULL && right != NULL) {
    bool left_first = left->priority >= right->priority;
    *at = n = copy(from, left_first ? left : right, !left_first);
    at = left_first ? &n->right : &n->left;
    if (left_first)
      left = left->right;
    else
      right = right->left;
  }
  *at = shared(from, left != NULL ? left : right);
  return root;
}

static const map_node *find(const map_node *t, uint64_t key) {
  while (t != NULL && t->key != key) t = key < t->key ? t->left : t->right;
  return t;
}

static uint64_t fold_all(const map_node *t, uint64_t sum, uint64_t *nodes) {
  if (t == NULL) return sum;
  if ((t->left != NULL && (t->left->key >= t->key || t->left->priority > t->priority)) ||
      (t->right != NULL && (t->right->key <= t->key || t->right->priority > t->priority)))
    workload_wrong("the order of a map");
  ++*nodes;
  sum = fold_all(t->left, sum, nodes);
  return fold_all(t->right, everyday_fold(everyday_fold(sum, t->key), t->value), nodes);
}

static void look_up(map *p, void *const versions[], uint64_t keys) {
  uint64_t key = everyday_below(&p->random, keys), version = everyday_below(&p->random, VERSIONS);
  const map_node *found = find(versions[version], key);
  p->sum = everyday_fold(p->sum, found != NULL ? found->value : 0);
}

static uint64_t finish(workload_run *run, const map *p, void *const versions[]) {
  uint64_t nodes = 0, sum = fold_all(versions[p->newest], p->sum, &nodes);
  run->live_bytes = nodes * sizeof(map_node);
  return everyday_fold(sum, nodes);
}

/* --- Cradle --- */

/* The most nodes that one set or without makes. */
static uint64_t nodes_of_change(const map_node *t, uint64_t key, bool removes) {
  uint64_t count = 1;
  for (; t != NULL && t->key != key; count++) t = key < t->key ? t->left : t->right;
  if (t == NULL || !removes) return count;
  for (const map_node *n = t->left; n != NULL; n = n->right) count++;
  for (const map_node *n = t->right; n != NULL; n = n->left) count++;
  return count;
}

/* All nodes of a change come out of one reservation. Nothing collects between the first of them and the last, so none
 * is rooted, and the stores into them need no barrier. */
static void change(cradle_mutator *m, map *p, array *versions, uint64_t key, uint64_t value) CRADLE_MAY_COLLECT {
  CRADLE_ROOT(m, versions);
  bool removes = value == 0;
  map_node *t = versions->slots[p->newest];
  if (removes && find(t, key) == NULL) return;
  cradle_reservation room = cradle_reserve(m, nodes_of_change(t, key, removes) * sizeof(map_node));
  maker from = {&room, NULL};
  t = versions->slots[p->newest];
  map_node *fresh = removes ? without(from, t, key) : set(from, t, key, value);
  p->newest = (p->newest + 1) % VERSIONS;
  cradle_store(m, versions, &versions->slots[p->newest], fresh);
}

static uint64_t run_cradle(workload_run *run) {
  cradle_heap *heap = workload_start(run);
  cradle_mutator *m = cradle_mutator_new(heap);
  uint64_t sum = 0, keys = 2 * run->with.live;
  {
    map p = {.random = EVERYDAY_SEED};
    array *versions = array_new(m, VERSIONS);
    CRADLE_ROOT(m, versions);
    for (uint64_t key = 0; key < keys; key += 2) change(m, &p, versions, key, key + 1);
    for (uint64_t i = 1; i <= run->with.size; i++) {
      uint64_t what = everyday_below(&p.random, 4);
      if (what < 2)
        look_up(&p, versions->slots, keys);
      else
        change(m, &p, versions, everyday_below(&p.random, keys), what == 2 ? i : 0);
    }
    sum = finish(run, &p, versions->slots);
  }
  workload_end(run, heap, m);
  return sum;
}

/* --- by hand --- */

static void drop(manual *memory, map_node *t) {
  while (t != NULL && --t->header == 0) {
    map_node *right = t->right;
    drop(memory, t->left);
    manual_give(memory, t);
    t = right;
  }
}

static void change_by_hand(manual *memory, map *p, void *versions[], uint64_t key, uint64_t value) {
  maker from = {NULL, memory};
  const map_node *t = versions[p->newest];
  if (value == 0 && find(t, key) == NULL) return;
  map_node *fresh = value == 0 ? without(from, t, key) : set(from, t, key, value);
  p->newest = (p->newest + 1) % VERSIONS;
  drop(memory, versions[p->newest]);
  versions[p->newest] = fresh;
}

static uint64_t run_by_hand(workload_run *run, manual *memory) {
  void *versions[VERSIONS] = {NULL};
  map p = {.random = EVERYDAY_SEED};
  uint64_t keys = 2 * run->with.live;
  for (uint64_t key = 0; key < keys; key += 2) change_by_hand(memory, &p, versions, key, key + 1);
  for (uint64_t i = 1; i <= run->with.size; i++) {
    uint64_t what = everyday_below(&p.random, 4);
    if (what < 2)
      look_up(&p, versions, keys);
    else
      change_by_hand(memory, &p, versions, everyday_below(&p.random, keys), what == 2 ? i : 0);
  }
  uint64_t sum = finish(run, &p, versions);
  for (int i = 0; i < VERSIONS; i++) drop(memory, versions[i]);
  return sum;
}

const workload workload_tree_map = {
    .name = "tree-map",
    .help = "SIZE operations on a persistent map of --live keys, changed by copying paths",
    .cradle = run_cradle,
    .by_hand = run_by_hand,
    .usual = {.size = 2000000, .live = 100000, .runs = 5},
    .small = {.size = 1000, .live = 100, .runs = 1},
};
