/* What object services cost: nanoseconds an object, for weak references, ephemerons, weak sets, finalizers and destructors, dead
 * and alive, young and old, at two sizes, since it must not grow with the number.
 *
 *   young-dead   allocated, dead at its first minor collection: both together
 *   young-alive  allocated and promoted: both together
 *   old-alive    one major collection of as many, all alive
 *   old-dead     one major collection in which all die; for finalizers, with taking them out of the queue
 *
 * Times are of the processor, so that other programs do not count. The row plain is an object of the same size without a service, and what an old object costs a major collection anyway: a
 * reference to each is kept in an array. The longest pause is that of another such collection, in increments of a millisecond.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cradle/cradle.h>

#include "bench/timing.h"

enum { RUNS_MOST = 99, QUEUE = 1 };
#define COUNT_MOST 100000000u
#define STEP_NS 1000000u

enum { T_PLAIN, T_WEAK, T_EPHEMERON, T_FINAL, T_FILE, T_ARRAY, T_COUNT };

typedef struct thing { /* every service's object has two words beside the header */
  uint64_t header;
  void *first, *second;
} thing;
typedef struct array {
  uint64_t header, length;
  void *item[];
} array;

static uint64_t destroyed;
static void destroy(void *object) {
  (void)object;
  destroyed++;
}

static const cradle_type types[T_COUNT] = {
    [T_PLAIN] = {.name = "plain", .size = sizeof(thing)},
    [T_WEAK] = {.name = "weak", .size = sizeof(thing), .weak = CRADLE_SLOT(thing, first)},
    [T_EPHEMERON] = {.name = "ephemeron", .size = sizeof(thing), .ephemerons = CRADLE_SLOT(thing, first)},
    [T_FINAL] = {.name = "final", .size = sizeof(thing), .references = CRADLE_SLOT(thing, first), .finalizer = QUEUE},
    [T_FILE] = {.name = "file", .size = sizeof(thing), .destructor = destroy},
    [T_ARRAY] = {.name = "array", .size = sizeof(array), .items = CRADLE_ITEMS_REFERENCES, .item_size = 8,
                 .length_offset = offsetof(array, length)},
};

/* --- services --- */

typedef struct bench {
  cradle_heap *heap;
  cradle_mutator *m;
  cradle_weak_set *set;
  array *keep;  /* the objects that are to live */
  thing *other; /* what weak slots and values refer to; alive */
  uint64_t count;
} bench;

typedef struct service {
  const char *name;
  /* Allocates object i; may collect. */
  thing *(*make)(bench *b, uint64_t i);
} service;

static thing *make_plain(bench *b, uint64_t i) CRADLE_MAY_COLLECT {
  (void)i;
  return cradle_new(b->m, T_PLAIN, sizeof(thing));
}
static thing *make_weak(bench *b, uint64_t i) CRADLE_MAY_COLLECT {
  (void)i;
  thing *weak = cradle_new_registered(b->m, T_WEAK, sizeof *weak);
  weak->first = b->other;
  return weak;
}
static thing *make_ephemeron(bench *b, uint64_t i) CRADLE_MAY_COLLECT {
  (void)i;
  thing *ephemeron = cradle_new_registered(b->m, T_EPHEMERON, sizeof *ephemeron);
  ephemeron->first = ephemeron->second = b->other;
  return ephemeron;
}
/* Each has the next one as its key and the one before it as its value; see link_chain. */
static thing *make_chain(bench *b, uint64_t i) CRADLE_MAY_COLLECT {
  thing *ephemeron = make_ephemeron(b, i);
  ephemeron->second = i == 0 ? NULL : b->keep->item[i - 1]; /* link_chain gives it its key */
  return ephemeron;
}
static thing *make_final(bench *b, uint64_t i) CRADLE_MAY_COLLECT {
  (void)i;
  return cradle_new_registered(b->m, T_FINAL, sizeof(thing));
}
static thing *make_file(bench *b, uint64_t i) CRADLE_MAY_COLLECT {
  (void)i;
  return cradle_new_registered(b->m, T_FILE, sizeof(thing));
}
static thing *make_interned(bench *b, uint64_t i) CRADLE_MAY_COLLECT {
  thing *object = cradle_new(b->m, T_PLAIN, sizeof *object);
  if (!cradle_weak_set_add(b->set, i * UINT64_C(0x9e3779b97f4a7c15) >> 20, object)) exit(1);
  return object;
}

static const service services[] = {
    {"plain", make_plain}, {"weak", make_weak},   {"ephemeron", make_ephemeron},   {"ephemeron-chain", make_chain},
    {"weak-set", make_interned}, {"finalizer", make_final}, {"destructor", make_file},
};
enum { SERVICES = sizeof services / sizeof *services };
enum { YOUNG_DEAD, YOUNG_ALIVE, OLD_ALIVE, OLD_DEAD, FATES };
static const char *const fate_names[FATES] = {"young-dead", "young-alive", "old-alive", "old-dead"};

