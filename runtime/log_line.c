/* The log as lines for people: the totals of a heap, and, as follows, one line for each collection:
 *
 *     #      seconds  heap        collection        before     after  survived             took    pause  cause
 *           0.012345  4711.1      minor        1  4.06 MiB  64.0 KiB  64.0 KiB    1.6 %   121 us   123 us  nursery full
 *
 * Numbers have three digits and a unit, and each column but the cause has a fixed width. If the system says for how
 * much of the pause the thread ran on a processor, "; ran 120 us" ends the line.
 */
#include "gc/base/text.h"
#include "runtime/log_sink.h"

#define LABEL_WIDTH 10
#define ARENA_UNIT ((uint64_t)2 << 20) /* cradle_statistics.arena_bytes; a test compares them */

/* --- columns --- */

static void put_blanks(crd_log_file *file, size_t count) {
  while (count-- != 0) put(file, " ");
}

static void put_right(crd_log_file *file, const char *text, size_t length, size_t width) {
  if (length < width) put_blanks(file, width - length);
  crd_log_file_put(file, text, length);
}

static void put_left(crd_log_file *file, const char *text, size_t width) {
  size_t length = strlen(text);
  crd_log_file_put(file, text, length);
  if (length < width) put_blanks(file, width - length);
}

/* Writes parts / 10^decimals, right-aligned in width columns. */
static void put_scaled(crd_log_file *file, uint64_t parts, int decimals, size_t width) {
  char text[24], *first = text + sizeof text;
  for (int i = 0; i < decimals; i++, parts /= 10) *--first = (char)('0' + parts % 10);
  if (decimals != 0) *--first = '.';
  do *--first = (char)('0' + parts % 10);
  while ((parts /= 10) != 0);
  put_right(file, first, (size_t)(text + sizeof text - first), width);
}

/* Units, the smallest first; each is the same multiple of the unit before it. */
typedef struct scale {
  double step;
  const char *units[5];
  size_t unit_width;
} scale;

static const scale byte_scale = {1024, {"B", "KiB", "MiB", "GiB", "TiB"}, 3};
static const scale time_scale = {1000, {"ns", "us", "ms", "s", NULL}, 2};

/* Writes a number with its unit: three digits, or all digits of a whole number. */
static void put_amount(crd_log_file *file, const scale *of, uint64_t amount, bool in_column) {
  static const double limits[] = {99.95, 9.995}; /* below each of them there is room for one more decimal */
  double value = (double)amount;
  int unit = 0, decimals = 0;
  for (; value >= of->step - 0.5 && unit < 4 && of->units[unit + 1] != NULL; unit++) value /= of->step;
  uint64_t factor = 1;
  while (unit != 0 && decimals < 2 && value < limits[decimals]) decimals++, factor *= 10;
  put_scaled(file, (uint64_t)(value * (double)factor + 0.5), decimals, in_column ? 4 : 0);
  put(file, " ");
  put_left(file, of->units[unit], in_column ? of->unit_width : 0);
}

static void put_column(crd_log_file *file, const scale *of, uint64_t amount) {
  put(file, "  ");
  put_amount(file, of, amount, true);
}

static void put_word(crd_log_file *file, const char *before, const scale *of, uint64_t amount) {
  put(file, before);
  put_amount(file, of, amount, false);
}

/* --- lines --- */

/* The columns of both kinds of lines. */
typedef struct columns {
  const char *kind;
  uint64_t number, before_bytes, after_bytes;
  uint64_t survived_bytes, survived_of; /* the bytes that survived, and of how many */
  uint64_t took_ns, pause_ns;
  cradle_cause cause;
} columns;

static void put_columns(crd_log_writer *writer, const columns *of) {
  crd_log_file *file = &writer->file;
  uint64_t elapsed = writer->time_ns > writer->start_ns ? writer->time_ns - writer->start_ns : 0;
  put_scaled(file, elapsed / 1000, 6, 14);
  put(file, "  ");
  put_left(file, writer->label, LABEL_WIDTH);
  put(file, "  ");
  put(file, of->kind);
  put_scaled(file, of->number, 0, 9);
  put_column(file, &byte_scale, of->before_bytes);
  put_column(file, &byte_scale, of->after_bytes);
  put_column(file, &byte_scale, of->survived_bytes);
  double share = of->survived_of == 0 ? 0 : (double)of->survived_bytes / (double)of->survived_of;
  put_scaled(file, (uint64_t)(share * 1000 + 0.5), 1, 7);
  put(file, " %");
  put_column(file, &time_scale, of->took_ns);
  put_column(file, &time_scale, of->pause_ns);
  put(file, "  ");
  put(file, crd_cause_name(of->cause));
}

