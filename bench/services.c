/* What object services cost: nanoseconds an object, for weak references, ephemerons, weak sets, finalizers and
 * destructors, dead and alive, young and old, at two sizes, since it must not grow with the number.
 *
 *   young-dead   allocated, dead at its first minor collection: both together
 *   young-alive  allocated and promoted: both together
 *   old-alive    one major collection of as many, all alive
 *   old-dead     one major collection in which all die; for finalizers, with taking them out of the queue
 *
 * Each column prints two numbers: the time itself, and the difference to an object of the same size without a service,
 * measured right before in the same run. Both include what any old object costs a major collection, and the array that
 * keeps the live ones. Times are processor time, so that other programs do not count.
 *
 * The longest pauses, in milliseconds, are those of minor collections of the first two columns, and of one more major
 * collection of each sort, in increments of a millisecond. Of the chains each object leads to the one before it, the
 * key of an ephemeron to the value of the next: the worst order there is.
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
static void destroy(void *user, void *object) {
  (void)user;
  (void)object;
  destroyed++;
}

static const cradle_type types[T_COUNT] = {
    [T_PLAIN] = {.name = "plain", .size = sizeof(thing)},
    [T_WEAK] = {.name = "weak", .size = sizeof(thing), .weak = CRADLE_SLOT(thing, first)},
    [T_EPHEMERON] = {.name = "ephemeron", .size = sizeof(thing), .ephemerons = CRADLE_SLOT(thing, first)},
    [T_FINAL] = {.name = "final", .size = sizeof(thing), .references = CRADLE_SLOT(thing, first), .finalizer = QUEUE},
    [T_FILE] = {.name = "file", .size = sizeof(thing), .destructor = destroy},
    [T_ARRAY] = {.name = "array",
                 .size = sizeof(array),
                 .items = CRADLE_ITEMS_REFERENCES,
                 .item_size = 8,
                 .length_offset = offsetof(array, length)},
};

/* --- services --- */

typedef struct bench {
  cradle_heap *heap;
  cradle_mutator *m;
  cradle_weak_set *set;
  array *keep;  /* the objects that are to live */
  thing *other; /* the live object that weak slots and values refer to */
  uint64_t count;
} bench;

typedef struct service {
  const char *name;
  /* Allocates object i; may collect. */
  thing *(*make)(bench *b, uint64_t i);
  bool is_chain; /* object i - 1 must live while i is made */
} service;

static thing *make_plain(bench *b, uint64_t i) CRADLE_MAY_COLLECT {
  (void)i;
  return CRADLE_NEW(b->m, thing, T_PLAIN);
}
static thing *make_weak(bench *b, uint64_t i) CRADLE_MAY_COLLECT {
  (void)i;
  thing *weak = CRADLE_NEW_WITH(b->m, thing, T_WEAK, 0);
  weak->first = b->other;
  return weak;
}
static thing *make_ephemeron(bench *b, uint64_t i) CRADLE_MAY_COLLECT {
  (void)i;
  thing *ephemeron = CRADLE_NEW_WITH(b->m, thing, T_EPHEMERON, 0);
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
  return CRADLE_NEW_WITH(b->m, thing, T_FINAL, 0);
}
static thing *make_final_chain(bench *b, uint64_t i) CRADLE_MAY_COLLECT {
  thing *final = make_final(b, i);
  final->first = i == 0 ? NULL : b->keep->item[i - 1];
  return final;
}
/* The order of objects that lead to leaves only needs no search. */
static thing *make_final_leaf(bench *b, uint64_t i) CRADLE_MAY_COLLECT {
  thing *final = make_final(b, i);
  CRADLE_ROOT(b->m, final);
  thing *leaf = CRADLE_NEW(b->m, thing, T_PLAIN);
  cradle_store(b->m, final, &final->first, leaf);
  return final;
}
static thing *make_file(bench *b, uint64_t i) CRADLE_MAY_COLLECT {
  (void)i;
  return CRADLE_NEW_WITH(b->m, thing, T_FILE, 0);
}
static thing *make_interned(bench *b, uint64_t i) CRADLE_MAY_COLLECT {
  thing *object = CRADLE_NEW(b->m, thing, T_PLAIN);
  cradle_weak_set_add(b->set, i * UINT64_C(0x9e3779b97f4a7c15) >> 20, object);
  return object;
}

