/* The watch table: for objects that have not been reached, what is to be done when they are.
 *
 * An object that is waited for has the watched flag in its header, so that a tracing phase asks here only then. Entries for one
 * object are as many as were added. Adding may fail, when memory is refused.
 *
 * It is a hash table that grows by one bucket with each entry (Litwin, Linear hashing, 1980), in memory that grows in place, so
 * that no addition takes longer than others.
 *
 *   [watch.1] There are `full` buckets, a power of two, and split more, split < full; those from full on hold what was in
 *             the first ones and has the next bit of its hash set.
 */
#ifndef CRADLE_GC_WATCH_H
#define CRADLE_GC_WATCH_H

#include "gc/word_stack.h"

typedef struct crd_watch {
  crd_word_stack entries; /* three words each: object (0: taken), what, the next in its bucket plus one */
  crd_word_stack buckets; /* the first entry plus one, or 0 */
  size_t full, split;
} crd_watch;

/* Gets address space, halved while it is refused. Again: nothing, or what was refused before. false: additions will fail.
 * Who has the table gives its stacks back. */
bool crd_watch_init(crd_watch *watch, size_t max_bytes, size_t page_bytes);

/* false: memory was refused, nothing was added. */
bool crd_watch_add(crd_watch *watch, uintptr_t object, cradle_word what);
/* Whether that was added and has not been taken. It looks at some entries only: of an object that is watched for many things at
 * once, some may be added twice. */
bool crd_watch_knows(const crd_watch *watch, uintptr_t object, cradle_word what);
/* Takes one entry of the object out. false: there is none. */
bool crd_watch_take(crd_watch *watch, uintptr_t object, cradle_word *what);
/* Empties it. */
void crd_watch_clear(crd_watch *watch);

/* The objects of entries 0 to count - 1; 0 when an entry was taken. */
#define WATCH_ENTRY_WORDS 3
static inline size_t watch_count(const crd_watch *watch) {
  return (size_t)(watch->entries.top - watch->entries.base) / WATCH_ENTRY_WORDS;
}
static inline uintptr_t watch_object(const crd_watch *watch, size_t i) {
  return (uintptr_t)watch->entries.base[WATCH_ENTRY_WORDS * i];
}

#endif
