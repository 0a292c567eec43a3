/* Reads a line log as strictly as it is written: every line is whole, every column is there and ends where it should,
 * and no collection is missing. */
#ifndef TESTS_LINE_LOG_H
#define TESTS_LINE_LOG_H

#include "tests/runtime/log_fixture.h"

#include <regex.h>

#define BYTES "[0-9.]{1,4} (B|[KMGT]iB)"
#define TIME "[0-9.]{1,5} (ns|us|ms|s)"
#define BYTES_COLUMN "  ( *[0-9.]{1,4}) (B  |[KMGT]iB)"
#define TIME_COLUMN "  ( *[0-9.]{1,4}) (ns|us|ms|s )"

static const char line_form[] =
    "^ *([0-9]+\\.[0-9]{6})  ([0-9]+\\.[0-9]+) *  (minor|major)( +[0-9]+)" BYTES_COLUMN BYTES_COLUMN BYTES_COLUMN
    "( +[0-9]+\\.[0-9]) %" TIME_COLUMN TIME_COLUMN "  ([a-z ]+)(: increments ([0-9]+); marking " TIME ", clearing " TIME
    ", sweeping " TIME ", compacting " TIME "; marked " BYTES ", freed " BYTES ", given back (" BYTES "))?(; ran " TIME
    "(, other work [0-9]+ times)?)?$";
enum { SECONDS = 1, LABEL, KIND, NUMBER, BEFORE, AFTER = 7, SURVIVED = 9, SHARE = 11, TOOK, PAUSE = 14, CAUSE = 16 };
enum { TAIL = 17, GIVEN_BACK = 25, GROUPS = 27 };

/* Where a column ends, behind the end of the label's. */
static const struct {
  int group, end;
} column_ends[] = {{KIND, 7},   {NUMBER, 16}, {BEFORE, 22}, {AFTER, 32}, {SURVIVED, 42},
                   {SHARE, 53}, {TOOK, 61},   {PAUSE, 70},  {CAUSE, 0}};

typedef struct line {
  double seconds, before, after, survived, share, took, pause, given_back;
  char label[40], cause[40];
  bool is_major;
  uint64_t number;
} line;

static inline double amount_at(const char *text, const regmatch_t *group) {
  static const struct {
    const char *unit;
    double factor;
  } units[] = {{"B", 1},    {"KiB", 1024}, {"MiB", 1048576}, {"GiB", 1073741824.0}, {"TiB", 1099511627776.0}, {"ns", 1},
               {"us", 1e3}, {"ms", 1e6},   {"s", 1e9}};
  char *unit, name[4] = "";
  double value = strtod(text + group->rm_so, &unit);
  sscanf(unit, " %3[A-Za-z]", name);
  for (size_t i = 0; i < sizeof units / sizeof units[0]; i++)
    if (strcmp(units[i].unit, name) == 0) return value * units[i].factor;
  fail_msg("no unit: %s", unit);
  return 0;
}

static inline void copy_group(char *out, size_t room, const char *text, const regmatch_t *group) {
  snprintf(out, room, "%.*s", (int)(group->rm_eo - group->rm_so), text + group->rm_so);
}

/* Fails unless text is a whole line with every column at its place. */
static inline line read_line(const char *text) {
  static regex_t form;
  static bool compiled;
  regmatch_t groups[GROUPS];
  line read = {0};
  if (!compiled) assert_int_equal(regcomp(&form, line_form, REG_EXTENDED), 0);
  compiled = true;
  if (regexec(&form, text, GROUPS, groups, 0) != 0) fail_msg("no line of the log: %s", text);
  int label_end = groups[LABEL].rm_eo - groups[LABEL].rm_so > 10 ? (int)groups[LABEL].rm_eo : 16 + 10;
  assert_int_equal(groups[LABEL].rm_so, 16);
  for (size_t i = 0; column_ends[i].end != 0; i++)
    if (groups[column_ends[i].group].rm_eo != label_end + column_ends[i].end)
      fail_msg("group %d ends at %d, not at %d: %s", column_ends[i].group, (int)groups[column_ends[i].group].rm_eo,
               label_end + column_ends[i].end, text);
  read.is_major = memcmp(text + groups[KIND].rm_so, "major", 5) == 0;
  if (read.is_major != (groups[TAIL].rm_so >= 0)) fail_msg("what follows the cause is not this kind's: %s", text);
  copy_group(read.label, sizeof read.label, text, &groups[LABEL]);
  copy_group(read.cause, sizeof read.cause, text, &groups[CAUSE]);
  read.number = strtoull(text + groups[NUMBER].rm_so, NULL, 10);
  read.seconds = strtod(text + groups[SECONDS].rm_so, NULL);
  read.share = strtod(text + groups[SHARE].rm_so, NULL);
  read.before = amount_at(text, &groups[BEFORE]);
  read.after = amount_at(text, &groups[AFTER]);
  read.survived = amount_at(text, &groups[SURVIVED]);
  read.took = amount_at(text, &groups[TOOK]);
  read.pause = amount_at(text, &groups[PAUSE]);
  if (read.is_major) read.given_back = amount_at(text, &groups[GIVEN_BACK]);
  return read;
}

/* A heap of a log: what its last lines were. */
typedef struct heap_lines {
  char label[40];
  uint64_t number[2]; /* of the last minor and the last major one */
  double seconds;
} heap_lines;

typedef struct whole_log {
  heap_lines heaps[8];
  int heap_count, line_count;
  bool numbered; /* every collection must be there */
} whole_log;

static inline heap_lines *heap_of(whole_log *log, const char *label) {
  for (int i = 0; i < log->heap_count; i++)
    if (strcmp(log->heaps[i].label, label) == 0) return &log->heaps[i];
  fail_msg("heap %s has no header", label);
  return NULL;
}

static inline void read_head(whole_log *log, const char *first, const char *second) {
  unsigned long long seconds;
  heap_lines *heap = &log->heaps[log->heap_count++];
  assert_in_range(log->heap_count, 1, 8);
  assert_int_equal(sscanf(first,
                          "# Cradle's line log, format 1; heap %39[0-9.]; second 0 is %llu.%*9[0-9] seconds since 1970",
                          heap->label, &seconds),
                   2);
  assert_int_equal(strncmp(second, "#      seconds  heap ", 21), 0);
  const char *rest =
      strstr(second, "  collection        before     after  survived             took    pause  cause\n");
  assert_ptr_equal(rest, second + 16 + (strlen(heap->label) > 10 ? strlen(heap->label) : 10));
}

/* Every line of text, which ends with a whole one. */
static inline whole_log read_lines(const char *text, bool numbered) {
  whole_log log = {.numbered = numbered};
  while (*text != '\0') {
    const char *end = strchr(text, '\n');
    if (end == NULL) fail_msg("torn: %s", text);
    if (*text == '#') {
      read_head(&log, text, end + 1);
      end = strchr(end + 1, '\n');
      assert_non_null(end);
    } else {
      char one[1000];
      snprintf(one, sizeof one, "%.*s", (int)(end - text), text);
      line read = read_line(one);
      heap_lines *heap = heap_of(&log, read.label);
      if (numbered) assert_int_equal(read.number, heap->number[read.is_major] + 1);
      heap->number[read.is_major] = read.number;
      assert_true(read.seconds >= heap->seconds);
      heap->seconds = read.seconds;
      log.line_count++;
    }
    text = end + 1;
  }
  return log;
}

#endif
