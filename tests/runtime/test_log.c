/* The log: which sections it writes, and what it writes in each of its forms.
 *
 *     test_log [PAGE]
 *
 * PAGE is docs/logging.md, whose example must be what the library writes. Most tests feed the log events by hand; the
 * last ones run a heap. */
#include "tests/runtime/log_fixture.h"
#include "tests/support/allocated.h"

#include <sys/stat.h>
#include <time.h>

#define WORDS_OF(number) #number
#define VERSION_OF(major, minor, patch) WORDS_OF(major) "." WORDS_OF(minor) "." WORDS_OF(patch)
#define VERSION VERSION_OF(CRADLE_VERSION_MAJOR, CRADLE_VERSION_MINOR, CRADLE_VERSION_PATCH)

/* --- selection --- */

/* As in RPython, a nested section is written when it is selected, whatever is around it. The head is always written. */
static void words_select_sections_and_a_form(void **state) {
  static const struct {
    const char *words, *counted;
    int count;
    const char *has[3], *lacks;
  } cases[] = {
      {"", "] {", 12, {"\ncause: nursery full\n"}, "\"event\":"},
      {"cradle-log:", "] {", 1, {"1 tick = 1 ns of CLOCK_MONOTONIC\n"}, "{gc-"},
      {"gc-minor,gc-heap:", "] {", 4, {"{gc-minor\n", "{gc-minor-walkroots\n", "{gc-heap-end\n"}, "gc-collect"},
      {"gc-collect-step,gc-minor-w:",
       "] {",
       3,
       {"{gc-collect-step\nheap: ", "\nstarting gc state: marking\nmarked objects: 100\n",
        "{gc-minor-walkroots\nheap: "},
       "cause"},
      {"json,gc-collect-step,gc-note:",
       "\n",
       1 + 2 + 1,
       {"\"event\":\"gc-note\",\"text\":\"a note\",\"wanted\":8,\"got\":4}\n"},
       "gc-minor"},
      {"line,gc-minor:", "\n", 1 + 1, {"  gc-minor 1: "}, "gc-pause"},
      {"gc-min,line:", "\n", 1 + 1, {"  gc-minor 1: "}, "gc-pause"},
  };
  (void)state;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char *text = log_of_life(cases[i].words);
    read_sections(text);
    assert_int_equal(count_of(text, cases[i].counted), cases[i].count);
    for (int part = 0; part < 3 && cases[i].has[part] != NULL; part++) assert_has(text, cases[i].has[part]);
    assert_lacks(text, cases[i].lacks);
    free(text);
  }
}

static void nothing_asked_for_is_no_log(void **state) {
  (void)state;
  assert_null(open_log_before(NULL, (cradle_listener){0}));
}

static void a_missing_name_is_told(void **state) {
  (void)state;
  char *text = errors_of(open_and_live, (char *)(uintptr_t)"gc:");
  assert_string_equal(text, "cradle: CRADLE_LOG=gc:: names no file; there will be no log; wants FILE or "
                            "WORD,WORD:FILE (such as line:gc.log)\n");
  free(text);
}

/* Once, whatever is logged; the good words beside it count. */
static void a_word_of_nothing_is_told(void **state) {
  char selection[300];
  const char *path = fresh_name(".log");
  (void)state;
  snprintf(selection, sizeof selection, "jsn,gc-minor:%s", path);
  char *said = errors_of(open_and_live, selection), *text = must_read(path);
  assert_has(said, "cradle: CRADLE_LOG: jsn: selects no section, and is no form; wants text, json or line, or the "
                   "beginning of cradle-log, gc-hardware, ");
  assert_has(said, ", gc-beside, gc-heap-end\n");
  assert_int_equal(count_of(said, "\n"), 1);
  assert_has(text, "{gc-minor\n");
  assert_lacks(text, "gc-collect");
  free(said);
  free(text);
}

/* The beginning of a section that only its whole name selects is misspelt, too. */
static void a_misspelt_section_is_told_with_the_nearest(void **state) {
  static const char *const words[][2] = {
      {"gc-type", "gc-types"}, {"gc-mnior", "gc-minor"}, {"GC-PAUSE", "gc-pause"}, {"gc-sp4ms", "gc-spans"}};
  (void)state;
  for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
    char selection[300], wanted[200];
    snprintf(selection, sizeof selection, "%s:%s", words[i][0], fresh_name(".log"));
    snprintf(wanted, sizeof wanted,
             "cradle: CRADLE_LOG: %s: selects no section, and is no form; did you mean %s? Wants text", words[i][0],
             words[i][1]);
    char *text = errors_of(open_and_live, selection);
    assert_has(text, wanted);
    free(text);
  }
}

