/* Tests the statistics: compares the histogram with sorted values, and a heap's own
 * counts with its events. Also tests pauses and the summary. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <cradle/cradle.h>

#include "runtime/log.h"
#include "runtime/pauses.h"
#include "runtime/report.h"
#include "tests/inside.h"
#include "tests/support/yields.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static uint64_t random_state = 88172645463325252u;
static uint64_t next_random(void) {
  random_state ^= random_state << 13;
  random_state ^= random_state >> 7;
  return random_state ^= random_state << 17;
}

/* --- the histogram --- */

static int compare(const void *a, const void *b) {
  uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
  return (x > y) - (x < y);
}

static void quantiles_are_within_a_bucket(void **state) {
  static const uint64_t parts[] = {1, 5000, 9000, 9900, 9990, 9999, 10000};
  enum { COUNT = 20000 };
  static uint64_t values[COUNT];
  static crd_histogram histogram;
  (void)state;
  for (int i = 0; i < COUNT; i++) crd_histogram_add(&histogram, values[i] = next_random() >> (24 + next_random() % 40));
  qsort(values, COUNT, sizeof values[0], compare);
  for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
    uint64_t exact = values[(parts[i] * COUNT + 9999) / 10000 - 1];
    uint64_t found = crd_histogram_quantile(&histogram, parts[i]);
    assert_in_range(found, exact, exact + exact / 32);
  }
  assert_int_equal(histogram.maximum, values[COUNT - 1]);
}

static void the_ends_of_the_histogram(void **state) {
  static crd_histogram histogram;
  (void)state;
  assert_int_equal(crd_histogram_quantile(&histogram, 9999), 0);
  crd_histogram_add(&histogram, 0);
  assert_int_equal(crd_histogram_quantile(&histogram, 9999), 0);
  crd_histogram_add(&histogram, UINT64_MAX);
  assert_true(crd_histogram_quantile(&histogram, 9999) == UINT64_MAX);
  assert_int_equal(crd_histogram_quantile(&histogram, 5000), 0);
  for (uint64_t value = 1; value < 70; value++) {
    crd_histogram one = {0};
    crd_histogram_add(&one, value);
    assert_int_equal(crd_histogram_quantile(&one, 5000), value);
  }
}

/* Each value below 32 has a bucket of its own, so every quantile is the value itself. */
static void quantiles_of_small_values_are_exact(void **state) {
  enum { COUNT = 20000, EACH = 1000 };
  static crd_histogram histogram;
  (void)state;
  for (uint64_t i = 0; i < COUNT - 1; i++) crd_histogram_add(&histogram, i / EACH);
  crd_histogram_add(&histogram, 31);
  for (uint64_t parts = 1; parts < 10000; parts++)
    assert_int_equal(crd_histogram_quantile(&histogram, parts), (parts * COUNT / 10000 - 1) / EACH);
  assert_int_equal(crd_histogram_quantile(&histogram, 10000), 31);
}

/* A value far above keeps the maximum from bounding what is read back. */
static void values_are_read_back_as_the_end_of_their_bucket(void **state) {
  static struct {
    crd_histogram histogram;
    uint64_t after[4];
  } one;
  static const uint64_t untouched[4];
  const uint64_t limit = (uint64_t)1 << CRD_HISTOGRAM_VALUE_BITS;
  (void)state;
  for (int shift = 0; shift <= CRD_HISTOGRAM_VALUE_BITS - CRD_HISTOGRAM_LINEAR_BITS; shift++) {
    for (uint64_t top = 32; top < 64; top++) {
      const uint64_t values[] = {top << shift, ((top + 1) << shift) - 1};
      for (int i = 0; i < 2; i++) {
        memset(&one, 0, sizeof one);
        crd_histogram_add(&one.histogram, values[i]);
        crd_histogram_add(&one.histogram, UINT64_MAX);
        assert_true(crd_histogram_quantile(&one.histogram, 5000) == (values[1] < limit - 1 ? values[1] : UINT64_MAX));
        assert_memory_equal(one.after, untouched, sizeof untouched);
      }
    }
  }
}

/* --- pauses --- */

static void send_pause_to(cradle_listener listener, uint64_t begin, uint64_t end) {
  const cradle_event event = {.kind = CRADLE_EVENT_PAUSE,
                              .time_ns = end,
                              .u.pause = {.cause = CRADLE_CAUSE_NURSERY_FULL, .duration_ns = end - begin}};
  listener.function(listener.data, &event);
}

static void hear(void *data, const cradle_event *event) {
  crd_pauses_hear(data, event);
}

static void send_pause(crd_pauses *pauses, uint64_t begin, uint64_t end) {
  send_pause_to((cradle_listener){hear, pauses}, begin, end);
}

