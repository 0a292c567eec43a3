/* hash-table: a table of boxed keys that grows to --live bindings by doubling, and shrinks again to an eighth of them,
 * SIZE times. Both variants store through the barrier; objects made by hand have no barrier flag and pay one test for
 * it.
 */
#include "bench/parts.h"

enum { LENGTH_LEAST = 16, SHRINK_SHARE = 4, KEPT_SHARE = 8 };

typedef struct table {
  array *chains; /* its length is a power of two */
  uint64_t count;
} table;

/* --- functions that do not allocate --- */

static uint64_t mixed(uint64_t key) {
  key *= UINT64_C(0x9E3779B97F4A7C15);
  return key ^ key >> 32;
}
static void **chain_of(array *chains, uint64_t key) {
  return &chains->slots[mixed(key) & (chains->length - 1)];
}
static uint64_t value_of(uint64_t key) {
  return mixed(key ^ 0x5bd1e995);
}

static void link_binding(cradle_mutator *m, array *chains, binding *b) {
  void **chain = chain_of(chains, b->key->number);
  cradle_store(m, b, &b->chain, *chain);
  cradle_store(m, chains, chain, b);
}

static binding *find(const table *t, uint64_t key) {
  binding *b = *chain_of(t->chains, key);
  while (b != NULL && b->key->number != key) b = b->chain;
  return b;
}

/* Removes the binding of a key, which must exist, and returns it. */
static binding *unlink_key(cradle_mutator *m, table *t, uint64_t key) {
  void **chain = chain_of(t->chains, key);
  binding *b = *chain, *before = NULL;
  for (; b != NULL && b->key->number != key; b = b->chain) before = b;
  if (b == NULL || b->value != value_of(key)) workload_wrong("a binding is lost");
  if (before != NULL)
    cradle_store(m, before, &before->chain, b->chain);
  else
    cradle_store(m, t->chains, chain, b->chain);
  t->count--;
  return b;
}

static void move_all(cradle_mutator *m, array *to, array *from) {
  for (uint64_t i = 0; i < from->length; i++) {
    for (binding *b = from->slots[i], *next; b != NULL; b = next) {
      next = b->chain;
      link_binding(m, to, b);
    }
  }
}

/* The length that the table should now have. */
static uint64_t wanted_length(const table *t) {
  uint64_t length = t->chains->length;
  if (t->count > length) return 2 * length;
  return length > LENGTH_LEAST && t->count < length / SHRINK_SHARE ? length / 2 : length;
}

static uint64_t look_all_up(const table *t, uint64_t count, uint64_t first) {
  uint64_t sum = 0;
  for (uint64_t key = first; key < first + count; key++) {
    const binding *b = find(t, key);
    if (b == NULL || b->value != value_of(key)) workload_wrong("a binding is lost");
    sum += b->value;
  }
  return sum;
}

/* --- Cradle --- */

static void resize(cradle_mutator *m, table *t) CRADLE_MAY_COLLECT {
  uint64_t length = wanted_length(t);
  if (length == t->chains->length) return;
  array *chains = array_new(m, length);
  move_all(m, chains, t->chains);
  t->chains = chains;
}

static void insert(cradle_mutator *m, table *t, uint64_t key) CRADLE_MAY_COLLECT {
  cell *box = CRADLE_NEW(m, cell, TYPE_CELL);
  box->number = key;
  cradle_push(m, box);
  binding *b = CRADLE_NEW(m, binding, TYPE_BINDING);
  b->key = cradle_pop(m);
  b->value = value_of(key);
  link_binding(m, t->chains, b);
  t->count++;
  resize(m, t);
}

uint64_t hash_round(cradle_mutator *m, uint64_t count, uint64_t first) {
  table t = {NULL, 0};
  CRADLE_ROOT(m, t.chains);
  t.chains = array_new(m, LENGTH_LEAST);
  for (uint64_t key = first; key < first + count; key++) insert(m, &t, key);
  uint64_t sum = look_all_up(&t, count, first), kept = count / KEPT_SHARE;
  for (uint64_t key = first + kept; key < first + count; key++) {
    unlink_key(m, &t, key);
    resize(m, &t);
  }
  return sum + look_all_up(&t, kept, first);
}

static void note_live(workload_run *run) {
  run->live_bytes = run->with.live * (sizeof(cell) + sizeof(binding) + sizeof(void *));
}

static uint64_t run_cradle(workload_run *run) {
  cradle_heap *heap = workload_start(run);
  cradle_mutator *m = cradle_mutator_new(heap);
  uint64_t sum = 0;
  for (uint64_t i = 0; i < run->with.size; i++) sum += hash_round(m, run->with.live, i * run->with.live);
  note_live(run);
  workload_end(run, heap, m);
  return sum;
}

/* --- by hand --- */

static void resize_by_hand(manual *memory, table *t) {
  uint64_t length = wanted_length(t);
  if (length == t->chains->length) return;
  array *chains = array_by_hand(memory, length);
  move_all(NULL, chains, t->chains);
  manual_give(memory, t->chains);
  t->chains = chains;
}

static void insert_by_hand(manual *memory, table *t, uint64_t key) {
  cell *box = manual_take(memory, sizeof(cell));
  *box = (cell){TYPE_CELL, NULL, key};
  binding *b = manual_take(memory, sizeof(binding));
  *b = (binding){TYPE_BINDING, box, NULL, value_of(key)};
  link_binding(NULL, t->chains, b);
  t->count++;
  resize_by_hand(memory, t);
}

static void remove_by_hand(manual *memory, table *t, uint64_t key) {
  binding *b = unlink_key(NULL, t, key);
  manual_give(memory, b->key);
  manual_give(memory, b);
}

static uint64_t round_by_hand(manual *memory, uint64_t count, uint64_t first) {
  char *mark = manual_mark(memory);
  table t = {array_by_hand(memory, LENGTH_LEAST), 0};
  for (uint64_t key = first; key < first + count; key++) insert_by_hand(memory, &t, key);
  uint64_t sum = look_all_up(&t, count, first), kept = count / KEPT_SHARE;
  for (uint64_t key = first + kept; key < first + count; key++) {
    remove_by_hand(memory, &t, key);
    resize_by_hand(memory, &t);
  }
  sum += look_all_up(&t, kept, first);
  for (uint64_t key = first; key < first + kept && manual_frees(memory); key++) remove_by_hand(memory, &t, key);
  manual_give(memory, t.chains);
  manual_drop(memory, mark);
  return sum;
}

static uint64_t run_by_hand(workload_run *run, manual *memory) {
  uint64_t sum = 0;
  for (uint64_t i = 0; i < run->with.size; i++) sum += round_by_hand(memory, run->with.live, i * run->with.live);
  note_live(run);
  return sum;
}

const workload workload_hash_table = {
    .name = "hash-table",
    .help = "a table of boxed keys that grows to --live bindings and shrinks again, SIZE times",
    .cradle = run_cradle,
    .by_hand = run_by_hand,
    .on_arena = true,
    .usual = {.size = 2, .live = 1000000, .runs = 3},
    .small = {.size = 2, .live = 300, .runs = 1},
};
