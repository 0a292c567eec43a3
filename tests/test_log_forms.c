/* The log as JSON lines and as a trace, which several heaps, threads and processes may share. */
#include "tests/log_fixture.h"

#include <pthread.h>
#include <sys/stat.h>

static void prefixes_select_in_every_form(void **state) {
  (void)state;
  char *json = log_of_life("json,gc-collect-step,gc-note:");
  assert_int_equal(count_of(json, "\n"), 1 + 2 + 1);
  assert_has(json,
             "\"event\":\"gc-collect-step\",\"phase\":\"end\",\"from\":\"marking\",\"marked_objects\":100,"
             "\"marked_bytes\":6400,\"freed_objects\":50,\"freed_bytes\":3100,\"freed_spans\":2,\"to\":\"sweeping\","
             "\"time_ns\":1999}\n");
  assert_has(json, "\"event\":\"gc-note\",\"text\":\"a note\",\"wanted\":8,\"got\":4}\n");
  free(json);
  char *trace = log_of_life("gc-collect-step,trace:");
  assert_int_equal(count_of(trace, "\n"), 3 + 2);
  assert_int_equal(count_of(trace, "\"name\":\"gc-collect-step\",\"ph\":\"B\""), 1);
  assert_int_equal(count_of(trace, "\"name\":\"gc-collect-step\",\"ph\":\"E\""), 1);
  free(trace);
}

static void words_are_escaped(void **state) {
  const char *path = fresh_name(".log");
  (void)state;
  crd_log *log = open_log("json:", path);
  send_event(log, (cradle_event){.kind = CRADLE_EVENT_NOTE, .u.note = {"a \"b\" \\ c\n\x01", 0, 0}});
  crd_log_close(log);
  char *text = must_read(path);
  assert_has(text, "\"text\":\"a \\u0022b\\u0022 \\u005c c\\u000a\\u0001\"}\n");
  free(text);
}

static void heaps_share_a_trace(void **state) {
  const char *path = fresh_name(".log");
  (void)state;
  crd_log *first = open_log("trace:", path), *second = open_log("trace:", path);
  send_life(second);
  send_life(first);
  char *text = must_read(path);
  assert_int_equal(strncmp(text, "[{", 2), 0);
  assert_int_equal(count_of(text, "\n,{"), count_of(text, "\n") - 1);
  assert_int_equal(count_of(text, "\"thread_name\""), 2);
  assert_int_equal(count_of(text, "\"ph\":\"B\""), count_of(text, "\"ph\":\"E\""));
  free(text);
}

static void assert_one_trace(const char *text) {
  assert_int_equal(strncmp(text, "[{", 2), 0);
  assert_int_equal(count_of(text, "\n,{"), count_of(text, "\n") - 1);
}

static pthread_barrier_t all_ready;

static void *live_with_others(void *path) {
  pthread_barrier_wait(&all_ready);
  crd_log_close(open_log("trace:", path));
  return NULL;
}

/* Whoever comes first empties the file and begins the array, however close the others are. */
static void heaps_of_threads_begin_one_trace(void **state) {
  enum { THREADS = 4, ROUNDS = 200 };
  (void)state;
  pthread_barrier_init(&all_ready, NULL, THREADS);
  for (int round = 0; round < ROUNDS; round++) {
    pthread_t threads[THREADS];
    char path[300];
    snprintf(path, sizeof path, "%s", fresh_name(".log"));
    write_old(path);
    for (int i = 0; i < THREADS; i++) assert_int_equal(pthread_create(&threads[i], NULL, live_with_others, path), 0);
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    char *text = must_read(path);
    assert_one_trace(text);
    assert_int_equal(count_of(text, "\"thread_name\""), THREADS);
    free(text);
  }
  pthread_barrier_destroy(&all_ready);
}

/* In another process, since this one has logged to standard error. */
static void live_twice_as_trace(void *data) {
  (void)data;
  pid_t child = fork();
  if (child == 0) begin_again("--two-traces", "-");
  assert_int_equal(wait_for(child), 0);
}

static void heaps_begin_one_trace_on_standard_error(void **state) {
  (void)state;
  char *text = errors_of(live_twice_as_trace, NULL);
  assert_one_trace(text);
  free(text);
}

