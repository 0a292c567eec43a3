/* The environment over the options.
 *
 * What a user sets must not keep a program from starting: a value that is not accepted is reported and put aside. Which
 * values go together is the library's to say (cradle_options_check), so it is asked until it finds no fault. Each time
 * the field that it names yields, whoever chose its value: to the nearest value that is accepted, else to what the
 * program chose, else to the default. Contradictions among the embedder's own options are left to heap creation, which
 * fails.
 */
#include <cradle/runtime.h>

#include "runtime/option_table.h"
#include "runtime/platform/process.h"
#include "runtime/platform/process.h"
#include "runtime/report.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PREFIX "CRADLE_"
#define WORDS_BYTES 512

static int report_value(const crd_option *option, const char *text) {
  char accepted[CRD_ACCEPTED_BYTES];
  crd_option_accepted(option, accepted);
  if (option->example == NULL) return crd_report("%s=%.80s: not accepted; wants %s", option->name, text, accepted);
  return crd_report("%s=%.80s: not accepted; wants %s (such as %s)", option->name, text, accepted, option->example);
}

const char *crd_environment(const char *name) {
  return crd_has_more_rights_than_user() ? NULL : crd_variable_value(name);
}

/* An empty variable counts as none: that is how shells and service files switch one off. */
static const char *value_of(const char *name) {
  const char *text = crd_environment(name);
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
  if (nearest == NULL) return crd_report("%.*s: unknown (docs/environment.md lists all)", shown, name);
  return crd_report("%.*s: unknown; did you mean %s? (docs/environment.md lists all)", shown, name, nearest->name);
}

static void look_at_name(void *reports, const char *entry) {
  size_t length = strcspn(entry, "=");
  if (strncmp(entry, PREFIX, strlen(PREFIX)) != 0 || crd_option_find(entry, length) != NULL) return;
  *(int *)reports += report_unknown(entry, length);
}

static int report_unknowns(void) {
  int reports = 0;
  if (!crd_has_more_rights_than_user()) crd_each_variable(look_at_name, &reports);
  return reports;
}

/* --- what does not go together --- */

/* Where the library looks for contradictions, and who chose what. */
typedef struct overlaid {
  cradle_options *options;
  cradle_options before;   /* what the program chose */
  cradle_options defaults; /* what nobody chose */
} overlaid;

static bool is_same(const crd_option *option, const crd_option_field *field, const cradle_options *a,
                    const cradle_options *b) {
  return memcmp((const char *)a + field->offset, (const char *)b + field->offset, crd_option_bytes(option)) == 0;
}

/* What the user calls the field whose name is the first length bytes of name; 0: no variable sets it. */
static size_t add_variable(const overlaid *all, char *words, size_t room, const char *name, size_t length) {
  const crd_option_field *field;
  const crd_option *option = crd_option_of(name, length, &field);
  if (option == NULL) return 0;
  bool programs = value_of(option->name) == NULL && !is_same(option, field, &all->before, &all->defaults);
  int added = programs ? snprintf(words, room, "the program's %s (%s)", field->name, option->name)
                       : snprintf(words, room, "%s", option->name);
  return (size_t)added < room ? (size_t)added : room - 1;
}

/* The message behind the name of the field that it is about, with variables in place of fields. */
static void translate(const overlaid *all, const char *message, char words[WORDS_BYTES]) {
  static const char letters[] = "abcdefghijklmnopqrstuvwxyz_.";
  const char *from = strchr(message, ':') + 2;
  size_t at = 0;
  while (*from != '\0' && at + 1 < WORDS_BYTES) {
    size_t length = strspn(from, letters), room = WORDS_BYTES - at;
    if (length == 0) length = 1;
    size_t added = add_variable(all, words + at, room, from, length);
    if (added == 0) {
      added = length < room ? length : room - 1;
      memcpy(words + at, from, added);
    }
    at += added;
    from += length;
  }
  words[at] = '\0';
}

/* then: what becomes of the field. */
static int report_fault(const overlaid *all, const crd_option *option, const crd_option_field *field,
                        const cradle_error *fault, const char *then) {
  char why[WORDS_BYTES];
  const char *text = value_of(option->name);
  translate(all, fault->message, why);
  if (text != NULL) return crd_report("%s=%.80s: %s%s", option->name, text, why, then);
  return crd_report("the program's %s: %s%s", field->name, why, then);
}

/* The field at fault yields. false: it has no other value to take. */
static bool settle_one(overlaid *all, const cradle_error *fault, int *reports) {
  const crd_option_field *field;
  const crd_option *option = crd_option_of(fault->option, strlen(fault->option), &field);
  if (option == NULL) return false;
  const cradle_options *from = is_same(option, field, all->options, &all->before) ? &all->defaults : &all->before;
  bool adjusts = fault->accepted != 0;
  if (!adjusts && is_same(option, field, all->options, from)) return false;
  *reports += report_fault(all, option, field, fault, adjusts ? "; that is used" : "; put aside");
  memcpy((char *)all->options + field->offset,
         adjusts ? (const void *)&fault->accepted : (const char *)from + field->offset, crd_option_bytes(option));
  return true;
}

/* What is accepted, but cannot be had in full, is kept; the program's own is in the log. */
static int report_doubt(const overlaid *all, const cradle_error *before, const cradle_error *now) {
  const crd_option_field *field;
  if (now->message[0] == '\0' || strcmp(now->message, before->message) == 0) return 0;
  const crd_option *option = crd_option_of(now->option, strlen(now->option), &field);
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

/* A quarantine that the user asks for comes with its report. */
static void report_faults_of_quarantine(const cradle_options *before, cradle_options *options) {
  bool asked = value_of("CRADLE_QUARANTINE") != NULL || before->quarantine == 0;
  if (options->quarantine != 0 && asked && value_of("CRADLE_FAULTS") == NULL &&
      before->fault_report == CRADLE_FAULTS_LEFT)
    options->fault_report = CRADLE_FAULTS_REPORTED;
}

int cradle_options_from_environment(cradle_options *options) {
  /* Of another version of the headers: heap creation will say so. */
  if (options == NULL || options->size != sizeof *options) return 0;
  overlaid all = {.options = options, .before = *options};
  int reports = 0;
  cradle_options_init(&all.defaults);
  for (size_t i = 0; i < crd_option_count; i++) reports += overlay(&crd_options[i], options);
  reports += settle(&all);
  report_faults_of_quarantine(&all.before, options);
  return reports + report_unknowns();
}
