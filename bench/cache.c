/* A cache that replaces the least recently used entry: a hash table of entries in a list in the order of use, each
 * with a payload of 64 to 1024 bytes. It is filled first; the timed part is lookups in steady state, of which about a
 * third miss and replace. --live is the bytes of the full cache, nearly.
 *
 * Both variants store through the barrier; objects made by hand have no barrier flag and pay one test for it.
 */
#include "bench/workloads.h"

#include <string.h>

enum { PAYLOAD_LEAST = 64, PAYLOAD_MOST = 1024 };
#define ENTRY_MEAN_BYTES (sizeof(entry) + sizeof(bytes) + (PAYLOAD_LEAST + PAYLOAD_MOST) / 2 + sizeof(void *))

typedef struct cache {
  array *table; /* a power of two of chains */
  entry *newest, *oldest;
  uint64_t count, capacity, hits;
} cache;

static uint64_t capacity_of(const workload_run *run) {
  uint64_t capacity = run->with.live / ENTRY_MEAN_BYTES;
  return capacity > 0 ? capacity : 1;
}
static uint64_t table_length(uint64_t capacity) {
  uint64_t length = 1;
  while (length < capacity) length *= 2;
  return length;
}

/* --- functions that do not allocate --- */

static uint64_t mixed(uint64_t key) {
  key *= UINT64_C(0x9E3779B97F4A7C15);
  return key ^ key >> 32;
}
static uint64_t payload_length(uint64_t key) {
  return PAYLOAD_LEAST + mixed(key) % (PAYLOAD_MOST - PAYLOAD_LEAST + 1);
}
static void **chain_of(const cache *c, uint64_t key) {
  return &c->table->slots[mixed(key + 1) & (c->table->length - 1)];
}

static void stamp(bytes *payload, uint64_t key) {
  memset(payload->data, (int)(key & 0xff), payload->length);
}
static void check(const entry *e) {
  const bytes *payload = e->payload;
  unsigned char mark = e->key & 0xff;
  if (payload->length != payload_length(e->key)) workload_wrong("a payload's length");
  if (payload->data[0] != mark || payload->data[payload->length - 1] != mark) workload_wrong("a payload's contents");
}

static entry *find(const cache *c, uint64_t key) {
  entry *e = *chain_of(c, key);
  while (e != NULL && e->key != key) e = e->chain;
  return e;
}

static void unlink_used(cradle_mutator *m, cache *c, entry *e) {
  if (e->newer != NULL)
    cradle_store(m, e->newer, &e->newer->older, e->older);
  else
    c->newest = e->older;
  if (e->older != NULL)
    cradle_store(m, e->older, &e->older->newer, e->newer);
  else
    c->oldest = e->newer;
}

static void link_newest(cradle_mutator *m, cache *c, entry *e) {
  cradle_store(m, e, &e->newer, NULL);
  cradle_store(m, e, &e->older, c->newest);
  if (c->newest != NULL)
    cradle_store(m, c->newest, &c->newest->newer, e);
  else
    c->oldest = e;
  c->newest = e;
}

static void link_new(cradle_mutator *m, cache *c, entry *e) {
  void **chain = chain_of(c, e->key);
  cradle_store(m, e, &e->chain, *chain);
  cradle_store(m, c->table, chain, e);
  link_newest(m, c, e);
  c->count++;
}

/* Takes the oldest entry out and returns it. */
static entry *evict(cradle_mutator *m, cache *c) {
  entry *oldest = c->oldest, *before = NULL;
  void **chain = chain_of(c, oldest->key);
  for (entry *e = *chain; e != oldest; e = e->chain) before = e;
  if (before != NULL)
    cradle_store(m, before, &before->chain, oldest->chain);
  else
    cradle_store(m, c->table, chain, oldest->chain);
  unlink_used(m, c, oldest);
  c->count--;
  check(oldest);
  return oldest;
}

/* Whether the cache has the key; its entry then becomes the newest. */
static bool use(cradle_mutator *m, cache *c, uint64_t key) {
  entry *e = find(c, key);
  if (e == NULL) return false;
  check(e);
  c->hits++;
  if (e == c->newest) return true;
  unlink_used(m, c, e);
  link_newest(m, c, e);
  return true;
}

