/* Sizes as people write them: 4M, 1.6GB, 65536, 32 KiB.
 *
 * Read by hand and not by strtod, whose decimal point depends on the locale.
 */
#include "runtime/option_table.h"

#include <string.h>

/* Digits of a fraction after this many are less than a byte in every unit. */
#define FRACTION_DIGITS 15

static bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

bool crd_parse_whole(const char **text, uint64_t *number) {
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

bool crd_parse_decimal(const char **text, uint64_t *whole, double *fraction) {
  if (!is_digit(**text) && **text != '.') return false;
  return crd_parse_whole(text, whole) && parse_fraction(text, fraction);
}

char crd_in_capitals(char c) {
  return c >= 'a' && c <= 'z' ? (char)(c - 'a' + 'A') : c;
}

bool crd_equal_in_any_case(const char *a, const char *b) {
  while (*a != '\0' && crd_in_capitals(*a) == crd_in_capitals(*b)) a++, b++;
  return crd_in_capitals(*a) == crd_in_capitals(*b);
}

/* The power of two that a unit stands for; 0: bytes. -1: not a unit. */
static int unit_shift(const char *unit) {
  static const char letters[] = "KMGT";
  if (*unit == '\0' || crd_equal_in_any_case(unit, "B")) return 0;
  const char *letter = strchr(letters, crd_in_capitals(*unit));
  if (letter == NULL) return -1;
  if (unit[1] != '\0' && !crd_equal_in_any_case(unit + 1, "B") && !crd_equal_in_any_case(unit + 1, "iB")) return -1;
  return 10 * (int)(letter - letters + 1);
}

static bool scale(uint64_t whole, double fraction, int shift, size_t *bytes) {
  if (shift < 0 || (shift == 0 && fraction != 0)) return false;
  uint64_t part = (uint64_t)(fraction * (double)((uint64_t)1 << shift));
  if (whole > SIZE_MAX >> shift) return false;
  *bytes = ((size_t)whole << shift) + part; /* part is below one unit */
  return true;
}

bool crd_parse_size(const char *text, size_t *bytes) {
  uint64_t whole;
  double fraction;
  size_t result;
  if (text == NULL || !crd_parse_decimal(&text, &whole, &fraction)) return false;
  bool spaced = *text == ' ';
  while (*text == ' ') text++;
  if (spaced && *text == '\0') return false;
  if (!scale(whole, fraction, unit_shift(text), &result)) return false;
  *bytes = result;
  return true;
}
