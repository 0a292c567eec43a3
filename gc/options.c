/* The options: their defaults, and what may be wrong with them.
 *
 *   [options.1] A fault names one field, the one that has to change. If two fields contradict each other, that is the
 *               one that is of no use without the other, or that the maximum heap has no room for.
 *   [options.2] With the number in accepted, if there is one, the field is not at fault any more.
 *   [options.4] A structure of any version of the series is accepted: what a shorter one lacks has its default,
 *               and what this version does not know of a longer one must be 0.
 */
#include "gc/options.h"

#include <inttypes.h>
#include <string.h>

#include "gc/base/option_table.h"
#include "gc/base/prefix.h"
#include "gc/report/misuse.h"
#include "gc/young/chunks.h"

#define STOP_REPORT_DEFAULT_NS UINT64_C(1000000000)
#define SHADOW_STACK_DEFAULT_BYTES ((size_t)64 << 20)
#define PAUSE_DEFAULT_NS UINT64_C(2000000)
#define AGE_DEFAULT_NS UINT64_C(10000000000)
#define PAGE_MIN_BYTES ((size_t)4 << 10)
/* The machine may not be known yet, so each nursery of a quarantine is assumed to have whole pages of the largest
 * size. */
#define PAGE_MAX_BYTES ((size_t)64 << 10)
/* A maximum heap must have room for two arenas beside the nursery; the least maximum also has room for a nursery
 * that the heap chooses. */
#define ROOM_BYTES (2 * ARENA_BYTES)
/* The shortest structures that are believed: all of this was there when the series began. */
#define OPTIONS_LEAST_BYTES (offsetof(cradle_options, type_size) + sizeof(size_t))
#define TYPE_LEAST_BYTES (offsetof(cradle_type, references) + sizeof(uint64_t))
#define HEAP_MIN_BYTES ((size_t)5 << 20)

static cradle_options defaults(size_t type_size) {
  cradle_options options;
  memset(&options, 0, sizeof options);
  options.type_size = type_size;
  options.encoding = crd_encoding_plain();
  options.shadow_stack_bytes = SHADOW_STACK_DEFAULT_BYTES;
  options.mutators = 1;
  options.stop_report_ns = STOP_REPORT_DEFAULT_NS;
  options.major_factor = 1.82;
  options.major_growth = 1.4;
  options.major_age_ns = AGE_DEFAULT_NS;
  options.pause_ns = PAUSE_DEFAULT_NS;
  options.sampler.interval_bytes = CRADLE_SAMPLE_DEFAULT_BYTES;
  return options;
}

void cradle_options_init_sized(cradle_options *options, uint32_t version, size_t size, size_t type_size) {
  cradle_options mine = defaults(type_size);
  mine.version = version;
  mine.size = (uint32_t)size;
  copy_prefix(options, size, &mine, sizeof mine);
}

/* What is wrong, as cradle_error has it, without its message; option NULL: nothing is. */
static const cradle_error NONE = {.option = NULL};

/* limit: "at least" or "at most" accepted. */
static cradle_error fault_of(const char *option, const char *reason, const char *other, const char *limit,
                             uint64_t accepted) {
  return (cradle_error){.option = option, .reason = reason, .other = other, .limit = limit, .accepted = accepted};
}

static cradle_error fault(const char *option, const char *reason, const char *other) {
  return fault_of(option, reason, other, NULL, 0);
}

/* --- structures of other versions [options.4] --- */

/* Completes the message. Returns false. */
static bool tell(cradle_error *error, cradle_error what) {
  crd_text text = {.length = 0};
  crd_text_format(&text, "%s: %s", what.option, what.reason);
  if (what.other != NULL) crd_text_format(&text, " %s", what.other);
  if (what.limit != NULL) crd_text_format(&text, "; %s %" PRIu64, what.limit, what.accepted);
  memcpy(what.message, text.buffer, sizeof what.message);
  if (error != NULL) *error = what;
  return false;
}

/* The offset of the first byte from known on that is not 0, or size. */
static size_t first_set(const void *structure, size_t known, size_t size) {
  const char *bytes = structure;
  while (known < size && bytes[known] == 0) known++;
  return known;
}

static bool refuse_newer(cradle_error *error, const char *option, const char *structure, size_t offset,
                         uint32_t version) {
  uint32_t mine = CRADLE_VERSION;
  static const char format[] = "%s: the program was compiled for version %u.%u.%u of Cradle and sets the field of "
                               "%s at byte %zu, which this library, version %u.%u.%u, does not have";
  (void)crd_fail(error, format, option, version / 10000, version / 100 % 100, version % 100, structure, offset,
                 mine / 10000, mine / 100 % 100, mine % 100);
  if (error != NULL) error->option = option, error->reason = "a field is set that this library does not have";
  return false;
}

