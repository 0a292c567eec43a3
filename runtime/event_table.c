/* The event table. Its lists of fields are in the order in which they are written. */
#include "runtime/event_table.h"

#include <cradle/options.h>

#include "gc/base/text.h"

#include <string.h>

const char *const crd_section_names[CRD_SECTION_COUNT] = {
    [CRD_SECTION_LOG] = "cradle-log",
    [CRD_SECTION_HARDWARE] = "gc-hardware",
    [CRD_SECTION_NURSERY_SIZE] = "gc-set-nursery-size",
    [CRD_SECTION_MINOR] = "gc-minor",
    [CRD_SECTION_WALKROOTS] = "gc-minor-walkroots",
    [CRD_SECTION_COLLECT] = "gc-collect",
    [CRD_SECTION_STEP] = "gc-collect-step",
    [CRD_SECTION_COMPACT] = "gc-collect-compact",
    [CRD_SECTION_DONE] = "gc-collect-done",
    [CRD_SECTION_PAUSE] = "gc-pause",
    [CRD_SECTION_ARENA] = "gc-arena",
    [CRD_SECTION_SPANS] = "gc-spans",
    [CRD_SECTION_TYPES] = "gc-types",
    [CRD_SECTION_NOTE] = "gc-note",
    [CRD_SECTION_BESIDE] = "gc-beside",
    [CRD_SECTION_HEAP_END] = "gc-heap-end",
};

/* --- words of enumerations --- */

static const char *cause_word(uint32_t cause) {
  return crd_cause_name((cradle_cause)cause);
}

static const char *phase_word(uint32_t phase) {
  return crd_phase_name((cradle_phase)phase);
}

static const char *source_word(uint32_t source) {
  static const char *const words[] = {
      [CRADLE_SOURCE_DEFAULT] = "default", [CRADLE_SOURCE_SYSFS] = "sysfs",       [CRADLE_SOURCE_SYSCONF] = "sysconf",
      [CRADLE_SOURCE_SYSCTL] = "sysctl",   [CRADLE_SOURCE_EMBEDDER] = "embedder", [CRADLE_SOURCE_WINDOWS] = "windows",
  };
  return source < sizeof words / sizeof *words ? words[source] : "unknown";
}

static const char *thp_word(uint32_t mode) {
  static const char *const words[] = {
      [CRADLE_THP_UNKNOWN] = "unknown", [CRADLE_THP_ABSENT] = "absent", [CRADLE_THP_NEVER] = "never",
      [CRADLE_THP_MADVISE] = "madvise", [CRADLE_THP_ALWAYS] = "always",
  };
  return mode < sizeof words / sizeof *words ? words[mode] : "unknown";
}

/* --- fields --- */

#define NUMBER CRD_FIELD_NUMBER
#define BYTES CRD_FIELD_BYTES
#define NS CRD_FIELD_NS
#define SHARE CRD_FIELD_SHARE
#define LETTERS CRD_FIELD_TEXT
#define WORD CRD_FIELD_WORD

#define FIELD(key, text, what, where) .name = key, .label = text, .type = what, .offset = where
#define AT(member) offsetof(cradle_event, u.member)
#define HARDWARE(member) offsetof(cradle_hardware, member)
#define STATISTICS(member) offsetof(crd_figures, statistics.member)
#define PAUSES(member) offsetof(crd_figures, pauses.member)
#define FIGURE(member) offsetof(crd_figures, member)
#define HEAD(member) offsetof(crd_head, member)
#define IF_MAJOR .only_with = STATISTICS(major_collections)
#define IF_RESIDENT .only_with = STATISTICS(resident_bytes)
#define IF_BESIDE .only_with = STATISTICS(beside_ns)
#define IF_HELPED .only_with = AT(minor.helpers)
#define IF_EVER_HELPED .only_with = STATISTICS(helped_collections)