static void end_line(crd_log_writer *writer, const crd_line_pause *pause) {
  if (pause->ran_ns != 0) put_word(&writer->file, "; ran ", &time_scale, pause->ran_ns);
  if (pause->preemptions != 0) {
    put(&writer->file, ", other work ");
    put_number(&writer->file, pause->preemptions);
    put(&writer->file, " times");
  }
  put(&writer->file, "\n");
  crd_log_file_section_end(&writer->file, true);
}

static void write_minor(crd_log_writer *writer, const crd_line_pause *pause) {
  cradle_event *event = &writer->lines.minor;
  if (event->kind == 0) return;
  const columns all = {"minor",
                       event->u.minor.number,
                       event->u.minor.used_before,
                       event->u.minor.used_after,
                       event->u.minor.promoted_bytes,
                       event->u.minor.nursery_bytes,
                       event->u.minor.duration_ns,
                       pause->ns,
                       event->u.minor.cause};
  put_columns(writer, &all);
  end_line(writer, pause);
  event->kind = 0;
}

/* A minor collection for which no event gave a pause: the program waited for the collection only. */
static void write_minor_alone(crd_log_writer *writer) {
  write_minor(writer, &(crd_line_pause){.ns = writer->lines.minor.u.minor.duration_ns});
}

static uint64_t time_of_major(const crd_line_major *major) {
  uint64_t sum = major->compact_ns;
  for (int i = 0; i <= CRADLE_PHASE_CLEARING; i++) sum += major->phase_ns[i];
  return sum;
}

static void write_major(crd_log_writer *writer, const crd_line_major *major, uint64_t given_back_bytes) {
  crd_log_file *file = &writer->file;
  uint64_t before = major->end.u.major.used_before, freed = major->freed_bytes;
  const columns all = {"major",
                       major->end.u.major.number,
                       before,
                       major->end.u.major.used_after,
                       before > freed ? before - freed : 0,
                       before,
                       time_of_major(major),
                       major->longest.ns,
                       major->end.u.major.cause};
  put_columns(writer, &all);
  put(file, ": increments ");
  put_number(file, major->increments);
  put_word(file, "; marking ", &time_scale, major->phase_ns[CRADLE_PHASE_MARKING]);
  put_word(file, ", clearing ", &time_scale, major->phase_ns[CRADLE_PHASE_CLEARING]);
  put_word(file, ", sweeping ", &time_scale, major->phase_ns[CRADLE_PHASE_SWEEPING]);
  put_word(file, ", compacting ", &time_scale, major->compact_ns);
  put_word(file, "; marked ", &byte_scale, major->marked_bytes);
  put_word(file, ", freed ", &byte_scale, freed);
  put_word(file, ", given back ", &byte_scale, given_back_bytes);
  if (major->beside_ns != 0) {
    put_word(file, "; second core ", &time_scale, major->beside_ns);
    put_word(file, ", marked ", &byte_scale, major->beside_bytes);
    put_word(file, ", stopped within ", &time_scale, major->longest_stop_ns);
  }
  end_line(writer, &major->longest);
}

/* Memory that was given back counts for the last collection of the pause, because giving back is a pause's last
 * work. */
static void write_majors(crd_log_writer *writer) {
  crd_log_lines *lines = &writer->lines;
  for (size_t i = 0; i < lines->ended_count; i++) {
    bool last = i + 1 == lines->ended_count;
    write_major(writer, &lines->ended[i], last ? lines->arenas_given_back * ARENA_UNIT : 0);
    if (last) lines->arenas_given_back = 0;
  }
  lines->ended_count = 0;
}

/* --- events --- */

/* If the program asked for the collection, there is no pause event, because the program waits anyway. */
static bool is_without_pause(cradle_cause cause) {
  return cause == CRADLE_CAUSE_DETACH || cause == CRADLE_CAUSE_FORK;
}

static void end_minor(crd_log_writer *writer, const cradle_event *event) {
  write_minor_alone(writer);
  if (!writer->lines.wants_minor) return;
  writer->lines.minor = *event;
  if (is_without_pause(event->u.minor.cause)) write_minor_alone(writer);
}

static void add_increment(crd_line_major *running, const cradle_event *event) {
  if ((unsigned)event->u.step.from <= CRADLE_PHASE_CLEARING)
    running->phase_ns[event->u.step.from] += event->u.step.duration_ns;
  running->increments++;
  running->marked_bytes += event->u.step.marked_bytes;
  running->freed_bytes += event->u.step.freed_bytes;
  running->stepped = true;
}

/* The second core works while a major collection runs, and its event comes before the increment that may end the
 * collection. */
static void add_beside(crd_line_major *running, const cradle_event *event) {
  running->beside_ns += event->u.beside.run_ns;
  running->beside_bytes += event->u.beside.bytes;
  if (event->u.beside.stop_ns > running->longest_stop_ns) running->longest_stop_ns = event->u.beside.stop_ns;
}

