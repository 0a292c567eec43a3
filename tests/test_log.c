/* The log: selection, balance, format, and everything that can go wrong with its file. Most tests
 * feed it events by hand; the last ones run a heap. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <cradle/cradle.h>

#include "runtime/log.h"
#include "runtime/report.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static char folder[] = "/tmp/cradle-test-log-XXXXXX";
static uint64_t now;

/* --- files --- */

/* A name in the test's folder that was not used before: the process remembers the files it wrote
 * to. The result is good until four more calls. */
static const char *fresh_name(const char *end) {
  static char names[4][256];
  static int count;
  char *name = names[count % 4];
  snprintf(name, sizeof names[0], "%s/%d%s", folder, count++, end);
  return name;
}

static char *read_file(const char *path) {
  FILE *file = fopen(path, "r");
  if (file == NULL) return NULL;
  size_t size = 0, room = 1 << 20;
  char *text = malloc(room + 1);
  size_t part;
  while ((part = fread(text + size, 1, room - size, file)) != 0) {
    size += part;
    if (size == room) text = realloc(text, (room *= 2) + 1);
  }
  text[size] = '\0';
  fclose(file);
  return text;
}

static char *must_read(const char *path) {
  char *text = read_file(path);
  if (text == NULL) fail_msg("%s: no such file", path);
  return text;
}

static int count_of(const char *text, const char *part) {
  int count = 0;
  for (; (text = strstr(text, part)) != NULL; text += strlen(part)) count++;
  return count;
}

static void assert_has(const char *text, const char *part) {
  if (strstr(text, part) == NULL) fail_msg("\"%s\" is missing in:\n%s", part, text);
}

static void assert_lacks(const char *text, const char *part) {
  if (strstr(text, part) != NULL) fail_msg("\"%s\" is found in:\n%s", part, text);
}

/* Reads the log as PyPy's tools do, by its bracket lines. Sections must be balanced and time must
 * not go back. */
static int read_sections(const char *text) {
  char open[64][64], name[64];
  int depth = 0, sections = 0;
  unsigned long long time, last = 0;
  for (const char *line = text; *line != '\0'; line += strcspn(line, "\n") + 1) {
    assert_non_null(strchr(line, '\n'));
    if (sscanf(line, "[%llx] {%63[a-z-]", &time, name) == 2) {
      strcpy(open[depth++], name);
      assert_in_range(depth, 1, 60);
      sections++;
    } else if (sscanf(line, "[%llx] %63[a-z-]}", &time, name) == 2) {
      assert_in_range(depth, 1, 60);
      assert_string_equal(open[--depth], name);
    } else {
      continue;
    }
    assert_true(time >= last);
    last = time;
  }
  assert_int_equal(depth, 0);
  return sections;
}

/* --- events --- */

static void send_event(crd_log *log, cradle_event event) {
  cradle_listener listener = crd_log_listener(log);
  event.time_ns = now += 16;
  listener.function(listener.data, &event);
}

static void send_kind(crd_log *log, cradle_event_kind kind) {
  send_event(log, (cradle_event){.kind = kind});
}

static void send_created(crd_log *log) {
  static const cradle_hardware hardware = {.page_bytes = 4096,
                                           .thp_page_bytes = 2097152,
                                           .pool_page_bytes = 2097152,
                                           .pool_pages_free = 7,
                                           .thp_mode = CRADLE_THP_MADVISE,
                                           .l2_bytes = 1048576,
                                           .l3_bytes = 33554432,
                                           .memory_bytes = 68719476736,
                                           .l2_source = CRADLE_SOURCE_SYSFS,
                                           .l3_source = CRADLE_SOURCE_SYSCONF};
  send_event(log, (cradle_event){.kind = CRADLE_EVENT_HEAP_CREATED, .u.heap.hardware = &hardware});
  send_event(log, (cradle_event){.kind = CRADLE_EVENT_NURSERY_SIZED,
                                 .u.nursery = {524288, 0, "half of the L2 cache"}});
}

