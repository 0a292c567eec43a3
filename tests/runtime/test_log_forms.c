/* The log as JSON lines and as a trace, which several heaps, threads and processes may share. */
#include "tests/runtime/log_fixture.h"

#include <pthread.h>
#include <sys/stat.h>
#include <time.h>

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

/* --- written out in full: these are the formats --- */

/* Replaces each number that follows these letters by one letter. */
static void name_number(char *text, const char *before, long number, char letter) {
  char part[60];
  int length = snprintf(part, sizeof part, "%s%ld", before, number);
  for (char *at = text; (at = strstr(at, part)) != NULL; at++) {
    char *end = at + length;
    at += strlen(before);
    *at = letter;
    memmove(at + 1, end, strlen(end) + 1);
  }
}

/* Events at times that are known, in a log whose process is called P and whose heap H. */
static char *log_of_known_events(const char *selection) {
  const char *path = fresh_name(".log");
  crd_link *log = open_log(selection, path);
  now = (uint64_t)1 << 60;
  send_minor(log);
  send_major(log);
  send_event(log, (cradle_event){.kind = CRADLE_EVENT_BESIDE, .u.beside = {7, 224, 0, 5000, 1000}});
  send_event(log, (cradle_event){.kind = CRADLE_EVENT_PAUSE,
                                 .u.pause = {.cause = CRADLE_CAUSE_REQUEST, .duration_ns = UINT64_MAX}});
  close_log(log);
  char *text = must_read(path);
  const char *thread = strstr(text, "\"tid\":"), *label = strstr(text, "\"heap\":\"");
  long heap = strtol(thread != NULL ? thread + 6 : strchr(label, '.') + 1, NULL, 10), process = getpid();
  name_number(text, "\"pid\":", process, 'P');
  name_number(text, "\"process ", process, 'P');
  name_number(text, "\"process\":", process, 'P');
  name_number(text, "\":\"", process, 'P');
  name_number(text, "\"tid\":", heap, 'H');
  name_number(text, "\"heap ", heap, 'H');
  name_number(text, "\"P.", heap, 'H');
  return text;
}

static void assert_time_of_day(const char *text) {
  const char *key = "\"unix_ns\":", *at = strstr(text, key);
  assert_non_null(at);
  assert_in_range(strtoull(at + strlen(key), NULL, 10) / 1000000000u, time(NULL) - 300, time(NULL) + 300);
}

static void the_json_lines_are_as_documented(void **state) {
  (void)state;
  char *text = log_of_known_events("json,cradle-log,gc-minor,gc-collect,gc-pause,gc-beside:");
  assert_ptr_equal(strstr(text, "{\"t\":"), text);
  assert_has(text, ",\"heap\":\"P.H\",\"event\":\"cradle-log\",\"format\":\"cradle-json\",\"version\":1,"
                   "\"clock\":\"CLOCK_MONOTONIC\",\"tick_ns\":1,\"unix_ns\":");
  assert_time_of_day(text);
  const char *end = strstr(text, ",\"process\":P}\n");
  assert_non_null(end);
  assert_string_equal(strchr(end, '\n') + 1,
                      "{\"t\":1152921504606846992,\"heap\":\"P.H\",\"event\":\"gc-minor\",\"phase\":\"begin\","
                      "\"cause\":\"nursery full\",\"used_bytes\":5000}\n"
                      "{\"t\":1152921504606847008,\"heap\":\"P.H\",\"event\":\"gc-minor-walkroots\","
                      "\"phase\":\"begin\"}\n"
                      "{\"t\":1152921504606847024,\"heap\":\"P.H\",\"event\":\"gc-minor-walkroots\","
                      "\"phase\":\"end\",\"root_words\":12}\n"
                      "{\"t\":1152921504606847040,\"heap\":\"P.H\",\"event\":\"gc-minor\",\"phase\":\"end\","
                      "\"pinned_objects\":2,\"promoted_bytes\":320,\"promoted_objects\":10,"
                      "\"remembered_objects\":3,\"recorded_slots\":0,\"nursery_used_bytes\":4194304,"
                      "\"large_freed_bytes\":0,\"used_before_bytes\":5000,\"used_after_bytes\":1320,"
                      "\"time_ns\":12345}\n"
                      "{\"t\":1152921504606847056,\"heap\":\"P.H\",\"event\":\"gc-collect\",\"cause\":\"threshold\","
                      "\"used_bytes\":9500,\"threshold_bytes\":9000}\n"
                      "{\"t\":1152921504606847072,\"heap\":\"P.H\",\"event\":\"gc-collect-step\","
                      "\"phase\":\"begin\"}\n"
                      "{\"t\":1152921504606847088,\"heap\":\"P.H\",\"event\":\"gc-collect-step\",\"phase\":\"end\","
                      "\"from\":\"marking\",\"marked_objects\":100,\"marked_bytes\":6400,\"freed_objects\":50,"
                      "\"freed_bytes\":3100,\"freed_spans\":2,\"to\":\"sweeping\",\"time_ns\":1999}\n"
                      "{\"t\":1152921504606847104,\"heap\":\"P.H\",\"event\":\"gc-collect-done\","
                      "\"cause\":\"threshold\",\"used_before_bytes\":9500,\"used_after_bytes\":6400,"
                      "\"threshold_bytes\":11648,\"time_ns\":1999999500}\n"
                      "{\"t\":1152921504606847120,\"heap\":\"P.H\",\"event\":\"gc-pause\",\"cause\":\"nursery full\","
                      "\"time_ns\":23456}\n"
                      "{\"t\":1152921504606847152,\"heap\":\"P.H\",\"event\":\"gc-beside\",\"marked_objects\":7,"
                      "\"marked_bytes\":224,\"run_ns\":5000,\"stop_ns\":1000}\n"
                      "{\"t\":1152921504606847168,\"heap\":\"P.H\",\"event\":\"gc-pause\",\"cause\":\"request\","
                      "\"time_ns\":18446744073709551615}\n");
  free(text);
}

