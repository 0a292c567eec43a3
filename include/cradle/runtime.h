/* The runtime: start-up from the environment, with the log, statistics, profile and reports that it asks for.
 *
 * The collector itself reads no environment and prints nothing. A program that wants what its users expect (CRADLE_LOG,
 * CRADLE_GC_NURSERY and the rest, docs/environment.md) starts its heap here.
 */
#ifndef CRADLE_RUNTIME_H
#define CRADLE_RUNTIME_H

#include <cradle/heap.h>

CRADLE_BEGIN_DECLS

/* Overlays options with the CRADLE_ variables. A bad value or an unknown CRADLE_ name is reported once, on standard
 * error, with what is accepted, and is otherwise ignored; returns the number of such reports. options must have been
 * initialised. Reads the environment; call it before other threads change it. A program that runs with more rights than
 * its user (set-user-id) obeys none of the variables. */
CRADLE_API int cradle_options_from_environment(cradle_options *options);

/* Makes a heap from options overlaid with the environment, and attaches what that asks for: a log, statistics at the
 * end, published ranges, a profile, reports of faults. A listener in the options still gets every event. Fails like
 * cradle_heap_new. Free it with cradle_heap_free, which ends all of that. */
CRADLE_API cradle_heap *cradle_heap_new_from_environment(const cradle_options *options, cradle_error *error);

/* Reads a size such as 4M, 1.6GB, 65536 or 32 KiB: a number and an optional unit of 1024 steps (K, M, G, T, each also
 * with B or iB; case does not matter). false when text is not one or exceeds SIZE_MAX; *bytes is then unchanged. */
CRADLE_API bool cradle_parse_size(const char *text, size_t *bytes);

/* Calls function for each row of the option table, in its order: the source of docs/environment.md. */
typedef struct cradle_option_row {
  const char *name;     /* CRADLE_GC_NURSERY */
  const char *accepted; /* "a size from 4K to 1G" */
  const char *initial;  /* the default, in words */
  const char *help;
} cradle_option_row;
CRADLE_API void cradle_options_list(void (*function)(void *data, const cradle_option_row *row), void *data);

CRADLE_END_DECLS

#endif
