/* Sinks: the forms that a log can have.
 *
 * [sink.1] A sink is told sections that are selected, and those balanced: each section that it is told to begin it is
 *          told to end, inner ones first (runtime/log.h sees to it).
 * [sink.2] A sink keeps nothing: what it writes depends on the row, the values and the writer alone.
 * [sink.3] Whatever a sink has written when the process dies can be read up to the last section that is whole.
 * [sink.4] A sink with the function event is told every event, and no sections.
 */
#ifndef CRADLE_RUNTIME_LOG_SINK_H
#define CRADLE_RUNTIME_LOG_SINK_H

#include "runtime/event_table.h"
#include "runtime/log_file.h"
#include "runtime/log_line.h"

#define CRD_LOG_LABEL_BYTES 40

/* What sinks write to and from. */
typedef struct crd_log_writer {
  crd_log_file file;
  uint64_t start_ns;               /* when the process opened its first log */
  uint64_t time_ns;                /* of what is written; never decreases */
  bool outermost;                  /* what is written lies in no other section that was written */
  bool with_fields;                /* else only where sections begin and end */
  bool head_as_section;            /* the head's section is selected */
  uint64_t process, heap;          /* numbers; heaps of a process are numbered from 1 */
  char label[CRD_LOG_LABEL_BYTES]; /* PROCESS.HEAP, which tells apart the heaps that share a file */
  crd_log_lines lines;             /* of the line log alone */
} crd_log_writer;

/* What is written: a section's beginning, end or both, and fields. */
typedef struct crd_log_entry {
  crd_section section;
  crd_phase phase;
  const crd_field *fields;
  size_t field_count; /* 0 when base is NULL */
  const void *base;
} crd_log_entry;

typedef struct crd_sink {
  const char *name;     /* what CRADLE_LOG calls it */
  uint32_t version;     /* of its format; grows when what readers may rely on changes */
  bool writes_head_now; /* the head may not wait in the buffer */
  /* unix_ns: the time of day at writer->time_ns, nanoseconds since 1970. */
  void (*head)(const struct crd_sink *sink, crd_log_writer *writer, uint64_t unix_ns);
  void (*entry)(crd_log_writer *writer, const crd_log_entry *entry);
  void (*event)(crd_log_writer *writer, const cradle_event *event); /* NULL: it has entry */
} crd_sink;

extern const crd_sink crd_sink_text, crd_sink_json, crd_sink_trace, crd_sink_line;

/* The JSON object's members of an entry, each with a comma before it. */
void crd_json_members(crd_log_file *file, const crd_log_entry *entry);

#endif
