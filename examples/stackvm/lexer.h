/* The lexer: turns source text into tokens, one at a time. It is a small structure, so that the compiler can copy it
 * and go back to a place. */
#ifndef STACKVM_LEXER_H
#define STACKVM_LEXER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* name, its text when it is a keyword or operator */
/* clang-format off */
#define TOKENS(T) \
  T(END, NULL) T(NUMBER, NULL) T(STRING, NULL) T(NAME, NULL) \
  T(BREAK, "break") T(CATCH, "catch") T(CLASS, "class") T(CONTINUE, "continue") T(ELSE, "else") T(FALSE, "false") \
  T(FN, "fn") T(FOR, "for") T(IF, "if") T(IN, "in") T(LET, "let") T(NIL, "nil") T(RETURN, "return") \
  T(SUPER, "super") T(THIS, "this") T(THROW, "throw") T(TRUE, "true") T(TRY, "try") T(WHILE, "while") \
  T(PLUS_SET, "+=") T(MINUS_SET, "-=") T(STAR_SET, "*=") T(SLASH_SET, "/=") T(PERCENT_SET, "%=") \
  T(EQUAL, "==") T(UNEQUAL, "!=") T(LESS_EQUAL, "<=") T(GREATER_EQUAL, ">=") T(AND, "&&") T(OR, "||") \
  T(LEFT_PAREN, "(") T(RIGHT_PAREN, ")") T(LEFT_BRACKET, "[") T(RIGHT_BRACKET, "]") T(LEFT_BRACE, "{") \
  T(RIGHT_BRACE, "}") T(COMMA, ",") T(DOT, ".") T(SEMICOLON, ";") T(COLON, ":") T(QUESTION, "?") T(SET, "=") \
  T(PLUS, "+") T(MINUS, "-") T(STAR, "*") T(SLASH, "/") T(PERCENT, "%") T(LESS, "<") T(GREATER, ">") T(NOT, "!") \
  T(WRONG, NULL) /* message says why */
/* clang-format on */

typedef enum token_kind {
#define T(name, text) TOKEN_##name,
  TOKENS(T)
#undef T
} token_kind;

typedef struct token {
  token_kind kind;
  uint32_t line;
  const char *start; /* of a string: after its quote */
  size_t length;     /* bytes; of a string: up to its quote */
  const char *wrong; /* of TOKEN_WRONG: what is wrong */
  bool is_cut;       /* of TOKEN_WRONG: the source ends in it */
} token;

typedef struct lexer {
  const char *next, *end;
  uint32_t line;
} lexer;

token lexer_next(lexer *lexer);
/* The text of a keyword or operator, or NULL. */
const char *token_text(token_kind kind);

/* Writes the contents of a string token, escapes replaced, to text, unless text is NULL; returns their length.
 * SIZE_MAX: they are wrong, and *wrong says why. */
size_t string_contents(const token *string, char *text, const char **wrong);
double number_contents(const token *number);

/* The length of the UTF-8 character at text; 0: it is not UTF-8. */
size_t character_bytes(const char *text, size_t length);

#endif