static void send_stop(cradle_listener listener, uint64_t time, uint64_t length) {
  const cradle_event event = {.kind = CRADLE_EVENT_BESIDE, .time_ns = time, .u.beside.stop_ns = length};
  listener.function(listener.data, &event);
}

static crd_pauses *new_pauses(void) {
  crd_pauses *pauses = calloc(1, sizeof *pauses);
  assert_non_null(pauses);
  return pauses;
}

static void pauses_are_what_their_events_say(void **state) {
  (void)state;
  crd_pauses *pauses = new_pauses();
  crd_pause_summary summary;
  summary = crd_pauses_read(pauses);
  assert_int_equal(summary.p9999_ns, 0);
  send_pause(pauses, 1000000, 1061000);
  send_pause(pauses, 2000000, 2039000);
  send_pause(pauses, 2038000, 2040000); /* begins a little before the last pause's end, as a clock may report */
  summary = crd_pauses_read(pauses);
  assert_in_range(summary.p50_ns, 39000, 39000 + 39000 / 32);
  assert_int_equal(summary.p90_ns, 61000);
  assert_int_equal(summary.p9999_ns, 61000);
  free(pauses);
}

/* The lengths of 10,000 pauses: each quantile of a summary is another length, and so is the longest pause. */
enum { SHARED = 10000 };
static uint64_t shared_length(int i) {
  static const int ends[] = {5000, 9000, 9900, 9990, 9999, SHARED};
  uint64_t length = 1;
  while (i >= ends[length - 1]) length++;
  return length;
}

/* Sends these pauses, unit ns to 6 * unit ns long, one in each second. */
static void send_shared_pauses(cradle_listener listener, uint64_t unit) {
  for (int i = 0; i < SHARED; i++) {
    uint64_t begin = (uint64_t)(i + 1) * 1000000000u;
    send_pause_to(listener, begin, begin + unit * shared_length(i));
  }
}

static void count_event(void *data, const cradle_event *event) {
  (void)event;
  ++*(size_t *)data;
}

static void each_quantile_is_that_of_its_name(void **state) {
  (void)state;
  crd_pauses *pauses = new_pauses();
  cradle_listener listener = {hear, pauses};
  crd_pause_summary summary;
  send_shared_pauses(listener, 1);
  for (int i = 0; i < SHARED; i++) send_stop(listener, 1, 10 + shared_length(i));
  summary = crd_pauses_read(pauses);
  assert_int_equal(summary.p50_ns, 1);
  assert_int_equal(summary.p90_ns, 2);
  assert_int_equal(summary.p99_ns, 3);
  assert_int_equal(summary.p999_ns, 4);
  assert_int_equal(summary.p9999_ns, 5);
  assert_int_equal(summary.stop_p50_ns, 11);
  assert_int_equal(summary.stop_p99_ns, 13);
  assert_int_equal(summary.stop_p999_ns, 14);
  free(pauses);
}

/* --- a heap --- */

typedef struct node {
  uint64_t header;
  struct node *next;
} node;
enum { T_NODE, T_LARGE, TYPE_COUNT };
static const cradle_type types[TYPE_COUNT] = {
    [T_NODE] = {.name = "node", .size = sizeof(node), .references = CRADLE_SLOT(node, next)},
    [T_LARGE] = {.name = "large", .size = 300000},
};

static void allocate(cradle_mutator *m) {
  node *list = NULL;
  CRADLE_ROOT(m, list);
  for (int i = 0; i < 200000; i++) {
    node *fresh = cradle_new(m, T_NODE, sizeof(node));
    fresh->next = list;
    if (i % 3 == 0) list = fresh;
    if (i % 30000 == 0) cradle_new(m, T_LARGE, 300000);
  }
  cradle_collect(m, CRADLE_COLLECT_FULL);
}

/* The sums of a heap's events. A minor collection of a heap with threads has helpers, or says why not. */
typedef struct told {
  bool has_threads;
  cradle_statistics sums;
  cradle_statistics last; /* of the event that ends the heap */
  crd_pauses *pauses;
} told;

static uint64_t larger(uint64_t a, uint64_t b) {
  return a > b ? a : b;
}

