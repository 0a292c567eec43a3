/* How the embedder learns that a call is refused. Misuse does not return; errors do, and memory that ran out does if
 * the embedder's handler returns. */
#ifndef CRADLE_GC_REPORT_MISUSE_H
#define CRADLE_GC_REPORT_MISUSE_H

#include "gc/base/check.h"
#include "gc/base/text.h"

/* Hands the message to the heap's misuse handler (the default one when heap is NULL) and aborts if that returns. The
 * conversions are those of gc/base/text.h. */
CRADLE_COLD _Noreturn void crd_misuse(cradle_heap *heap, const char *format, ...) CRD_PRINTF(2, 3);

/* The same with a second part of the message. last: what still writes something, if no handler takes the misuse. */
CRADLE_COLD _Noreturn void crd_misuse_with(cradle_heap *heap, const crd_text *text, const crd_text *more,
                                           void (*last)(const cradle_heap *heap));

/* The parts of a message, one behind the other, and the place of the call. A single crd_text would be too short for all
 * of them, and would cut the last, which is the place. Parts may be NULL. */
typedef struct crd_message {
  char words[4 * sizeof(((crd_text *)0)->buffer)];
} crd_message;
crd_message crd_message_of(const crd_text *first, const crd_text *second, const crd_text *third);

/* The innermost library call that runs on this thread and whose caller was compiled with CRADLE_CHECKED. */
typedef struct crd_call {
  const char *place; /* where it is in the source, such as "reader.c:12"; NULL: there is none */
  /* The frame of the function that made it; NULL: not known, because the thread switched to another C stack. It is not
   * set again when a call that was made for an argument ends: it is then lower than the outer call's, and tells less,
   * but nothing wrong. Without a place it means nothing. */
  const void *frame;
} crd_call;
extern CRD_THREAD_LOCAL crd_call crd_running_call;

/* Appends which limit refuses so many bytes of memory or addresses, and what moves it (gc/platform/limits.h). */
void crd_text_limit(crd_text *text, size_t bytes);

/* Fills *error, unless error is NULL, and returns false. */
bool crd_fail(cradle_error *error, const char *format, ...) CRD_PRINTF(2, 3);

/* A type or an object in a message. */
typedef struct crd_type_words {
  char buffer[128];
} crd_type_words;
/* The name of a type in a message. A long name is cut, so that there is room for the rest; NULL: "without a name". */
crd_type_words crd_show_name(const char *name);

#endif
