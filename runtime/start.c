/* Start-up: a heap as the environment wants it, with its log and statistics. */
#include <cradle/runtime.h>

#include "runtime/log.h"
#include "runtime/option_table.h"
#include "runtime/summary.h"

#include <stdlib.h>
#include <string.h>

/* A program that runs with more rights than its user must not write where the user's environment
 * says. */
static const char *log_wanted(void) {
#ifdef __linux__
  return secure_getenv(CRD_LOG_VARIABLE);
#else
  return getenv(CRD_LOG_VARIABLE);
#endif
}

/* What is no 0 or 1 was reported with the other options. */
static bool statistics_wanted(void) {
  const char *text = getenv(CRD_STATS_VARIABLE);
  return text != NULL && strcmp(text, "1") == 0;
}

/* Each gets the events first and passes them on: statistics, log, the embedder's listener. */
static cradle_heap *start_observed(cradle_options *options, crd_log *log, crd_summary *summary, cradle_error *error) {
  if (log != NULL) options->listener = crd_log_listener(log);
  if (summary != NULL) options->listener = crd_summary_listener(summary);
  cradle_heap *heap = cradle_heap_new(options, error);
  if (heap != NULL) {
    if (log != NULL) crd_log_hand_over(log);
    if (summary != NULL) crd_summary_hand_over(summary);
  } else {
    if (log != NULL) crd_log_close(log);
    if (summary != NULL) crd_summary_free(summary);
  }
  return heap;
}

cradle_heap *cradle_start(const cradle_options *options, cradle_error *error) {
  /* Options of another version cannot be copied; heap creation says what is wrong. */
  if (options == NULL || options->size != sizeof *options) return cradle_heap_new(options, error);
  cradle_options mine = *options;
  cradle_options_from_environment(&mine);
  crd_log *log = crd_log_open(log_wanted(), mine.listener);
  cradle_listener next = log != NULL ? crd_log_listener(log) : mine.listener;
  crd_summary *summary = statistics_wanted() ? crd_summary_new(next) : NULL;
  return start_observed(&mine, log, summary, error);
}