static const crd_field head_fields[] = {
    {FIELD("format", NULL, LETTERS, HEAD(form))},
    {FIELD("version", "Cradle log, format ", NUMBER, HEAD(version)), .in_line = ": format "},
    {FIELD("clock", "1 tick = 1 ns of ", LETTERS, HEAD(clock))},
    {FIELD("tick_ns", NULL, NUMBER, HEAD(tick_ns))},
    {FIELD("unix_ns", "seconds since 1970: ", NS, HEAD(unix_ns))},
    {FIELD("process", "process ", NUMBER, HEAD(process)), .in_line = ", process "},
    {FIELD("program", "program ", LETTERS, HEAD(program)), .in_line = ", program "},
    {FIELD("cradle", "Cradle ", LETTERS, HEAD(cradle)), .in_line = ", Cradle "},
};

static const crd_field hardware_fields[] = {
    {FIELD("l2_bytes", "L2cache = ", BYTES, HARDWARE(l2_bytes))},
    {FIELD("l2_source", "L2cache from: ", WORD, HARDWARE(l2_source)), .word = source_word},
    {FIELD("l3_bytes", "L3cache = ", BYTES, HARDWARE(l3_bytes))},
    {FIELD("l3_source", "L3cache from: ", WORD, HARDWARE(l3_source)), .word = source_word,
     .only_with = HARDWARE(l3_bytes)},
    {FIELD("memory_bytes", "memory: ", BYTES, HARDWARE(memory_bytes))},
    {FIELD("page_bytes", "page size: ", BYTES, HARDWARE(page_bytes))},
    {FIELD("thp_page_bytes", "transparent huge page size: ", BYTES, HARDWARE(thp_page_bytes))},
    {FIELD("thp_mode", "transparent huge pages: ", WORD, HARDWARE(thp_mode)), .word = thp_word},
    {FIELD("pool_page_bytes", "pool page size: ", BYTES, HARDWARE(pool_page_bytes))},
    {FIELD("pool_pages_free", ", free pages: ", NUMBER, HARDWARE(pool_pages_free))},
};

static const crd_field heap_fields[] = {
    {FIELD("address_space_bytes", "address space: ", BYTES, AT(heap.arenas_bytes)), .only_with = AT(heap.arenas_bytes)},
    {FIELD("pause_target_ns", "pause target: ", NS, AT(heap.pause_target_ns))},
};

static const crd_field nursery_fields[] = {
    {FIELD("nursery_bytes", "nursery size: ", BYTES, AT(nursery.bytes)), .in_line = ": "},
    {FIELD("previous_nursery_bytes", "previous nursery size: ", BYTES, AT(nursery.previous)), .in_line = ", before "},
    {FIELD("reason", "reason: ", LETTERS, AT(nursery.reason)), .in_line = ", "},
    {FIELD("lives", "percentages that live, up to an age: ", LETTERS, AT(nursery.lives)),
     .in_line = ", percent live: "},
};

static const crd_field minor_begin_fields[] = {
    {FIELD("cause", "cause: ", WORD, AT(begin.cause)), .word = cause_word},
    {FIELD("used_bytes", NULL, BYTES, AT(begin.used_bytes))},
};

static const crd_field roots_fields[] = {
    {FIELD("root_words", "root words: ", NUMBER, AT(roots.words))},
};

