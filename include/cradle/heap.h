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
 * does that). No page of the heap is touched before the first allocation, but for those of a huge-page
 * pool and of a quarantine. */
CRADLE_API cradle_heap *cradle_heap_new(const cradle_options *options, cradle_error *error);
/* Frees the heap and all its objects, pinned ones and those of open handles too (the log is told), and removes its prebuilt
 * objects. Its mutator must have been freed. NULL is ignored. */
CRADLE_API void cradle_heap_free(cradle_heap *heap);

/* Adds a type and returns its id: the number of types before it. A contradictory descriptor is misuse, and so is a
 * call from a callback. Returns CRADLE_TYPE_ID_END when memory or ids run out. Does not collect. */
CRADLE_API CRADLE_RESULT_MATTERS uint32_t cradle_type_add(cradle_heap *heap, const cradle_type *type);

/* How the heap's values are encoded; valid as long as the heap. Does not collect. */
CRADLE_API const cradle_encoding *cradle_heap_encoding(const cradle_heap *heap);

/* Collects the nursery. */
CRADLE_API void cradle_collect_minor(cradle_mutator *mutator) CRADLE_MAY_COLLECT;
/* One complete major collection: what was unreachable at the call is gone. One that runs in increments is finished first. */
CRADLE_API void cradle_collect_major(cradle_mutator *mutator) CRADLE_MAY_COLLECT;
/* The same, after which empty arenas are given back to the system at once. */
CRADLE_API void cradle_collect_full(cradle_mutator *mutator) CRADLE_MAY_COLLECT;
/* A full collection after which the objects of sparse arenas have been moved together: memory goes back that scattered
 * survivors hold, and all that is empty but stays committed is dropped, the nursery too (not the old generation's with a
 * quarantine, which keeps poison there); what is used next costs its page faults again. It takes time for every live object, like
 * the marking, and is not done in increments. */
CRADLE_API void cradle_collect_compacting(cradle_mutator *mutator) CRADLE_MAY_COLLECT;
/* For idle time: empties the nursery and does one increment of the major collection, of about most_ns nanoseconds (a minor
 * collection and the smallest increment can take longer); begins a major collection if none runs. true: it is complete. */
CRADLE_API bool cradle_collect_step(cradle_mutator *mutator, uint64_t most_ns) CRADLE_MAY_COLLECT;

/* Tells of memory outside the heap that objects own, such as malloc'ed buffers: bytes are added to what the major
 * collection's pacing counts, or taken away when negative. More than was added so is misuse, and so is a sum above 1 EiB; the sum
 * stays as it was. Does not collect. */
CRADLE_API void cradle_external_memory(cradle_mutator *mutator, int64_t bytes);

/* Checks the whole heap: structure, headers, every slot, completeness of the remembered set. false when something is
 * wrong: error names the first broken object, its holder, the slot and the last collection. true when nothing was found; where
 * memory for the check is refused, a note says that it was left out, or done in part. From a callback it is misuse. Does not
 * collect. */
CRADLE_API bool cradle_heap_verify(cradle_heap *heap, cradle_error *error);

/* Says what the heap knows of an address that a program used by mistake: of an object that a minor collection moved or that died
 * in it, while its page is in quarantine (options.quarantine), of an address of the old generation where no memory is
 * (any more, mostly), and of poison that was read and taken for a reference. false when it knows nothing; the text is then
 * empty. May be called in a signal handler, for a heap of any thread. */
typedef struct cradle_explanation {
  char text[256];
  uint64_t collection; /* the minor collection that the text is about; 0: none */
} cradle_explanation;
CRADLE_API bool cradle_explain_address(const cradle_heap *heap, const void *address, cradle_explanation *explanation);

/* A snapshot. Bytes and nanoseconds; counts since the heap was made. */
typedef struct cradle_stats {
  uint64_t minor_collections, major_collections;
  uint64_t major_steps, compactions;           /* increments of major collections */
  uint64_t pauses;                             /* stops of the mutator: a minor collection, and what followed it at once */
  uint64_t minor_ns, major_ns, compact_ns;     /* time in each, the minor collection before an increment not counted in it */
  uint64_t minor_max_ns, major_max_ns;         /* the longest minor collection, the longest increment */
  uint64_t pause_max_ns;                       /* the longest pause */
  uint64_t prepare_ns;                         /* having arenas ready after pauses: page faults, mostly; no part of pauses */
  uint64_t allocated_bytes;                    /* nursery bytes handed out and large objects */
  uint64_t promoted_objects, promoted_bytes;
  uint64_t nursery_bytes;                      /* size now; less than was asked for where not all of it could be promoted */
  uint64_t old_bytes;                          /* in objects of the old generation, rounding to size classes included */
  uint64_t large_bytes;                        /* of these in page runs */
  uint64_t pinned_objects;                     /* pinned now; several pins of one object count once */
  uint64_t handles, ids, prebuilt_objects;     /* open handles, objects with an id, registered prebuilt objects: now */
  uint64_t external_bytes;                     /* owned outside the heap: told, or asked of old objects by external_size */
  uint64_t threshold_bytes;                    /* old and external bytes at which the next major collection ought to be over */
  uint64_t heap_max_bytes;                     /* the maximum heap now, a cgroup's included; 0: none */
  cradle_phase phase;                          /* of the major collection */
  uint64_t arena_bytes;                        /* each arena is so large */
  uint64_t arenas_committed, arenas_in_use;    /* arenas */
  uint64_t metadata_bytes;                     /* committed for bitmaps and page tables */
  uint64_t committed_bytes;                    /* arenas, nursery, metadata, shadow stack, buffers; what services, weak sets,
                                                * handles, ids, pins and prebuilt objects take beside the heap */
  uint64_t remembered_objects;                 /* traced by minor collections, in all */
  uint64_t recorded_slots;                     /* of large arrays, likewise */
  uint64_t moved_objects;                      /* objects that a minor collection moved, in all */
  uint64_t moved_old_objects, moved_old_bytes; /* those that a compacting collection moved */
  uint64_t stress_number;                      /* of the last stress collection; those that were left out count, too */
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

/* --- memory --- */

/* What backs a region, as the kernel says. */
typedef enum cradle_backing {
  CRADLE_BACKING_UNKNOWN = 0, /* the system does not tell */
  CRADLE_BACKING_NOTHING,     /* nothing of it is resident */
  CRADLE_BACKING_BASE,        /* base pages only; the smaller sizes of transparent huge pages count as these */
  CRADLE_BACKING_PARTLY_HUGE,
  CRADLE_BACKING_HUGE,        /* all that is resident */
} cradle_backing;
/* In words; never NULL. */
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
 * Prepare collects the nursery and drops the contents of what is empty, as a compacting collection does, so that neither process
 * copies it. It fails, and the heap stays as it was, while memory of a reserved pool is in use: after a fork the kernel may kill
 * either process when the pool is empty. docs/design/pages.md says what a fork costs. A child that only calls exec or _exit needs
 * none of this. */
CRADLE_API CRADLE_RESULT_MATTERS bool cradle_fork_prepare(cradle_heap *heap, cradle_error *error) CRADLE_MAY_COLLECT;
CRADLE_API void cradle_fork_parent(cradle_heap *heap);
CRADLE_API void cradle_fork_child(cradle_heap *heap);

CRADLE_END_DECLS

#endif