static void add_event(void *data, const cradle_event *event) {
  told *all = data;
  cradle_statistics *sums = &all->sums;
  crd_pauses_hear(all->pauses, event);
  switch (event->kind) {
  case CRADLE_EVENT_MINOR_END:
    sums->minor_collections++;
    sums->minor_causes[event->u.minor.cause]++;
    sums->minor_ns += event->u.minor.duration_ns;
    sums->minor_max_ns = larger(sums->minor_max_ns, event->u.minor.duration_ns);
    sums->collected_bytes += event->u.minor.nursery_bytes;
    sums->promoted_objects += event->u.minor.promoted_objects;
    sums->promoted_bytes += event->u.minor.promoted_bytes;
    sums->helped_collections += event->u.minor.helpers != 0;
    sums->helped_objects += event->u.minor.helped_objects;
    sums->helped_bytes += event->u.minor.helped_bytes;
    sums->helped_ns += event->u.minor.helped_ns;
    all->has_threads |= event->u.minor.helpers != 0 || event->u.minor.alone != NULL;
    if (all->has_threads) assert_true((event->u.minor.alone != NULL) == (event->u.minor.helpers == 0));
    assert_true(event->u.minor.helped_objects <= event->u.minor.promoted_objects);
    assert_true(event->u.minor.helped_bytes <= event->u.minor.promoted_bytes);
    if (event->u.minor.helpers == 0) assert_true(event->u.minor.helped_objects + event->u.minor.helped_ns == 0);
    sums->used_peak_bytes = larger(sums->used_peak_bytes, event->u.minor.used_before);
    break;
  case CRADLE_EVENT_STEP_END:
    sums->major_steps++;
    sums->major_ns += event->u.step.duration_ns;
    sums->major_max_ns = larger(sums->major_max_ns, event->u.step.duration_ns);
    break;
  case CRADLE_EVENT_MAJOR_END:
    sums->major_collections++;
    sums->major_causes[event->u.major.cause]++;
    sums->live_bytes = event->u.major.used_after;
    sums->live_peak_bytes = larger(sums->live_peak_bytes, event->u.major.used_after);
    break;
  case CRADLE_EVENT_PAUSE:
    sums->pauses++;
    sums->pause_ns += event->u.pause.duration_ns;
    sums->pause_max_ns = larger(sums->pause_max_ns, event->u.pause.duration_ns);
    break;
  case CRADLE_EVENT_ARENAS:
    sums->arenas_peak = larger(sums->arenas_peak, event->u.arenas.committed);
    if (!event->u.arenas.measured) break;
    sums->pages_known = true;
    sums->resident_bytes = event->u.arenas.resident_bytes;
    sums->huge_bytes = event->u.arenas.huge_bytes;
    break;
  case CRADLE_EVENT_HEAP_DESTROYED: all->last = *event->u.destroyed.statistics; break;
  default: break;
  }
}

static cradle_statistics statistics_of(const cradle_heap *of) {
  cradle_statistics now;
  cradle_heap_statistics(of, &now, sizeof now);
  return now;
}

static void assert_told(const cradle_statistics *now, const cradle_statistics *sums) {
  assert_int_equal(now->minor_collections, sums->minor_collections);
  assert_int_equal(now->major_collections, sums->major_collections);
  assert_memory_equal(now->minor_causes, sums->minor_causes, sizeof now->minor_causes);
  assert_memory_equal(now->major_causes, sums->major_causes, sizeof now->major_causes);
  assert_int_equal(now->minor_ns, sums->minor_ns);
  assert_int_equal(now->minor_max_ns, sums->minor_max_ns);
  assert_int_equal(now->major_steps, sums->major_steps);
  assert_int_equal(now->major_ns, sums->major_ns);
  assert_int_equal(now->major_max_ns, sums->major_max_ns);
  assert_int_equal(now->pauses, sums->pauses);
  assert_int_equal(now->pause_ns, sums->pause_ns);
  assert_int_equal(now->pause_max_ns, sums->pause_max_ns);
  assert_int_equal(now->collected_bytes, sums->collected_bytes);
  assert_int_equal(now->promoted_objects, sums->promoted_objects);
  assert_int_equal(now->promoted_bytes, sums->promoted_bytes);
  assert_int_equal(now->helped_collections, sums->helped_collections);
  assert_int_equal(now->helped_objects, sums->helped_objects);
  assert_int_equal(now->helped_bytes, sums->helped_bytes);
  assert_int_equal(now->helped_ns, sums->helped_ns);
  assert_int_equal(now->live_bytes, sums->live_bytes);
  assert_int_equal(now->live_peak_bytes, sums->live_peak_bytes);
  assert_in_range(now->used_peak_bytes, sums->used_peak_bytes, sums->used_peak_bytes + 400000);
  assert_int_equal(now->arenas_peak, sums->arenas_peak);
  assert_int_equal(now->pages_known, sums->pages_known);
  assert_int_equal(now->resident_bytes, sums->resident_bytes);
  assert_int_equal(now->huge_bytes, sums->huge_bytes);
}

