/* Handles: numbers that foreign code can keep instead of references. A handle names an entry of a table, and the entry
 * holds the reference. Entries are reused, so the number has two parts:
 *
 *     handle:  | generation (32 bits) | index (32 bits) |        open if entry[index].generation == generation
 *
 * The handle of an entry that was freed since no longer matches, and its use is reported. Entries that were given a
 * young object are linked in a list, so that a minor collection looks at no others.
 *
 *   [handle.1] An entry is open when its generation is odd. Opening and freeing it add one; an entry whose generation
 *              would begin again is not used any more.
 *   [handle.2] Between collections an open entry that holds a young object is in the young list. After a minor
 *              collection that list is empty.
 *   [handle.3] A free entry is in the free list. One that was freed since the last minor collection may be in the young
 *              list instead; it leaves that list earlier if the table would grow although most of it is free.
 *   [handle.4] While marking, what the open entries below marked_at refer to is marked or young, and what was stored
 *              since.
 */
#ifndef CRADLE_GC_TABLES_HANDLE_H
#define CRADLE_GC_TABLES_HANDLE_H

#include <cradle/handle.h>

#include "gc/parts.h"

/* Entries of a list are linked by their index plus 1; 0 ends a list. This is the link of an entry in no list. */
#define HANDLE_UNLISTED UINT32_MAX

typedef struct crd_handle_entry {
  cradle_word word; /* the reference; 0 when free */
  uint32_t generation;
  uint32_t link; /* in the free list or the young list */
} crd_handle_entry;

typedef struct crd_handles {
  crd_handle_entry *entries;
  uint32_t used, capacity; /* entries opened so far, and room */
  uint32_t free, young;    /* lists */
  uint32_t open_count;
  uint32_t marked_at; /* marking has looked at the entries below [handle.4] */
} crd_handles;

static inline bool handle_is_open(const crd_handle_entry *entry) {
  return entry->generation & 1;
}

void crd_handles_fini(crd_handles *handles);
/* Takes the next open entry out of the young list and returns its slot; NULL: there is none. Free entries that it meets
 * go into the free list. */
cradle_word *crd_handles_next_young(crd_handles *handles);
/* For the verifier: NULL, or what is wrong. *at: at which address; 0: at none. */
const char *crd_handles_check(const crd_tables *tables, uintptr_t *at);

#endif
