/* Lines from the user: with editing and history if this was compiled with libedit, else plain. */
#ifndef SCHEME_LINE_EDIT_H
#define SCHEME_LINE_EDIT_H

#include <stdbool.h>

/* prompts: input is a terminal. */
void edit_begin(bool prompts);
void edit_end(void);
/* Reads a line, without its newline, into memory from malloc. NULL: the input ended, or a signal came first. prompt
 * NULL: no prompt. */
char *edit_line(const char *prompt);

#endif