static void the_statistics_are_what_the_events_come_to(void **state) {
  (void)state;
  told all = {.sums = {.wall_ns = 0}};
  cradle_options options;
  crd_pause_summary summary;
  cradle_options_init(&options);
  options.types = types;
  options.type_count = TYPE_COUNT;
  options.nursery_bytes = 100000;
  all.pauses = new_pauses();
  options.listener = (cradle_listener){add_event, &all};
  cradle_heap *heap = cradle_heap_new(&options, NULL);
  cradle_mutator *m = cradle_mutator_new(heap);
  allocate(m);
  cradle_statistics now = statistics_of(heap);
  assert_told(&now, &all.sums);
  assert_true(now.minor_collections > 30 && now.major_collections > 0 && now.major_steps > 0);
  assert_int_equal(now.minor_causes[CRADLE_CAUSE_MAJOR], 1);
  assert_true(now.allocated_bytes >= now.collected_bytes + 7 * 300000);
  assert_true(now.used_peak_bytes >= now.used_bytes && now.used_peak_bytes >= now.live_peak_bytes);
  assert_int_equal(now.used_bytes, now.live_bytes);
  assert_int_equal(now.nursery_bytes, 100000);
  assert_true(now.survival > 0.3 && now.survival < 0.4);
  assert_true(now.pause_max_ns <= now.pause_ns && now.pause_ns <= now.wall_ns);
  assert_true(now.gc_share > 0 && now.gc_share < 1);
  if (now.pages_known) assert_true(now.resident_bytes > 0 && now.huge_bytes <= now.resident_bytes);
  summary = crd_pauses_read(all.pauses);
  assert_true(summary.p50_ns <= summary.p90_ns && summary.p9999_ns <= now.pause_max_ns);
  cradle_mutator_free(m);
  cradle_heap_free(heap);
  assert_told(&all.last, &all.sums);
  assert_int_equal(all.last.minor_collections, now.minor_collections + 1);
  assert_true(all.last.wall_ns > now.wall_ns);
  free(all.pauses);
}

typedef struct tree {
  uint64_t header;
  struct tree *left, *right;
} tree;
static const cradle_type tree_type = {
    .name = "tree", .size = sizeof(tree), .references = CRADLE_SLOT(tree, left) | CRADLE_SLOT(tree, right)};

static tree *new_tree(cradle_mutator *m, int depth) CRADLE_MAY_COLLECT {
  tree *left = NULL, *right = NULL;
  CRADLE_ROOT(m, left);
  CRADLE_ROOT(m, right);
  if (depth > 0) left = new_tree(m, depth - 1);
  if (depth > 0) right = new_tree(m, depth - 1);
  tree *fresh = cradle_new(m, 0, sizeof(tree));
  fresh->left = left;
  fresh->right = right;
  return fresh;
}

/* Both ways to promote are measured, whether or not a helper comes in time, except on one processor. */
static void what_helpers_do_is_counted(void **state) {
  (void)state;
  cradle_options options;
  cradle_options_init(&options);
  options.types = &tree_type;
  options.type_count = 1;
  options.nursery_bytes = (size_t)1 << 20;
  options.gc_threads = 1;
  told all = {.pauses = new_pauses()};
  options.listener = (cradle_listener){add_event, &all};
  cradle_heap *heap = cradle_heap_new(&options, NULL);
  cradle_mutator *m = cradle_mutator_new(heap);
  bool takes_turns = false;
  for (int i = 0; i < 100 && statistics_of(heap).thousand_helped_ns * statistics_of(heap).thousand_alone_ns == 0; i++) {
    tree *kept = NULL;
    CRADLE_ROOT(m, kept);
    for (int j = 0; j < 8; j++) kept = new_tree(m, 14);
    cradle_collect(m, CRADLE_COLLECT_MAJOR);
    takes_turns = inside_marker(heap)->takes_turns;
    if (takes_turns) break;
  }
  cradle_statistics now = statistics_of(heap);
  assert_told(&now, &all.sums);
  assert_true(all.has_threads);
  if (!takes_turns) assert_true(now.thousand_helped_ns != 0 && now.thousand_alone_ns != 0);
  cradle_mutator_free(m);
  cradle_heap_free(heap);
  assert_told(&all.last, &all.sums);
  free(all.pauses);
}

/* Without a listener the kernel is not asked for figures. */
static void a_heap_that_nobody_listens_to_is_counted_too(void **state) {
  (void)state;
  cradle_options options;
  cradle_options_init(&options);
  options.types = types;
  options.type_count = TYPE_COUNT;
  cradle_heap *heap = cradle_heap_new(&options, NULL);
  cradle_mutator *m = cradle_mutator_new(heap);
  (void)cradle_new_with(m, 0, cradle_array_layout_of(types[0].size, 0, 0), 0, CRADLE_PINNED);
  cradle_statistics now = statistics_of(heap);
  assert_int_equal(now.minor_collections, 0);
  assert_int_equal(now.used_bytes, types[0].size);
  assert_int_equal(now.used_peak_bytes, now.used_bytes); /* never below what is used now */
  allocate(m);
  now = statistics_of(heap);
  assert_true(now.pauses > 0 && now.minor_ns > 0 && now.pause_ns >= now.minor_ns && now.used_peak_bytes > 0 &&
              now.live_bytes > 0);
  assert_int_equal(now.major_causes[CRADLE_CAUSE_REQUEST], 1);
  assert_true(now.arenas_peak >= now.arenas_committed);
  assert_false(now.pages_known);
  cradle_mutator_free(m);
  cradle_heap_free(heap);
}

