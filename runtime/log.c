/* The log: which sections are wanted, and what each event is in words.
 *
 * There are thousands of minor collections a second; on their path numbers are formatted by hand
 * and, but for a full buffer, no system call is made.
 */
#include "runtime/log.h"

#include <cradle/options.h>

#include "runtime/log_file.h"
#include "runtime/report.h"

#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define FORMAT_VERSION 1
/* Sections never nest deeper in the collector; deeper ones are left out. */
#define DEPTH_MAX 16

typedef enum category {
  CATEGORY_LOG,
  CATEGORY_HARDWARE,
  CATEGORY_NURSERY_SIZE,
  CATEGORY_MINOR,
  CATEGORY_WALKROOTS,
  CATEGORY_COLLECT,
  CATEGORY_STEP,
  CATEGORY_COMPACT,
  CATEGORY_DONE,
  CATEGORY_ARENA,
  CATEGORY_NOTE,
  CATEGORY_HEAP_END,
  CATEGORY_COUNT
} category;

static const char *const category_names[CATEGORY_COUNT] = {
    [CATEGORY_LOG] = "cradle-log",
    [CATEGORY_HARDWARE] = "gc-hardware",
    [CATEGORY_NURSERY_SIZE] = "gc-set-nursery-size",
    [CATEGORY_MINOR] = "gc-minor",
    [CATEGORY_WALKROOTS] = "gc-minor-walkroots",
    [CATEGORY_COLLECT] = "gc-collect",
    [CATEGORY_STEP] = "gc-collect-step",
    [CATEGORY_COMPACT] = "gc-collect-compact",
    [CATEGORY_DONE] = "gc-collect-done",
    [CATEGORY_ARENA] = "gc-arena",
    [CATEGORY_NOTE] = "gc-note",
    [CATEGORY_HEAP_END] = "gc-heap-end",
};

/* What gc-heap-end says. */
typedef struct log_totals {
  uint64_t minor_count, minor_ns, minor_max_ns;
  uint64_t major_count, major_ns, major_max_ns;
  uint64_t promoted_objects, promoted_bytes;
} log_totals;

struct crd_log {
  crd_log *next_log; /* in the process's list */
  cradle_listener next;
  crd_lock lock;           /* [log.2] */
  uint32_t selected;       /* bit c: sections of category c are written */
  bool with_lines;         /* their lines too, not only where they begin and end */
  bool printing;           /* lines put now are written: those of the innermost section */
  bool handed_over;        /* the heap owns it */
  uint8_t depth;           /* sections open, <= DEPTH_MAX */
  uint8_t open[DEPTH_MAX]; /* their categories */
  uint64_t last_time;      /* of the latest event; never decreases */
  log_totals totals;
  crd_log_file file;
};

/* --- text --- */

static inline void put(crd_log *log, const char *text) {
  crd_log_file_put(&log->file, text, strlen(text));
}

static void put_number(crd_log *log, uint64_t number) {
  char digits[20], *first = digits + sizeof digits;
  do *--first = (char)('0' + number % 10);
  while ((number /= 10) != 0);
  crd_log_file_put(&log->file, first, (size_t)(digits + sizeof digits - first));
}

static void put_hex(crd_log *log, uint64_t number) {
  char digits[16], *first = digits + sizeof digits;
  do *--first = "0123456789abcdef"[number & 15];
  while ((number >>= 4) != 0);
  crd_log_file_put(&log->file, first, (size_t)(digits + sizeof digits - first));
}

/* Seconds with six decimals, rounded. */
static void put_seconds(crd_log *log, uint64_t ns) {
  uint64_t us = (ns + 500) / 1000, rest = us % 1000000;
  char decimals[7] = {'.'};
  for (int i = 6; i > 0; i--, rest /= 10) decimals[i] = (char)('0' + rest % 10);
  put_number(log, us / 1000000);
  crd_log_file_put(&log->file, decimals, sizeof decimals);
}

static inline void text_line(crd_log *log, const char *label, const char *text) {
  if (!log->printing) return;
  put(log, label);
  put(log, text);
  put(log, "\n");
}

static inline void number_line(crd_log *log, const char *label, uint64_t number) {
  if (!log->printing) return;
  put(log, label);
  put_number(log, number);
  put(log, "\n");
}

static inline void two_numbers_line(crd_log *log, const char *label, uint64_t first,
                                    const char *between, uint64_t second) {
  if (!log->printing) return;
  put(log, label);
  put_number(log, first);
  put(log, between);
  put_number(log, second);
  put(log, "\n");
}