/* Versions before 1.0 differ in the minor number. */
static uint32_t series_of(uint32_t version) {
  return version < 10000 ? version / 100 : 100 * (version / 10000);
}

static cradle_error types_fault(const cradle_options *options) {
  if (options->type_count != 0 && options->types == NULL) return fault("types", "NULL, but type_count is not 0", NULL);
  if (options->type_size < TYPE_LEAST_BYTES || options->type_size % 8 != 0)
    return fault("type_size", "cradle_type of another version of the headers", NULL);
  return NONE;
}

bool crd_options_read(cradle_options *whole, const cradle_options *given, cradle_error *error) {
  if (given == NULL) return tell(error, fault("options", "NULL", NULL));
  if (series_of(given->version) != series_of(CRADLE_VERSION) || given->size < OPTIONS_LEAST_BYTES ||
      given->size % 8 != 0)
    return tell(error, fault("options",
                             "made by another version of the headers than this library, or not by "
                             "cradle_options_init",
                             NULL));
  size_t set = first_set(given, sizeof *whole, given->size);
  if (set < given->size) return refuse_newer(error, "options", "cradle_options", set, given->version);
  *whole = defaults(given->type_size);
  memcpy(whole, given, given->size < sizeof *whole ? given->size : sizeof *whole);
  whole->size = sizeof *whole;
  cradle_error wrong = types_fault(whole);
  if (wrong.option != NULL) return tell(error, wrong);
  for (size_t i = 0; i < whole->type_count; i++) {
    const char *row = (const char *)whole->types + i * whole->type_size;
    set = first_set(row, sizeof(cradle_type), whole->type_size);
    if (set < whole->type_size) return refuse_newer(error, "types", "cradle_type", set, given->version);
  }
  return true;
}

cradle_type crd_type_read(const cradle_type *row, size_t size) {
  cradle_type whole;
  copy_prefix(&whole, sizeof whole, row, size);
  return whole;
}

/* --- each field by itself --- */

static cradle_error field_fault(const cradle_options *options) {
  for (const crd_option *row = crd_options; row < crd_options + crd_option_count; row++) {
    uint64_t number = crd_option_number(row, options);
    if (row->field == NULL || crd_option_accepts(row, number)) continue;
    bool is_whole = row->type != CRD_OPTION_FACTOR && row->names == NULL;
    return fault_of(row->field, row->wants, NULL, NULL, !is_whole ? 0 : number < row->least ? row->least : row->most);
  }
  return NONE;
}

static bool is_power_from(size_t bytes, size_t least) {
  return bytes >= least && (bytes & (bytes - 1)) == 0;
}

static cradle_error hardware_fault(const cradle_options *options) {
  const cradle_hardware *hardware = options->hardware;
  if (hardware == NULL) return NONE;
  static const char why[] = "accepted are powers of two from page_bytes on, or 0";
  size_t page = hardware->page_bytes, thp = hardware->thp_page_bytes, pool = hardware->pool_page_bytes;
  if (!is_power_from(page, PAGE_MIN_BYTES) || page > ARENA_BYTES)
    return fault("hardware.page_bytes", "accepted are powers of two from 4 KiB to 2 MiB", NULL);
  if (thp != 0 && !is_power_from(thp, page)) return fault("hardware.thp_page_bytes", why, NULL);
  if (pool != 0 && !is_power_from(pool, page)) return fault("hardware.pool_page_bytes", why, NULL);
  if ((unsigned)hardware->thp_mode > CRADLE_THP_ALWAYS)
    return fault("hardware.thp_mode", "not a value of cradle_thp_mode", NULL);
  return NONE;
}

static cradle_error part_fault(const cradle_options *options) {
  const char *why = crd_encoding_fault(&options->encoding);
  if (why != NULL) return fault("encoding", why, NULL);
  if (options->sampler.sampled == NULL && options->sampler.settled != NULL)
    return fault("sampler", "settled, but no sampled function", NULL);
  bool aligned = address_of(options->base_address) % ARENA_BYTES == 0;
  return aligned ? NONE : fault("base_address", "not a multiple of 2 MiB", NULL);
}

/* --- fields that contradict each other --- */

