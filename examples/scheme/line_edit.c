/* Lines from the user, by libedit or plainly. What is typed is UTF-8, whatever the locale says: Scheme's texts are. */
#include "line_edit.h"

#include <errno.h>
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
  errno = 0;
  for (int c; (c = getchar()) != EOF;) {
    if (used + 1 >= room) {
      char *grown = realloc(line, room = room == 0 ? 128 : 2 * room);
      if (grown == NULL) break;
      line = grown;
    }
    if (c == '\n') return line[used] = '\0', line;
    line[used++] = (char)(c == '\0' ? ' ' : c);
  }
  if (errno == EINTR) {
    clearerr(stdin);
    free(line);
    return NULL;
  }
  if (line != NULL) line[used] = '\0';
  return line;
}

#if HAVE_LIBEDIT
#include <editline/readline.h>
#include <langinfo.h>
#include <locale.h>

enum { HISTORY_LINES = 1000 };

static const char *history_path(void) {
  static char path[4096];
  const char *home = getenv("HOME");
  if (home == NULL || (size_t)snprintf(path, sizeof path, "%s/.cradle_scheme_history", home) >= sizeof path)
    return NULL;
  return path;
}

/* libedit drops the bytes that are no characters in the thread's locale. Without a locale of UTF-8 there is no
 * editing. */
static locale_t utf8;
static bool edits;

static locale_t find_utf8(void) {
  static const char *const names[] = {"C.UTF-8", "", "en_US.UTF-8"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    locale_t found = newlocale(LC_CTYPE_MASK, names[i], (locale_t)0);
    if (found == (locale_t)0) continue;
    if (strcmp(nl_langinfo_l(CODESET, found), "UTF-8") == 0) return found;
    freelocale(found);
  }
  return (locale_t)0;
}

void edit_begin(bool prompts) {
  utf8 = prompts ? find_utf8() : (locale_t)0;
  edits = utf8 != (locale_t)0;
  if (!edits) return;
  uselocale(utf8);
  using_history();
  stifle_history(HISTORY_LINES);
  if (history_path() != NULL) read_history(history_path());
}
void edit_end(void) {
  if (!edits) return;
  if (history_path() != NULL) write_history(history_path());
  uselocale(LC_GLOBAL_LOCALE);
  freelocale(utf8);
}
char *edit_line(const char *prompt) {
  if (!edits) return plain_line(prompt);
  fflush(stdout);
  char *line = readline(prompt);
  if (line != NULL && *line != '\0') add_history(line);
  return line;
}
#else
void edit_begin(bool prompts) {
  (void)prompts;
}
void edit_end(void) {}
char *edit_line(const char *prompt) {
  return plain_line(prompt);
}
#endif
