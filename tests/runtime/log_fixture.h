/* What the tests of the log share: its files, events by hand, and what a program says on standard error. */
#ifndef TESTS_LOG_FIXTURE_H
#define TESTS_LOG_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <cradle/cradle.h>

#include "runtime/log.h"
#include "runtime/report.h"
#include "tests/support/folder.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static uint64_t now;

/* --- files --- */

/* A name in the test's folder that was not used before, because the process remembers the files it wrote to. The result
 * is valid until four more calls. */
static inline const char *fresh_name(const char *end) {
  static char names[4][256];
  static int count;
  char *name = names[count % 4];
  snprintf(name, sizeof names[0], "%s/%d%s", folder, count++, end);
  return name;
}

static inline char *read_file(const char *path) {
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

static inline char *must_read(const char *path) {
  char *text = read_file(path);
  if (text == NULL) fail_msg("%s: no such file", path);
  return text;
}

static inline int count_of(const char *text, const char *part) {
  int count = 0;
  for (; (text = strstr(text, part)) != NULL; text += strlen(part)) count++;
  return count;
}

static inline void assert_has(const char *text, const char *part) {
  if (strstr(text, part) == NULL) fail_msg("\"%s\" is missing in:\n%s", part, text);
}

static inline void assert_lacks(const char *text, const char *part) {
  if (strstr(text, part) != NULL) fail_msg("\"%s\" is found in:\n%s", part, text);
}

/* The first letters of a line, by itself: sscanf would measure all of the text behind it. */
typedef struct beginning {
  char letters[120];
} beginning;

static inline beginning beginning_of(const char *line) {
  beginning start;
  snprintf(start.letters, sizeof start.letters, "%.*s", (int)sizeof start.letters - 1, line);
  return start;
}

/* Reads the log as PyPy's tools do, by its bracket lines. Sections must be balanced and time must
 * not go back. */
static inline int read_sections(const char *text) {
  char open[64][64], name[64];
  int depth = 0, sections = 0;
  unsigned long long time, last = 0;
  for (const char *line = text; *line != '\0'; line += strcspn(line, "\n") + 1) {
    const beginning start = beginning_of(line);
    assert_non_null(strchr(line, '\n'));
    if (sscanf(start.letters, "[%llx] {%63[a-z-]", &time, name) == 2) {
      strcpy(open[depth++], name);
      assert_in_range(depth, 1, 60);
      sections++;
    } else if (sscanf(start.letters, "[%llx] %63[a-z-]}", &time, name) == 2) {
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

/* The file holds whole lines of JSON, and nothing of what was in it before. */
static inline void assert_one_log(const char *text) {
  assert_int_equal(strncmp(text, "{\"t\":", 5), 0);
  assert_int_equal(count_of(text, "}\n{\"t\":"), count_of(text, "\n") - 1);
}

/* What a line says behind its seconds and its label. Fails unless it has both, and ends. */
static inline const char *said_by(const char *line, double *seconds, char label[40]) {
  const beginning start = beginning_of(line);
  int length = 0;
  if (strchr(line, '\n') == NULL) fail_msg("torn: %s", line);
  if (sscanf(start.letters, " %lf  %39[0-9.]  %n", seconds, label, &length) != 2)
    fail_msg("no line of the log: %s", line);
  assert_true(line[8] != '.' && line[9] == '.'); /* the column of the seconds */
  return line + length;
}

/* Fails unless all lines are whole and each heap has its head first. Returns how many lines begin with prefix. */
static inline int lines_with(const char *text, const char *prefix) {
  char heads[8][40];
  int head_count = 0, count = 0;
  for (; *text != '\0'; text = strchr(text, '\n') + 1) {
    char label[40];
    double seconds;
    const char *said = said_by(text, &seconds, label);
    int i = 0;
    while (i < head_count && strcmp(heads[i], label) != 0) i++;
    if (strncmp(said, "cradle-log: format 1, process ", 30) == 0 && i < 8) strcpy(heads[head_count++], label);
    if (i >= head_count) fail_msg("heap %s has no head", label);
    count += strncmp(said, prefix, strlen(prefix)) == 0;
  }
  return count;
}

static inline void write_text(const char *path, const char *text) {
  FILE *file = fopen(path, "w");
  assert_non_null(file);
  fputs(text, file);
  fclose(file);
}

static inline void write_old(const char *path) {
  write_text(path, "yesterday's\n");
}

/* --- a log without a heap --- */

static inline crd_link *open_log_before(const char *text, cradle_listener next) {
  cradle_options options = {.listener = next};
  return crd_log_open(text, &options);
}

static inline void close_log(crd_link *log) {
  log->end(log->part);
}

/* As if its heap existed: the heap's last event closes the log. The log does not look into the heap. */
static inline void give_heap(crd_link *log) {
  static char heap;
  log->heap = (cradle_heap *)(void *)&heap;
}

/* --- events --- */

static inline void send_event(crd_link *log, cradle_event event) {
  event.time_ns = now += 16;
  crd_link_hear(log, &event);
}

static inline void send_kind(crd_link *log, cradle_event_kind kind) {
  static const cradle_statistics last = {.minor_collections = 1, .minor_ns = 12345};
  cradle_event event = {.kind = kind};
  if (kind == CRADLE_EVENT_HEAP_DESTROYED) event.u.destroyed.statistics = &last;
  send_event(log, event);
}

static inline void send_created(crd_link *log) {
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
  send_event(
      log, (cradle_event){.kind = CRADLE_EVENT_NURSERY_SIZED, .u.nursery = {524288, 0, "half of the L2 cache", NULL}});
}

static inline void send_minor(crd_link *log) {
  send_event(
      log, (cradle_event){.kind = CRADLE_EVENT_MINOR_BEGIN, .u.begin = {CRADLE_CAUSE_NURSERY_FULL, 5000, 9000, NULL}});
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

static inline void send_major(crd_link *log) {
  send_event(log,
             (cradle_event){.kind = CRADLE_EVENT_MAJOR_BEGIN, .u.begin = {CRADLE_CAUSE_THRESHOLD, 9500, 9000, NULL}});
  send_kind(log, CRADLE_EVENT_STEP_BEGIN);
  send_event(log,
             (cradle_event){.kind = CRADLE_EVENT_STEP_END,
                            .u.step = {CRADLE_PHASE_MARKING, CRADLE_PHASE_SWEEPING, 100, 6400, 50, 3100, 2, 1999}});
  send_event(log, (cradle_event){.kind = CRADLE_EVENT_MAJOR_END,
                                 .u.major = {CRADLE_CAUSE_THRESHOLD, 1, 9500, 6400, 11648, 1999999500}});
  send_event(log, (cradle_event){.kind = CRADLE_EVENT_PAUSE,
                                 .u.pause = {.cause = CRADLE_CAUSE_NURSERY_FULL, .duration_ns = 23456}});
  send_event(log, (cradle_event){.kind = CRADLE_EVENT_ARENAS,
                                 .u.arenas = {.given_back = 2,
                                              .committed = 30,
                                              .in_use = 28,
                                              .measured = 1,
                                              .resident_bytes = 60000,
                                              .huge_bytes = 50000,
                                              .pool_bytes = 40000}});
}

static inline void send_life(crd_link *log) {
  give_heap(log);
  send_created(log);
  send_minor(log);
  send_major(log);
  send_event(log, (cradle_event){.kind = CRADLE_EVENT_NOTE, .u.note = {"a note", 8, 4, CRADLE_NOTE_OTHER}});
  send_kind(log, CRADLE_EVENT_HEAP_DESTROYED);
}

static inline crd_link *open_log(const char *selection, const char *path) {
  char text[600];
  snprintf(text, sizeof text, "%s%s", selection, path);
  return open_log_before(text, (cradle_listener){0});
}

/* The text that a heap writes to a log from its creation to its end. */
static inline char *log_of_life(const char *selection) {
  const char *path = fresh_name(".log");
  now = 0;
  crd_link *log = open_log(selection, path);
  assert_non_null(log);
  send_life(log);
  return must_read(path);
}

/* Three heaps, one after the other. */
static inline void open_and_live(void *data) {
  for (int i = 0; i < 3; i++) {
    crd_link *log = open_log_before(data, (cradle_listener){0});
    if (log != NULL) send_life(log);
  }
}

/* --- standard error, children --- */

static inline void no_listener(void *data, const cradle_event *event) {
  (void)event;
  ++*(int *)data;
}

/* Runs the function with standard error redirected to a file; returns what the function wrote there. */
static inline char *errors_of(void (*function)(void *data), void *data) {
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

#ifdef __linux__
/* Becomes this program from its beginning, with these arguments. Meson names the emulator, if one runs the program. */
static inline void begin_again(const char *mode, const char *path) {
  char program[4096];
  ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
  program[length < 0 ? 0 : length] = '\0';
  execl("/bin/sh", "sh", "-c", "exec $MESON_EXE_WRAPPER \"$0\" \"$@\"", program, mode, path, (char *)NULL);
  _exit(127);
}
#endif

static inline int wait_for(pid_t child) {
  int status;
  pid_t ended = waitpid(child, &status, 0);
  assert_true(ended == child || (ended > 0 && child == -1));
  return status;
}

#endif
