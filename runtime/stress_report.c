#include "runtime/chain.h"

#include <cradle/statistics.h>

#include "runtime/report.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct crd_stress_report {
  crd_link link;
  uint64_t verified_of, verified; /* as the note said; 0: all collections were verified, or none */
  bool is_wanted;                 /* also when all collections took place */
  bool verifies;
  uint64_t period, seed;
} crd_stress_report;

/* What the run did, for a user who asks for statistics. */
static void tell_more(const crd_stress_report *report, uint64_t took_place) {
  cradle_statistics stats;
  uint64_t verified = report->verified_of != 0 ? report->verified : took_place;
  cradle_heap_statistics(report->link.heap, &stats, sizeof stats);
  crd_report("stress: %" PRIu64 " minor and %" PRIu64 " major collections in all, %" PRIu64
             " of which moved old objects; %" PRIu64 " young and %" PRIu64
             " old objects moved; the heap was verified at %" PRIu64 " stress collections (period %" PRIu64
             ", seed %" PRIu64 ")",
             stats.minor_collections, stats.major_collections, stats.compactions, stats.moved_objects,
             stats.moved_old_objects, report->verifies ? verified : 0, report->period, report->seed);
}

/* How many collections took place: said when they were not all, or when the user asks for statistics. */
static void tell(const crd_stress_report *report, uint64_t wanted, uint64_t took_place) {
  char about_verify[80] = "";
  if (report->verified_of != 0)
    snprintf(about_verify, sizeof about_verify, "; the heap was verified at %" PRIu64 " of them", report->verified);
  if (took_place < wanted)
    crd_report("stress: %" PRIu64 " of about %" PRIu64
               " collections took place, those at rare places first%s; CRADLE_STRESS with times=0 makes all",
               took_place, wanted, about_verify);
  else if (report->is_wanted)
    crd_report("stress: all %" PRIu64 " collections took place%s", took_place, about_verify);
  if (report->is_wanted && report->link.heap != NULL) tell_more(report, took_place);
}

/* That quarantine or verifier did less than asked may happen at every collection; a line is reported once. */
static void hear(void *data, const cradle_event *event) {
  crd_stress_report *report = data;
  if (event->kind != CRADLE_EVENT_NOTE) return;
  const char *text = event->u.note.text;
  uint64_t wanted = event->u.note.wanted, got = event->u.note.got;
  switch (event->u.note.about) {
  case CRADLE_NOTE_OTHER:
  case CRADLE_NOTE_LATE: break;
  case CRADLE_NOTE_LESS_CHECKED: crd_report("%s", text); break;
  case CRADLE_NOTE_STRESS: crd_report("%s (CRADLE_STRESS)", text); break;
  case CRADLE_NOTE_STRESS_COLLECTIONS: tell(report, wanted, got); break;
  case CRADLE_NOTE_STRESS_VERIFIED: report->verified_of = wanted, report->verified = got; break;
  }
}

crd_link *crd_stress_report_open(cradle_options *options, bool is_wanted) {
  crd_stress_report *report = calloc(1, sizeof *report);
  if (report == NULL) {
    crd_report("CRADLE_STRESS: no memory for its report");
    return NULL;
  }
  report->link = (crd_link){.hear = hear, .end = free, .part = report};
  report->is_wanted = is_wanted;
  report->verifies = options->verify;
  report->period = options->stress_period;
  report->seed = options->stress_seed;
  return crd_link_add(&report->link, options);
}
