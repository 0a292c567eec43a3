/* Sinks: each writes one of the forms that a log can have.
 *
 * [sink.1] A sink gets only selected sections, in the order of the collector's events, and the head first.
 * [sink.2] A sink keeps no state: what it writes depends only on the row, the values and the writer.
 * [sink.3] If the process dies, the file can be read up to its last whole section.
 */
#ifndef CRADLE_RUNTIME_LOG_SINK_H
#define CRADLE_RUNTIME_LOG_SINK_H

#include "runtime/event_table.h"
#include "runtime/log_file.h"

#define CRD_LOG_LABEL_BYTES 40

/* Where sinks write to, and what they know about the log. */
typedef struct crd_log_writer {
  crd_log_file file;
  uint64_t start_ns;               /* when the process opened its first log */
  uint64_t time_ns;                /* the time of the entry that is written; never decreases */
  bool outermost;                  /* the entry is in no other section that was written */
  uint64_t process, heap;          /* numbers; heaps of a process are numbered from 1 */
  char label[CRD_LOG_LABEL_BYTES]; /* PROCESS.HEAP, to tell heaps in a shared file apart */
} crd_log_writer;

typedef struct crd_sink {
  const char *name;    /* its name in CRADLE_LOG */
  bool is_for_reading; /* on a pipe, what a section wrote is there at once [log_file.4] */
  /* Writes the entry of a row: a section's beginning, end or both, with the fields that base has. */
  void (*entry)(crd_log_writer *writer, const crd_event_row *row, const void *base);
} crd_sink;

extern const crd_sink crd_sink_text, crd_sink_json, crd_sink_line, crd_sink_totals;

/* The beginning of a line of JSON, up to its event's name; and a string. */
void crd_json_begin(crd_log_writer *writer, const char *event);
void crd_json_string(crd_log_file *file, const char *text);

#endif