static void heaps_begin_one_trace_in_a_pipe(void **state) {
  char path[300], text[4096] = "";
  (void)state;
  snprintf(path, sizeof path, "%s", fresh_name(".fifo"));
  assert_int_equal(mkfifo(path, 0600), 0);
  int reader = open(path, O_RDONLY | O_NONBLOCK);
  for (int i = 0; i < 2; i++) crd_log_close(open_log("trace:", path));
  assert_true(read(reader, text, sizeof text - 1) > 0);
  close(reader);
  assert_one_trace(text);
}

static void live_when_closed(const char *path, const int ends[2]) {
  char none;
  close(ends[1]);
  (void)!read(ends[0], &none, 1);
  crd_log_close(open_log("trace:", path));
}

/* One process may empty the file just as another one writes its head. */
static void processes_begin_one_trace(void **state) {
  enum { PROCESSES = 4, ROUNDS = 200 };
  (void)state;
  fflush(NULL);
  for (int round = 0; round < ROUNDS; round++) {
    const char *path = fresh_name(".log");
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    write_old(path);
    for (int i = 0; i < PROCESSES; i++) {
      if (fork() != 0) continue;
      live_when_closed(path, ends);
      _exit(0);
    }
    close(ends[0]);
    close(ends[1]);
    for (int i = 0; i < PROCESSES; i++) assert_int_equal(wait_for(-1), 0);
    char *text = must_read(path);
    assert_one_trace(text);
    free(text);
  }
}

static void heaps_are_told_apart(void **state) {
  const char *path = fresh_name(".log");
  char label[2][60], *line;
  (void)state;
  crd_log *logs[2] = {open_log("gc-minor,cradle-log:", path), open_log("gc-minor,cradle-log:", path)};
  for (int i = 0; i < 2; i++) {
    send_minor(logs[i]);
    crd_log_close(logs[i]);
  }
  char *text = line = must_read(path);
  for (int i = 0; i < 2; i++) {
    line = strstr(line, "{gc-minor\nheap: ");
    assert_non_null(line);
    assert_int_equal(sscanf(line, "{gc-minor\nheap: %59s", label[i]), 1);
    line++;
  }
  assert_string_not_equal(label[0], label[1]);
  assert_int_equal(strtol(label[0], NULL, 10), getpid());
  free(text);
}

static void a_word_of_nothing_is_told_beside_good_ones(void **state) {
  char selection[300];
  const char *path = fresh_name(".log");
  (void)state;
  snprintf(selection, sizeof selection, "jsn,gc-minor:%s", path);
  char *said = errors_of(open_and_live, selection);
  assert_has(
      said,
      "cradle: CRADLE_LOG: jsn: no section's name begins so, and no form has this name (text, json, trace or line; ");
  free(said);
  char *text = must_read(path);
  assert_has(text, "{gc-minor\n");
  assert_lacks(text, "gc-collect");
  free(text);
}

static void live_on_a_full_disk(void *data) {
  send_life(crd_log_open(data, (cradle_listener){0}));
}

static void a_full_disk_stops_the_trace_only(void **state) {
  (void)state;
  char *said = errors_of(live_on_a_full_disk, (char *)(uintptr_t)"trace:/dev/full");
  assert_true(count_of(said, "\n") <= 1); /* the same words were said before */
  free(said);
}

/* What tests run as another program. */
static int act(const char *action, const char *path) {
  (void)action;
  for (int i = 0; i < 2; i++) crd_log_close(open_log("trace:", path));
  return 0;
}

int main(int argc, char **argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(prefixes_select_in_every_form),
      cmocka_unit_test(words_are_escaped),
      cmocka_unit_test(heaps_share_a_trace),
      cmocka_unit_test(heaps_of_threads_begin_one_trace),
      cmocka_unit_test(heaps_begin_one_trace_on_standard_error),
      cmocka_unit_test(heaps_begin_one_trace_in_a_pipe),
      cmocka_unit_test(processes_begin_one_trace),
      cmocka_unit_test(heaps_are_told_apart),
      cmocka_unit_test(a_word_of_nothing_is_told_beside_good_ones),
      cmocka_unit_test(a_full_disk_stops_the_trace_only),
  };
  if (argc == 3) return act(argv[1], argv[2]);
  return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