static const service services[] = {
    {"plain", make_plain, false},
    {"weak", make_weak, false},
    {"ephemeron", make_ephemeron, false},
    {"ephemeron-chain", make_chain, true},
    {"weak-set", make_interned, false},
    {"finalizer", make_final, false},
    {"finalizer-leaf", make_final_leaf, false},
    {"finalizer-chain", make_final_chain, true},
    {"destructor", make_file, false},
};
enum { SERVICES = sizeof services / sizeof *services };
enum { YOUNG_DEAD, YOUNG_ALIVE, OLD_ALIVE, OLD_DEAD, FATES };
static const char *const fate_names[FATES] = {"young-dead", "young-alive", "old-alive", "old-dead"};

enum { PAUSE_MINOR, PAUSE_ALIVE, PAUSE_DEAD, PAUSES };
static const char *const pause_names[PAUSES] = {"minor", "alive", "dead"};

/* --- a run --- */

/* Processor time of the minor collections so far. */
typedef struct minor_clock {
  uint64_t begin, longest;
} minor_clock;
static minor_clock minors;

static void listen(void *data, const cradle_event *event) {
  minor_clock *clock = data;
  if (event->kind == CRADLE_EVENT_MINOR_BEGIN) clock->begin = cpu_now_ns();
  if (event->kind != CRADLE_EVENT_MINOR_END) return;
  uint64_t duration = cpu_now_ns() - clock->begin;
  if (duration > clock->longest) clock->longest = duration;
}

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
  minors = (minor_clock){0};
  options.listener = (cradle_listener){listen, &minors};
  options.major_min_bytes = (size_t)64 << 30; /* no major collections except the measured ones */
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
  cradle_collect(b->m, CRADLE_COLLECT_MINOR);
  drain(b);
  return cpu_now_ns() - begin;
}

/* Key i is ephemeron i + 1, whose value is ephemeron i: only the last is held, and the list of all goes the other
 * way. */
static void link_chain(bench *b) CRADLE_MAY_COLLECT {
  for (uint64_t i = 0; i + 1 < b->count; i++) {
    thing *here = b->keep->item[i], *next = b->keep->item[i + 1];
    cradle_store(b->m, here, &here->first, next);
  }
}

static uint64_t collect(bench *b) CRADLE_MAY_COLLECT {
  uint64_t begin = cpu_now_ns();
  cradle_collect(b->m, CRADLE_COLLECT_MAJOR);
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
  double ns[FATES];   /* an object */
  double more[FATES]; /* than a plain one */
  double pause_ms[PAUSES];
} result;

