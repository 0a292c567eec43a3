/* The environment overlays the options.
 *
 * What a user sets must not keep a program from starting. So a value that is not accepted is reported and put aside.
 * cradle_options_check decides which values fit together, and is called until it finds no fault. Each time, the field
 * that it names changes, whoever chose its value: to the nearest accepted value, else to what the program chose, else
 * to the default. If the program's own options contradict each other, they stay, and heap creation fails.
 */
#include "runtime/environment.h"
#include "runtime/platform/process.h"
#include "runtime/report.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAME_BYTES 128
#define VALUE_BYTES 80 /* of the value of a key; a longer one is cut, and is then not accepted */
#define KEY_BYTES 64

static int report_value(const crd_option *option, const char *text) {
  if (option->example == NULL) return crd_report("%s=%.80s: not accepted; %s", option->variable, text, option->wants);
  return crd_report("%s=%.80s: not accepted; %s (such as %s)", option->variable, text, option->wants, option->example);
}

const char *crd_environment(const char *name) {
  const char *text = crd_has_more_rights_than_user() ? NULL : crd_variable_value(name);
  return text != NULL && *text != '\0' ? text : NULL;
}

/* --- variables with keys --- */

static bool names_key(const crd_option *option) {
  return option->variable != NULL && strchr(option->variable, ',') != NULL;
}

static bool has_keys(const crd_option *option) {
  return !names_key(option) && option + 1 < crd_options + crd_option_count && names_key(option + 1);
}

typedef char value[VALUE_BYTES];

static const char *cut(const char *text, size_t length, value into) {
  snprintf(into, VALUE_BYTES, "%.*s", (int)length, text);
  return into;
}

/* What the variable says for a key, "NAME,key"; a switch may stand alone. NULL: nothing. */
static const char *value_of_key(const crd_option *option, value into) {
  const char *comma = strchr(option->variable, ',');
  const char *text = crd_environment(cut(option->variable, (size_t)(comma - option->variable), into));
  size_t length = strlen(comma);
  if (text == NULL) return NULL;
  for (text = strchr(text, ','); text != NULL; text = strchr(text + 1, ',')) {
    if (strncmp(text, comma, length) != 0) continue;
    if (text[length] == '=') return cut(text + length + 1, strcspn(text + length + 1, ","), into);
    if (text[length] == '\0' || text[length] == ',') return option->type == CRD_OPTION_BOOL ? "1" : "";
  }
  return NULL;
}

/* The text that the environment has for a row, NULL: none. */
static const char *value_of(const crd_option *option, value into) {
  const char *text = names_key(option) ? value_of_key(option, into) : crd_environment(option->variable);
  if (text == NULL && option->inherits) return value_of(option - 1, into);
  if (text == NULL || !has_keys(option) || strchr(text, ',') == NULL) return text;
  return *text == ',' ? NULL : cut(text, strcspn(text, ","), into);
}

/* Reports the keys that the variable does not have. */
static int report_keys(const crd_option *option) {
  const char *text = crd_environment(option->variable);
  int reports = 0;
  if (text == NULL) return 0;
  for (text = strchr(text, ','); text != NULL; text = strchr(text + 1, ',')) {
    char name[KEY_BYTES];
    int key = (int)strcspn(text + 1, ",=");
    size_t length = (size_t)snprintf(name, sizeof name, "%s,%.*s", option->variable, key, text + 1);
    if (length >= sizeof name) length = sizeof name - 1;
    if (crd_option_find(name, length) != NULL) continue;
    const crd_option *nearest = crd_option_nearest(name, length);
    const char *hint = nearest != NULL && names_key(nearest) ? strchr(nearest->variable, ',') + 1 : "";
    reports += crd_report("%s: unknown%s%s%s (docs/environment.md lists the keys)", name,
                          *hint ? "; did you mean " : "", hint, *hint ? "?" : "");
  }
  return reports;
}

static int overlay(const crd_option *option, cradle_options *options) {
  value value;
  const char *text = value_of(option, value);
  int reports = has_keys(option) ? report_keys(option) : 0;
  if (text == NULL || crd_option_set(option, text, options)) return reports;
  if (option->inherits && value_of_key(option, value) == NULL) return reports; /* it is the row before that says so */
  return reports + report_value(option, text);
}

/* Only a name that resembles a variable's is a slip. Others belong to somebody else: in a container, the variables of a
 * service named cradle begin so, too (CRADLE_PORT, CRADLE_SERVICE_HOST). */