/* Of a long word, the first 80 letters are shown. */
static void a_long_word_is_told_in_part(void **state) {
  char selection[500], wanted[200];
  (void)state;
  for (int letters = 80; letters <= 200; letters += 120) {
    memset(selection, 'x', (size_t)letters);
    snprintf(selection + letters, sizeof selection - (size_t)letters, ":%s", fresh_name(".log"));
    snprintf(wanted, sizeof wanted, "CRADLE_LOG: %.80s: selects no", selection);
    char *text = errors_of(open_and_live, selection);
    if (letters == 80) assert_has(text, wanted);
    if (letters != 80) assert_string_equal(text, ""); /* the same words were said before */
    free(text);
  }
}

/* --- text: what PyPy's tools read --- */

static void everything_is_logged(void **state) {
  char *text = log_of_life(":");
  (void)state;
  assert_int_equal(read_sections(text), 12);
  assert_int_equal(strncmp(text, "[", 1), 0);
  assert_has(text, "] {cradle-log\nheap: ");
  assert_has(text, "\nCradle log, format 1\n1 tick = 1 ns of CLOCK_MONOTONIC\nseconds since 1970: ");
  assert_has(text, "\nprocess ");
  assert_has(text, "\nprogram test_log\nCradle " VERSION "\n");
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
  send_event(log, (cradle_event){.kind = CRADLE_EVENT_BESIDE, .u.beside = {7, 224, 0, 5000, 1000, 0}});
  send_event(log, (cradle_event){.kind = CRADLE_EVENT_BESIDE, .u.beside = {8, 256, 2, 1000000000, 2000, 3}});
  close_log(log);
  char *text = must_read(path);
  assert_int_equal(read_sections(text), 4);
  assert_has(text, "\nobject size: 16, span size: 4096, objects in a span: 255, spans: 3, used: 8000, memory: 12288, "
                   "waste in percent: 35\n[");
  assert_has(text, "\nmarked beside the program, objects: 7, bytes: 224\nthe second core ran: 0.000005000\n"
                   "waited for it to stop: 0.000001000\n[");
  assert_has(text, "\nmarked beside the program, objects: 8, bytes: 256\nput aside: 2\n"
                   "marked at once: 3\nthe second core ran: 1.000000000\nwaited for it to stop: 0.000002000\n[");
  free(text);
}

/* Only its whole name selects the section of types, because counting costs: no prefix, and not the lack of one. */
static void types_are_counted_if_asked_for(void **state) {
  static const struct {
    const char *selection;
    bool asks;
  } cases[] = {{"", false},         {"gc:", false},      {"json,gc-:", false},
               {"gc-type:", false}, {"gc-types:", true}, {"json,gc,gc-types:", true}};
  (void)state;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    const char *path = fresh_name(".log");
    char text[400];
    cradle_options options;
    cradle_options_init(&options);
    snprintf(text, sizeof text, "%s%s", cases[i].selection, path);
    crd_link *log = crd_log_open(text, &options);
    assert_non_null(log);
    assert_int_equal(options.report_types != 0, cases[i].asks);
    log->end(log->part);
    options.report_types = 7; /* the program's own wish stays */
    snprintf(text, sizeof text, "gc-types:%s", path);
    log = crd_log_open(text, &options);
    assert_int_equal(options.report_types, 7);
    log->end(log->part);
  }
}

static void types_have_a_section(void **state) {
  static const char *const forms[] = {"gc-types:", "json,gc-types:", "line,gc-types:"};
  static const char *const wanted[] = {
      ("\nmajor collection: 3\nname of the type: pair\nnumber of the type: 5\ntypes: 1\nlive objects: 100\n"
       "live bytes: 2400\n["),
      ",\"collection\":3,\"type\":6,\"types\":1,\"live_objects\":2,\"live_bytes\":64}\n",
      "gc-types 3: (rest), type 0, objects 9, 288 B\n",
  };
  (void)state;
  for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
    const char *path = fresh_name(".log");
    crd_link *log = open_log(forms[i], path);
    send_event(log, (cradle_event){.kind = CRADLE_EVENT_TYPES, .u.types = {3, 1, 5, 100, 2400, "pair"}});
    send_event(log, (cradle_event){.kind = CRADLE_EVENT_TYPES, .u.types = {3, 1, 6, 2, 64, NULL}});
    send_event(log, (cradle_event){.kind = CRADLE_EVENT_TYPES, .u.types = {3, 4, 0, 9, 288, "(rest)"}});
    close_log(log);
    char *text = must_read(path);
    assert_has(text, wanted[i]);
    free(text);
  }
}

