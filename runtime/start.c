/* Start-up: makes a heap as the environment asks, with its log, statistics and profile. */
#include <cradle/runtime.h>

#include "runtime/faults.h"
#include "runtime/log.h"
#include "runtime/option_table.h"
#include "runtime/profile.h"
#include "runtime/stress_report.h"
#include "runtime/summary.h"

#include <stddef.h>

/* Any value other than 0 or 1 was reported with the other options. */
static bool statistics_wanted(void) {
  const char *text = crd_environment(CRD_STATS_VARIABLE);
  uint64_t wanted;
  return text != NULL && crd_parse_whole(&text, &wanted) && *text == '\0' && wanted == 1;
}

/* What listens to a heap (runtime/chain.h). */
typedef struct listeners {
  crd_log *log;
  crd_summary *summary;
  crd_profile *profile;
  crd_faults *faults;
  crd_stress_report *stress;
} listeners;

static listeners listen(cradle_options *options) {
  listeners all = {0};
  all.log = crd_log_open(crd_environment(CRD_LOG_VARIABLE), options->listener);
  if (all.log != NULL) options->listener = crd_log_listener(all.log);
  if (statistics_wanted()) all.summary = crd_summary_new(options->listener);
  if (all.summary != NULL) options->listener = crd_summary_listener(all.summary);
  if (options->stress_period != 0 || options->quarantine != 0 || options->verify)
    all.stress = crd_stress_report_new(options->listener, statistics_wanted());
  if (all.stress != NULL) options->listener = crd_stress_report_listener(all.stress);
  all.profile = crd_profile_open(crd_environment(CRD_PROFILE_VARIABLE), options); /* sets listener and sampler */
  all.faults = crd_faults_open(options);
  return all;
}

static void hand_over(const listeners *all, cradle_heap *heap) {
  if (all->log != NULL) crd_log_hand_over(all->log);
  if (all->summary != NULL) crd_summary_hand_over(all->summary, heap);
  if (all->stress != NULL) crd_stress_report_hand_over(all->stress);
  if (all->profile != NULL) crd_profile_hand_over(all->profile);
  if (all->faults != NULL) crd_faults_hand_over(all->faults, heap);
}

static void close_all(const listeners *all) {
  if (all->faults != NULL) crd_faults_close(all->faults);
  if (all->profile != NULL) crd_profile_close(all->profile);
  if (all->stress != NULL) crd_stress_report_free(all->stress);
  if (all->summary != NULL) crd_summary_free(all->summary);
  if (all->log != NULL) crd_log_close(all->log);
}

cradle_heap *cradle_heap_new_from_environment(const cradle_options *options, cradle_error *error) {
  /* Options of another version cannot be copied; heap creation reports what is wrong. */
  if (options == NULL || options->size != sizeof *options) return cradle_heap_new(options, error);
  cradle_options mine = *options;
  cradle_options_from_environment(&mine);
  listeners all = listen(&mine);
  cradle_heap *heap = cradle_heap_new(&mine, error);
  if (heap != NULL)
    hand_over(&all, heap);
  else
    close_all(&all);
  return heap;
}
