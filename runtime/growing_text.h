/* Text of any length, put together in memory before it is written. (A stdio buffer would not do: fork copies it, and
 * the child would write it too.) */
#ifndef CRADLE_RUNTIME_GROWING_TEXT_H
#define CRADLE_RUNTIME_GROWING_TEXT_H

#include "runtime/report.h"

/* All zero: empty. The text ends with a zero byte that is not counted. Its user frees it. */
typedef struct crd_growing_text {
  char *text; /* NULL: empty */
  size_t length, room;
  bool failed; /* memory ran out: part of the text is missing */
} crd_growing_text;

void crd_growing_put(crd_growing_text *to, const void *bytes, size_t length);
void crd_growing_words(crd_growing_text *to, const char *words);
/* Adds at most 500 bytes. */
void crd_growing_format(crd_growing_text *to, const char *format, ...) CRD_REPORT_FORMAT(2, 3);

#endif
