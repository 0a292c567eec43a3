/* The allocation profile of a heap: its samples, written as JSON lines to a file of their own.
 *
 * [profile.1] A profile is a log (runtime/log.h): it shares that one's file, head, lock and ends.
 * [profile.2] A sample's stack is the first frames of the stack before it in the file, and then frames of its own.
 */
#ifndef CRADLE_RUNTIME_PROFILE_H
#define CRADLE_RUNTIME_PROFILE_H

#include "runtime/chain.h"

/* Opens the profile called name (the value of CRADLE_PROFILE; docs/profiler.md), makes it the sampler of the options
 * and adds it to their listeners. Returns NULL and leaves the options unchanged if name is NULL or empty, or if no
 * profile can be made, which was then reported. */
crd_link *crd_profile_open(const char *name, cradle_options *options);

#endif