/* --- a run --- */

static void fail(const char *message) {
  fprintf(stderr, "services: %s\n", message);
  exit(1);
}

static void open_bench(bench *b, uint64_t count) {
  cradle_options options;
  cradle_error error;
  cradle_options_init(&options);
  options.types = types;
  options.type_count = T_COUNT;
  options.major_min_bytes = (size_t)64 << 30; /* major collections come when they are measured */
  *b = (bench){.heap = cradle_heap_new(&options, &error), .count = count};
  if (b->heap == NULL) fail(error.message);
}

static void drain(bench *b) {
  while (cradle_finalizer_next(b->m, QUEUE) != NULL) continue;
}

static uint64_t allocate(bench *b, const service *s, bool alive) CRADLE_MAY_COLLECT {
  uint64_t begin = cpu_now_ns();
  for (uint64_t i = 0; i < b->count; i++) {
    thing *object = s->make(b, i);
    if (alive) cradle_store(b->m, b->keep, &b->keep->item[i], object);
  }
  cradle_collect_minor(b->m);
  drain(b);
  return cpu_now_ns() - begin;
}

/* Key i is ephemeron i + 1, whose value is ephemeron i: only the last is held, and the list of all goes the other way. */
static void link_chain(bench *b) CRADLE_MAY_COLLECT {
  for (uint64_t i = 0; i + 1 < b->count; i++) {
    thing *here = b->keep->item[i], *next = b->keep->item[i + 1];
    cradle_store(b->m, here, &here->first, next);
  }
}

static uint64_t collect(bench *b) CRADLE_MAY_COLLECT {
  uint64_t begin = cpu_now_ns();
  cradle_collect_major(b->m);
  drain(b);
  return cpu_now_ns() - begin;
}

static uint64_t longest_step(bench *b) CRADLE_MAY_COLLECT {
  uint64_t longest = 0;
  for (bool complete = false; !complete;) {
    uint64_t begin = cpu_now_ns();
    complete = cradle_collect_step(b->m, STEP_NS);
    uint64_t duration = cpu_now_ns() - begin;
    if (duration > longest) longest = duration;
  }
  drain(b);
  return longest;
}

typedef struct result {
  double ns[FATES];      /* an object */
  double dead_pause_ms, alive_pause_ms;
} result;

static void measure(bench *b, const service *s, result *r) CRADLE_MAY_COLLECT {
  double count = (double)b->count;
  b->keep = NULL;
  b->other = NULL;
  CRADLE_ROOT(b->m, b->keep);
  CRADLE_ROOT(b->m, b->other);
  b->set = cradle_weak_set_new(b->m, NULL, NULL);
  b->other = cradle_new(b->m, T_PLAIN, sizeof(thing));
  b->keep = cradle_new_array(b->m, T_ARRAY, b->count);
  cradle_collect_full(b->m);
  bool chain = s->make == make_chain;
  r->ns[YOUNG_DEAD] = chain ? 0 : (double)allocate(b, s, false) / count;
  r->ns[YOUNG_ALIVE] = (double)allocate(b, s, true) / count;
  if (chain) {
    link_chain(b);
    cradle_collect_minor(b->m);
  }
  r->ns[OLD_ALIVE] = (double)collect(b) / count;
  r->alive_pause_ms = (double)longest_step(b) / 1e6;
  b->keep = cradle_new_array(b->m, T_ARRAY, b->count); /* as large, so that marking it costs the same */
  cradle_collect_minor(b->m);
  r->ns[OLD_DEAD] = (double)collect(b) / count;
  (void)allocate(b, s, true);
  b->keep = NULL;
  r->dead_pause_ms = (double)longest_step(b) / 1e6;
  cradle_weak_set_free(b->set);
}

static void run(const service *s, uint64_t count, result *r) {
  bench b;
  open_bench(&b, count);
  b.m = cradle_mutator_new(b.heap);
  if (b.m == NULL) fail("no memory for a mutator");
  measure(&b, s, r);
  cradle_mutator_free(b.m);
  cradle_heap_free(b.heap);
}

/* The medians of several runs. */
static result medians(const service *s, uint64_t count, size_t runs) {
  static result all[RUNS_MOST];
  double values[RUNS_MOST];
  result r;
  for (size_t i = 0; i < runs; i++) run(s, count, &all[i]);
  for (int fate = 0; fate < FATES; fate++) {
    for (size_t i = 0; i < runs; i++) values[i] = all[i].ns[fate];
    r.ns[fate] = median_of(values, runs);
  }
  for (size_t i = 0; i < runs; i++) values[i] = all[i].alive_pause_ms;
  r.alive_pause_ms = median_of(values, runs);
  for (size_t i = 0; i < runs; i++) values[i] = all[i].dead_pause_ms;
  r.dead_pause_ms = median_of(values, runs);
  return r;
}

