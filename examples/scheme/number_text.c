/* Numbers from and to text: literals, string->number, number->string. */
#include "scheme.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* --- from text --- */

typedef enum number_kind { NO_NUMBER, EXACT, INEXACT, FRACTION } number_kind;
/* What a text spells. Fractions are recognised, but this Scheme has no fractions. */
typedef struct scanned {
  number_kind kind;
  int64_t exact;
  double inexact;
} scanned;

typedef struct digits {
  size_t count;
  uint64_t exact; /* if it fits */
  bool fits;
  double inexact;
} digits;

/* Reads all digits of the base; returns what is behind them. */
static const char *scan_digits(const char *at, int base, digits *found) {
  *found = (digits){.fits = true};
  for (;; at++, found->count++) {
    int c = (unsigned char)*at, digit = isdigit(c) ? c - '0' : isalpha(c) ? tolower(c) - 'a' + 10 : base;
    if (digit >= base) return at;
    if (__builtin_mul_overflow(found->exact, (uint64_t)base, &found->exact) ||
        __builtin_add_overflow(found->exact, (uint64_t)digit, &found->exact))
      found->fits = false;
    found->inexact = found->inexact * base + digit;
  }
}

/* Behind the digits before the point: the rest of a decimal number. */
static bool is_decimal(const char *at, const char *end, size_t digits_before) {
  digits found = {.count = 0};
  if (*at == '.') at = scan_digits(at + 1, 10, &found);
  if (digits_before + found.count == 0) return false;
  if (*at == 'e' || *at == 'E') {
    at += at[1] == '+' || at[1] == '-' ? 2 : 1;
    at = scan_digits(at, 10, &found);
    if (found.count == 0) return false;
  }
  return at == end;
}

/* The text ends in a zero byte. */
static scanned scan_real(const char *text, const char *end, int base) {
  const char *at = text + (*text == '+' || *text == '-');
  bool is_negative = *text == '-';
  if (at > text && strcmp(at, "inf.0") == 0) return (scanned){INEXACT, 0, is_negative ? -INFINITY : INFINITY};
  if (at > text && strcmp(at, "nan.0") == 0) return (scanned){INEXACT, 0, NAN};
  digits before, after;
  at = scan_digits(at, base, &before);
  if (*at == '/' && before.count > 0)
    return (scanned){scan_digits(at + 1, base, &after) == end && after.count > 0 ? FRACTION : NO_NUMBER, 0, 0};
  if (at == end && before.count > 0) {
    if (before.fits && before.exact <= (uint64_t)FIXNUM_MAX + is_negative)
      return (scanned){EXACT, is_negative ? -(int64_t)before.exact : (int64_t)before.exact, 0};
    if (base != 10) return (scanned){INEXACT, 0, is_negative ? -before.inexact : before.inexact};
  }
  if (base != 10 || !is_decimal(at, end, before.count)) return (scanned){NO_NUMBER, 0, 0};
  return (scanned){INEXACT, 0, strtod(text, NULL)};
}

/* #e: a number beyond 61 bits stays inexact, as results do. */
static scanned make_exact(scanned number) {
  if (number.kind != INEXACT) return number;
  if (!isfinite(number.inexact)) return (scanned){NO_NUMBER, 0, 0};
  if (number.inexact != floor(number.inexact)) return (scanned){FRACTION, 0, 0};
  if (fabs(number.inexact) >= 0x1p60) return number;
  return (scanned){EXACT, (int64_t)number.inexact, 0};
}

/* With the prefixes #x, #o, #b or #d, and #e or #i, in either order. */
static scanned scan_number(const char *text, const char *end, int base) {
  bool has_base = false;
  int exactness = 0;
  for (; *text == '#'; text += 2) {
    int c = tolower((unsigned char)text[1]), given = c == 'x' ? 16 : c == 'd' ? 10 : c == 'o' ? 8 : c == 'b' ? 2 : 0;
    if (given != 0 && !has_base)
      base = given, has_base = true;
    else if ((c == 'e' || c == 'i') && exactness == 0)
      exactness = c;
    else
      return (scanned){NO_NUMBER, 0, 0};
  }
  scanned number = scan_real(text, end, base);
  if (exactness == 'i' && number.kind == EXACT) return (scanned){INEXACT, 0, (double)number.exact};
  return exactness == 'e' ? make_exact(number) : number;
}

value parse_number(scheme *s, const char *text, size_t length, int base) {
  if (length == 0 || (base == 10 && !isdigit((unsigned char)*text) && strchr("+-.#", *text) == NULL)) return FALSE;
  char few[72], *copy = length < sizeof few ? few : malloc(length + 1);
  if (copy == NULL) memory_ran_out(s, s->m, length + 1, "no memory for a number's text");
  memcpy(copy, text, length);
  copy[length] = '\0';
  scanned number = scan_number(copy, copy + length, base);
  if (copy != few) free(copy);
  switch (number.kind) {
  case EXACT: return fixnum(number.exact);
  case INEXACT: return new_flonum(s, number.inexact);
  default: return number.kind == FRACTION ? NOT_GIVEN : FALSE;
  }
}

/* --- to text --- */

void number_to_text(value number, int base, char text[72]) {
  if (!is_fixnum(number)) {
    double real = ((const flonum *)object_of(number))->number;
    for (int digits = 15; digits <= 17; digits++) {
      snprintf(text, 72, "%.*g", digits, real);
      if (strtod(text, NULL) == real) break;
    }
    if (isnan(real)) strcpy(text, "+nan.0");
    if (isinf(real)) strcpy(text, real > 0 ? "+inf.0" : "-inf.0");
    if (strspn(text, "-0123456789") == strlen(text)) strcat(text, ".0");
    return;
  }
  int64_t whole_number = fixnum_of(number);
  uint64_t left = whole_number < 0 ? -(uint64_t)whole_number : (uint64_t)whole_number;
  char digits[72];
  size_t at = sizeof digits - 1;
  digits[at] = '\0';
  do {
    digits[--at] = "0123456789abcdefghijklmnopqrstuvwxyz"[left % (unsigned)base];
    left /= (unsigned)base;
  } while (left != 0);
  if (whole_number < 0) digits[--at] = '-';
  memcpy(text, digits + at, sizeof digits - at);
}

/* --- procedures --- */

CRADLE_MAY_COLLECT static int base_of(scheme *s, size_t count, const value *args) {
  if (count < 2) return 10;
  size_t base = index_of(s, args[1], 37);
  if (base < 2) fail(s, args[1], "a base from 2 to 36 expected, not");
  return (int)base;
}
CRADLE_MAY_COLLECT static value number_to_string_row(scheme *s, size_t count, const value *args) {
  char text[72];
  int base = base_of(s, count, args);
  if (!is_number(args[0])) fail_type(s, args[0], "a number");
  number_to_text(args[0], base, text);
  return new_string(s, text, strlen(text));
}
CRADLE_MAY_COLLECT static value string_to_number_row(scheme *s, size_t count, const value *args) {
  int base = base_of(s, count, args);
  check_type(s, args[0], T_STRING, "a string");
  const cradle_kit_string *string = object_of(args[0]);
  value number = parse_number(s, string->bytes, string->length, base);
  return number != NOT_GIVEN ? number : FALSE;
}

const primitive_row number_text_rows[] = {
    {"number->string", number_to_string_row, 1, 2},
    {"string->number", string_to_number_row, 1, 2},
};
const size_t number_text_row_count = sizeof number_text_rows / sizeof *number_text_rows;