static void end_major(crd_log_writer *writer, const cradle_event *event) {
  crd_log_lines *lines = &writer->lines;
  if (!lines->wants_major) return;
  if (lines->ended_count == CRD_LINE_MAJORS) write_majors(writer);
  lines->running.end = *event;
  lines->ended[lines->ended_count++] = lines->running;
}

/* A compaction's event follows the major collection that it belongs to. */
static void add_compaction(crd_log_lines *lines, uint64_t duration) {
  crd_line_major *of = lines->ended_count != 0 ? &lines->ended[lines->ended_count - 1] : &lines->running;
  of->compact_ns += duration;
}

static void add_pause(crd_line_major *major, const crd_line_pause *pause) {
  if (major->stepped && pause->ns > major->longest.ns) major->longest = *pause;
  major->stepped = false;
}

static void end_pause(crd_log_writer *writer, const cradle_event *event) {
  crd_log_lines *lines = &writer->lines;
  const crd_line_pause pause = {event->u.pause.duration_ns, event->u.pause.processor_ns, event->u.pause.preemptions};
  write_minor(writer, &pause);
  for (size_t i = 0; i < lines->ended_count; i++) add_pause(&lines->ended[i], &pause);
  add_pause(&lines->running, &pause);
}

static void end_heap(crd_log_writer *writer) {
  write_minor_alone(writer);
  write_majors(writer);
}

static void write_event(crd_log_writer *writer, const cradle_event *event) {
  crd_log_lines *lines = &writer->lines;
  switch ((int)event->kind) {
  case CRADLE_EVENT_MINOR_END: end_minor(writer, event); return;
  case CRADLE_EVENT_PAUSE: end_pause(writer, event); return;
  case CRADLE_EVENT_MAJOR_BEGIN: lines->running = (crd_line_major){0}; return;
  case CRADLE_EVENT_STEP_END: add_increment(&lines->running, event); return;
  case CRADLE_EVENT_BESIDE: add_beside(&lines->running, event); return;
  case CRADLE_EVENT_MAJOR_END: end_major(writer, event); return;
  case CRADLE_EVENT_COMPACT_END: add_compaction(lines, event->u.compact.duration_ns); return;
  case CRADLE_EVENT_ARENAS:
    lines->arenas_given_back += event->u.arenas.given_back;
    write_majors(writer);
    return;
  case CRADLE_EVENT_HEAP_DESTROYED: end_heap(writer); return;
  }
}

/* --- the head --- */

static void write_head(const crd_sink *sink, crd_log_writer *writer, uint64_t unix_ns) {
  crd_log_file *file = &writer->file;
  file->unbuffered |= !file->regular; /* [log_file.4] */
  put(file, "# Cradle's line log, format ");
  put_number(file, sink->version);
  put(file, "; heap ");
  put(file, writer->label);
  put(file, "; second 0 is ");
  put_seconds(file, unix_ns - (writer->time_ns - writer->start_ns));
  put(file, " seconds since 1970\n#      seconds  ");
  put_left(file, "heap", strlen(writer->label) > LABEL_WIDTH ? strlen(writer->label) : LABEL_WIDTH);
  put(file, "  collection        before     after  survived             took    pause  cause\n");
  crd_log_file_flush(file); /* for people who look at once */
}

const crd_sink crd_sink_line = {"line", 1, write_head, NULL, write_event};

/* --- the totals of a heap, a line for each figure, as CRADLE_STATS prints them --- */

#define FIGURE_WIDTH 40

static void put_figure(crd_log_file *file, const crd_field *field, const void *base) {
  switch (field->type) {
  case CRD_FIELD_NUMBER: put_number(file, crd_field_number(field, base)); return;
  case CRD_FIELD_BYTES: put_amount(file, &byte_scale, crd_field_number(field, base), false); return;
  case CRD_FIELD_NS: put_amount(file, &time_scale, crd_field_number(field, base), false); return;
  case CRD_FIELD_SHARE:
    put_scaled(file, (uint64_t)(crd_field_share(field, base) * 10000 + 0.5), 2, 0);
    put(file, " %");
    return;
  case CRD_FIELD_TEXT:
  case CRD_FIELD_WORD: put(file, crd_field_text(field, base)); return;
  }
}

static void write_totals(crd_log_writer *writer, const crd_log_entry *entry) {
  crd_log_file *file = &writer->file;
  put(file, "cradle: statistics of heap ");
  put(file, writer->label);
  put(file, "\n");
  for (size_t i = 0; i < entry->field_count; i++) {
    const crd_field *field = &entry->fields[i];
    if (crd_field_is_left_out(field, entry->base)) continue;
    put(file, "  ");
    put_left(file, field->label, FIGURE_WIDTH);
    put_figure(file, field, entry->base);
    put(file, "\n");
  }
}

static void write_no_head(const crd_sink *sink, crd_log_writer *writer, uint64_t unix_ns) {
  (void)sink, (void)writer, (void)unix_ns;
}

const crd_sink crd_sink_totals = {"", 1, write_no_head, write_totals, NULL};
