/* Start-up: makes a heap as the environment asks, with its log, statistics and profile. */
#include <cradle/runtime.h>

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
  bool is_same = options != NULL && options->size == sizeof *options;
  if (!is_same && !cradle_options_check(options, error)) return NULL;
  cradle_options mine; /* with the defaults of what a shorter structure lacks */
  cradle_options_init_sized(&mine, options->version, sizeof mine, options->type_size);
  memcpy(&mine, options, options->size < sizeof mine ? options->size : sizeof mine);
  mine.size = sizeof mine;
  crd_options_from_environment(&mine);
  listen(&mine);
  cradle_heap *heap = cradle_heap_new(&mine, error);
  crd_chain_settle(mine.listener, options->listener, heap);
  return heap;
}
