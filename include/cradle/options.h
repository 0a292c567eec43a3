/* Options: everything that a program can choose when it makes a heap. cradle_options_init sets the defaults; the
 * runtime's cradle_options_from_environment (cradle/runtime.h) overlays the CRADLE_ variables.
 *
 * Sizes are bytes. A contradiction (a minimum above the maximum, a meaningless encoding, an impossible machine) fails
 * heap creation with a message that names the field. cradle_options_check finds it without making a heap. If there is
 * less address space than the options ask for, the heap uses what there is and sends a note (cradle/event.h).
 */
#ifndef CRADLE_OPTIONS_H
#define CRADLE_OPTIONS_H

#include <cradle/event.h>
#include <cradle/object.h>
#include <cradle/profile.h>
#include <cradle/sample.h>

CRADLE_BEGIN_DECLS

/* The sizes that a nursery may have. */
#define CRADLE_NURSERY_MIN_BYTES ((size_t)4 << 10)
#define CRADLE_NURSERY_MAX_BYTES ((size_t)1 << 30)
/* The largest that is chosen where none is given. */
#define CRADLE_NURSERY_CHOSEN_MAX_BYTES ((size_t)32 << 20)

/* The address space that the old generation may have. */
#define CRADLE_RESERVE_MIN_BYTES ((size_t)16 << 20)
#define CRADLE_ADDRESS_MAX_BYTES ((size_t)8 << 40)

/* The most that the two factors of the threshold may be. */
#define CRADLE_FACTOR_MAX 1000

/* Emptied nurseries that a quarantine keeps, at most. */
#define CRADLE_QUARANTINE_MAX ((size_t)4096)
/* All the nurseries of a quarantine together. */
#define CRADLE_QUARANTINE_MAX_BYTES ((size_t)64 << 30)

/* The machine. Left out of the options, it is detected when the heap is made. */
typedef enum cradle_source {
  CRADLE_SOURCE_DEFAULT = 0, /* nobody told: the stated default */
  CRADLE_SOURCE_SYSFS,
  CRADLE_SOURCE_SYSCONF,
  CRADLE_SOURCE_SYSCTL, /* macOS */
  CRADLE_SOURCE_EMBEDDER,
  CRADLE_SOURCE_WINDOWS, /* GetLogicalProcessorInformationEx */
} cradle_source;

typedef enum cradle_thp_mode {
  CRADLE_THP_UNKNOWN = 0, /* the system does not tell */
  CRADLE_THP_ABSENT,      /* it has none, as macOS and Windows */
  CRADLE_THP_NEVER,
  CRADLE_THP_MADVISE,
  CRADLE_THP_ALWAYS,
} cradle_thp_mode;

typedef struct cradle_hardware {
  size_t page_bytes;      /* base page */
  size_t thp_page_bytes;  /* transparent huge page; 0: none */
  size_t pool_page_bytes; /* default page of the reserved pool; 0: none */
  size_t pool_pages_free; /* free pages of that pool when it was read */
  /* /sys/kernel/mm/transparent_hugepage/enabled; NEVER too when the process disabled them. FreeBSD's superpages come
   * unasked (ALWAYS) unless vm.pmap.superpages_enabled is 0 */
  cradle_thp_mode thp_mode;
  size_t l2_bytes;     /* smallest L2 over the CPUs the process may run on; default 1 MiB */
  size_t l3_bytes;     /* smallest L3 likewise; 0: unknown or none */
  size_t memory_bytes; /* physical memory, or the cgroup's limit if smaller; 0: unknown */
  size_t group_bytes;  /* the cgroup's limit of memory when it is below physical memory; 0: there is none */
  cradle_source l2_source, l3_source;
  /* CPUs that the process may use at once: its affinity, and the cgroup's share of time if that is less; 0: unknown */
  uint32_t processors;
} cradle_hardware;

typedef enum cradle_hugepages {
  CRADLE_HUGEPAGES_AUTO = 0, /* transparent huge pages by madvise, then base pages */
  CRADLE_HUGEPAGES_HUGETLB,  /* the reserved 2 MiB pool, each piece falling back to auto */
  CRADLE_HUGEPAGES_1G,       /* the reserved 1 GiB pool for the arenas, falling back to hugetlb */
  CRADLE_HUGEPAGES_OFF,      /* base pages */
  /* as HUGETLB, but heap creation fails when the pool refuses what the heap starts with */
  CRADLE_HUGEPAGES_HUGETLB_STRICT,
  CRADLE_HUGEPAGES_1G_STRICT, /* the same for 1G; what comes after creation falls back */
} cradle_hugepages;

