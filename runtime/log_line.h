/* The line log: one line for each collection.
 *
 * [line.1] A line is written when everything in it is known: for a minor collection at the end of its pause, for a
 *          major collection at the event about arenas that follows the pause in which it ended.
 * [line.2] A line is put into the file's buffer as a whole; no write of the buffer splits it [log_file.4].
 */
#ifndef CRADLE_RUNTIME_LOG_LINE_H
#define CRADLE_RUNTIME_LOG_LINE_H

#include <cradle/event.h>

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

/* What the line log keeps from one event to the next. */
typedef struct crd_log_lines {
  bool wants_minor, wants_major;         /* which collections have lines */
  cradle_event minor;                    /* CRADLE_EVENT_MINOR_END whose line is not written yet; kind 0: none */
  crd_line_major running;                /* the major collection that runs, if any */
  crd_line_major ended[CRD_LINE_MAJORS]; /* those whose lines are not written yet */
  size_t ended_count;
  uint64_t arenas_given_back; /* since the last line of a major collection */
} crd_log_lines;

#endif
