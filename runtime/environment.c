/* The environment overlays the options.
 *
 * What a user sets must not keep a program from starting. So a value that is not accepted is reported and put aside.
 * cradle_options_check decides which values fit together, and is called until it finds no fault. Each time, the field
 * that it names changes, whoever chose its value: to the nearest accepted value, else to what the program chose, else
 * to the default. If the program's own options contradict each other, they stay, and heap creation fails.
 */
#include <cradle/runtime.h>

#include "runtime/option_table.h"
#include "runtime/platform/process.h"
#include "runtime/report.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAME_BYTES 128

static int report_value(const crd_option *option, const char *text) {
  char accepted[CRD_ACCEPTED_BYTES];
  crd_option_accepted(option, accepted);
  if (option->example == NULL) return crd_report("%s=%.80s: not accepted; wants %s", option->name, text, accepted);
  return crd_report("%s=%.80s: not accepted; wants %s (such as %s)", option->name, text, accepted, option->example);
}

const char *crd_environment(const char *name) {
  return crd_has_more_rights_than_user() ? NULL : crd_variable_value(name);
}

/* An empty variable counts as not set, because shells and service files can often only empty a variable. */
static const char *value_of(const char *name) {
  const char *text = crd_environment(name);
  return text != NULL && *text != '\0' ? text : NULL;
}

static int overlay(const crd_option *option, cradle_options *options) {
  const char *text = value_of(option->name);
  if (text == NULL || crd_option_set(option, text, options)) return 0;
  return report_value(option, text);
}

/* Only a name that resembles a variable's is a slip. Others belong to somebody else: in a container, the variables of a
 * service named cradle begin so, too (CRADLE_PORT, CRADLE_SERVICE_HOST). */
static void look_at_name(void *reports, const char *entry) {
  size_t length = strcspn(entry, "=");
  if (strncmp(entry, CRD_VARIABLE_PREFIX, strlen(CRD_VARIABLE_PREFIX)) != 0 || crd_option_find(entry, length) != NULL)
    return;
  const crd_option *nearest = crd_option_nearest(entry, length);
  if (nearest == NULL) return;
  *(int *)reports +=
      crd_report("%.*s: unknown; did you mean %s? (docs/environment.md lists all)", (int)length, entry, nearest->name);
}

static int report_slips(void) {
  int reports = 0;
  if (!crd_has_more_rights_than_user()) crd_each_variable(look_at_name, &reports);
  return reports;
}

/* --- what does not go together --- */

/* The options to be checked, and who chose which value. */
typedef struct overlaid {
  cradle_options *options;
  cradle_options before;   /* the program's choices */
  cradle_options defaults; /* the values that nobody chose */
} overlaid;

static bool is_same(const crd_option *option, const crd_option_field *field, const cradle_options *a,
                    const cradle_options *b) {
  return memcmp((const char *)a + field->offset, (const char *)b + field->offset, crd_option_bytes(option)) == 0;
}

/* The user's name for a field: its variable, if one sets it. */
static void put_name(const overlaid *all, char words[NAME_BYTES], const char *name) {
  const crd_option_field *field;
  const crd_option *option = crd_option_of(name, &field);
  bool programs =
      option != NULL && value_of(option->name) == NULL && !is_same(option, field, &all->before, &all->defaults);
  if (programs)
    snprintf(words, NAME_BYTES, "the program's %s (%s)", name, option->name);
  else
    snprintf(words, NAME_BYTES, "%s", option == NULL ? name : option->name);
}

/* then: the end of the message, which says how the field is changed. */
static int report_fault(const overlaid *all, const crd_option *option, const crd_option_field *field,
                        const cradle_error *fault, const char *then) {
  char other[NAME_BYTES] = "", limit[NAME_BYTES] = "";
  const char *text = value_of(option->name), *space = fault->other != NULL ? " " : "";
  if (fault->other != NULL) put_name(all, other, fault->other);
  if (fault->limit != NULL) snprintf(limit, sizeof limit, "; %s %ju", fault->limit, (uintmax_t)fault->accepted);
  if (text == NULL)
    return crd_report("the program's %s: %s%s%s%s%s", field->name, fault->reason, space, other, limit, then);
  return crd_report("%s=%.80s: %s%s%s%s%s", option->name, text, fault->reason, space, other, limit, then);
}

/* Changes the field at fault. false: there is no other value for it. */
static bool settle_one(overlaid *all, const cradle_error *fault, int *reports) {
  const crd_option_field *field;
  const crd_option *option = crd_option_of(fault->option, &field);
  if (option == NULL) return false;
  const cradle_options *from = is_same(option, field, all->options, &all->before) ? &all->defaults : &all->before;
  bool adjusts = fault->accepted != 0;
  if (!adjusts && is_same(option, field, all->options, from)) return false;
  *reports += report_fault(all, option, field, fault, adjusts ? "; that is used" : "; put aside");
  memcpy((char *)all->options + field->offset,
         adjusts ? (const void *)&fault->accepted : (const char *)from + field->offset, crd_option_bytes(option));
  return true;
}

/* Reports a value that is accepted but cannot be granted in full; it is kept. (For a value of the program's own, the
 * log says so.) */
static int report_doubt(const overlaid *all, const cradle_error *before, const cradle_error *now) {
  const crd_option_field *field;
  if (now->message[0] == '\0' || strcmp(now->message, before->message) == 0) return 0;
  const crd_option *option = crd_option_of(now->option, &field);
  return option == NULL ? 0 : report_fault(all, option, field, now, "");
}

static int settle(overlaid *all) {
  cradle_error before, fault;
  int reports = 0;
  if (!cradle_options_check(&all->before, &before)) return 0;
  for (size_t tries = 0; !cradle_options_check(all->options, &fault); tries++)
    if (tries > 2 * crd_option_count || !settle_one(all, &fault, &reports)) return reports;
  return reports + report_doubt(all, &before, &fault);
}

/* If the user asks for a quarantine, faults are reported too. */
static void report_faults_of_quarantine(const cradle_options *before, cradle_options *options) {
  bool asked = value_of("CRADLE_QUARANTINE") != NULL || before->quarantine == 0;
  if (options->quarantine != 0 && asked && value_of("CRADLE_FAULTS") == NULL &&
      before->fault_report == CRADLE_FAULTS_LEFT)
    options->fault_report = CRADLE_FAULTS_REPORTED;
}

int cradle_options_from_environment(cradle_options *options) {
  /* Options of another version of the headers: heap creation will report it. */
  if (options == NULL || options->size != sizeof *options) return 0;
  overlaid all = {.options = options, .before = *options};
  int reports = 0;
  cradle_options_init(&all.defaults);
  for (size_t i = 0; i < crd_option_count; i++) reports += overlay(&crd_options[i], options);
  reports += settle(&all);
  report_faults_of_quarantine(&all.before, options);
  return reports + report_slips();
}
