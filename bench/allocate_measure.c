#include "bench/allocate_measure.h"

#include <stdio.h>
#include <string.h>

#include <cradle/roots.h>
#include <cradle/runtime.h>

#include "bench/timing.h"

#define PEER_OBJECTS_MAX 10000000u
#define EMPTY_MINORS 200
#define EMPTY_BATCHES 5
#define RUNS_BOUND 100

static const cradle_type types[] = {
    [TYPE_UNUSED] = {.name = "unused", .size = sizeof(node)}, [TYPE_NODE] = {.name = "node", .size = sizeof(node)}};

/* One variant while it is measured. */
typedef struct course {
  figure *figure;
  two_alive alive;
  counters counters;
  uint64_t objects;                    /* to be allocated in all */
  unsigned portions;                   /* number of portions */
  double ns[RUNS_BOUND][LOOP_OFFSETS]; /* an allocation, by run and offset */
} course;

typedef struct bench {
  const allocate_options *options;
  measurement *result;
  cradle_heap *heap;
  cradle_mutator *mutator;
  bare bump;
  peer peers[PEERS];
  course courses[VARIANT_NONE];
} bench;

/* --- portions --- */

/* Where portion number begins; a multiple of LOOP_RESERVED, so that reservations fill the nursery
 * as single objects do. */
static uint64_t portion_begin(const course *of, unsigned number) {
  uint64_t whole = of->objects / of->portions, rest = of->objects % of->portions;
  if (number == of->portions) return of->objects;
  return (whole * number + rest * number / of->portions) & ~(uint64_t)(LOOP_RESERVED - 1);
}

static void run_peer(bench *b, variant which, uint64_t first, uint64_t end) {
  peer_loop(&b->peers[which - VARIANT_PEER], first, end, &b->courses[which].alive, b->options->init);
}

static void last_collection(bench *b, two_alive *alive) CRADLE_MAY_COLLECT {
  cradle_push(b->mutator, alive->previous);
  cradle_push(b->mutator, alive->current);
  cradle_collect(b->mutator, CRADLE_COLLECT_MINOR);
  alive->current = cradle_pop(b->mutator);
  alive->previous = cradle_pop(b->mutator);
}

static void run_loop(bench *b, variant which, unsigned number) CRADLE_MAY_COLLECT {
  const allocate_options *options = b->options;
  course *of = &b->courses[which];
  uint64_t first = portion_begin(of, number), end = portion_begin(of, number + 1);
  unsigned offset = number % LOOP_OFFSETS;
  if (which >= VARIANT_PEER) {
    run_peer(b, which, first, end);
  } else if (which == VARIANT_BARE) {
    bare_loops[options->api][options->init][offset](&b->bump, first, end, &of->alive);
  } else {
    cradle_loops[options->api][options->init][offset](b->mutator, first, end, &of->alive);
    if (number + 1 == of->portions) last_collection(b, &of->alive);
  }
}

static void run_portion(bench *b, variant which, unsigned number) CRADLE_MAY_COLLECT {
  course *of = &b->courses[which];
  counters_start(&of->counters);
  uint64_t begin = now_ns();
  run_loop(b, which, number);
  double ns = (double)(now_ns() - begin);
  counters_stop(&of->counters);
  uint64_t count = portion_begin(of, number + 1) - portion_begin(of, number);
  of->ns[number / LOOP_OFFSETS][number % LOOP_OFFSETS] = ns / (double)count;
  of->figure->seconds += ns * 1e-9;
}

/* Cradle, bare, peers, in turns: a disturbance of the machine then hits all of them. */
static void run_all(bench *b) CRADLE_MAY_COLLECT {
  unsigned portions = b->options->runs * LOOP_OFFSETS;
  for (unsigned number = 0; number < portions; number++)
    for (variant which = VARIANT_CRADLE; which < VARIANT_NONE; which++)
      if (b->courses[which].figure->missing == NULL) run_portion(b, which, number);
}

/* --- figures --- */

static double median_of_run(const course *of, unsigned run) {
  double values[LOOP_OFFSETS];
  memcpy(values, of->ns[run], sizeof(values));
  return median_of(values, LOOP_OFFSETS);
}

static double median_at_offset(const course *of, unsigned offset, unsigned runs) {
  double values[RUNS_BOUND];
  for (unsigned run = 0; run < runs; run++) values[run] = of->ns[run][offset];
  return median_of(values, runs);
}

static void read_counters(course *of) {
  for (int i = 0; i < COUNTERS; i++) {
    counter *one = &of->counters.counter[i];
    if (counter_read(one, &of->figure->counts[i])) of->figure->counts[i] /= (double)of->objects;
    memcpy(of->figure->counter_reasons[i], one->reason, sizeof(one->reason));
  }
  counters_close(&of->counters);
}

static uint64_t mark_of(const node *alive, bool init) {
  return init ? alive->value : cradle_type_of(alive);
}

static void figure_out(course *of, unsigned runs, bool init) {
  figure *into = of->figure;
  double values[RUNS_BOUND];
  for (unsigned run = 0; run < runs; run++) values[run] = median_of_run(of, run);
  into->ns = median_of(values, runs);
  for (unsigned i = 0; i < LOOP_OFFSETS; i++) into->offset_ns[i] = median_at_offset(of, i, runs);
  into->objects = of->objects;
  into->last[0] = mark_of(of->alive.previous, init);
  into->last[1] = mark_of(of->alive.current, init);
  read_counters(of);
}

