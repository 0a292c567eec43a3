/* The log as text, in the form of RPython's PYPYLOG, whose tools read it:
 *
 *     [timestamp] {gc-minor
 *     cause: nursery full
 *     [timestamp] gc-minor}
 */
#include "runtime/log_sink.h"

static void put_marker(crd_log_writer *writer, const char *before, crd_section section, const char *after) {
  crd_log_file *file = &writer->file;
  put(file, "[");
  put_hex(file, writer->time_ns);
  put(file, before);
  put(file, crd_section_names[section]);
  put(file, after);
}

static void put_value(crd_log_file *file, const crd_field *field, const void *base) {
  switch (field->type) {
  case CRD_FIELD_NUMBER:
  case CRD_FIELD_BYTES: put_number(file, crd_field_number(field, base)); return;
  case CRD_FIELD_NS: put_scaled(file, crd_field_number(field, base), 9, 0); return; /* seconds */
  case CRD_FIELD_SHARE: put_share(file, crd_field_share(field, base)); return;
  case CRD_FIELD_TEXT:
  case CRD_FIELD_WORD: put(file, crd_field_text(field, base)); return;
  }
}

static bool goes_on(const crd_field *field) {
  return field->label[0] == ',' || field->label[0] == ' ';
}

static void put_lines(crd_log_file *file, const crd_event_row *row, const void *base) {
  bool in_line = false;
  for (size_t i = 0; i < row->field_count; i++) {
    const crd_field *field = &row->fields[i];
    if (field->label == NULL || crd_field_is_left_out(field, base)) continue;
    if (in_line && !goes_on(field)) put(file, "\n");
    put(file, field->label);
    put_value(file, field, base);
    in_line = true;
  }
  if (in_line) put(file, "\n");
}

static void write_entry(crd_log_writer *writer, const crd_event_row *row, const void *base) {
  if (row->phase != CRD_PHASE_END) {
    put_marker(writer, "] {", row->section, "\n");
    if (writer->outermost) {
      put(&writer->file, "heap: ");
      put(&writer->file, writer->label);
      put(&writer->file, "\n");
    }
  }
  put_lines(&writer->file, row, base);
  if (row->phase != CRD_PHASE_BEGIN) put_marker(writer, "] ", row->section, "}\n");
}

const crd_sink crd_sink_text = {"text", false, write_entry};
