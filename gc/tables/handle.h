/* Handles: a table of references whose entries never move, so that an entry's index and its generation name it for
 * ever.
 *
 *   [handle.1] An entry is open when its generation is odd. Opening and freeing it add one; an entry whose generation
 *              would begin again is not used any more.
 *   [handle.2] Between collections an open entry that holds a young object is in the young list. After a minor
 *              collection that list is empty.
 *   [handle.3] A free entry is in the free list, or, when it was freed since the last minor collection, may be in the
 *              young list; those leave it earlier when the table would grow although most of it is free.
 *   [handle.4] While marking, what the open entries below marked_at refer to is marked or young, and what was stored
 *              since.
 */
#ifndef CRADLE_GC_TABLES_HANDLE_H
#define CRADLE_GC_TABLES_HANDLE_H

#include <cradle/handle.h>

/* Ends a list of entries, which are linked by their index plus 1; 0: the entry is in none. */
#define HANDLE_LIST_END UINT32_MAX

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
  uint32_t marked_at; /* where marking goes on */
} crd_handles;

static inline bool handle_is_open(const crd_handle_entry *entry) {
  return entry->generation & 1;
}

void crd_handles_init(crd_handles *handles);
void crd_handles_fini(crd_handles *handles);
/* Takes the next entry out of the young list: its slot if it is open, else puts it into the free list and goes on.
 * NULL: the list is empty. */
cradle_word *crd_handles_next_young(crd_handles *handles);
/* What is wrong, for the verifier, or NULL. *at: with what address, 0 if with none. */
const char *crd_handles_check(const cradle_heap *heap, uintptr_t *at);

#endif
