/* The workload suite: programs with survivors, each run on a Cradle heap and, interleaved with it, with memory by hand:
 * on a C arena that bumps and frees everything at once (the physical limit) and, when asked for, on malloc or mimalloc.
 *
 *   [workloads.1] All variants of a workload do the same work and return the same checksum; the driver compares them,
 *                 and the runs of one variant with each other.
 *   [workloads.2] Each run is a process of its own, made by fork: its peak resident memory is its own, and nothing that
 *                 one run leaves behind helps or hurts the next.
 *   [workloads.3] A run makes its own heap or arena and frees it. That is timed, unless the workload narrows the timed
 *                 part with workload_timed_begin and workload_timed_end.
 *   [workloads.4] A workload that finds its own data damaged calls workload_wrong. So a single run is checked
 *                 even without others to compare with.
 */
#ifndef BENCH_WORKLOADS_H
#define BENCH_WORKLOADS_H

#include <cradle/cradle.h>

#include "bench/histogram.h"
#include "bench/manual.h"

/* What the command line can set. 0 in a workload's own parameters: the workload does not take that parameter. */
typedef struct workload_parameters {
  uint64_t size;    /* how much work; each workload says in what */
  uint64_t slots;   /* slots of its array */
  uint64_t live;    /* how much lives */
  uint64_t seconds; /* how long it runs */
  uint64_t runs;    /* how often it is measured */
} workload_parameters;

/* A figure of a workload's own, printed under its name. */
typedef struct workload_figure {
  const char *name; /* a static string; its last part is the unit */
  double value;
} workload_figure;
#define WORKLOAD_FIGURES_MAX 12

typedef struct workload_run {
  size_t nursery_bytes; /* 0: the library's choice */
  workload_parameters with;
  /* What a run reports. */
  uint64_t checksum;
  uint64_t begin_ns, end_ns;               /* of the timed part */
  uint64_t cpu_begin_ns, cpu_end_ns;       /* of the timed part, as processor time of all threads */
  uint64_t thread_begin_ns, thread_end_ns; /* the same of the program's thread alone */
  /* bytes of the objects that the program holds at its fullest, headers included */
  uint64_t live_bytes;
  uint64_t resident_bytes; /* at the end of the timed part */
  cradle_statistics stats; /* of a Cradle variant, at its end */
  histogram pauses;        /* of a Cradle variant, in the timed part */
  histogram *cpu_pauses;   /* NULL, or where pauses are recorded as this thread's processor time, too */
  uint64_t pause_cpu_begin_ns;
  bool in_pause;
  bool pauses_done; /* later pauses are not recorded */
  workload_figure figures[WORKLOAD_FIGURES_MAX];
  unsigned figure_count;
} workload_run;

typedef struct workload {
  const char *name, *help; /* the help says what SIZE and the options count */
  uint64_t (*cradle)(workload_run *run);
  uint64_t (*by_hand)(workload_run *run, manual *memory); /* NULL: no variant by hand */
  bool on_arena;                                          /* by_hand may run on an arena, which frees nothing alone */
  bool on_fresh_arena;                                    /* and on one that never reuses dropped memory */
  workload_parameters usual, small;                       /* small: the tests' */
  uint64_t size_least, size_most;                         /* 0: any */
} workload;