/* Tools for RPython's logs read the first three lines of the text. */
static const crd_field minor_fields[] = {
    {FIELD(NULL, NULL, NUMBER, AT(minor.number)), .in_line = " "},
    {FIELD(NULL, NULL, WORD, AT(minor.cause)), .word = cause_word, .in_line = ": "},
    {FIELD(NULL, "minor collect, total memory used: ", NUMBER, AT(minor.used_after))},
    {FIELD("pinned_objects", "number of pinned objects: ", NUMBER, AT(minor.pinned_objects))},
    {FIELD("promoted_bytes", "total size of surviving objects: ", BYTES, AT(minor.promoted_bytes))},
    {FIELD("promoted_objects", "promoted objects: ", NUMBER, AT(minor.promoted_objects))},
    {FIELD("remembered_objects", "remembered objects: ", NUMBER, AT(minor.remembered))},
    {FIELD("recorded_slots", "recorded slots: ", NUMBER, AT(minor.recorded))},
    {FIELD("nursery_used_bytes", "nursery used: ", BYTES, AT(minor.nursery_bytes))},
    {FIELD("large_freed_bytes", "large objects freed, bytes: ", BYTES, AT(minor.large_freed_bytes))},
    {FIELD("used_before_bytes", "memory before: ", BYTES, AT(minor.used_before)), .in_line = ", "},
    {FIELD("used_after_bytes", ", after: ", BYTES, AT(minor.used_after)), .in_line = " => "},
    {FIELD(NULL, NULL, BYTES, AT(minor.promoted_bytes)), .in_line = ", survived "},
    {FIELD("helpers", "helpers: ", NUMBER, AT(minor.helpers)), IF_HELPED, .in_line = ", helpers "},
    {FIELD("helped_objects", ", objects: ", NUMBER, AT(minor.helped_objects)), IF_HELPED},
    {FIELD("helped_bytes", "promoted by helpers, bytes: ", BYTES, AT(minor.helped_bytes)), IF_HELPED,
     .in_line = " promoted "},
    {FIELD("helped_ns", "the helpers worked: ", NS, AT(minor.helped_ns)), IF_HELPED},
    {FIELD("alone", "alone: ", LETTERS, AT(minor.alone)), .in_line = ", alone: "},
    {FIELD("time_ns", "time taken: ", NS, AT(minor.duration_ns)), .in_line = ", took "},
};

static const crd_field major_begin_fields[] = {
    {FIELD("cause", "cause: ", WORD, AT(begin.cause)), .word = cause_word},
    {FIELD("used_bytes", "total memory used: ", BYTES, AT(begin.used_bytes))},
    {FIELD("threshold_bytes", "major collection threshold: ", BYTES, AT(begin.threshold_bytes))},
};

/* The words for the phases are those of RPython's logs. */
static const crd_field step_fields[] = {
    {FIELD("from", "starting gc state: ", WORD, AT(step.from)), .word = phase_word},
    {FIELD("marked_objects", "marked objects: ", NUMBER, AT(step.marked_objects))},
    {FIELD("marked_bytes", "marked bytes: ", BYTES, AT(step.marked_bytes))},
    {FIELD("freed_objects", "freed objects: ", NUMBER, AT(step.freed_objects))},
    {FIELD("freed_bytes", "freed bytes: ", BYTES, AT(step.freed_bytes))},
    {FIELD("freed_spans", "freed spans: ", NUMBER, AT(step.freed_spans))},
    {FIELD("to", "stopping, now in gc state: ", WORD, AT(step.to)), .word = phase_word},
    {FIELD("time_ns", "time taken: ", NS, AT(step.duration_ns))},
};

static const crd_field compact_fields[] = {
    {FIELD("moved_objects", "moved objects: ", NUMBER, AT(compact.objects))},
    {FIELD("moved_bytes", "moved bytes: ", BYTES, AT(compact.bytes)), .in_line = ": moved "},
    {FIELD("arenas_emptied", "arenas emptied: ", NUMBER, AT(compact.arenas_emptied)), .in_line = ", arenas emptied "},
    {FIELD("arenas_before", " of ", NUMBER, AT(compact.arenas_in_use)), .in_line = " of "},
    {FIELD("time_ns", "time taken: ", NS, AT(compact.duration_ns)), .in_line = ", took "},
};

static const crd_field pause_fields[] = {
    {FIELD("cause", "cause: ", WORD, AT(pause.cause)), .word = cause_word, .in_line = ": "},
    {FIELD("time_ns", "time taken: ", NS, AT(pause.duration_ns)), .in_line = ", took "},
    {FIELD("processor_ns", "processor time: ", NS, AT(pause.processor_ns)), .only_with = AT(pause.processor_ns),
     .in_line = ", ran "},
    {FIELD("preemptions", "other work ran, times: ", NUMBER, AT(pause.preemptions)),
     .only_with = AT(pause.preemptions_known), .in_line = ", other work ran, times "},
    {FIELD("stop_ns", "all stood after: ", NS, AT(pause.stop_ns)), .only_with = AT(pause.stop_ns),
     .in_line = ", all stood after "},
    {FIELD("mutator", "collected by: ", LETTERS, AT(pause.mutator)), .only_with = AT(pause.mutator),
     .in_line = ", by "},
    {FIELD("last", "came last: ", LETTERS, AT(pause.last)), .only_with = AT(pause.last), .in_line = ", last "},
};