/* A program compiled with other headers passes its own structure's size. */
#define ASSERT_SIZES(structure, read, source) \
  do { \
    structure whole; \
    union { \
      structure part; \
      unsigned char bytes[4 * sizeof(structure)]; \
    } other; \
    read((source), &whole, sizeof whole); \
    memset(other.bytes, 0xaa, sizeof other); \
    read((source), &other.part, 24); \
    assert_memory_equal(other.bytes + 8, (unsigned char *)&whole + 8, 16); \
    for (size_t i = 24; i < sizeof other; i++) assert_int_equal(other.bytes[i], 0xaa); \
    read((source), &other.part, sizeof(structure) + 16); \
    assert_memory_equal(other.bytes + 8, (unsigned char *)&whole + 8, 16); \
    for (size_t i = sizeof(structure); i < sizeof other; i++) \
      assert_int_equal(other.bytes[i], i < sizeof(structure) + 16 ? 0 : 0xaa); \
  } while (0)

static void *asked; /* the address that the test asks about */
static void read_address(const cradle_heap *heap, cradle_address_info *info, size_t size) {
  cradle_describe_address(heap, asked, info, size);
}
static void read_explanation(const cradle_heap *heap, cradle_explanation *explanation, size_t size) {
  assert_true(cradle_explain_address(heap, asked, explanation, size));
}

/* An object that is larger than those of the last class gets pages of its own. */
static void the_last_class_has_the_largest_small_objects(void **state) {
  (void)state;
  cradle_options options;
  cradle_options_init(&options);
  cradle_heap *heap = cradle_heap_new(&options, NULL);
  cradle_mutator *m = cradle_mutator_new(heap);
  size_t count = crd_heap_spans(heap, NULL, 0), last = count - 1;
  crd_span_info *rows = calloc(count, sizeof *rows);
  crd_heap_spans(heap, rows, count);
  size_t bytes = rows[last].object_bytes;
  uint32_t small = cradle_type_add(heap, &(cradle_type){.name = "small", .size = bytes});
  uint32_t large = cradle_type_add(heap, &(cradle_type){.name = "large", .size = bytes + 8});
  (void)cradle_new_with(m, small, cradle_array_layout_of(bytes, 0, 0), 0, CRADLE_PINNED);
  crd_heap_spans(heap, rows, count);
  assert_int_equal(rows[last].used_bytes, bytes);
  assert_int_equal(statistics_of(heap).large_bytes, 0);
  (void)cradle_new_with(m, large, cradle_array_layout_of(bytes + 8, 0, 0), 0, CRADLE_PINNED);
  assert_true(statistics_of(heap).large_bytes > bytes);
  free(rows);
  cradle_mutator_free(m);
  cradle_heap_free(heap);
}

static void structures_of_other_sizes_are_filled(void **state) {
  (void)state;
  cradle_options options;
  cradle_options_init(&options);
  options.types = types;
  options.type_count = TYPE_COUNT;
  cradle_heap *heap = cradle_heap_new(&options, NULL);
  ASSERT_SIZES(cradle_statistics, cradle_heap_statistics, heap);
  ASSERT_SIZES(cradle_memory, cradle_memory_report, heap);
  cradle_mutator *m = cradle_mutator_new(heap);
  asked = (char *)cradle_new_with(m, 0, cradle_array_layout_of(types[0].size, 0, 0), 0, CRADLE_PINNED) + 8;
  ASSERT_SIZES(cradle_address_info, read_address, heap);
  asked = (char *)asked + ((size_t)1 << 30); /* an address without memory */
  ASSERT_SIZES(cradle_explanation, read_explanation, heap);
  cradle_mutator_free(m);
  cradle_heap_free(heap);
}

/* --- CRADLE_STATS --- */

/* Ends of a heap that worked, and of one that is alive when it has just been made. */
enum { FREED, ALIVE, FREED_AT_EXIT, FORKED, FREED_IN_CHILD, ENDS, FRESH };

/* Static, so that objects that are alive at exit do not count as leaks. */
static cradle_heap *heap;
static cradle_mutator *mutator;

static void free_heap(void) {
  cradle_mutator_free(mutator);
  cradle_heap_free(heap);
}

/* Standard error, from catch_errors to caught_errors, which returns what was written: at most 64 KiB. */
typedef struct caught {
  int ends[2], kept;
} caught;

static caught catch_errors(void) {
  caught stream;
  fflush(NULL);
  assert_int_equal(pipe(stream.ends), 0);
  stream.kept = dup(STDERR_FILENO);
  dup2(stream.ends[1], STDERR_FILENO);
  close(stream.ends[1]);
  return stream;
}

