#include "second_model.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The heaps of a run, by which callbacks find theirs. */
enum { WORLDS = 4 };
static world *worlds[WORLDS];

world *world_of_serial(uint64_t serial) {
  uint64_t number = (serial >> 32) - 1;
  if (number >= WORLDS || worlds[number] == NULL) abort();
  return worlds[number];
}

void fail(const world *w, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  fprintf(stderr, "seed %llu, step %llu, heap %u, %s: ", (unsigned long long)w->seed, (unsigned long long)w->step,
          w->number, w->operation);
  vfprintf(stderr, format, arguments);
  fprintf(stderr, "\n  build/tests/second_model --seed %llu --steps %llu\n", (unsigned long long)w->seed,
          (unsigned long long)w->step + 1);
  va_end(arguments);
  fflush(stderr);
  _exit(1);
}

static void misuse(void *data, const char *message) {
  fail(data, "misuse: %s", message);
}

static void out_of_memory(void *data, cradle_mutator *mutator, size_t size, const char *message) {
  world *w = data;
  (void)mutator, (void)size;
  if (w->is_limited && w->shortages++ % 2 == 0) return;
  EXPECT(w, w->is_limited, "out of memory: %s", message);
  EXPECT(w, w->frame != NULL, "out of memory outside of a step: %s", message);
  longjmp(w->frame->buffer, 2);
}

static void listen(void *data, const cradle_event *event) {
  event_counts *events = &((world *)data)->events;
  crd_pauses_hear(&((world *)data)->pauses, event);
  switch (event->kind) {
  case CRADLE_EVENT_MINOR_BEGIN: events->open++; return;
  case CRADLE_EVENT_MINOR_END:
    events->open--;
    events->minors++;
    return;
  case CRADLE_EVENT_MAJOR_END: events->majors++; return;
  case CRADLE_EVENT_COMPACT_END: events->compactions++; return;
  case CRADLE_EVENT_PAUSE:
    events->pauses++;
    events->pause_ns += event->u.pause.duration_ns;
    if (event->u.pause.duration_ns > events->pause_max_ns) events->pause_max_ns = event->u.pause.duration_ns;
    return;
  default: return;
  }
}

static uint64_t sampled(void *data, cradle_mutator *mutator, const cradle_sample *sample) {
  (void)mutator, (void)sample;
  return ++((world *)data)->events.sampled;
}

static void settled(void *data, const cradle_sample *sample, cradle_fate fate) {
  world *w = data;
  (void)fate;
  EXPECT(w, sample->tag != 0 && sample->tag <= w->events.sampled, "a sample was settled that was not taken");
  w->events.settled++;
}

static void visit_callback(void *data, cradle_visitor *visitor) {
  world *w = data;
  for (int i = 0; i < CALLBACK_WORDS; i++) cradle_visit(visitor, &w->callback[i], CRADLE_KIND_VALUE);
}

/* --- opening --- */

static cradle_encoding draw_encoding(world *w) {
  cradle_encoding two = {
      .pairs = {{UINT64_C(0xffff) << 48, UINT64_C(0xfffa) << 48}, {UINT64_C(0xffff) << 48, UINT64_C(0xfffc) << 48}},
      .pair_count = 2,
      .tag_set = 0x01,
      .payload_mask = UINT64_C(0x7ffffffffff8)};
  switch (below(w, 6)) {
  case 0: return cradle_encoding_of(0, 0, 0x01);
  case 1: return cradle_encoding_of(0, 0, 0x02);
  case 2: return cradle_encoding_of(0, 0, 0xa5);
  case 3: return cradle_encoding_of(UINT64_C(0xffff) << 48, UINT64_C(0xfffc) << 48, 1 << 0);
  case 4: return cradle_encoding_of(UINT64_C(0xfffe000000000002), 0, 1 << 0); /* as JavaScriptCore */
  default: return two;
  }
}

/* Nurseries are small and of odd sizes, increments as small as they can be. */
static void draw_sizes(world *w, cradle_options *options) {
  static const size_t nurseries[] = {4096, 4104, 5000, 8192, 12345, 40000, 65536, 262144};
  static const size_t least[] = {0, 65536, 1 << 20};
  options->nursery_bytes = nurseries[below(w, 8)];
  options->reserve_bytes = (size_t)512 << 20; /* nearly all of it is never committed */
  options->shadow_stack_bytes = 4096 * (1 + below(w, 3));
  options->pause_ns = below(w, 2);
  options->major_min_bytes = least[below(w, 3)];
  options->major_factor = chance(w, 2) ? 1.1 : 2;
  options->quarantine = chance(w, 10) ? 2 : 0;
  if (chance(w, 6)) options->heap_max_bytes = (size_t)(1 + below(w, 24)) << 20;
  w->is_limited = options->heap_max_bytes != 0;
}

