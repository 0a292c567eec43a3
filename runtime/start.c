/* Start-up: makes a heap as the environment asks, with its log, statistics and profile. */
#include <cradle/runtime.h>

#include "gc/base/option_table.h"
#include "runtime/environment.h"
#include "runtime/log.h"

#include <string.h>

static void listen(cradle_options *options) {
  const char *stats = crd_environment("CRADLE_STATS"); /* any value other than 0 or 1 was reported with the options */
  bool wants_statistics = stats != NULL && strcmp(stats + strspn(stats, "0"), "1") == 0;
  (void)crd_log_open(crd_environment("CRADLE_LOG"), options);
  if (wants_statistics) (void)crd_log_open_totals(options);
  if (options->stress_period != 0 || options->quarantine != 0 || options->verify)
    (void)crd_stress_report_open(options, wants_statistics);
  (void)crd_profile_open(crd_environment("CRADLE_PROFILE"), options);
  (void)crd_faults_open(options);
}

cradle_heap *cradle_heap_new_from_environment(const cradle_options *options, cradle_error *error) {
  cradle_options mine;
  if (!crd_options_read(&mine, options, error)) return NULL;
  crd_options_from_environment(&mine);
  listen(&mine);
  cradle_heap *heap = cradle_heap_new(&mine, error);
  crd_chain_settle(mine.listener, options->listener, heap);
  return heap;
}
