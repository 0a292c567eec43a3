/* Statistics in words, one fact in each line. */
#include "runtime/summary.h"

#include <cradle/statistics.h>

#include "gc/base/text.h"
#include "runtime/exit_list.h"
#include "runtime/growing_text.h"
#include "runtime/pauses.h"
#include "runtime/platform/files.h"
#include "runtime/platform/process.h"
#include "runtime/report.h"

#include <stdio.h>
#include <stdlib.h>

typedef struct crd_summary {
  crd_exit_entry at_exit; /* first */
  crd_link link;
  crd_lock lock; /* taken while an event is recorded, because the process may end on another thread */
  crd_pauses pauses;
  cradle_statistics now; /* the figures after the latest pause */
  int owner;
  bool printed;
} crd_summary;

/* --- words --- */

static void add_time(crd_growing_text *to, uint64_t ns) {
  double value = (double)ns;
  if (ns < 1000000)
    crd_growing_format(to, "%.1f us", value / 1e3);
  else if (ns < 1000000000)
    crd_growing_format(to, "%.2f ms", value / 1e6);
  else
    crd_growing_format(to, "%.3f s", value / 1e9);
}

static void add_bytes(crd_growing_text *to, uint64_t bytes) {
  static const char *const units[] = {"bytes", "KiB", "MiB", "GiB", "TiB"};
  double value = (double)bytes;
  int unit = 0;
  for (; value >= 1024 && unit < 4; unit++) value /= 1024;
  crd_growing_format(to, unit == 0 ? "%.0f %s" : "%.2f %s", value, units[unit]);
}

static void add_causes(crd_growing_text *to, const uint64_t counts[CRADLE_CAUSE_LIMIT]) {
  const char *before = ": ";
  for (int i = 0; i < CRADLE_CAUSE_LIMIT; i++) {
    if (counts[i] == 0) continue;
    crd_growing_format(to, "%s%ju %s", before, (uintmax_t)counts[i], crd_cause_name((cradle_cause)i));
    before = ", ";
  }
}

static void add_minor(crd_growing_text *to, const cradle_statistics *of) {
  crd_growing_format(to, "  minor collections   %ju", (uintmax_t)of->minor_collections);
  add_causes(to, of->minor_causes);
  if (of->minor_collections != 0) {
    crd_growing_format(to, "; ");
    add_time(to, of->minor_ns);
    crd_growing_format(to, ", the longest ");
    add_time(to, of->minor_max_ns);
  }
  crd_growing_format(to, "\n");
}

/* A major collection that is under way when the heap ends has increments, but is not counted. */
static void add_major(crd_growing_text *to, const cradle_statistics *of) {
  crd_growing_format(to, "  major collections   %ju", (uintmax_t)of->major_collections);
  add_causes(to, of->major_causes);
  if (of->major_steps != 0) {
    crd_growing_format(to, "; %ju increments, ", (uintmax_t)of->major_steps);
    add_time(to, of->major_ns);
    crd_growing_format(to, ", the longest ");
    add_time(to, of->major_max_ns);
  }
  crd_growing_format(to, "\n");
  if (of->compactions == 0) return;
  crd_growing_format(to, "  compactions         %ju; ", (uintmax_t)of->compactions);
  add_time(to, of->compact_ns);
  crd_growing_format(to, "\n");
}

static void add_pauses(crd_growing_text *to, const cradle_statistics *of, const crd_pause_summary *pauses) {
  crd_growing_format(to, "  pauses              %ju", (uintmax_t)of->pauses);
  const struct {
    const char *name;
    uint64_t ns;
  } quantiles[] = {{"p50", pauses->p50_ns},    {"p90", pauses->p90_ns},      {"p99", pauses->p99_ns},
                   {"p99.9", pauses->p999_ns}, {"p99.99", pauses->p9999_ns}, {"max", of->pause_max_ns}};
  for (size_t i = 0; of->pauses != 0 && i < sizeof quantiles / sizeof quantiles[0]; i++) {
    crd_growing_format(to, "%s %s ", i == 0 ? ":" : ",", quantiles[i].name);
    add_time(to, quantiles[i].ns);
  }
  crd_growing_format(to, "\n  time                ");
  add_time(to, of->wall_ns);
  crd_growing_format(to, ", %.2f %% of it in pauses\n", 100 * of->gc_share);
  crd_growing_format(to, "  utilisation         %.1f %% at worst in 1 ms, %.1f %% in 10 ms, %.1f %% in 100 ms\n",
                     100 * pauses->mmu_1ms, 100 * pauses->mmu_10ms, 100 * pauses->mmu_100ms);
}

/* What the heap holds at the end, and why. Between live objects lie places that are free but in arenas that are not
 * empty; a compaction gives those back. */
