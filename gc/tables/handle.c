#include "gc/tables/handle.h"

#include <stdlib.h>

#include "gc/old/marking.h"
#include "gc/tables/tables.h"

/* A free entry with this generation is not opened any more: its generations would begin again [handle.1]. */
#define HANDLE_LAST_GENERATION (UINT32_MAX - 1)

void crd_handles_fini(crd_handles *handles) {
  for (unsigned block = 0; block < HANDLE_BLOCKS && handles->blocks[block] != NULL; block++)
    free(handles->blocks[block]);
}

/* An old object is marked, if marking goes on: the cursor may have passed the entry. */
static void point(crd_tables *tables, crd_handle_entry *entry, uint32_t index, void *object) {
  ASSERT(handle_is_open(entry), "[handle.1] a free entry is given a reference");
  entry->word = address_of(object);
  if (space_holds_young(tables->space, entry->word)) {
    if (entry->link != HANDLE_UNLISTED) return;
    entry->link = tables->handles.young;
    tables->handles.young = index + 1;
  } else {
    marking_shade(tables->marking, entry->word);
  }
}

static void list_free(crd_handles *handles, crd_handle_entry *entry, uint32_t index) {
  ASSERT(!handle_is_open(entry) && entry->word == 0, "[handle.3] an open entry is listed as free");
  ASSERT(handles->free != index + 1, "[handle.3] an entry is listed as free twice");
  entry->link = HANDLE_UNLISTED;
  if (entry->generation == HANDLE_LAST_GENERATION) return;
  entry->link = handles->free;
  handles->free = index + 1;
}

/* Moves free entries from the young list to the free list: a program that only opens and frees handles brings on no
 * minor collection to do it. Done when the table is full and more than half of it free. */
static void reclaim_young(crd_handles *handles) {
  if (handles->used <= 2 * (uint64_t)handles->open_count) return;
  for (uint32_t *link = &handles->young; *link != 0;) {
    ASSERT(*link <= handles->used, "[handle.2] the young list leads out of the table");
    uint32_t index = *link - 1;
    crd_handle_entry *entry = handle_entry(handles, index);
    if (handle_is_open(entry)) {
      link = &entry->link;
    } else {
      *link = entry->link;
      list_free(handles, entry, index);
    }
  }
}

/* Makes room for one more entry. false: memory was refused, or there are as many entries as there can be. */
static bool grow(crd_handles *handles) {
  if (handles->used < handles->capacity) return true;
  unsigned block = handle_block(handles->capacity);
  if (block >= HANDLE_BLOCKS) return false;
  handles->blocks[block] = calloc((size_t)HANDLE_BLOCK_FIRST << block, sizeof(crd_handle_entry));
  if (handles->blocks[block] == NULL) return false;
  handles->capacity += HANDLE_BLOCK_FIRST << block;
  return true;
}

/* An entry that is in no list, a free one or the first behind `used`; or NULL: memory was refused. */
static crd_handle_entry *take_entry(crd_handles *handles, uint32_t *index) {
  if (handles->free == 0 && handles->used == handles->capacity) reclaim_young(handles);
  bool is_free = handles->free != 0;
  if (!is_free && !grow(handles)) return NULL;
  *index = is_free ? handles->free - 1 : handles->used;
  crd_handle_entry *entry = handle_entry(handles, *index);
  if (is_free) {
    handles->free = entry->link;
  } else {
    ASSERT(handles->marked_at <= handles->used, "[handle.4] marking is beyond the last entry");
    /* A cursor at the end passes the new entry, or a program that opens handles could keep marking from finishing. */
    if (handles->marked_at == handles->used) handles->marked_at++;
  }
  entry->link = HANDLE_UNLISTED;
  return entry;
}

cradle_word *crd_handles_next_young(crd_handles *handles) {
  while (handles->young != 0) {
    ASSERT(handles->young <= handles->used, "[handle.2] the young list leads out of the table");
    uint32_t index = handles->young - 1;
    crd_handle_entry *entry = handle_entry(handles, index);
    handles->young = entry->link;
    entry->link = HANDLE_UNLISTED;
    if (handle_is_open(entry)) return &entry->word;
    list_free(handles, entry, index);
  }
  return NULL;
}

