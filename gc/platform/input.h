/* Files that are read: opened, measured, read, and mapped private. One source file for each kind of system.
 *
 *   [input.1] No function prints, aborts or changes errno. Opening does not wait: a named pipe is no file.
 */
#ifndef CRADLE_GC_PLATFORM_INPUT_H
#define CRADLE_GC_PLATFORM_INPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct crd_input {
  intptr_t handle;
  bool is_open, is_own; /* is_own: it is closed by crd_input_close */
  uint64_t length;      /* bytes */
} crd_input;

/* path: UTF-8; NULL: takes the descriptor. NULL, or why there is no file to read. */
const char *crd_input_open(crd_input *input, const char *path, int descriptor);
void crd_input_close(crd_input *input);
/* Reads exactly count bytes. false: there are fewer, or the system refuses. */
bool crd_input_read(const crd_input *input, uint64_t at, void *bytes, size_t count);
/* Puts the file's contents in place of committed memory; what is written there later is the process's own.
 * Everything is
 * a multiple of the base page. false: this system, or this file, cannot. */
bool crd_input_map(const crd_input *input, uint64_t at, void *address, size_t size);

#endif
