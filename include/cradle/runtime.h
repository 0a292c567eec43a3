/* The runtime: start-up from the environment. The collector itself reads no environment and prints nothing; a program
 * that wants what its users expect (CRADLE_LOG, CRADLE_GC_NURSERY and the rest, docs/environment.md) starts its heap
 * here. */
#ifndef CRADLE_RUNTIME_H
#define CRADLE_RUNTIME_H

#include <cradle/heap.h>

CRADLE_BEGIN_DECLS

/* Makes a heap from options overlaid with the CRADLE_ variables, and attaches what these ask for: a log, statistics at
 * the end, a profile, reports of faults; cradle_heap_free ends them. A listener in the options still gets every event.
 * A bad value or an unknown CRADLE_ name is reported once, on standard error, with what is accepted, and is otherwise
 * ignored. A program that runs with more rights than its user (set-user-id) ignores all the variables. No other thread
 * may change the environment during the call. Fails like cradle_heap_new. */
CRADLE_API cradle_heap *cradle_heap_new_from_environment(const cradle_options *options, cradle_error *error);

CRADLE_END_DECLS

#endif