static inline void seconds_line(crd_log *log, const char *label, uint64_t ns) {
  if (!log->printing) return;
  put(log, label);
  put_seconds(log, ns);
  put(log, "\n");
}

/* --- sections --- */

static bool is_selected(const crd_log *log, category section) {
  return log->selected >> section & 1;
}

static void put_marker(crd_log *log, const char *before, category section, const char *after) {
  put(log, "[");
  put_hex(log, log->last_time);
  put(log, before);
  put(log, category_names[section]);
  put(log, after);
}

static void set_printing(crd_log *log) {
  log->printing =
      log->with_lines && log->depth != 0 && is_selected(log, (category)log->open[log->depth - 1]);
}

static void begin_section(crd_log *log, category section) {
  if (log->depth == DEPTH_MAX) return;
  log->open[log->depth++] = (uint8_t)section;
  if (is_selected(log, section)) put_marker(log, "] {", section, "\n");
  set_printing(log);
}

static category end_innermost(crd_log *log) {
  category section = (category)log->open[log->depth - 1];
  if (is_selected(log, section)) put_marker(log, "] ", section, "}\n");
  log->depth--;
  set_printing(log);
  if (is_selected(log, section)) crd_log_file_section_end(&log->file, log->depth == 0);
  return section;
}

/* Ends what is open inside the section; false when it is not open at all. */
static bool back_to(crd_log *log, category section) {
  if (memchr(log->open, section, log->depth) == NULL) return false;
  while (log->open[log->depth - 1] != section) end_innermost(log);
  return true;
}

static void end_section(crd_log *log, category section) {
  if (back_to(log, section)) end_innermost(log);
}

static void end_all(crd_log *log) {
  while (log->depth != 0) end_innermost(log);
}

/* --- the head --- */

static void head_lines(crd_log *log) {
  number_line(log, "Cradle log, format ", FORMAT_VERSION);
  text_line(log, "1 tick = 1 ns of CLOCK_MONOTONIC", "");
  number_line(log, "process ", (uint64_t)getpid());
}

/* A section where it is wanted. Otherwise its lines stand outside of all sections, where readers
 * of sections pass over them: without the unit, the timestamps mean nothing. */
static void write_head(crd_log *log) {
  bool as_section = log->with_lines && is_selected(log, CATEGORY_LOG);
  if (as_section) begin_section(log, CATEGORY_LOG);
  log->printing = true;
  head_lines(log);
  set_printing(log);
  if (as_section) end_section(log, CATEGORY_LOG);
}

/* --- events in words --- */

static const char *source_name(cradle_source source) {
  switch (source) {
  case CRADLE_SOURCE_DEFAULT: return "default";
  case CRADLE_SOURCE_SYSFS: return "sysfs";
  case CRADLE_SOURCE_SYSCONF: return "sysconf";
  case CRADLE_SOURCE_EMBEDDER: return "embedder";
  }
  return "unknown";
}

static const char *thp_name(cradle_thp_mode mode) {
  switch (mode) {
  case CRADLE_THP_UNKNOWN: return "unknown";
  case CRADLE_THP_NEVER: return "never";
  case CRADLE_THP_MADVISE: return "madvise";
  case CRADLE_THP_ALWAYS: return "always";
  }
  return "unknown";
}

static void cache_lines(crd_log *log, const cradle_hardware *hardware) {
  number_line(log, "L2cache = ", hardware->l2_bytes);
  text_line(log, "L2cache from: ", source_name(hardware->l2_source));
  number_line(log, "L3cache = ", hardware->l3_bytes);
  if (hardware->l3_bytes != 0) text_line(log, "L3cache from: ", source_name(hardware->l3_source));
}

static void on_heap_created(crd_log *log, const cradle_event *event) {
  const cradle_hardware *hardware = event->u.heap.hardware;
  begin_section(log, CATEGORY_HARDWARE);
  if (hardware != NULL) {
    cache_lines(log, hardware);
    number_line(log, "memory: ", hardware->memory_bytes);
    number_line(log, "page size: ", hardware->page_bytes);
    number_line(log, "transparent huge page size: ", hardware->thp_page_bytes);
    text_line(log, "transparent huge pages: ", thp_name(hardware->thp_mode));
    two_numbers_line(log, "pool page size: ", hardware->pool_page_bytes,
                     ", free pages: ", hardware->pool_pages_free);
  }
  if (event->u.heap.arenas_bytes != 0)
    number_line(log, "address space: ", event->u.heap.arenas_bytes);
  end_section(log, CATEGORY_HARDWARE);
}