/* Two minor collections of a heap with threads: two helped in the first, and none in the second. */
static char *log_of_helpers(const char *selection) {
  const char *path = fresh_name(".log");
  crd_link *log = open_log(selection, path);
  cradle_event end = {.kind = CRADLE_EVENT_MINOR_END,
                      .u.minor = {.number = 1,
                                  .promoted_bytes = 4096,
                                  .helpers = 2,
                                  .helped_objects = 50,
                                  .helped_bytes = 3072,
                                  .helped_ns = 5000}};
  send_kind(log, CRADLE_EVENT_MINOR_BEGIN);
  send_event(log, end);
  end.u.minor = (__typeof__(end.u.minor)){.number = 2, .promoted_bytes = 32, .alone = "little is promoted"};
  send_kind(log, CRADLE_EVENT_MINOR_BEGIN);
  send_event(log, end);
  close_log(log);
  return must_read(path);
}

static void helpers_are_told_or_why_there_were_none(void **state) {
  (void)state;
  char *text = log_of_helpers("gc-minor:");
  assert_int_equal(read_sections(text), 3);
  assert_has(text, "after: 0\nhelpers: 2, objects: 50\npromoted by helpers, bytes: 3072\n"
                   "the helpers worked: 0.000005000\ntime taken: ");
  assert_has(text, "after: 0\nalone: little is promoted\ntime taken: ");
  free(text);
  text = log_of_helpers("json,gc-minor:");
  assert_has(text, ",\"helpers\":2,\"helped_objects\":50,\"helped_bytes\":3072,\"helped_ns\":5000,\"time_ns\":0}\n");
  assert_has(text, "\"used_after_bytes\":0,\"alone\":\"little is promoted\",\"time_ns\":0}\n");
  free(text);
  text = log_of_helpers("line,gc-minor:");
  assert_has(text, "survived 4.00 KiB, helpers 2 promoted 3.00 KiB, took 0 ns\n");
  assert_has(text, "survived 32 B, alone: little is promoted, took 0 ns\n");
  free(text);
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

/* --- JSON --- */

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
  send_event(log, (cradle_event){.kind = CRADLE_EVENT_BESIDE, .u.beside = {7, 224, 0, 5000, 1000, 0}});
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

/* Written out in full: this is the format. */
static void the_json_lines_are_as_documented(void **state) {
  (void)state;
  char *text = log_of_known_events("json,cradle-log,gc-minor,gc-collect,gc-pause,gc-beside:");
  assert_ptr_equal(strstr(text, "{\"t\":"), text);
  assert_has(text, ",\"heap\":\"P.H\",\"event\":\"cradle-log\",\"format\":\"cradle-json\",\"version\":1,"
                   "\"clock\":\"CLOCK_MONOTONIC\",\"tick_ns\":1,\"unix_ns\":");
  assert_time_of_day(text);
  const char *end = strstr(text, ",\"process\":P,\"program\":\"test_log\",\"cradle\":\"" VERSION "\"}\n");
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

/* --- lines, for people --- */

/* A pause in which the thread ran for ran_ns, and the system took the processor so often. */
static void send_pause(crd_link *log, uint64_t ns, uint64_t ran_ns, uint64_t preemptions) {
  send_event(log, (cradle_event){.kind = CRADLE_EVENT_PAUSE,
                                 .u.pause = {CRADLE_CAUSE_NURSERY_FULL, ns, ran_ns, preemptions != 0, preemptions, 0,
                                             NULL, NULL}});
}

/* What docs/logging.md shows. */
static void send_example(crd_link *log) {
  const uint64_t mib = 1 << 20;
  cradle_event minor = {.kind = CRADLE_EVENT_MINOR_END};
  for (uint64_t i = 1; i <= 2; i++) {
    now += 6321000;
    minor.u.minor.number = i;
    minor.u.minor.promoted_bytes = 66816 * i * i;
    minor.u.minor.used_before = 29 * mib + i * 180000;
    minor.u.minor.used_after = 25 * mib + minor.u.minor.promoted_bytes;
    minor.u.minor.duration_ns = 121004 * i;
    send_event(log, minor);
    if (i == 2)
      send_event(log, (cradle_event){.kind = CRADLE_EVENT_MAJOR_END,
                                     .u.major = {CRADLE_CAUSE_THRESHOLD, 1, 25 * mib + 300000, 12 * mib + 8192,
                                                 22 * mib, 10600000}});
    send_pause(log, i == 2 ? 1950000 : 123004, i == 1 ? 81000 : 1949980, i == 1 ? 2 : 0);
  }
}

static char *example(void) {
  const char *path = fresh_name(".log");
  crd_link *log = open_log("line:", path);
  now = 0;
  send_example(log);
  close_log(log);
  return must_read(path);
}

/* The page has the same lines, with its own times and process. */
static void a_section_is_a_line(void **state) {
  static const char *const lines[] = {
      "cradle-log: format 1, process ",
      "gc-minor 1: nursery full, 29.2 MiB => 25.1 MiB, survived 65.3 KiB, took 121 us\n",
      "gc-pause: nursery full, took 123 us, ran 81.0 us, other work ran, times 2\n",
      "gc-minor 2: nursery full, 29.3 MiB => 25.3 MiB, survived 261 KiB, took 242 us\n",
      "gc-collect-done 1: threshold, 25.3 MiB => 12.0 MiB, next at 22.0 MiB, took 10.6 ms\n",
      "gc-pause: nursery full, took 1.95 ms, ran 1.95 ms\n",
  };
  const int count = sizeof lines / sizeof *lines;
  const char *page = *state;
  char *text = example(), *documented = page != NULL ? must_read(page) : NULL;
  assert_int_equal(lines_with(text, ""), count);
  for (int i = 0; i < count; i++) {
    char wanted[200];
    assert_int_equal(lines_with(text, lines[i]), 1);
    snprintf(wanted, sizeof wanted, "  4711.1  %s", lines[i]);
    if (page != NULL) assert_has(documented, wanted);
  }
  if (page != NULL)
    assert_has(documented, "  4711.1  cradle-log: format 1, process 4711, program vm, Cradle " VERSION "\n");
  free(documented);
  free(text);
}

static void every_section_for_people_has_its_line(void **state) {
  (void)state;
  char *text = log_of_life("line:");
  assert_int_equal(lines_with(text, ""), 1 + 5);
  assert_has(text, "  gc-set-nursery-size: 512 KiB, before 0 B, half of the L2 cache\n");
  assert_has(text, "  gc-note: a note, wanted 8, got 4\n");
  free(text);
  const char *path = fresh_name(".log");
  crd_link *log = open_log("line:", path);
  send_kind(log, CRADLE_EVENT_COMPACT_BEGIN);
  send_event(log, (cradle_event){.kind = CRADLE_EVENT_COMPACT_END, .u.compact = {1, 2048, 3, 4, 5000}});
  close_log(log);
  text = must_read(path);
  assert_has(text, "  gc-collect-compact: moved 2.00 KiB, arenas emptied 3 of 4, took 5.00 us\n");
  free(text);
}

/* Three digits, or all of a whole number. */
static void amounts_have_three_digits(void **state) {
  static const struct {
    uint64_t amount;
    const char *bytes, *time;
  } cases[] = {
      {0, "0 B", "0 ns"},
      {999, "999 B", "999 ns"},
      {1000, "1000 B", "1.00 us"},
      {1023, "1023 B", "1.02 us"},
      {1024, "1.00 KiB", "1.02 us"},
      {9994, "9.76 KiB", "9.99 us"},
      {9995, "9.76 KiB", "10.0 us"},
      {10229, "9.99 KiB", "10.2 us"},
      {10236, "10.0 KiB", "10.2 us"},
      {99949, "97.6 KiB", "99.9 us"},
      {99950, "97.6 KiB", "100 us"},
      {102348, "99.9 KiB", "102 us"},
      {102350, "100 KiB", "102 us"},
      {999499, "976 KiB", "999 us"},
      {999500, "976 KiB", "1.00 ms"},
      {1048063, "1023 KiB", "1.05 ms"},
      {1048064, "1.00 MiB", "1.05 ms"},
      {1000000000, "954 MiB", "1.00 s"},
      {(uint64_t)1 << 30, "1.00 GiB", "1.07 s"},
      {(uint64_t)1 << 40, "1.00 TiB", "1100 s"},
  };
  const char *path = fresh_name(".log");
  (void)state;
  crd_link *log = open_log("line:", path);
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    cradle_event end = {.kind = CRADLE_EVENT_MINOR_END, .u.minor.number = i + 1};
    end.u.minor.promoted_bytes = end.u.minor.used_before = end.u.minor.used_after = cases[i].amount;
    end.u.minor.duration_ns = cases[i].amount;
    send_event(log, end);
  }
  close_log(log);
  char *text = must_read(path);
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    char wanted[200];
    snprintf(wanted, sizeof wanted, "  gc-minor %d: nursery full, %s => %s, survived %s, took %s\n", (int)i + 1,
             cases[i].bytes, cases[i].bytes, cases[i].bytes, cases[i].time);
    assert_has(text, wanted);
  }
  free(text);
}

