/* The allocation profile of a heap, written as a file when the heap is freed or the process ends.
 *
 * [profile.1] A profile belongs to one heap, and its callbacks come on one thread. It is locked all the same, because
 *             the process may end on another thread.
 * [profile.2] The process's profiles share the exit list (runtime/exit_list.h) and the count of heaps, which gives the
 *             files of one process different names; they share nothing else.
 * [profile.3] The program never fails because of its profile: an error is reported once.
 */
#ifndef CRADLE_RUNTIME_PROFILE_H
#define CRADLE_RUNTIME_PROFILE_H

#include "runtime/chain.h"

/* Opens the profile called name (the value of CRADLE_PROFILE; docs/profiler.md), makes it the sampler of the options
 * and adds it to their listeners. It is written when the heap ends. Returns NULL and leaves the options unchanged if
 * name is NULL or empty, or if no profile can be made, which was then reported. */
crd_link *crd_profile_open(const char *name, cradle_options *options);

#endif
