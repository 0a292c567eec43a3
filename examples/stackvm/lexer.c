#include "lexer.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#define T(name, text) text,
static const char *const texts[] = {TOKENS(T)};
#undef T

const char *token_text(token_kind kind) {
  return texts[kind];
}

size_t character_bytes(const char *text, size_t length) {
  const unsigned char *bytes = (const unsigned char *)text;
  if (length == 0) return 0;
  if (bytes[0] < 0x80) return 1;
  size_t count = bytes[0] >= 0xf0 ? 4 : bytes[0] >= 0xe0 ? 3 : 2;
  if (bytes[0] < 0xc2 || bytes[0] > 0xf4 || count > length) return 0;
  for (size_t i = 1; i < count; i++)
    if ((bytes[i] & 0xc0) != 0x80) return 0;
  bool overlong = (bytes[0] == 0xe0 && bytes[1] < 0xa0) || (bytes[0] == 0xf0 && bytes[1] < 0x90);
  bool surrogate = bytes[0] == 0xed && bytes[1] > 0x9f, beyond = bytes[0] == 0xf4 && bytes[1] > 0x8f;
  return overlong || surrogate || beyond ? 0 : count;
}

static bool is_name_start(char c) {
  return isalpha((unsigned char)c) || c == '_';
}
static bool is_name_part(char c) {
  return is_name_start(c) || isdigit((unsigned char)c);
}

static size_t rest(const lexer *lexer) {
  return (size_t)(lexer->end - lexer->next);
}

static void skip_space(lexer *lexer) {
  while (lexer->next < lexer->end) {
    if (*lexer->next == '/' && rest(lexer) > 1 && lexer->next[1] == '/') {
      const char *line_end = memchr(lexer->next, '\n', rest(lexer));
      lexer->next = line_end != NULL ? line_end : lexer->end;
    } else if (isspace((unsigned char)*lexer->next)) {
      if (*lexer->next++ == '\n') lexer->line++;
    } else {
      return;
    }
  }
}

static token finish(lexer *lexer, token token, token_kind kind) {
  token.kind = kind;
  token.length = (size_t)(lexer->next - token.start);
  return token;
}
static token wrong(lexer *lexer, token token, const char *why) {
  token.wrong = why;
  return finish(lexer, token, TOKEN_WRONG);
}

static token string(lexer *lexer, token token) {
  token.start++;
  for (lexer->next++; lexer->next < lexer->end && *lexer->next != '"'; lexer->next++) {
    if (*lexer->next == '\\' && rest(lexer) > 1) lexer->next++;
    if (*lexer->next == '\n') lexer->line++;
  }
  token = finish(lexer, token, TOKEN_STRING);
  if (lexer->next == lexer->end) {
    token.wrong = "the string that begins here has no end";
    token.kind = TOKEN_WRONG;
    token.is_cut = true;
    return token;
  }
  lexer->next++;
  return token;
}

static void skip_digits(lexer *lexer) {
  while (lexer->next < lexer->end && isdigit((unsigned char)*lexer->next)) lexer->next++;
}

static token number(lexer *lexer, token token) {
  skip_digits(lexer);
  if (rest(lexer) > 1 && *lexer->next == '.' && isdigit((unsigned char)lexer->next[1])) {
    lexer->next++;
    skip_digits(lexer);
  }
  if (lexer->next < lexer->end && (*lexer->next == 'e' || *lexer->next == 'E')) {
    lexer->next++;
    if (lexer->next < lexer->end && (*lexer->next == '+' || *lexer->next == '-')) lexer->next++;
    if (lexer->next == lexer->end || !isdigit((unsigned char)*lexer->next))
      return wrong(lexer, token, "a number's exponent has no digits");
    skip_digits(lexer);
  }
  if (lexer->next < lexer->end && is_name_part(*lexer->next))
    return wrong(lexer, token, "a name cannot begin with a digit");
  if (lexer->next - token.start > 300) return wrong(lexer, token, "a number has more than 300 characters");
  return finish(lexer, token, TOKEN_NUMBER);
}

static token name(lexer *lexer, token token) {
  while (lexer->next < lexer->end && is_name_part(*lexer->next)) lexer->next++;
  token = finish(lexer, token, TOKEN_NAME);
  for (token_kind kind = TOKEN_BREAK; kind <= TOKEN_WHILE; kind++)
    if (strlen(texts[kind]) == token.length && memcmp(texts[kind], token.start, token.length) == 0) token.kind = kind;
  return token;
}

/* Operators of two characters come before those of one in TOKENS. */
static token operator(lexer *lexer, token token) {
  for (token_kind kind = TOKEN_PLUS_SET; kind < TOKEN_WRONG; kind++) {
    size_t length = strlen(texts[kind]);
    if (length <= rest(lexer) && memcmp(texts[kind], lexer->next, length) == 0) {
      lexer->next += length;
      return finish(lexer, token, kind);
    }
  }
  size_t bytes = character_bytes(lexer->next, rest(lexer));
  lexer->next += bytes > 0 ? bytes : 1;
  return wrong(lexer, token, "this character means nothing here");
}

token lexer_next(lexer *lexer) {
  skip_space(lexer);
  token token = {.kind = TOKEN_END, .line = lexer->line, .start = lexer->next};
  if (lexer->next == lexer->end) return token;
  if (*lexer->next == '"') return string(lexer, token);
  if (isdigit((unsigned char)*lexer->next)) return number(lexer, token);
  if (is_name_start(*lexer->next)) return name(lexer, token);
  return operator(lexer, token);
}

double number_contents(const token *number) {
  char text[304];
  memcpy(text, number->start, number->length);
  text[number->length] = '\0';
  return strtod(text, NULL);
}

static int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* Returns the byte that the escape at *from, after its backslash, means, and moves *from behind it. -1: there is no
 * such escape. */
static int escaped(const char **from, const char *end) {
  static const char letters[] = "nrt0\"\\", meanings[] = "\n\r\t\0\"\\";
  char letter = *(*from)++;
  if (letter == 'x' && end - *from >= 2 && hex_digit((*from)[0]) >= 0 && hex_digit((*from)[1]) >= 0) {
    *from += 2;
    return hex_digit((*from)[-2]) * 16 + hex_digit((*from)[-1]);
  }
  const char *known = letter != '\0' ? strchr(letters, letter) : NULL;
  return known != NULL ? meanings[known - letters] : -1;
}

size_t string_contents(const token *string, char *text, const char **wrong) {
  size_t length = 0;
  const char *end = string->start + string->length;
  for (const char *from = string->start; from < end;) {
    int byte = (unsigned char)*from++;
    if (byte == '\\') byte = escaped(&from, end);
    if (byte < 0) {
      *wrong = "a string has a backslash and no n, r, t, 0, \", \\ or xHH behind it";
      return SIZE_MAX;
    }
    if (text != NULL) text[length] = (char)byte;
    length++;
  }
  return length;
}