/* What roots and slots of a given place hold. */
typedef enum cradle_kind {
  CRADLE_KIND_REFERENCE = 0, /* plain references or NULL */
  CRADLE_KIND_VALUE,         /* values in the heap's encoding */
} cradle_kind;

/* Where a stress mode collects. */
typedef enum cradle_stress {
  CRADLE_STRESS_ANYWHERE = 0, /* allocations and safepoint polls */
  CRADLE_STRESS_ALLOCATIONS,
  CRADLE_STRESS_SAFEPOINTS, /* cradle_safepoint only */
} cradle_stress;

/* Whether anything is collected. */
typedef enum cradle_gc {
  CRADLE_GC_ON = 0,
  /* Nothing is, so that nothing moves or dies, and a program runs before its roots are in. Where a collection would
   * begin, or the program asks for one, misuse is reported. Objects with a destructor are destroyed with the heap. */
  CRADLE_GC_OFF,
} cradle_gc;

/* Whether the collector may have a thread of its own, a second core that marks beside the program. */
typedef enum cradle_gc_threads {
  CRADLE_GC_THREADS_NONE = 0, /* all is done on the program's thread */
  CRADLE_GC_THREADS_ONE,      /* one, from the first marking on */
  /* one if the process may use two CPUs and the heap has grown to 8 MiB, and then from the next marking on; none under
   * stress, and none beyond one for each CPU in the process */
  CRADLE_GC_THREADS_AUTO,
} cradle_gc_threads;

/* Whether cradle_heap_new_from_environment reports faults at stale references and poison
 * (docs/debugging-a-missing-root.md). */
typedef enum cradle_fault_report {
  CRADLE_FAULTS_LEFT = 0, /* no signal handler is installed */
  CRADLE_FAULTS_REPORTED, /* one is, which passes every fault on to the one before it */
  /* and the thread that starts the heap gets a signal stack, unless it has one; its 64 KiB stay when the heap is freed
   * on another thread */
  CRADLE_FAULTS_OWN_STACK,
} cradle_fault_report;

/* Called when the embedder misused the library: message says what was done and to what. The default writes it to
 * standard error and aborts. A handler may longjmp away (the call that was refused did nothing, unless it says
 * otherwise); if it returns, the library aborts. Nothing may longjmp out of a callback of the library (of a collection,
 * a walk, a dump, an event): the heap is in the middle of its work, and every use of it is refused from then on. */
typedef void (*cradle_misuse_function)(void *data, const char *message);
/* Called when memory runs out: for an object of size bytes (SIZE_MAX: of a length whose size overflows), after a full
 * collection; or, with size 0, for what lies beside the objects, such as a pin or a type. message names the function,
 * what it asked for and what holds the memory. mutator: the heap's, or NULL when it has none. The heap is consistent,
 * so a handler may longjmp out; the call that was refused did nothing. The default writes the message and aborts; if a
 * handler returns, the library aborts too. Functions whose names begin with cradle_try_ return NULL, 0 or false and
 * call nobody. */
typedef void (*cradle_out_of_memory_function)(void *data, cradle_mutator *mutator, size_t size, const char *message);