static void draw_instruments(world *w, cradle_options *options) {
  if (chance(w, 3)) {
    options->stress_period = 1 + below(w, 30);
    options->stress_seed = below(w, 3);
    options->stress_major = chance(w, 2) ? 1 + below(w, 9) : 0;
    options->stress_at = (cradle_stress)below(w, 3);
  }
  options->verify = chance(w, 16);
  if (chance(w, 4)) {
    options->sampler = (cradle_sampler){.interval_bytes = 64 << below(w, 8), .sampled = sampled, .settled = settled};
    options->sampler.data = w;
  }
}

static void open_services(world *w) {
  for (size_t i = 0; i < RANGES; i++) {
    w->ranges[i].base = w->ranges[i].top = calloc(1, sizeof(cradle_word));
    cradle_kind kind = i == 0 ? CRADLE_KIND_VALUE : CRADLE_KIND_REFERENCE;
    w->ranges[i].range = CRADLE_ROOT_RANGE(w->ranges[i].base, w->ranges[i].top, kind, "range");
    cradle_root_range_add(w->m, &w->ranges[i].range);
  }
  cradle_root_callback_set(w->heap, visit_callback, w);
  for (size_t i = 0; i < SETS; i++) {
    w->sets[i].set = cradle_weak_set_new(w->m, set_swept, &w->sets[i]);
    EXPECT(w, w->sets[i].set != NULL, "no weak set");
  }
}

/* A maximum that is too small is replaced by the one that the error names. */
static cradle_heap *make_heap(world *w, cradle_options *options) {
  cradle_error error;
  cradle_heap *heap = cradle_heap_new_from_environment(options, &error);
  if (heap == NULL && error.option != NULL && strcmp(error.option, "heap_max_bytes") == 0) {
    options->heap_max_bytes = error.accepted;
    heap = cradle_heap_new_from_environment(options, &error);
  }
  EXPECT(w, heap != NULL, "no heap: %s", error.message);
  return heap;
}

void world_open(world *w, uint64_t seed, uint32_t number) {
  cradle_options options;
  cradle_type types[LATE];
  *w = (world){.seed = seed, .number = number, .operation = "opening"};
  w->on = w->root_stacks;
  worlds[number] = w;
  draw_from(w, seed, UINT64_MAX - number);
  cradle_options_init(&options);
  for (size_t i = 0; i < LATE; i++) types[i] = shapes[i].type;
  options.types = types;
  options.type_count = LATE;
  w->encoding = options.encoding = draw_encoding(w);
  w->stack_kind = options.shadow_stack = chance(w, 2) ? CRADLE_KIND_VALUE : CRADLE_KIND_REFERENCE;
  draw_sizes(w, &options);
  draw_instruments(w, &options);
  memset(&w->pauses, 0, sizeof w->pauses);
  options.listener = (cradle_listener){listen, w};
  options.on_misuse = misuse;
  options.on_out_of_memory = out_of_memory;
  options.user = w;
  w->heap = make_heap(w, &options);
  w->m = cradle_mutator_new(w->heap);
  EXPECT(w, w->m != NULL, "no mutator");
  w->regions = look_regions_of(w->heap, w->m);
  open_services(w);
}

/* --- closing --- */

/* Everything that is registered comes out of its queue, as often as it was. */
static void close_queues(world *w) {
  cradle_finalizer_queue_all(w->m);
  for (uint32_t queue = 1; queue <= CRADLE_FINALIZER_QUEUES; queue++) {
    uint64_t expected = 0;
    for (size_t i = 0; i < w->node_count; i++) expected += w->nodes[i]->registrations[queue];
    EXPECT(w, finalizers_waiting(w->m, queue) == expected, "%zu objects wait in queue %u, of %llu",
           finalizers_waiting(w->m, queue), queue, (unsigned long long)expected);
  }
  for (size_t i = 0; i < w->node_count; i++) w->nodes[i]->may_wait = true;
  for (int rounds = 0; rounds < 20 && anything_waits(w); rounds++) finalizer_drain(w);
}

static void check_left(world *w) {
  for (size_t i = 0; i < w->node_count; i++) {
    const node *n = w->nodes[i];
    EXPECT(w, n->shape->type.destructor == NULL || n->is_destroyed, "%llx was not destroyed with the heap",
           (unsigned long long)n->serial);
  }
}

static void free_shadow(world *w) {
  for (size_t i = 0; i < w->node_count; i++) node_free(w->nodes[i]);
  for (size_t i = 0; i < RANGES; i++) free(w->ranges[i].base);
  free(w->nodes);
  free(w->work);
  worlds[w->number] = NULL;
}

void world_close(world *w) {
  w->operation = "closing";
  ballast_let_go(w);
  compare(w, false);
  verify(w);
  if (chance(w, 2)) close_queues(w);
  for (size_t i = 0; i < SETS; i++) cradle_weak_set_free(w->sets[i].set);
  for (size_t i = 0; i < RANGES; i++) cradle_root_range_remove(w->m, &w->ranges[i].range);
  cradle_pop_many(w->m, w->on->count);
  if (chance(w, 2)) root_stacks_free(w);
  cradle_mutator_free(w->m);
  cradle_heap_free(w->heap);
  root_stacks_free(w);
  check_left(w);
  free_shadow(w);
}