/* A random key out of twice as many as fit; low keys come more often. */
static uint64_t next_key(randomizer *r, const cache *c) {
  uint64_t a = random_below(r, 2 * c->capacity), b = random_below(r, 2 * c->capacity);
  return a < b ? a : b;
}

static uint64_t finish(workload_run *run, const cache *c) {
  uint64_t sum = c->hits;
  run->live_bytes = sizeof(array) + c->table->length * sizeof(void *);
  for (const entry *e = c->newest; e != NULL; e = e->older) {
    check(e);
    sum = sum * 31 + e->key;
    run->live_bytes += sizeof(entry) + sizeof(bytes) + e->payload->length;
  }
  workload_figure_add(run, "hit_share", (double)c->hits / (double)run->with.size);
  workload_figure_add(run, "resident_per_live", (double)run->resident_bytes / (double)run->live_bytes);
  return sum;
}

/* --- Cradle --- */

static void insert(cradle_mutator *m, cache *c, uint64_t key) CRADLE_MAY_COLLECT {
  if (c->count == c->capacity) evict(m, c);
  bytes *payload = CRADLE_NEW_ARRAY(m, bytes, TYPE_BYTES, data, length, payload_length(key));
  stamp(payload, key);
  cradle_push(m, payload);
  entry *e = CRADLE_NEW(m, entry, TYPE_ENTRY);
  e->payload = cradle_pop(m);
  e->key = key;
  link_new(m, c, e);
}

static uint64_t run_cradle(workload_run *run) {
  cradle_heap *heap = workload_start(run);
  cradle_mutator *m = cradle_mutator_new(heap);
  uint64_t sum = 0;
  {
    cache c = {.capacity = capacity_of(run)};
    CRADLE_ROOT(m, c.table);
    CRADLE_ROOT(m, c.newest);
    CRADLE_ROOT(m, c.oldest);
    c.table = array_new(m, table_length(c.capacity));
    for (uint64_t key = 0; key < c.capacity; key++) insert(m, &c, key);
    randomizer r = RANDOMIZER_SEED;
    workload_timed_begin(run);
    for (uint64_t i = 0; i < run->with.size; i++) {
      uint64_t key = next_key(&r, &c);
      if (!use(m, &c, key)) insert(m, &c, key);
    }
    workload_timed_end(run);
    sum = finish(run, &c);
  }
  workload_end(run, heap, m);
  return sum;
}

/* --- by hand --- */

static void give_entry(manual *memory, entry *e) {
  manual_give(memory, e->payload);
  manual_give(memory, e);
}

static void insert_by_hand(manual *memory, cache *c, uint64_t key) {
  if (c->count == c->capacity) give_entry(memory, evict(NULL, c));
  entry *e = manual_take(memory, sizeof(entry));
  *e = (entry){.header = TYPE_ENTRY, .payload = bytes_by_hand(memory, payload_length(key)), .key = key};
  stamp(e->payload, key);
  link_new(NULL, c, e);
}

static uint64_t run_by_hand(workload_run *run, manual *memory) {
  cache c = {.capacity = capacity_of(run)};
  c.table = array_by_hand(memory, table_length(c.capacity));
  for (uint64_t key = 0; key < c.capacity; key++) insert_by_hand(memory, &c, key);
  randomizer r = RANDOMIZER_SEED;
  workload_timed_begin(run);
  for (uint64_t i = 0; i < run->with.size; i++) {
    uint64_t key = next_key(&r, &c);
    if (!use(NULL, &c, key)) insert_by_hand(memory, &c, key);
  }
  workload_timed_end(run);
  uint64_t sum = finish(run, &c);
  while (c.count > 0) give_entry(memory, evict(NULL, &c));
  manual_give(memory, c.table);
  return sum;
}

const workload workload_cache = {
    .name = "cache",
    .help = "SIZE lookups in a full LRU cache of --live bytes",
    .cradle = run_cradle,
    .by_hand = run_by_hand,
    .usual = {.size = 4000000, .live = UINT64_C(1) << 30, .runs = 1},
    .small = {.size = 500, .live = 60000, .runs = 1},
};