static const char *caught_errors(const caught *stream) {
  static char text[8192];
  dup2(stream->kept, STDERR_FILENO);
  close(stream->kept);
  ssize_t length = read(stream->ends[0], text, sizeof text - 1);
  text[length < 0 ? 0 : length] = '\0';
  close(stream->ends[0]);
  return text;
}

/* A heap's summary if the heap ended with these statistics. Pauses are sent if unit_ns is not 0. */
static const char *summary_of(const cradle_statistics *statistics, uint64_t unit_ns) {
  cradle_options options;
  size_t passed_on = 0;
  const cradle_event end = {.kind = CRADLE_EVENT_HEAP_DESTROYED, .u.destroyed = {statistics}};
  cradle_options_init(&options);
  cradle_heap *of = cradle_heap_new(&options, NULL);
  options.listener = (cradle_listener){count_event, &passed_on};
  (void)crd_log_open_totals(&options);
  cradle_listener listener = options.listener;
  crd_chain_settle(listener, (cradle_listener){count_event, &passed_on}, of);
  if (unit_ns != 0) send_shared_pauses(listener, unit_ns);
  caught stream = catch_errors();
  listener.function(listener.data, &end); /* frees the summary */
  const char *text = caught_errors(&stream);
  assert_int_equal(passed_on, unit_ns != 0 ? SHARED + 1 : 1);
  cradle_heap_free(of);
  return text;
}

/* The figure of a name in a summary. */
static void assert_says(const char *text, const char *name, const char *figure) {
  char line[200];
  snprintf(line, sizeof line, "\n  %-40s%s\n", name, figure);
  if (strstr(text, line) == NULL) fail_msg("\"%s\" is missing in:\n%s", line, text);
}

static void the_summary_of_nothing(void **state) {
  char begin[80];
  (void)state;
  cradle_statistics none = {.wall_ns = 0};
  const char *text = summary_of(&none, 0);
  snprintf(begin, sizeof begin, "cradle: statistics of heap %d.", (int)getpid());
  assert_int_equal(strncmp(text, begin, strlen(begin)), 0);
  assert_says(text, "wall time: ", "0 ns");
  assert_says(text, "pauses: ", "0");
  assert_says(text, "most memory used: ", "0 B");
  assert_null(strstr(text, "live")); /* not known before a major collection */
  assert_null(strstr(text, "resident"));
  assert_null(strstr(text, "second core"));
}

/* Times and sizes on both sides of where the unit changes. */
static void the_summary_of_much(void **state) {
  (void)state;
  const cradle_statistics much = {
      .wall_ns = 1000000000,
      .minor_collections = 123,
      .major_collections = 45,
      .major_steps = 678,
      .compactions = 9,
      .minor_ns = 999999999,
      .minor_max_ns = 1000000,
      .major_ns = 12345000000,
      .major_max_ns = 999949,
      .pauses = SHARED,
      .pause_max_ns = 6000,
      .gc_share = 0.125,
      .allocated_bytes = (uint64_t)1 << 50,
      .promoted_bytes = (uint64_t)5 << 39,
      .promoted_objects = 77,
      .survival = 0.5,
      .used_peak_bytes = 1024,
      .used_bytes = 1023,
      .live_bytes = (uint64_t)1 << 20,
      .live_peak_bytes = ((uint64_t)1 << 30) - 1,
      .nursery_bytes = (uint64_t)4 << 20,
      .arena_bytes = (uint64_t)2 << 20,
      .arenas_committed = 3,
      .arenas_in_use = 2,
      .old_bytes = (uint64_t)1 << 20,
      .metadata_bytes = (uint64_t)2 << 20,
      .committed_bytes = (uint64_t)13 << 20,
      .arenas_peak = 5,
      .resident_bytes = (uint64_t)1 << 30,
      .huge_bytes = (uint64_t)3 << 28,
  };
  static const char *const wanted[][2] = {
      {"wall time: ", "1.00 s"},
      {"minor collections: ", "123"},
      {"time in minor collections: ", "1.00 s"},
      {"longest minor collection: ", "1.00 ms"},
      {"time in major collections: ", "12.3 s"},
      {"increments of major collections: ", "678"},
      {"longest increment: ", "1.00 ms"},
      {"compactions: ", "9"},
      {"pauses: ", "10000"},
      {"pause p50: ", "1.01 us"},
      {"pause p99.99: ", "5.12 us"},
      {"longest pause: ", "6.00 us"},
      {"share of time in pauses: ", "12.50 %"},
      {"allocated bytes: ", "1024 TiB"},
      {"promoted objects: ", "77"},
      {"promoted bytes: ", "2.50 TiB"},
      {"share of the nursery that survived: ", "50.00 %"},
      {"most memory used: ", "1.00 KiB"},
      {"memory used in the end: ", "1023 B"},
      {"live after the last major collection: ", "1.00 MiB"},
      {"most memory live: ", "1.00 GiB"},
      {"nursery size: ", "4.00 MiB"},
      {"in old objects: ", "1.00 MiB"},
      {"free between old objects: ", "3.00 MiB"},
      {"in empty arenas: ", "2.00 MiB"},
      {"of metadata: ", "2.00 MiB"},
      {"of nursery, stacks and tables: ", "5.00 MiB"},
      {"most arenas: ", "5"},
      {"resident in arenas: ", "1.00 GiB"},
      {"of that on huge pages: ", "768 MiB"},
  };
  const char *text = summary_of(&much, 1000);
  for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) assert_says(text, wanted[i][0], wanted[i][1]);
}

