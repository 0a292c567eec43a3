/* The environment over the options.
 *
 * What a user sets must not keep a program from starting: a value that is not accepted, or that
 * contradicts another one, is reported and put aside. Contradictions among the embedder's own
 * options are left to heap creation, which fails.
 */
#include <cradle/runtime.h>

#include "runtime/option_table.h"
#include "runtime/report.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PREFIX "CRADLE_"

static int report_value(const crd_option *option, const char *text) {
  char accepted[CRD_ACCEPTED_BYTES];
  crd_option_accepted(option, accepted);
  if (option->example == NULL)
    return crd_report("%s=%.80s: not accepted; wants %s", option->name, text, accepted);
  return crd_report("%s=%.80s: not accepted; wants %s (such as %s)", option->name, text, accepted,
                    option->example);
}

/* An empty variable counts as none: that is how shells and service files switch one off. */
static const char *value_of(const char *name) {
  const char *text = getenv(name);
  return text != NULL && *text != '\0' ? text : NULL;
}

static int overlay(const crd_option *option, cradle_options *options) {
  const char *text = value_of(option->name);
  if (text == NULL || crd_option_set(option, text, options)) return 0;
  return report_value(option, text);
}

static int report_unknown(const char *name, size_t length) {
  const crd_option *nearest = crd_option_nearest(name, length);
  int shown = length < 80 ? (int)length : 80;
  if (nearest == NULL)
    return crd_report("%.*s: unknown (docs/environment.md lists all)", shown, name);
  return crd_report("%.*s: unknown; did you mean %s? (docs/environment.md lists all)", shown, name,
                    nearest->name);
}

static int report_unknowns(void) {
  int reports = 0;
  for (char **entry = environ; entry != NULL && *entry != NULL; entry++) {
    if (strncmp(*entry, PREFIX, strlen(PREFIX)) != 0) continue;
    size_t length = strcspn(*entry, "=");
    if (crd_option_find(*entry, length) == NULL) reports += report_unknown(*entry, length);
  }
  return reports;
}

static int settle_minimum(const cradle_options *before, cradle_options *options) {
  size_t max = options->heap_max_bytes;
  if (max == 0 || options->major_min_bytes <= max) return 0;
  if (options->major_min_bytes == before->major_min_bytes && max == before->heap_max_bytes)
    return 0;
  bool is_users = options->major_min_bytes != before->major_min_bytes;
  options->major_min_bytes = max;
  if (!is_users) return 0;
  return crd_report("CRADLE_GC_MIN=%.80s: above the maximum heap; lowered to it",
                    value_of("CRADLE_GC_MIN"));
}

static int settle_stress(const cradle_options *before, cradle_options *options) {
  if (options->stress_major == 0 || options->stress_period != 0) return 0;
  if (options->stress_major == before->stress_major && before->stress_period == 0) return 0;
  bool is_users = options->stress_major != before->stress_major;
  options->stress_major = 0;
  if (!is_users) return 0;
  return crd_report("CRADLE_STRESS_MAJOR=%.80s: does nothing without CRADLE_STRESS",
                    value_of("CRADLE_STRESS_MAJOR"));
}

int cradle_options_from_environment(cradle_options *options) {
  /* Of another version of the headers: heap creation will say so. */
  if (options == NULL || options->size != sizeof *options) return 0;
  cradle_options before = *options;
  int reports = 0;
  for (size_t i = 0; i < crd_option_count; i++) reports += overlay(&crd_options[i], options);
  reports += settle_minimum(&before, options);
  reports += settle_stress(&before, options);
  return reports + report_unknowns();
}