/* One type table for all workloads. Immediates have bit 0 set in the heap's encoding of values. */
enum {
  TYPE_CELL,
  TYPE_TREE,
  TYPE_QUAD,
  TYPE_TUPLE,
  TYPE_ARRAY,
  TYPE_BYTES,
  TYPE_GCBENCH,
  TYPE_ENTRY,
  TYPE_ELEMENT,
  TYPE_BINDING,
  TYPE_PAIRS,
  TYPE_WIDE,
  TYPE_CACHED,
  TYPE_MAP_NODE,
  TYPE_JSON_NUMBER,
  TYPE_JSON_ARRAY,
  TYPE_JSON_OBJECT,
  TYPE_SYMBOL,
  TYPE_DECLARED,
  TYPE_SCOPE,
  TYPE_INSTANCE,
  TYPE_FIELDS,
  TYPE_COUNT
};
enum { WIDE_CHILDREN = 7, QUAD_CHILDREN = 4 };
typedef struct cell {
  uint64_t header;
  struct cell *next;
  uint64_t number;
} cell;
typedef struct tree {
  uint64_t header;
  struct tree *left, *right;
} tree;
typedef struct quad {
  uint64_t header;
  struct quad *children[QUAD_CHILDREN];
} quad;
typedef struct tuple {
  uint64_t header;
  uint64_t items[3]; /* values */
} tuple;
typedef struct array {
  uint64_t header, length;
  void *slots[];
} array;
typedef struct bytes {
  uint64_t header, length;
  unsigned char data[];
} bytes;
typedef struct gcbench_node {
  uint64_t header;
  struct gcbench_node *left, *right;
  uint32_t i, j;
} gcbench_node;
typedef struct entry {
  uint64_t header;
  struct entry *newer, *older, *chain; /* the order of use; the hash chain */
  bytes *payload;
  uint64_t key;
} entry;
typedef struct binding {
  uint64_t header;
  cell *key;
  struct binding *chain;
  uint64_t value;
} binding;
typedef struct wide {
  uint64_t header;
  struct wide *children[WIDE_CHILDREN];
} wide;
typedef struct pair {
  void *key, *value; /* weak; alive while the key is */
} pair;
typedef struct pairs {
  uint64_t header, length;
  pair items[];
} pairs;
typedef struct element {
  uint64_t header;
  struct element *left, *right;
  bytes *payload;
  uint64_t number;
} element;

extern const workload workload_binary_trees, workload_quads, workload_gcbench, workload_tuples;
extern const workload workload_store;
extern const workload workload_promote, workload_list, workload_list_sort, workload_queue, workload_hash_table;
extern const workload workload_medium, workload_cache, workload_fragment, workload_pause, workload_soak;
extern const workload workload_walk, workload_table_walk;
extern const workload workload_string_cache, workload_tree_map, workload_json, workload_symbols;

/* Starts a heap for a workload, or ends the program with a message. */
cradle_heap *workload_start(workload_run *run);
/* Takes the statistics and frees mutator and heap. */
void workload_end(workload_run *run, cradle_heap *heap, cradle_mutator *mutator) CRADLE_REVOKES_COLLECTION;

/* The time between the two calls is measured, and the pauses in it are recorded. */
void workload_timed_begin(workload_run *run);
void workload_timed_end(workload_run *run);
void workload_figure_add(workload_run *run, const char *name, double value);
/* Ends the program: the data is not what was stored. */
void workload_wrong(const char *what) __attribute__((noreturn, cold));
uint64_t workload_resident_bytes(void);
/* What a full collection leaves, rounding to size classes included. Not in the timed part. */
uint64_t workload_measure_live(cradle_heap *heap, cradle_mutator *mutator) CRADLE_MAY_COLLECT;

array *array_new(cradle_mutator *m, uint64_t length) CRADLE_MAY_COLLECT;
/* A list of so many cells, numbered from its end. */
cell *cells_new(cradle_mutator *m, uint64_t count) CRADLE_MAY_COLLECT;
uint64_t cells_sum(const cell *list);
/* Zeroed, with its length stored. */
array *array_by_hand(manual *memory, uint64_t length);
bytes *bytes_by_hand(manual *memory, uint64_t length);

/* Numbers that look random and are the same in each run: wyrand, whose steps wait for one addition only, so that it
 * costs a loop little. */
typedef struct randomizer {
  uint64_t state;
} randomizer;
#define RANDOMIZER_SEED ((randomizer){UINT64_C(0x9E3779B97F4A7C15)})
__extension__ typedef unsigned __int128 random_product;
static inline uint64_t random_next(randomizer *r) {
  r->state += UINT64_C(0xA0761D6478BD642F);
  random_product product = (random_product)r->state * (r->state ^ UINT64_C(0xE7037ED1A0B428DB));
  return (uint64_t)(product >> 64) ^ (uint64_t)product;
}
/* A random number below the bound, which is below 2^32. */
static inline uint64_t random_below(randomizer *r, uint64_t bound) {
  return ((random_next(r) >> 32) * bound) >> 32;
}
/* Between least and most, small sizes as likely as large ones in each octave. */
uint64_t random_size(randomizer *r, uint64_t least, uint64_t most);

#endif
