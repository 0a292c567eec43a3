/* What the workloads share: the heap and its types, the clock, the pauses, and arrays. */
#include "bench/workloads.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench/everyday.h"
#include "bench/timing.h"

#define VALUES_OF_TUPLE (UINT64_C(7) << (offsetof(tuple, items) / 8))
#define CHILDREN_OF_QUAD (((UINT64_C(1) << QUAD_CHILDREN) - 1) << (offsetof(quad, children) / 8))
#define CHILDREN_OF_WIDE (((UINT64_C(1) << WIDE_CHILDREN) - 1) << (offsetof(wide, children) / 8))
static const cradle_type types[TYPE_COUNT] = {
    [TYPE_CELL] = {.name = "cell", .size = sizeof(cell), .references = CRADLE_SLOT(cell, next)},
    [TYPE_TREE] = {.name = "tree",
                   .size = sizeof(tree),
                   .references = CRADLE_SLOT(tree, left) | CRADLE_SLOT(tree, right)},
    [TYPE_QUAD] = {.name = "quad", .size = sizeof(quad), .references = CHILDREN_OF_QUAD},
    [TYPE_TUPLE] = {.name = "tuple", .size = sizeof(tuple), .values = VALUES_OF_TUPLE},
    [TYPE_ARRAY] = {.name = "array",
                    .size = sizeof(array),
                    .items = CRADLE_ITEMS_REFERENCES,
                    .item_size = 8,
                    .length_offset = offsetof(array, length)},
    [TYPE_BYTES] = {.name = "bytes",
                    .size = sizeof(bytes),
                    .items = CRADLE_ITEMS_BYTES,
                    .item_size = 1,
                    .length_offset = offsetof(bytes, length)},
    [TYPE_GCBENCH] = {.name = "gcbench",
                      .size = sizeof(gcbench_node),
                      .references = CRADLE_SLOT(gcbench_node, left) | CRADLE_SLOT(gcbench_node, right)},
    [TYPE_ENTRY] = {.name = "entry",
                    .size = sizeof(entry),
                    .references = CRADLE_SLOT(entry, newer) | CRADLE_SLOT(entry, older) | CRADLE_SLOT(entry, chain) |
                                  CRADLE_SLOT(entry, payload)},
    [TYPE_ELEMENT] = {.name = "element",
                      .size = sizeof(element),
                      .references =
                          CRADLE_SLOT(element, left) | CRADLE_SLOT(element, right) | CRADLE_SLOT(element, payload)},
    [TYPE_BINDING] = {.name = "binding",
                      .size = sizeof(binding),
                      .references = CRADLE_SLOT(binding, key) | CRADLE_SLOT(binding, chain)},
    [TYPE_PAIRS] = {.name = "pairs",
                    .size = sizeof(pairs),
                    .items = CRADLE_ITEMS_EPHEMERONS,
                    .item_size = sizeof(pair),
                    .length_offset = offsetof(pairs, length)},
    [TYPE_WIDE] = {.name = "wide", .size = sizeof(wide), .references = CHILDREN_OF_WIDE},
    [TYPE_CACHED] = {.name = "cached",
                     .size = sizeof(cached),
                     .references = CRADLE_SLOT(cached, chain) | CRADLE_SLOT(cached, newer) |
                                   CRADLE_SLOT(cached, older) | CRADLE_SLOT(cached, key) | CRADLE_SLOT(cached, value)},
    [TYPE_MAP_NODE] = {.name = "map node",
                       .size = sizeof(map_node),
                       .references = CRADLE_SLOT(map_node, left) | CRADLE_SLOT(map_node, right)},
    [TYPE_JSON_NUMBER] = {.name = "JSON number", .size = sizeof(json_number)},
    [TYPE_JSON_ARRAY] = {.name = "JSON array",
                         .size = sizeof(json_array),
                         .items = CRADLE_ITEMS_VALUES,
                         .item_size = sizeof(cradle_value),
                         .length_offset = offsetof(json_array, length)},
    [TYPE_JSON_OBJECT] = {.name = "JSON object",
                          .size = sizeof(json_object),
                          .items = CRADLE_ITEMS_STRUCTURES,
                          .item_size = sizeof(json_member),
                          .length_offset = offsetof(json_object, length),
                          .item_references = CRADLE_SLOT(json_member, key),
                          .item_values = CRADLE_SLOT(json_member, value)},
    [TYPE_SYMBOL] = {.name = "symbol",
                     .size = offsetof(symbol, name),
                     .references = CRADLE_SLOT(symbol, chain) | CRADLE_SLOT(symbol, declared),
                     .items = CRADLE_ITEMS_BYTES,
                     .item_size = 1,
                     .length_offset = offsetof(symbol, length)},
    [TYPE_DECLARED] = {.name = "declared",
                       .size = sizeof(declared),
                       .references =
                           CRADLE_SLOT(declared, symbol) | CRADLE_SLOT(declared, hidden) | CRADLE_SLOT(declared, next)},
    [TYPE_SCOPE] = {.name = "scope",
                    .size = sizeof(scope),
                    .references = CRADLE_SLOT(scope, outer) | CRADLE_SLOT(scope, first)},
    [TYPE_INSTANCE] = {.name = "instance",
                       .size = sizeof(instance),
                       .references = CRADLE_SLOT(instance, class) | CRADLE_SLOT(instance, fields)},
    [TYPE_FIELDS] = {.name = "fields",
                     .size = sizeof(fields),
                     .items = CRADLE_ITEMS_STRUCTURES,
                     .item_size = sizeof(field),
                     .length_offset = offsetof(fields, length),
                     .item_references = CRADLE_SLOT(field, name),
                     .item_values = CRADLE_SLOT(field, value)},
};

