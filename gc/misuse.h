/* How the embedder learns that a call is refused. Misuse does not return; errors do, and memory that ran out does if
 * the embedder's handler returns. */
#ifndef CRADLE_GC_MISUSE_H
#define CRADLE_GC_MISUSE_H

#include "gc/base/text.h"

/* Hands the message to the heap's misuse handler (the default one when heap is NULL) and aborts if that returns. The
 * conversions are those of gc/base/text.h. */
CRADLE_COLD _Noreturn void crd_misuse(cradle_heap *heap, const char *format, ...) CRD_PRINTF(2, 3);

/* The same for a fault that the verifier found. before: as a collection was about to begin; otherwise after one. */
CRADLE_COLD _Noreturn void crd_misuse_found(cradle_heap *heap, const crd_text *fault, bool before);

/* Calls the heap's out-of-memory handler with the size and a message. If the heap has no handler, prints the message
 * and aborts. what: the public function that found no memory. size: of the object that was asked for, in bytes.
 *
 * The handler may longjmp. So the caller must not have changed anything yet. The handler may also return. Then this
 * function returns, and the public function returns NULL, 0 or false. */
CRADLE_COLD void crd_out_of_memory(cradle_heap *heap, const char *what, size_t size);
/* The same for memory beside the objects. thing: what there is no room for, such as "pin". */
CRADLE_COLD void crd_out_of_room(cradle_heap *heap, const char *what, const char *thing);

/* The place in the source of the library call that runs on this thread, such as "reader.c:12". NULL: its caller was
 * not compiled with CRADLE_CHECKED. */
const char *crd_call_place(void);
/* The frame of the function that made the call; 0: not known. A switch to another C stack makes the library forget it.
 * */
uintptr_t crd_call_frame(void);
void crd_forget_frame(void);
/* Adds that place to a message, and forgets it, because a handler may leave the call by longjmp. */
void crd_leave_call(crd_text *text);

/* Appends which limit refuses so many bytes of memory or addresses, and what moves it (gc/platform/limits.h). */
void crd_text_limit(crd_text *text, size_t bytes);

/* Fills *error, unless error is NULL, and returns false. */
bool crd_fail(cradle_error *error, const char *format, ...) CRD_PRINTF(2, 3);

/* A type in a message: "type 3 (vector)". A long name is cut, so that there is room for the rest of the message. */
typedef struct crd_type_words {
  char buffer[128];
} crd_type_words;
/* The name alone; NULL: "without a name". */
crd_type_words crd_show_name(const char *name);
crd_type_words crd_name_type(const cradle_heap *heap, uint32_t type);
/* An object that the embedder gives, in a message: "type 3 (vector) at 0x7f0012345678". It may be no object at all. */
crd_type_words crd_name_object(const cradle_heap *heap, const void *object);

#endif