/* A handle that was open once has an odd generation, and its entry is beyond that. */
static CRADLE_COLD _Noreturn void handle_misuse(cradle_mutator *mutator, const char *what, cradle_handle handle) {
  const crd_handles *handles = &mutator_of(mutator)->tables->handles;
  uint32_t index = (uint32_t)handle.number, generation = (uint32_t)(handle.number >> 32);
  bool was_open = index < handles->used && (generation & 1) && generation < handle_entry(handles, index)->generation;
  if (handle.number == 0)
    crd_misuse(mutator->heap, "%s: the handle is 0: it was never set, or cradle_handle_new failed", what);
  crd_misuse(mutator->heap, "%s: the handle %#llx%s", what, (unsigned long long)handle.number,
             was_open ? " was freed" : " is not a handle of this heap");
}

static inline crd_handle_entry *check_handle(cradle_mutator *mutator, const char *what, cradle_handle handle) {
  crd_mutator_check_thread(mutator, what);
  crd_handle_entry *entry = handle_find(&mutator_of(mutator)->tables->handles, handle);
  if (CRADLE_UNLIKELY(entry == NULL)) handle_misuse(mutator, what, handle);
  return entry;
}

static cradle_handle open_handle(crd_tables *tables, void *object) {
  uint32_t index;
  crd_handle_entry *entry = take_entry(&tables->handles, &index);
  if (CRADLE_UNLIKELY(entry == NULL)) {
    crd_out_of_room(tables->space, "cradle_handle_new", "handle");
    return (cradle_handle){0};
  }
  entry->generation++;
  point(tables, entry, index, object);
  if (index == tables->handles.used) __atomic_store_n(&tables->handles.used, index + 1, __ATOMIC_RELEASE);
  tables->handles.open_count++;
  return (cradle_handle){(uint64_t)entry->generation << 32 | index};
}

cradle_handle cradle_handle_new(cradle_mutator *mutator, void *object) {
  crd_mutator_check_thread(mutator, "cradle_handle_new");
  crd_tables *tables = mutator_of(mutator)->tables;
  space_lock(tables->space);
  cradle_handle handle = open_handle(tables, object);
  space_unlock(tables->space);
  return handle;
}

void *cradle_handle_get(cradle_mutator *mutator, cradle_handle handle) {
  return object_at(check_handle(mutator, "cradle_handle_get", handle)->word);
}

void cradle_handle_set(cradle_mutator *mutator, cradle_handle handle, void *object) {
  crd_handle_entry *entry = check_handle(mutator, "cradle_handle_set", handle);
  space_lock(mutator_of(mutator)->space);
  point(mutator_of(mutator)->tables, entry, (uint32_t)handle.number, object);
  space_unlock(mutator_of(mutator)->space);
}

void cradle_handle_free(cradle_mutator *mutator, cradle_handle handle) {
  crd_handles *handles = &mutator_of(mutator)->tables->handles;
  crd_handle_entry *entry = check_handle(mutator, "cradle_handle_free", handle);
  space_lock(mutator_of(mutator)->space);
  entry->word = 0;
  entry->generation++;
  ASSERT(handles->open_count > 0, "more handles are freed than are open");
  handles->open_count--;
  if (entry->link == HANDLE_UNLISTED) list_free(handles, entry, (uint32_t)handle.number);
  space_unlock(mutator_of(mutator)->space);
}

/* --- checks --- */

static const char *check_open(const crd_tables *tables, uint32_t index) {
  const crd_handle_entry *entry = handle_entry(&tables->handles, index);
  if (space_holds_young(tables->space, entry->word))
    return entry->link == HANDLE_UNLISTED ? "a handle of a young object is in no list [handle.2]" : NULL;
  if (index < tables->handles.marked_at && marking_lacks(tables->marking, entry->word))
    return "a handle that marking has passed refers to an unmarked object [handle.4]";
  return NULL;
}

static const char *check_free(const crd_handle_entry *entry) {
  if (entry->word != 0) return "a free handle holds a reference [handle.1]";
  if (entry->link == HANDLE_UNLISTED && entry->generation < HANDLE_LAST_GENERATION)
    return "a free handle is in no list [handle.3]";
  return NULL;
}

const char *crd_handles_check(const crd_tables *tables, uintptr_t *at) {
  const crd_handles *handles = &tables->handles;
  uint32_t open = 0;
  for (uint32_t i = 0; i < handles->used; i++) {
    const crd_handle_entry *entry = handle_entry(handles, i);
    bool is_open = handle_is_open(entry);
    const char *fault = is_open ? check_open(tables, i) : check_free(entry);
    *at = entry->word;
    if (fault != NULL) return fault;
    open += is_open;
  }
  *at = 0;
  return open == handles->open_count ? NULL : "open handles are counted wrong";
}
