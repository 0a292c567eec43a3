/* The environment: what the CRADLE_ variables say, by the option table (gc/base/option_table.h).
 *
 * [options.3] A value that is not accepted changes nothing.
 */
#ifndef CRADLE_RUNTIME_ENVIRONMENT_H
#define CRADLE_RUNTIME_ENVIRONMENT_H

#include "gc/base/option_table.h"

/* Overlays options, which are of this version, with the CRADLE_ variables. A bad value or an unknown CRADLE_
 * name is reported once and is otherwise ignored. Returns the number of these reports. */
int crd_options_from_environment(cradle_options *options);

/* The value of an environment variable. NULL: it is not set; or empty, because shells and service files can often only
 * empty a variable; or the program runs with more rights than its user (set-user-id, set-group-id, file capabilities),
 * whose environment must then not choose what the program does and where it writes. */
const char *crd_environment(const char *name);

#define CRD_VARIABLE_PREFIX "CRADLE_"

/* --- values --- */

/* Reads a size such as 4M, 1.6GB, 65536 or 32 KiB: a number and an optional unit K, M, G or T in steps of 1024 (also
 * with B or iB; case does not matter). false: text is not a size, or it exceeds 64 bits. */
bool crd_parse_size(const char *text, uint64_t *bytes);
/* Sets what the row's variable sets to what text says; options may be NULL if the row has no field. false: text is not
 * accepted. */
bool crd_option_set(const crd_option *option, const char *text, cradle_options *options);

/* --- names --- */

/* The row of the variable, or of a key as "NAME,key", with this length. NULL: there is none. */
const crd_option *crd_option_find(const char *name, size_t length);
/* The row whose name is most like this one, which has the prefix; NULL: no name is close. */
const crd_option *crd_option_nearest(const char *name, size_t length);
/* Levenshtein's distance between two names in any case; the second has at most 64 bytes. */
size_t crd_edits_between(const char *a, size_t a_length, const char *b, size_t b_length);

#endif