static void on_nursery_sized(crd_log *log, const cradle_event *event) {
  begin_section(log, CATEGORY_NURSERY_SIZE);
  number_line(log, "nursery size: ", event->u.nursery.bytes);
  number_line(log, "previous nursery size: ", event->u.nursery.previous);
  if (event->u.nursery.reason != NULL) text_line(log, "reason: ", event->u.nursery.reason);
  end_section(log, CATEGORY_NURSERY_SIZE);
}

static void on_minor_begin(crd_log *log, const cradle_event *event) {
  begin_section(log, CATEGORY_MINOR);
  text_line(log, "cause: ", cradle_cause_name(event->u.begin.cause));
}

static void on_roots_end(crd_log *log, const cradle_event *event) {
  if (!back_to(log, CATEGORY_WALKROOTS)) return;
  number_line(log, "root words: ", event->u.roots.words);
  end_innermost(log);
}

static void add_duration(uint64_t ns, uint64_t *sum, uint64_t *maximum) {
  *sum += ns;
  if (ns > *maximum) *maximum = ns;
}

static void count_minor(log_totals *totals, const cradle_event *event) {
  totals->minor_count++;
  totals->promoted_objects += event->u.minor.promoted_objects;
  totals->promoted_bytes += event->u.minor.promoted_bytes;
  add_duration(event->u.minor.duration_ns, &totals->minor_ns, &totals->minor_max_ns);
}

static void minor_lines(crd_log *log, const cradle_event *event) {
  number_line(log, "minor collect, total memory used: ", event->u.minor.used_after);
  number_line(log, "number of pinned objects: ", event->u.minor.pinned_objects);
  number_line(log, "total size of surviving objects: ", event->u.minor.promoted_bytes);
  number_line(log, "promoted objects: ", event->u.minor.promoted_objects);
  number_line(log, "remembered objects: ", event->u.minor.remembered);
  number_line(log, "recorded slots: ", event->u.minor.recorded);
  number_line(log, "nursery used: ", event->u.minor.nursery_bytes);
  number_line(log, "large objects freed, bytes: ", event->u.minor.large_freed_bytes);
  two_numbers_line(log, "memory before: ", event->u.minor.used_before,
                   ", after: ", event->u.minor.used_after);
  seconds_line(log, "time taken: ", event->u.minor.duration_ns);
}

static void on_minor_end(crd_log *log, const cradle_event *event) {
  count_minor(&log->totals, event);
  if (!back_to(log, CATEGORY_MINOR)) return;
  if (log->printing) minor_lines(log, event);
  end_innermost(log);
}

static void on_major_begin(crd_log *log, const cradle_event *event) {
  begin_section(log, CATEGORY_COLLECT);
  text_line(log, "cause: ", cradle_cause_name(event->u.begin.cause));
  number_line(log, "total memory used: ", event->u.begin.used_bytes);
  number_line(log, "major collection threshold: ", event->u.begin.threshold_bytes);
  end_section(log, CATEGORY_COLLECT);
}

static void step_lines(crd_log *log, const cradle_event *event) {
  text_line(log, "starting gc state: ", cradle_phase_name(event->u.step.from));
  number_line(log, "marked objects: ", event->u.step.marked_objects);
  number_line(log, "marked bytes: ", event->u.step.marked_bytes);
  number_line(log, "freed objects: ", event->u.step.freed_objects);
  number_line(log, "freed bytes: ", event->u.step.freed_bytes);
  number_line(log, "freed spans: ", event->u.step.freed_spans);
  text_line(log, "stopping, now in gc state: ", cradle_phase_name(event->u.step.to));
  seconds_line(log, "time taken: ", event->u.step.duration_ns);
}

static void on_step_end(crd_log *log, const cradle_event *event) {
  if (!back_to(log, CATEGORY_STEP)) return;
  if (log->printing) step_lines(log, event);
  end_innermost(log);
}

static void on_compact_end(crd_log *log, const cradle_event *event) {
  if (!back_to(log, CATEGORY_COMPACT)) return;
  number_line(log, "moved objects: ", event->u.compact.objects);
  number_line(log, "moved bytes: ", event->u.compact.bytes);
  two_numbers_line(log, "arenas emptied: ", event->u.compact.arenas_emptied, " of ", event->u.compact.arenas_in_use);
  seconds_line(log, "time taken: ", event->u.compact.duration_ns);
  end_innermost(log);
}

