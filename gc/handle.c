#include "gc/handle.h"

#include <stdlib.h>

#include "gc/check.h"
#include "gc/heap.h"

#define FIRST_CAPACITY 64

void crd_handles_init(crd_handles *handles) {
  *handles = (crd_handles){.free = HANDLE_LIST_END, .young = HANDLE_LIST_END};
}

void crd_handles_fini(crd_handles *handles) {
  free(handles->entries);
}

static bool grow(crd_handles *handles) {
  if (handles->capacity > UINT32_MAX / 2) return false;
  uint32_t capacity = handles->capacity == 0 ? FIRST_CAPACITY : 2 * handles->capacity;
  crd_handle_entry *entries = realloc(handles->entries, capacity * sizeof *entries);
  if (entries == NULL) return false;
  handles->entries = entries;
  handles->capacity = capacity;
  return true;
}

/* Points an open entry at an object, and tells those who have to know before they see the table next. */
static void point(cradle_heap *heap, uint32_t index, void *object) {
  crd_handle_entry *entry = &heap->handles.entries[index];
  entry->word = (cradle_word)(uintptr_t)object;
  if (heap_holds_young(heap, (uintptr_t)object)) {
    if (entry->link != 0) return;
    entry->link = heap->handles.young;
    heap->handles.young = index + 1;
  } else if (heap->major.phase == MAJOR_MARKING) {
    crd_mark_address(heap, (uintptr_t)object);
  }
}

/* An entry whose generations are used up stays free for ever [handle.1]. */
static void list_free(crd_handles *handles, uint32_t index) {
  crd_handle_entry *entry = &handles->entries[index];
  entry->link = 0;
  if (entry->generation == UINT32_MAX - 1) return;
  entry->link = handles->free;
  handles->free = index + 1;
}

/* The free list is empty, and so is the table's room: free entries are in the young list, and wait for a collection that handles
 * alone do not bring on. When they are most of the table, taking them out costs no more than opening them did. */
static void reclaim_young(crd_handles *handles) {
  if (handles->used <= 2 * ((uint64_t)handles->open_count + handles->immortal_count)) return;
  for (uint32_t *link = &handles->young; *link != HANDLE_LIST_END;) {
    uint32_t index = *link - 1;
    crd_handle_entry *entry = &handles->entries[index];
    if (handle_is_open(entry)) {
      link = &entry->link;
    } else {
      *link = entry->link;
      list_free(handles, index);
    }
  }
}

/* Opens an entry for the object. Its index, or HANDLE_LIST_END: memory was refused. */
static uint32_t open_entry(cradle_heap *heap, void *object) {
  crd_handles *handles = &heap->handles;
  if (handles->free == HANDLE_LIST_END && handles->used == handles->capacity) reclaim_young(handles);
  uint32_t index = handles->free - 1;
  if (handles->free != HANDLE_LIST_END) {
    handles->free = handles->entries[index].link;
    handles->entries[index].link = 0;
  } else {
    if (handles->used == handles->capacity && !grow(handles)) return HANDLE_LIST_END;
    if (handles->marked_at == handles->used) handles->marked_at++; /* or marking might never be over */
    index = handles->used++;
    handles->entries[index] = (crd_handle_entry){0, 0, 0};
  }
  handles->entries[index].generation++;
  point(heap, index, object);
  return index;
}

cradle_word *crd_handles_next_young(crd_handles *handles) {
  while (handles->young != HANDLE_LIST_END) {
    uint32_t index = handles->young - 1;
    crd_handle_entry *entry = &handles->entries[index];
    handles->young = entry->link;
    entry->link = 0;
    if (handle_is_open(entry)) return &entry->word;
    list_free(handles, index);
  }
  return NULL;
}

static CRADLE_COLD _Noreturn void handle_misuse(cradle_heap *heap, const char *what, cradle_handle handle) {
  uint32_t index = (uint32_t)handle;
  bool was_open = index < heap->handles.used && (handle >> 32 & 1) && handle >> 32 < heap->handles.entries[index].generation;
  crd_text text = {.length = 0};
  crd_text_add(&text, what);
  crd_text_add(&text, ": the handle ");
  crd_text_hex(&text, handle);
  crd_text_add(&text, was_open ? " was freed" : " is none of this heap");
  crd_misuse(heap, text.buffer);
}

/* The index of an open handle; misuse if it is none. */
static inline uint32_t check_handle(cradle_mutator *mutator, const char *what, cradle_handle handle) {
  const crd_handles *handles = &mutator->heap->handles;
  uint32_t index = (uint32_t)handle;
  crd_mutator_check_thread(mutator, what);
  if (CRADLE_UNLIKELY(index >= handles->used || handles->entries[index].generation != handle >> 32 ||
                      !handle_is_open(&handles->entries[index])))
    handle_misuse(mutator->heap, what, handle);
  return index;
}

cradle_handle cradle_handle_new(cradle_mutator *mutator, void *object) {
  cradle_heap *heap = mutator->heap;
  crd_mutator_check_thread(mutator, "cradle_handle_new");
  uint32_t index = open_entry(heap, object);
  if (index == HANDLE_LIST_END) return 0;
  heap->handles.open_count++;
  return (cradle_handle)heap->handles.entries[index].generation << 32 | index;
}

void *cradle_handle_get(cradle_mutator *mutator, cradle_handle handle) {
  uint32_t index = check_handle(mutator, "cradle_handle_get", handle);
  return (void *)(uintptr_t)mutator->heap->handles.entries[index].word;
}

void cradle_handle_set(cradle_mutator *mutator, cradle_handle handle, void *object) {
  point(mutator->heap, check_handle(mutator, "cradle_handle_set", handle), object);
}

void cradle_handle_free(cradle_mutator *mutator, cradle_handle handle) {
  crd_handles *handles = &mutator->heap->handles;
  uint32_t index = check_handle(mutator, "cradle_handle_free", handle);
  handles->entries[index].word = 0;
  handles->entries[index].generation++;
  handles->open_count--;
  if (handles->entries[index].link == 0) list_free(handles, index);
}

/* An entry that nobody has the number of. */
bool cradle_immortal(cradle_mutator *mutator, void *object) {
  crd_mutator_check_thread(mutator, "cradle_immortal");
  if (object == NULL) crd_misuse(mutator->heap, "cradle_immortal: the object is NULL");
  if (open_entry(mutator->heap, object) == HANDLE_LIST_END) return false;
  mutator->heap->handles.immortal_count++;
  return true;
}

/* --- checks --- */

const char *crd_handles_check(const cradle_heap *heap, uintptr_t *at) {
  const crd_handles *handles = &heap->handles;
  uint32_t open = 0;
  for (uint32_t i = 0; i < handles->used; i++) {
    const crd_handle_entry *entry = &handles->entries[i];
    *at = (uintptr_t)entry->word;
    open += handle_is_open(entry);
    if (!handle_is_open(entry) && entry->word != 0) return "a free handle holds a reference [handle.1]";
    if (heap_holds_young(heap, (uintptr_t)entry->word) && entry->link == 0)
      return "a handle of a young object is in no list [handle.2]";
  }
  *at = 0;
  return open == handles->open_count + handles->immortal_count ? NULL : "open handles are counted wrong";
}
