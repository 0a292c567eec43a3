/* The log for people: a line for each section that has something for them, and the totals of a heap.
 *
 *          0.006423  4711.1  gc-minor 1: nursery full, 29.2 MiB => 25.1 MiB, survived 65.3 KiB, took 121 us
 *          0.006425  4711.1  gc-pause: nursery full, took 123 us, ran 81.0 us, other work ran, times 2
 *
 * Numbers have three digits and a unit.
 */
#include "runtime/log_sink.h"

/* Units, the smallest first; each is the same multiple of the unit before it. */
typedef struct scale {
  double step;
  const char *units[5];
} scale;

static const scale byte_scale = {1024, {"B", "KiB", "MiB", "GiB", "TiB"}};
static const scale time_scale = {1000, {"ns", "us", "ms", "s", NULL}};

/* Writes a number with its unit: three digits, or all digits of a whole number. */
static void put_amount(crd_log_file *file, const scale *of, uint64_t amount) {
  static const double limits[] = {99.95, 9.995}; /* below each of them there is room for one more decimal */
  double value = (double)amount;
  int unit = 0, decimals = 0;
  for (; value >= of->step - 0.5 && unit < 4 && of->units[unit + 1] != NULL; unit++) value /= of->step;
  uint64_t factor = 1;
  while (unit != 0 && decimals < 2 && value < limits[decimals]) decimals++, factor *= 10;
  put_scaled(file, (uint64_t)(value * (double)factor + 0.5), decimals, 0);
  put(file, " ");
  put(file, of->units[unit]);
}

static void put_figure(crd_log_file *file, const crd_field *field, const void *base) {
  switch (field->type) {
  case CRD_FIELD_NUMBER: put_number(file, crd_field_number(field, base)); return;
  case CRD_FIELD_BYTES: put_amount(file, &byte_scale, crd_field_number(field, base)); return;
  case CRD_FIELD_NS: put_amount(file, &time_scale, crd_field_number(field, base)); return;
  case CRD_FIELD_SHARE:
    put_scaled(file, (uint64_t)(crd_field_share(field, base) * 10000 + 0.5), 2, 0);
    put(file, " %");
    return;
  case CRD_FIELD_TEXT:
  case CRD_FIELD_WORD: put(file, crd_field_text(field, base)); return;
  }
}

static void write_line(crd_log_writer *writer, const crd_event_row *row, const void *base) {
  crd_log_file *file = &writer->file;
  uint64_t elapsed = writer->time_ns > writer->start_ns ? writer->time_ns - writer->start_ns : 0;
  bool begun = false;
  for (size_t i = 0; i < row->field_count; i++) {
    const crd_field *field = &row->fields[i];
    if (field->in_line == NULL || crd_field_is_left_out(field, base)) continue;
    if (!begun) {
      put_scaled(file, elapsed / 1000, 6, 16);
      put(file, "  ");
      put(file, writer->label);
      put(file, "  ");
      put(file, crd_section_names[row->section]);
    }
    put(file, field->in_line);
    put_figure(file, field, base);
    begun = true;
  }
  if (begun) put(file, "\n");
}

const crd_sink crd_sink_line = {"line", true, write_line};

/* --- the totals of a heap, a line for each figure, as CRADLE_STATS prints them --- */

#define FIGURE_COLUMN 42

static void write_totals(crd_log_writer *writer, const crd_event_row *row, const void *base) {
  crd_log_file *file = &writer->file;
  if (row->section != CRD_SECTION_HEAP_END) return;
  put(file, "cradle: statistics of heap ");
  put(file, writer->label);
  put(file, "\n");
  for (size_t i = 0; i < row->field_count; i++) {
    const crd_field *field = &row->fields[i];
    if (crd_field_is_left_out(field, base)) continue;
    put(file, "  ");
    put(file, field->label);
    for (size_t column = strlen(field->label) + 2; column < FIGURE_COLUMN; column++) put(file, " ");
    put_figure(file, field, base);
    put(file, "\n");
  }
}

const crd_sink crd_sink_totals = {"", false, write_totals};
