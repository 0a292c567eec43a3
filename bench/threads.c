/* threads [--threads=N] [--runs=N] [--work]: what several mutators on one heap bring and cost.
 *
 * Four kinds of work, done by one thread on a heap for one mutator, by one on a shared heap, by N on one shared heap
 * and by N on a heap each; a thread always does the same amount. Then how long a stop takes while N threads allocate,
 * also beside a thousand parked mutators, and what parking costs.
 */
#include <errno.h>
#include <getopt.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cradle/cradle.h>

#include "bench/timing.h"

enum { T_UNUSED, T_NODE, T_ARRAY, T_BRANCH, T_COUNT };
enum { THREADS_MOST = 64, RUNS_MOST = 99, STOPS = 2000, PARKED = 1000, PARKS = 1000000 };
/* The amounts of one thread, each about a third of a second; bench/compare-threads has the same. */
enum { ALLOCATIONS = 200000000, TREE_DEPTH = 14, TREES = 1500, CACHE_SLOTS = 1 << 16, CACHE_STORES = 20000000 };
enum { MAP_PUTS = 1000000, MAP_LEVELS = 4, MAP_BITS = 4, MAP_WIDTH = 1 << MAP_BITS };

typedef struct node {
  uint64_t header;
  struct node *left, *right;
} node;
typedef struct array {
  uint64_t header, length;
  node *item[];
} array;
typedef struct branch {
  uint64_t header;
  void *below[MAP_WIDTH];
} branch;
static const cradle_type types[T_COUNT] = {
    [T_UNUSED] = {.name = "unused", .size = sizeof(node)},
    [T_NODE] = {.name = "node", .size = sizeof(node), .references = CRADLE_SLOT(node, left) | CRADLE_SLOT(node, right)},
    [T_ARRAY] = {.name = "array",
                 .size = sizeof(array),
                 .items = CRADLE_ITEMS_REFERENCES,
                 .item_size = 8,
                 .length_offset = offsetof(array, length)},
    [T_BRANCH] = {.name = "branch", .size = sizeof(branch), .references = ((UINT64_C(1) << MAP_WIDTH) - 1) << 1},
};

static _Noreturn void fail(const char *what) {
  fprintf(stderr, "threads: %s\n", what);
  exit(1);
}

/* Called on the thread that collected. */
static _Thread_local uint64_t last_stop_ns;
static void hear(void *data, const cradle_event *event) {
  (void)data;
  if (event->kind == CRADLE_EVENT_PAUSE) last_stop_ns = event->u.pause.stop_ns;
}

static cradle_heap *new_heap(uint64_t mutators, bool listens) {
  cradle_options options;
  cradle_error error;
  cradle_options_init(&options);
  options.types = types;
  options.type_count = T_COUNT;
  options.mutators = mutators;
  options.gc_threads = CRADLE_GC_THREADS_AUTO;
  options.shadow_stack_bytes = (size_t)1 << 20;
  if (listens) options.listener.function = hear;
  cradle_heap *heap = cradle_heap_new_from_environment(&options, &error);
  if (heap == NULL) fail(error.message);
  return heap;
}

/* --- the work --- */

static void allocate(cradle_mutator *m) CRADLE_MAY_COLLECT {
  for (uint64_t i = 0; i < ALLOCATIONS; i++) {
    node *fresh = CRADLE_NEW_UNINITIALIZED(m, node, T_NODE);
    fresh->left = fresh->right = NULL;
    __asm__ volatile("" : : "r"(fresh) : "memory"); /* the compiler must assume that the stores are read */
  }
}

static node *tree(cradle_mutator *m, int depth) CRADLE_MAY_COLLECT {
  node *left = NULL, *right = NULL;
  if (depth > 0) {
    left = tree(m, depth - 1);
    CRADLE_ROOT(m, left);
    right = tree(m, depth - 1);
    CRADLE_ROOT(m, right);
    node *fresh = CRADLE_NEW(m, node, T_NODE);
    fresh->left = left;
    fresh->right = right;
    return fresh;
  }
  return CRADLE_NEW(m, node, T_NODE);
}

/* The last tree but one lives while the next is built. */
static void trees(cradle_mutator *m) CRADLE_MAY_COLLECT {
  node *kept = NULL;
  CRADLE_ROOT(m, kept);
  for (int i = 0; i < TREES; i++) kept = tree(m, TREE_DEPTH);
}

/* Each store replaces a small list in an old array: what dies there has been promoted. */
static void cache(cradle_mutator *m) CRADLE_MAY_COLLECT {
  array *table = CRADLE_NEW_ARRAY(m, array, T_ARRAY, item, length, CACHE_SLOTS);
  CRADLE_ROOT(m, table);
  uint64_t random = 1;
  for (uint64_t i = 0; i < CACHE_STORES; i++) {
    node *fresh = CRADLE_NEW(m, node, T_NODE);
    random = random * UINT64_C(6364136223846793005) + 1442695040888963407;
    cradle_store(m, table, &table->item[(random >> 33) % CACHE_SLOTS], fresh);
  }
}