static const crd_field major_fields[] = {
    {FIELD(NULL, NULL, NUMBER, AT(major.number)), .in_line = " "},
    {FIELD("cause", "cause: ", WORD, AT(major.cause)), .word = cause_word, .in_line = ": "},
    {FIELD("used_before_bytes", "used: ", BYTES, AT(major.used_before)), .in_line = ", "},
    {FIELD("used_after_bytes", " => ", BYTES, AT(major.used_after)), .in_line = " => "},
    {FIELD("threshold_bytes", "next major collection threshold: ", BYTES, AT(major.threshold_bytes)),
     .in_line = ", next at "},
    {FIELD("time_ns", "time taken: ", NS, AT(major.duration_ns)), .in_line = ", took "},
};

static const crd_field arenas_fields[] = {
    {FIELD("taken", "arenas taken: ", NUMBER, AT(arenas.taken))},
    {FIELD("given_back", "arenas given back: ", NUMBER, AT(arenas.given_back))},
    {FIELD("committed", "arenas committed: ", NUMBER, AT(arenas.committed))},
    {FIELD("in_use", ", in use: ", NUMBER, AT(arenas.in_use))},
    {FIELD("pool_bytes", "of the huge-page pool, bytes: ", BYTES, AT(arenas.pool_bytes)),
     .only_with = AT(arenas.pool_bytes)},
    {FIELD("resident_bytes", "resident bytes: ", BYTES, AT(arenas.resident_bytes)),
     .only_with = AT(arenas.resident_bytes)},
    {FIELD("huge_bytes", ", on huge pages: ", BYTES, AT(arenas.huge_bytes)), .only_with = AT(arenas.resident_bytes)},
};

static const crd_field spans_fields[] = {
    {FIELD("object_bytes", "object size: ", BYTES, AT(spans.object_bytes))},
    {FIELD("span_bytes", ", span size: ", BYTES, AT(spans.span_bytes))},
    {FIELD("span_objects", ", objects in a span: ", NUMBER, AT(spans.objects))},
    {FIELD("spans", ", spans: ", NUMBER, AT(spans.spans))},
    {FIELD("used_bytes", ", used: ", BYTES, AT(spans.used_bytes))},
    {FIELD("memory_bytes", ", memory: ", BYTES, AT(spans.memory_bytes))},
    {FIELD("waste_percent", ", waste in percent: ", NUMBER, AT(spans.waste_percent))},
};

static const crd_field types_fields[] = {
    {FIELD("collection", "major collection: ", NUMBER, AT(types.number)), .in_line = " "},
    {FIELD("type_name", "name of the type: ", LETTERS, AT(types.name)), .in_line = ": "},
    {FIELD("type", "number of the type: ", NUMBER, AT(types.type)), .in_line = ", type "},
    {FIELD("types", "types: ", NUMBER, AT(types.types))},
    {FIELD("live_objects", "live objects: ", NUMBER, AT(types.live_objects)), .in_line = ", objects "},
    {FIELD("live_bytes", "live bytes: ", BYTES, AT(types.live_bytes)), .in_line = ", "},
};

static const crd_field note_fields[] = {
    {FIELD("text", "", LETTERS, AT(note.text)), .in_line = ": "},
    {FIELD("wanted", "wanted: ", NUMBER, AT(note.wanted)), .only_with = AT(note.wanted), .in_line = ", wanted "},
    {FIELD("got", ", got: ", NUMBER, AT(note.got)), .only_with = AT(note.wanted), .in_line = ", got "},
};

static const crd_field beside_fields[] = {
    {FIELD("marked_objects", "marked beside the program, objects: ", NUMBER, AT(beside.objects))},
    {FIELD("marked_bytes", ", bytes: ", BYTES, AT(beside.bytes))},
    {FIELD("put_aside", "put aside: ", NUMBER, AT(beside.put_aside)), .only_with = AT(beside.put_aside)},
    {FIELD("markers", "marked at once: ", NUMBER, AT(beside.markers)), .only_with = AT(beside.markers)},
    {FIELD("run_ns", "the second core ran: ", NS, AT(beside.run_ns))},
    {FIELD("stop_ns", "waited for it to stop: ", NS, AT(beside.stop_ns))},
};

