/* The program that tests/programs/test_probe_arguments.py runs in gdb. It meets every static probe, and prints for each
 * the arguments that the probe must have had, taken from events and from its own calls. */
#include <inttypes.h>
#include <stdio.h>

#include <cradle/cradle.h>

enum { PAIR, BYTES, TYPES };
typedef struct pair {
  uint64_t header;
  struct pair *first, *rest;
} pair;

static const cradle_type types[TYPES] = {
    [PAIR] = {.name = "pair", .size = sizeof(pair), .references = CRADLE_SLOT(pair, first) | CRADLE_SLOT(pair, rest)},
    [BYTES] = {.name = "bytes", .size = 16, .items = CRADLE_ITEMS_BYTES, .item_size = 1, .length_offset = 8},
};

static cradle_heap *heap;

#define SAY(name, format, ...) printf("%s %" PRIu64 format "\n", name, (uint64_t)(uintptr_t)heap, __VA_ARGS__)

static void say_event(void *data, const cradle_event *event) {
  (void)data;
  switch (event->kind) {
  case CRADLE_EVENT_MINOR_BEGIN: SAY("minor_begin", " %d", event->u.begin.cause); break;
  case CRADLE_EVENT_MINOR_END:
    SAY("minor_end", " %" PRIu64 " %" PRIu64, event->u.minor.promoted_bytes, event->u.minor.duration_ns);
    if (event->u.minor.helpers == 0 && event->u.minor.alone == NULL) break; /* there is no thread yet */
    SAY("minor_help", " %" PRIu64 " %" PRIu64 " %" PRIuPTR, event->u.minor.helpers, event->u.minor.helped_bytes,
        (uintptr_t)event->u.minor.alone);
    break;
  case CRADLE_EVENT_MAJOR_BEGIN: SAY("major_begin", " %d", event->u.begin.cause); break;
  case CRADLE_EVENT_STEP_END:
    SAY("step_begin", " %d", event->u.step.from);
    SAY("step_end", " %d %d %" PRIu64, event->u.step.from, event->u.step.to, event->u.step.marked_bytes);
    break;
  case CRADLE_EVENT_MAJOR_END:
    SAY("major_end", " %" PRIu64 " %" PRIu64, event->u.major.used_after, event->u.major.duration_ns);
    break;
  case CRADLE_EVENT_COMPACT_BEGIN: SAY("compact_begin", "%s", ""); break;
  case CRADLE_EVENT_COMPACT_END:
    SAY("compact_end", " %" PRIu64 " %" PRIu64, event->u.compact.bytes, event->u.compact.duration_ns);
    break;
  case CRADLE_EVENT_PAUSE: SAY("pause_end", " %d %" PRIu64, event->u.pause.cause, event->u.pause.duration_ns); break;
  default: break;
  }
}

static uint64_t say_sample(void *data, cradle_mutator *mutator, const cradle_sample *sample) {
  (void)data, (void)mutator;
  SAY("sample", " %" PRIu32 " %" PRIu64, sample->type, sample->weight_bytes);
  return 0;
}

/* A pair. */
static void *make(cradle_mutator *m, uint32_t type, size_t size) CRADLE_MAY_COLLECT {
  void *object = cradle_new_fast(m, type, size);
  if (object != NULL) {
    *(pair *)object = (pair){.header = ((pair *)object)->header};
    return object;
  }
  SAY("allocate_slow", " %" PRIu32 " %zu", type, size);
  return cradle_new_slow(m, type, size);
}
/* Too large for the nursery. */
static void *make_bytes(cradle_mutator *m, size_t size) CRADLE_MAY_COLLECT {
  SAY("allocate_slow", " %d %zu", BYTES, size);
  SAY("allocate_large", " %d %zu", BYTES, size);
  return cradle_new_array(m, BYTES, size - types[BYTES].size);
}

static void store(cradle_mutator *m, pair *object, void *slot, pair *to) {
  SAY("barrier_slow", " %" PRIu64, (uint64_t)(uintptr_t)object);
  cradle_store(m, object, slot, to);
  cradle_store(m, object, slot, to); /* remembered by now */
}

static void work(cradle_mutator *m) CRADLE_MAY_COLLECT {
  pair *list = NULL;
  CRADLE_ROOT(m, list);
  for (int i = 0; i < 20000; i++) {
    pair *p = make(m, PAIR, sizeof(pair));
    if (p == NULL) return;
    p->rest = i % 50 == 0 ? NULL : list;
    list = p;
  }
  cradle_collect(m, CRADLE_COLLECT_MAJOR);
  list = NULL;
  if ((list = make(m, PAIR, sizeof(pair))) == NULL || make_bytes(m, 100000) == NULL) return;
  cradle_collect(m, CRADLE_COLLECT_COMPACTING);
  pair *young = make(m, PAIR, sizeof(pair));
  store(m, list, &list->first, young);
  SAY("reserve_slow", " %d", 30000);
  (void)cradle_reserve_slow(m, 30000);
  cradle_safepoint_request(m);
  SAY("safepoint_slow", "%s", "");
  cradle_safepoint(m);
  while (!cradle_collect_step(m, 0)) continue;
}

static void say_stop(void *data) {
  cradle_statistics stats;
  (void)data;
  cradle_heap_statistics(heap, &stats, sizeof stats);
  SAY("stop_stands", " 0 %" PRIu64, stats.stop_ns);
}

/* A heap with two mutators and one stop. Nothing is collected, so that there is no other. */
static void stop_once(cradle_options *options) CRADLE_UNCHECKED_COLLECTION {
  options->mutators = 2;
  options->gc = CRADLE_GC_OFF;
  options->listener.function = NULL;
  options->sampler.sampled = NULL;
  heap = cradle_heap_new(options, NULL);
  cradle_mutator *m = heap == NULL ? NULL : cradle_mutator_new(heap);
  if (m == NULL) return;
  SAY("stop_begin", " %s cradle_stopped_call", "asker");
  cradle_mutator_name(m, "asker");
  cradle_stopped_call(m, say_stop, NULL);
  SAY("stop_end", "%s", "");
  cradle_mutator_free(m);
  cradle_heap_free(heap);
}

int main(void) CRADLE_UNCHECKED_COLLECTION {
  (void)setvbuf(stdout, NULL, _IOLBF, 0); /* gdb writes to the same pipe, between whole lines */
  cradle_options options;
  cradle_options_init(&options);
  options.types = types;
  options.type_count = TYPES;
  options.nursery_bytes = (size_t)64 << 10;
  options.pause_ns = 1;
  options.gc_threads = 1;
  options.listener = (cradle_listener){say_event, NULL};
  options.sampler = (cradle_sampler){.interval_bytes = 50000, .sampled = say_sample};
  heap = cradle_heap_new(&options, NULL);
  cradle_mutator *m = heap == NULL ? NULL : cradle_mutator_new(heap);
  if (m == NULL) return 1;
  work(m);
  cradle_mutator_free(m);
  cradle_heap_free(heap);
  stop_once(&options);
  return 0;
}
