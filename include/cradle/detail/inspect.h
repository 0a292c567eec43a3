/* What cradle_heap_dump and cradle_describe_address are made of. A program does not call these. */
#ifndef CRADLE_DETAIL_INSPECT_H
#define CRADLE_DETAIL_INSPECT_H

#include <cradle/base.h>

CRADLE_BEGIN_DECLS

/* Writes bytes of the dump. Return false if that fails; it ends the dump. */
typedef bool (*cradle_write_function)(void *data, const void *bytes, size_t count);

/* cradle_heap_dump to a function. */
CRADLE_API bool cradle_heap_dump_to(cradle_heap *heap, cradle_write_function write, void *data, cradle_error *error);

/* The part of cradle_describe_address that explains. false: the heap knows nothing of the address, and the text is
 * empty. May be called in a signal handler, for a heap of any thread. */
typedef struct cradle_explanation {
  char text[256];
  uint64_t collection; /* the minor collection that the text is about; 0: none */
} cradle_explanation;
CRADLE_API bool cradle_explain_address(const cradle_heap *heap, const void *address, cradle_explanation *explanation,
                                       size_t size);

CRADLE_END_DECLS

#endif
