/* The log: selection and format. Most tests feed it events by hand; the last ones run a heap. */
#include "tests/runtime/log_fixture.h"
#include "tests/support/allocated.h"

#include <sys/stat.h>

/* --- selection --- */

static void everything_is_logged(void **state) {
  char *text = log_of_life(":");
  (void)state;
  assert_int_equal(read_sections(text), 12);
  assert_int_equal(strncmp(text, "[", 1), 0);
  assert_has(text, "] {cradle-log\nheap: ");
  assert_has(text, "\nCradle log, format 1\n1 tick = 1 ns of CLOCK_MONOTONIC\nseconds since 1970: ");
  assert_has(text, "\nprocess ");
  assert_has(text, "L2cache = 1048576\nL2cache from: sysfs\nL3cache = 33554432\n"
                   "L3cache from: sysconf\nmemory: 68719476736\npage size: 4096\n"
                   "transparent huge page size: 2097152\ntransparent huge pages: madvise\n"
                   "pool page size: 2097152, free pages: 7\n");
  assert_has(text, "nursery size: 524288\nprevious nursery size: 0\nreason: half of the L2 cache\n");
  assert_has(text, "used: 9500 => 6400\nnext major collection threshold: 11648\n"
                   "time taken: 1.999999500\n");
  assert_has(text, "cause: nursery full\ntime taken: 0.000023456\n");
  assert_has(text, "arenas given back: 2\narenas committed: 30, in use: 28\n"
                   "of the huge-page pool, bytes: 40000\nresident bytes: 60000, on huge pages: 50000\n");
  assert_has(text, "a note\nwanted: 8, got: 4\n");
  assert_has(text, "\nminor collections: 1\ntime in minor collections: 0.000012345\n");
  free(text);
}

/* Written out in full: this is the format. */
static void the_minor_section_is_as_documented(void **state) {
  const char *path = fresh_name(".log");
  (void)state;
  crd_link *log = open_log("gc-minor:", path);
  now = (uint64_t)1 << 60;
  send_minor(log);
  close_log(log);
  char *text = must_read(path);
  assert_has(text, "[1000000000000010] {gc-minor\nheap: "); /* and the label */
  assert_has(text, "\ncause: nursery full\n"
                   "[1000000000000020] {gc-minor-walkroots\n"
                   "root words: 12\n"
                   "[1000000000000030] gc-minor-walkroots}\n"
                   "minor collect, total memory used: 1320\n"
                   "number of pinned objects: 2\n"
                   "total size of surviving objects: 320\n"
                   "promoted objects: 10\n"
                   "remembered objects: 3\n"
                   "recorded slots: 0\n"
                   "nursery used: 4194304\n"
                   "large objects freed, bytes: 0\n"
                   "memory before: 5000, after: 1320\n"
                   "time taken: 0.000012345\n"
                   "[1000000000000040] gc-minor}\n");
  free(text);
}

/* Each size class has a section; a field that means nothing is left out. */
static void spans_and_the_second_core_have_sections(void **state) {
  const char *path = fresh_name(".log");
  (void)state;
  crd_link *log = open_log("gc-spans,gc-beside:", path);
  send_event(log, (cradle_event){.kind = CRADLE_EVENT_SPANS, .u.spans = {16, 4096, 255, 3, 8000, 12288, 35}});
  send_event(log, (cradle_event){.kind = CRADLE_EVENT_BESIDE, .u.beside = {7, 224, 0, 5000, 1000}});
  send_event(log, (cradle_event){.kind = CRADLE_EVENT_BESIDE, .u.beside = {8, 256, 2, 1000000000, 2000}});
  close_log(log);
  char *text = must_read(path);
  assert_int_equal(read_sections(text), 4);
  assert_has(text, "\nobject size: 16, span size: 4096, objects in a span: 255, spans: 3, used: 8000, memory: 12288, "
                   "waste in percent: 35\n[");
  assert_has(text, "\nmarked beside the program, objects: 7, bytes: 224\nthe second core ran: 0.000005000\n"
                   "waited for it to stop: 0.000001000\n[");
  assert_has(text, "\nmarked beside the program, objects: 8, bytes: 256\nput aside: 2\n"
                   "the second core ran: 1.000000000\nwaited for it to stop: 0.000002000\n[");
  free(text);
}

