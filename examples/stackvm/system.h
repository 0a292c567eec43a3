/* What the virtual machine asks the system for its statistics, and text that is printed into memory. */
#ifndef STACKVM_SYSTEM_H
#define STACKVM_SYSTEM_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

uint64_t now_ns(void);
/* Most bytes that were resident; 0: the system does not tell. */
double peak_bytes(void);

/* What is printed to the file is in text once it is closed, cut to room - 1 bytes. NULL: there can be none. */
FILE *memory_file_open(char *text, size_t room);
void memory_file_close(FILE *file, char *text, size_t room);

#endif
