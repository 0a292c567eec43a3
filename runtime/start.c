/* Start-up: a heap as the environment wants it, with its log. */
#include <cradle/runtime.h>

#include "runtime/log.h"
#include "runtime/option_table.h"

#include <stdlib.h>

/* A program that runs with more rights than its user must not write where the user's environment
 * says. */
static const char *log_wanted(void) {
#ifdef __linux__
  return secure_getenv(CRD_LOG_VARIABLE);
#else
  return getenv(CRD_LOG_VARIABLE);
#endif
}

static cradle_heap *start_logged(cradle_options *options, crd_log *log, cradle_error *error) {
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
  crd_log *log = crd_log_open(log_wanted(), mine.listener);
  if (log == NULL) return cradle_heap_new(&mine, error);
  return start_logged(&mine, log, error);
}