static void measure(bench *b, const service *s, result *r) CRADLE_MAY_COLLECT {
  double count = (double)b->count;
  b->keep = NULL;
  b->other = NULL;
  CRADLE_ROOT(b->m, b->keep);
  CRADLE_ROOT(b->m, b->other);
  b->set = cradle_weak_set_new(b->m, NULL, NULL);
  b->other = CRADLE_NEW(b->m, thing, T_PLAIN);
  b->keep = CRADLE_NEW_ARRAY(b->m, array, T_ARRAY, item, length, b->count);
  cradle_collect(b->m, CRADLE_COLLECT_FULL);
  if (!s->is_chain) (void)allocate(b, s, false); /* untimed: the first call touches fresh pages */
  r->ns[YOUNG_DEAD] = s->is_chain ? 0 : (double)allocate(b, s, false) / count;
  r->ns[YOUNG_ALIVE] = (double)allocate(b, s, true) / count;
  if (s->make == make_chain) {
    link_chain(b);
    cradle_collect(b->m, CRADLE_COLLECT_MINOR);
  }
  r->pause_ms[PAUSE_MINOR] = (double)minors.longest / 1e6;
  r->ns[OLD_ALIVE] = (double)collect(b) / count;
  r->pause_ms[PAUSE_ALIVE] = (double)longest_step(b) / 1e6;
  b->keep =
      CRADLE_NEW_ARRAY(b->m, array, T_ARRAY, item, length, b->count); /* as long, so that marking costs the same */
  cradle_collect(b->m, CRADLE_COLLECT_MINOR);
  r->ns[OLD_DEAD] = (double)collect(b) / count;
  (void)allocate(b, s, true);
  b->keep = NULL;
  r->pause_ms[PAUSE_DEAD] = (double)longest_step(b) / 1e6;
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

/* The median of one figure over all runs; offset: the figure's place in a result, in bytes. */
static double median_at(const result *all, size_t runs, size_t offset) {
  double values[RUNS_MOST];
  for (size_t i = 0; i < runs; i++) memcpy(&values[i], (const char *)&all[i] + offset, sizeof values[i]);
  return median_of(values, runs);
}

/* The medians of several runs. */
static result medians(const service *s, uint64_t count, size_t runs) {
  static result all[RUNS_MOST];
  result plain, r;
  for (size_t i = 0; i < runs; i++) {
    run(&services[0], count, &plain);
    run(s, count, &all[i]);
    for (int fate = 0; fate < FATES; fate++) all[i].more[fate] = all[i].ns[fate] - plain.ns[fate];
  }
  for (int fate = 0; fate < FATES; fate++) {
    r.ns[fate] = median_at(all, runs, offsetof(result, ns) + (size_t)fate * sizeof(double));
    r.more[fate] = median_at(all, runs, offsetof(result, more) + (size_t)fate * sizeof(double));
  }
  for (int pause = 0; pause < PAUSES; pause++)
    r.pause_ms[pause] = median_at(all, runs, offsetof(result, pause_ms) + (size_t)pause * sizeof(double));
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

static void print_json_row(const service *s, uint64_t count, const result *r) {
  printf("  {\"service\": \"%s\", \"count\": %llu", s->name, (unsigned long long)count);
  for (int fate = 0; fate < FATES; fate++)
    printf(", \"%s_ns\": %.2f, \"%s_more_ns\": %.2f", fate_names[fate], r->ns[fate], fate_names[fate], r->more[fate]);
  for (int pause = 0; pause < PAUSES; pause++)
    printf(", \"%s_pause_ms\": %.3f", pause_names[pause], r->pause_ms[pause]);
  printf("}");
}

static void print_row(const service *s, uint64_t count, const result *r) {
  printf("%-16s %8llu", s->name, (unsigned long long)count);
  for (int fate = 0; fate < FATES; fate++) {
    if (r->ns[fate] == 0)
      printf(" %14s", "-");
    else
      printf(" %7.1f %+6.1f", r->ns[fate], r->more[fate]);
  }
  for (int pause = 0; pause < PAUSES; pause++) printf(" %6.2f", r->pause_ms[pause]);
  printf("\n");
}

static void print_heading(void) {
  printf("%-16s %8s", "service", "objects");
  for (int fate = 0; fate < FATES; fate++) printf(" %14s", fate_names[fate]);
  for (int pause = 0; pause < PAUSES; pause++) printf(" %6s", pause_names[pause]);
  printf("\n%25s%60s%21s\n", "", "ns an object, and more than plain", "longest pause, ms");
}

static bool is_wanted(const arguments *with, const service *s) {
  for (size_t i = 0; i < with->name_count; i++)
    if (strcmp(with->names[i], s->name) == 0) return true;
  return with->name_count == 0;
}

static void report(const arguments *with) {
  const char *separator = "\n";
  if (with->json)
    printf("{\"version\": 2, \"runs\": %zu, \"rows\": [", with->runs);
  else
    print_heading();
  for (size_t i = 0; i < SERVICES; i++) {
    if (!is_wanted(with, &services[i])) continue;
    for (int tenth = 1; tenth >= 0; tenth--) {
      uint64_t count = tenth ? with->count / 10 : with->count;
      result r = medians(&services[i], count, with->runs);
      if (with->json) {
        fputs(separator, stdout);
        separator = ",\n";
        print_json_row(&services[i], count, &r);
      } else {
        print_row(&services[i], count, &r);
      }
      fflush(stdout);
    }
  }
  if (with->json) printf("\n]}\n");
}

static void usage(FILE *out) {
  fprintf(out, "usage: services [SERVICE...] [--count=N] [--runs=N] [--json]\n\n"
               "Nanoseconds an object, for N (a million unless told) and a tenth as many objects,\n"
               "and how many more than for an object without a service.\n\n"
               "  SERVICE    plain, weak, ephemeron, ephemeron-chain, weak-set, finalizer,\n"
               "             finalizer-leaf, finalizer-chain or destructor; all of them by default\n"
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
  if (end == text || *end != '\0' || errno != 0 || number < least || number > most || *text == '-')
    refuse(argument, accepted);
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
