/* Text to data. Lists are made of pairs that know their line, which is where the lines in error messages come from. */
#include "scheme.h"

#include <stdlib.h>
#include <string.h>

/* --- sources --- */

void source_open(scheme *s, char *text, size_t length, const char *name) {
  source *made = malloc(sizeof *made);
  if (made == NULL) {
    free(text);
    memory_ran_out(s, s->m, sizeof *made, "no memory for a file");
  }
  size_t mark = length >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0 ? 3 : 0; /* that the text is UTF-8 */
  *made = (source){.outer = s->source, .text = text, .at = text + mark, .end = text + length, .line = 1};
  s->source = made;
  value file = new_string(s, name, strlen(name));
  cradle_kit_list_append(&s->kit, s->files, file);
  made->file = (uint32_t)s->files->length - 1;
  const char *bad = find_bad_utf8(text, length);
  if (bad == NULL) return;
  for (; text < bad; text++) made->line += *text == '\n';
  fail_at(s, where_of(made->file, made->line), NOT_GIVEN, "invalid UTF-8: byte 0x%02x", (unsigned char)*bad);
}

void source_close(scheme *s) {
  source *closed = s->source;
  s->source = closed->outer;
  free(closed->text);
  free(closed);
}

static uint64_t here(const source *from) {
  return where_of(from->file, from->line);
}

/* --- small parts --- */

static bool is_space(char c) {
  return c == ' ' || c == '\n' || c == '\t' || c == '\r' || c == '\f';
}
static bool is_delimiter(char c) {
  return is_space(c) || c == '(' || c == ')' || c == '"' || c == ';' || c == '\'';
}

/* 0, or the line where a comment begins that has no end. */
static uint32_t skip_block_comment(source *from) {
  uint32_t began = from->line;
  int depth = 0;
  for (; from->at < from->end; from->at++) {
    if (*from->at == '\n') from->line++;
    if (from->at + 1 < from->end && from->at[0] == '#' && from->at[1] == '|')
      depth++, from->at++;
    else if (from->at + 1 < from->end && from->at[0] == '|' && from->at[1] == '#') {
      from->at++;
      if (--depth == 0) {
        from->at++;
        return 0;
      }
    }
  }
  return began;
}

/* Skips comments, too; returns what skip_block_comment does. */
static uint32_t skip_space(source *from) {
  while (from->at < from->end) {
    if (*from->at == ';') {
      while (from->at < from->end && *from->at != '\n') from->at++;
    } else if (*from->at == '#' && from->at + 1 < from->end && from->at[1] == '|') {
      uint32_t unclosed = skip_block_comment(from);
      if (unclosed != 0) return unclosed;
    } else if (is_space(*from->at)) {
      from->line += *from->at++ == '\n';
    } else {
      return 0;
    }
  }
  return 0;
}

CRADLE_MAY_COLLECT _Noreturn static void fail_end(scheme *s, uint64_t began) {
  fail_at(s, here(s->source), NOT_GIVEN, "syntax: end of input in what began in line %u", (uint32_t)began);
}

/* Skips everything that is no datum: space, comments, and data behind #; */
CRADLE_MAY_COLLECT static void skip(scheme *s) {
  source *from = s->source;
  for (;;) {
    uint32_t unclosed = skip_space(from);
    if (unclosed != 0) fail_end(s, unclosed);
    if (from->end - from->at < 2 || from->at[0] != '#' || from->at[1] != ';') return;
    uint64_t began = here(from);
    from->at += 2;
    if (read_datum(s) == END_OF_FILE) fail_end(s, began);
  }
}

CRADLE_MAY_COLLECT static value cons_here(scheme *s, value car, uint64_t where) {
  CRADLE_ROOT_VALUE(s->m, car);
  source_pair *made = CRADLE_NEW(s->m, source_pair, T_SOURCE_PAIR);
  made->pair.car = car;
  made->pair.cdr = NIL;
  made->where = where;
  return value_of(made);
}

/* --- data --- */

/* The parenthesis has been read. */
CRADLE_MAY_COLLECT static value read_list(scheme *s, uint64_t began) {
  value list = NIL, last = NIL;
  CRADLE_ROOT_VALUE(s->m, list);
  CRADLE_ROOT_VALUE(s->m, last);
  source *from = s->source;
  for (;;) {
    skip(s);
    if (from->at == from->end) fail_end(s, began);
    if (*from->at == ')') return from->at++, list;
    uint64_t where = list == NIL ? began : here(from);
    if (*from->at == '.' && list != NIL && from->at + 1 < from->end && is_delimiter(from->at[1])) {
      from->at++;
      value tail = read_datum(s);
      if (tail == END_OF_FILE) fail_end(s, began);
      cradle_store_value(s->m, pair_of(last), &pair_of(last)->cdr, tail);
      skip(s);
      if (from->at == from->end) fail_end(s, began);
      if (*from->at++ != ')') fail_at(s, here(from), NOT_GIVEN, "syntax: ) expected after what follows the dot");
      return list;
    }
    value part = read_datum(s);
    part = cons_here(s, part, where);
    if (list == NIL)
      list = part;
    else
      cradle_store_value(s->m, pair_of(last), &pair_of(last)->cdr, part);
    last = part;
  }
}

CRADLE_MAY_COLLECT static char escaped(scheme *s, char c) {
  switch (c) {
  case 'n': return '\n';
  case 't': return '\t';
  case 'r': return '\r';
  case 'a': return '\a';
  case '0': return '\0';
  case '"':
  case '\\': return c;
  default: fail_at(s, here(s->source), character((unsigned char)c), "syntax: unknown escape in a string:");
  }
}

