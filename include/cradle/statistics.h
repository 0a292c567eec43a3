/* Statistics: what a heap's collector has done, what the heap holds now, and what its memory is (docs/statistics.md).
 *
 *     cradle_statistics now;
 *     cradle_heap_statistics(heap, &now, sizeof now);
 *
 * The functions here only read. They may be called in callbacks of the collector, too; in the middle of a collection
 * the answer may describe the time before or after it. None of them collects.
 */
#ifndef CRADLE_STATISTICS_H
#define CRADLE_STATISTICS_H

#include <cradle/finalizer.h>
#include <cradle/options.h>

CRADLE_BEGIN_DECLS

/* The length of the arrays by cause, which are indexed by cradle_cause; longer than needed, for later causes. */
#define CRADLE_CAUSE_LIMIT 16

/* Bytes and nanoseconds; counts since the heap was made. New fields come at the end. */
typedef struct cradle_statistics {
  uint64_t wall_ns; /* since the heap was made */

  /* --- collections --- */
  uint64_t minor_collections, major_collections;
  uint64_t major_steps, compactions;         /* increments of major collections; compacting collections */
  uint64_t minor_causes[CRADLE_CAUSE_LIMIT]; /* collections by cause */
  uint64_t major_causes[CRADLE_CAUSE_LIMIT];
  uint64_t minor_ns, major_ns, compact_ns; /* the minor collection before an increment is not counted in major_ns */
  uint64_t minor_max_ns, major_max_ns;     /* the longest minor collection, the longest increment */
  /* stops of the mutator: how many, their sum, the longest. A minor collection and what follows at once are one */
  uint64_t pauses, pause_ns, pause_max_ns;
  double gc_share;     /* pause_ns of wall_ns, 0 to 1 */
  uint64_t prepare_ns; /* preparing arenas after pauses: page faults, mostly; not part of pauses */

  /* --- objects --- */
  uint64_t allocated_bytes; /* nursery bytes handed out and large objects */
  uint64_t collected_bytes; /* filled nursery bytes that minor collections emptied */
  uint64_t promoted_objects, promoted_bytes;
  double survival;                             /* promoted_bytes of collected_bytes, 0 to 1 */
  uint64_t remembered_objects;                 /* that minor collections traced, in all */
  uint64_t recorded_slots;                     /* slots of large arrays that minor collections looked at, in all */
  uint64_t moved_objects;                      /* objects that a minor collection moved, in all */
  uint64_t moved_old_objects, moved_old_bytes; /* those that a compacting collection moved */
  uint64_t stress_number;                      /* of the last stress collection; skipped ones count, too */

  /* --- now --- */
  cradle_phase phase;                                       /* of the major collection */
  bool pages_known;                                         /* resident_bytes and huge_bytes, below, are known */
  uint64_t pinned_objects;                                  /* several pins of one object count once */
  uint64_t handles, ids;                                    /* open handles, objects with an id */
  uint64_t finalizers_waiting[CRADLE_FINALIZER_QUEUES + 1]; /* objects in each queue, by its number */
  uint64_t nursery_bytes;               /* its size; smaller than chosen if there is no room to promote all of it */
  uint64_t used_bytes, used_peak_bytes; /* old generation and the nursery's filled part; the peak at collections */
  uint64_t live_bytes, live_peak_bytes; /* what major collections left; 0 before the first */
  uint64_t old_bytes;                   /* in objects of the old generation, rounding to size classes included */
  uint64_t large_bytes;                 /* of these in large objects, as whole pages */
  uint64_t external_bytes;              /* owned outside the heap: reported, or the external_size of old objects */
  uint64_t threshold_bytes; /* old and external bytes at which the next major collection should be complete */
  uint64_t heap_max_bytes;  /* the maximum heap; from a cgroup once 1 MiB was allocated; 0: none */
  uint64_t arena_bytes;     /* the size of one arena */
  uint64_t arenas_committed, arenas_in_use, arenas_peak; /* arenas; the most committed after a pause */
  uint64_t metadata_bytes;                               /* committed for bitmaps and page tables */
  /* arenas, nursery, metadata, shadow stack and buffers, and what services, weak sets, handles, ids and pins take
   * beside the heap */
  uint64_t committed_bytes;
  /* resident bytes of the arenas, and how many of these are on huge pages, as the kernel last said. If there is a
   * listener, the kernel is asked after each major collection and before the heap is freed. cradle_memory_report asks
   * the kernel now. */
  uint64_t resident_bytes, huge_bytes;

  /* --- the collector's own threads (options.gc_threads) --- */
  uint64_t beside_objects, beside_bytes; /* traced by them, beside the program or with it in a full collection */
  uint64_t beside_ns;                    /* for which they marked, in all; not part of pauses or major_ns */
  /* pauses that had to wait for them to stop: how many, their sum, the longest; part of pauses */
  uint64_t beside_stops, beside_stop_ns, beside_stop_max_ns;
  uint64_t beside_arenas; /* arenas that the thread populated ahead of their use */
  /* minor collections in which the collector's threads helped to promote; what of promoted_objects and promoted_bytes
   * they promoted, and for how long they worked, in all */
  uint64_t helped_collections, helped_objects, helped_bytes, helped_ns;
  /* what promoting 1,000 objects takes without their help and with it, on average in the last collections that were
   * worth comparing: the shorter way is taken. 0: not measured */
  uint64_t thousand_alone_ns, thousand_helped_ns;

  /* --- several mutators (options.mutators) --- */
  /* how often all mutators were stopped, and how long it took until they stood: in all, and at most */
  uint64_t stops, stop_ns, stop_max_ns;
} cradle_statistics;
/* Fills *statistics. size: sizeof *statistics (cradle/base.h says why). */
CRADLE_API void cradle_heap_statistics(const cradle_heap *heap, cradle_statistics *statistics, size_t size);

