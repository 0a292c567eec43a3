/* What the virtual machine asks the system for its statistics, and printing into memory. */
#ifndef STACKVM_SYSTEM_H
#define STACKVM_SYSTEM_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

uint64_t now_ns(void);
/* The most bytes that were resident; 0: the system does not say. */
double peak_bytes(void);

/* Opens a file that prints into text: the text is complete once the file is closed, cut to room - 1 bytes. NULL: it
 * failed. */
FILE *memory_file_open(char *text, size_t room);
void memory_file_close(FILE *file, char *text, size_t room);

#endif
