/* The event table: what the log says about each event, whatever the log's format.
 *
 * [events.1] Everything that a sink writes about an event is in the event's rows. To add a field, add a line to a list
 *            of fields; to add a kind of event, add a row or two. Sinks and the selection need no change.
 * [events.2] The rows of a kind are written in the table's order. A section is opened by a row with CRD_PHASE_BEGIN and
 *            closed by one with CRD_PHASE_END; CRD_PHASE_INSTANT does both.
 * [events.3] Names end in their unit, like the names of the structures' fields that they are from.
 */
#ifndef CRADLE_RUNTIME_EVENT_TABLE_H
#define CRADLE_RUNTIME_EVENT_TABLE_H

#include <cradle/event.h>
#include <cradle/statistics.h>

#include "runtime/pauses.h"

/* Sections of the log, which nest in time. CRADLE_LOG selects them by their names. */
typedef enum crd_section {
  CRD_SECTION_LOG,
  CRD_SECTION_HARDWARE,
  CRD_SECTION_NURSERY_SIZE,
  CRD_SECTION_MINOR,
  CRD_SECTION_WALKROOTS,
  CRD_SECTION_COLLECT,
  CRD_SECTION_STEP,
  CRD_SECTION_COMPACT,
  CRD_SECTION_DONE,
  CRD_SECTION_PAUSE,
  CRD_SECTION_ARENA,
  CRD_SECTION_SPANS,
  CRD_SECTION_TYPES,
  CRD_SECTION_NOTE,
  CRD_SECTION_BESIDE,
  CRD_SECTION_HEAP_END,
  CRD_SECTION_COUNT /* <= 32: a set of sections is a word */
} crd_section;

extern const char *const crd_section_names[CRD_SECTION_COUNT];

typedef enum crd_phase { CRD_PHASE_BEGIN, CRD_PHASE_END, CRD_PHASE_INSTANT } crd_phase;

typedef enum crd_field_type {
  CRD_FIELD_NUMBER, /* uint64_t or size_t */
  CRD_FIELD_BYTES,  /* the same, of bytes */
  CRD_FIELD_NS,     /* uint64_t nanoseconds; the text says seconds */
  CRD_FIELD_SHARE,  /* double from 0 to 1 */
  CRD_FIELD_TEXT,   /* const char *; NULL leaves the field out */
  CRD_FIELD_WORD,   /* an enumeration, which .word puts into words */
} crd_field_type;

typedef struct crd_field {
  const char *name; /* the key in JSON; NULL: the field is not written there */
  /* what stands before the value in the text; NULL: the field is not written there. A label that begins with a comma or
   * a blank continues the line of the field before it. */
  const char *label;
  crd_field_type type;
  size_t offset; /* in what the row's base is */
  const char *(*word)(uint32_t value);
  size_t only_with;    /* offset of a uint64_t: if that number is 0, the field is left out. 0: it is never left out */
  const char *in_line; /* what stands before the value in the line log; NULL: the field is not written there */
} crd_field;

/* What each log says first. */
typedef struct crd_head {
  uint64_t version; /* of the forms; grows if one of them changes in a way that breaks readers */
  uint64_t tick_ns; /* the unit of timestamps */
  uint64_t unix_ns; /* the time of day at the head's timestamp, nanoseconds since 1970 */
  uint64_t process;
  const char *form, *clock;
  const char *program, *cradle; /* the last part of the program's path; the library's version */
} crd_head;

/* The figures of a heap at its end. */
typedef struct crd_figures {
  cradle_statistics statistics;
  crd_pause_summary pauses;
  uint64_t free_bytes, empty_bytes, other_bytes; /* what the heap holds beside old objects and metadata, and why */
} crd_figures;
/* Computes the last three from the statistics. */
void crd_figures_held(crd_figures *figures);

/* Which structure the offsets of a row's fields refer to. */
typedef enum crd_base {
  CRD_BASE_EVENT,    /* the cradle_event */
  CRD_BASE_HARDWARE, /* the cradle_hardware that the event points to; if there is none, no field is written */
  CRD_BASE_FIGURES,  /* the heap's crd_figures */
  CRD_BASE_HEAD,     /* a crd_head */
} crd_base;

typedef struct crd_event_row {
  cradle_event_kind kind;
  crd_phase phase;
  crd_section section;
  crd_base base;
  const crd_field *fields;
  size_t field_count;
} crd_event_row;

extern const crd_event_row crd_head_row;
extern const crd_event_row crd_event_rows[];
extern const size_t crd_event_row_count;

/* Whether the field is left out, as every field is if base is NULL; and a field's value. */
bool crd_field_is_left_out(const crd_field *field, const void *base);
uint64_t crd_field_number(const crd_field *field, const void *base);
double crd_field_share(const crd_field *field, const void *base);
/* For CRD_FIELD_TEXT and CRD_FIELD_WORD. */
const char *crd_field_text(const crd_field *field, const void *base);

#endif