static void a_bare_name_logs_everything(void **state) {
  (void)state;
  char *text = log_of_life("");
  assert_int_equal(read_sections(text), 12);
  assert_has(text, "\ncause: nursery full\n");
  free(text);
}

static void prefixes_select_sections(void **state) {
  (void)state;
  char *text = log_of_life("gc-minor,gc-heap:");
  assert_int_equal(read_sections(text), 4);
  assert_has(text, "1 tick = 1 ns of CLOCK_MONOTONIC\n");
  assert_has(text, "{gc-minor\n");
  assert_has(text, "{gc-minor-walkroots\n");
  assert_has(text, "{gc-heap-end\n");
  assert_lacks(text, "gc-collect");
  free(text);
}

/* As in RPython: a nested section is written when it is selected, whatever is around it. */
static void nested_sections_are_selected_by_themselves(void **state) {
  (void)state;
  char *text = log_of_life("gc-collect-step,gc-minor-w:");
  assert_int_equal(read_sections(text), 3);
  assert_has(text, "{gc-collect-step\nheap: ");
  assert_has(text, "\nstarting gc state: marking\nmarked objects: 100\n");
  assert_has(text, "{gc-minor-walkroots\nheap: ");
  assert_lacks(text, "surviving");
  assert_lacks(text, "cause");
  free(text);
}

static void a_section_of_its_own_can_hold_the_head(void **state) {
  (void)state;
  char *text = log_of_life("cradle-log:");
  assert_int_equal(read_sections(text), 1);
  free(text);
}

/* --- standard error --- */

static void live_on_stderr(void *data) {
  (void)data;
  send_life(open_log(":", "-"));
}

static void a_dash_is_standard_error(void **state) {
  (void)state;
  char *text = errors_of(live_on_stderr, NULL);
  assert_int_equal(read_sections(text), 12);
  free(text);
}

static long bytes_on_stderr(void) {
  struct stat status;
  fstat(STDERR_FILENO, &status);
  return (long)status.st_size;
}

static void minor_then_look(void *data) {
  crd_link *log = open_log(":", "-");
  send_minor(log);
  *(long *)data = bytes_on_stderr();
  close_log(log);
}

static void standard_error_is_written_at_each_section(void **state) {
  long size = 0;
  (void)state;
  char *text = errors_of(minor_then_look, &size);
  assert_int_equal(size, strlen(text));
  assert_int_equal(read_sections(text), 3);
  free(text);
}

/* What lies in a section is written with it, so that heaps on several threads do not mix; where it alone is selected,
 * at its own end. */
static void roots_then_look(void *data) {
  long *grown = data;
  for (int i = 0; i < 2; i++) {
    crd_link *log = open_log(i == 0 ? "gc-minor:" : "gc-minor-w:", "-");
    long before = bytes_on_stderr();
    send_event(log, (cradle_event){.kind = CRADLE_EVENT_MINOR_BEGIN});
    send_kind(log, CRADLE_EVENT_ROOTS_BEGIN);
    send_kind(log, CRADLE_EVENT_ROOTS_END);
    grown[i] = bytes_on_stderr() - before;
    close_log(log);
  }
}

static void inner_sections_wait_for_theirs_on_standard_error(void **state) {
  long grown[2];
  (void)state;
  free(errors_of(roots_then_look, grown));
  assert_int_equal(grown[0], 0);
  assert_true(grown[1] > 0);
}

static void time_never_goes_back(void **state) {
  const char *path = fresh_name(".log");
  (void)state;
  crd_link *log = open_log(":", path);
  now = UINT64_MAX - 1000;
  send_minor(log);
  now = 5;
  send_minor(log);
  close_log(log);
  char *text = must_read(path);
  assert_int_equal(read_sections(text), 5);
  free(text);
}

