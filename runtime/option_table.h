/* The option table: one row for each CRADLE_ variable, and for each key that a variable takes behind a comma: what
 * CRADLE_STRESS=3,seed=42 says of the seed is for the row CRADLE_STRESS,seed.
 *
 * [option_table.1] Everything about a variable is in its row. Parsing, the range check, messages and
 *                  docs/environment.md use the row, so to add a variable is to add a row.
 * [option_table.2] Rows are applied in order: a row that overrides another row comes after it.
 * [options.3] A value that is not accepted changes nothing.
 */
#ifndef CRADLE_RUNTIME_OPTION_TABLE_H
#define CRADLE_RUNTIME_OPTION_TABLE_H

#include <cradle/options.h>

typedef enum crd_option_type {
  CRD_OPTION_SIZE,   /* bytes; the field is a size_t */
  CRD_OPTION_FACTOR, /* a decimal above the minimum; the field is a double */
  CRD_OPTION_COUNT,  /* the field is a uint64_t */
  CRD_OPTION_STRESS, /* a count, or auto, which sets other fields, too; the field is a uint64_t */
  CRD_OPTION_TIME,   /* a time with its unit; the field is a uint64_t in nanoseconds */
  CRD_OPTION_BOOL,   /* 0 or 1; the field is a bool */
  CRD_OPTION_SEED,   /* a count, or random; the field is a uint64_t */
  CRD_OPTION_CHOICE, /* one of the names that the minimum numbers; the field is an enumeration */
  CRD_OPTION_POLICY, /* of huge pages; the fields are cradle_hugepages, of the nursery and the arenas */
  CRD_OPTION_SWITCH, /* 0 or 1; no field: it is read when a heap starts (runtime/start.c) */
  CRD_OPTION_LOG,    /* no field: the log reads it when a heap starts (runtime/log.h) */
  CRD_OPTION_FILE,   /* no field: read when a heap starts (runtime/start.c) */
} crd_option_type;

/* A field of cradle_options, under the name that cradle_options_check gives it. */
typedef struct crd_option_field {
  const char *name; /* NULL: no field */
  size_t offset;
} crd_option_field;
#define CRD_OPTION_FIELDS 2

typedef struct crd_option {
  const char *name;
  crd_option_type type;
  crd_option_field fields[CRD_OPTION_FIELDS]; /* what it sets; the second is the arenas' policy */
  uint64_t minimum, maximum;                  /* both are accepted, but a factor must be above its minimum */
  const char *example;                        /* an accepted value; NULL: the list of accepted values is enough */
  const char *initial;                        /* the default, in words */
  const char *help;
} crd_option;

/* Reads a size such as 4M, 1.6GB, 65536 or 32 KiB: a number and an optional unit K, M, G or T in steps of 1024 (also
 * with B or iB; case does not matter). false: text is not a size, or it exceeds SIZE_MAX; *bytes is then unchanged. */
bool crd_parse_size(const char *text, size_t *bytes);

/* Overlays options, which must have been initialised, with the CRADLE_ variables. A bad value or an unknown CRADLE_
 * name is reported once and is otherwise ignored. Returns the number of these reports. */
int crd_options_from_environment(cradle_options *options);

/* The value of an environment variable. NULL: it is not set, or the program runs with more rights than its user
 * (set-user-id, set-group-id, file capabilities): then the user's environment must not choose what the program does and
 * where it writes. */
const char *crd_environment(const char *name);

#define CRD_VARIABLE_PREFIX "CRADLE_"
#define CRD_LOG_VARIABLE "CRADLE_LOG"
#define CRD_PROFILE_VARIABLE "CRADLE_PROFILE"
#define CRD_STATS_VARIABLE "CRADLE_STATS"
#define CRD_ACCEPTED_BYTES 128

extern const crd_option crd_options[];
extern const size_t crd_option_count;

/* Returns the row with the name that is given by its first byte and its length. NULL: no row has it. */
const crd_option *crd_option_find(const char *name, size_t length);
/* The row whose name is most like this one, which has the prefix; NULL: no name is close. */
const crd_option *crd_option_nearest(const char *name, size_t length);
/* The row that sets the field of that name; *field: which of the row's fields it is. NULL: no row sets it. */
const crd_option *crd_option_of(const char *name, const crd_option_field **field);
/* The size of each field of the row. */
size_t crd_option_bytes(const crd_option *option);
/* Sets the row's fields to what text says. false: text is not accepted. */
bool crd_option_set(const crd_option *option, const char *text, cradle_options *options);
/* Writes what the row accepts, in words that can follow "wants". */
void crd_option_accepted(const crd_option *option, char words[CRD_ACCEPTED_BYTES]);

/* Read numbers and compare words independently of the locale. The first two advance *text behind the number. false:
 * there is no number, or it exceeds 64 bits; but crd_parse_whole reads no digits as 0. */
bool crd_parse_whole(const char **text, uint64_t *number);
bool crd_parse_decimal(const char **text, uint64_t *whole, double *fraction);
char crd_in_capitals(char c);
bool crd_equal_in_any_case(const char *a, const char *b);

#endif