/* The quote has been read. The string is measured, then made. */
CRADLE_MAY_COLLECT static value read_string(scheme *s, uint64_t began) {
  source *from = s->source;
  const char *start = from->at;
  size_t length = 0;
  for (; from->at < from->end && *from->at != '"'; from->at++, length++) {
    if (*from->at == '\n') from->line++;
    if (*from->at != '\\') continue;
    if (++from->at == from->end) break;
    escaped(s, *from->at);
  }
  if (from->at == from->end) fail_end(s, began);
  const char *end = from->at++;
  cradle_kit_string *made = cradle_kit_string_new(&s->kit, NULL, length);
  char *to = made->bytes;
  for (; start < end; start++) *to++ = *start == '\\' ? escaped(s, *++start) : *start;
  return value_of(made);
}

CRADLE_MAY_COLLECT static value read_character(scheme *s) {
  static const struct {
    const char *name;
    uint32_t code;
  } names[] = {{"space", ' '}, {"newline", '\n'}, {"tab", '\t'},  {"return", '\r'},
               {"null", 0},    {"nul", 0},        {"delete", 127}};
  source *from = s->source;
  if (from->at == from->end) fail_end(s, here(from));
  const char *start = from->at;
  size_t bytes;
  uint32_t code = get_utf8(start, &bytes);
  from->at += bytes;
  while (from->at < from->end && !is_delimiter(*from->at)) from->at++;
  size_t length = (size_t)(from->at - start);
  if (length == bytes) return character(code);
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (strlen(names[i].name) == length && memcmp(names[i].name, start, length) == 0) return character(names[i].code);
  fail_at(s, here(from), new_string(s, start, length), "syntax: unknown character name:");
}

CRADLE_MAY_COLLECT static value read_vector(scheme *s, uint64_t began) {
  value list = read_list(s, began);
  CRADLE_ROOT_VALUE(s->m, list);
  if (list_length(list) < 0) fail_at(s, began, list, "syntax: a dot in a vector");
  cradle_kit_array *made = cradle_kit_array_new(&s->kit, (size_t)list_length(list));
  for (size_t i = 0; i < made->length; i++, list = cdr(list)) made->items[i] = car(list);
  return value_of(made);
}

CRADLE_MAY_COLLECT static value read_atom(scheme *s) {
  source *from = s->source;
  const char *start = from->at;
  while (from->at < from->end && !is_delimiter(*from->at)) from->at++;
  size_t length = (size_t)(from->at - start);
  if (length == 2 && start[0] == '#' && strchr("tTfF", start[1]) != NULL)
    return boolean(start[1] == 't' || start[1] == 'T');
  value number = parse_number(s, start, length, 10);
  if (number == NOT_GIVEN) fail_at(s, here(from), new_string(s, start, length), "syntax: there are no fractions:");
  if (number != FALSE) return number;
  if (*start == '#') fail_at(s, here(from), new_string(s, start, length), "syntax: unknown # form:");
  return value_of(cradle_kit_intern(&s->kit, s->symbols, start, length));
}

/* 'x is (quote x), and so on. */
CRADLE_MAY_COLLECT static value read_quoted(scheme *s, const char *name, size_t skip, uint64_t where) {
  s->source->at += skip;
  value quoted = read_datum(s);
  if (quoted == END_OF_FILE) fail_end(s, where);
  quoted = cons(s, quoted, NIL);
  CRADLE_ROOT_VALUE(s->m, quoted);
  value head = cons_here(s, symbol(s, name), where);
  cradle_store_value(s->m, pair_of(head), &pair_of(head)->cdr, quoted);
  return head;
}

value read_datum(scheme *s) {
  source *from = s->source;
  s->where = here(from);
  check_stack(s);
  skip(s);
  if (from->at == from->end) return END_OF_FILE;
  uint64_t began = here(from);
  char second = from->at + 1 < from->end ? from->at[1] : ' ';
  switch (*from->at) {
  case '(': return from->at++, read_list(s, began);
  case ')': from->at++, fail_at(s, began, NOT_GIVEN, "syntax: ) without (");
  case '"': return from->at++, read_string(s, began);
  case '\'': return read_quoted(s, "quote", 1, began);
  case '`': return read_quoted(s, "quasiquote", 1, began);
  case ',': return second == '@' ? read_quoted(s, "unquote-splicing", 2, began) : read_quoted(s, "unquote", 1, began);
  case '#':
    if (second == '(') return from->at += 2, read_vector(s, began);
    if (second == '\\') return from->at += 2, read_character(s);
    return read_atom(s);
  default: return read_atom(s);
  }
}

/* --- for the prompt --- */

bool is_complete(const char *text, size_t length) {
  source from = {.at = text, .end = text + length, .line = 1};
  int64_t depth = 0;
  for (;;) {
    if (skip_space(&from) != 0) return false;
    if (from.at == from.end) return depth <= 0;
    char c = *from.at++;
    if (c == '(') depth++;
    if (c == ')') depth--;
    if (c == '#' && from.at < from.end && *from.at == '\\') from.at += from.end - from.at > 1 ? 2 : 1;
    if (c != '"') continue;
    while (from.at < from.end && *from.at != '"') from.at += *from.at == '\\' && from.end - from.at > 1 ? 2 : 1;
    if (from.at++ == from.end) return false;
  }
}