static void send_minor(crd_log *log) {
  send_event(log, (cradle_event){.kind = CRADLE_EVENT_MINOR_BEGIN,
                                 .u.begin = {CRADLE_CAUSE_NURSERY_FULL, 5000, 9000}});
  send_kind(log, CRADLE_EVENT_ROOTS_BEGIN);
  send_event(log, (cradle_event){.kind = CRADLE_EVENT_ROOTS_END, .u.roots.words = 12});
  cradle_event end = {.kind = CRADLE_EVENT_MINOR_END};
  end.u.minor.number = 1;
  end.u.minor.nursery_bytes = 4194304;
  end.u.minor.promoted_objects = 10;
  end.u.minor.promoted_bytes = 320;
  end.u.minor.remembered = 3;
  end.u.minor.pinned_objects = 2;
  end.u.minor.used_before = 5000;
  end.u.minor.used_after = 1320;
  end.u.minor.duration_ns = 12345;
  send_event(log, end);
}

static void send_major(crd_log *log) {
  send_event(log, (cradle_event){.kind = CRADLE_EVENT_MAJOR_BEGIN,
                                 .u.begin = {CRADLE_CAUSE_THRESHOLD, 9500, 9000}});
  send_kind(log, CRADLE_EVENT_STEP_BEGIN);
  send_event(log, (cradle_event){.kind = CRADLE_EVENT_STEP_END,
                                 .u.step = {CRADLE_PHASE_MARKING, CRADLE_PHASE_SWEEPING, 100, 6400, 50, 3100, 2, 1999}});
  send_event(log,
             (cradle_event){.kind = CRADLE_EVENT_MAJOR_END,
                            .u.major = {CRADLE_CAUSE_THRESHOLD, 1, 9500, 6400, 11648, 1999999500}});
  send_event(log, (cradle_event){.kind = CRADLE_EVENT_PAUSE, .u.pause = {CRADLE_CAUSE_NURSERY_FULL, 23456}});
  send_event(log, (cradle_event){.kind = CRADLE_EVENT_ARENAS,
                                 .u.arenas = {.given_back = 2,
                                              .committed = 30,
                                              .in_use = 28,
                                              .measured = 1,
                                              .resident_bytes = 60000,
                                              .huge_bytes = 50000,
                                              .pool_bytes = 40000}});
}

static void send_life(crd_log *log) {
  crd_log_hand_over(log);
  send_created(log);
  send_minor(log);
  send_major(log);
  send_event(log, (cradle_event){.kind = CRADLE_EVENT_NOTE, .u.note = {"a note", 8, 4}});
  send_kind(log, CRADLE_EVENT_HEAP_DESTROYED);
}

static crd_log *open_log(const char *selection, const char *path) {
  char text[600];
  snprintf(text, sizeof text, "%s%s", selection, path);
  return crd_log_open(text, (cradle_listener){0});
}

/* The text that a heap's whole life leaves in a log. */
static char *log_of_life(const char *selection) {
  const char *path = fresh_name(".log");
  now = 0;
  crd_log *log = open_log(selection, path);
  assert_non_null(log);
  send_life(log);
  return must_read(path);
}

/* --- selection --- */

static void everything_is_logged(void **state) {
  char *text = log_of_life(":");
  (void)state;
  assert_int_equal(read_sections(text), 12);
  assert_int_equal(strncmp(text, "[", 1), 0);
  assert_has(text, "] {cradle-log\nheap: ");
  assert_has(text,
             "\nCradle log, format 1\n1 tick = 1 ns of CLOCK_MONOTONIC\ntick ");
  assert_has(text, " seconds since 1970\nprocess ");
  assert_has(text, "L2cache = 1048576\nL2cache from: sysfs\nL3cache = 33554432\n"
                   "L3cache from: sysconf\nmemory: 68719476736\npage size: 4096\n"
                   "transparent huge page size: 2097152\ntransparent huge pages: madvise\n"
                   "pool page size: 2097152, free pages: 7\n");
  assert_has(text,
             "nursery size: 524288\nprevious nursery size: 0\nreason: half of the L2 cache\n");
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
  crd_log *log = open_log("gc-minor:", path);
  now = (uint64_t)1 << 60;
  send_minor(log);
  crd_log_close(log);
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

static void assert_markers_only(char *text) {
  assert_int_equal(read_sections(text), 11);
  assert_has(text, "1 tick = 1 ns of CLOCK_MONOTONIC\n");
  assert_has(text, "] {gc-minor\n");
  assert_lacks(text, "cause");
  assert_lacks(text, "{cradle-log");
  free(text);
}

static void a_bare_name_logs_markers_only(void **state) {
  (void)state;
  assert_markers_only(log_of_life(""));
  assert_markers_only(log_of_life("+"));
}

static void prefixes_select_sections(void **state) {
  (void)state;
  char *text = log_of_life("gc-minor,gc-heap:");
  assert_int_equal(read_sections(text), 3);
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
  assert_int_equal(read_sections(text), 2);
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

/* Runs function with standard error in a file; the result is what it wrote there. */
static char *errors_of(void (*function)(void *data), void *data) {
  const char *path = fresh_name(".err");
  fflush(stderr);
  int kept = dup(STDERR_FILENO), file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND, 0600);
  dup2(file, STDERR_FILENO);
  close(file);
  function(data);
  dup2(kept, STDERR_FILENO);
  close(kept);
  return must_read(path);
}

static void no_listener(void *data, const cradle_event *event) {
  (void)event;
  ++*(int *)data;
}

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
  crd_log *log = open_log(":", "-");
  send_minor(log);
  *(long *)data = bytes_on_stderr();
  crd_log_close(log);
}

