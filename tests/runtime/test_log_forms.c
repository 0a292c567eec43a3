/* The log as JSON lines, and a file that several heaps, threads and processes share. */
#include "tests/runtime/log_fixture.h"

#include <pthread.h>
#include <time.h>

static void prefixes_select_json_lines(void **state) {
  (void)state;
  char *json = log_of_life("json,gc-collect-step,gc-note:");
  assert_int_equal(count_of(json, "\n"), 1 + 2 + 1);
  assert_has(json,
             "\"event\":\"gc-collect-step\",\"phase\":\"end\",\"from\":\"marking\",\"marked_objects\":100,"
             "\"marked_bytes\":6400,\"freed_objects\":50,\"freed_bytes\":3100,\"freed_spans\":2,\"to\":\"sweeping\","
             "\"time_ns\":1999}\n");
  assert_has(json, "\"event\":\"gc-note\",\"text\":\"a note\",\"wanted\":8,\"got\":4}\n");
  free(json);
}

/* --- written out in full: this is the format --- */

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
  long heap = strtol(strchr(strstr(text, "\"heap\":\""), '.') + 1, NULL, 10), process = getpid();
  name_number(text, "\"process\":", process, 'P');
  name_number(text, "\":\"", process, 'P');
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

static const char head[] = "\"event\":\"cradle-log\"";

/* The file holds whole lines of JSON, and nothing of what was in it before. */
static void assert_one_log(const char *text) {
  assert_int_equal(strncmp(text, "{\"t\":", 5), 0);
  assert_int_equal(count_of(text, "}\n{\"t\":"), count_of(text, "\n") - 1);
}

static void heaps_share_a_file(void **state) {
  const char *path = fresh_name(".log");
  (void)state;
  write_old(path);
  crd_link *first = open_log("json:", path), *second = open_log("json:", path);
  send_life(second);
  send_life(first);
  char *text = must_read(path);
  assert_one_log(text);
  assert_int_equal(count_of(text, head), 2);
  assert_int_equal(count_of(text, "\"phase\":\"begin\""), count_of(text, "\"phase\":\"end\""));
  free(text);
}

static pthread_barrier_t all_ready;

static void *live_with_others(void *path) {
  pthread_barrier_wait(&all_ready);
  close_log(open_log("json:", path));
  return NULL;
}

/* Whoever comes first empties the file, however close the others are. */
static void heaps_of_threads_empty_it_once(void **state) {
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
    assert_one_log(text);
    assert_int_equal(count_of(text, head), THREADS);
    free(text);
  }
  pthread_barrier_destroy(&all_ready);
}

static void live_when_closed(const char *path, const int ends[2]) {
  char none;
  close(ends[1]);
  (void)!read(ends[0], &none, 1);
  close_log(open_log("json:", path));
}

/* One process may empty the file just as another one writes its head. */
static void processes_share_a_file(void **state) {
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
    assert_one_log(text);
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

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(prefixes_select_json_lines),
      cmocka_unit_test(the_json_lines_are_as_documented),
      cmocka_unit_test(words_are_escaped),
      cmocka_unit_test(heaps_share_a_file),
      cmocka_unit_test(heaps_of_threads_empty_it_once),
      cmocka_unit_test(processes_share_a_file),
      cmocka_unit_test(heaps_are_told_apart),
      cmocka_unit_test(a_word_of_nothing_is_told_beside_good_ones),
  };
  return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