static void the_trace_is_as_documented(void **state) {
  (void)state;
  char *text = log_of_known_events("trace,gc-minor,gc-collect,gc-pause,gc-beside:");
  assert_ptr_equal(strstr(text, "[{\"name\":\"process_name\",\"ph\":\"M\",\"ts\":"), text);
  assert_has(text, ",\"pid\":P,\"tid\":H,\"args\":{\"name\":\"process P\"}}\n"
                   ",{\"name\":\"thread_name\",\"ph\":\"M\",\"ts\":");
  assert_has(text, ",\"pid\":P,\"tid\":H,\"args\":{\"name\":\"heap H\"}}\n"
                   ",{\"name\":\"cradle-log\",\"ph\":\"i\",\"ts\":");
  assert_has(text, ",\"pid\":P,\"tid\":H,\"s\":\"t\",\"args\":{\"format\":\"cradle-trace\",\"version\":1,"
                   "\"clock\":\"CLOCK_MONOTONIC\",\"tick_ns\":1,\"unix_ns\":");
  assert_time_of_day(text);
  const char *end = strstr(text, ",\"process\":P}}\n");
  assert_non_null(end);
  assert_string_equal(
      strchr(end, '\n') + 1,
      ",{\"name\":\"gc-minor\",\"ph\":\"B\",\"ts\":1152921504606846.992,\"pid\":P,\"tid\":H,"
      "\"args\":{\"heap\":\"P.H\",\"cause\":\"nursery full\",\"used_bytes\":5000}}\n"
      ",{\"name\":\"used bytes\",\"ph\":\"C\",\"ts\":1152921504606846.992,\"pid\":P,\"tid\":H,"
      "\"id\":\"P.H\",\"args\":{\"value\":5000}}\n"
      ",{\"name\":\"gc-minor-walkroots\",\"ph\":\"B\",\"ts\":1152921504606847.008,\"pid\":P,"
      "\"tid\":H}\n"
      ",{\"name\":\"gc-minor-walkroots\",\"ph\":\"E\",\"ts\":1152921504606847.024,\"pid\":P,"
      "\"tid\":H,\"args\":{\"heap\":\"P.H\",\"root_words\":12}}\n"
      ",{\"name\":\"gc-minor\",\"ph\":\"E\",\"ts\":1152921504606847.040,\"pid\":P,\"tid\":H,"
      "\"args\":{\"heap\":\"P.H\",\"pinned_objects\":2,\"promoted_bytes\":320,"
      "\"promoted_objects\":10,\"remembered_objects\":3,\"recorded_slots\":0,"
      "\"nursery_used_bytes\":4194304,\"large_freed_bytes\":0,\"used_before_bytes\":5000,"
      "\"used_after_bytes\":1320,\"time_ns\":12345}}\n"
      ",{\"name\":\"used bytes\",\"ph\":\"C\",\"ts\":1152921504606847.040,\"pid\":P,\"tid\":H,"
      "\"id\":\"P.H\",\"args\":{\"value\":1320}}\n"
      ",{\"name\":\"gc-collect\",\"ph\":\"i\",\"ts\":1152921504606847.056,\"pid\":P,\"tid\":H,"
      "\"s\":\"t\",\"args\":{\"heap\":\"P.H\",\"cause\":\"threshold\",\"used_bytes\":9500,"
      "\"threshold_bytes\":9000}}\n"
      ",{\"name\":\"major collection\",\"ph\":\"b\",\"ts\":1152921504606847.056,\"pid\":P,\"tid\":H,"
      "\"cat\":\"gc\",\"id\":\"P.H\"}\n"
      ",{\"name\":\"gc-collect-step\",\"ph\":\"B\",\"ts\":1152921504606847.072,\"pid\":P,\"tid\":H}\n"
      ",{\"name\":\"gc-collect-step\",\"ph\":\"E\",\"ts\":1152921504606847.088,\"pid\":P,\"tid\":H,"
      "\"args\":{\"heap\":\"P.H\",\"from\":\"marking\",\"marked_objects\":100,\"marked_bytes\":6400,"
      "\"freed_objects\":50,\"freed_bytes\":3100,\"freed_spans\":2,\"to\":\"sweeping\","
      "\"time_ns\":1999}}\n"
      ",{\"name\":\"gc-collect-done\",\"ph\":\"i\",\"ts\":1152921504606847.104,\"pid\":P,\"tid\":H,"
      "\"s\":\"t\",\"args\":{\"heap\":\"P.H\",\"cause\":\"threshold\",\"used_before_bytes\":9500,"
      "\"used_after_bytes\":6400,\"threshold_bytes\":11648,\"time_ns\":1999999500}}\n"
      ",{\"name\":\"major collection\",\"ph\":\"e\",\"ts\":1152921504606847.104,\"pid\":P,\"tid\":H,"
      "\"cat\":\"gc\",\"id\":\"P.H\"}\n"
      ",{\"name\":\"used bytes\",\"ph\":\"C\",\"ts\":1152921504606847.104,\"pid\":P,\"tid\":H,"
      "\"id\":\"P.H\",\"args\":{\"value\":6400}}\n"
      ",{\"name\":\"threshold bytes\",\"ph\":\"C\",\"ts\":1152921504606847.104,\"pid\":P,\"tid\":H,"
      "\"id\":\"P.H\",\"args\":{\"value\":11648}}\n"
      ",{\"name\":\"gc-pause\",\"ph\":\"i\",\"ts\":1152921504606847.120,\"pid\":P,\"tid\":H,\"s\":\"t\","
      "\"args\":{\"heap\":\"P.H\",\"cause\":\"nursery full\",\"time_ns\":23456}}\n"
      ",{\"name\":\"pause\",\"ph\":\"b\",\"ts\":1152921504606823.664,\"pid\":P,\"tid\":H,\"cat\":\"gc\","
      "\"id\":\"P.H\"}\n"
      ",{\"name\":\"pause\",\"ph\":\"e\",\"ts\":1152921504606847.120,\"pid\":P,\"tid\":H,\"cat\":\"gc\","
      "\"id\":\"P.H\"}\n"
      ",{\"name\":\"gc-beside\",\"ph\":\"i\",\"ts\":1152921504606847.152,\"pid\":P,\"tid\":H,\"s\":\"t\","
      "\"args\":{\"heap\":\"P.H\",\"marked_objects\":7,\"marked_bytes\":224,\"run_ns\":5000,"
      "\"stop_ns\":1000}}\n"
      ",{\"name\":\"second core\",\"ph\":\"b\",\"ts\":1152921504606842.152,\"pid\":P,\"tid\":H,"
      "\"cat\":\"gc\",\"id\":\"P.H/second core\"}\n"
      ",{\"name\":\"second core\",\"ph\":\"e\",\"ts\":1152921504606847.152,\"pid\":P,\"tid\":H,"
      "\"cat\":\"gc\",\"id\":\"P.H/second core\"}\n"
      ",{\"name\":\"gc-pause\",\"ph\":\"i\",\"ts\":1152921504606847.168,\"pid\":P,\"tid\":H,\"s\":\"t\","
      "\"args\":{\"heap\":\"P.H\",\"cause\":\"request\",\"time_ns\":18446744073709551615}}\n"
      ",{\"name\":\"pause\",\"ph\":\"b\",\"ts\":0.000,\"pid\":P,\"tid\":H,\"cat\":\"gc\",\"id\":\"P.H\"}\n"
      ",{\"name\":\"pause\",\"ph\":\"e\",\"ts\":1152921504606847.168,\"pid\":P,\"tid\":H,\"cat\":\"gc\","
      "\"id\":\"P.H\"}\n");
  free(text);
}