static void standard_error_is_written_at_each_section(void **state) {
  long size = 0;
  (void)state;
  char *text = errors_of(minor_then_look, &size);
  assert_int_equal(size, strlen(text));
  assert_int_equal(read_sections(text), 3);
  free(text);
}

/* What lies in a section is written with it, so that heaps on several threads do not mix; where it alone is selected, at its
 * own end. */
static void roots_then_look(void *data) {
  long *grown = data;
  for (int i = 0; i < 2; i++) {
    crd_log *log = open_log(i == 0 ? "gc-minor:" : "gc-minor-w:", "-");
    long before = bytes_on_stderr();
    send_event(log, (cradle_event){.kind = CRADLE_EVENT_MINOR_BEGIN});
    send_kind(log, CRADLE_EVENT_ROOTS_BEGIN);
    send_kind(log, CRADLE_EVENT_ROOTS_END);
    grown[i] = bytes_on_stderr() - before;
    crd_log_close(log);
  }
}

static void inner_sections_wait_for_theirs_on_standard_error(void **state) {
  long grown[2];
  (void)state;
  free(errors_of(roots_then_look, grown));
  assert_int_equal(grown[0], 0);
  assert_true(grown[1] > 0);
}

/* --- what can go wrong --- */

static int wait_for(pid_t child) {
  int status;
  pid_t ended = waitpid(child, &status, 0);
  assert_true(ended == child || (ended > 0 && child == -1));
  return status;
}

static void open_and_live(void *data) {
  for (int i = 0; i < 3; i++) {
    crd_log *log = crd_log_open(data, (cradle_listener){0});
    if (log != NULL) send_life(log);
  }
}

static void nothing_asked_for_is_no_log(void **state) {
  (void)state;
  assert_null(crd_log_open(NULL, (cradle_listener){0}));
  assert_null(crd_log_open("", (cradle_listener){0}));
}

static void an_unwritable_path_is_told_once(void **state) {
  char selection[300];
  (void)state;
  snprintf(selection, sizeof selection, "gc:%s/no/such/folder/%%d.log", folder);
  char *text = errors_of(open_and_live, selection);
  assert_has(text, "/no/such/folder/");
  assert_lacks(text, "%d");
  assert_has(text, "No such file or directory");
  assert_int_equal(count_of(text, "\n"), 1);
  free(text);
}

static void a_missing_name_is_told(void **state) {
  (void)state;
  char *text = errors_of(open_and_live, (char *)(uintptr_t) "gc:");
  assert_string_equal(text, "cradle: CRADLE_LOG=gc:: names no file; there will be no log\n");
  free(text);
}

static void a_prefix_of_nothing_is_told(void **state) {
  char selection[300];
  (void)state;
  snprintf(selection, sizeof selection, "jit:%s", fresh_name(".log"));
  char *text = errors_of(open_and_live, selection);
  assert_has(text, "jit: no section begins so, and no form has this name (text, json or trace; ");
  assert_int_equal(count_of(text, "\n"), 1);
  free(text);
}