static cradle_error maximum_fault(const cradle_options *options) {
  size_t max = options->heap_max_bytes, nursery = options->nursery_bytes;
  if (max == 0) return NONE;
  size_t least = nursery == 0 ? HEAP_MIN_BYTES : ((nursery + 7) & ~(size_t)7) + ROOM_BYTES;
  if (max < ROOM_BYTES + CRADLE_NURSERY_MIN_BYTES || (nursery == 0 && max < least))
    return fault_of("heap_max_bytes", "too small for the nursery and two arenas", NULL, "at least", least);
  if (max < least) return fault("nursery_bytes", "leaves no room for two arenas in", "heap_max_bytes");
  if (options->major_min_bytes > max) return fault_of("major_min_bytes", "above", "heap_max_bytes", "at most", max);
  return NONE;
}

static cradle_error collection_fault(const cradle_options *options) {
  static const char why[] = "needs collections, which are turned off by";
  if (options->gc != CRADLE_GC_OFF) return NONE;
  if (options->stress_period != 0) return fault("stress_period", why, "gc");
  if (options->quarantine != 0) return fault("quarantine", why, "gc");
  return NONE;
}

static cradle_error stress_fault(const cradle_options *options) {
  for (size_t i = 0; i < crd_option_count && options->stress_period == 0; i++) {
    const char *field = crd_options[i].field;
    if (field != NULL && strncmp(field, "stress_", 7) == 0 && strcmp(field, "stress_turns") != 0 &&
        crd_option_number(&crd_options[i], options) != 0)
      return fault(field, "does nothing without", "stress_period");
  }
  if (options->stress_last != 0 && options->stress_first > options->stress_last)
    return fault("stress_last", "no collection would take place, because it is below", "stress_first");
  return NONE;
}

/* How many nurseries of so many bytes fit into the addresses of a quarantine, besides the two that are in use. */
static size_t quarantine_most(size_t nursery) {
  size_t pages = nursery / PAGE_MAX_BYTES + (nursery % PAGE_MAX_BYTES != 0);
  return CRADLE_QUARANTINE_MAX_BYTES / PAGE_MAX_BYTES / pages - 2;
}

static cradle_error quarantine_fault(const cradle_options *options) {
  cradle_hugepages pages = options->hugepages_nursery;
  if (options->quarantine == 0) return NONE;
  if (pages != CRADLE_HUGEPAGES_AUTO && pages != CRADLE_HUGEPAGES_OFF)
    return fault("hugepages_nursery", "must be auto or off, because base pages are needed by", "quarantine");
  if (options->nursery_bytes == 0 || options->quarantine <= quarantine_most(options->nursery_bytes)) return NONE;
  return fault_of("quarantine", "above 64 GiB with nurseries of", "nursery_bytes", "at most",
                  quarantine_most(options->nursery_bytes));
}

/* A nursery that is never collected is cut once, so that each mutator may have a chunk. */
static cradle_error shared_fault(const cradle_options *options) {
  if (options->stress_turns != 0 && options->mutators == 1)
    return fault("stress_turns", "does nothing without several", "mutators");
  if (options->stress_turns != 0 && options->stress_times != 0)
    return fault("stress_times", "goes by the clock, which does not repeat, so all stress collections take place with",
                 "stress_turns");
  if (options->gc != CRADLE_GC_OFF || options->mutators <= CHUNKS_MOST) return NONE;
  return fault_of("mutators", "too many for a heap without collections, which are turned off by", "gc", "at most",
                  CHUNKS_MOST);
}

/* --- the whole --- */

static bool check_types(const cradle_options *options, cradle_error *error) {
  for (size_t i = 0; i < options->type_count; i++) {
    const void *row = (const char *)options->types + i * options->type_size;
    cradle_type type = crd_type_read(row, options->type_size);
    const char *why = crd_type_fault(&type);
    /* An empty row is no fault: tables are indexed by the program's constants, which may have gaps. */
    if (why == NULL || crd_type_is_unused(&type)) continue;
    (void)crd_fail(error, "types[%zu] (%s): %s", i, crd_show_name(type.name).buffer, why);
    if (error != NULL) error->option = "types";
    return false;
  }
  return true;
}

bool cradle_options_check(const cradle_options *options, cradle_error *error) {
  /* Rules for single fields come before those that compare fields. */
  static cradle_error (*const rules[])(const cradle_options *options) = {
      field_fault,      hardware_fault, part_fault,       maximum_fault,
      collection_fault, stress_fault,   quarantine_fault, shared_fault,
  };
  cradle_options whole;
  if (error != NULL) *error = NONE;
  if (!crd_options_read(&whole, options, error)) return false;
  for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
    cradle_error found = rules[i](&whole);
    if (found.option != NULL) return tell(error, found);
  }
  return check_types(&whole, error);
}
