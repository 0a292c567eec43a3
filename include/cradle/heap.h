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

/* --- memory --- */

/* What backs a region, as the kernel says. */
typedef enum cradle_backing {
  CRADLE_BACKING_UNKNOWN = 0, /* the system does not tell */
  CRADLE_BACKING_NOTHING,     /* nothing of it is resident */
  CRADLE_BACKING_BASE,        /* base pages only; the smaller sizes of transparent huge pages count as these */
  CRADLE_BACKING_PARTLY_HUGE,
  CRADLE_BACKING_HUGE,        /* all that is resident */
} cradle_backing;
/* In words, as the log prints it; never NULL. */
CRADLE_API const char *cradle_backing_name(cradle_backing backing);

typedef struct cradle_region {
  const char *name;         /* "cradle nursery", as in /proc/PID/maps where the kernel has names for mappings */
  uintptr_t start;          /* address */
  uint64_t reserved_bytes;  /* address space */
  uint64_t committed_bytes; /* accessible */
  uint64_t pool_bytes;      /* of these from a reserved pool of huge pages */
  cradle_hugepages asked;
  cradle_backing obtained;
  uint64_t resident_bytes, huge_bytes; /* huge_bytes <= resident_bytes; pages of a pool count in both */
} cradle_region;

typedef struct cradle_memory {
  cradle_region nursery, arenas, metadata;
  uint64_t arenas_taken, arenas_given_back; /* from and to the system, in all */
  uint64_t pool_refusals;                   /* arenas for which the pool had no page */
} cradle_memory;
/* Fills *memory (size is sizeof(cradle_memory)): what each region was asked to be and what the kernel says it is, about 0.1 ms
 * a GiB of huge pages and 1 ms of base pages. Does not collect. */
CRADLE_API void cradle_memory_report(cradle_heap *heap, cradle_memory *memory, size_t size);

/* Gives all empty arenas beyond the promotion reserve back to the system now, instead of when they were not wanted for some
 * seconds. Returns bytes. Does not collect: what died since the last major collection is not empty yet. */
CRADLE_API uint64_t cradle_release_memory(cradle_heap *heap);

/* fork(), for programs whose child goes on to use the heap: prepare, fork, then parent or child in either process (parent also
 * when fork failed). Between, the heap must not be used. The process has no other threads that use the heap.
 *
 * Prepare collects the nursery and drops the contents of what is empty, so that neither process copies it. It fails, and the
 * heap stays as it was, while memory of a reserved pool is in use: after a fork the kernel may kill either process when the
 * pool is empty. docs/design/pages.md says what a fork costs. A child that only calls exec or _exit needs none of this. */
CRADLE_API CRADLE_RESULT_MATTERS bool cradle_fork_prepare(cradle_heap *heap, cradle_error *error) CRADLE_MAY_COLLECT;
CRADLE_API void cradle_fork_parent(cradle_heap *heap);
CRADLE_API void cradle_fork_child(cradle_heap *heap);

CRADLE_END_DECLS

#endif
