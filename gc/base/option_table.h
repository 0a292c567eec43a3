/* The option table: one row for each field of cradle_options with bounds, and for each CRADLE_ variable of the runtime.
 * A variable may take keys behind a comma: what CRADLE_STRESS=3,seed=42 says of the seed is for the row
 * CRADLE_STRESS,seed, which follows the variable's own.
 *
 * Everything about an option is in its row: parsing, checks, messages and docs/environment.md use it. (Defaults that
 * are no zero are set in gc/options.c.) Rows are applied in order: a row that overrides another row comes after it.
 */
#ifndef CRADLE_GC_BASE_OPTION_TABLE_H
#define CRADLE_GC_BASE_OPTION_TABLE_H

#include <cradle/options.h>

typedef enum crd_option_type {
  CRD_OPTION_SIZE,   /* bytes; the field is a size_t */
  CRD_OPTION_COUNT,  /* the field is a uint64_t */
  CRD_OPTION_STRESS, /* a count, or auto, which sets other fields, too */
  CRD_OPTION_SEED,   /* a count, or random */
  CRD_OPTION_TIME,   /* a time with its unit; the field is a uint64_t in nanoseconds */
  CRD_OPTION_FACTOR, /* a decimal above the least number; the field is a double */
  CRD_OPTION_BOOL,   /* 0 or 1; the field is a bool */
  CRD_OPTION_CHOICE, /* one of the names; the field is an enumeration */
  CRD_OPTION_FILE,   /* no field: the runtime opens it when a heap starts */
} crd_option_type;

typedef struct crd_option {
  const char *variable; /* NULL: the environment does not set the field */
  crd_option_type type;
  const char *field; /* the name in cradle_options; NULL: none, and the runtime reads the variable when a heap starts */
  size_t offset;     /* of the field */
  uint64_t least, most;
  bool or_zero;             /* 0 is accepted, too */
  bool inherits;            /* of a key: where it is missing, the variable's own value counts */
  const char *const *names; /* of a choice, from 0 to most */
  const char *wants;        /* what is accepted: "wants 0 or 1" */
  const char *example;      /* an accepted value; NULL: the words are enough */
  const char *initial;      /* the default, in words */
  const char *help;
} crd_option;

extern const crd_option crd_options[];
extern const size_t crd_option_count;

/* The size of the row's field. */
size_t crd_option_bytes(const crd_option *option);
/* The row's field; of a factor, the bits of the double. */
uint64_t crd_option_number(const crd_option *option, const cradle_options *options);
bool crd_option_accepts(const crd_option *option, uint64_t number);

#endif
