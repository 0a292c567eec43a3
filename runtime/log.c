/* The log: chooses the sections and the form. The event table (runtime/event_table.h) has what is said about each event,
 * the sinks (runtime/log_sink.h) how it is written.
 *
 * There may be thousands of minor collections a second, so their path makes no system call unless the buffer is full.
 */
#include "runtime/log.h"

#include "runtime/pauses.h"
#include <cradle/statistics.h>

#include "gc/platform/pages.h"
#include "runtime/exit_list.h"
#include "runtime/log_sink.h"
#include "runtime/platform/files.h"
#include "runtime/platform/process.h"
#include "runtime/report.h"

#include <stdio.h>
#include <stdlib.h>

static const crd_sink *const sinks[] = {&crd_sink_text, &crd_sink_json, &crd_sink_line};
enum { SINK_COUNT = sizeof sinks / sizeof sinks[0] };

typedef struct crd_log {
  crd_exit_entry at_exit; /* first: [log.2] */
  crd_link link;
  crd_lock lock; /* [log.1] */
  const crd_sink *sink;
  uint32_t selected; /* bit s: section s is written */
  uint32_t depth;    /* selected sections that are open */
  crd_pauses pauses;
  crd_log_writer writer;
} crd_log;

/* --- sections --- */

static bool is_selected(const crd_log *log, crd_section section) {
  return log->selected >> section & 1;
}

static void write_entry(crd_log *log, const crd_log_entry *entry) {
  if (!is_selected(log, entry->section)) return;
  if (entry->phase == CRD_PHASE_END && log->depth != 0) log->depth--;
  log->writer.outermost = log->depth == 0;
  log->sink->entry(&log->writer, entry);
  if (entry->phase == CRD_PHASE_BEGIN)
    log->depth++;
  else
    crd_log_file_section_end(&log->writer.file, log->depth == 0);
}

/* --- events --- */

static const void *base_of(crd_log *log, const crd_event_row *row, const cradle_event *event, crd_figures *figures) {
  switch (row->base) {
  case CRD_BASE_EVENT: return event;
  case CRD_BASE_HARDWARE: return event->u.heap.hardware;
  case CRD_BASE_FIGURES:
    figures->statistics = *event->u.destroyed.statistics;
    figures->pauses = crd_pauses_read(&log->pauses);
    return figures;
  }
  return NULL;
}

static void write_row(crd_log *log, const crd_event_row *row, const cradle_event *event) {
  crd_figures figures;
  crd_log_entry entry = {.section = row->section, .phase = row->phase, .base = base_of(log, row, event, &figures)};
  if (entry.base != NULL) entry.fields = row->fields, entry.field_count = row->field_count;
  write_entry(log, &entry);
}

/* A heap that is freed in the middle of its work leaves sections open. */
static void write_sections(crd_log *log, const cradle_event *event) {
  if (event->kind == CRADLE_EVENT_HEAP_DESTROYED) log->depth = 0;
  for (size_t i = 0; i < crd_event_row_count; i++)
    if (crd_event_rows[i].kind == event->kind) write_row(log, &crd_event_rows[i], event);
}

static void write_event(crd_log *log, const cradle_event *event) {
  if (log->sink->event != NULL)
    log->sink->event(&log->writer, event);
  else
    write_sections(log, event);
}

/* --- the head --- */

