/* The program's stack, for the allocation profiler (docs/profiler.md). The collector does not use it.
 *
 * The profiler runs in heaps made by cradle_heap_new_from_environment (cradle/runtime.h) when the user sets
 * CRADLE_PROFILE. Without a stack it reports types and sizes only. With cradle_options.stack it also reports where in
 * the program they are allocated.
 */
#ifndef CRADLE_PROFILE_H
#define CRADLE_PROFILE_H

#include <cradle/base.h>

CRADLE_BEGIN_DECLS

/* Most frames that are asked for. */
#define CRADLE_FRAMES_MAX 128

/* One frame of the program's stack. Strings are UTF-8, and are copied. */
typedef struct cradle_frame {
  const char *name; /* of the function; NULL: the id in its place */
  const char *file; /* where it is; NULL: unknown */
  uint32_t line;    /* that is being run, or of the definition, from 1; 0: unknown */
  /* not 0: tells functions apart, and is faster than comparing names; the same function has the same id as long as the
   * heap lives, so the address of an object that may move will not do. 0: names and files do */
  uint64_t id;
} cradle_frame;

typedef struct cradle_stack {
  /* Fills in up to capacity frames, the innermost first, and returns how many the stack has, which may be more. Runs
   * within an allocation of the mutator's: it must not call the library about this heap, and reads its objects as they
   * lie. */
  size_t (*frames)(void *data, cradle_mutator *mutator, cradle_frame *frames, size_t capacity);
  void *data;
} cradle_stack;

CRADLE_END_DECLS

#endif