/* What a mutator did since it was made: bytes, nanoseconds, counts. New fields come at the end. */
typedef struct cradle_mutator_figures {
  uint64_t number;          /* of the heap's mutators, from 1; its name is "mutator NUMBER" until it gets another */
  uint64_t allocated_bytes; /* nursery bytes that it got, and large objects */
  /* with several mutators: how often it stopped all others, and how long it took until they stood; how long it stood
   * itself because another had stopped it, or held what only one may hold. Time while it is parked is no part of it */
  uint64_t stops, stop_ns, waited_ns;
} cradle_mutator_figures;
/* Fills *figures. size: sizeof *figures (cradle/base.h says why). Any thread may ask until the mutator is freed. */
CRADLE_API void cradle_mutator_statistics(const cradle_mutator *mutator, cradle_mutator_figures *figures, size_t size);

/* --- what the kernel says of the heap's memory --- */

/* What backs a region, as the kernel says. */
typedef enum cradle_backing {
  CRADLE_BACKING_UNKNOWN = 0, /* the system does not say */
  CRADLE_BACKING_NOTHING,     /* nothing of it is resident */
  CRADLE_BACKING_BASE,        /* base pages only; the smaller sizes of transparent huge pages count as these */
  CRADLE_BACKING_PARTLY_HUGE,
  CRADLE_BACKING_HUGE, /* huge pages only */
} cradle_backing;

typedef struct cradle_region {
  const char *name;         /* "cradle nursery", as in /proc/PID/maps where the kernel has names for mappings */
  uintptr_t start;          /* address */
  uint64_t reserved_bytes;  /* address space */
  uint64_t committed_bytes; /* accessible */
  uint64_t pool_bytes;      /* the part of committed_bytes that is from a reserved pool of huge pages */
  cradle_hugepages asked;
  cradle_backing obtained;
  uint64_t resident_bytes, huge_bytes; /* huge_bytes <= resident_bytes; pages of a pool count in both */
} cradle_region;

typedef struct cradle_memory {
  cradle_region nursery, arenas, metadata;
  uint64_t arenas_taken, arenas_given_back; /* from and to the system, in all */
  uint64_t pool_refusals;                   /* arenas for which the pool had no page */
} cradle_memory;
/* Fills *memory: which pages were asked for each region, and what the kernel says it has. size: sizeof *memory. Takes
 * about 0.1 ms for each GiB of huge pages and 1 ms for each GiB of base pages. */
CRADLE_API void cradle_memory_report(const cradle_heap *heap, cradle_memory *memory, size_t size);

CRADLE_END_DECLS

#endif
