/* Lines from the user: with editing and history where libedit was there when this was compiled, plain else. */
#ifndef SCHEME_LINE_EDIT_H
#define SCHEME_LINE_EDIT_H

void edit_begin(void);
void edit_end(void);
/* A line without its end, from malloc; NULL at the end of input. prompt NULL: input is no terminal. */
char *edit_line(const char *prompt);

#endif
