/* Sinks: each writes one of the forms that a log can have.
 *
 * [sink.1] A sink gets only selected sections, in the order of the collector's events.
 * [sink.2] A sink keeps no state: what it writes depends only on the row, the values and the writer.
 * [sink.3] If the process dies, the file can be read up to its last whole section.
 * [sink.4] A sink with the function event gets every event, and no sections.
 */
#ifndef CRADLE_RUNTIME_LOG_SINK_H
#define CRADLE_RUNTIME_LOG_SINK_H

#include "runtime/event_table.h"
#include "runtime/log_file.h"
#include "runtime/log_line.h"

#define CRD_LOG_LABEL_BYTES 40

/* Where sinks write to, and what they know about the log. */
typedef struct crd_log_writer {
  crd_log_file file;
  uint64_t start_ns;               /* when the process opened its first log */
  uint64_t time_ns;                /* the time of the entry that is written; never decreases */
  bool outermost;                  /* the entry is in no other section that was written */
  bool head_as_section;            /* the head's section is selected */
  uint64_t process, heap;          /* numbers; heaps of a process are numbered from 1 */
  char label[CRD_LOG_LABEL_BYTES]; /* PROCESS.HEAP, to tell heaps in a shared file apart */
  crd_log_lines lines;             /* used by the line log only */
} crd_log_writer;

/* One entry of the log: a section's beginning, end or both, with fields. */
typedef struct crd_log_entry {
  crd_section section;
  crd_phase phase;
  const crd_field *fields;
  size_t field_count; /* 0 when base is NULL */
  const void *base;
} crd_log_entry;

typedef struct crd_sink {
  const char *name; /* its name in CRADLE_LOG */
  uint32_t version; /* of its format; grows if the format changes in a way that breaks readers */
  /* unix_ns: the time of day at writer->time_ns, nanoseconds since 1970. */
  void (*head)(const struct crd_sink *sink, crd_log_writer *writer, uint64_t unix_ns);
  void (*entry)(crd_log_writer *writer, const crd_log_entry *entry);
  void (*event)(crd_log_writer *writer, const cradle_event *event); /* NULL: the sink has entry */
} crd_sink;

extern const crd_sink crd_sink_text, crd_sink_json, crd_sink_line, crd_sink_totals;

/* The beginning of a line of JSON, up to its event's name; and a string. */
void crd_json_begin(crd_log_writer *writer, const char *event);
void crd_json_string(crd_log_file *file, const char *text);

#endif
