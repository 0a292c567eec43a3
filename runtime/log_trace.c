/* The log as a Chrome trace, which Perfetto (ui.perfetto.dev) and chrome://tracing open: the array form of the Trace
 * Event Format, a line an event.
 *
 *     [{"name":"process_name","ph":"M",...}
 *     ,{"name":"gc-minor","ph":"B","ts":34322342884.577,"pid":4711,"tid":1,"args":{"cause":"nursery full"}}
 *
 * A process is a heap's program, a thread is a heap. The format lets the closing bracket be left out, and so it is: a
 * program that aborts leaves the same file as one that ends, and several heaps can go on with it. Every line but the
 * first begins with the comma that separates it from the one before.
 */
#include "runtime/log_put.h"
#include "runtime/log_sink.h"

/* "ph" is the trace event's phase. */
static void put_start_after(crd_log_writer *writer, const char *before, const char *name, char phase,
                            uint64_t time_ns) {
  crd_log_file *file = &writer->file;
  char phase_text[] = {phase, '\0'};
  put(file, before);
  put(file, "{\"name\":\"");
  put(file, name);
  put(file, "\",\"ph\":\"");
  put(file, phase_text);
  put(file, "\",\"ts\":");
  put_decimals(file, time_ns / 1000, time_ns % 1000, 3); /* microseconds */
  put(file, ",\"pid\":");
  put_number(file, writer->process);
  put(file, ",\"tid\":");
  put_number(file, writer->heap);
}

static void put_start(crd_log_writer *writer, const char *name, char phase) {
  put_start_after(writer, ",", name, phase, writer->time_ns);
}

/* The members' first comma needs something before it. */
static void put_args(crd_log_writer *writer, const crd_log_entry *entry) {
  if (entry->field_count == 0) return;
  put(&writer->file, ",\"args\":{\"heap\":\"");
  put(&writer->file, writer->label);
  put(&writer->file, "\"");
  crd_json_members(&writer->file, entry);
  put(&writer->file, "}");
}

static void put_counters(crd_log_writer *writer, const crd_log_entry *entry) {
  for (size_t i = 0; i < entry->field_count; i++) {
    const crd_field *field = &entry->fields[i];
    if (field->counter == NULL || crd_field_is_left_out(field, entry->base)) continue;
    put_start(writer, field->counter, 'C');
    put(&writer->file, ",\"id\":\"");
    put(&writer->file, writer->label);
    put(&writer->file, "\",\"args\":{\"value\":");
    put_number(&writer->file, crd_field_number(field, entry->base));
    put(&writer->file, "}}\n");
  }
}

/* One end of a slice on a track of its own, which the ending of its id makes: others may overlap it. */
static void put_slice_end(crd_log_writer *writer, const char *name, const char *ending, char phase, uint64_t time_ns) {
  put_start_after(writer, ",", name, phase, time_ns);
  put(&writer->file, ",\"cat\":\"gc\",\"id\":\"");
  put(&writer->file, writer->label);
  put(&writer->file, ending);
  put(&writer->file, "\"}\n");
}

/* A slice that ends now and is as long as the entry's field says. */
static void put_slice(crd_log_writer *writer, const char *name, const char *ending, const crd_log_entry *entry,
                      const char *length_field) {
  uint64_t end = writer->time_ns, length = 0;
  for (size_t i = 0; i < entry->field_count; i++)
    if (strcmp(entry->fields[i].name, length_field) == 0) length = crd_field_number(&entry->fields[i], entry->base);
  put_slice_end(writer, name, ending, 'b', end - (length < end ? length : end));
  put_slice_end(writer, name, ending, 'e', end);
}

/* Pauses, what the second core did until the pause that stopped it, and major collections from their beginning to their
 * end, with all that comes between. */
static void put_slices(crd_log_writer *writer, const crd_log_entry *entry) {
  uint64_t end = writer->time_ns;
  if (entry->section == CRD_SECTION_COLLECT) put_slice_end(writer, "major collection", "", 'b', end);
  if (entry->section == CRD_SECTION_DONE) put_slice_end(writer, "major collection", "", 'e', end);
  if (entry->section == CRD_SECTION_PAUSE) put_slice(writer, "pause", "", entry, "time_ns");
  if (entry->section == CRD_SECTION_BESIDE) put_slice(writer, "second core", "/second core", entry, "run_ns");
}

static void write_entry(crd_log_writer *writer, const crd_log_entry *entry) {
  static const char phases[] = {[CRD_PHASE_BEGIN] = 'B', [CRD_PHASE_END] = 'E', [CRD_PHASE_INSTANT] = 'i'};
  put_start(writer, crd_section_names[entry->section], phases[entry->phase]);
  if (entry->phase == CRD_PHASE_INSTANT) put(&writer->file, ",\"s\":\"t\"");
  put_args(writer, entry);
  put(&writer->file, "}\n");
  put_slices(writer, entry);
  put_counters(writer, entry);
}

static void put_metadata(crd_log_writer *writer, const char *before, const char *name, const char *value,
                         uint64_t number) {
  put_start_after(writer, before, name, 'M', writer->time_ns);
  put(&writer->file, ",\"args\":{\"name\":\"");
  put(&writer->file, value);
  put_number(&writer->file, number);
  put(&writer->file, "\"}}\n");
}

static void write_head(const crd_sink *sink, crd_log_writer *writer, uint64_t unix_ns) {
  crd_log_file *file = &writer->file;
  put_metadata(writer, file->begins_empty ? "[" : ",", "process_name", "process ", writer->process);
  put_metadata(writer, ",", "thread_name", "heap ", writer->heap);
  put_start(writer, crd_section_names[CRD_SECTION_LOG], 'i');
  put(file, ",\"s\":\"t\",\"args\":{\"format\":\"cradle-trace\",\"version\":");
  put_number(file, sink->version);
  put(file, ",\"clock\":\"CLOCK_MONOTONIC\",\"tick_ns\":1,\"unix_ns\":");
  put_number(file, unix_ns);
  put(file, ",\"process\":");
  put_number(file, writer->process);
  put(file, "}}\n");
}

const crd_sink crd_sink_trace = {"trace", 1, true, write_head, write_entry, NULL};
