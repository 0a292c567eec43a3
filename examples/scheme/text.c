/* Characters, strings and symbols. Strings are the kit's: immutable bytes, here always valid UTF-8. Indices count
 * characters; in a string that is ASCII up to the index, that is a matter of bytes. */
#include "scheme.h"

#include <ctype.h>
#include <string.h>

value new_string(scheme *s, const char *bytes, size_t length) {
  return value_of(cradle_kit_string_new(&s->kit, bytes, length));
}
value symbol(scheme *s, const char *name) {
  return value_of(cradle_kit_intern(&s->kit, s->symbols, name, strlen(name)));
}

void define_global(scheme *s, cradle_kit_symbol *symbol, value content) {
  CRADLE_ROOT(s->m, symbol);
  CRADLE_ROOT_VALUE(s->m, content);
  cradle_kit_list_append(&s->kit, s->globals, value_of(symbol));
  cradle_store_value(s->m, symbol, &symbol->value, content);
}

/* --- UTF-8 --- */

size_t put_utf8(char *to, uint32_t code) {
  if (code < 0x80) return to[0] = (char)code, 1;
  size_t length = code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
  for (size_t i = length - 1; i > 0; i--, code >>= 6) to[i] = (char)(0x80 | (code & 0x3f));
  to[0] = (char)(0xf00 >> length | code);
  return length;
}

uint32_t get_utf8(const char *text, size_t *bytes) {
  unsigned char first = (unsigned char)*text;
  size_t length = first < 0x80 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
  uint32_t code = length == 1 ? first : first & (0x7fu >> length);
  for (size_t i = 1; i < length; i++) code = code << 6 | ((unsigned char)text[i] & 0x3f);
  *bytes = length;
  return code;
}

const char *find_bad_utf8(const char *text, size_t length) {
  static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
  for (const char *end = text + length; text < end;) {
    unsigned char first = (unsigned char)*text;
    size_t bytes = first < 0x80 ? 1 : first < 0xc2 ? 0 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : first < 0xf5 ? 4 : 0;
    if (bytes == 0 || bytes > (size_t)(end - text)) return text;
    for (size_t i = 1; i < bytes; i++)
      if (((unsigned char)text[i] & 0xc0) != 0x80) return text;
    uint32_t code = get_utf8(text, &bytes);
    if (code < least[bytes] || code > 0x10ffff || (code >= 0xd800 && code < 0xe000)) return text;
    text += bytes;
  }
  return NULL;
}

static bool continues(char byte) {
  return ((unsigned char)byte & 0xc0) == 0x80;
}
static size_t count_characters(const char *text, size_t length) {
  size_t count = 0;
  for (size_t i = 0; i < length; i++) count += !continues(text[i]);
  return count;
}
/* The byte where the character with the index begins; SIZE_MAX: the string has fewer characters. */
static size_t byte_of(const cradle_kit_string *string, size_t index) {
  size_t at = 0;
  for (; index > 0 && at < string->length; index--)
    for (at++; at < string->length && continues(string->bytes[at]);) at++;
  return index == 0 ? at : SIZE_MAX;
}

/* --- checks --- */

CRADLE_MAY_COLLECT static cradle_kit_string *check_string(scheme *s, value v) {
  check_type(s, v, T_STRING, "a string");
  return object_of(v);
}
CRADLE_MAY_COLLECT static uint32_t check_character(scheme *s, value v) {
  if (!is_character(v)) fail_type(s, v, "a character");
  return character_of(v);
}
CRADLE_MAY_COLLECT static cradle_kit_symbol *check_symbol(scheme *s, value v) {
  check_type(s, v, T_SYMBOL, "a symbol");
  return object_of(v);
}
/* The bytes [*start, *end) that the arguments at `from` and `from + 1` choose; without these arguments, the whole
 * string. */
CRADLE_MAY_COLLECT static void check_range(scheme *s, size_t count, const value *args, size_t from, size_t *start,
                                           size_t *end) {
  const cradle_kit_string *string = check_string(s, args[0]);
  *start = count > from ? byte_of(string, index_of(s, args[from], SIZE_MAX)) : 0;
  *end = count > from + 1 ? byte_of(string, index_of(s, args[from + 1], SIZE_MAX)) : string->length;
  if (*start == SIZE_MAX) fail(s, args[from], "index out of the string:");
  if (*end == SIZE_MAX || *end < *start) fail(s, args[from + 1], "end out of the string:");
}

