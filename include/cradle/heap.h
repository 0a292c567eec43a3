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
/* One complete major collection: nursery, mark, sweep. One that is marking in increments is finished and is that one: what
 * died since it began may stay. */
CRADLE_API void cradle_collect_major(cradle_mutator *mutator) CRADLE_MAY_COLLECT;
/* A full collection: a major one after which every object that was unreachable at the call is gone, and empty arenas are
 * given back to the system. */
CRADLE_API void cradle_collect_full(cradle_mutator *mutator) CRADLE_MAY_COLLECT;
/* A full collection after which the objects of sparse arenas have been moved together: memory goes back that scattered
 * survivors hold. It takes time for every live object, like the marking, and is not done in increments. */
CRADLE_API void cradle_collect_compacting(cradle_mutator *mutator) CRADLE_MAY_COLLECT;
/* For idle time: empties the nursery and does one increment of the major collection, of about most_ns nanoseconds (a minor
 * collection and the smallest increment can take longer); begins a major collection if none runs. true: it is complete. */
CRADLE_API bool cradle_collect_step(cradle_mutator *mutator, uint64_t most_ns) CRADLE_MAY_COLLECT;

/* Tells of memory outside the heap that objects own, such as malloc'ed buffers: bytes are added to what the major
 * collection's pacing counts, or taken away when negative. Does not collect. */
CRADLE_API void cradle_external_memory(cradle_mutator *mutator, int64_t bytes);

/* Checks the whole heap: structure, headers, every slot, completeness of the remembered set. true when sound; else false and
 * error names the first broken object, its holder, the slot and the last collection. Does not collect. */
CRADLE_API bool cradle_heap_verify(cradle_heap *heap, cradle_error *error);

/* A snapshot. Bytes and nanoseconds; counts since the heap was made. */
typedef struct cradle_stats {
  uint64_t minor_collections, major_collections;
  uint64_t major_steps, compactions;           /* increments of major collections */
  uint64_t pauses;                             /* stops of the mutator: a minor collection, and what followed it at once */
  uint64_t minor_ns, major_ns, compact_ns;     /* time in each, the minor collection before an increment not counted in it */
  uint64_t minor_max_ns, major_max_ns;         /* the longest minor collection, the longest increment */
  uint64_t pause_max_ns;                       /* the longest pause */
  uint64_t allocated_bytes;                    /* nursery bytes handed out and large objects */
  uint64_t promoted_objects, promoted_bytes;
  uint64_t nursery_bytes;                      /* size now */
  uint64_t old_bytes;                          /* in objects of the old generation, rounding to size classes included */
  uint64_t large_bytes;                        /* of these in page runs */
  uint64_t external_bytes;                     /* told by cradle_external_memory */
  uint64_t threshold_bytes;                    /* old and external bytes at which the next major collection ought to be over */
  cradle_phase phase;                          /* of the major collection */
  uint64_t arena_bytes;                        /* each arena is so large */
  uint64_t arenas_committed, arenas_in_use;    /* arenas */
  uint64_t metadata_bytes;                     /* committed for bitmaps and page tables */
  uint64_t committed_bytes;                    /* all of it: arenas, nursery, metadata, shadow stack, buffers */
  uint64_t remembered_objects;                 /* traced by minor collections, in all */
  uint64_t recorded_slots;                     /* of large arrays, likewise */
  uint64_t moved_objects;                      /* objects that a minor collection moved, in all */
  uint64_t moved_old_objects, moved_old_bytes; /* those that a compacting collection moved */
  cradle_hugepages nursery_pages_asked;        /* policy */
  cradle_hugepages arena_pages_asked;
  uint64_t nursery_resident_bytes, nursery_huge_bytes; /* what the kernel gave, read at this call */
  uint64_t arena_resident_bytes, arena_huge_bytes;
  bool pages_known;                            /* false: the system does not tell the four above */
} cradle_stats;
/* Fills *stats (size is sizeof(cradle_stats)). With pages, asks the kernel what backs the heap, about 0.1 ms a GiB; else
 * the five page fields are zero. Does not collect. */
CRADLE_API void cradle_heap_stats(cradle_heap *heap, cradle_stats *stats, size_t size, bool pages);

/* The table of size classes of a live heap: one row a class of small objects, smallest first. */
typedef struct cradle_span_info {
  uint32_t object_bytes; /* largest object of the class */
  uint32_t span_bytes, span_objects;
  uint64_t spans;
  uint64_t used_bytes;   /* in objects; dead ones count until they are swept */
  uint64_t memory_bytes; /* of the spans */
} cradle_span_info;
/* Fills up to count rows; returns how many classes there are. Does not collect. */
CRADLE_API size_t cradle_heap_spans(cradle_heap *heap, cradle_span_info *rows, size_t count);

CRADLE_END_DECLS

#endif
