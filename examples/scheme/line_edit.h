/* Lines from the user: with editing and history where libedit was there when this was compiled, plain else. */
#ifndef SCHEME_LINE_EDIT_H
#define SCHEME_LINE_EDIT_H

#include <stdbool.h>

/* prompts: input is a terminal. */
void edit_begin(bool prompts);
void edit_end(void);
/* A line without its end, from malloc; NULL at the end of input, or when a signal came first. prompt NULL: there is
 * none. */
char *edit_line(const char *prompt);

#endif