/* --- pauses --- */

/* Every pause begins with a minor collection, where the processor's clock is read, and ends with an event of its
 * own. */
static void on_event(void *data, const cradle_event *event) {
  workload_run *run = data;
  if (event->kind == CRADLE_EVENT_MINOR_BEGIN && run->cpu_pauses != NULL && !run->in_pause) {
    run->in_pause = true;
    run->pause_cpu_begin_ns = cpu_now_ns();
  }
  if (event->kind != CRADLE_EVENT_PAUSE) return;
  if (!run->pauses_done) {
    histogram_record(&run->pauses, event->u.pause.duration_ns);
    if (run->cpu_pauses != NULL) histogram_record(run->cpu_pauses, cpu_now_ns() - run->pause_cpu_begin_ns);
  }
  run->in_pause = false;
}

/* --- the heap --- */

cradle_heap *workload_start(workload_run *run) {
  cradle_options options;
  cradle_options_init(&options);
  options.types = types;
  options.type_count = TYPE_COUNT;
  options.gc_threads = CRADLE_GC_THREADS_AUTO;
  options.encoding = cradle_encoding_of(0, 0, 0x01);
  options.nursery_bytes = run->nursery_bytes;
  options.listener = (cradle_listener){on_event, run};
  cradle_error error;
  cradle_heap *heap = cradle_heap_new_from_environment(&options, &error);
  if (heap != NULL) return heap;
  fprintf(stderr, "workloads: %s\n", error.message);
  exit(1);
}

void workload_end(workload_run *run, cradle_heap *heap, cradle_mutator *mutator) {
  cradle_heap_statistics(heap, &run->stats, sizeof run->stats);
  cradle_mutator_free(mutator);
  cradle_heap_free(heap);
}

void workload_timed_begin(workload_run *run) {
  memset(&run->pauses, 0, sizeof run->pauses);
  run->cpu_begin_ns = process_cpu_now_ns();
  run->thread_begin_ns = cpu_now_ns();
  run->begin_ns = now_ns();
}

void workload_timed_end(workload_run *run) {
  run->end_ns = now_ns();
  run->cpu_end_ns = process_cpu_now_ns();
  run->thread_end_ns = cpu_now_ns();
  run->pauses_done = true;
  run->resident_bytes = workload_resident_bytes();
}

void workload_figure_add(workload_run *run, const char *name, double value) {
  if (run->figure_count == WORKLOAD_FIGURES_MAX) workload_wrong("too many figures");
  run->figures[run->figure_count++] = (workload_figure){name, value};
}

void workload_wrong(const char *what) {
  fprintf(stderr, "workloads: wrong data: %s\n", what);
  exit(1);
}

/* 0 if the system does not report it. */
uint64_t workload_resident_bytes(void) {
  unsigned long pages = 0;
  FILE *file = fopen("/proc/self/statm", "r");
  if (file == NULL) return 0;
  if (fscanf(file, "%*u %lu", &pages) != 1) pages = 0;
  fclose(file);
  return (uint64_t)pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

uint64_t workload_measure_live(cradle_heap *heap, cradle_mutator *mutator) {
  cradle_statistics stats;
  cradle_collect(mutator, CRADLE_COLLECT_FULL);
  cradle_heap_statistics(heap, &stats, sizeof stats);
  return stats.old_bytes;
}

/* --- objects --- */

cell *cells_new(cradle_mutator *m, uint64_t count) {
  cell *list = NULL;
  for (uint64_t i = 0; i < count; i++) {
    cradle_push(m, list);
    cell *fresh = CRADLE_NEW(m, cell, TYPE_CELL);
    fresh->next = cradle_pop(m);
    fresh->number = i;
    list = fresh;
  }
  return list;
}

uint64_t cells_sum(const cell *list) {
  uint64_t sum = 0;
  for (; list != NULL; list = list->next) sum += list->number;
  return sum;
}

array *array_new(cradle_mutator *m, uint64_t length) {
  return CRADLE_NEW_ARRAY(m, array, TYPE_ARRAY, slots, length, length);
}

array *array_by_hand(manual *memory, uint64_t length) {
  array *a = manual_take(memory, sizeof(array) + length * sizeof(void *));
  memset(a, 0, sizeof(array) + length * sizeof(void *));
  a->length = length;
  return a;
}

bytes *bytes_by_hand(manual *memory, uint64_t length) {
  uint64_t size = (sizeof(bytes) + length + 7) & ~UINT64_C(7);
  bytes *b = manual_take(memory, size);
  memset(b, 0, size);
  b->length = length;
  return b;
}

uint64_t random_size(randomizer *r, uint64_t least, uint64_t most) {
  double share = (double)random_below(r, UINT64_C(1) << 20) / (double)(1 << 20);
  return least + (uint64_t)((double)least * (pow((double)most / (double)least, share) - 1));
}
