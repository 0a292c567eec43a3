/* string-cache: a cache of many small entries, as an interpreter has one for compiled patterns, files or results. SIZE
 * lookups by a string of 16 to 100 bytes in a hash table of --live entries. A miss adds an entry, with a value of as
 * many bytes, in place of the one that was used longest ago; one hit in eight gets another value. The cache begins
 * empty; keys are drawn from twice as many as fit, low ones more often.
 */
#include "bench/everyday.h"

enum { TEXT_LEAST = 16, TEXT_MOST = EVERYDAY_TEXT_MOST, HITS_TO_A_CHANGE = 8 };

typedef struct cache {
  array *table; /* a power of two of chains */
  cached *newest, *oldest;
  uint64_t count, capacity, hits, sum;
  uint64_t random;
} cache;

/* A text outside of the heap: what is looked for, or goes into an entry. */
typedef struct text {
  unsigned char data[TEXT_MOST];
  uint64_t length, hash;
} text;

static uint64_t table_length(uint64_t capacity) {
  uint64_t length = 1;
  while (length < capacity) length *= 2;
  return length;
}

/* --- both owners; m is NULL by hand --- */

EVERYDAY_INLINE void **chain_of(const cache *c, uint64_t hash) {
  return &c->table->slots[hash & (c->table->length - 1)];
}

static cached *find(const cache *c, const text *key) {
  cached *e = *chain_of(c, key->hash);
  while (e != NULL &&
         (e->hash != key->hash || e->key->length != key->length || memcmp(e->key->data, key->data, key->length) != 0))
    e = e->chain;
  return e;
}

EVERYDAY_INLINE void unlink_used(cradle_mutator *m, cache *c, cached *e) {
  if (e->newer != NULL)
    everyday_store(m, e->newer, &e->newer->older, e->older);
  else
    c->newest = e->older;
  if (e->older != NULL)
    everyday_store(m, e->older, &e->older->newer, e->newer);
  else
    c->oldest = e->newer;
}

EVERYDAY_INLINE void make_newest(cradle_mutator *m, cache *c, cached *e) {
  if (e == c->newest) return;
  unlink_used(m, c, e);
  everyday_store(m, e, &e->newer, NULL);
  everyday_store(m, e, &e->older, c->newest);
  everyday_store(m, c->newest, &c->newest->newer, e);
  c->newest = e;
}

/* An entry that was just allocated, key and value in place: stores into it need no barrier. */
EVERYDAY_INLINE void link_fresh(cradle_mutator *m, cache *c, cached *e, uint64_t hash) {
  void **chain = chain_of(c, hash);
  e->hash = hash;
  e->chain = *chain;
  e->newer = NULL;
  e->older = c->newest;
  everyday_store(m, c->table, chain, e);
  if (c->newest != NULL)
    everyday_store(m, c->newest, &c->newest->newer, e);
  else
    c->oldest = e;
  c->newest = e;
  c->count++;
}

EVERYDAY_INLINE cached *take_oldest_out(cradle_mutator *m, cache *c) {
  cached *oldest = c->oldest, *before = NULL;
  void **chain = chain_of(c, oldest->hash);
  for (cached *e = *chain; e != oldest; e = e->chain) before = e;
  if (before != NULL)
    everyday_store(m, before, &before->chain, oldest->chain);
  else
    everyday_store(m, c->table, chain, oldest->chain);
  unlink_used(m, c, oldest);
  c->count--;
  return oldest;
}

static void next_key(cache *c, text *key) {
  key->length = everyday_text(key->data, everyday_skewed(&c->random, 2 * c->capacity), TEXT_LEAST, TEXT_MOST);
  key->hash = everyday_hash(key->data, key->length);
}
static void next_value(cache *c, text *value) {
  value->length = everyday_text(value->data, everyday_below(&c->random, 1 << 29), TEXT_LEAST, TEXT_MOST);
}

/* Whether this hit replaces the entry's value. */
static bool use(cache *c, const cached *e) {
  const bytes *value = e->value;
  c->hits++;
  c->sum = everyday_fold(c->sum, value->length << 8 | value->data[value->length - 1]);
  return c->hits % HITS_TO_A_CHANGE == 0;
}

