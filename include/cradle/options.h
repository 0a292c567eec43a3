/* Options: everything that a program can choose when it makes a heap. cradle_options_init sets the defaults; the
 * runtime's cradle_heap_new_from_environment (cradle/runtime.h) overlays the CRADLE_ variables.
 *
 * Sizes are bytes. If options contradict each other or make no sense, heap creation fails with a message that names the
 * field. If there is less address space than the options ask for, the heap uses what there is and sends a note
 * (cradle/event.h).
 */
#ifndef CRADLE_OPTIONS_H
#define CRADLE_OPTIONS_H

#include <cradle/detail/partners.h>
#include <cradle/event.h>
#include <cradle/object.h>
#include <cradle/sample.h>

CRADLE_BEGIN_DECLS

/* The sizes that a nursery may have, and the largest that is chosen if the options give no size. */
#define CRADLE_NURSERY_MIN_BYTES ((size_t)4 << 10)
#define CRADLE_NURSERY_MAX_BYTES ((size_t)1 << 30)
#define CRADLE_NURSERY_CHOSEN_MAX_BYTES ((size_t)32 << 20)
/* The address space that the old generation may have. */
#define CRADLE_RESERVE_MIN_BYTES ((size_t)16 << 20)
#define CRADLE_ADDRESS_MAX_BYTES ((size_t)8 << 40)
/* The most that major_factor and major_growth may be. */
#define CRADLE_FACTOR_MAX 1000
/* The most emptied nurseries that a quarantine can keep, and the most bytes that all its nurseries have together. */
#define CRADLE_QUARANTINE_MAX ((size_t)4096)
#define CRADLE_QUARANTINE_MAX_BYTES ((size_t)64 << 30)

/* The machine: sizes and where they come from. It is detected when the heap is made, unless the options give it. */
typedef enum cradle_source {
  CRADLE_SOURCE_DEFAULT = 0, /* not known: the stated default */
  CRADLE_SOURCE_SYSFS,
  CRADLE_SOURCE_SYSCONF,
  CRADLE_SOURCE_SYSCTL, /* macOS */
  CRADLE_SOURCE_EMBEDDER,
  CRADLE_SOURCE_WINDOWS, /* GetLogicalProcessorInformationEx */
} cradle_source;

typedef enum cradle_thp_mode {
  CRADLE_THP_UNKNOWN = 0, /* the system does not say */
  CRADLE_THP_ABSENT,      /* the system has none, like macOS and Windows */
  CRADLE_THP_NEVER,
  CRADLE_THP_MADVISE,
  CRADLE_THP_ALWAYS,
} cradle_thp_mode;

typedef struct cradle_hardware {
  size_t page_bytes;      /* base page */
  size_t thp_page_bytes;  /* transparent huge page; 0: none */
  size_t pool_page_bytes; /* default page of the reserved pool; 0: none */
  size_t pool_pages_free; /* free pages of that pool when it was read */
  /* from /sys/kernel/mm/transparent_hugepage/enabled; NEVER also if the process disabled them. On FreeBSD superpages
   * need not be asked for (ALWAYS) unless vm.pmap.superpages_enabled is 0 */
  cradle_thp_mode thp_mode;
  size_t l2_bytes;         /* the smallest L2 of the CPUs that the process may run on; default 1 MiB */
  size_t l3_bytes;         /* the smallest L3 of these CPUs; 0: unknown or none */
  size_t memory_bytes;     /* physical memory, or the cgroup's limit if smaller; 0: unknown */
  size_t group_bytes;      /* the cgroup's memory limit if it is below physical memory; 0: there is no such limit */
  size_t group_high_bytes; /* the cgroup's soft limit (memory.high); 0: there is none below physical memory */
  cradle_source l2_source, l3_source;
  /* CPUs that the process may use at once: by its affinity, or by the cgroup's CPU quota if that is less; 0: unknown */
  uint32_t processors;
} cradle_hardware;

typedef enum cradle_hugepages {
  CRADLE_HUGEPAGES_AUTO = 0, /* transparent huge pages by madvise, then base pages */
  CRADLE_HUGEPAGES_HUGETLB,  /* the reserved 2 MiB pool, each piece falling back to auto */
  CRADLE_HUGEPAGES_OFF,      /* base pages */
  /* as HUGETLB, but heap creation fails if the pool refuses the memory that the heap starts with; memory taken later
   * falls back */
  CRADLE_HUGEPAGES_HUGETLB_STRICT,
} cradle_hugepages;

