/* The log as JSON lines: one object in each line.
 *
 *     {"t":34322342884577,"heap":"4711.1","event":"gc-minor","phase":"begin","cause":"nursery full",...}
 */
#include "runtime/log_sink.h"

/* Quotation marks, backslashes and control characters escaped; other bytes as they are. */
void crd_json_string(crd_log_file *file, const char *text) {
  put(file, "\"");
  for (;;) {
    size_t plain = 0;
    while ((unsigned char)text[plain] >= 0x20 && text[plain] != '"' && text[plain] != '\\') plain++;
    crd_log_file_put(file, text, plain);
    text += plain;
    if (*text == '\0') break;
    unsigned char byte = (unsigned char)*text++;
    char escaped[] = {'\\', 'u', '0', '0', "0123456789abcdef"[byte >> 4], "0123456789abcdef"[byte & 15]};
    crd_log_file_put(file, escaped, sizeof escaped);
  }
  put(file, "\"");
}

static void put_value(crd_log_file *file, const crd_field *field, const void *base) {
  switch (field->type) {
  case CRD_FIELD_NUMBER:
  case CRD_FIELD_BYTES:
  case CRD_FIELD_NS: put_number(file, crd_field_number(field, base)); return;
  case CRD_FIELD_SHARE: put_share(file, crd_field_share(field, base)); return;
  case CRD_FIELD_TEXT:
  case CRD_FIELD_WORD: crd_json_string(file, crd_field_text(field, base)); return;
  }
}

void crd_json_begin(crd_log_writer *writer, const char *event) {
  crd_log_file *file = &writer->file;
  put(file, "{\"t\":");
  put_number(file, writer->time_ns);
  put(file, ",\"heap\":\"");
  put(file, writer->label);
  put(file, "\",\"event\":\"");
  put(file, event);
  put(file, "\"");
}

static void write_entry(crd_log_writer *writer, const crd_event_row *row, const void *base) {
  static const char *const phases[] = {",\"phase\":\"begin\"", ",\"phase\":\"end\"", ""};
  crd_log_file *file = &writer->file;
  crd_json_begin(writer, crd_section_names[row->section]);
  put(file, phases[row->phase]);
  for (size_t i = 0; i < row->field_count; i++) {
    const crd_field *field = &row->fields[i];
    if (field->name == NULL || crd_field_is_left_out(field, base)) continue;
    put(file, ",\"");
    put(file, field->name);
    put(file, "\":");
    put_value(file, field, base);
  }
  put(file, "}\n");
}

const crd_sink crd_sink_json = {"json", false, write_entry};