/* The time of the process's first head; now, if this is the first. */
static uint64_t time_of_first_head(uint64_t now) {
  static uint64_t first; /* [log.2] */
  uint64_t none = 0;
  bool is_first = __atomic_compare_exchange_n(&first, &none, now, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
  return is_first ? now : none;
}

static void write_head(crd_log *log) {
  crd_log_writer *writer = &log->writer;
  uint64_t now = crd_platform_now_ns(), unix_ns = crd_unix_time_ns();
  if (now > writer->time_ns)
    writer->time_ns = now;
  else
    unix_ns += writer->time_ns - now;
  writer->start_ns = time_of_first_head(now);
  writer->process = (uint64_t)crd_process_number();
  snprintf(writer->label, sizeof writer->label, "%ju.%ju", (uintmax_t)writer->process, (uintmax_t)writer->heap);
  writer->head_as_section = is_selected(log, CRD_SECTION_LOG);
  writer->outermost = true;
  log->sink->head(log->sink, writer, unix_ns);
  crd_log_file_section_end(&writer->file, true);
}

static void adopt_if_forked(crd_log *log) {
  crd_log_file *file = &log->writer.file;
  if (log->depth == 0 && crd_log_file_is_inherited(file) && crd_log_file_renew(file)) write_head(log);
}

static void handle(crd_log *log, const cradle_event *event) {
  /* for the section at the heap's end, which a line log does not have */
  if (log->sink->event == NULL) crd_pauses_hear(&log->pauses, event);
  if (event->time_ns > log->writer.time_ns) log->writer.time_ns = event->time_ns;
  adopt_if_forked(log);
  if (!log->writer.file.stopped) write_event(log, event);
}

static void listen(void *data, const cradle_event *event) {
  crd_log *log = data;
  crd_lock_take(&log->lock);
  handle(log, event);
  crd_lock_release(&log->lock);
}

static void end(void *part) {
  crd_log *log = part;
  crd_exit_list_remove(&log->at_exit);
  crd_log_file_close(&log->writer.file);
  free(log);
}

static void write_at_exit(crd_exit_entry *entry) {
  crd_log *log = (crd_log *)entry;
  if (!crd_lock_try_here(&log->lock)) return;
  log->writer.file.unbuffered = true;
  crd_log_file_flush(&log->writer.file);
  crd_lock_release(&log->lock);
}

/* --- what CRADLE_LOG says --- */

static const crd_sink *sink_named(const char *name, size_t length) {
  for (int i = 0; i < SINK_COUNT; i++)
    if (strlen(sinks[i]->name) == length && memcmp(sinks[i]->name, name, length) == 0) return sinks[i];
  return NULL;
}

static uint32_t sections_with_prefix(const char *prefix, size_t length) {
  uint32_t selected = 0;
  for (int i = 0; i < CRD_SECTION_COUNT; i++)
    if (strncmp(crd_section_names[i], prefix, length) == 0) selected |= (uint32_t)1 << i;
  return selected;
}

static void report_word(const char *word, size_t length) {
  char sections[400];
  for (size_t i = 0, at = 0; i < CRD_SECTION_COUNT && at < sizeof sections; i++)
    at += (size_t)snprintf(sections + at, sizeof sections - at, "%s%s", i == 0 ? "" : ", ", crd_section_names[i]);
  crd_report("CRADLE_LOG: %.*s: no section's name begins so, and no form has this name; wants text, json or line, "
             "or the beginning of %s",
             length < 80 ? (int)length : 80, word, sections);
}

/* The words end at the colon. Each word is a form or the beginning of section names; an empty word, or no word, selects
 * all sections. */
static void parse_words(crd_log *log, const char *words) {
  bool all = true;
  for (;; words++) {
    size_t length = strcspn(words, ",:");
    const crd_sink *sink = sink_named(words, length);
    if (sink != NULL) {
      log->sink = sink;
    } else {
      uint32_t sections = sections_with_prefix(words, length);
      log->selected |= sections;
      all = false;
      if (sections == 0) report_word(words, length);
    }
    words += length;
    if (*words == ':') break;
  }
  if (all) log->selected = sections_with_prefix("", 0);
}

static void choose_lines(crd_log *log) {
  crd_log_lines *lines = &log->writer.lines;
  lines->wants_minor = is_selected(log, CRD_SECTION_MINOR);
  lines->wants_major = is_selected(log, CRD_SECTION_DONE);
  if (log->sink->event != NULL && !lines->wants_minor && !lines->wants_major)
    crd_report("CRADLE_LOG: a line log has the sections gc-minor and gc-collect-done, and neither is selected");
}

/* Stores the selection and the form, and returns the file's name. */
static const char *parse_selection(crd_log *log, const char *text) {
  const char *colon = crd_begins_with_drive(text) ? NULL : strchr(text, ':');
  log->sink = &crd_sink_text;
  parse_words(log, colon != NULL ? text : ":");
  choose_lines(log);
  return colon != NULL ? colon + 1 : text;
}

static bool open_file(crd_log *log, const char *text) {
  const char *name = parse_selection(log, text);
  if (*name != '\0') return crd_log_file_open(&log->writer.file, name);
  crd_report("CRADLE_LOG=%.200s: names no file; there will be no log; wants FILE or WORD,WORD:FILE (such as "
             "line:gc.log)",
             text);
  return false;
}

static crd_log *log_new(void) {
  static uint64_t heaps; /* [log.2] */
  crd_log *log = calloc(1, sizeof *log);
  if (log == NULL) {
    crd_report("CRADLE_LOG: no memory for the log");
    return NULL;
  }
  log->link = (crd_link){.hear = listen, .end = end, .part = log};
  crd_pauses_init(&log->pauses);
  log->writer.heap = __atomic_add_fetch(&heaps, 1, __ATOMIC_RELAXED);
  log->at_exit.run = write_at_exit;
  return log;
}

crd_link *crd_log_open(const char *text, cradle_options *options) {
  if (text == NULL || *text == '\0') return NULL;
  crd_log *log = log_new();
  if (log == NULL) return NULL;
  if (!open_file(log, text)) {
    free(log);
    return NULL;
  }
  write_head(log);
  crd_exit_list_add(&log->at_exit);
  return crd_link_add(&log->link, options);
}