/* --- the sink's life --- */

static void destroyed_before_the_hand_over_keeps_the_log(void **state) {
  const char *path = fresh_name(".log");
  int events = 0;
  char selection[300];
  (void)state;
  snprintf(selection, sizeof selection, ":%s", path);
  crd_link *log = open_log_before(selection, (cradle_listener){no_listener, &events});
  send_created(log);
  send_kind(log, CRADLE_EVENT_HEAP_DESTROYED);
  assert_int_equal(events, 3);
  close_log(log);
  char *text = must_read(path);
  assert_int_equal(read_sections(text), 4);
  free(text);
}

static cradle_heap *start(const char *path, cradle_options *options, cradle_error *error) {
  char selection[300];
  snprintf(selection, sizeof selection, "gc:%s", path);
  setenv("CRADLE_LOG", selection, 1);
  cradle_heap *heap = cradle_heap_new_from_environment(options, error);
  unsetenv("CRADLE_LOG");
  return heap;
}

static void a_heap_logs_its_life(void **state) {
  const char *path = fresh_name(".log");
  cradle_options options;
  cradle_error error;
  int events = 0;
  (void)state;
  cradle_options_init(&options);
  options.listener = (cradle_listener){no_listener, &events};
  cradle_heap *heap = start(path, &options, &error);
  if (heap == NULL) fail_msg("%s", error.message);
  cradle_mutator *mutator = cradle_mutator_new(heap);
  cradle_collect(mutator, CRADLE_COLLECT_MINOR);
  cradle_collect(mutator, CRADLE_COLLECT_FULL);
  cradle_mutator_free(mutator);
  cradle_heap_free(heap);
  char *text = must_read(path);
  assert_true(read_sections(text) >= 10);
  assert_has(text, "{gc-hardware\n");
  assert_has(text, "cause: request\n");
  assert_has(text, "{gc-collect-done\n");
  assert_has(text, "{gc-heap-end\n");
  assert_true(events >= 10);
  free(text);
}

static void a_heap_that_cannot_be_made_frees_its_log(void **state) {
  cradle_options options;
  cradle_error error;
  (void)state;
  cradle_options_init(&options);
  options.nursery_bytes = 1; /* refused before the first event */
  assert_null(start(fresh_name(".log"), &options, &error));
  assert_has(error.message, "nursery_bytes");
  cradle_options_init(&options);
  const cradle_hardware no_pool = {.page_bytes = 4096};
  options.hardware = &no_pool; /* and after it */
  options.hugepages_nursery = CRADLE_HUGEPAGES_HUGETLB_STRICT;
  const char *path = fresh_name(".log");
  assert_null(start(path, &options, &error));
  assert_has(error.message, "hugepages_nursery: strict");
  assert_string_equal(error.option, "hugepages_nursery");
  char *text = must_read(path);
  read_sections(text);
  assert_has(text, "{gc-heap-end\n");
  free(text);
  options.size = 8;
  assert_null(start(fresh_name(".log"), &options, &error));
  assert_has(error.message, "version");
}

/* --- stress --- */

CRADLE_UNCHECKED_COLLECTION static void stress_without_roots(void *data) {
  static const cradle_type leaf = {.name = "leaf", .size = 16};
  cradle_options options;
  (void)data;
  cradle_options_init(&options);
  options.types = &leaf;
  options.type_count = 1;
  setenv("CRADLE_STRESS", "1", 1);
  cradle_heap *heap = cradle_heap_new_from_environment(&options, NULL);
  unsetenv("CRADLE_STRESS");
  assert_non_null(heap);
  cradle_mutator *mutator = cradle_mutator_new(heap);
  for (int i = 0; i < 10; i++) (void)cradle_new(mutator, 0, leaf.size);
  cradle_mutator_free(mutator);
  cradle_heap_free(heap);
}

/* Whoever asked for it in the environment need not have a listener. */
static void a_stress_run_that_moved_nothing_is_told(void **state) {
  (void)state;
  char *text = errors_of(stress_without_roots, NULL);
  assert_string_equal(text, "cradle: stress: nothing moved, so that the run proves nothing (CRADLE_STRESS)\n");
  free(text);
}

