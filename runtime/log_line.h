/* The line log: one line a collection.
 *
 * [line.1] A line is written when everything that it says is known. For a minor collection that is the end of its
 *          pause. For a major collection it is the event about arenas that follows the pause in which it ended.
 * [line.2] A line is put into the file's buffer as a whole, between two writes [log_file.4].
 */
#ifndef CRADLE_RUNTIME_LOG_LINE_H
#define CRADLE_RUNTIME_LOG_LINE_H

#include <cradle/event.h>

/* A major collection: what its events added up to. */
typedef struct crd_line_major {
  cradle_event end;                             /* CRADLE_EVENT_MAJOR_END, when it has ended */
  uint64_t phase_ns[CRADLE_PHASE_CLEARING + 1]; /* by cradle_phase */
  uint64_t compact_ns, increments, marked_bytes, freed_bytes;
  uint64_t longest_pause_ns;                         /* of those in which it did something */
  uint64_t beside_ns, beside_bytes, longest_stop_ns; /* of the second core */
  bool stepped;                                      /* it did something in the pause that lasts */
} crd_line_major;

/* One that was running is ended, and then a complete one follows, where the program asks for one. */
#define CRD_LINE_MAJORS 2

/* What the line log keeps from one event to the next. */
typedef struct crd_log_lines {
  bool wants_minor, wants_major;         /* which collections get a line */
  cradle_event minor;                    /* CRADLE_EVENT_MINOR_END, its line to be written; kind 0: none */
  crd_line_major running;                /* the major collection that runs, if any */
  crd_line_major ended[CRD_LINE_MAJORS]; /* their lines are to be written */
  size_t ended_count;
  uint64_t arenas_given_back; /* since the last line of a major collection */
} crd_log_lines;

#endif