/* The map with a new value at the key: the branches on the way there are new, too. */
static branch *put(cradle_mutator *m, branch *old, uint64_t key, int level) CRADLE_MAY_COLLECT {
  unsigned at = key >> (MAP_BITS * level) & (MAP_WIDTH - 1);
  CRADLE_ROOT(m, old);
  void *below =
      level == 0 ? (void *)CRADLE_NEW(m, node, T_NODE) : put(m, old == NULL ? NULL : old->below[at], key, level - 1);
  CRADLE_ROOT(m, below);
  branch *fresh = CRADLE_NEW_UNINITIALIZED(m, branch, T_BRANCH);
  for (int i = 0; i < MAP_WIDTH; i++) fresh->below[i] = old == NULL ? NULL : old->below[i];
  fresh->below[at] = below;
  return fresh;
}

/* A persistent map of at most 65,536 keys. */
static void map(cradle_mutator *m) CRADLE_MAY_COLLECT {
  branch *now = NULL;
  CRADLE_ROOT(m, now);
  uint64_t random = 1;
  for (uint64_t i = 0; i < MAP_PUTS; i++) {
    random = random * UINT64_C(6364136223846793005) + 1442695040888963407;
    now = put(m, now, random >> 33, MAP_LEVELS - 1);
  }
}

typedef void (*work)(cradle_mutator *m);
static const struct {
  const char *name;
  work run;
} works[] = {{"allocate", allocate}, {"trees", trees}, {"cache", cache}, {"map", map}};

/* --- threads --- */

typedef struct job {
  pthread_t thread;
  cradle_heap *heap;
  work run;
  _Atomic uint64_t allocated; /* for allocate_until_over: nearly the count */
} job;

CRADLE_UNCHECKED_COLLECTION static void *do_job(void *data) {
  const job *j = data;
  cradle_mutator *m = cradle_mutator_new(j->heap);
  if (m == NULL) fail("no memory for a mutator");
  j->run(m);
  cradle_mutator_free(m);
  return NULL;
}

/* Seconds by the clock until all have done their work. heaps: 1, or one for each thread. */
static double run(work what, unsigned threads, unsigned heaps, uint64_t mutators, double *processor) {
  job jobs[THREADS_MOST];
  cradle_heap *of[THREADS_MOST];
  for (unsigned i = 0; i < heaps; i++) of[i] = new_heap(mutators, false);
  uint64_t begin = now_ns(), processor_begin = process_cpu_now_ns();
  for (unsigned i = 0; i < threads; i++) {
    jobs[i] = (job){.heap = of[i % heaps], .run = what};
    if (pthread_create(&jobs[i].thread, NULL, do_job, &jobs[i]) != 0) fail("a thread was refused");
  }
  for (unsigned i = 0; i < threads; i++) (void)pthread_join(jobs[i].thread, NULL);
  double seconds = (double)(now_ns() - begin) * 1e-9;
  *processor = (double)(process_cpu_now_ns() - processor_begin) * 1e-9;
  for (unsigned i = 0; i < heaps; i++) cradle_heap_free(of[i]);
  return seconds;
}

static void compare(unsigned threads, unsigned runs) {
  static const char *const names[] = {"heap for one", "shared, 1 thread", "shared, N threads", "N heaps"};
  enum { WAYS = sizeof names / sizeof *names };
  printf("%-10s", "");
  for (int way = 0; way < WAYS; way++) printf("  %-26s", names[way]);
  printf("  N threads / one\n");
  for (size_t w = 0; w < sizeof works / sizeof *works; w++) {
    double seconds[WAYS][RUNS_MOST], processor[WAYS][RUNS_MOST], median[WAYS];
    for (unsigned i = 0; i < runs; i++)
      for (int way = 0; way < WAYS; way++)
        seconds[way][i] = run(works[w].run, way < 2 ? 1 : threads, way < 3 ? 1 : threads,
                              way == 1 || way == 2 ? threads + 1 : 1, &processor[way][i]);
    printf("%-10s", works[w].name);
    for (int way = 0; way < WAYS; way++) {
      median[way] = median_of(seconds[way], runs);
      printf("  %6.3f s, %6.3f s of CPU   ", median[way], median_of(processor[way], runs));
    }
    printf("  %.2f (heaps %.2f)\n", threads * median[0] / median[2], threads * median[0] / median[3]);
  }
}

/* --- stops --- */

static atomic_bool over;

CRADLE_UNCHECKED_COLLECTION static void *allocate_until_over(void *data) {
  enum { OFTEN = 256 };
  job *j = data;
  cradle_mutator *m = cradle_mutator_new(j->heap);
  if (m == NULL) fail("no memory for a mutator");
  while (!atomic_load_explicit(&over, memory_order_relaxed)) {
    for (int i = 0; i < OFTEN; i++) (void)CRADLE_NEW(m, node, T_NODE);
    atomic_fetch_add_explicit(&j->allocated, OFTEN, memory_order_relaxed);
  }
  cradle_mutator_free(m);
  return NULL;
}

static void nap(void) {
  struct timespec moment = {.tv_nsec = 20000};
  (void)nanosleep(&moment, NULL);
}

