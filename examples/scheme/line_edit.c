#include "line_edit.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifndef HAVE_LIBEDIT
#define HAVE_LIBEDIT 0
#endif

static char *plain_line(const char *prompt) {
  size_t room = 0, used = 0;
  char *line = NULL;
  if (prompt != NULL) fputs(prompt, stdout);
  fflush(stdout);
  for (int c; (c = getchar()) != EOF;) {
    if (used + 1 >= room) {
      char *grown = realloc(line, room = room == 0 ? 128 : 2 * room);
      if (grown == NULL) break;
      line = grown;
    }
    if (c == '\n') return line[used] = '\0', line;
    line[used++] = (char)(c == '\0' ? ' ' : c);
  }
  if (line != NULL) line[used] = '\0';
  return line;
}

#if HAVE_LIBEDIT
#include <editline/readline.h>

enum { HISTORY_LINES = 1000 };

static const char *history_path(void) {
  static char path[4096];
  const char *home = getenv("HOME");
  if (home == NULL || (size_t)snprintf(path, sizeof path, "%s/.cradle_scheme_history", home) >= sizeof path) return NULL;
  return path;
}

static bool edits;

void edit_begin(void) {
  using_history();
  stifle_history(HISTORY_LINES);
}
void edit_end(void) {
  if (edits && history_path() != NULL) write_history(history_path());
}
char *edit_line(const char *prompt) {
  if (prompt == NULL) return plain_line(NULL);
  if (!edits && history_path() != NULL) read_history(history_path());
  edits = true;
  fflush(stdout);
  char *line = readline(prompt);
  if (line != NULL && *line != '\0') add_history(line);
  return line;
}
#else
void edit_begin(void) {}
void edit_end(void) {}
char *edit_line(const char *prompt) {
  return plain_line(prompt);
}
#endif
