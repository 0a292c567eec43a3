/* Text that is put together in memory, however long it gets: a file's buffer, copied by a fork, would be written by the
 * child too. */
#ifndef CRADLE_RUNTIME_GROWING_TEXT_H
#define CRADLE_RUNTIME_GROWING_TEXT_H

#include "runtime/report.h"

/* All zero: empty. The text ends with a zero byte that is not counted, and is freed by who has it. */
typedef struct crd_growing_text {
  char *text; /* NULL: empty */
  size_t length, room;
  bool failed; /* there was no memory: part of it is missing */
} crd_growing_text;

void crd_growing_put(crd_growing_text *to, const void *bytes, size_t length);
void crd_growing_words(crd_growing_text *to, const char *words);
/* At most 500 bytes. */
void crd_growing_format(crd_growing_text *to, const char *format, ...) CRD_REPORT_FORMAT(2, 3);

#endif
