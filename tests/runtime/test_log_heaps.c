/* The line log of heaps that run: it says what their events said, under stress and on several threads too. */
#include "tests/runtime/line_log.h"

#include <pthread.h>

typedef struct node {
  uint64_t header;
  struct node *next;
} node;
#define LARGE_BYTES (5u << 20)
enum { T_NODE, T_LARGE, T_COUNT };
static const cradle_type types[T_COUNT] = {
    [T_NODE] = {.name = "node", .size = sizeof(node), .references = CRADLE_SLOT(node, next)},
    [T_LARGE] = {.name = "large", .size = LARGE_BYTES},
};

/* What the events said, and what the heap counted. */
typedef struct told {
  struct {
    double promoted, pause, before, after;
  } minor[20000];
  int minors, pauses;
  cradle_statistics last;
  uint64_t given_back, given_back_in_lines; /* arenas; until the last pause in which a major collection ended */
} told;

static void remember(void *data, const cradle_event *event) {
  told *all = data;
  if (event->kind == CRADLE_EVENT_MINOR_END) {
    assert_in_range(all->minors, 0, 19999);
    all->minor[all->minors].promoted = (double)event->u.minor.promoted_bytes;
    all->minor[all->minors].before = (double)event->u.minor.used_before;
    all->minor[all->minors].after = (double)event->u.minor.used_after;
    all->minor[all->minors++].pause = (double)event->u.minor.duration_ns;
  }
  if (event->kind == CRADLE_EVENT_PAUSE) all->minor[all->minors - 1].pause = (double)event->u.pause.duration_ns;
  if (event->kind == CRADLE_EVENT_ARENAS) all->given_back += event->u.arenas.given_back;
  if (event->kind == CRADLE_EVENT_SPANS) all->given_back_in_lines = all->given_back;
  if (event->kind == CRADLE_EVENT_HEAP_DESTROYED) all->last = *event->u.destroyed.statistics;
}

/* Its arenas are given back when it has died old. */
CRADLE_UNCHECKED_COLLECTION static void live_through_large(cradle_mutator *m) {
  {
    void *large = cradle_new(m, T_LARGE, LARGE_BYTES);
    CRADLE_ROOT(m, large);
    cradle_collect(m, CRADLE_COLLECT_MAJOR);
  }
  cradle_collect(m, CRADLE_COLLECT_COMPACTING);
}

CRADLE_UNCHECKED_COLLECTION static void use(cradle_mutator *m) {
  node *list = NULL;
  CRADLE_ROOT(m, list);
  for (int i = 0; i < 30000; i++) {
    node *fresh = cradle_new(m, T_NODE, sizeof(node));
    fresh->next = i % 7000 == 0 ? NULL : list;
    if (i % 2 == 0) list = fresh;
    if (i % 9000 == 8999) live_through_large(m);
  }
  cradle_collect(m, CRADLE_COLLECT_FULL);
}

typedef struct life {
  const char *path;
  uint64_t stress;
  told told;
} life;

static cradle_heap *heap_with_log(life *of) {
  cradle_options options;
  cradle_error error;
  char text[300];
  cradle_options_init(&options);
  options.types = types;
  options.type_count = T_COUNT;
  options.nursery_bytes = 16384;
  options.major_min_bytes = 16384;
  options.reserve_bytes = (size_t)1 << 30; /* emulators have little address space for many heaps */
  options.stress_period = of->stress;
  options.stress_major = of->stress != 0 ? 5 : 0;
  options.verify = of->stress != 0;
  snprintf(text, sizeof text, "line:%s", of->path);
  crd_link *log = open_log_before(text, (cradle_listener){remember, &of->told});
  options.listener = (cradle_listener){crd_link_hear, log};
  cradle_heap *heap = cradle_heap_new(&options, &error);
  if (heap == NULL) fail_msg("%s", error.message);
  give_heap(log);
  return heap;
}

CRADLE_UNCHECKED_COLLECTION static void *live(void *data) {
  cradle_heap *heap = heap_with_log(data);
  cradle_mutator *m = cradle_mutator_new(heap);
  use(m);
  cradle_mutator_free(m);
  cradle_heap_free(heap);
  return NULL;
}

static bool is_near(double written, double told) {
  return written >= told * 0.9949 && written <= told * 1.0051;
}

/* The lines say what the events said. */
static void assert_same(const char *text, const char *label, const life *of) {
  uint64_t majors = 0;
  double given_back = 0;
  int minors = 0;
  for (; *text != '\0'; text = strchr(text, '\n') + 1) {
    char one[600];
    snprintf(one, sizeof one, "%.*s", (int)strcspn(text, "\n"), text);
    if (*one == '#') continue;
    line read = read_line(one);
    if (strcmp(read.label, label) != 0) continue;
    given_back += read.given_back;
    if (read.is_major && ++majors != 0) continue;
    assert_true(is_near(read.survived, of->told.minor[minors].promoted));
    assert_true(is_near(read.before, of->told.minor[minors].before));
    assert_true(is_near(read.after, of->told.minor[minors].after));
    assert_true(is_near(read.pause, of->told.minor[minors].pause));
    minors++;
  }
  assert_int_equal(minors, of->told.last.minor_collections);
  assert_int_equal(majors, of->told.last.major_collections);
  assert_true(majors >= 4);
  assert_true(of->told.given_back_in_lines >= 6 || of->stress != 0); /* under stress nothing is */
  double told = (double)of->told.given_back_in_lines * (double)of->told.last.arena_bytes;
  if (!is_near(given_back, told)) fail_msg("given back: %f written, %f told", given_back, told);
}

static void lives_are_logged(uint64_t stress) {
  enum { HEAPS = 3 };
  static life lives[HEAPS];
  pthread_t threads[HEAPS];
  char path[300];
  snprintf(path, sizeof path, "%s", fresh_name(".log"));
  for (int i = 0; i < HEAPS; i++) lives[i] = (life){.path = path, .stress = stress};
  for (int i = 0; i < HEAPS; i++) assert_int_equal(pthread_create(&threads[i], NULL, live, &lives[i]), 0);
  for (int i = 0; i < HEAPS; i++) pthread_join(threads[i], NULL);
  char *text = must_read(path);
  whole_log log = read_lines(text, true);
  assert_int_equal(log.heap_count, HEAPS);
  uint64_t collections = 0;
  for (int i = 0; i < HEAPS; i++)
    collections += lives[i].told.last.minor_collections + lives[i].told.last.major_collections;
  assert_int_equal(log.line_count, collections);
  free(text);
}

static void a_heap_is_logged(uint64_t stress) {
  static life of;
  of = (life){.path = fresh_name(".log"), .stress = stress};
  live(&of);
  char *text = must_read(of.path);
  whole_log log = read_lines(text, true);
  assert_same(text, log.heaps[0].label, &of);
  free(text);
}

static void the_lines_say_what_the_events_said(void **state) {
  (void)state;
  a_heap_is_logged(0);
}

static void so_they_do_under_stress(void **state) {
  (void)state;
  a_heap_is_logged(50);
}

static void heaps_of_threads_are_logged(void **state) {
  (void)state;
  lives_are_logged(0);
  lives_are_logged(100);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_lines_say_what_the_events_said),
      cmocka_unit_test(so_they_do_under_stress),
      cmocka_unit_test(heaps_of_threads_are_logged),
  };
  return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