/* Where a stress mode collects. In a heap with several mutators, unparking is a safepoint poll, too. */
typedef enum cradle_stress {
  CRADLE_STRESS_ANYWHERE = 0, /* allocations and safepoint polls */
  CRADLE_STRESS_ALLOCATIONS,
  CRADLE_STRESS_SAFEPOINTS, /* cradle_safepoint only */
} cradle_stress;

/* Whether anything is collected. */
typedef enum cradle_gc {
  CRADLE_GC_ON = 0,
  /* No collection takes place, so nothing moves or dies, and a program runs before it reports its roots. Where a
   * collection would begin, or the program asks for one, misuse is reported. Destructors run when the heap is freed. */
  CRADLE_GC_OFF,
} cradle_gc;

/* Threads of the collector's own, beside the program's. While the program runs, they mark. While the program is stopped
 * for a minor collection, they help to promote, though one may mark. They are made by the first marking. */
#define CRADLE_GC_THREADS_MAX 16
/* One thread for every four CPUs that the process may use, at least one if it may use two, and at most 8. The first
 * marking that finds a heap of 8 MiB makes them. While the program runs, one of them marks for every four CPUs that are
 * left by the mutators, and at least one. No threads are made under stress, or if all heaps of the process together
 * have as many collector threads as the process has CPUs. */
#define CRADLE_GC_THREADS_AUTO (CRADLE_GC_THREADS_MAX + 1)

/* The most mutators that a heap may have. */
#define CRADLE_MUTATORS_MAX 4096

/* Called when the embedder misuses the library. message says what was done and to what. The default writes it to
 * standard error and aborts. A handler may longjmp out; the refused call did nothing, unless its documentation says
 * otherwise. If it returns, the library prints the calls that are under way and aborts. A longjmp out of a callback
 * (cradle/base.h) leaves a heap that refuses every later use. */
typedef void (*cradle_misuse_function)(void *user, const char *message);
/* Called when memory runs out: after a full collection, for an object of size bytes (SIZE_MAX: its length overflows
 * every size); or, with size 0, for something beside the objects, such as a pin or a type. message names the function,
 * what it asked for and what holds the memory. mutator: the heap's, or NULL when it has none. The heap is consistent.
 * A handler may longjmp out, or return (cradle/base.h says what the refused call does then). It may let go of what the
 * program can spare, but must not call what may collect. The default writes the message and aborts. */
typedef void (*cradle_out_of_memory_function)(void *user, cradle_mutator *mutator, size_t size, const char *message);

