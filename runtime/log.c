/* The log: chooses the sections and the form. The event table (runtime/event_table.h) has what is said about each
 * event, the sinks (runtime/log_sink.h) how it is written.
 *
 * There may be thousands of minor collections a second, so their path makes no system call unless the buffer is full.
 */
#include "runtime/log.h"

#include <cradle/statistics.h>

#include "gc/base/text.h"
#include "gc/platform/pages.h"
#include "runtime/environment.h"
#include "runtime/log_sink.h"
#include "runtime/platform/files.h"
#include "runtime/platform/process.h"
#include "runtime/report.h"

#include <stdio.h>
#include <stdlib.h>

#define FORMAT_VERSION 1
/* A log with the section gc-types has a row for each of so many types, the largest, and one for all others. */
#define TYPES_REPORTED 20
/* Sections that cost more than their lines: only their whole names select them. */
#define ASKED_FOR (UINT32_C(1) << CRD_SECTION_TYPES)
#define PROGRAM_BYTES 64
#define WORDS_OF(number) #number
#define VERSION_OF(major, minor, patch) WORDS_OF(major) "." WORDS_OF(minor) "." WORDS_OF(patch)
#define VERSION VERSION_OF(CRADLE_VERSION_MAJOR, CRADLE_VERSION_MINOR, CRADLE_VERSION_PATCH)

static const crd_sink *const sinks[] = {&crd_sink_text, &crd_sink_json, &crd_sink_line};

/* What asks for a log. */
typedef enum crd_log_kind { KIND_LOG, KIND_PROFILE, KIND_TOTALS, KINDS } crd_log_kind;
static const struct {
  const char *variable, *noun;
} kinds[KINDS] = {{"CRADLE_LOG", "log"}, {"CRADLE_PROFILE", "profile"}, {"CRADLE_STATS", "statistics"}};

/* What is written, and how. */
typedef struct selection {
  const crd_sink *sink;
  uint32_t sections; /* bit s: section s is written */
} selection;

struct crd_log {
  crd_log *next, **leads_here; /* [log.2] */
  crd_link link;
  crd_lock lock; /* [log.1] */
  selection chosen;
  uint32_t depth;           /* selected sections that are open */
  cradle_statistics latest; /* of totals: after the latest pause */
  crd_pauses pauses;        /* for the section at the heap's end */
  crd_log_writer writer;
};

/* --- sections --- */

static bool is_selected(const crd_log *log, crd_section section) {
  return log->chosen.sections >> section & 1;
}

static void write_row(crd_log *log, const crd_event_row *row, const void *base) {
  if (row->phase == CRD_PHASE_END && log->depth != 0) log->depth--;
  log->writer.outermost = log->depth == 0;
  log->chosen.sink->entry(&log->writer, row, base);
  if (row->phase == CRD_PHASE_BEGIN)
    log->depth++;
  else
    crd_log_file_section_end(&log->writer.file, log->depth == 0);
}

/* --- events --- */

static void write_figures(crd_log *log, const crd_event_row *row, const cradle_event *event) {
  crd_figures figures = {.statistics = *event->u.destroyed.statistics, .pauses = crd_pauses_read(&log->pauses)};
  crd_figures_held(&figures);
  write_row(log, row, &figures);
}

/* A heap that is freed in the middle of its work leaves sections open. */
static void write_event(crd_log *log, const cradle_event *event) {
  if (event->kind == CRADLE_EVENT_HEAP_DESTROYED) log->depth = 0;
  for (const crd_event_row *row = crd_event_rows; row < crd_event_rows + crd_event_row_count; row++) {
    if (row->kind != event->kind || !is_selected(log, row->section)) continue;
    if (row->base == CRD_BASE_FIGURES)
      write_figures(log, row, event);
    else
      write_row(log, row, row->base == CRD_BASE_HARDWARE ? (const void *)event->u.heap.hardware : event);
  }
}

/* --- the head: always written, because without the unit that it gives, timestamps mean nothing --- */