/* --- characters --- */

#define DEFINE_OF_CHARACTER(name, result) \
  CRADLE_MAY_COLLECT static value name(scheme *s, size_t count, const value *args) { \
    (void)count; \
    uint32_t code = check_character(s, args[0]); \
    return result; \
  }
DEFINE_OF_CHARACTER(char_to_integer_row, fixnum(code))
DEFINE_OF_CHARACTER(char_upcase_row, character(code < 128 ? (uint32_t)toupper((int)code) : code))
DEFINE_OF_CHARACTER(char_downcase_row, character(code < 128 ? (uint32_t)tolower((int)code) : code))
DEFINE_OF_CHARACTER(is_alphabetic_row, boolean(code < 128 && isalpha((int)code)))
DEFINE_OF_CHARACTER(is_numeric_row, boolean(code < 128 && isdigit((int)code)))
DEFINE_OF_CHARACTER(is_whitespace_row, boolean(code < 128 && isspace((int)code)))
DEFINE_OF_CHARACTER(is_upper_row, boolean(code < 128 && isupper((int)code)))
DEFINE_OF_CHARACTER(is_lower_row, boolean(code < 128 && islower((int)code)))
CRADLE_MAY_COLLECT static value integer_to_char_row(scheme *s, size_t count, const value *args) {
  (void)count;
  uint32_t code = (uint32_t)index_of(s, args[0], 0x110000);
  if (code >= 0xd800 && code < 0xe000) fail(s, args[0], "no character has the number");
  return character(code);
}
static int order_characters(scheme *s, value left, value right) CRADLE_MAY_COLLECT {
  uint32_t one = check_character(s, left), other = check_character(s, right);
  return (one > other) - (one < other);
}
static int order_strings(scheme *s, value left, value right) CRADLE_MAY_COLLECT {
  const cradle_kit_string *one = check_string(s, left);
  return cradle_kit_string_compare(one, check_string(s, right));
}
static uint32_t fold_case(uint32_t code) {
  return code < 128 ? (uint32_t)tolower((int)code) : code;
}
static int order_characters_ci(scheme *s, value left, value right) CRADLE_MAY_COLLECT {
  uint32_t one = fold_case(check_character(s, left)), other = fold_case(check_character(s, right));
  return (one > other) - (one < other);
}
static int order_strings_ci(scheme *s, value left, value right) CRADLE_MAY_COLLECT {
  const cradle_kit_string *one = check_string(s, left), *other = check_string(s, right);
  for (size_t i = 0; i < one->length && i < other->length; i++) {
    uint32_t a = fold_case((unsigned char)one->bytes[i]), b = fold_case((unsigned char)other->bytes[i]);
    if (a != b) return a < b ? -1 : 1;
  }
  return (one->length > other->length) - (one->length < other->length);
}
#define DEFINE_ORDER(name, order, sign) \
  CRADLE_MAY_COLLECT static value name(scheme *s, size_t count, const value *args) { \
    bool holds = true; \
    for (size_t i = 0; i + 1 < count; i++) holds &= order(s, args[i], args[i + 1]) sign 0; \
    return boolean(holds); \
  }
DEFINE_ORDER(char_equal_row, order_characters, ==)
DEFINE_ORDER(char_less_row, order_characters, <)
DEFINE_ORDER(char_greater_row, order_characters, >)
DEFINE_ORDER(char_at_most_row, order_characters, <=)
DEFINE_ORDER(char_at_least_row, order_characters, >=)
DEFINE_ORDER(string_equal_row, order_strings, ==)
DEFINE_ORDER(string_less_row, order_strings, <)
DEFINE_ORDER(string_greater_row, order_strings, >)
DEFINE_ORDER(string_at_most_row, order_strings, <=)
DEFINE_ORDER(string_at_least_row, order_strings, >=)
DEFINE_ORDER(char_equal_ci_row, order_characters_ci, ==)
DEFINE_ORDER(char_less_ci_row, order_characters_ci, <)
DEFINE_ORDER(char_greater_ci_row, order_characters_ci, >)
DEFINE_ORDER(char_at_most_ci_row, order_characters_ci, <=)
DEFINE_ORDER(char_at_least_ci_row, order_characters_ci, >=)
DEFINE_ORDER(string_equal_ci_row, order_strings_ci, ==)
DEFINE_ORDER(string_less_ci_row, order_strings_ci, <)
DEFINE_ORDER(string_greater_ci_row, order_strings_ci, >)
DEFINE_ORDER(string_at_most_ci_row, order_strings_ci, <=)
DEFINE_ORDER(string_at_least_ci_row, order_strings_ci, >=)

