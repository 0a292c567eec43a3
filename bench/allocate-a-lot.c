/* allocate-a-lot: how fast objects of 16 bytes are allocated, beside the fastest loop that could be
 * written by hand.
 *
 * The headline figure of docs/design/fast-path.md. The program of this name in RPython's blog does
 * the same work.
 */
#include <stdio.h>

#include "bench/allocate_report.h"

/* A variant chosen by name that cannot run is an error. In a whole list, it is only reported as
 * missing. */
static bool can_run_alone(const allocate_options *options, const measurement *result) {
  if (options->only == VARIANT_NONE) return true;
  const char *missing = result->figures[options->only].missing;
  if (missing != NULL) fprintf(stderr, "allocate-a-lot: --only=%s: %s\n", variant_names[options->only], missing);
  return missing == NULL;
}

int main(int argc, char **argv) {
  allocate_options options;
  measurement result;
  cradle_error error;
  allocate_options_read(&options, argc, argv);
  if (!allocate_measure(&options, &result, &error)) {
    fprintf(stderr, "allocate-a-lot: %s\n", error.message);
    return 1;
  }
  if (!can_run_alone(&options, &result)) return 1;
  if (options.json)
    allocate_report_json(&options, &result);
  else
    allocate_report_table(&options, &result);
  return 0;
}