static void write_head(crd_log *log) {
  static uint64_t first; /* the time of the process's first head [log.2] */
  crd_log_writer *writer = &log->writer;
  uint64_t now = crd_platform_now_ns(), unix_ns = crd_unix_time_ns();
  if (now > writer->time_ns)
    writer->time_ns = now;
  else
    unix_ns += writer->time_ns - now;
  writer->start_ns = 0;
  if (__atomic_compare_exchange_n(&first, &writer->start_ns, now, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
    writer->start_ns = now;
  writer->process = (uint64_t)crd_process_number();
  snprintf(writer->label, sizeof writer->label, "%ju.%ju", (uintmax_t)writer->process, (uintmax_t)writer->heap);
  if (log->chosen.sink->is_for_reading) writer->file.unbuffered |= !writer->file.regular;
  const char *program = crd_program_name();
  char shown[PROGRAM_BYTES];
  (void)crd_show_text(shown, sizeof shown, program, strlen(program));
  write_row(log, &crd_head_row,
            &(crd_head){FORMAT_VERSION, 1, unix_ns, writer->process, "cradle-json", "CLOCK_MONOTONIC", shown, VERSION});
}

static void adopt_if_forked(crd_log *log) {
  crd_log_file *file = &log->writer.file;
  if (log->depth == 0 && crd_log_file_is_inherited(file) && crd_log_file_renew(file)) write_head(log);
}

static bool is_totals(const crd_log *log) {
  return log->chosen.sink == &crd_sink_totals;
}

/* false: there is nothing to write, now and ever: the heap could not be made, or is the parent's, which writes them. */
static bool record(crd_log *log, const cradle_event *event) {
  if (log->link.heap == NULL || crd_log_file_is_inherited(&log->writer.file)) return false;
  if (event->kind == CRADLE_EVENT_PAUSE) cradle_heap_statistics(log->link.heap, &log->latest, sizeof log->latest);
  return true;
}

static void handle(crd_log *log, const cradle_event *event) {
  if (is_selected(log, CRD_SECTION_HEAP_END)) crd_pauses_hear(&log->pauses, event);
  if (event->time_ns > log->writer.time_ns) log->writer.time_ns = event->time_ns;
  if (is_totals(log) && !record(log, event)) return;
  adopt_if_forked(log);
  if (!log->writer.file.stopped) write_event(log, event);
}

static void listen(void *data, const cradle_event *event) {
  crd_log *log = data;
  crd_lock_take(&log->lock);
  handle(log, event);
  crd_lock_release(&log->lock);
}

static void begin(void *part) {
  crd_log *log = part;
  if (is_totals(log)) cradle_heap_statistics(log->link.heap, &log->latest, sizeof log->latest);
}

/* The totals of a heap that is alive now are written; a heap that ends even later has none. */
static void write_rest(crd_log *log) {
  const cradle_event end = {.kind = CRADLE_EVENT_HEAP_DESTROYED, .u.destroyed = {&log->latest}};
  if (!crd_lock_try(&log->lock, false)) return;
  log->writer.file.unbuffered = true;
  if (is_totals(log)) {
    handle(log, &end);
    log->chosen.sections = 0;
  }
  crd_log_file_flush(&log->writer.file);
  crd_lock_release(&log->lock);
}

/* --- the process's logs [log.2] --- */

static crd_log *all;
static crd_lock all_lock;
static bool registered;

static void write_all_at_exit(void) {
  if (!crd_lock_try(&all_lock, true)) return;
  registered = false; /* a heap that starts later, in a child of fork or in an exit handler, registers again */
  for (crd_log *log = all; log != NULL; log = log->next) write_rest(log);
  crd_lock_release(&all_lock);
}

static void enter(crd_log *log) {
  crd_lock_take(&all_lock);
  log->next = all;
  log->leads_here = &all;
  if (all != NULL) all->leads_here = &log->next;
  __atomic_store_n(&all, log, __ATOMIC_RELEASE);
  if (!registered) registered = atexit(write_all_at_exit) == 0;
  crd_lock_release(&all_lock);
}

static void end(void *part) {
  crd_log *log = part;
  crd_lock_take(&all_lock);
  *log->leads_here = log->next;
  if (log->next != NULL) log->next->leads_here = log->leads_here;
  crd_lock_release(&all_lock);
  crd_log_file_close(&log->writer.file);
  free(log);
}

/* --- what CRADLE_LOG says --- */

static const crd_sink *sink_named(const char *name, size_t length) {
  for (size_t i = 0; i < sizeof sinks / sizeof *sinks; i++)
    if (strlen(sinks[i]->name) == length && memcmp(sinks[i]->name, name, length) == 0) return sinks[i];
  return NULL;
}

static uint32_t sections_with_prefix(const char *prefix, size_t length) {
  uint32_t selected = 0;
  for (int i = 0; i < CRD_SECTION_COUNT; i++)
    if (strncmp(crd_section_names[i], prefix, length) == 0 &&
        (!(ASKED_FOR >> i & 1) || crd_section_names[i][length] == '\0'))
      selected |= (uint32_t)1 << i;
  return selected;
}

/* The section that a misspelt word may mean; NULL: none is close. */
static const char *nearest_section(const char *word, size_t length) {
  const char *nearest = NULL;
  size_t fewest = 3; /* mistakes in a name are at most two */
  for (size_t i = 0; i < CRD_SECTION_COUNT; i++) {
    size_t edits = crd_edits_between(word, length, crd_section_names[i], strlen(crd_section_names[i]));
    if (edits < fewest) fewest = edits, nearest = crd_section_names[i];
  }
  return nearest;
}

static void report_word(const char *word, size_t length) {
  const char *nearest = nearest_section(word, length);
  char sections[400];
  for (size_t i = 0, at = 0; i < CRD_SECTION_COUNT && at < sizeof sections; i++)
    at += (size_t)snprintf(sections + at, sizeof sections - at, "%s%s", i == 0 ? "" : ", ", crd_section_names[i]);
  crd_report("CRADLE_LOG: %.*s: selects no section, and is no form%s%s%s text, json or line, or the beginning of %s",
             length < 80 ? (int)length : 80, word, nearest != NULL ? "; did you mean " : "; ",
             nearest != NULL ? nearest : "", nearest != NULL ? "? Wants" : "wants", sections);
}

/* The words end at the colon. Each word is a form or the beginning of section names; an empty word, or no word, selects
 * all sections. */
static selection parse_words(const char *words) {
  selection chosen = {&crd_sink_text, 0};
  bool all = true;
  for (;; words++) {
    size_t length = strcspn(words, ",:");
    const crd_sink *sink = sink_named(words, length);
    if (sink != NULL) {
      chosen.sink = sink;
    } else {
      uint32_t sections = sections_with_prefix(words, length);
      chosen.sections |= sections;
      all = false;
      if (sections == 0) report_word(words, length);
    }
    words += length;
    if (*words == ':') break;
  }
  if (all) chosen.sections = sections_with_prefix("", 0);
  return chosen;
}

/* Opens the file and begins the log. NULL: that failed, and was reported. */
static crd_log *start(crd_log_kind kind, const char *name, selection chosen, cradle_options *options) {
  static uint64_t heaps[KINDS]; /* with such a log, in this process [log.2] */
  crd_log *log = calloc(1, sizeof *log);
  if (log == NULL) crd_report("%s: no memory for the %s", kinds[kind].variable, kinds[kind].noun);
  if (log == NULL || !crd_log_file_open(&log->writer.file, name, kinds[kind].variable, kinds[kind].noun)) {
    free(log);
    return NULL;
  }
  log->chosen = chosen;
  log->link = (crd_link){listen, end, begin, .part = log};
  log->writer.heap = __atomic_add_fetch(&heaps[kind], 1, __ATOMIC_RELAXED);
  write_head(log);
  enter(log);
  if (is_selected(log, CRD_SECTION_TYPES) && options->report_types == 0) options->report_types = TYPES_REPORTED;
  (void)crd_link_add(&log->link, options);
  return log;
}

crd_link *crd_log_open(const char *text, cradle_options *options) {
  if (text == NULL) return NULL;
  const char *colon = crd_begins_with_drive(text) ? NULL : strchr(text, ':');
  selection chosen = parse_words(colon != NULL ? text : ":");
  const char *name = colon != NULL ? colon + 1 : text;
  if (*name == '\0') {
    crd_report("CRADLE_LOG=%.200s: names no file; there will be no log; wants FILE or WORD,WORD:FILE (such as "
               "line:gc.log)",
               text);
    return NULL;
  }
  crd_log *log = start(KIND_LOG, name, chosen, options);
  return log != NULL ? &log->link : NULL;
}

crd_log *crd_log_open_profile(const char *name, cradle_options *options) {
  return start(KIND_PROFILE, name, (selection){&crd_sink_json, 0}, options);
}

crd_log *crd_log_open_totals(cradle_options *options) {
  return start(KIND_TOTALS, "-", (selection){&crd_sink_totals, 1u << CRD_SECTION_HEAP_END}, options);
}

/* --- lines that are no event's --- */

crd_log_writer *crd_log_line_begin(crd_log *log) {
  crd_lock_take(&log->lock);
  adopt_if_forked(log);
  uint64_t now = crd_platform_now_ns();
  if (now > log->writer.time_ns) log->writer.time_ns = now;
  return &log->writer;
}

void crd_log_line_end(crd_log *log) {
  crd_log_file_section_end(&log->writer.file, true);
  crd_lock_release(&log->lock);
}