/* --- strings --- */

CRADLE_MAY_COLLECT static value string_length_row(scheme *s, size_t count, const value *args) {
  (void)count;
  const cradle_kit_string *string = check_string(s, args[0]);
  return fixnum((int64_t)count_characters(string->bytes, string->length));
}
CRADLE_MAY_COLLECT static value string_ref_row(scheme *s, size_t count, const value *args) {
  (void)count;
  const cradle_kit_string *string = check_string(s, args[0]);
  size_t at = byte_of(string, index_of(s, args[1], SIZE_MAX)), bytes;
  if (at >= string->length) fail(s, args[1], "index out of the string:");
  return character(get_utf8(string->bytes + at, &bytes));
}
CRADLE_MAY_COLLECT static value substring_row(scheme *s, size_t count, const value *args) {
  size_t start, end;
  check_range(s, count, args, 1, &start, &end);
  return value_of(cradle_kit_string_slice(&s->kit, object_of(args[0]), start, end));
}
CRADLE_MAY_COLLECT static value string_append_row(scheme *s, size_t count, const value *args) {
  size_t length = 0;
  for (size_t i = 0; i < count; i++) length += check_string(s, args[i])->length;
  cradle_kit_string *made = cradle_kit_string_new(&s->kit, NULL, length);
  char *at = made->bytes;
  for (size_t i = 0; i < count; i++) {
    const cradle_kit_string *part = object_of(args[i]);
    memcpy(at, part->bytes, part->length);
    at += part->length;
  }
  return value_of(made);
}
CRADLE_MAY_COLLECT static value string_row(scheme *s, size_t count, const value *args) {
  size_t length = 0;
  char bytes[4];
  for (size_t i = 0; i < count; i++) length += put_utf8(bytes, check_character(s, args[i]));
  cradle_kit_string *made = cradle_kit_string_new(&s->kit, NULL, length);
  char *at = made->bytes;
  for (size_t i = 0; i < count; i++) at += put_utf8(at, character_of(args[i]));
  return value_of(made);
}
CRADLE_MAY_COLLECT static value make_string_row(scheme *s, size_t count, const value *args) {
  char bytes[4] = " ";
  size_t times = index_of(s, args[0], SIZE_MAX), width = count > 1 ? put_utf8(bytes, check_character(s, args[1])) : 1;
  if (times > SIZE_MAX / 4 - 1) times = SIZE_MAX / 4; /* out of memory */
  cradle_kit_string *made = cradle_kit_string_new(&s->kit, NULL, times * width);
  for (size_t i = 0; i < times; i++) memcpy(made->bytes + i * width, bytes, width);
  return value_of(made);
}
CRADLE_MAY_COLLECT static value string_to_list_row(scheme *s, size_t count, const value *args) {
  size_t start, end;
  check_range(s, count, args, 1, &start, &end);
  value list = NIL;
  while (end > start) {
    const char *text = check_string(s, args[0])->bytes;
    size_t bytes;
    for (end--; end > start && continues(text[end]);) end--;
    list = cons(s, character(get_utf8(text + end, &bytes)), list);
  }
  return list;
}
CRADLE_MAY_COLLECT static value list_to_string_row(scheme *s, size_t count, const value *args) {
  (void)count;
  size_t length = 0;
  char bytes[4];
  if (list_length(args[0]) < 0) fail_type(s, args[0], "a list");
  for (value list = args[0]; list != NIL; list = cdr(list)) length += put_utf8(bytes, check_character(s, car(list)));
  cradle_kit_string *made = cradle_kit_string_new(&s->kit, NULL, length);
  char *at = made->bytes;
  for (value list = args[0]; list != NIL; list = cdr(list)) at += put_utf8(at, character_of(car(list)));
  return value_of(made);
}
/* The index of the first place where the second string begins in the first, or #f. */
CRADLE_MAY_COLLECT static value string_search_row(scheme *s, size_t count, const value *args) {
  (void)count;
  const cradle_kit_string *string = check_string(s, args[0]), *part = check_string(s, args[1]);
  for (size_t at = 0; at + part->length <= string->length; at++)
    if (memcmp(string->bytes + at, part->bytes, part->length) == 0)
      return fixnum((int64_t)count_characters(string->bytes, at));
  return FALSE;
}
CRADLE_MAY_COLLECT static value change_case(scheme *s, value v, int (*change)(int)) {
  CRADLE_ROOT_VALUE(s->m, v);
  cradle_kit_string *made = cradle_kit_string_new(&s->kit, NULL, check_string(s, v)->length);
  const cradle_kit_string *string = object_of(v);
  for (size_t i = 0; i < made->length; i++) {
    unsigned char byte = (unsigned char)string->bytes[i];
    made->bytes[i] = (char)(byte < 128 ? change(byte) : byte);
  }
  return value_of(made);
}
CRADLE_MAY_COLLECT static value string_upcase_row(scheme *s, size_t count, const value *args) {
  (void)count;
  return change_case(s, args[0], toupper);
}
CRADLE_MAY_COLLECT static value string_downcase_row(scheme *s, size_t count, const value *args) {
  (void)count;
  return change_case(s, args[0], tolower);
}

