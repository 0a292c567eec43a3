/* Sinks: each writes one of the forms that a log can have.
 *
 * [sink.1] A sink gets only selected sections, in the order of the collector's events.
 * [sink.2] A sink keeps no state: what it writes depends only on the row, the values and the writer.
 * [sink.3] If the process dies, the file can be read up to its last whole section.
 * [sink.4] A sink with the function event gets every event, and no sections.
 * [sink.5] The line log writes a line when everything in it is known: for a minor collection at the end of its pause,
 *          for a major collection at the event about arenas that follows the pause in which it ended.
 * [sink.6] It puts a line into the file's buffer as a whole; no write of the buffer splits it [log_file.4].
 */
#ifndef CRADLE_RUNTIME_LOG_SINK_H
#define CRADLE_RUNTIME_LOG_SINK_H

#include "runtime/event_table.h"
#include "runtime/log_file.h"

#define CRD_LOG_LABEL_BYTES 40

/* --- what the line log keeps from one event to the next --- */

/* A pause: its length, for how much of it the thread ran (0: not known), and how often the system then ran something
 * else. */
typedef struct crd_line_pause {
  uint64_t ns, ran_ns, preemptions;
} crd_line_pause;

/* A major collection: what its events added up to. */
typedef struct crd_line_major {
  cradle_event end;                             /* CRADLE_EVENT_MAJOR_END, when it has ended */
  uint64_t phase_ns[CRADLE_PHASE_CLEARING + 1]; /* by cradle_phase */
  uint64_t compact_ns, increments, marked_bytes, freed_bytes;
  crd_line_pause longest;                            /* of the pauses in which it did something */
  uint64_t beside_ns, beside_bytes, longest_stop_ns; /* of the second core */
  bool stepped;                                      /* it did something in the pause under way */
} crd_line_major;

/* The most that end in one pause: the program asks for a major collection while another one is under way. */
#define CRD_LINE_MAJORS 2

typedef struct crd_log_lines {
  bool wants_minor, wants_major;         /* which collections have lines */
  cradle_event minor;                    /* CRADLE_EVENT_MINOR_END whose line is not written yet; kind 0: none */
  crd_line_major running;                /* the major collection that runs, if any */
  crd_line_major ended[CRD_LINE_MAJORS]; /* those whose lines are not written yet */
  size_t ended_count;
  uint64_t arenas_given_back; /* since the last line of a major collection */
} crd_log_lines;

/* --- sinks --- */

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
