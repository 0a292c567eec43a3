/* The heap: its life, its types, collections on request, and a snapshot of its statistics.
 *
 * Heaps are independent of each other; nothing is global. A heap is used by one thread at a time.
 */
#ifndef CRADLE_HEAP_H
#define CRADLE_HEAP_H

#include <cradle/mutator.h>
#include <cradle/object.h>
#include <cradle/options.h>

CRADLE_BEGIN_DECLS

typedef struct cradle_error {
  char message[256]; /* names the thing that is wrong and what is accepted; empty after success */
} cradle_error;

/* Makes a heap. options must have gone through cradle_options_init. NULL when an option is wrong or memory or address space
 * runs out; error, unless NULL, then says which. Nothing is read from the environment (cradle_start in cradle/runtime.h
 * does that). No page of the heap is touched before the first allocation. */
CRADLE_API cradle_heap *cradle_heap_new(const cradle_options *options, cradle_error *error);
/* Frees the heap and all its objects. Its mutator must have been freed. NULL is ignored. */
CRADLE_API void cradle_heap_free(cradle_heap *heap);

/* Adds a type and returns its id: the number of types before it. A contradictory descriptor is misuse. Returns
 * CRADLE_TYPE_ID_END when memory or ids run out. Does not collect. */
CRADLE_API CRADLE_RESULT_MATTERS uint32_t cradle_type_add(cradle_heap *heap, const cradle_type *type);

/* Collects the nursery. */
CRADLE_API void cradle_collect_minor(cradle_mutator *mutator) CRADLE_MAY_COLLECT;
/* One complete major collection: nursery, mark, sweep. */
CRADLE_API void cradle_collect_major(cradle_mutator *mutator) CRADLE_MAY_COLLECT;
/* A full collection: a major one after which every object that was unreachable at the call is gone, and empty arenas are
 * given back to the system. */
CRADLE_API void cradle_collect_full(cradle_mutator *mutator) CRADLE_MAY_COLLECT;

/* Checks the whole heap: structure, headers, every slot, completeness of the remembered set. true when sound; else false and
 * error names the first broken object, its holder, the slot and the last collection. Does not collect. */
CRADLE_API bool cradle_heap_verify(cradle_heap *heap, cradle_error *error);

/* A snapshot. Bytes and nanoseconds; counts since the heap was made. */
typedef struct cradle_stats {
  uint64_t minor_collections, major_collections;
  uint64_t minor_ns, major_ns;                 /* time in each, the minor collection before a major one not counted in it */
  uint64_t minor_max_ns, major_max_ns;         /* the longest of each */
  uint64_t allocated_bytes;                    /* nursery bytes handed out and large objects */
  uint64_t promoted_objects, promoted_bytes;
  uint64_t nursery_bytes;                      /* size now */
  uint64_t old_bytes;                          /* in objects of the old generation, rounding to size classes included */
  uint64_t large_bytes;                        /* of these in page runs */
  uint64_t threshold_bytes;                    /* old_bytes at which the next major collection is due */
  uint64_t arena_bytes;                        /* each arena is so large */
  uint64_t arenas_committed, arenas_in_use;    /* arenas */
  uint64_t metadata_bytes;                     /* committed for bitmaps and page tables */
  uint64_t committed_bytes;                    /* all of it: arenas, nursery, metadata, shadow stack, buffers */
  uint64_t remembered_objects;                 /* traced by minor collections, in all */
  uint64_t moved_objects;                      /* objects that changed their address, in all */
  cradle_hugepages nursery_pages_asked;        /* policy */
  cradle_hugepages arena_pages_asked;
  uint64_t nursery_resident_bytes, nursery_huge_bytes; /* what the kernel gave, read at this call */
  uint64_t arena_resident_bytes, arena_huge_bytes;
  bool pages_known;                            /* false: the system does not tell the four above */
} cradle_stats;
/* Fills *stats (size is sizeof(cradle_stats)). With pages, asks the kernel what backs the heap, about 0.1 ms a GiB; else
 * the five page fields are zero. Does not collect. */
CRADLE_API void cradle_heap_stats(cradle_heap *heap, cradle_stats *stats, size_t size, bool pages);

CRADLE_END_DECLS

#endif