static void on_major_end(crd_log *log, const cradle_event *event) {
  log_totals *totals = &log->totals;
  totals->major_count++;
  add_duration(event->u.major.duration_ns, &totals->major_ns, &totals->major_max_ns);
  begin_section(log, CATEGORY_DONE);
  text_line(log, "cause: ", cradle_cause_name(event->u.major.cause));
  two_numbers_line(log, "used: ", event->u.major.used_before, " => ", event->u.major.used_after);
  number_line(log, "next major collection threshold: ", event->u.major.threshold_bytes);
  seconds_line(log, "time taken: ", event->u.major.duration_ns);
  end_section(log, CATEGORY_DONE);
}

static void on_arenas(crd_log *log, const cradle_event *event) {
  begin_section(log, CATEGORY_ARENA);
  number_line(log, "arenas taken: ", event->u.arenas.taken);
  number_line(log, "arenas given back: ", event->u.arenas.given_back);
  two_numbers_line(log, "arenas committed: ", event->u.arenas.committed,
                   ", in use: ", event->u.arenas.in_use);
  if (event->u.arenas.pool_bytes != 0)
    number_line(log, "of the huge-page pool, bytes: ", event->u.arenas.pool_bytes);
  if (event->u.arenas.measured)
    two_numbers_line(log, "resident bytes: ", event->u.arenas.resident_bytes,
                     ", on huge pages: ", event->u.arenas.huge_bytes);
  end_section(log, CATEGORY_ARENA);
}

static void on_note(crd_log *log, const cradle_event *event) {
  begin_section(log, CATEGORY_NOTE);
  if (event->u.note.text != NULL) text_line(log, event->u.note.text, "");
  if (event->u.note.wanted != 0 || event->u.note.got != 0)
    two_numbers_line(log, "wanted: ", event->u.note.wanted, ", got: ", event->u.note.got);
  end_section(log, CATEGORY_NOTE);
}

static void on_heap_destroyed(crd_log *log) {
  const log_totals *totals = &log->totals;
  end_all(log);
  begin_section(log, CATEGORY_HEAP_END);
  number_line(log, "minor collections: ", totals->minor_count);
  seconds_line(log, "time in minor collections: ", totals->minor_ns);
  seconds_line(log, "longest minor collection: ", totals->minor_max_ns);
  number_line(log, "major collections: ", totals->major_count);
  seconds_line(log, "time in major collections: ", totals->major_ns);
  seconds_line(log, "longest major collection: ", totals->major_max_ns);
  number_line(log, "promoted objects: ", totals->promoted_objects);
  number_line(log, "promoted bytes: ", totals->promoted_bytes);
  end_section(log, CATEGORY_HEAP_END);
}

static void write_event(crd_log *log, const cradle_event *event) {
  switch (event->kind) {
  case CRADLE_EVENT_HEAP_CREATED: on_heap_created(log, event); break;
  case CRADLE_EVENT_HEAP_DESTROYED: on_heap_destroyed(log); break;
  case CRADLE_EVENT_NURSERY_SIZED: on_nursery_sized(log, event); break;
  case CRADLE_EVENT_MINOR_BEGIN: on_minor_begin(log, event); break;
  case CRADLE_EVENT_ROOTS_BEGIN: begin_section(log, CATEGORY_WALKROOTS); break;
  case CRADLE_EVENT_ROOTS_END: on_roots_end(log, event); break;
  case CRADLE_EVENT_MINOR_END: on_minor_end(log, event); break;
  case CRADLE_EVENT_MAJOR_BEGIN: on_major_begin(log, event); break;
  case CRADLE_EVENT_STEP_BEGIN: begin_section(log, CATEGORY_STEP); break;
  case CRADLE_EVENT_STEP_END: on_step_end(log, event); break;
  case CRADLE_EVENT_COMPACT_BEGIN: begin_section(log, CATEGORY_COMPACT); break;
  case CRADLE_EVENT_COMPACT_END: on_compact_end(log, event); break;
  case CRADLE_EVENT_MAJOR_END: on_major_end(log, event); break;
  case CRADLE_EVENT_ARENAS: on_arenas(log, event); break;
  case CRADLE_EVENT_NOTE: on_note(log, event); break;
  case CRADLE_EVENT_PAUSE: break; /* for histograms */
  }
}

