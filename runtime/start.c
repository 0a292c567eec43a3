/* Start-up: a heap as the environment wants it, with its log and its profile. */
#include <cradle/runtime.h>

#include "runtime/log.h"
#include "runtime/option_table.h"
#include "runtime/profile.h"

#include <stdlib.h>

/* A program that runs with more rights than its user must not write where the user's environment
 * says. */
static const char *file_wanted(const char *variable) {
#ifdef __linux__
  return secure_getenv(variable);
#else
  return getenv(variable);
#endif
}

static cradle_heap *start_logged(cradle_options *options, cradle_error *error) {
  crd_log *log = crd_log_open(file_wanted(CRD_LOG_VARIABLE), options->listener);
  if (log == NULL) return cradle_heap_new(options, error);
  options->listener = crd_log_listener(log);
  cradle_heap *heap = cradle_heap_new(options, error);
  if (heap != NULL)
    crd_log_hand_over(log);
  else
    crd_log_close(log);
  return heap;
}

cradle_heap *cradle_start(const cradle_options *options, cradle_error *error) {
  /* Options of another version cannot be copied; heap creation says what is wrong. */
  if (options == NULL || options->size != sizeof *options) return cradle_heap_new(options, error);
  cradle_options mine = *options;
  cradle_options_from_environment(&mine);
  crd_profile *profile = crd_profile_open(file_wanted(CRD_PROFILE_VARIABLE), &mine);
  cradle_heap *heap = start_logged(&mine, error);
  if (profile != NULL && heap != NULL) crd_profile_hand_over(profile);
  if (profile != NULL && heap == NULL) crd_profile_close(profile);
  return heap;
}