/* --- memory --- */

/* Each variable's value is the two parts, with the folder between them if there is a second part. */
static const struct {
  const char *variable, *value, *file;
} services[] = {{"CRADLE_LOG", "gc:", "/services-%d.log"},
                {"CRADLE_STATS", "1", NULL},
                {"CRADLE_STRESS", "1000", NULL},
                {"CRADLE_PROFILE", "", "/services.profile"},
                {"CRADLE_FAULTS", "1", NULL}};
enum { SERVICES = sizeof services / sizeof services[0] };

/* The program's own listener has every event, too. */
static void live_with_services(void) {
  cradle_options options;
  int events = 0;
  cradle_options_init(&options);
  options.listener = (cradle_listener){no_listener, &events};
  cradle_heap *heap = cradle_heap_new_from_environment(&options, NULL);
  assert_non_null(heap);
  cradle_mutator *mutator = cradle_mutator_new(heap);
  cradle_collect(mutator, CRADLE_COLLECT_FULL);
  cradle_mutator_free(mutator);
  cradle_heap_free(heap);
  assert_true(events >= 10);
}

static void fail_with_services(void) {
  static const cradle_hardware no_pool = {.page_bytes = 4096};
  cradle_options options;
  cradle_options_init(&options);
  options.hardware = &no_pool;
  options.hugepages_nursery = CRADLE_HUGEPAGES_HUGETLB_STRICT;
  assert_null(cradle_heap_new_from_environment(&options, NULL));
}

static void open_no_log(void) {
  assert_null(open_log(":", "/no/such/folder/of-a-log"));
}

/* At first the process keeps the reports that it made, and the C library keeps some freed blocks at hand. */
static void use_services(void *data) {
  void (*const uses[])(void) = {live_with_services, fail_with_services, open_no_log};
  enum { ROUNDS = 10 };
  size_t *kept = data;
  for (int i = 0; i < 3; i++) {
    for (int round = 0; round < ROUNDS; round++) uses[i]();
    size_t before = allocated_bytes();
    for (int round = 0; round < ROUNDS; round++) uses[i]();
    kept[i] = allocated_bytes() - before;
  }
}

static void the_services_of_a_heap_free_their_memory(void **state) {
  size_t kept[3];
  (void)state;
  for (int i = 0; i < SERVICES; i++) {
    char value[300];
    const char *file = services[i].file;
    snprintf(value, sizeof value, "%s%s%s", services[i].value, file == NULL ? "" : folder, file == NULL ? "" : file);
    setenv(services[i].variable, value, 1);
  }
  free(errors_of(use_services, kept));
  for (int i = 0; i < SERVICES; i++) unsetenv(services[i].variable);
  assert_int_equal(kept[0], 0);
  assert_int_equal(kept[1], 0);
  assert_int_equal(kept[2], 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(everything_is_logged),
      cmocka_unit_test(the_minor_section_is_as_documented),
      cmocka_unit_test(spans_and_the_second_core_have_sections),
      cmocka_unit_test(a_bare_name_logs_everything),
      cmocka_unit_test(prefixes_select_sections),
      cmocka_unit_test(nested_sections_are_selected_by_themselves),
      cmocka_unit_test(a_section_of_its_own_can_hold_the_head),
      cmocka_unit_test(a_dash_is_standard_error),
      cmocka_unit_test(standard_error_is_written_at_each_section),
      cmocka_unit_test(inner_sections_wait_for_theirs_on_standard_error),
      cmocka_unit_test(time_never_goes_back),
      cmocka_unit_test(destroyed_before_the_hand_over_keeps_the_log),
      cmocka_unit_test(a_heap_logs_its_life),
      cmocka_unit_test(a_heap_that_cannot_be_made_frees_its_log),
      cmocka_unit_test(a_stress_run_that_moved_nothing_is_told),
      cmocka_unit_test(the_services_of_a_heap_free_their_memory),
  };
  return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
