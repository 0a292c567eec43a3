/* The program's stack, for the allocation profiler (docs/profiler.md), which runs in heaps made by
 * cradle_heap_new_from_environment when the user sets CRADLE_PROFILE. Without a stack it reports types and sizes only.
 */
#ifndef CRADLE_PROFILE_H
#define CRADLE_PROFILE_H

#include <cradle/base.h>

CRADLE_BEGIN_DECLS

/* The most frames that the profiler asks for. */
#define CRADLE_FRAMES_MAX 128

/* One frame of the program's stack. Strings are UTF-8, and are copied. */
typedef struct cradle_frame {
  const char *name; /* of the function; NULL: the profiler prints the id in its place */
  const char *file; /* where the function is; NULL: unknown */
  uint32_t line;    /* the line that runs, or the line of the definition, from 1; 0: unknown */
  /* not 0: frames with the same id are of the same function, which is faster than comparing names. A function keeps its
   * id as long as the heap lives, so the address of an object that may move is no id. 0: names and files count */
  uint64_t id;
} cradle_frame;

typedef struct cradle_stack {
  /* Fills in up to capacity frames, the innermost first, and returns how many the stack has, which may be more. It is a
   * callback (cradle/base.h) that runs in the middle of an allocation, and may read the heap's objects. */
  size_t (*frames)(void *data, cradle_mutator *mutator, cradle_frame *frames, size_t capacity);
  void *data;
} cradle_stack;

CRADLE_END_DECLS

#endif