/* --- symbols --- */

CRADLE_MAY_COLLECT static value symbol_to_string_row(scheme *s, size_t count, const value *args) {
  (void)count;
  return value_of(check_symbol(s, args[0])->name);
}
CRADLE_MAY_COLLECT static value string_to_symbol_row(scheme *s, size_t count, const value *args) {
  (void)count;
  return value_of(cradle_kit_intern_string(&s->kit, s->symbols, check_string(s, args[0])));
}

const primitive_row text_rows[] = {
    {"char->integer", char_to_integer_row, 1, 1},
    {"integer->char", integer_to_char_row, 1, 1},
    {"char-upcase", char_upcase_row, 1, 1},
    {"char-downcase", char_downcase_row, 1, 1},
    {"char-alphabetic?", is_alphabetic_row, 1, 1},
    {"char-numeric?", is_numeric_row, 1, 1},
    {"char-whitespace?", is_whitespace_row, 1, 1},
    {"char-upper-case?", is_upper_row, 1, 1},
    {"char-lower-case?", is_lower_row, 1, 1},
    {"char=?", char_equal_row, 1, -1},
    {"char<?", char_less_row, 1, -1},
    {"char>?", char_greater_row, 1, -1},
    {"char<=?", char_at_most_row, 1, -1},
    {"char>=?", char_at_least_row, 1, -1},
    {"string=?", string_equal_row, 1, -1},
    {"string<?", string_less_row, 1, -1},
    {"string>?", string_greater_row, 1, -1},
    {"string<=?", string_at_most_row, 1, -1},
    {"string>=?", string_at_least_row, 1, -1},
    {"char-ci=?", char_equal_ci_row, 1, -1},
    {"char-ci<?", char_less_ci_row, 1, -1},
    {"char-ci>?", char_greater_ci_row, 1, -1},
    {"char-ci<=?", char_at_most_ci_row, 1, -1},
    {"char-ci>=?", char_at_least_ci_row, 1, -1},
    {"string-ci=?", string_equal_ci_row, 1, -1},
    {"string-ci<?", string_less_ci_row, 1, -1},
    {"string-ci>?", string_greater_ci_row, 1, -1},
    {"string-ci<=?", string_at_most_ci_row, 1, -1},
    {"string-ci>=?", string_at_least_ci_row, 1, -1},
    {"string-length", string_length_row, 1, 1},
    {"string-ref", string_ref_row, 2, 2},
    {"substring", substring_row, 2, 3},
    {"string-copy", substring_row, 1, 3},
    {"string-append", string_append_row, 0, -1},
    {"string", string_row, 0, -1},
    {"make-string", make_string_row, 1, 2},
    {"string->list", string_to_list_row, 1, 3},
    {"list->string", list_to_string_row, 1, 1},
    {"string-search", string_search_row, 2, 2},
    {"string-upcase", string_upcase_row, 1, 1},
    {"string-downcase", string_downcase_row, 1, 1},
    {"symbol->string", symbol_to_string_row, 1, 1},
    {"string->symbol", string_to_symbol_row, 1, 1},
};
const size_t text_row_count = sizeof text_rows / sizeof *text_rows;