static void fill_disk(void *data) {
  crd_log *log = crd_log_open(":/dev/full", (cradle_listener){no_listener, data});
  assert_non_null(log);
  errno = 77;
  for (int i = 0; i < 1000; i++) send_minor(log);
  assert_int_equal(errno, 77);
  send_life(log);
}

static void a_full_disk_stops_the_log_only(void **state) {
  int events = 0;
  (void)state;
  char *text = errors_of(fill_disk, &events);
  assert_string_equal(text,
                      "cradle: CRADLE_LOG: /dev/full: No space left on device; the log stops\n");
  assert_int_equal(events, 4000 + 14);
  free(text);
}

static void lose_reader(void *data) {
  char path[300];
  snprintf(path, sizeof path, "%s", (const char *)data);
  assert_int_equal(mkfifo(path, 0600), 0);
  int reader = open(path, O_RDONLY | O_NONBLOCK);
  crd_log *log = open_log(":", path);
  close(reader);
  signal(SIGPIPE, SIG_DFL);
  send_life(log);
}

static void a_reader_that_goes_away_stops_the_log_only(void **state) {
  (void)state;
  char *text = errors_of(lose_reader, (char *)(uintptr_t)fresh_name(".fifo"));
  assert_has(text, "Broken pipe; the log stops\n");
  free(text);
}

/* Lives in a child that may write files of one kilobyte, with its standard error in a pipe. */
static int live_with_small_files(const char *path, int error) {
  const struct rlimit small = {1024, 1024};
  dup2(error, STDERR_FILENO);
  setrlimit(RLIMIT_FSIZE, &small);
  signal(SIGXFSZ, SIG_DFL);
  send_life(open_log(":", path));
  return 0;
}

static void a_limit_on_files_stops_the_log_only(void **state) {
  const char *path = fresh_name(".log");
  char said[600] = "";
  int ends[2];
  (void)state;
  assert_int_equal(pipe(ends), 0);
  fflush(NULL);
  pid_t child = fork();
  if (child == 0) _exit(live_with_small_files(path, ends[1]));
  assert_int_equal(wait_for(child), 0);
  close(ends[1]);
  assert_true(read(ends[0], said, sizeof said - 1) > 0);
  close(ends[0]);
  assert_has(said, "File too large; the log stops\n");
}

/* The program's own signal, which it has blocked, is still there after a write of ours that fails. */
static void a_signal_that_waited_stays(void **state) {
  static const int signals[] = {SIGPIPE, SIGXFSZ};
  int ends[2];
  (void)state;
  assert_int_equal(pipe(ends), 0);
  close(ends[0]);
  for (int i = 0; i < 2; i++) {
    sigset_t one, before, pending;
    sigemptyset(&one);
    sigaddset(&one, signals[i]);
    pthread_sigmask(SIG_BLOCK, &one, &before);
    raise(signals[i]);
    assert_int_equal(crd_write_quietly(ends[1], "x", 1), -1);
    assert_int_equal(errno, EPIPE);
    sigpending(&pending);
    assert_true(sigismember(&pending, signals[i]));
    assert_false(sigismember(&pending, signals[!i]));
    assert_int_equal(sigtimedwait(&one, NULL, &(struct timespec){0, 0}), signals[i]);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
  }
  close(ends[1]);
}

/* --- forms --- */