static const crd_field heap_end_fields[] = {
    {FIELD("wall_ns", "wall time: ", NS, STATISTICS(wall_ns))},
    {FIELD("minor_collections", "minor collections: ", NUMBER, STATISTICS(minor_collections))},
    {FIELD("minor_ns", "time in minor collections: ", NS, STATISTICS(minor_ns))},
    {FIELD("minor_max_ns", "longest minor collection: ", NS, STATISTICS(minor_max_ns))},
    {FIELD("major_collections", "major collections: ", NUMBER, STATISTICS(major_collections))},
    {FIELD("major_ns", "time in major collections: ", NS, STATISTICS(major_ns))},
    {FIELD("major_steps", "increments of major collections: ", NUMBER, STATISTICS(major_steps))},
    {FIELD("major_max_ns", "longest increment: ", NS, STATISTICS(major_max_ns))},
    {FIELD("compactions", "compactions: ", NUMBER, STATISTICS(compactions))},
    {FIELD("compact_ns", "time in compactions: ", NS, STATISTICS(compact_ns))},
    {FIELD("pauses", "pauses: ", NUMBER, STATISTICS(pauses))},
    {FIELD("pause_ns", "time in pauses: ", NS, STATISTICS(pause_ns))},
    {FIELD("pause_p50_ns", "pause p50: ", NS, PAUSES(p50_ns))},
    {FIELD("pause_p90_ns", "pause p90: ", NS, PAUSES(p90_ns))},
    {FIELD("pause_p99_ns", "pause p99: ", NS, PAUSES(p99_ns))},
    {FIELD("pause_p999_ns", "pause p99.9: ", NS, PAUSES(p999_ns))},
    {FIELD("pause_p9999_ns", "pause p99.99: ", NS, PAUSES(p9999_ns))},
    {FIELD("pause_max_ns", "longest pause: ", NS, STATISTICS(pause_max_ns))},
    {FIELD("gc_share", "share of time in pauses: ", SHARE, STATISTICS(gc_share))},
    {FIELD("allocated_bytes", "allocated bytes: ", BYTES, STATISTICS(allocated_bytes))},
    {FIELD("promoted_objects", "promoted objects: ", NUMBER, STATISTICS(promoted_objects))},
    {FIELD("promoted_bytes", "promoted bytes: ", BYTES, STATISTICS(promoted_bytes))},
    {FIELD("survival", "share of the nursery that survived: ", SHARE, STATISTICS(survival))},
    {FIELD("used_peak_bytes", "most memory used: ", BYTES, STATISTICS(used_peak_bytes))},
    {FIELD("used_bytes", "memory used in the end: ", BYTES, STATISTICS(used_bytes))},
    {FIELD("live_bytes", "live after the last major collection: ", BYTES, STATISTICS(live_bytes)), IF_MAJOR},
    {FIELD("live_peak_bytes", "most memory live: ", BYTES, STATISTICS(live_peak_bytes)), IF_MAJOR},
    {FIELD("nursery_bytes", "nursery size: ", BYTES, STATISTICS(nursery_bytes))},
    {FIELD("old_bytes", "in old objects: ", BYTES, STATISTICS(old_bytes))},
    {FIELD("free_bytes", "free between old objects: ", BYTES, FIGURE(free_bytes))},
    {FIELD("empty_bytes", "in empty arenas: ", BYTES, FIGURE(empty_bytes))},
    {FIELD("metadata_bytes", "of metadata: ", BYTES, STATISTICS(metadata_bytes))},
    {FIELD("other_bytes", "of nursery, stacks and tables: ", BYTES, FIGURE(other_bytes))},
    {FIELD("arenas_peak", "most arenas: ", NUMBER, STATISTICS(arenas_peak))},
    {FIELD("resident_bytes", "resident in arenas: ", BYTES, STATISTICS(resident_bytes)), IF_RESIDENT},
    {FIELD("huge_bytes", "of that on huge pages: ", BYTES, STATISTICS(huge_bytes)), IF_RESIDENT},
    {FIELD("beside_ns", "time of the second core: ", NS, STATISTICS(beside_ns)), IF_BESIDE},
    {FIELD("beside_bytes", "bytes that it marked: ", BYTES, STATISTICS(beside_bytes)), IF_BESIDE},
    {FIELD("beside_stops", "pauses that waited for it: ", NUMBER, STATISTICS(beside_stops)), IF_BESIDE},
    {FIELD("beside_stop_ns", "time of these waits: ", NS, STATISTICS(beside_stop_ns)), IF_BESIDE},
    {FIELD("beside_stop_p50_ns", "wait p50: ", NS, PAUSES(stop_p50_ns)), IF_BESIDE},
    {FIELD("beside_stop_p99_ns", "wait p99: ", NS, PAUSES(stop_p99_ns)), IF_BESIDE},
    {FIELD("beside_stop_p999_ns", "wait p99.9: ", NS, PAUSES(stop_p999_ns)), IF_BESIDE},
    {FIELD("beside_stop_max_ns", "longest wait: ", NS, STATISTICS(beside_stop_max_ns)), IF_BESIDE},
    {FIELD("beside_arenas", "arenas that it populated: ", NUMBER, STATISTICS(beside_arenas)), IF_BESIDE},
    {FIELD("helped_collections", "collections with helpers: ", NUMBER, STATISTICS(helped_collections)), IF_BESIDE},
    {FIELD("helped_objects", "objects promoted by helpers: ", NUMBER, STATISTICS(helped_objects)), IF_EVER_HELPED},
    {FIELD("helped_bytes", "bytes promoted by helpers: ", BYTES, STATISTICS(helped_bytes)), IF_EVER_HELPED},
    {FIELD("helped_ns", "time of helpers: ", NS, STATISTICS(helped_ns)), IF_EVER_HELPED},
    {FIELD("thousand_alone_ns", "1,000 objects promoted alone: ", NS, STATISTICS(thousand_alone_ns)),
     .only_with = STATISTICS(thousand_alone_ns)},
    {FIELD("thousand_helped_ns", "1,000 objects promoted with helpers: ", NS, STATISTICS(thousand_helped_ns)),
     .only_with = STATISTICS(thousand_helped_ns)},
    {FIELD("stops", "stops of all mutators: ", NUMBER, STATISTICS(stops)), .only_with = STATISTICS(stops)},
    {FIELD("stop_ns", "time until they stood: ", NS, STATISTICS(stop_ns)), .only_with = STATISTICS(stops)},
    {FIELD("stop_max_ns", "longest until they stood: ", NS, STATISTICS(stop_max_ns)), .only_with = STATISTICS(stops)},
};

