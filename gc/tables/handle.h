/* Handles: numbers that foreign code can keep instead of references. A handle names an entry of a table, and the entry
 * holds the reference. Entries are reused, so the number has two parts:
 *
 *     handle:  | generation (32 bits) | index (32 bits) |        open if the entry's generation is the handle's
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
 *   [handle.5] Entries do not move: the table grows by blocks, each twice as long as the last. An entry is open and
 *              complete before `used` says that it is there. So a thread that reads needs no lock.
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

#define HANDLE_BLOCK_BITS 6
#define HANDLE_BLOCK_FIRST (1u << HANDLE_BLOCK_BITS)
#define HANDLE_BLOCKS 25 /* so that an index plus 1 stays below HANDLE_UNLISTED */

typedef struct crd_handles {
  crd_handle_entry *blocks[HANDLE_BLOCKS]; /* block k has HANDLE_BLOCK_FIRST << k entries */
  uint32_t used, capacity;                 /* entries opened so far, atomic [handle.5], and room */
  uint32_t free, young;                    /* lists */
  uint32_t open_count;
  uint32_t marked_at; /* marking has looked at the entries below [handle.4] */
} crd_handles;

static inline bool handle_is_open(const crd_handle_entry *entry) {
  return entry->generation & 1;
}
/* The blocks before a block have together HANDLE_BLOCK_FIRST entries less than it has. */
static inline unsigned handle_block(uint32_t index) {
  return 63 - (unsigned)__builtin_clzll((uint64_t)index + HANDLE_BLOCK_FIRST) - HANDLE_BLOCK_BITS;
}
/* The index behind the block that an index is in. */
static inline uint32_t handle_block_end(uint32_t index) {
  return (2 * HANDLE_BLOCK_FIRST << handle_block(index)) - HANDLE_BLOCK_FIRST;
}
static inline crd_handle_entry *handle_entry(const crd_handles *handles, uint32_t index) {
  unsigned block = handle_block(index);
  return &handles->blocks[block][(uint64_t)index + HANDLE_BLOCK_FIRST - ((uint64_t)HANDLE_BLOCK_FIRST << block)];
}
/* The entry of an open handle, or NULL. */
static inline crd_handle_entry *handle_find(const crd_handles *handles, cradle_handle handle) {
  uint32_t index = (uint32_t)handle.number;
  if (index >= __atomic_load_n(&handles->used, __ATOMIC_ACQUIRE)) return NULL;
  crd_handle_entry *entry = handle_entry(handles, index);
  return entry->generation == handle.number >> 32 && handle_is_open(entry) ? entry : NULL;
}

void crd_handles_fini(crd_handles *handles);
/* Takes the next open entry out of the young list and returns its slot; NULL: there is none. Free entries that it meets
 * go into the free list. */
cradle_word *crd_handles_next_young(crd_handles *handles);
/* For the verifier: NULL, or what is wrong. *at: at which address; 0: at none. */
const char *crd_handles_check(const crd_tables *tables, uintptr_t *at);

#endif