/* Its maker frees the summary of a heap that was not made. */
static void a_heap_that_was_not_made_has_no_summary(void **state) {
  (void)state;
  const cradle_statistics none = {.wall_ns = 0};
  const cradle_event end = {.kind = CRADLE_EVENT_HEAP_DESTROYED, .u.destroyed = {&none}};
  size_t passed_on = 0;
  cradle_options options = {.listener = {count_event, &passed_on}};
  (void)crd_log_open_totals(&options);
  cradle_listener listener = options.listener;
  caught stream = catch_errors();
  send_pause_to(listener, 1, 2);
  listener.function(listener.data, &end);
  assert_string_equal(caught_errors(&stream), "");
  assert_int_equal(passed_on, 2);
  crd_chain_settle(listener, (cradle_listener){count_event, &passed_on}, NULL);
}

/* Runs a heap in its own process; returns what the process wrote to standard error. */
static char *errors_of_run(const char *wanted, int end) {
  static char text[8192];
  int pipe_ends[2], status;
  assert_int_equal(pipe(pipe_ends), 0);
  fflush(NULL);
  pid_t child = fork();
  if (child == 0) {
    cradle_options options;
    dup2(pipe_ends[1], STDERR_FILENO);
    close(pipe_ends[0]);
    close(pipe_ends[1]);
    setenv("CRADLE_STATS", wanted, 1);
    if (end == FREED_AT_EXIT) atexit(free_heap); /* registered before the function of the heap, so it runs after that */
    cradle_options_init(&options);
    options.types = types;
    options.type_count = TYPE_COUNT;
    heap = cradle_heap_new_from_environment(&options, NULL);
    mutator = cradle_mutator_new(heap);
    if (end != FRESH) allocate(mutator);
    if (end == FORKED && fork() == 0) exit(0);
    if (end == FREED_IN_CHILD && fork() == 0) free_heap(), _exit(0);
    if (end == FREED) free_heap();
    if (end == FORKED || end == FREED_IN_CHILD) wait(NULL);
    exit(0);
  }
  close(pipe_ends[1]);
  size_t length = 0;
  ssize_t part;
  while ((part = read(pipe_ends[0], text + length, sizeof text - 1 - length)) > 0) length += (size_t)part;
  text[length] = '\0';
  close(pipe_ends[0]);
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_int_equal(status, 0);
  return text;
}

static int summaries_in(const char *text) {
  int count = 0;
  for (; (text = strstr(text, "cradle: statistics of heap ")) != NULL; text++) count++;
  return count;
}

static void the_summary_is_printed_once(void **state) {
  (void)state;
  for (int end = FREED; end < ENDS; end++) {
    const char *text = errors_of_run("1", end);
    if (summaries_in(text) != 1) fail_msg("end %d: %s", end, text);
    assert_non_null(strstr(text, "p99.99"));
  }
}

static void a_heap_that_did_nothing_has_a_summary(void **state) {
  (void)state;
  const char *text = errors_of_run("1", FRESH);
  assert_int_equal(summaries_in(text), 1);
  assert_says(text, "pauses: ", "0");
  assert_null(strstr(text, "nursery size:                           0 B"));
}

static int status_of_a_child(void) {
  int status;
  pid_t child = fork();
  if (child == 0) {
    yields = 0;
    ends_with_its_yields = true;
    exit(0);
  }
  waitpid(child, &status, 0);
  return status;
}

static void *free_it(void *of) {
  cradle_heap_free(of);
  return NULL;
}

/* A full pipe that replaces standard error until full_pipe_end. */
typedef struct full_pipe {
  int ends[2], kept;
} full_pipe;

static void full_pipe_begin(full_pipe *stream, int flags) {
  static const char filling[4096];
  fflush(NULL);
  stream->kept = dup(STDERR_FILENO);
  assert_int_equal(pipe(stream->ends), 0);
  assert_int_equal(fcntl(stream->ends[1], F_SETPIPE_SZ, sizeof filling), sizeof filling);
  assert_int_equal(write(stream->ends[1], filling, sizeof filling), sizeof filling);
  fcntl(stream->ends[1], F_SETFL, flags);
  dup2(stream->ends[1], STDERR_FILENO);
}

