#include "runtime/stress_report.h"

#include "runtime/chain.h"
#include "runtime/platform/files.h"
#include "runtime/platform/process.h"
#include "runtime/report.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* When the first line of progress comes; the next one comes after twice as long, and so on. */
#define FIRST_PROGRESS_S 2

struct crd_stress_report {
  crd_link link;
  uint64_t collections;
  uint64_t begin, progress_due; /* seconds of the monotonic clock */
  bool on_terminal;
  bool handed_over;
};

static uint64_t seconds_now(void) {
  return crd_clock_ns() / 1000000000u;
}

static void count_collection(crd_stress_report *report) {
  report->collections++;
  if (!report->on_terminal) return;
  uint64_t now = seconds_now();
  if (now < report->progress_due) return;
  crd_report("stress: %" PRIu64 " collections in %" PRIu64 " s", report->collections, now - report->begin);
  report->progress_due = now + (now - report->begin);
}

static void hear(void *data, const cradle_event *event) {
  crd_stress_report *report = data;
  if (event->kind == CRADLE_EVENT_PAUSE && event->u.pause.cause == CRADLE_CAUSE_STRESS) count_collection(report);
  if (event->kind == CRADLE_EVENT_NOTE && strncmp(event->u.note.text, "stress:", strlen("stress:")) == 0)
    crd_report("%s (CRADLE_STRESS)", event->u.note.text);
  if (event->kind == CRADLE_EVENT_HEAP_DESTROYED && report->handed_over) crd_stress_report_free(report);
}

crd_stress_report *crd_stress_report_new(cradle_listener next) {
  crd_stress_report *report = calloc(1, sizeof *report);
  if (report == NULL) {
    crd_report("CRADLE_STRESS: no memory for its report");
    return NULL;
  }
  report->link = (crd_link){hear, report, next};
  report->begin = seconds_now();
  report->progress_due = report->begin + FIRST_PROGRESS_S;
  report->on_terminal = crd_file_is_terminal(CRD_STANDARD_ERROR);
  return report;
}

cradle_listener crd_stress_report_listener(crd_stress_report *report) {
  return crd_link_listener(&report->link);
}

void crd_stress_report_hand_over(crd_stress_report *report) {
  report->handed_over = true;
}

void crd_stress_report_free(crd_stress_report *report) {
  free(report);
}