static uint64_t finish(workload_run *run, const cache *c) {
  uint64_t sum = everyday_fold(c->sum, c->hits);
  run->live_bytes = sizeof(array) + c->table->length * sizeof(void *);
  for (const cached *e = c->newest; e != NULL; e = e->older) {
    if (e->hash != everyday_hash(e->key->data, e->key->length)) workload_wrong("a key of the cache");
    sum = everyday_fold(everyday_fold(sum, e->hash), everyday_hash(e->value->data, e->value->length));
    run->live_bytes += sizeof(cached) + 2 * sizeof(bytes) + e->key->length + e->value->length;
  }
  workload_figure_add(run, "hit_share", (double)c->hits / (double)run->with.size);
  return sum;
}

/* --- Cradle --- */

static void insert(cradle_mutator *m, cache *c, const text *key) CRADLE_MAY_COLLECT {
  text value;
  next_value(c, &value);
  if (c->count == c->capacity) take_oldest_out(m, c);
  cradle_push(m, everyday_string(m, key->data, key->length));
  cradle_push(m, everyday_string(m, value.data, value.length));
  cached *e = CRADLE_NEW_UNINITIALIZED(m, cached, TYPE_CACHED);
  e->value = cradle_pop(m);
  e->key = cradle_pop(m);
  link_fresh(m, c, e, key->hash);
}

static void change(cradle_mutator *m, cache *c) CRADLE_MAY_COLLECT {
  text value;
  next_value(c, &value);
  bytes *fresh = everyday_string(m, value.data, value.length);
  cached *e = c->newest;
  cradle_store(m, e, &e->value, fresh);
}

static void step(cradle_mutator *m, cache *c) CRADLE_MAY_COLLECT {
  text key;
  next_key(c, &key);
  cached *e = find(c, &key);
  if (e == NULL) {
    insert(m, c, &key);
    return;
  }
  make_newest(m, c, e);
  if (use(c, e)) change(m, c);
}

static uint64_t run_cradle(workload_run *run) {
  cradle_heap *heap = workload_start(run);
  cradle_mutator *m = cradle_mutator_new(heap);
  uint64_t sum = 0;
  {
    cache c = {.capacity = run->with.live, .random = EVERYDAY_SEED};
    CRADLE_ROOT(m, c.table);
    CRADLE_ROOT(m, c.newest);
    CRADLE_ROOT(m, c.oldest);
    c.table = array_new(m, table_length(c.capacity));
    for (uint64_t i = 0; i < run->with.size; i++) step(m, &c);
    sum = finish(run, &c);
  }
  workload_end(run, heap, m);
  return sum;
}

/* --- by hand --- */

static void give_oldest(manual *memory, cache *c) {
  cached *e = take_oldest_out(NULL, c);
  manual_give(memory, e->key);
  manual_give(memory, e->value);
  manual_give(memory, e);
}

static void insert_by_hand(manual *memory, cache *c, const text *key) {
  text value;
  next_value(c, &value);
  if (c->count == c->capacity) give_oldest(memory, c);
  cached *e = manual_take(memory, sizeof *e);
  e->header = TYPE_CACHED;
  e->key = everyday_string_by_hand(memory, key->data, key->length);
  e->value = everyday_string_by_hand(memory, value.data, value.length);
  link_fresh(NULL, c, e, key->hash);
}

static void step_by_hand(manual *memory, cache *c) {
  text key, value;
  next_key(c, &key);
  cached *e = find(c, &key);
  if (e == NULL) {
    insert_by_hand(memory, c, &key);
    return;
  }
  make_newest(NULL, c, e);
  if (!use(c, e)) return;
  next_value(c, &value);
  manual_give(memory, e->value);
  e->value = everyday_string_by_hand(memory, value.data, value.length); /* cradle-rootcheck: ok by hand */
}

static uint64_t run_by_hand(workload_run *run, manual *memory) {
  cache c = {.capacity = run->with.live, .random = EVERYDAY_SEED};
  c.table = array_by_hand(memory, table_length(c.capacity));
  for (uint64_t i = 0; i < run->with.size; i++) step_by_hand(memory, &c);
  uint64_t sum = finish(run, &c);
  while (c.count > 0) give_oldest(memory, &c);
  manual_give(memory, c.table);
  return sum;
}

const workload workload_string_cache = {
    .name = "string-cache",
    .help = "SIZE lookups in an LRU cache of --live entries, keys and values of 16 to 100 bytes",
    .cradle = run_cradle,
    .by_hand = run_by_hand,
    .usual = {.size = 2000000, .live = 500000, .runs = 5},
    .small = {.size = 2000, .live = 150, .runs = 1},
};