static void words_are_escaped(void **state) {
  const char *path = fresh_name(".log");
  (void)state;
  crd_link *log = open_log("json:", path);
  send_event(log, (cradle_event){.kind = CRADLE_EVENT_NOTE, .u.note = {"a \"b\" \\ c\n\x01", 0, 0, CRADLE_NOTE_OTHER}});
  close_log(log);
  char *text = must_read(path);
  assert_has(text, "\"text\":\"a \\u0022b\\u0022 \\u005c c\\u000a\\u0001\"}\n");
  free(text);
}

static void heaps_share_a_trace(void **state) {
  const char *path = fresh_name(".log");
  (void)state;
  crd_link *first = open_log("trace:", path), *second = open_log("trace:", path);
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
  close_log(open_log("trace:", path));
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
static void live_elsewhere(void *action) {
  pid_t child = fork();
  if (child == 0) begin_again(action, "-");
  assert_int_equal(wait_for(child), 0);
}

static void heaps_begin_one_trace_on_standard_error(void **state) {
  (void)state;
  char *text = errors_of(live_elsewhere, (char *)(uintptr_t)"--two-traces");
  assert_one_trace(text);
  free(text);
}

/* Although the process's first log began the array there. */
static void a_child_of_fork_begins_no_trace_on_standard_error(void **state) {
  (void)state;
  char *text = errors_of(live_elsewhere, (char *)(uintptr_t)"--forked-trace");
  assert_one_trace(text);
  assert_int_equal(count_of(text, "\"process_name\""), 2);
  free(text);
}

static void heaps_begin_one_trace_in_a_pipe(void **state) {
  char path[300], text[4096] = "";
  (void)state;
  snprintf(path, sizeof path, "%s", fresh_name(".fifo"));
  assert_int_equal(mkfifo(path, 0600), 0);
  int reader = open(path, O_RDONLY | O_NONBLOCK);
  for (int i = 0; i < 2; i++) close_log(open_log("trace:", path));
  assert_true(read(reader, text, sizeof text - 1) > 0);
  close(reader);
  assert_one_trace(text);
}

static void live_when_closed(const char *path, const int ends[2]) {
  char none;
  close(ends[1]);
  (void)!read(ends[0], &none, 1);
  close_log(open_log("trace:", path));
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
  crd_link *logs[2] = {open_log("gc-minor,cradle-log:", path), open_log("gc-minor,cradle-log:", path)};
  for (int i = 0; i < 2; i++) {
    send_minor(logs[i]);
    close_log(logs[i]);
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
  assert_has(said, "cradle: CRADLE_LOG: jsn: no section's name begins so, and no form has this name; wants text, ");
  free(said);
  char *text = must_read(path);
  assert_has(text, "{gc-minor\n");
  assert_lacks(text, "gc-collect");
  free(text);
}

static void live_on_a_full_disk(void *data) {
  send_life(open_log_before(data, (cradle_listener){0}));
}

static void a_full_disk_stops_the_trace_only(void **state) {
  (void)state;
  char *said = errors_of(live_on_a_full_disk, (char *)(uintptr_t)"trace:/dev/full");
  assert_true(count_of(said, "\n") <= 1); /* the same words were said before */
  free(said);
}

/* What tests run as another program. */
static int act(const char *action, const char *path) {
  if (strcmp(action, "--forked-trace") == 0) {
    crd_link *log = open_log("trace:", path);
    pid_t child = fork();
    if (child == 0) send_minor(log);
    if (child != 0) wait_for(child);
    close_log(log);
    return 0;
  }
  for (int i = 0; i < 2; i++) close_log(open_log("trace:", path));
  return 0;
}

int main(int argc, char **argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(prefixes_select_in_every_form),
      cmocka_unit_test(the_json_lines_are_as_documented),
      cmocka_unit_test(the_trace_is_as_documented),
      cmocka_unit_test(words_are_escaped),
      cmocka_unit_test(heaps_share_a_trace),
      cmocka_unit_test(heaps_of_threads_begin_one_trace),
      cmocka_unit_test(heaps_begin_one_trace_on_standard_error),
      cmocka_unit_test(a_child_of_fork_begins_no_trace_on_standard_error),
      cmocka_unit_test(heaps_begin_one_trace_in_a_pipe),
      cmocka_unit_test(processes_begin_one_trace),
      cmocka_unit_test(heaps_are_told_apart),
      cmocka_unit_test(a_word_of_nothing_is_told_beside_good_ones),
      cmocka_unit_test(a_full_disk_stops_the_trace_only),
  };
  if (argc == 3) return act(argv[1], argv[2]);
  return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