/* --- rows --- */

#define FIELDS(list) list, sizeof(list) / sizeof(list)[0]
#define NO_FIELDS NULL, 0

#define BEGIN CRD_PHASE_BEGIN
#define END CRD_PHASE_END
#define INSTANT CRD_PHASE_INSTANT

const crd_event_row crd_head_row = {.phase = INSTANT, CRD_SECTION_LOG, CRD_BASE_HEAD, FIELDS(head_fields)};

const crd_event_row crd_event_rows[] = {
    {CRADLE_EVENT_HEAP_CREATED, BEGIN, CRD_SECTION_HARDWARE, CRD_BASE_HARDWARE, FIELDS(hardware_fields)},
    {CRADLE_EVENT_HEAP_CREATED, END, CRD_SECTION_HARDWARE, CRD_BASE_EVENT, FIELDS(heap_fields)},
    {CRADLE_EVENT_HEAP_DESTROYED, INSTANT, CRD_SECTION_HEAP_END, CRD_BASE_FIGURES, FIELDS(heap_end_fields)},
    {CRADLE_EVENT_NURSERY_SIZED, INSTANT, CRD_SECTION_NURSERY_SIZE, CRD_BASE_EVENT, FIELDS(nursery_fields)},
    {CRADLE_EVENT_MINOR_BEGIN, BEGIN, CRD_SECTION_MINOR, CRD_BASE_EVENT, FIELDS(minor_begin_fields)},
    {CRADLE_EVENT_ROOTS_BEGIN, BEGIN, CRD_SECTION_WALKROOTS, CRD_BASE_EVENT, NO_FIELDS},
    {CRADLE_EVENT_ROOTS_END, END, CRD_SECTION_WALKROOTS, CRD_BASE_EVENT, FIELDS(roots_fields)},
    {CRADLE_EVENT_MINOR_END, END, CRD_SECTION_MINOR, CRD_BASE_EVENT, FIELDS(minor_fields)},
    {CRADLE_EVENT_MAJOR_BEGIN, INSTANT, CRD_SECTION_COLLECT, CRD_BASE_EVENT, FIELDS(major_begin_fields)},
    {CRADLE_EVENT_STEP_BEGIN, BEGIN, CRD_SECTION_STEP, CRD_BASE_EVENT, NO_FIELDS},
    {CRADLE_EVENT_STEP_END, END, CRD_SECTION_STEP, CRD_BASE_EVENT, FIELDS(step_fields)},
    {CRADLE_EVENT_COMPACT_BEGIN, BEGIN, CRD_SECTION_COMPACT, CRD_BASE_EVENT, NO_FIELDS},
    {CRADLE_EVENT_COMPACT_END, END, CRD_SECTION_COMPACT, CRD_BASE_EVENT, FIELDS(compact_fields)},
    {CRADLE_EVENT_MAJOR_END, INSTANT, CRD_SECTION_DONE, CRD_BASE_EVENT, FIELDS(major_fields)},
    {CRADLE_EVENT_PAUSE, INSTANT, CRD_SECTION_PAUSE, CRD_BASE_EVENT, FIELDS(pause_fields)},
    {CRADLE_EVENT_ARENAS, INSTANT, CRD_SECTION_ARENA, CRD_BASE_EVENT, FIELDS(arenas_fields)},
    {CRADLE_EVENT_SPANS, INSTANT, CRD_SECTION_SPANS, CRD_BASE_EVENT, FIELDS(spans_fields)},
    {CRADLE_EVENT_TYPES, INSTANT, CRD_SECTION_TYPES, CRD_BASE_EVENT, FIELDS(types_fields)},
    {CRADLE_EVENT_NOTE, INSTANT, CRD_SECTION_NOTE, CRD_BASE_EVENT, FIELDS(note_fields)},
    {CRADLE_EVENT_BESIDE, INSTANT, CRD_SECTION_BESIDE, CRD_BASE_EVENT, FIELDS(beside_fields)},
};
const size_t crd_event_row_count = sizeof crd_event_rows / sizeof crd_event_rows[0];

