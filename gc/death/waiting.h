/* The watch table: for keys of ephemerons that were not reached yet, the pairs that wait for them. A key has as many
 * entries as were added for it.
 *
 * The table is a hash table that grows by one bucket with each entry (Litwin, Linear hashing, 1980), in memory that
 * grows in place. So no addition takes as long as rebuilding a full table would.
 *
 *   [watch.1] There are `full` buckets, a power of two, and fewer than full more; those from full on hold what was in
 *             the first ones and has the next bit of its hash set.
 *   [watch.2] Each bucket is a chain of entries; every entry that was not taken is in one of them, once. No entry is
 *             for the object 0 or for nothing.
 */
#ifndef CRADLE_GC_DEATH_WAITING_H
#define CRADLE_GC_DEATH_WAITING_H

#include "gc/base/word_stack.h"

typedef struct crd_watch {
  crd_word_stack entries; /* three words each: object (0: taken), what, number of the next in its bucket */
  crd_word_stack buckets; /* the number of the first entry, from 1, or 0; none before the first addition */
  size_t full;
} crd_watch;

/* what: the slot entry of the pair's key. false: memory was refused, nothing was added. */
bool crd_watch_add(crd_watch *watch, uintptr_t object, cradle_word what);
/* Whether that entry was added and not taken since. It looks only at some entries of a bucket, so if many things
 * wait for one object, some may be added twice. */
bool crd_watch_knows(const crd_watch *watch, uintptr_t object, cradle_word what);
/* Removes one entry of the object and stores it in *what. false: it has none left. */
bool crd_watch_take(crd_watch *watch, uintptr_t object, cradle_word *what);
void crd_watch_clear(crd_watch *watch);

/* The objects of entries 0 to count - 1; 0 when an entry was taken. */
#define WATCH_ENTRY_WORDS 3
static inline size_t watch_count(const crd_watch *watch) {
  return word_stack_count(&watch->entries) / WATCH_ENTRY_WORDS;
}
static inline uintptr_t watch_object(const crd_watch *watch, size_t i) {
  return watch->entries.base[WATCH_ENTRY_WORDS * i];
}

#endif
