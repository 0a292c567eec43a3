#include "gc/death/waiting.h"

#include <string.h>

#define FIRST_BUCKETS ((size_t)LIMIT(256, 4))
/* So many entries of a bucket are looked at before crd_watch_knows says no. */
#define KNOWN_LOOKS LIMIT(16, 2)

/* Words of an entry. */
enum { OBJECT, WHAT, NEXT };

static cradle_word *entry_at(const crd_watch *watch, cradle_word number) {
  ASSERT(number > 0 && number <= watch_count(watch), "[watch.2] a bucket leads to no entry");
  return watch->entries.base + WATCH_ENTRY_WORDS * (number - 1);
}

/* The hash has one bit more than numbers the full buckets. Without that bit it names the bucket that was not split
 * yet. */
static cradle_word *bucket_of(const crd_watch *watch, uintptr_t object) {
  size_t hash = (size_t)(((uint64_t)object * UINT64_C(0x9e3779b97f4a7c15)) >> 20);
  size_t bucket = hash & (2 * watch->full - 1);
  if (bucket >= word_stack_count(&watch->buckets)) bucket -= watch->full;
  ASSERT(bucket < word_stack_count(&watch->buckets), "[watch.1] a hash leads to no bucket");
  return &watch->buckets.base[bucket];
}

void crd_watch_clear(crd_watch *watch) {
  watch->entries.top = watch->entries.base;
  watch->buckets.top = watch->buckets.base;
}

/* Adds a bucket, and divides the entries of the next unsplit bucket between the two. If memory is refused, chains
 * get longer, and that is all. */
static void split_one(crd_watch *watch) {
  size_t split = word_stack_count(&watch->buckets) - watch->full;
  ASSERT(split < watch->full, "[watch.1] there are more buckets than the hash names");
  if (!word_stack_push(&watch->buckets, 0)) return;
  cradle_word number = watch->buckets.base[split];
  watch->buckets.base[split] = 0;
  while (number != 0) {
    cradle_word *entry = entry_at(watch, number), next = entry[NEXT];
    cradle_word *bucket = bucket_of(watch, entry[OBJECT]);
    ASSERT(entry[OBJECT] != 0, "[watch.2] an entry that was taken is in a bucket");
    entry[NEXT] = *bucket;
    *bucket = number;
    number = next;
  }
  if (split + 1 == watch->full) watch->full *= 2;
}

bool crd_watch_add(crd_watch *watch, uintptr_t object, cradle_word what) {
  ASSERT(object != 0 && what != 0, "[watch.2] nothing is waited for, or for nothing");
  if (word_stack_committed(&watch->buckets) == 0) return false;
  if (word_stack_is_empty(&watch->buckets)) {
    watch->full = FIRST_BUCKETS;
    watch->buckets.top = watch->buckets.base + FIRST_BUCKETS;
    memset(watch->buckets.base, 0, FIRST_BUCKETS * sizeof *watch->buckets.base);
  }
  cradle_word *before = watch->entries.top;
  /* All three words or none. */
  if (!word_stack_push(&watch->entries, object) || !word_stack_push(&watch->entries, what) ||
      !word_stack_push(&watch->entries, 0)) {
    watch->entries.top = before;
    return false;
  }
  cradle_word *bucket = bucket_of(watch, object);
  before[NEXT] = *bucket;
  *bucket = watch_count(watch);
  /* One bucket for each entry, those that were taken included. */
  if (watch_count(watch) > word_stack_count(&watch->buckets)) split_one(watch);
  return true;
}

bool crd_watch_knows(const crd_watch *watch, uintptr_t object, cradle_word what) {
  if (word_stack_is_empty(&watch->entries)) return false;
  const cradle_word *link = bucket_of(watch, object);
  for (int looks = 0; *link != 0 && looks < KNOWN_LOOKS; looks++) {
    const cradle_word *entry = entry_at(watch, *link);
    if (entry[OBJECT] == object && entry[WHAT] == what) return true;
    link = &entry[NEXT];
  }
  return false;
}

bool crd_watch_take(crd_watch *watch, uintptr_t object, cradle_word *what) {
  if (word_stack_is_empty(&watch->entries)) return false;
  /* The entry leaves its chain and keeps its place, so that numbers stay what they are. */
  for (cradle_word *link = bucket_of(watch, object), *entry; *link != 0; link = &entry[NEXT]) {
    entry = entry_at(watch, *link);
    if (entry[OBJECT] != object) continue;
    ASSERT(entry[NEXT] != *link, "[watch.2] a bucket leads back to an entry that was seen");
    *link = entry[NEXT];
    *what = entry[WHAT];
    entry[OBJECT] = 0;
    return true;
  }
  return false;
}