/* Between live objects lie places that are free but in arenas that are not empty; a compaction gives those back. */
void crd_figures_held(crd_figures *figures) {
  const cradle_statistics *of = &figures->statistics;
  uint64_t in_use = of->arenas_in_use * of->arena_bytes;
  figures->free_bytes = in_use - of->old_bytes;
  figures->empty_bytes = of->arenas_committed * of->arena_bytes - in_use;
  uint64_t known = in_use + figures->empty_bytes + of->metadata_bytes;
  figures->other_bytes = of->committed_bytes > known ? of->committed_bytes - known : 0;
}

/* --- reading fields --- */

static const void *field_at(const void *base, size_t offset) {
  return (const char *)base + offset;
}

bool crd_field_is_left_out(const crd_field *field, const void *base) {
  if (base == NULL) return true;
  if (field->only_with != 0 && *(const uint64_t *)field_at(base, field->only_with) == 0) return true;
  return field->type == CRD_FIELD_TEXT && crd_field_text(field, base) == NULL;
}

uint64_t crd_field_number(const crd_field *field, const void *base) {
  return *(const uint64_t *)field_at(base, field->offset);
}

double crd_field_share(const crd_field *field, const void *base) {
  return *(const double *)field_at(base, field->offset);
}

const char *crd_field_text(const crd_field *field, const void *base) {
  const void *value = field_at(base, field->offset);
  if (field->type == CRD_FIELD_TEXT) return *(const char *const *)value;
  uint32_t number;
  memcpy(&number, value, sizeof number);
  return field->word(number);
}