typedef struct cradle_options {
  uint32_t version; /* CRADLE_VERSION of the embedder's headers; set by cradle_options_init */
  uint32_t size;    /* sizeof(cradle_options) of the embedder's headers; likewise */

  const cradle_type *types; /* the first type descriptors, with ids 0 .. type_count - 1 */
  size_t type_count;
  size_t type_size;         /* sizeof(cradle_type) of the embedder's headers; set by cradle_options_init */
  cradle_encoding encoding; /* of values; plain references by default */
  cradle_kind shadow_stack; /* what the words of the shadow stack are; references by default */

  cradle_gc gc;                 /* on by default */
  cradle_gc_threads gc_threads; /* none by default: a library makes no thread that nobody asked for */

  /* fixed at this size; 0: chosen from the L2 cache, and changed by what survives; with CRADLE_GC_OFF three quarters
   * of the maximum heap or, without one, of the memory */
  size_t nursery_bytes;
  bool nursery_fixed;        /* with nursery_bytes 0: the chosen size is not changed */
  size_t reserve_bytes;      /* address space for the old generation; halved while the system refuses */
  size_t shadow_stack_bytes; /* most that the shadow stack, and that of scoped roots, may grow to; 4 KiB to 8 TiB */
  /* of the old generation, for reproducible debugging: a multiple of 2 MiB (of 1 GiB with such pages), and free, or the
   * heap is refused; NULL: anywhere */
  void *base_address;

  /* a major collection is to be over when old and external bytes are this factor above what last survived; above 1, at
   * most 1000, like the next */
  double major_factor;
  /* most that the threshold may grow from one major collection to the next, a factor, unless the last one freed less
   * than an eighth, or so much survived that the next would be due at once */
  double major_growth;
  size_t major_min_bytes; /* no major collection below it; 0: 8 base nurseries */
  size_t major_max_delta; /* the threshold is at most this far above what survived; 0: an eighth of the memory */
  /* arenas, large objects, nursery and its promotion reserve together; 0: no limit, or three quarters of
   * hardware.group_bytes, because a cgroup that is full kills */
  size_t heap_max_bytes;

  /* pause target: major collections run in increments, and a nursery that was not given a size shrinks, so that pauses
   * stay below (or below twice as much where the oldest objects in the nursery die, so that a smaller one would promote
   * much more); 0: none, a major collection runs in one go */
  uint64_t pause_ns;

  cradle_hugepages hugepages_nursery;
  cradle_hugepages hugepages_arenas;

  /* a minor collection at every n-th allocation that the library can see (all are seen then, but those out of a
   * reservation), and an increment of a major one that always runs; 0: off */
  uint64_t stress_period;
  uint64_t stress_major; /* under stress, one in k collections, by chance, is full and compacting; 0: none */
  uint64_t stress_seed;  /* under stress, the distances between collections are random: 1 to 2 * stress_period - 1 */
  /* under stress, only collections with these numbers (from 1) take place; the others are counted. */
  uint64_t stress_first;
  uint64_t stress_last;    /*   0: no bound. docs/debugging-a-missing-root.md finds one failing collection with them */
  cradle_stress stress_at; /* under stress, what n counts */
  /* under stress, collections lie so many bytes apart, after the first third of a second of them, that the program
   * takes at most about so many times its own time; 2 to 1000; 0: each takes place */
  uint64_t stress_times;
  /* under stress, a heap that was used and of which nothing moved is misuse when it ends; else a note says so */
  bool stress_strict;
  /* check the whole heap before and after every collection; with stress_times, of each stress collection */
  bool verify;
  /* what minor collections emptied becomes inaccessible; memory of at least so many nurseries stays so, on base pages
   * and not counted in heap_max_bytes. So does the address space of arenas that compaction emptied, until commits have
   * gone round, and at most 16 MiB of pages of large objects that died, until the heap needs them. 0: off */
  size_t quarantine;

  cradle_fault_report fault_report; /* for cradle_heap_new_from_environment */

  const cradle_hardware *hardware; /* the machine, when it is known, all of it; NULL: detect it */
  cradle_listener listener;        /* receives the events; function NULL: nobody */
  cradle_sampler sampler;          /* receives samples of what is allocated; sampled NULL: nobody */
  /* the program's stack, for the profiler of cradle/runtime.h; frames NULL: not known */
  cradle_stack stack;

  cradle_misuse_function on_misuse;               /* NULL: the default */
  cradle_out_of_memory_function on_out_of_memory; /* NULL: the default */
  void *handler_data;                             /* first argument of both */
} cradle_options;

/* Sets every field to its default. Does not fail. Call it through the macro, which passes what the embedder
 * compiled. */
CRADLE_API void cradle_options_init_sized(cradle_options *options, uint32_t version, size_t size, size_t type_size);
#define cradle_options_init(options) \
  cradle_options_init_sized((options), CRADLE_VERSION, sizeof(cradle_options), sizeof(cradle_type))

/* Whether the options agree with each other and with this library; heap creation asks first of all. false: error,
 * unless NULL, names the field that has to change, and why; the message reads "nursery_bytes: accepted are ...". true:
 * error's message is empty, or says of an accepted field that it cannot be had in full. Does not collect. */
CRADLE_API bool cradle_options_check(const cradle_options *options, cradle_error *error);

CRADLE_END_DECLS

#endif
