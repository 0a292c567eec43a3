/* What the interpreter asks the system for: the keyboard's interrupt, and text that is printed into memory. */
#ifndef SCHEME_SYSTEM_H
#define SCHEME_SYSTEM_H

#include <stddef.h>
#include <stdio.h>

/* From now on an interrupt from the keyboard calls the function, and ends a read that waits. */
void catch_interrupts(void (*function)(int));
/* Makes the calling thread leave interrupts to the other threads. */
void leave_interrupts(void);

/* Opens a file that prints into text: the text is complete once the file is closed, cut to room - 1 bytes. NULL: it
 * failed. */
FILE *memory_file_open(char *text, size_t room);
void memory_file_close(FILE *file, char *text, size_t room);

#endif
