/* Handles: numbers for objects, for foreign code that keeps a reference where no collector can see it.
 *
 * A handle holds its object alive and finds it wherever it has moved to. It is a 64-bit number that can be stored
 * anywhere and passed through other languages. In C it is a structure of its own, so that an object or an integer in
 * its place does not compile. Two handles are the same handle if their numbers are equal. The number 0 means no handle,
 * so a zeroed structure holds none. The number of a freed handle is not given out again, so the use of a freed handle
 * is found.
 *
 * Through a void pointer, such as the user_data of a callback, pass the handle's number:
 *
 *     register_with_loop(fd, (void *)(uintptr_t)handle.number);
 *     cradle_handle handle = {(uintptr_t)user_data};
 *
 * Up to 2^31 handles can be open; each costs 16 bytes. A minor collection looks at the handles that were set to young
 * objects since the last one. Marking looks at all handles, in increments.
 *
 * The destruction of the heap closes the handles that are still open. A note (cradle/event.h) says so and gives their
 * number.
 *
 * Every function that is given a handle reports misuse for a freed handle or one from another heap. Nothing here
 * collects.
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