/* Returns what was written after the filling, once the thread has ended. */
static const char *full_pipe_end(const full_pipe *stream, pthread_t thread) {
  static char text[4096];
  assert_int_equal(read(stream->ends[0], text, sizeof text), sizeof text);
  pthread_join(thread, NULL);
  dup2(stream->kept, STDERR_FILENO);
  close(stream->kept);
  close(stream->ends[1]);
  ssize_t length = read(stream->ends[0], text, sizeof text - 1);
  text[length < 0 ? 0 : length] = '\0';
  close(stream->ends[0]);
  return text;
}

static cradle_heap *heap_with_summary(void) {
  cradle_options options;
  cradle_options_init(&options);
  setenv("CRADLE_STATS", "1", 1);
  cradle_heap *made = cradle_heap_new_from_environment(&options, NULL);
  unsetenv("CRADLE_STATS");
  return made;
}

static void *report_it(void *words) {
  crd_report("%s", (const char *)words);
  return NULL;
}

/* The pipe does not block writers, and is read a while later. */
static void what_is_printed_waits_for_room(void **state) {
  full_pipe stream;
  pthread_t thread;
  (void)state;
  cradle_heap *one = heap_with_summary();
  full_pipe_begin(&stream, O_NONBLOCK);
  pthread_create(&thread, NULL, free_it, one);
  usleep(100000);
  assert_int_equal(summaries_in(full_pipe_end(&stream, thread)), 1);
  full_pipe_begin(&stream, O_NONBLOCK);
  pthread_create(&thread, NULL, report_it, (char *)(uintptr_t)"said");
  usleep(100000);
  assert_string_equal(full_pipe_end(&stream, thread), "cradle: said\n");
}

/* The summary is locked while it is printed. After the wait, the thread has probably reached this point, but not
 * certainly. */
static void a_child_does_not_wait_for_a_thread_that_it_has_not(void **state) {
  full_pipe stream;
  pthread_t thread;
  (void)state;
  cradle_heap *one = heap_with_summary();
  full_pipe_begin(&stream, 0);
  pthread_create(&thread, NULL, free_it, one);
  usleep(300000);
  int status = status_of_a_child();
  assert_int_equal(summaries_in(full_pipe_end(&stream, thread)), 1);
  assert_int_equal(status, 0);
}

/* The table of options reads the name as its number. */
static void another_spelling_of_1_asks_for_it(void **state) {
  (void)state;
  assert_int_equal(summaries_in(errors_of_run("01", FREED)), 1);
}

static void the_summary_is_not_printed_unasked(void **state) {
  (void)state;
  assert_string_equal(errors_of_run("00", FREED), "");
  const char *two = errors_of_run("2", FREED);
  assert_non_null(strstr(two, "CRADLE_STATS=2: not accepted"));
  assert_int_equal(summaries_in(two), 0);
  assert_int_equal(summaries_in(errors_of_run("1x", FREED)), 0);
  assert_string_equal(errors_of_run("0", FREED), "");
  assert_string_equal(errors_of_run("", ALIVE), "");
  const char *text = errors_of_run("yes", FREED);
  assert_non_null(strstr(text, "CRADLE_STATS=yes: not accepted; wants 0 or 1"));
  assert_int_equal(summaries_in(text), 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(quantiles_are_within_a_bucket),
      cmocka_unit_test(the_ends_of_the_histogram),
      cmocka_unit_test(quantiles_of_small_values_are_exact),
      cmocka_unit_test(values_are_read_back_as_the_end_of_their_bucket),
      cmocka_unit_test(pauses_are_what_their_events_say),
      cmocka_unit_test(each_quantile_is_that_of_its_name),
      cmocka_unit_test(the_statistics_are_what_the_events_come_to),
      cmocka_unit_test(what_helpers_do_is_counted),
      cmocka_unit_test(a_heap_that_nobody_listens_to_is_counted_too),
      cmocka_unit_test(the_last_class_has_the_largest_small_objects),
      cmocka_unit_test(structures_of_other_sizes_are_filled),
      /* first, because a summary here would make all that follow end after what their processes register */
      cmocka_unit_test(the_summary_is_printed_once),
      cmocka_unit_test(a_heap_that_did_nothing_has_a_summary),
      cmocka_unit_test(what_is_printed_waits_for_room),
      cmocka_unit_test(a_child_does_not_wait_for_a_thread_that_it_has_not),
      cmocka_unit_test(another_spelling_of_1_asks_for_it),
      cmocka_unit_test(the_summary_is_not_printed_unasked),
      cmocka_unit_test(the_summary_of_nothing),
      cmocka_unit_test(the_summary_of_much),
      cmocka_unit_test(a_heap_that_was_not_made_has_no_summary),
  };
  atexit(end_with_yields); /* registered before the heaps' own functions, so it runs after them */
  return cmocka_run_group_tests(tests, NULL, NULL);
}
