#include "gc/watch.h"

#include <stdlib.h>
#include <string.h>

#define FIRST_CAPACITY 256u
/* A table of more entries is not kept for the next collection. */
#define KEPT_CAPACITY 8192u
#define BUCKETS_PER_ENTRY 2

static uint32_t *bucket_of(const crd_watch *watch, uintptr_t key) {
  uint64_t hash = (uint64_t)key * UINT64_C(0x9e3779b97f4a7c15);
  return &watch->buckets[(hash >> 32) & (watch->capacity * BUCKETS_PER_ENTRY - 1)];
}

static bool grow(crd_watch *watch) {
  uint32_t capacity = watch->capacity == 0 ? FIRST_CAPACITY : watch->capacity * 2;
  if (capacity > UINT32_MAX / 4) return false;
  crd_watch_entry *entries = malloc(capacity * sizeof *entries);
  uint32_t *buckets = calloc((size_t)capacity * BUCKETS_PER_ENTRY, sizeof *buckets);
  if (entries == NULL || buckets == NULL) {
    free(entries);
    free(buckets);
    return false;
  }
  crd_watch old = *watch;
  *watch = (crd_watch){.entries = entries, .buckets = buckets, .capacity = capacity};
  for (uint32_t i = 0; i < old.count; i++)
    if (old.entries[i].key != 0) (void)crd_watch_add(watch, old.entries[i].key, old.entries[i].what);
  crd_watch_fini(&old);
  return true;
}

bool crd_watch_add(crd_watch *watch, uintptr_t key, cradle_word what) {
  if (watch->count == watch->capacity && !grow(watch)) return false;
  uint32_t *bucket = bucket_of(watch, key);
  watch->entries[watch->count] = (crd_watch_entry){key, what, *bucket};
  *bucket = ++watch->count;
  return true;
}

bool crd_watch_take(crd_watch *watch, uintptr_t key, cradle_word *what) {
  if (watch->capacity == 0) return false;
  for (uint32_t *link = bucket_of(watch, key); *link != 0;) {
    crd_watch_entry *entry = &watch->entries[*link - 1];
    bool is_it = entry->key == key;
    if (is_it || entry->key == 0) *link = entry->next;
    else link = &entry->next;
    if (!is_it) continue;
    *what = entry->what;
    entry->key = 0;
    return true;
  }
  return false;
}

void crd_watch_clear(crd_watch *watch) {
  if (watch->capacity > KEPT_CAPACITY) crd_watch_fini(watch);
  if (watch->count != 0) memset(watch->buckets, 0, (size_t)watch->capacity * BUCKETS_PER_ENTRY * sizeof *watch->buckets);
  watch->count = 0;
}

void crd_watch_fini(crd_watch *watch) {
  free(watch->entries);
  free(watch->buckets);
  *watch = (crd_watch){.entries = NULL};
}
