/* What the values of variables say, and which variable a name means.
 *
 * Numbers are read by hand and not by strtod, whose decimal point depends on the locale.
 */
#include "runtime/environment.h"
#include "runtime/platform/process.h"
#include "runtime/report.h"

#include <string.h>

/* Digits of a fraction after this many are less than a byte in every unit. */
#define FRACTION_DIGITS 15

/* --- numbers --- */

static bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

/* Advances *text behind the number. No digits are 0. false: the number exceeds 64 bits. */
static bool parse_whole(const char **text, uint64_t *number) {
  uint64_t result = 0;
  const char *p = *text;
  for (; is_digit(*p); p++)
    if (__builtin_mul_overflow(result, 10, &result) || __builtin_add_overflow(result, (uint64_t)(*p - '0'), &result))
      return false;
  *text = p;
  *number = result;
  return true;
}

/* Reads what follows the point, at least one digit. */
static bool parse_fraction(const char **text, double *fraction) {
  uint64_t numerator = 0, denominator = 1;
  const char *p = *text;
  *fraction = 0;
  if (*p != '.') return true;
  if (!is_digit(*++p)) return false;
  for (int digits = 0; is_digit(*p); p++, digits++) {
    if (digits >= FRACTION_DIGITS) continue;
    numerator = numerator * 10 + (uint64_t)(*p - '0');
    denominator *= 10;
  }
  *text = p;
  *fraction = (double)numerator / (double)denominator;
  return true;
}

/* As parse_whole, with a fraction. false: there is no number, too. */
static bool parse_decimal(const char **text, uint64_t *whole, double *fraction) {
  if (!is_digit(**text) && **text != '.') return false;
  return parse_whole(text, whole) && parse_fraction(text, fraction);
}

static char in_capitals(char c) {
  return c >= 'a' && c <= 'z' ? (char)(c - 'a' + 'A') : c;
}

static bool equal_in_any_case(const char *a, const char *b) {
  while (*a != '\0' && in_capitals(*a) == in_capitals(*b)) a++, b++;
  return in_capitals(*a) == in_capitals(*b);
}

/* The power of two that a unit stands for; 0: bytes. -1: not a unit. */
static int unit_shift(const char *unit) {
  static const char letters[] = "KMGT";
  if (*unit == '\0' || equal_in_any_case(unit, "B")) return 0;
  const char *letter = strchr(letters, in_capitals(*unit));
  if (letter == NULL) return -1;
  if (unit[1] != '\0' && !equal_in_any_case(unit + 1, "B") && !equal_in_any_case(unit + 1, "iB")) return -1;
  return 10 * (int)(letter - letters + 1);
}

bool crd_parse_size(const char *text, uint64_t *bytes) {
  uint64_t whole;
  double fraction;
  if (!parse_decimal(&text, &whole, &fraction)) return false;
  size_t blanks = strspn(text, " ");
  text += blanks;
  int shift = unit_shift(text);
  if (shift < 0 || (blanks != 0 && *text == '\0')) return false;
  if ((shift == 0 && fraction != 0) || whole > UINT64_MAX >> shift) return false;
  *bytes = (whole << shift) + (uint64_t)(fraction * (double)((uint64_t)1 << shift)); /* the fraction is below 1 */
  return true;
}

/* A number with its unit, in nanoseconds; 0 needs no unit. */
static bool parse_time(const char *text, uint64_t *ns) {
  static const struct {
    const char *name;
    uint64_t ns;
  } units[] = {{"ns", 1}, {"us", 1000}, {"ms", 1000000}, {"s", 1000000000}};
  uint64_t whole;
  double fraction;
  if (!parse_decimal(&text, &whole, &fraction)) return false;
  *ns = 0;
  if (*text == '\0') return whole == 0 && fraction == 0;
  while (*text == ' ') text++;
  for (size_t i = 0; i < sizeof units / sizeof units[0]; i++)
    if (equal_in_any_case(text, units[i].name) && !__builtin_mul_overflow(whole, units[i].ns, ns))
      return !__builtin_add_overflow(*ns, (uint64_t)(fraction * (double)units[i].ns), ns);
  return false;
}

static bool parse_factor(const char *text, uint64_t *bits) {
  uint64_t whole;
  double fraction;
  if (!parse_decimal(&text, &whole, &fraction) || *text != '\0') return false;
  fraction += (double)whole;
  memcpy(bits, &fraction, sizeof fraction);
  return true;
}

static bool parse_choice(const crd_option *option, const char *text, uint64_t *number) {
  for (*number = 0; *number <= option->most; ++*number)
    if (equal_in_any_case(text, option->names[*number])) return true;
  return false;
}

