/* What cradle_heap_dump is made of. A program does not call this. */
#ifndef CRADLE_DETAIL_INSPECT_H
#define CRADLE_DETAIL_INSPECT_H

#include <cradle/base.h>

CRADLE_BEGIN_DECLS

/* Writes bytes of the dump. Return false if that fails; it ends the dump. */
typedef bool (*cradle_write_function)(void *data, const void *bytes, size_t count);

/* cradle_heap_dump to a function. */
CRADLE_API bool cradle_heap_dump_to(cradle_heap *heap, cradle_write_function write, void *data, cradle_error *error);

CRADLE_END_DECLS

#endif