/* Each stop is a collection that one more mutator asks for, when all others have allocated since the last. */
static void measure_stops(unsigned threads, unsigned parked) {
  static double ns[STOPS];
  cradle_heap *heap = new_heap(threads + parked + 1, true);
  cradle_mutator **idle = calloc(parked + 1, sizeof(cradle_mutator *));
  job jobs[THREADS_MOST];
  if (idle == NULL) fail("no memory");
  for (unsigned i = 0; i < parked; i++) {
    if ((idle[i] = cradle_mutator_new(heap)) == NULL) fail("no memory for a mutator");
    cradle_mutator_park(idle[i]);
  }
  cradle_mutator *m = cradle_mutator_new(heap);
  atomic_store(&over, false);
  for (unsigned i = 0; i < threads; i++) {
    jobs[i] = (job){.heap = heap};
    if (pthread_create(&jobs[i].thread, NULL, allocate_until_over, &jobs[i]) != 0) fail("a thread was refused");
  }
  for (int i = 0; i < STOPS; i++) {
    uint64_t seen[THREADS_MOST];
    for (unsigned j = 0; j < threads; j++) seen[j] = atomic_load(&jobs[j].allocated);
    for (unsigned j = 0; j < threads; j++)
      while (atomic_load(&jobs[j].allocated) == seen[j]) CRADLE_PARKED(m) nap();
    cradle_collect(m, CRADLE_COLLECT_MINOR);
    ns[i] = (double)last_stop_ns;
  }
  atomic_store(&over, true);
  cradle_mutator_park(m);
  for (unsigned i = 0; i < threads; i++) (void)pthread_join(jobs[i].thread, NULL);
  cradle_mutator_unpark(m);
  double median = median_of(ns, STOPS);
  printf("stops, %u threads allocate, %u parked: p50 %.1f us, p99 %.1f us, longest %.1f us\n", threads, parked,
         median / 1000, ns[STOPS * 99 / 100] / 1000, ns[STOPS - 1] / 1000);
  cradle_mutator_free(m);
  for (unsigned i = 0; i < parked; i++) {
    cradle_mutator_unpark(idle[i]);
    cradle_mutator_free(idle[i]);
  }
  free(idle);
  cradle_heap_free(heap);
}

static void measure_parking(void) {
  cradle_heap *heap = new_heap(2, false);
  cradle_mutator *m = cradle_mutator_new(heap);
  uint64_t begin = now_ns();
  for (int i = 0; i < PARKS; i++) {
    cradle_mutator_park(m);
    cradle_mutator_unpark(m);
  }
  printf("park and unpark: %.1f ns\n", (double)(now_ns() - begin) / PARKS);
  cradle_mutator_free(m);
  cradle_heap_free(heap);
}

/* --- the command line --- */

static const char usage[] = "usage: threads [--threads=N] [--runs=N] [--work], or threads --solo=N\n"
                            "\n"
                            "What several mutators on one heap bring and cost: four kinds of work on one heap and on\n"
                            "several, how long stops take, and what parking costs.\n"
                            "\n"
                            "  --threads=N   1 to 64; 2 unless told\n"
                            "  --runs=N      medians of so many runs in turns, 1 to 99; 5 unless told\n"
                            "  --work        only the kinds of work, and not stops and parking\n"
                            "  --solo=N      only each kind of work once, by one thread, on a heap for N mutators:\n"
                            "                with callgrind and N of 1 and 2, what a shared heap costs one thread\n";

static unsigned number(const char *option, const char *text, unsigned most) {
  char *end;
  errno = 0;
  unsigned long value = strtoul(text, &end, 10);
  if (errno == 0 && end != text && *end == 0 && *text != '-' && value >= 1 && value <= most) return (unsigned)value;
  fprintf(stderr, "threads: --%s: %s is not a number from 1 to %u\n", option, text, most);
  exit(2);
}

int main(int argc, char **argv) {
  static const struct option options[] = {
      {"threads", required_argument, NULL, 't'}, {"runs", required_argument, NULL, 'r'},
      {"work", no_argument, NULL, 'w'},          {"solo", required_argument, NULL, 's'},
      {"help", no_argument, NULL, 'h'},          {NULL, 0, NULL, 0}};
  unsigned threads = 2, runs = 5, solo = 0;
  bool only_work = false;
  for (int option; (option = getopt_long(argc, argv, "", options, NULL)) != -1;) {
    if (option == 't') threads = number("threads", optarg, THREADS_MOST);
    if (option == 'r') runs = number("runs", optarg, RUNS_MOST);
    if (option == 'w') only_work = true;
    if (option == 's') solo = number("solo", optarg, THREADS_MOST);
    if (option == 'h') return fputs(usage, stdout) < 0;
    if (option == '?') return 2;
  }
  if (optind < argc) {
    fputs(usage, stderr);
    return 2;
  }
  if (solo != 0) {
    double processor;
    for (size_t w = 0; w < sizeof works / sizeof *works; w++) (void)run(works[w].run, 1, 1, solo, &processor);
    return 0;
  }
  compare(threads, runs);
  if (only_work) return 0;
  measure_stops(threads, 0);
  measure_stops(threads, PARKED);
  measure_parking();
  return 0;
}