/* Draws a seed, any number but 0 that is hard to predict: once in a process, so that one setting repeats the run of all
 * its heaps. */
static bool draw(const crd_option *option, uint64_t *seed) {
  static uint64_t drawn; /* 0: not drawn so far */
  uint64_t now = crd_unix_time_ns(), before = 0;
  *seed = now / 1000000000u * 1000000007u ^ now % 1000000000u ^ (uint64_t)crd_process_number() << 20;
  *seed = (*seed & UINT32_MAX) | 1;
  if (!__atomic_compare_exchange_n(&drawn, &before, *seed, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) *seed = before;
  crd_report("%s=%ju was drawn; set it to repeat this run", option->variable, (uintmax_t)*seed);
  return true;
}

/* --- values --- */

/* CRADLE_STRESS=auto, as the table says. The rows of the other fields come later, so what the user gives them wins. */
static bool stress_by_itself(cradle_options *options, uint64_t *period) {
  *period = 1;
  if (options->gc == CRADLE_GC_OFF) return true; /* stress is then put aside, and nothing else should be */
  options->stress_major = 2;
  options->stress_times = 4;
  if (options->quarantine == 0) options->quarantine = 8;
  options->verify = true;
  return true;
}

static bool parse(const crd_option *option, const char *text, cradle_options *options, uint64_t *number) {
  *number = 0;
  switch (option->type) {
  case CRD_OPTION_SIZE: return crd_parse_size(text, number);
  case CRD_OPTION_FACTOR: return parse_factor(text, number);
  case CRD_OPTION_TIME: return parse_time(text, number);
  case CRD_OPTION_CHOICE: return parse_choice(option, text, number);
  case CRD_OPTION_FILE: return true;
  case CRD_OPTION_STRESS:
    if (equal_in_any_case(text, "auto")) return stress_by_itself(options, number);
    break;
  case CRD_OPTION_SEED:
    if (equal_in_any_case(text, "random")) return draw(option, number);
    break;
  case CRD_OPTION_COUNT:
  case CRD_OPTION_BOOL: break;
  }
  return *text != '\0' && parse_whole(&text, number) && *text == '\0';
}

bool crd_option_set(const crd_option *option, const char *text, cradle_options *options) {
  uint64_t number;
  if (!parse(option, text, options, &number) || !crd_option_accepts(option, number)) return false;
  if (option->field != NULL) memcpy((char *)options + option->offset, &number, crd_option_bytes(option));
  return true;
}

/* --- names --- */

#define PREFIX_LENGTH (sizeof CRD_VARIABLE_PREFIX - 1)
/* A name up to this many edits away from a variable's name counts as a misspelling of it, but at most one edit in three
 * letters behind the prefix: other programs have CRADLE_ variables, too. */
#define MISSPELLING_EDITS 3
#define NAME_MAX_BYTES 64

const crd_option *crd_option_find(const char *name, size_t length) {
  for (const crd_option *row = crd_options; row < crd_options + crd_option_count; row++)
    if (row->variable != NULL && strlen(row->variable) == length && memcmp(row->variable, name, length) == 0)
      return row;
  return NULL;
}

static size_t least(size_t a, size_t b, size_t c) {
  size_t result = a < b ? a : b;
  return result < c ? result : c;
}

/* One row of the matrix at a time: row[j] is the distance between the first i bytes of a and the first j bytes of b. */
size_t crd_edits_between(const char *a, size_t a_length, const char *b, size_t b_length) {
  size_t row[NAME_MAX_BYTES + 1];
  for (size_t j = 0; j <= b_length; j++) row[j] = j;
  for (size_t i = 1; i <= a_length; i++) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b_length; j++) {
      size_t above = row[j];
      row[j] = least(above + 1, row[j - 1] + 1, diagonal + (in_capitals(a[i - 1]) != in_capitals(b[j - 1])));
      diagonal = above;
    }
  }
  return row[b_length];
}

static size_t edits_allowed(const char *candidate) {
  size_t letters = strlen(candidate) - PREFIX_LENGTH;
  return letters / 3 < MISSPELLING_EDITS ? letters / 3 : MISSPELLING_EDITS;
}

const crd_option *crd_option_nearest(const char *name, size_t length) {
  const crd_option *nearest = NULL;
  size_t fewest = MISSPELLING_EDITS + 1;
  if (length > NAME_MAX_BYTES) return NULL;
  for (const crd_option *row = crd_options; row < crd_options + crd_option_count; row++) {
    if (row->variable == NULL) continue;
    size_t edits = crd_edits_between(row->variable, strlen(row->variable), name, length);
    if (edits >= fewest || edits > edits_allowed(row->variable)) continue;
    fewest = edits;
    nearest = row;
  }
  return nearest;
}