typedef struct cradle_options {
  uint32_t version; /* CRADLE_VERSION of the embedder's headers; set by cradle_options_init */
  uint32_t size;    /* sizeof(cradle_options) of the embedder's headers; set by cradle_options_init */

  const cradle_type *types; /* the first type descriptors, with ids 0 .. type_count - 1 */
  size_t type_count;
  size_t type_size;         /* sizeof(cradle_type) of the embedder's headers; set by cradle_options_init */
  cradle_encoding encoding; /* of values; plain references by default */
  cradle_kind shadow_stack; /* what the words of the shadow stack hold; references by default */

  cradle_gc gc; /* on by default */
  /* how many threads, 0 to CRADLE_GC_THREADS_MAX, or CRADLE_GC_THREADS_AUTO; 0 by default: a library starts no thread
   * that nobody asked for */
  uint32_t gc_threads;
  /* how many mutators the heap may have at a time, 1 to CRADLE_MUTATORS_MAX; 1 by default. With more than one the heap
   * is shared by as many threads (docs/threads.md) */
  uint64_t mutators;
  /* with several mutators: when a collection has waited this long for a mutator that neither allocates nor polls nor
   * parks, a note names it, its thread, and what the thread does; then each time after twice as long. 1 s by default;
   * 0: never */
  uint64_t stop_report_ns;

  /* the nursery's fixed size; 0: the size is chosen from the L2 cache, and changes with how much survives (with
   * CRADLE_GC_OFF: three quarters of the maximum heap or, without a maximum, of the memory) */
  size_t nursery_bytes;
  bool nursery_fixed; /* with nursery_bytes 0: the chosen size does not change */
  /* address space for the old generation, which costs no memory; 16 MiB to 8 TiB. 0: room for the machine's memory, at
   * least 64 GiB, and less in later heaps of a process that has more than 128. If the process has a limit on its
   * address space, or the system refuses, the heap takes a share of what is left */
  size_t reserve_bytes;
  /* how far the shadow stack and the stack of scoped roots may each grow; 64 MiB by default. 4 KiB to 8 TiB, or a share
   * of what is left, as above */
  size_t shadow_stack_bytes;
  /* where the old generation begins, for reproducible debugging. Heap creation fails unless it is a multiple of 2 MiB
   * and the addresses are free. NULL: anywhere */
  void *base_address;

  /* a major collection should be complete when old and external bytes reach the threshold: this factor times the bytes
   * that survived the last major collection; above 1, at most 1000 */
  double major_factor;
  /* the threshold grows at most by this factor from one major collection to the next, unless the last one freed less
   * than an eighth, or the next one would begin immediately; above 1, at most 1000 */
  double major_growth;
  size_t major_min_bytes; /* the threshold is at least this; 0: 8 base nurseries */
  size_t major_max_delta; /* the threshold is at most this far above what survived; 0: an eighth of the memory */
  /* a major collection also begins when the last one is older than this, so that the memory of a spike goes back; the
   * age is looked at when the nursery is full (docs/tuning.md). 10 s by default, longer while little is freed. 0: never
   * by age */
  uint64_t major_age_ns;
  /* the maximum heap: arenas, large objects, the nursery and its promotion reserve together. 0: three quarters of
   * hardware.group_bytes, because a full cgroup kills its processes; without such a cgroup, no maximum */
  size_t heap_max_bytes;

  /* pause target, at most 1 s: major collections run in increments, and a nursery without a fixed size shrinks, so that
   * pauses stay below the target. If shorter minor collections would cost much more, because they promote many objects
   * that soon die, they may take up to three times the target. 0: no target, a major collection runs in one go, and the
   * nursery may grow to 128 MiB (docs/tuning.md) */
  uint64_t pause_ns;

  cradle_hugepages hugepages_nursery;
  cradle_hugepages hugepages_arenas;

  /* stress: every n-th allocation does a minor collection and an increment of a major collection, which begins if none
   * runs. All allocations count, except those out of a reservation. 0: off */
  uint64_t stress_period;
  uint64_t stress_major; /* under stress, one in k collections, at random, is full and compacting; 0: none */
  uint64_t stress_seed;  /* under stress, the distances between collections are random: 1 to 2 * stress_period - 1 */
  /* under stress, only collections with these numbers (from 1) take place; the others are only counted. */
  uint64_t stress_first;
  uint64_t stress_last;    /*   0: no bound. docs/debugging-a-missing-root.md finds one failing collection with them */
  cradle_stress stress_at; /* under stress, what stress_period counts */
  /* under stress, collections are spaced so that the program takes at most about this many times its own processor
   * time, and 5 ms; those at places that were seldom tried come first; 2 to 1000; 0: each takes place */
  uint64_t stress_times;
  /* under stress, freeing a heap that was used but in which no object moved is misuse; without this, a note says so */
  bool stress_strict;
  /* with several mutators: the seed of an order in which one runs at a time, so that a run can be repeated, with stress
   * or without (docs/threads.md); 0: threads run as the machine lets them */
  uint64_t stress_turns;
  /* check the whole heap before and after every collection; with stress_times, of stress collections only, for about a
   * quarter of their time */
  bool verify;
  /* quarantine: memory that a collection emptied becomes inaccessible. At least this many nurseries, those emptied
   * last, stay inaccessible; they take base pages and do not count in heap_max_bytes. Arenas that a compacting
   * collection emptied stay inaccessible until 256 other arenas were used, and the last 16 MiB of dead large objects
   * until the heap needs the memory. 0: off */
  size_t quarantine;

  /* cradle_heap_new_from_environment installs a signal handler that reports faults at stale references and poison, and
   * passes every fault on (docs/fault-reports.md) */
  bool fault_report;

  const struct cradle_image *image; /* the heap begins with the objects of this image (cradle/image.h); NULL: empty */

  const cradle_hardware *hardware; /* the machine, if the program knows it, with all its fields; NULL: detect it */
  cradle_listener listener;        /* receives the events; function NULL: nobody does */
  /* with a listener: major collections count live objects by type, and this many types, the largest, have an event each
   * (CRADLE_EVENT_TYPES); at most 1000. 0: nothing is counted */
  uint64_t report_types;
  cradle_sampler sampler; /* receives samples of what is allocated; sampled NULL: nobody does */
  /* the program's stack, for the profiler of cradle/runtime.h; frames NULL: not known */
  cradle_stack stack;

  cradle_misuse_function on_misuse;               /* NULL: the default */
  cradle_out_of_memory_function on_out_of_memory; /* NULL: the default */
  /* the program's own pointer, such as its VM: the first argument of both handlers and of the callbacks of types */
  void *user;
} cradle_options;

/* Sets every field to its default, and passes the version and the sizes that the embedder was compiled with. Does not
 * fail. */
#define cradle_options_init(options) \
  cradle_options_init_sized((options), CRADLE_VERSION, sizeof(cradle_options), sizeof(cradle_type))

CRADLE_END_DECLS

#endif