static void look_at_name(void *reports, const char *entry) {
  size_t length = strcspn(entry, "=");
  if (strncmp(entry, CRD_VARIABLE_PREFIX, strlen(CRD_VARIABLE_PREFIX)) != 0 || crd_option_find(entry, length) != NULL)
    return;
  const crd_option *nearest = crd_option_nearest(entry, length);
  if (nearest == NULL) return;
  *(int *)reports += crd_report("%.*s: unknown; did you mean %s? (docs/environment.md lists all)", (int)length, entry,
                                nearest->variable);
}

/* --- what does not go together --- */

/* The options to be checked, and who chose which value. */
typedef struct overlaid {
  cradle_options *options;
  cradle_options before;   /* the program's choices */
  cradle_options defaults; /* the values that nobody chose */
} overlaid;

/* The row of the field with this name; NULL: the environment cannot set it. */
static const crd_option *row_of(const char *field) {
  for (const crd_option *row = crd_options; row < crd_options + crd_option_count; row++)
    if (row->variable != NULL && row->field != NULL && strcmp(row->field, field) == 0) return row;
  return NULL;
}

static bool is_same(const crd_option *option, const cradle_options *a, const cradle_options *b) {
  return crd_option_number(option, a) == crd_option_number(option, b);
}

/* The user's name for a field: its variable, if one sets it. */
static void put_name(const overlaid *all, char words[NAME_BYTES], const char *field) {
  const crd_option *option = row_of(field);
  value value;
  bool programs = option != NULL && value_of(option, value) == NULL && !is_same(option, &all->before, &all->defaults);
  if (programs)
    snprintf(words, NAME_BYTES, "the program's %s (%s)", field, option->variable);
  else
    snprintf(words, NAME_BYTES, "%s", option == NULL ? field : option->variable);
}

/* then: the end of the message, which says how the field is changed. */
static int report_fault(const overlaid *all, const crd_option *option, const cradle_error *fault, const char *then) {
  char other[NAME_BYTES] = "", limit[NAME_BYTES] = "";
  value value;
  const char *text = value_of(option, value), *space = fault->other != NULL ? " " : "";
  if (fault->other != NULL) put_name(all, other, fault->other);
  if (fault->limit != NULL) snprintf(limit, sizeof limit, "; %s %ju", fault->limit, (uintmax_t)fault->accepted);
  if (text == NULL)
    return crd_report("the program's %s: %s%s%s%s%s", option->field, fault->reason, space, other, limit, then);
  return crd_report("%s=%.80s: %s%s%s%s%s", option->variable, text, fault->reason, space, other, limit, then);
}

/* Changes the field at fault. false: there is no other value for it. */
static bool settle_one(overlaid *all, const cradle_error *fault, int *reports) {
  const crd_option *option = row_of(fault->option);
  if (option == NULL) return false;
  const cradle_options *from = is_same(option, all->options, &all->before) ? &all->defaults : &all->before;
  bool adjusts = fault->accepted != 0;
  if (!adjusts && is_same(option, all->options, from)) return false;
  uint64_t number = adjusts ? fault->accepted : crd_option_number(option, from);
  *reports += report_fault(all, option, fault, adjusts ? "; that is used" : "; put aside");
  memcpy((char *)all->options + option->offset, &number, crd_option_bytes(option));
  return true;
}

static int settle(overlaid *all) {
  cradle_error fault;
  int reports = 0;
  if (!cradle_options_check(&all->before, NULL)) return 0;
  for (size_t tries = 0; !cradle_options_check(all->options, &fault); tries++)
    if (tries > 2 * crd_option_count || !settle_one(all, &fault, &reports)) break;
  return reports;
}

/* If the user asks for a quarantine, faults are reported too. */
static void report_faults_of_quarantine(const cradle_options *before, cradle_options *options) {
  bool asked = crd_environment("CRADLE_QUARANTINE") != NULL || before->quarantine == 0;
  if (options->quarantine != 0 && asked && crd_environment("CRADLE_FAULTS") == NULL) options->fault_report = true;
}

int crd_options_from_environment(cradle_options *options) {
  overlaid all = {.options = options, .before = *options};
  int reports = 0;
  cradle_options_init(&all.defaults);
  for (size_t i = 0; i < crd_option_count; i++)
    if (crd_options[i].variable != NULL) reports += overlay(&crd_options[i], options);
  reports += settle(&all);
  report_faults_of_quarantine(&all.before, options);
  if (!crd_has_more_rights_than_user()) crd_each_variable(look_at_name, &reports);
  return reports;
}