static double ratio_to_bare(const bench *b) {
  double ratios[RUNS_BOUND];
  const course *ours = &b->courses[VARIANT_CRADLE], *theirs = &b->courses[VARIANT_BARE];
  if (ours->figure->missing != NULL || theirs->figure->missing != NULL) return 0;
  for (unsigned run = 0; run < b->options->runs; run++)
    ratios[run] = median_of_run(ours, run) / median_of_run(theirs, run);
  return median_of(ratios, b->options->runs);
}

static void figure_all_out(bench *b) {
  for (variant which = VARIANT_CRADLE; which < VARIANT_NONE; which++)
    if (b->courses[which].figure->missing == NULL) figure_out(&b->courses[which], b->options->runs, b->options->init);
  b->result->ratio_to_bare = ratio_to_bare(b);
}

/* --- preparation --- */

static void set_options(const allocate_options *options, cradle_options *heap_options) {
  cradle_options_init(heap_options);
  heap_options->types = types;
  heap_options->type_count = sizeof(types) / sizeof(types[0]);
  heap_options->nursery_bytes = options->nursery_bytes;
  heap_options->hugepages_nursery = heap_options->hugepages_arenas = options->hugepages;
}

static bool wanted(const allocate_options *options, variant which) {
  if (options->only != VARIANT_NONE) return which == options->only;
  return which == VARIANT_CRADLE || options->against[which];
}

static void open_course(bench *b, variant which) {
  const allocate_options *options = b->options;
  course *of = &b->courses[which];
  bool alone = options->only != VARIANT_NONE;
  bool few = which >= VARIANT_PEER && !alone && options->loops > PEER_OBJECTS_MAX;
  of->figure = &b->result->figures[which];
  of->objects = few ? PEER_OBJECTS_MAX : options->loops;
  of->portions = options->runs * LOOP_OFFSETS;
  if (!wanted(options, which))
    of->figure->missing = "not asked for";
  else if (which >= VARIANT_PEER)
    of->figure->missing = peer_open(&b->peers[which - VARIANT_PEER], (peer_id)(which - VARIANT_PEER));
  counters_none(&of->counters, "not asked for");
  if (options->counters && of->figure->missing == NULL) counters_open(&of->counters);
}

/* The heap's real nursery size, which the environment may have changed. */
static bool open_bare(bench *b, const cradle_options *heap_options) {
  cradle_heap_statistics(b->heap, &b->result->stats, sizeof(b->result->stats));
  return bare_open(&b->bump, b->result->stats.nursery_bytes, heap_options->hugepages_nursery);
}

static bool open_heap(bench *b, cradle_error *error) CRADLE_GRANTS_COLLECTION CRADLE_UNCHECKED_COLLECTION {
  cradle_options heap_options;
  set_options(b->options, &heap_options);
  b->heap = cradle_heap_new_from_environment(&heap_options, error);
  if (b->heap == NULL) return false;
  b->mutator = cradle_mutator_new(b->heap);
  if (b->mutator != NULL && open_bare(b, &heap_options)) return true;
  snprintf(error->message, sizeof(error->message), "out of memory");
  return false;
}

static void close_heap(bench *b) CRADLE_REVOKES_COLLECTION {
  cradle_mutator_free(b->mutator);
  cradle_heap_free(b->heap);
}

/* --- empty collections --- */

static double time_empty_minors(cradle_mutator *mutator) CRADLE_MAY_COLLECT {
  double values[EMPTY_BATCHES];
  for (int batch = 0; batch < EMPTY_BATCHES; batch++) {
    uint64_t begin = now_ns();
    for (int i = 0; i < EMPTY_MINORS; i++) cradle_collect(mutator, CRADLE_COLLECT_MINOR);
    values[batch] = (double)(now_ns() - begin) / EMPTY_MINORS;
  }
  return median_of(values, EMPTY_BATCHES);
}

/* In a heap without a log, so that the log shows only the collections of the measured part. */
static double empty_minor_ns(const allocate_options *options) CRADLE_UNCHECKED_COLLECTION {
  cradle_options heap_options;
  cradle_error error;
  set_options(options, &heap_options);
  cradle_heap *heap = cradle_heap_new(&heap_options, &error);
  cradle_mutator *mutator = heap == NULL ? NULL : cradle_mutator_new(heap);
  double ns = mutator == NULL ? 0 : time_empty_minors(mutator);
  cradle_mutator_free(mutator);
  cradle_heap_free(heap);
  return ns;
}

bool allocate_measure(const allocate_options *options, measurement *result, cradle_error *error)
    CRADLE_UNCHECKED_COLLECTION {
  static bench b;
  memset(result, 0, sizeof(*result));
  b.options = options;
  b.result = result;
  if (!open_heap(&b, error)) return false;
  for (variant which = VARIANT_CRADLE; which < VARIANT_NONE; which++) open_course(&b, which);
  run_all(&b);
  cradle_heap_statistics(b.heap, &result->stats, sizeof(result->stats));
  cradle_memory_report(b.heap, &result->memory, sizeof(result->memory));
  figure_all_out(&b);
  close_heap(&b);
  if (result->figures[VARIANT_CRADLE].missing == NULL) result->empty_minor_ns = empty_minor_ns(options);
  return true;
}