static void adopt_if_forked(crd_log *log) {
  if (log->depth == 0 && crd_log_file_is_inherited(&log->file) && crd_log_file_renew(&log->file))
    write_head(log);
}

static void handle(crd_log *log, const cradle_event *event) {
  if (event->time_ns > log->last_time) log->last_time = event->time_ns;
  adopt_if_forked(log);
  if (!log->file.stopped) write_event(log, event);
}

static void listen(void *data, const cradle_event *event) {
  crd_log *log = data;
  cradle_listener next = log->next;
  crd_lock_take(&log->lock);
  handle(log, event);
  crd_lock_release(&log->lock);
  if (event->kind == CRADLE_EVENT_HEAP_DESTROYED && log->handed_over) crd_log_close(log);
  if (next.function != NULL) next.function(next.data, event);
}

/* --- the end of the process: [log.3] --- */

static crd_log *all_logs;
static crd_lock all_logs_lock;
static bool exit_registered;

static void write_at_exit(crd_log *log) {
  /* A log that stays locked belonged, in the parent of this process, to a thread that was busy
   * with it. */
  if (!crd_lock_try(&log->lock)) return;
  log->file.unbuffered = true;
  crd_log_file_flush(&log->file);
  crd_lock_release(&log->lock);
}

static void write_all_at_exit(void) {
  if (!crd_lock_try(&all_logs_lock)) return;
  for (crd_log *log = all_logs; log != NULL; log = log->next_log) write_at_exit(log);
  crd_lock_release(&all_logs_lock);
}

static void enlist(crd_log *log) {
  crd_lock_take(&all_logs_lock);
  log->next_log = all_logs;
  all_logs = log;
  if (!exit_registered) exit_registered = atexit(write_all_at_exit) == 0;
  crd_lock_release(&all_logs_lock);
}

static void delist(const crd_log *log) {
  crd_lock_take(&all_logs_lock);
  crd_log **link = &all_logs;
  while (*link != log) link = &(*link)->next_log;
  *link = log->next_log;
  crd_lock_release(&all_logs_lock);
}

/* --- what CRADLE_LOG says --- */

static uint32_t categories_with_prefix(const char *prefix, size_t length) {
  uint32_t selected = 0;
  for (int i = 0; i < CATEGORY_COUNT; i++)
    if (strncmp(category_names[i], prefix, length) == 0) selected |= (uint32_t)1 << i;
  return selected;
}

/* The prefixes end at the colon. An empty one is every section's. */
static uint32_t categories_selected(const char *prefixes) {
  uint32_t selected = 0;
  for (;;) {
    size_t length = strcspn(prefixes, ",:");
    selected |= categories_with_prefix(prefixes, length);
    if (prefixes[length] == ':') return selected;
    prefixes += length + 1;
  }
}

/* Fills in what is selected and returns the file's name. */
static const char *parse_selection(crd_log *log, const char *text) {
  const char *colon = text[0] == '+' ? NULL : strchr(text, ':');
  log->with_lines = colon != NULL;
  log->selected = colon != NULL ? categories_selected(text) : categories_selected(":");
  if (log->selected == 0)
    crd_report("CRADLE_LOG=%.200s: no section begins so (docs/logging.md lists them)", text);
  return colon != NULL ? colon + 1 : text + (text[0] == '+');
}

static bool open_file(crd_log *log, const char *text) {
  const char *name = parse_selection(log, text);
  if (*name != '\0') return crd_log_file_open(&log->file, name);
  crd_report("CRADLE_LOG=%.200s: names no file; there will be no log", text);
  return false;
}

static uint64_t now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

crd_log *crd_log_open(const char *text, cradle_listener next) {
  if (text == NULL || *text == '\0') return NULL;
  crd_log *log = calloc(1, sizeof *log);
  if (log == NULL) {
    crd_report("CRADLE_LOG: no memory for the log");
    return NULL;
  }
  if (!open_file(log, text)) {
    free(log);
    return NULL;
  }
  log->next = next;
  log->last_time = now_ns();
  write_head(log);
  enlist(log);
  return log;
}

cradle_listener crd_log_listener(crd_log *log) {
  return (cradle_listener){listen, log};
}

void crd_log_hand_over(crd_log *log) {
  log->handed_over = true;
}

void crd_log_close(crd_log *log) {
  delist(log);
  end_all(log);
  crd_log_file_close(&log->file);
  free(log);
}
