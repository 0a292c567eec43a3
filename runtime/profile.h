/* The allocation profile of a heap, written as a file when the heap is freed or the process ends.
 *
 * [profile.1] A profile is its heap's alone and its callbacks come on one thread; it is locked
 *             because the end of the process may come on another.
 * [profile.2] What the end of the process runs (runtime/exit_list.h) and the count of heaps, which
 *             gives the files of one process different names, are the process's; nothing else is.
 * [profile.3] The program never fails because of its profile: an error is reported once.
 */
#ifndef CRADLE_RUNTIME_PROFILE_H
#define CRADLE_RUNTIME_PROFILE_H

#include <cradle/options.h>

typedef struct crd_profile crd_profile;

/* Opens the profile called name (the value of CRADLE_PROFILE; docs/profiler.md) and makes it the
 * sampler and listener of options, whose own listener is passed each event. NULL, options unchanged,
 * when name is NULL or empty, and when there can be no profile, which was then reported. */
crd_profile *crd_profile_open(const char *name, cradle_options *options);

/* The heap exists: from now on CRADLE_EVENT_HEAP_DESTROYED writes and frees the profile. */
void crd_profile_hand_over(crd_profile *profile);
/* Frees the profile of a heap that could not be made. */
void crd_profile_close(crd_profile *profile);

#endif