static void add_held(crd_growing_text *to, const cradle_statistics *of) {
  uint64_t in_use = of->arenas_in_use * of->arena_bytes, cached = of->arenas_committed * of->arena_bytes - in_use;
  uint64_t known = in_use + cached + of->metadata_bytes;
  const struct {
    const char *what;
    uint64_t bytes;
  } parts[] = {{" in old objects, ", of->old_bytes},
               {" free between them, ", in_use - of->old_bytes},
               {" in empty arenas, ", cached},
               {" of metadata, ", of->metadata_bytes},
               {" of nursery, stacks and tables\n", of->committed_bytes > known ? of->committed_bytes - known : 0}};
  crd_growing_format(to, "  memory held         ");
  for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
    add_bytes(to, parts[i].bytes);
    crd_growing_format(to, "%s", parts[i].what);
  }
}

static void add_memory(crd_growing_text *to, const cradle_statistics *of) {
  crd_growing_format(to, "  allocated           ");
  add_bytes(to, of->allocated_bytes);
  crd_growing_format(to, ", promoted ");
  add_bytes(to, of->promoted_bytes);
  crd_growing_format(to, " in %ju objects: %.2f %% of the nursery survived\n", (uintmax_t)of->promoted_objects,
                     100 * of->survival);
  crd_growing_format(to, "  memory used         ");
  add_bytes(to, of->used_peak_bytes);
  crd_growing_format(to, " at most, ");
  add_bytes(to, of->used_bytes);
  crd_growing_format(to, " in the end");
  if (of->major_collections != 0) {
    crd_growing_format(to, "; live ");
    add_bytes(to, of->live_bytes);
    crd_growing_format(to, " after the last major collection, ");
    add_bytes(to, of->live_peak_bytes);
    crd_growing_format(to, " at most");
  }
  crd_growing_format(to, "\n  nursery             ");
  add_bytes(to, of->nursery_bytes);
  crd_growing_format(to, "; arenas %ju, %ju at most\n", (uintmax_t)of->arenas_committed, (uintmax_t)of->arenas_peak);
  add_held(to, of);
  crd_growing_format(to, "  huge pages          ");
  if (of->pages_known) {
    crd_growing_format(to, "%.1f %% of ",
                       of->resident_bytes == 0 ? 0 : 100 * (double)of->huge_bytes / (double)of->resident_bytes);
    add_bytes(to, of->resident_bytes);
    crd_growing_format(to, " resident in arenas\n");
  } else {
    crd_growing_format(to, "not known\n");
  }
}

/* Prints the summary once, under the lock: a heap may be freed after the end of the process printed its summary. */
static void print(crd_summary *summary) {
  const cradle_statistics *now = &summary->now;
  crd_pause_summary pauses = crd_pauses_read(&summary->pauses);
  crd_growing_text text = {.length = 0};
  if (summary->printed) return;
  summary->printed = true;
  if (crd_process_number() != summary->owner) return;
  crd_growing_format(&text, "cradle: statistics of a heap, process %d\n", crd_process_number());
  add_pauses(&text, now, &pauses);
  add_minor(&text, now);
  add_major(&text, now);
  add_memory(&text, now);
  crd_write_all(CRD_STANDARD_ERROR, text.text, text.length);
  free(text.text);
}

/* --- the summary's life --- */

static void print_at_exit(crd_exit_entry *entry) {
  crd_summary *summary = (crd_summary *)entry;
  /* An inherited summary may be locked by a thread of the parent that does not exist here. */
  if (crd_process_number() != summary->owner || !crd_lock_try_here(&summary->lock)) return;
  if (summary->link.heap != NULL) print(summary);
  crd_lock_release(&summary->lock);
}

static void record(crd_summary *summary, const cradle_event *event) {
  crd_pauses_hear(&summary->pauses, event);
  if (event->kind == CRADLE_EVENT_HEAP_DESTROYED) {
    summary->now = *event->u.destroyed.statistics;
    if (summary->link.heap != NULL) print(summary);
  } else if (event->kind == CRADLE_EVENT_PAUSE && summary->link.heap != NULL) {
    cradle_heap_statistics(summary->link.heap, &summary->now, sizeof summary->now);
  }
}

static void listen(void *data, const cradle_event *event) {
  crd_summary *summary = data;
  crd_lock_take(&summary->lock);
  record(summary, event);
  crd_lock_release(&summary->lock);
}

static void begin(void *data) {
  crd_summary *summary = data;
  cradle_heap_statistics(summary->link.heap, &summary->now, sizeof summary->now);
}

static void end(void *data) {
  crd_summary *summary = data;
  crd_exit_list_remove(&summary->at_exit);
  free(summary);
}

crd_link *crd_summary_open(cradle_options *options) {
  crd_summary *summary = calloc(1, sizeof *summary);
  if (summary == NULL) {
    crd_report("CRADLE_STATS: no memory for the statistics");
    return NULL;
  }
  summary->link = (crd_link){listen, end, begin, .part = summary};
  crd_pauses_init(&summary->pauses);
  summary->owner = crd_process_number();
  summary->at_exit.run = print_at_exit;
  crd_exit_list_add(&summary->at_exit);
  return crd_link_add(&summary->link, options);
}