static void lines_are_whole_whatever_comes(void **state) {
  const char *path = fresh_name(".log");
  unsigned random = 4711;
  (void)state;
  now = 0;
  crd_link *log = open_log("line:", path);
  for (int i = 0; i < 20000; i++) {
    random = random * 1103515245u + 12345u;
    cradle_event event = {.kind = (cradle_event_kind)(1 + (random >> 16) % (CRADLE_EVENT_NOTE + 2))};
    if (event.kind <= CRADLE_EVENT_NURSERY_SIZED || event.kind == CRADLE_EVENT_NOTE) continue; /* pointers */
    memset(&event.u, (int)(random >> 8 & 15), sizeof event.u / 8); /* some fields of any kind */
    send_event(log, event);
  }
  close_log(log);
  char *text = must_read(path);
  assert_true(lines_with(text, "") > 2000);
  free(text);
}

/* Where nothing is known of what lives, nothing is said. */
static void a_nursery_size_tells_what_lives(void **state) {
  (void)state;
  cradle_event sized = {.kind = CRADLE_EVENT_NURSERY_SIZED, .u.nursery = {1 << 20, 0, "4 x L2", NULL}};
  const char *path = fresh_name(".log");
  crd_link *log = open_log("line:", path);
  send_event(log, sized);
  sized.u.nursery = (__typeof__(sized.u.nursery)){2 << 20, 1 << 20, "because", "512 KiB 97, 1 MiB 12"};
  send_event(log, sized);
  close_log(log);
  char *text = must_read(path);
  assert_int_equal(count_of(text, "percent live"), 1);
  assert_has(text, ", because, percent live: 512 KiB 97, 1 MiB 12");
  free(text);
}

