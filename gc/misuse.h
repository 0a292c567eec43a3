/* What the embedder is told when a call is refused: misuse and memory that ran out, which do not return, and errors,
 * which do. */
#ifndef CRADLE_GC_MISUSE_H
#define CRADLE_GC_MISUSE_H

#include <cradle/heap.h>

#define CRD_PRINTF(format, first) __attribute__((__format__(__printf__, format, first)))

/* Hands the message to the heap's misuse handler (the default one when heap is NULL) and aborts if that returns. The
 * conversions are those of gc/base/text.h. */
CRADLE_COLD _Noreturn void crd_misuse(cradle_heap *heap, const char *format, ...) CRD_PRINTF(2, 3);

/* Hands size and a message to the heap's out-of-memory handler and aborts if that returns. what: the public function.
 * size: of an object, in bytes. The heap is consistent: the handler may longjmp. */
CRADLE_COLD _Noreturn void crd_out_of_memory(cradle_heap *heap, const char *what, size_t size);
/* The same for one thing more that lies beside the objects: "pin". */
CRADLE_COLD _Noreturn void crd_out_of_room(cradle_heap *heap, const char *what, const char *thing);

/* Fills *error, unless error is NULL, and returns false. */
bool crd_fail(cradle_error *error, const char *format, ...) CRD_PRINTF(2, 3);

/* A type in a message: "type 3 (vector)". A long name is cut, so that there is room for what is said of it. */
typedef struct crd_type_words {
  char buffer[128];
} crd_type_words;
/* The name alone; NULL: "without a name". */
crd_type_words crd_show_name(const char *name);
crd_type_words crd_name_type(const cradle_heap *heap, uint32_t type);

#endif
