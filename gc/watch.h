/* The watch table: for objects that have not been reached, what is to be done when they are.
 *
 * An object that is waited for has the watched flag in its header, so that a tracing phase asks here only then. Entries for one
 * object are as many as were added. The table is malloc'ed memory of the collection that fills it; adding may fail.
 */
#ifndef CRADLE_GC_WATCH_H
#define CRADLE_GC_WATCH_H

#include <cradle/base.h>

typedef struct crd_watch_entry {
  uintptr_t key;    /* the object; 0: the entry was taken */
  cradle_word what; /* the owner's */
  uint32_t next;    /* in the bucket, plus one; 0: none */
} crd_watch_entry;

typedef struct crd_watch {
  crd_watch_entry *entries;
  uint32_t *buckets; /* twice as many as capacity; first entry plus one */
  uint32_t count, capacity;
} crd_watch;

/* false: memory was refused, nothing was added. */
bool crd_watch_add(crd_watch *watch, uintptr_t key, cradle_word what);
/* Takes one entry of the object out. false: there is none. */
bool crd_watch_take(crd_watch *watch, uintptr_t key, cradle_word *what);
/* Empties it, and gives the memory of a large one back. */
void crd_watch_clear(crd_watch *watch);
void crd_watch_fini(crd_watch *watch);

#endif