static void nothing_is_allocated(void **state) {
  (void)state;
  crd_link *log = open_log("line:", fresh_name(".log"));
  send_example(log);
  size_t before = allocated_bytes();
  for (int i = 0; i < 2000; i++) send_example(log);
  assert_int_equal(allocated_bytes(), before);
  close_log(log);
}

/* --- when it is written --- */

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

static long bytes_in(const char *path) {
  struct stat status;
  assert_int_equal(stat(path, &status), 0);
  return (long)status.st_size;
}

/* In a file each line would be a system call. */
static void lines_for_a_file_wait_in_the_buffer(void **state) {
  const char *path = fresh_name(".log");
  (void)state;
  crd_link *log = open_log("line:", path);
  send_minor(log);
  assert_int_equal(bytes_in(path), 0);
  close_log(log);
  char *text = must_read(path);
  assert_int_equal(lines_with(text, "gc-minor "), 1);
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

/* --- a heap's lines say what its events said, under stress too --- */

typedef struct node {
  uint64_t header;
  struct node *next;
} node;
enum { T_NODE, T_COUNT };
static const cradle_type types[T_COUNT] = {
    [T_NODE] = {.name = "node", .size = sizeof(node), .references = CRADLE_SLOT(node, next)},
};

/* What the events said, and what the heap counted. */
typedef struct told {
  double survived[20000];
  int minors;
  cradle_statistics last;
} told;

static void remember(void *data, const cradle_event *event) {
  told *all = data;
  assert_in_range(all->minors, 0, 19999);
  if (event->kind == CRADLE_EVENT_MINOR_END) all->survived[all->minors++] = (double)event->u.minor.promoted_bytes;
  if (event->kind == CRADLE_EVENT_HEAP_DESTROYED) all->last = *event->u.destroyed.statistics;
}

CRADLE_UNCHECKED_COLLECTION static void use(cradle_mutator *m) {
  node *list = NULL;
  CRADLE_ROOT(m, list);
  for (int i = 0; i < 30000; i++) {
    node *fresh = cradle_new(m, T_NODE, sizeof(node));
    fresh->next = i % 7000 == 0 ? NULL : list;
    if (i % 2 == 0) list = fresh;
  }
  cradle_collect(m, CRADLE_COLLECT_FULL);
}

CRADLE_UNCHECKED_COLLECTION static void live(const char *path, uint64_t stress, told *all) {
  cradle_options options;
  cradle_error error;
  char text[300];
  cradle_options_init(&options);
  options.types = types;
  options.type_count = T_COUNT;
  options.nursery_bytes = 16384;
  options.major_min_bytes = 16384;
  options.stress_period = stress;
  snprintf(text, sizeof text, "line:%s", path);
  crd_link *log = open_log_before(text, (cradle_listener){remember, all});
  options.listener = (cradle_listener){crd_link_hear, log};
  cradle_heap *heap = cradle_heap_new(&options, &error);
  if (heap == NULL) fail_msg("%s", error.message);
  give_heap(log);
  cradle_mutator *m = cradle_mutator_new(heap);
  use(m);
  cradle_mutator_free(m);
  cradle_heap_free(heap);
}

static void the_lines_say_what_the_events_said(void **state) {
  static told all;
  (void)state;
  for (uint64_t stress = 0; stress <= 50; stress += 50) {
    const char *path = fresh_name(".log");
    all = (told){.minors = 0};
    live(path, stress, &all);
    char *text = must_read(path);
    int number = 0;
    assert_int_equal(lines_with(text, "gc-minor "), all.last.minor_collections);
    assert_int_equal(lines_with(text, "gc-collect-done "), all.last.major_collections);
    assert_int_equal(lines_with(text, "gc-pause: "), all.last.pauses);
    for (const char *at = text; (at = strstr(at, "  gc-minor ")) != NULL; at++) {
      double survived, factor = 1;
      char unit[4];
      assert_int_equal(strtol(at + 11, NULL, 10), ++number);
      assert_int_equal(sscanf(strstr(at, ", survived "), ", survived %lf %3[KMiB]", &survived, unit), 2);
      if (*unit != 'B') factor = *unit == 'K' ? 1024 : 1048576;
      assert_true(survived * factor >= all.survived[number - 1] * 0.9949);
      assert_true(survived * factor <= all.survived[number - 1] * 1.0051);
    }
    assert_int_equal(number, all.minors);
    free(text);
  }
}

int main(int argc, char **argv) {
  char *page = argc > 1 ? argv[1] : NULL;
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(words_select_sections_and_a_form),
      cmocka_unit_test(nothing_asked_for_is_no_log),
      cmocka_unit_test(a_missing_name_is_told),
      cmocka_unit_test(a_word_of_nothing_is_told),
      cmocka_unit_test(a_misspelt_section_is_told_with_the_nearest),
      cmocka_unit_test(a_long_word_is_told_in_part),
      cmocka_unit_test(everything_is_logged),
      cmocka_unit_test(the_minor_section_is_as_documented),
      cmocka_unit_test(spans_and_the_second_core_have_sections),
      cmocka_unit_test(types_are_counted_if_asked_for),
      cmocka_unit_test(types_have_a_section),
      cmocka_unit_test(helpers_are_told_or_why_there_were_none),
      cmocka_unit_test(time_never_goes_back),
      cmocka_unit_test(heaps_are_told_apart),
      cmocka_unit_test(the_json_lines_are_as_documented),
      cmocka_unit_test(words_are_escaped),
      cmocka_unit_test_prestate(a_section_is_a_line, page),
      cmocka_unit_test(every_section_for_people_has_its_line),
      cmocka_unit_test(amounts_have_three_digits),
      cmocka_unit_test(lines_are_whole_whatever_comes),
      cmocka_unit_test(a_nursery_size_tells_what_lives),
      cmocka_unit_test(nothing_is_allocated),
      cmocka_unit_test(standard_error_is_written_at_each_section),
      cmocka_unit_test(inner_sections_wait_for_theirs_on_standard_error),
      cmocka_unit_test(lines_for_a_file_wait_in_the_buffer),
      cmocka_unit_test(destroyed_before_the_hand_over_keeps_the_log),
      cmocka_unit_test(a_heap_logs_its_life),
      cmocka_unit_test(a_heap_that_cannot_be_made_frees_its_log),
      cmocka_unit_test(the_lines_say_what_the_events_said),
  };
  return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
