/* Ranges, published as text:
 *
 *     cradle-ranges 1
 *     7f3a00000000-7f3a00400000 cradle nursery
 *     7f2a00000000-7f3a00000000 cradle arenas
 *     7f29c0000000-7f2a00000000 cradle metadata
 */
#include "runtime/ranges.h"

#include <cradle/statistics.h>

#include "runtime/growing_text.h"
#include "runtime/log_file.h"
#include "runtime/option_table.h"
#include "runtime/platform/files.h"
#include "runtime/platform/process.h"
#include "runtime/report.h"

#include <errno.h>
#include <stdlib.h>

#define REGIONS 3

typedef struct range {
  uintptr_t start, end;
  const char *name;
} range;

struct crd_ranges {
  crd_ranges *next_heap; /* in the process's list */
  cradle_listener next;
  char *file_name; /* as the user wrote it, with %d; owned */
  int owner;       /* the process that wrote the file last */
  bool published;  /* the heap is in the list */
  range regions[REGIONS];
};

/* [ranges.1] */
static crd_ranges *all_heaps;
static crd_process_lock all_heaps_lock;
static bool failed;   /* [ranges.4] */
static int publisher; /* [ranges.3]: the process that writes the files without %d; 0: no heap is in the list */

/* --- the file --- */

static void put_heap(crd_growing_text *file, const crd_ranges *ranges) {
  for (int i = 0; i < REGIONS; i++) {
    const range *region = &ranges->regions[i];
    crd_growing_format(file, "%jx-%jx %s\n", (uintmax_t)region->start, (uintmax_t)region->end, region->name);
  }
}

/* Puts the ranges of all heaps that use the file of that name together. false: no memory. */
static bool describe_heaps(crd_growing_text *file, const char *file_name) {
  crd_growing_words(file, "cradle-ranges 1\n");
  for (const crd_ranges *heap = all_heaps; heap != NULL; heap = heap->next_heap)
    if (strcmp(heap->file_name, file_name) == 0) put_heap(file, heap);
  return !file->failed;
}

static bool replace(const char *path, const char *file_name) {
  crd_growing_text text = {.length = 0};
  crd_replacement file;
  bool done = describe_heaps(&text, file_name) && crd_replacement_begin(&file, path) &&
              crd_replacement_end(&file, crd_write_all(file.fd, text.text, text.length));
  int error = errno;
  free(text.text);
  errno = error;
  return done;
}

/* Whether this process writes the file; false in a child of fork whose file is its parent's. */
static bool may_write(const char *file_name) {
  return publisher == crd_process_number() || strstr(file_name, "%d") != NULL;
}

/* Call it with the lock held. */
static void rewrite(const char *file_name) {
  int error = errno; /* the program's: it did not ask for this */
  if (failed || !may_write(file_name)) return;
  char *path = crd_path_with_pid(file_name);
  if (path == NULL || !replace(path, file_name)) {
    failed = true;
    crd_report(CRD_PAGES_FILE_VARIABLE ": %s: %s; the ranges are not published", path != NULL ? path : file_name,
               crd_open_failure(errno));
  }
  free(path);
  errno = error;
}

/* --- the list --- */

static void enlist(crd_ranges *ranges) {
  if (publisher == 0) publisher = crd_process_number(); /* first: a fork may come in between */
  ranges->next_heap = all_heaps;
  __atomic_store_n(&all_heaps, ranges, __ATOMIC_RELEASE);
  ranges->published = true;
}

static void delist(crd_ranges *ranges) {
  crd_ranges **link = &all_heaps;
  while (*link != ranges) link = &(*link)->next_heap;
  *link = ranges->next_heap;
}

static void end(crd_ranges *ranges) {
  crd_process_lock_take(&all_heaps_lock);
  delist(ranges);
  rewrite(ranges->file_name);
  if (all_heaps == NULL && publisher == crd_process_number()) publisher = 0;
  crd_process_lock_release(&all_heaps_lock);
  crd_ranges_close(ranges);
}

/* [ranges.3] */
static void adopt_if_forked(crd_ranges *ranges) {
  if (!ranges->published || ranges->owner == crd_process_number()) return;
  crd_process_lock_take(&all_heaps_lock);
  ranges->owner = crd_process_number();
  rewrite(ranges->file_name);
  crd_process_lock_release(&all_heaps_lock);
}

/* --- a heap's life --- */

static void listen(void *data, const cradle_event *event) {
  crd_ranges *ranges = data;
  cradle_listener next = ranges->next;
  adopt_if_forked(ranges);
  if (event->kind == CRADLE_EVENT_HEAP_DESTROYED && ranges->published) end(ranges);
  if (next.function != NULL) next.function(next.data, event);
}

crd_ranges *crd_ranges_open(const char *name, cradle_listener next) {
  if (name == NULL || *name == '\0') return NULL;
  crd_ranges *ranges = calloc(1, sizeof *ranges);
  char *file_name = strdup(name);
  if (ranges == NULL || file_name == NULL) {
    crd_report(CRD_PAGES_FILE_VARIABLE ": no memory for the ranges");
    free(ranges);
    free(file_name);
    return NULL;
  }
  ranges->file_name = file_name;
  ranges->next = next;
  ranges->owner = crd_process_number();
  return ranges;
}

cradle_listener crd_ranges_listener(crd_ranges *ranges) {
  return (cradle_listener){listen, ranges};
}

void crd_ranges_publish(crd_ranges *ranges, cradle_heap *heap) {
  cradle_memory memory;
  cradle_memory_report(heap, &memory, sizeof memory);
  const cradle_region *regions[REGIONS] = {&memory.nursery, &memory.arenas, &memory.metadata};
  for (int i = 0; i < REGIONS; i++)
    ranges->regions[i] = (range){regions[i]->start, regions[i]->start + regions[i]->reserved_bytes, regions[i]->name};
  crd_process_lock_take(&all_heaps_lock);
  enlist(ranges);
  rewrite(ranges->file_name);
  crd_process_lock_release(&all_heaps_lock);
}

void crd_ranges_close(crd_ranges *ranges) {
  free(ranges->file_name);
  free(ranges);
}
