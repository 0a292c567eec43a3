/* Handles: numbers for objects, for foreign code that keeps references where no collector sees them (docs/handles.md).
 *
 * A handle holds its object alive and finds it wherever it has moved to. In C it is a structure of its own, so an
 * object or an integer in its place does not compile. Number 0 means no handle, so a zeroed structure holds none. The
 * number of a freed handle is not given out again: its use is misuse in every function here, and so is a handle of
 * another heap.
 *
 * Up to 2^31 handles can be open; each costs 16 bytes. A minor collection looks at the handles that were set to young
 * objects since the last one; marking looks at all, in increments. Nothing here collects.
 */
#ifndef CRADLE_HANDLE_H
#define CRADLE_HANDLE_H

#include <cradle/mutator.h>

CRADLE_BEGIN_DECLS

/* Names an object for foreign code. */
typedef struct cradle_handle {
  uint64_t number; /* 0: none */
} cradle_handle;

/* Opens a handle for the object, or for NULL. Number 0: memory ran out. */
CRADLE_API CRADLE_RESULT_MATTERS cradle_handle cradle_handle_new(cradle_mutator *mutator, void *object);
/* The handle's object; stale, like every reference, after the next call that may collect. */
CRADLE_API void *cradle_handle_get(cradle_mutator *mutator, cradle_handle handle);
/* Sets an open handle to another object, or to NULL. */
CRADLE_API void cradle_handle_set(cradle_mutator *mutator, cradle_handle handle, void *object);
CRADLE_API void cradle_handle_free(cradle_mutator *mutator, cradle_handle handle);

CRADLE_END_DECLS

#endif