/* --- the report --- */

typedef struct arguments {
  uint64_t count;
  size_t runs;
  bool json;
  const char *names[SERVICES];
  size_t name_count;
} arguments;

static void print_row(const arguments *with, const service *s, uint64_t count, const result *r, bool first) {
  if (with->json) {
    printf("%s\n  {\"service\": \"%s\", \"count\": %llu", first ? "" : ",", s->name, (unsigned long long)count);
    for (int fate = 0; fate < FATES; fate++) printf(", \"%s_ns\": %.2f", fate_names[fate], r->ns[fate]);
    printf(", \"alive_pause_ms\": %.3f, \"dead_pause_ms\": %.3f}", r->alive_pause_ms, r->dead_pause_ms);
    return;
  }
  printf("%-16s %10llu", s->name, (unsigned long long)count);
  for (int fate = 0; fate < FATES; fate++) {
    if (r->ns[fate] == 0)
      printf(" %11s", "-");
    else
      printf(" %11.1f", r->ns[fate]);
  }
  printf(" %11.2f %11.2f\n", r->alive_pause_ms, r->dead_pause_ms);
}

static bool is_wanted(const arguments *with, const service *s) {
  for (size_t i = 0; i < with->name_count; i++)
    if (strcmp(with->names[i], s->name) == 0) return true;
  return with->name_count == 0;
}

static void report(const arguments *with) {
  bool first = true;
  if (with->json)
    printf("{\"version\": 1, \"runs\": %zu, \"rows\": [", with->runs);
  else
    printf("%-16s %10s %11s %11s %11s %11s %11s %11s\n%-16s %10s %47s %23s\n", "service", "objects", fate_names[0], fate_names[1],
           fate_names[2], fate_names[3], "alive", "dead", "", "", "ns an object", "longest pause, ms");
  for (size_t i = 0; i < SERVICES; i++) {
    if (!is_wanted(with, &services[i])) continue;
    for (int tenth = 1; tenth >= 0; tenth--) {
      uint64_t count = tenth ? with->count / 10 : with->count;
      result r = medians(&services[i], count, with->runs);
      print_row(with, &services[i], count, &r, first);
      first = false;
    }
  }
  if (with->json) printf("\n]}\n");
}

static void usage(FILE *out) {
  fprintf(out,
          "usage: services [SERVICE...] [--count=N] [--runs=N] [--json]\n\n"
          "Nanoseconds an object, for N (a million unless told) and a tenth as many objects.\n\n"
          "  SERVICE    plain, weak, ephemeron, ephemeron-chain, weak-set, finalizer or\n"
          "             destructor; all of them by default\n"
          "  --count=N  10 to 100000000\n"
          "  --runs=N   medians of N runs; 1 to 99, 5 by default\n"
          "  --json     one JSON object in place of the table\n");
}

static _Noreturn void refuse(const char *what, const char *accepted) {
  fprintf(stderr, "services: %s: %s\n", what, accepted);
  exit(2);
}

static uint64_t number_of(const char *argument, const char *text, uint64_t least, uint64_t most, const char *accepted) {
  char *end = NULL;
  errno = 0;
  uint64_t number = strtoull(text, &end, 10);
  if (end == text || *end != '\0' || errno != 0 || number < least || number > most || *text == '-') refuse(argument, accepted);
  return number;
}

static void read_name(arguments *with, const char *name) {
  for (size_t i = 0; i < SERVICES; i++)
    if (strcmp(name, services[i].name) == 0 && with->name_count < SERVICES) {
      with->names[with->name_count++] = services[i].name;
      return;
    }
  refuse(name, "no such service; see --help");
}

int main(int argc, char **argv) {
  arguments with = {.count = 1000000, .runs = 5};
  for (int i = 1; i < argc; i++) {
    const char *a = argv[i];
    if (strcmp(a, "--help") == 0) {
      usage(stdout);
      return 0;
    }
    if (strncmp(a, "--count=", 8) == 0)
      with.count = number_of(a, a + 8, 10, COUNT_MOST, "a count is 10 to 100000000");
    else if (strncmp(a, "--runs=", 7) == 0)
      with.runs = (size_t)number_of(a, a + 7, 1, RUNS_MOST, "runs are 1 to 99");
    else if (strcmp(a, "--json") == 0)
      with.json = true;
    else
      read_name(&with, a);
  }
  report(&with);
  return 0;
}