static void prefixes_select_in_every_form(void **state) {
  (void)state;
  char *json = log_of_life("json,gc-collect-step,gc-note:");
  assert_int_equal(count_of(json, "\n"), 1 + 2 + 1);
  assert_has(json, "\"event\":\"gc-collect-step\",\"phase\":\"end\",\"from\":\"marking\",\"marked_objects\":100,"
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

static void write_old(const char *path) {
  FILE *file = fopen(path, "w");
  fputs("yesterday's\n", file);
  fclose(file);
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
  if (child == 0) execl("/proc/self/exe", "test_log", "--two-traces", "-", (char *)NULL);
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
  assert_has(said, "cradle: CRADLE_LOG: jsn: no section begins so, and no form has this name (text, json or trace; ");
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
  char *said = errors_of(live_on_a_full_disk, (char *)(uintptr_t) "trace:/dev/full");
  assert_true(count_of(said, "\n") <= 1); /* the same words were said before */
  free(said);
}

/* --- files --- */

static void d_is_the_process(void **state) {
  char path[300], expected[300];
  (void)state;
  snprintf(path, sizeof path, "%s/pid-%%d-%%d.log", folder);
  snprintf(expected, sizeof expected, "%s/pid-%d-%d.log", folder, (int)getpid(), (int)getpid());
  send_life(open_log(":", path));
  free(must_read(expected));
}

static void an_old_log_is_replaced(void **state) {
  const char *path = fresh_name(".log");
  (void)state;
  write_old(path);
  send_life(open_log(":", path));
  char *text = must_read(path);
  assert_lacks(text, "yesterday's");
  free(text);
}

static void heaps_of_a_process_share_the_file(void **state) {
  const char *path = fresh_name(".log");
  (void)state;
  crd_log *first = open_log(":", path), *second = open_log(":", path);
  send_life(second);
  send_life(first);
  send_life(open_log(":", path));
  char *text = must_read(path);
  assert_int_equal(count_of(text, "] {gc-heap-end"), 3);
  free(text);
}

static void a_file_that_another_process_writes_is_kept(void **state) {
  const char *path = fresh_name(".log");
  (void)state;
  crd_log *log = open_log(":", path);
  send_life(open_log(":", path));
  pid_t child = fork();
  if (child == 0) execl("/proc/self/exe", "test_log", "--live", path, (char *)NULL);
  assert_int_equal(wait_for(child), 0);
  send_life(log);
  char *text = must_read(path);
  assert_int_equal(count_of(text, "] {gc-heap-end"), 3);
  free(text);
}

static pid_t child_that_waits(const int *ends) {
  char byte;
  fflush(NULL);
  pid_t child = fork();
  if (child != 0) return child;
  close(ends[1]);
  _exit((int)read(ends[0], &byte, 1));
}

static bool is_locked(const char *path) {
  int file = open(path, O_WRONLY);
  assert_true(file >= 0);
  bool locked = flock(file, LOCK_EX | LOCK_NB) != 0;
  close(file);
  return locked;
}

/* It has the descriptor, but the log is complete. */
static void a_child_keeps_no_lock(void **state) {
  const char *path = fresh_name(".log");
  int ends[2];
  (void)state;
  assert_int_equal(pipe(ends), 0);
  crd_log *log = open_log(":", path);
  pid_t child = child_that_waits(ends);
  send_life(log);
  assert_false(is_locked(path));
  close(ends[1]);
  assert_int_equal(wait_for(child), 0);
  close(ends[0]);
}

static void a_child_does_not_give_back_its_parents_lock(void **state) {
  char selection[300], path[300];
  (void)state;
  snprintf(selection, sizeof selection, "%s/lock-%%d.log", folder);
  snprintf(path, sizeof path, "%s/lock-%d.log", folder, (int)getpid());
  crd_log *log = open_log(":", selection);
  fflush(NULL);
  for (int i = 0; i < 2; i++) {
    pid_t child = fork();
    if (child == 0) {
      if (i == 1) send_minor(log); /* into a file of its own */
      crd_log_close(log);
      _exit(0);
    }
    assert_int_equal(wait_for(child), 0);
    assert_true(is_locked(path));
  }
  send_life(log);
}

static void long_logs_are_whole(void **state) {
  const char *path = fresh_name(".log");
  (void)state;
  crd_log *log = open_log("gc:", path);
  for (int i = 0; i < 5000; i++) send_minor(log);
  send_life(log);
  char *text = must_read(path);
  assert_int_equal(read_sections(text), 10000 + 11);
  assert_int_equal(count_of(text, "time taken: 0.000012345\n"), 5001);
  free(text);
}

static void a_note_longer_than_the_buffer_is_whole(void **state) {
  const char *path = fresh_name(".log");
  size_t length = 300000;
  char *note = malloc(length + 1);
  (void)state;
  memset(note, 'n', length);
  note[length] = '\0';
  crd_log *log = open_log(":", path);
  send_event(log, (cradle_event){.kind = CRADLE_EVENT_NOTE, .u.note = {note, 0, 0}});
  crd_log_close(log);
  char *text = must_read(path);
  assert_has(text, note);
  assert_has(text, "n\n[");
  assert_int_equal(read_sections(text), 2);
  free(note);
  free(text);
}

static void write_without_standard_error(const char *path) {
  close(STDERR_FILENO);
  crd_log *log = open_log(":", path);
  if (write(STDERR_FILENO, "the program's\n", 14) >= 0) _exit(1);
  send_life(log);
  _exit(0);
}

static void a_closed_standard_error_is_not_the_log(void **state) {
  const char *path = fresh_name(".log");
  (void)state;
  fflush(NULL);
  pid_t child = fork();
  if (child == 0) write_without_standard_error(path);
  assert_int_equal(wait_for(child), 0);
  char *text = must_read(path);
  assert_int_equal(read_sections(text), 12);
  assert_lacks(text, "the program's");
  free(text);
}

/* --- broken streams --- */

static void sections_balance_whatever_comes(void **state) {
  const char *path = fresh_name(".log");
  unsigned random = 12345;
  (void)state;
  crd_log *log = open_log(":", path);
  for (int i = 0; i < 20000; i++) {
    random = random * 1103515245u + 12345u;
    cradle_event_kind kind = (cradle_event_kind)(1 + (random >> 16) % (CRADLE_EVENT_NOTE + 2));
    if (kind != CRADLE_EVENT_HEAP_DESTROYED) send_kind(log, kind);
  }
  crd_log_hand_over(log);
  send_kind(log, CRADLE_EVENT_HEAP_DESTROYED);
  char *text = must_read(path);
  assert_true(read_sections(text) > 10000);
  free(text);
}

static void time_never_goes_back(void **state) {
  const char *path = fresh_name(".log");
  (void)state;
  crd_log *log = open_log(":", path);
  now = UINT64_MAX - 1000;
  send_minor(log);
  now = 5;
  send_minor(log);
  crd_log_close(log);
  char *text = must_read(path);
  assert_int_equal(read_sections(text), 5);
  free(text);
}

/* --- fork and exit --- */

static void a_child_writes_nothing_twice(void **state) {
  const char *path = fresh_name(".log");
  (void)state;
  crd_log *log = open_log(":", path);
  send_minor(log);
  fflush(NULL);
  pid_t child = fork();
  if (child == 0) {
    send_minor(log);
    send_life(log);
    exit(0); /* with what a normal end writes */
  }
  assert_int_equal(wait_for(child), 0);
  send_life(log);
  char *text = must_read(path);
  assert_int_equal(read_sections(text), 12 + 2);
  free(text);
}

static void a_child_that_only_exits_writes_nothing(void **state) {
  const char *path = fresh_name(".log");
  (void)state;
  crd_log *log = open_log(":", path);
  send_minor(log);
  fflush(NULL);
  pid_t child = fork();
  if (child == 0) exit(0);
  assert_int_equal(wait_for(child), 0);
  char *text = must_read(path);
  assert_string_equal(text, "");
  free(text);
  crd_log_close(log);
}

static void a_child_gets_its_own_file_with_d(void **state) {
  char path[300], childs[300];
  (void)state;
  snprintf(path, sizeof path, "%s/fork-%%d.log", folder);
  crd_log *log = open_log(":", path);
  send_minor(log);
  fflush(NULL);
  pid_t child = fork();
  if (child == 0) {
    send_minor(log);
    exit(0);
  }
  assert_int_equal(wait_for(child), 0);
  crd_log_close(log);
  snprintf(childs, sizeof childs, "%s/fork-%d.log", folder, (int)child);
  char *text = must_read(childs);
  assert_int_equal(read_sections(text), 3);
  assert_has(text, "{cradle-log");
  free(text);
}

static void fork_on_stderr(void *data) {
  crd_log *log = open_log(data, "-");
  send_minor(log);
  fflush(NULL);
  pid_t child = fork();
  if (child == 0) {
    send_minor(log);
    _exit(0);
  }
  assert_int_equal(wait_for(child), 0);
  crd_log_close(log);
}

/* Its sections would be taken for its parent's. */
static void a_child_has_its_own_label_on_standard_error(void **state) {
  char label[60], *text = errors_of(fork_on_stderr, (char *)(uintptr_t) ":");
  (void)state;
  assert_int_equal(read_sections(text), 6);
  const char *childs = strstr(strstr(text, "{cradle-log") + 1, "{cradle-log\nheap: ");
  assert_non_null(childs);
  assert_int_equal(sscanf(childs, "{cradle-log\nheap: %59s", label), 1);
  assert_int_not_equal(strtol(label, NULL, 10), getpid());
  assert_non_null(strstr(childs, "{gc-minor\nheap: "));
  assert_int_equal(strncmp(strstr(childs, "{gc-minor\nheap: ") + 16, label, strlen(label)), 0);
  free(text);
  text = errors_of(fork_on_stderr, (char *)(uintptr_t) "trace:");
  assert_int_equal(count_of(text, "\"process_name\""), 2);
  assert_int_equal(strncmp(strchr(text, '\n'), "\n,{", 3), 0);
  assert_int_equal(count_of(text, "\n,{"), count_of(text, "\n") - 1);
  free(text);
}

static void a_normal_end_writes_the_rest(void **state) {
  const char *path = fresh_name(".log");
  (void)state;
  fflush(NULL);
  pid_t child = fork();
  if (child == 0) {
    send_minor(open_log(":", path));
    exit(0);
  }
  assert_int_equal(wait_for(child), 0);
  char *text = must_read(path);
  assert_int_equal(read_sections(text), 3);
  free(text);
}

/* Takes the C library's place, and counts: who waits for a lock yields. */
static int yields;
int sched_yield(void) {
  __atomic_add_fetch(&yields, 1, __ATOMIC_RELAXED);
  return 0;
}

static bool ends_with_its_yields;
static void end_with_yields(void) {
  if (ends_with_its_yields) _exit(yields != 0);
}

static void *log_until_it_stops(void *log) {
  for (int i = 0; i < 1000; i++) send_minor(log);
  return NULL;
}

/* The log is locked while it writes, and its pipe is full. */
static void fork_while_a_thread_logs(void *status) {
  const char *path = fresh_name(".fifo");
  pthread_t thread;
  int waiting = 0;
  assert_int_equal(mkfifo(path, 0600), 0);
  int reader = open(path, O_RDONLY | O_NONBLOCK);
  crd_log *log = open_log(":", path);
  int bytes = fcntl(reader, F_SETPIPE_SZ, 4096);
  pthread_create(&thread, NULL, log_until_it_stops, log);
  while (ioctl(reader, FIONREAD, &waiting) == 0 && waiting < bytes) usleep(1000);
  pid_t child = fork();
  if (child == 0) {
    yields = 0;
    ends_with_its_yields = true;
    exit(0);
  }
  *(int *)status = wait_for(child);
  close(reader);
  pthread_join(thread, NULL);
  crd_log_close(log);
}

static void a_child_does_not_wait_for_a_thread_that_it_has_not(void **state) {
  int status = -1;
  (void)state;
  fflush(NULL);
  free(errors_of(fork_while_a_thread_logs, &status));
  assert_int_equal(status, 0);
}

static crd_log *log_at_exit;
static void collect_at_exit(void) {
  send_minor(log_at_exit);
}

/* An exit handler of the program runs after the log's when it was registered before. */
static void what_comes_after_the_end_is_written_too(void **state) {
  const char *path = fresh_name(".log");
  (void)state;
  fflush(NULL);
  pid_t child = fork();
  if (child == 0) execl("/proc/self/exe", "test_log", "--collect-at-exit", path, (char *)NULL);
  assert_int_equal(wait_for(child), 0);
  char *text = must_read(path);
  assert_int_equal(read_sections(text), 3);
  free(text);
}

/* --- the sink's life --- */

static void destroyed_before_the_hand_over_keeps_the_log(void **state) {
  const char *path = fresh_name(".log");
  int events = 0;
  char selection[300];
  (void)state;
  snprintf(selection, sizeof selection, ":%s", path);
  crd_log *log = crd_log_open(selection, (cradle_listener){no_listener, &events});
  send_created(log);
  send_kind(log, CRADLE_EVENT_HEAP_DESTROYED);
  assert_int_equal(events, 3);
  crd_log_close(log);
  char *text = must_read(path);
  assert_int_equal(read_sections(text), 4);
  free(text);
}

static cradle_heap *start(const char *path, cradle_options *options, cradle_error *error) {
  char selection[300];
  snprintf(selection, sizeof selection, "gc:%s", path);
  setenv("CRADLE_LOG", selection, 1);
  cradle_heap *heap = cradle_start(options, error);
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
  cradle_collect_minor(mutator);
  cradle_collect_full(mutator);
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
  options.heap_max_bytes = 4096; /* and after it */
  const char *path = fresh_name(".log");
  assert_null(start(path, &options, &error));
  assert_has(error.message, "heap_max_bytes");
  char *text = must_read(path);
  read_sections(text);
  assert_has(text, "{gc-heap-end\n");
  free(text);
  options.size = 8;
  assert_null(start(fresh_name(".log"), &options, &error));
  assert_has(error.message, "version");
}

static int make_folder(void **state) {
  (void)state;
  return mkdtemp(folder) == NULL;
}

static int remove_folder(void **state) {
  char command[300];
  (void)state;
  snprintf(command, sizeof command, "rm -r '%s'", folder);
  return system(command);
}

/* What tests run as another program. */
static int act(const char *action, const char *path) {
  if (strcmp(action, "--live") == 0) {
    send_life(open_log(":", path));
    return 0;
  }
  if (strcmp(action, "--two-traces") == 0) {
    for (int i = 0; i < 2; i++) crd_log_close(open_log("trace:", path));
    return 0;
  }
  atexit(collect_at_exit);
  log_at_exit = open_log(":", path);
  return 0;
}

int main(int argc, char **argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(everything_is_logged),
      cmocka_unit_test(the_minor_section_is_as_documented),
      cmocka_unit_test(a_bare_name_logs_markers_only),
      cmocka_unit_test(prefixes_select_sections),
      cmocka_unit_test(nested_sections_are_selected_by_themselves),
      cmocka_unit_test(a_section_of_its_own_can_hold_the_head),
      cmocka_unit_test(a_dash_is_standard_error),
      cmocka_unit_test(standard_error_is_written_at_each_section),
      cmocka_unit_test(inner_sections_wait_for_theirs_on_standard_error),
      cmocka_unit_test(nothing_asked_for_is_no_log),
      cmocka_unit_test(an_unwritable_path_is_told_once),
      cmocka_unit_test(a_missing_name_is_told),
      cmocka_unit_test(a_prefix_of_nothing_is_told),
      cmocka_unit_test(a_full_disk_stops_the_log_only),
      cmocka_unit_test(a_reader_that_goes_away_stops_the_log_only),
      cmocka_unit_test(a_limit_on_files_stops_the_log_only),
      cmocka_unit_test(a_signal_that_waited_stays),
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
      cmocka_unit_test(d_is_the_process),
      cmocka_unit_test(an_old_log_is_replaced),
      cmocka_unit_test(heaps_of_a_process_share_the_file),
      cmocka_unit_test(a_file_that_another_process_writes_is_kept),
      cmocka_unit_test(a_child_keeps_no_lock),
      cmocka_unit_test(a_child_does_not_give_back_its_parents_lock),
      cmocka_unit_test(long_logs_are_whole),
      cmocka_unit_test(a_note_longer_than_the_buffer_is_whole),
      cmocka_unit_test(a_closed_standard_error_is_not_the_log),
      cmocka_unit_test(sections_balance_whatever_comes),
      cmocka_unit_test(time_never_goes_back),
      cmocka_unit_test(a_child_writes_nothing_twice),
      cmocka_unit_test(a_child_that_only_exits_writes_nothing),
      cmocka_unit_test(a_child_gets_its_own_file_with_d),
      cmocka_unit_test(a_child_has_its_own_label_on_standard_error),
      cmocka_unit_test(a_normal_end_writes_the_rest),
      cmocka_unit_test(a_child_does_not_wait_for_a_thread_that_it_has_not),
      cmocka_unit_test(what_comes_after_the_end_is_written_too),
      cmocka_unit_test(destroyed_before_the_hand_over_keeps_the_log),
      cmocka_unit_test(a_heap_logs_its_life),
      cmocka_unit_test(a_heap_that_cannot_be_made_frees_its_log),
  };
  atexit(end_with_yields); /* before the logs', so that it runs after them */
  if (argc == 3) return act(argv[1], argv[2]);
  return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
